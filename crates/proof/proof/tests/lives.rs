//! Lives of databases in a few directories: made, opened, killed, copied and deleted by actors that
//! know nothing of each other, with files under few names that are spelled in many ways.
//!
//! In release some hundred seeds, in debug a few;
//! `cargo run --profile proof -p proof --example lives -- 0 10000` runs as many as are asked for.
#![forbid(unsafe_code)]

use proof::{Lives, LivesTally};

/// Half a minute of two cores.
const SEEDS: u64 = if cfg!(debug_assertions) { 6 } else { 240 };

/// Seeds are tried by so many threads.
const THREADS: u64 = 2;

fn live_from(first: u64) -> LivesTally {
    let mut tally = LivesTally::default();
    for seed in (first..SEEDS).step_by(THREADS as usize) {
        match Lives::of(seed).run() {
            Ok(found) => tally += found,
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
    }
    tally
}

/// No two open databases share a file, who fails takes nothing of others, and whatever was
/// acknowledged is there as long as nobody has deleted it.
#[test]
#[expect(clippy::disallowed_methods, reason = "it runs simulations side by side, outside of any")]
fn databases_that_meet_leave_each_other_alone() {
    let mut tally = LivesTally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|at| scope.spawn(move || live_from(at))).collect();
        for thread in threads {
            tally += thread.join().expect("no seed finds anything");
        }
    });
    println!("{tally}");
    if cfg!(not(debug_assertions)) {
        assert_eq!(tally.missing(), [""; 0], "it never happened in {tally}");
    }
}
