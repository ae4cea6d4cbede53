//! The checks that need no rival, at length:
//! `cargo run --profile proof -p statements --example metamorphic -- 0 100`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use statements::metamorphic::{Checked, Metamorphic};

/// The cases that share a database.
const BATCH: u64 = 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(from), Some(to)) = (number(0), number(1)) else {
        eprintln!("metamorphic: say the first seed and the one after the last");
        return ExitCode::from(2);
    };
    let mut checked = Checked::default();
    for first in (from..to).step_by(BATCH as usize) {
        let came = Metamorphic::default().run(first..(first + BATCH).min(to));
        came.breaches.iter().for_each(|breach| eprintln!("{breach}\n"));
        checked += came;
    }
    println!("metamorphic {from} to {to}: {checked}");
    if checked.breaches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
