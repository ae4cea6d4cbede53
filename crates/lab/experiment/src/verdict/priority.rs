//! Of settings that compare `high_priority_processes`: did the processes that got priority ever
//! wait for a CPU? Priority can't take away more than that.
//!
//! Callers: `verdict`.

use os::is_process;
use report::ProcessUsage;
use report::number::share;
use serde::Serialize;
use waits::Nanos;

use crate::{Level, Run};

/// The parameter whose patterns name processes: `lgwr|dbw*`.
const PARAMETER: &str = "high_priority_processes";

/// The run-queue delay of the processes that have priority on one side only.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Priority {
    /// Their names.
    processes: Vec<String>,
    a: Delay,
    b: Delay,
}

/// Of the processes together.
#[derive(Clone, Copy, Debug, Serialize)]
struct Delay {
    /// Whether they had priority.
    has_priority: bool,
    /// The share of their time in which they were ready to run, but without a CPU.
    run_queue_share: f64,
    /// The same, ns a transaction.
    run_queue_ns: f64,
}

impl Priority {
    /// None of settings that don't differ in it, or without such processes.
    pub(crate) fn of(sides: &[Vec<&Run>; 2]) -> Option<Priority> {
        let patterns = |runs: &Vec<&Run>| -> Option<String> {
            Some(runs.first()?.identity.parameters.get(PARAMETER).cloned().unwrap_or_default())
        };
        let [of_a, of_b] = [patterns(&sides[0])?, patterns(&sides[1])?];
        // With several patterns on both sides, only what differs tells of priority.
        let differs =
            |process: &ProcessUsage| any(&of_a, &process.name) != any(&of_b, &process.name);
        let all = sides.iter().flatten().flat_map(|run| &run.processes);
        let mut names: Vec<String> =
            all.filter(|process| differs(process)).map(|process| process.name.clone()).collect();
        names.sort();
        names.dedup();
        let first = names.first()?;
        let delay = |runs: &Vec<&Run>, patterns: &str| {
            let found = || {
                let all = runs.iter().flat_map(|run| &run.processes);
                all.filter(|process| names.contains(&process.name))
            };
            let queue: f64 = found().map(|process| process.run_queue_ns as f64).sum();
            let elapsed: f64 = found().map(|process| process.elapsed_ns as f64).sum();
            let transactions: f64 = runs.iter().map(|run| run.transactions as f64).sum();
            let ratio = |all: f64| if all > 0.0 { queue / all } else { 0.0 };
            Delay {
                has_priority: any(patterns, first),
                run_queue_share: ratio(elapsed),
                run_queue_ns: ratio(transactions),
            }
        };
        let (a, b) = (delay(&sides[0], &of_a), delay(&sides[1], &of_b));
        Some(Priority { processes: names, a, b })
    }

    /// The diagnosis, in a sentence or two; `threshold` is the share that matters.
    pub(super) fn sentence(&self, b_name: Level, threshold: f64) -> String {
        let (a, b) = (self.a, self.b);
        let per_transaction = |of: Delay| Nanos(of.run_queue_ns.max(0.0).round() as u64);
        let (with, without, of) = match (a.has_priority, b.has_priority) {
            (true, false) => ("A".to_owned(), b_name.to_string(), b),
            _ => (b_name.to_string(), "A".to_owned(), a),
        };
        let short = match of.run_queue_share < threshold {
            true => format!(
                "So they were hardly ever short of a CPU without priority ({without}), and \
                 priority has next to nothing to give."
            ),
            false => format!(
                "So they were short of a CPU without priority ({without}), which priority ({with}) \
                 may take away."
            ),
        };
        format!(
            "Did the processes that got priority ({}) ever wait for a CPU? For {} of their time in \
             A and {} in {b_name}: {} and {} a transaction. {short}",
            self.processes.join(", "),
            share(a.run_queue_share),
            share(b.run_queue_share),
            per_transaction(a),
            per_transaction(b),
        )
    }
}

/// Whether one of the patterns between bars matches the process.
fn any(patterns: &str, process: &str) -> bool {
    patterns.split('|').map(str::trim).any(|pattern| is_process(pattern, process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_processes_as_the_instance_reads_them() {
        let both = "lgwr|dbw*";
        assert!(any(both, "fb_lgwr") && any(both, "fb_dbw0") && any(both, "fb_dbw12"));
        assert!(!any(both, "fb_ckpt") && !any("", "fb_lgwr") && !any("lgwr", "fb_lgwr2"));
    }
}
