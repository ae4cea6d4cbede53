//! How long transactions took: a histogram from which percentiles are read.
//!
//! ```text
//!   bucket  0 … 511 │ 512 … 1023 │ 1024 … 1535 │ …
//!   ns      0 … 511 │ 512 … 1023 │ 1024 … 2047 │ …    512 for each power of two: 0.2 % wide
//! ```
//!
//! Lengths are taken to lie evenly in their bucket. If they don't, a percentile is wrong by less
//! than a bucket, and in every run by as much: [`Latencies::RESOLUTION`] is for who compares them.
//!
//! Callers: `drive`, `forebay load run`.

use std::collections::BTreeMap;

use waits::Nanos;

/// Bits of a length that its bucket keeps below the highest one.
const BITS: u32 = 9;

/// The lengths of many transactions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Latencies {
    buckets: BTreeMap<u16, u64>,
    count: u64,
    total: u128,
    max: Nanos,
}

impl Latencies {
    /// How far a percentile may be off, as a share of it: the width of a bucket.
    pub const RESOLUTION: f64 = 1.0 / (1_u64 << BITS) as f64;

    /// Adds one transaction.
    pub fn record(&mut self, length: Nanos) {
        *self.buckets.entry(bucket(length)).or_default() += 1;
        self.count += 1;
        self.total += u128::from(length.0);
        self.max = self.max.max(length);
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Latencies) {
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
        self.count += other.count;
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    /// The number of transactions.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest.
    pub fn max(&self) -> Nanos {
        self.max
    }

    /// The mean; zero of none.
    pub fn mean(&self) -> Nanos {
        let mean = self.total.checked_div(u128::from(self.count)).unwrap_or(0);
        Nanos(u64::try_from(mean).expect("a mean is below the maximum"))
    }

    /// The length that `percent` of the transactions don't exceed, to [`Latencies::RESOLUTION`];
    /// zero of none.
    pub fn percentile(&self, percent: f64) -> Nanos {
        let wanted = (self.count as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut before = 0_u64;
        for (bucket, count) in &self.buckets {
            if wanted < self.count && before + count >= wanted {
                let (first, last) = (first_of(*bucket).0, last_of(*bucket).0);
                let part = ((wanted - before) as f64 - 0.5) / *count as f64;
                let within = ((last - first) as f64 * part) as u64;
                return Nanos(first + within).min(self.max);
            }
            before += count;
        }
        self.max
    }
}

fn bucket(length: Nanos) -> u16 {
    let high = u64::BITS - length.0.leading_zeros();
    let shift = high.saturating_sub(BITS + 1);
    let bucket = (u64::from(shift) << BITS) + (length.0 >> shift);
    u16::try_from(bucket).expect("64 powers of two have 28,672 buckets")
}

/// The shortest length of a bucket.
fn first_of(bucket: u16) -> Nanos {
    let bucket = u64::from(bucket);
    let shift = (bucket >> BITS).saturating_sub(1);
    Nanos((bucket - (shift << BITS)) << shift)
}

/// The longest.
fn last_of(bucket: u16) -> Nanos {
    let shift = (u64::from(bucket) >> BITS).saturating_sub(1);
    Nanos(first_of(bucket).0 + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_at_most_as_wide_as_its_resolution() {
        let lengths =
            (0..64).flat_map(|shift| [1_u64 << shift, (1 << shift) + 1, u64::MAX >> shift]);
        for length in lengths.chain(0..5_000) {
            let bucket = bucket(Nanos(length));
            let (first, last) = (first_of(bucket).0, last_of(bucket).0);
            assert!((first..=last).contains(&length), "{length}");
            assert!((last - first) as f64 <= first as f64 * Latencies::RESOLUTION, "{length}");
        }
    }

    /// Of 2,001 lengths evenly around each.
    #[test]
    fn medians_are_as_far_apart_as_lengths_are() {
        let median = |center: u64| {
            let mut all = Latencies::default();
            (0..=2_000).for_each(|at| all.record(Nanos(center / 2 + center * at / 2_000)));
            all.percentile(50.0).0 as f64
        };
        for [a, b] in [[1_050_000_u64, 1_080_000], [1_079_000, 1_083_500]] {
            let (found, exact) = (median(b) / median(a), b as f64 / a as f64);
            assert!((found / exact - 1.0).abs() < 1e-3, "{exact}: {found}");
        }
    }

    #[test]
    fn percentiles_and_mean_are_those_of_all_lengths() {
        let (mut one, mut other) = (Latencies::default(), Latencies::default());
        assert_eq!((one.mean(), one.percentile(99.0)), (Nanos::ZERO, Nanos::ZERO));
        for length in 1..=1_000 {
            let half = if length % 2 == 0 { &mut one } else { &mut other };
            half.record(Nanos::from_micros(length));
        }
        one.add(&other);
        assert_eq!((one.count(), one.max()), (1_000, Nanos::from_millis(1)));
        assert_eq!(one.mean(), Nanos(500_500));
        for (percent, exact) in [(50.0, 500_000_u32), (99.0, 990_000), (100.0, 1_000_000)] {
            let found = one.percentile(percent).0;
            let off = (found as f64 / f64::from(exact) - 1.0).abs();
            assert!(off <= Latencies::RESOLUTION, "{percent}: {found}");
        }
    }
}
