//! A batch: one part of the log buffer, with records laid out as redo blocks, ready to be written.
//!
//! ```text
//!   buffer   │ block │ block │ block │ block (open) │ not begun …
//!   ranges   └─ log 7, from 62 ──┘└─ log 8, from 1 ─┘
//! ```
//!
//! Invariants
//!   * every block but the open one is complete but for its seal: its head is set, its tail is zero
//!   * ranges are in the order of logs, and lie side by side in the buffer
//!   * a batch that is written is closed first, so the next record begins a new block (RD2)
//!
//! Callers: `state`, under the redo allocation latch; `writer`, which owns a batch while it writes.

use std::sync::Arc;

use format::{BlockHeader, BlockKind, REDO_BLOCK, REDO_PAYLOAD_BYTES, RedoBlock};
use format::{U16Le, U32Le, U64Le};
use ids::{BlockNo, Dba, FileNo, Scn};
use os::{Cost, IoBuf, Session};

use crate::config::GROUPS_MAX;
use crate::log_file::{BLOCK_KIB, Beginning, OpenGroup};

/// Bytes of a redo block before its records.
pub(crate) const BLOCK_HEAD: usize = RedoBlock::START + RedoBlock::BYTES;

/// The blocks of one log within a batch.
#[derive(Debug)]
pub(crate) struct LogRange {
    /// The number of the group in which the log lies.
    group: u16,
    /// The group as it was when the batch was taken; `None` before.
    taken: Option<Arc<OpenGroup>>,
    pub(crate) sequence: u32,
    /// What the log's header says, if the log begins with this batch.
    pub(crate) beginning: Option<Beginning>,
    pub(crate) first_block: u32,
    pub(crate) blocks: u32,
}

impl LogRange {
    fn new(group: u16, sequence: u32, first_block: u32) -> LogRange {
        LogRange { group, taken: None, sequence, beginning: None, first_block, blocks: 0 }
    }

    /// The group to which the range is written.
    pub(crate) fn group(&self) -> &Arc<OpenGroup> {
        self.taken.as_ref().expect("found when the batch was taken")
    }
}

/// The block that is being filled: the last one begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    filled: usize,
    /// Where the first record begins that begins in this block.
    first_record: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Batch {
    buffer: IoBuf,
    ranges: Vec<LogRange>,
    blocks: u32,
    open: Option<Open>,
    wasted: u64,
    /// Bytes of records.
    filled: u64,
}

impl Batch {
    /// An empty batch in this memory. It never holds more than one range for each group and one for
    /// the log that goes on, so the ranges are allocated once.
    pub(crate) fn new(buffer: IoBuf) -> Batch {
        Batch {
            buffer,
            ranges: Vec::with_capacity(usize::from(GROUPS_MAX) + 1),
            blocks: 0,
            open: None,
            wasted: 0,
            filled: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        (self.blocks, self.open, self.wasted, self.filled) = (0, None, 0, 0);
    }

    /// Whether there is nothing to write, not even the header of a log.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether a log begins in it.
    pub(crate) fn begins_log(&self) -> bool {
        self.logs_begun() > 0
    }

    /// How many logs begin in it.
    pub(crate) fn logs_begun(&self) -> u32 {
        self.ranges.iter().filter(|range| range.beginning.is_some()).count() as u32
    }

    /// The number of blocks begun.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Bytes of records in it.
    pub(crate) fn filled(&self) -> u64 {
        self.filled
    }

    /// Bytes left empty in its blocks, once it is closed.
    pub(crate) fn wasted(&self) -> u64 {
        self.wasted
    }

    /// Bytes that still fit into the open block; 0 if no block is open.
    pub(crate) fn room(&self) -> usize {
        self.open.map_or(0, |open| REDO_PAYLOAD_BYTES - open.filled)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Where in its block the next byte will lie.
    pub(crate) fn offset(&self) -> u16 {
        let filled = self.open.map_or(0, |open| open.filled);
        u16::try_from(BLOCK_HEAD + filled).expect("a redo block has 4 KiB")
    }

    /// Notes that a record begins with the next byte.
    pub(crate) fn begin_record(&mut self) {
        let open = self.open.as_mut().expect("a record begins in an open block");
        open.first_record.get_or_insert(open.filled);
    }

    /// Begins block `number` of this log, and opens it.
    pub(crate) fn begin_block(&mut self, group: u16, sequence: u32, number: u32, database: u64) {
        assert!(self.open.is_none(), "the block before was not closed");
        let address = Dba { file: FileNo::redo(group), block: BlockNo::new(number) };
        if self.ranges.last().is_none_or(|range| range.sequence != sequence) {
            self.ranges.push(LogRange::new(group, sequence, number));
        }
        self.ranges.last_mut().expect("pushed if it wasn't there").blocks += 1;
        self.blocks += 1;
        self.open = Some(Open { filled: 0, first_record: None });
        let block = self.last_block();
        *BlockHeader::of_mut(block) = BlockHeader::new(BlockKind::Redo, address);
        *RedoBlock::at_mut(block, RedoBlock::START) = RedoBlock {
            database: U64Le::new(database),
            log_sequence: U32Le::new(sequence),
            used: U16Le::ZERO,
            first_record: U16Le::ZERO,
        };
    }

    /// Notes that the blocks from here on belong to this log, which begins.
    pub(crate) fn begin_log(&mut self, group: u16, sequence: u32, beginning: Beginning) {
        assert!(self.open.is_none(), "the last block of the log before was not closed");
        self.ranges
            .push(LogRange { beginning: Some(beginning), ..LogRange::new(group, sequence, 1) });
    }

    /// Notes the groups to which the batch will be written, as they are now. Called when it is
    /// taken.
    pub(crate) fn find_groups(&mut self, find: impl Fn(u16) -> Arc<OpenGroup>) {
        self.ranges.iter_mut().for_each(|range| range.taken = Some(find(range.group)));
    }

    /// Copies as many of the bytes as fit into the open block, and returns their number.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.room());
        let start = usize::from(self.offset());
        self.last_block()[start..start + taken].copy_from_slice(&bytes[..taken]);
        self.open.as_mut().expect("only an open block has room").filled += taken;
        self.filled += taken as u64;
        taken
    }

    /// Completes the open block, if there is one.
    pub(crate) fn close_block(&mut self) {
        let Some(Open { filled, first_record }) = self.open.take() else { return };
        let number = |bytes| U16Le::new(u16::try_from(bytes).expect("a redo block has 4 KiB"));
        let block = self.last_block();
        block[BLOCK_HEAD + filled..].fill(0);
        let head = RedoBlock::at_mut(block, RedoBlock::START);
        head.used = number(filled);
        head.first_record = number(first_record.unwrap_or(filled));
        self.wasted += (REDO_PAYLOAD_BYTES - filled) as u64;
    }

    /// Seals every block, with the SCN through which redo is durable as its stamp (RD8).
    pub(crate) fn seal(&mut self, durable: Scn, session: &Session) {
        assert!(self.open.is_none(), "an open block was about to be written");
        if session.os().check_effort() > 0 {
            self.check().expect("a batch that is written is in order");
        }
        let mut blocks = self.buffer.chunks_exact_mut(REDO_BLOCK.bytes());
        for range in &self.ranges {
            for number in range.first_block..range.first_block + range.blocks {
                let block = blocks.next().expect("every range's blocks lie in the buffer");
                BlockHeader::of_mut(block).stamp(durable, 0);
                format::seal(block, range.group().address(number));
            }
        }
        session.charge(Cost::ChecksumKib, u64::from(self.blocks) * BLOCK_KIB);
    }

    /// Each range with its bytes, in order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (&LogRange, &[u8])> {
        let mut rest: &[u8] = &self.buffer;
        self.ranges.iter().map(move |range| {
            let (bytes, after) = rest.split_at(range.blocks as usize * REDO_BLOCK.bytes());
            rest = after;
            (range, bytes)
        })
    }

    /// The block that was begun last.
    fn last_block(&mut self) -> &mut [u8] {
        let start = (self.blocks as usize - 1) * REDO_BLOCK.bytes();
        &mut self.buffer[start..start + REDO_BLOCK.bytes()]
    }
}

// Checks.
impl Batch {
    /// The log of the last range, and the first block behind it.
    pub(crate) fn end(&self) -> Option<(u32, u32)> {
        self.ranges.last().map(|range| (range.sequence, range.first_block + range.blocks))
    }

    /// Names the first invariant of this file that doesn't hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        let blocks: u32 = self.ranges.iter().map(|range| range.blocks).sum();
        if blocks != self.blocks || self.open.is_some() && blocks == 0 {
            let own = self.blocks;
            return Err(format!("a batch of {own} blocks has ranges with {blocks}"));
        }
        if let Some(pair) = self.ranges.windows(2).find(|pair| pair[0].sequence >= pair[1].sequence)
        {
            let (before, after) = (pair[0].sequence, pair[1].sequence);
            return Err(format!("a batch has log {before} before log {after}"));
        }
        let bytes = self.buffer.chunks_exact(REDO_BLOCK.bytes()).take(self.blocks as usize);
        let closed = self.blocks as usize - usize::from(self.open.is_some());
        for (number, block) in bytes.take(closed).enumerate() {
            let head = RedoBlock::at(block, RedoBlock::START);
            let (used, first) = (head.used.get(), head.first_record.get());
            let end = BLOCK_HEAD + usize::from(used);
            if first > used || end > block.len() || block[end..].iter().any(|byte| *byte != 0) {
                return Err(format!("block {number} of a batch isn't complete"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty(blocks: usize) -> Batch {
        Batch::new(IoBuf::zeroed(blocks * REDO_BLOCK.bytes()))
    }

    fn head(batch: &Batch, block: usize) -> (u16, u16) {
        let start = block * REDO_BLOCK.bytes() + RedoBlock::START;
        let head = RedoBlock::at(&batch.buffer, start);
        (head.used.get(), head.first_record.get())
    }

    /// A block in which no record begins says so by `first_record` equal to `used`.
    #[test]
    fn a_block_says_where_its_first_record_begins() {
        let mut batch = empty(4);
        batch.begin_block(1, 1, 1, 9);
        batch.begin_record();
        assert_eq!(batch.fill(&[1; 9_000]), REDO_PAYLOAD_BYTES);
        batch.close_block();
        batch.begin_block(1, 1, 2, 9);
        assert_eq!(batch.fill(&[2; 100]), 100);
        batch.close_block();
        batch.begin_block(1, 1, 3, 9);
        assert_eq!(batch.fill(&[3; 10]), 10);
        batch.begin_record();
        assert_eq!(batch.fill(&[4; 20]), 20);
        batch.begin_record();
        assert_eq!(batch.fill(&[5; 20]), 20);
        batch.close_block();
        assert_eq!(head(&batch, 0), (REDO_PAYLOAD_BYTES as u16, 0));
        assert_eq!(head(&batch, 1), (100, 100));
        assert_eq!(head(&batch, 2), (50, 10));
        assert_eq!(batch.wasted(), 2 * REDO_PAYLOAD_BYTES as u64 - 150);
    }

    /// What a buffer held before doesn't show behind the records of its next use.
    #[test]
    fn the_tail_of_a_used_buffer_is_cleared() {
        let mut batch = empty(1);
        batch.begin_block(1, 1, 1, 9);
        batch.fill(&[7; REDO_PAYLOAD_BYTES]);
        batch.close_block();
        batch.clear();
        batch.begin_block(1, 1, 2, 9);
        batch.fill(&[8; 5]);
        batch.close_block();
        assert!(batch.buffer[BLOCK_HEAD + 5..].iter().all(|byte| *byte == 0));
        let ranges: Vec<_> =
            batch.ranges().map(|(range, bytes)| (range.blocks, bytes.len())).collect();
        assert_eq!(ranges, [(1, REDO_BLOCK.bytes())]);
    }

    type Break = fn(&mut Batch);

    /// Each broken invariant is named by the check.
    #[test]
    fn what_is_broken_in_a_batch_is_named() {
        let cases: [(&str, Break); 4] = [
            ("a batch of 3 blocks has ranges with 2", |batch| batch.blocks += 1),
            ("log 2 before log 2", |batch| batch.ranges[0].sequence = 2),
            ("block 0 of a batch isn't complete", |batch| batch.buffer[REDO_BLOCK.bytes() - 1] = 1),
            ("block 0 of a batch isn't complete", |batch| {
                RedoBlock::at_mut(&mut batch.buffer, RedoBlock::START).first_record = U16Le::new(9);
            }),
        ];
        for (named, break_it) in cases {
            let mut batch = empty(4);
            batch.begin_block(1, 1, 1, 9);
            batch.fill(&[1; 5]);
            batch.close_block();
            batch.begin_block(2, 2, 1, 9);
            assert_eq!((batch.check(), batch.end()), (Ok(()), Some((2, 2))));
            break_it(&mut batch);
            let said = batch.check().expect_err(named);
            assert!(said.contains(named), "{named}: {said}");
        }
    }
}
