//! How long transactions took: a histogram from which percentiles are read.
//!
//! ```text
//!   bucket  0 … 31 │ 32 … 63 │ 64 … 95 │ …
//!   ns      0 … 31 │ 32 … 63 │ 64 … 127│ …     32 buckets for each power of two: 3 % wide
//! ```
//!
//! Callers: `drive`, `forebay load run`.

use std::collections::BTreeMap;

use waits::Nanos;

/// Bits of a length that its bucket keeps below the highest one.
const BITS: u32 = 5;

/// The lengths of many transactions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Latencies {
    buckets: BTreeMap<u16, u64>,
    count: u64,
    total: u128,
    max: Nanos,
}

impl Latencies {
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

    /// The length that `percent` of the transactions don't exceed, at most 3 % too long; zero of
    /// none.
    pub fn percentile(&self, percent: f64) -> Nanos {
        let wanted = (self.count as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            seen += **count;
            seen >= wanted
        });
        found.map_or(self.max, |(bucket, _)| last_of(*bucket).min(self.max))
    }
}

fn bucket(length: Nanos) -> u16 {
    let high = u64::BITS - length.0.leading_zeros();
    let shift = high.saturating_sub(BITS + 1);
    let bucket = (u64::from(shift) << BITS) + (length.0 >> shift);
    u16::try_from(bucket).expect("64 powers of two have 2,048 buckets")
}

/// The longest length of a bucket.
fn last_of(bucket: u16) -> Nanos {
    let bucket = u64::from(bucket);
    let shift = (bucket >> BITS).saturating_sub(1);
    let first = bucket - (shift << BITS);
    Nanos(((first + 1) << shift).wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_at_most_three_per_cent_above_what_is_in_it() {
        let lengths =
            (0..64).flat_map(|shift| [1_u64 << shift, (1 << shift) + 1, u64::MAX >> shift]);
        for length in lengths.chain(0..5_000) {
            let last = last_of(bucket(Nanos(length))).0;
            assert!(last >= length && (last - length) as f64 <= length as f64 / 32.0, "{length}");
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
        for (percent, exact) in [(50.0, 500_000), (99.0, 990_000), (100.0, 1_000_000)] {
            let found = one.percentile(percent).0;
            assert!((exact..=exact + exact / 32).contains(&found), "{percent}: {found}");
        }
    }
}
