//! The crate agrees with SciPy and statsmodels: `fixtures/generate.py` wrote what they say.

use stats::adjusted::{Estimate, Pair, Part};
use stats::autoregressive::coefficient;
use stats::density::{Bandwidth, Density};
use stats::distributions::Distribution;
use stats::normality::ShapiroWilk;
use stats::sequential::{Looks, Spending, confidence_sequence, student_critical};
use stats::series::{autocorrelation, mean_error};
use stats::summary::SixNumbers;
use stats::two_samples::{EffectSize, Welch};

/// Agreement, relative to the larger of the two.
const CLOSE: f64 = 1e-9;

const REFERENCE: &str = include_str!("fixtures/reference.txt");

/// A line: its inputs, and what the others say of them.
struct Case {
    inputs: Vec<Vec<f64>>,
    expected: Vec<f64>,
}

fn cases(name: &str) -> Vec<Case> {
    let case = |line: &str| {
        let mut groups = line.split(" ; ");
        (groups.next() == Some(name)).then(|| {
            let numbers = |group: &str| -> Vec<f64> {
                group.split(' ').map(|word| word.parse().expect("a number")).collect()
            };
            let mut inputs: Vec<Vec<f64>> = groups.map(numbers).collect();
            let expected = inputs.pop().expect("results");
            Case { inputs, expected }
        })
    };
    let found: Vec<Case> = REFERENCE.lines().filter_map(case).collect();
    assert!(!found.is_empty(), "no case of {name}");
    found
}

/// Holds what `found` makes of each case against its results.
fn agree(name: &str, close: f64, found: impl Fn(&[Vec<f64>]) -> Vec<f64>) {
    for Case { inputs, expected } in cases(name) {
        let found = found(&inputs);
        assert_eq!(found.len(), expected.len(), "{name} of {inputs:?}");
        for (found, expected) in found.iter().zip(&expected) {
            let apart = (found - expected).abs();
            let size = expected.abs().max(found.abs());
            assert!(
                apart <= close * size || apart < 1e-15,
                "{name} of {inputs:?}: {found} here, {expected} there"
            );
        }
    }
}

#[test]
fn distributions_agree_in_their_tails_too() {
    type Make = fn(&[f64]) -> Distribution;
    let laws: [(&str, Make); 4] = [
        ("normal", |_| Distribution::Normal),
        ("student", |it| Distribution::Student { degrees: it[0] }),
        ("f", |it| Distribution::F { numerator: it[0], denominator: it[1] }),
        ("chi_square", |it| Distribution::ChiSquare { degrees: it[0] }),
    ];
    for (name, law) in laws {
        agree(&format!("{name}_cdf"), CLOSE, |it| {
            let (law, x) = (law(&it[0]), it[1][0]);
            vec![law.cdf(x), law.survival(x)]
        });
        agree(&format!("{name}_quantile"), CLOSE, |it| {
            let (law, p) = (law(&it[0]), it[1][0]);
            vec![law.quantile(p), law.upper_quantile(p)]
        });
    }
}

#[test]
fn bounds_agree_with_another_integration() {
    for (name, spending) in
        [("obrien_fleming", Spending::OBrienFleming), ("pocock", Spending::Pocock)]
    {
        agree(name, CLOSE, |it| {
            let mut looks = Looks::with(it[0][0], spending);
            it[1].iter().map(|fraction| looks.next(*fraction)).collect()
        });
    }
    agree("student_critical", CLOSE, |it| vec![student_critical(it[0][0], it[0][1])]);
    agree("confidence_sequence", CLOSE, |it| {
        vec![confidence_sequence(it[0][0], it[0][1], it[0][2])]
    });
}

#[test]
fn least_squares_with_hc3_agree() {
    agree("adjusted", CLOSE, |it| {
        let pair = |at: usize| Pair {
            difference: it[0][at],
            covariates: vec![it[1][at], it[2][at]],
            disturbance: 0.0,
        };
        let pairs: Vec<Pair> = (0..it[0].len()).map(pair).collect();
        let found = Estimate::of(&pairs, &["one", "two"]).expect("enough pairs");
        let mut all = vec![found.effect, found.standard_error, found.degrees];
        for covariate in found.covariates {
            if let Part::Used { gamma, standard_error, r_squared } = covariate.part {
                all.extend([gamma, standard_error, r_squared]);
            }
        }
        all
    });
}

#[test]
fn tests_of_two_samples_agree() {
    agree("welch", CLOSE, |it| {
        let found = Welch::of(&it[0], &it[1]).expect("a spread");
        let interval = found.interval(0.95);
        vec![found.t, found.degrees, found.p, interval.low, interval.high]
    });
    agree("hedges", CLOSE, |it| {
        let found = EffectSize::hedges_g(&it[0], &it[1]).expect("a spread");
        vec![found.value, found.variance]
    });
}

/// SciPy 1.17 takes the normal quantiles in the weights from AS 111, which is good to 1e-9 (with it
/// our W is SciPy's to all digits); here they are exact. p has the logarithm of 1 - W, and makes
/// more of the difference.
#[test]
fn shapiro_and_wilk_agree_as_far_as_scipys_normal_quantiles_go() {
    const CLOSE: f64 = 1e-6;
    agree("shapiro", CLOSE, |it| {
        let found = ShapiroWilk::of(&it[0]).expect("a sample that can be tested");
        vec![found.w, found.p]
    });
}

#[test]
fn shapes_of_samples_agree() {
    for (rule, bandwidth) in [("scott", Bandwidth::Scott), ("silverman", Bandwidth::Silverman)] {
        agree(&format!("kde_{rule}"), CLOSE, |it| {
            let found = Density::of(&it[0], bandwidth).expect("a spread");
            it[1].iter().map(|x| found.at(*x)).collect()
        });
        agree(&format!("kde_log_{rule}"), CLOSE, |it| {
            let found = Density::of_logarithms(&it[0], bandwidth).expect("a spread");
            it[1].iter().map(|x| found.at(*x)).collect()
        });
    }
    agree("six", CLOSE, |it| {
        let SixNumbers { min, q1, median, mean, q3, max } = SixNumbers::of(&it[0]);
        vec![min, q1, median, mean, q3, max]
    });
}

#[test]
fn errors_of_series_agree() {
    agree("acf", CLOSE, |it| autocorrelation(&it[0], 6).expect("a spread"));
    agree("newey_west", CLOSE, |it| vec![mean_error(&it[0], it[1][0] as usize)]);
}

#[test]
fn regressions_on_a_series_that_remembers_agree() {
    agree("autoregressive", CLOSE, |inputs| {
        let found = coefficient(&inputs[0], &inputs[1..], 0.0).expect("enough values");
        vec![found.effect, found.standard_error, found.degrees, found.rho]
    });
}
