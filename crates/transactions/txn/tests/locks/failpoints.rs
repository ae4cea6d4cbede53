//! The tests of locks notice faults: with locks broken on purpose, they fail.

use stop::{Failpoint, Failpoints};

use crate::{program, races};

const SEEDS: u64 = 60;

fn is_noticed(failpoint: Failpoint) {
    let failpoints = Failpoints::only(failpoint);
    let by_model = (0..SEEDS).filter(|seed| program::run(*seed, failpoints).is_err()).count();
    let by_races = (0..SEEDS).filter(|seed| races::run(*seed, failpoints).is_err()).count();
    println!("{failpoint:?} is noticed in {by_model} programs and {by_races} races of {SEEDS}");
    assert!(by_model + by_races >= 6, "{failpoint:?} is noticed seldom");
}

/// Deadlocks that no session looks for: sessions wait for ever.
#[test]
fn deadlocks_that_nobody_looks_for_are_noticed() {
    is_noticed(Failpoint::SkipDeadlocks);
}

/// Transactions that end and don't wake their waiters.
#[test]
fn a_wake_up_that_is_left_out_is_noticed() {
    is_noticed(Failpoint::SkipWake);
}

/// Weak modes that ignore whether the table is watched.
#[test]
fn a_watch_that_is_not_looked_at_is_noticed() {
    is_noticed(Failpoint::IgnoreWatch);
}

/// Strong modes that don't look at the seats.
#[test]
fn seats_that_are_not_asked_are_noticed() {
    is_noticed(Failpoint::SkipSweep);
}

/// Requests that overtake those that were first.
#[test]
fn overtaking_is_noticed() {
    is_noticed(Failpoint::Overtake);
}

/// A session gives up, and the requests that it held up go on waiting.
#[test]
fn a_request_behind_one_that_gave_up_is_noticed() {
    is_noticed(Failpoint::SkipServe);
}
