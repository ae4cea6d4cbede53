//! Heaps: rows of any length, found by their addresses (rules AC6 to AC9).
//!
//! A row that fits lies whole in a slot, and keeps its address as long as it lives. One that
//! doesn't fit into a block, or doesn't fit any more, is in pieces: see `piece.rs`.
//!
//! Callers: tables, which know what the bytes mean.

mod change;
mod difference;
mod insert;
mod insert_together;
mod lock;
mod piece;
mod read;
mod scan;
mod together;
mod version;

use std::sync::Arc;
use txn::block;

use cache::Pin;
use change::Wanted;
use format::{DataHead, DataSlot, ItlEntry};
use ids::{Dba, Scn};
use latch::{FrameOrder, Guess};
use os::Session;
use space::{Blocks, Segment, Space};
use stop::{RefusalKind, Stop};
use txn::undo::UndoLog;
use txn::{OwnItlEntry, Transactions};

use crate::apply::{BACK, CHANGE, LAYER};
use crate::free_map::{WHOLE, entries, map_of, room_of};
use crate::heap::{Target, is_of};
use crate::inserter::LIST_ENTRIES;
use crate::ops::Op;
use crate::{HeapInserter, RowAddress};

pub(crate) use piece::{ADDRESS_BYTES, NEXT, PIECE, ROW, SHORT, piece_of};

pub use change::Changed;

/// So many hundredths of a block are left free by inserts, for rows that grow.
const PCTFREE: usize = 10;

/// Of a block one part in so many is left free by the longest pieces, so that they fit into one
/// that was used before: ITLs grow, and never shrink.
const LIST_SHARE: usize = 32;

/// The rows of a table.
#[derive(Clone)]
pub struct Heap {
    header: Dba,
    object: u32,
    /// Bytes of a slot at most.
    piece_max: usize,
    /// Bytes that an empty block has room for.
    empty_room: usize,
    block_bytes: usize,
    space: Space,
    transactions: Transactions,
    /// What the block looked like that was read last, of those that are asked.
    outline: Arc<Guess>,
}

/// A block, and what is known of its room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeSpace {
    /// The block.
    pub block: Dba,
    /// Bytes free as its map says; 0 if it isn't offered.
    pub offered: usize,
    /// Bytes free.
    pub free: usize,
    /// Whether it has no rows.
    pub is_empty: bool,
}

impl Heap {
    /// The rows in this segment.
    pub fn new(
        segment: &Segment,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Heap {
        let cache = space.changes().cache();
        let undo_block = cache.block_size();
        let block = cache.block_size_of(segment.header.file, session).unwrap_or(undo_block);
        let steps = OwnItlEntry::BACK_BYTES_MAX + Op::HEAD_BYTES_MAX;
        let fits_undo = UndoLog::payload_max(undo_block.bytes()) - steps;
        let list = usize::from(LIST_ENTRIES) * ItlEntry::BYTES;
        let grown = block.bytes() / LIST_SHARE;
        let fits_block = block.bytes() - DataHead::LIST - list - grown - DataSlot::BYTES;
        Heap {
            header: segment.header,
            object: segment.object.get(),
            piece_max: fits_undo.min(fits_block),
            empty_room: fits_block,
            block_bytes: block.bytes(),
            space: space.clone(),
            transactions: transactions.clone(),
            outline: Arc::default(),
        }
    }

    /// Transactions that change it.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// Its blocks that were handed out, as runs of neighbours; the first of them is its header.
    pub fn runs(&self, session: &Session) -> Result<Vec<Blocks>, Stop> {
        self.space.blocks(self.header, session)
    }

    /// What its maps say of each of its blocks, and what it has; for tests, and to verify.
    pub fn free_space(&self, session: &Session) -> Result<Vec<FreeSpace>, Stop> {
        let runs = self.runs(session)?;
        let blocks = runs.into_iter().flat_map(|run| (0..run.count).map(move |n| (run.first, n)));
        let blocks = blocks.map(|(first, n)| Dba::new(first.file.get(), first.block.get() + n));
        let (mut map, mut found): (Vec<u8>, _) = (Vec::new(), Vec::new());
        for (number, block) in (0..).zip(blocks).skip(1) {
            let bytes = self.look_now(block, <[u8]>::to_vec, session)?;
            let entry = (number - map_of(number, self.block_bytes)) as usize;
            if entry == 0 {
                map = entries(&bytes).to_vec();
                continue;
            }
            let is_empty = !self.is_its(&bytes) || block::used(&bytes) == 0;
            let free = if self.is_its(&bytes) { room_of(&bytes) } else { bytes.len() };
            let offered = usize::from(map[entry - 1]) * self.block_bytes / usize::from(WHOLE);
            found.push(FreeSpace { block, offered, free, is_empty });
        }
        Ok(found)
    }

    fn is_its(&self, block: &[u8]) -> bool {
        is_of(block, self.object)
    }

    /// The slot, if the block is the heap's and has it.
    fn slot(&self, block: &[u8], number: u16) -> Option<DataSlot> {
        let is_there = self.is_its(block) && number < block::slots(block);
        is_there.then(|| block::slot(block, number))
    }

    /// The slot, if it has what is `wanted`.
    fn slot_with(&self, block: &[u8], number: u16, wanted: Wanted) -> Option<DataSlot> {
        let slot = self.slot(block, number)?;
        (slot.flags & wanted.flag() != 0 && slot.flags & DataSlot::DELETED == 0).then_some(slot)
    }

    /// Looks at a block by `look` under its latch, as it is now.
    fn look_now<T>(
        &self,
        address: Dba,
        look: impl FnOnce(&[u8]) -> T,
        session: &Session,
    ) -> Result<T, Stop> {
        let cache = self.transactions.changes().cache();
        let block = cache.pin_shared(address, FrameOrder::Heap, session)?;
        Ok(look(&block))
    }

    /// A block that is to be changed by steps of so many bytes, by a statement with this snapshot.
    fn target<'a>(
        pin: &'a Pin<'a>,
        (longest, snapshot): (usize, Option<Scn>),
        is_it: &'a dyn Fn(&[u8]) -> bool,
    ) -> Target<'a> {
        Target { pin, layer: &LAYER, opcodes: (CHANGE, BACK), longest, snapshot, is_it }
    }

    fn no_piece(&self, address: RowAddress) -> Stop {
        let message = format!(
            "cannot read a row of object {}: its next piece should be at {address}, and isn't; \
             verify the database",
            self.object
        );
        Stop::refuse(RefusalKind::Corrupt, message)
    }
}
