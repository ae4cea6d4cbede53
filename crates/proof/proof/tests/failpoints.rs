//! Each way of breaking the engine on purpose is caught by the crash sweep: the sweep can fail.
//! Only in release: in debug an assertion of the engine often comes before what the sweep would
//! notice.
#![forbid(unsafe_code)]
#![cfg(not(debug_assertions))]

use proof::{Bases, Check, Kind, Load, Sweep};
use stop::{Failpoint, Failpoints};

/// Sweeps of this many seeds are to find it.
const SEEDS: u64 = 40;
/// Of a load.
const SESSIONS_MOST: u32 = 4;

/// One of these checks notices it. A sweep in which another is the first to, or in which a broken
/// engine stops itself by an assertion that release builds have too, says nothing: another seed has
/// to.
fn is_caught(failpoint: Failpoint, by: &[Check]) {
    let both = (0..SEEDS).flat_map(|seed| Kind::ALL.map(|kind| kind.sweep(seed)));
    is_caught_by(failpoint, by, both);
}

fn is_caught_by(failpoint: Failpoint, by: &[Check], sweeps: impl Iterator<Item = Sweep>) {
    let mut bases = Bases::default();
    for mut sweep in sweeps {
        sweep.shape.parameters.failpoints = Failpoints::only(failpoint);
        let Err(breach) = sweep.run(&mut bases) else { continue };
        println!("{failpoint:?}: {breach}");
        if by.contains(&breach.check) {
            return;
        }
    }
    panic!("{failpoint:?} was not caught by {by:?} in {SEEDS} seeds");
}

/// Many cuts find a moment that is soon over, not many states of one.
fn cut_often(sweep: Sweep) -> Sweep {
    Sweep { states_per_cut: 1, cuts_in_recovery: 0, depth_max: 1, stride: 5, ..sweep }
}

/// Somebody must have been told of a commit just before the power goes.
#[test]
fn redo_acknowledged_before_durable_is_caught() {
    let sweeps = (0..SEEDS).map(|seed| cut_often(Sweep::large(seed)));
    is_caught_by(Failpoint::AcknowledgeBeforeDurable, &[Check::Transactions], sweeps);
}

#[test]
fn redo_without_sync_is_caught() {
    is_caught(Failpoint::SkipLogSync, &[Check::Opens, Check::Transactions]);
}

#[test]
fn data_file_without_sync_is_caught() {
    is_caught(Failpoint::SkipDataSync, &[Check::Opens]);
}

#[test]
fn doublewrite_left_out_is_caught() {
    is_caught(Failpoint::SkipDoublewriteWrite, &[Check::Opens]);
}

#[test]
fn doublewrite_without_sync_is_caught() {
    is_caught(Failpoint::SkipDoublewriteSync, &[Check::Opens]);
}

#[test]
fn blocks_before_redo_is_caught() {
    // A block that is ahead of all redo is what `verify` says too.
    is_caught(Failpoint::IgnoreGate, &[Check::Agrees, Check::Rows, Check::Verifies]);
}

#[test]
fn changes_applied_twice_is_caught() {
    is_caught(Failpoint::ApplyTwice, &[Check::Opens, Check::Agrees, Check::Rows]);
}

#[test]
fn a_change_that_no_rollback_takes_back_is_caught() {
    is_caught(Failpoint::SkipRollbackRecord, &[Check::Transactions, Check::Rows, Check::Agrees]);
}

#[test]
fn a_change_that_stays_behind_a_savepoint_is_caught() {
    is_caught(Failpoint::SkipSavepointRecord, &[Check::Rows, Check::Agrees]);
}

/// Somebody must have been told of a row just before the power goes: loads of many sessions, which
/// do nothing but change and read the rows of few tables.
#[test]
fn rows_seen_before_they_are_durable_are_caught() {
    let crowded = (0..SEEDS).map(|seed| {
        let mut sweep = Sweep::large(seed);
        sweep.load = Load {
            sessions: SESSIONS_MOST,
            transactions: 20,
            tables: 1 + (seed % 2) as usize,
            pauses_every: None,
            alters: false,
            defines: false,
            commit_modes: false,
            ..sweep.load
        };
        cut_often(sweep)
    });
    is_caught_by(Failpoint::SeeBeforeDurable, &[Check::Told], crowded);
}
