//! Statements that define something: from what is written to the catalog's specs.
//!
//! ```text
//!   CREATE TABLE t (…)  ─ names, types, texts of expressions ─▶ TableSpec ─▶ Catalog::create_table
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `table`, `columns` | CREATE TABLE; columns and constraints |
//! | `filled`, `like` | CREATE TABLE AS; LIKE in CREATE TABLE |
//! | `external` | CREATE EXTERNAL TABLE |
//! | `alter`, `altered` | ALTER TABLE, and the table as its actions will leave it |
//! | `view`, `readers` | CREATE VIEW, and what a view reads; views whose table is altered |
//! | `objects` | indexes, sequences, comments, DROP, TRUNCATE |
//! | `instance` | tablespaces, ALTER SYSTEM |
//!
//! Invariants
//!   * the catalog does each statement as a transaction of its own (rule SQ62)
//!   * an expression that is kept as a text was bound once, so that what it means is known
//!
//! Callers: `session`.

mod alter;
mod altered;
mod columns;
mod external;
mod filled;
mod instance;
mod like;
mod objects;
mod readers;
mod table;
mod view;

use catalog::ObjectId;
use stop::{RefusalKind, SqlState, Stop};
use syntax::Statement;

pub(crate) use columns::stored;

use crate::engine::Frame;
use crate::refuse::refuse;
use crate::session::{Outcome, Written};

/// How often a statement is tried again because a definition has changed meanwhile.
const TRIES: u32 = 20;

/// What a user is told when IF EXISTS or IF NOT EXISTS had an effect.
const SKIPPED: &str = "an object was there already, or wasn't there: nothing was done about it";

impl Frame<'_> {
    /// A statement that defines something.
    pub(crate) fn define(
        &mut self,
        statement: &Statement,
        written: Written<'_>,
    ) -> Result<Outcome, Stop> {
        let tag = statement.tag();
        if let Statement::AlterSystem(alter) = statement {
            return self.alter_system(alter);
        }
        self.check_may_define(tag)?;
        let done = match statement {
            Statement::CreateTable(create) => return self.create_table(create, written),
            Statement::CreateExternalTable(create) => self.create_external(create, written.text)?,
            Statement::CreateIndex(create) => self.create_index(create)?,
            Statement::CreateView(create) => self.create_view(create, written.text)?,
            Statement::CreateSequence(create) => self.create_sequence(create)?,
            Statement::CreateSchema(create) => self.create_schema(create)?,
            Statement::CreateTablespace(create) => self.create_tablespace(create)?,
            Statement::AlterTable(alter) => self.alter_table(alter, written.text)?,
            Statement::AlterIndex(alter) => self.alter_index(alter)?,
            Statement::AlterSequence(alter) => self.alter_sequence(alter)?,
            Statement::AlterTablespace(alter) => self.alter_tablespace(alter)?,
            Statement::Drop(drop) => self.drop_objects(drop)?,
            Statement::Truncate(truncate) => self.truncate(truncate)?,
            Statement::Comment(comment) => self.comment(comment)?,
            Statement::Analyze(analyze) => self.analyze(analyze)?,
            other => {
                let message = format!("{} isn't supported yet", other.tag());
                return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        };
        Ok(done.outcome(tag))
    }

    /// What has this name, if anything has.
    fn object_named(&self, name: &str) -> Option<ObjectId> {
        self.catalog.named(name, self.session)
    }
}

/// Whether something was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Done {
    Yes,
    /// It was there already, or it wasn't there.
    Skipped,
}

impl Done {
    fn outcome(self, tag: &'static str) -> Outcome {
        match self {
            Done::Yes => Outcome::done(tag),
            Done::Skipped => Outcome::done(tag).with_notice(SKIPPED),
        }
    }

    /// The end of a statement that may find nothing, or something, in its way.
    fn unless(is_skipped: bool, kind: RefusalKind, done: Result<(), Stop>) -> Result<Done, Stop> {
        match done {
            Ok(()) => Ok(Done::Yes),
            Err(stop) if is_skipped && stop.refusal() == Some(kind) => Ok(Done::Skipped),
            Err(stop) => Err(stop),
        }
    }
}

/// Looks at definitions and makes something that rests on them, until none of them has changed
/// between the two. `what` is made or altered.
fn unless_redefined<T>(what: &str, mut once: impl FnMut() -> Result<T, Stop>) -> Result<T, Stop> {
    for _ in 0..TRIES {
        match once() {
            Err(stop) if stop.refusal() == Some(RefusalKind::DefinitionChanged) => {}
            done => return done,
        }
    }
    let message = format!("what {what} rests on is redefined again and again; try later");
    Err(refuse(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
}
