//! The tables: a flat file, an external table over it, and a table of its rows in each tablespace.
//!
//! Callers: `run`, `audit`.

use std::path::Path;

use database::{Connection, Options};
use ids::BlockSize;
use instance::{Creation, Parameters};
use os::{Disk, FileOperation, FileOptions, Session};
use report::number::grouped;
use stop::{RefusalKind, Stop};
use workload::web_returns::{Lines, ROWS, columns};

use super::setting::{BLOCK_SIZES, table_of, tablespace_of};

const MIB: u64 = 1 << 20;
/// The external table.
pub(super) const EXTERNAL: &str = "web_returns_et";
/// The rows are the same whatever the seed of the experiment.
const FILE_SEED: u64 = 1;
/// Bytes of the file that are written at once.
const PIECE: usize = 1 << 20;
const PLAIN: FileOptions = FileOptions { direct: false, write_through: false };
/// More than a row takes in the file, and in a table.
const LINE_BYTES: u64 = 180;
const ROW_BYTES: u64 = 200;
/// Redo logs of at least, and at most, so many bytes.
const LOG_BYTES: [u64; 2] = [8 * MIB, 512 * MIB];
/// What a database has beside data and redo: dictionary, undo, doublewrite.
const OTHER_BYTES: u64 = 256 * MIB;

/// The size of the experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Rows of each table.
    pub rows: u64,
    /// Bytes of the buffer cache for blocks of each size.
    pub cache: u64,
    /// How many times each cell is measured, at most.
    pub rounds: u32,
}

impl Size {
    /// Tables of some 130 MB.
    pub const HERE: Size = Size { rows: 1_000_000, cache: 16 * MIB, rounds: 10 };
    /// As many rows as the original had.
    pub const FULL: Size = Size { rows: ROWS, ..Size::HERE };
    /// For a model: one round, for a model repeats itself.
    pub const MODELLED: Size = Size { rows: 100_000, cache: 4 * MIB, rounds: 1 };
    /// For tests: more blocks than a tenth of the buffers all the same.
    pub const TINY: Size = Size { rows: 12_000, cache: 2 * MIB, rounds: 1 };

    fn log_file_bytes(&self) -> u64 {
        let [least, most] = LOG_BYTES;
        (self.rows * 64).clamp(least, most).next_multiple_of(MIB)
    }

    /// More than the file and the database take on disk.
    pub(super) fn disk_bytes(&self) -> u64 {
        let tables = self.rows * ROW_BYTES * BLOCK_SIZES.len() as u64;
        let logs = self.log_file_bytes() * u64::from(creation(*self).log_groups);
        self.rows * LINE_BYTES + tables + logs + OTHER_BYTES
    }
}

pub(super) fn creation(size: Size) -> Creation {
    Creation { log_file_bytes: size.log_file_bytes(), ..Options::default().creation }
}

/// The parameters of all cells: direct I/O, and a pool for blocks of each size.
pub(super) fn parameters(size: Size, asynchronous: bool) -> Parameters {
    Parameters {
        db_cache_size: size.cache,
        db_2k_cache_size: size.cache,
        db_4k_cache_size: size.cache,
        db_16k_cache_size: size.cache,
        filesystemio_options: os::FilesystemIo::SetAll,
        disk_asynch_io: asynchronous,
        ..Parameters::default()
    }
}

/// Writes the flat file. False if it was told to stop.
pub(super) fn write_file(
    disk: &Disk,
    path: &Path,
    rows: u64,
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<bool, Stop> {
    let file = disk.create(path, 0, PLAIN, session)?;
    let (mut lines, mut piece, mut at) = (Lines::new(FILE_SEED), Vec::new(), 0);
    for row in 1..=rows {
        lines.append_to(&mut piece);
        if piece.len() < PIECE && row < rows {
            continue;
        }
        if told_to_stop() {
            return Ok(false);
        }
        file.write_at(at, &piece, FileOperation::Fill.waiting(session))?;
        at += piece.len() as u64;
        piece.clear();
    }
    file.sync(FileOperation::Sync.waiting(session))?;
    Ok(true)
}

/// Makes the external table, and a table of its rows in each tablespace. False if it was told to
/// stop.
pub(super) fn load(
    connection: &mut Connection<'_>,
    file: &Path,
    rows: u64,
    tell: &mut dyn FnMut(&str),
    told_to_stop: &dyn Fn() -> bool,
) -> Result<bool, Stop> {
    let location = file.display().to_string().replace('\'', "''");
    let external = format!(
        "create external table {EXTERNAL} ({}) location '{location}' format text delimiter '|' \
         null ''",
        columns()
    );
    connection.execute(&external, &[])?;
    for block_size in BLOCK_SIZES {
        if told_to_stop() {
            return Ok(false);
        }
        tell(&format!("loading {} rows into blocks of {block_size}", grouped(rows)));
        fill(connection, block_size, rows)?;
    }
    Ok(true)
}

/// Makes a tablespace with blocks of this size, and the table in it.
fn fill(connection: &mut Connection<'_>, block_size: BlockSize, rows: u64) -> Result<(), Stop> {
    let (tablespace, table) = (tablespace_of(block_size), table_of(block_size));
    let create = format!(
        "create tablespace {tablespace} datafile '{tablespace}.dbf' size 16m \
         autoextend on next 16m blocksize {}k",
        block_size.bytes() >> 10
    );
    connection.execute(&create, &[])?;
    let fill = format!("create table {table} tablespace {tablespace} as select * from {EXTERNAL}");
    let loaded = connection.execute(&fill, &[])?.rows();
    if loaded == rows {
        return Ok(());
    }
    let message = format!("table {table} has {loaded} rows, and the file has {rows}");
    Err(Stop::refuse(RefusalKind::Corrupt, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a whole experiment ends for want of space when all is loaded but the last table.
    #[test]
    fn the_room_that_is_asked_for_grows_with_the_rows() {
        let [here, full] = [Size::HERE, Size::FULL].map(|size| size.disk_bytes());
        assert!(here > Size::HERE.rows * 900 && here < 3 << 30, "{here}");
        assert!(full > Size::FULL.rows * 900 && full < 10 << 30, "{full}");
    }
}
