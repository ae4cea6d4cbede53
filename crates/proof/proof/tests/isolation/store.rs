//! A small store of lists with snapshots, versions and locks, which keeps its promises unless it is
//! told not to.

use std::collections::BTreeMap;

use proof::append::Level;
use proof::history::{Key, Value};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A way to break it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Break {
    /// Nothing is broken.
    Nothing,
    /// A read takes what another has changed and not committed.
    DirtyRead,
    /// A change begins from the snapshot, though the list was changed since.
    LostUpdate,
    /// A transaction with a snapshot of its own changes what was changed since.
    ConflictIgnored,
    /// A statement of such a transaction takes a snapshot of its own.
    ReadSkew,
    /// The reads of one statement have two snapshots.
    SplitStatement,
    /// A list is changed that another has locked.
    MissingLock,
    /// Locks are let go when a statement ends.
    EarlyRelease,
    /// A snapshot is some commits too old.
    StaleSnapshot,
    /// A commit is acknowledged and does nothing.
    LostCommit,
    /// A commit becomes visible list by list.
    HalfVisibleCommit,
    /// A rollback keeps what was changed.
    RollbackIgnored,
    /// What is taken back to a savepoint stays.
    SavepointIgnored,
    /// A crash takes the newest commit with it.
    LostInCrash,
}

impl Break {
    pub(crate) const ALL: [Break; 13] = [
        Break::DirtyRead,
        Break::LostUpdate,
        Break::ConflictIgnored,
        Break::ReadSkew,
        Break::SplitStatement,
        Break::MissingLock,
        Break::EarlyRelease,
        Break::StaleSnapshot,
        Break::LostCommit,
        Break::HalfVisibleCommit,
        Break::RollbackIgnored,
        Break::SavepointIgnored,
        Break::LostInCrash,
    ];
}

/// Once in so many times that it could, a broken store does wrong.
const ONCE_IN: u32 = 4;

/// A list at an SCN.
type Version = (u64, Vec<Value>);

#[derive(Clone, Debug)]
struct Open {
    level: Level,
    snapshot: u64,
    /// Its own changes: whole lists, as they will be.
    own: BTreeMap<Key, Vec<Value>>,
}

/// Why a statement can't be done now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Not {
    /// Somebody has a list locked.
    Yet,
    /// The list was changed after the transaction's snapshot.
    Ever,
}

/// What a transaction had changed at a savepoint.
pub(crate) type Saved = BTreeMap<Key, Vec<Value>>;

pub(crate) struct Store {
    versions: BTreeMap<Key, Vec<Version>>,
    locks: BTreeMap<Key, usize>,
    open: BTreeMap<usize, Open>,
    /// Of a commit that is half visible: what is still to come.
    late: Vec<(Key, Vec<Value>)>,
    pub(crate) scn: u64,
    broken: Break,
    pub(crate) random: Xoshiro256PlusPlus,
}

impl Store {
    pub(crate) fn new(broken: Break, random: Xoshiro256PlusPlus) -> Store {
        Store {
            versions: BTreeMap::new(),
            locks: BTreeMap::new(),
            open: BTreeMap::new(),
            late: Vec::new(),
            scn: 0,
            broken,
            random,
        }
    }

    fn is(&mut self, broken: Break) -> bool {
        self.broken == broken && self.random.random_range(0..ONCE_IN) == 0
    }

    pub(crate) fn begin(&mut self, txn: usize, level: Level) {
        let snapshot = self.snapshot_now();
        self.open.insert(txn, Open { level, snapshot, own: BTreeMap::new() });
    }

    fn snapshot_now(&mut self) -> u64 {
        let old = if self.is(Break::StaleSnapshot) { self.random.random_range(1..4) } else { 0 };
        self.scn.saturating_sub(old)
    }

    /// The snapshot that a statement has which takes it now.
    pub(crate) fn snapshot(&mut self, txn: usize) -> u64 {
        let skewed = self.is(Break::ReadSkew);
        let now = self.snapshot_now();
        let open = &self.open[&txn];
        if open.level == Level::ReadCommitted || skewed { now } else { open.snapshot }
    }

    pub(crate) fn committed(&self, key: Key, snapshot: u64) -> Vec<Value> {
        let versions = self.versions.get(&key).map_or(&[][..], Vec::as_slice);
        let seen = versions.iter().rev().find(|(scn, _)| *scn <= snapshot);
        seen.map_or_else(Vec::new, |(_, list)| list.clone())
    }

    /// What a statement reads that took one snapshot when it was called and another one now.
    pub(crate) fn read(&mut self, txn: usize, key: Key, snapshot: u64, called: u64) -> Vec<Value> {
        if let Some(own) = self.open[&txn].own.get(&key) {
            return own.clone();
        }
        let snapshot = if self.is(Break::SplitStatement) { called } else { snapshot };
        if self.is(Break::DirtyRead)
            && let Some(list) = self.open.values().find_map(|open| open.own.get(&key))
        {
            return list.clone();
        }
        self.committed(key, snapshot)
    }

    /// Locks all lists that a statement changes, or none.
    pub(crate) fn lock(&mut self, txn: usize, keys: &[Key], snapshot: u64) -> Result<(), Not> {
        let level = self.open[&txn].level;
        for key in keys {
            let held = self.locks.get(key).is_some_and(|holder| *holder != txn);
            if held && !self.is(Break::MissingLock) {
                return Err(Not::Yet);
            }
            let changed = self.versions.get(key).and_then(|versions| versions.last());
            let changed = changed.is_some_and(|(scn, _)| *scn > snapshot);
            if changed && level > Level::ReadCommitted && !self.is(Break::ConflictIgnored) {
                return Err(Not::Ever);
            }
        }
        for key in keys {
            self.locks.insert(*key, txn);
        }
        Ok(())
    }

    pub(crate) fn append(&mut self, txn: usize, key: Key, value: Value, called: u64) {
        let base = if self.is(Break::LostUpdate) { called } else { self.scn };
        let list = self.committed(key, base);
        let open = self.open.get_mut(&txn).expect("it is open");
        open.own.entry(key).or_insert(list).push(value);
    }

    pub(crate) fn statement_ends(&mut self, txn: usize) {
        if self.is(Break::EarlyRelease) {
            self.unlock(txn);
        }
    }

    pub(crate) fn savepoint(&self, txn: usize) -> Saved {
        self.open[&txn].own.clone()
    }

    pub(crate) fn rollback_to(&mut self, txn: usize, saved: &Saved) {
        if self.is(Break::SavepointIgnored) {
            return;
        }
        self.locks.retain(|key, holder| *holder != txn || saved.contains_key(key));
        self.open.get_mut(&txn).expect("it is open").own.clone_from(saved);
    }

    pub(crate) fn rollback(&mut self, txn: usize) {
        if self.is(Break::RollbackIgnored) {
            self.commit(txn);
            return;
        }
        self.open.remove(&txn);
        self.unlock(txn);
    }

    /// The SCN of the commit.
    pub(crate) fn commit(&mut self, txn: usize) -> u64 {
        let open = self.open.remove(&txn).expect("it is open");
        self.unlock(txn);
        self.scn += 1;
        if self.is(Break::LostCommit) {
            return self.scn;
        }
        let is_half = self.is(Break::HalfVisibleCommit) && self.late.is_empty();
        for (number, (key, list)) in open.own.into_iter().enumerate() {
            if is_half && number > 0 {
                self.locks.insert(key, txn);
                self.late.push((key, list));
            } else {
                self.versions.entry(key).or_default().push((self.scn, list));
            }
        }
        self.scn
    }

    /// Time goes by.
    pub(crate) fn turn(&mut self) {
        if !self.late.is_empty() && self.random.random_range(0..6) == 0 {
            self.scn += 1;
            for (key, list) in std::mem::take(&mut self.late) {
                self.locks.remove(&key);
                self.versions.entry(key).or_default().push((self.scn, list));
            }
        }
    }

    pub(crate) fn crash(&mut self) {
        self.open.clear();
        self.locks.clear();
        self.late.clear();
        if self.broken == Break::LostInCrash {
            let newest = self.scn;
            for versions in self.versions.values_mut() {
                versions.retain(|(scn, _)| *scn < newest);
            }
        }
    }

    fn unlock(&mut self, txn: usize) {
        self.locks.retain(|_, holder| *holder != txn);
    }
}
