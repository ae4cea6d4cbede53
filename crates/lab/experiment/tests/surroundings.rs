//! What covariates and weights may do, and what they must not.

#[expect(dead_code, reason = "other tests use the rest of it")]
mod common;

use common::{RULE, Story, block_of_a_second, question, unwrapped};
use experiment::{
    Figure, Level, Measure, RoundKind, Rule, Run, Surroundings, Verdict, decide, parse_rows,
};

/// From -1 to 1, neither regular nor skewed, and the same on every machine.
fn die(index: usize, prime: usize) -> f64 {
    ((index * prime + 13) % 1_009) as f64 / 504.5 - 1.0
}

/// Rows of blocks: the transactions of each, what was stolen of the CPU, and how long a probe was
/// on its way, as shares.
fn rows(of: impl Fn(usize, &Run) -> (f64, f64, f64)) -> Vec<Run> {
    let mut rows = Story::of(1.0, 0.0).rows_of(2, 100);
    for (index, run) in rows.iter_mut().enumerate() {
        let (transactions, stolen, probe) = of(index, run);
        let ns = 1_000_000_000;
        run.transactions = transactions as u64;
        run.latency = run.latency.filter(|_| run.transactions > 0);
        run.surroundings = Some(Surroundings {
            elapsed_ns: ns,
            cpus: 2,
            own_ns: ((1.0 - stolen) * 2e9) as u64,
            others_ns: 0,
            stolen_ns: (stolen * 2e9) as u64,
            probes: 100,
            probes_ns: (probe * 1e9) as u64,
            switches: 0,
        });
        run.block = Some(block_of_a_second(index, run.transactions));
    }
    rows
}

const LONG: Rule = Rule { rounds: 100, ..RULE };
const THROUGHPUT: Figure = Measure::Throughput.figure();

/// B itself makes the device stall in one round of five. That is its effect, and no reason to give
/// these rounds less weight.
#[test]
fn stalls_that_a_setting_causes_are_not_weighted_away() {
    let rows = rows(|index, run| {
        let identity = &run.identity;
        let is_b = (identity.kind, identity.level) == (RoundKind::Compared, Level::B);
        let stalls = is_b && identity.round % 5 == 3;
        let noise = 1.0 + 0.01 * die(index, 7_919) + 0.01 * die(index, 4_001);
        let transactions = 10_000.0 * noise * if stalls { 0.2 } else { 1.0 };
        let probe = if stalls { 0.8 } else { 0.1 + 0.01 * die(index, 1_013) };
        (transactions, 0.02 + 0.005 * die(index, 3_001), probe)
    });
    let found = decide(&rows, Level::B, THROUGHPUT, &LONG).expect("rounds");
    assert!((0.80..0.88).contains(&found.ratio), "{found:?}");
    assert!(found.answer.is_real(), "{found:?}");
}

/// A covariate is used whether or not it differs between the settings by chance: to choose by what
/// was seen would cost error. That it differs is told.
#[test]
fn a_covariate_that_differs_is_used_and_told() {
    let rows = rows(|index, run| {
        let more = if run.identity.level == Level::B { 0.05 } else { 0.0 };
        let stolen = 0.2 + 0.1 * die(index, 3_001) + more;
        (10_000.0 * (1.0 - stolen) * (1.0 + 0.01 * die(index, 7_919)), stolen, 0.1)
    });
    let found = decide(&rows, Level::B, THROUGHPUT, &LONG).expect("rounds");
    let cpu = &found.covariates[0];
    assert!(cpu.differs && cpu.taken.is_some_and(|taken| taken > 0.5), "{cpu:?}");
    assert!(!found.answer.is_real(), "all of it is the CPU that was stolen: {found:?}");
    let question = experiment::Question { rule: LONG, ..question() };
    let text = Verdict::of(&rows, &question).expect("rounds").text();
    let words = unwrapped(&text);
    assert!(words.contains("stolen CPU differs between the settings"), "{text}");
}

/// Beside a program that takes all the CPU that it can get: where B waits longer, that one has more
/// of it, which is B's effect and stays in the comparison.
#[test]
fn what_a_greedy_neighbour_gets_of_b_is_still_the_effect_of_b() {
    let mut rows = rows(|_, _| (1.0, 0.0, 0.1));
    for (index, run) in rows.iter_mut().enumerate() {
        let identity = &run.identity;
        let is_b = (identity.kind, identity.level) == (RoundKind::Compared, Level::B);
        let own = 0.4 * (1.0 + 0.05 * die(index, 7_919)) - if is_b { 0.04 } else { 0.0 };
        run.transactions = (25_000.0 * own) as u64;
        run.block = Some(block_of_a_second(index, run.transactions));
        let beside = run.surroundings.as_mut().expect("each has them");
        (beside.own_ns, beside.others_ns) = ((own * 2e9) as u64, ((1.0 - own) * 2e9) as u64);
    }
    let found = decide(&rows, Level::B, THROUGHPUT, &LONG).expect("rounds");
    assert!((0.88..0.92).contains(&found.ratio) && found.answer.is_real(), "{found:?}");
}

/// A setting under which nothing ends gets a verdict that says so, in each form.
#[test]
fn a_setting_without_a_transaction_is_told() {
    let rows = rows(|index, run| {
        let ended = if run.identity.level == Level::B { 0.0 } else { 1_000.0 };
        (ended + if ended > 0.0 { die(index, 7).round() } else { 0.0 }, 0.02, 0.1)
    });
    let question = experiment::Question { rule: LONG, ..question() };
    let verdict = Verdict::of(&rows, &question).expect("whole rounds");
    assert!(verdict.text().contains("no transaction ended"), "{}", verdict.text());
    assert!(verdict.html(&rows).contains("no transaction ended"));
    assert!(verdict.json().starts_with('{'));
    let kept: String = rows.iter().map(|row| row.to_json_line() + "\n").collect();
    assert_eq!(parse_rows(&kept).expect("rows").runs.len(), rows.len());
}
