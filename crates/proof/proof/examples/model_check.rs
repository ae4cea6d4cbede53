//! The model check at length: `cargo run --profile proof -p proof --example model_check -- 0 100`;
//! with `cancels` behind the seeds calls are cancelled at random moments, and with `--by sql` or
//! `--by api` all seeds go that way, rather than half of them each.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures real time, outside any simulation"
)]

use std::process::ExitCode;
use std::time::Instant;

use proof::{By, ModelCheck, ModelTally};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(from), Some(to)) = (number(0), number(1)) else {
        eprintln!("model_check: say the first seed and the one after the last");
        return ExitCode::FAILURE;
    };
    let cancels = arguments.iter().any(|word| word == "cancels");
    let by = match arguments.iter().position(|word| word == "--by") {
        None => None,
        Some(at) => match arguments.get(at + 1).and_then(|word| By::named(word)) {
            Some(by) => Some(by),
            None => {
                eprintln!("model_check: say --by api or --by sql");
                return ExitCode::FAILURE;
            }
        },
    };
    let (mut tally, mut failed, began) = (ModelTally::default(), 0, Instant::now());
    for seed in from..to {
        let check = ModelCheck::of(seed);
        let by = by.unwrap_or(check.by);
        match (ModelCheck { cancels, by, ..check }).run() {
            Ok(found) => tally += found,
            Err(violation) => {
                eprintln!("model_check: seed {seed}: {violation}");
                failed += 1;
            }
        }
    }
    let rate = tally.operations as f64 / began.elapsed().as_secs_f64();
    println!("model {from} to {to}: {tally}; {rate:.0} operations/s");
    if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
