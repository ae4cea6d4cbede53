//! Tests of the comparison: findings on pairs made by hand, and the promise of 5 % by simulation.

use super::*;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp, StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Pairs whose log ratios have this mean and alternate around it by `spread`.
fn pairs(count: u32, log_ratio: f64, spread: f64) -> Vec<(f64, f64)> {
    let sign = |i: u32| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    (0..count).map(|i| (100.0, 100.0 * (log_ratio + sign(i) * spread).exp())).collect()
}

fn finding(log_ratio: f64, spread: f64, aa_spread: f64) -> Finding {
    let aa = pairs(5, 0.0, aa_spread);
    Comparison::of(&pairs(10, log_ratio, spread), &aa, 0.02, 1).expect("enough pairs").finding
}

#[test]
fn a_large_and_steady_difference_is_real_and_matters() {
    assert_eq!(finding(0.05, 0.01, 0.01), Finding::Real { matters: Matters::Yes });
    assert_eq!(finding(-0.05, 0.01, 0.01), Finding::Real { matters: Matters::Yes });
}

#[test]
fn a_small_and_steady_difference_is_real_and_does_not_matter() {
    assert_eq!(finding(0.008, 0.002, 0.002), Finding::Real { matters: Matters::No });
}

#[test]
fn a_real_difference_about_the_threshold_leaves_open_whether_it_matters() {
    assert_eq!(finding(0.02, 0.008, 0.008), Finding::Real { matters: Matters::Open });
}

#[test]
fn steady_equals_show_no_difference() {
    assert_eq!(finding(0.000_5, 0.01, 0.01), Finding::NoDifference);
}

/// The interval is as narrow as above, but equal settings differ by more here than what matters.
#[test]
fn no_difference_is_not_claimed_where_equals_differ_by_what_matters() {
    assert!(matches!(finding(0.000_5, 0.01, 0.05), Finding::CannotTell { .. }));
}

/// As clear as the first case by interval and p, but under twice the floor.
#[test]
fn nothing_below_twice_the_floor_is_claimed() {
    assert!(matches!(finding(0.05, 0.01, 0.04), Finding::CannotTell { .. }));
}

#[test]
fn wide_pairs_cannot_tell_and_say_how_many_more_would() {
    let Finding::CannotTell { more_pairs: Some(wide) } = finding(0.01, 0.05, 0.05) else {
        panic!("an interval from -3 % to +5 % decides nothing")
    };
    let Finding::CannotTell { more_pairs: Some(wider) } = finding(0.01, 0.08, 0.08) else {
        panic!("nor does a wider one")
    };
    assert!(wide >= 20 && wider > wide, "{wide}, {wider}");
    assert_eq!(finding(0.01, 0.9, 0.9), Finding::CannotTell { more_pairs: None });
}

/// Five pairs that agree have p = 2/32: no claim, whatever the interval; one more pair would do.
#[test]
fn five_pairs_are_never_enough_to_call_a_difference_real() {
    let found = Comparison::of(&pairs(5, 0.5, 0.0), &pairs(5, 0.0, 0.001), 0.02, 1);
    let found = found.expect("enough to compare");
    assert_eq!(found.finding, Finding::CannotTell { more_pairs: Some(1) });
    assert_eq!(found.p, 2.0 / 32.0);
}

#[test]
fn a_comparison_needs_two_pairs_and_an_a_a_pair() {
    assert_eq!(Comparison::of(&pairs(1, 0.1, 0.0), &pairs(5, 0.0, 0.1), 0.02, 1), None);
    assert_eq!(Comparison::of(&pairs(10, 0.1, 0.0), &[], 0.02, 1), None);
}

/// A second run that is always 3 % slower is no deviation, and yet what equals can show.
#[test]
fn a_bias_of_the_second_run_raises_the_floor() {
    let biased = noise_floor(&pairs(5, -0.03, 0.0), 10);
    let expected = (2.5706 * 0.03 / 10f64.sqrt()).exp();
    assert!((biased - expected).abs() < 1e-6, "{biased} {expected}");
    assert_eq!(noise_floor(&pairs(5, 0.0, 0.0), 10), 1.0);
}

#[test]
fn swapping_the_settings_mirrors_the_comparison() {
    let (straight, aa) = (pairs(10, 0.03, 0.01), pairs(5, 0.0, 0.01));
    let swapped: Vec<(f64, f64)> = straight.iter().map(|&(a, b)| (b, a)).collect();
    let of = |pairs| Comparison::of(pairs, &aa, 0.02, 1).expect("enough pairs");
    let (one, other) = (of(&straight), of(&swapped));
    assert!((one.ratio * other.ratio - 1.0).abs() < 1e-12);
    assert_eq!((one.p, one.finding), (other.p, other.finding));
    assert!(one.ratio > 1.0, "B is the larger side");
}

/// One experiment's runs: their log throughput, in units of a run's standard deviation.
type Noise = fn(&mut Xoshiro256PlusPlus, run: usize, memory: &mut f64) -> f64;

fn normal(random: &mut Xoshiro256PlusPlus, _: usize, _: &mut f64) -> f64 {
    StandardNormal.sample(random)
}

/// Student's t with 3 degrees of freedom.
fn heavy(random: &mut Xoshiro256PlusPlus, _: usize, _: &mut f64) -> f64 {
    StudentT::new(3.0).expect("3 is valid").sample(random) / 3f64.sqrt()
}

/// Runs are only ever slower than they could be.
fn skewed(random: &mut Xoshiro256PlusPlus, _: usize, _: &mut f64) -> f64 {
    -Exp::new(1.0).expect("1 is valid").sample(random)
}

/// One run in ten is slower by three standard deviations of all.
fn hiccups(random: &mut Xoshiro256PlusPlus, _: usize, _: &mut f64) -> f64 {
    let usual: f64 = StandardNormal.sample(random);
    if random.random_range(0..10) == 0 { 0.4 * usual - 3.0 } else { 0.4 * usual }
}

/// The machine has a fast and a slow state, and each run meets one of them.
fn two_states(random: &mut Xoshiro256PlusPlus, _: usize, _: &mut f64) -> f64 {
    let usual: f64 = StandardNormal.sample(random);
    0.1 * usual + if random.random::<bool>() { 1.0 } else { -1.0 }
}

/// The machine wanders: each run starts from where the one before left it.
fn wandering(random: &mut Xoshiro256PlusPlus, _: usize, memory: &mut f64) -> f64 {
    let (step, usual): (f64, f64) = (StandardNormal.sample(random), StandardNormal.sample(random));
    *memory += 0.5 * step;
    *memory + 0.7 * usual
}

/// The second run of a pair is slower by two standard deviations.
fn second_slower(random: &mut Xoshiro256PlusPlus, run: usize, _: &mut f64) -> f64 {
    let usual: f64 = StandardNormal.sample(random);
    if run % 2 == 1 { usual - 2.0 } else { usual }
}

const NOISES: [(&str, Noise); 7] = [
    ("normal", normal),
    ("heavy tails (t, 3 df)", heavy),
    ("skewed (exponential)", skewed),
    ("one in ten 3 sd slower", hiccups),
    ("two states, even", two_states),
    ("wandering", wandering),
    ("second run 2 sd slower", second_slower),
];

/// Ten pairs whose first side is drawn, as (A to B) log ratios, and five A/A pairs among them.
fn experiment(noise: Noise, effect: f64, random: &mut Xoshiro256PlusPlus) -> (Vec<f64>, Vec<f64>) {
    /// One standard deviation of a run, as a log ratio.
    const SD: f64 = 0.01;
    let (mut memory, mut logs, mut aa_logs) = (0.0, Vec::new(), Vec::new());
    for step in 0..15 {
        let mut run = |place| SD * noise(random, place, &mut memory);
        let (first, second) = (run(0), run(1));
        if step % 3 == 2 {
            aa_logs.push(second - first);
        } else if random.random::<bool>() {
            logs.push(second + SD * effect - first);
        } else {
            logs.push(first + SD * effect - second);
        }
    }
    (logs, aa_logs)
}

fn evidence<'a>(logs: &'a [f64], aa_logs: &[f64], seed: u64) -> Evidence<'a> {
    Evidence {
        // Fewer resamples than in earnest: they blur single intervals, hardly the shares.
        interval: interval_95_of_mean(logs, seed, 200),
        p: p_of_logs(logs, seed),
        rms: root_mean_square(aa_logs),
        aa_pairs: count(aa_logs),
        threshold: 0.02_f64.ln_1p(),
        logs,
    }
}

/// In how many per cent of `trials`: p alone, the interval alone, all three.
fn called_real(noise: Noise, effect: f64, trials: u32) -> [f64; 3] {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut hits = [0; 3];
    for trial in 0..trials {
        let (logs, aa_logs) = experiment(noise, effect, &mut random);
        let evidence = evidence(&logs, &aa_logs, trial.into());
        hits[0] += u32::from(evidence.p <= P_MAX);
        hits[1] += u32::from(evidence.interval.low > 0.0 || evidence.interval.high < 0.0);
        hits[2] += u32::from(evidence.is_real());
    }
    hits.map(|hits| 100.0 * f64::from(hits) / f64::from(trials))
}

/// The other error: of a difference that just matters, at twice a run's noise.
#[test]
fn a_difference_that_matters_is_called_none_in_at_most_one_of_twenty_experiments() {
    const TRIALS: u32 = 1_000;
    for (name, noise) in NOISES {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(13);
        let mut none = 0;
        for trial in 0..TRIALS {
            let (logs, aa_logs) = experiment(noise, 1.98, &mut random);
            let finding = evidence(&logs, &aa_logs, trial.into()).finding();
            let slight = [Finding::NoDifference, Finding::Real { matters: Matters::No }];
            none += u32::from(slight.contains(&finding));
        }
        let share = 100.0 * f64::from(none) / f64::from(TRIALS);
        println!("{name}: {share:.1} % called too small to matter");
        assert!(share <= 5.0, "{name}: {share} %");
    }
}

/// The table in the essay: `cargo test -p stats equals -- --nocapture` prints it.
#[test]
fn equals_are_called_different_in_at_most_one_of_twenty_experiments() {
    const TRIALS: u32 = 4_000;
    for (name, noise) in NOISES {
        let [p, interval, all] = called_real(noise, 0.0, TRIALS);
        let power = [1.0, 2.0, 4.0].map(|effect| called_real(noise, effect, 1_000)[2]);
        println!(
            "//! | {name:<28} | {p:>7.1} | {interval:>14.1} | {all:>9.1} | {:>4.0} | {:>4.0} | \
             {:>4.0} |",
            power[0], power[1], power[2]
        );
        assert!(p <= 6.0, "{name}: p alone {p} %");
        assert!(all <= 2.0, "{name}: all three {all} %");
        assert!(power[0] <= power[1] && power[1] <= power[2], "{name}: {power:?}");
    }
}

/// What a recommendation is worth: so many pairs decide in most experiments whose truth and spread
/// are what the estimate was; to one side by a difference, to the other by equivalence.
#[test]
fn the_recommended_pairs_decide_in_most_experiments() {
    for (effect, spread) in [(0.03, 0.05), (0.001, 0.03)] {
        let have = pairs(10, effect, spread);
        let of = |pairs: &[(f64, f64)], aa: &[(f64, f64)]| {
            Comparison::of(pairs, aa, 0.02, 1).expect("enough pairs").finding
        };
        let Finding::CannotTell { more_pairs: Some(more) } = of(&have, &pairs(6, 0.0, spread))
        else {
            panic!("ten pairs leave {effect} open at a spread of {spread}")
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut draw = |count: u32, effect: f64| -> Vec<(f64, f64)> {
            let mut log = || {
                effect
                    + spread
                        * <StandardNormal as Distribution<f64>>::sample(
                            &StandardNormal,
                            &mut random,
                        )
            };
            (0..count).map(|_| (1.0, log().exp())).collect()
        };
        let count = 10 + more;
        let decided = (0..60)
            .filter(|_| {
                let (ab, aa) = (draw(count, effect), draw(count * 3 / 5, 0.0));
                !matches!(of(&ab, &aa), Finding::CannotTell { .. })
            })
            .count();
        assert!(decided >= 42, "{more} more pairs decided {decided} of 60 ({effect})");
    }
}
