//! LOCK TABLE.
//!
//! ```text
//!   LOCK [TABLE] name, ... [IN mode MODE] [NOWAIT | WAIT n]
//! ```
//!
//! Without a mode, EXCLUSIVE.
//!
//! Callers: `statement`.
//! Sources: Oracle's and PostgreSQL's documentation, "LOCK TABLE".

use crate::error::SyntaxError;
use crate::locking::LockWait;
use crate::names::Name;
use crate::reader::Reader;

/// LOCK TABLE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockTable {
    /// The tables.
    pub tables: Vec<Name>,
    /// The mode.
    pub mode: LockMode,
    /// How long it waits; never `SkipLocked`.
    pub wait: LockWait,
}

/// A mode of a table's lock, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockMode {
    /// ROW SHARE; SHARE UPDATE is Oracle's older name.
    RowShare,
    /// ROW EXCLUSIVE.
    RowExclusive,
    /// SHARE.
    Share,
    /// SHARE ROW EXCLUSIVE.
    ShareRowExclusive,
    /// EXCLUSIVE, and PostgreSQL's ACCESS EXCLUSIVE: readers never wait here.
    Exclusive,
}

impl LockTable {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<LockTable, SyntaxError> {
        reader.expect("lock")?;
        reader.take("table");
        reader.refuse("only")?;
        let tables = reader.list(|reader| reader.object("the name of a table"))?;
        reader.refuse("partition")?;
        let mode = match reader.take("in") {
            true => {
                let mode = LockMode::read(reader)?;
                reader.expect("mode")?;
                mode
            }
            false => LockMode::Exclusive,
        };
        let wait = match () {
            () if reader.take("nowait") => LockWait::No,
            () if reader.take("wait") => LockWait::Seconds(reader.whole("a number of seconds")?),
            () => LockWait::Forever,
        };
        Ok(LockTable { tables, mode, wait })
    }
}

impl LockMode {
    fn read(reader: &mut Reader<'_>) -> Result<LockMode, SyntaxError> {
        reader.refuse("access share, share update exclusive")?;
        match () {
            () if reader.take("row share") || reader.take("share update") => Ok(LockMode::RowShare),
            () if reader.take("row exclusive") => Ok(LockMode::RowExclusive),
            () if reader.take("share row exclusive") => Ok(LockMode::ShareRowExclusive),
            () if reader.take("share") => Ok(LockMode::Share),
            () if reader.take("exclusive") => Ok(LockMode::Exclusive),
            () if reader.take("access exclusive") => Ok(LockMode::Exclusive),
            () => Err(reader.wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn lock(text: &str) -> LockTable {
        match statement(text) {
            Statement::LockTable(lock) => lock,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_lock_has_a_mode_and_a_wait() {
        let found = lock("lock table a, s.b in share row exclusive mode wait 5");
        assert_eq!((found.tables.len(), found.mode), (2, LockMode::ShareRowExclusive));
        assert_eq!(found.wait, LockWait::Seconds(5));
        let found = lock("lock a nowait");
        assert_eq!((found.mode, found.wait), (LockMode::Exclusive, LockWait::No));
        assert_eq!(lock("lock a in share mode").mode, LockMode::Share);
        assert_eq!(lock("lock a in access exclusive mode").mode, LockMode::Exclusive);
        assert_eq!(lock("lock a in share update mode").mode, LockMode::RowShare);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("lock a in shared mode").contains("expected ROW SHARE"));
        assert!(refused("lock a in access share mode").contains("ACCESS SHARE isn't supported"));
        assert!(refused("lock a in share").contains("expected MODE"));
    }
}
