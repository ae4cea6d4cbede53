//! Whether a history of lists kept its isolation, and if not, what went wrong.
//!
//! ```text
//!   history ─▶ orders: versions of each list, what single reads have wrong
//!                 │
//!                 └─▶ points: when each snapshot was taken, each row locked, each commit seen
//!                        │     what came before what: a graph
//!                        └─▶ graph: has it a cycle? ─▶ story ─▶ anomaly
//! ```
//!
//! The levels differ only in which points a transaction has. At [`Level::Serializable`] it is one
//! point. At [`Level::SnapshotIsolation`] it has a snapshot and a commit, and what it overwrites
//! was committed by its snapshot. At [`Level::ReadCommitted`] each statement has a snapshot, no
//! older than the one before, and an end by which the locks that it took were let go. Then
//! everything that is promised says that one point comes before another:
//!
//!   * who reads a version: its commit came before the snapshot (wr)
//!   * who doesn't read a version: the snapshot came before its commit (rw)
//!   * who makes the next version: the commit of the one before came before (ww)
//!   * a session's points have the order in which it did things, if [`Order`] says so
//!   * a point that is over when another begins comes before it, if [`Order`] says so
//!
//! A history keeps the level exactly if these have no cycle: then there is an order of moments in
//! which everything happened at its point, and else there is none. So there are no false alarms,
//! and nothing is missed as long as every list is read at the end: of two appends to a list that
//! nobody saw nobody knows which came first, and only the plainest lost updates among such are
//! found.
//!
//! The two lower levels are more than their names promise, as our engine is. Read committed is more
//! than monotonic atomic view: statements have snapshots, and all snapshots an order (no long
//! fork). What was told to a transaction that didn't commit counts too; and no two transactions
//! ever have a list locked at once, whether or not they commit. `Serializable` asks nothing of
//! those that didn't commit but that they saw no halves, as such engines refuse them late.
//!
//! Callers: tests that drive the engine. The history may have transactions of several levels.
//! Sources: Elle (VLDB 2020); Adya (1999), whose start-ordered graph the points are; Bailis et
//! al., "Highly Available Transactions" (VLDB 2014), for monotonic atomic view.

mod anomaly;
mod graph;
mod locks;
mod orders;
mod points;
#[cfg(test)]
mod spec;
mod story;
#[cfg(test)]
mod tests;

pub use anomaly::{Anomaly, Kind};

use std::fmt;

use crate::history::{History, Outcome};
use orders::Orders;
use points::Points;

/// What a transaction is promised.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Statements see what was committed at one moment, and later statements no less.
    ReadCommitted,
    /// The transaction sees what was committed at one moment, and changes nothing newer.
    SnapshotIsolation,
    /// As if transactions ran one after the other.
    Serializable,
}

/// Which order of events counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Order {
    /// None: only what was read.
    Free,
    /// Each session's own: it sees its own commits, and no less than before.
    Session,
    /// Real time: a commit acknowledged before a transaction (read committed: a statement) begins
    /// is visible to it, and nothing is visible whose commit wasn't called.
    RealTime,
}

/// What was in a history that kept its promises. A driver asks for what it wants to have tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Transactions, and of those which committed, which were taken back and whose end nobody
    /// knows.
    pub transactions: u64,
    /// Acknowledged, or seen.
    pub committed: u64,
    /// Taken back.
    pub aborted: u64,
    /// Of those committed, the ones whose end nobody was told.
    pub unknown_seen: u64,
    /// Whose end nobody was told and that nobody saw.
    pub unknown_unseen: u64,
    /// Lists.
    pub lists: u64,
    /// Readings of lists.
    pub reads: u64,
    /// Appends, taken back or not.
    pub appends: u64,
    /// Committed appends that nobody read.
    pub appends_unseen: u64,
    /// Versions that were made after another transaction's.
    pub ww: u64,
    /// Readings of another transaction's version.
    pub wr: u64,
    /// Readings of a version that another transaction replaced.
    pub rw: u64,
}

/// Whether the history kept this level in real time, as our engine promises.
pub fn check(history: &History, level: Level) -> Result<Summary, Anomaly> {
    check_in(history, level, Order::RealTime)
}

/// Whether the history kept this level, if as much of the order of events counts.
pub fn check_in(history: &History, level: Level, order: Order) -> Result<Summary, Anomaly> {
    judge(history, level, order).map_err(|anomaly| anomaly.detailed(history))
}

fn judge(history: &History, level: Level, order: Order) -> Result<Summary, Anomaly> {
    let orders = Orders::of(history)?;
    let lost = story::lost_update(history, &orders, level);
    let asked = match lost {
        Some(_) => None,
        None => Some(Points::of(history, &orders, level, order)),
    };
    if let Some(asked) = &asked
        && asked.have_order()
    {
        if order >= Order::RealTime {
            locks::shared(history, level)?;
        }
        return Ok(summary(history, &orders, asked));
    }
    // What breaks a lower level as well has the name that it has there.
    for lower in [Level::ReadCommitted, Level::SnapshotIsolation] {
        if lower < level {
            let points = Points::of(history, &orders, lower, Order::Free);
            if !points.have_order() {
                return Err(points.anomaly());
            }
        }
    }
    Err(lost.or(asked.map(|asked| asked.anomaly())).expect("one of the two is wrong"))
}

fn summary(history: &History, orders: &Orders<'_>, points: &Points<'_>) -> Summary {
    let mut summary = Summary {
        transactions: history.transactions.len() as u64,
        lists: orders.lists.len() as u64,
        reads: orders.told.len() as u64,
        appends: orders.appends.len() as u64,
        appends_unseen: orders.lists.iter().map(|list| list.unseen.len() as u64).sum(),
        ww: points.counts.ww,
        wr: points.counts.wr,
        rw: points.counts.rw,
        ..Summary::default()
    };
    for (transaction, committed) in history.transactions.iter().zip(&orders.committed) {
        summary.committed += u64::from(*committed);
        match transaction.outcome {
            Outcome::Committed => {}
            Outcome::Aborted => summary.aborted += 1,
            Outcome::Unknown if *committed => summary.unknown_seen += 1,
            Outcome::Unknown => summary.unknown_unseen += 1,
        }
    }
    summary
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Summary) {
        self.transactions += other.transactions;
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.unknown_seen += other.unknown_seen;
        self.unknown_unseen += other.unknown_unseen;
        self.lists += other.lists;
        self.reads += other.reads;
        self.appends += other.appends;
        self.appends_unseen += other.appends_unseen;
        self.ww += other.ww;
        self.wr += other.wr;
        self.rw += other.rw;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} transactions ({} committed, {} taken back, of unknown end {} seen and {} not), {} \
             appends ({} unseen) to {} lists, {} reads; {} ww, {} wr, {} rw",
            self.transactions,
            self.committed,
            self.aborted,
            self.unknown_seen,
            self.unknown_unseen,
            self.appends,
            self.appends_unseen,
            self.lists,
            self.reads,
            self.ww,
            self.wr,
            self.rw,
        )
    }
}
