//! Records that one thread reads and others apply, block by block.
//!
//! ```text
//!   bytes    │ record: vector vector │ record: vector │ …      as they were read
//!   changes  block 7: ▪▪▪▪  block 9: ▪  block 12: ▪▪ …         by block, each block's in order
//! ```
//!
//! A change gets its block's number as it is pushed, from a table. So sorting compares blocks only,
//! and puts each change in its place once.
//!
//! Callers: `recovery`.

use format::{ChangeVector, RedoRecord};
use ids::{Dba, Rba, Scn};
use os::{CACHE_LINE, prefetch};

use crate::{Record, RecordPosition, Vector};

/// How many changes ahead the bytes of a change are prefetched: each comes from memory.
const PREFETCHED: usize = 4;
/// The places of the smallest table of blocks.
const TABLE_MIN: usize = 1 << 10;

/// Records in the order in which they were read, and their changes by block.
#[derive(Clone, Debug, Default)]
pub struct Records {
    bytes: Vec<u8>,
    records: Vec<RecordPosition>,
    /// As they were read.
    changes: Vec<ChangeEntry>,
    /// In the order in which they were named first; by address once they are sorted.
    blocks: Vec<BlockEntry>,
    table: BlockTable,
    /// By block, each block's in the order of the redo; once they are sorted.
    by_block: Vec<ChangeEntry>,
    /// For each block, by number, where its next change goes.
    next: Vec<u32>,
}

/// A block, and its changes.
#[derive(Clone, Copy, Debug)]
struct BlockEntry {
    address: Dba,
    /// Its number, in the order in which the blocks were named first.
    number: u32,
    changes: u32,
    /// Where its changes end, once they are sorted.
    end: u32,
}

/// Where a change lies.
#[derive(Clone, Copy, Default, Debug)]
struct ChangeEntry {
    scn: u64,
    /// Where the vector begins in `bytes`.
    start: u32,
    record: u32,
    /// The number of its block.
    block: u32,
    /// The change's number in its record.
    number: u16,
    /// Bytes of its payload.
    payload: u16,
}

/// One change of a block, with the position of its record.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// SCN of the record.
    pub scn: Scn,
    /// The change's number in its record.
    pub number: u32,
    /// The change.
    pub vector: Vector<'a>,
    record: &'a RecordPosition,
}

impl Change<'_> {
    /// Where the record begins.
    pub fn rba(&self) -> Rba {
        self.record.rba
    }
}

impl Records {
    /// Adds a record, before they are sorted. All records together have less than 4 GiB.
    pub fn push(&mut self, record: &Record<'_>) {
        let mut start = (self.bytes.len() + RedoRecord::BYTES) as u32;
        let (scn, number_of) = (record.scn.get(), self.records.len() as u32);
        for (vector, number) in record.vectors().zip(0..) {
            let block = self.table.number_of(vector.address, &mut self.blocks);
            self.blocks[block as usize].changes += 1;
            let payload = vector.payload.len() as u16;
            self.changes.push(ChangeEntry {
                scn,
                start,
                record: number_of,
                block,
                number,
                payload,
            });
            start += (ChangeVector::BYTES + vector.payload.len()) as u32;
        }
        self.bytes.extend_from_slice(record.bytes());
        self.records.push(record.position());
    }

    /// Sorts the changes by block.
    pub fn sort(&mut self) {
        self.blocks.sort_unstable_by_key(|block| block.address);
        self.next.resize(self.blocks.len(), 0);
        let mut end = 0;
        for block in &mut self.blocks {
            self.next[block.number as usize] = end;
            end += block.changes;
            block.end = end;
        }
        self.by_block.resize(self.changes.len(), ChangeEntry::default());
        for change in &self.changes {
            let next = &mut self.next[change.block as usize];
            self.by_block[*next as usize] = *change;
            *next += 1;
        }
    }

    /// The length of all records together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The number of records.
    pub fn count(&self) -> usize {
        self.records.len()
    }

    /// The number of blocks that are changed.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The position of the first record.
    pub fn first(&self) -> Option<RecordPosition> {
        self.records.first().copied()
    }

    /// The changed blocks, each once, but for the first `skipped` ones. They come in the order in
    /// which they were named first, and sorted after [`sort`](Records::sort).
    pub fn blocks(&self, skipped: usize) -> impl Iterator<Item = Dba> {
        self.blocks[skipped..].iter().map(|block| block.address)
    }

    /// The block at this place of [`blocks`](Records::blocks), with its changes in the order of the
    /// redo, after [`sort`](Records::sort).
    pub fn block(&self, place: usize) -> (Dba, impl Iterator<Item = Change<'_>>) {
        let BlockEntry { address, changes, end, .. } = self.blocks[place];
        let each = (end - changes..end).map(|at| {
            self.prefetch(at as usize + PREFETCHED);
            self.change(&self.by_block[at as usize])
        });
        (address, each)
    }

    /// Removes all records and keeps their memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.changes.clear();
        self.blocks.clear();
        self.table.clear();
        self.by_block.clear();
        self.next.clear();
    }

    fn change(&self, entry: &ChangeEntry) -> Change<'_> {
        let vector = Vector::first_of(&self.bytes[entry.start as usize..]);
        let record = &self.records[entry.record as usize];
        Change { scn: Scn::new(entry.scn), number: entry.number.into(), vector, record }
    }

    /// Prefetches the bytes of the change at this place, if there is one.
    fn prefetch(&self, place: usize) {
        let Some(ahead) = self.by_block.get(place) else { return };
        let first = self.bytes.as_ptr().addr() + ahead.start as usize;
        let bytes = ChangeVector::BYTES + usize::from(ahead.payload);
        (first..first + bytes).step_by(CACHE_LINE).for_each(prefetch);
    }
}

/// Finds the number of a block. Open addressing: a block lies at the place of its hash, or behind
/// it.
#[derive(Clone, Debug, Default)]
struct BlockTable {
    /// A power of two of them, or none; a half at least is vacant.
    places: Vec<Place>,
    /// Places with another round are vacant.
    round: u32,
}

#[derive(Clone, Copy, Default, Debug)]
struct Place {
    address: u64,
    round: u32,
    number: u32,
}

impl BlockTable {
    /// The number of this block, which gets one if it has none.
    fn number_of(&mut self, address: Dba, blocks: &mut Vec<BlockEntry>) -> u32 {
        if self.places.len() < 2 * (blocks.len() + 1) {
            self.grow(blocks);
        }
        let place = self.find(address.pack());
        let Place { round, number, .. } = self.places[place];
        if round == self.round {
            return number;
        }
        let number = blocks.len() as u32;
        self.places[place] = Place { address: address.pack(), round: self.round, number };
        blocks.push(BlockEntry { address, number, changes: 0, end: 0 });
        number
    }

    /// The place of this block, or the vacant one where it belongs.
    fn find(&self, address: u64) -> usize {
        let mask = self.places.len() - 1;
        // Fibonacci hashing (Knuth, TAOCP 6.4).
        let mut at = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.places[at].round == self.round && self.places[at].address != address {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self, blocks: &[BlockEntry]) {
        let length = (2 * self.places.len()).max(TABLE_MIN);
        self.places = vec![Place::default(); length];
        self.round = 1;
        for block in blocks {
            let address = block.address.pack();
            let place = self.find(address);
            self.places[place] = Place { address, round: 1, number: block.number };
        }
    }

    fn clear(&mut self) {
        match self.round.checked_add(1) {
            Some(round) => self.round = round,
            None => *self = BlockTable::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use format::{DbaLe, ScnLe, U16Le, U32Le};

    fn record(blocks: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; RedoRecord::BYTES];
        for block in blocks {
            let payload = vec![*block as u8; *block as usize % 7];
            let head = ChangeVector {
                address: DbaLe::new(Dba::new(1, *block)),
                before_scn: ScnLe::ZERO,
                before_sequence: U32Le::ZERO,
                image: U32Le::ZERO,
                layer: 1,
                opcode: 1,
                length: U16Le::new(payload.len() as u16),
                block_units: 4,
                anew: 0,
                reserved: [0; 2],
            };
            bytes.extend(head.bytes());
            bytes.extend(payload);
        }
        bytes
    }

    /// Whatever blocks the records name, and however often the batch is used again: each block
    /// comes once, in order, with all of its changes in the order of the redo.
    #[test]
    fn changes_come_by_block_in_the_order_of_the_redo() {
        let mut records = Records::default();
        for (round, spread) in [(0, 7), (1, 5_000), (2, 40)] {
            records.clear();
            let mut expected = Vec::new();
            for scn in 1..3_000_u64 {
                let block = |part: u64| ((scn * 31 + part * 17 + round) % spread) as u32;
                let blocks = [block(0), block(1)];
                let (bytes, rba) = (record(&blocks), Rba::block(1, scn as u32));
                records.push(&Record::new(RecordPosition { scn: Scn::new(scn), rba }, &bytes));
                expected.extend((0..).zip(blocks).map(|(number, block)| (block, scn, number)));
            }
            records.sort();
            expected.sort_unstable();
            let mut found = Vec::new();
            for place in 0..records.block_count() {
                let (address, changes) = records.block(place);
                for change in changes {
                    assert_eq!(change.vector.address, address);
                    assert_eq!(change.rba(), Rba::block(1, change.scn.get() as u32));
                    let block = address.block.get();
                    assert_eq!(change.vector.payload, vec![block as u8; block as usize % 7]);
                    found.push((block, change.scn.get(), change.number));
                }
            }
            assert_eq!(found, expected);
            let blocks: Vec<_> = records.blocks(0).collect();
            assert!(blocks.is_sorted() && blocks.len() == records.block_count());
        }
    }
}
