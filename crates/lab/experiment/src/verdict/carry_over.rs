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
/// How often one of the size that is told isn't found.
const MISSED: f64 = 0.2;
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
    /// A difference of this share would be called found in four of five cases; None where rounds
    /// that agree exactly tell nothing of it.
    pub late_seen_from: Option<f64>,
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
        let Estimate { effect, standard_error, degrees, .. } = estimate;
        // Comparisons with A share the error (EX24).
        let comparisons = (rounds.levels - 1) as f64;
        let is_known = standard_error > 0.0;
        Some(CarryOver {
            late_less_early: effect,
            late_standard_error: standard_error,
            late_p: (probability(effect, standard_error, degrees) * comparisons).min(1.0),
            late_seen_from: is_known.then(|| least_found(standard_error, degrees, comparisons)),
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

    /// Whether settings may alternate, in sentences. That none was seen doesn't say that there is
    /// none: so it says how large one is that would have been.
    pub(super) fn answer(&self) -> String {
        if self.is_found() {
            return "It does: don't trust a comparison in one instance.".to_owned();
        }
        let (mut seen, mut unseen) = (Vec::new(), String::new());
        match self.late_seen_from {
            Some(least) => seen.push(format!("one of {} within a block", share(least))),
            None => unseen += " Within a block all rounds agree, which tells nothing of it.",
        }
        match self.slow {
            Some(SlowEffect { seen_from, .. }) => {
                seen.push(format!("a slow one of {} for the worse", share(seen_from)));
            }
            None => {
                unseen += " A slow one couldn't be looked for: it needs a long stretch of either \
                           setting.";
            }
        }
        let seen = match seen.is_empty() {
            true => String::new(),
            false => format!(
                " In four of five cases {} would be seen, smaller ones less often.",
                seen.join(" and ")
            ),
        };
        let counts = decimal(FOUND_P, 3);
        format!(
            "No effect was seen that does, for a p counts from {counts} down. That doesn't say \
             that there is none.{seen}{unseen}"
        )
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

/// The least effect that is called found in four of five cases, where so many tests share the
/// error.
pub(super) fn least_found(standard_error: f64, degrees: f64, tests: f64) -> f64 {
    let student = Distribution::Student { degrees };
    let size = student.upper_quantile(FOUND_P / tests / 2.0) + student.upper_quantile(MISSED);
    standard_error * size
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

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Else a check that would hardly have seen an effect says that there is none.
    #[test]
    fn an_effect_of_the_size_that_is_told_is_found_in_four_of_five_cases() {
        const ROUNDS: usize = 30;
        const EXPERIMENTS: u32 = 2_000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        // Twelve even draws are normal enough for the mean of thirty of them.
        let mut normal = || (0..12).map(|_| random.random_range(0.0..1.0)).sum::<f64>() - 6.0;
        let effect = least_found(1.0 / (ROUNDS as f64).sqrt(), ROUNDS as f64 - 1.0, 1.0);
        let mut found = 0;
        for _ in 0..EXPERIMENTS {
            let pairs: Vec<Pair> = (0..ROUNDS).map(|_| Pair::bare(effect + normal())).collect();
            let of = Estimate::of(&pairs, &[]).expect("there are many");
            let p = probability(of.effect, of.standard_error, of.degrees);
            found += u32::from(p <= FOUND_P);
        }
        let share = f64::from(found) / f64::from(EXPERIMENTS);
        assert!((0.74..0.86).contains(&share), "{share}");
    }

    #[test]
    fn where_none_was_seen_it_says_how_large_one_would_have_been() {
        let of = |late_seen_from, seen_from: Option<f64>| {
            let slow = seen_from.map(|seen_from| SlowEffect {
                effect: 0.0,
                standard_error: 0.1,
                p: 1.0,
                memory_s: 60.0,
                seen_from,
            });
            let (late_less_early, late_standard_error, late_p) = (0.0, 0.01, 1.0);
            let of =
                CarryOver { late_less_early, late_standard_error, late_p, late_seen_from, slow };
            of.answer()
        };
        let none = "No effect was seen that does, for a p counts from 0.005 down. That doesn't say \
                    that there is none.";
        let known = " In four of five cases one of 4.0 % within a block and a slow one of 90.0 % \
                     for the worse would be seen, smaller ones less often.";
        assert_eq!(of(Some(0.04), Some(0.9)), format!("{none}{known}"));
        let words = of(None, None);
        assert!(words.starts_with(none) && !words.contains("would be seen"), "{words}");
        assert!(words.contains("tells nothing") && words.contains("couldn't be looked for"));
    }
}
