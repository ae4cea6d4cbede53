//! Rows, and their expected order.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::PathBuf;

use ids::FileNo;
use os::{Disk, FilesystemIo, Session};
use sim::Simulation;
use sim::fs::FileSystem;
use sort::{SORT_AREA_BYTES_MIN, SortConfig, Sorter};
use stop::{Halt, Stop};
use testbed::Dice;

/// Key and payload.
pub(crate) type Row = (Vec<u8>, Vec<u8>);

pub(crate) const DIRECTORY: &str = "/temp";

/// The smallest area.
pub(crate) fn small() -> SortConfig {
    SortConfig {
        directory: PathBuf::from(DIRECTORY),
        area_bytes: SORT_AREA_BYTES_MIN,
        filesystem_io: FilesystemIo::SetAll,
        file: FileNo::new(1_000),
        budget: None,
    }
}

/// Rows of this many bytes: random keys, and payloads that say when each was pushed.
pub(crate) fn rows(count: u64, bytes: u64, seed: u64) -> Vec<Row> {
    let mut dice = Dice(seed);
    let row = |number: u64| {
        let key = dice.below(1 << 40).to_le_bytes().to_vec();
        let mut payload = vec![number as u8; (bytes - 8) as usize];
        payload[..8].copy_from_slice(&number.to_le_bytes());
        (key, payload)
    };
    (0..count).map(row).collect()
}

/// The rows in the expected order.
pub(crate) fn expected(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    rows
}

/// Pushes and takes all rows, with a look at the memory at each step.
pub(crate) fn sort(
    disk: &Disk,
    config: SortConfig,
    rows: &[Row],
    session: &Session,
) -> Result<Vec<Row>, Stop> {
    let most = config.area_bytes;
    let halt = Halt::new(session.os());
    let mut sorter = Sorter::new(disk, config, &halt, session)?;
    for (key, payload) in rows {
        sorter.push(key, payload)?;
        assert!(sorter.memory_bytes() <= most, "{} of {most}", sorter.memory_bytes());
    }
    let mut sorted = sorter.finish()?;
    let mut found = Vec::with_capacity(rows.len());
    loop {
        assert!(sorted.memory_bytes() <= most, "{} of {most}", sorted.memory_bytes());
        let Some((key, payload)) = sorted.next_row()? else { break };
        found.push((key.to_vec(), payload.to_vec()));
    }
    assert_eq!(sorted.next_row()?, None, "the end is for good");
    Ok(found)
}

/// A world with an empty directory for temporary files.
pub(crate) fn world(seed: u64) -> Simulation {
    let mut simulation = Simulation::new(seed);
    let content = &mut simulation.disks[0].content;
    content.create_dir(DIRECTORY).expect("an empty disk");
    content.sync_dir("/").expect("no fault yet");
    simulation
}

/// Asserts that nothing is left: no name, no space.
pub(crate) fn assert_nothing_is_left(fs: &mut FileSystem) {
    fs.close_all();
    assert_eq!(fs.list(DIRECTORY).expect("a directory"), Vec::<String>::new());
    let (used, _) = fs.space();
    assert_eq!(used, 0, "bytes that nobody can reach");
}
