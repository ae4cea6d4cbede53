//! `soak honesty`: A/A, as a newcomer would run it. The lab compares a setting with itself and says
//! what it finds; "real" is wrong, and may be said once in twenty times.
//!
//! Here, one after the other: labs side by side would measure one another. On a modelled machine,
//! one on each core.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::Args;
use serde_json::Value;
use xtask::workspace;

use crate::Outcome;

/// So many labs may find one difference where there is none.
const ONE_IN: u64 = 20;

#[derive(Args)]
pub(crate) struct Options {
    /// How many labs; 20 here and 100 on a model, if not given
    #[arg(long)]
    labs: Option<u64>,
    /// The first one's seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// On a model of this machine
    #[arg(long, value_name = "MACHINE")]
    simulate: Option<String>,
    /// Measured seconds of each run; the lab's own, if not given
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Where the scratch folders are made
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    let built = workspace::cargo()
        .args(["build", "--release", "--package", "forebay"])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !built.success() {
        return Err("soak: forebay doesn't build".into());
    }
    let program = workspace::target_directory(root)?.join("release/forebay");
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (labs, at_once) = match options.simulate {
        Some(_) => (options.labs.unwrap_or(100), cores),
        None => (options.labs.unwrap_or(20), 1),
    };
    let counting = Counting { program, options, labs, state: Mutex::default() };
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| while counting.lab() {});
        }
    });
    counting.verdict()
}

struct Counting<'o> {
    program: PathBuf,
    options: &'o Options,
    labs: u64,
    state: Mutex<Counted>,
}

#[derive(Default)]
struct Counted {
    begun: u64,
    answered: u64,
    real: u64,
    failed: Option<String>,
}

impl Counting<'_> {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one more lab; false if that's enough.
    fn lab(&self) -> bool {
        let seed = {
            let mut counted = self.counted();
            if counted.failed.is_some() || counted.begun == self.labs {
                return false;
            }
            counted.begun += 1;
            self.options.seed + counted.begun - 1
        };
        match self.answer(seed) {
            Ok((is_real, line)) => {
                let mut counted = self.counted();
                counted.answered += 1;
                counted.real += u64::from(is_real);
                println!("honesty: seed {seed}: {line}; {}", counted.figure());
            }
            Err(why) => _ = self.counted().failed.get_or_insert(why),
        }
        true
    }

    /// Whether it found a difference, and what it said.
    fn answer(&self, seed: u64) -> Result<(bool, String), String> {
        let options = self.options;
        let mut command = Command::new(&self.program);
        let seed = seed.to_string();
        command.args(["lab", "run", "dbwr-count", "--equals", "--json", "--seed", &seed]);
        match &options.simulate {
            Some(machine) => command.args(["--simulate", machine]),
            None => command.arg("--dir").arg(&options.dir),
        };
        if let Some(seconds) = options.seconds {
            command.arg("--seconds").arg(seconds.to_string());
        }
        command.stderr(Stdio::null());
        let shown = format!("{command:?}");
        let output = command.output().map_err(|error| format!("cannot start {shown}: {error}"))?;
        if !output.status.success() {
            return Err(format!("{shown} ended with {}", output.status));
        }
        read(&output.stdout).ok_or_else(|| format!("{shown} printed something else than a report"))
    }

    fn verdict(self) -> Outcome {
        let counted = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = counted.failed {
            return Err(format!("soak: {why}"));
        }
        println!("honesty: {}", counted.figure());
        if counted.real * ONE_IN > counted.answered {
            return Err("soak: the lab found a difference between equals too often".into());
        }
        Ok(())
    }
}

impl Counted {
    fn figure(&self) -> String {
        format!("{} of {} found a difference between equals", self.real, self.answered)
    }
}

fn read(report: &[u8]) -> Option<(bool, String)> {
    let report: Value = serde_json::from_slice(report).ok()?;
    let comparison = report.get("headline")?.get("comparison")?;
    let finding = comparison.get("finding")?.as_str()?;
    let number = |value: &Value| value.as_f64();
    let interval = comparison.get("interval_95")?;
    let (low, high) = (interval.get(0).and_then(number)?, interval.get(1).and_then(number)?);
    let ratio = comparison.get("ratio").and_then(number)?;
    Some((finding == "real", format!("{ratio:.3} [{low:.3}, {high:.3}], {finding}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_the_lab_found() {
        let report = |finding: &str| {
            format!(
                r#"{{"headline":{{"comparison":{{"ratio":0.9942,"interval_95":[0.78,1.2478],
                "finding":"{finding}"}}}}}}"#
            )
        };
        let line = |finding: &str| format!("0.994 [0.780, 1.248], {finding}");
        assert_eq!(read(report("real").as_bytes()), Some((true, line("real"))));
        assert_eq!(read(report("can't tell").as_bytes()), Some((false, line("can't tell"))));
        assert_eq!(read(b"{}"), None);
    }
}
