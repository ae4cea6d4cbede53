//! May settings alternate in one instance? What one leaves behind falls on the next.
//!
//! ```text
//!   set B ─┬─ washout ─┬──── early ────┬──── late ─────┐ set A
//!          └ not counted └─ B - A is the same in both? ┘
//! ```
//!
//! Two things would show that the effect of a setting goes on when it is no longer set. Within a
//! block, the difference of the late half isn't that of the early half: the washout is too short.
//! And in a long round, whose runs last many times as long, the difference isn't that of the short
//! rounds: the effect is slow, and alternating hides it (rule V22).
//!
//! Callers: `verdict`; `lab`, to refuse.
//! Source: Bojinov, Simchi-Levi & Zhao, "Design and Analysis of Switchback Experiments" (Management
//! Science 2023), for the comparison of block lengths.

use report::number::{change, decimal};
use report::{labelled, paragraph};
use serde::Serialize;
use stats::adjusted::{Estimate, Pair};
use stats::distributions::Distribution;

use crate::rounds::Rounds;
use crate::{Block, Level, Measure, Run};

/// A carry-over is called found if equals would look like it with this probability at most.
const FOUND_P: f64 = 0.01;
/// Fewer rounds say nothing of it.
const ROUNDS_MIN: usize = 12;

/// The heading.
pub(super) const QUESTION: &str = "Does a setting's effect go on after it?";

/// What the blocks say of it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CarryOver {
    /// The difference of the late halves less that of the early ones, as a share of throughput.
    pub late_less_early: f64,
    /// Its standard error.
    pub late_standard_error: f64,
    /// The probability that nothing would look like this.
    pub late_p: f64,
    /// The difference of the long rounds less that of the short ones, as a share of the measure.
    pub long_less_short: Option<f64>,
    /// Its standard error, by how far stretches as long lie apart without a change of the setting.
    pub long_standard_error: Option<f64>,
    /// The probability that nothing would look like this.
    pub long_p: Option<f64>,
    /// A difference of this size, up or down, would be called found.
    pub long_seen_from: Option<f64>,
}

impl CarryOver {
    /// Of A and `level` in rows that are blocks: within them by throughput, in long rounds by
    /// `measure`. None with too few.
    pub fn of_rows(rows: &[Run], level: Level, measure: Measure) -> Option<CarryOver> {
        CarryOver::of(&Rounds::of(rows), level, measure)
    }

    pub(crate) fn of(rounds: &Rounds<'_>, level: Level, measure: Measure) -> Option<CarryOver> {
        let pairs = rounds.pairs_with(level);
        // A block whose washout took all of it, on a crowded machine, has no halves.
        let halves: Vec<[Halves; 2]> = pairs
            .iter()
            .filter_map(|(a, b)| {
                Some([Halves::of(a.block.as_ref()?)?, Halves::of(b.block.as_ref()?)?])
            })
            .collect();
        if halves.len() < ROUNDS_MIN {
            return None;
        }
        let mean = halves.iter().flatten().map(|half| half.early + half.late).sum::<f64>()
            / (4 * halves.len()) as f64;
        let growth = |[a, b]: &[Halves; 2]| {
            Pair::bare(((b.late - a.late) - (b.early - a.early)) / mean.max(f64::MIN_POSITIVE))
        };
        let estimate = Estimate::of(&halves.iter().map(growth).collect::<Vec<_>>(), &[])?;
        let p = |effect: f64, error: f64, degrees: f64| match error > 0.0 {
            true => 2.0 * Distribution::Student { degrees }.survival((effect / error).abs()),
            false => 1.0,
        };
        let long = Long::of(rounds, &pairs, level, measure);
        Some(CarryOver {
            late_less_early: estimate.effect,
            late_standard_error: estimate.standard_error,
            late_p: p(estimate.effect, estimate.standard_error, estimate.degrees),
            long_less_short: long.map(|long| long.less_short),
            long_standard_error: long.map(|long| long.standard_error),
            long_p: long.map(|long| p(long.less_short, long.standard_error, long.degrees)),
            long_seen_from: long.map(|long| {
                let student = Distribution::Student { degrees: long.degrees };
                long.standard_error * student.upper_quantile(FOUND_P / 2.0)
            }),
        })
    }

    /// Whether settings mustn't alternate like this.
    pub fn is_found(&self) -> bool {
        self.late_p <= FOUND_P || self.long_p.is_some_and(|p| p <= FOUND_P)
    }

    pub(crate) fn warning(&self) -> Option<String> {
        self.is_found().then(|| {
            "The effect of a setting goes on after it was changed back: alternating in one \
             instance isn't valid here. Compare them by restarts."
                .to_owned()
        })
    }

    /// What was seen, in a sentence.
    pub fn words(&self) -> String {
        let late = format!(
            "the difference in the late halves less that in the early ones was {} (p {})",
            change(1.0 + self.late_less_early),
            decimal(self.late_p, 3)
        );
        let long = self.long_less_short.zip(self.long_p).map(|(less, p)| {
            let less = change(1.0 + less);
            format!("; that in long rounds less that in short ones {less} (p {})", decimal(p, 3))
        });
        late + &long.unwrap_or_default() + "."
    }

    pub(crate) fn text(&self, b: Level) -> String {
        let lines = self.lines(b);
        let lines: String = lines.iter().map(|(label, text)| labelled(label, text)).collect();
        format!("{QUESTION}\n{lines}") + &paragraph(self.answer(), "  ")
    }

    /// Whether settings may alternate, in a sentence.
    pub(super) fn answer(&self) -> &'static str {
        match self.is_found() {
            true => "It does: don't trust a comparison in one instance.",
            false => "Not that can be seen: the settings may alternate.",
        }
    }

    /// What was looked at, and what was seen.
    pub(super) fn lines(&self, b: Level) -> Vec<(&'static str, String)> {
        let points = |share: f64| change(1.0 + share);
        let late = format!(
            "{b} - A of a block's late half less that of its early half is {} (standard error {}, \
             p {})",
            points(self.late_less_early),
            points(self.late_standard_error),
            decimal(self.late_p, 3),
        );
        let mut lines = vec![("within a block", late)];
        if let (Some(less), Some(error), Some(p), Some(seen)) =
            (self.long_less_short, self.long_standard_error, self.long_p, self.long_seen_from)
        {
            let long = format!(
                "{b} - A of the long rounds less that of the short ones is {} (standard error {}, \
                 p {}); a slow effect under {} would hardly be seen",
                points(less),
                points(error),
                decimal(p, 3),
                points(seen),
            );
            lines.push(("in long rounds", long));
        }
        lines
    }
}

/// Transactions of the two halves of a block's measured interval.
#[derive(Clone, Copy)]
struct Halves {
    early: f64,
    late: f64,
}

impl Halves {
    fn of(block: &Block) -> Option<Halves> {
        let washed = block.washout_ns.div_ceil(block.step_ns.max(1)) as usize;
        let counted = block.curve.get(washed..)?;
        let half = counted.len() / 2;
        if half == 0 {
            return None;
        }
        let sum = |steps: &[u32]| steps.iter().map(|step| f64::from(*step)).sum::<f64>();
        Some(Halves { early: sum(&counted[..half]), late: sum(&counted[counted.len() - half..]) })
    }
}

/// Noise is known from so many stretches that are as long as a block of a long round.
const STRETCHES_MIN: f64 = 8.0;

/// The degrees of freedom of the variance of differences between neighbouring stretches, of all
/// that can be cut from a series `stretches` times as long: those of a random walk, which are the
/// fewest of the noises that are usual.
/// Source: Riley, Handbook of Frequency Stability Analysis (NIST SP 1065, 2008), 5.4.2.
fn degrees(stretches: f64) -> f64 {
    (stretches.powi(2) - 3.0 * stretches + 4.0) / stretches
}

/// From the begin of one short round to that of the next, ns, in the mean: those of equals lie
/// between them, and washouts.
fn length_of_rounds(short: &[(&Run, &Run)]) -> Option<f64> {
    let begins = short.iter().flat_map(|(a, b)| [a, b]).map(|run| Some(run.block.as_ref()?.at_ns));
    let begins: Vec<u64> = begins.collect::<Option<_>>()?;
    let (first, last) = (begins.iter().min()?, begins.iter().max()?);
    Some((last - first) as f64 / short.len() as f64).filter(|length| *length > 0.0)
}

/// The long rounds against the short ones.
#[derive(Clone, Copy)]
struct Long {
    less_short: f64,
    standard_error: f64,
    degrees: f64,
}

impl Long {
    fn of(
        rounds: &Rounds<'_>,
        short: &[(&Run, &Run)],
        level: Level,
        measure: Measure,
    ) -> Option<Long> {
        // A percentile of a long block isn't the mean of those of short ones.
        let measure = match measure {
            Measure::Percentile99 | Measure::Percentile999 => Measure::Median,
            measure => measure,
        };
        let long: Option<Vec<(f64, f64, f64)>> = rounds
            .long
            .iter()
            .map(|round| {
                let (a, b) = (round.get(&Level::A)?, round.get(&level)?);
                Some((measure.of(a)?, measure.of(b)?, (a.elapsed_ns + b.elapsed_ns) as f64 / 2.0))
            })
            .collect();
        let long = long.filter(|long| !long.is_empty())?;
        let count = long.len() as f64;
        let figures: Vec<(f64, f64)> =
            short.iter().filter_map(|(a, b)| Some((measure.of(a)?, measure.of(b)?))).collect();
        let mean = figures.iter().map(|(a, b)| (a + b) / 2.0).sum::<f64>() / figures.len() as f64;
        let short_effect =
            figures.iter().map(|(a, b)| b - a).sum::<f64>() / figures.len() as f64 / mean;
        let long_effect =
            long.iter().map(|(a, b, _)| (b - a) / ((a + b) / 2.0)).sum::<f64>() / count;
        // The short rounds in their order, each without its own setting's effect, tell how far
        // stretches of the long rounds' length lie apart by noise alone.
        let length = long.iter().map(|(_, _, ns)| ns).sum::<f64>() / count;
        let round_ns = length_of_rounds(short)?;
        let stretch = ((length / round_ns).round() as usize).max(1);
        let levels: Vec<f64> = figures.iter().map(|(a, b)| (a + b) / 2.0 / mean).collect();
        let apart: Vec<f64> = levels
            .windows(2 * stretch)
            .map(|both| {
                let (first, second) = both.split_at(stretch);
                stats::mean(second) - stats::mean(first)
            })
            .collect();
        let stretches = levels.len() as f64 / stretch as f64;
        if stretches < STRETCHES_MIN {
            return None;
        }
        let square = apart.iter().map(|apart| apart * apart).sum::<f64>() / apart.len() as f64;
        Some(Long {
            less_short: long_effect - short_effect,
            standard_error: (square / count).sqrt(),
            degrees: degrees(stretches),
        })
    }
}
