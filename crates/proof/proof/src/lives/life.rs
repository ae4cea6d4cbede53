//! What is known of one database, from its creation, or the copy that it came by, to its deletion.
//!
//! Callers: `known`.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{OWN, PLACES, place_of};

/// The number of a database.
pub(super) type LifeNo = usize;

/// How much of a database is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum State {
    /// It has all that was acknowledged.
    Sound,
    /// A copy that shares a file with it was opened: it needn't open any more.
    Doubtful,
    /// A file of it was deleted.
    Lost,
}

/// Whether a transaction is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Came {
    There,
    /// Its commit hasn't returned.
    InDoubt,
}

/// Rows with the numbers behind that of the transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Transaction {
    pub(super) table: String,
    pub(super) rows: i64,
    pub(super) came: Came,
}

/// Rows of a transaction have numbers from its own one on, fewer than these.
pub(super) const ROWS_MAX: i64 = 100;

/// Numbers of rows, of each table.
pub(super) type Rows = BTreeMap<String, BTreeSet<i64>>;

/// A database.
#[derive(Clone, Debug)]
pub(super) struct Life {
    /// Number of its directory.
    pub(super) place: usize,
    /// The one in which its control file says that it is: a copy's says where the original was.
    pub(super) said: usize,
    /// Its creation: copies have the same.
    pub(super) family: u64,
    pub(super) state: State,
    /// It wasn't deleted.
    pub(super) is_there: bool,
    /// Where its data files are, as far as that was acknowledged.
    pub(super) data: BTreeSet<String>,
    /// And the members of its redo log groups.
    pub(super) logs: BTreeSet<String>,
    /// Whether these are all: no statement about files ended in a halt.
    pub(super) is_settled: bool,
    pub(super) tablespaces: BTreeSet<String>,
    pub(super) tables: BTreeSet<String>,
    pub(super) transactions: BTreeMap<i64, Transaction>,
    /// Files that its open instance uses.
    pub(super) used: BTreeSet<String>,
    pub(super) is_open: bool,
    /// Calls that have files of it, or a handle of its instance.
    pub(super) users: u32,
    /// Openings, ends and the like that have begun or ended.
    pub(super) moves: u64,
    /// Kills that have begun.
    pub(super) kills: u64,
}

impl Life {
    pub(super) fn new(place: usize, family: u64) -> Life {
        Life {
            place,
            said: place,
            family,
            state: State::Sound,
            is_there: true,
            data: BTreeSet::new(),
            logs: BTreeSet::new(),
            is_settled: true,
            tablespaces: BTreeSet::new(),
            tables: BTreeSet::new(),
            transactions: BTreeMap::new(),
            used: BTreeSet::new(),
            is_open: false,
            users: 0,
            moves: 0,
            kills: 0,
        }
    }

    pub(super) fn directory(&self) -> &'static str {
        PLACES[self.place]
    }

    /// Files that every database has in its directory.
    pub(super) fn own(&self) -> impl Iterator<Item = String> {
        OWN.iter().map(|name| place_of(self.directory(), name))
    }

    /// Every file that it is known to have.
    pub(super) fn files(&self) -> BTreeSet<String> {
        self.data.iter().chain(&self.logs).cloned().chain(self.own()).collect()
    }

    /// Whether an opening must be refused, for it may be a copy: its control file names another
    /// directory, and a file of it lies outside of its own (rule space/SP22).
    pub(super) fn may_be_a_copy(&self) -> bool {
        let own = format!("{}/", self.directory());
        self.said != self.place && self.files().iter().any(|file| !file.starts_with(&own))
    }

    /// Whether both list one file.
    pub(super) fn shares(&self, other: &Life) -> bool {
        let files = self.files();
        other.files().iter().any(|file| files.contains(file))
    }

    /// Whether somebody has files of it.
    pub(super) fn is_busy(&self) -> bool {
        self.is_open || self.users > 0
    }

    /// What is wrong with these rows, which were found at an opening. What was in doubt is known
    /// then.
    pub(super) fn found(&mut self, rows: &Rows) -> Result<(), String> {
        if let Some(table) = self.tables.iter().find(|table| !rows.contains_key(*table)) {
            return Err(format!("table {table} isn't there"));
        }
        let mut left = rows.clone();
        let mut gone = Vec::new();
        for (number, one) in &mut self.transactions {
            let first = number * ROWS_MAX;
            let mine = first..first + one.rows;
            let there = left.get_mut(&one.table).map_or(0, |found| {
                let before = found.len();
                found.retain(|id| !mine.contains(id));
                before - found.len()
            });
            match (there as i64 == one.rows, there, one.came) {
                (true, ..) => one.came = Came::There,
                (false, 0, Came::InDoubt) => gone.push(*number),
                (false, ..) => {
                    return Err(format!("{there} rows of {one:?}, number {number}, are there"));
                }
            }
        }
        gone.iter().for_each(|number| _ = self.transactions.remove(number));
        if let Some((table, rows)) = left.iter().find(|(_, rows)| !rows.is_empty()) {
            return Err(format!("table {table} has rows of nobody: {rows:?}"));
        }
        self.tables = rows.keys().cloned().collect();
        Ok(())
    }
}
