//! What sessions did and what they were told, kept outside the simulated machine.
//!
//! A [`Chain`] holds what became of one thing (a row, or something that is defined), in the order
//! in which it happened: whoever changes it has it locked until its transaction ends, so the order
//! in which statements return is that of the changes. What is taken back leaves its chains.
//!
//! Callers: `client` and `define` write it; `sweep` takes a copy at each crash point; `oracle`
//! reads the copies.

use std::collections::{BTreeMap, BTreeSet};

use sim::Outside;

use crate::tables::{OnParent, children};

/// A row: which table of the load, and its primary key.
pub type RowId = (usize, i64);

/// What a row holds: the rest of it follows from its version and its writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content {
    /// Which change wrote it.
    pub version: i64,
    /// The transaction that wrote it.
    pub writer: usize,
    /// The row that it refers to.
    pub parent: Option<i64>,
}

/// How far a transaction came, as its session knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Neither commit nor rollback was called.
    Open,
    /// Commit was called and hasn't returned.
    CommitCalled,
    /// Commit has returned without waiting (`commit_wait = nowait`): nothing is promised yet.
    Unawaited,
    /// Commit has returned.
    Acknowledged,
    /// Rollback was called.
    RolledBack,
}

/// One transaction, or one statement that defines something.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The rows that it changed, in order; as often as it changed each.
    pub changes: Vec<RowId>,
    /// What it defined, if it is such a statement.
    pub defines: Vec<String>,
    /// Values of sequences that are in what it wrote.
    pub numbers: Vec<(Numbers, i64)>,
    /// How far it came.
    pub outcome: Outcome,
    /// Whether its commit waits: if not, others may read it before it is durable.
    pub waits: bool,
    /// When its commit was called, and when it returned, in moments of the journal.
    pub commit: [Option<u64>; 2],
}

/// A sequence of which values are in rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Numbers {
    /// `ticket`, in the marks of transactions.
    Ticket,
    /// The keys of the table with an identity column.
    Identity,
}

impl Numbers {
    /// Both.
    pub const ALL: [Numbers; 2] = [Numbers::Ticket, Numbers::Identity];

    /// What the catalog calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Numbers::Ticket => "ticket",
            Numbers::Identity => "other_id_seq",
        }
    }
}

/// What a session was told of a row, by a read or by an update that found it so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// The transaction in which it asked, if in one.
    pub reader: Option<usize>,
    /// Which row.
    pub row: RowId,
    /// Its version.
    pub version: i64,
    /// The transaction that wrote this version.
    pub writer: usize,
}

/// What became of one thing, by which entry: none is that it went.
pub type Chain<V> = Vec<(usize, Option<V>)>;

/// A state of something defined that nobody knows before it is there, but that it is another one.
pub(crate) const ANOTHER: &str = "another";

/// What is known at one moment.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// All transactions, by number.
    pub entries: Vec<Entry>,
    /// What became of each row.
    pub rows: BTreeMap<RowId, Chain<Content>>,
    /// What became of each thing that is defined: tables, columns, indexes, sequences, files.
    pub defined: BTreeMap<String, Chain<String>>,
    /// Everything that was told.
    pub told: Vec<Told>,
    /// Values that sequences gave.
    given: BTreeSet<(Numbers, i64)>,
    /// Moments so far: each call and each return of a commit is one.
    moments: u64,
    /// Versions that rows got.
    versions: i64,
    /// What happened, and how often.
    pub happened: BTreeMap<&'static str, u64>,
}

impl Record {
    /// A database that was made by the first transaction.
    pub(crate) fn made(
        rows: &BTreeMap<RowId, Content>,
        defined: &BTreeMap<String, String>,
    ) -> Record {
        let mut record = Record::default();
        let first = record.begin();
        record.entries[first].outcome = Outcome::Acknowledged;
        record.entries[first].commit = [Some(0); 2];
        record.versions = rows.values().map(|content| content.version).max().unwrap_or(0);
        record.rows = rows.iter().map(|(row, is)| (*row, vec![(first, Some(*is))])).collect();
        let chain =
            |(what, is): (&String, &String)| (what.clone(), vec![(first, Some(is.clone()))]);
        record.defined = defined.iter().map(chain).collect();
        record
    }

    fn begin(&mut self) -> usize {
        self.entries.push(Entry {
            changes: Vec::new(),
            defines: Vec::new(),
            numbers: Vec::new(),
            outcome: Outcome::Open,
            waits: true,
            commit: [None; 2],
        });
        self.entries.len() - 1
    }

    /// What a row is, by all that wasn't taken back.
    fn is_now(&self, row: RowId) -> Option<Content> {
        self.rows.get(&row)?.last().and_then(|(_, content)| *content)
    }

    fn change(&mut self, number: usize, row: RowId, after: Option<Content>) {
        self.rows.entry(row).or_default().push((number, after));
        self.entries[number].changes.push(row);
    }

    fn take_back(&mut self, number: usize, changes: usize) {
        for row in self.entries[number].changes.split_off(changes).into_iter().rev() {
            let chain = self.rows.get_mut(&row).expect("it was changed");
            let last = chain.iter().rposition(|(writer, _)| *writer == number);
            chain.remove(last.expect("the entry has changed it"));
        }
    }

    /// Takes a row away, and does with those that refer to it what their foreign keys say: all of
    /// them are committed or the transaction's own, or the statement would be waiting for them.
    fn delete(&mut self, number: usize, row: RowId) {
        let mut left = vec![row];
        while let Some((table, id)) = left.pop() {
            if self.is_now((table, id)).is_none() {
                continue;
            }
            self.change(number, (table, id), None);
            for (child, on_parent) in children(table) {
                let refers = |chain: &Chain<Content>| match chain.last() {
                    Some((_, Some(content))) => content.parent == Some(id),
                    _ => false,
                };
                let of_table = self.rows.range((child, i64::MIN)..=(child, i64::MAX));
                let found: Vec<RowId> =
                    of_table.filter(|(_, chain)| refers(chain)).map(|(row, _)| *row).collect();
                for row in found {
                    self.note(on_parent.name());
                    let content = self.is_now(row).expect("it refers to the other");
                    match on_parent {
                        OnParent::Goes => left.push(row),
                        OnParent::Forgets => {
                            let orphan = Content { parent: None, ..content };
                            self.change(number, row, Some(orphan));
                        }
                        // Somebody takes it away in the same statement, or the oracle will say so.
                        OnParent::Keeps => {}
                    }
                }
            }
        }
    }

    fn note(&mut self, what: &'static str) {
        *self.happened.entry(what).or_insert(0) += 1;
    }

    fn outcome(&mut self, number: usize, outcome: Outcome) {
        self.moments += 1;
        let entry = &mut self.entries[number];
        entry.outcome = outcome;
        match outcome {
            Outcome::CommitCalled => entry.commit[0] = Some(self.moments),
            Outcome::Acknowledged | Outcome::Unawaited => entry.commit[1] = Some(self.moments),
            Outcome::Open => {}
            Outcome::RolledBack => {
                let defines = std::mem::take(&mut entry.defines);
                for what in defines {
                    let chain = self.defined.get_mut(&what).expect("it was to be defined");
                    chain.retain(|(by, _)| *by != number);
                }
                self.take_back(number, 0);
            }
        }
    }
}

/// The record as it grows. Clones are the same journal.
#[derive(Clone, Debug, Default)]
pub struct Journal(Outside<Record>);

impl Journal {
    /// Goes on from what is known.
    pub fn from(record: Record) -> Journal {
        Journal(Outside::new(record))
    }

    /// A new transaction's number.
    pub fn begin(&self) -> usize {
        self.0.with(Record::begin)
    }

    /// A version that no row has yet.
    pub fn version(&self) -> i64 {
        self.0.with(|record| {
            record.versions += 1;
            record.versions
        })
    }

    /// The transaction has inserted or updated a row.
    pub fn changed(&self, transaction: usize, row: RowId, after: Content) {
        self.0.with(|record| record.change(transaction, row, Some(after)));
    }

    /// The transaction has given a row another key: nothing is left under this one, and nobody
    /// referred to it.
    pub fn moved(&self, transaction: usize, row: RowId) {
        self.0.with(|record| record.change(transaction, row, None));
    }

    /// The transaction has deleted a row, and whatever that entails.
    pub fn deleted(&self, transaction: usize, row: RowId) {
        self.0.with(|record| record.delete(transaction, row));
    }

    /// How many changes the transaction has made: to be taken back to.
    pub fn changes(&self, transaction: usize) -> usize {
        self.0.with(|record| record.entries[transaction].changes.len())
    }

    /// The transaction goes back to where it had made so many changes.
    pub fn take_back(&self, transaction: usize, changes: usize) {
        self.0.with(|record| record.take_back(transaction, changes));
    }

    /// What a row is, by all that wasn't taken back.
    pub fn is_now(&self, row: RowId) -> Option<Content> {
        self.0.with(|record| record.is_now(row))
    }

    /// Whether such a row was there once, and went.
    pub fn had(&self, row: RowId) -> bool {
        self.0.with(|record| {
            matches!(record.rows.get(&row).and_then(|chain| chain.last()), Some((_, None)))
        })
    }

    /// A sequence gave this value. Nobody got it before.
    pub fn given(&self, numbers: Numbers, value: i64) {
        let is_new = self.0.with(|record| record.given.insert((numbers, value)));
        assert!(is_new, "{} gave {value} twice", numbers.name());
    }

    /// The transaction writes this value of a sequence.
    pub fn uses(&self, transaction: usize, numbers: Numbers, value: i64) {
        self.0.with(|record| record.entries[transaction].numbers.push((numbers, value)));
    }

    /// A statement that defines this is called: each thing, and what it is then.
    pub fn defines(&self, what: Vec<(String, Option<String>)>) -> usize {
        self.0.with(|record| {
            let number = record.begin();
            for (what, after) in what {
                record.defined.entry(what.clone()).or_default().push((number, after));
                record.entries[number].defines.push(what);
            }
            record.outcome(number, Outcome::CommitCalled);
            number
        })
    }

    /// The statement that was called last takes all rows of a table away.
    pub fn truncates(&self, table: usize) {
        let rows = self.rows_of(table);
        self.0.with(|record| {
            let last = record.defined.get(crate::found::SEGMENT).and_then(|chain| chain.last());
            let number = last.expect("the statement defines another segment").0;
            rows.into_iter().for_each(|row| record.change(number, row, None));
        });
    }

    /// What was known only to become another thing is this now.
    pub fn became(&self, what: &str, is: String) {
        self.0.with(|record| {
            let chain = record.defined.get_mut(what).expect("it was defined");
            chain.last_mut().expect("a chain has an end").1 = Some(is);
        });
    }

    /// The transaction's commit, which comes next, doesn't wait.
    pub fn waits_not(&self, transaction: usize) {
        self.0.with(|record| record.entries[transaction].waits = false);
    }

    /// The transaction has come so far.
    pub fn outcome(&self, transaction: usize, outcome: Outcome) {
        self.0.with(|record| record.outcome(transaction, outcome));
    }

    /// A session was told this.
    pub fn told(&self, told: Told) {
        self.0.with(|record| record.told.push(told));
    }

    /// This has happened.
    pub fn note(&self, what: &'static str) {
        self.note_times(what, 1);
    }

    /// This has happened so often.
    pub fn note_times(&self, what: &'static str, times: u64) {
        self.0.with(|record| *record.happened.entry(what).or_insert(0) += times);
    }

    /// How often it has happened.
    pub fn times(&self, what: &str) -> u64 {
        self.0.with(|record| record.happened.get(what).copied().unwrap_or(0))
    }

    /// A row of this table that is there, by all that wasn't taken back: `pick` is given how many.
    pub fn some_row(&self, table: usize, pick: impl FnOnce(usize) -> usize) -> Option<i64> {
        self.0.with(|record| {
            let of_table = record.rows.range((table, i64::MIN)..=(table, i64::MAX));
            let there = of_table.filter(|(_, chain)| matches!(chain.last(), Some((_, Some(_)))));
            let ids: Vec<i64> = there.map(|((_, id), _)| *id).collect();
            (!ids.is_empty()).then(|| ids[pick(ids.len())])
        })
    }

    /// All rows of this table that are there.
    pub fn rows_of(&self, table: usize) -> Vec<RowId> {
        self.0.with(|record| {
            let of_table = record.rows.range((table, i64::MIN)..=(table, i64::MAX));
            let there = of_table.filter(|(_, chain)| matches!(chain.last(), Some((_, Some(_)))));
            there.map(|(row, _)| *row).collect()
        })
    }

    /// Everything so far.
    pub fn record(&self) -> Record {
        self.0.with(|record| record.clone())
    }
}
