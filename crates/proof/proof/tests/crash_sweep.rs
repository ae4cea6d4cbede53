//! Crashes everywhere, on typed tables with indexes and constraints while definitions change: small
//! loads at every 30th operation, larger ones here and there, recovery cut again three deep. In
//! release the two tests see 20,000 distinct crash states at least, in some two minutes of two
//! cores, and everything that a tally asks for has happened in each; in debug they see a slice.
//! `cargo xbench soak crash` sees as many as are asked for.
//!
//! The databases of the two kinds have different identities, so they have no state in common.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures real time, outside any simulation"
)]

use std::time::{Duration, Instant};

use proof::{Bases, Kind, Tally};

/// Of each kind so many in twenty thousand: both then take as long.
const SMALL_SHARE: usize = 11_200;
const LARGE_SHARE: usize = 8_800;
/// In debug so many times fewer.
const FEWER: usize = if cfg!(debug_assertions) { 66 } else { 1 };
/// So many times fewer crash points of a load than a soak has: then there are more loads, and what
/// is rare happens in one of them.
const THINNED: u64 = if cfg!(debug_assertions) { 37 } else { 10 };
/// A machine on which it takes longer is too slow or too busy for it.
const LONGEST: Duration = Duration::from_secs(1_200);

fn sweep(kind: Kind, states: usize) {
    let (mut tally, mut bases, began) = (Tally::default(), Bases::default(), Instant::now());
    let mut seed = 0;
    while tally.distinct() < states {
        let mut sweep = kind.sweep(seed);
        sweep.stride *= THINNED;
        match sweep.run(&mut bases) {
            Ok(swept) => tally.add(swept),
            Err(breach) => panic!("{breach}"),
        }
        seed += 1;
        assert!(began.elapsed() < LONGEST, "in {LONGEST:?} only: {tally}");
    }
    let rate = tally.distinct() as f64 / began.elapsed().as_secs_f64();
    println!("{} seeds 0 to {}: {tally}; {rate:.0} states/s", kind.name(), seed - 1);
    // Of the few states of a debug run, much can be missing.
    if cfg!(not(debug_assertions)) {
        assert_eq!(tally.missing(kind), [""; 0], "it never happened in {tally}");
    }
}

/// Every 30th operation of small loads is a crash point, and recovery is cut again.
#[test]
fn small_loads_survive_crashes() {
    sweep(Kind::Small, SMALL_SHARE / FEWER);
}

/// Several sessions, several tables, checkpoints and log switches, transactions left open.
#[test]
fn large_loads_survive_crashes() {
    sweep(Kind::Large, LARGE_SHARE / FEWER);
}
