//! When an experiment knows: the looks at its rounds, and what the last one says.
//!
//! ```text
//!   rounds     1 2 3 4 5 6 7 8 9 10 11 12 ...                    planned
//!   looks                        │        │        │        │        │
//!   interval                  ├──────┤ ├────┤   ├──┤     decided: stop
//! ```
//!
//! A round gives one figure for each level but A: by how much it differs from A, as a share of the
//! mean of both. (Not the logarithm of the ratio: a block in which the device stalled has next to
//! no transactions, and its logarithm would outweigh all others.) Rounds are independent, because
//! each has an order drawn by lot. After some rounds, and again after every
//! few, the interval of the mean is looked at. The bar of each look is such that all looks together
//! err with the declared probability (`stats::sequential`), so the experiment may stop at any of
//! them. All looks follow from the rows and the rule: the same rows give the same decision.
//!
//! Callers: `verdict`; `lab`, to stop.

use std::collections::BTreeMap;

use stats::Interval;
use stats::adjusted::{Estimate, Pair};
use stats::distributions::Distribution;
use stats::sequential::{Answer, Looks};

use crate::rounds::Rounds;
use crate::surroundings::{CPU, Covariate, DEVICE, PLACE};
use crate::{Level, Run};

/// Fewer rounds than this are never looked at.
pub const ROUNDS_MIN: u32 = 6;
/// The most looks of an experiment.
const LOOKS_MAX: u32 = 40;
/// A covariate that differs between the settings with a smaller p than this may be their effect.
const UNTOUCHED_P: f64 = 0.01;

/// What is asked of the rows. All of it is chosen before the first run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// The difference from which on it matters, as a share: 0.02 is two per cent.
    pub threshold: f64,
    /// The probability with which equals may be called different, over all looks.
    pub error: f64,
    /// The rounds for which the budget is enough.
    pub rounds: u32,
    /// Whether the device's probe can't be affected by the setting.
    pub is_device_neutral: bool,
}

/// The figure of a row that is compared.
pub type Figure = fn(&Run) -> f64;

/// What became of a covariate.
#[derive(Clone, Debug, PartialEq)]
pub struct CovariateUse {
    /// Its name.
    pub name: &'static str,
    /// The share of the variance of a round's figure that it took; none if it wasn't used.
    pub taken: Option<f64>,
    /// Whether it was left out because it differs between the settings.
    pub differs: bool,
}

/// What the last look says.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The rounds that were looked at.
    pub rounds: u32,
    /// The number of looks.
    pub looks: u32,
    /// The declared error of all looks together.
    pub error: f64,
    /// The threshold, as a share.
    pub threshold: f64,
    /// The setting over A.
    pub ratio: f64,
    /// Its interval, which holds at every look.
    pub interval: Interval,
    /// What follows.
    pub answer: Answer,
    /// How large the interval would be by the rounds alone: its length over that of
    /// the interval.
    pub gain: f64,
    /// What became of each covariate.
    pub covariates: Vec<CovariateUse>,
    /// How far apart equals lie.
    pub equals: Option<Equals>,
    /// The estimate behind it, of shares of the mean.
    pub estimate: Estimate,
    /// The |z| that the last look wants.
    pub critical: f64,
}

impl Decision {
    /// The |z| that the last look wants.
    pub(crate) fn critical(&self) -> f64 {
        self.critical
    }
}

/// How far apart equals lie: rounds of one level, among those of the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equals {
    /// How many.
    pub rounds: u32,
    /// The later run over the earlier one.
    pub ratio: f64,
    /// Its interval, of the same probability, by one look.
    pub interval: Interval,
    /// A ratio of 1 or more: as many rounds of equals as there are of the comparison could lie so
    /// far apart.
    pub floor: f64,
}

impl Rule {
    /// The numbers of rounds after which there is a look.
    fn looks(&self) -> impl Iterator<Item = u32> {
        let planned = self.rounds.max(ROUNDS_MIN);
        let first = ROUNDS_MIN.max(planned / 20);
        let every = planned.div_ceil(LOOKS_MAX) as usize;
        (first..planned).step_by(every).chain([planned])
    }
}

/// The decision on `level` against A by these rows. None before the first look.
pub fn decide(rows: &[Run], level: Level, figure: Figure, rule: &Rule) -> Option<Decision> {
    let rounds = Rounds::of(rows);
    let pairs = rounds.pairs_with(level);
    let covariates: &[Covariate] = match rule.is_device_neutral {
        true => &[CPU, DEVICE, PLACE],
        false => &[CPU, PLACE],
    };
    let have = pairs.len() as u32;
    let mut looks = Looks::new(rule.error);
    let (mut count, mut last) = (0, None);
    for at in rule.looks().take_while(|at| *at <= have) {
        let critical = looks.next(f64::from(at) / f64::from(rule.rounds.max(ROUNDS_MIN)));
        count += 1;
        last = Some((at, critical));
    }
    let (at, critical) = last?;
    let pairs = &pairs[..at as usize];
    let untouched: Vec<&Covariate> =
        covariates.iter().filter(|covariate| !differs(covariate, pairs)).collect();
    let scale = Scale::of(pairs, figure)?;
    let estimate = estimate(pairs, figure, scale, &untouched)?;
    let plain = Estimate::of(&bare(pairs, figure, scale), &[])?;
    let of_shares = estimate.interval(critical);
    let length = |interval: Interval| interval.high - interval.low;
    let interval = ratios(of_shares);
    let of_logs = Interval { low: interval.low.ln(), high: interval.high.ln() };
    Some(Decision {
        rounds: at,
        looks: count,
        error: rule.error,
        threshold: rule.threshold,
        ratio: ratio(estimate.effect),
        interval,
        answer: Answer::of(of_logs, rule.threshold.ln_1p()),
        gain: length(plain.interval(critical)) / length(of_shares).max(f64::MIN_POSITIVE),
        covariates: uses(covariates, &untouched, &estimate),
        equals: Equals::of(&rounds, figure, rule, at),
        estimate,
        critical,
    })
}

/// The mean of a figure over both sides, of which differences are shares.
#[derive(Clone, Copy)]
struct Scale(f64);

impl Scale {
    fn of(pairs: &[RowPair<'_>], figure: Figure) -> Option<Scale> {
        let sum: f64 = pairs.iter().map(|(a, b)| (figure(a) + figure(b)) / 2.0).sum();
        let mean = sum / pairs.len() as f64;
        (mean > 0.0 && mean.is_finite()).then_some(Scale(mean))
    }

    fn share(self, (a, b): &RowPair<'_>, figure: Figure) -> f64 {
        (figure(b) - figure(a)) / self.0
    }
}

/// Ratios beyond this are written as this.
const RATIO_MAX: f64 = 1e3;

/// B over A, where B - A is this share of the mean of both.
fn ratio(share: f64) -> f64 {
    let (a, b) = (1.0 - share / 2.0, 1.0 + share / 2.0);
    match (a > 0.0, b > 0.0) {
        (true, true) => (b / a).clamp(1.0 / RATIO_MAX, RATIO_MAX),
        (false, _) => RATIO_MAX,
        (true, false) => 1.0 / RATIO_MAX,
    }
}

fn ratios(shares: Interval) -> Interval {
    Interval { low: ratio(shares.low), high: ratio(shares.high) }
}

/// A row of A and the row of the other level of each round.
type RowPair<'a> = (&'a Run, &'a Run);

fn bare(pairs: &[RowPair<'_>], figure: Figure, scale: Scale) -> Vec<Pair> {
    pairs.iter().map(|pair| Pair::bare(scale.share(pair, figure))).collect()
}

fn estimate(
    pairs: &[RowPair<'_>],
    figure: Figure,
    scale: Scale,
    covariates: &[&Covariate],
) -> Option<Estimate> {
    let differences = |pair: &RowPair<'_>| -> Vec<f64> {
        covariates.iter().map(|covariate| (covariate.of)(pair.1) - (covariate.of)(pair.0)).collect()
    };
    let of = |pair: &RowPair<'_>| Pair {
        difference: scale.share(pair, figure),
        covariates: differences(pair),
        disturbance: disturbance(pair),
    };
    let names: Vec<&str> = covariates.iter().map(|covariate| covariate.name).collect();
    Estimate::of(&pairs.iter().map(of).collect::<Vec<_>>(), &names)
}

/// How restless the surroundings of the two runs were: how far they differ, in shares of the
/// machine's CPU and in logarithms of the device's time.
fn disturbance((a, b): &RowPair<'_>) -> f64 {
    [CPU, DEVICE].iter().map(|covariate| ((covariate.of)(b) - (covariate.of)(a)).abs()).sum()
}

/// Whether a covariate differs between the settings, so that it may be their effect.
fn differs(covariate: &Covariate, pairs: &[RowPair<'_>]) -> bool {
    let of = |(a, b): &RowPair<'_>| Pair::bare((covariate.of)(b) - (covariate.of)(a));
    let Some(estimate) = Estimate::of(&pairs.iter().map(of).collect::<Vec<_>>(), &[]) else {
        return false;
    };
    if covariate.name == PLACE.name || estimate.standard_error == 0.0 {
        return false;
    }
    let student = Distribution::Student { degrees: estimate.degrees };
    2.0 * student.survival((estimate.effect / estimate.standard_error).abs()) < UNTOUCHED_P
}

fn uses(
    all: &[Covariate],
    untouched: &[&Covariate],
    estimate: &Estimate,
) -> Vec<CovariateUse> {
    let taken: BTreeMap<&str, f64> = estimate
        .covariates
        .iter()
        .filter_map(|covariate| match covariate.part {
            stats::adjusted::Part::Used { r_squared, .. } => {
                Some((covariate.name.as_str(), r_squared))
            }
            _ => None,
        })
        .collect();
    let of = |covariate: &Covariate| CovariateUse {
        name: covariate.name,
        taken: taken.get(covariate.name).copied(),
        differs: !untouched.iter().any(|untouched| untouched.name == covariate.name),
    };
    all.iter().map(of).collect()
}

impl Equals {
    fn of(rounds: &Rounds<'_>, figure: Figure, rule: &Rule, compared: u32) -> Option<Equals> {
        let scale = Scale::of(&rounds.equals, figure)?;
        let pairs = bare(&rounds.equals, figure, scale);
        let estimate = Estimate::of(&pairs, &[])?;
        let critical = Distribution::Normal.upper_quantile(rule.error / 2.0);
        let squares: f64 = pairs.iter().map(|pair| pair.difference.powi(2)).sum();
        let spread = (squares / pairs.len() as f64).sqrt();
        let margin = stats::sequential::student_critical(critical, pairs.len() as f64);
        Some(Equals {
            rounds: estimate.pairs,
            ratio: ratio(estimate.effect),
            interval: ratios(estimate.interval(critical)),
            floor: ratio(margin * spread / f64::from(compared).sqrt()),
        })
    }
}
