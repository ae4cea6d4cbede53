//! What must hold in a database that was opened after a crash (rules PF1 to PF3).
//!
//!   * a transaction whose commit returned is there
//!   * one whose commit was called and hadn't returned is there wholly or not at all
//!   * nothing else is there, and no row is half one version and half another
//!   * what is there is a prefix in commit order, as far as anybody can know it: versions of a row
//!     have no gap, a commit that returned before another was called is there if that one is, and
//!     whatever a session was told was written by somebody who is there, or who doesn't wait
//!   * space and undo agree with themselves, no transaction is active, no row is locked
//!
//! The order of two commits that were both in doubt and had nothing to do with each other can't be
//! known from outside; their redo records have one, and recovery reads records in that order only.
//!
//! Two steps, because the first needs the engine and the second doesn't: [`inspect`] says what is
//! there, [`compare`] holds it against what was known. One image can be left at several moments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use instance::Instance;
use os::Session;

use crate::journal::{Entry, Record, RowId};
use crate::load::read;
use crate::shape::TABLES;
use crate::{Outcome, Tally};

/// What doesn't hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Version and writer of each row.
pub type Rows = BTreeMap<RowId, (i64, usize)>;

/// What is in an opened database, if it agrees with itself.
pub fn inspect(instance: &Instance, session: &Session) -> Result<Rows, Violation> {
    let undo = instance.transactions().undo();
    instance.wait_for_dead(session);
    let active = instance.transactions().active().all(session);
    if !active.is_empty() {
        return Err(Violation(format!("transactions {active:?} are still active")));
    }
    let mut rows = Rows::new();
    for (number, table) in TABLES.iter().enumerate() {
        rows_of(number, table.name, instance, &mut rows, session)?;
    }
    instance.space().check(session).map_err(Violation)?;
    undo.check(session).map_err(Violation)?;
    Ok(rows)
}

fn rows_of(
    number: usize,
    name: &str,
    instance: &Instance,
    rows: &mut Rows,
    session: &Session,
) -> Result<(), Violation> {
    let say = |stop| Violation(format!("table {name} can't be read: {stop}"));
    let table = instance.table(name, session).map_err(say)?;
    let mut torn = None;
    // Reading waits for locks: with one left it would never end, and the simulation say so.
    let scanned = table.scan(
        |address, row| match read(row) {
            Ok(row) => _ = rows.insert((number, address), row),
            Err(what) => torn = Some(Violation(format!("row {address} of {name}: {what}"))),
        },
        session,
    );
    scanned.map_err(say)?;
    torn.map_or(Ok(()), Err)
}

/// Holds what was found against what sessions knew.
pub fn compare(record: &Record, found: &Rows, tally: &mut Tally) -> Result<(), Violation> {
    let entries = &record.entries;
    let mut there = BTreeSet::new();
    let acknowledged = |entry: &Entry| entry.outcome == Outcome::Acknowledged;
    there.extend((0..entries.len()).filter(|number| acknowledged(&entries[*number])));
    for (number, entry) in entries.iter().enumerate() {
        let in_doubt = matches!(entry.outcome, Outcome::CommitCalled | Outcome::Unawaited);
        if !in_doubt || entry.changes.is_empty() {
            continue;
        }
        if !entry.waits {
            tally.unawaited += 1;
        }
        if is_there(number, entry, found)? {
            there.insert(number);
            tally.doubt_there += 1;
        } else {
            tally.doubt_gone += 1;
        }
    }
    let expected = rows_after(entries, &there)?;
    if *found != expected {
        return Err(difference(&expected, found));
    }
    tally.comparisons += 1;
    tally.told += record.told.len() as u64;
    overtakes(entries, &there)?;
    depends_on_the_lost(record, &there)
}

/// The rows as these transactions left them, one after the other without a gap.
fn rows_after(entries: &[Entry], there: &BTreeSet<usize>) -> Result<Rows, Violation> {
    let mut versions: BTreeMap<RowId, Vec<(i64, usize)>> = BTreeMap::new();
    for number in there {
        for change in &entries[*number].changes {
            versions.entry(change.row).or_default().push((change.version, *number));
        }
    }
    let mut rows = Rows::new();
    for (row, mut versions) in versions {
        versions.sort_unstable();
        if versions.iter().zip(1..).any(|((version, _), expected)| *version != expected) {
            return Err(Violation(format!(
                "row {row:?} has the surviving versions {versions:?}, with a gap: one was changed \
                 that isn't there"
            )));
        }
        rows.insert(row, *versions.last().expect("a row has a version"));
    }
    Ok(rows)
}

/// No commit is there that was called after one returned that is lost (PF2): whether or not anybody
/// waited for it.
fn overtakes(entries: &[Entry], there: &BTreeSet<usize>) -> Result<(), Violation> {
    let last = there.iter().filter_map(|number| Some((entries[*number].commit[0]?, *number))).max();
    let lost = entries.iter().enumerate().filter(|(number, entry)| {
        !entry.changes.is_empty() && !there.contains(number) && entry.commit[1].is_some()
    });
    let first = lost.filter_map(|(number, entry)| Some((entry.commit[1]?, number))).min();
    match (first, last) {
        (Some((returned, lost)), Some((called, there))) if returned < called => {
            Err(Violation(format!(
                "transaction {there} is there, and {lost} is lost, whose commit had returned before"
            )))
        }
        _ => Ok(()),
    }
}

/// What a session was told must not depend on a commit that is lost (PF2), but for one that
/// doesn't wait.
fn depends_on_the_lost(record: &Record, there: &BTreeSet<usize>) -> Result<(), Violation> {
    let explained = |told: &&crate::Told| {
        there.contains(&told.writer)
            || told.reader == Some(told.writer)
            || !record.entries[told.writer].waits
    };
    match record.told.iter().find(|told| !explained(told)) {
        None => Ok(()),
        Some(told) => Err(Violation(format!(
            "a session was told version {} of row {:?} by transaction {}, which is lost",
            told.version, told.row, told.writer
        ))),
    }
}

/// Whether a transaction in doubt is there: wholly, or not at all. Each of its rows is as it left
/// it, or as a later one did; or else as it was before.
fn is_there(number: usize, entry: &Entry, found: &Rows) -> Result<bool, Violation> {
    // Of a row that it changed twice, the last.
    let of_changes = entry.changes.iter().map(|change| (change.row, change.version));
    let changes: BTreeMap<RowId, i64> = of_changes.collect();
    let is_new = |(row, version): (&RowId, &i64)| match found.get(row) {
        Some((later, _)) if later > version => true,
        Some(same) => *same == (*version, number),
        None => false,
    };
    let count = changes.iter().filter(|change| is_new(*change)).count();
    if count == 0 || count == changes.len() {
        return Ok(count > 0);
    }
    let there: Rows =
        changes.keys().filter_map(|row| found.get(row).map(|version| (*row, *version))).collect();
    Err(Violation(format!(
        "transaction {number} is there in part: of {changes:?} there is {there:?}"
    )))
}

pub(crate) fn difference(expected: &Rows, found: &Rows) -> Violation {
    let lost = expected.iter().find(|(row, version)| found.get(*row) != Some(*version));
    if let Some((row, (version, writer))) = lost {
        return Violation(format!(
            "row {row:?}: version {version} of transaction {writer} should be there, found is {:?}",
            found.get(row)
        ));
    }
    let extra = found.iter().find(|(row, _)| !expected.contains_key(*row));
    Violation(format!("a row is there that nobody committed: {extra:?}"))
}

#[cfg(test)]
mod tests {
    use access::RowAddress;
    use ids::Dba;

    use super::*;
    use crate::{Change, Journal, Told};

    fn row(slot: u16) -> RowId {
        (0, RowAddress { block: Dba::new(1, 9), slot })
    }

    /// Transaction 0 is acknowledged with row 0, transaction 1 in doubt with rows 0 and 1.
    fn journal() -> Journal {
        let journal = Journal::default();
        let first = journal.begin();
        journal.changed(first, Change { row: row(0), version: 1 });
        journal.outcome(first, Outcome::Acknowledged);
        let second = journal.begin();
        journal.changed(second, Change { row: row(0), version: 2 });
        journal.changed(second, Change { row: row(1), version: 1 });
        journal.outcome(second, Outcome::CommitCalled);
        journal
    }

    fn verdict(journal: &Journal, found: &[(RowId, (i64, usize))]) -> Result<(), Violation> {
        compare(&journal.record(), &found.iter().copied().collect(), &mut Tally::default())
    }

    #[test]
    fn a_transaction_in_doubt_is_there_wholly_or_not_at_all() {
        let journal = journal();
        assert_eq!(verdict(&journal, &[(row(0), (1, 0))]), Ok(()));
        assert_eq!(verdict(&journal, &[(row(0), (2, 1)), (row(1), (1, 1))]), Ok(()));
        assert!(verdict(&journal, &[(row(0), (2, 1))]).is_err());
        assert!(verdict(&journal, &[]).is_err());
    }

    /// Transaction 1 doesn't wait, transaction 2 comes after it and changes another row.
    fn unawaited() -> Journal {
        let journal = Journal::default();
        for number in 0..3 {
            let transaction = journal.begin();
            journal.changed(transaction, Change { row: row(number), version: 1 });
            if number == 1 {
                journal.waits_not(transaction);
            }
            journal.outcome(transaction, Outcome::CommitCalled);
            let outcomes = [Outcome::Acknowledged, Outcome::Unawaited, Outcome::CommitCalled];
            journal.outcome(transaction, outcomes[usize::from(number)]);
        }
        journal
    }

    #[test]
    fn a_commit_that_does_not_wait_may_be_lost_but_not_before_a_later_one() {
        let found = |slots: &[u16]| -> Vec<(RowId, (i64, usize))> {
            slots.iter().map(|slot| (row(*slot), (1, usize::from(*slot)))).collect()
        };
        for there in [&[0][..], &[0, 1], &[0, 1, 2]] {
            assert_eq!(verdict(&unawaited(), &found(there)), Ok(()));
        }
        for there in [&[][..], &[1], &[0, 2]] {
            assert!(verdict(&unawaited(), &found(there)).is_err());
        }
    }

    #[test]
    fn what_was_told_may_be_lost_only_if_its_commit_did_not_wait() {
        let told = Told { reader: None, row: row(1), version: 1, writer: 1 };
        let journal = unawaited();
        journal.told(told);
        assert_eq!(verdict(&journal, &[(row(0), (1, 0))]), Ok(()));
        journal.told(Told { row: row(2), writer: 2, ..told });
        assert!(verdict(&journal, &[(row(0), (1, 0))]).is_err());
    }

    #[test]
    fn what_was_told_must_have_survived() {
        let journal = journal();
        let told = Told { reader: None, row: row(1), version: 1, writer: 1 };
        journal.told(Told { reader: Some(1), ..told });
        assert_eq!(verdict(&journal, &[(row(0), (1, 0))]), Ok(()), "it had written it itself");
        journal.told(told);
        assert!(verdict(&journal, &[(row(0), (1, 0))]).is_err());
        assert_eq!(verdict(&journal, &[(row(0), (2, 1)), (row(1), (1, 1))]), Ok(()));
    }

    #[test]
    fn a_row_that_nobody_committed_is_not_there() {
        let found = [(row(0), (1, 0)), (row(7), (1, 5))];
        assert!(verdict(&journal(), &found).is_err());
    }
}
