//! From the parser's tree to a tree of operations: names are looked up, kinds are found out, and
//! what SQL leaves out is put in.
//!
//! ```text
//!   ast::Query ─ from ─▶ scopes ─ where, group, select, order ─▶ Logical and its columns
//!                           │
//!                           └─ a name of an outer query: a slot, and the value that goes into it
//! ```
//!
//! | module | what it binds |
//! |---|---|
//! | `scope` | names of columns |
//! | `query`, `set`, `order` | WITH, UNION, VALUES; ORDER BY, LIMIT |
//! | `select`, `group`, `rows_of` | one SELECT; GROUP BY and aggregates; `count(t.*)` |
//! | `series`, `label` | `generate_series` in the SELECT list; names of columns that have none |
//! | `from`, `joins`, `tables` | FROM: tables, views, subqueries, joins |
//! | `expression`, `rows`, `literal`, `pattern`, `call`, `subquery`, `system` | expressions |
//! | `change`, `assign`, `merge` | INSERT, UPDATE, DELETE, MERGE; RETURNING |
//! | `statement`, `alone` | what comes out: a [`Statement`] with its frame |
//!
//! Invariants
//!   * each query is a level, and a subquery in an expression a frame with slots of its own
//!   * a parameter's kind is that of the first thing that it meets (rule SQ11)
//!   * nothing is read but the dictionary
//!   * after a refusal the binder is thrown away: nothing is put back
//!
//! Callers: `cache`, which binds a text once.
//! Sources: PostgreSQL's `parse_*.c`, for what may stand where.

mod alone;
mod assign;
mod call;
mod change;
mod expression;
mod from;
mod group;
mod joins;
mod label;
mod literal;
mod merge;
mod order;
mod pattern;
mod query;
mod rows;
mod rows_of;
mod scope;
mod select;
mod series;
mod set;
mod statement;
mod subquery;
mod system;
mod tables;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use ::expression::{Expression, Kind, Typed};
use catalog::ObjectId;
use ids::ObjectNo;
use stop::SqlState;
use value::Type;

pub(crate) use alone::CheckedColumn;
pub(crate) use statement::{
    Assigned, Bound, ConflictAction, Delete, Insert, LockRows, Locking, Merge, MergeAction,
    MergeBranch, MergeRows, OnConflict, Returning, Statement, Update,
};

use crate::logical::{FrameParts, Logical, is_volatile};
use crate::names::Name;
use crate::refuse::{At, Bind, Refused};
use crate::schema::{Schema, TableInfo};
use scope::Levels;

/// The most levels of nested expressions and queries.
const DEPTH_MAX: usize = 400;

/// The most joins and set operations of a statement, views included: each is a level of its tree.
/// A view counts as one too, and so does a query of WITH, once more for each place where it is
/// computed anew.
const OPERATIONS_MAX: usize = 400;

/// The most parts of a statement's tree that are copies: an expression that is written once may be
/// needed several times, and such expressions may lie within one another.
const COPIES_MAX: usize = 1 << 18;

/// The most columns of a result, as in PostgreSQL.
const COLUMNS_MAX: usize = 1_664;

/// The columns of aggregates while a query with groups is bound have numbers from here on.
const AGGREGATES: usize = 1 << 24;

/// The columns that stand for the rows of tables, which only aggregates read, from here on.
const ROWS: usize = 1 << 23;

/// A column of a result.
#[derive(Clone, PartialEq, Debug)]
pub struct OutputColumn {
    /// Its name.
    pub name: String,
    /// The kind of its values.
    pub kind: Kind,
    /// Its type, if it is a column of a table or of a CAST.
    pub declared: Option<Type>,
}

/// A query with its columns.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) logical: Logical,
    pub(crate) columns: Vec<OutputColumn>,
}

/// A common table expression that can be named.
#[derive(Clone)]
struct Cte {
    name: String,
    query: Rc<sqlparser::ast::Query>,
    /// The names of its columns, if they are given.
    names: Vec<String>,
    columns: Vec<OutputColumn>,
    /// The number of the frame that it belongs to, and its number there.
    frame: usize,
    number: usize,
    /// How many levels it sees.
    outer: usize,
    /// How many operations it is made of.
    operations: usize,
}

/// Binds one statement.
pub(crate) struct Binder<'a> {
    schema: &'a dyn Schema,
    levels: Levels,
    /// What belongs to each frame that was entered, beside its slots.
    frames: Vec<FrameParts>,
    ctes: Vec<Cte>,
    /// What aggregates are allowed to the innermost levels, and which were met.
    groups: Vec<group::Collector>,
    /// The number of the statement's parameters.
    binds: usize,
    /// The kinds of parameters that have met one.
    bind_kinds: Vec<Kind>,
    /// The objects that the plan rests on.
    objects: BTreeSet<ObjectId>,
    /// The blocks of tables whose rows are read.
    sizes: BTreeMap<ObjectNo, f64>,
    /// The names of views that are being bound, outermost first.
    views: Vec<String>,
    /// Whether the rows of the next SELECT's tables are locked.
    locks_next: bool,
    /// The tables of the last SELECT whose rows are locked: their addresses are the last columns.
    locked: Vec<(Name, Arc<TableInfo>)>,
    depth: usize,
    /// The number of joins, set operations, views and queries of WITH so far.
    operations: usize,
    /// The number of parts that are copies of others.
    copies: usize,
}

impl<'a> Binder<'a> {
    /// A binder of a statement with this many parameters.
    pub(crate) fn new(schema: &'a dyn Schema, binds: usize) -> Binder<'a> {
        Binder {
            schema,
            levels: Levels { levels: Vec::new(), frames: vec![vec![Kind::Unknown; binds]] },
            frames: vec![FrameParts::default()],
            ctes: Vec::new(),
            groups: Vec::new(),
            binds,
            bind_kinds: vec![Kind::Unknown; binds],
            objects: BTreeSet::new(),
            sizes: BTreeMap::new(),
            views: Vec::new(),
            locks_next: false,
            locked: Vec::new(),
            depth: 0,
            operations: 0,
            copies: 0,
        }
    }

    /// Runs `work` one level of nesting further in.
    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Bind<T>) -> Bind<T> {
        if self.depth == DEPTH_MAX {
            let message = format!("the statement is nested more than {DEPTH_MAX} deep");
            let state = SqlState::STATEMENT_TOO_COMPLEX;
            return Err(Refused::new(state, At::NOWHERE, message));
        }
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        done
    }

    /// Counts joins, set operations, views and queries of WITH.
    fn count_operations(&mut self, more: usize) -> Bind<()> {
        self.operations += more;
        if self.operations <= OPERATIONS_MAX {
            return Ok(());
        }
        let message = format!(
            "the statement has more than {OPERATIONS_MAX} joins, UNIONs, views and queries of WITH"
        );
        Err(Refused::new(SqlState::STATEMENT_TOO_COMPLEX, At::NOWHERE, message)
            .hint("make a table of a part of it, or insert many rows by VALUES"))
    }

    /// Counts expressions that `what` needs this many times more than they are written. One that
    /// differs from one evaluation to the next is refused: it would be evaluated each time.
    fn count_copies(&mut self, of: &[Typed], more: usize, what: &str) -> Bind<()> {
        if more == 0 {
            return Ok(());
        }
        if of.iter().any(|one| is_volatile(&one.expression)) {
            let instead = "compute the value in a subquery, and compare it there";
            let what = format!("{what} of a value that differs from one evaluation to the next");
            return Err(Refused::unsupported(At::NOWHERE, &what, instead));
        }
        let parts: usize = of.iter().map(|one| one.expression.parts()).sum();
        self.copies = self.copies.saturating_add(parts.saturating_mul(more));
        if self.copies <= COPIES_MAX {
            return Ok(());
        }
        let message = format!("{what} needs its values several times, and they are too large");
        Err(Refused::new(SqlState::STATEMENT_TOO_COMPLEX, At::NOWHERE, message)
            .hint("compute the value in a subquery, and name its column"))
    }

    /// Enters a frame: a subquery with slots of its own, of which the first are the parameters.
    fn enter_frame(&mut self) {
        let kinds = self.levels.frames[0][..self.binds].to_vec();
        self.levels.frames.push(kinds);
        self.frames.push(FrameParts::default());
    }

    /// Leaves the innermost frame.
    fn leave_frame(&mut self) -> FrameParts {
        let slots = self.levels.frames.pop().expect("a frame that was entered");
        let mut frame = self.frames.pop().expect("a frame that was entered");
        (frame.binds, frame.slots) = (self.binds, slots);
        frame
    }

    fn frame(&mut self) -> &mut FrameParts {
        self.frames.last_mut().expect("a statement has a frame")
    }

    /// Notes the kinds that parameters have met: a CAST to it stands around them.
    fn note_kinds(&mut self, expression: &Expression) {
        let (binds, kinds) = (self.binds, &mut self.bind_kinds);
        expression.walk(&mut |part| {
            if let Expression::Cast { to, value } = part
                && let Expression::Slot(slot) = **value
                && slot < binds
                && kinds[slot] == Kind::Unknown
            {
                kinds[slot] = to.kind();
            }
        });
    }
}

/// A column's name where a statement gives none, as in PostgreSQL.
const UNNAMED: &str = "?column?";

/// Refuses a result that is too wide.
fn check_width(width: usize, at: At) -> Bind<()> {
    if width <= COLUMNS_MAX {
        return Ok(());
    }
    let message = format!("a result has {COLUMNS_MAX} columns at most, and not {width}");
    Err(Refused::new(SqlState::TOO_MANY_COLUMNS, at, message))
}

/// A typed column for each column of a result.
fn typed_columns(columns: &[OutputColumn]) -> Vec<Typed> {
    let column = |(place, column): (usize, &OutputColumn)| Typed::column(place, column.kind);
    columns.iter().enumerate().map(column).collect()
}
