//! Loading rows into new blocks: each is filled in private memory and made by one change, with one
//! undo record for all of its rows (AC38).
//!
//! ```text
//!   rows ──▶ private memory ──full──▶ one group: the block with all its rows, its map entry,
//!                 ▲                              an undo record "no row of it was there"
//!                 └── the next of the blocks above the high water that the loader has claimed
//! ```
//!
//! Invariants
//!   * a row has its address before its block is written, so nobody may look for it before
//!     `has_written` says so
//!   * no other session meets a block before its group: it is claimed, and the map says of it that
//!     it isn't formatted
//!
//! Callers: tables, for loads.

use std::sync::Arc;

use change::credits_for;
use format::changes::heap::{HeapFormat, LoadedRow, LoadedRows, Loader, MapNote};
use format::changes::itl::{Before, BeforeEntry};
use format::{BlockHeader, DataHead, DataSlot, DbaLe, ItlEntry, TxnIdLe, UndoAddressLe};
use ids::Dba;
use latch::FrameOrder;
use os::{Cost, Session};
use stop::{RefusalKind, Stop};
use txn::{OwnItlEntry, Transaction};

use super::piece::{ROW, whole};
use super::{Heap, PCTFREE};
use crate::RowAddress;
use crate::apply::{BACK, LAYER, LOAD, NOTE};
use crate::free_map::{REFILL, class_of, is_map, kept_for_itl_in, note_of};
use crate::inserter::{ITL_ENTRIES, Run};
use crate::ops::Op;

/// How many neighbouring blocks a loader gets at a time, at most. It gets one first, and then twice
/// as many each time, so that a short load leaves few blocks unused.
const BLOCKS_AT_ONCE: u32 = 64;

/// The block of a table that a load fills, in private memory, and those that come next.
#[derive(Debug, Default)]
pub struct HeapLoader {
    /// The block that is filled, and those that come next: all are new, and claimed.
    run: Option<Run>,
    /// The rows of the block, as its change has them.
    rows: Vec<u8>,
    /// How many rows these are.
    count: u16,
    /// Bytes of the rows with their slots.
    bytes: usize,
    /// How many bytes these may be, if a row isn't the first of its block.
    room: usize,
    /// How many blocks it got when it got new ones last.
    got: u32,
    /// Whether the tablespace had no new blocks.
    is_out: bool,
    /// Its end of the claims (see `space::Filling`).
    claims: Arc<()>,
}

impl HeapLoader {
    /// The address of the block that is filled.
    fn filled(&self) -> Dba {
        self.run.as_ref().expect("a block was begun").blocks.first
    }

    /// Whether the row with this address is in its block. Any is that is of no load.
    pub fn has_written(&self, row: RowAddress) -> bool {
        self.count == 0 || self.filled() != row.block
    }

    fn add(&mut self, flags: u8, bytes: &[u8]) {
        LoadedRows::write(ROW | flags, bytes, &mut self.rows);
        self.count += 1;
        self.bytes += bytes.len() + DataSlot::BYTES;
    }
}

impl Heap {
    /// Adds a row to a load, which puts it into a new block. Returns the address that it will have;
    /// none if the row is too long for a block, or there is no new block: then the caller inserts
    /// the row. If it is refused, the caller rolls back to a savepoint.
    #[inline]
    pub fn load(
        &self,
        transaction: &mut Transaction,
        loader: &mut HeapLoader,
        row: &[u8],
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        let (flags, bytes) = whole(row);
        let fits = loader.bytes + bytes.len() + DataSlot::BYTES <= loader.room;
        if !fits && !self.begin_block(transaction, loader, bytes.len(), session)? {
            return Ok(None);
        }
        let address = RowAddress { block: loader.filled(), slot: loader.count };
        loader.add(flags, &bytes);
        Ok(Some(address))
    }

    /// Begins the next block of a load, for a row of this length. False if the row isn't for a new
    /// block.
    fn begin_block(
        &self,
        transaction: &mut Transaction,
        loader: &mut HeapLoader,
        length: usize,
        session: &Session,
    ) -> Result<bool, Stop> {
        if length > self.piece_max {
            return Ok(false);
        }
        self.load_end(transaction, loader, session)?;
        if loader.run.is_none() && !loader.is_out {
            let wanted = (2 * loader.got).clamp(1, BLOCKS_AT_ONCE);
            match self.filler().hand_out(wanted, &loader.claims, session) {
                Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => loader.is_out = true,
                run => (loader.run, loader.got) = (Some(run?), wanted),
            }
        }
        let Some(run) = &loader.run else { return Ok(false) };
        let bytes = self.block_size.bytes();
        let kept_free = bytes * PCTFREE / 100 + kept_for_itl_in(run.entry, bytes);
        loader.room = self.room_of_new() - kept_free;
        Ok(true)
    }

    /// Writes the block that is filled, if it has rows. At the end of a load every row is there
    /// then. If it is refused, the caller rolls back to a savepoint.
    pub fn load_end(
        &self,
        transaction: &mut Transaction,
        loader: &mut HeapLoader,
        session: &Session,
    ) -> Result<(), Stop> {
        let Some(run) = loader.run.filter(|_| loader.count > 0) else { return Ok(()) };
        self.write_loaded(transaction, loader, run, session)?;
        self.space.filling().release(run.blocks.first, session);
        session.charge(Cost::RowChangeMore, u64::from(loader.count) - 1);
        (loader.run, loader.count, loader.bytes, loader.room) = (run.rest(), 0, 0, 0);
        loader.rows.clear();
        Ok(())
    }

    fn write_loaded(
        &self,
        transaction: &mut Transaction,
        loader: &HeapLoader,
        run: Run,
        session: &Session,
    ) -> Result<(), Stop> {
        let undo_bytes = OwnItlEntry::BACK_BYTES_MAX + Op::CLEAR_BYTES;
        let transactions = &self.transactions;
        let id = transactions.prepare(transaction, undo_bytes, session)?;
        let (changes, filler) = (transactions.changes(), self.filler());
        let undo_pins = transactions.undo().pins(transaction.undo(), session)?;
        let pin = changes.cache().pin_new(run.blocks.first, session)?;
        let map = match run.entry.map {
            DbaLe::NONE => None,
            map => Some(changes.cache().pin(map.get(), session)?),
        };
        let head_bytes = size_of::<HeapFormat>() + size_of::<Loader>();
        let credits = credits_for(&[head_bytes + loader.rows.len(), size_of::<MapNote>()])
            + transaction.undo().credits(undo_bytes);
        let mut group = changes.begin(credits, session)?;
        let block = pin.exclusive(FrameOrder::Heap, session);
        let map = map.as_ref().map(|map| map.exclusive(FrameOrder::FreeMap, session));
        let log = transaction.undo();
        let by =
            Loader { transaction: TxnIdLe::new(id), undo: UndoAddressLe::new(log.next_address()) };
        let head = filler.head(run.entry);
        let before = Before { number: 0, entry: BeforeEntry::Whole(&ItlEntry::NONE) };
        let mut back = before.bytes().to_vec();
        Op::Clear { slots: loader.count }.write(&mut back);
        let address = block.address();
        let payload: [&[u8]; 3] = [head.bytes(), by.bytes(), &loader.rows];
        #[cfg(debug_assertions)]
        assert_taken_back(address, block.len(), &payload.concat(), &back);
        group.format(block, &LAYER, LOAD, &payload);
        if let Some(map) = map.filter(|map| is_map(map, self.object)) {
            let bytes = self.block_size.bytes();
            let kept = kept_for_itl_in(run.entry, bytes);
            let class = class_of((self.room_of_new() - loader.bytes).saturating_sub(kept), bytes);
            let class = if class < REFILL { 0 } else { class };
            group.change(map, &LAYER, NOTE, &[note_of(run.entry.number, 1, class).bytes()]);
        }
        log.push(&mut group, &undo_pins, address, LAYER.number, BACK, &[&back]);
        group.commit(session);
        Ok(())
    }

    /// How many bytes a new block has for rows and their slots.
    fn room_of_new(&self) -> usize {
        self.block_size.bytes() - DataHead::LIST - usize::from(ITL_ENTRIES) * ItlEntry::BYTES
    }
}

/// Applies a load, and the undo that takes it back, to a new block: after each it is in order, and
/// in the end it has no rows (AC17).
#[cfg(debug_assertions)]
fn assert_taken_back(address: Dba, length: usize, payload: &[u8], back: &[u8]) {
    let mut block = vec![0; length];
    for (opcode, payload) in [(LOAD, payload), (BACK, back)] {
        let bytes = &mut block[..];
        (LAYER.apply)(change::BlockMut { address, scn: ids::Scn::ZERO, bytes }, opcode, payload);
        if let Err(what) = txn::block::check(&block) {
            panic!("change {opcode} of a load breaks the block: {what}");
        }
    }
    assert_eq!(txn::block::used(&block), 0, "bytes of rows that were taken back");
}

/// A row has no more bytes in redo than in its block with its slot, so the payload of a load isn't
/// longer than the block.
const _: () = assert!(
    size_of::<LoadedRow>() <= DataSlot::BYTES
        && size_of::<HeapFormat>() + size_of::<Loader>() <= BlockHeader::BYTES + DataHead::LIST
);
