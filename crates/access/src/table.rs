//! A table: rows by address (rules AC1 to AC4).
//!
//! An update, step by step:
//!   1. the transaction gets a name and room for undo; the block and its undo block are pinned;
//!      credits
//!   2. latch the block; somebody else's row: let go of everything, wait for its owner, from 1
//!      again
//!   3. the caller changes a copy of the row; what differs is the change
//!   4. latch the undo block; commit both

use cache::{Pin, is_unwritten};
use change::{Changes, credits_for};
use format::{BlockHeader, DbaLe, HeapBlock, Row, TxnIdLe, U16Le};
use ids::{Dba, TxnId};
use latch::FrameOrder;
use os::{Cost, Session};
use space::{Blocks, Column, Holds, Segment, Space};
use stop::{RefusalKind, Stop};
use txn::{Transaction, Transactions};
use undo::UndoLog;

use crate::apply::{FORMAT, INSERT, LAYER, REMOVE, USED, WRITE, row_at};
use crate::row::{RowAddress, RowMut, RowShape, RowView};

/// An inserter gets so many neighbouring blocks at a time.
const BLOCKS_AT_ONCE: u32 = 8;

/// Bytes of a `WRITE` before the row's.
const WRITE_HEAD: usize = 12;
/// Bytes of an `INSERT` before the row's.
const INSERT_HEAD: usize = 10;

/// A table.
#[derive(Clone)]
pub struct Table {
    segment: Segment,
    shape: RowShape,
    space: Space,
    transactions: Transactions,
}

/// Where one session's inserts into a table go (AC4). Used with another table it begins anew.
#[derive(Debug, Default)]
pub struct Inserter {
    /// The block being filled.
    filling: Option<Dba>,
    /// Blocks that come after it, not formatted yet.
    next: Option<Blocks>,
    /// The table that they are of, by its segment.
    segment: Option<Dba>,
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

/// What looking at a row under its latch came to.
enum Looked<T> {
    Done(T),
    LockedBy(TxnId),
}

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
        let fits = UndoLog::payload_max(undo_block) - WRITE_HEAD;
        let most = fits.min(block - HeapBlock::ROWS - Row::BYTES);
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
        let id = self.transactions.prepare(transaction, 2, session)?;
        let changes = self.changes();
        let undo_pin = changes.cache().pin(transaction.undo().current(), session)?;
        let credits = credits_for(&[INSERT_HEAD + bytes.len(), UndoLog::push_bytes(2)]);
        loop {
            let pin = self.block_to_fill(inserter, session)?;
            let mut group = changes.begin(credits, session)?;
            let block = pin.exclusive(FrameOrder::Heap, session);
            let head = HeapBlock::at(&block, HeapBlock::START);
            let slot = head.rows.get();
            if slot >= head.capacity.get() {
                inserter.filling = None;
                continue;
            }
            let undo = undo_pin.exclusive(FrameOrder::Undo, session);
            let stored_slot = slot.to_le_bytes();
            let of = TxnIdLe::new(id);
            group.change(block, &LAYER, INSERT, &[&stored_slot, of.bytes(), &bytes]);
            let back = (pin.address(), LAYER.number, REMOVE);
            transaction.undo().push(&mut group, undo, back, &[&stored_slot]);
            group.commit(session);
            return Ok(RowAddress { block: pin.address(), slot });
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
        let longest = WRITE_HEAD + self.shape.bytes();
        let mut scratch = vec![0; self.shape.bytes()];
        loop {
            self.transactions.prepare(transaction, longest, session)?;
            match self.try_update(transaction, address, &mut scratch, &mut change, session)? {
                Looked::Done(found) => return Ok(found),
                Looked::LockedBy(holder) => {
                    let active = self.transactions.active();
                    active.wait_for(holder, transaction.id(), session)?;
                }
            }
        }
    }

    fn try_update(
        &self,
        transaction: &mut Transaction,
        address: RowAddress,
        scratch: &mut [u8],
        change: &mut impl FnMut(&mut RowMut<'_>),
        session: &Session,
    ) -> Result<Looked<bool>, Stop> {
        let changes = self.changes();
        let id = transaction.id().expect("the transaction was prepared");
        let longest = WRITE_HEAD + self.shape.bytes();
        let pin = changes.cache().pin(address.block, session)?;
        let undo_pin = changes.cache().pin(transaction.undo().current(), session)?;
        let credits = credits_for(&[longest, UndoLog::push_bytes(longest)]);
        let mut group = changes.begin(credits, session)?;
        let block = pin.exclusive(FrameOrder::Heap, session);
        let Some((row, at)) = self.look(&block, address) else { return Ok(Looked::Done(false)) };
        if let Some(holder) = self.locked_by(&row, Some(id), session) {
            return Ok(Looked::LockedBy(holder));
        }
        let before = &block[at..at + self.shape.bytes()];
        scratch.copy_from_slice(before);
        change(&mut RowMut { shape: &self.shape, bytes: scratch });
        let (first, last) = match difference(before, scratch) {
            Some(range) => range,
            None if row.transaction.get() == Some(id) => return Ok(Looked::Done(true)),
            // Nothing to write but the name, which locks the row.
            None => (0, 0),
        };
        let old_bytes = before[first..last].to_vec();
        let undo = undo_pin.exclusive(FrameOrder::Undo, session);
        let (slot, offset) = (address.slot.to_le_bytes(), (first as u16).to_le_bytes());
        let (of, was) = (TxnIdLe::new(id), row.transaction);
        group.change(block, &LAYER, WRITE, &[&slot, of.bytes(), &offset, &scratch[first..last]]);
        let back = (address.block, LAYER.number, WRITE);
        let payload: [&[u8]; 4] = [&slot, was.bytes(), &offset, &old_bytes];
        transaction.undo().push(&mut group, undo, back, &payload);
        group.commit(session);
        Ok(Looked::Done(true))
    }

    /// Reads a row as it was committed last, or as `transaction` has changed it, by `read`, which
    /// is called under the row's latch. Waits while another transaction has it. None if there is no
    /// row.
    pub fn fetch<T>(
        &self,
        transaction: Option<&Transaction>,
        address: RowAddress,
        mut read: impl FnMut(RowView<'_>) -> T,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        let own = transaction.and_then(Transaction::id);
        loop {
            match self.try_fetch(address, own, &mut read, session)? {
                Looked::Done(found) => return Ok(found),
                Looked::LockedBy(holder) => {
                    self.transactions.active().wait_for(holder, own, session)?;
                }
            }
        }
    }

    fn try_fetch<T>(
        &self,
        address: RowAddress,
        own: Option<TxnId>,
        read: &mut impl FnMut(RowView<'_>) -> T,
        session: &Session,
    ) -> Result<Looked<Option<T>>, Stop> {
        let changes = self.changes();
        changes.halt().check(session)?;
        session.charge(Cost::RowRead, 1);
        let block = changes.cache().pin_shared(address.block, FrameOrder::Heap, session)?;
        let Some((row, at)) = self.look(&block, address) else { return Ok(Looked::Done(None)) };
        if let Some(holder) = self.locked_by(&row, own, session) {
            return Ok(Looked::LockedBy(holder));
        }
        let bytes = &block[at..at + self.shape.bytes()];
        Ok(Looked::Done(Some(read(RowView { shape: &self.shape, bytes }))))
    }

    /// Rows by number, of a table that one inserter has filled and of which none was removed: the
    /// number is the place in the order of inserting.
    pub fn loaded(&self, session: &Session) -> Result<Loaded, Stop> {
        let mut blocks = self.data_blocks(session)?;
        blocks.remove(0);
        let (mut rows_in_last, mut capacity) = (0, 1);
        while let Some(last) = blocks.last() {
            let block = self.changes().cache().pin_shared(*last, FrameOrder::Heap, session)?;
            let head = HeapBlock::at(&block, HeapBlock::START);
            if !is_unwritten(&block) && head.rows.get() > 0 {
                (rows_in_last, capacity) = (u64::from(head.rows.get()), head.capacity.get());
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

    fn data_blocks(&self, session: &Session) -> Result<Vec<Dba>, Stop> {
        let runs = self.runs(session)?;
        let blocks = runs.into_iter().flat_map(|run| (0..run.count).map(move |n| (run.first, n)));
        Ok(blocks.map(|(first, n)| Dba::new(first.file.get(), first.block.get() + n)).collect())
    }

    /// The row's head and where its columns begin, if there is such a row in this table.
    fn look(&self, block: &[u8], address: RowAddress) -> Option<(Row, usize)> {
        if is_unwritten(block) || BlockHeader::at(block, 0).kind() != format::BlockKind::Heap {
            return None;
        }
        let head = HeapBlock::at(block, HeapBlock::START);
        if head.segment.get() != self.segment.header || address.slot >= head.rows.get() {
            return None;
        }
        let at = row_at(block, address.slot);
        let row = *Row::at(block, at);
        (row.state == USED).then_some((row, at + Row::BYTES))
    }

    /// The transaction that has the row, if it is another one (AC2).
    fn locked_by(&self, row: &Row, own: Option<TxnId>, session: &Session) -> Option<TxnId> {
        let holder = row.transaction.get().filter(|holder| Some(*holder) != own)?;
        self.transactions.active().is_active(holder, session).then_some(holder)
    }

    /// The block that the inserter fills, formatted and pinned; a new one if there is none.
    fn block_to_fill<'a>(
        &'a self,
        inserter: &mut Inserter,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        if inserter.segment != Some(self.segment.header) {
            let segment = Some(self.segment.header);
            *inserter = Inserter { segment, ..Inserter::default() };
        }
        if let Some(block) = inserter.filling {
            return self.changes().cache().pin(block, session);
        }
        let run = match inserter.next {
            Some(run) => run,
            None => self.space.hand_out(self.segment.header, BLOCKS_AT_ONCE, session)?,
        };
        // Kept until the first is formatted: what is refused below is tried again with the next
        // row.
        inserter.next = Some(run);
        let pin = self.changes().cache().pin_new(run.first, session)?;
        let row_bytes = self.shape.bytes();
        let mut group = self.changes().begin(credits_for(&[size_of::<HeapBlock>()]), session)?;
        let block = pin.exclusive(FrameOrder::Heap, session);
        let room = block.len() - HeapBlock::ROWS;
        let head = HeapBlock {
            segment: DbaLe::new(self.segment.header),
            row_bytes: U16Le::new(row_bytes as u16),
            capacity: U16Le::new((room / (Row::BYTES + row_bytes)) as u16),
            rows: U16Le::ZERO,
            reserved: [0; 2],
        };
        group.change(block, &LAYER, FORMAT, &[head.bytes()]);
        group.commit(session);
        let after = Dba::new(run.first.file.get(), run.first.block.get() + 1);
        inserter.next = (run.count > 1).then_some(Blocks { first: after, count: run.count - 1 });
        inserter.filling = Some(run.first);
        Ok(pin)
    }

    pub(crate) fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    pub(crate) fn changes(&self) -> &Changes {
        self.transactions.changes()
    }
}

/// The range in which two rows differ.
fn difference(before: &[u8], after: &[u8]) -> Option<(usize, usize)> {
    let differs = |(a, b): (&u8, &u8)| a != b;
    let first = before.iter().zip(after).position(differs)?;
    let last = before.iter().zip(after).rposition(differs)?;
    Some((first, last + 1))
}
