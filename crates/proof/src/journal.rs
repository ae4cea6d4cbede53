//! What sessions did and what they were told, kept outside the simulated machine.
//!
//! Callers: `load` writes it; `sweep` takes a copy at each crash point; `oracle` reads the copies.

use access::RowAddress;
use sim::Outside;

/// A row: which table of the load, and where.
pub type RowId = (usize, RowAddress);

/// One change of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Which row.
    pub row: RowId,
    /// The version that it got: 1 by insert, one more by each update.
    pub version: i64,
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

/// One transaction.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its changes, in order.
    pub changes: Vec<Change>,
    /// How far it came.
    pub outcome: Outcome,
    /// Whether its commit waits: if not, others may read it before it is durable.
    pub waits: bool,
    /// When its commit was called, and when it returned, in moments of the journal.
    pub commit: [Option<u64>; 2],
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

/// What is known at one moment.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// All transactions, by number.
    pub entries: Vec<Entry>,
    /// Everything that was told.
    pub told: Vec<Told>,
    /// Rows of transactions whose commit has returned.
    rows: Vec<RowId>,
    /// Moments so far: each call and each return of a commit is one.
    moments: u64,
    /// Checkpoints that sessions asked for.
    pub checkpoints: u64,
    /// Parameters that sessions changed.
    pub altered: u64,
    /// Changes of the redo log groups that sessions made.
    pub logs_changed: u64,
    /// Segments that sessions dropped.
    pub segments_dropped: u64,
    /// What else happened while the load ran; known at its end.
    pub happened: Happened,
}

/// What happened in the engine while a load ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Happened {
    /// Redo logs that were switched to.
    pub log_switches: u64,
    /// Blocks by which data files grew.
    pub grown: u64,
    /// Checkpoints that nobody asked for and no log switch brought.
    pub incremental: u64,
}

/// The record as it grows. Clones are the same journal.
#[derive(Clone, Debug, Default)]
pub struct Journal(Outside<Record>);

impl Journal {
    /// A new transaction's number.
    pub fn begin(&self) -> usize {
        self.0.with(|record| {
            record.entries.push(Entry {
                changes: Vec::new(),
                outcome: Outcome::Open,
                waits: true,
                commit: [None; 2],
            });
            record.entries.len() - 1
        })
    }

    /// The transaction has changed a row.
    pub fn changed(&self, transaction: usize, change: Change) {
        self.0.with(|record| record.entries[transaction].changes.push(change));
    }

    /// The transaction's commit, which comes next, doesn't wait.
    pub fn waits_not(&self, transaction: usize) {
        self.0.with(|record| record.entries[transaction].waits = false);
    }

    /// The transaction has come so far.
    pub fn outcome(&self, transaction: usize, outcome: Outcome) {
        self.0.with(|record| {
            record.moments += 1;
            let entry = &mut record.entries[transaction];
            entry.outcome = outcome;
            match outcome {
                Outcome::CommitCalled => entry.commit[0] = Some(record.moments),
                Outcome::Acknowledged | Outcome::Unawaited => {
                    entry.commit[1] = Some(record.moments);
                }
                Outcome::Open | Outcome::RolledBack => {}
            }
            if matches!(outcome, Outcome::Acknowledged | Outcome::Unawaited) {
                let inserted = entry.changes.iter().filter(|change| change.version == 1);
                record.rows.extend(inserted.map(|change| change.row));
            }
        });
    }

    /// A session was told this.
    pub fn told(&self, told: Told) {
        self.0.with(|record| record.told.push(told));
    }

    /// A session asks for a checkpoint.
    pub fn checkpoint(&self) {
        self.0.with(|record| record.checkpoints += 1);
    }

    /// A session has changed a parameter.
    pub fn altered(&self) {
        self.0.with(|record| record.altered += 1);
    }

    /// A session has changed the redo log groups.
    pub fn logs_changed(&self) {
        self.0.with(|record| record.logs_changed += 1);
    }

    /// A session has dropped a segment.
    pub fn segment_dropped(&self) {
        self.0.with(|record| record.segments_dropped += 1);
    }

    /// This happened while the load ran.
    pub fn happened(&self, happened: Happened) {
        self.0.with(|record| record.happened = happened);
    }

    /// A committed row, whoever inserted it: `pick` is given their number.
    pub fn some_row(&self, pick: impl FnOnce(usize) -> usize) -> Option<RowId> {
        self.0.with(|record| match record.rows.len() {
            0 => None,
            count => Some(record.rows[pick(count)]),
        })
    }

    /// Everything so far.
    pub fn record(&self) -> Record {
        self.0.with(|record| record.clone())
    }
}
