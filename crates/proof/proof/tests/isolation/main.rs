//! The checkers of isolation against a small store that keeps its promises, and against the same
//! one broken in each of many ways: nothing is found in the first, and each break is found.
#![forbid(unsafe_code)]

mod drive;
mod store;

use std::collections::BTreeMap;

use drive::{Plan, drive};
use proof::append::{Kind, Level, Order, Summary, check, check_in};
use store::Break;

const READ_COMMITTED: Plan =
    Plan { levels: &[Level::ReadCommitted], sessions: 4, lists: 4, turns: 300, serial: false };
const SNAPSHOT: Plan = Plan { levels: &[Level::SnapshotIsolation], ..READ_COMMITTED };
const BOTH: Plan =
    Plan { levels: &[Level::ReadCommitted, Level::SnapshotIsolation], ..READ_COMMITTED };
const SERIAL: Plan = Plan { levels: &[Level::Serializable], serial: true, ..READ_COMMITTED };

/// Seeds for a store that keeps its promises, for each plan.
const SEEDS: u64 = if cfg!(debug_assertions) { 500 } else { 10_000 };

/// Events of a long history: ten thousand transactions and more in release.
const TURNS_LONG: u32 = if cfg!(debug_assertions) { 20_000 } else { 150_000 };

/// Within so many seeds each break is found.
const SEEDS_BROKEN: u64 = 100;

fn is_never_wrong(plan: Plan, level: Level) -> Summary {
    let mut sum = Summary::default();
    for seed in 0..SEEDS {
        let driven = drive(seed, plan, Break::Nothing);
        assert_eq!(driven.breach, None, "seed {seed}");
        let summary = match check(&driven.history, level) {
            Ok(summary) => summary,
            Err(anomaly) => panic!("seed {seed}: {anomaly}"),
        };
        sum += summary;
    }
    println!("{SEEDS} histories, {plan:?}: {sum}");
    assert!(sum.aborted > 0 && sum.ww > 0 && sum.wr > 0, "{sum}");
    assert!(plan.serial || sum.rw > 0 && sum.unknown_seen > 0 && sum.unknown_unseen > 0, "{sum}");
    sum
}

#[test]
fn one_after_the_other_is_serializable() {
    is_never_wrong(SERIAL, Level::Serializable);
}

#[test]
fn read_committed_is_never_found_wrong() {
    is_never_wrong(READ_COMMITTED, Level::ReadCommitted);
}

#[test]
fn snapshot_isolation_is_never_found_wrong() {
    is_never_wrong(SNAPSHOT, Level::SnapshotIsolation);
}

#[test]
fn both_together_are_never_found_wrong() {
    is_never_wrong(BOTH, Level::SnapshotIsolation);
}

/// A long history is judged in a time that is linear in it, whether something is found or not.
#[test]
fn a_long_history_is_judged_soon() {
    let long = Plan { sessions: 20, lists: 200, turns: TURNS_LONG, ..BOTH };
    for broken in [Break::Nothing, Break::StaleSnapshot, Break::LostUpdate] {
        let driven = drive(1, long, broken);
        let judged = check(&driven.history, Level::SnapshotIsolation);
        assert_eq!(judged.is_ok(), broken == Break::Nothing);
        match judged {
            Ok(summary) => println!("{summary}"),
            Err(anomaly) => println!("{anomaly}"),
        }
    }
}

/// What a level doesn't promise does happen in these histories, and is found by the next level.
#[test]
fn each_level_is_less_than_the_next() {
    let kinds = |plan: Plan, level: Level| {
        let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
        for seed in 0..SEEDS_BROKEN {
            let mut history = drive(seed, plan, Break::Nothing).history;
            // Its transactions are to be judged by the level that is asked for.
            history.transactions.iter_mut().for_each(|transaction| transaction.level = None);
            if let Err(anomaly) = check_in(&history, level, Order::Free) {
                *kinds.entry(anomaly.kind).or_default() += 1;
            }
        }
        println!("{plan:?} by {level:?}, of {SEEDS_BROKEN}: {kinds:?}");
        kinds
    };
    let kinds_read = kinds(READ_COMMITTED, Level::SnapshotIsolation);
    let expected = [Kind::LostUpdate, Kind::ReadSkew, Kind::LongFork];
    assert!(kinds_read.keys().all(|kind| expected.contains(kind)), "{kinds_read:?}");
    assert!(kinds_read.contains_key(&Kind::ReadSkew));
    let kinds_snapshot = kinds(SNAPSHOT, Level::Serializable);
    assert_eq!(kinds_snapshot.keys().copied().collect::<Vec<_>>(), [Kind::WriteSkew]);
}

/// By the histories alone, and by the model with what the store says of SCNs: within how many
/// seeds, and in how many of them as what.
#[test]
fn every_break_is_found() {
    for broken in Break::ALL {
        let mut first = None;
        let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
        let mut breaches = 0;
        for seed in 0..SEEDS_BROKEN {
            let driven = drive(seed, BOTH, broken);
            breaches += u64::from(driven.breach.is_some());
            if let Err(anomaly) = check(&driven.history, Level::SnapshotIsolation) {
                first.get_or_insert(seed);
                *kinds.entry(anomaly.kind).or_default() += 1;
            }
        }
        let found: u64 = kinds.values().sum();
        println!("{broken:?}: first seed {first:?}, {found} of {SEEDS_BROKEN}: {kinds:?}");
        println!("    by the model {breaches} of {SEEDS_BROKEN}");
        assert!(breaches > 0, "{broken:?} wasn't found by the model in {SEEDS_BROKEN} seeds");
        assert!(first.is_some(), "{broken:?} wasn't found in {SEEDS_BROKEN} seeds");
    }
}
