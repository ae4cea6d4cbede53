//! What the crate promises of error and coverage, by simulation: prints the tables that stand in
//! the essays of modules `adjusted` and `sequential`.
//!
//! `cargo run --release -p stats --example calibrate [TRIALS]`; 40,000 trials of each figure take
//! some three minutes on one core.

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use simulation::{NOISES, coverage, sequential_error};

fn main() {
    let trials: u32 = std::env::args().nth(1).map_or(40_000, |trials| {
        trials.parse().expect("the only argument is the number of trials")
    });
    println!("Trials of each figure: {trials}. All in per cent.\n");
    println!("{:<26}{:<12}{:^36}  looks every 5 pairs", "", "", "coverage of 95 %, pairs");
    println!(
        "| {:<24} | {:<10} | {:>5} | {:>5} | {:>5} | {:>5} | {:>5} | {:>6} | {:>6} |",
        "noise of a block", "covariates", 10, 15, 20, 40, 100, "of 40", "of 100"
    );
    for (name, noise) in NOISES {
        for (word, covariates) in [("without", false), ("with", true)] {
            print!("| {name:<24} | {word:<10} |");
            for pairs in [10, 15, 20, 40, 100] {
                print!(" {:>5.1} |", coverage(noise, covariates, pairs, trials));
            }
            for budget in [40, 100] {
                print!(" {:>6.1} |", sequential_error(noise, covariates, (5, budget), trials));
            }
            println!();
        }
    }
}
