//! `soak flaky`: the test suite beside a load, some times. A test that passes on a quiet machine
//! and fails on a busy one depends on time, and is a bug of the test or of what it tests.
//!
//! The load is a thread for each CPU that computes, and one that writes and syncs a file.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bench::Scratch;
use clap::Args;
use xtask::workspace;

use crate::Outcome;

#[derive(Args)]
pub(crate) struct Options {
    /// How often the suite is run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
}

/// The file that is written again and again.
const FILE_BYTES: u64 = 64 << 20;
const PIECE: usize = 1 << 20;

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    let scratch = Scratch::create(&workspace::target_directory(root)?);
    let scratch = scratch.map_err(|error| format!("soak: {error}"))?;
    let path = scratch.path().join("load");
    let file = File::create_new(&path)
        .map_err(|error| format!("soak: cannot create {}: {error}", path.display()))?;
    let failed = beside_load(file, || rounds(options.rounds, || suite(root)));
    match &failed[..] {
        [] => Ok(()),
        failed => Err(format!(
            "soak: the suite failed beside a load in {} of {} rounds; repeat the suites that \
             failed with 'cargo xbench soak flaky', and make them independent of time:\n{}",
            failed.len(),
            options.rounds,
            failed.join("\n")
        )),
    }
}

/// Runs the whole suite once.
fn suite(root: &Path) -> Outcome {
    let mut suite = workspace::cargo();
    let ran = suite.args(["xtask", "test"]).current_dir(root).status();
    match ran.map_err(|error| format!("cannot start cargo: {error}"))?.success() {
        true => Ok(()),
        false => Err("a suite failed; what it printed says which".into()),
    }
}

/// Runs the suite so often, whatever comes of it: a line for each round in which it failed.
fn rounds(count: u32, suite: impl Fn() -> Outcome) -> Vec<String> {
    let mut failed = Vec::new();
    for round in 1..=count {
        println!("soak: round {round} of {count}");
        if let Err(why) = suite() {
            println!("soak: round {round} failed: {why}");
            failed.push(format!("round {round}: {why}"));
        }
    }
    failed
}

/// Does `work` while all CPUs and the disk are busy with something else too.
fn beside_load<T>(file: File, work: impl FnOnce() -> T) -> T {
    let ends = AtomicBool::new(false);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|threads| {
        for _ in 0..cores {
            threads.spawn(|| compute(&ends));
        }
        threads.spawn(|| write(file, &ends));
        // Also when it panics, so that the threads end.
        let _end = End(&ends);
        work()
    })
}

struct End<'f>(&'f AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn compute(ends: &AtomicBool) {
    let mut word = 1_u64;
    while !ends.load(Ordering::Relaxed) {
        for _ in 0..1_000 {
            word = std::hint::black_box(word.wrapping_mul(6_364_136_223_846_793_005) + 1);
        }
    }
}

fn write(mut file: File, ends: &AtomicBool) {
    let piece = vec![7_u8; PIECE];
    let mut written = 0;
    while !ends.load(Ordering::Relaxed) {
        // A full disk is a load of another kind, and the suite says so.
        let _ = file.write_all(&piece).and_then(|()| file.sync_data());
        written += PIECE as u64;
        if written >= FILE_BYTES {
            written = 0;
            let _ = file.rewind();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_is_run_and_every_failure_is_told() {
        let count = std::cell::Cell::new(0);
        let failed = rounds(4, || {
            count.set(count.get() + 1);
            if count.get() % 2 == 0 { Err("a test failed".into()) } else { Ok(()) }
        });
        assert_eq!(count.get(), 4);
        assert_eq!(failed, ["round 2: a test failed", "round 4: a test failed"]);
    }

    #[test]
    fn the_load_ends_with_the_work() {
        let folder = Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let file = File::create_new(folder.path().join("load")).expect("it is empty");
        assert_eq!(beside_load(file, || 7), 7);
    }
}
