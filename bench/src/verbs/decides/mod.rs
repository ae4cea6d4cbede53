//! The verb `decides`: does the lab see differences that are known, and none where there is none?
//!
//! ```text
//!   neighbour ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ a process of its own
//!   forebay lab compare --set test_commit_delay=0 --vs test_commit_delay=NS ─▶ JSON ─▶ --out
//!   forebay lab compare ... --equals                                        ─▶ JSON ─▶ --out
//!                                                                             table ◀─┘
//! ```
//! A planted delay burns so much CPU in each commit of setting B. What that does to the throughput
//! isn't known beforehand: the mean over all runs says it better than any of them. Each run is the
//! program that users run, with a seed that no other run has. Kinds of runs are spread evenly over
//! the campaign, so that an interrupted one has some of each.
//!
//! Callers: people, after a change of how the lab decides.

mod campaign;
pub(crate) mod finding;
pub(crate) mod record;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use self::campaign::{Campaign, Run};
use self::record::{Record, Records, last_kept};
use super::binary;
use crate::Outcome;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Without the neighbour that makes the machine noisy
    #[arg(long)]
    quiet: bool,
    /// The planted delays, in nanoseconds of CPU a commit
    #[arg(long, value_name = "NS,NS,...", value_delimiter = ',', default_value = "2000,4000,8000")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    delays: Vec<u64>,
    /// Runs of each delay
    #[arg(long, value_name = "N", default_value_t = 10)]
    repeat: u32,
    /// Runs of equals; as many as of each delay if not given
    #[arg(long, value_name = "N")]
    equals: Option<u32>,
    /// How long a run may take: 90s, 5m
    #[arg(long, value_name = "TIME", default_value = "5m")]
    budget: String,
    /// The first run's seed; the others count on from there
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Append each run to this file; what it has is tabulated too, and its seeds are passed over
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    out: Option<PathBuf>,
    /// Keep the rows of each run in this folder, in a file named after its seed: `lab report` reads
    /// them
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    keep: Option<PathBuf>,
    /// Run nothing: tabulate this file
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The binary `forebay`; built if not given
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Where databases are made and the neighbour writes, on the disk that counts
    #[arg(long, default_value = "target")]
    dir: PathBuf,
    /// More options of `forebay lab compare`
    #[arg(last = true)]
    more: Vec<String>,
}

/// Runs a campaign, or reads one, and tabulates it.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Outcome {
    if let Some(path) = &arguments.from {
        return tabulate(&Records::read(path)?);
    }
    let mut known =
        arguments.out.as_deref().map_or_else(|| Ok(Records::default()), Records::read_if_there)?;
    let equals = arguments.equals.unwrap_or(arguments.repeat);
    let kinds = campaign::order(&arguments.delays, arguments.repeat, equals);
    let keep = arguments.keep.as_ref().map(|keep| root.join(keep));
    // A run that was stopped has left its rows, and is no record.
    let used = known.records.iter().map(|record| record.seed);
    let used = used.chain(keep.as_deref().and_then(last_kept)).max();
    let first = arguments.seed.max(used.map_or(0, |seed| seed.saturating_add(1)));
    let runs: Vec<Run> =
        (first..).zip(kinds).map(|(seed, delay_ns)| Run { delay_ns, seed }).collect();
    let program = match &arguments.binary {
        Some(path) => fs::canonicalize(path)
            .map_err(|error| format!("no program {}: {error}", path.display()))?,
        None => binary::built(root)?,
    };
    let campaign = Campaign {
        program,
        dir: root.join(&arguments.dir),
        neighbour_seed: (!arguments.quiet).then_some(first),
        budget: arguments.budget.clone(),
        more: arguments.more.clone(),
        out: arguments.out.clone(),
        keep,
    };
    // What was found is told however the campaign ended.
    os::linux::listen();
    let ended = campaign.carry_out(&runs, &mut known.records);
    let tabulated = if known.records.is_empty() { Ok(()) } else { tabulate(&known) };
    match (tabulated, ended) {
        (Err(found), Err(why)) => Err(format!("{found}\n{why}")),
        (tabulated, ended) => tabulated.and(ended),
    }
}

fn tabulate(known: &Records) -> Outcome {
    if known.records.is_empty() {
        return Err("decides: the file has no run".into());
    }
    print!("{}", table::text(&known.records));
    if known.skipped > 0 {
        println!("left out: {} lines that are no record of a run", known.skipped);
    }
    let lost: u64 = known.records.iter().map(Record::lost).sum();
    if lost > 0 {
        return Err(format!("decides: {lost} commits were LOST: no figure is worth anything"));
    }
    if table::breaks_the_promise(&known.records) {
        return Err("decides: the promise about equals is broken".into());
    }
    let failing = table::failing(&known.records);
    match failing.is_empty() {
        true => Ok(()),
        false => {
            let kinds = failing.join("; ");
            Err(format!("decides: more than a tenth failed or ended before its time: {kinds}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::record::tests::record;
    use super::*;

    /// Every other run fails: never three in a row, so the campaign comes to its end.
    #[test]
    fn more_than_a_tenth_of_a_kind_that_failed_is_an_error() {
        let ended = |failed: usize| {
            let mut records = vec![record(None, 1.0, "not seen", "no"); 20];
            for run in records.iter_mut().step_by(2).take(failed) {
                run.report = serde_json::Value::Null;
                run.failed = Some("it didn't say why".to_owned());
            }
            // Of this kind none failed, which doesn't help the other one.
            records.extend(vec![record(Some(2_000), 0.98, "yes", "yes"); 20]);
            tabulate(&Records { records, skipped: 0 })
        };
        assert_eq!(ended(2), Ok(()));
        let why = ended(3).expect_err("a lab that fails where it would err keeps no promise");
        assert!(why.ends_with("before its time: equals, quiet, 5m a run: 3 of 20"), "{why}");
    }
}
