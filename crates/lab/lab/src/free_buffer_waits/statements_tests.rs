//! Statements on cells made by hand.

use std::collections::BTreeMap;

use experiment::{Measured, Origin, World};
use report::SessionInterval;
use waits::{Nanos, SessionKind, ThreadTimes, TimeAccount, Totals, WaitEvent, WaitLine};

use super::super::turns;
use super::*;

/// A and B of a statement.
fn settings() -> Vec<Setting> {
    let cell = |writers| Setting { io: FilesystemIo::None, writers, slaves: 0 };
    vec![cell(1), cell(36)]
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

/// Rows of the rounds of a plan; `seconds` gives elapsed and waited ones, by round and cell.
pub(in super::super) fn rows(
    settings: &[Setting],
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
        let setting = settings[step.level.index()].to_string();
        let measured = Measured {
            elapsed: Nanos((elapsed * 1e9) as u64),
            transactions: 1,
            latency: None,
            commits: None,
        };
        let identity = origin.identity(step, &setting, BTreeMap::new());
        Run::new(identity, measured, &[interval(elapsed, waited)])
    };
    turns::rounds(settings.len(), count, true, 1).concat().iter().map(row).collect()
}

fn statement(count: u32, seconds: impl Fn(u32, usize) -> [f64; 2]) -> Statement {
    let settings = settings();
    let rows = rows(&settings, count, seconds);
    let floor = Equals::of(&rows).map_or(1.0, |equals| equals.floor);
    let asked = asked(&settings);
    assert_eq!(asked.len(), 1);
    Statement::of(&asked[0], &rows, &settings, Certainty::of(8, floor)).expect("they are cells")
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
    let certainty = |floor| Certainty::of(1, floor);
    assert_eq!(answer(0.2, interval, certainty(1.1)), Answer::Faster);
    assert_eq!(answer(0.2, interval, certainty(1.3)), Answer::CantTell);
    assert_eq!(answer(0.2, None, Certainty::MODELLED), Answer::Modelled);
}

#[test]
fn the_floor_is_of_the_equals_of_the_same_rounds() {
    let settings = settings();
    let rows = rows(&settings, 10, |_, _| [1.0, 0.5]);
    let equals = Equals::of(&rows).expect("there are ten");
    assert_eq!(equals.rounds, 10);
    assert!(equals.floor > 1.0 && equals.floor < 1.002, "{equals:?}");
    assert!(!equals.differ(), "the lot says which comes first: {equals:?}");
}

#[test]
fn all_cells_of_the_table_allow_eight_statements() {
    assert_eq!(asked(&Setting::all()).len(), 8);
    assert!(asked(&Setting::all()[..1]).is_empty());
}
