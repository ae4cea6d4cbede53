//! What the binder makes of a statement: its rows as a tree, and what is done with them.
//!
//! ```text
//!   UPDATE emp SET pay = pay * 2 FROM dept WHERE …  RETURNING id, pay
//!
//!   source:      address │ pay * 2 │ emp's columns │ dept's columns        one row for each change
//!   assigned:    pay is column 1 of the source
//!   returning:   over the source's row, in which column 1 is as the table holds it
//! ```
//!
//! Callers: `plan`, which plans the rows; `change`, which does what is done with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::ObjectId;
use expression::{Expression, Kind};
use ids::ObjectNo;
use relation::IndexId;
use stop::SqlState;
use syntax::{LockWait, QueryStatement, RowLock};

use super::scope::{Border, Scope};
use super::select::settle;
use super::{Binder, OutputColumn, Query};
use crate::logical::{FrameParts, Logical};
use crate::names::{Name, fold};
use crate::refuse::{At, Bind, Refused};
use crate::schema::TableInfo;

/// A statement that was bound.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) statement: Statement,
    /// Its frame: slots, subqueries, queries that are computed once.
    pub(crate) frame: FrameParts,
    /// The kinds of its parameters; unknown for one that may be of any kind.
    pub(crate) binds: Vec<Kind>,
    /// The objects that its plan rests on.
    pub(crate) objects: BTreeSet<ObjectId>,
    /// The blocks of the tables whose rows it reads, as its plan takes them to be.
    pub(crate) sizes: BTreeMap<ObjectNo, f64>,
}

/// A statement about rows.
#[derive(Debug)]
pub(crate) enum Statement {
    /// A query.
    Query(Query),
    /// A query whose rows are locked.
    Lock(Query, Locking),
    /// INSERT.
    Insert(Insert),
    /// UPDATE.
    Update(Update),
    /// DELETE.
    Delete(Delete),
    /// MERGE.
    Merge(Merge),
}

/// Which rows of a query are locked. The addresses are the last columns of the query's tree.
#[derive(Debug)]
pub(crate) struct Locking {
    pub(crate) tables: Vec<LockedTable>,
    pub(crate) if_held: LockRows,
    /// How many rows are locked and given at most.
    pub(crate) limit: Option<Expression>,
    /// How many rows are passed over first.
    pub(crate) offset: Option<Expression>,
}

/// A table of which rows are locked.
#[derive(Clone, Debug)]
pub(crate) struct LockedTable {
    pub(crate) table: Arc<TableInfo>,
    /// The column of the query with the addresses.
    pub(crate) column: usize,
}

/// What FOR UPDATE does about rows that others have locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockRows {
    /// Waits as long as the transaction's other statements do.
    Wait,
    /// Waits for this many seconds.
    Seconds(u64),
    /// Is refused.
    NoWait,
    /// Passes by them.
    SkipLocked,
}

/// A column that gets a value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Assigned {
    /// The column's place in the table.
    pub(crate) column: usize,
    /// The value.
    pub(crate) value: Expression,
}

/// What a statement gives back of the rows that it changed: over the row of its source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Returning {
    pub(crate) expressions: Vec<Expression>,
    pub(crate) columns: Vec<OutputColumn>,
}

/// INSERT. Its source has a column for each of the table, in the table's order.
#[derive(Debug)]
pub(crate) struct Insert {
    pub(crate) table: Arc<TableInfo>,
    pub(crate) source: Logical,
    pub(crate) on_conflict: Option<OnConflict>,
    pub(crate) returning: Option<Returning>,
    /// Whether the rows come from a query and not from VALUES.
    pub(crate) is_of_query: bool,
    /// Whether the hint APPEND asks for the direct path.
    pub(crate) appends: bool,
}

/// What is done about a row whose key another row has.
#[derive(Clone, Debug)]
pub(crate) struct OnConflict {
    /// The unique index; none: any.
    pub(crate) index: Option<IndexId>,
    pub(crate) action: ConflictAction,
}

/// What ON CONFLICT does. Expressions are over the columns of the row that is there, and then of
/// the row that was to be inserted.
#[derive(Clone, Debug)]
pub(crate) enum ConflictAction {
    /// Nothing.
    Nothing,
    /// The row that is there is updated.
    Update {
        set: Vec<Assigned>,
        /// Which of them are.
        filter: Vec<Expression>,
    },
}

/// UPDATE. The first column of its source is the row's address, and those behind it are the new
/// values of `columns`.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) table: Arc<TableInfo>,
    pub(crate) source: Logical,
    pub(crate) columns: Vec<usize>,
    pub(crate) returning: Option<Returning>,
}

/// DELETE. The first column of its source is the row's address.
#[derive(Debug)]
pub(crate) struct Delete {
    pub(crate) table: Arc<TableInfo>,
    pub(crate) source: Logical,
    pub(crate) returning: Option<Returning>,
}

/// MERGE. Its source has the address of the table's row, or NULL if none matches; TRUE if there is
/// a row of the source, or NULL; and then the columns of both.
#[derive(Debug)]
pub(crate) struct Merge {
    pub(crate) table: Arc<TableInfo>,
    pub(crate) source: Logical,
    pub(crate) branches: Vec<MergeBranch>,
    /// Over the source's row, with the table's columns as they are afterwards.
    pub(crate) returning: Option<Returning>,
    /// For each column of the table its number in the source, if it is there.
    pub(crate) target: Vec<Option<usize>>,
}

/// A WHEN of MERGE.
#[derive(Clone, Debug)]
pub(crate) struct MergeBranch {
    pub(crate) rows: MergeRows,
    pub(crate) conditions: Vec<Expression>,
    pub(crate) action: MergeAction,
}

/// The rows that a WHEN of MERGE is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MergeRows {
    /// Rows of both that match.
    Matched,
    /// Rows of the source that match none of the table.
    NotMatchedByTarget,
    /// Rows of the table that match none of the source.
    NotMatchedBySource,
}

/// What a WHEN of MERGE does.
#[derive(Clone, Debug)]
pub(crate) enum MergeAction {
    /// Nothing.
    Nothing,
    /// Updates the table's row.
    Update(Vec<Assigned>),
    /// Deletes it.
    Delete,
    /// Inserts a row: a value for each column of the table.
    Insert(Vec<Expression>),
}

impl Binder<'_> {
    /// Binds a statement about rows.
    pub(crate) fn statement(mut self, written: &syntax::Statement) -> Bind<Bound> {
        self.levels.enter(Border::Frame, Scope::default(), 0);
        let statement = match written {
            syntax::Statement::Query(query) => self.query_statement(query)?,
            syntax::Statement::Insert(insert) => Statement::Insert(self.insert(insert)?),
            syntax::Statement::Update(update) => Statement::Update(self.update(update)?),
            syntax::Statement::Delete(delete) => Statement::Delete(self.delete(delete)?),
            syntax::Statement::Merge(merge) => Statement::Merge(self.merge(merge)?),
            other => {
                let message = format!("{} isn't about rows", other.tag());
                return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message));
            }
        };
        Ok(self.bound(statement))
    }

    /// The statement with all that belongs to it.
    pub(super) fn bound(mut self, statement: Statement) -> Bound {
        let mut frame = self.leave_frame();
        frame.slots[..self.binds].copy_from_slice(&self.bind_kinds);
        let Binder { bind_kinds: binds, objects, sizes, .. } = self;
        Bound { statement, frame, binds, objects, sizes }
    }

    fn query_statement(&mut self, written: &QueryStatement) -> Bind<Statement> {
        match &written.locking {
            None => Ok(Statement::Query(settle(self.query(&written.query, 1)?)?)),
            Some(locking) => self.locking_query(written, locking),
        }
    }

    /// A query FOR UPDATE: LIMIT and OFFSET count the rows that are locked.
    fn locking_query(
        &mut self,
        written: &QueryStatement,
        locking: &syntax::Locking,
    ) -> Bind<Statement> {
        let at = At::byte(locking.position);
        if locking.lock == RowLock::Share {
            let instead = "rows that are read are never waited for; write FOR UPDATE to keep \
                           others from changing them";
            return Err(Refused::unsupported(at, "FOR SHARE", instead));
        }
        let query = &written.query;
        if query.with.is_some() || query.body.as_select().is_none() {
            let instead = "lock the rows by a SELECT of tables";
            return Err(Refused::unsupported(at, "FOR UPDATE of this kind of query", instead));
        }
        self.locks_next = true;
        let order = self.row_order(query, 1)?;
        if order.ties.is_some() {
            let instead = "write FETCH FIRST n ROWS ONLY";
            return Err(Refused::unsupported(at, "FOR UPDATE of rows WITH TIES", instead));
        }
        let bound = settle(self.body(&query.body, order, 1)?)?;
        let cut = self.cut(query, 1)?;
        let first = bound.columns.len();
        let mut tables = Vec::new();
        for (number, (name, table)) in std::mem::take(&mut self.locked).into_iter().enumerate() {
            let is_it = |of: &sqlparser::ast::Ident| fold(of) == name.name;
            if locking.of.is_empty() || locking.of.iter().any(is_it) {
                tables.push(LockedTable { table, column: first + number });
            }
        }
        if tables.is_empty() {
            let message = "FOR UPDATE needs a table in FROM whose rows can be locked";
            return Err(Refused::new(SqlState::WRONG_OBJECT_TYPE, at, message));
        }
        let if_held = match locking.wait {
            LockWait::Forever => LockRows::Wait,
            LockWait::No => LockRows::NoWait,
            LockWait::Seconds(seconds) => LockRows::Seconds(seconds),
            LockWait::SkipLocked => LockRows::SkipLocked,
        };
        let (limit, offset) = (cut.limit, cut.offset);
        Ok(Statement::Lock(bound, Locking { tables, if_held, limit, offset }))
    }

    /// A table whose rows a statement changes: a table of users', not a view.
    pub(super) fn target(&mut self, written: &syntax::Name) -> Bind<Arc<TableInfo>> {
        let name = Name::written(written);
        let at = written.position().map_or(At::NOWHERE, At::byte);
        match self.schema.find(&name)? {
            Some(crate::schema::Found::Table(table)) => Ok(table),
            Some(_) => {
                let message = format!("{name} isn't a table: its rows can't be changed");
                Err(Refused::new(SqlState::WRONG_OBJECT_TYPE, at, message))
            }
            None => self.named_table(&name, at).map(|_| ()).and_then(|()| {
                let message = format!("{name} isn't a table: its rows can't be changed");
                Err(Refused::new(SqlState::WRONG_OBJECT_TYPE, at, message))
            }),
        }
    }
}
