//! Silent damage at length: `cargo run --profile proof -p proof --example damage -- 0 100`.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures real time, outside any simulation"
)]

use std::process::ExitCode;
use std::time::Instant;

use proof::{Bases, DamageCheck, DamageTally};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(from), Some(to)) = (number(0), number(1)) else {
        eprintln!("damage: say the first seed and the one after the last");
        return ExitCode::FAILURE;
    };
    let (mut tally, mut bases) = (DamageTally::default(), Bases::default());
    let (mut failed, began) = (0, Instant::now());
    for seed in from..to {
        match DamageCheck::of(seed).run(&mut bases) {
            Ok(found) => tally.add(found),
            Err(violation) => {
                eprintln!("damage: seed {seed}: {violation}");
                failed += 1;
            }
        }
    }
    let rate = tally.count() as f64 / began.elapsed().as_secs_f64();
    println!("damage {from} to {to}: {tally}{rate:.0} damages/s");
    if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
