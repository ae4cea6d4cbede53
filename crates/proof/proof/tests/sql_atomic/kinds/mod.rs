//! Every kind of statement: a sound one, and ones that a row refuses, by each row in turn.
//!
//! | file | what is in it |
//! |---|---|
//! | `rows` | statements that change, lock or read rows |
//! | `files` | statements about files and clients |
//! | `definitions` | statements that define something |

mod definitions;
mod files;
mod rows;

use std::ops::RangeInclusive;

use database::SqlState;

use crate::stage::Mode;

/// What becomes of the database by a statement that is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Rows change, or are locked.
    Rows,
    /// Nothing does.
    Query,
    /// Tables are locked, which is done within a transaction alone.
    Lock,
    /// A definition changes, or a file is made: no transaction takes it back.
    Definition,
}

impl Class {
    /// How a statement is tried for this time, from 0: where it can be, alone and within a
    /// transaction in turn.
    pub(crate) fn mode(self, number: u64) -> Mode {
        match self {
            Class::Definition => Mode::Alone,
            Class::Lock => Mode::Within,
            Class::Rows | Class::Query => [Mode::Alone, Mode::Within][(number % 2) as usize],
        }
    }
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) text: String,
    /// What a COPY FROM STDIN is given.
    pub(crate) bytes: Option<String>,
}

impl Statement {
    fn of(text: impl Into<String>) -> Statement {
        Statement { text: text.into(), bytes: None }
    }
}

/// A way in which a row refuses a statement.
pub(crate) struct Break {
    pub(crate) what: &'static str,
    /// With which SQLSTATE; none: whatever it is.
    pub(crate) state: Option<SqlState>,
    /// The rows that can.
    pub(crate) rows: RangeInclusive<i64>,
    /// The statement that this row refuses.
    pub(crate) statement: fn(i64) -> Statement,
    pub(crate) arranged: Option<Arranged>,
}

/// What another session does before, so that the row refuses the statement, and takes back behind.
#[derive(Clone, Copy)]
pub(crate) struct Arranged {
    pub(crate) before: fn(i64) -> String,
    pub(crate) after: fn(i64) -> String,
}

/// A kind of statement.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    /// A sound one, about many rows.
    pub(crate) whole: fn() -> Statement,
    pub(crate) breaks: Vec<Break>,
    /// What a halt may leave of it, if it is two transactions (see README of `sql`).
    pub(crate) halfway: Option<Halfway>,
}

/// What is there when the first of two transactions is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Halfway {
    /// The table, without rows.
    Empty(&'static str),
}

impl Kind {
    fn of(name: &'static str, class: Class, whole: fn() -> Statement) -> Kind {
        Kind { name, class, whole, breaks: Vec::new(), halfway: None }
    }

    /// The same, which these rows refuse.
    fn breaking(
        mut self,
        what: &'static str,
        state: SqlState,
        rows: RangeInclusive<i64>,
        statement: fn(i64) -> Statement,
    ) -> Kind {
        self.breaks.push(Break { what, state: Some(state), rows, statement, arranged: None });
        self
    }

    /// The last way needs something to be done before.
    fn arranged(mut self, before: fn(i64) -> String, after: fn(i64) -> String) -> Kind {
        let last = self.breaks.last_mut().expect("a way was just added");
        last.arranged = Some(Arranged { before, after });
        self
    }

    /// Something refuses it that no row of its own is.
    fn refused(mut self, what: &'static str, statement: fn(i64) -> Statement) -> Kind {
        let (state, rows, arranged) = (None, 1..=1, None);
        self.breaks.push(Break { what, state, rows, statement, arranged });
        self
    }

    /// In how many ways, and by how many rows each, it can be refused.
    pub(crate) fn places(&self) -> usize {
        self.breaks.iter().map(|one| one.rows.clone().count()).sum()
    }
}

/// All kinds.
pub(crate) fn kinds() -> Vec<Kind> {
    let mut all = rows::kinds();
    all.extend(files::kinds());
    all.extend(definitions::kinds());
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use syntax::{Statement as Parsed, TableAction};

    use super::*;

    /// What is to be tried.
    const WORDS: &[&str] = &[
        "ALTER INDEX",
        "ALTER SEQUENCE",
        "ANALYZE",
        "COMMENT",
        "COPY",
        "CREATE EXTERNAL TABLE",
        "CREATE INDEX",
        "CREATE SEQUENCE",
        "CREATE TABLE",
        "CREATE VIEW",
        "DELETE",
        "DROP EXTERNAL TABLE",
        "DROP INDEX",
        "DROP SEQUENCE",
        "DROP TABLE",
        "DROP VIEW",
        "EXPLAIN",
        "INSERT",
        "LOCK TABLE",
        "MERGE",
        "SELECT",
        "TRUNCATE TABLE",
        "UPDATE",
        "add column",
        "add constraint",
        "drop column",
        "drop constraint",
        "drop primary key",
        "rename column",
        "rename constraint",
        "rename table",
        "set default",
        "set not null",
        "set type",
    ];

    /// A statement's word; none if there is nothing to try. A new kind of statement has to say.
    fn word(statement: &Parsed) -> Option<&'static str> {
        match statement {
            Parsed::AlterTable(alter) => alter.actions.first().and_then(word_of_action),
            Parsed::Query(_)
            | Parsed::Insert(_)
            | Parsed::Update(_)
            | Parsed::Delete(_)
            | Parsed::Merge(_)
            | Parsed::CreateTable(_)
            | Parsed::CreateExternalTable(_)
            | Parsed::CreateIndex(_)
            | Parsed::CreateView(_)
            | Parsed::CreateSequence(_)
            | Parsed::AlterIndex(_)
            | Parsed::AlterSequence(_)
            | Parsed::Drop(_)
            | Parsed::Truncate(_)
            | Parsed::Comment(_)
            | Parsed::Analyze(_)
            | Parsed::Explain(_)
            | Parsed::LockTable(_)
            | Parsed::Copy(_) => Some(statement.tag()),
            // There is one schema; the crash sweep makes data files; the others are about the
            // instance, about transactions themselves, or the session's own.
            Parsed::CreateSchema(_)
            | Parsed::CreateTablespace(_)
            | Parsed::AlterTablespace(_)
            | Parsed::AlterSystem(_)
            | Parsed::Kill(_)
            | Parsed::Begin(_)
            | Parsed::Commit(_)
            | Parsed::Rollback { .. }
            | Parsed::Savepoint(_)
            | Parsed::RollbackTo(_)
            | Parsed::Release(_)
            | Parsed::SetTransaction(_)
            | Parsed::SetTransactions(_)
            | Parsed::AlterSession(_)
            | Parsed::Set(_)
            | Parsed::Show(_)
            | Parsed::Prepare(_)
            | Parsed::Execute(_)
            | Parsed::Deallocate(_) => None,
        }
    }

    fn word_of_action(action: &TableAction) -> Option<&'static str> {
        Some(match action {
            TableAction::AddColumn { .. } => "add column",
            TableAction::DropColumn { .. } => "drop column",
            TableAction::AddConstraint(_) => "add constraint",
            TableAction::DropConstraint { .. } => "drop constraint",
            TableAction::DropPrimaryKey { .. } => "drop primary key",
            TableAction::SetDefault { .. } => "set default",
            TableAction::SetNotNull { .. } => "set not null",
            TableAction::SetType { .. } => "set type",
            TableAction::RenameTable(_) => "rename table",
            TableAction::RenameColumn { .. } => "rename column",
            TableAction::RenameConstraint { .. } => "rename constraint",
            // They aren't there.
            TableAction::AddIdentity { .. } | TableAction::DropIdentity { .. } => return None,
        })
    }

    #[test]
    fn every_kind_of_statement_of_the_parser_is_tried() {
        let all = kinds();
        let words = all.iter().map(|kind| {
            let text = (kind.whole)().text;
            let parsed = syntax::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            word(&parsed.statement).unwrap_or_else(|| panic!("{text}: there is nothing to try"))
        });
        let words: BTreeSet<&str> = words.collect();
        assert_eq!(words.into_iter().collect::<Vec<_>>(), WORDS);
    }

    #[test]
    fn kinds_have_names_of_their_own_and_say_where_they_break() {
        let all = kinds();
        let names: BTreeSet<&str> = all.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), all.len());
        for kind in &all {
            for one in &kind.breaks {
                let texts = one.rows.clone().map(|row| {
                    let Statement { text, bytes } = (one.statement)(row);
                    let before = one.arranged.map(|arranged| (arranged.before)(row));
                    (before, text, bytes)
                });
                let texts: BTreeSet<_> = texts.collect();
                let count = one.rows.clone().count();
                assert_eq!(texts.len(), count, "{}, {}: a row twice", kind.name, one.what);
            }
        }
        assert!(all.iter().map(Kind::places).sum::<usize>() > 1_500);
    }
}
