//! Records that one thread reads and another one applies, block by block.
//!
//! ```text
//!   bytes    │ record: vector vector │ record: vector │ …      as they were read
//!   changes  block 7: ▪▪▪▪  block 9: ▪  block 12: ▪▪ …         by block, each block's in order
//! ```
//!
//! Callers: `recovery`.

use format::{ChangeVector, RedoRecord};
use ids::{Dba, Rba, Scn};

use crate::{Record, RecordPosition, Vector};

/// Records in the order in which they were read, and their changes by block.
#[derive(Clone, Debug, Default)]
pub struct Records {
    bytes: Vec<u8>,
    records: Vec<RecordPosition>,
    changes: Vec<ChangeEntry>,
}

/// Where a change lies. Entries sort by block, then in the order of the redo.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ChangeEntry {
    block: Dba,
    /// Where the vector begins in `bytes`.
    start: u32,
    record: u32,
    /// The change's number in its record.
    number: u32,
}

/// One change of a block, with the position of its record.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// SCN of the record.
    pub scn: Scn,
    /// Where the record begins.
    pub rba: Rba,
    /// The change's number in its record.
    pub number: u32,
    /// The change.
    pub vector: Vector<'a>,
}

impl Records {
    /// Adds a record. All records together have less than 4 GiB.
    pub fn push(&mut self, record: &Record<'_>) {
        let mut start = (self.bytes.len() + RedoRecord::BYTES) as u32;
        let number_of = self.records.len() as u32;
        for (vector, number) in record.vectors().zip(0..) {
            let block = vector.address;
            self.changes.push(ChangeEntry { block, start, record: number_of, number });
            start += (ChangeVector::BYTES + vector.payload.len()) as u32;
        }
        self.bytes.extend_from_slice(record.bytes());
        self.records.push(record.position());
    }

    /// Sorts the changes by block.
    pub fn sort(&mut self) {
        self.changes.sort_unstable();
    }

    /// The length of all records together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The number of records.
    pub fn count(&self) -> usize {
        self.records.len()
    }

    /// The position of the first record.
    pub fn first(&self) -> Option<RecordPosition> {
        self.records.first().copied()
    }

    /// The changed blocks, each once, after [`sort`](Records::sort).
    pub fn blocks(&self) -> impl Iterator<Item = Dba> {
        self.changes.chunk_by(same_block).map(|changes| changes[0].block)
    }

    /// The changed blocks with their changes in the order of the redo, after
    /// [`sort`](Records::sort).
    pub fn by_block(&self) -> impl Iterator<Item = (Dba, impl Iterator<Item = Change<'_>>)> {
        self.changes.chunk_by(same_block).map(|changes| {
            let each = changes.iter().map(|entry| self.change(entry));
            (changes[0].block, each)
        })
    }

    /// Removes all records and keeps their memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.changes.clear();
    }

    fn change(&self, entry: &ChangeEntry) -> Change<'_> {
        let RecordPosition { scn, rba } = self.records[entry.record as usize];
        let vector = Vector::first_of(&self.bytes[entry.start as usize..]);
        Change { scn, rba, number: entry.number, vector }
    }
}

fn same_block(one: &ChangeEntry, other: &ChangeEntry) -> bool {
    one.block == other.block
}
