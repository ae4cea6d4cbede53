//! The verb `newcomer`: from a clone to the lab's first verdict, by the clock.
//!
//! ```text
//!   git clone ─▶ cargo build --release ─▶ forebay lab run commit-leader ─▶ verdict
//!   └───────────────── within eight minutes, and decided? ──────────────────────┘
//! ```
//! The clone has a target folder of its own, so nothing that was built before helps. The crates of
//! others are taken from cargo's own store where it has them.
//!
//! Callers: people, before a release.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bench::Scratch;
use clap::Args;
use serde_json::Value;

use super::decides::finding::Finding;
use super::decides::record::lost;
use crate::Outcome;

#[derive(Args)]
pub(crate) struct Arguments {
    /// How often the experiment runs; only the first try builds, and its time counts for all
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    tries: u32,
    /// Where to clone; the system's temporary folder if not given
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// The README's first.
const EXPERIMENT: &str = "commit-leader";
/// From the clone to a decision.
const PROMISE: Duration = Duration::from_secs(8 * 60);

/// Clones, builds, runs, and says how long it took.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Outcome {
    let parent = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    // Gone in the end, also after Ctrl-C, and with it whatever still works there.
    let scratch = Scratch::create(&parent).map_err(|error| format!("newcomer: {error}"))?;
    let clone = scratch.path().join("forebay");
    let cloned = clone_head(root, &clone)?;
    println!("newcomer: cloned {} in {:.1} s", cloned.commit, cloned.took.as_secs_f64());
    let built = build(&clone)?;
    println!("newcomer: built in {:.0} s", built.as_secs_f64());
    let binary = clone.join("target/release/forebay");
    let mut kept = 0;
    for number in 1..=arguments.tries {
        let verdict = verdict(&binary, &clone, number)?;
        let total = cloned.took + built + verdict.took;
        let is_kept = verdict.keeps_promise(cloned.took + built);
        kept += u32::from(is_kept);
        println!(
            "newcomer: try {number}: verdict after {:.0} s, {:.0} s in all: {}: {}",
            verdict.took.as_secs_f64(),
            total.as_secs_f64(),
            verdict.finding.map_or("no answer".to_owned(), |finding| finding.line()),
            if is_kept { "decided in time" } else { "not decided in time" },
        );
    }
    outcome(kept, arguments.tries)
}

/// Whether the promise was kept in nine tries of ten, or a larger share.
fn outcome(kept: u32, tries: u32) -> Outcome {
    let line =
        format!("newcomer: {kept} of {tries} decided within {} minutes", PROMISE.as_secs() / 60);
    match u64::from(kept) * 10 >= u64::from(tries) * 9 {
        true => {
            println!("{line}");
            Ok(())
        }
        false => Err(line),
    }
}

/// What was cloned.
struct Cloned {
    commit: String,
    took: Duration,
}

/// Clones what is committed; what isn't is no part of it.
fn clone_head(root: &Path, clone: &Path) -> Result<Cloned, String> {
    let began = Instant::now();
    finish(Command::new("git").args(["clone", "--quiet"]).arg(root).arg(clone), "git clone")?;
    let took = began.elapsed();
    let head = |folder: &Path| -> Result<String, String> {
        let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(folder).output();
        let output = output.map_err(|error| format!("cannot start git: {error}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = head(clone)?;
    match commit == head(root)? && !commit.is_empty() {
        true => Ok(Cloned { commit: commit.chars().take(12).collect(), took }),
        false => Err(format!("newcomer: the clone is at {commit}, and not where the tree is")),
    }
}

/// Builds what the README says, with nothing of our own settings; how long it took.
fn build(clone: &Path) -> Result<Duration, String> {
    let began = Instant::now();
    let mut cargo = Command::new("cargo");
    for (name, _) in std::env::vars_os() {
        if is_ours(&name.to_string_lossy()) {
            cargo.env_remove(&name);
        }
    }
    cargo.args(["build", "--release", "--target-dir"]).arg(clone.join("target"));
    finish(cargo.current_dir(clone), "cargo build")?;
    Ok(began.elapsed())
}

/// Whether a variable changes how a tree is built. Those of `cargo run` do as well: the toolchain
/// is the clone's own choice.
fn is_ours(variable: &str) -> bool {
    let builds = ["CARGO", "RUSTC", "RUSTFLAGS", "RUSTDOC", "RUSTUP_TOOLCHAIN"];
    variable != "CARGO_HOME" && builds.iter().any(|begin| variable.starts_with(begin))
}

fn finish(command: &mut Command, what: &str) -> Outcome {
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|error| format!("cannot start {what}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("newcomer: {what} failed")) }
}

/// What the lab said, and after how long.
struct TimedVerdict {
    finding: Option<Finding>,
    took: Duration,
}

impl TimedVerdict {
    /// Whether it was decided within the time, with what came before it.
    fn keeps_promise(&self, before: Duration) -> bool {
        let is_decided = self.finding.is_some_and(|it| it.is_decided() || it.is_real);
        is_decided && before + self.took <= PROMISE
    }
}

/// Runs the experiment; the first try has the seed that nobody chose.
fn verdict(binary: &Path, clone: &Path, seed: u32) -> Result<TimedVerdict, String> {
    let began = Instant::now();
    let output = Command::new(binary)
        .args(["lab", "run", EXPERIMENT, "--json", "--seed", &seed.to_string()])
        .current_dir(clone)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start forebay: {error}"))?;
    let took = began.elapsed();
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        let last = told.lines().last().unwrap_or_default();
        return Err(format!("newcomer: forebay lab run {EXPERIMENT}: {last}"));
    }
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("newcomer: the report is no JSON: {error}"))?;
    match lost(&report) {
        0 => {}
        lost => return Err(format!("newcomer: {lost} commits were LOST")),
    }
    Ok(TimedVerdict { finding: Finding::of(&report)?, took })
}

#[cfg(test)]
mod tests {
    use super::super::decides::finding::Matters;
    use super::*;

    #[test]
    fn a_decision_counts_if_it_comes_in_time() {
        let verdict = |is_real, matters, seconds| TimedVerdict {
            finding: Some(Finding {
                ratio: 1.0,
                interval: [0.99, 1.01],
                is_real,
                matters,
                gain: 1.0,
            }),
            took: Duration::from_secs(seconds),
        };
        let built = Duration::from_secs(180);
        assert!(verdict(false, Matters::No, 300).keeps_promise(built));
        assert!(verdict(true, Matters::Open, 300).keeps_promise(built));
        assert!(!verdict(false, Matters::Open, 300).keeps_promise(built), "nothing was decided");
        assert!(!verdict(true, Matters::Yes, 301).keeps_promise(built), "too late");
        let unanswered = TimedVerdict { finding: None, took: Duration::from_secs(1) };
        assert!(!unanswered.keeps_promise(Duration::ZERO));
    }

    #[test]
    fn a_promise_that_is_not_kept_in_nine_tries_of_ten_is_a_failure() {
        assert!(outcome(5, 5).is_ok() && outcome(4, 5).is_err() && outcome(0, 1).is_err());
        assert!(outcome(9, 10).is_ok() && outcome(8, 10).is_err());
    }

    #[test]
    fn a_clone_is_built_without_our_own_settings() {
        for ours in ["RUSTFLAGS", "RUSTC_WRAPPER", "CARGO_TARGET_DIR", "RUSTUP_TOOLCHAIN"] {
            assert!(is_ours(ours), "{ours}");
        }
        assert!(!is_ours("CARGO_HOME") && !is_ours("RUSTUP_HOME") && !is_ours("PATH"));
    }

    #[test]
    fn the_clone_is_at_the_trees_head() {
        let scratch = Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let tree = scratch.path().join("tree");
        std::fs::create_dir(&tree).expect("it is writable");
        let git = |options: &[&str]| {
            finish(Command::new("git").args(options).current_dir(&tree), "git").expect("it works")
        };
        git(&["init", "--quiet"]);
        let author = ["-c", "user.name=A", "-c", "user.email=a@b"];
        git(&[&author[..], &["commit", "--quiet", "--allow-empty", "-m", "x"]].concat());
        let cloned = clone_head(&tree, &scratch.path().join("forebay")).expect("it is a tree");
        assert_eq!(cloned.commit.len(), 12);
        assert!(clone_head(scratch.path(), &scratch.path().join("other")).is_err());
    }
}
