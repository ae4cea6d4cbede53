//! Rows of fixed columns in a heap, found by their addresses: for whoever works below the
//! dictionary (tests, races, what is measured there). Applications have typed tables (`relation`).
//!
//! All that is done to rows and blocks is `rows`'s; here is only where columns lie.
//!
//! Callers: `instance`, for these.

use format::{DataHead, DataSlot, InterestedTransaction};
use os::Session;
use space::{Column, Holds, Segment, Space};
use stop::{RefusalKind, Stop};
use txn::{Interest, Patience, Transaction, Transactions};
use undo::UndoLog;

use crate::inserter::{Inserter, LIST_ENTRIES};
use crate::ops::Op;
use crate::row::{RowAddress, RowMut, RowShape, RowView};
use crate::rows::{Changed, Heap};

/// Bytes of a block before the first row, and of a row without its columns.
const BLOCK_HEAD_BYTES: usize =
    DataHead::LIST + LIST_ENTRIES as usize * InterestedTransaction::BYTES;

/// A table of fixed columns.
#[derive(Clone)]
pub struct Table {
    segment: Segment,
    shape: RowShape,
    heap: Heap,
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
        Ok(Table::of(segment, space, transactions, session))
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
        Ok(Table::of(segment, space, transactions, session))
    }

    fn of(
        segment: Segment,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Table {
        let shape = RowShape::new(&segment.columns);
        let heap = Heap::new(&segment, space, transactions, session);
        Table { segment, shape, heap }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.segment.name
    }

    /// Its segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Its rows as bytes.
    pub fn heap(&self) -> &Heap {
        &self.heap
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
        self.heap.insert(transaction, inserter, &bytes, session)
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
        let mut change = |old: &[u8], new: &mut Vec<u8>| {
            new.extend_from_slice(old);
            change(&mut RowMut { shape: &self.shape, bytes: new });
        };
        // Rows of one length stay where they are.
        let (mut inserter, target) = (Inserter::default(), (address, None));
        let changed = self.heap.update(transaction, &mut inserter, target, &mut change, session)?;
        was_there(changed, address)
    }

    /// Deletes a row. Waits while another transaction has it. False if there is none.
    pub fn delete(
        &self,
        transaction: &mut Transaction,
        address: RowAddress,
        session: &Session,
    ) -> Result<bool, Stop> {
        was_there(self.heap.delete(transaction, (address, None), session)?, address)
    }

    /// Locks a row, so that nobody else changes it. Waits while another transaction has it. False
    /// if there is none.
    pub fn lock(
        &self,
        transaction: &mut Transaction,
        address: RowAddress,
        session: &Session,
    ) -> Result<bool, Stop> {
        let target = (address, None, Patience::Forever);
        was_there(self.heap.lock(transaction, target, session)?, address)
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
        let mut look = |bytes: &[u8]| read(RowView { shape: &self.shape, bytes });
        loop {
            let view = self.heap.transactions().view(transaction, session)?;
            let found = self.heap.fetch(view, address, &mut look, session);
            let is_serializable = transaction.is_some_and(Transaction::is_serializable);
            match found {
                // Nothing keeps undo for so short a look: but there is always a newer moment.
                Err(stop)
                    if stop.refusal() == Some(RefusalKind::SnapshotTooOld) && !is_serializable => {}
                found => return found,
            }
        }
    }

    /// Reads every row as it was committed when this begins, in the order of the blocks. Waits for
    /// nobody.
    pub fn scan(
        &self,
        read: impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        self.scan_within(None, read, session)
    }

    /// The same as `transaction` sees the rows.
    pub fn scan_within(
        &self,
        transaction: Option<&Transaction>,
        mut read: impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        let transactions = self.heap.transactions();
        let snapshot = transactions.snapshot(transaction, session)?;
        let view = transactions.view_of(&snapshot, transaction);
        let mut visit =
            |address, bytes: &[u8]| read(address, RowView { shape: &self.shape, bytes });
        self.heap.visit(view, &mut visit, session)
    }
}

/// Whether the row was there; refused if it was changed since the transaction's snapshot.
fn was_there(changed: Changed, address: RowAddress) -> Result<bool, Stop> {
    match changed {
        Changed::Yes | Changed::Already => Ok(true),
        Changed::NotThere => Ok(false),
        Changed::Held => unreachable!("it is waited for"),
        Changed::Since => {
            let message = format!(
                "cannot change the row {address}: its block was changed since the transaction's \
                 snapshot; roll back and try again"
            );
            Err(Stop::refuse(RefusalKind::Serialization, message))
        }
    }
}
