//! The time profile of a transaction in two worlds, and how far they are apart.
//!
//! Invariant: a line agrees if its shares lie within 20 % of each other, or within 2 percentage
//! points, for a short line's share says little. Throughput agrees within 20 %.
//!
//! Callers: `validity`.

use std::collections::BTreeMap;
use std::fmt::Write;

use experiment::Run;
use report::{EventTime, TimeProfile};

const WITHIN: f64 = 0.2;
const WITHIN_POINTS: f64 = 0.02;
const TOP: usize = 5;
const TO_A_STRING: &str = "writing to a string can't fail";

/// What runs in one world came to.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    /// Transactions a second, run by run.
    throughputs: Vec<f64>,
    /// us per transaction, by name.
    parts_us: BTreeMap<String, f64>,
    elapsed_us: f64,
    /// In the run queue, inside waits and outside.
    queued_us: f64,
    /// What the instance's processes waited for, but idle.
    processes: BTreeMap<String, Waits>,
}

/// Waits for one event.
#[derive(Clone, Copy, Default, Debug)]
struct Waits {
    per_transaction: f64,
    mean_us: f64,
}

impl Profile {
    pub(super) fn of<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Profile {
        let (mut profile, mut transactions, mut throughputs) =
            (TimeProfile::default(), 0, Vec::new());
        let mut background = TimeProfile::default();
        for run in runs {
            profile.add(&run.foreground.profile);
            background.add(&run.background.profile);
            transactions += run.transactions;
            throughputs.push(run.transactions as f64 * 1e9 / run.elapsed_ns as f64);
        }
        let us = |ns: f64| ns / transactions as f64 / 1e3;
        let busy = profile.lines().into_iter().filter(|line| !line.is_idle());
        let parts_us = busy.map(|line| (line.name.to_string(), us(line.ns as f64))).collect();
        let [elapsed_us, queued_us] =
            [profile.busy_ns(), profile.run_queue_in_all_ns()].map(|ns| us(ns as f64));
        let waits = |event: &EventTime| Waits {
            per_transaction: event.count as f64 / transactions as f64,
            mean_us: event.total_ns as f64 / event.count.max(1) as f64 / 1e3,
        };
        let busy = background.events.iter().filter(|event| !event.is_idle());
        let processes = busy.map(|event| (event.event.clone(), waits(event))).collect();
        Profile { throughputs, parts_us, elapsed_us, queued_us, processes }
    }

    fn throughput(&self) -> f64 {
        self.throughputs.iter().sum::<f64>() / self.throughputs.len() as f64
    }

    fn us(&self, name: &str) -> f64 {
        self.parts_us.get(name).copied().unwrap_or(0.0)
    }

    fn share(&self, name: &str) -> f64 {
        self.us(name) / self.elapsed_us
    }

    /// The longest parts.
    fn top(&self) -> Vec<&String> {
        let mut names: Vec<&String> = self.parts_us.keys().collect();
        names.sort_by(|a, b| self.us(b).total_cmp(&self.us(a)));
        names.truncate(TOP);
        names
    }
}

/// Both worlds, side by side.
pub(super) struct Comparison<'p> {
    pub(super) real: &'p Profile,
    pub(super) simulated: &'p Profile,
}

impl Comparison<'_> {
    fn throughput_agrees(&self) -> bool {
        (self.simulated.throughput() / self.real.throughput() - 1.0).abs() <= WITHIN
    }

    fn share_agrees(&self, name: &str) -> bool {
        let (real, simulated) = (self.real.share(name), self.simulated.share(name));
        (simulated - real).abs() <= (WITHIN * real).max(WITHIN_POINTS)
    }

    /// The top five of either world.
    fn names(&self) -> Vec<&String> {
        let mut names = self.real.top();
        names.extend(self.simulated.top());
        names.sort_by(|a, b| self.real.us(b).total_cmp(&self.real.us(a)).then(a.cmp(b)));
        names.dedup();
        names
    }

    /// What doesn't agree.
    pub(super) fn differences(&self) -> Vec<String> {
        let throughput = (!self.throughput_agrees()).then(|| "throughput".to_string());
        let top = self.real.top().into_iter().chain(self.simulated.top());
        let mut shares: Vec<String> =
            top.filter(|name| !self.share_agrees(name)).cloned().collect();
        shares.sort();
        shares.dedup();
        throughput.into_iter().chain(shares).collect()
    }

    pub(super) fn text(&self) -> String {
        let mut text =
            format!("{:<34}{:>10}{:>11}{:>8}  within 20 %\n", "", "real", "simulated", "ratio");
        let mut row = |name: &str, real: String, simulated: String, ratio: f64, agrees: bool| {
            let agrees = if agrees { "yes" } else { "no" };
            writeln!(text, "{name:<34}{real:>10}{simulated:>11}{ratio:>8.2}  {agrees}")
                .expect(TO_A_STRING);
        };
        let [real, simulated] = [self.real, self.simulated];
        let (here, there) = (real.throughput(), simulated.throughput());
        let agrees = self.throughput_agrees();
        row(
            "transactions a second",
            format!("{here:.0}"),
            format!("{there:.0}"),
            there / here,
            agrees,
        );
        let (here, there) = (real.elapsed_us, simulated.elapsed_us);
        let near = (there / here - 1.0).abs() <= WITHIN;
        row("us per transaction", format!("{here:.1}"), format!("{there:.1}"), there / here, near);
        text += "share of elapsed, top five of either (us per transaction):\n";
        for name in self.names() {
            let cell = |of: &Profile| format!("{:.1} %", 100.0 * of.share(name));
            let agrees = if self.share_agrees(name) { "yes" } else { "no" };
            let (here, there) = (real.us(name), simulated.us(name));
            writeln!(
                text,
                "  {name:<32}{:>10}{:>11}{:>8.2}  {agrees:<4} ({here:.1}, {there:.1})",
                cell(real),
                cell(simulated),
                simulated.share(name) / real.share(name),
            )
            .expect(TO_A_STRING);
        }
        let queued = |of: &Profile| 100.0 * of.queued_us / of.elapsed_us;
        writeln!(
            text,
            "in the run queue, inside waits too: real {:.1} %, simulated {:.1} %",
            queued(real),
            queued(simulated)
        )
        .expect(TO_A_STRING);
        let runs = |of: &Profile| {
            let all: Vec<String> = of.throughputs.iter().map(|it| format!("{it:.0}")).collect();
            all.join(" ")
        };
        writeln!(text, "runs, a second: real {}; simulated {}", runs(real), runs(simulated))
            .expect(TO_A_STRING);
        text + &self.processes() + &self.sentence()
    }

    /// What no share of a session's shows: how long the writers' requests take in each world.
    fn processes(&self) -> String {
        let mut text = String::from("processes: waits a transaction, and us of one:\n");
        for (name, real) in &self.real.processes {
            let simulated = self.simulated.processes.get(name).copied().unwrap_or_default();
            writeln!(
                text,
                "  {name:<32}{:>10.3}{:>11.3}{:>22.1}{:>11.1}",
                real.per_transaction, simulated.per_transaction, real.mean_us, simulated.mean_us
            )
            .expect(TO_A_STRING);
        }
        text
    }

    fn sentence(&self) -> String {
        let rule = "(shares: within 20 % of each other, or 2 percentage points)";
        match self.differences() {
            none if none.is_empty() => {
                format!("Throughput and each top-5 share lie within 20 %\n{rule}.\n")
            }
            some => format!("Not within 20 %: {}\n{rule}.\n", some.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(throughput: f64, parts: &[(&str, f64)]) -> Profile {
        let parts_us: BTreeMap<String, f64> =
            parts.iter().map(|(name, us)| ((*name).to_string(), *us)).collect();
        let elapsed_us = parts_us.values().sum();
        Profile {
            throughputs: vec![throughput],
            parts_us,
            elapsed_us,
            queued_us: 0.0,
            processes: BTreeMap::new(),
        }
    }

    const REAL: &[(&str, f64)] = &[("CPU", 30.0), ("log file sync", 60.0), ("reads", 10.0)];

    #[test]
    fn what_lies_within_a_fifth_agrees_and_short_shares_within_two_points() {
        let real = profile(1_000.0, REAL);
        let near = [("CPU", 34.0), ("log file sync", 58.0), ("reads", 8.1)];
        let simulated = profile(1_190.0, &near);
        let comparison = Comparison { real: &real, simulated: &simulated };
        assert_eq!(comparison.differences(), Vec::<String>::new());
        assert!(comparison.text().ends_with("or 2 percentage points).\n"));
        assert!(comparison.text().contains("each top-5 share lie within 20 %"));
    }

    #[test]
    fn what_differs_is_named_also_where_only_one_world_has_it() {
        let real = profile(1_000.0, REAL);
        let other = [("CPU", 30.0), ("log file sync", 40.0), ("free buffer waits", 30.0)];
        let simulated = profile(790.0, &other);
        let comparison = Comparison { real: &real, simulated: &simulated };
        let expected = ["throughput", "free buffer waits", "log file sync", "reads"];
        assert_eq!(comparison.differences(), expected);
        let text = comparison.text();
        assert!(text.contains("Not within 20 %: throughput, free buffer waits"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
