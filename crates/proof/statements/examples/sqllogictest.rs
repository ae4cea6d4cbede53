//! Files of SQLite's corpus, each on a database of its own:
//! `cargo run --profile proof -p statements --example sqllogictest -- FILE...`.
//!
//! ```text
//!   file PATH: 9000 passed, 2 failed, 500 skipped, 10 out of scope
//!   left out PATH: there are no triggers
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "it reads the corpus from the real disk")]

use std::process::ExitCode;

use statements::bed::on_machine;
use statements::slt::{Scope, Tally, run_text, scope_of, style_of};

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("sqllogictest: name the files");
        return ExitCode::from(2);
    }
    let mut failed = 0;
    for file in &files {
        if let Scope::Out(why) = scope_of(file) {
            println!("left out {file}: {why}");
            continue;
        }
        match run(file) {
            Ok(tally) => {
                tally.faults.iter().for_each(|fault| eprintln!("{fault}\n"));
                for (why, count) in &tally.out_of_scope {
                    println!("out of scope {file}: {count}: {why}");
                }
                println!("file {file}: {tally}");
                failed += tally.failed;
            }
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::from(2);
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(file: &str) -> Result<Tally, String> {
    let text = std::fs::read(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (name, style) = (file.to_string(), style_of(file));
    on_machine(1, move |database, _| run_text(database, &name, &text, style))
        .map_err(|why| format!("{file}: the run didn't come to its end: {why}"))
}
