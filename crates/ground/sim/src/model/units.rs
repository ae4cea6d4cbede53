//! Conversions: from the units of the parameter files to whole nanoseconds and bytes, and from
//! random bits to a uniform value.
//!
//! Sizes of devices and rates are decimal, as on data sheets (GB = 10⁹, MB/s = 10⁶/s); sizes of
//! stripes and caches are binary, as in the chips (KiB, MiB; the keys say `_kb`, `_mb`).
//!
//! Callers: every disk model.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The number of bytes in a unit of `_kb` keys.
pub(super) const KIB: u64 = 1 << 10;
/// The number of bytes in a unit of `_mb` keys (of a size, not a rate).
pub(super) const MIB: u64 = 1 << 20;

/// A time in microseconds as whole nanoseconds, rounded to the nearest.
pub(super) fn ns_of_us(time_us: f64) -> u64 {
    assert!(time_us.is_finite() && time_us >= 0.0, "a time is a number >= 0, not {time_us}");
    (time_us * 1_000.0 + 0.5) as u64
}

/// The nanoseconds that `bytes` take at `rate_mb_s` (10⁶ bytes a second), rounded up.
pub(super) fn transfer_ns(bytes: u64, rate_mb_s: f64) -> u64 {
    libm::ceil(bytes as f64 * 1_000.0 / rate_mb_s) as u64
}

/// The random numbers of one model: independent uniform values.
#[derive(Clone, Debug)]
pub(super) struct RandomDraws(Xoshiro256PlusPlus);

impl RandomDraws {
    pub(super) fn new(seed: u64) -> RandomDraws {
        RandomDraws(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A uniform value strictly between 0 and 1: 52 random bits and a half, which is exact.
    pub(super) fn uniform(&mut self) -> f64 {
        let bits = self.0.next_u64() >> 12;
        (bits as f64 + 0.5) / (1_u64 << 52) as f64
    }
}
