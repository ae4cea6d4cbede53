//! The runs of a workload: pairs of ours (A) and the rival (B), in the order A B, B A, A B, B A ...
//!
//! Whatever drifts steadily while a workload runs, such as the temperature or a host's cache,
//! favours A in one pair and B in the next. For that to cancel, the number of pairs is even.
//!
//! Callers: `run`; tests of closures.

use std::collections::BTreeMap;

use crate::{Error, Result};

/// The fewest pairs of a race (RM2).
pub const PAIRS_MIN: u32 = 10;

/// What one run measured: metric -> value. One run may feed several cases.
pub type Metrics = BTreeMap<&'static str, f64>;

/// Names of metrics that more than one side reports.
pub mod metric {
    /// I/Os per second.
    pub const IOPS: &str = "iops";
    /// Megabytes (10^6) per second.
    pub const MB_PER_S: &str = "mb_per_s";
    /// Median latency in microseconds.
    pub const LAT_US_P50: &str = "lat_us_p50";
    /// 99th percentile of latency in microseconds.
    pub const LAT_US_P99: &str = "lat_us_p99";
    /// Median time in microseconds until what was written is durable.
    pub const DURABLE_US_P50: &str = "durable_us_p50";
    /// CPU time per I/O in microseconds.
    pub const CPU_US_PER_IO: &str = "cpu_us_per_io";
}

/// Who runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What we built.
    Ours,
    /// What we compare it with.
    Rival,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::Ours => "ours",
            Side::Rival => "the rival",
        })
    }
}

/// One run's place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The pair, from 0.
    pub pair: u32,
    /// Whether it runs first in its pair.
    pub first: bool,
    /// The same for both sides of a pair, another for each pair: what the run draws at random, such
    /// as offsets. Where one run would warm a cache for the other, mix the side in.
    pub seed: u64,
}

/// The runs of both sides; index = pair.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Ours.
    pub ours: Vec<Metrics>,
    /// The rival's.
    pub rival: Vec<Metrics>,
}

/// Refuses a number of pairs from which nothing could be claimed.
pub(crate) fn check_pairs(pairs: u32) -> Result<()> {
    if pairs < PAIRS_MIN {
        let what = format!("{pairs} pairs are too few for a claim: give {PAIRS_MIN} or more");
        return Err(Error::Refused(what));
    }
    if !pairs.is_multiple_of(2) {
        let what = format!(
            "{pairs} pairs are odd, so one side would go first once more than the other: give {}",
            pairs + 1
        );
        return Err(Error::Refused(what));
    }
    Ok(())
}

/// Runs `pairs` pairs; `after_pair` is told how many are done.
pub fn run_pairs(
    pairs: u32,
    seed: u64,
    ours: &mut dyn FnMut(Turn) -> Result<Metrics>,
    rival: &mut dyn FnMut(Turn) -> Result<Metrics>,
    after_pair: &mut dyn FnMut(u32),
) -> Result<Samples> {
    check_pairs(pairs)?;
    let mut samples = Samples::default();
    for pair in 0..pairs {
        let order = match pair % 2 {
            0 => [Side::Ours, Side::Rival],
            _ => [Side::Rival, Side::Ours],
        };
        for side in order {
            let turn = Turn { pair, first: side == order[0], seed: seed_of(seed, pair) };
            let place = format!("{side}, pair {} of {pairs}", pair + 1);
            let measured = match side {
                Side::Ours => ours(turn),
                Side::Rival => rival(turn),
            };
            let metrics = measured.and_then(check_metrics).map_err(|error| error.within(place))?;
            match side {
                Side::Ours => samples.ours.push(metrics),
                Side::Rival => samples.rival.push(metrics),
            }
        }
        after_pair(pair + 1);
    }
    assert_eq!(samples.ours.len(), samples.rival.len());
    Ok(samples)
}

/// A ratio needs values above zero; what isn't comes from outside and is an error, not a panic.
fn check_metrics(metrics: Metrics) -> Result<Metrics> {
    match metrics.iter().find(|(_, value)| !value.is_finite() || **value <= 0.0) {
        None => Ok(metrics),
        Some((name, value)) => Err(Error::Failed(format!(
            "measured {name} = {value}: no ratio without a value above zero"
        ))),
    }
}

/// Far apart for neighbouring pairs (the golden ratio's multiples), the same for the same pair.
fn seed_of(seed: u64, pair: u32) -> u64 {
    seed.wrapping_add(u64::from(pair + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn one(value: f64) -> Result<Metrics> {
        Ok(Metrics::from([("x", value)]))
    }

    #[test]
    fn pairs_alternate_in_abba_order_with_one_seed_a_pair() {
        let log = RefCell::new(Vec::new());
        let mut done = Vec::new();
        let note = |name: char, turn: Turn| {
            log.borrow_mut().push((name, turn));
            one(1.0 + f64::from(turn.pair))
        };
        let samples = run_pairs(
            10,
            42,
            &mut |turn| note('A', turn),
            &mut |turn| note('B', turn),
            &mut |pairs| done.push(pairs),
        )
        .expect("nothing fails");
        let log = log.into_inner();
        let order: String = log.iter().map(|(name, _)| name).collect();
        assert_eq!(order, "ABBAABBAABBAABBAABBA");
        for (at, couple) in log.chunks(2).enumerate() {
            let [(_, first), (_, second)] = couple else { panic!("runs come in couples") };
            assert_eq!((first.pair, second.pair), (at as u32, at as u32));
            assert!(first.first && !second.first);
            assert_eq!(first.seed, second.seed);
        }
        assert_ne!(log[0].1.seed, log[2].1.seed);
        assert_eq!(samples.ours[9], samples.rival[9]);
        assert_eq!(done, (1..=10).collect::<Vec<_>>());
    }

    #[test]
    fn too_few_or_odd_pairs_are_refused_before_anything_runs() {
        for (pairs, hint) in [(9, "give 10 or more"), (11, "give 12")] {
            let mut never = |_| -> Result<Metrics> { panic!("nothing may run") };
            let mut never_too = |_| -> Result<Metrics> { panic!("nothing may run") };
            let refused = run_pairs(pairs, 1, &mut never, &mut never_too, &mut |_| ());
            let text = refused.expect_err("the number is wrong").to_string();
            assert!(text.contains(hint), "{text}");
        }
    }

    #[test]
    fn an_error_of_a_run_names_side_and_pair() {
        let mut broken = |turn: Turn| match turn.pair {
            2 => Err(Error::Failed("disk on fire".into())),
            _ => one(1.0),
        };
        let failed = run_pairs(10, 1, &mut |_| one(1.0), &mut broken, &mut |_| ());
        let text = failed.expect_err("the third pair fails").to_string();
        assert_eq!(text, "the rival, pair 3 of 10: disk on fire");
    }

    #[test]
    fn a_metric_without_a_ratio_is_an_error_that_names_it() {
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let failed = run_pairs(10, 1, &mut |_| one(value), &mut |_| one(1.0), &mut |_| ());
            let text = failed.expect_err("it has no ratio").to_string();
            assert!(text.contains(&format!("ours, pair 1 of 10: measured x = {value}")), "{text}");
        }
    }
}
