//! Rows that don't fit in memory, set aside by the hashes of their keys.
//!
//! ```text
//!   hash  │ level 0 │ level 1 │ level 2 │ …  │ bits of tables │
//!           the rows of one partition have the same bits here, so each partition is done alone,
//!           and one that is still too large is dealt by its next bits
//! ```
//!
//! Invariants
//!   * rows with equal keys are in one partition at each level
//!   * a row that equals nothing (a NULL among its keys) is in any
//!
//! Callers: joins, groups, DISTINCT, set operations; `store`, for rows that are only kept.

use expression::Rows;
use sort::{Spool, SpoolFile, SpoolReader, SpoolShape};
use stop::{RefusalKind, Stop};

use crate::memory::Memory;
use crate::source::has_room;
use crate::{BATCH_ROWS_MAX, Spill, World};

/// The bits of a hash by which rows are dealt; the others are for tables.
const DEALT_BITS: u32 = 32;

/// This part of the memory is for what is written and read.
const SHARE: u64 = 4;

/// A sort block, which a piece in hand has at least.
const PIECE_BYTES: u64 = 32 << 10;

/// The fewest bytes of rows that are read from a partition at once.
const READ_BYTES_MIN: u64 = 4 << 10;

/// How many partitions there are at each level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fan {
    bits: u32,
}

impl Fan {
    /// As many as the memory has pieces for: 4 to 32.
    fn within(bytes: u64) -> Fan {
        let pieces = (bytes / SHARE / PIECE_BYTES).clamp(4, 32);
        Fan { bits: pieces.ilog2() }
    }

    /// The number of partitions.
    pub(crate) fn count(self) -> usize {
        1 << self.bits
    }

    /// Whether rows of this level can be dealt by further bits.
    pub(crate) fn has_level(self, level: u32) -> bool {
        (level + 1) * self.bits <= DEALT_BITS
    }

    /// The partition of this hash at this level. Behind the last level it is as at the last.
    pub(crate) fn partition(self, hash: u64, level: u32) -> usize {
        let level = level.min(DEALT_BITS / self.bits - 1);
        (hash >> (u64::BITS - (level + 1) * self.bits)) as usize & (self.count() - 1)
    }
}

/// The temporary file of one source, with the spools in it.
pub(crate) struct Aside {
    file: SpoolFile,
    fan: Fan,
    /// The memory of its buffers.
    buffer_bytes: u64,
    record: Vec<u8>,
    /// The partition of the next row without a hash.
    turn: usize,
}

impl Aside {
    /// A file for `sets` of partitions that are written at once. Takes the memory for that.
    pub(crate) fn new<W: World>(sets: usize, memory: &mut Memory, world: &W) -> Aside {
        let fan = Fan::within(memory.bytes());
        let written = sets * fan.count();
        Aside::with_shape(written, 2, fan, memory, world)
    }

    /// A file for one spool, with one reader.
    pub(crate) fn of_one<W: World>(memory: &mut Memory, world: &W) -> Aside {
        Aside::with_shape(1, 1, Fan { bits: 1 }, memory, world)
    }

    fn with_shape<W: World>(
        written: usize,
        readers: usize,
        fan: Fan,
        memory: &mut Memory,
        world: &W,
    ) -> Aside {
        let shape = SpoolShape { written, readers, wanted_bytes: memory.bytes() / SHARE };
        let buffer_bytes = shape.bytes();
        memory.set_base(buffer_bytes, world);
        let Spill { disk, config, halt } = world.spill();
        let file = SpoolFile::new(disk, config, halt, shape);
        Aside { file, fan, buffer_bytes, record: Vec::new(), turn: 0 }
    }

    /// The memory of its buffers.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }

    /// How many partitions there are at each level.
    pub(crate) fn fan(&self) -> Fan {
        self.fan
    }

    /// Empty partitions.
    pub(crate) fn partitions(&self) -> Vec<Spool> {
        (0..self.fan.count()).map(|_| Spool::new()).collect()
    }

    /// Puts a row into its partition at this level.
    pub(crate) fn deal<W: World>(
        &mut self,
        partitions: &mut [Spool],
        level: u32,
        hash: Option<u64>,
        rows: &Rows,
        row: usize,
        world: &W,
    ) -> Result<(), Stop> {
        let to = match hash {
            Some(hash) => self.fan.partition(hash, level),
            None => {
                self.turn = (self.turn + 1) % partitions.len();
                self.turn
            }
        };
        self.append(&mut partitions[to], hash, rows, row, world)
    }

    /// Puts a row, with its hash, behind those of a spool.
    pub(crate) fn append<W: World>(
        &mut self,
        spool: &mut Spool,
        hash: Option<u64>,
        rows: &Rows,
        row: usize,
        world: &W,
    ) -> Result<(), Stop> {
        self.record.clear();
        self.record.push(u8::from(hash.is_some()));
        self.record.extend_from_slice(&hash.unwrap_or(0).to_le_bytes());
        rows.write_row(row, &mut self.record);
        spool.append(&self.record, &mut self.file, world.session())
    }

    /// Ends the writing of these spools.
    pub(crate) fn finish<W: World>(&mut self, spools: &mut [Spool], world: &W) -> Result<(), Stop> {
        spools.iter_mut().try_for_each(|spool| spool.finish(&mut self.file, world.session()))
    }

    /// A reader of a spool's rows.
    pub(crate) fn reader<W: World>(
        &mut self,
        spool: &Spool,
        world: &W,
    ) -> Result<SpoolReader, Stop> {
        spool.reader(&mut self.file, world.session())
    }

    /// Appends rows, and their hashes, until the batch is full or has `most` bytes. Returns false
    /// if there are no more.
    pub(crate) fn read<W: World>(
        &mut self,
        reader: &mut SpoolReader,
        into: &mut ReadRows,
        most: u64,
        world: &W,
    ) -> Result<bool, Stop> {
        into.clear();
        let most = most.max(READ_BYTES_MIN);
        while has_room(&into.rows, BATCH_ROWS_MAX) && (into.rows.bytes_used() as u64) < most {
            let Some(record) = reader.next(&mut self.file, world.session())? else {
                return Ok(false);
            };
            let Some((&[is_hashed, ref hash @ ..], row)) = record.split_first_chunk::<9>() else {
                return Err(damaged());
            };
            let hash = u64::from_le_bytes(*hash);
            into.hashes.push((is_hashed == 1).then_some(hash));
            into.rows.read_row(row).map_err(|_| damaged())?;
        }
        Ok(true)
    }

    /// Ends a reading before its end.
    pub(crate) fn close_reader<W: World>(&mut self, mut reader: SpoolReader, world: &W) {
        reader.close(&mut self.file, world.session());
    }

    /// Gives a spool's space back. No reader of it is left.
    pub(crate) fn discard(&mut self, spool: Spool) {
        spool.discard(&mut self.file);
    }

    /// The bytes that were written.
    pub(crate) fn temp_bytes(&self) -> u64 {
        self.file.temp_bytes()
    }

    /// Gives the file back.
    pub(crate) fn close<W: World>(&mut self, world: &W) {
        self.file.close(world.session());
    }
}

/// What was read is checked block by block, so this is a mistake in the program.
#[cold]
fn damaged() -> Stop {
    let message = "cannot go on: a row that was set aside can't be read; begin the statement again";
    Stop::refuse(RefusalKind::Corrupt, message)
}

/// Rows with their hashes.
#[derive(Debug, Default)]
pub(crate) struct ReadRows {
    pub(crate) rows: Rows,
    pub(crate) hashes: Vec<Option<u64>>,
}

impl ReadRows {
    /// No rows yet, of `width` columns.
    pub(crate) fn new(width: usize) -> ReadRows {
        ReadRows { rows: Rows::new(width), hashes: Vec::new() }
    }

    /// Takes all rows out.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.hashes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that are together at one level are dealt by other bits at the next, down to the last.
    #[test]
    fn each_level_deals_by_its_own_bits() {
        for bytes in [0, 1 << 20, 3 << 20, 1 << 30] {
            let fan = Fan::within(bytes);
            assert!((4..=32).contains(&fan.count()));
            let mut levels = 0;
            while fan.has_level(levels) {
                let hash = |part: u64| part << (64 - (levels + 1) * fan.bits);
                for part in 0..fan.count() {
                    assert_eq!(fan.partition(hash(part as u64), levels), part);
                    let before = |level| fan.partition(hash(part as u64), level);
                    assert!((0..levels).all(|level| before(level) == 0), "{levels}");
                }
                levels += 1;
            }
            assert!(levels >= 6, "{levels} levels of {}", fan.count());
        }
    }
}
