//! The plan of an experiment: which runs, in which order.
//!
//! ```text
//!   A B   B A   [A A]   B A   A B   A B   [A A]   B A  ...
//!   └─ block ─┘         └─ block ─┘ └──── block ─────┘        blocks drawn by lot (rule EX2)
//! ```
//!
//! A plan is three numbers; its steps follow from them, the same on every machine.
//!
//! Callers: `driver`; `lab`.
//! Source: Box, Hunter & Hunter, Statistics for Experimenters (2005), 3.2 (blocking and lots).

use std::fmt;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// The most pairs of a plan: more are a typing error.
pub const PAIRS_MAX: u32 = 1_000;

/// One of the two settings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Side {
    /// The setting that B is compared with.
    A,
    /// The other setting.
    B,
}

/// Which settings a pair compares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum PairKind {
    /// Setting A with setting B.
    #[serde(rename = "A/B")]
    Ab,
    /// Setting A with itself: how far apart equal settings lie on this machine.
    #[serde(rename = "A/A")]
    Aa,
}

/// Which run of its pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairOrder {
    /// The first run.
    First,
    /// The run right after it.
    Second,
}

/// How many pairs there are, and the seed of their random order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The number of pairs of A and B.
    pub pairs: u32,
    /// The number of pairs of A and A among them.
    pub aa_pairs: u32,
    /// Seeds the order and the runs.
    pub seed: u64,
}

/// One run of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Which pair, counted from 1 within its kind.
    pub pair: u32,
    /// Which settings the pair compares.
    pub kind: PairKind,
    /// The setting of this run.
    pub side: Side,
    /// Which run of the pair it is.
    pub order: PairOrder,
    /// Seeds the load: the same for both runs of the pair (rule EX3). Under 2^48, so that every
    /// reader of JSON keeps it.
    pub load_seed: u64,
    /// Seeds a simulated world: another for each run. Under 2^48.
    pub world_seed: u64,
}

/// A plan that can't be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanError {
    what: &'static str,
    asked: u32,
    least: u32,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlanError { what, asked, least } = self;
        write!(f, "{asked} {what} can't be compared: ask for {least} to {PAIRS_MAX}")
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// A plan of these numbers of pairs. A verdict needs two A/B pairs and one A/A pair at least,
    /// and says little about so few.
    pub fn new(pairs: u32, aa_pairs: u32, seed: u64) -> Result<Plan, PlanError> {
        for (what, asked, least) in [("pairs", pairs, 2), ("A/A pairs", aa_pairs, 1)] {
            if !(least..=PAIRS_MAX).contains(&asked) {
                return Err(PlanError { what, asked, least });
            }
        }
        Ok(Plan { pairs, aa_pairs, seed })
    }

    /// The number of runs.
    pub fn run_count(&self) -> u32 {
        2 * (self.pairs + self.aa_pairs)
    }

    /// The runs, in their order.
    pub fn steps(&self) -> Vec<Step> {
        let mut lot = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let firsts = first_sides(self.pairs, &mut lot);
        let mut steps = Vec::new();
        let (mut ab, mut aa) = (0, 0);
        for kind in self.kinds(&mut lot) {
            let (pair, sides) = match kind {
                PairKind::Ab => {
                    ab += 1;
                    (ab, firsts[ab as usize - 1])
                }
                PairKind::Aa => {
                    aa += 1;
                    (aa, [Side::A, Side::A])
                }
            };
            let load_seed = seed_48(&mut lot);
            for (order, side) in [PairOrder::First, PairOrder::Second].into_iter().zip(sides) {
                let world_seed = seed_48(&mut lot);
                steps.push(Step { pair, kind, side, order, load_seed, world_seed });
            }
        }
        steps
    }

    /// Cuts the A/B pairs into as many stretches as there are A/A pairs; each stretch gets one A/A
    /// pair, at a random position.
    fn kinds(&self, lot: &mut Xoshiro256PlusPlus) -> Vec<PairKind> {
        let mut kinds = Vec::new();
        for stretch in 0..self.aa_pairs {
            let bound = |stretch| stretch * self.pairs / self.aa_pairs;
            let length = bound(stretch + 1) - bound(stretch);
            let before = lot.random_range(0..=length);
            kinds.extend((0..before).map(|_| PairKind::Ab));
            kinds.push(PairKind::Aa);
            kinds.extend((before..length).map(|_| PairKind::Ab));
        }
        kinds
    }
}

/// The sides of each A/B pair in order: blocks of A B, B A or B A, A B, at random.
fn first_sides(pairs: u32, lot: &mut Xoshiro256PlusPlus) -> Vec<[Side; 2]> {
    const FORTH: [Side; 2] = [Side::A, Side::B];
    const BACK: [Side; 2] = [Side::B, Side::A];
    let mut sides = Vec::new();
    for _ in 0..pairs.div_ceil(2) {
        sides.extend(if lot.random() { [FORTH, BACK] } else { [BACK, FORTH] });
    }
    sides.truncate(pairs as usize);
    sides
}

fn seed_48(lot: &mut Xoshiro256PlusPlus) -> u64 {
    lot.random::<u64>() >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(pairs: u32, aa_pairs: u32, seed: u64) -> Plan {
        Plan::new(pairs, aa_pairs, seed).expect("a sound plan")
    }

    #[test]
    fn a_plan_has_each_run_once_and_the_runs_of_a_pair_next_to_each_other() {
        let steps = plan(10, 5, 1).steps();
        assert_eq!(steps.len(), 30);
        let mut seen = std::collections::BTreeSet::new();
        for pair in steps.chunks(2) {
            let [first, second] = pair else { panic!("runs come in twos") };
            assert_eq!((first.kind, first.pair), (second.kind, second.pair));
            assert_eq!((first.order, second.order), (PairOrder::First, PairOrder::Second));
            match first.kind {
                PairKind::Ab => assert_ne!(first.side, second.side),
                PairKind::Aa => assert_eq!((first.side, second.side), (Side::A, Side::A)),
            }
            assert!(seen.insert((first.kind, first.pair)), "a pair comes once");
        }
    }

    /// Rule EX2: whatever the seed, A is first as often as B, and the A/A pairs are spread.
    #[test]
    fn sides_are_balanced_and_a_a_pairs_spread_whatever_the_lot() {
        for seed in 0..200 {
            let steps = plan(10, 5, seed).steps();
            let a_first = |s: &&Step| {
                s.kind == PairKind::Ab && s.order == PairOrder::First && s.side == Side::A
            };
            assert_eq!(steps.iter().filter(a_first).count(), 5, "seed {seed}");
            // Two A/B pairs and an A/A pair make a stretch of six runs.
            for stretch in steps.chunks(6) {
                let aa = stretch.iter().filter(|step| step.kind == PairKind::Aa).count();
                assert_eq!(aa, 2, "seed {seed}");
            }
        }
    }

    #[test]
    fn the_lot_decides_who_is_first() {
        let first_is_a = |seed| {
            plan(10, 5, seed)
                .steps()
                .iter()
                .find(|s| s.kind == PairKind::Ab)
                .map(|s| s.side == Side::A)
        };
        let a = (0..200).filter(|seed| first_is_a(*seed) == Some(true)).count();
        assert!((70..=130).contains(&a), "A first in {a} of 200");
    }

    /// Rule EX3.
    #[test]
    fn runs_of_a_pair_share_the_load_and_never_the_world() {
        let steps = plan(10, 5, 3).steps();
        for pair in steps.chunks(2) {
            assert_eq!(pair[0].load_seed, pair[1].load_seed);
        }
        let mut worlds: Vec<u64> = steps.iter().map(|step| step.world_seed).collect();
        worlds.sort_unstable();
        worlds.dedup();
        assert_eq!(worlds.len(), 30);
        assert!(steps.iter().all(|s| s.load_seed < 1 << 48 && s.world_seed < 1 << 48));
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_another_seed_another() {
        assert_eq!(plan(7, 3, 9).steps(), plan(7, 3, 9).steps());
        assert_ne!(plan(7, 3, 9).steps(), plan(7, 3, 10).steps());
    }

    #[test]
    fn odd_numbers_and_more_a_a_than_a_b_pairs_work() {
        for (pairs, aa_pairs) in [(3, 1), (2, 5), (7, 4)] {
            let plan = plan(pairs, aa_pairs, 1);
            assert_eq!(plan.steps().len(), plan.run_count() as usize);
        }
    }

    #[test]
    fn a_plan_that_says_nothing_is_refused_with_what_to_ask_for() {
        let error = Plan::new(1, 5, 0).expect_err("one pair has no spread");
        assert_eq!(error.to_string(), "1 pairs can't be compared: ask for 2 to 1000");
        let error = Plan::new(10, 0, 0).expect_err("no A/A pair, no floor");
        assert_eq!(error.to_string(), "0 A/A pairs can't be compared: ask for 1 to 1000");
    }
}
