//! Histories of lists over the engine, judged by what sessions were told; and with the engine
//! broken on purpose, to see that histories show it.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures real time, outside any simulation"
)]

use std::time::Instant;

use proof::{AppendBases, AppendCheck, AppendTally, Check};
use stop::{Failpoint, Failpoints};

/// Histories.
const SEEDS: u64 = if cfg!(debug_assertions) { 60 } else { 2_000 };

/// Seeds are tried by so many threads.
const THREADS: u64 = 2;

/// Within so many seeds each break is found.
const SEEDS_BROKEN: u64 = 100;

fn check_from(first: u64) -> AppendTally {
    let (mut tally, mut bases) = (AppendTally::default(), AppendBases::default());
    for seed in (first..SEEDS).step_by(THREADS as usize) {
        match AppendCheck::of(seed).run(&mut bases) {
            Ok(found) => tally += found,
            Err(breach) => panic!("{breach}"),
        }
    }
    tally
}

/// Read committed and snapshot isolation together, with power cuts: each transaction was given what
/// its level promises.
#[test]
fn histories_of_lists_keep_their_levels() {
    let (mut tally, began) = (AppendTally::default(), Instant::now());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|at| scope.spawn(move || check_from(at))).collect();
        for thread in threads {
            tally += thread.join().expect("each history keeps its levels");
        }
    });
    println!("{SEEDS} histories in {:?}: {tally:?}", began.elapsed());
    let AppendTally { summary, restarts, refusals, chained, cuts } = tally;
    assert!(summary.ww > 0 && summary.wr > 0 && summary.rw > 0 && summary.aborted > 0);
    assert!(restarts > 0 && refusals > 0 && chained > 0 && cuts > 0);
    assert!(cfg!(debug_assertions) || summary.unknown_seen > 0 && summary.unknown_unseen > 0);
}

/// The history is the first to show it. A seed in which a broken engine stops itself, by an
/// assertion that release builds have too, says nothing: another has to.
fn is_noticed(failpoint: Failpoint) {
    let mut bases = AppendBases::default();
    let failpoints = Failpoints::only(failpoint);
    for seed in 0..SEEDS_BROKEN {
        let check = AppendCheck { failpoints, ..AppendCheck::of(seed) };
        let Err(breach) = check.run(&mut bases) else { continue };
        println!("{failpoint:?} is noticed in seed {seed}: {breach}");
        if breach.check != Check::Runs {
            assert_eq!(breach.check, Check::History, "{failpoint:?}, seed {seed}: {breach}");
            return;
        }
    }
    panic!("no history shows {failpoint:?} in {SEEDS_BROKEN} seeds");
}

// Not `SkipRestart`: read committed promises of an append only that it is at the end of what was
// committed. Not `IgnoreRowLock`: statements that lock nothing begin again for minutes. The model
// check finds both.

#[test]
fn histories_show_seen_active_transactions() {
    is_noticed(Failpoint::SeeActive);
}

#[test]
fn histories_show_commits_seen_in_halves() {
    is_noticed(Failpoint::SeeCommitting);
}

#[test]
fn histories_show_reads_that_skip_undo() {
    is_noticed(Failpoint::SkipUndoRecord);
}

#[test]
fn histories_show_second_updaters() {
    is_noticed(Failpoint::IgnoreFirstUpdater);
}

#[test]
fn histories_show_commits_seen_before_they_are_durable() {
    is_noticed(Failpoint::SeeBeforeDurable);
}

#[test]
fn histories_show_savepoints_that_leave_a_change() {
    is_noticed(Failpoint::SkipSavepointRecord);
}
