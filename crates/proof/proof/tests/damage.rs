//! Silent damage of random databases: `verify` tells each kind of it, and nothing before.
#![forbid(unsafe_code)]

use proof::{Bases, DamageCheck, DamageTally};

/// A quarter of a minute of two cores.
const SEEDS: u64 = if cfg!(debug_assertions) { 4 } else { 60 };

/// Seeds are tried by so many threads.
const THREADS: u64 = 2;

fn check_from(first: u64) -> DamageTally {
    let (mut tally, mut bases) = (DamageTally::default(), Bases::default());
    for seed in (first..SEEDS).step_by(THREADS as usize) {
        match DamageCheck::of(seed).run(&mut bases) {
            Ok(found) => tally.add(found),
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
    }
    tally
}

/// Whatever a database is damaged by, of a list, its check tells it as one of the kinds that fit;
/// each damage found a place in some database.
#[test]
#[expect(clippy::disallowed_methods, reason = "it runs simulations side by side, outside of any")]
fn every_silent_damage_is_told() {
    let mut tally = DamageTally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|at| scope.spawn(move || check_from(at))).collect();
        for thread in threads {
            tally.add(thread.join().expect("each damage is told"));
        }
    });
    println!("{tally}");
    if cfg!(not(debug_assertions)) {
        assert_eq!(tally.missing(), [""; 0], "there was no place for it in {tally}");
    }
}
