//! Measures how fast crash states are enumerated and hashed, on a small file system with enough
//! pending changes for endless states.
//!
//! `cargo run --profile proof -p sim --example crash_states`

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures real time, from outside the simulation"
)]

use std::time::Instant;

use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;

const STATES: usize = 2_000_000;

fn main() {
    let fs = eventful().expect("no faults are planned");
    let states = CrashStates::of(&fs);
    for hashed in [false, true] {
        let started = Instant::now();
        let mut sum = 0_u64;
        let all = std::iter::repeat_with(|| states.exhaustive(u64::MAX).expect("countable"));
        for state in all.flatten().take(STATES) {
            let hash = if hashed { state.fs.image_hash().0 } else { state.number };
            sum = sum.wrapping_add(hash);
        }
        let rate = STATES as f64 / started.elapsed().as_secs_f64();
        let what = if hashed { "enumerated and hashed" } else { "enumerated" };
        println!("{what}: {rate:.0} states a second (sum {sum:x})");
    }
}

/// Two files, eight pending writes, three pending changes of names.
fn eventful() -> std::io::Result<FileSystem> {
    let mut fs = FileSystem::new(1 << 20);
    let log = fs.create("/log")?;
    let data = fs.create("/data")?;
    for file in [log, data] {
        fs.write(file, 0, &[1; 16384], true)?;
    }
    fs.sync_dir("/")?;
    for record in 0..4_u8 {
        let at = u64::from(record);
        fs.write(log, at * 700, &[record + 2; 700], false)?;
        fs.write(data, at * 4096, &[record + 2; 1024], false)?;
    }
    fs.rename("/data", "/data.old")?;
    let _ = fs.create("/data")?;
    Ok(fs)
}
