//! The crash sweep at length:
//! `cargo run --profile proof -p proof --example crash_sweep -- small 0 100`.
//!
//! At the end it says what should have happened and never did. With `--states` the hash of each
//! distinct crash state is printed too, for `cargo xbench soak crash`, which adds up several runs.
//! With `--by sql` or `--by api` the loads of all seeds go that way, rather than of half of them.
#![forbid(unsafe_code)]

use std::fmt::Write;
use std::process::ExitCode;

use proof::{Bases, By, Kind, Tally};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().and_then(|name| Kind::ALL.into_iter().find(|k| k.name() == name));
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(kind), Some(from), Some(to)) = (kind, number(1), number(2)) else {
        eprintln!("crash_sweep: say small or large, the first seed and the one after the last");
        return ExitCode::FAILURE;
    };
    let by = match arguments.iter().position(|word| word == "--by") {
        None => None,
        Some(at) => match arguments.get(at + 1).and_then(|word| By::named(word)) {
            Some(by) => Some(by),
            None => {
                eprintln!("crash_sweep: say --by api or --by sql");
                return ExitCode::FAILURE;
            }
        },
    };
    let tells_states = arguments.iter().any(|argument| argument == "--states");
    let (mut tally, mut bases) = (Tally::default(), Bases::default());
    for seed in from..to {
        let mut sweep = kind.sweep(seed);
        sweep.load.by = by.unwrap_or(sweep.load.by);
        let swept = match sweep.run(&mut bases) {
            Ok(swept) => swept,
            Err(breach) => {
                eprintln!("crash_sweep: {breach}");
                return ExitCode::FAILURE;
            }
        };
        if tells_states {
            let line = |mut text: String, hash: &u64| {
                writeln!(text, "state {hash:016x}").expect("writing to memory");
                text
            };
            print!("{}", swept.images.iter().fold(String::new(), line));
        }
        tally.add(swept);
        println!("{} {seed}: {tally}", kind.name());
    }
    println!("missing {}: {}", kind.name(), tally.missing(kind).join("; "));
    ExitCode::SUCCESS
}
