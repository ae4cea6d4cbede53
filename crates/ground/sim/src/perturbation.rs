//! The amount by which a schedule may stray from the one that the costs alone would give, and the
//! random numbers that decide.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Seeded disturbances of the schedule, so that a seed is a schedule. With all off, the model
/// itself gives figures. With them on, a simulation finds races.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Perturbation {
    /// Among threads that could go on at the same time, and among sleepers on one word, the seed
    /// chooses instead of the order of arrival.
    pub choices: bool,
    /// The number of interleaving points in 1,024 that make the thread give up its CPU.
    pub yields_per_1024: u32,
    /// The number of interleaving points in 1,024 that delay it by up to `delay_ns_max`.
    pub delays_per_1024: u32,
    /// The longest such delay, in ns.
    pub delay_ns_max: u32,
    /// The number of sleeps on a word in 1,024 that end for no reason, as a futex may.
    pub spurious_per_1024: u32,
}

impl Perturbation {
    /// No perturbation.
    pub const NONE: Perturbation = Perturbation {
        choices: false,
        yields_per_1024: 0,
        delays_per_1024: 0,
        delay_ns_max: 0,
        spurious_per_1024: 0,
    };

    /// The perturbation that finds races: one interleaving point in eight switches, one in eight
    /// delays.
    pub const RACES: Perturbation = Perturbation {
        choices: true,
        yields_per_1024: 128,
        delays_per_1024: 128,
        delay_ns_max: 5_000,
        spurious_per_1024: 16,
    };

    pub(crate) fn interleaves(&self) -> bool {
        self.yields_per_1024 + self.delays_per_1024 > 0
    }
}

/// The effect of an interleaving point.
pub(crate) enum Disturbance {
    None,
    Yield,
    Delay(u64),
}

/// All decisions of a schedule that a seed makes.
#[derive(Debug)]
pub(crate) struct Luck {
    perturbation: Perturbation,
    random: Xoshiro256PlusPlus,
}

impl Luck {
    pub(crate) fn new(perturbation: Perturbation, seed: u64) -> Luck {
        Luck { perturbation, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    pub(crate) fn random(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// One of `count`, by the seed where the schedule is perturbed, else the first.
    pub(crate) fn choose(&mut self, count: usize) -> usize {
        if count < 2 || !self.perturbation.choices {
            return 0;
        }
        (self.random() % count as u64) as usize
    }

    pub(crate) fn disturbance(&mut self) -> Disturbance {
        let Perturbation { yields_per_1024, delays_per_1024, delay_ns_max, .. } = self.perturbation;
        let draw = self.random();
        let odds = (draw >> 32) as u32 % 1024;
        if odds < yields_per_1024 {
            Disturbance::Yield
        } else if odds < yields_per_1024 + delays_per_1024 {
            Disturbance::Delay(1 + (draw & 0xFFFF_FFFF) % u64::from(delay_ns_max.max(1)))
        } else {
            Disturbance::None
        }
    }

    /// Whether a sleep is to end for no reason, as a futex may.
    pub(crate) fn wakes_for_nothing(&mut self) -> bool {
        let chance = self.perturbation.spurious_per_1024;
        chance > 0 && (self.random() >> 32) as u32 % 1024 < chance
    }
}
