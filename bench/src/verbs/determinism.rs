//! The verb `determinism`: the same seed gives the same event log, byte for byte.
//!
//! Runs the simulator's example `everything`, which uses every primitive, once per seed and
//! setting, each in a process of its own: in debug and optimised, on an idle and on a loaded
//! machine. Every log of a seed must be the same to the byte, and different seeds must differ.
//!
//! Callers: people, for release, which users have; the verb `test`, for what the proofs run on.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use xtask::workspace;

use crate::Outcome;

#[derive(Args)]
pub(crate) struct Arguments {
    /// How many seeds
    #[arg(long, default_value_t = 64)]
    seeds: u64,
    /// What is optimised: as users have it, or as the proofs do
    #[arg(long, default_value = "release", value_parser = ["release", "proof"])]
    profile: String,
}

/// One way to run the program.
struct Setting {
    name: &'static str,
    optimised: bool,
    loaded: bool,
}

const SETTINGS: [Setting; 4] = [
    Setting { name: "debug, idle", optimised: false, loaded: false },
    Setting { name: "optimised, idle", optimised: true, loaded: false },
    Setting { name: "debug, loaded", optimised: false, loaded: true },
    Setting { name: "optimised, loaded", optimised: true, loaded: true },
];

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Outcome {
    let seeds = arguments.seeds;
    if seeds < 2 {
        return Err("determinism: two seeds at least, or none could differ".into());
    }
    let target = workspace::target_directory(root)?;
    let began = Instant::now();
    let first = logs_of(root, &target, &SETTINGS[0], arguments)?;
    for setting in &SETTINGS[1..] {
        for (index, log) in logs_of(root, &target, setting, arguments)?.iter().enumerate() {
            compare(index as u64 + 1, &first[index], log, setting.name)?;
        }
    }
    if let Some(pair) = first.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("determinism: two seeds gave the same log of {} bytes", pair[0].len()));
    }
    let lines: usize = first.iter().map(|log| log.iter().filter(|b| **b == b'\n').count()).sum();
    let bytes: usize = first.iter().map(Vec::len).sum();
    println!(
        "determinism: {seeds} seeds x {} settings in processes of their own: every log of a seed \
         is the same, {lines} lines and {bytes} bytes in all, and the seeds differ ({:.1} s)",
        SETTINGS.len(),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

fn compare(seed: u64, expected: &[u8], log: &[u8], setting: &str) -> Outcome {
    if expected == log {
        return Ok(());
    }
    let mut pairs = expected.split(|b| *b == b'\n').zip(log.split(|b| *b == b'\n')).enumerate();
    let differs = pairs.find(|(_, (left, right))| left != right);
    let place = differs.map_or("one is longer".to_string(), |(line, (left, right))| {
        let (left, right) = (String::from_utf8_lossy(left), String::from_utf8_lossy(right));
        format!("line {}: \"{left}\" against \"{right}\"", line + 1)
    });
    Err(format!(
        "determinism: seed {seed} differs between {} and {setting}: {place}",
        SETTINGS[0].name
    ))
}

fn logs_of(
    root: &Path,
    target: &Path,
    setting: &Setting,
    arguments: &Arguments,
) -> Result<Vec<Vec<u8>>, String> {
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--package", "sim", "--example", "everything"]);
    if setting.optimised {
        build.args(["--profile", arguments.profile.as_str()]);
    }
    let built = build.current_dir(root).status().map_err(|e| format!("cannot start cargo: {e}"))?;
    if !built.success() {
        return Err("determinism: the example doesn't build".into());
    }
    let folder = if setting.optimised { arguments.profile.as_str() } else { "debug" };
    let program = target.join(folder).join("examples/everything");
    let began = Instant::now();
    let run_all = || (1..=arguments.seeds).map(|seed| log_of(&program, seed)).collect();
    let logs = if setting.loaded { under_load(run_all) } else { run_all() };
    println!("determinism: {}: {:.1} s", setting.name, began.elapsed().as_secs_f64());
    logs
}

/// Runs `work` while every CPU, and half of them twice, is busy with something else.
fn under_load<T>(work: impl FnOnce() -> T) -> T {
    let burners = std::thread::available_parallelism().map_or(2, std::num::NonZero::get) * 3 / 2;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..burners {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}

fn log_of(program: &Path, seed: u64) -> Result<Vec<u8>, String> {
    let run = Command::new(program).arg(seed.to_string()).output();
    let run = run.map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    if !run.status.success() {
        let why = String::from_utf8_lossy(&run.stderr);
        let last = String::from_utf8_lossy(&run.stdout);
        let last = last.lines().last().unwrap_or_default();
        return Err(format!("determinism: seed {seed} failed: {last}\n{why}"));
    }
    Ok(run.stdout)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// Rule sim/S8 is about what users have.
    #[test]
    fn release_is_compared_unless_the_profile_of_the_proofs_is_asked_for() {
        let profile = |line: &[&str]| {
            let read = Line::try_parse_from([&["determinism"][..], line].concat());
            read.ok().map(|line| line.arguments.profile)
        };
        assert_eq!(profile(&[]).as_deref(), Some("release"));
        assert_eq!(profile(&["--profile", "proof"]).as_deref(), Some("proof"));
        assert_eq!(profile(&["--profile", "dev"]), None, "it would be compared with itself");
    }

    /// A difference is told with its seed and the first line that differs.
    #[test]
    fn a_difference_is_told_with_its_line() {
        assert_eq!(compare(3, b"a\nb\n", b"a\nb\n", "x"), Ok(()));
        let why = compare(3, b"a\nb\nc", b"a\nB\nc", "optimised, loaded").expect_err("differs");
        assert!(why.contains("seed 3 differs between debug, idle and optimised, loaded"), "{why}");
        assert!(why.contains("line 2: \"b\" against \"B\""), "{why}");
        assert!(compare(3, b"a", b"a\nb", "x").is_err());
    }
}
