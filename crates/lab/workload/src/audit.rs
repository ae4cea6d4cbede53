//! What an audit finds, and that of the debit-credit tables: what must hold after any load and any
//! crash.
//!
//! Callers: the lab after each run, `forebay load audit`, the kill loop.

use std::collections::BTreeMap;

use database::{Connection, Error};

use crate::Tables;
use crate::numbers::Numbers;
use crate::tables::{column, number};

/// The advice where sessions have more commits than were acknowledged.
pub const CUT_SHORT: &str = "the file of acknowledged commits is shorter than what the load \
    printed: give the whole file; if it is whole, the database has commits that nobody made";

/// The findings of an audit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Audit {
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Of these, missing.
    pub lost: u64,
    /// Commits that are there though not acknowledged: at most one of each session.
    pub unacknowledged: u64,
    /// Where the books don't balance: one line each.
    pub unbalanced: Vec<String>,
    /// Sessions with more than one unacknowledged commit: one line each. It happens where the list
    /// of acknowledged commits is cut short.
    pub untold: Vec<String>,
}

impl Audit {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.lost == 0 && self.unbalanced.is_empty() && self.untold.is_empty()
    }

    /// Adds a session that was told of so many commits, of which so many are there, of so many in
    /// all.
    pub(crate) fn compare(&mut self, session: u32, told: u64, there: u64, all: u64) {
        self.acknowledged = self.acknowledged.saturating_add(told);
        self.lost = self.lost.saturating_add(told - there);
        self.unacknowledged += all - there;
        // The last commit may have been durable before it was acknowledged.
        if all > told.saturating_add(1) {
            self.untold.push(format!("session {session} has {all} commits and was told of {told}"));
        }
    }
}

/// Compares the tables with `acknowledged`: each session with the number of its commits, which are
/// numbered from 1. Other sessions aren't checked. With `accounts` the balances of all accounts and
/// of the stock are added up too, which reads these tables whole.
pub fn audit(
    connection: &mut Connection<'_>,
    acknowledged: &[(u32, u64)],
    accounts: bool,
) -> Result<Audit, Error> {
    let tables = Tables::open(connection)?;
    let mut found = Numbers::of(acknowledged.iter().map(|(session, _)| *session));
    let mut sums: BTreeMap<(&str, i64), i64> = BTreeMap::new();
    let mut total = 0;
    connection.scan(&tables.history, |row| {
        let [mine, its, _, teller, branch, amount] = std::array::from_fn(|at| number(&row, at));
        found.add(mine, its);
        total += amount;
        if amount != 0 {
            *sums.entry(("teller", teller)).or_default() += amount;
            *sums.entry(("branch", branch)).or_default() += amount;
        }
    })?;
    let mut audit = Audit::default();
    for (number, told) in acknowledged {
        let numbers = found.take(*number);
        audit.compare(*number, *told, numbers.up_to(*told), numbers.count());
        if let Some(fault) = numbers.fault() {
            audit.unbalanced.push(format!("session {number}: {fault}"));
        }
    }
    for (name, table) in [("teller", &tables.teller), ("branch", &tables.branch)] {
        connection.scan(table, |row| {
            let (which, balance) = (number(&row, column::NUMBER), number(&row, column::BALANCE));
            let expected = sums.get(&(name, which)).copied().unwrap_or(0);
            if balance != expected {
                let line = format!("{name} {which}: balance {balance}, by history {expected}");
                audit.unbalanced.push(line);
            }
        })?;
    }
    if accounts {
        for (name, table, expected) in
            [("account", &tables.account, total), ("stock", &tables.stock, 0)]
        {
            let mut sum = 0;
            connection.scan(table, |row| sum += number(&row, column::BALANCE))?;
            if sum != expected {
                audit.unbalanced.push(format!("{name}: {sum} in all, by history {expected}"));
            }
        }
    }
    Ok(audit)
}
