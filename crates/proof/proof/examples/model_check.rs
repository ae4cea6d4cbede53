//! The model check at length: `cargo run --profile proof -p proof --example model_check -- 0 100`;
//! with `cancels` as the third argument calls are cancelled at random moments.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures real time, outside any simulation"
)]

use std::process::ExitCode;
use std::time::Instant;

use proof::{ModelCheck, ModelTally};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(from), Some(to)) = (number(0), number(1)) else {
        eprintln!("model_check: say the first seed and the one after the last");
        return ExitCode::FAILURE;
    };
    let cancels = arguments.get(2).is_some_and(|word| word == "cancels");
    let (mut tally, mut failed, began) = (ModelTally::default(), 0, Instant::now());
    for seed in from..to {
        match (ModelCheck { cancels, ..ModelCheck::of(seed) }).run() {
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
