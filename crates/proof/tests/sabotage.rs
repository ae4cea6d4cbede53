//! Each way of breaking the engine on purpose is caught by the crash sweep: the sweep can fail.
#![forbid(unsafe_code)]

use instance::Sabotage;
use proof::{Bases, Kind, Violation};

/// Sweeps of this many seeds are to find it.
const SEEDS: u64 = 40;

fn caught(name: &str, sabotage: Sabotage) -> Violation {
    let mut bases = Bases::default();
    for seed in 0..SEEDS {
        for kind in Kind::ALL {
            let mut sweep = kind.sweep(seed);
            sweep.shape.parameters.sabotage = sabotage;
            if let Err(violation) = sweep.run(&mut bases) {
                println!("{name}: seed {seed}: {violation}");
                return violation;
            }
        }
    }
    panic!("{name} was not caught in {SEEDS} seeds");
}

macro_rules! caught {
    ($($name:ident: $part:ident = $switch:expr;)*) => {
        $(
            #[test]
            fn $name() {
                caught(stringify!($name), Sabotage { $part: $switch, ..Sabotage::NONE });
            }
        )*
    };
}

caught! {
    redo_acknowledged_before_durable_is_caught: redo = redo::Sabotage::AcknowledgeBeforeDurable;
    redo_without_sync_is_caught: redo = redo::Sabotage::SkipSync;
    data_file_without_sync_is_caught: cache = cache::Sabotage::SkipDataSync;
    doublewrite_left_out_is_caught: cache = cache::Sabotage::SkipDoublewriteWrite;
    doublewrite_without_sync_is_caught: cache = cache::Sabotage::SkipDoublewriteSync;
    blocks_before_redo_is_caught: cache = cache::Sabotage::IgnoreGate;
    changes_applied_twice_is_caught: replay = change::Sabotage::ApplyTwice;
    a_change_that_no_rollback_takes_back_is_caught:
        isolation = txn::IsolationSabotage::SkipUndoRecord;
    a_change_that_stays_behind_a_savepoint_is_caught:
        isolation = txn::IsolationSabotage::SkipSavepointRecord;
    rows_seen_before_they_are_durable_are_caught:
        isolation = txn::IsolationSabotage::SeeBeforeDurable;
}
