//! Warnings about the rows, and the worst unaccounted time of all of them.
//!
//! Callers: `verdict`; `commits` for the name of a run.

use std::collections::{BTreeMap, BTreeSet};

use report::number::{counted, decimal, grouped, share};
use report::{labelled, paragraph};
use serde::Serialize;

use super::commits::CommitCheck;
use crate::rounds::Rounds;
use crate::{Level, RATE, RoundKind, Run};

/// More time than this without a name is an error of the books.
const UNACCOUNTED_MAX: f64 = 0.01;
/// Above this share of time on a CPU, what is taken away is worth a word.
const STOLEN_MAX: f64 = 0.05;

/// A run as people call it: `round 3, setting B`.
pub(crate) fn run_name(run: &Run) -> String {
    let identity = &run.identity;
    let kind = match identity.kind {
        RoundKind::Compared => "round",
        RoundKind::Equals => "round of equals",
    };
    format!("{kind} {}, setting {}", identity.round, identity.level)
}

/// The session or process of all rows with the largest share of time that has no name.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Worst {
    session: String,
    run: String,
    pub(crate) share: f64,
}

impl Worst {
    pub(crate) fn of(rows: &[Run]) -> Option<Worst> {
        let mut worst: Option<Worst> = None;
        for run in rows {
            let worst_of_kind = [&run.foreground, &run.background].map(|kind| kind.worst.as_ref());
            for found in worst_of_kind.into_iter().flatten() {
                if worst.as_ref().is_none_or(|worst| found.share > worst.share) {
                    let (session, share) = (found.session.clone(), found.share);
                    worst = Some(Worst { session, run: run_name(run), share });
                }
            }
        }
        worst
    }

    pub(crate) fn text(worst: Option<&Worst>) -> String {
        labelled("unaccounted", &Worst::sentence(worst))
    }

    /// The share, and of whom it is.
    pub(super) fn sentence(worst: Option<&Worst>) -> String {
        worst.map_or("no session was accounted for".to_owned(), |worst| {
            let share = share(worst.share);
            format!(
                "{share} of elapsed time at most, of any session or process ({}, {})",
                worst.session, worst.run
            )
        })
    }
}

/// A setting whose sessions do fewer transactions than this share of those that arrive doesn't keep
/// up. (Arrivals are drawn, so a short experiment has some more or fewer.)
const KEPT_UP: f64 = 0.97;

/// A warning for each setting under which fewer transactions ended than arrived.
fn behind_the_rate(rows: &[Run], rounds: &Rounds<'_>) -> Vec<String> {
    let rate = rows.iter().find_map(|run| run.identity.parameters.get(RATE)?.parse::<f64>().ok());
    let Some(rate) = rate else { return Vec::new() };
    // Some of order entry's transactions only read, or roll back as planned: they aren't counted.
    let loads = rows.iter().map(|run| run.identity.parameters.get("load"));
    if loads.flatten().any(|load| load == "order-entry") {
        return Vec::new();
    }
    let mut levels: BTreeMap<Level, [f64; 2]> = BTreeMap::new();
    for run in rounds.compared.iter().flat_map(BTreeMap::values) {
        let sums = levels.entry(run.identity.level).or_default();
        let parts = run.throughput_parts();
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    let behind = levels.into_iter().map(|(level, [done, seconds])| (level, done / seconds));
    let behind = behind.filter(|(_, did)| *did < rate * KEPT_UP);
    let arrive = decimal(rate, u32::from(rate.fract() != 0.0));
    let warning = |(level, did)| {
        format!(
            "{level} doesn't keep up: of {arrive} transactions a second that arrive it does {}. \
             Those that wait become more and more, so its latencies depend on how long it runs: \
             choose a lower rate.",
            decimal(did, 0)
        )
    };
    behind.map(warning).collect()
}

/// All warnings, one sentence each.
pub(crate) fn warnings(
    rows: &[Run],
    rounds: &Rounds<'_>,
    commits: &CommitCheck,
    worst: Option<&Worst>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if commits.lost > 0 {
        warnings.push("Commits were lost: no figure of this engine is worth anything.".to_owned());
    }
    warnings.extend(commits.warning());
    if let Some(worst) = worst.filter(|worst| worst.share > UNACCOUNTED_MAX) {
        let share = share(worst.share);
        warnings.push(format!(
            "{} left {share} of its time without a name. The verdict doesn't rest on that, nor do \
             throughput and latencies; where time goes isn't surer than this for such a session. \
             If it is there in longer blocks or runs too, it is an error of this program.",
            worst.session
        ));
    }
    warnings.extend(behind_the_rate(rows, rounds));
    let stolen = rows.iter().map(Run::stolen_share).sum::<f64>() / rows.len().max(1) as f64;
    if stolen > STOLEN_MAX {
        warnings.push(format!(
            "A hypervisor or interrupts took away {} of the time on a CPU. It lies in the lines \
             CPU and in the waits, and makes runs differ.",
            share(stolen)
        ));
    }
    if rounds.alone > 0 {
        let runs = counted(rounds.alone, "run");
        warnings.push(format!("{runs} of no whole round: left out of the comparison."));
    }
    warnings.extend(idle(rounds));
    warnings.extend(mixed(rows));
    warnings
}

/// A warning if nothing ended in a run of some rounds: what is left out favours who stalls.
fn idle(rounds: &Rounds<'_>) -> Option<String> {
    let has_idle = |round: &&BTreeMap<Level, &Run>| round.values().any(|run| run.is_idle());
    let idle = rounds.compared.iter().filter(has_idle).count() as u64;
    let all = rounds.compared.len() as u64;
    (idle > 0).then(|| {
        format!(
            "In {} of {} no transaction ended in some run. It counts as time in \
             throughput; it has no latency, so latencies are told without {}.",
            grouped(idle),
            counted(all, "round"),
            if idle == 1 { "that round" } else { "those rounds" }
        )
    })
}

/// Warnings about rows that don't belong together.
fn mixed(rows: &[Run]) -> Vec<String> {
    let differ = |of: &dyn Fn(&Run) -> String, rows: &mut dyn Iterator<Item = &Run>| {
        let values: BTreeSet<String> = rows.map(of).collect();
        values.len() > 1
    };
    let mut warnings = Vec::new();
    type Of<'a> = &'a dyn Fn(&Run) -> String;
    let of_all: [(&str, Of<'_>); 4] = [
        ("commits", &|run| run.identity.commit.clone()),
        ("machines", &|run| run.identity.machine_hash.clone()),
        ("worlds", &|run| run.identity.world.to_string()),
        ("plans", &|run| run.identity.plan_seed.to_string()),
    ];
    for (what, of) in of_all {
        if differ(of, &mut rows.iter()) {
            warnings.push(format!("The rows are of different {what}."));
        }
    }
    let levels: BTreeSet<_> = rows.iter().map(|run| run.identity.level).collect();
    for level in levels {
        let mut of_level = rows.iter().filter(|run| run.identity.level == level);
        if differ(&|run| run.identity.parameter_hash.clone(), &mut of_level) {
            warnings.push(format!("The runs of setting {level} have different parameters."));
        }
    }
    let mut work: BTreeMap<(RoundKind, u32), BTreeSet<&str>> = BTreeMap::new();
    for run in rows {
        let identity = &run.identity;
        work.entry((identity.kind, identity.round)).or_default().insert(&identity.work_hash);
    }
    if work.values().any(|hashes| hashes.len() > 1) {
        warnings.push("The runs of some round were not given the same work.".to_owned());
    }
    warnings
}

/// The section of warnings; empty without any.
pub(crate) fn text(warnings: &[String]) -> String {
    warnings.iter().map(|warning| paragraph(&format!("WARNING: {warning}"), "  ")).collect()
}
