//! Threads of the real machine, for as long as one likes:
//! `cargo run --profile proof -p proof --example threads -- DIRECTORY SECONDS [SEED]`.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it is an application: with threads and files of its own, it measures real time"
)]

#[path = "../tests/threads/payments.rs"]
mod payments;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(parent), Some(seconds)) = (arguments.first(), number(1)) else {
        eprintln!("threads: say a directory and how many seconds");
        return ExitCode::FAILURE;
    };
    let directory = Path::new(parent).join(format!("threads-{}", std::process::id()));
    let ran = payments::run(&directory, (seconds, number(2).unwrap_or(0)));
    if let Err(error) = std::fs::remove_dir_all(&directory) {
        eprintln!("threads: cannot remove {}: {error}", directory.display());
    }
    match ran {
        Ok(tally) => {
            println!("{tally}; never: {:?}", tally.missing());
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("threads: {wrong}");
            ExitCode::FAILURE
        }
    }
}
