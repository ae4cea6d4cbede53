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
//!     `load_end`
//!   * no other session meets a block before its group: it is claimed, and the map says of it that
//!     it isn't formatted
//!
//! Callers: tables, for loads.

use std::sync::Arc;

use change::credits_for;
use format::changes::heap::{HeapFormat, LoadedRow, LoadedRows, Loader, MapNote};
use format::changes::itl::{Before, BeforeEntry};
use format::{BlockHeader, DataHead, DataSlot, DbaLe, ItlEntry, TxnIdLe, UndoAddressLe};
use latch::FrameOrder;
use os::{Cost, Session};
use stop::{RefusalKind, Stop};
use txn::{OwnItlEntry, Transaction};

use super::piece::{ROW, whole};
use super::{Heap, PCTFREE};
use crate::apply::{BACK, LAYER, LOAD, NOTE};
use crate::free_map::{REFILL, class_of, is_map, note_of};
use crate::inserter::{HeapInserter, ITL_ENTRIES, Run};
use crate::ops::Op;
use crate::RowAddress;

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
    /// How many blocks it got when it got new ones last.
    got: u32,
    /// Whether the tablespace had no new blocks.
    is_out: bool,
    /// Its end of the claims (see `space::Filling`).
    claims: Arc<()>,
}

impl HeapLoader {
    fn add(&mut self, flags: u8, bytes: &[u8]) {
        LoadedRows::write(ROW | flags, bytes, &mut self.rows);
        self.count += 1;
        self.bytes += bytes.len() + DataSlot::BYTES;
    }
}

impl Heap {
    /// Adds a row to a load and returns the address that it will have. It goes into a new block;
    /// if it is too long for one, or there is none, it is inserted. If that is refused, the caller
    /// rolls back to a savepoint.
    pub fn load(
        &self,
        transaction: &mut Transaction,
        loader: &mut HeapLoader,
        inserter: &mut HeapInserter,
        row: &[u8],
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let (flags, bytes) = whole(row);
        if bytes.len() > self.piece_max || loader.is_out {
            return self.insert(transaction, inserter, row, session);
        }
        let kept_free = self.block_size.bytes() * PCTFREE / 100;
        let takes = loader.bytes + bytes.len() + DataSlot::BYTES + kept_free;
        if loader.count > 0 && takes > self.room_of_new() {
            self.load_end(transaction, loader, session)?;
        }
        let run = match loader.run {
            Some(run) => run,
            None => {
                let wanted = (2 * loader.got).clamp(1, BLOCKS_AT_ONCE);
                match self.filler().hand_out(wanted, &loader.claims, session) {
                    Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => {
                        loader.is_out = true;
                        return self.insert(transaction, inserter, row, session);
                    }
                    run => {
                        let run = run?;
                        loader.got = wanted;
                        *loader.run.insert(run)
                    }
                }
            }
        };
        let address = RowAddress { block: run.blocks.first, slot: loader.count };
        loader.add(flags, &bytes);
        Ok(address)
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
        session.charge(Cost::RowChangeMore, u64::from(loader.count) - 1);
        (loader.run, loader.count, loader.bytes) = (run.rest(), 0, 0);
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
        let by = Loader {
            transaction: TxnIdLe::new(id),
            undo: UndoAddressLe::new(log.next_address()),
        };
        let head = filler.head(run.entry);
        let mut back =
            Before { number: 0, entry: BeforeEntry::Whole(&ItlEntry::NONE) }.bytes();
        Op::Clear { slots: loader.count }.write(&mut back);
        let address = block.address();
        let payload: [&[u8]; 3] = [head.bytes(), by.bytes(), &loader.rows];
        #[cfg(debug_assertions)]
        assert_taken_back(address, block.len(), &payload.concat(), &back);
        group.format(block, &LAYER, LOAD, &payload);
        if let Some(map) = map.filter(|map| is_map(map, self.object)) {
            let class = class_of(self.room_of_new() - loader.bytes, self.block_size.bytes());
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
fn assert_taken_back(address: ids::Dba, length: usize, payload: &[u8], back: &[u8]) {
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
