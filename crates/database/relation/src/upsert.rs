//! Inserts that may meet a row with their key: INSERT … ON CONFLICT (RL59).
//!
//! ```text
//!   look for the key as it is now ──none──▶ the row, the entries that may conflict, the others
//!        │ held: wait, look again                 │ the key is there by now
//!        │ there                                  ▼
//!        └──▶ conflict with that row ◀─── take the row back
//! ```
//!
//! Callers: SQL.

use std::ops::Bound;

use access::{Inserted, RowAddress};
use stop::Stop;
use txn::View;
use value::{RowView, Value};

use crate::Relation;
use crate::driver::StatementWork;
use crate::keys::{RowKey, push_key};
use crate::scratch::{Scratch, Work};

/// What became of a row that was to be inserted unless another one has its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertAttempt {
    /// It is inserted, at this address.
    Inserted(RowAddress),
    /// Another row has its key, and nothing of it is there.
    Conflict(Conflict),
}

/// The other row that has a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// Where it is.
    pub row: RowAddress,
    /// The place of the unique index that has the key.
    pub index: usize,
    /// Who has given it the key.
    pub origin: KeyOrigin,
}

/// Who has given a row its key, as far as a statement sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyOrigin {
    /// It had it when the statement began: the statement's view shows it with the key.
    Before,
    /// Another transaction, which has committed since the view. The statement begins again
    /// ([`Flow::Again`](crate::Flow::Again)) if it is to change the row.
    Since,
    /// The statement itself, by an insert or an update.
    Own,
}

/// A row that an insert has met.
#[derive(Clone, Copy)]
struct Met {
    index: usize,
    row: RowAddress,
}

/// What became of the row in the buffers.
enum Tried {
    Inserted(RowAddress),
    Met(Met),
}

impl StatementWork<'_, '_> {
    /// Inserts a row with a value for each column, unless another row has its key in the unique
    /// index at this place, or without a place in any. Keys in other unique indexes are refused as
    /// always. Waits for a transaction that has inserted or deleted the key (RL40). Its keys are
    /// never late.
    pub fn insert_or_conflict(
        &mut self,
        table: usize,
        values: &[Value<'_>],
        index: Option<usize>,
    ) -> Result<InsertAttempt, Stop> {
        self.step(table, |statement, relation| {
            let attempt = statement.try_insert(relation, values, index)?;
            relation.process_pending_early(statement.work)?;
            Ok(Some(attempt))
        })
    }

    fn try_insert(
        &mut self,
        relation: &Relation,
        values: &[Value<'_>],
        index: Option<usize>,
    ) -> Result<InsertAttempt, Stop> {
        index.map_or(Ok(()), |index| relation.check_arbiter(index))?;
        relation.make_one(self.work.scratch, relation.layout().columns(), values)?;
        let mut gone = None;
        loop {
            let met = match relation.find_key_now(self.work, index)? {
                Some(met) => met,
                None => match relation.insert_unless_met(self.work, index)? {
                    Tried::Inserted(address) => return Ok(InsertAttempt::Inserted(address)),
                    Tried::Met(met) => met,
                },
            };
            let Met { index: number, row } = met;
            if let Some(origin) = self.origin(relation, met)? {
                return Ok(InsertAttempt::Conflict(Conflict { row, index: number, origin }));
            }
            // By now the row is gone, or has another key. If it is met again, the entry is wrong.
            if gone.replace(row) == Some(row) {
                return Err(relation.row_is_missing(row, Some(number)));
            }
        }
    }

    /// Who has given the row its key, which is that of the row in the buffers; none if it hasn't
    /// the key by now. In a serializable transaction a key that came since the snapshot is refused.
    fn origin(&self, relation: &Relation, met: Met) -> Result<Option<KeyOrigin>, Stop> {
        let session = self.work.session;
        let mut keys = self.work.scratch.new_keys.iter();
        let key = keys.find(|key| key.index == met.index).expect("a row has a key in each index");
        let columns = &relation.indexes()[met.index].columns;
        let has_key = |view: View| -> Result<bool, Stop> {
            let mut has_key = |row: RowView<'_>| {
                let mut found = Vec::new();
                let pushed = push_key(columns, |column| row.get(column), &mut found);
                pushed.map(|_| found == key.bytes)
            };
            match relation.fetch(view, met.row, &mut has_key, session)? {
                None => Ok(false),
                Some(has_key) => has_key.map_err(|damaged| relation.damaged(&damaged)),
            }
        };
        if has_key(self.view)? {
            return Ok(Some(KeyOrigin::Before));
        }
        if has_key(self.view.with_all_own())? {
            return Ok(Some(KeyOrigin::Own));
        }
        let transactions = relation.transactions();
        let snapshot = transactions.snapshot(None, session)?;
        match has_key(transactions.view_of(&snapshot, None))? {
            false => Ok(None),
            true if self.work.transaction.is_serializable() => Err(relation.changed_since()),
            true => Ok(Some(KeyOrigin::Since)),
        }
    }
}

impl Relation {
    /// Whether a row with this key is a conflict, where the index at this place says so, or any.
    fn is_arbiter(&self, key: RowKey<'_>, index: Option<usize>) -> bool {
        self.stands_alone(key) && index.is_none_or(|index| index == key.index)
    }

    /// A row that has a key of the row in the buffers now. Waits for transactions whose end may
    /// change the answer.
    fn find_key_now(&self, work: &Work<'_>, index: Option<usize>) -> Result<Option<Met>, Stop> {
        let Scratch { new_keys, new_row, .. } = &*work.scratch;
        for key in new_keys.iter().filter(|key| self.is_arbiter(*key, index)) {
            let range = (Bound::Included(key.bytes), Bound::Included(key.bytes));
            let found = self.index(key.index).now(range).next(work.transaction, work.session);
            let found = found.map_err(|stop| self.not_locked(stop, key.index, new_row))?;
            if let Some(row) = found {
                return Ok(Some(Met { index: key.index, row }));
            }
        }
        Ok(None)
    }

    /// Inserts the row in the buffers, and the entries that may be a conflict before the others. If
    /// one is, all is taken back.
    fn insert_unless_met(&self, work: &mut Work<'_>, index: Option<usize>) -> Result<Tried, Stop> {
        let (session, savepoint) = (work.session, work.transaction.savepoint());
        let transaction = &mut *work.transaction;
        let Scratch { inserters, new_row, new_keys, key: buffer, .. } = &mut *work.scratch;
        let inserter = inserters.of(self.definition().segment);
        let address = self.heap().insert(transaction, inserter, new_row, session)?;
        for is_arbiter in [true, false] {
            for key in new_keys.iter().filter(|key| self.is_arbiter(*key, index) == is_arbiter) {
                let inserted =
                    self.insert_key(transaction, key, address, buffer, new_row, session)?;
                let Inserted::Duplicate(row) = inserted else { continue };
                if !is_arbiter || row == address {
                    return Err(self.is_there(key.index, row == address, new_row));
                }
                self.transactions().rollback_to(transaction, savepoint, session)?;
                return Ok(Tried::Met(Met { index: key.index, row }));
            }
        }
        self.foreign_inserted(work.scratch)?;
        Ok(Tried::Inserted(address))
    }
}
