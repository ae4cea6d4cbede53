//! A case: one metric of a workload, with a goal for the ratio.
//!
//! The ratio is turned so that above 1 always means that ours is better: ours / rival where higher
//! is better, rival / ours where lower is. It is the geometric mean over the pairs; the medians of
//! the two sides are shown beside it and need not divide to it exactly.
//!
//! Callers: `run`.

use stats::{Interval, Verdict};

use crate::race::pairs::{Metrics, Samples, Side};
use crate::{Error, Result};

/// What is claimed of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name, unique in the race.
    pub name: String,
    /// The metric that both sides' runs report under this name.
    pub metric: &'static str,
    /// The metric's unit, for people.
    pub unit: &'static str,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// The ratio to reach; at 1 ours must be no worse than the rival. `None`: reported only.
    pub goal: Option<f64>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    /// The case.
    pub case: Case,
    /// The median of ours.
    pub ours: f64,
    /// The median of the rival's.
    pub rival: f64,
    /// How many times better ours is.
    pub ratio: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// What that says of the goal, if there is one.
    pub verdict: Option<Verdict>,
}

impl Case {
    /// Refuses a goal that no ratio could be held against.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(goal) = self.goal.filter(|goal| !goal.is_finite() || *goal <= 0.0) else {
            return Ok(());
        };
        let name = &self.name;
        Err(Error::Refused(format!("case {name}: a goal is a ratio above zero, not {goal}")))
    }

    /// The result of this case from the runs of its workload.
    pub fn judge(&self, samples: &Samples, seed: u64) -> Result<CaseResult> {
        let ours = self.column(&samples.ours, Side::Ours)?;
        let rival = self.column(&samples.rival, Side::Rival)?;
        let pairs: Vec<(f64, f64)> = ours
            .iter()
            .zip(&rival)
            .map(
                |(&ours, &rival)| if self.higher_is_better { (ours, rival) } else { (rival, ours) },
            )
            .collect();
        let interval = stats::interval_95(&pairs, seed);
        Ok(CaseResult {
            case: self.clone(),
            ours: stats::median(&ours),
            rival: stats::median(&rival),
            ratio: stats::geometric_mean(&pairs),
            interval,
            verdict: self.goal.map(|goal| Verdict::of(interval, goal)),
        })
    }

    fn column(&self, runs: &[Metrics], side: Side) -> Result<Vec<f64>> {
        let value = |run: &Metrics| run.get(self.metric).copied();
        runs.iter().map(value).collect::<Option<_>>().ok_or_else(|| {
            let (name, metric) = (&self.name, self.metric);
            Error::Failed(format!("case {name}: {side} did not measure '{metric}'"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(higher_is_better: bool, goal: f64) -> Case {
        Case { name: "c".into(), metric: "x", unit: "u", higher_is_better, goal: Some(goal) }
    }

    /// Ten pairs, ours at `ours` times a rival that wobbles by a few per cent around 100; ours
    /// wobbles otherwise, so that the ratio isn't exact.
    fn samples(ours: f64) -> Samples {
        let run = |value: f64| Metrics::from([("x", value)]);
        let wobble = |pair: u32, step: u32| 1.0 + f64::from(pair * step % 10) / 200.0;
        Samples {
            ours: (0..10).map(|pair| run(100.0 * ours * wobble(pair, 3))).collect(),
            rival: (0..10).map(|pair| run(100.0 * wobble(pair, 7))).collect(),
        }
    }

    fn judged(higher_is_better: bool, goal: f64, ours: f64) -> CaseResult {
        case(higher_is_better, goal).judge(&samples(ours), 1).expect("both sides measured x")
    }

    #[test]
    fn above_one_means_that_ours_is_better_whichever_way_the_metric_points() {
        assert!((judged(true, 1.0, 2.0).ratio - 2.0).abs() < 1e-9, "twice the throughput");
        assert!((judged(false, 1.0, 0.5).ratio - 2.0).abs() < 1e-9, "half the latency");
        assert!((judged(false, 1.0, 2.0).ratio - 0.5).abs() < 1e-9, "twice the latency");
    }

    #[test]
    fn medians_keep_the_metric_as_it_was_measured() {
        let result = judged(false, 1.0, 0.5);
        assert!((result.ours - 51.125).abs() < 1e-9 && (result.rival - 102.25).abs() < 1e-9);
    }

    #[test]
    fn the_verdict_follows_from_interval_and_goal_for_both_directions() {
        for (higher, better) in [(true, 1.5), (false, 1.0 / 1.5)] {
            assert_eq!(judged(higher, 0.95, better).verdict, Some(Verdict::Met));
            assert_eq!(judged(higher, 1.5, better).verdict, Some(Verdict::Undecided));
            assert_eq!(judged(higher, 1.9, better).verdict, Some(Verdict::Missed));
        }
    }

    #[test]
    fn the_interval_holds_the_ratio() {
        let result = judged(true, 1.0, 1.2);
        assert!(result.interval.low < result.ratio && result.ratio < result.interval.high);
    }

    #[test]
    fn a_metric_that_a_side_did_not_measure_is_an_error_that_names_both() {
        let mut samples = samples(1.0);
        samples.rival[4].clear();
        let text = case(true, 1.0).judge(&samples, 1).expect_err("one run lacks it").to_string();
        assert_eq!(text, "case c: the rival did not measure 'x'");
    }

    #[test]
    fn a_goal_of_zero_is_refused() {
        assert!(case(true, 0.0).check().is_err() && case(true, f64::NAN).check().is_err());
        assert!(case(true, 0.95).check().is_ok());
    }
}
