//! A table: rows by address (rules AC1 to AC4).
//!
//! Callers: users of tables.

use cache::Pin;
use change::Changes;
use format::{DataHead, DataSlot, InterestedTransaction};
use ids::{Dba, TxnId};
use os::{Cost, Session};
use space::{Blocks, Column, Holds, Segment, Space};
use stop::{RefusalKind, Stop};
use txn::{Interest, Patience, RowWait, Transaction, Transactions, View};
use undo::UndoLog;

use crate::apply::{BACK, CHANGE, LAYER};
use crate::free_map::room_of;
use crate::heap::{Outcome, Plan, Target, Wish, change_block, is_of, wait_for_row};
use crate::inserter::{Filler, Inserter, LIST_ENTRIES, NoRoom, is_map_number};
use crate::ops::{Op, ROW};
use crate::read::read_block;
use crate::row::{RowAddress, RowMut, RowShape, RowView};

/// Bytes of a block before the first row, and of a row without its columns.
const BLOCK_HEAD_BYTES: usize =
    DataHead::LIST + LIST_ENTRIES as usize * InterestedTransaction::BYTES;

/// A table.
#[derive(Clone)]
pub struct Table {
    segment: Segment,
    shape: RowShape,
    space: Space,
    transactions: Transactions,
}

/// Rows by number; see [`Table::loaded`].
#[derive(Clone, Debug)]
pub struct Loaded {
    blocks: Vec<Dba>,
    capacity: u16,
    rows_in_last: u64,
}

impl Loaded {
    /// How many rows there are.
    pub fn count(&self) -> u64 {
        (self.blocks.len() as u64).saturating_sub(1) * u64::from(self.capacity) + self.rows_in_last
    }

    /// Where row `number`, from 0, lies.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn address(&self, number: u64) -> RowAddress {
        let capacity = u64::from(self.capacity);
        let block = self.blocks[(number / capacity) as usize];
        RowAddress { block, slot: (number % capacity) as u16 }
    }
}

/// How a row changes: given its bytes, its lock from then on, and its lock if that is taken back.
type Planner<'a> = dyn FnMut(&[u8], (u8, u8)) -> Plan + 'a;

impl Table {
    /// Makes a table in the system tablespace.
    pub fn create(
        name: &str,
        columns: &[Column],
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Table, Stop> {
        let system = space.tablespaces(session)[0].name.clone();
        Table::create_within(&system, (name, columns), space, transactions, session)
    }

    /// Makes a table in the tablespace of this name.
    pub fn create_within(
        tablespace: &str,
        (name, columns): (&str, &[Column]),
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Table, Stop> {
        let shape = RowShape::new(columns);
        let undo_block = space.changes().cache().block_size().bytes();
        let block = space.block_size_of(tablespace, session)?.bytes();
        let steps = Interest::BACK_BYTES_MAX + Op::HEAD_BYTES_MAX;
        let fits = UndoLog::payload_max(undo_block) - steps;
        let most = fits.min(block - BLOCK_HEAD_BYTES - DataSlot::BYTES);
        if shape.bytes() == 0 || shape.bytes() > most {
            let message = format!(
                "cannot create table {name}: its rows have {} bytes, and 1 to {most} fit into a \
                 block of {block} and, for undo, one of {undo_block}",
                shape.bytes()
            );
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        let what = (name, Holds::Table, columns);
        let segment = space.create_within(tablespace, what, session)?;
        Ok(Table { segment, shape, space: space.clone(), transactions: transactions.clone() })
    }

    /// The table of that name.
    pub fn open(
        name: &str,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Table, Stop> {
        let found = space.find(name, session)?.filter(|segment| segment.holds == Holds::Table);
        let Some(segment) = found else {
            let message = format!("there is no table {name}; create it first");
            return Err(Stop::refuse(RefusalKind::NotFound, message));
        };
        let shape = RowShape::new(&segment.columns);
        Ok(Table { segment, shape, space: space.clone(), transactions: transactions.clone() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.segment.name
    }

    /// Its segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Where its columns lie.
    pub fn shape(&self) -> &RowShape {
        &self.shape
    }

    /// Inserts a row that `fill` makes, and says where it is.
    pub fn insert(
        &self,
        transaction: &mut Transaction,
        inserter: &mut Inserter,
        fill: impl FnOnce(&mut RowMut<'_>),
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let mut bytes = vec![0; self.shape.bytes()];
        fill(&mut RowMut { shape: &self.shape, bytes: &mut bytes });
        let longest = Op::HEAD_BYTES_MAX + bytes.len();
        let header = self.segment.header;
        let filler = Filler { space: &self.space, header, object: self.object() };
        let needed = bytes.len() + DataSlot::BYTES;
        loop {
            self.prepare(transaction, Op::HEAD_BYTES_MAX, session)?;
            let pin = filler.block(inserter, needed, session)?;
            let fixed = transaction.fixed_view().map(View::with_all_own);
            let mut no_room = None;
            let mut wish = |block: &[u8], interest: &Interest| {
                no_room = Some(NoRoom { needed, found: room_of(block) });
                // AC8: else it would see what was there then, beside its own row.
                match fixed.is_none_or(|view| self.transactions.is_current(block, view, session)) {
                    true => insert_plan(block, interest, &bytes),
                    false => Wish::Nothing(Outcome::Full),
                }
            };
            let is_it = |block: &[u8]| self.is_its(block);
            let target = target(&pin, longest, &is_it);
            match change_block(&self.transactions, transaction, &target, &mut wish, session)? {
                Outcome::Done(slot) => {
                    inserter.found_room();
                    return Ok(RowAddress { block: pin.address(), slot });
                }
                // There are other blocks.
                _ => filler.leave(inserter, &pin, no_room, session)?,
            }
        }
    }

    /// Changes a row, and locks it even if nothing changes: `change` is given a copy, under the
    /// row's latch, and must only compute. Waits while another transaction has the row. False if
    /// there is no row.
    pub fn update(
        &self,
        transaction: &mut Transaction,
        address: RowAddress,
        mut change: impl FnMut(&mut RowMut<'_>),
        session: &Session,
    ) -> Result<bool, Stop> {
        let mut scratch = vec![0; self.shape.bytes()];
        let mut plan = |row: &[u8], lock: (u8, u8)| {
            scratch.copy_from_slice(row);
            change(&mut RowMut { shape: &self.shape, bytes: &mut scratch });
            splice_plan(address.slot, lock, row, &scratch)
        };
        let longest = Op::HEAD_BYTES_MAX + self.shape.bytes();
        self.change_row(transaction, (address, longest), &mut plan, session)
    }

    /// Deletes a row. Waits while another transaction has it. False if there is none.
    pub fn delete(
        &self,
        transaction: &mut Transaction,
        address: RowAddress,
        session: &Session,
    ) -> Result<bool, Stop> {
        let longest = Op::HEAD_BYTES_MAX + self.shape.bytes();
        let slot = address.slot;
        let mut plan = |bytes: &[u8], (lock, before): (u8, u8)| {
            let back = Op::Put { slot, flags: ROW, lock: before, bytes };
            Plan::of(Op::Stub { slot, lock }, back, bytes.len() as isize)
        };
        self.change_row(transaction, (address, longest), &mut plan, session)
    }

    /// Locks a row, so that nobody else changes it. Waits while another transaction has it. False
    /// if there is none.
    pub fn lock(
        &self,
        transaction: &mut Transaction,
        address: RowAddress,
        session: &Session,
    ) -> Result<bool, Stop> {
        let slot = address.slot;
        let mut plan = |_: &[u8], (lock, before): (u8, u8)| {
            Plan::of(Op::Lock { slot, lock }, Op::Lock { slot, lock: before }, 0)
        };
        self.change_row(transaction, (address, Op::HEAD_BYTES_MAX), &mut plan, session)
    }

    /// Changes one row as `plan` says, which is given the row's bytes, its lock from then on, and
    /// its lock if that is taken back.
    fn change_row(
        &self,
        transaction: &mut Transaction,
        (address, longest): (RowAddress, usize),
        plan: &mut Planner<'_>,
        session: &Session,
    ) -> Result<bool, Stop> {
        loop {
            self.prepare(transaction, longest, session)?;
            let pin = self.changes().cache().pin(address.block, session)?;
            let mut wish = |block: &[u8], interest: &Interest| {
                let Some(slot) = self.row_slot(block, address.slot) else {
                    return Wish::Nothing(match self.deleter(block, address.slot, interest) {
                        Some(holder) => Outcome::Wait(holder),
                        None => Outcome::Done(false),
                    });
                };
                if let Some(holder) = interest.holder(block, slot.lock) {
                    return Wish::Nothing(Outcome::Wait(holder));
                }
                let lock = (interest.lock(), interest.lock_before(slot.lock));
                let mut made = plan(block::bytes_of(block, slot), lock);
                made.locks = u16::from(!interest.owns(slot.lock));
                match made.freed < 0 && interest.room(block) < made.freed.unsigned_abs() {
                    true => Wish::Nothing(Outcome::Full),
                    false => Wish::Change(made, true),
                }
            };
            let is_it = |block: &[u8]| self.is_its(block);
            let target = target(&pin, longest, &is_it);
            let tried = change_block(&self.transactions, transaction, &target, &mut wish, session)?;
            drop(pin);
            match tried {
                Outcome::Done(found) => return Ok(found),
                Outcome::Wait(holder) => {
                    self.wait(transaction, (holder, RowWait::Row), address, session)?;
                }
                Outcome::WaitForEntry(holder) => {
                    self.wait(transaction, (holder, RowWait::ItlEntry), address, session)?;
                }
                Outcome::TooNew if transaction.is_serializable() => return Err(too_new(address)),
                Outcome::TooNew => {}
                Outcome::Foreign => return Ok(false),
                Outcome::Full => unreachable!("rows of one length fit where they were"),
                Outcome::NoUndo(_) => unreachable!("room was made for its undo"),
            }
        }
    }

    /// Reads a row, as it was committed last when this begins or as `transaction` sees it, by
    /// `read`, which only computes. None if there is no row. Waits for nobody.
    pub fn fetch<T>(
        &self,
        transaction: Option<&Transaction>,
        address: RowAddress,
        mut read: impl FnMut(RowView<'_>) -> T,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        self.changes().halt().check(session)?;
        session.charge(Cost::RowRead, 1);
        let mut look = |block: &[u8]| {
            let slot = self.row_slot(block, address.slot)?;
            let bytes = block::bytes_of(block, slot);
            Some(read(RowView { shape: &self.shape, bytes }))
        };
        loop {
            let view = self.transactions.view(transaction, session)?;
            let within = (&self.transactions, self.object());
            let found = read_block(within, (address.block, view), &mut look, session);
            let is_serializable = transaction.is_some_and(Transaction::is_serializable);
            match found {
                // Nothing keeps undo for so short a look: but there is always a newer moment.
                Err(stop)
                    if stop.refusal() == Some(RefusalKind::SnapshotTooOld) && !is_serializable => {}
                found => return found,
            }
        }
    }

    /// Rows by number, of a table that one inserter has filled and of which none was removed: the
    /// number is the place in the order of inserting.
    pub fn loaded(&self, session: &Session) -> Result<Loaded, Stop> {
        let mut blocks = self.data_blocks(session)?;
        let (mut rows_in_last, mut capacity) = (0, 1);
        while let Some(last) = blocks.last() {
            let rows = self.rows_in(*last, session)?;
            if rows > 0 {
                rows_in_last = u64::from(rows);
                capacity = self.rows_in(blocks[0], session)?;
                break;
            }
            blocks.pop();
        }
        Ok(Loaded { blocks, capacity, rows_in_last })
    }

    /// Its blocks that were handed out, as runs of neighbours; the first of them is its header.
    pub(crate) fn runs(&self, session: &Session) -> Result<Vec<Blocks>, Stop> {
        self.space.blocks(self.segment.header, session)
    }

    /// Its blocks that may have rows, in the order in which they were handed out.
    fn data_blocks(&self, session: &Session) -> Result<Vec<Dba>, Stop> {
        let runs = self.runs(session)?;
        let blocks = runs.into_iter().flat_map(|run| (0..run.count).map(move |n| (run.first, n)));
        let blocks = blocks.map(|(first, n)| Dba::new(first.file.get(), first.block.get() + n));
        let size = self.block_size(session).bytes();
        let has_rows = |(number, _): &(u32, Dba)| *number > 0 && !is_map_number(*number, size);
        Ok((0..).zip(blocks).filter(has_rows).map(|(_, block)| block).collect())
    }

    fn wait(
        &self,
        transaction: &Transaction,
        what: (TxnId, RowWait),
        address: RowAddress,
        session: &Session,
    ) -> Result<(), Stop> {
        let place = (self.object(), address, Patience::Forever);
        wait_for_row(&self.transactions, transaction, what, place, session)
    }

    fn prepare(
        &self,
        transaction: &mut Transaction,
        longest: usize,
        session: &Session,
    ) -> Result<TxnId, Stop> {
        let undo_bytes = Interest::BACK_BYTES_MAX + longest;
        self.transactions.prepare(transaction, undo_bytes, session)
    }

    /// The slot, if it is a row of this table.
    pub(crate) fn row_slot(&self, block: &[u8], number: u16) -> Option<DataSlot> {
        let slot = self.slot(block, number)?;
        (slot.flags == ROW).then_some(slot)
    }

    fn slot(&self, block: &[u8], number: u16) -> Option<DataSlot> {
        let is_there = self.is_its(block) && number < block::slots(block);
        is_there.then(|| block::slot(block, number))
    }

    /// Whether the block is one of this table's.
    pub(crate) fn is_its(&self, block: &[u8]) -> bool {
        is_of(block, self.object())
    }

    /// Who has deleted the row in this slot, if that may still be taken back.
    fn deleter(&self, block: &[u8], number: u16, interest: &Interest) -> Option<TxnId> {
        let slot = self.slot(block, number)?;
        let is_deleted = slot.flags & DataSlot::DELETED != 0;
        is_deleted.then(|| interest.holder(block, slot.lock)).flatten()
    }

    pub(crate) fn object(&self) -> u32 {
        self.segment.object.get()
    }

    pub(crate) fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    pub(crate) fn changes(&self) -> &Changes {
        self.transactions.changes()
    }
}

fn target<'a>(pin: &'a Pin<'a>, longest: usize, is_it: &'a dyn Fn(&[u8]) -> bool) -> Target<'a> {
    Target { pin, layer: &LAYER, opcodes: (CHANGE, BACK), longest, snapshot: None, is_it }
}

/// How a row gets into a block, and where.
fn insert_plan(block: &[u8], interest: &Interest, bytes: &[u8]) -> Wish<u16> {
    let slots = block::slots(block);
    let free = |number: &u16| block::slot(block, *number) == DataSlot::FREE;
    let slot = (0..slots).find(free).unwrap_or(slots);
    let directory = if slot == slots { DataSlot::BYTES } else { 0 };
    let takes = bytes.len() + directory;
    if interest.room(block) < takes {
        return Wish::Nothing(Outcome::Full);
    }
    let put = Op::Put { slot, flags: ROW, lock: interest.lock(), bytes };
    let plan = Plan { locks: 1, ..Plan::of(put, Op::Drop { slot }, -(takes as isize)) };
    Wish::Change(plan, slot)
}

/// How a row becomes another of the same length.
fn splice_plan(slot: u16, (lock, before): (u8, u8), was: &[u8], is: &[u8]) -> Plan {
    let Some((first, last)) = difference(was, is) else {
        return Plan::of(Op::Lock { slot, lock }, Op::Lock { slot, lock: before }, 0);
    };
    let (offset, removed) = (first as u16, (last - first) as u16);
    let splice = |lock, with| Op::Splice { slot, lock, offset, removed, with };
    Plan::of(splice(lock, &is[first..last]), splice(before, &was[first..last]), 0)
}

fn too_new(address: RowAddress) -> Stop {
    let message = format!(
        "cannot change the row {address}: its block was changed since the transaction's snapshot; \
         roll back and try again"
    );
    Stop::refuse(RefusalKind::Serialization, message)
}

/// The range in which two rows differ.
fn difference(before: &[u8], after: &[u8]) -> Option<(usize, usize)> {
    let differs = |(a, b): (&u8, &u8)| a != b;
    let first = before.iter().zip(after).position(differs)?;
    let last = before.iter().zip(after).rposition(differs)?;
    Some((first, last + 1))
}
