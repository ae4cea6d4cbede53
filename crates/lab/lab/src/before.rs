//! What is there of an experiment that goes on, and whether it may (LB68).
//!
//! Callers: `session`.

use experiment::{Audit, Level, Plan, Rule, Run, whole_rounds};
use stop::Stop;

use crate::alternate::Blocks;
use crate::form::DATA_BYTES_MAX;
use crate::session::invalid;
use crate::{Form, Setting};

/// What is there of an experiment that goes on.
#[derive(Clone, Default)]
pub struct Before {
    /// The rule that its rows were asked by.
    pub rule: Option<Rule>,
    /// Its rows.
    pub runs: Vec<Run>,
    /// The notes on these.
    pub notes: Vec<String>,
    /// The audits of the instances that these shared.
    pub audits: Vec<Audit>,
}

impl Before {
    /// Refused if the rows that are there are of another rule or plan: their error is declared for
    /// all looks, so none of it may change on the way.
    pub(crate) fn check(&self, rule: &Rule, plan: &Plan, blocks: &Blocks) -> Result<(), Stop> {
        // Without a row, what was asked may be of another design.
        if self.runs.is_empty() {
            return Ok(());
        }
        let is_same = self.rule.is_none_or(|asked| asked.is_as(rule)) && blocks.are_of(&self.runs);
        // The last round may have been broken off.
        let broken_off = self.runs.len() - whole_rounds(&self.runs, &plan.steps());
        if is_same && broken_off < usize::from(plan.levels) {
            return Ok(());
        }
        Err(invalid(&format!(
            "{CHANGED} of another rule, plan, seed or length of blocks {CHANGE_BACK}"
        )))
    }
}

/// Refused if the rows that are there had other parameters or another load.
pub(crate) fn check_settings(done: &[Run], form: &Form, settings: &[Setting]) -> Result<(), Stop> {
    for (index, setting) in settings.iter().enumerate() {
        let parameters = setting.over(&form.parameters)?;
        let now = form.describe(&parameters);
        let mut of_level = done.iter().map(|run| &run.identity);
        if of_level.any(|run| run.level.index() == index && run.parameters != now) {
            return Err(invalid(&format!(
                "{CHANGED} of another setting {} or another load {CHANGE_BACK}",
                Level::of(index)
            )));
        }
    }
    Ok(())
}

/// Refused if the rows that are there were made on another machine, on another file system or under
/// another kernel: figures of two machines make no comparison.
pub(crate) fn check_machine(done: &[Run], machine: &str) -> Result<(), Stop> {
    let mut machines = done.iter().map(|run| run.identity.machine.as_str());
    match machines.find(|other| *other != machine) {
        None => Ok(()),
        Some(other) => Err(invalid(&format!(
            "{CHANGED} of another machine ({other}) than this one ({machine}): go on there, or \
             begin it anew in another file"
        ))),
    }
}

/// An experiment that goes on is another than its rows are of.
const CHANGED: &str = "the rows that are there are";
const CHANGE_BACK: &str =
    "than this experiment has now: change it back, or begin it anew in another file";

/// The size to which the data file of these rows could grow.
pub(crate) fn data_bytes_max(done: &[Run]) -> Option<&String> {
    done.first()?.identity.parameters.get(DATA_BYTES_MAX)
}
