//! The load profile: what was done per second and per transaction.
//!
//! Per transaction is per commit or rollback, as in Statspack; the line of transactions has no
//! such column. Statistics count the users' sessions and the instance's processes together.
//!
//! Callers: `verdict`.

use report::number::{rates, share};
use report::{Table, paragraph};
use serde::Serialize;
use waits::Statistic;

use crate::{Level, Run};

/// The statistics that the profile shows, in its order.
const SHOWN: [Statistic; 13] = [
    Statistic::RedoSize,
    Statistic::CurrentGets,
    Statistic::ConsistentGets,
    Statistic::BlockChanges,
    Statistic::PhysicalReads,
    Statistic::PhysicalWrites,
    Statistic::PhysicalWritesNonCheckpoint,
    Statistic::DoublewriteBlocks,
    Statistic::PhysicalWriteRequests,
    Statistic::FileSyncRequests,
    Statistic::RedoWrites,
    Statistic::RedoLogSwitches,
    Statistic::UserRollbacks,
];

/// The profile of both sides.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LoadProfile {
    pub(super) transactions_per_s: [f64; 2],
    pub(super) lines: Vec<Line>,
    /// Of physical writes, those not for a checkpoint.
    pub(super) non_checkpoint_share: [Option<f64>; 2],
}

/// A statistic, A and B.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) per_s: [f64; 2],
    pub(super) per_transaction: [f64; 2],
}

impl LoadProfile {
    pub(crate) fn of(sides: &[Vec<&Run>; 2]) -> LoadProfile {
        let both = |of: &dyn Fn(&[&Run]) -> f64| [of(&sides[0]), of(&sides[1])];
        let seconds =
            |runs: &[&Run]| runs.iter().map(|run| run.elapsed_ns as f64 / 1e9).sum::<f64>();
        let line = |statistic: &Statistic| Line {
            name: statistic.name(),
            unit: statistic.info().unit,
            per_s: both(&|runs| sum(runs, *statistic) / seconds(runs)),
            per_transaction: both(&|runs| sum(runs, *statistic) / ended(runs)),
        };
        let non_checkpoint = |runs: &[&Run]| {
            let writes = sum(runs, Statistic::PhysicalWrites);
            (writes > 0.0).then(|| sum(runs, Statistic::PhysicalWritesNonCheckpoint) / writes)
        };
        LoadProfile {
            transactions_per_s: both(&|runs| ended(runs) / seconds(runs)),
            lines: SHOWN.iter().map(line).filter(|line| line.per_s != [0.0; 2]).collect(),
            non_checkpoint_share: [non_checkpoint(&sides[0]), non_checkpoint(&sides[1])],
        }
    }

    pub(crate) fn text(&self, b: Level) -> String {
        let name = b.to_string();
        let mut table = Table::default();
        table.row(["", "per s", "per s", "per tx", "per tx"]);
        table.row(["", "A", &name, "A", &name]);
        let [of_a, of_b] = rates(self.transactions_per_s);
        table.row(["transactions (commits + rollbacks)", &of_a, &of_b, "", ""]);
        for line in &self.lines {
            let name = if line.unit == "bytes" {
                format!("{} (bytes)", line.name)
            } else {
                line.name.to_owned()
            };
            table.row(std::iter::once(name).chain(line.figures().into_iter().flatten()));
        }
        let mut text = "Load profile\n".to_owned() + &table.text();
        if let [Some(of_a), Some(of_b)] = self.non_checkpoint_share {
            let (of_a, of_b) = (share(of_a), share(of_b));
            text += &paragraph(
                &format!(
                    "Of the physical writes A made {of_a} and {name} {of_b} to free buffers, the \
                     rest for checkpoints."
                ),
                "  ",
            );
        }
        text
    }
}

impl Line {
    /// Those a second and those of a transaction, as a table has them.
    pub(super) fn figures(&self) -> [[String; 2]; 2] {
        [rates(self.per_s), rates(self.per_transaction)]
    }
}

fn sum(runs: &[&Run], statistic: Statistic) -> f64 {
    runs.iter().map(|run| run.statistic(statistic) as f64).sum()
}

/// Transactions that ended, one way or the other.
fn ended(runs: &[&Run]) -> f64 {
    sum(runs, Statistic::UserCommits) + sum(runs, Statistic::UserRollbacks)
}
