//! The runs of either side as samples, as textbooks compare them: a second view, beside the answer.
//!
//! A t-test takes runs for independent. Neighbouring runs aren't: what disturbs one often disturbs
//! the next. The answer rests on rounds, in which such a disturbance falls on both sides (EX2).
//! The original experiments reported samples, so that is what theirs are compared with.
//!
//! Callers: `verdict`.
//! Source: Over-Configuring DBWR and LGWR processes, the experiment on LGWR's priority (27 runs
//! at normal and 30 at high priority: p 0.0445).

use report::number::{decimal, signed};
use report::{Table, labelled, paragraph};
use serde::Serialize;
use stats::Interval;
use stats::normality::ShapiroWilk;
use stats::summary::SixNumbers;
use stats::two_samples::{EffectSize, Welch};

use super::headline::Labelled;
use crate::{Level, Run};

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;
/// A smaller p is called significant, by custom.
const SIGNIFICANT: f64 = 0.05;

/// The heading.
pub(super) const TITLE: &str = "Samples";
/// What the figures can't say.
pub(super) const CAUTION: &str = "The answer above rests on rounds. This treats runs as \
                                  independent, which neighbouring runs aren't.";

/// The throughputs of the runs of A and B.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Samples {
    a: Sample,
    b: Sample,
    /// None without spread.
    welch: Option<WelchFigures>,
    hedges_g: Option<EffectFigures>,
}

/// Transactions a second.
#[derive(Clone, Copy, Debug, Serialize)]
struct Sample {
    runs: usize,
    min: f64,
    q1: f64,
    median: f64,
    mean: f64,
    q3: f64,
    max: f64,
    /// None of too few or too many runs, and without spread.
    shapiro_wilk_w: Option<f64>,
    shapiro_wilk_p: Option<f64>,
}

/// Of B - A.
#[derive(Clone, Copy, Debug, Serialize)]
struct WelchFigures {
    difference: f64,
    interval: [f64; 2],
    t: f64,
    degrees: f64,
    p: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct EffectFigures {
    value: f64,
    interval: [f64; 2],
}

impl Sample {
    fn of(figures: &[f64]) -> Sample {
        let SixNumbers { min, q1, median, mean, q3, max } = SixNumbers::of(figures);
        let normality = ShapiroWilk::of(figures);
        Sample {
            runs: figures.len(),
            min,
            q1,
            median,
            mean,
            q3,
            max,
            shapiro_wilk_w: normality.map(|of| of.w),
            shapiro_wilk_p: normality.map(|of| of.p),
        }
    }

    fn cells(&self, decimals: u32) -> Vec<String> {
        let figures = [self.min, self.q1, self.median, self.mean, self.q3, self.max];
        let optional = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), |of| decimal(of, 4));
        let mut cells = vec![self.runs.to_string()];
        cells.extend(figures.map(|figure| decimal(figure, decimals)));
        cells.extend([optional(self.shapiro_wilk_w), optional(self.shapiro_wilk_p)]);
        cells
    }
}

impl Samples {
    /// None with fewer than two runs of a side.
    pub(crate) fn of(sides: &[Vec<&Run>; 2]) -> Option<Samples> {
        let figures = |runs: &Vec<&Run>| -> Vec<f64> {
            runs.iter().map(|run| run.throughput()).filter(|figure| figure.is_finite()).collect()
        };
        let (a, b) = (figures(&sides[0]), figures(&sides[1]));
        if a.len() < 2 || b.len() < 2 {
            return None;
        }
        let welch = Welch::of(&b, &a).map(|of| WelchFigures {
            difference: of.difference,
            interval: ends(of.interval(CONFIDENCE)),
            t: of.t,
            degrees: of.degrees,
            p: of.p,
        });
        let hedges_g = (a.len() + b.len() > MIN_FOR_EFFECT)
            .then(|| EffectSize::hedges_g(&b, &a))
            .flatten()
            .map(|of| EffectFigures { value: of.value, interval: ends(of.interval(CONFIDENCE)) });
        Some(Samples { a: Sample::of(&a), b: Sample::of(&b), welch, hedges_g })
    }

    pub(crate) fn text(&self, b: Level) -> String {
        let mut table = Table::default();
        table.row(self.heads());
        for (name, cells) in self.rows(b) {
            table.row(std::iter::once(name).chain(cells));
        }
        let lines = self.lines(b).into_iter().map(|(label, text)| labelled(&label, &text));
        format!("{TITLE}: transactions a second of each run\n{}", table.text())
            + &lines.collect::<String>()
            + &paragraph(CAUTION, "  ")
    }

    pub(super) fn heads(&self) -> [&'static str; 10] {
        ["", "runs", "min", "Q1", "median", "mean", "Q3", "max", "W", "p"]
    }

    /// A name and the cells of either side.
    pub(super) fn rows(&self, b: Level) -> [(String, Vec<String>); 2] {
        // Alike on both sides, and short enough for the longer one.
        let decimals = u32::from(self.a.max.max(self.b.max) < 10_000.0);
        [("A".to_owned(), self.a.cells(decimals)), (b.to_string(), self.b.cells(decimals))]
    }

    /// What the tests say.
    pub(super) fn lines(&self, b: Level) -> Vec<Labelled> {
        let mut lines = vec![("Shapiro-Wilk".to_owned(), self.normality(b))];
        let change = |value: f64, decimals: u32| {
            signed((value * 10_f64.powi(decimals as i32)).round() as i64, decimals)
        };
        if let Some(of) = self.welch {
            let [low, high] = of.interval.map(|end| change(end, 1));
            let significant = match of.p < SIGNIFICANT {
                true => "significant",
                false => "not significant",
            };
            let text = format!(
                "{b} - A is {} transactions a second, 95 % interval {low} to {high}; t {}, {} \
                 degrees of freedom, p {}: {significant}",
                change(of.difference, 1),
                decimal(of.t, 2),
                decimal(of.degrees, 1),
                p(of.p),
            );
            lines.push(("Welch's t-test".to_owned(), text));
        }
        if let Some(of) = self.hedges_g {
            let [low, high] = of.interval.map(|end| change(end, 2));
            let text = format!(
                "{}, 95 % interval {low} to {high}: the difference of the means in standard \
                 deviations of a run",
                change(of.value, 2)
            );
            lines.push(("Hedges' g".to_owned(), text));
        }
        lines
    }

    fn normality(&self, b: Level) -> String {
        let of = |p: Option<f64>| p.map(|p| p < SIGNIFICANT);
        match (of(self.a.shapiro_wilk_p), of(self.b.shapiro_wilk_p)) {
            (Some(false), Some(false)) => "W and p: both samples may be normal".to_owned(),
            (Some(true), Some(true)) => "W and p: neither sample is normal".to_owned(),
            (Some(true), Some(false)) => "W and p: the sample of A isn't normal".to_owned(),
            (Some(false), Some(true)) => format!("W and p: the sample of {b} isn't normal"),
            _ => "says nothing of so few, so many, or equal runs".to_owned(),
        }
    }
}

/// Hedges' g has a variance from this many runs on.
const MIN_FOR_EFFECT: usize = 4;

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

/// A probability: 0.0445, or `under 0.0001`.
fn p(value: f64) -> String {
    match value < 0.000_1 {
        true => "under 0.0001".to_owned(),
        false => decimal(value, 4),
    }
}
