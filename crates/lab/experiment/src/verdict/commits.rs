//! Whether commits were lost: asked of every row (rule V4).
//!
//! Callers: `verdict`.

use report::labelled;
use report::number::{counted, grouped};
use serde::Serialize;

use super::warnings::run_name;
use crate::{Audit, Run};

/// Acknowledged commits, and those that were gone after the database had been opened again.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CommitCheck {
    runs: u64,
    runs_checked: u64,
    /// All runs shared an instance, which was checked when it had ended.
    in_one_instance: bool,
    acknowledged: u64,
    pub(crate) lost: u64,
    /// Those gone that nobody was promised: of runs with `commit_wait = nowait`, or of an instance
    /// in which some had that.
    unpromised: u64,
    /// The runs that lost some.
    runs_with_loss: Vec<String>,
}

impl CommitCheck {
    /// Of rows that were checked one by one, or of instances that they share.
    pub(crate) fn of(rows: &[Run], audits: &[Audit]) -> CommitCheck {
        if !audits.is_empty() {
            let gone = |promised: bool| -> u64 {
                let of = |audit: &&Audit| rows_of(audit, rows).all(is_promised) == promised;
                audits.iter().filter(of).map(|audit| audit.commits.lost()).sum()
            };
            return CommitCheck {
                runs: rows.len() as u64,
                runs_checked: checked_with(rows, audits),
                in_one_instance: true,
                acknowledged: audits.iter().map(|audit| audit.commits.acknowledged).sum(),
                lost: gone(true),
                unpromised: gone(false),
                runs_with_loss: Vec::new(),
            };
        }
        let checked = || rows.iter().filter_map(|run| Some((run, run.commits?)));
        let [promised, others] = [true, false]
            .map(|promised| checked().filter(move |(run, _)| is_promised(run) == promised));
        let with_loss = promised.clone().filter(|(_, commits)| commits.lost() > 0);
        CommitCheck {
            runs: rows.len() as u64,
            runs_checked: checked().count() as u64,
            in_one_instance: false,
            acknowledged: checked().map(|(_, commits)| commits.acknowledged).sum(),
            lost: promised.map(|(_, commits)| commits.lost()).sum(),
            unpromised: others.map(|(_, commits)| commits.lost()).sum(),
            runs_with_loss: with_loss
                .map(|(run, commits)| format!("{} ({})", run_name(run), grouped(commits.lost())))
                .collect(),
        }
    }

    /// A warning if commits of some runs were never looked for: their instance was killed first.
    pub(crate) fn warning(&self) -> Option<String> {
        let unchecked = self.runs.saturating_sub(self.runs_checked);
        (unchecked > 0).then(|| {
            format!(
                "Nobody has looked for the commits of {} of {}: if any were lost, no figure of \
                 this engine is worth anything.",
                grouped(unchecked),
                counted(self.runs, "run")
            )
        })
    }

    pub(crate) fn text(&self) -> String {
        labelled("commits lost", &self.sentence())
    }

    /// Whether any were lost, of how many.
    pub(super) fn sentence(&self) -> String {
        let place = match self.in_one_instance {
            true if self.runs_checked == 0 => {
                "after a crash at the end; those of an instance that was killed before weren't"
                    .to_owned()
            }
            true if self.runs_checked < self.runs => format!(
                "after a crash at the end of the instance of {} of {}; those of an instance that \
                 was killed weren't",
                grouped(self.runs_checked),
                counted(self.runs, "run")
            ),
            true => "after the instance's crash at the end".to_owned(),
            false => format!(
                "after reopening in {} of {}",
                grouped(self.runs_checked),
                counted(self.runs, "run")
            ),
        };
        let unpromised = match self.unpromised {
            0 => String::new(),
            gone => {
                format!("; {} gone, which commit_wait = nowait doesn't promise", grouped(gone))
            }
        };
        let acknowledged = grouped(self.acknowledged);
        let of = format!("of {acknowledged} acknowledged, looked for {place}{unpromised}");
        match (self.runs_checked, self.lost) {
            (0, _) if !self.in_one_instance => "not checked in any run".to_owned(),
            (_, 0) => format!("none, {of}"),
            (_, lost) if self.runs_with_loss.is_empty() => {
                format!("{} LOST, {of}", grouped(lost))
            }
            (_, lost) => {
                format!("{} LOST, {of}: {}", grouped(lost), self.runs_with_loss.join(", "))
            }
        }
    }
}

/// How many commits of these runs are gone that were promised, with the audits of instances that
/// they share.
pub fn commits_lost(rows: &[Run], audits: &[Audit]) -> u64 {
    CommitCheck::of(rows, audits).lost
}

/// Whether an acknowledged commit of the run was to survive a crash.
fn is_promised(run: &Run) -> bool {
    run.identity.parameters.get("commit_wait").is_none_or(|wait| wait != "nowait")
}

/// How many of the rows are of an instance that was looked at when it had ended; one that was
/// killed wasn't opened again. Where an older audit doesn't say which instance it is of, all rows
/// count, or none if there are fewer commits than the rows have.
fn checked_with(rows: &[Run], audits: &[Audit]) -> u64 {
    if audits.iter().any(|audit| audit.instance_ns.is_none()) {
        let acknowledged: u64 = audits.iter().map(|audit| audit.commits.acknowledged).sum();
        return if acknowledged >= transactions(rows) { rows.len() as u64 } else { 0 };
    }
    audits.iter().map(|audit| rows_of(audit, rows).count() as u64).sum()
}

/// The rows of the audit's instance; all where it doesn't say which that is.
fn rows_of<'a>(audit: &Audit, rows: &'a [Run]) -> impl Iterator<Item = &'a Run> {
    let instance_ns = audit.instance_ns;
    let is_of = move |run: &&Run| {
        let of = run.block.as_ref().map(|block| block.instance_ns);
        instance_ns.is_none() || of == instance_ns
    };
    rows.iter().filter(is_of)
}

/// Transactions of all rows' windows, which are fewer than the commits of their instances.
fn transactions(rows: &[Run]) -> u64 {
    rows.iter().filter_map(|run| run.block.as_ref()).map(|block| block.transactions).sum()
}
