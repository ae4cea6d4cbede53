//! Statements that begin, end and mark transactions.
//!
//! ```text
//!   BEGIN [WORK | TRANSACTION] [modes]    START TRANSACTION [modes]
//!   COMMIT, END [WORK | TRANSACTION] [AND [NO] CHAIN] [WRITE [WAIT | NOWAIT] [IMMEDIATE | BATCH]]
//!   ROLLBACK, ABORT [WORK | TRANSACTION] [AND [NO] CHAIN | TO [SAVEPOINT] name]
//!   SAVEPOINT name    RELEASE [SAVEPOINT] name
//!   modes: ISOLATION LEVEL {SERIALIZABLE | REPEATABLE READ | READ COMMITTED | READ UNCOMMITTED},
//!          READ ONLY, READ WRITE, [NOT] DEFERRABLE
//! ```
//!
//! Callers: `statement`; `setting` for SET TRANSACTION.
//! Sources: PostgreSQL's documentation, "BEGIN", "SET TRANSACTION"; Oracle's, "COMMIT".

use crate::error::SyntaxError;
use crate::reader::Reader;
use crate::statement::Statement;

/// What a transaction is to be; what isn't written is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub isolation: Option<Isolation>,
    /// READ ONLY or READ WRITE.
    pub read_only: Option<bool>,
}

/// An isolation level, as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each is called as SQL calls it")]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// COMMIT.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Commit {
    /// WRITE WAIT or NOWAIT: whether it waits for the redo; none as the session has it.
    pub wait: Option<bool>,
    /// WRITE IMMEDIATE or BATCH: whether it has the redo written at once.
    pub immediate: Option<bool>,
    /// AND CHAIN: whether a transaction with the same modes begins behind it.
    pub chain: bool,
}

impl TransactionModes {
    /// A statement of those above.
    pub(crate) fn read_statement(reader: &mut Reader<'_>) -> Result<Statement, SyntaxError> {
        match () {
            () if reader.take("begin") => {
                take_work(reader);
                TransactionModes::read(reader).map(Statement::Begin)
            }
            () if reader.take("start") => {
                reader.expect("transaction")?;
                TransactionModes::read(reader).map(Statement::Begin)
            }
            () if reader.take("commit") || reader.take("end") => {
                reader.refuse("prepared, force")?;
                take_work(reader);
                Commit::read(reader).map(Statement::Commit)
            }
            () if reader.take("rollback") || reader.take("abort") => {
                reader.refuse("prepared, force")?;
                take_work(reader);
                let chain = take_chain(reader);
                if chain || !reader.take("to") {
                    return Ok(Statement::Rollback { chain });
                }
                reader.take("savepoint");
                savepoint(reader).map(Statement::RollbackTo)
            }
            () if reader.take("savepoint") => savepoint(reader).map(Statement::Savepoint),
            () if reader.take("release") => {
                reader.take("savepoint");
                savepoint(reader).map(Statement::Release)
            }
            () => Err(reader.wrong()),
        }
    }

    /// Modes, with or without commas between them.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<TransactionModes, SyntaxError> {
        let mut modes = TransactionModes::default();
        loop {
            match () {
                () if reader.take("isolation level") => {
                    modes.isolation = Some(Isolation::read(reader)?);
                }
                () if reader.take("read only") => modes.read_only = Some(true),
                () if reader.take("read write") => modes.read_only = Some(false),
                // A snapshot is had without waiting for anybody, and what only reads is never
                // refused for what others do.
                () if reader.take("not deferrable") || reader.take("deferrable") => {}
                () => return Ok(modes),
            }
            reader.take_mark(",");
        }
    }
}

impl Isolation {
    fn read(reader: &mut Reader<'_>) -> Result<Isolation, SyntaxError> {
        match () {
            () if reader.take("serializable") => Ok(Isolation::Serializable),
            () if reader.take("repeatable read") => Ok(Isolation::RepeatableRead),
            () if reader.take("read committed") => Ok(Isolation::ReadCommitted),
            () if reader.take("read uncommitted") => Ok(Isolation::ReadUncommitted),
            () => Err(reader.wrong()),
        }
    }
}

impl Commit {
    fn read(reader: &mut Reader<'_>) -> Result<Commit, SyntaxError> {
        let mut commit = Commit { chain: take_chain(reader), ..Commit::default() };
        if !reader.take("write") {
            return Ok(commit);
        }
        loop {
            match () {
                () if reader.take("wait") => commit.wait = Some(true),
                () if reader.take("nowait") => commit.wait = Some(false),
                () if reader.take("immediate") => commit.immediate = Some(true),
                () if reader.take("batch") => commit.immediate = Some(false),
                () => return Ok(commit),
            }
        }
    }
}

fn take_work(reader: &mut Reader<'_>) {
    let _ = reader.take("work") || reader.take("transaction");
}

fn take_chain(reader: &mut Reader<'_>) -> bool {
    let chain = reader.take("and chain");
    if !chain {
        reader.take("and no chain");
    }
    chain
}

fn savepoint(reader: &mut Reader<'_>) -> Result<String, SyntaxError> {
    reader.name("the name of a savepoint").map(|name| name.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{refused, statement};

    #[test]
    fn transactions_begin_with_modes() {
        let modes = |text: &str| match statement(text) {
            Statement::Begin(modes) => modes,
            other => panic!("{other:?}"),
        };
        assert_eq!(modes("begin"), TransactionModes::default());
        assert_eq!(modes("BEGIN WORK"), TransactionModes::default());
        let expected =
            TransactionModes { isolation: Some(Isolation::Serializable), read_only: Some(true) };
        let text = "start transaction isolation level serializable, read only not deferrable";
        assert_eq!(modes(text), expected);
        assert_eq!(modes("begin isolation level serializable read only deferrable"), expected);
        assert_eq!(modes("begin read write").read_only, Some(false));
        let found = modes("begin transaction isolation level repeatable read").isolation;
        assert_eq!(found, Some(Isolation::RepeatableRead));
    }

    #[test]
    fn transactions_end_and_have_savepoints() {
        let commit =
            |wait, immediate| Statement::Commit(Commit { wait, immediate, ..Commit::default() });
        assert_eq!(statement("commit work"), commit(None, None));
        assert_eq!(statement("end"), commit(None, None));
        assert_eq!(statement("commit write nowait batch"), commit(Some(false), Some(false)));
        assert_eq!(statement("rollback transaction"), Statement::Rollback { chain: false });
        assert_eq!(statement("abort and no chain"), Statement::Rollback { chain: false });
        assert_eq!(statement("rollback work and chain"), Statement::Rollback { chain: true });
        let chained = Commit { chain: true, ..Commit::default() };
        assert_eq!(statement("end and chain"), Statement::Commit(chained));
        assert_eq!(statement("rollback to savepoint A"), Statement::RollbackTo("a".into()));
        assert_eq!(statement("rollback work to \"A\""), Statement::RollbackTo("A".into()));
        assert_eq!(statement("savepoint s"), Statement::Savepoint("s".into()));
        assert_eq!(statement("release s"), Statement::Release("s".into()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("rollback and chain to s").contains("near \"to\""));
        assert!(refused("begin isolation level x").contains("expected SERIALIZABLE"));
        assert!(refused("start").contains("expected TRANSACTION"));
        assert!(refused("rollback to").contains("the name of a savepoint"));
    }
}
