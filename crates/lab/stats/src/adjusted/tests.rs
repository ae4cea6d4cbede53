//! Tests of the adjusted estimate: cases made by hand. What it promises of error and coverage is
//! tested in `tests/calibration.rs`, its agreement with statsmodels in `tests/fixtures.rs`.

use super::*;
use crate::summary::deviation;

/// Values between -1 and 1 that follow no pattern: the fractions of multiples of the golden ratio.
fn scatter(count: u32, salt: f64) -> Vec<f64> {
    (1..=count).map(|i| (f64::from(i) * 0.618_033_988_75 + salt).fract() * 2.0 - 1.0).collect()
}

fn near(found: f64, expected: f64, digits: f64) {
    assert!((found - expected).abs() < digits, "{found} is not {expected}");
}

#[test]
fn without_covariates_it_is_students_t_of_the_mean() {
    let differences = scatter(12, 0.3);
    let pairs: Vec<Pair> = differences.iter().map(|d| Pair::bare(*d)).collect();
    let found = Estimate::of(&pairs, &[]).expect("enough pairs");
    near(found.effect, mean(&differences), 1e-12);
    near(found.standard_error, deviation(&differences) / 11_f64.sqrt(), 1e-12);
    near(found.degrees, 11.0, 1e-9);
    assert_eq!(found.weighting, Weighting { ratio: 1.0, taken: 0.0 });
}

#[test]
fn what_a_covariate_explains_is_taken_out_of_the_effect() {
    let (noise, covariate) = (scatter(40, 0.1), scatter(40, 0.77));
    let pairs: Vec<Pair> = noise
        .iter()
        .zip(&covariate)
        .map(|(noise, z)| Pair {
            difference: 0.05 + 0.01 * noise - 3.0 * z,
            covariates: vec![*z],
            disturbance: 0.0,
        })
        .collect();
    let found = Estimate::of(&pairs, &["steal"]).expect("enough pairs");
    near(found.effect, 0.05, 0.005);
    let Part::Used { gamma, r_squared, .. } = found.covariates[0].part else {
        panic!("{found:?}");
    };
    near(gamma, -3.0, 0.02);
    assert!(r_squared > 0.999 && r_squared <= 1.0, "{r_squared}");
}

#[test]
fn covariates_that_can_say_nothing_are_left_out_by_name() {
    let [difference, first, second] = [0.1, 0.5, 0.9].map(|salt| scatter(35, salt * salt));
    let pair = |i: usize| Pair {
        difference: difference[i],
        covariates: vec![0.0, first[i], 2.0 * first[i] + 1.0, second[i], difference[i] + first[i]],
        disturbance: 0.0,
    };
    let pairs: Vec<Pair> = (0..35).map(pair).collect();
    let names = ["constant", "first", "again", "second", "third"];
    let found = Estimate::of(&pairs, &names).expect("enough pairs");
    let named: Vec<&str> = found.covariates.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(named, names);
    let parts: Vec<Part> = found.covariates.iter().map(|it| it.part).collect();
    assert_eq!(parts[0], Part::WithoutVariance);
    assert!(matches!(parts[1], Part::Used { .. }));
    // The salts make the second the first shifted, around the ends of -1..1: not redundant.
    assert_eq!(parts[2], Part::Redundant);
    assert!(matches!(parts[3], Part::Used { .. }));
    assert_eq!(parts[4], Part::TooFewPairs);
}

/// Disturbed pairs are ten times as noisy: they lose weight. A stall in an undisturbed pair
/// doesn't.
#[test]
fn weights_follow_the_disturbance_and_never_the_difference() {
    let noise = scatter(60, 0.2);
    let pair = |i: usize| {
        let disturbance = if i.is_multiple_of(3) { 1.0 } else { 0.0 };
        Pair { difference: noise[i] * (1.0 + 9.0 * disturbance), covariates: vec![], disturbance }
    };
    let mut pairs: Vec<Pair> = (0..60).map(pair).collect();
    let found = Estimate::of(&pairs, &[]).expect("enough pairs");
    assert!(found.weighting.ratio > 5.0 && found.weighting.ratio <= WEIGHT_RATIO_MAX, "{found:?}");
    assert!(found.weighting.taken > 0.5, "{found:?}");

    for pair in &mut pairs {
        pair.disturbance = 0.0;
    }
    pairs[7].difference = -50.0;
    let found = Estimate::of(&pairs, &[]).expect("enough pairs");
    near(found.weighting.ratio, 1.0, 1e-12);
    near(found.effect, mean(&pairs.iter().map(|pair| pair.difference).collect::<Vec<_>>()), 1e-12);
}

/// The covariate is carried by one pair: that pair says nothing about the effect, the others do.
#[test]
fn a_pair_that_alone_carries_a_covariate_is_fitted_exactly() {
    let noise = scatter(17, 0.4);
    let pair = |i: usize| {
        let burst = if i == 5 { 1.0 } else { 0.0 };
        Pair { difference: noise[i] - 30.0 * burst, covariates: vec![burst], disturbance: 0.0 }
    };
    let pairs: Vec<Pair> = (0..17).map(pair).collect();
    let found = Estimate::of(&pairs, &["steal"]).expect("enough pairs");
    let others: Vec<f64> = (0..17).filter(|i| *i != 5).map(|i| noise[i]).collect();
    near(found.effect, mean(&others), 1e-9);
    near(found.standard_error, deviation(&others) / 15_f64.sqrt(), 1e-9);
    near(found.degrees, 15.0, 1e-6);
}

#[test]
fn fewer_than_two_pairs_say_nothing_and_equal_ones_leave_no_doubt() {
    assert_eq!(Estimate::of(&[], &["steal"]), None);
    assert_eq!(Estimate::of(&[Pair::bare(1.0)], &[]), None);
    let found = Estimate::of(&vec![Pair::bare(0.5); 30], &[]).expect("enough pairs");
    near(found.effect, 0.5, 1e-12);
    near(found.standard_error, 0.0, 1e-12);
}

#[test]
#[should_panic(expected = "a pair with 0 covariates of 1 names")]
fn a_pair_without_its_covariate_is_refused() {
    let _ = Estimate::of(&[Pair::bare(0.1), Pair::bare(0.2)], &["steal"]);
}
