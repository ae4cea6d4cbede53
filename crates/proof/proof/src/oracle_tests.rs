//! Tests of the oracle: what it must find, and what it must let through.
//!
//! Caller: `oracle`.

use super::*;
use crate::{Content, Journal, RowId, Told};

fn row(id: i64) -> RowId {
    (0, id)
}

fn content(version: i64, writer: usize) -> Content {
    Content { version, writer, parent: None }
}

/// Transaction 0 is acknowledged with row 0, transaction 1 in doubt with rows 0 and 1.
fn journal() -> Journal {
    let journal = Journal::default();
    let first = journal.begin();
    journal.changed(first, row(0), content(1, 0));
    journal.outcome(first, Outcome::Acknowledged);
    let second = journal.begin();
    journal.changed(second, row(0), content(2, 1));
    journal.changed(second, row(1), content(1, 1));
    journal.outcome(second, Outcome::CommitCalled);
    journal
}

fn found(marks: &[usize], rows: &[(i64, (i64, usize))]) -> Found {
    Found {
        rows: rows.iter().map(|(id, is)| (row(*id), content(is.0, is.1))).collect(),
        marks: marks.iter().map(|number| (*number, None)).collect(),
        ..Found::default()
    }
}

fn verdict(journal: &Journal, found: &Found) -> Result<(), Breach> {
    compare(&journal.record(), found, &mut Tally::default())
}

#[test]
fn a_transaction_in_doubt_is_there_wholly_or_not_at_all() {
    let journal = journal();
    assert_eq!(verdict(&journal, &found(&[0], &[(0, (1, 0))])), Ok(()));
    assert_eq!(verdict(&journal, &found(&[0, 1], &[(0, (2, 1)), (1, (1, 1))])), Ok(()));
    assert!(verdict(&journal, &found(&[0, 1], &[(0, (2, 1))])).is_err());
    assert!(verdict(&journal, &found(&[0], &[(0, (1, 0)), (1, (1, 1))])).is_err());
    assert!(verdict(&journal, &found(&[], &[])).is_err());
}

#[test]
fn what_was_rolled_back_is_not_there() {
    let journal = journal();
    journal.outcome(1, Outcome::RolledBack);
    assert_eq!(verdict(&journal, &found(&[0], &[(0, (1, 0))])), Ok(()));
    assert!(verdict(&journal, &found(&[0, 1], &[(0, (2, 1)), (1, (1, 1))])).is_err());
}

/// Transaction 1 doesn't wait, transaction 2 comes after it and changes another row.
fn unawaited() -> Journal {
    let journal = Journal::default();
    for number in 0..3 {
        let transaction = journal.begin();
        journal.changed(transaction, row(number), content(1, transaction));
        if number == 1 {
            journal.waits_not(transaction);
        }
        journal.outcome(transaction, Outcome::CommitCalled);
        let outcomes = [Outcome::Acknowledged, Outcome::Unawaited, Outcome::CommitCalled];
        journal.outcome(transaction, outcomes[transaction]);
    }
    journal
}

#[test]
fn a_commit_that_does_not_wait_may_be_lost_but_not_before_a_later_one() {
    let found = |there: &[usize]| {
        let rows: Vec<_> = there.iter().map(|number| (*number as i64, (1, *number))).collect();
        found(there, &rows)
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
    let first = found(&[0], &[(0, (1, 0))]);
    journal.told(told);
    assert_eq!(verdict(&journal, &first), Ok(()));
    journal.told(Told { row: row(2), writer: 2, ..told });
    assert!(verdict(&journal, &first).is_err());
}

#[test]
fn what_was_told_must_have_survived() {
    let journal = journal();
    let told = Told { reader: None, row: row(1), version: 1, writer: 1 };
    let first = found(&[0], &[(0, (1, 0))]);
    journal.told(Told { reader: Some(1), ..told });
    assert_eq!(verdict(&journal, &first), Ok(()), "it had written it itself");
    journal.told(told);
    assert!(verdict(&journal, &first).is_err());
    assert_eq!(verdict(&journal, &found(&[0, 1], &[(0, (2, 1)), (1, (1, 1))])), Ok(()));
}

#[test]
fn a_row_that_nobody_committed_is_not_there() {
    assert!(verdict(&journal(), &found(&[0], &[(0, (1, 0)), (7, (1, 5))])).is_err());
}

#[test]
fn a_row_that_was_deleted_stays_away() {
    let journal = journal();
    let third = journal.begin();
    journal.deleted(third, row(0));
    journal.outcome(third, Outcome::CommitCalled);
    journal.outcome(third, Outcome::Acknowledged);
    assert_eq!(verdict(&journal, &found(&[0, 1, 2], &[(1, (1, 1))])), Ok(()));
    assert!(verdict(&journal, &found(&[0, 1, 2], &[(0, (2, 1)), (1, (1, 1))])).is_err());
    assert!(verdict(&journal, &found(&[0, 2], &[])).is_err(), "the change before it is lost");
}

#[test]
fn a_statement_that_defines_is_there_wholly_or_not_at_all() {
    let (table, index) = ("table t".to_string(), "index t.i".to_string());
    let journal = Journal::default();
    let both = vec![(table.clone(), Some(String::new())), (index.clone(), Some("a".to_string()))];
    let number = journal.defines(both);
    let is = |names: &[(&String, &str)]| Found {
        defined: names.iter().map(|(name, is)| ((*name).clone(), (*is).to_string())).collect(),
        ..Found::default()
    };
    let (nothing, half, whole) = (is(&[]), is(&[(&table, "")]), is(&[(&table, ""), (&index, "a")]));
    assert_eq!(verdict(&journal, &nothing), Ok(()));
    assert_eq!(verdict(&journal, &whole), Ok(()));
    assert!(verdict(&journal, &half).is_err());
    assert!(verdict(&journal, &is(&[(&table, ""), (&index, "b")])).is_err());
    journal.outcome(number, Outcome::Acknowledged);
    assert!(verdict(&journal, &nothing).is_err());
    assert_eq!(verdict(&journal, &whole), Ok(()));
}

#[test]
fn no_sequence_goes_back_behind_a_value_in_use() {
    let journal = journal();
    journal.uses(0, Numbers::Identity, 5);
    let next =
        |next| Found { next: [(Numbers::Identity, next)].into(), ..found(&[0], &[(0, (1, 0))]) };
    assert_eq!(verdict(&journal, &next(6)), Ok(()));
    assert!(verdict(&journal, &next(5)).is_err());
    assert!(verdict(&journal, &found(&[0], &[(0, (1, 0))])).is_err(), "it is gone");
}

#[test]
fn who_refers_to_a_deleted_row_follows_it() {
    let journal = Journal::default();
    let number = journal.begin();
    let child = Content { parent: Some(0), ..content(1, 0) };
    journal.changed(number, row(0), content(1, 0));
    journal.changed(number, row(1), child);
    journal.changed(number, (crate::tables::WIDE, 4), child);
    let changes = journal.changes(number);
    journal.deleted(number, row(0));
    journal.outcome(number, Outcome::Acknowledged);
    assert_eq!(verdict(&journal, &found(&[0], &[(1, (1, 0))])), Ok(()));
    journal.take_back(number, changes);
    assert!(verdict(&journal, &found(&[0], &[(1, (1, 0))])).is_err());
}
