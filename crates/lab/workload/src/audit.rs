//! What must hold in the tables after a crash, whatever ran.
//!
//! Callers: the lab after each run, the kill loop.

use std::collections::BTreeMap;

use database::{Connection, Error};

use crate::Tables;
use crate::tables::{column, number};

/// What it means that sessions have more commits than they were told of, and what to do.
pub const CUT_SHORT: &str = "the file of acknowledged commits is shorter than what the load \
    printed: give the whole file; if it is whole, the database has commits that nobody made";

/// What the audit found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Audit {
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Of these, not there.
    pub lost: u64,
    /// There, though not acknowledged: one a session at most.
    pub unacknowledged: u64,
    /// Where the books don't balance: one line each.
    pub unbalanced: Vec<String>,
    /// Sessions with more commits than they were told of, but for one: one line each. So it is
    /// where what they were told isn't known to its end.
    pub untold: Vec<String>,
}

impl Audit {
    /// Whether all is as it must be.
    pub fn is_clean(&self) -> bool {
        self.lost == 0 && self.unbalanced.is_empty() && self.untold.is_empty()
    }
}

/// Compares the tables with what sessions were told: each with how many commits, numbered from 1.
/// Sessions that aren't named aren't looked at. With `accounts` the balances of all accounts and of
/// the stock are added up too, which reads these tables whole.
pub fn audit(
    connection: &mut Connection<'_>,
    acknowledged: &[(u32, u64)],
    accounts: bool,
) -> Result<Audit, Error> {
    let tables = Tables::open(connection)?;
    let mut found: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let mut sums: BTreeMap<(&str, i64), i64> = BTreeMap::new();
    let mut total = 0;
    connection.scan(&tables.history, |row| {
        let [mine, its, _, teller, branch, amount] = std::array::from_fn(|at| number(&row, at));
        found.entry(mine).or_default().push(its);
        total += amount;
        if amount != 0 {
            *sums.entry(("teller", teller)).or_default() += amount;
            *sums.entry(("branch", branch)).or_default() += amount;
        }
    })?;
    let mut audit = Audit::default();
    for (number, told) in acknowledged {
        audit.acknowledged = audit.acknowledged.saturating_add(*told);
        let mut numbers = found.remove(&i64::from(*number)).unwrap_or_default();
        numbers.sort_unstable();
        let last = i64::try_from(*told).unwrap_or(i64::MAX);
        let there = numbers.iter().filter(|number| **number <= last).count() as u64;
        audit.lost = audit.lost.saturating_add(told.saturating_sub(there));
        audit.unacknowledged += numbers.len() as u64 - there;
        if !numbers.iter().copied().eq(1..=numbers.len() as i64) {
            audit.unbalanced.push(format!("session {number}: its numbers have gaps or repeat"));
        }
        if numbers.len() as u64 > told.saturating_add(1) {
            let line =
                format!("session {number} has {} commits and was told of {told}", numbers.len());
            audit.untold.push(line);
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
