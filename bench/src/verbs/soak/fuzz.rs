//! `soak fuzz`: statements that nobody would write, on all cores, each seed in a process of its
//! own, for some hours. What goes wrong is kept in `target/soak/fuzz`, made smaller: also a process
//! that was aborted, or that came to no end, for its acts are written down before they run.
//!
//! The test `short` of crate `fuzz` does the same in a short form.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use xtask::workspace;

use crate::Outcome;

/// The seconds that a seed has: hundreds of statements, of which each has some.
const SECONDS: &str = "1800";

/// The memory that a process has, in KiB: more than it looks for itself.
const KIB_MAX: &str = "8000000";

#[derive(Args)]
pub(crate) struct Options {
    /// For how many hours
    #[arg(long, default_value_t = 1.0)]
    hours: f64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// End after so many findings
    #[arg(long, default_value_t = 10)]
    findings: usize,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    let Options { hours, seed, findings } = *options;
    let built = workspace::cargo()
        .args(["build", "--profile", "proof", "--package", "fuzz", "--example", "play"])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !built.success() {
        return Err("soak: the fuzz doesn't build".into());
    }
    let target = workspace::target_directory(root)?;
    let folder = target.join("soak/fuzz");
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("soak: cannot make {}: {error}", folder.display()))?;
    let time = Duration::try_from_secs_f64(hours * 3_600.0);
    let time = time.map_err(|error| format!("soak: {hours} hours: {error}"))?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    println!("soak: {hours} hours on {cores} cores, from seed {seed} on");
    let soaking = Soaking {
        program: target.join("proof/examples/play"),
        folder,
        until: Instant::now() + time,
        findings_max: findings,
        seen: Mutex::new(Seen { next: seed, ..Seen::default() }),
    };
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| while soaking.seed() {});
        }
    });
    let seen = soaking.seen();
    println!("soak: {} seeds, {} findings", seen.done, seen.found.len());
    match (&seen.failed, seen.found.is_empty()) {
        (Some(why), _) => Err(format!("soak: {why}")),
        (None, true) => Ok(()),
        (None, false) => Err(format!("soak: {}", seen.found.join("\nsoak: "))),
    }
}

struct Soaking {
    program: PathBuf,
    folder: PathBuf,
    until: Instant,
    findings_max: usize,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    next: u64,
    done: u64,
    /// A line for each finding.
    found: Vec<String>,
    /// Why the soak can't go on.
    failed: Option<String>,
}

impl Soaking {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one more seed; false if that's enough.
    fn seed(&self) -> bool {
        let seed = {
            let mut seen = self.seen();
            let is_enough = seen.failed.is_some() || seen.found.len() >= self.findings_max;
            if is_enough || Instant::now() >= self.until {
                return false;
            }
            seen.next += 1;
            seen.next - 1
        };
        let file = self.folder.join(format!("seed-{seed}.sql"));
        match self.child(seed, &file) {
            Ok(None) => self.seen().done += 1,
            Ok(Some(line)) => {
                println!("soak: {line}");
                let mut seen = self.seen();
                seen.done += 1;
                seen.found.push(line);
            }
            Err(why) => {
                self.seen().failed.get_or_insert(why);
            }
        }
        true
    }

    /// Plays a seed, whose acts go into the file. What was found, if anything, as a line.
    fn child(&self, seed: u64, file: &Path) -> Result<Option<String>, String> {
        let path = file.to_string_lossy();
        let output = self.program(&["seed", &seed.to_string(), &path])?;
        if output.status.success() {
            println!("soak: seed {seed}: {}", first_line(&output));
            // It may have been removed.
            let _ = std::fs::remove_file(file);
            return Ok(None);
        }
        let wrong = match output.status.code() {
            Some(1) => first_line(&output),
            _ => format!("ended by {}: {}", output.status, last_error(&output)),
        };
        println!("soak: seed {seed}: {wrong}; {path} has its acts, and is made smaller");
        let shrunk = self.shrink(&path)?;
        Ok(Some(format!("seed {seed}: {wrong}; {shrunk}")))
    }

    /// Makes the script of a file smaller, and says where it is.
    fn shrink(&self, path: &str) -> Result<String, String> {
        let output = Command::new(&self.program).args(["shrink", path]).output();
        let output = output.map_err(|error| self.cannot_start(&error))?;
        Ok(match output.status.success() {
            true => format!("see {path}.small"),
            false => format!("see {path}; {}", first_line(&output)),
        })
    }

    /// Runs the program with so much time and memory.
    fn program(&self, arguments: &[&str]) -> Result<Output, String> {
        let line = format!("ulimit -v {KIB_MAX}; exec timeout -s KILL {SECONDS} \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &line]).arg(&self.program).args(arguments);
        command.output().map_err(|error| self.cannot_start(&error))
    }

    fn cannot_start(&self, error: &std::io::Error) -> String {
        format!("cannot start {}: {error}", self.program.display())
    }
}

fn first_line(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().next().unwrap_or("it says nothing").to_string()
}

/// What a process that was aborted said last.
fn last_error(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().rfind(|line| !line.is_empty()).unwrap_or("it says nothing").to_string()
}
