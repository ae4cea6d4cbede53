//! Crashes everywhere: small loads at each operation, larger ones here and there, recovery cut again
//! three deep.
#![forbid(unsafe_code)]

use proof::{Sweep, create};

fn sweep(seeds: std::ops::Range<u64>, of: fn(u64) -> Sweep) {
    let base = create(&of(0).shape);
    let mut tally = proof::Tally::default();
    for seed in seeds {
        match of(seed).run(&base) {
            Ok(swept) => tally.add(swept),
            Err(violation) => panic!("{violation}"),
        }
    }
    println!("{tally}");
}

/// Every operation of small loads is a crash point, and recovery is cut again.
#[test]
fn small_loads_survive_a_crash_at_every_operation() {
    sweep(0..2, Sweep::small);
}
