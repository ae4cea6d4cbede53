//! May settings alternate in one instance? What one leaves behind falls on the next.
//!
//! ```text
//!   set B ─┬─ washout ─┬──── early ────┬──── late ─────┐ set A
//!          └ not counted └─ B - A is the same in both? ┘
//! ```
//!
//! Two things would show that the effect of a setting goes on when it is no longer set. Within a
//! block, the difference of the late half isn't that of the early half: the washout is too short.
//! And throughput follows what has sunk in of a setting over a longer time (`slow`): the effect is
//! slow, and alternating hides it (rule V22).
//!
//! Callers: `verdict`; `lab`, to begin anew by restarts.
//! Source: Bojinov, Simchi-Levi & Zhao, "Design and Analysis of Switchback Experiments" (Management
//! Science 2023), for the comparison of block lengths.

use report::number::{change, decimal, share};
use report::{labelled, paragraph};
use serde::Serialize;
use stats::adjusted::{Estimate, Pair};
use stats::distributions::Distribution;

use super::slow::SlowEffect;
use crate::rounds::Rounds;
use crate::{Block, Level, Rule, Run};

/// A carry-over is called found if equals would look like it with this probability at most, in
/// either way. That costs a whole experiment: it is made again by restarts.
pub(super) const FOUND_P: f64 = 0.005;
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
    /// The probability that nothing would look like this, of any level.
    pub late_p: f64,
    /// What comes slowly; None without enough stretches of equals, or of blocks.
    pub slow: Option<SlowEffect>,
}

impl CarryOver {
    /// Of A and `level` in rows that are blocks: within them by throughput, over longer times by
    /// the measure. None with too few.
    pub fn of_rows(rows: &[Run], level: Level, rule: &Rule) -> Option<CarryOver> {
        let rounds = Rounds::of(rows);
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
        let late_p = probability(estimate.effect, estimate.standard_error, estimate.degrees);
        Some(CarryOver {
            late_less_early: estimate.effect,
            late_standard_error: estimate.standard_error,
            // Comparisons with A share the error (EX24).
            late_p: (late_p * (rounds.levels - 1) as f64).min(1.0),
            slow: SlowEffect::of(rows, level, rule),
        })
    }

    /// Whether settings mustn't alternate like this.
    pub fn is_found(&self) -> bool {
        self.late_p <= FOUND_P || self.slow.is_some_and(|slow| slow.p <= FOUND_P)
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
        let slow = self.slow.map(|slow| {
            let effect = change(1.0 + slow.effect);
            format!(
                "; what came slowly was {effect}, with a memory of {} s (p {})",
                decimal(slow.memory_s, 0),
                decimal(slow.p, 3)
            )
        });
        late + &slow.unwrap_or_default() + "."
    }

    pub(crate) fn text(&self, b: Level) -> String {
        let lines = self.lines(b);
        let lines: String = lines.iter().map(|(label, text)| labelled(label, text)).collect();
        format!("{QUESTION}\n{lines}") + &paragraph(&self.answer(), "  ")
    }

    /// Whether settings may alternate, in sentences.
    pub(super) fn answer(&self) -> String {
        let counts = decimal(FOUND_P, 3);
        match (self.is_found(), self.slow) {
            (true, _) => "It does: don't trust a comparison in one instance.".to_owned(),
            (false, Some(slow)) => format!(
                "Not that can be seen, for a p counts from {counts} down: the settings may \
                 alternate. A slow effect of less than {} for the worse would not be seen.",
                share(slow.seen_from)
            ),
            (false, None) => format!(
                "Not within a block, for a p counts from {counts} down. A slow effect couldn't be \
                 looked for: it needs a long stretch of either setting."
            ),
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
        if let Some(slow) = self.slow {
            let text = format!(
                "what comes of {b} in about {} s, beyond what it does at once, is {} (p {})",
                decimal(slow.memory_s, 0),
                points(slow.effect),
                decimal(slow.p, 3),
            );
            lines.push(("slowly", text));
        }
        lines
    }
}

/// The probability that nothing would look like this effect.
pub(super) fn probability(effect: f64, standard_error: f64, degrees: f64) -> f64 {
    match standard_error > 0.0 {
        true => 2.0 * Distribution::Student { degrees }.survival((effect / standard_error).abs()),
        false => 1.0,
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
