//! What the crate promises of error and coverage holds in simulation: the short form of
//! `cargo run --release -p stats --example calibrate`.

mod simulation;

use simulation::{NOISES, Noise, coverage, outlook, sequential_error, width_with_covariates};
use stats::sequential::Decision;

/// Each figure has the luck of its trials: 3.5 standard errors of a share of 5 % in 1,500 are 2.0
/// points. The table in module `adjusted`, of 40,000, holds 93 to 97.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say_whatever_the_noise() {
    for (name, noise) in NOISES {
        for covariates in [false, true] {
            for pairs in [10, 20, 40] {
                let share = coverage(noise, covariates, pairs, 1_500);
                assert!(
                    (92.5..=98.5).contains(&share),
                    "{name}, {pairs} pairs, covariates {covariates}: {share} % covered"
                );
            }
        }
    }
}

/// A repeated test of 5 % without bounds would be wrong in 15 to 25 % of the experiments.
#[test]
fn an_experiment_that_is_looked_at_every_five_pairs_keeps_its_declared_error() {
    for (name, noise) in NOISES {
        for covariates in [false, true] {
            let share = sequential_error(noise, covariates, (5, 40), 1_500);
            assert!(share <= 7.0, "{name}, covariates {covariates}: {share} % called different");
        }
    }
}

/// A covariate that sees the noise narrows the interval, one that doesn't costs little.
#[test]
fn covariates_narrow_the_interval_where_they_explain_something() {
    let bursts = width_with_covariates(Noise::Bursts, 40, 200);
    assert!(bursts < 0.95, "{bursts}");
    let restless = width_with_covariates(Noise::Restless, 40, 200);
    assert!(restless < 0.7, "{restless}");
    for (name, noise) in NOISES {
        let width = width_with_covariates(noise, 40, 200);
        assert!(width < 1.1, "{name}: {width}");
    }
}

/// Asked after 20 pairs that deviate by two thresholds, and after 40 whether it matters.
#[test]
fn the_pairs_that_are_said_to_decide_do_so_in_three_of_four_experiments() {
    let cases = [
        (Decision::Finding, 20, [0.0, 0.5, 1.0, 2.0].as_slice()),
        (Decision::Matters, 40, [0.0, 0.5, 2.0].as_slice()),
    ];
    for (decision, first, effects) in cases {
        for effect in effects {
            let it = outlook(decision, (*effect, 2.0), (first, 300), 100);
            assert!(it.said >= 20, "{decision:?}, effect {effect}: {it:?}");
            assert!(4 * it.right >= 3 * it.said, "{decision:?}, effect {effect}: {it:?}");
        }
    }
}
