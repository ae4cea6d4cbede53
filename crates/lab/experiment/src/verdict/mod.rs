//! The verdict: rows of runs in, a page of text or a line of JSON out.
//!
//! ```text
//!   rows ──▶ Pairs ──▶ headline     is it real? does it matter?
//!                 ├──▶ commits      are any lost?
//!                 ├──▶ processes    what did each process of the instance use?
//!                 ├──▶ time_table   where does a transaction's time go, and the difference?
//!                 ├──▶ load         load profile per second and per transaction
//!                 └──▶ origin       how to reproduce; warnings beside it
//! ```
//!
//! Each section is a struct that serializes as it is and has a `text`: one fact, two forms. Nothing
//! here measures, and nothing decides: findings are those of crate `stats`. Rules V1 to V17 are in
//! the README.
//!
//! Callers: `lab`.

mod commits;
mod headline;
mod load;
mod origin;
mod pairs;
mod processes;
mod time_table;
mod warnings;

use std::fmt;

use report::number::counted;
use serde::Serialize;
use stats::Comparison;

use self::commits::CommitCheck;
use self::headline::Headline;
use self::load::LoadProfile;
use self::origin::Origin;
use self::pairs::Pairs;
use self::processes::Processes;
use self::time_table::TimeTable;
use self::warnings::Worst;
use crate::Run;

/// The question that a verdict answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The difference of throughput from which on it matters: 0.02 is two per cent.
    pub threshold: f64,
    /// Seeds the resampling.
    pub seed: u64,
    /// The command line that makes these rows again.
    pub command: String,
    /// Of a simulated world: what the machine model stands for and from which source, in
    /// sentences. Unused for a real one.
    pub model: String,
    /// Of a simulated world: the comparisons under other assumptions.
    pub sensitivity: Vec<Sensitivity>,
}

/// The comparison under another assumption.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// What was assumed: `half the migration and switch cost`.
    pub change: String,
    /// From [`compare`].
    pub comparison: Option<Comparison>,
}

/// Why rows allow no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoVerdict {
    /// They hold no whole A/B pair.
    NoPair {
        /// The number of rows.
        rows: usize,
    },
    /// In one of the runs no transaction ended, so no ratio is defined.
    Idle {
        /// The length of that run, ns.
        elapsed_ns: u64,
    },
}

impl fmt::Display for NoVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NoVerdict::NoPair { rows } => {
                let rows = counted(rows as u64, "row");
                write!(f, "no whole pair of A and B in {rows}: let the experiment run longer")
            }
            NoVerdict::Idle { elapsed_ns } => write!(
                f,
                "no transaction ended in a run of {:.3} s: choose longer runs, or a machine that \
                 does less beside them",
                elapsed_ns as f64 / 1e9
            ),
        }
    }
}

impl std::error::Error for NoVerdict {}

/// The comparison of the throughputs in these rows. `None` with too few whole pairs, or a run in
/// which no transaction ended.
pub fn compare(rows: &[Run], threshold: f64, seed: u64) -> Option<Comparison> {
    if rows.iter().any(|run| run.transactions == 0) {
        return None;
    }
    let pairs = Pairs::of(rows);
    Comparison::of(&pairs.throughputs(), &pairs.aa_throughputs(), threshold, seed)
}

/// The answer of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    experiment: String,
    runs: usize,
    measured_s: f64,
    headline: Headline,
    commits: CommitCheck,
    unaccounted_worst: Option<Worst>,
    warnings: Vec<String>,
    processes: Processes,
    foreground: TimeTable,
    background: TimeTable,
    load_profile: LoadProfile,
    origin: Origin,
}

impl Verdict {
    /// Of the rows of one experiment.
    pub fn of(rows: &[Run], question: &Question) -> Result<Verdict, NoVerdict> {
        if let Some(idle) = rows.iter().find(|run| run.transactions == 0) {
            return Err(NoVerdict::Idle { elapsed_ns: idle.elapsed_ns });
        }
        let pairs = Pairs::of(rows);
        let comparison = compare(rows, question.threshold, question.seed);
        let nothing = NoVerdict::NoPair { rows: rows.len() };
        let headline = Headline::of(&pairs, comparison).ok_or(nothing)?;
        let (a, b) = *pairs.ab.first().ok_or(nothing)?;
        let (commits, worst) = (CommitCheck::of(rows), Worst::of(rows));
        let warned =
            warnings::warnings(rows, &pairs, comparison.as_ref(), &commits, worst.as_ref());
        let sides = pairs.sides();
        Ok(Verdict {
            experiment: a.identity.experiment.clone(),
            runs: rows.len(),
            measured_s: rows.iter().map(|run| run.elapsed_ns as f64 / 1e9).sum(),
            headline,
            commits,
            unaccounted_worst: worst,
            warnings: warned,
            processes: Processes::of(&pairs),
            foreground: TimeTable::of("Foreground: where time goes", &sides, |run| &run.foreground),
            background: TimeTable::of("Background: where time goes", &sides, |run| &run.background),
            load_profile: LoadProfile::of(&sides),
            origin: Origin::of(&a.identity, &b.identity, question),
        })
    }

    /// For people: 80 columns of plain text, with a line end at the end.
    pub fn text(&self) -> String {
        let mut sections = vec![
            format!(
                "{}: {} of {} s\n",
                self.experiment,
                counted(self.runs as u64, "run"),
                self.run_seconds()
            ),
            self.headline.text(),
            self.commits.text() + &Worst::text(self.unaccounted_worst.as_ref()),
        ];
        if !self.warnings.is_empty() {
            sections.push(warnings::text(&self.warnings));
        }
        sections.extend(self.origin.model_text(self.headline.comparison()));
        sections.extend([
            self.processes.text(),
            self.foreground.text(),
            self.background.text(),
            self.load_profile.text(),
            self.origin.text(),
        ]);
        sections.join("\n")
    }

    /// For programs: one line, all figures unrounded, without a line end.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialize")
    }

    /// The mean measured interval of a run.
    fn run_seconds(&self) -> String {
        report::number::decimal(self.measured_s / self.runs as f64, 1)
    }
}
