//! The verdict: rows of runs in, a page of text or a line of JSON out.
//!
//! ```text
//!   rows ──▶ Rounds ─▶ headline     is it real? does it matter?
//!                 ├──▶ levels       of more than two: all beside each other; which is best?
//!                 ├──▶ yardsticks   throughput, latency, cost, work: each with its interval
//!                 ├──▶ explanation  which parts of the time make the difference, for certain?
//!                 ├──▶ carry_over   may settings alternate in one instance at all?
//!                 ├──▶ course       is throughput steady, and has it a cycle?
//!                 ├──▶ samples      the runs as textbooks compare them
//!                 ├──▶ priority     did processes that got priority wait for a CPU?
//!                 ├──▶ commits      are any lost?
//!                 ├──▶ processes    what did each process of the instance use?
//!                 ├──▶ time_table   where does a transaction's time go, and the difference?
//!                 ├──▶ load         load profile per second and per transaction
//!                 └──▶ origin       how to reproduce; warnings beside it
//! ```
//!
//! Each section is a struct that serializes as it is and has a `text`: one fact, two forms. Nothing
//! here measures, and nothing decides: answers are those of `decision`. Rules V1 to V38 are in
//! the README.
//!
//! Callers: `lab`.

pub(crate) mod carry_over;
pub(crate) mod commits;
mod course;
mod explanation;
mod headline;
mod html;
mod levels;
mod load;
mod origin;
mod priority;
mod processes;
mod samples;
pub(crate) mod slow;
mod time_table;
mod warnings;
mod yardsticks;

use std::fmt;

use self::carry_over::CarryOver;
use self::commits::CommitCheck;
use self::course::Course;
use self::explanation::Explanation;
use self::headline::Headline;
use self::levels::Levels;
use self::load::LoadProfile;
use self::origin::Origin;
use self::priority::Priority;
use self::processes::Processes;
use self::samples::Samples;
use self::time_table::TimeTable;
use self::warnings::Worst;
use self::yardsticks::Yardsticks;
use crate::decision::{Decision, Rule, decide, foremost, judged, others};
use crate::rounds::Rounds;
use crate::{Audit, Level, Run};
use report::number::counted;
use serde::Serialize;

/// The question that a verdict answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// When the difference is real, and from where on it matters.
    pub rule: Rule,
    /// Of settings that alternate: the most rounds for which any budget has room, if that is known.
    pub most_rounds: Option<u32>,
    /// The command line that makes these rows again.
    pub command: String,
    /// Of a simulated world: what the machine model stands for and from which source, in
    /// sentences. Unused for a real one.
    pub model: String,
    /// Of a simulated world: the comparisons under other assumptions.
    pub sensitivity: Vec<Sensitivity>,
    /// Those of which nothing is known.
    pub untried: Untried,
    /// Of runs that share instances: whether the commits of these survived their crashes.
    pub audits: Vec<Audit>,
    /// What else a reader should know, in sentences.
    pub notes: Vec<String>,
}

/// The comparison under another assumption.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// What was assumed: `half the migration and switch cost`.
    pub change: String,
    /// From [`compare`].
    pub comparison: Option<Decision>,
}

/// The assumptions of a simulated world under which no comparison is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Untried {
    /// None was left out.
    #[default]
    Nothing,
    /// The experiment was stopped before it had tried these: `half the migration and switch cost`.
    Stopped(Vec<String>),
    /// A file of rows holds no comparison under another assumption.
    NotInRows,
}

/// Why rows allow no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoVerdict {
    /// They hold no whole round.
    NoRound {
        /// The number of rows.
        rows: usize,
    },
    /// In none of a setting's runs by restart a transaction ended, so no ratio is defined.
    Idle {
        /// Which setting.
        level: Level,
        /// How many runs it has, of whole rounds.
        runs: usize,
    },
}

impl fmt::Display for NoVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NoVerdict::NoRound { rows } => {
                let rows = counted(rows as u64, "row");
                write!(f, "no whole round of all settings in {rows}: let the experiment run longer")
            }
            NoVerdict::Idle { level, runs } => write!(
                f,
                "no transaction ended under setting {level}, in {}: choose longer runs, or a \
                 machine that does less beside them",
                counted(runs as u64, "run")
            ),
        }
    }
}

impl std::error::Error for NoVerdict {}

/// The comparison of a level with A in these rows, by the rule's measure. `None` with too few whole
/// rounds, or if no transaction ended in any run of a side.
pub fn compare(rows: &[Run], level: Level, rule: &Rule) -> Option<Decision> {
    decide(rows, level, rule.measure.figure(), rule)
}

/// Refused if no transaction ended in any run of a setting, by restarts. (Where settings alternate
/// the headline says so.)
fn check_idle(rounds: &Rounds<'_>) -> Result<(), NoVerdict> {
    for level in (0..rounds.levels).map(Level::of) {
        let runs = || rounds.compared.iter().filter_map(|round| round.get(&level));
        if runs().all(|run| run.transactions == 0 && run.block.is_none()) {
            return Err(NoVerdict::Idle { level, runs: runs().count() });
        }
    }
    Ok(())
}

/// The answer of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    experiment: String,
    runs: usize,
    measured_s: f64,
    /// Of more than two settings.
    levels: Option<Levels>,
    headline: Headline,
    yardsticks: Yardsticks,
    explanation: [Explanation; 2],
    /// Of two settings.
    samples: Option<Samples>,
    priority: Option<Priority>,
    carry_over: Option<CarryOver>,
    course: Option<Course>,
    commits: CommitCheck,
    unaccounted_worst: Option<Worst>,
    notes: Vec<String>,
    warnings: Vec<String>,
    processes: Processes,
    foreground: TimeTable,
    background: TimeTable,
    load_profile: LoadProfile,
    origin: Origin,
    #[serde(skip)]
    rule: Rule,
    /// The level that is compared with A in detail.
    #[serde(skip)]
    level: Level,
    /// How many settings there are.
    #[serde(skip)]
    settings: usize,
}

impl Verdict {
    /// Of the rows of one experiment.
    pub fn of(rows: &[Run], question: &Question) -> Result<Verdict, NoVerdict> {
        let rounds = judged(rows, &question.rule);
        let level = foremost(rows, &question.rule);
        let decision = compare(rows, level, &question.rule);
        let nothing = NoVerdict::NoRound { rows: rows.len() };
        let pairs = rounds.pairs_with(level);
        let (a, b) = *pairs.first().ok_or(nothing)?;
        check_idle(&rounds)?;
        // What is certain is told by the bar of the last look, of its rounds.
        let look = decision.as_ref().map(|of| (&pairs[..], of.critical));
        let explanation = [
            Explanation::of("Sessions: what makes the difference", look, |r| &r.foreground),
            Explanation::of("Processes: what makes the difference", look, |r| &r.background),
        ];
        let headline = Headline::of(&rounds, level, question, decision).ok_or(nothing)?;
        let yardsticks = Yardsticks::of(rows, level, &question.rule);
        let carry_overs: Vec<(Level, CarryOver)> = others(rows)
            .filter_map(|of| Some((of, CarryOver::of_rows(rows, of, &question.rule)?)))
            .collect();
        let carry_over = carry_overs.iter().find(|(of, _)| *of == level).map(|(_, found)| *found);
        let (commits, worst) = (CommitCheck::of(rows, &question.audits), Worst::of(rows));
        let mut warned = warnings::warnings(rows, &rounds, &commits, worst.as_ref());
        warned.extend(yardsticks.warnings());
        warned.extend(Yardsticks::warnings_of_others(rows, level, &question.rule));
        warned.extend(carry_overs.iter().find_map(|(_, found)| found.warning()));
        let sides = rounds.sides(level);
        Ok(Verdict {
            experiment: a.identity.experiment.clone(),
            runs: rows.len(),
            measured_s: rows.iter().map(|run| run.elapsed_ns as f64 / 1e9).sum(),
            levels: Levels::of(rows, &rounds, level, &question.rule),
            headline,
            yardsticks,
            explanation,
            samples: (rounds.levels == 2).then(|| Samples::of(&sides)).flatten(),
            priority: Priority::of(&sides),
            carry_over,
            course: Course::of(rows),
            commits,
            unaccounted_worst: worst,
            notes: question.notes.clone(),
            warnings: warned,
            processes: Processes::of(&sides),
            foreground: TimeTable::of("Foreground: where time goes", &sides, |run| &run.foreground),
            background: TimeTable::of("Background: where time goes", &sides, |run| &run.background),
            load_profile: LoadProfile::of(&sides),
            origin: Origin::of(&a.identity, &b.identity, question),
            rule: question.rule,
            level,
            settings: rounds.levels,
        })
    }

    /// How many commits were lost that had been promised: if any, no figure is worth anything.
    pub fn commits_lost(&self) -> u64 {
        self.commits.lost
    }

    /// For people: 80 columns of plain text, with a line end at the end.
    pub fn text(&self) -> String {
        let b = self.level;
        let mut sections = vec![format!(
            "{}: {} of {}\n",
            self.experiment,
            counted(self.runs as u64, "run"),
            self.run_length()
        )];
        if let Some(levels) = &self.levels {
            sections.push(levels.text());
            sections.push(report::paragraph(&format!("{}.", levels.detail()), ""));
        }
        sections.extend([
            self.headline.text(b),
            self.commits.text() + &Worst::text(self.unaccounted_worst.as_ref()),
        ]);
        if !self.notes.is_empty() {
            sections.push(self.notes.iter().map(|note| report::paragraph(note, "  ")).collect());
        }
        if !self.warnings.is_empty() {
            sections.push(warnings::text(&self.warnings));
        }
        sections.extend(self.origin.model_text(self.headline.comparison(), b));
        sections.extend([self.yardsticks.text(b), self.explanation[0].text()]);
        sections.extend(self.carry_over.as_ref().map(|of| of.text(b)));
        sections.extend(self.course.as_ref().map(Course::text));
        sections.extend(self.samples.as_ref().map(|of| of.text(b)));
        sections.extend(self.diagnosis().map(|text| report::paragraph(&text, "  ")));
        sections.extend([
            self.processes.text(b),
            self.foreground.text(b),
            self.background.text(b),
            self.load_profile.text(b),
            self.origin.text(b),
        ]);
        sections.join("\n")
    }

    /// For programs: one line, all figures unrounded, without a line end.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialize")
    }

    /// What became of priority, of settings that compare it.
    fn diagnosis(&self) -> Option<String> {
        Some(self.priority.as_ref()?.sentence(self.level, self.rule.threshold))
    }

    /// The mean measured interval of a run.
    fn run_length(&self) -> String {
        waits::Nanos((self.measured_s / self.runs as f64 * 1e9) as u64).to_string()
    }
}
