//! Tests of rows that are written out: `(a, b) IS NULL`, `(a, b) IS DISTINCT FROM (c, d)`.
//!
//! Callers: `expression`, which has comparisons of rows itself.

use expression::{Typed, build};
use sqlparser::ast::Expr;
use stop::SqlState;

use super::Binder;
use super::expression::row_of;
use crate::refuse::{At, Bind, Refused};

impl Binder<'_> {
    /// IS [NOT] NULL. A row is NULL if all of its columns are, and NOT NULL if none of them is.
    pub(super) fn is_null(&mut self, value: &Expr, negated: bool) -> Bind<Typed> {
        let Some(row) = row_of(value) else {
            return Ok(build::is_null(self.expression(value)?, negated));
        };
        let mut all = Vec::with_capacity(row.len());
        for column in row {
            all.push(build::is_null(self.expression(column)?, negated));
        }
        Ok(build::and(all)?)
    }

    /// IS [NOT] DISTINCT FROM, of two rows column by column.
    pub(super) fn rows_distinct(
        &mut self,
        left: &[Expr],
        right: &[Expr],
        negated: bool,
    ) -> Bind<Typed> {
        if left.len() != right.len() {
            let (one, other) = (left.len(), right.len());
            let message = format!("a row of {one} columns can't be compared with one of {other}");
            return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message));
        }
        let mut each = Vec::with_capacity(left.len());
        for (left, right) in left.iter().zip(right) {
            let (left, right) = (self.expression(left)?, self.expression(right)?);
            each.push(build::is_distinct(left, right, negated)?);
        }
        let all = if negated { build::and(each)? } else { build::or(each)? };
        Ok(self.compared(all))
    }
}
