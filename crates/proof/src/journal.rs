//! What sessions did and what they were told, kept outside the simulated machine.

#![expect(
    clippy::disallowed_types,
    reason = "the journal belongs to the test, not to the simulated machine, and outlives its crash"
)]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::RowAddress;

/// One change of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Which row.
    pub row: RowAddress,
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
}

/// All transactions, by number. Clones are the same journal.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Journal {
    /// A new transaction's number.
    pub fn begin(&self) -> usize {
        let mut entries = self.lock();
        entries.push(Entry { changes: Vec::new(), outcome: Outcome::Open });
        entries.len() - 1
    }

    /// The transaction has changed a row.
    pub fn changed(&self, transaction: usize, change: Change) {
        self.lock()[transaction].changes.push(change);
    }

    /// The transaction has come so far.
    pub fn outcome(&self, transaction: usize, outcome: Outcome) {
        self.lock()[transaction].outcome = outcome;
    }

    /// Everything so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    /// The same content in another journal, which goes on by itself.
    pub fn copy(&self) -> Journal {
        Journal { entries: Arc::new(Mutex::new(self.entries())) }
    }

    /// How many commits have returned.
    pub fn acknowledged(&self) -> usize {
        self.lock().iter().filter(|entry| entry.outcome == Outcome::Acknowledged).count()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
