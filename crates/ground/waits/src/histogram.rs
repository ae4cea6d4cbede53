//! Wait times in powers of two of a microsecond, as `V$EVENT_HISTOGRAM_MICRO` has them.
//!
//! Bucket 0 holds waits under 1 us, bucket 1 under 2 us, bucket k under 2^k us; the last one holds
//! everything longer. The millisecond histogram is read off the same buckets, so its bounds lie at
//! 1,024 us rather than 1,000 us.

/// The number of buckets: the last but one ends at 2^30 us, about 18 minutes.
pub const HISTOGRAM_BUCKETS: usize = 32;

/// The bucket of a wait of `ns` nanoseconds.
pub const fn bucket_of(ns: u64) -> usize {
    let us = ns / 1_000;
    let bucket = (u64::BITS - us.leading_zeros()) as usize;
    if bucket < HISTOGRAM_BUCKETS { bucket } else { HISTOGRAM_BUCKETS - 1 }
}

/// The bound below which every wait of `bucket` lies, in us; `None` for the last one.
pub const fn bucket_upper_bound_us(bucket: usize) -> Option<u64> {
    if bucket + 1 < HISTOGRAM_BUCKETS { Some(1 << bucket) } else { None }
}

/// The number of strata. Samples are kept apart by the stratum of their wait's length.
pub const STRATA: usize = 8;

/// The stratum of the waits in `bucket`: whole buckets, so that the histogram tells how many waits
/// a stratum has. Bounds at 2, 8, 32, 128, 512 us, 2 and 8 ms.
pub(crate) const fn stratum_of(bucket: usize) -> usize {
    match bucket {
        0..=1 => 0,
        2..=3 => 1,
        4..=5 => 2,
        6..=7 => 3,
        8..=9 => 4,
        10..=11 => 5,
        12..=13 => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait lies below its bucket's bound and not below the one before.
    #[test]
    fn a_wait_lies_between_the_bounds_of_its_bucket() {
        for us in [0, 1, 2, 3, 4, 1_000, 1_023, 1_024, 5_000_000, 1 << 29] {
            let bucket = bucket_of(us * 1_000);
            let bound = bucket_upper_bound_us(bucket).expect("below the last bucket");
            assert!(us < bound, "{us} us in bucket {bucket}");
            assert!(bucket == 0 || us >= bound / 2, "{us} us in bucket {bucket}");
        }
    }

    /// However long a wait is, it has a bucket.
    #[test]
    fn the_last_bucket_holds_everything_longer() {
        assert_eq!(bucket_of(u64::MAX), HISTOGRAM_BUCKETS - 1);
        assert_eq!(bucket_upper_bound_us(HISTOGRAM_BUCKETS - 1), None);
    }
}
