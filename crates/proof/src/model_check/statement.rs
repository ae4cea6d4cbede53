//! Statements: a snapshot, rows found by it, rows changed; begun again where a row was changed
//! since, as whoever executes statements for users has to.
//!
//! Callers: `client`.

use access::{Changed, RowAddress};
use rand::RngExt;
use stop::{RefusalKind, Stop};
use txn::{Patience, Snapshot, View};

use super::client::{Client, Open};
use super::known::{Before, Found, InModel, Key, Reader, key_of};
use crate::snapshot::Table;

/// A statement that begins again more often than this never ends.
const RESTARTS_MAX: u32 = 2_000;

/// Rows that a statement with a condition changes at most.
const MATCHES_MAX: usize = 4;

/// What a statement does.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// Each of these rows, one after the other.
    Each(Vec<(Act, Table, Key)>),
    /// Reads a table.
    Scan(Table),
    /// Finds rows by reading a table, and does this with them.
    Where(Act, Table, u32),
}

/// What is done with a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// Other bytes, so many.
    Update(usize),
    Delete,
    Lock(Patience),
    Read,
}

/// A statement under way.
pub(super) struct Statement<'a> {
    snapshot: Snapshot<'a>,
    before: Before,
}

impl Statement<'_> {
    fn reader(&self, open: &Open) -> Reader<'_> {
        Reader { txn: open.txn, snapshot: self.snapshot.scn().get(), before: &self.before }
    }
}

impl Client<'_> {
    /// Where engine and model are now.
    pub(super) fn savepoint(&self, open: &Open) -> (txn::Savepoint, InModel) {
        let in_model = self.known.with(|known| known.model.savepoint(open.txn));
        (open.transaction.savepoint(), in_model)
    }

    /// Takes both back.
    pub(super) fn rollback_to(
        &self,
        open: &mut Open,
        (savepoint, in_model): (txn::Savepoint, InModel),
    ) -> Result<(), Stop> {
        self.known.with(|known| known.model.rollback_to(open.txn, in_model));
        let transactions = self.instance.transactions();
        transactions.rollback_to(&mut open.transaction, savepoint, self.session)
    }

    /// Runs a statement to its end. If it is refused nothing of it is left.
    pub(super) fn statement(&mut self, open: &mut Open, work: &Work) -> Result<(), Stop> {
        let own = self.number;
        for _ in 0..RESTARTS_MAX {
            let savepoint = self.savepoint(open);
            let newest = self.known.with(|known| known.mark(own));
            open.transaction.begin_statement();
            let worked = self.try_statement(open, newest, work);
            open.transaction.end_statement();
            self.known.with(|known| known.unmark(own));
            self.check();
            match worked {
                Ok(Changed::Since) if open.transaction.is_serializable() => {
                    self.rollback_to(open, savepoint)?;
                    let message = "a row was changed since the transaction's snapshot";
                    return Err(Stop::refuse(RefusalKind::Serialization, message));
                }
                Ok(Changed::Since) => {
                    self.rollback_to(open, savepoint)?;
                    self.known.with(|known| known.tally.restarts += 1);
                }
                Ok(_) => return Ok(()),
                Err(stop) => {
                    self.rollback_to(open, savepoint)?;
                    return Err(stop);
                }
            }
        }
        self.finds(format!("a statement began again {RESTARTS_MAX} times: {work:?}"));
        Ok(())
    }

    fn try_statement(
        &mut self,
        open: &mut Open,
        newest: u64,
        work: &Work,
    ) -> Result<Changed, Stop> {
        let transactions = self.instance.transactions();
        let snapshot = transactions.snapshot(Some(&open.transaction), self.session)?;
        if !open.transaction.is_serializable() {
            self.known.with(|known| known.snapshot(snapshot.scn().get(), newest));
        }
        let mut statement = Statement { snapshot, before: Before::new() };
        let acts = match work {
            Work::Each(acts) => acts.clone(),
            Work::Scan(table) => {
                self.scan(open, &statement, *table)?;
                return Ok(Changed::Yes);
            }
            Work::Where(act, table, which) => {
                let rows = self.scan(open, &statement, *table)?;
                let keys = rows.iter().map(|row| key_of(row));
                let keys = keys.filter(|key| key % 8 == which % 8).take(MATCHES_MAX);
                keys.map(|key| (*act, *table, key)).collect()
            }
        };
        for (act, table, key) in acts {
            let changed = self.act(open, &mut statement, (act, table, key))?;
            if changed == Changed::Since {
                return Ok(changed);
            }
        }
        Ok(Changed::Yes)
    }

    /// What the statement sees now. Made anew each time: it says how much the transaction has done.
    fn view(&self, open: &Open, statement: &Statement<'_>) -> View {
        self.instance.transactions().view_of(&statement.snapshot, Some(&open.transaction))
    }

    /// All rows of a table.
    fn scan(
        &mut self,
        open: &Open,
        statement: &Statement<'_>,
        table: Table,
    ) -> Result<Vec<Vec<u8>>, Stop> {
        let heap = &self.heaps[table as usize];
        let view = self.view(open, statement);
        let mut rows: Vec<Vec<u8>> = Vec::new();
        for run in heap.runs(self.session)? {
            for number in 0..run.count {
                let block = ids::Dba::new(run.first.file.get(), run.first.block.get() + number);
                let mut visit = |_, row: &[u8]| rows.push(row.to_vec());
                heap.visit_block(view, block, &mut visit, self.session)?;
            }
        }
        self.known.with(|known| {
            known.tally.operations += 1;
            known.tally.scans += 1;
            known.tally.rows += rows.len() as u64;
            known.told_all(statement.reader(open), table, rows.clone());
        });
        Ok(rows)
    }

    fn act(
        &mut self,
        open: &mut Open,
        statement: &mut Statement<'_>,
        (act, table, key): (Act, Table, Key),
    ) -> Result<Changed, Stop> {
        let place = self.known.with(|known| known.places[table as usize].get(&key).copied());
        let Some(address) = place else { return Ok(Changed::NotThere) };
        let row = self.read(open, statement, (table, key, address))?;
        let Some(row) = row else { return Ok(Changed::NotThere) };
        let is_again = statement.before.contains_key(&(table, key));
        let changed = match act {
            Act::Read => return Ok(Changed::Yes),
            Act::Update(length) => {
                self.update(open, statement, (table, key, address), (&row, length))?
            }
            Act::Delete => {
                let target = (address, Some(self.view(open, statement)));
                let heap = &self.heaps[table as usize];
                heap.delete(&mut open.transaction, target, self.session)?
            }
            Act::Lock(patience) => {
                let target = (address, Some(self.view(open, statement)), patience);
                let heap = &self.heaps[table as usize];
                heap.lock(&mut open.transaction, target, self.session)?
            }
        };
        match changed {
            Changed::Yes if !is_again => {}
            Changed::Since => return Ok(changed),
            Changed::Already if is_again => {
                self.known.with(|known| known.tally.again += 1);
                return Ok(changed);
            }
            Changed::Yes | Changed::Already | Changed::NotThere | Changed::Held => {
                let met = if is_again { "again" } else { "first" };
                self.finds(format!(
                    "transaction {} met key {key} of table {table} {met} in a statement that sees \
                     it, and was told: {changed:?}",
                    open.txn
                ));
                return Ok(Changed::Since);
            }
        }
        let txn = open.txn;
        open.touched.insert((table, key));
        self.known.with(|known| {
            known.got(statement.reader(open), (table, key));
            let own = known.own_now(txn, table, key);
            let tally = &mut known.tally;
            match act {
                Act::Update(_) => tally.updates += 1,
                Act::Delete => tally.deletes += 1,
                Act::Lock(_) | Act::Read => tally.locks += 1,
            }
            match act {
                Act::Update(_) | Act::Read => return,
                Act::Delete => known.wrote(txn, (table, key), None),
                Act::Lock(_) => known.locked(txn, (table, key)),
            }
            statement.before.entry((table, key)).or_insert(own);
        });
        self.check();
        Ok(Changed::Yes)
    }

    fn read(
        &mut self,
        open: &Open,
        statement: &Statement<'_>,
        (table, key, address): (Table, Key, RowAddress),
    ) -> Result<Found, Stop> {
        let heap = &self.heaps[table as usize];
        let mut look = |row: &[u8]| (key_of(row) == key).then(|| row.to_vec());
        let found =
            heap.fetch(self.view(open, statement), address, &mut look, self.session)?.flatten();
        self.known.with(|known| {
            known.tally.operations += 1;
            known.tally.rows += u64::from(found.is_some());
            known.told_row(statement.reader(open), table, key, found.clone());
        });
        self.check();
        Ok(found)
    }

    fn update(
        &mut self,
        open: &mut Open,
        statement: &mut Statement<'_>,
        (table, key, address): (Table, Key, RowAddress),
        (row, length): (&[u8], usize),
    ) -> Result<Changed, Stop> {
        let new_row = self.known.with(|known| known.new_row(key, length));
        let heap = &self.heaps[table as usize];
        let mut given = Vec::new();
        let mut change = |old: &[u8], new: &mut Vec<u8>| {
            given = old.to_vec();
            new.extend_from_slice(&new_row);
        };
        let target = (address, Some(self.view(open, statement)));
        let inserter = &mut self.inserters[table as usize];
        let transaction = &mut open.transaction;
        let changed = heap.update(transaction, inserter, target, &mut change, self.session)?;
        if changed == Changed::Yes {
            let txn = open.txn;
            self.known.with(|known| {
                let now = known.own_now(txn, table, key);
                if given != row {
                    known.finds(format!(
                        "transaction {txn} was given another row to change than it had read: key \
                         {key} of table {table}"
                    ));
                }
                statement.before.entry((table, key)).or_insert(now);
                known.wrote(txn, (table, key), Some(&new_row));
                known.tally.chained += u64::from(length > self.block_bytes);
            });
        }
        Ok(changed)
    }

    /// How many bytes a row is to have.
    pub(super) fn length(&mut self) -> usize {
        let (short, long) = (self.plan.short, self.plan.long);
        let block = self.block_bytes;
        let random = &mut self.random;
        match random.random_range(0..16) {
            number if number < long => random.random_range(0..block * 3),
            number if number < long * 2 => random.random_range(0..block),
            _ => random.random_range(0..short),
        }
    }
}
