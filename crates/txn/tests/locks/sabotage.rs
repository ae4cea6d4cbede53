//! The tests of locks would notice: broken on purpose, they fail.

use txn::Sabotage;

use crate::{program, races};

const SEEDS: u64 = 60;

fn is_noticed(sabotage: Sabotage) {
    let by_model = (0..SEEDS).filter(|seed| program::run(*seed, sabotage).is_err()).count();
    let by_races = (0..SEEDS).filter(|seed| races::run(*seed, sabotage).is_err()).count();
    println!("{sabotage:?} is noticed in {by_model} programs and {by_races} races of {SEEDS}");
    assert!(by_model + by_races >= 6, "{sabotage:?} is noticed seldom");
}

/// Circles that nobody looks for: sessions wait for ever.
#[test]
fn circles_that_nobody_looks_for_are_noticed() {
    is_noticed(Sabotage::SkipCircles);
}

/// Transactions that end and don't wake who waits for it.
#[test]
fn a_wake_up_that_is_left_out_is_noticed() {
    is_noticed(Sabotage::SkipWake);
}

/// Weak modes that don't look whether somebody has the table otherwise.
#[test]
fn a_watch_that_is_not_looked_at_is_noticed() {
    is_noticed(Sabotage::IgnoreWatch);
}

/// Strong modes that don't look who has the table at its seat.
#[test]
fn seats_that_are_not_asked_are_noticed() {
    is_noticed(Sabotage::SkipSweep);
}

/// Sessions that go past those who were first.
#[test]
fn overtaking_is_noticed() {
    is_noticed(Sabotage::Overtake);
}

/// Sessions that give up, and leave those waiting whom they held up.
#[test]
fn who_is_held_up_by_one_that_gave_up_is_noticed() {
    is_noticed(Sabotage::SkipServe);
}
