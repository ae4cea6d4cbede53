//! How often chance alone would make as large a difference: the sign-flip test over pairs.
//!
//! If both sides of a pair are the same thing, and which one ran first was drawn by lot, then each
//! log ratio might as well have had the other sign. So all ways to give the pairs signs are equally
//! likely, and p is the share of them in which the mean log ratio is at least as far from zero as
//! the one observed. Nothing is assumed about the noise: not that it is normal, nor that it is the
//! same in every pair; only that the sides were drawn.
//!
//! Up to [`EXACT_PAIRS_MAX`] pairs every way is looked at. Beyond, [`SAMPLES`] are drawn, and the
//! one observed is counted among them, so that p is never zero and the test keeps its word.
//!
//! Callers: `comparison`.
//! Sources: Fisher, The Design of Experiments (1935), 21; Phipson & Smyth, "Permutation P-values
//! Should Never Be Zero" (2010).

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::ratio::log_ratios;

/// Up to so many pairs p is exact.
pub const EXACT_PAIRS_MAX: usize = 16;

/// How many ways are drawn where there are more pairs.
pub const SAMPLES: u32 = 100_000;

/// Sums this close, relative to the sum of all sizes, are equal: they differ by rounding.
const TIE: f64 = 1e-9;

/// p of "the sides of these pairs are equal", for a ratio that differs to either side.
pub fn sign_flip_p(pairs: &[(f64, f64)], seed: u64) -> f64 {
    p_of_logs(&log_ratios(pairs), seed)
}

pub(crate) fn p_of_logs(logs: &[f64], seed: u64) -> f64 {
    assert!(!logs.is_empty(), "a test needs a pair");
    let sizes: f64 = logs.iter().map(|log| log.abs()).sum();
    let least = logs.iter().sum::<f64>().abs() - TIE * sizes;
    if logs.len() <= EXACT_PAIRS_MAX { exact(logs, least) } else { sampled(logs, least, seed) }
}

/// Walks through all signs in Gray's order, one flip a step. The first keeps its sign: the other
/// half is the same with all signs turned.
fn exact(logs: &[f64], least: f64) -> f64 {
    let (mut signed, mut sum) = (logs.to_vec(), logs.iter().sum::<f64>());
    let ways = 1_u32 << (logs.len() - 1);
    let mut as_far = u32::from(sum.abs() >= least);
    for way in 1..ways {
        let flipped = 1 + way.trailing_zeros() as usize;
        sum -= 2.0 * signed[flipped];
        signed[flipped] = -signed[flipped];
        as_far += u32::from(sum.abs() >= least);
    }
    f64::from(as_far) / f64::from(ways)
}

fn sampled(logs: &[f64], least: f64, seed: u64) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut as_far = 1;
    for _ in 0..SAMPLES {
        let sum: f64 =
            logs.iter().map(|log| if random.random::<bool>() { *log } else { -log }).sum();
        as_far += u32::from(sum.abs() >= least);
    }
    f64::from(as_far) / f64::from(SAMPLES + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 3 of one sign: of the eight ways only that one and its mirror are as far.
    #[test]
    fn three_pairs_of_one_sign_have_p_of_two_in_eight() {
        assert_eq!(p_of_logs(&[0.1, 0.2, 0.3], 0), 0.25);
    }

    /// Sums of 1, 2, -3 with all signs: 0, 6, 2, 4 and mirrors; all are at least as far as 0.
    #[test]
    fn pairs_that_cancel_have_p_of_one() {
        assert_eq!(p_of_logs(&[0.1, 0.2, -0.3], 0), 1.0);
        assert_eq!(p_of_logs(&[0.0; 5], 0), 1.0);
    }

    /// Counted by hand: of 1, 1, 1, -2 / 4 pairs the observed sum is 1. Sums: +-5 once, +-3 three
    /// times, +-1 three and one times: all 16 are at least 1.
    #[test]
    fn ties_count_as_as_far() {
        assert_eq!(p_of_logs(&[0.1, 0.1, 0.1, -0.2], 0), 1.0);
        // Sum 3 of 1, 1, 1, 2, -2 (sums of 1s: 3, 1; of 2s: 4, 0): 7, 5, 3, 1 and mirrors.
        // As far as 3: 3 + 4, 3 + 0 (twice), 3 - 4 not; 1 + 4 (three times), -1 + 4 (three), and
        // -3 - ... by symmetry: 7 once, 5 three, 3 five (two and three) of 16.
        assert_eq!(p_of_logs(&[0.1, 0.1, 0.1, 0.2, -0.2], 0), 9.0 / 16.0);
    }

    #[test]
    fn ten_pairs_of_one_sign_have_p_of_two_in_1024() {
        let pairs: Vec<(f64, f64)> = (1..=10).map(|i| (100.0 + f64::from(i), 100.0)).collect();
        assert_eq!(sign_flip_p(&pairs, 0), 2.0 / 1024.0);
    }

    /// Drawing signs gives what looking at all of them gives.
    #[test]
    fn sampling_agrees_with_the_exact_test() {
        let logs = [0.5, 0.3, -0.2, 0.9, 0.1, -0.4, 0.7, 0.2, 0.6, -0.1, 0.3, -0.5];
        let least = logs.iter().sum::<f64>().abs() - 1e-9;
        let (exact, sampled) = (exact(&logs, least), sampled(&logs, least, 3));
        assert!((exact - sampled).abs() < 0.004, "exact {exact}, sampled {sampled}");
    }

    #[test]
    fn many_pairs_are_sampled_and_never_give_zero() {
        let logs = vec![0.01; 30];
        let p = p_of_logs(&logs, 7);
        assert!(p > 0.0 && p < 0.001);
        assert_eq!(p, p_of_logs(&logs, 7));
    }
}
