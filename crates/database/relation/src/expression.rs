//! CHECKs that are expressions of SQL: what evaluates them is made when a table is opened (RL80).
//!
//! ```text
//!   CheckExpression (a text) ── CheckCompiler ──▶ Predicate, kept in the open relation
//!                                  └─ no program that knows SQL, or an expression that has become
//!                                     wrong: the table is read, and not changed
//! ```
//!
//! Invariant: a predicate runs with no latch held.
//!
//! Callers: `relation`, which has them made; `insert` and `update`, which ask them; SQL, which
//! makes them.

use stop::{RefusalKind, Stop};
use value::Value;

use crate::{CheckExpression, TableDefinition, Truth};

/// A CHECK expression that can be evaluated.
pub trait Predicate: Send + Sync {
    /// The truth value for a row with these values, one for each column of the table.
    fn truth(&self, row: &[Value<'_>]) -> Result<Truth, Stop>;
}

/// Makes predicates of the texts of CHECK expressions.
pub trait CheckCompiler: Send + Sync {
    /// The predicate of a CHECK of this table. Refused if the text makes no sense for it.
    fn compile(
        &self,
        check: &CheckExpression,
        table: &TableDefinition,
    ) -> Result<Box<dyn Predicate>, Stop>;

    /// The text of a CHECK of `before`, as `after` has to have it: the table, or one of its
    /// columns, has another name there. Refused if the text can't be made to say the same, and by
    /// a program that reads no expressions.
    fn renamed(
        &self,
        check: &CheckExpression,
        before: &TableDefinition,
        after: &TableDefinition,
    ) -> Result<String, Stop> {
        let _ = after;
        let CheckExpression { name, text, .. } = check;
        let message = format!(
            "cannot rename what check {name} of table {} may say, CHECK ({text}): this program \
             reads no expressions; rename it by SQL, or drop the check",
            before.name
        );
        Err(Stop::refuse(RefusalKind::WrongState, message))
    }
}

/// The compiler of a program without SQL: it refuses every expression.
#[derive(Clone, Copy, Debug)]
pub struct NoExpressions;

impl CheckCompiler for NoExpressions {
    fn compile(
        &self,
        check: &CheckExpression,
        table: &TableDefinition,
    ) -> Result<Box<dyn Predicate>, Stop> {
        let CheckExpression { name, text, .. } = check;
        let message = format!(
            "cannot change rows of table {}: its check {name} is an expression, CHECK ({text}), \
             and this program evaluates none; change them by SQL, or drop the check",
            table.name
        );
        Err(Stop::refuse(RefusalKind::WrongState, message))
    }
}

/// A predicate, or why there is none.
pub(crate) type Compiled = Result<Box<dyn Predicate>, Stop>;
