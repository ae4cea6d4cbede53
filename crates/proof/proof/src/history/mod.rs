//! What sessions did to lists and what they were told: the form in which isolation is judged.
//!
//! ```text
//!   history ──▶ transactions, by number ──▶ statements ──▶ append(key, value), read(key) = list
//!               session, outcome             called, returned: moments
//! ```
//!
//! Every key has a list, empty at first; a value is appended to a list at most once in a history.
//! So a list that was read says which appends came before it, and in which order: that makes an
//! order of versions out of what sessions saw, without asking the engine.
//!
//! Invariants
//!   * a moment is one event: two events of a history never share one, and later ones are greater
//!   * a session has one transaction at a time, and a transaction one statement at a time
//!   * what a statement appended and the engine took back (the statement was refused, or its
//!     transaction went back to a savepoint) stays in the history, and says when it was taken back
//!
//! Callers: whoever drives the engine keeps it as it goes, outside the simulated machine: calls are
//! told before they are made, and returns after, so that whatever happened did so in between.
//! `append` judges it. After a crash nothing is told of what was under way. Recording is cheap and
//! can't fail; a caller that breaks an invariant panics.
//! Sources: Kingsbury & Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
//! Observations" (VLDB 2020), for lists.

#[cfg(test)]
pub(crate) mod notation;

use crate::append::Level;

/// A list.
pub type Key = u64;

/// What is appended to a list.
pub type Value = u64;

/// One thing that a statement does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Puts the value at the end of the list.
    Append(Key, Value),
    /// Was told the whole list.
    Read(Key, Vec<Value>),
}

/// One call of the engine: whatever it reads is to be of one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// The moment at which it was called.
    pub called: u64,
    /// The moment at which it returned: never, if a crash came first.
    pub returned: Option<u64>,
    /// In the order in which the session sees them.
    pub operations: Vec<Operation>,
    /// What it appended was taken back before this statement of the transaction (or before the
    /// commit, if it is one more than the last).
    pub taken_back: Option<usize>,
}

/// How a transaction ended, as its session knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was committed.
    Committed,
    /// It was rolled back, or never asked for its commit.
    Aborted,
    /// Commit was called and nobody knows: it counts as committed if anybody saw it.
    Unknown,
}

/// One transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// Whose it is.
    pub session: u32,
    /// Its own level, if that is lower than the one that the history is judged by.
    pub level: Option<Level>,
    /// The moment at which it began: its snapshot, if it has one, isn't older.
    pub began: u64,
    /// In order.
    pub statements: Vec<Statement>,
    /// The moment at which its commit was called.
    pub commit_called: Option<u64>,
    /// The moment at which its commit was acknowledged: never, if it doesn't wait for that.
    pub acknowledged: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a transaction had done when it was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Savepoint(usize);

/// What sessions did, in the order in which it happened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// By number.
    pub transactions: Vec<Transaction>,
    /// The last moment.
    moments: u64,
}

impl History {
    /// An empty one.
    pub fn new() -> History {
        History::default()
    }

    /// A session begins a transaction: its number. Until its end is told it counts as aborted.
    pub fn begin(&mut self, session: u32) -> usize {
        let began = self.moment();
        self.transactions.push(Transaction {
            session,
            level: None,
            began,
            statements: Vec::new(),
            commit_called: None,
            acknowledged: None,
            outcome: Outcome::Aborted,
        });
        self.transactions.len() - 1
    }

    /// The transaction runs at a level of its own, lower than others.
    pub fn level(&mut self, transaction: usize, level: Level) {
        self.transactions[transaction].level = Some(level);
    }

    /// The transaction calls a statement.
    pub fn called(&mut self, transaction: usize) {
        let statement = Statement {
            called: self.moment(),
            returned: None,
            operations: Vec::new(),
            taken_back: None,
        };
        self.transactions[transaction].statements.push(statement);
    }

    /// The statement under way appends. To be told before the call, so that a crash leaves it.
    pub fn append(&mut self, transaction: usize, key: Key, value: Value) {
        self.last(transaction).operations.push(Operation::Append(key, value));
    }

    /// The statement under way was told this list.
    pub fn read(&mut self, transaction: usize, key: Key, list: Vec<Value>) {
        self.last(transaction).operations.push(Operation::Read(key, list));
    }

    /// The statement has returned.
    pub fn returned(&mut self, transaction: usize) {
        let moment = self.moment();
        self.last(transaction).returned = Some(moment);
    }

    /// The statement was refused: what it appended is taken back, the transaction goes on.
    pub fn refused(&mut self, transaction: usize) {
        self.returned(transaction);
        let count = self.transactions[transaction].statements.len();
        self.last(transaction).taken_back = Some(count);
    }

    /// What the transaction has done so far.
    pub fn savepoint(&self, transaction: usize) -> Savepoint {
        Savepoint(self.transactions[transaction].statements.len())
    }

    /// What the transaction did since the savepoint is taken back.
    pub fn rolled_back_to(&mut self, transaction: usize, savepoint: Savepoint) {
        self.moment();
        let statements = &mut self.transactions[transaction].statements;
        let count = statements.len();
        for statement in &mut statements[savepoint.0..] {
            statement.taken_back.get_or_insert(count);
        }
    }

    /// The transaction calls its commit: from now on nobody knows, until its end is told. Of a
    /// commit that doesn't wait nobody is told more.
    pub fn commit_called(&mut self, transaction: usize) {
        let moment = self.moment();
        let transaction = &mut self.transactions[transaction];
        transaction.commit_called = Some(moment);
        transaction.outcome = Outcome::Unknown;
    }

    /// The commit was acknowledged: whoever begins later must see it.
    pub fn acknowledged(&mut self, transaction: usize) {
        let moment = self.moment();
        let transaction = &mut self.transactions[transaction];
        transaction.acknowledged = Some(moment);
        transaction.outcome = Outcome::Committed;
    }

    /// The transaction was rolled back, or its commit refused.
    pub fn aborted(&mut self, transaction: usize) {
        self.moment();
        self.transactions[transaction].outcome = Outcome::Aborted;
    }

    fn moment(&mut self) -> u64 {
        self.moments += 1;
        self.moments
    }

    fn last(&mut self, transaction: usize) -> &mut Statement {
        let statements = &mut self.transactions[transaction].statements;
        statements.last_mut().expect("a statement was called before it does anything")
    }
}
