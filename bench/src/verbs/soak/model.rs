//! `soak model`: random sessions against the reference model on all cores, each batch of seeds in a
//! process of its own, until sessions have done so many operations. The first breach ends it, with
//! the line that repeats it.
//!
//! Nothing is written to disk.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use clap::Args;
use xtask::workspace;

use crate::Outcome;

/// So many seeds are one child's work.
const BATCH: u64 = 50;

#[derive(Args)]
pub(crate) struct Options {
    /// How many operations
    #[arg(long, default_value_t = 100_000_000)]
    operations: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    let Options { operations, seed } = *options;
    let built = workspace::cargo()
        .args(["build", "--profile", "proof", "--package", "proof", "--example", "model_check"])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !built.success() {
        return Err("soak: the model check doesn't build".into());
    }
    let program = workspace::target_directory(root)?.join("proof/examples/model_check");
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    println!("soak: {operations} operations on {cores} cores, from seed {seed} on");
    let began = Instant::now();
    let seen = Seen { next: seed, ..Seen::default() };
    let soaking = Soaking { program, wanted: operations, seen: Mutex::new(seen) };
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| while soaking.batch() {});
        }
    });
    let seen = soaking.seen();
    let (done, elapsed) = (seen.operations, began.elapsed().as_secs_f64());
    println!("soak: {done} operations, {:.0} a second", done as f64 / elapsed);
    seen.failed.as_ref().map_or(Ok(()), |why| Err(format!("soak: {why}")))
}

struct Soaking {
    program: PathBuf,
    wanted: u64,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    next: u64,
    operations: u64,
    failed: Option<String>,
}

impl Soaking {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one more child; false if that's enough.
    fn batch(&self) -> bool {
        let from = {
            let mut seen = self.seen();
            if seen.failed.is_some() || seen.operations >= self.wanted {
                return false;
            }
            seen.next += BATCH;
            seen.next - BATCH
        };
        match self.child(from) {
            Ok(line) => {
                println!("soak: {line}");
                self.seen().operations += operations_in(&line);
            }
            Err(why) => {
                self.seen().failed.get_or_insert(why);
            }
        }
        true
    }

    fn child(&self, from: u64) -> Result<String, String> {
        let output = Command::new(&self.program)
            .args([from.to_string(), (from + BATCH).to_string()])
            .output()
            .map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    }
}

/// The number before the word.
fn operations_in(line: &str) -> u64 {
    let words: Vec<&str> = line.split_whitespace().collect();
    let found = words.windows(2).find(|pair| pair[1].starts_with("operations,"));
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::operations_in;

    #[test]
    fn operations_are_counted_by_the_childs_line() {
        assert_eq!(operations_in("model 0 to 2: 768 operations, 3 inserts; 9 operations/s"), 768);
        assert_eq!(operations_in("nothing"), 0);
    }
}
