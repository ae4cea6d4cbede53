//! Simulated experiments: blocks of about a second, in pairs whose order is drawn by lot.
//!
//! Used by `tests/calibration.rs` in a short form and by `examples/calibrate.rs` in the long one.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "a module that the test and the example share, and use different parts of"
)]

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp, StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;
use stats::adjusted::{Estimate, Pair};
use stats::sequential::Matters;
use stats::sequential::{Answer, Decision, Looks, Outlook};

/// The generator of all simulations.
pub type Random = Xoshiro256PlusPlus;

/// What the log throughput of a block varies by; in units that differ from kind to kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Normal.
    Normal,
    /// A tail to one side: exponential.
    Skewed,
    /// Student's t with 3 degrees of freedom.
    HeavyTails,
    /// Each block keeps 0.8 of the deviation of the block before.
    Autocorrelated,
    /// A neighbour works for three blocks in a row, on average in one of seven, at a strength that
    /// differs from burst to burst.
    Bursts,
    /// The same neighbour doesn't slow blocks down on average but makes them scatter.
    Restless,
    /// The machine has a fast and a slow state, twenty deviations apart; each block meets one.
    TwoStates,
}

/// All of them, with their names in the tables.
pub const NOISES: [(&str, Noise); 7] = [
    ("normal", Noise::Normal),
    ("skewed (exponential)", Noise::Skewed),
    ("heavy tails (t, 3 df)", Noise::HeavyTails),
    ("autocorrelated (AR 0.8)", Noise::Autocorrelated),
    ("bursts of a neighbour", Noise::Bursts),
    ("restless in bursts", Noise::Restless),
    ("two states", Noise::TwoStates),
];

/// The names of the covariates of [`Blocks::pair`].
pub const NAMES: [&str; 2] = ["steal", "probe"];

/// A machine on which blocks run one after the other.
pub struct Blocks {
    noise: Noise,
    random: Random,
    memory: f64,
    burst: f64,
}

struct Block {
    noise: f64,
    steal: f64,
    probe: f64,
}

impl Blocks {
    /// A machine with this noise.
    pub fn new(noise: Noise, seed: u64) -> Blocks {
        Blocks { noise, random: Random::seed_from_u64(seed), memory: 0.0, burst: 0.0 }
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.random)
    }

    fn next_burst(&mut self) -> f64 {
        let begins = 1.0 / 18.0;
        if self.burst > 0.0 && self.random.random_bool(1.0 / 3.0) {
            self.burst = 0.0;
        } else if self.burst == 0.0 && self.random.random_bool(begins) {
            self.burst = 1.0 + 4.0 * self.random.random::<f64>();
        }
        self.burst
    }

    fn block(&mut self) -> Block {
        let usual = self.normal();
        let (mut steal, probe) = (self.normal().abs(), self.normal());
        let noise = match self.noise {
            Noise::Normal => usual,
            Noise::Skewed => -Exp::new(1.0).expect("1 is a rate").sample(&mut self.random),
            Noise::HeavyTails => {
                StudentT::new(3.0).expect("3 are degrees").sample(&mut self.random)
            }
            Noise::Autocorrelated => {
                self.memory = 0.8 * self.memory + 0.6 * usual;
                self.memory
            }
            Noise::Bursts => {
                steal = self.next_burst();
                let strength = 1.0 + 0.3 * self.normal();
                usual - steal * strength
            }
            Noise::Restless => {
                steal = self.next_burst();
                usual * (1.0 + 2.0 * steal)
            }
            Noise::TwoStates => 0.1 * usual + if self.random.random::<bool>() { 1.0 } else { -1.0 },
        };
        Block { noise, steal, probe }
    }

    /// The next pair; B has more than A by `effect`. With covariates: what the neighbour took (a
    /// burst; elsewhere chance that explains nothing) and the latency of a probe (chance).
    pub fn pair(&mut self, effect: f64, covariates: bool) -> Pair {
        let (first, second) = (self.block(), self.block());
        let sign = if self.random.random::<bool>() { 1.0 } else { -1.0 };
        let difference = sign * (second.noise - first.noise) + effect;
        if !covariates {
            return Pair::bare(difference);
        }
        Pair {
            difference,
            covariates: vec![
                sign * (second.steal - first.steal),
                sign * (second.probe - first.probe),
            ],
            disturbance: first.steal + second.steal,
        }
    }

    /// The next pairs.
    pub fn pairs(&mut self, count: usize, effect: f64, covariates: bool) -> Vec<Pair> {
        (0..count).map(|_| self.pair(effect, covariates)).collect()
    }
}

/// The estimate, with the covariates if the pairs have them.
pub fn estimate(pairs: &[Pair]) -> Estimate {
    let names = pairs.first().map_or(0, |pair| pair.covariates.len());
    Estimate::of(pairs, &NAMES[..names]).expect("two pairs or more")
}

/// The normal quantile at 97.5 %.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// Whether the interval of this critical |z| leaves zero out.
pub fn is_real(estimate: &Estimate, critical: f64) -> bool {
    let interval = estimate.interval(critical);
    interval.low > 0.0 || interval.high < 0.0
}

/// In per cent of `trials`, how often the 95 % interval of so many pairs holds the truth.
pub fn coverage(noise: Noise, covariates: bool, pairs: usize, trials: u32) -> f64 {
    let mut blocks = Blocks::new(noise, 17);
    let missed = (0..trials)
        .filter(|_| is_real(&estimate(&blocks.pairs(pairs, 0.0, covariates)), Z_95))
        .count();
    100.0 - 100.0 * missed as f64 / f64::from(trials)
}

/// How wide the 95 % interval of so many pairs is with covariates and weights, relative to that
/// without; the mean of `trials` experiments.
pub fn width_with_covariates(noise: Noise, pairs: usize, trials: u32) -> f64 {
    let mut blocks = Blocks::new(noise, 31);
    let width = |pairs: &[Pair]| {
        let interval = estimate(pairs).interval(Z_95);
        interval.high - interval.low
    };
    let (mut with, mut without) = (0.0, 0.0);
    for _ in 0..trials {
        let pairs = blocks.pairs(pairs, 0.0, true);
        let bare: Vec<Pair> = pairs.iter().map(|pair| Pair::bare(pair.difference)).collect();
        with += width(&pairs);
        without += width(&bare);
    }
    with / without
}

/// In per cent of `trials`, how often equals are called different at any look, with a look after
/// every `every` pairs of `budget`.
pub fn sequential_error(
    noise: Noise,
    covariates: bool,
    (every, budget): (usize, usize),
    trials: u32,
) -> f64 {
    let mut looks = Looks::new(0.05);
    let bounds: Vec<f64> = (1..=budget / every)
        .map(|look| looks.next((look * every) as f64 / budget as f64))
        .collect();
    let mut blocks = Blocks::new(noise, 19);
    let wrong = (0..trials)
        .filter(|_| {
            let pairs = blocks.pairs(budget, 0.0, covariates);
            let mut at = 0;
            bounds.iter().any(|bound| {
                at += every;
                is_real(&estimate(&pairs[..at]), *bound)
            })
        })
        .count();
    100.0 * wrong as f64 / f64::from(trials)
}

/// What became of the numbers of pairs that were said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said {
    /// How many experiments weren't decided when they were asked.
    pub asked: u32,
    /// In how many a number was said.
    pub said: u32,
    /// In how many of those the decision had come by then.
    pub right: u32,
    /// The pairs said, added up.
    pub pairs: u32,
}

/// Experiments with normal noise whose pairs deviate by `spread` thresholds, asked after `first`
/// pairs how many more would decide, of a budget. Looks come after every five pairs.
pub fn outlook(
    decision: Decision,
    (effect, spread): (f64, f64),
    (first, budget): (usize, u32),
    trials: u32,
) -> Said {
    let outlook = Outlook { decision, threshold: 1.0, alpha: 0.05, budget, reach: budget };
    let mut looks = Looks::new(0.05);
    let bounds: Vec<f64> =
        (1..=budget / 5).map(|look| looks.next(f64::from(look * 5) / f64::from(budget))).collect();
    let mut blocks = Blocks::new(Noise::Normal, 29);
    let mut said = Said::default();
    // Pairs of two blocks deviate by the root of two.
    let scale = spread / 2_f64.sqrt();
    for _ in 0..trials {
        let mut pairs = blocks.pairs(budget as usize, 0.0, false);
        for pair in &mut pairs {
            pair.difference = pair.difference * scale + effect;
        }
        let decided = |count: usize| {
            let answer = Answer::of(estimate(&pairs[..count]).interval(bounds[count / 5 - 1]), 1.0);
            let real = decision == Decision::Finding && answer.is_real();
            real || answer.matters != Matters::Open
        };
        if (5..=first).step_by(5).any(decided) {
            continue;
        }
        said.asked += 1;
        if let Some(more) = outlook.more_pairs(&estimate(&pairs[..first])) {
            said.said += 1;
            said.pairs += more;
            // The look at which so many pairs are in.
            let by = (first + more as usize).div_ceil(5) * 5;
            let looks_left = (first + 5..=by.min(budget as usize)).step_by(5);
            said.right += u32::from(looks_left.into_iter().any(decided));
        }
    }
    said
}
