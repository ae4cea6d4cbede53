//! The plan of an experiment: which runs, in which order.
//!
//! ```text
//!   A B   B A   [A A]   B A   A B   [B B]   A B   B A   ...                two levels
//!   └ round ┘   └ equals ┘
//!
//!   C A B   B A C   [A A]   B C A   ...                                     three
//!
//!   A B   B A   [B B] [B B] [B B] [A A] [A A] [A A]   B A   A B   B A   ...  stretches together
//! ```
//!
//! A *round* has each level once, in an order drawn by lot. A round of *equals* has one level
//! twice: how far apart do equal settings lie here and now? Rounds of equals come in *stretches* of
//! one level. By restarts a stretch is one round. Where settings alternate it lasts for many
//! rounds, and there is one of each level behind each other: then one setting is set for so long
//! that a slow effect of it would be seen.
//!
//! A plan is a few numbers; its steps follow from them, the same on every machine.
//!
//! Callers: `driver`; `lab`.
//! Source: Box, Hunter & Hunter, Statistics for Experimenters (2005), 3.2 (blocking and lots).

use std::fmt;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// The most rounds of a plan: more are a typing error.
pub const ROUNDS_MAX: u32 = 100_000;
/// The most that a command line asks for. A file may have more.
pub const ROUNDS_ASKED_MAX: u32 = 1_000;
/// The most levels of a plan.
pub const LEVELS_MAX: u8 = 26;

/// One of the settings that are compared, counted from 0, and written as a letter. The first, A, is
/// the one that others are compared with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "char", into = "char")]
pub struct Level(u8);

impl Level {
    /// The setting that others are compared with.
    pub const A: Level = Level(0);
    /// The second setting.
    pub const B: Level = Level(1);

    /// The level of this index: below [`LEVELS_MAX`].
    pub fn of(index: usize) -> Level {
        assert!(index < usize::from(LEVELS_MAX), "level {index} has no letter");
        Level(index as u8)
    }

    /// Its index among the settings.
    pub fn index(self) -> usize {
        self.0.into()
    }
}

impl From<Level> for char {
    fn from(level: Level) -> char {
        char::from(b'A' + level.0)
    }
}

impl TryFrom<char> for Level {
    type Error = String;

    fn try_from(letter: char) -> Result<Level, String> {
        match letter {
            'A'..='Z' => Ok(Level(letter as u8 - b'A')),
            _ => Err(format!("\"{letter}\" is no level: they are A to Z")),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(char::from(*self).encode_utf8(&mut [0; 4]))
    }
}

/// What a round is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoundKind {
    /// Each level once: the comparison.
    Compared,
    /// One level twice: the noise.
    Equals,
}

/// How many levels and rounds there are, and the seed of their random order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The number of settings.
    pub levels: u8,
    /// The most rounds that compare them.
    pub rounds: u32,
    /// The number of rounds of equals among them.
    pub equals: u32,
    /// The number of stretches that these make: each has as many of one level as another, but for
    /// one that may be left over.
    pub stretches: u32,
    /// So many stretches follow each other.
    pub together: u32,
    /// Seeds the order and the runs.
    pub seed: u64,
}

/// One run of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Which round, counted from 1 within its kind.
    pub round: u32,
    /// What the round is for.
    pub kind: RoundKind,
    /// The setting of this run.
    pub level: Level,
    /// Which run of the round, from 1.
    pub place: u32,
    /// Seeds the load: the same for all runs of the round (rule EX3). Under 2^48, so that every
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
    most: u32,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlanError { what, asked, least, most } = self;
        write!(f, "{asked} {what} can't be compared: ask for {least} to {most}")
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// Checks the numbers. So few as two rounds and one of equals are a plan, and say nothing.
    pub fn check(self) -> Result<Plan, PlanError> {
        let bounds = [
            ("settings", self.levels.into(), 2, LEVELS_MAX.into()),
            ("rounds", self.rounds, 2, ROUNDS_MAX),
            ("rounds of equals", self.equals, 1, ROUNDS_MAX),
            ("stretches of equals", self.stretches, 1, self.equals),
            ("stretches together", self.together, 1, self.stretches),
        ];
        for (what, asked, least, most) in bounds {
            if !(least..=most).contains(&asked) {
                return Err(PlanError { what, asked, least, most });
            }
        }
        Ok(self)
    }

    /// The number of runs.
    pub fn run_count(&self) -> u32 {
        u32::from(self.levels) * self.rounds + 2 * self.equals
    }

    /// The runs, in their order.
    pub fn steps(&self) -> Vec<Step> {
        let mut lot = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut steps = Vec::new();
        let mut rounds = [0; 2];
        for equals in self.kinds(&mut lot) {
            let kind = if equals.is_some() { RoundKind::Equals } else { RoundKind::Compared };
            let round = &mut rounds[kind as usize];
            *round += 1;
            let levels = match equals {
                Some(level) => vec![level; 2],
                None => order(self.levels, &mut lot),
            };
            let load_seed = seed_48(&mut lot);
            for (place, level) in (1..).zip(levels) {
                let world_seed = seed_48(&mut lot);
                steps.push(Step { round: *round, kind, level, place, load_seed, world_seed });
            }
        }
        steps
    }

    /// Of each round, the level of equals, or none. The rounds are cut into as many parts as there
    /// are stretches, or stretches together; each part gets them at a random position, those
    /// together in its first half: what they tell should be known early. Levels have stretches by
    /// lot, each one before any has another.
    fn kinds(&self, lot: &mut Xoshiro256PlusPlus) -> Vec<Option<Level>> {
        let part = |at: u32, of: u32, parts: u32| {
            let bound = |at: u32| u64::from(at) * u64::from(of) / u64::from(parts);
            (bound(at + 1) - bound(at)) as usize
        };
        let (mut kinds, mut turns) = (Vec::new(), Vec::new());
        let parts = self.stretches.div_ceil(self.together);
        for at in 0..parts {
            let length = part(at, self.rounds, parts);
            let latest = if self.together > 1 { length / 2 } else { length };
            let before = lot.random_range(0..=latest);
            kinds.extend(std::iter::repeat_n(None, before));
            let first = at * self.together;
            for stretch in first..self.stretches.min(first + self.together) {
                if turns.is_empty() {
                    turns = order(self.levels, lot);
                }
                let level = turns.pop();
                let equals = part(stretch, self.equals, self.stretches);
                kinds.extend(std::iter::repeat_n(level, equals));
            }
            kinds.extend(std::iter::repeat_n(None, length - before));
        }
        kinds
    }
}

/// An order of the levels, whatever the rounds before had: so rounds are independent of each other
/// even where the noise of neighbouring runs isn't (rule EX2).
fn order(levels: u8, lot: &mut Xoshiro256PlusPlus) -> Vec<Level> {
    let mut order: Vec<Level> = (0..levels).map(Level).collect();
    order.shuffle(lot);
    order
}

fn seed_48(lot: &mut Xoshiro256PlusPlus) -> u64 {
    lot.random::<u64>() >> 16
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn plan(rounds: u32, equals: u32, seed: u64) -> Plan {
        Plan { levels: 2, rounds, equals, stretches: equals, together: 1, seed }
            .check()
            .expect("a sound plan")
    }

    #[test]
    fn a_plan_has_each_run_once_and_the_runs_of_a_round_next_to_each_other() {
        let steps = plan(10, 5, 1).steps();
        assert_eq!(steps.len(), 30);
        let mut seen = BTreeSet::new();
        for round in steps.chunks(2) {
            let [first, second] = round else { panic!("runs come in twos") };
            assert_eq!((first.kind, first.round), (second.kind, second.round));
            assert_eq!((first.place, second.place), (1, 2));
            assert_eq!(first.kind == RoundKind::Equals, first.level == second.level);
            assert!(seen.insert((first.kind, first.round)), "a round comes once");
        }
    }

    /// Rule EX2: whatever the seed, equals are spread, and A has as many as B.
    #[test]
    fn equals_are_spread_whatever_the_lot() {
        let mut first = BTreeSet::new();
        for seed in 0..200 {
            let steps = plan(10, 5, seed).steps();
            // Two rounds and one of equals make a stretch of six runs.
            let mut equals = Vec::new();
            for stretch in steps.chunks(6) {
                let of = stretch.iter().filter(|step| step.kind == RoundKind::Equals);
                let of: Vec<Level> = of.map(|step| step.level).collect();
                assert_eq!(of.len(), 2, "seed {seed}");
                equals.push(of[0]);
            }
            assert!(equals[0] != equals[1] && equals[2] != equals[3], "seed {seed}: {equals:?}");
            first.insert(equals[0]);
        }
        assert_eq!(first.len(), 2);
    }

    #[test]
    fn a_stretch_has_equals_of_one_level_behind_each_other() {
        let plan = Plan { levels: 2, rounds: 80, equals: 20, stretches: 4, together: 2, seed: 5 };
        let steps = plan.check().expect("a sound plan").steps();
        assert_eq!(steps.len(), plan.run_count() as usize);
        let stretches: Vec<&[Step]> = steps
            .chunk_by(|a, b| (a.kind, a.level) == (b.kind, b.level))
            .filter(|steps| steps[0].kind == RoundKind::Equals)
            .collect();
        assert_eq!(stretches.iter().map(|steps| steps.len()).collect::<Vec<_>>(), [10; 4]);
        let levels: Vec<Level> = stretches.iter().map(|steps| steps[0].level).collect();
        assert!(levels[0] != levels[1] && levels[2] != levels[3], "{levels:?}");
        let lengths = steps.chunk_by(|a, b| a.kind == b.kind).map(|steps| steps.len());
        let lengths: Vec<usize> = lengths.collect();
        assert!(lengths[0] <= 40 && lengths[1] == 20 && lengths[3] == 20, "{lengths:?}");
    }

    #[test]
    fn rounds_of_many_levels_have_each_once() {
        let plan = Plan { levels: 8, rounds: 6, equals: 2, stretches: 2, together: 1, seed: 3 };
        let steps = plan.check().expect("a sound plan").steps();
        assert_eq!(steps.len(), plan.run_count() as usize);
        for round in 1..=6 {
            let of = |step: &&Step| (step.kind, step.round) == (RoundKind::Compared, round);
            let levels: BTreeSet<Level> = steps.iter().filter(of).map(|step| step.level).collect();
            assert_eq!(levels.len(), 8);
        }
    }

    /// Rule EX2: each round's order is drawn by itself.
    #[test]
    fn the_lot_decides_who_is_first_in_each_round() {
        let (mut a_first, mut same_again) = (0, 0);
        for seed in 0..200 {
            let steps = plan(2, 1, seed).steps();
            let firsts = steps.iter().filter(|s| s.kind == RoundKind::Compared && s.place == 1);
            let firsts: Vec<Level> = firsts.map(|step| step.level).collect();
            a_first += u32::from(firsts[0] == Level::A);
            same_again += u32::from(firsts[0] == firsts[1]);
        }
        assert!((70..=130).contains(&a_first), "A first in {a_first} of 200");
        assert!((70..=130).contains(&same_again), "the same again in {same_again} of 200");
    }

    /// Rule EX3.
    #[test]
    fn runs_of_a_round_share_the_load_and_never_the_world() {
        let steps = plan(10, 5, 3).steps();
        for round in steps.chunks(2) {
            assert_eq!(round[0].load_seed, round[1].load_seed);
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
    fn odd_numbers_and_more_equals_than_rounds_work() {
        for (rounds, equals) in [(3, 1), (2, 5), (7, 4)] {
            let plan = plan(rounds, equals, 1);
            assert_eq!(plan.steps().len(), plan.run_count() as usize);
        }
    }

    #[test]
    fn a_plan_that_says_nothing_is_refused_with_what_to_ask_for() {
        let error = Plan { levels: 2, rounds: 1, equals: 5, stretches: 5, together: 1, seed: 0 };
        let error = error.check().expect_err("one round has no spread");
        assert_eq!(error.to_string(), "1 rounds can't be compared: ask for 2 to 100000");
        let error = Plan { levels: 2, rounds: 10, equals: 0, stretches: 0, together: 1, seed: 0 };
        let error = error.check().expect_err("no equals, no floor");
        assert_eq!(error.to_string(), "0 rounds of equals can't be compared: ask for 1 to 100000");
    }
}
