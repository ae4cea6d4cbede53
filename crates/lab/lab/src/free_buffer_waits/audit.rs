//! What is there of a cell's commits after its crash.
//!
//! Each session changed every row of its table, n from 0 to 1, in one transaction, and was told
//! that it is committed. So every row of every table has n = 1, or a commit is lost.
//!
//! Callers: `run`.

use std::path::Path;

use database::{Connection, Database, Options};
use experiment::Commits;
use os::{Disk, Session};
use stop::{RefusalKind, Stop};

use super::measure::{Size, table_name};
use crate::crash::crash;

/// Opens the database after its crash and counts the commits that are there. A part of a
/// transaction is refused as Corrupt.
pub(super) fn audit(
    disk: &Disk,
    directory: &Path,
    options: &Options,
    size: Size,
    session: &Session,
) -> Result<Commits, Stop> {
    let database = Database::open_in(disk, directory, options, session)?;
    let found = count(&mut database.connect_with(session), size);
    let halted = crash(database, session);
    let found = found?;
    halted?;
    Ok(Commits { acknowledged: size.sessions.into(), found })
}

fn count(connection: &mut Connection<'_>, size: Size) -> Result<u64, Stop> {
    let mut found = 0;
    for number in 0..size.sessions {
        let name = table_name(number);
        let table = connection.table(&name)?;
        let mut rows = Rows::of(size.rows);
        connection.scan(&table, |row| rows.take(row.get_i64(0), row.get_i64(1)))?;
        found += u64::from(rows.is_committed(&name)?);
    }
    Ok(found)
}

/// The rows of a table as they were found.
struct Rows {
    /// Which ids there are.
    seen: Vec<bool>,
    changed: u64,
    unchanged: u64,
    /// A row with another n, an id that was never inserted or comes again.
    wrong: u64,
}

impl Rows {
    fn of(rows: u64) -> Rows {
        Rows { seen: vec![false; rows as usize], changed: 0, unchanged: 0, wrong: 0 }
    }

    fn take(&mut self, id: Option<i64>, n: Option<i64>) {
        let id = id.and_then(|id| usize::try_from(id).ok());
        let is_new = id
            .and_then(|id| self.seen.get_mut(id))
            .is_some_and(|seen| !std::mem::replace(seen, true));
        match n {
            Some(1) if is_new => self.changed += 1,
            Some(0) if is_new => self.unchanged += 1,
            _ => self.wrong += 1,
        }
    }

    /// Whether the session's commit is there.
    fn is_committed(&self, table: &str) -> Result<bool, Stop> {
        let all = self.seen.len() as u64;
        if self.wrong == 0 && [self.changed, self.unchanged].contains(&all) {
            return Ok(self.changed == all);
        }
        let message = format!(
            "table {table} has a part of a transaction after the crash: of {all} rows {} are \
             changed, {} aren't, and {} are wrong",
            self.changed, self.unchanged, self.wrong
        );
        Err(Stop::refuse(RefusalKind::Corrupt, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(i64, i64)]) -> Result<bool, Stop> {
        let mut found = Rows::of(3);
        rows.iter().for_each(|(id, n)| found.take(Some(*id), Some(*n)));
        found.is_committed("t0")
    }

    #[test]
    fn a_commit_is_there_or_lost_as_a_whole() {
        assert!(table(&[(2, 1), (0, 1), (1, 1)]).expect("it is whole"));
        assert!(!table(&[(0, 0), (1, 0), (2, 0)]).expect("it is whole"));
    }

    #[test]
    fn a_part_of_a_transaction_is_no_commit_and_no_loss() {
        let rows = [
            &[(0, 1), (1, 0), (2, 1)][..],
            &[(0, 1), (1, 1)],
            &[(0, 1), (1, 1), (1, 1)],
            &[(0, 1), (1, 1), (2, 2)],
            &[(0, 1), (1, 1), (2, 1), (3, 1)],
        ];
        for rows in rows {
            let stop = table(rows).expect_err("it is a part");
            assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{rows:?}");
        }
    }
}
