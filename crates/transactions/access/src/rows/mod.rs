//! Heaps: rows of any length, found by their addresses (rules AC1 to AC9, AC13 to AC25,
//! AC38 to AC40, AC50 and AC51).
//!
//! A row that fits lies whole in a slot, and keeps its address as long as it lives. A row that is
//! longer than a block, or has outgrown its block, is in pieces: see `piece.rs`.
//!
//! Callers: tables, which know what the bytes mean.

mod change;
mod difference;
mod insert;
mod insert_together;
mod load;
mod lock;
mod piece;
mod read;
mod sample;
mod scan;
mod together;
mod version;
mod visit;

use std::sync::Arc;

use cache::Pin;
use format::{DataHead, DataSlot, ItlEntry};
use ids::{BlockSize, Dba, Scn};
use latch::{FrameOrder, Guess};
use os::Session;
use space::{Blocks, Segment, Space};
use stop::{RefusalKind, Stop};
use txn::undo::UndoLog;
use txn::{OwnItlEntry, Transactions, block};

use crate::apply::{BACK, CHANGE, LAYER};
use crate::block_change::BlockTarget;
use crate::inserter::{Filler, ITL_ENTRIES};
use crate::inspect::is_heap_block;
use crate::ops::Op;
use crate::{HeapInserter, RowAddress};

pub(crate) use piece::{ADDRESS_BYTES, NEXT, PIECE, ROW, SHORT, piece_of};

pub use change::Changed;
use change::SlotKind;
pub use load::HeapLoader;
pub use sample::Sampled;
pub use scan::HeapScan;
pub use visit::{BlockRow, BlockRows, EachRow, RowVisit};

/// How many hundredths of a block inserts leave free, for rows that grow.
const PCTFREE: usize = 10;

/// The longest pieces leave one part in this many of a block free, so that they fit into a block
/// that was used before: ITLs grow, and never shrink.
const ITL_SHARE: usize = 32;

/// The rows of a table.
#[derive(Clone)]
pub struct Heap {
    header: Dba,
    object: u32,
    /// The most bytes of a slot.
    piece_max: usize,
    /// How many bytes an empty block has room for.
    empty_room: usize,
    block_size: BlockSize,
    space: Space,
    transactions: Transactions,
    /// The outline of the last block that gave it.
    outline: Arc<Guess>,
}

impl Heap {
    /// The heap in this segment.
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
        let list = usize::from(ITL_ENTRIES) * ItlEntry::BYTES;
        let grown = block.bytes() / ITL_SHARE;
        let fits_block = block.bytes() - DataHead::LIST - list - grown - DataSlot::BYTES;
        Heap {
            header: segment.header,
            object: segment.object.get(),
            piece_max: fits_undo.min(fits_block),
            empty_room: fits_block,
            block_size: block,
            space: space.clone(),
            transactions: transactions.clone(),
            outline: Arc::default(),
        }
    }

    /// The transactions that change it.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// The heap's blocks that were handed out, as runs of neighbours; the first is the header.
    pub fn runs(&self, session: &Session) -> Result<Vec<Blocks>, Stop> {
        self.space.blocks(self.header, session)
    }

    /// How many blocks were handed out to the heap, with the header: by one get.
    pub fn handed_out(&self, session: &Session) -> Result<u32, Stop> {
        self.space.handed_out(self.header, session)
    }

    /// The size of its blocks.
    pub fn block_size(&self) -> BlockSize {
        self.block_size
    }

    fn filler(&self) -> Filler<'_> {
        let Heap { header, object, block_size, .. } = *self;
        let changes = self.transactions.changes();
        Filler { space: &self.space, changes, header, object, block_bytes: block_size.bytes() }
    }

    fn is_its(&self, block: &[u8]) -> bool {
        is_heap_block(block, self.object)
    }

    /// The slot, if the block is the heap's and has it.
    fn slot(&self, block: &[u8], number: u16) -> Option<DataSlot> {
        let is_there = self.is_its(block) && number < block::slots(block);
        is_there.then(|| block::slot(block, number))
    }

    /// The slot, if it has a row, or a piece, that isn't deleted.
    fn slot_with(&self, block: &[u8], number: u16, kind: SlotKind) -> Option<DataSlot> {
        self.slot(block, number).filter(|slot| kind.is_in(slot))
    }

    /// Gives `look` the block as it is now, under its latch.
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

    /// A block to be changed by steps of up to `longest` bytes, by a statement with this snapshot.
    fn target<'a>(
        pin: &'a Pin<'a>,
        longest: usize,
        snapshot: Option<Scn>,
        is_it: &'a dyn Fn(&[u8]) -> bool,
    ) -> BlockTarget<'a> {
        BlockTarget { pin, layer: &LAYER, opcodes: (CHANGE, BACK), longest, snapshot, is_it }
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
