//! What the instance does: CPU of each process, and the load profile.
//!
//! Callers: `html`.

use page::{Axis, BarGroup, Bars, Chart, Estimate, Figure, Section, Table};
use report::number::{counted, rates, share};

use super::of_sums;
use crate::rounds::Rounds;
use crate::verdict::Verdict;
use crate::verdict::load::LoadProfile;
use crate::verdict::processes::{COLUMNS, Processes, column_text};
use crate::{Level, Run};

/// Processes with less than this share of the largest bar, on both sides, share one.
const SHARE_SHOWN: f64 = 0.005;

pub(super) fn write(of: &Verdict, rounds: &Rounds<'_>, section: &mut Section) {
    let b = of.level;
    cpu(of, &rounds.sides(b), section);
    if !of.processes.processes.is_empty() {
        section.table(processes(&of.processes, b));
    }
    section.table(load(&of.load_profile, b));
    if let [Some(of_a), Some(of_b)] = of.load_profile.non_checkpoint_share.map(|of| of.map(share)) {
        section.paragraph(format!(
            "Of the physical writes A made {of_a} and {b} {of_b} to free buffers, the rest for \
             checkpoints."
        ));
    }
}

/// CPU of a run, ns.
type Cpu<'a> = &'a dyn Fn(&Run) -> f64;

fn cpu(of: &Verdict, sides: &[Vec<&Run>; 2], section: &mut Section) {
    let bars = |cpu: Cpu<'_>| -> Vec<Option<Estimate>> {
        let parts = |run: &&Run| [cpu(run) / 1e3, run.transactions as f64];
        let side = |runs: &Vec<&Run>| of_sums(&runs.iter().map(parts).collect::<Vec<_>>());
        sides.iter().map(side).collect()
    };
    let of_names = |run: &Run, names: &[&str]| -> f64 {
        let named = run.processes.iter().filter(|process| names.contains(&process.name.as_str()));
        named.map(|process| process.cpu_ns as f64).sum()
    };
    let sessions: Cpu<'_> = &|run| run.foreground.profile.cpu_in_all_ns() as f64;
    let mut groups = vec![BarGroup { name: "sessions of users".into(), bars: bars(sessions) }];
    let each: Vec<BarGroup> = of
        .processes
        .processes
        .iter()
        .map(|line| {
            let mut bars = bars(&|run| of_names(run, &[&line.process]));
            // A setting that doesn't have the process has no bar.
            for (bar, usage) in bars.iter_mut().zip([line.a, line.b]) {
                *bar = bar.filter(|_| usage.is_some());
            }
            BarGroup { name: line.process.clone(), bars }
        })
        .collect();
    let largest = |group: &BarGroup| {
        group.bars.iter().flatten().map(|bar| bar.value.abs()).fold(0.0, f64::max)
    };
    let most = groups.iter().chain(&each).map(largest).fold(0.0, f64::max);
    let (small, shown): (Vec<BarGroup>, Vec<BarGroup>) =
        each.into_iter().partition(|group| largest(group) < SHARE_SHOWN * most);
    groups.extend(shown);
    if !small.is_empty() {
        let names: Vec<&str> = small.iter().map(|group| group.name.as_str()).collect();
        let name = match names.as_slice() {
            [one] => (*one).to_owned(),
            _ => counted(names.len() as u64, "other process").replace("processs", "processes"),
        };
        groups.push(BarGroup { name, bars: bars(&|run| of_names(run, &names)) });
    }
    let chart = Chart::Bars(Bars {
        axis: Axis::new("CPU of a transaction", "µs"),
        series: of.side_names().into(),
        groups,
    });
    let caption = format!(
        "CPU time of all runs of a side over their transactions. It includes CPU within \
                   waits. Whiskers are 95 % intervals, from how the runs differ; A's and {}'s vary \
                   together where the machine does, so the forest plot above tells more surely \
                   whether they differ.",
        of.level
    );
    section.figure(Figure::new("CPU of each process", caption, &chart));
}

fn processes(of: &Processes, b: Level) -> Table {
    let b = b.to_string();
    let mut columns = Vec::new();
    let mut heads = vec![String::new()];
    for (heading, figure, decimals) in COLUMNS {
        for (side, usages) in [("A", of.usages(|line| line.a)), (&*b, of.usages(|line| line.b))] {
            columns.push(column_text(heading, side, &usages, figure, decimals));
            heads.push(format!("{heading} {side}"));
        }
    }
    let caption = "Processes of the instance: the mean of a run. queue s: ready to run, but \
                   without a CPU (run-queue delay). MB: written.";
    let mut table = Table::new(caption, heads);
    // The first two cells of a column are its headings, and the last one is its sum.
    let cells = |name: &str, at: usize| -> Vec<String> {
        let cells = columns.iter().map(|column| column[at].clone());
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    for (index, line) in of.processes.iter().enumerate() {
        table.row(cells(&line.process, index + 2));
    }
    table.total(cells("all", of.processes.len() + 2));
    table
}

fn load(of: &LoadProfile, b: Level) -> Table {
    let caption = "Load profile: what was done, per second and per transaction, by the sums over \
                   all runs. A transaction is a commit or a rollback.";
    let heads = ["", "per s, A", &format!("per s, {b}"), "per tx, A", &format!("per tx, {b}")];
    let mut table = Table::new(caption, heads);
    let [a, b] = rates(of.transactions_per_s);
    table.row(["transactions (commits + rollbacks)", &a, &b, "", ""]);
    for line in &of.lines {
        let name = match line.unit {
            "bytes" => format!("{} (bytes)", line.name),
            _ => line.name.to_owned(),
        };
        table.row(std::iter::once(name).chain(line.figures().into_iter().flatten()));
    }
    table
}
