//! The crash sweep at length: `cargo run --release -p proof --example crash_sweep -- small 0 100`.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "it measures real time and reads its arguments, outside any simulation"
)]

use std::process::ExitCode;
use std::time::Instant;

use proof::{Sweep, Tally, create};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "small".to_string());
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
    let (from, to) = (number().unwrap_or(0), number().unwrap_or(10));
    let of = match kind.as_str() {
        "small" => Sweep::small,
        "large" => Sweep::large,
        other => {
            eprintln!("crash_sweep: there are small and large sweeps, not '{other}'");
            return ExitCode::FAILURE;
        }
    };
    let base = create(&of(0).shape);
    let (mut tally, started) = (Tally::default(), Instant::now());
    for seed in from..to {
        match of(seed).run(&base) {
            Ok(swept) => tally.add(swept),
            Err(violation) => {
                eprintln!("crash_sweep: {violation}");
                return ExitCode::FAILURE;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        let rate = tally.distinct() as f64 / seconds;
        println!("{kind} {seed}: {tally}; {rate:.0} states/s");
    }
    ExitCode::SUCCESS
}
