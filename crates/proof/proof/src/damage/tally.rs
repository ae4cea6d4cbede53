//! What was damaged, and as what it was told.

use std::collections::BTreeMap;
use std::fmt;

use verify::Kind;

use super::damages::Damage;

/// What happened: a run in which a damage was never tried proves nothing about it.
#[derive(Clone, Debug, Default)]
pub struct DamageTally {
    /// Databases that were damaged.
    pub databases: u64,
    each: BTreeMap<Damage, Each>,
}

/// Of one damage.
#[derive(Clone, Debug, Default)]
struct Each {
    noticed: u64,
    /// Openings that were refused.
    refused: u64,
    /// Of those that weren't: how often a check of the open database told it, and how often not.
    open: [u64; 2],
    kinds: BTreeMap<Kind, u64>,
}

impl DamageTally {
    pub(super) fn noticed(&mut self, damage: Damage, kinds: &[Kind]) {
        let each = self.each.entry(damage).or_default();
        each.noticed += 1;
        for kind in kinds {
            *each.kinds.entry(*kind).or_default() += 1;
        }
    }

    pub(super) fn refused(&mut self, damage: Damage) {
        self.each.entry(damage).or_default().refused += 1;
    }

    pub(super) fn opened(&mut self, damage: Damage, is_noticed: bool) {
        self.each.entry(damage).or_default().open[usize::from(!is_noticed)] += 1;
    }

    /// Adds what another run has seen.
    pub fn add(&mut self, other: DamageTally) {
        self.databases += other.databases;
        for (damage, other) in other.each {
            let each = self.each.entry(damage).or_default();
            each.noticed += other.noticed;
            each.refused += other.refused;
            (0..2).for_each(|at| each.open[at] += other.open[at]);
            for (kind, count) in other.kinds {
                *each.kinds.entry(kind).or_default() += count;
            }
        }
    }

    /// Damages that were tried and noticed.
    pub fn count(&self) -> u64 {
        self.each.values().map(|each| each.noticed).sum()
    }

    /// Damages for which there was never a place.
    pub fn missing(&self) -> Vec<&'static str> {
        let is_missing = |damage: &&Damage| !self.each.contains_key(damage);
        Damage::ALL.iter().filter(is_missing).map(|damage| damage.name()).collect()
    }
}

impl fmt::Display for DamageTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} databases, {} damages noticed", self.databases, self.count())?;
        for (damage, each) in &self.each {
            let Each { noticed, refused, open: [told, unposted], kinds } = each;
            write!(
                f,
                "{noticed:>6} {}; opened: {refused} refused, {told} told, {unposted} not;",
                damage.name()
            )?;
            kinds.iter().try_for_each(|(kind, count)| write!(f, " {count} {kind},"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}
