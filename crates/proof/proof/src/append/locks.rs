//! Whether two transactions had a list locked at once: from an append's return until its
//! transaction calls its commit, or for the last time returns from a statement, if it doesn't
//! commit.
//!
//! What is committed the points judge as well; this is for what was taken back, which no list
//! shows. Callers: `append`, for histories in real time.

use super::anomaly::{Anomaly, Kind, name};
use super::points::level_of;
use super::{Level, Order};
use crate::history::{History, Key, Operation, Transaction};

/// A list that surely was locked from one moment to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Held {
    key: Key,
    from: u64,
    to: u64,
    transaction: usize,
}

pub(super) fn shared(history: &History, level: Level) -> Result<(), Anomaly> {
    let mut held = Vec::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        if level_of(transaction, level) < Level::Serializable {
            collect(number, transaction, &mut held);
        }
    }
    held.sort_unstable();
    let mut longest: Option<Held> = None;
    for next in held {
        let before = longest.filter(|before| before.key == next.key);
        if let Some(before) = before
            && next.from < before.to
            && next.transaction != before.transaction
        {
            return Err(two(before, next));
        }
        longest = before.filter(|before| before.to >= next.to).or(Some(next));
    }
    Ok(())
}

fn collect(number: usize, transaction: &Transaction, held: &mut Vec<Held>) {
    for statement in &transaction.statements {
        let Some(from) = statement.returned else { continue };
        let until = statement.taken_back.unwrap_or(transaction.statements.len());
        let last = transaction.statements[..until].iter().rev().find_map(|last| last.returned);
        let to = match (statement.taken_back, transaction.commit_called) {
            (None, Some(called)) => called,
            _ => last.unwrap_or(from),
        };
        for operation in &statement.operations {
            if let Operation::Append(key, _) = *operation
                && from < to
            {
                held.push(Held { key, from, to, transaction: number });
            }
        }
    }
}

fn two(one: Held, two: Held) -> Anomaly {
    let tell = |held: Held| {
        let Held { key, from, to, transaction } = held;
        format!("{} had list {key} locked at least from @{from} to @{to}", name(transaction))
    };
    let transactions = [one.transaction, two.transaction];
    let story = vec![tell(one), tell(two)];
    Anomaly { order: Order::RealTime, ..Anomaly::of(Kind::SharedLock, &transactions, story) }
}
