//! What is known outside the machine: the model, where keys are, and what is still to be compared.
//!
//! Invariants
//!   * the model is told of changes after their call returned, and of what lets rows go before it
//!     is called: so it never thinks a row free that isn't, nor locked that may be free
//!   * a reading is compared when no commit is under way that it may have seen
//!   * versions are kept that a snapshot in use, or a reading that waits, may ask for
//!
//! Callers: `client`, `statement`; `survivors`, after a crash.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use access::RowAddress;

use super::tally::ModelTally;
use crate::snapshot::{Breach, Model, Savepoint, Table, Txn};

/// So many keys stay known though nothing may be left of them.
const LEAVING_MAX: usize = 50;

/// A row's number: its first bytes.
pub(super) type Key = u32;

/// A row's bytes, if it is there.
pub(super) type Found = Option<Vec<u8>>;

/// What a statement must see, whatever it has done itself: rows as they were when it began.
pub(super) type Before = BTreeMap<(Table, Key), Option<Found>>;

/// Who reads, and as of when.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) txn: Txn,
    pub(super) snapshot: u64,
    pub(super) before: &'a Before,
}

/// A reading of what others committed.
#[derive(Debug)]
struct Reading {
    /// Commits that were under way.
    doubt: Vec<Txn>,
    txn: Txn,
    snapshot: u64,
    table: Table,
    what: What,
}

#[derive(Debug)]
enum What {
    Row(Key, Found),
    /// All rows but those that the reader itself had changed.
    Rows(BTreeMap<Key, Vec<u8>>, BTreeSet<Key>),
}

/// What a commit makes of each key that it changed.
pub(super) type Outcomes = Vec<((Table, Key), Found)>;

/// What is known.
#[derive(Default)]
pub(super) struct Known {
    pub(super) model: Model,
    pub(super) tally: ModelTally,
    /// What was found wrong first.
    pub(super) breach: Option<String>,
    /// Where keys are, or were.
    pub(super) places: Vec<BTreeMap<Key, RowAddress>>,
    /// Commits under way, with what they make of the keys that they changed; in the order of calls.
    pub(super) doubt: Vec<(Txn, Outcomes)>,
    later: Vec<Reading>,
    /// For each session, the oldest snapshots that it may ask for.
    marks: BTreeMap<u32, u64>,
    /// The newest snapshot, and the newest commit, that anybody was told of.
    pub(super) newest: u64,
    /// The newest commit that was told to be durable.
    pub(super) durable: u64,
    /// What a crash may not take: snapshots that were read, unless commits don't wait.
    pub(super) seen: u64,
    /// Keys of transactions that ended.
    pub(super) leaving: VecDeque<(Table, Key)>,
    txns: Txn,
    keys: Key,
    writes: u32,
    /// Left in this round.
    pub(super) operations: u64,
}

impl Known {
    pub(super) fn new(tables: usize) -> Known {
        Known { places: vec![BTreeMap::new(); tables], ..Known::default() }
    }

    pub(super) fn finds(&mut self, what: impl ToString) {
        self.breach.get_or_insert_with(|| what.to_string());
    }

    pub(super) fn begin(&mut self) -> Txn {
        self.txns += 1;
        self.model.begin(self.txns);
        self.txns
    }

    pub(super) fn new_key(&mut self) -> Key {
        self.keys += 1;
        self.keys
    }

    /// A row of this key and length, as there was never one before.
    pub(super) fn new_row(&mut self, key: Key, length: usize) -> Vec<u8> {
        self.writes += 1;
        let mut row = key.to_le_bytes().to_vec();
        row.extend_from_slice(&self.writes.to_le_bytes()[..3]);
        row.resize(length.max(row.len()), self.writes as u8);
        row
    }

    /// The session may ask for snapshots from now on.
    pub(super) fn mark(&mut self, number: u32) -> u64 {
        self.marks.insert(number, self.newest);
        self.newest
    }

    pub(super) fn unmark(&mut self, number: u32) {
        self.marks.remove(&number);
    }

    /// A snapshot was taken, by a call that began when `newest` was known.
    pub(super) fn snapshot(&mut self, scn: u64, newest: u64) {
        if scn < newest {
            self.finds(format!("a snapshot at {scn} was taken after {newest} was seen"));
        }
        self.newest = self.newest.max(scn);
        let marks = self.marks.values().copied();
        let oldest = marks.chain(self.later.iter().map(|reading| reading.snapshot)).min();
        // A crash may go back to what is durable.
        self.model.forget(oldest.unwrap_or(self.newest).min(self.newest).min(self.durable));
    }

    pub(super) fn wrote(&mut self, txn: Txn, (table, key): (Table, Key), row: Option<&[u8]>) {
        if let Err(breach) = self.model.write(txn, table, &key.to_le_bytes(), row) {
            self.finds(breach);
        }
    }

    pub(super) fn locked(&mut self, txn: Txn, (table, key): (Table, Key)) {
        if let Err(breach) = self.model.lock(txn, table, &key.to_le_bytes()) {
            self.finds(breach);
        }
    }

    /// A statement with this snapshot has got the row, and was told that nobody changed it since.
    pub(super) fn got(&mut self, reader: Reader<'_>, (table, key): (Table, Key)) {
        if self.model.changed_since(reader.snapshot, table, &key.to_le_bytes()) {
            let Reader { txn, snapshot, .. } = reader;
            self.finds(format!(
                "transaction {txn} was given key {key} of table {table} as of {snapshot}, though \
                 it was changed since"
            ));
        }
    }

    /// What the reader itself has made of the key, as far as it sees that.
    fn own(&self, reader: Reader<'_>, table: Table, key: Key) -> Option<Found> {
        match reader.before.get(&(table, key)) {
            Some(before) => before.clone(),
            None => self.own_now(reader.txn, table, key),
        }
    }

    pub(super) fn own_now(&self, txn: Txn, table: Table, key: Key) -> Option<Found> {
        let own = self.model.own(txn, table, &key.to_le_bytes())?;
        Some(own.map(<[u8]>::to_vec))
    }

    /// A reader was told what is at a key.
    pub(super) fn told_row(&mut self, reader: Reader<'_>, table: Table, key: Key, row: Found) {
        let Reader { txn, snapshot, .. } = reader;
        match self.own(reader, table, key) {
            Some(own) if own == row => {}
            Some(own) => {
                let (own, row) = (shown(own.as_deref()), shown(row.as_deref()));
                self.finds(format!(
                    "transaction {txn} has made {own} of key {key} of table {table}, and reads \
                     {row} at {snapshot}"
                ));
            }
            None => {
                let mut doubt = Vec::new();
                for (other, changes) in &self.doubt {
                    if *other != txn && changes.iter().any(|(place, _)| *place == (table, key)) {
                        doubt.push(*other);
                    }
                }
                self.reads(Reading { doubt, txn, snapshot, table, what: What::Row(key, row) });
            }
        }
    }

    /// A reader was told all rows of a table.
    pub(super) fn told_all(&mut self, reader: Reader<'_>, table: Table, rows: Vec<Vec<u8>>) {
        let Reader { txn, snapshot, .. } = reader;
        let (count, mut all) = (rows.len(), BTreeMap::new());
        for row in rows {
            all.insert(key_of(&row), row);
        }
        if all.len() != count {
            let found = all.len();
            self.finds(format!("a scan at {snapshot} gave {count} rows with {found} keys"));
        }
        let known: Vec<Key> = self.keys_of(table);
        let mut owned = BTreeSet::new();
        for key in known {
            if let Some(own) = self.own(reader, table, key) {
                owned.insert(key);
                let row = all.remove(&key);
                if own != row {
                    let (own, row) = (shown(own.as_deref()), shown(row.as_deref()));
                    self.finds(format!(
                        "transaction {txn} has made {own} of key {key} of table {table}, and a \
                         scan at {snapshot} gives {row}"
                    ));
                }
            }
        }
        let mut doubt = Vec::new();
        for (other, changes) in &self.doubt {
            if *other != txn && changes.iter().any(|((of, _), _)| *of == table) {
                doubt.push(*other);
            }
        }
        self.reads(Reading { doubt, txn, snapshot, table, what: What::Rows(all, owned) });
    }

    /// Of these keys those are forgotten, a while later, of which there is nothing any more.
    pub(super) fn forget_keys(&mut self, keys: &BTreeSet<(Table, Key)>) {
        self.leaving.extend(keys);
        while self.leaving.len() > LEAVING_MAX {
            let (table, key) = self.leaving.pop_front().expect("there are some");
            let bytes = key.to_le_bytes();
            let is_in_hand = self.model.is_pending(table, &bytes);
            if !is_in_hand && self.model.newest(table, &bytes).is_none() {
                self.places[table as usize].remove(&key);
            }
        }
    }

    /// Every key that has a place.
    pub(super) fn keys_of(&self, table: Table) -> Vec<Key> {
        self.places[table as usize].keys().copied().collect()
    }

    fn reads(&mut self, reading: Reading) {
        self.seen = self.seen.max(reading.snapshot);
        match reading.doubt.is_empty() {
            true => self.compare(&reading),
            false => {
                self.tally.later += 1;
                self.later.push(reading);
            }
        }
    }

    fn compare(&mut self, reading: &Reading) {
        let Reading { txn, snapshot, table, .. } = *reading;
        let wrong = match &reading.what {
            What::Row(key, row) => {
                let expected = self.model.committed(snapshot, table, &key.to_le_bytes());
                (expected != row.as_deref()).then(|| {
                    format!("key {key}: {}, not {}", shown(row.as_deref()), shown(expected))
                })
            }
            What::Rows(rows, owned) => {
                let all = (Bound::Unbounded, Bound::Unbounded);
                let seen = self.model.scan(Txn::MAX, snapshot, table, all);
                let seen = seen.map(|(key, row)| (key_of(key), row));
                let seen: BTreeMap<Key, &[u8]> =
                    seen.filter(|(key, _)| !owned.contains(key)).collect();
                let keys: BTreeSet<Key> = seen.keys().chain(rows.keys()).copied().collect();
                let wrong = keys
                    .into_iter()
                    .find(|key| seen.get(key).copied() != rows.get(key).map(Vec::as_slice));
                wrong.map(|key| {
                    let (row, expected) = (rows.get(&key).map(Vec::as_slice), seen.get(&key));
                    let expected = shown(expected.copied());
                    format!("in a scan, key {key}: {}, not {expected}", shown(row))
                })
            }
        };
        if let Some(wrong) = wrong {
            self.finds(format!("transaction {txn} reads table {table} at {snapshot}; {wrong}"));
        }
    }

    /// The transaction calls its commit; it has changed these keys.
    pub(super) fn commit_called(&mut self, txn: Txn, touched: &BTreeSet<(Table, Key)>) {
        let changes = touched
            .iter()
            .filter_map(|(table, key)| Some(((*table, *key), self.own_now(txn, *table, *key)?)));
        let changes = changes.collect();
        self.doubt.push((txn, changes));
        self.model.commit_called(txn);
    }

    /// And is told how it ended: at this SCN, or not at all.
    pub(super) fn ended(&mut self, txn: Txn, scn: Option<u64>) {
        let at = self.doubt.iter().position(|(other, _)| *other == txn);
        let (_, changes) = self.doubt.remove(at.expect("it called its commit"));
        match scn {
            None => {
                if !changes.is_empty() {
                    self.finds(format!("transaction {txn} changed rows, and has no SCN"));
                }
                self.model.rollback(txn);
            }
            Some(scn) => {
                if let Err(breach) = self.model.commit(txn, scn) {
                    self.finds(breach);
                }
                self.newest = self.newest.max(scn);
            }
        }
        self.settle(txn);
    }

    /// The commit was refused: the transaction is rolled back.
    pub(super) fn refused(&mut self, txn: Txn) {
        self.doubt.retain(|(other, _)| *other != txn);
        self.model.rollback(txn);
        self.settle(txn);
    }

    fn settle(&mut self, txn: Txn) {
        for reading in &mut self.later {
            reading.doubt.retain(|other| *other != txn);
        }
        let ready: Vec<Reading> =
            self.later.extract_if(.., |reading| reading.doubt.is_empty()).collect();
        ready.iter().for_each(|reading| self.compare(reading));
    }

    /// The instance is gone: what sessions had in hand is too, and what was read is compared as far
    /// as it can be.
    pub(super) fn crashed(&mut self) -> Vec<(Txn, Outcomes)> {
        self.marks.clear();
        self.later.clear();
        std::mem::take(&mut self.doubt)
    }
}

/// The key of a row.
pub(super) fn key_of(row: &[u8]) -> Key {
    Key::from_le_bytes(row[..4].try_into().expect("a row begins with its key"))
}

fn shown(row: Option<&[u8]>) -> String {
    let Some(row) = row else { return "no row".into() };
    let write = row.get(4..7).unwrap_or(&[]);
    format!("write {write:?} with {} bytes", row.len())
}

impl From<Breach> for String {
    fn from(Breach(what): Breach) -> String {
        what
    }
}

/// What a transaction had done, by the model.
pub(super) type InModel = Savepoint;
