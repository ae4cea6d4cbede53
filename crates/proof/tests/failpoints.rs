//! Each way of breaking the engine on purpose is caught by the crash sweep: the sweep can fail.
#![forbid(unsafe_code)]

use proof::{Bases, Kind, Violation};
use stop::{Failpoint, Failpoints};

/// Sweeps of this many seeds are to find it.
const SEEDS: u64 = 40;

fn is_caught(failpoint: Failpoint) -> Violation {
    let mut bases = Bases::default();
    for seed in 0..SEEDS {
        for kind in Kind::ALL {
            let mut sweep = kind.sweep(seed);
            sweep.shape.parameters.failpoints = Failpoints::only(failpoint);
            if let Err(violation) = sweep.run(&mut bases) {
                println!("{failpoint:?}: seed {seed}: {violation}");
                return violation;
            }
        }
    }
    panic!("{failpoint:?} was not caught in {SEEDS} seeds");
}

#[test]
fn redo_acknowledged_before_durable_is_caught() {
    is_caught(Failpoint::AcknowledgeBeforeDurable);
}

#[test]
fn redo_without_sync_is_caught() {
    is_caught(Failpoint::SkipLogSync);
}

#[test]
fn data_file_without_sync_is_caught() {
    is_caught(Failpoint::SkipDataSync);
}

#[test]
fn doublewrite_left_out_is_caught() {
    is_caught(Failpoint::SkipDoublewriteWrite);
}

#[test]
fn doublewrite_without_sync_is_caught() {
    is_caught(Failpoint::SkipDoublewriteSync);
}

#[test]
fn blocks_before_redo_is_caught() {
    is_caught(Failpoint::IgnoreGate);
}

#[test]
fn changes_applied_twice_is_caught() {
    is_caught(Failpoint::ApplyTwice);
}

#[test]
fn a_change_that_no_rollback_takes_back_is_caught() {
    is_caught(Failpoint::SkipUndoRecord);
}

#[test]
fn a_change_that_stays_behind_a_savepoint_is_caught() {
    is_caught(Failpoint::SkipSavepointRecord);
}

#[test]
fn rows_seen_before_they_are_durable_are_caught() {
    is_caught(Failpoint::SeeBeforeDurable);
}
