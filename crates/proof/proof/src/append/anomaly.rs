//! What is wrong with a history: its name, and the story for people.
//!
//! Callers: `orders` and `points` tell it; whoever drives the engine prints it.
//! Sources: the names are Adya's ("Weak Consistency: A Generalized Theory and Optimistic
//! Implementations for Distributed Transactions", MIT 1999) and Elle's.

use std::fmt;

use super::Order;
use crate::history::{History, Operation, Outcome, Value};

/// Values of a list that are shown: the last ones.
const SHOWN: usize = 8;

/// Operations of a transaction that are shown.
const OPERATIONS_SHOWN: usize = 12;

/// The kinds of anomalies, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// The driver appended a value to a list twice: the history can't be judged.
    AppendedTwice,
    /// A value is in a list twice.
    DuplicateValue,
    /// A value is in a list that nobody appended to it.
    UnknownValue,
    /// A transaction doesn't see its own appends, or sees them where they can't be.
    Internal,
    /// G1a: what was taken back was seen.
    AbortedRead,
    /// A committed append follows one that was taken back.
    DirtyUpdate,
    /// G1b: a list was seen between two appends of one transaction.
    IntermediateRead,
    /// Two readings of a list of which neither begins with the other: an append was lost or moved.
    IncompatibleOrder,
    /// Two transactions had a list locked at once, whether or not they committed.
    SharedLock,
    /// An append that nobody saw, and that can't have come after all that was seen.
    LostAppend,
    /// Appends of transactions are interleaved (Adya calls it G0).
    DirtyWrite,
    /// G1c: transactions saw, or appended after, one another in a circle.
    CircularFlow,
    /// What one statement read isn't of one moment.
    SplitStatement,
    /// A transaction saw something of another one, and in a later statement not all of it.
    NonMonotonic,
    /// A commit that had returned before, or that somebody had seen before, isn't seen.
    StaleRead,
    /// Two transactions read the same version, both appended to it, and both committed.
    LostUpdate,
    /// G-single: what a transaction read isn't of one moment.
    ReadSkew,
    /// G-nonadjacent: what transactions read isn't of moments that have an order (a long fork).
    LongFork,
    /// G2-item: each of two transactions or more missed what the next one did (write skew).
    WriteSkew,
}

impl Kind {
    /// Its name and what it means.
    pub fn describe(self) -> &'static str {
        match self {
            Kind::AppendedTwice => "not a history of lists: a value was appended twice",
            Kind::DuplicateValue => "duplicate: a value is in a list twice",
            Kind::UnknownValue => "a value was read that nobody appended",
            Kind::Internal => "internal: a transaction doesn't see its own appends as it made them",
            Kind::AbortedRead => "G1a (aborted read): what was taken back was seen",
            Kind::DirtyUpdate => "dirty update: a committed append follows one that was taken back",
            Kind::IntermediateRead => "G1b (intermediate read): half of a transaction was seen",
            Kind::IncompatibleOrder => "incompatible orders: an append was lost or moved",
            Kind::SharedLock => "shared lock: two transactions had a list locked at once",
            Kind::LostAppend => "lost append: nobody saw it, and it can't have come last",
            Kind::DirtyWrite => "G0 (dirty write): appends of transactions are interleaved",
            Kind::CircularFlow => "G1c (circular information flow)",
            Kind::SplitStatement => "split statement: what one statement read isn't of one moment",
            Kind::NonMonotonic => "not monotonic: a transaction was seen, and later not all of it",
            Kind::StaleRead => "stale read: a commit that had returned or was seen isn't seen",
            Kind::LostUpdate => "lost update: two committed who appended to the same version",
            Kind::ReadSkew => "G-single (read skew): what a transaction read isn't of one moment",
            Kind::LongFork => "G-nonadjacent (long fork): the moments read have no order",
            Kind::WriteSkew => "G2-item (write skew): each missed what the next one did",
        }
    }
}

/// What is wrong with a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anomaly {
    /// What kind it is.
    pub kind: Kind,
    /// What must be known of the order of events to see it.
    pub order: Order,
    /// The transactions in it, by number.
    pub transactions: Vec<usize>,
    /// What happened, line by line.
    pub story: Vec<String>,
    /// What those transactions did, line by line.
    pub details: Vec<String>,
}

impl Anomaly {
    pub(super) fn of(kind: Kind, transactions: &[usize], story: Vec<String>) -> Anomaly {
        let mut transactions = transactions.to_vec();
        transactions.sort_unstable();
        transactions.dedup();
        Anomaly { kind, order: Order::Free, transactions, story, details: Vec::new() }
    }

    /// The same, with what its transactions did.
    pub(super) fn detailed(mut self, history: &History) -> Anomaly {
        self.details = self.transactions.iter().map(|number| detail(history, *number)).collect();
        self
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.describe())?;
        match self.order {
            Order::Free => {}
            Order::Session => f.write_str(", by the order in sessions")?,
            Order::RealTime => f.write_str(", by the order of calls and returns")?,
        }
        for line in self.story.iter().chain(&self.details) {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Anomaly {}

/// A transaction's name.
pub(super) fn name(transaction: usize) -> String {
    format!("T{transaction}")
}

/// The end of a list.
pub(super) fn brief(values: &[Value]) -> String {
    let hidden = values.len().saturating_sub(SHOWN);
    let shown: Vec<String> = values[hidden..].iter().map(Value::to_string).collect();
    match hidden {
        0 => format!("[{}]", shown.join(", ")),
        _ => format!("[{hidden} more, {}]", shown.join(", ")),
    }
}

fn detail(history: &History, number: usize) -> String {
    let transaction = &history.transactions[number];
    let mut parts = Vec::new();
    for statement in &transaction.statements {
        let operation = |operation: &Operation| match operation {
            Operation::Append(key, value) => format!("{key}+{value}"),
            Operation::Read(key, values) => format!("{key}={}", brief(values)),
        };
        let operations: Vec<String> = statement.operations.iter().map(operation).collect();
        let back = statement.taken_back.map_or("", |_| " taken back");
        let returned = statement.returned.map_or("?".to_owned(), |moment| moment.to_string());
        parts.push(format!("{}{back} @{}-{returned}", operations.join(" "), statement.called));
    }
    let hidden = parts.len().saturating_sub(OPERATIONS_SHOWN);
    parts.truncate(OPERATIONS_SHOWN);
    if hidden > 0 {
        parts.push(format!("{hidden} more"));
    }
    let outcome = match (transaction.outcome, transaction.acknowledged) {
        (Outcome::Committed, Some(moment)) => format!("committed @{moment}"),
        (Outcome::Committed, None) => "committed".to_owned(),
        (Outcome::Aborted, _) => "taken back".to_owned(),
        (Outcome::Unknown, _) => "its end unknown".to_owned(),
    };
    let (name, session) = (name(number), transaction.session);
    format!("{name} (session {session}, @{}): {}; {outcome}", transaction.began, parts.join("; "))
}
