//! What is there of the commits after the crash.
//!
//! One session changed rows one after the other, round and round the table, and gave each the next
//! number. So the largest number that is there says which commit was the last one, and with it what
//! every row has.
//!
//! Callers: `run`.

use std::path::Path;

use database::{Connection, Database, Options};
use experiment::Commits;
use os::{Disk, Session};
use stop::{RefusalKind, Stop};

use super::measure::{ROWS, TABLE, filler_of};
use crate::crash::crash;

/// Opens the database after its crash and counts the commits that are there. `acknowledged`: the
/// last number of each commit. Anything but the state after a commit is refused as Corrupt.
pub(super) fn audit(
    disk: &Disk,
    directory: &Path,
    options: &Options,
    acknowledged: &[u64],
    session: &Session,
) -> Result<Commits, Stop> {
    let database = Database::open_in(disk, directory, options, session)?;
    let rows = read(&mut database.connect_with(session));
    let halted = crash(database, session);
    let rows = rows?;
    halted?;
    found(&rows, acknowledged)
}

/// By its id, the number of every row; none of one that is missing, comes again, or has a filler of
/// another number.
fn read(connection: &mut Connection<'_>) -> Result<Vec<Option<u64>>, Stop> {
    let table = connection.table(TABLE)?;
    let mut rows = vec![None; ROWS as usize];
    let mut wrong = 0_u64;
    connection.scan(&table, |row| {
        let whole = |at| row.get_i64(at).and_then(|value| u64::try_from(value).ok());
        let place = whole(0).and_then(|id| rows.get_mut(usize::try_from(id).ok()?));
        match (place, whole(1)) {
            (Some(place @ None), Some(n)) if row.get_text(2) == Ok(Some(&filler_of(n))) => {
                *place = Some(n);
            }
            _ => wrong += 1,
        }
    })?;
    match wrong {
        0 => Ok(rows),
        _ => Err(corrupt(&format!("{wrong} rows are such as none was written"))),
    }
}

fn found(rows: &[Option<u64>], acknowledged: &[u64]) -> Result<Commits, Stop> {
    let last = rows.iter().flatten().copied().max().unwrap_or(0);
    let there = acknowledged.iter().filter(|number| **number <= last).count();
    // Before the first commit all rows have 0.
    let is_commit = last == 0 || acknowledged.contains(&last);
    let is_whole =
        (0..).zip(rows).all(|(id, n)| *n == Some(number_of(id, last, rows.len() as u64)));
    if !is_commit || !is_whole {
        return Err(corrupt(&format!("number {last} is the last, and rows don't go with it")));
    }
    Ok(Commits { acknowledged: acknowledged.len() as u64, found: there as u64 })
}

fn corrupt(what: &str) -> Stop {
    let message = format!("the table is as after no commit: {what}");
    Stop::refuse(RefusalKind::Corrupt, message)
}

/// What the row has when `last` is the last number that was given: the largest number up to it
/// whose row it is.
fn number_of(id: u64, last: u64, rows: u64) -> u64 {
    let behind = (last % rows + rows - id) % rows;
    // Of the first round no row was before: it has 0 as it was inserted.
    last.saturating_sub(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of five rows after so many changes.
    fn after(last: u64) -> Vec<Option<u64>> {
        let mut rows = vec![Some(0); 5];
        (1..=last).for_each(|number| rows[(number % 5) as usize] = Some(number));
        rows
    }

    #[test]
    fn each_row_has_the_last_number_that_it_was_given() {
        for last in 0..20 {
            for (id, n) in (0..).zip(after(last)) {
                assert_eq!(Some(number_of(id, last, 5)), n, "{id} after {last}");
            }
        }
    }

    #[test]
    fn commits_behind_the_last_number_are_lost() {
        let told = [3, 7, 13];
        let count = |last| found(&after(last), &told).expect("it is after a commit");
        assert_eq!(count(13), Commits { acknowledged: 3, found: 3 });
        assert_eq!(count(7), Commits { acknowledged: 3, found: 2 });
        assert_eq!(count(0), Commits { acknowledged: 3, found: 0 });
    }

    #[test]
    fn a_part_of_a_transaction_is_no_commit() {
        let told = [3, 7, 13];
        let refused =
            |rows: &[Option<u64>]| found(rows, &told).expect_err("it is after no commit").refusal();
        assert_eq!(refused(&after(9)), Some(RefusalKind::Corrupt), "in a transaction");
        assert_eq!(refused(&after(15)), Some(RefusalKind::Corrupt), "more than was told");
        let mut rows = after(13);
        rows[2] = Some(7);
        assert_eq!(refused(&rows), Some(RefusalKind::Corrupt), "a row was lost");
        rows[2] = None;
        assert_eq!(refused(&rows), Some(RefusalKind::Corrupt), "a row is missing");
    }
}
