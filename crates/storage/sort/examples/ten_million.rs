//! How fast rows are sorted on this machine, and what limits that.
//!
//! `cargo run --release -p sort --example ten_million -- DIRECTORY [ROWS [AREA_MIB]]`. Rows have
//! random keys of 16 bytes and a payload of 8. For reference, the standard library sorts the same
//! rows as an array in memory. The order of the rows is checked as they come.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use ids::FileNo;
use os::{Disk, FilesystemIo, Session, SessionReading};
use sort::{SortConfig, Sorter};
use stop::{Halt, Stop};
use waits::{SessionKind, Statistic, WaitEvent};

const ROW_BYTES: u64 = 24;

/// A stream of numbers from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn key(&mut self) -> [u8; 16] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.next().to_le_bytes());
        key[8..].copy_from_slice(&self.next().to_le_bytes());
        key
    }
}

fn main() -> Result<(), Stop> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, otherwise: u64| {
        arguments.get(at).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let directory = PathBuf::from(arguments.get(1).expect("the directory to sort in"));
    let (rows, area_mib) = (number(2, 10_000_000), number(3, 64));
    let world = os::linux::start();
    let session = world.adopt("main", SessionKind::Foreground);
    let config = SortConfig {
        directory,
        area_bytes: area_mib << 20,
        filesystem_io: FilesystemIo::SetAll,
        file: FileNo::new(1_000),
        budget: None,
    };
    println!("{rows} rows of 16 + 8 bytes, sort_area_size {area_mib} MiB");
    external(&os::linux::disk(), config, rows, &session)?;
    in_memory(rows, &session);
    Ok(())
}

fn external(disk: &Disk, config: SortConfig, rows: u64, session: &Session) -> Result<(), Stop> {
    let halt = Halt::new(session.os());
    let mut sorter = Sorter::new(disk, config, &halt, session)?;
    let start = session.reading();
    let mut dice = Dice(1);
    for row in 0..rows {
        sorter.push(&dice.key(), &row.to_le_bytes())?;
    }
    let pushed = session.reading();
    report("push", rows, session, &start);
    let mut memory_bytes = sorter.memory_bytes();
    let mut sorted = sorter.finish()?;
    memory_bytes = memory_bytes.max(sorted.memory_bytes());
    let (mut last, mut count) = ([0; 16], 0);
    while let Some((key, _)) = sorted.next_row()? {
        assert!(*key >= last[..], "in order");
        last.copy_from_slice(key);
        count += 1;
    }
    assert_eq!(count, rows);
    report("finish and next_row", rows, session, &pushed);
    drop(sorted);
    report("all", rows, session, &start);
    let totals = session.reading().totals;
    let written = totals.statistic(Statistic::PhysicalWritesDirectTemporary);
    let read = totals.statistic(Statistic::PhysicalReadsDirectTemporary);
    println!("  {written} blocks written, {read} read; memory at most {memory_bytes} bytes");
    Ok(())
}

fn report(what: &str, rows: u64, session: &Session, start: &SessionReading) {
    let SessionReading { at, times, totals } = session.reading();
    let (took, cpu) = (at.since(start.at).0, times.since(start.times).cpu.0);
    let waits = totals.since(&start.totals);
    let waited = |event: WaitEvent| waits.event(event).total.0 / 1_000_000;
    let mib_s = (rows * ROW_BYTES) as f64 / (1 << 20) as f64 / (took as f64 / 1e9);
    println!(
        "  {what:<20} {:>6} ms, {mib_s:>5.0} MiB/s; CPU {} ms ({} ns a row), waits: write {} ms, \
         read {} ms",
        took / 1_000_000,
        cpu / 1_000_000,
        cpu / rows,
        waited(WaitEvent::DirectPathWriteTemp),
        waited(WaitEvent::DirectPathReadTemp),
    );
}

fn in_memory(rows: u64, session: &Session) {
    let mut dice = Dice(1);
    let mut array: Vec<([u8; 16], u64)> = Vec::with_capacity(rows as usize);
    let start = session.reading();
    array.extend((0..rows).map(|row| (dice.key(), row)));
    array.sort();
    println!("for reference, an array in memory, filled and sorted");
    report("sort", rows, session, &start);
}
