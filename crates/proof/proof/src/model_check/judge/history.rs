//! Committed versions of all rows, and what an open transaction has made of some.
//!
//! Invariants
//!   * a row's versions ascend by SCN
//!   * what a transaction has made of a row is taken back in the order in which it was done
//!
//! Callers: the judge.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::super::cell::Row;
use super::super::schema::TABLES;

/// A row's place: its table and its primary key.
pub(in super::super) type Place = (usize, i64);

/// A version: from which SCN on; the row, if there is one; and whether it is another than before at
/// any time, for an update that writes the same bytes only locks the row.
type Version = (u64, Option<Row>, bool);

/// Committed versions.
#[derive(Default)]
pub(in super::super) struct History {
    versions: [BTreeMap<i64, Vec<Version>>; TABLES.len()],
    commits: BTreeSet<u64>,
}

impl History {
    /// A commit at this SCN has made this of the row.
    pub(super) fn install(&mut self, (table, id): Place, scn: u64, own: &Own) {
        self.commits.insert(scn);
        let versions = self.versions[table].entry(id).or_default();
        let at = versions.partition_point(|(before, ..)| *before < scn);
        versions.insert(at, (scn, own.now.clone(), own.is_other));
    }

    /// The row at a snapshot.
    pub(super) fn at(&self, (table, id): Place, snapshot: u64) -> Option<&Row> {
        let versions = self.versions[table].get(&id)?;
        let count = versions.partition_point(|(scn, ..)| *scn <= snapshot);
        versions[..count].last()?.1.as_ref()
    }

    /// As far as it is known.
    pub(super) fn latest(&self, place: Place) -> Option<&Row> {
        self.at(place, u64::MAX)
    }

    /// The SCN of the newest version, even of one without a row, or with the same row as before.
    pub(super) fn newest(&self, (table, id): Place) -> u64 {
        let last = self.versions[table].get(&id).and_then(|versions| versions.last());
        last.map_or(0, |(scn, ..)| *scn)
    }

    /// The SCN of the newest version that is another than the one before.
    pub(super) fn newest_other(&self, (table, id): Place) -> u64 {
        let versions = self.versions[table].get(&id).into_iter().flatten();
        let others = versions.filter(|(_, _, is_other)| *is_other);
        others.map(|(scn, ..)| *scn).max().unwrap_or(0)
    }

    /// Primary keys that a table ever had.
    pub(super) fn ids(&self, table: usize) -> impl Iterator<Item = i64> {
        self.versions[table].keys().copied()
    }

    /// Snapshots that a statement may have: the oldest one, and every commit behind it.
    pub(super) fn snapshots(&self, low: u64) -> Vec<u64> {
        let later = self.commits.range((Bound::Excluded(low), Bound::Unbounded));
        std::iter::once(low).chain(later.copied()).collect()
    }

    /// Rows that were there at this snapshot or came later.
    pub(super) fn since(&self, table: usize, low: u64) -> impl Iterator<Item = &Row> {
        self.versions[table].values().flat_map(move |versions| {
            let before = versions.partition_point(|(scn, ..)| *scn <= low);
            versions[before.saturating_sub(1)..].iter().filter_map(|(_, row, _)| row.as_ref())
        })
    }

    /// Only the newest versions are asked for from now on.
    pub(super) fn forget(&mut self) {
        for versions in self.versions.iter_mut().flat_map(BTreeMap::values_mut) {
            versions.drain(..versions.len().saturating_sub(1));
        }
        for table in &mut self.versions {
            table.retain(|_, versions| versions.iter().any(|(_, row, _)| row.is_some()));
        }
        self.commits.clear();
    }

    /// Rows as they are now.
    pub(super) fn now(&self) -> impl Iterator<Item = (Place, &Row)> {
        let tables = self.versions.iter().enumerate();
        tables.flat_map(|(table, rows)| {
            rows.iter().filter_map(move |(id, versions)| {
                Some(((table, *id), versions.last()?.1.as_ref()?))
            })
        })
    }
}

/// What a transaction has made of a row.
#[derive(Clone, Debug)]
pub(super) struct Own {
    /// What was there before.
    pub(super) base: Option<Row>,
    pub(super) now: Option<Row>,
    /// It is only locked otherwise.
    pub(super) is_changed: bool,
    /// A statement has made it another than it was.
    pub(super) is_other: bool,
}

/// An open transaction.
pub(super) struct Open {
    pub(super) serializable: bool,
    /// When its begin was called.
    pub(super) began: u64,
    /// Snapshots that it may have; of one that has one for each statement, none is older.
    pub(super) snapshots: Vec<u64>,
    own: BTreeMap<Place, Own>,
    done: Vec<(Place, Option<Own>)>,
    savepoints: BTreeMap<usize, usize>,
}

impl Open {
    pub(super) fn new(serializable: bool, snapshots: Vec<u64>, began: u64) -> Open {
        let (own, done, savepoints) = Default::default();
        Open { serializable, began, snapshots, own, done, savepoints }
    }

    pub(super) fn own(&self, place: Place) -> Option<&Own> {
        self.own.get(&place)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Place, &Own)> {
        self.own.iter().map(|(place, own)| (*place, own))
    }

    pub(super) fn has_changed(&self, table: usize) -> bool {
        self.own.iter().any(|((of, _), own)| *of == table && own.is_changed)
    }

    fn put(&mut self, place: Place, own: Own) {
        let before = self.own.insert(place, own);
        self.done.push((place, before));
    }

    /// Makes this of a row, of which `base` was there if the transaction hadn't touched it.
    pub(super) fn change(&mut self, place: Place, base: Option<Row>, now: Option<Row>) {
        let own = self.own.get(&place);
        let before = own.map_or(&base, |own| &own.now);
        let is_other = *before != now || own.is_some_and(|own| own.is_other);
        let base = own.map_or_else(|| base.clone(), |own| own.base.clone());
        self.put(place, Own { base, now, is_changed: true, is_other });
    }

    pub(super) fn lock(&mut self, place: Place, row: &Row) {
        if !self.own.contains_key(&place) {
            let row = Some(row.clone());
            self.put(
                place,
                Own { base: row.clone(), now: row, is_changed: false, is_other: false },
            );
        }
    }

    pub(super) fn savepoint(&mut self, number: usize) {
        self.savepoints.insert(number, self.done.len());
    }

    pub(super) fn back(&mut self, number: usize) {
        let count = self.savepoints[&number];
        for (place, before) in self.done.drain(count..).rev() {
            match before {
                Some(own) => self.own.insert(place, own),
                None => self.own.remove(&place),
            };
        }
    }

    /// The row as the transaction sees it at a snapshot.
    pub(super) fn sees<'a>(
        &'a self,
        history: &'a History,
        place: Place,
        snapshot: u64,
    ) -> Option<&'a Row> {
        match self.own.get(&place).filter(|own| own.is_changed) {
            Some(own) => own.now.as_ref(),
            None => history.at(place, snapshot),
        }
    }

    /// All rows of a table as the transaction sees them at a snapshot.
    pub(super) fn rows<'a>(
        &'a self,
        history: &'a History,
        table: usize,
        snapshot: u64,
    ) -> Vec<&'a Row> {
        let own = self.own.range((table, i64::MIN)..=(table, i64::MAX));
        let new = own.filter(|((_, id), _)| !history.versions[table].contains_key(id));
        let new = new.filter_map(|(_, own)| own.now.as_ref());
        let known = history.ids(table);
        let known = known.filter_map(|id| self.sees(history, (table, id), snapshot));
        known.chain(new).collect()
    }
}
