//! Memory is what the parameters allow, however large the database is (rule database/DB7).
//!
//! The only test of its process, for it measures the process.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "as an application it has threads and files of its own"
)]

#[path = "memory/load.rs"]
mod load;

use std::path::Path;

const MIB: u64 = 1 << 20;

/// The short form; the long one is `cargo xbench soak memory`.
#[test]
fn a_database_of_many_times_its_cache_takes_what_its_parameters_allow() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory");
    std::fs::remove_dir_all(&directory).ok();
    let plan = load::Plan { cache: 8 * MIB, times: 5, sessions: 3, sort_area: MIB };
    let mut told = String::new();
    let mut tell = |phase: &str, now: u64, most: u64| {
        told += &format!("{phase}: {} KiB, at most {} KiB\n", now >> 10, most >> 10);
    };
    let seen = load::run(plan, &directory, &mut tell);
    std::fs::remove_dir_all(&directory).ok();
    let seen = seen.unwrap_or_else(|stop| panic!("{stop}\n{told}"));
    let (most, bound) = (seen.most(), plan.bound(seen.before));
    println!("{told}{} rows; {} KiB allowed", seen.rows, bound >> 10);
    assert!(seen.growth() <= plan.growth(), "it grows by {} bytes:\n{told}", seen.growth());
    assert!(most <= bound, "{} KiB, and {} KiB are allowed:\n{told}", most >> 10, bound >> 10);
}
