//! Rounds: everything is measured once in each, so that a machine that is busy or slow for a while
//! is so for every figure; and what came of them.
//!
//! Callers: `calibrate`, its report.

use std::collections::BTreeMap;
use std::path::Path;

use os::Cost;
use sim::model::CostList;
use waits::SessionKind;

use super::disk::Reads;
use super::engine::{self, Engine, Loops};
use super::figure::Figure;
use super::{computing, migration, sleeping, threads};

/// What the rounds gave.
pub(super) struct Measured {
    /// A value for each round, in ns a unit.
    values: BTreeMap<Figure, Vec<f64>>,
    /// How many rounds.
    pub(super) rounds: u32,
    /// On how many CPUs.
    pub(super) cpus: usize,
    /// What worked for the ring.
    pub(super) ring: String,
}

/// The middle of the rounds' values and the quarters around it, in ns a unit.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Measures everything in `rounds` rounds, after one that doesn't count. Disks are measured by a
/// file in `folder`.
pub(super) fn measure(rounds: u32, folder: &Path) -> Result<Measured, String> {
    let os = os::linux::start();
    let session = os.adopt("calibrate", SessionKind::Foreground);
    let cpus = threads::cpus();
    if cpus.is_empty() {
        return Err("calibrate: the kernel doesn't say on which CPUs we may run".to_string());
    }
    let said = |stop: stop::Stop| format!("calibrate: {stop}");
    let disk = os::linux::disk();
    let mut reads = Reads::prepare(&disk, folder, &session)?;
    let mut engine = Engine::prepare(&disk, &folder.join("engine"), &session).map_err(said)?;
    let mut loops: Vec<Loops> = Vec::new();
    let mut values: BTreeMap<Figure, Vec<f64>> = BTreeMap::new();
    for round in 0..=rounds {
        let mut found = computing::round(&session);
        found.extend(sleeping::round(&session, &cpus)?);
        found.extend(migration::round(&session, &cpus)?);
        found.extend(threads::round(&session)?);
        found.extend(reads.round(&session)?);
        for (figure, ns) in found.into_iter().filter(|_| round > 0) {
            values.entry(figure).or_default().push(ns);
        }
        let of_engine = engine.round(&session).map_err(said)?;
        loops.extend((round > 0).then_some(of_engine));
    }
    engine.close(&session).map_err(said)?;
    let charged = engine::simulated(&list_of(&values, "basic", "measured just now".into()))?;
    for (figure, ns) in loops.iter().flat_map(|round| round.costs_beyond(&charged)) {
        values.entry(figure).or_default().push(ns);
    }
    Ok(Measured { values, rounds, cpus: cpus.len(), ring: reads.ring() })
}

impl Measured {
    /// What a figure came to; nothing if this machine can't show it.
    pub(super) fn of(&self, figure: Figure) -> Option<Spread> {
        let values = self.values.get(&figure)?;
        let at = |share| stats::quantile(values, share);
        Some(Spread { median: at(0.5), low: at(0.25), high: at(0.75) })
    }

    /// The medians as a list of costs, in whole ns; what takes less than one takes one.
    pub(super) fn cost_list(&self, name: &str, source: String) -> CostList {
        list_of(&self.values, name, source)
    }
}

/// The medians of what there are values for; the rest is free.
fn list_of(values: &BTreeMap<Figure, Vec<f64>>, name: &str, source: String) -> CostList {
    let ns = |cost: Cost| {
        let values = values.get(&Figure::Cost(cost));
        values.map_or(0, |values| stats::median(values).round().max(1.0) as u32)
    };
    let costs = std::array::from_fn(|index| ns(Cost::ALL[index]));
    CostList { name: name.to_string(), source, costs }
}
