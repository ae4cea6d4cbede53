//! Random sessions on typed tables, held against a model of versions, with crashes between; and the
//! engine broken on purpose, to see that this is noticed. In half of the seeds sessions call the
//! API, in the other half they say the same in SQL.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures real time, outside any simulation"
)]

use std::time::Instant;

use proof::{By, ModelCheck, ModelTally};
use stop::{Failpoint, Failpoints};

/// Two minutes of two cores.
const OPERATIONS: u64 = if cfg!(debug_assertions) { 20_000 } else { 400_000 };

/// Seeds are tried by so many threads.
const THREADS: u64 = 2;

/// Within so many seeds each break is found.
const SEEDS_BROKEN: u64 = 200;

/// With cancels so many: each is judged as closely.
const OPERATIONS_CANCELLED: u64 = OPERATIONS / 4;

/// Every second seed, from this one on, until so much was done.
fn check_from(first: u64, operations: u64, cancels: bool) -> ModelTally {
    let (mut tally, mut seed) = (ModelTally::default(), first);
    while tally.operations < operations / THREADS {
        match (ModelCheck { cancels, ..ModelCheck::of(seed) }).run() {
            Ok(found) => tally += found,
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
        seed += THREADS;
    }
    tally
}

/// Checks with all threads, and tells what came up.
fn check(operations: u64, cancels: bool) -> ModelTally {
    let (mut tally, began) = (ModelTally::default(), Instant::now());
    std::thread::scope(|scope| {
        let from = |at| scope.spawn(move || check_from(at, operations, cancels));
        let threads: Vec<_> = (0..THREADS).map(from).collect();
        for thread in threads {
            tally += thread.join().expect("no seed finds anything");
        }
    });
    let rate = tally.operations as f64 / began.elapsed().as_secs_f64();
    println!("{tally}; {rate:.0} operations/s");
    tally
}

/// Whatever sessions do to typed tables, each read by each access path is what a snapshot gives,
/// each refusal has a reason, each constraint holds, and after each crash there is what was
/// committed.
#[test]
fn every_read_is_what_the_model_says_it_must_be() {
    let tally = check(OPERATIONS, false);
    if cfg!(not(debug_assertions)) {
        assert_eq!(tally.missing(), ["cancelled"], "it never happened in {tally}");
    }
}

/// The same while calls are cancelled, or have little time, at random moments: what is refused for
/// that has left nothing, its transaction goes on, and commits and rollbacks are never refused.
#[test]
fn what_is_cancelled_leaves_nothing() {
    let tally = check(OPERATIONS_CANCELLED, true);
    assert!(tally.cancelled >= OPERATIONS_CANCELLED / 100, "{tally}");
}

/// What the model says of rows that no snapshot in reach gives.
const OTHER_ROWS: [&str; 3] = ["a read gave ", " rows were changed; ", " were locked; "];
/// And of a refusal that no row explains.
const NO_REASON: [&str; 1] = ["it was refused without a reason "];
/// Either: who waits for no row's lock is told of keys that others are about to take back, and who
/// sees a half of a change is told of an entry without its row before a row can be compared.
const ROWS_OR_REASON: [&str; 4] = [OTHER_ROWS[0], OTHER_ROWS[1], OTHER_ROWS[2], NO_REASON[0]];

/// The model notices it, and says one of these. A seed in which it says something else first, or in
/// which a broken engine stops itself, says nothing: another has to.
fn is_noticed(failpoint: Failpoint, says: &[&str]) {
    is_noticed_by(&By::ALL, failpoint, says);
}

/// The same, in seeds that go one of these ways.
fn is_noticed_by(ways: &[By], failpoint: Failpoint, says: &[&str]) {
    let failpoints = Failpoints::only(failpoint);
    let checks = (0..SEEDS_BROKEN).map(ModelCheck::of);
    for of_seed in checks.filter(|check| ways.contains(&check.by)) {
        let check = ModelCheck { failpoints, ..of_seed };
        let Err(violation) = check.run() else { continue };
        let what = violation.to_string();
        let line = what.lines().next().unwrap_or_default();
        println!("{failpoint:?} is noticed in seed {} by {}: {line}", check.seed, check.by);
        if says.iter().any(|part| line.contains(part)) {
            return;
        }
    }
    panic!("the model doesn't notice {failpoint:?} in {SEEDS_BROKEN} seeds by {ways:?}");
}

// Not `SeeBeforeDurable`: the power is cut while no commit is under way. Histories show that one.

#[test]
fn seeing_active_transactions_is_noticed() {
    is_noticed(Failpoint::SeeActive, &OTHER_ROWS);
}

#[test]
fn seeing_a_commit_before_it_is_whole_is_noticed() {
    is_noticed(Failpoint::SeeCommitting, &ROWS_OR_REASON);
}

#[test]
fn a_consistent_read_that_skips_undo_is_noticed() {
    is_noticed(Failpoint::SkipUndoRecord, &OTHER_ROWS);
}

#[test]
fn rows_that_are_not_locked_are_noticed() {
    is_noticed(Failpoint::IgnoreRowLock, &ROWS_OR_REASON);
}

#[test]
fn a_statement_that_does_not_begin_again_is_noticed() {
    is_noticed(Failpoint::SkipRestart, &OTHER_ROWS);
}

#[test]
fn a_second_updater_is_noticed() {
    is_noticed(Failpoint::IgnoreFirstUpdater, &OTHER_ROWS);
}

#[test]
fn a_savepoint_that_leaves_a_change_is_noticed() {
    is_noticed(Failpoint::SkipSavepointRecord, &ROWS_OR_REASON);
}

#[test]
fn undo_that_is_overwritten_too_early_is_noticed() {
    is_noticed(Failpoint::ForgetSnapshots, &NO_REASON);
}

// What sessions say in SQL goes other ways through the engine, to the same ends.

#[test]
fn a_statement_of_sql_that_does_not_begin_again_is_noticed() {
    is_noticed_by(&[By::Sql], Failpoint::SkipRestart, &OTHER_ROWS);
}

#[test]
fn a_statement_of_sql_that_leaves_a_change_is_noticed() {
    is_noticed_by(&[By::Sql], Failpoint::SkipSavepointRecord, &ROWS_OR_REASON);
}
