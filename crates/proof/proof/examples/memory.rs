//! What a database of many times its cache takes of memory, against what its parameters allow:
//! `cargo xbench soak memory`, or
//! `cargo run --profile proof -p proof --example memory -- DIRECTORY CACHE-MB TIMES SESSIONS`.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "it is an application: with threads of its own, it reads what the process takes"
)]

#[path = "../tests/memory/load.rs"]
mod load;

use std::path::Path;
use std::process::ExitCode;

const MIB: u64 = 1 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(parent), Some(cache), Some(times), Some(sessions)) =
        (arguments.first(), number(1), number(2), number(3))
    else {
        eprintln!("memory: say a directory, the cache in MiB, how many times that, and sessions");
        return ExitCode::FAILURE;
    };
    let directory = Path::new(parent).join(format!("memory-{}", std::process::id()));
    let plan = load::Plan {
        cache: cache * MIB,
        times,
        sessions: sessions as i64,
        sort_area: (cache * MIB / 8).max(1 << 20),
    };
    let mut tell = |phase: &str, now: u64, most: u64| {
        println!("{phase:<28} {:>6} MiB, at most {:>6} MiB", now / MIB, most / MIB);
    };
    let ran = load::run(plan, &directory, &mut tell);
    let removed = std::fs::remove_dir_all(&directory);
    let seen = match ran {
        Ok(seen) => seen,
        Err(stop) => {
            eprintln!("memory: {stop}");
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = removed {
        eprintln!("memory: cannot remove {}: {error}", directory.display());
    }
    let (most, bound) = (seen.most(), plan.bound(seen.before));
    println!("{} rows: {} MiB at most, {} allowed", seen.rows, most / MIB, bound / MIB);
    println!("by {} KiB more when the same was done again", seen.growth() >> 10);
    if most <= bound && seen.growth() <= plan.growth() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
