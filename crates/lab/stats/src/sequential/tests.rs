//! Tests of the bounds: published tables, and the promise that they keep by simulation.

use super::*;
use crate::adjusted::{Estimate, Pair};
use rand::SeedableRng;
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

fn bounds(alpha: f64, spending: Spending, fractions: &[f64]) -> Vec<f64> {
    let mut looks = Looks::with(alpha, spending);
    fractions.iter().map(|fraction| looks.next(*fraction)).collect()
}

fn equal(looks: u32) -> Vec<f64> {
    (1..=looks).map(|look| f64::from(look) / f64::from(looks)).collect()
}

fn agree(found: &[f64], expected: &[f64], digits: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < digits, "{found} is not {expected}");
    }
}

/// gsDesign, `sfLDOF` and `sfLDPocock`; ldbounds has 3.3569 for the second, its grid is coarser.
#[test]
fn five_equal_looks_have_the_published_bounds() {
    let found = bounds(0.05, Spending::OBrienFleming, &equal(5));
    agree(&found, &[4.8769, 3.3570, 2.6803, 2.2898, 2.0310], 6e-5);
    let found = bounds(0.05, Spending::Pocock, &equal(5));
    agree(&found, &[2.4380, 2.4268, 2.4102, 2.3966, 2.3860], 6e-5);
}

#[test]
fn one_look_at_the_end_is_the_ordinary_test() {
    agree(&bounds(0.05, Spending::OBrienFleming, &[1.0]), &[1.959_963_984_540_054], 1e-9);
}

/// In the limit of many looks the bound is that of Brownian motion; here only: all is spent, the
/// bounds fall, and nothing breaks where the tail is smaller than a float.
#[test]
fn two_hundred_looks_are_finite_fall_and_spend_all_of_the_error() {
    let mut looks = Looks::new(0.05);
    let found: Vec<f64> = equal(200).iter().map(|fraction| looks.next(*fraction)).collect();
    assert_eq!(found[0], BOUND_MAX);
    assert!(found.iter().all(|bound| bound.is_finite()));
    assert!(found.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{found:?}");
    assert!((looks.spent() - 0.05).abs() < 1e-9, "{}", looks.spent());
}

/// Of a hundred thousand paths of a random walk without drift, as many cross as are promised.
#[test]
fn looks_at_uneven_times_keep_the_declared_error() {
    const PATHS: u32 = 100_000;
    let fractions = [0.1, 0.11, 0.5, 0.500_1, 0.9, 1.0];
    for alpha in [0.05, 0.2] {
        for spending in [Spending::OBrienFleming, Spending::Pocock, Spending::Power(2.0)] {
            let found = bounds(alpha, spending, &fractions);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
            let mut crossed = 0;
            for _ in 0..PATHS {
                let (mut before, mut b) = (0.0_f64, 0.0_f64);
                crossed += u32::from(fractions.iter().zip(&found).any(|(fraction, bound)| {
                    let step: f64 = StandardNormal.sample(&mut random);
                    b += step * (fraction - before).sqrt();
                    before = *fraction;
                    b.abs() > bound * fraction.sqrt()
                }));
            }
            let share = f64::from(crossed) / f64::from(PATHS);
            let luck = 4.0 * (alpha * (1.0 - alpha) / f64::from(PATHS)).sqrt();
            assert!((share - alpha).abs() < luck, "{spending:?}: {share}, {found:?}");
        }
    }
}

/// The quadrature is fine enough: the same looks with much narrower steps between them.
#[test]
fn a_look_that_spends_nothing_changes_no_other() {
    let plain = bounds(0.05, Spending::OBrienFleming, &[0.5, 1.0]);
    let with_early = bounds(0.05, Spending::OBrienFleming, &[1e-5, 0.01, 0.5, 1.0]);
    agree(&with_early[2..], &plain, 1e-9);
    let mut looks = Looks::new(0.05);
    looks.next(0.5);
    assert_eq!(looks.next(0.5 + 1e-6), BOUND_MAX);
    assert!((looks.next(1.0) - plain[1]).abs() < 1e-9);
}

#[test]
fn student_critical_has_the_tail_of_the_normal_one() {
    let nine = student_critical(1.959_963_984_540_054, 9.0);
    assert!((nine - 2.262_157_162_740_991_5).abs() < 1e-9);
    assert!(student_critical(BOUND_MAX, 4.0).is_finite());
    assert!((student_critical(2.5, f64::INFINITY) - 2.5).abs() < 1e-9);
}

/// The bar of signs drawn by lot: pairs whose sum over the root of their squares is z have just
/// that t.
#[test]
fn pairs_critical_is_where_the_signs_have_the_tail_of_z() {
    let differences = [0.9, 1.3, 0.2, 1.1, -0.4, 0.8, 1.6, 0.7, 1.0];
    let squares: f64 = differences.iter().map(|d| d * d).sum();
    let z = differences.iter().sum::<f64>() / squares.sqrt();
    let pairs: Vec<Pair> = differences.iter().map(|d| Pair::bare(*d)).collect();
    let found = Estimate::of(&pairs, &[]).expect("enough pairs");
    let t = found.effect / found.standard_error;
    // So many degrees that Student's t is the normal distribution, and the lower of the two.
    assert!((pairs_critical(z, 9, 1e7) - t).abs() < 1e-9, "{t}");
    // Later, Student's t is the higher.
    assert_eq!(pairs_critical(2.0, 100, 99.0), student_critical(2.0, 99.0));
    // Five pairs can't be as unlikely as that.
    assert!(pairs_critical(BOUND_MAX, 5, 4.0) >= 1e3 && pairs_critical(3.0, 5, 1e7) > 1e3);
}

/// Howard et al. (2021), 3.2: at its tightest the bound is sqrt(-W(-alpha^2 / e)), here 3.0351 of
/// W_{-1}(-0.0025 / e) = -9.211968.
#[test]
fn a_confidence_sequence_is_tightest_where_it_is_told_to_be() {
    let at = |units| confidence_sequence(0.05, units, 100.0);
    assert!((at(100.0).powi(2) - 9.211968062068253).abs() < 1e-12, "{}", at(100.0).powi(2));
    // Another r is worse at 100 units.
    for other in [30.0, 90.0, 110.0, 300.0] {
        assert!(confidence_sequence(0.05, 100.0, other) > at(100.0));
    }
}

#[test]
#[should_panic(expected = "a look at 0.5 of the information, after one at 0.5")]
fn a_look_without_new_information_is_refused() {
    let mut looks = Looks::new(0.05);
    looks.next(0.5);
    looks.next(0.5);
}

/// It would be the last look, which spends the rest of the error.
#[test]
#[should_panic(expected = "a look at NaN")]
fn a_share_that_is_no_number_is_no_look() {
    let _ = Looks::new(0.05).next(f64::NAN);
}
