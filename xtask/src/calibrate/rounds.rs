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
    let mut reads = Reads::prepare(&os::linux::disk(), folder, &session)?;
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
        let ns = |cost: &Cost| {
            let spread = self.of(Figure::Cost(*cost)).expect("every machine shows every cost");
            spread.median.round().max(1.0) as u32
        };
        let costs = std::array::from_fn(|index| ns(&Cost::ALL[index]));
        CostList { name: name.to_string(), source, costs }
    }
}
