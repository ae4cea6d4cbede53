//! What is said of cells, and how sure it is.
//!
//! ```text
//!   round   ln(seconds of A) - ln(seconds of B)
//!     1        1.52  ┐
//!     2        1.61  ├─▶ Estimate ─▶ B is 4.8 times as fast (4.1 to 5.6)
//!     …          …   ┘                └─▶ and which parts of a session's time make that?
//! ```
//!
//! Both sides are of the same round, so what disturbs a whole round falls out. A side may have
//! several cells: then its figure is their mean in the round. The declared error is shared over all
//! statements (Bonferroni): each has an interval of its own share. The parts of one statement have
//! its interval each; the error isn't shared over them too.
//!
//! Callers: the reports of tables.

use std::collections::BTreeSet;

use experiment::{RoundKind, Run};
use report::SessionGroup;
use serde::Serialize;
use stats::adjusted::{Estimate, Pair};
use stats::distributions::Distribution;
use stats::sequential::student_critical;

/// The declared error of all statements together.
pub(crate) const ERROR: f64 = 0.05;
/// The largest factor that JSON and text hold.
const RATIO_MAX: f64 = 1e6;

/// A cell, or several of which the mean counts.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// Their places in the table: one at least.
    pub(crate) levels: Vec<usize>,
    /// In full, for programs.
    pub(crate) name: String,
    /// In a sentence.
    pub(crate) short: String,
}

/// Two sides, and what their comparison asks.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) question: &'static str,
    pub(crate) a: Side,
    pub(crate) b: Side,
}

/// What is known of two sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) enum Answer {
    /// B, for certain.
    #[serde(rename = "faster")]
    Faster,
    /// B, for certain.
    #[serde(rename = "slower")]
    Slower,
    /// They differ by less than matters, for certain.
    #[serde(rename = "no difference that matters")]
    NoDifference,
    #[serde(rename = "can't tell")]
    CantTell,
    /// Figures of a model, which has no interval.
    #[serde(rename = "modelled")]
    Modelled,
}

/// The comparison of two sides.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Statement {
    pub(crate) question: &'static str,
    pub(crate) a: String,
    pub(crate) b: String,
    /// Both, in a sentence.
    #[serde(skip)]
    pub(crate) cells: String,
    pub(crate) rounds: usize,
    /// Seconds of A over those of B.
    pub(crate) times_as_fast: f64,
    pub(crate) times_low: Option<f64>,
    pub(crate) times_high: Option<f64>,
    pub(crate) answer: Answer,
    /// Of the parts that go the way of the whole, the largest certain one.
    pub(crate) cause: Option<String>,
    /// B - A of a session's time, the largest first.
    pub(crate) parts: Vec<Part>,
}

/// B - A of a part of the mean session's time.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) seconds: f64,
    pub(crate) seconds_low: Option<f64>,
    pub(crate) seconds_high: Option<f64>,
}

impl Part {
    /// Whether it is on the side of `whole` for certain.
    fn is_certain(&self, whole: f64) -> bool {
        match (self.seconds_low, self.seconds_high) {
            (Some(low), Some(high)) => (low > 0.0 && whole > 0.0) || (high < 0.0 && whole < 0.0),
            _ => false,
        }
    }
}

/// How sure statements are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Certainty {
    /// A factor that matters, over 1.
    pub(crate) matters: f64,
    /// The critical |z| of each; none of figures that have no interval.
    pub(crate) critical: Option<f64>,
    /// With fewer rounds there is no interval either.
    pub(crate) rounds_least: u32,
    /// The ratio that equals could lie apart.
    pub(crate) floor: f64,
}

impl Certainty {
    /// Of so many statements, where a factor over `matters` matters, and equals could lie `floor`
    /// apart.
    pub(crate) fn of(statements: usize, matters: f64, floor: f64) -> Certainty {
        let rounds_least = rounds_least(statements);
        Certainty { matters, critical: Some(critical(statements)), rounds_least, floor }
    }

    /// Of so many statements on these rows.
    pub(crate) fn of_rows(
        statements: usize,
        matters: f64,
        rows: &[Run],
        is_modelled: bool,
    ) -> Certainty {
        if is_modelled {
            return Certainty::MODELLED;
        }
        let floor = Equals::of(rows).map_or(1.0, |equals| equals.floor);
        Certainty::of(statements, matters, floor)
    }

    /// Of figures of a model.
    const MODELLED: Certainty =
        Certainty { matters: 1.0, critical: None, rounds_least: 0, floor: 1.0 };
}

/// The critical |z| of each of so many statements.
fn critical(statements: usize) -> f64 {
    Distribution::Normal.upper_quantile(ERROR / statements.max(1) as f64 / 2.0)
}

/// With fewer rounds none of so many statements can be certain: so few signs drawn by lot can't be
/// as unlikely (`stats::sequential::pairs_critical`).
pub(crate) fn rounds_least(statements: usize) -> u32 {
    critical(statements).powi(2).floor() as u32 + 1
}

impl Statement {
    /// None if the two sides have no round in common.
    pub(crate) fn of(asked: &Asked, rows: &[Run], certainty: Certainty) -> Option<Statement> {
        let rounds = rounds(rows, asked);
        let log = |side: &[&Run]| mean_of(side, |run| seconds(run).ln());
        let logs: Vec<f64> = rounds.iter().map(|round| log(&round.a) - log(&round.b)).collect();
        if logs.is_empty() {
            return None;
        }
        let critical = certainty.critical.filter(|_| logs.len() >= certainty.rounds_least as usize);
        let (effect, interval) = mean(&logs, critical);
        let parts = parts(&rounds, critical);
        let answer = answer(effect, interval, certainty);
        let cause = matches!(answer, Answer::Faster | Answer::Slower).then(|| {
            let certain = parts.iter().find(|part| part.is_certain(-effect));
            certain.map(|part| part.name.clone())
        });
        let ratio = |log: f64| log.exp().clamp(1.0 / RATIO_MAX, RATIO_MAX);
        Some(Statement {
            question: asked.question,
            a: asked.a.name.clone(),
            b: asked.b.name.clone(),
            cells: format!("{} against {}", asked.b.short, asked.a.short),
            rounds: logs.len(),
            times_as_fast: ratio(effect),
            times_low: interval.map(|[low, _]| ratio(low)),
            times_high: interval.map(|[_, high]| ratio(high)),
            answer,
            cause: cause.flatten(),
            parts,
        })
    }
}

fn answer(effect: f64, interval: Option<[f64; 2]>, certainty: Certainty) -> Answer {
    if certainty.critical.is_none() {
        return Answer::Modelled;
    }
    let (matters, floor) = (certainty.matters.ln(), certainty.floor.ln());
    match interval {
        Some([low, high]) if low > -matters && high < matters => Answer::NoDifference,
        Some([low, _]) if low > 0.0 && effect > floor => Answer::Faster,
        Some([_, high]) if high < 0.0 && -effect > floor => Answer::Slower,
        _ => Answer::CantTell,
    }
}

/// The geometric mean of a cell's times, and its 95 % interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellTime {
    pub(crate) seconds: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

impl CellTime {
    /// Of these runs of a cell, one at least. Figures of a model have no interval, nor have those
    /// of so few runs that one would be without bounds.
    pub(crate) fn of(runs: &[&Run], is_modelled: bool) -> CellTime {
        let logs: Vec<f64> = runs.iter().map(|run| seconds(run).ln()).collect();
        let has_interval = !is_modelled && logs.len() >= rounds_least(1) as usize;
        let (mean, interval) = mean(&logs, has_interval.then(|| critical(1)));
        CellTime {
            seconds: mean.exp(),
            low: interval.map(|[low, _]| low.exp()),
            high: interval.map(|[_, high]| high.exp()),
        }
    }
}

/// The mean, and its interval if there is a critical |z|, and more than one figure.
fn mean(figures: &[f64], critical: Option<f64>) -> (f64, Option<[f64; 2]>) {
    let pairs: Vec<Pair> = figures.iter().map(|figure| Pair::bare(*figure)).collect();
    let interval = critical.zip(Estimate::of(&pairs, &[])).map(|(critical, estimate)| {
        let interval = estimate.interval(critical);
        [interval.low, interval.high]
    });
    (stats::mean(figures), interval)
}

/// The time of this run: until its last session had ended.
fn seconds(run: &Run) -> f64 {
    run.elapsed_ns.max(1) as f64 / 1e9
}

/// The rows of a cell that are compared, in the order of their rounds.
pub(crate) fn compared(rows: &[Run], level: usize) -> impl Iterator<Item = &Run> {
    let is_it = move |run: &&Run| {
        run.identity.kind == RoundKind::Compared && run.identity.level.index() == level
    };
    rows.iter().filter(is_it)
}

/// The runs of both sides in a round.
struct Round<'r> {
    a: Vec<&'r Run>,
    b: Vec<&'r Run>,
}

/// The rounds that have all cells of both sides.
fn rounds<'r>(rows: &'r [Run], asked: &Asked) -> Vec<Round<'r>> {
    let of = |side: &Side, round: u32| -> Option<Vec<&'r Run>> {
        let cell = |level: &usize| compared(rows, *level).find(|run| run.identity.round == round);
        side.levels.iter().map(cell).collect()
    };
    let both = |round| Some(Round { a: of(&asked.a, round)?, b: of(&asked.b, round)? });
    let last = rows.iter().map(|run| run.identity.round).max().unwrap_or(0);
    (1..=last).filter_map(both).collect()
}

/// The mean of a figure of a side's runs.
fn mean_of(side: &[&Run], figure: impl Fn(&Run) -> f64) -> f64 {
    let figures: Vec<f64> = side.iter().map(|run| figure(run)).collect();
    stats::mean(&figures)
}

/// B - A of every part, seconds of the mean session.
fn parts(rounds: &[Round<'_>], critical: Option<f64>) -> Vec<Part> {
    let all = rounds.iter().flat_map(|round| round.a.iter().chain(&round.b));
    let names: BTreeSet<String> = all
        .flat_map(|run| run.foreground.profile.lines())
        .filter(|line| !line.is_idle())
        .map(|line| line.name.to_owned())
        .collect();
    let part = |name: String| {
        let time = |side: &[&Run]| mean_of(side, |run| time_of(&run.foreground, &name));
        let differences: Vec<f64> =
            rounds.iter().map(|round| time(&round.b) - time(&round.a)).collect();
        let (seconds, interval) = mean(&differences, critical);
        let (low, high) = (interval.map(|ends| ends[0]), interval.map(|ends| ends[1]));
        Part { name, seconds, seconds_low: low, seconds_high: high }
    };
    let mut parts: Vec<Part> = names.into_iter().map(part).collect();
    parts.sort_by(|x, y| y.seconds.abs().total_cmp(&x.seconds.abs()));
    parts
}

/// Seconds of this part in the mean session.
fn time_of(group: &SessionGroup, name: &str) -> f64 {
    let lines = group.profile.lines();
    let ns = lines.iter().find(|line| line.name == name).map_or(0, |line| line.ns);
    ns as f64 / 1e9 / f64::from(group.count.max(1))
}

/// How far apart equals lie: one cell a round, measured twice.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Equals {
    pub(crate) rounds: usize,
    /// Seconds of the later over those of the earlier.
    pub(crate) ratio: f64,
    pub(crate) ratio_low: f64,
    pub(crate) ratio_high: f64,
    /// A ratio of 1 or more: equals of as many rounds could lie so far apart.
    pub(crate) floor: f64,
}

impl Equals {
    /// None with fewer than two rounds of them.
    pub(crate) fn of(rows: &[Run]) -> Option<Equals> {
        let twice = rows.iter().filter(|run| run.identity.kind == RoundKind::Equals);
        let log = |run: &Run| {
            let same = |other: &&Run| other.identity.round == run.identity.round;
            let other = compared(rows, run.identity.level.index()).find(same)?;
            let log = seconds(run).ln() - seconds(other).ln();
            Some(if run.identity.place > other.identity.place { log } else { -log })
        };
        let logs: Vec<f64> = twice.filter_map(log).collect();
        let critical = Distribution::Normal.upper_quantile(ERROR / 2.0);
        let (effect, interval) = mean(Some(&logs).filter(|logs| logs.len() > 1)?, Some(critical));
        let [low, high] = interval?;
        let count = logs.len() as f64;
        let spread = (logs.iter().map(|log| log * log).sum::<f64>() / count).sqrt();
        let floor = student_critical(critical, count) * spread / count.sqrt();
        let ratio = |log: f64| log.exp().clamp(1.0 / RATIO_MAX, RATIO_MAX);
        Some(Equals {
            rounds: logs.len(),
            ratio: ratio(effect),
            ratio_low: ratio(low),
            ratio_high: ratio(high),
            floor: ratio(floor),
        })
    }

    /// Whether the later and the earlier differ for certain.
    pub(crate) fn differ(&self) -> bool {
        self.ratio_low > 1.0 || self.ratio_high < 1.0
    }
}

#[cfg(test)]
#[path = "statements_tests.rs"]
pub(crate) mod tests;
