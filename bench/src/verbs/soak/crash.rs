//! `soak crash`: the crash sweep on all cores, small and large loads in turn, each batch of seeds
//! in a process of its own, until so many distinct crash states were opened and held against the
//! oracle. A child tells the hash of every state; a state is counted once, whoever saw it. The
//! first violation ends it, with the line that repeats it.
//!
//! A child also tells what should have happened in its sweeps and never did. What every child of a
//! kind tells so has never happened: a soak long enough to have seen everything then fails.
//!
//! Nothing is written to disk. A child that lives on after Ctrl-C ends at its next line, for nobody
//! reads it any more.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use xtask::workspace;

use crate::Outcome;

/// So many seeds are one child's work.
const BATCH: u64 = 4;
const KINDS: [&str; 2] = ["small", "large"];
const TELLS_EVERY: Duration = Duration::from_secs(10);
/// In so many states everything has happened that can: they are of as many loads as the test suite
/// has, which takes fewer crash points of each.
const STATES_OF_EVERYTHING: usize = 300_000;

#[derive(Args)]
pub(crate) struct Options {
    /// How many distinct crash states
    #[arg(long, default_value_t = 1_000_000)]
    states: usize,
    /// The first seed, a multiple of 4
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    let Options { states, seed } = *options;
    let built = workspace::cargo()
        .args(["build", "--profile", "proof", "--package", "proof", "--example", "crash_sweep"])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !built.success() {
        return Err("soak: the crash sweep doesn't build".into());
    }
    let program = workspace::target_directory(root)?.join("proof/examples/crash_sweep");
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let soaking = Soaking {
        program,
        wanted: states,
        cores,
        began: Instant::now(),
        state: Mutex::new(Seen { next: seed / BATCH * KINDS.len() as u64, ..Seen::default() }),
    };
    println!("soak: {states} distinct crash states on {cores} cores, from seed {seed} on");
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| while soaking.batch() {});
        }
    });
    soaking.verdict()
}

struct Soaking {
    program: PathBuf,
    wanted: usize,
    cores: usize,
    began: Instant,
    state: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    states: BTreeSet<u64>,
    loads: u64,
    /// The number of the next batch; kinds take turns.
    next: u64,
    failed: Option<String>,
    told: Duration,
    /// What never happened in sweeps of a kind; none if no child of it has ended yet.
    missing: BTreeMap<String, BTreeSet<String>>,
}

impl Soaking {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one more child; false if that's enough.
    fn batch(&self) -> bool {
        let number = {
            let mut seen = self.seen();
            if self.is_over(&seen) {
                return false;
            }
            seen.next += 1;
            seen.next - 1
        };
        let kind = KINDS[(number % 2) as usize];
        let from = number / 2 * BATCH;
        if let Err(why) = self.child(kind, from) {
            self.seen().failed.get_or_insert(why);
        }
        true
    }

    fn is_over(&self, seen: &Seen) -> bool {
        seen.failed.is_some() || seen.states.len() >= self.wanted
    }

    fn child(&self, kind: &str, from: u64) -> Outcome {
        let (first, end) = (from.to_string(), (from + BATCH).to_string());
        let mut child = Command::new(&self.program)
            .args([kind, &first, &end, "--states"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        let output = child.stdout.take().expect("it is piped");
        for line in BufReader::new(output).lines() {
            let line = line.map_err(|error| format!("the crash sweep can't be read: {error}"))?;
            if !self.take(&line) {
                end_child(&mut child);
                return Ok(());
            }
        }
        let mut why = String::new();
        if let Some(mut errors) = child.stderr.take() {
            let _ = errors.read_to_string(&mut why);
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{kind} seeds {first} to {end} ended with {status}: {why}")),
            Err(error) => Err(format!("the crash sweep can't be waited for: {error}")),
        }
    }

    /// Takes a child's line; false if it needn't go on.
    fn take(&self, line: &str) -> bool {
        let mut seen = self.seen();
        if let Some(hash) = line.strip_prefix("state ") {
            _ = u64::from_str_radix(hash, 16).map(|hash| seen.states.insert(hash));
        } else if let Some(missing) = line.strip_prefix("missing ") {
            seen.misses(missing);
        } else {
            seen.loads += 1;
        }
        let elapsed = self.began.elapsed();
        if elapsed >= seen.told + TELLS_EVERY {
            seen.told = elapsed;
            println!("soak: {}", self.figure(&seen, elapsed));
        }
        !self.is_over(&seen)
    }

    fn figure(&self, seen: &Seen, elapsed: Duration) -> String {
        let (distinct, seconds) = (seen.states.len(), elapsed.as_secs_f64());
        let rate = distinct as f64 / seconds;
        let left = self.wanted.saturating_sub(distinct) as f64 / rate.max(1.0);
        format!(
            "{distinct} distinct crash states from {} loads in {seconds:.0} s: {rate:.0} a second, \
             {:.0} a second a core; {left:.0} s left",
            seen.loads,
            rate / self.cores as f64
        )
    }

    fn verdict(self) -> Outcome {
        let elapsed = self.began.elapsed();
        println!("soak: {}", self.figure(&self.seen(), elapsed));
        let seen = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match seen.failed {
            Some(why) => Err(format!("soak: {why}")),
            None if self.wanted < STATES_OF_EVERYTHING => Ok(()),
            None => seen.everything(),
        }
    }
}

impl Seen {
    /// Takes what a child misses: its kind, and each thing.
    fn misses(&mut self, line: &str) {
        let Some((kind, things)) = line.split_once(": ") else { return };
        let things: BTreeSet<String> =
            things.split("; ").filter(|thing| !thing.is_empty()).map(str::to_string).collect();
        match self.missing.get_mut(kind) {
            Some(missing) => missing.retain(|thing| things.contains(thing)),
            None => _ = self.missing.insert(kind.to_string(), things),
        }
    }

    /// Everything happened in sweeps of each kind.
    fn everything(&self) -> Outcome {
        for kind in KINDS {
            let Some(missing) = self.missing.get(kind) else {
                return Err(format!("soak: no batch of {kind} sweeps has ended"));
            };
            if !missing.is_empty() {
                return Err(format!("soak: in {kind} sweeps it never happened: {missing:?}"));
            }
        }
        Ok(())
    }
}

fn end_child(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_two_children_saw_counts_once() {
        let soaking = Soaking {
            program: PathBuf::new(),
            wanted: 2,
            cores: 1,
            began: Instant::now(),
            state: Mutex::default(),
        };
        assert!(soaking.take("state 00000000000000ff"));
        assert!(soaking.take("state 00000000000000ff"));
        assert!(soaking.take("small 0: 1 distinct crash states"));
        assert!(!soaking.take("state 0000000000000001"), "two were wanted");
        assert_eq!(soaking.seen().loads, 1);
        assert_eq!(soaking.verdict(), Ok(()));
    }

    /// A soak that was long enough, after these lines of its children.
    fn verdict_of(lines: &[&str]) -> Outcome {
        let soaking = Soaking {
            program: PathBuf::new(),
            wanted: STATES_OF_EVERYTHING,
            cores: 1,
            began: Instant::now(),
            state: Mutex::default(),
        };
        lines.iter().for_each(|line| _ = soaking.take(line));
        soaking.verdict()
    }

    #[test]
    fn what_no_child_of_a_kind_has_seen_fails_a_long_soak() {
        let never = Err(r#"soak: in large sweeps it never happened: {"a log switch"}"#.to_string());
        let lines = ["missing small: ", "missing large: a log switch; rows read for update"];
        assert!(verdict_of(&lines[..1]).is_err(), "no large sweep has ended");
        assert_eq!(verdict_of(&[lines[0], lines[1], "missing large: a log switch"]), never);
        assert_eq!(verdict_of(&[lines[0], lines[1], "missing large: a cascade"]), Ok(()));
    }
}
