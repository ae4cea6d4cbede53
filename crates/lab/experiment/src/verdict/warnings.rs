//! Warnings about the rows, and the worst unaccounted time of all of them.
//!
//! Callers: `verdict`; `commits` for the name of a run.

use report::number::{change_size, counted, share};
use report::{labelled, paragraph};
use serde::Serialize;
use stats::Comparison;

use super::commits::CommitCheck;
use super::pairs::Pairs;
use crate::{PairKind, Run, Side, World};

/// More time than this without a name is an error of the books.
const UNACCOUNTED_MAX: f64 = 0.01;
/// Above this share of time on a CPU, what is taken away is worth a word.
const STOLEN_MAX: f64 = 0.05;

/// A run as people call it: `A/B pair 3, side B`.
pub(crate) fn run_name(run: &Run) -> String {
    let identity = &run.identity;
    match identity.kind {
        PairKind::Ab => {
            let side = if identity.side == Side::A { "A" } else { "B" };
            format!("A/B pair {} {side}", identity.pair)
        }
        PairKind::Aa => format!("A/A pair {}", identity.pair),
    }
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
        let sentence = worst.map_or("no session was accounted for".to_owned(), |worst| {
            let share = share(worst.share);
            format!(
                "{share} of elapsed time at most, of any session or process ({}, {})",
                worst.session, worst.run
            )
        });
        labelled("unaccounted", &sentence)
    }
}

/// All warnings, one sentence each.
pub(crate) fn warnings(
    rows: &[Run],
    pairs: &Pairs<'_>,
    comparison: Option<&Comparison>,
    commits: &CommitCheck,
    worst: Option<&Worst>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if commits.lost > 0 {
        warnings.push("Commits were lost: no figure of this engine is worth anything.".to_owned());
    }
    if let Some(of) = comparison.filter(|of| of.claimed_from() > 1.0 + of.threshold) {
        let (from, matters) = (change_size(of.claimed_from()), share(of.threshold));
        let is_model = rows.iter().any(|run| run.identity.world != World::Linux);
        warnings.push(match is_model {
            true => format!(
                "Runs differ among themselves: nothing under {from} can be claimed, and {matters} \
                 would matter. Use longer runs or more pairs."
            ),
            false => format!(
                "The machine was noisy: nothing under {from} can be claimed, and {matters} would \
                 matter. Look for other load, or use longer runs or more pairs."
            ),
        });
    }
    if let Some(worst) = worst.filter(|worst| worst.share > UNACCOUNTED_MAX) {
        let share = share(worst.share);
        warnings.push(format!("{} left {share} of its time without a name.", worst.session));
    }
    let stolen = rows.iter().map(Run::stolen_share).sum::<f64>() / rows.len().max(1) as f64;
    if stolen > STOLEN_MAX {
        warnings.push(format!(
            "A hypervisor or interrupts took away {} of the time on a CPU. It lies in the lines \
             CPU and in the waits, and makes runs differ.",
            share(stolen)
        ));
    }
    if pairs.alone > 0 {
        let runs = counted(pairs.alone, "run");
        warnings.push(format!("{runs} without a partner: left out of the comparison."));
    }
    warnings.extend(mixed(rows, pairs));
    warnings
}

/// Warnings about rows that don't belong together.
fn mixed(rows: &[Run], pairs: &Pairs<'_>) -> Vec<String> {
    let differ = |of: &dyn Fn(&Run) -> String, rows: &mut dyn Iterator<Item = &Run>| {
        let values: std::collections::BTreeSet<String> = rows.map(of).collect();
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
    for (side, name) in [(Side::A, "A"), (Side::B, "B")] {
        let mut of_side = rows.iter().filter(|run| run.identity.side == side);
        if differ(&|run| run.identity.parameter_hash.clone(), &mut of_side) {
            warnings.push(format!("The runs of side {name} have different parameters."));
        }
    }
    let work = |(a, b): &&(&Run, &Run)| a.identity.work_hash != b.identity.work_hash;
    if pairs.ab.iter().chain(&pairs.aa).any(|pair| work(&pair)) {
        warnings.push("The runs of some pair were not given the same work.".to_owned());
    }
    warnings
}

/// The section of warnings; empty without any.
pub(crate) fn text(warnings: &[String]) -> String {
    warnings.iter().map(|warning| paragraph(&format!("WARNING: {warning}"), "  ")).collect()
}
