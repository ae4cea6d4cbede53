//! What holds on the simulated machine holds where threads are put off anywhere.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "as an application it has threads and files of its own, and measures real time"
)]

#[path = "threads/payments.rs"]
mod payments;

use std::path::Path;

/// The short form; `cargo run --profile proof -p proof --example threads` runs as long as one
/// likes.
#[test]
fn accounts_come_to_the_same_whoever_pays_and_defines() {
    let seconds = if cfg!(debug_assertions) { 4 } else { 20 };
    for seed in 0..2 {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("threads");
        std::fs::remove_dir_all(&directory).ok();
        let ran = payments::run(&directory, (seconds / 2, seed));
        std::fs::remove_dir_all(&directory).ok();
        let tally = ran.unwrap_or_else(|wrong| panic!("{wrong}"));
        println!("{tally}");
        assert_eq!(tally.missing(), [""; 0], "it never happened in {tally}");
    }
}
