//! What must hold in a database that was opened after a crash.
//!
//!   * a transaction whose commit returned is there
//!   * one whose commit was called and hadn't returned is there wholly or not at all
//!   * nothing else is there, and no row is half one version and half another
//!   * space and undo agree with themselves, and no transaction is active
//!
//! Versions make the order visible: an update found a row in version n and left n + 1, so what was
//! read by a transaction that survived has survived itself.

use std::collections::BTreeMap;
use std::fmt;

use access::RowAddress;
use instance::Instance;
use os::Session;

use crate::journal::Entry;
use crate::load::{TABLE, read};
use crate::{Journal, Outcome};

/// What doesn't hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

type Rows = BTreeMap<RowAddress, (i64, usize)>;

/// Compares an opened database with what its sessions were told.
pub fn check(journal: &Journal, instance: &Instance, session: &Session) -> Result<(), Violation> {
    let found = rows(instance, session)?;
    let entries = journal.entries();
    let mut expected = acknowledged(&entries)?;
    for (number, entry) in entries.iter().enumerate() {
        if entry.outcome == Outcome::CommitCalled && survived(number, entry, &expected, &found)? {
            expected.extend(last_changes(number, entry));
        }
    }
    if found != expected {
        return Err(difference(&expected, &found));
    }
    instance.space().check(session).map_err(Violation)?;
    instance.transactions().undo().check(session).map_err(Violation)?;
    let active = instance.transactions().undo().active(session);
    match active {
        Ok(active) if active.is_empty() => Ok(()),
        Ok(active) => Err(Violation(format!("{} transactions are still active", active.len()))),
        Err(stop) => Err(Violation(format!("the undo can't be read: {stop}"))),
    }
}

fn rows(instance: &Instance, session: &Session) -> Result<Rows, Violation> {
    let say = |stop| Violation(format!("the table can't be read: {stop}"));
    let table = instance.table(TABLE, session).map_err(say)?;
    let (mut rows, mut torn) = (Rows::new(), None);
    table
        .scan(
            |address, row| match read(row) {
                Ok(row) => _ = rows.insert(address, row),
                Err(what) => torn = Some(Violation(format!("row {address}: {what}"))),
            },
            session,
        )
        .map_err(say)?;
    torn.map_or(Ok(rows), Err)
}

/// The rows as acknowledged transactions left them.
fn acknowledged(entries: &[Entry]) -> Result<Rows, Violation> {
    let mut versions: BTreeMap<RowAddress, Vec<(i64, usize)>> = BTreeMap::new();
    for (number, entry) in entries.iter().enumerate() {
        if entry.outcome == Outcome::Acknowledged {
            for change in &entry.changes {
                versions.entry(change.row).or_default().push((change.version, number));
            }
        }
    }
    let mut rows = Rows::new();
    for (row, mut versions) in versions {
        versions.sort_unstable();
        // While the load ran: an update read a version whose writer was never acknowledged.
        if versions.iter().zip(1..).any(|((version, _), expected)| *version != expected) {
            return Err(Violation(format!(
                "row {row} has the acknowledged versions {versions:?}: one was read that was never \
                 committed"
            )));
        }
        rows.insert(row, *versions.last().expect("a row has a version"));
    }
    Ok(rows)
}

fn last_changes(number: usize, entry: &Entry) -> Rows {
    entry.changes.iter().map(|change| (change.row, (change.version, number))).collect()
}

/// Whether a transaction in doubt is there: wholly, or not at all.
fn survived(number: usize, entry: &Entry, before: &Rows, found: &Rows) -> Result<bool, Violation> {
    let changes = last_changes(number, entry);
    let is_new = |(row, version): (&RowAddress, &(i64, usize))| found.get(row) == Some(version);
    let is_old = |(row, _): (&RowAddress, &(i64, usize))| found.get(row) == before.get(row);
    if !changes.is_empty() && changes.iter().all(is_new) {
        return Ok(true);
    }
    if changes.iter().all(is_old) {
        return Ok(false);
    }
    Err(Violation(format!(
        "transaction {number} is there in part: of {changes:?} there is {:?}, before it there was \
         {:?}",
        part(&changes, found),
        part(&changes, before)
    )))
}

fn part(of: &Rows, from: &Rows) -> Rows {
    let found = of.keys().filter_map(|row| from.get(row).map(|version| (*row, *version)));
    found.collect()
}

fn difference(expected: &Rows, found: &Rows) -> Violation {
    let lost = expected.iter().find(|(row, version)| found.get(*row) != Some(*version));
    if let Some((row, (version, writer))) = lost {
        return Violation(format!(
            "row {row}: version {version} of transaction {writer} was acknowledged, found is {:?}",
            found.get(row)
        ));
    }
    let extra = found.iter().find(|(row, _)| !expected.contains_key(*row));
    Violation(format!("a row is there that nobody committed: {extra:?}"))
}
