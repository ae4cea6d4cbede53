//! When an experiment knows: the looks at its rounds, and what the last one says.
//!
//! ```text
//!   rounds     1 2 3 4 5 6 7 8 9 10 11 12 ...                    planned
//!   looks                        │        │        │        │        │
//!   interval                  ├──────┤ ├────┤   ├──┤     decided: stop
//! ```
//!
//! A figure is a ratio of sums: all transactions of a level over all its time, all CPU over all
//! transactions. (Not a mean of the runs' ratios: a block in which the device stalled has next to
//! no transactions, and would outweigh all others.) The comparison is the logarithm of one such
//! ratio over another, and each round's part in it is found by linearisation. Rounds are
//! independent, because each has an order drawn by lot. After some rounds, and again after every
//! few, the interval of the mean is looked at. The bar of each look is such that all looks together
//! err with the declared probability (`stats::sequential`), so the experiment may stop at any of
//! them. All looks follow from the rows and the rule: the same rows give the same decision.
//!
//! Where A is compared with several levels, the comparisons share the declared error, in one place
//! ([`decide`]), so that whoever looks at one of them can't forget it.
//!
//! Callers: `verdict`; `lab`, to stop.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::adjusted::{Estimate, Pair};
use stats::distributions::Distribution;
use stats::sequential::{Answer, Looks, Outlook, confidence_sequence, pairs_critical};
use stats::{Interval, Matters};

use crate::measure::NOTHING;
use crate::plan::ROUNDS_MAX;
use crate::rounds::Rounds;
use crate::surroundings::{Covariate, DEVICE, PLACE, STOLEN};
use crate::{Level, Measure, RoundKind, Run};

/// Fewer rounds than this are never looked at.
pub const ROUNDS_MIN: u32 = 6;
/// The most looks of an experiment.
const LOOKS_MAX: u32 = 40;
/// A covariate that differs between the settings with a smaller p than this is told of: it may be
/// their effect. It is used all the same, since to choose by what was seen would cost error.
const UNTOUCHED_P: f64 = 0.01;

/// What is asked of the rows. All of it is chosen before the first run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rule {
    /// The difference from which on it matters, as a share: 0.02 is two per cent.
    pub threshold: f64,
    /// The probability with which equals may be called different, over all looks.
    pub error: f64,
    /// The rounds for which the budget is enough.
    pub rounds: u32,
    /// Whether the device's probe can't be affected by the setting.
    pub is_device_neutral: bool,
    /// The figure that decides.
    #[serde(default)]
    pub measure: Measure,
    /// Whether it goes on behind these rounds until it knows. That costs half the error.
    #[serde(default)]
    pub is_open_ended: bool,
}

/// A figure of a row.
#[derive(Clone, Copy)]
pub struct Figure {
    /// Numerator and denominator: transactions and seconds, CPU and transactions. Where the
    /// denominator is 1, levels are compared by the means of their rows.
    pub(crate) parts: fn(&Run) -> [f64; 2],
    /// How far it may be off, as a share of it.
    pub(crate) resolution: fn(&Run) -> f64,
}

impl Figure {
    /// One that is counted or timed, and so is never off by what would matter.
    pub(crate) const fn counted(parts: fn(&Run) -> [f64; 2]) -> Figure {
        Figure { parts, resolution: |_| 0.0 }
    }

    pub(crate) fn of(self, run: &Run) -> [f64; 2] {
        (self.parts)(run)
    }
}

/// A smaller effect or standard error, of logarithms, is what sums of equal figures leave of their
/// last bits.
const EXACT: f64 = 1e-12;

/// What became of a covariate.
#[derive(Clone, Debug, PartialEq)]
pub struct CovariateUse {
    /// Its name.
    pub name: &'static str,
    /// The share of the variance of a round's figure that it took; none if it wasn't used.
    pub taken: Option<f64>,
    /// Whether it differs between the settings, so that it may be their effect.
    pub differs: bool,
}

/// What the last look says.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The rounds that were looked at.
    pub rounds: u32,
    /// The rounds for which the budget is enough.
    pub planned: u32,
    /// The number of looks.
    pub looks: u32,
    /// The error of all looks together: the declared one, or this level's share of it.
    pub error: f64,
    /// The threshold, as a share.
    pub threshold: f64,
    /// The figures of A and of the setting, by sums.
    pub figures: [f64; 2],
    /// The setting over A, after what was taken out.
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
    /// The estimate behind it, of logarithms.
    pub estimate: Estimate,
    /// Its standard error by the scatter of the rounds alone.
    noise: f64,
    /// Its standard error is never below this, however many rounds there are.
    least_error: f64,
    /// Whose looks it has.
    rule: Rule,
    /// The |z| that the last look wants.
    pub critical: f64,
    /// Whether the settings alternated in one instance: then the budget makes the rounds.
    pub in_one_instance: bool,
}

/// An interval whose upper end is this many times its lower one says nothing: a hundredth to a
/// hundredfold (V37).
const LENGTH_MAX: f64 = 1e4;

/// An outlook reaches so many budgets far.
const BUDGETS_MAX: u32 = 20;

impl Decision {
    /// How many more rounds would bring an answer in four of five cases, if the noise stays what it
    /// is; None if it is too early to say, that would take twenty budgets, or the resolution leaves
    /// it open at every look. Once a difference is real, the answer is whether it matters.
    pub fn more_rounds(&self) -> Option<u32> {
        if self.agrees_exactly() {
            return None;
        }
        let outlook = Outlook {
            decision: match self.answer.is_real() {
                true => stats::sequential::Decision::Matters,
                false => stats::sequential::Decision::Finding,
            },
            threshold: self.threshold.ln_1p(),
            alpha: self.error,
            budget: self.planned,
            reach: self.planned.saturating_mul(BUDGETS_MAX),
        };
        let more = outlook.more_pairs(&self.by_rounds_alone())?;
        Some(self.answerable_from(self.rounds + more)? - self.rounds)
    }

    /// Whether the plan has room for so many rounds, so that it can go on to them.
    pub(crate) fn has_room_for(&self, rounds: u32) -> bool {
        self.rule.is_open_ended || rounds <= self.planned
    }

    /// The interval, if it says something. One that leaves open which side has more says nothing if
    /// it is too long, or reaches ratios that aren't told apart any more (V37).
    pub(crate) fn bounds(&self) -> Option<Interval> {
        let Interval { low, high } = self.interval;
        let is_told = low > 1.0 / RATIO_MAX && high < RATIO_MAX && high <= low * LENGTH_MAX;
        (is_told || self.answer.is_real()).then_some(self.interval)
    }

    /// The interval of the ratio's logarithm, which may have no end.
    pub(crate) fn of_logs(&self) -> Interval {
        interval_of(&self.estimate, self.critical)
    }

    /// The ratio of the figures, from which nothing was taken out.
    pub(crate) fn by_sums(&self) -> f64 {
        self.figures[1] / self.figures[0]
    }

    /// Whether noise was taken out of the ratio, so that it isn't that of the figures.
    pub(crate) fn is_adjusted(&self) -> bool {
        let is_used = |of: &CovariateUse| of.taken.is_some();
        self.covariates.iter().any(is_used) || self.estimate.weighting.ratio > 1.0
    }

    /// Whether no number of rounds would tell if the difference matters: whatever the effect is, as
    /// far as it is known, the resolution leaves that open at every look to come.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        if self.least_error == 0.0 {
            return false;
        }
        let least = self.margins().map(|(_, margin)| margin).fold(f64::INFINITY, f64::min);
        self.is_open_about(self.by_rounds_alone().interval(self.critical), least)
    }

    /// The first number of rounds, from this one on, at which the resolution allows an answer if
    /// the estimate stays what it is.
    fn answerable_from(&self, rounds: u32) -> Option<u32> {
        if self.least_error == 0.0 {
            return Some(rounds);
        }
        // More rounds than the rule has are those of a larger plan, whose last bar is as high.
        let from = rounds.min(self.rule.looks().last()?);
        let effect = Interval { low: self.estimate.effect, high: self.estimate.effect };
        let answers =
            |(at, margin): &(u32, f64)| *at >= from && !self.is_open_about(effect, *margin);
        self.margins().find(answers).map(|(at, _)| at.max(rounds))
    }

    /// The looks from this one on, each with half of its shortest interval that the resolution
    /// allows.
    fn margins(&self) -> impl Iterator<Item = (u32, f64)> {
        let mut bar = self.rule.bars();
        let looks = self.rule.looks().map(move |at| (at, bar(at)));
        looks.filter(|(at, _)| *at >= self.rounds).map(|(at, bar)| {
            let degrees = self.estimate.degrees + f64::from(at - self.rounds);
            (at, pairs_critical(bar, at, degrees) * self.least_error)
        })
    }

    /// Whether intervals with this margin about each of these effects leave open whether they
    /// matter.
    fn is_open_about(&self, effects: Interval, margin: f64) -> bool {
        let nearest = 0.0_f64.clamp(effects.low, effects.high);
        [effects.low, nearest, effects.high].iter().all(|effect| {
            let of = Interval { low: effect - margin, high: effect + margin };
            !Answer::of(of, self.threshold.ln_1p()).is_decided()
        })
    }

    /// Whether the effect of another experiment certainly is another one: the difference of both is
    /// larger than its margin, the root of the sum of the squares of both margins. That holds for
    /// effects that know nothing of each other. If their intervals have nothing in common they
    /// always differ.
    /// Source: Zou & Donner, "Construction of Confidence Intervals about Effect Measures: A Simple
    /// Approach" (Statistics in Medicine 2008).
    pub(crate) fn differs_from(&self, other: &Decision) -> bool {
        let margin = |of: &Decision| of.of_logs().high - of.estimate.effect;
        let apart = (self.estimate.effect - other.estimate.effect).abs();
        apart > margin(self).hypot(margin(other))
    }

    fn by_rounds_alone(&self) -> Estimate {
        Estimate { standard_error: self.noise, ..self.estimate.clone() }
    }

    /// Whether the rounds agree to the last digit, and so say nothing of their noise.
    pub(crate) fn agrees_exactly(&self) -> bool {
        self.estimate.standard_error <= EXACT
    }
}

/// How far apart equals lie: rounds of one level, among those of the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equals {
    /// How many.
    pub rounds: u32,
    /// The later run over the earlier one.
    pub ratio: f64,
    /// Its interval, of the same probability, by one look; none if the rounds are too few for one.
    pub interval: Option<Interval>,
    /// A ratio of 1 or more: as many rounds of equals as there are of the comparison could lie so
    /// far apart.
    pub floor: f64,
}

impl Rule {
    /// The rule of each comparison where A is compared with more than one level: they share the
    /// declared error. Then all of their intervals hold at once, but with that error.
    /// Source: Bonferroni's inequality; Dunn, "Multiple Comparisons among Means" (JASA 1961).
    pub fn shared_by(&self, levels: usize) -> Rule {
        let comparisons = levels.saturating_sub(1).max(1);
        Rule { error: self.error / comparisons as f64, ..*self }
    }

    /// Checks a rule that was read; the error says what no rule has.
    pub(crate) fn check(&self) -> Result<(), String> {
        // Smaller ones are nothing beside 1.
        let is_share = |share: f64| (f64::EPSILON..1.0).contains(&share);
        match (is_share(self.threshold), is_share(self.error)) {
            (true, true) => Ok(()),
            (false, _) => Err(format!("no threshold is {}: it is a share", self.threshold)),
            (_, false) => Err(format!("no error is {}: it is a probability", self.error)),
        }
    }

    /// Whether it asks the same, but for what a share loses on its way through a file of text.
    pub fn is_as(&self, other: &Rule) -> bool {
        let is_close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs();
        let with_shares = Rule { threshold: other.threshold, error: other.error, ..*self };
        with_shares == *other
            && is_close(self.threshold, other.threshold)
            && is_close(self.error, other.error)
    }

    /// The numbers of rounds after which there is a look.
    pub(crate) fn looks(&self) -> impl Iterator<Item = u32> {
        let planned = self.planned();
        let first = ROUNDS_MIN.max(planned / 20);
        let every = planned.div_ceil(LOOKS_MAX) as usize;
        let later = std::iter::successors(Some(planned), |at| Some(at + (at / 20).max(1)));
        let later = later.skip(1).take_while(|at| self.is_open_ended && *at <= ROUNDS_MAX);
        (first..planned).step_by(every).chain([planned]).chain(later)
    }

    /// Whether there is a look after just these rows, which are whole rounds in the order of a
    /// plan. It is asked after each round, so it doesn't sort them; equals bring no look.
    pub fn is_look(&self, rows: &[Run]) -> bool {
        let Some(last) = rows.last().map(|run| &run.identity) else { return false };
        let is_one = |have| self.looks().take_while(|at| *at <= have).any(|at| at == have);
        last.kind == RoundKind::Compared && is_one(last.round)
    }

    /// The rounds for which the budget is enough: never so few that there is no look.
    fn planned(&self) -> u32 {
        self.rounds.max(ROUNDS_MIN)
    }

    /// The bars of the looks. Behind the budget it is that of a confidence sequence, which holds at
    /// whatever time. The two halves of the error together are the declared one.
    fn bars(&self) -> impl FnMut(u32) -> f64 {
        let planned = self.planned();
        let error = if self.is_open_ended { self.error / 2.0 } else { self.error };
        let mut looks = Looks::new(error);
        move |at| match at <= planned {
            true => looks.next(f64::from(at) / f64::from(planned)),
            false => confidence_sequence(error, at.into(), 2.0 * f64::from(planned)),
        }
    }
}

/// The rounds that decisions and all figures beside them are of: those up to the last look. Before
/// the first one nothing is decided, and they are all that are whole.
pub(crate) fn judged<'a>(rows: &'a [Run], rule: &Rule) -> Rounds<'a> {
    let rounds = Rounds::of(rows);
    let have = rounds.compared.len() as u32;
    match rule.looks().take_while(|at| *at <= have).last() {
        Some(at) => rounds.up_to(at as usize),
        None => rounds,
    }
}

/// The decision on `level` against A by these rows, with its share of the declared error
/// ([`Rule::shared_by`]). None before the first look.
pub fn decide(rows: &[Run], level: Level, figure: Figure, rule: &Rule) -> Option<Decision> {
    let rounds = judged(rows, rule);
    let rule = &rule.shared_by(rounds.levels);
    let look = Look::last(&rounds, rule)?;
    let in_one_instance = rows.iter().all(|run| run.block.is_some());
    decide_at(look, &rounds, level, figure, rule, in_one_instance)
}

/// The last look that the rounds allow: the same for all levels, and slow to find.
#[derive(Clone, Copy)]
struct Look {
    /// After so many rounds.
    at: u32,
    /// Which one it is, from 1.
    count: u32,
    /// The |z| that it wants.
    critical: f64,
}

impl Look {
    fn last(rounds: &Rounds<'_>, rule: &Rule) -> Option<Look> {
        let have = rounds.compared.len() as u32;
        let mut bar = rule.bars();
        let looks = rule.looks().take_while(|at| *at <= have).zip(1..);
        looks.map(|(at, count)| Look { at, count, critical: bar(at) }).last()
    }
}

/// The rounds are [`judged`]; `rule` has the level's share of the error.
fn decide_at(
    Look { at, count, critical }: Look,
    rounds: &Rounds<'_>,
    level: Level,
    figure: Figure,
    rule: &Rule,
    in_one_instance: bool,
) -> Option<Decision> {
    let covariates = covariates(rule, in_one_instance);
    // Empty for a level that the rows haven't.
    let pairs = &having(&rounds.pairs_with(level), figure)[..];
    let sums = Sums::of(pairs, figure)?;
    let (mut estimate, mut plain) =
        (estimate(pairs, &sums, covariates)?, Estimate::of(&sums.bare(), &[])?);
    let (noise, least_error) = (estimate.standard_error, least_error(pairs, figure));
    for of in [&mut estimate, &mut plain] {
        of.standard_error = of.standard_error.max(least_error);
    }
    let of_logs = interval_of(&estimate, critical);
    let length = |interval: Interval| interval.high - interval.low;
    Some(Decision {
        rounds: at,
        planned: rule.rounds.max(at),
        looks: count,
        error: rule.error,
        threshold: rule.threshold,
        figures: sums.ratios,
        ratio: estimate.effect.exp(),
        interval: ratios(of_logs, estimate.effect),
        answer: Answer::of(of_logs, rule.threshold.ln_1p()),
        gain: match estimate.standard_error > EXACT {
            true => length(plain.interval(critical)) / length(of_logs),
            false => 1.0,
        },
        covariates: uses(covariates, pairs, &estimate),
        equals: Equals::of(rounds, figure, rule, at),
        estimate,
        noise,
        least_error,
        rule: *rule,
        critical,
        in_one_instance,
    })
}

/// The least standard error of the logarithm. What a figure is off by can be so in every run of a
/// side by as much, and then no number of rounds averages it out: it is taken to lie evenly within
/// the resolution, once for each side. Where runs scatter more than that, it is in their scatter.
fn least_error(pairs: &[RowPair<'_>], figure: Figure) -> f64 {
    let most = |of: &dyn Fn(&RowPair<'_>) -> f64| pairs.iter().map(of).fold(0.0, f64::max);
    let of_a = most(&|(a, _)| (figure.resolution)(a));
    let of_b = most(&|(_, b)| (figure.resolution)(b));
    ((of_a.powi(2) + of_b.powi(2)) / 12.0).sqrt()
}

/// The interval of the logarithm. Rounds that agree to the last digit say nothing of their noise.
/// Orders are drawn by lot, so few rounds may agree by chance: as long as the square of the bar
/// isn't below their number (`stats::sequential::pairs_critical`), their interval has no end. From
/// then on it has next to no length.
fn interval_of(estimate: &Estimate, critical: f64) -> Interval {
    if estimate.standard_error > EXACT {
        return estimate.interval(critical);
    }
    let is_by_chance = critical.powi(2) >= f64::from(estimate.pairs);
    let margin = if is_by_chance { f64::INFINITY } else { EXACT };
    Interval { low: estimate.effect - margin, high: estimate.effect + margin }
}

/// What happens beside runs and is no effect of their settings.
pub(crate) fn covariates(rule: &Rule, in_one_instance: bool) -> &'static [Covariate] {
    match (rule.is_device_neutral, in_one_instance) {
        (true, true) => &[STOLEN, DEVICE],
        (false, true) => &[STOLEN],
        // Runs of a round may differ by their order: a device warms up, a file grows.
        (true, false) => &[STOLEN, DEVICE, PLACE],
        (false, false) => &[STOLEN, PLACE],
    }
}

/// Whether it is known of each level if its difference matters. Of a rule without an end it is also
/// true behind the budget where no number of rounds would tell. Between two looks nothing new is
/// known, and nothing is reckoned.
pub fn is_decided(rows: &[Run], rule: &Rule) -> bool {
    if !rule.is_look(rows) {
        return false;
    }
    let of = of_each(rows, rule);
    let ends = |of: &Decision| {
        let is_behind = rule.is_open_ended && of.rounds >= rule.planned();
        of.answer.is_decided() || (is_behind && of.is_out_of_reach())
    };
    !of.is_empty() && of.iter().all(|(_, of)| of.as_ref().is_some_and(ends))
}

/// Whether it is known of each level that its difference matters.
pub fn matters(rows: &[Run], rule: &Rule) -> bool {
    let of = of_each(rows, rule);
    let matters = |of: &Decision| of.answer.matters == Matters::Yes;
    !of.is_empty() && of.iter().all(|(_, of)| of.as_ref().is_some_and(matters))
}

/// The level that is compared with A in detail: the one with the largest certain difference; if
/// none is certain, the last one.
pub fn foremost(rows: &[Run], rule: &Rule) -> Level {
    let last = others(rows).last().unwrap_or(Level::B);
    if last == Level::B {
        return last;
    }
    let of = of_each(rows, rule);
    let certain = of.iter().filter_map(|(level, of)| {
        let of = of.as_ref().filter(|of| of.answer.is_real())?;
        Some((*level, of.ratio.ln().abs()))
    });
    certain.max_by(|x, y| x.1.total_cmp(&y.1)).map_or(last, |(level, _)| level)
}

/// The decision on each level but A, by one look.
fn of_each(rows: &[Run], rule: &Rule) -> Vec<(Level, Option<Decision>)> {
    let rounds = judged(rows, rule);
    let rule = &rule.shared_by(rounds.levels);
    let Some(look) = Look::last(&rounds, rule) else { return Vec::new() };
    let in_one_instance = rows.iter().all(|run| run.block.is_some());
    let decide = |level: Level| {
        let figure = rule.measure.figure();
        (level, decide_at(look, &rounds, level, figure, rule, in_one_instance))
    };
    others(rows).map(decide).collect()
}

/// The levels of these rows but A.
pub(crate) fn others(rows: &[Run]) -> impl Iterator<Item = Level> {
    let last = rows.iter().map(|run| run.identity.level.index()).max().unwrap_or(0);
    (1..=last).map(Level::of)
}

/// The figures of two sides, and each round's part in the logarithm of their ratio.
///
/// With n and m the numerator and denominator of a round's run, r the ratio of the side's sums, and
/// M the mean of m, a run adds (n - r m) / (r M) to the logarithm of its side (linearisation of a
/// ratio of sums, Cochran, Sampling Techniques (1977), 6.5).
pub(crate) struct Sums {
    /// Of A and of the other side.
    pub(crate) ratios: [f64; 2],
    /// The logarithm of the ratio, with each round's part; their mean is that logarithm.
    logs: Vec<f64>,
}

impl Sums {
    /// None if a side has nothing of it.
    pub(crate) fn of(pairs: &[RowPair<'_>], figure: Figure) -> Option<Sums> {
        let both = |(a, b): &RowPair<'_>| [figure.of(a), figure.of(b)];
        let parts: Vec<[[f64; 2]; 2]> = pairs.iter().map(both).collect();
        let count = parts.len() as f64;
        let sum = |side: usize, of: usize| parts.iter().map(|part| part[side][of]).sum::<f64>();
        let ratio = |side: usize| sum(side, 0) / sum(side, 1);
        let ratios = [ratio(0), ratio(1)];
        if !ratios.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0) {
            return None;
        }
        let means = [sum(0, 1) / count, sum(1, 1) / count];
        let of_side =
            |side: usize, [n, m]: [f64; 2]| (n - ratios[side] * m) / (ratios[side] * means[side]);
        let log = (ratios[1] / ratios[0]).ln();
        let logs = parts.iter().map(|[a, b]| log + of_side(1, *b) - of_side(0, *a)).collect();
        Some(Sums { ratios, logs })
    }

    fn bare(&self) -> Vec<Pair> {
        self.logs.iter().map(|log| Pair::bare(*log)).collect()
    }
}

/// Ends beyond this are written as this. Of a ratio that is beyond it itself, they are told up to
/// so many times farther off.
const RATIO_MAX: f64 = 1e3;

/// The interval of the ratio whose logarithm this effect is.
fn ratios(logs: Interval, effect: f64) -> Interval {
    let (own, least) = (effect.exp(), 1.0 / RATIO_MAX);
    let least = if own < least { own / RATIO_MAX } else { least };
    let most = if own > RATIO_MAX { own * RATIO_MAX } else { RATIO_MAX };
    let ratio = |log: f64| log.exp().clamp(least, most);
    Interval { low: ratio(logs.low), high: ratio(logs.high) }
}

/// A row of A and the row of the other level of each round.
type RowPair<'a> = (&'a Run, &'a Run);

/// The pairs both of whose runs have the figure: a run in which nothing ended has no latency. The
/// whole pair is left out, since what befell that run may have befallen its partner too. Where rows
/// lack a figure that they could have, nothing is left out, and there is no decision.
fn having<'a>(pairs: &[RowPair<'a>], figure: Figure) -> Vec<RowPair<'a>> {
    let has = |run: &Run| {
        let [numerator, denominator] = figure.of(run);
        !(numerator.is_nan() && denominator == NOTHING[1])
    };
    pairs.iter().copied().filter(|(a, b)| has(a) && has(b)).collect()
}

fn estimate(pairs: &[RowPair<'_>], sums: &Sums, covariates: &[Covariate]) -> Option<Estimate> {
    let differences = |pair: &RowPair<'_>| -> Vec<f64> {
        covariates.iter().map(|covariate| (covariate.of)(pair.1) - (covariate.of)(pair.0)).collect()
    };
    let of = |(pair, log): (&RowPair<'_>, &f64)| Pair {
        difference: *log,
        covariates: differences(pair),
        disturbance: disturbance(pair, covariates),
    };
    let names: Vec<&str> = covariates.iter().map(|covariate| covariate.name).collect();
    Estimate::of(&pairs.iter().zip(&sums.logs).map(of).collect::<Vec<_>>(), &names)
}

/// How restless the surroundings of the two runs were: how far the covariates differ that are
/// shares (of the CPU that was wanted, of the time in which a probe was on its way). Only those of
/// the model: what may be an effect of a setting must not take weight from its rounds.
fn disturbance((a, b): &RowPair<'_>, covariates: &[Covariate]) -> f64 {
    let shares = covariates.iter().filter(|covariate| covariate.name != PLACE.name);
    shares.map(|covariate| ((covariate.of)(b) - (covariate.of)(a)).abs()).sum()
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

fn uses(all: &[Covariate], pairs: &[RowPair<'_>], estimate: &Estimate) -> Vec<CovariateUse> {
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
        differs: differs(covariate, pairs),
    };
    all.iter().map(of).collect()
}

impl Equals {
    fn of(rounds: &Rounds<'_>, figure: Figure, rule: &Rule, compared: u32) -> Option<Equals> {
        let having = having(&rounds.equals, figure);
        let least = least_error(&having, figure);
        let pairs = Sums::of(&having, figure)?.bare();
        let mut estimate = Estimate::of(&pairs, &[])?;
        estimate.standard_error = estimate.standard_error.max(least);
        let critical = Distribution::Normal.upper_quantile(rule.error / 2.0);
        let squares: f64 = pairs.iter().map(|pair| pair.difference.powi(2)).sum();
        let spread = (squares / pairs.len() as f64).sqrt();
        let error = (spread / f64::from(compared).sqrt()).max(least);
        let margin = stats::sequential::student_critical(critical, pairs.len() as f64);
        // So few may lie near each other by chance, as in `interval_of`.
        let is_known = critical.powi(2) < f64::from(estimate.pairs);
        Some(Equals {
            rounds: estimate.pairs,
            ratio: estimate.effect.exp(),
            interval: is_known.then(|| ratios(estimate.interval(critical), estimate.effect)),
            floor: (margin * error).exp().min(RATIO_MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const RULE: Rule = Rule {
        threshold: 0.02,
        error: 0.05,
        rounds: 200,
        is_device_neutral: false,
        measure: Measure::Throughput,
        is_open_ended: true,
    };

    /// Not to end at the budget costs half the error before it, and a higher bar behind it.
    #[test]
    fn an_open_end_has_higher_bars() {
        let ends = Rule { is_open_ended: false, ..RULE };
        assert_eq!(ends.looks().last(), Some(200));
        let (mut open, mut closed) = (RULE.bars(), ends.bars());
        let mut before = f64::MAX;
        for at in RULE.looks().take_while(|at| *at <= 4_000) {
            let bar = open(at);
            match at {
                // The highest bar that there is.
                ..50 => assert!(bar >= closed(at) && bar <= before, "at {at}: {bar}"),
                50..=200 => assert!(bar > closed(at) && bar < before, "at {at}: {bar}"),
                _ => assert!((3.2..3.6).contains(&bar), "at {at}: {bar}"),
            }
            before = bar;
        }
    }

    /// Where one side has next to nothing of a figure, too: else the truth is said to lie on one
    /// side of the ratio. (An end that is unbounded stays at what V37 doesn't tell.)
    #[test]
    fn a_ratio_lies_within_its_own_interval() {
        for effect in [-9.0_f64, 1.0, 9.0] {
            let logs = Interval { low: effect - 0.1, high: effect + 0.1 };
            let of = ratios(logs, effect);
            assert_eq!([of.low, of.high], [logs.low.exp(), logs.high.exp()]);
        }
        let of = ratios(Interval { low: -8.0, high: f64::INFINITY }, 0.1);
        assert_eq!([of.low, of.high], [1.0 / RATIO_MAX, RATIO_MAX]);
        let of = ratios(Interval { low: f64::NEG_INFINITY, high: f64::INFINITY }, 9.0);
        assert_eq!([of.low, of.high], [1.0 / RATIO_MAX, 9.0_f64.exp() * RATIO_MAX]);
    }

    /// All looks together, up to ten budgets, call equals different in 5 % of experiments at most.
    #[test]
    fn an_experiment_without_an_end_keeps_its_error() {
        const EXPERIMENTS: u32 = 2_000;
        let looks: Vec<u32> = RULE.looks().take_while(|at| *at <= 2_000).collect();
        let mut bar = RULE.bars();
        let bars: Vec<f64> = looks.iter().map(|at| bar(*at)).collect();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        // Twelve even draws are normal enough for sums of six of them.
        let mut normal = || (0..12).map(|_| random.random_range(0.0..1.0)).sum::<f64>() - 6.0;
        let mut crossed = 0;
        for _ in 0..EXPERIMENTS {
            let (mut sum, mut pairs) = (0.0, 0);
            let crosses = looks.iter().zip(&bars).any(|(at, bar)| {
                sum += (pairs..*at).map(|_| normal()).sum::<f64>();
                pairs = *at;
                (sum / f64::from(*at).sqrt()).abs() > *bar
            });
            crossed += u32::from(crosses);
        }
        let share = f64::from(crossed) / f64::from(EXPERIMENTS);
        assert!((0.015..0.05).contains(&share), "{share} of equals were called different");
    }
}
