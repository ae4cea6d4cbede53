//! What is said of two cells, and how sure it is.
//!
//! ```text
//!   round   ln(seconds of A) - ln(seconds of B)
//!     1        1.52  ┐
//!     2        1.61  ├─▶ Estimate ─▶ B is 4.8 times as fast (4.1 to 5.6)
//!     …          …   ┘                └─▶ and which parts of a session's time make that?
//! ```
//!
//! Both cells are of the same round, so what disturbs a whole round falls out. The declared error
//! is shared over all statements (Bonferroni): each has an interval of its own share. The parts of
//! one statement have its interval each; the error isn't shared over them too.
//!
//! Callers: `report`.

use std::collections::BTreeSet;

use experiment::{RoundKind, Run};
use os::FilesystemIo;
use report::SessionGroup;
use serde::Serialize;
use stats::adjusted::{Estimate, Pair};
use stats::distributions::Distribution;
use stats::sequential::student_critical;

use super::setting::Setting;

/// The declared error of all statements together.
pub(super) const ERROR: f64 = 0.05;
/// A factor that matters.
pub(super) const MATTERS: f64 = 1.1;
/// The largest factor that JSON and text hold.
const RATIO_MAX: f64 = 1e6;

/// Two cells, and what their comparison asks.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) question: &'static str,
    pub(super) a: Setting,
    pub(super) b: Setting,
}

/// The statements that these cells allow.
pub(super) fn asked(settings: &[Setting]) -> Vec<Asked> {
    let most = settings.iter().map(|setting| setting.writers).max().unwrap_or(1);
    let cell = |io, writers, slaves| Setting { io, writers, slaves };
    let mut asked = Vec::new();
    for io in FilesystemIo::ALL {
        asked.push(Asked { question: MORE_WRITERS, a: cell(io, 1, 0), b: cell(io, most, 0) });
    }
    for io in [FilesystemIo::None, FilesystemIo::DirectIo] {
        asked.push(Asked { question: SLAVES, a: cell(io, 1, 0), b: cell(io, 1, 32) });
    }
    for (buffered, direct) in
        [(FilesystemIo::None, FilesystemIo::DirectIo), (FilesystemIo::Asynch, FilesystemIo::SetAll)]
    {
        asked.push(Asked { question: DIRECT, a: cell(buffered, 1, 0), b: cell(direct, 1, 0) });
    }
    asked.retain(|Asked { a, b, .. }| a != b && settings.contains(a) && settings.contains(b));
    asked
}

pub(super) const MORE_WRITERS: &str = "Do more writers pay?";
pub(super) const SLAVES: &str = "Do I/O slaves pay?";
pub(super) const DIRECT: &str = "Direct against buffered";

/// What is known of two cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) enum Answer {
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

/// The comparison of two cells.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Statement {
    pub(super) question: &'static str,
    pub(super) a: String,
    pub(super) b: String,
    /// Both, in a sentence.
    #[serde(skip)]
    pub(super) cells: String,
    pub(super) rounds: usize,
    /// Seconds of A over those of B.
    pub(super) times_as_fast: f64,
    pub(super) times_low: Option<f64>,
    pub(super) times_high: Option<f64>,
    pub(super) answer: Answer,
    /// Of the parts that go the way of the whole, the largest certain one.
    pub(super) cause: Option<String>,
    /// B - A of a session's time, the largest first.
    pub(super) parts: Vec<Part>,
}

/// B - A of a part of the mean session's time.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) seconds: f64,
    pub(super) seconds_low: Option<f64>,
    pub(super) seconds_high: Option<f64>,
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
pub(super) struct Certainty {
    /// The critical |z| of each; none of figures that have no interval.
    pub(super) critical: Option<f64>,
    /// With fewer rounds there is no interval either.
    pub(super) rounds_least: u32,
    /// The ratio that equals could lie apart.
    pub(super) floor: f64,
}

impl Certainty {
    pub(super) fn of(statements: usize, floor: f64) -> Certainty {
        let rounds_least = rounds_least(statements);
        Certainty { critical: Some(critical(statements)), rounds_least, floor }
    }

    pub(super) const MODELLED: Certainty =
        Certainty { critical: None, rounds_least: 0, floor: 1.0 };
}

/// The critical |z| of each of so many statements.
pub(super) fn critical(statements: usize) -> f64 {
    Distribution::Normal.upper_quantile(ERROR / statements.max(1) as f64 / 2.0)
}

/// With fewer rounds none of so many statements can be certain: so few signs drawn by lot can't be
/// as unlikely (`stats::sequential::pairs_critical`).
pub(super) fn rounds_least(statements: usize) -> u32 {
    critical(statements).powi(2).floor() as u32 + 1
}

impl Statement {
    /// None if the two cells have no round in common.
    pub(super) fn of(
        asked: &Asked,
        rows: &[Run],
        settings: &[Setting],
        certainty: Certainty,
    ) -> Option<Statement> {
        let level = |cell: &Setting| settings.iter().position(|setting| setting == cell);
        let pairs = pairs(rows, level(&asked.a)?, level(&asked.b)?);
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| seconds(a).ln() - seconds(b).ln()).collect();
        if logs.is_empty() {
            return None;
        }
        let critical = certainty.critical.filter(|_| logs.len() >= certainty.rounds_least as usize);
        let (effect, interval) = mean(&logs, critical);
        let parts = parts(&pairs, critical);
        let answer = answer(effect, interval, certainty);
        let cause = matches!(answer, Answer::Faster | Answer::Slower).then(|| {
            let certain = parts.iter().find(|part| part.is_certain(-effect));
            certain.map(|part| part.name.clone())
        });
        let ratio = |log: f64| log.exp().clamp(1.0 / RATIO_MAX, RATIO_MAX);
        Some(Statement {
            question: asked.question,
            a: asked.a.to_string(),
            b: asked.b.to_string(),
            cells: format!("{} against {}", asked.b.short(), asked.a.short()),
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
    let (matters, floor) = (MATTERS.ln(), certainty.floor.ln());
    match interval {
        Some([low, high]) if low > -matters && high < matters => Answer::NoDifference,
        Some([low, _]) if low > 0.0 && effect > floor => Answer::Faster,
        Some([_, high]) if high < 0.0 && -effect > floor => Answer::Slower,
        _ => Answer::CantTell,
    }
}

/// The mean, and its interval if there is a critical |z|, and more than one figure.
pub(super) fn mean(figures: &[f64], critical: Option<f64>) -> (f64, Option<[f64; 2]>) {
    let pairs: Vec<Pair> = figures.iter().map(|figure| Pair::bare(*figure)).collect();
    let interval = critical.zip(Estimate::of(&pairs, &[])).map(|(critical, estimate)| {
        let interval = estimate.interval(critical);
        [interval.low, interval.high]
    });
    (stats::mean(figures), interval)
}

/// Until the last session of this run had ended.
pub(super) fn seconds(run: &Run) -> f64 {
    run.elapsed_ns.max(1) as f64 / 1e9
}

/// The rows of a cell that are compared, in the order of their rounds.
pub(super) fn compared(rows: &[Run], level: usize) -> impl Iterator<Item = &Run> {
    let is_it = move |run: &&Run| {
        run.identity.kind == RoundKind::Compared && run.identity.level.index() == level
    };
    rows.iter().filter(is_it)
}

/// The runs of two cells in the same rounds.
fn pairs(rows: &[Run], a: usize, b: usize) -> Vec<(&Run, &Run)> {
    let of_round = |round| compared(rows, b).find(|run| run.identity.round == round);
    compared(rows, a).filter_map(|run| Some((run, of_round(run.identity.round)?))).collect()
}

/// B - A of every part, seconds of the mean session.
fn parts(pairs: &[(&Run, &Run)], critical: Option<f64>) -> Vec<Part> {
    let all = pairs.iter().flat_map(|(a, b)| [a, b]);
    let names: BTreeSet<String> = all
        .flat_map(|run| run.foreground.profile.lines())
        .filter(|line| !line.is_idle())
        .map(|line| line.name.to_owned())
        .collect();
    let part = |name: String| {
        let difference =
            |(a, b): &(&Run, &Run)| time_of(&b.foreground, &name) - time_of(&a.foreground, &name);
        let differences: Vec<f64> = pairs.iter().map(difference).collect();
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
pub(super) struct Equals {
    pub(super) rounds: usize,
    /// Seconds of the later over those of the earlier.
    pub(super) ratio: f64,
    pub(super) ratio_low: f64,
    pub(super) ratio_high: f64,
    /// A ratio of 1 or more: equals of as many rounds could lie so far apart.
    pub(super) floor: f64,
}

impl Equals {
    /// None with fewer than two rounds of them.
    pub(super) fn of(rows: &[Run]) -> Option<Equals> {
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
    pub(super) fn differ(&self) -> bool {
        self.ratio_low > 1.0 || self.ratio_high < 1.0
    }
}

#[cfg(test)]
#[path = "statements_tests.rs"]
pub(super) mod tests;
