//! Rows sorted into pairs.
//!
//! Callers: `verdict`, and through it every section.

use std::collections::BTreeMap;

use crate::{PairKind, PairOrder, Run, Side};

/// The whole pairs of an experiment.
pub(crate) struct Pairs<'a> {
    /// A and B, by pair number.
    pub(crate) ab: Vec<(&'a Run, &'a Run)>,
    /// First and second, by pair number.
    pub(crate) aa: Vec<(&'a Run, &'a Run)>,
    /// Runs whose partner is missing.
    pub(crate) alone: u64,
}

impl<'a> Pairs<'a> {
    pub(crate) fn of(rows: &'a [Run]) -> Pairs<'a> {
        let mut found: BTreeMap<(PairKind, u32), Vec<&Run>> = BTreeMap::new();
        for run in rows {
            found.entry((run.identity.kind, run.identity.pair)).or_default().push(run);
        }
        let mut pairs = Pairs { ab: Vec::new(), aa: Vec::new(), alone: 0 };
        for ((kind, _), runs) in found {
            let is_first = |run: &&Run| match kind {
                PairKind::Ab => run.identity.side == Side::A,
                PairKind::Aa => run.identity.order == PairOrder::First,
            };
            let (first, second): (Vec<&Run>, Vec<&Run>) =
                runs.iter().partition(|run| is_first(run));
            match (first.as_slice(), second.as_slice(), kind) {
                ([first], [second], PairKind::Ab) => pairs.ab.push((first, second)),
                ([first], [second], PairKind::Aa) => pairs.aa.push((first, second)),
                _ => pairs.alone += runs.len() as u64,
            }
        }
        pairs
    }

    /// The throughputs of the A/B pairs.
    pub(crate) fn throughputs(&self) -> Vec<(f64, f64)> {
        self.ab.iter().map(|(a, b)| (a.throughput(), b.throughput())).collect()
    }

    /// The throughputs of the A/A pairs.
    pub(crate) fn aa_throughputs(&self) -> Vec<(f64, f64)> {
        self.aa.iter().map(|(first, second)| (first.throughput(), second.throughput())).collect()
    }

    /// The runs of either side of the A/B pairs.
    pub(crate) fn sides(&self) -> [Vec<&'a Run>; 2] {
        let (a, b) = self.ab.iter().copied().unzip();
        [a, b]
    }
}
