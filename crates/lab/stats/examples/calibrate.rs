//! What the crate promises of error and coverage, by simulation: prints the tables that stand in
//! the essays of modules `adjusted` and `sequential::outlook`.
//!
//! `cargo run --release -p stats --example calibrate [TRIALS]`; 40,000 trials of each figure, and
//! 1,000 for each number of further pairs, take some four minutes on one core.

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use simulation::{NOISES, coverage, outlook, sequential_error, width_with_covariates};
use stats::sequential::Decision;

fn main() {
    let trials: u32 = std::env::args().nth(1).map_or(40_000, |trials| {
        trials.parse().expect("the only argument is the number of trials")
    });
    println!("All in per cent of {trials} experiments for each figure.");
    errors(trials);
    widths(trials / 40);
    outlooks(trials / 40);
}

/// The table in module `adjusted`.
fn errors(trials: u32) {
    println!("\nCoverage of the 95 % interval by pairs; total error with looks every 5 pairs.\n");
    print!("| {:<24} | z   |", "noise");
    println!("    10 |    15 |    20 |    40 |   100 | to 40 | to 100 |");
    for (name, noise) in NOISES {
        for (word, covariates) in [("no", false), ("yes", true)] {
            print!("| {name:<24} | {word:<3} |");
            for pairs in [10, 15, 20, 40, 100] {
                print!(" {:>5.1} |", coverage(noise, covariates, pairs, trials));
            }
            print!(" {:>5.1} |", sequential_error(noise, covariates, (5, 40), trials));
            println!(" {:>6.1} |", sequential_error(noise, covariates, (5, 100), trials));
        }
    }
}

/// The table below it.
fn widths(trials: u32) {
    println!("\nWidth of the interval with covariates and weights, relative to that without.\n");
    println!("| {:<24} |    20 |    40 |   100 |", "noise");
    for (name, noise) in NOISES {
        print!("| {name:<24} |");
        for pairs in [20, 40, 100] {
            print!(" {:>5.2} |", width_with_covariates(noise, pairs, trials));
        }
        println!();
    }
}

/// The table in module `sequential::outlook`.
fn outlooks(trials: u32) {
    println!("\nHow many more pairs would decide, of a budget of 300: said, and right if said.\n");
    println!("| decision | sd | after | effect | said | pairs | right |");
    for (word, decision) in [("finding", Decision::Finding), ("matters", Decision::Matters)] {
        for spread in [1.0, 2.0, 4.0] {
            for first in [20, 40] {
                for effect in [0.0, 0.5, 1.0, 2.0] {
                    let it = outlook(decision, (effect, spread), (first, 300), trials);
                    let share = |part: u32, of: u32| 100.0 * f64::from(part) / f64::from(of.max(1));
                    let pairs = f64::from(it.pairs) / f64::from(it.said.max(1));
                    print!("| {word:<8} | {spread:>2} | {first:>5} | {effect:>6} |");
                    print!(" {:>4.0} | {pairs:>5.0} |", share(it.said, it.asked));
                    println!(" {:>5.0} |", share(it.right, it.said));
                }
            }
        }
    }
}
