//! Forebay against a rival, at length:
//! `cargo run --profile proof -p statements --example differential -- sqlite 0 100`; against
//! `postgresql` the folder of the server's socket comes behind, and the path of `psql`.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use statements::differential::{Compared, Differential};
use statements::generate::Rival;
use statements::rivals::{Postgresql, Program, Sqlite};

/// The cases that share a database.
const BATCH: u64 = 25;
const USAGE: &str = "differential: say sqlite or postgresql, the first seed and the one after the \
                     last; behind postgresql's also the folder of its socket, and psql";

fn main() -> ExitCode {
    match run() {
        Ok(compared) if compared.differences.is_empty() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<Compared, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize| arguments.get(at).ok_or(USAGE);
    let number = |at: usize| word(at)?.parse::<u64>().map_err(|_| USAGE);
    let against = Rival::named(word(0)?).ok_or(USAGE)?;
    let (from, to) = (number(1)?, number(2)?);
    let mut program: Box<dyn Program> = match against {
        Rival::Sqlite => Box::new(Sqlite::new()?),
        Rival::Postgresql => {
            let (socket, psql) = (word(3)?, arguments.get(4).map_or("psql", String::as_str));
            let schema = format!("cases_{from}");
            Box::new(Postgresql::connect(Path::new(psql), Path::new(socket), &schema)?)
        }
        Rival::Nobody => return Err(USAGE.into()),
    };
    eprintln!("differential: against {}", program.version());
    let mut compared = Compared::default();
    for first in (from..to).step_by(BATCH as usize) {
        let seeds = first..(first + BATCH).min(to);
        let mut differential = Differential { against, program: &mut *program, lie: None };
        let came = differential.run(seeds)?;
        came.differences.iter().for_each(|difference| eprintln!("{difference}\n"));
        compared += came;
    }
    println!("differential {from} to {to}: {compared}");
    Ok(compared)
}
