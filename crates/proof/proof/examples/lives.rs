//! Lives of databases at length: `cargo run --profile proof -p proof --example lives -- 0 1000`.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures real time, outside any simulation"
)]

use std::process::ExitCode;
use std::time::Instant;

use proof::{Lives, LivesTally};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(from), Some(to)) = (number(0), number(1)) else {
        eprintln!("lives: say the first seed and the one after the last");
        return ExitCode::FAILURE;
    };
    let (mut tally, mut failed, began) = (LivesTally::default(), 0, Instant::now());
    for seed in from..to {
        match Lives::of(seed).run() {
            Ok(found) => tally += found,
            Err(violation) => {
                eprintln!("lives: seed {seed}: {violation}");
                failed += 1;
            }
        }
    }
    println!("lives {from} to {to}: {tally}; {:.1} s", began.elapsed().as_secs_f64());
    if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
