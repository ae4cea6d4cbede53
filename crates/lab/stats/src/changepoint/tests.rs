//! Tests of change points and cycles: series made by hand, and how often noise misleads.

use super::*;
use rand::SeedableRng;
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

const SERIES: u32 = 400;

/// So many values of noise with variance 1; each keeps this part of the one before.
fn noise(count: usize, kept: f64, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let mut state: f64 = StandardNormal.sample(random);
    (0..count)
        .map(|_| {
            let step: f64 = StandardNormal.sample(random);
            state = kept * state + (1.0 - kept * kept).sqrt() * step;
            state
        })
        .collect()
}

/// In per cent of many series.
fn share(seed: u64, mut holds: impl FnMut(&mut Xoshiro256PlusPlus) -> bool) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let hits = (0..SERIES).filter(|_| holds(&mut random)).count();
    100.0 * hits as f64 / f64::from(SERIES)
}

#[test]
fn a_level_without_a_ramp_is_steady_from_the_start() {
    for (kept, least) in [(0.0, 97.0), (0.8, 85.0)] {
        let steady = share(1, |random| {
            let series: Vec<f64> =
                noise(120, kept, random).iter().map(|it| 100.0 + 3.0 * it).collect();
            steady_from(&series).is_some_and(|from| from <= 12)
        });
        println!("no ramp, {kept} kept: steady from the start in {steady} %");
        assert!(steady >= least, "{steady} % with {kept} kept");
    }
    assert_eq!(steady_from(&[5.0; 40]), Some(0));
}

#[test]
fn the_end_of_a_ramp_is_found_even_with_stalls() {
    for stalls in [false, true] {
        let found = share(2, |random| {
            let mut series: Vec<f64> = noise(120, 0.0, random)
                .iter()
                .enumerate()
                .map(|(at, it)| 3.0 * it + 50.0 + 50.0 * (at as f64 / 30.0).min(1.0))
                .collect();
            if stalls {
                (series[60], series[90]) = (5.0, 0.0);
            }
            steady_from(&series).is_some_and(|from| (22..=38).contains(&from))
        });
        println!("ramp, stalls {stalls}: its end found in {found} %");
        assert!(found >= 93.0, "{found} %");
    }
}

#[test]
fn what_never_settles_is_never_steady() {
    let never = share(3, |random| {
        let rising = noise(120, 0.0, random);
        let series: Vec<f64> =
            rising.iter().enumerate().map(|(at, it)| 3.0 * it + 50.0 + 0.4 * at as f64).collect();
        steady_from(&series).is_none()
    });
    println!("never settles: said so in {never} %");
    assert!(never >= 95.0, "{never} %");
    let late: Vec<f64> = (0..100).map(|at| if at < 80 { 10.0 } else { 20.0 }).collect();
    assert_eq!(steady_from(&late), None);
    assert_eq!(steady_from(&[1.0; 9]), None);
}

#[test]
fn segments_begin_where_the_level_or_the_noise_changes() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let series: Vec<f64> = noise(150, 0.0, &mut random)
        .iter()
        .enumerate()
        .map(|(at, it)| match at / 50 {
            0 => 10.0 + it,
            1 => 20.0 + it,
            _ => 20.0 + 10.0 * it,
        })
        .collect();
    let found = segments(&series);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[..2], [0, 50], "{found:?}");
    assert!(found[2].abs_diff(100) <= 3, "{found:?}");
    assert_eq!(segments(&[1.0, 2.0]), [0]);
}

/// A dip of a fifth of the level at every checkpoint, under noise of half of that.
#[test]
fn the_period_of_checkpoints_is_found_and_noise_has_none() {
    let found = share(5, |random| {
        let series: Vec<f64> = noise(300, 0.0, random)
            .iter()
            .enumerate()
            .map(|(at, it)| {
                let dip = if (at as f64 % 23.5) < 6.0 { 20.0 } else { 0.0 };
                100.0 - dip + 0.05 * at as f64 + 8.0 * it
            })
            .collect();
        cycle(&series).is_some_and(|it| (it.period - 23.5).abs() < 1.0)
    });
    println!("checkpoints: period found in {found} %");
    assert!(found >= 95.0, "{found} %");
    for kept in [0.0, 0.5, 0.8, 0.95] {
        let misled = share(6, |random| cycle(&noise(300, kept, random)).is_some());
        println!("noise, {kept} kept: taken for a cycle in {misled} %");
        assert!(misled <= 5.0, "{misled} % with {kept} kept");
    }
    assert_eq!(cycle(&[3.0; 50]), None);
    assert_eq!(cycle(&[1.0, 2.0, 1.0, 2.0]), None);
}
