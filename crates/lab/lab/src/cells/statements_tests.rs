//! Statements on cells made by hand.

use std::collections::BTreeMap;

use experiment::{Measured, Origin, World};
use report::SessionInterval;
use waits::{Nanos, SessionKind, ThreadTimes, TimeAccount, Totals, WaitEvent, WaitLine};

use super::super::turns;
use super::*;

const MATTERS: f64 = 1.1;

/// A and B of a statement.
fn names() -> [String; 2] {
    ["a", "b"].map(str::to_owned)
}

/// The cells at these places.
fn side(levels: &[usize]) -> Side {
    let name = format!("cells {levels:?}");
    Side { levels: levels.to_vec(), short: name.clone(), name }
}

fn asked(a: &[usize], b: &[usize]) -> Asked {
    Asked { question: "Is B faster?", a: side(a), b: side(b) }
}

/// A session that waited for free buffers, and worked the rest of the time.
fn interval(elapsed: f64, waited: f64) -> SessionInterval {
    let ns = |seconds: f64| Nanos((seconds * 1e9) as u64);
    let times = ThreadTimes { cpu: ns(elapsed - waited), ..ThreadTimes::default() };
    let mut account = TimeAccount::close(ns(elapsed), times, &Totals::default());
    account.unaccounted_ns -= ns(waited).0 as i64;
    account.waits = vec![WaitLine {
        event: WaitEvent::FreeBufferWaits,
        count: 1,
        total: ns(waited),
        of_which_cpu: Nanos::ZERO,
        of_which_run_queue: Nanos::ZERO,
    }];
    SessionInterval {
        name: "session0".into(),
        kind: SessionKind::Foreground,
        totals: Totals::default(),
        account,
    }
}

/// Rows of the rounds of a plan of these cells; `seconds` gives elapsed and waited ones, by round
/// and cell.
pub(crate) fn rows(
    cells: &[String],
    count: u32,
    seconds: impl Fn(u32, usize) -> [f64; 2],
) -> Vec<Run> {
    let origin = Origin {
        experiment: "test".into(),
        plan_seed: 1,
        commit: "commit".into(),
        machine: "machine".into(),
        world: World::Linux,
        work: "work".into(),
    };
    let row = |step: &experiment::Step| {
        let [elapsed, waited] = seconds(step.round, step.level.index());
        // Equals are a little apart.
        let elapsed = if step.kind == RoundKind::Equals { elapsed * 1.001 } else { elapsed };
        let measured = Measured {
            elapsed: Nanos((elapsed * 1e9) as u64),
            transactions: 1,
            latency: None,
            commits: None,
        };
        let identity = origin.identity(step, &cells[step.level.index()], BTreeMap::new());
        Run::new(identity, measured, &[interval(elapsed, waited)])
    };
    turns::rounds(cells.len(), count, true, 1).concat().iter().map(row).collect()
}

fn statement(count: u32, seconds: impl Fn(u32, usize) -> [f64; 2]) -> Statement {
    let rows = rows(&names(), count, seconds);
    let certainty = Certainty::of_rows(8, MATTERS, &rows, false);
    Statement::of(&asked(&[0], &[1]), &rows, certainty).expect("they are cells")
}

/// By turns a little more and a little less, so that the scatter isn't of the lot.
fn scatter(round: u32, size: f64) -> f64 {
    [1.0 + size, 1.0 - size, 1.0 + size / 2.0, 1.0 - size / 2.0, 1.0][round as usize % 5]
}

#[test]
fn a_planted_difference_is_found_and_its_cause_is_named() {
    let found = statement(10, |round, cell| match cell {
        0 => [2.0 * scatter(round, 0.03), 1.5 * scatter(round, 0.03)],
        _ => [0.6, 0.1],
    });
    assert_eq!(found.answer, Answer::Faster, "{found:?}");
    assert!((found.times_as_fast - 2.0 / 0.6).abs() < 0.1, "{found:?}");
    assert!(found.times_low > Some(2.5) && found.times_high < Some(4.5), "{found:?}");
    assert_eq!(found.cause.as_deref(), Some("free buffer waits"));
    let part = &found.parts[0];
    assert!((part.seconds + 1.4).abs() < 0.05 && part.seconds_high < Some(-1.0), "{part:?}");
}

#[test]
fn what_is_slower_is_told_too() {
    let found = statement(10, |round, cell| match cell {
        0 => [0.6, 0.1],
        _ => [2.0 * scatter(round, 0.03), 1.5 * scatter(round, 0.03)],
    });
    assert_eq!(found.answer, Answer::Slower, "{found:?}");
    assert_eq!(found.cause.as_deref(), Some("free buffer waits"));
}

#[test]
fn equals_are_no_difference_that_matters() {
    let found = statement(10, |round, cell| match cell {
        0 => [1.0 * scatter(round, 0.01), 0.5],
        _ => [1.0, 0.5],
    });
    assert_eq!((found.answer, &found.cause), (Answer::NoDifference, &None), "{found:?}");
}

#[test]
fn what_scatters_or_has_too_few_rounds_can_not_be_told() {
    let restless = statement(10, |round, cell| match cell {
        0 => [1.3 * scatter(round, 0.6), 0.1],
        _ => [1.0, 0.1],
    });
    assert_eq!((restless.answer, restless.cause), (Answer::CantTell, None));
    // Five rounds are fewer than eight statements need, however clear they look.
    let few = statement(5, |round, cell| match cell {
        0 => [2.0 * scatter(round, 0.03), 1.5],
        _ => [0.6, 0.1],
    });
    assert_eq!((few.answer, few.cause), (Answer::CantTell, None));
    assert_eq!(rounds_least(8), 8);
    let one = statement(1, |_, cell| if cell == 0 { [2.0, 1.5] } else { [0.6, 0.1] });
    assert_eq!((one.answer, one.times_low), (Answer::CantTell, None));
}

/// The whole is certain, but none of its parts.
#[test]
fn a_cause_that_is_not_certain_is_not_named() {
    let found = statement(10, |round, cell| {
        // Now it is all waits, now all CPU.
        let waits = if (round + cell as u32).is_multiple_of(2) { 1.0 } else { 0.0 };
        let elapsed = if cell == 0 { 2.0 * scatter(round, 0.02) } else { 1.0 };
        [elapsed, elapsed * waits]
    });
    assert_eq!((found.answer, found.cause), (Answer::Faster, None));
}

#[test]
fn what_is_no_more_than_equals_differ_can_not_be_told() {
    let interval = Some([0.05, 0.35]);
    let certainty = |floor| Certainty::of(1, MATTERS, floor);
    assert_eq!(answer(0.2, interval, certainty(1.1)), Answer::Faster);
    assert_eq!(answer(0.2, interval, certainty(1.3)), Answer::CantTell);
    assert_eq!(answer(0.2, None, Certainty::MODELLED), Answer::Modelled);
}

#[test]
fn the_floor_is_of_the_equals_of_the_same_rounds() {
    let rows = rows(&names(), 10, |_, _| [1.0, 0.5]);
    let equals = Equals::of(&rows).expect("there are ten");
    assert_eq!(equals.rounds, 10);
    assert!(equals.floor > 1.0 && equals.floor < 1.002, "{equals:?}");
    assert!(!equals.differ(), "the lot says which comes first: {equals:?}");
}

/// Of three rounds an interval would reach from nothing to a million times as long.
#[test]
fn a_cell_of_few_rounds_has_no_interval() {
    let interval = |count| {
        let rows = rows(&names(), count, |round, _| [scatter(round, 0.05), 0.1]);
        let runs: Vec<&Run> = compared(&rows, 0).collect();
        let time = CellTime::of(&runs, false);
        time.low.zip(time.high)
    };
    assert_eq!((interval(2), interval(3)), (None, None));
    let (low, high) = interval(4).expect("four are enough");
    assert!(low > 0.5 && low < high && high < 2.0, "{low} to {high}");
}

/// Of two cells of a side the mean of each round counts, by ratio; parts are means of seconds.
#[test]
fn a_side_of_several_cells_has_their_mean() {
    let cells = ["a", "b", "c"].map(str::to_owned);
    let rows = rows(&cells, 10, |round, cell| match cell {
        0 => [1.0 * scatter(round, 0.01), 0.2],
        1 => [4.0 * scatter(round, 0.01), 1.0],
        _ => [1.0, 0.2],
    });
    let certainty = Certainty::of(1, MATTERS, 1.0);
    let found = Statement::of(&asked(&[0, 1], &[2]), &rows, certainty).expect("they are cells");
    assert!((found.times_as_fast - 2.0).abs() < 0.02, "{found:?}");
    assert_eq!((found.answer, found.rounds), (Answer::Faster, 10));
    let waits = found.parts.iter().find(|part| part.name == "free buffer waits");
    assert!(waits.is_some_and(|part| (part.seconds + 0.4).abs() < 1e-9), "{found:?}");
    // A round that lacks a cell of a side says nothing.
    let is_whole = |run: &&Run| run.identity.round > 3 || run.identity.level.index() != 1;
    let fewer: Vec<Run> = rows.iter().filter(is_whole).cloned().collect();
    let found = Statement::of(&asked(&[0, 1], &[2]), &fewer, certainty).expect("they are cells");
    assert_eq!(found.rounds, 7);
    assert!(Statement::of(&asked(&[0], &[9]), &rows, certainty).is_none());
}
