//! Random sessions against the reference model, with crashes between; and the engine broken on
//! purpose, to see that this is noticed.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures real time, outside any simulation"
)]

use std::time::Instant;

use instance::Sabotage;
use proof::{ModelCheck, ModelTally};
use txn::IsolationSabotage;

/// A minute or two of one core.
const OPERATIONS: u64 = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };

/// Within so many seeds each break is found.
const SEEDS_BROKEN: u64 = 40;

/// Every read sees what the model says, whoever locks a row was given it alone, and after each
/// crash there is what was committed.
#[test]
fn every_read_is_what_the_model_says_it_must_be() {
    let (mut tally, began, mut seed) = (ModelTally::default(), Instant::now(), 0);
    while tally.operations < OPERATIONS {
        match ModelCheck::of(seed).run() {
            Ok(found) => tally += found,
            Err(violation) => panic!("{violation}"),
        }
        seed += 1;
    }
    let rate = tally.operations as f64 / began.elapsed().as_secs_f64();
    println!("seeds 0 to {seed}: {tally}; {rate:.0} operations/s");
    if OPERATIONS >= 1_000_000 {
        assert_eq!(tally.missing(), [""; 0], "it never happened in {tally}");
    }
}

/// Seeds that have found something: 26, that a statement took over the entry of a transaction newer
/// than its snapshot (rule txn/TX9); 120, that a copy of a block showed what was rolled back while
/// it was made (rule txn/TX16); 1 and 73, that a statement moved a row into a slot that was freed
/// after its snapshot (rule access/AC8).
#[test]
fn seeds_that_once_found_a_breach_find_none() {
    for seed in [1, 26, 73, 120] {
        if let Err(violation) = ModelCheck::of(seed).run() {
            panic!("{violation}");
        }
    }
}

fn is_noticed(isolation: IsolationSabotage) {
    for seed in 0..SEEDS_BROKEN {
        let sabotage = Sabotage { isolation, ..Sabotage::NONE };
        let check = ModelCheck { sabotage, ..ModelCheck::of(seed) };
        if let Err(violation) = check.run() {
            println!("{isolation:?} is noticed in seed {seed}: {violation}");
            return;
        }
    }
    panic!("{isolation:?} isn't noticed in {SEEDS_BROKEN} seeds");
}

macro_rules! noticed {
    ($($name:ident: $switch:ident;)*) => {
        $(
            #[test]
            fn $name() {
                is_noticed(IsolationSabotage::$switch);
            }
        )*
    };
}

noticed! {
    seeing_active_transactions_is_noticed: SeeActive;
    seeing_a_commit_before_it_is_whole_is_noticed: SeeCommitting;
    a_consistent_read_that_skips_undo_is_noticed: SkipUndoRecord;
    rows_that_are_not_locked_are_noticed: IgnoreRowLock;
    a_statement_that_does_not_begin_again_is_noticed: SkipRestart;
    a_second_updater_is_noticed: IgnoreFirstUpdater;
    seeing_a_commit_before_it_is_durable_is_noticed: SeeBeforeDurable;
    a_savepoint_that_leaves_a_change_is_noticed: SkipSavepointRecord;
    undo_that_is_overwritten_too_early_is_noticed: ForgetSnapshots;
}
