//! The reference model: what a statement must see, if the engine keeps its word.
//!
//! ```text
//!   table ─▶ key ─▶ versions  (scn 5: row) (scn 9: no row) (scn 12: row)     committed, ascending
//!                   changes   T4: row, commit called   T7: no row            not yet, as locked
//! ```
//!
//! The engine says at which SCN each transaction was committed and which SCN each statement has as
//! its snapshot. So nothing here is a guess: a statement sees of each key the newest version that
//! isn't newer than its snapshot, but for keys that its own transaction has changed.
//!
//! Invariants
//!   * a key's versions ascend by SCN, and in the order in which their transactions locked it
//!   * of a key's changes all but the last are of transactions whose commit was called: each of
//!     them may have let go, and been acknowledged to nobody here yet
//!   * a key with neither a row nor a change isn't kept, once snapshots before that are forgotten
//!
//! A driver learns of a commit a little after others may: they were told by the engine, and their
//! sessions may be faster. So the model wants to know when a commit is called; between that and
//! [`Model::commit`] others may lock what it had locked. And a reading whose snapshot may be newer
//! than such a commit is to be judged later: [`Model::is_settled`] says whether it can be.
//!
//! What breaks a promise (a row locked twice, commits out of order) is a [`Breach`]; what only a
//! driver can do wrong (a transaction that never began, a snapshot that was forgotten) panics.
//!
//! Callers: tests that drive the engine with millions of operations and compare as they go.
//! Sources: decision 0006; Bernstein & Goodman, "Multiversion Concurrency Control" (TODS 1983).

mod row;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeBounds;

use row::{Change, Row};

/// A transaction's number.
pub type Txn = u64;

/// A table's number.
pub type Table = u32;

/// What an engine did that it promised not to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach(pub String);

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Breach {}

/// What a transaction had done when it was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Savepoint(usize);

/// A key of a table.
type Place = (Table, Vec<u8>);

/// A transaction that hasn't ended.
#[derive(Clone, Debug, Default)]
struct Active {
    /// What it changed, in order, and what it had made of the same key before.
    log: Vec<(Place, Option<Change>)>,
    commit_called: bool,
}

/// All tables, as they were and will be.
#[derive(Clone, Debug, Default)]
pub struct Model {
    tables: BTreeMap<Table, BTreeMap<Vec<u8>, Row>>,
    active: BTreeMap<Txn, Active>,
    /// Keys that got a version at this SCN: older versions of them go when it is forgotten.
    written: BTreeMap<u64, Vec<Place>>,
    /// Snapshots below this aren't asked for any more.
    floor: u64,
    /// Locks given so far.
    turns: u64,
}

impl Model {
    /// No tables, no transactions.
    pub fn new() -> Model {
        Model::default()
    }

    /// A transaction begins.
    pub fn begin(&mut self, txn: Txn) {
        let before = self.active.insert(txn, Active::default());
        assert!(before.is_none(), "transaction {txn} began twice");
    }

    /// The transaction has made this of the key: a row, or none. The key is locked.
    pub fn write(
        &mut self,
        txn: Txn,
        table: Table,
        key: &[u8],
        row: Option<&[u8]>,
    ) -> Result<(), Breach> {
        self.change(txn, table, key, Some(row.map(Box::from)))
    }

    /// The transaction has locked the key, and changed nothing (or not yet).
    pub fn lock(&mut self, txn: Txn, table: Table, key: &[u8]) -> Result<(), Breach> {
        self.change(txn, table, key, None)
    }

    fn change(
        &mut self,
        txn: Txn,
        table: Table,
        key: &[u8],
        row: Option<Option<Box<[u8]>>>,
    ) -> Result<(), Breach> {
        if let Some(holder) = self.locked_by(table, key)
            && holder != txn
        {
            return Err(Breach(format!(
                "transaction {txn} changed key {key:02x?} of table {table}, which transaction \
                 {holder} has locked"
            )));
        }
        let active = self.active.get_mut(&txn).expect("the transaction began");
        assert!(!active.commit_called, "transaction {txn} changes a key after its commit");
        self.turns += 1;
        let rows = self.tables.entry(table).or_default();
        let kept = rows.entry(key.to_vec()).or_default();
        let before = kept.change(txn, self.turns, row);
        active.log.push(((table, key.to_vec()), before));
        Ok(())
    }

    /// What the transaction has done so far.
    pub fn savepoint(&self, txn: Txn) -> Savepoint {
        Savepoint(self.active.get(&txn).expect("the transaction began").log.len())
    }

    /// What the transaction did since the savepoint is taken back, and keys that it locked since
    /// are let go. A statement that is refused does the same.
    pub fn rollback_to(&mut self, txn: Txn, savepoint: Savepoint) {
        let active = self.active.get_mut(&txn).expect("the transaction began");
        assert!(savepoint.0 <= active.log.len(), "the savepoint was itself taken back");
        let undone = active.log.split_off(savepoint.0);
        for (place, before) in undone.into_iter().rev() {
            self.at(&place, |row| row.restore(txn, before));
        }
    }

    /// The transaction is taken back, or its commit was refused.
    pub fn rollback(&mut self, txn: Txn) {
        self.rollback_to(txn, Savepoint(0));
        self.active.remove(&txn);
    }

    /// The transaction calls its commit: from now on it may be visible and have let go.
    pub fn commit_called(&mut self, txn: Txn) {
        self.active.get_mut(&txn).expect("the transaction began").commit_called = true;
    }

    /// The transaction was committed at this SCN: whose snapshot isn't older sees it.
    pub fn commit(&mut self, txn: Txn, scn: u64) -> Result<(), Breach> {
        let active = self.active.remove(&txn).expect("the transaction began");
        assert!(scn > self.floor || active.log.is_empty(), "snapshots at {scn} are forgotten");
        let mut places: Vec<Place> = active.log.into_iter().map(|(place, _)| place).collect();
        places.sort_unstable();
        places.dedup();
        let mut breach = None;
        for place in &places {
            if let Some(Err(what)) = self.at(place, |row| row.commit(txn, scn)) {
                let (table, key) = place;
                let what = format!("transaction {txn}, key {key:02x?} of table {table}: {what}");
                breach.get_or_insert(Breach(what));
            }
        }
        if !places.is_empty() {
            self.written.entry(scn).or_default().extend(places);
        }
        breach.map_or(Ok(()), Err)
    }

    /// Transactions whose commit was called and whose end wasn't told.
    pub fn in_doubt(&self) -> impl Iterator<Item = Txn> {
        self.active.iter().filter(|(_, active)| active.commit_called).map(|(txn, _)| *txn)
    }

    /// Whether all is known that a snapshot taken up to now can see: no commit is in doubt that
    /// changed anything. If not, a driver keeps what it was told and compares later.
    pub fn is_settled(&self) -> bool {
        self.active.values().all(|active| !active.commit_called || active.log.is_empty())
    }

    /// What the transaction sees of the key at this snapshot.
    pub fn expect(&self, txn: Txn, snapshot: u64, table: Table, key: &[u8]) -> Option<&[u8]> {
        let own = self.own(txn, table, key);
        own.unwrap_or_else(|| self.committed(snapshot, table, key))
    }

    /// What the transaction has made of the key, if it has changed it.
    pub fn own(&self, txn: Txn, table: Table, key: &[u8]) -> Option<Option<&[u8]>> {
        self.row(table, key)?.own(txn)
    }

    /// What of the key was committed at this snapshot.
    pub fn committed(&self, snapshot: u64, table: Table, key: &[u8]) -> Option<&[u8]> {
        self.assert_known(snapshot);
        self.row(table, key)?.at(snapshot)
    }

    /// The rows that the transaction sees between these keys at this snapshot, in key order.
    pub fn scan(
        &self,
        txn: Txn,
        snapshot: u64,
        table: Table,
        range: impl RangeBounds<[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        self.assert_known(snapshot);
        let rows = self.tables.get(&table).map(|rows| rows.range::<[u8], _>(range));
        rows.into_iter().flatten().filter_map(move |(key, row)| {
            let seen = row.own(txn).unwrap_or_else(|| row.at(snapshot))?;
            Some((key.as_slice(), seen))
        })
    }

    /// Who surely has the key locked: nobody, while its holder's commit is under way.
    pub fn locked_by(&self, table: Table, key: &[u8]) -> Option<Txn> {
        let holder = self.row(table, key)?.holder()?;
        let is_held =
            !self.active.get(&holder).expect("a change is of an active one").commit_called;
        is_held.then_some(holder)
    }

    /// What of the key was committed last, as far as is known.
    pub fn newest(&self, table: Table, key: &[u8]) -> Option<&[u8]> {
        self.row(table, key)?.at(u64::MAX)
    }

    /// Whether a transaction that hasn't ended, as far as is known, has changed or locked the key.
    pub fn is_pending(&self, table: Table, key: &[u8]) -> bool {
        self.row(table, key).is_some_and(|row| row.holder().is_some())
    }

    /// Whether the key got a version after this snapshot: then a statement of read committed that
    /// changes it begins again, and a transaction with a snapshot of its own is refused.
    pub fn changed_since(&self, snapshot: u64, table: Table, key: &[u8]) -> bool {
        self.row(table, key).and_then(Row::newest).is_some_and(|newest| newest > snapshot)
    }

    /// The instance crashed and redo was durable through this SCN: what was committed later is
    /// gone, and so is every transaction that hadn't ended. One in doubt that turns out to be
    /// there is committed, at its SCN, before this is called.
    pub fn after_crash(&mut self, durable: u64) {
        let active: Vec<Txn> = self.active.keys().copied().collect();
        for txn in active {
            self.rollback(txn);
        }
        let lost: Vec<Vec<Place>> = self.written.split_off(&(durable + 1)).into_values().collect();
        assert!(durable >= self.floor || lost.is_empty(), "what is lost was forgotten");
        for place in lost.iter().flatten() {
            self.at(place, |row| row.forget_above(durable));
        }
    }

    /// Nobody will ask for snapshots below this any more: older versions are dropped.
    pub fn forget(&mut self, below: u64) {
        if below <= self.floor {
            return;
        }
        self.floor = below;
        let later = self.written.split_off(&(below + 1));
        let old = std::mem::replace(&mut self.written, later);
        for place in old.values().flatten() {
            self.at(place, |row| row.forget_below(below));
        }
    }

    /// Versions and changes that are kept.
    pub fn kept(&self) -> usize {
        self.tables.values().flat_map(BTreeMap::values).map(Row::kept).sum()
    }

    fn assert_known(&self, snapshot: u64) {
        assert!(snapshot >= self.floor, "snapshots below {} are forgotten", self.floor);
    }

    fn row(&self, table: Table, key: &[u8]) -> Option<&Row> {
        self.tables.get(&table)?.get(key)
    }

    /// Does something to a key, and drops it if nothing is left of it.
    fn at<T>(&mut self, place: &Place, does: impl FnOnce(&mut Row) -> T) -> Option<T> {
        let (table, key) = place;
        let rows = self.tables.get_mut(table)?;
        let row = rows.get_mut(key)?;
        let done = does(row);
        if row.is_nothing(self.floor) {
            rows.remove(key);
        }
        Some(done)
    }
}
