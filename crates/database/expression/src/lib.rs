//! SQL's expressions over rows. (The essay follows.)
//!
//! Evaluation: [`Expression::evaluate`], [`Expression::truth`] in `evaluate`:
//! ```text
//! pub fn evaluate<'a>(&'a self, row: &'a dyn Row, with: &Evaluation<'a>) -> Result<Value<'a>, Fault>
//! pub fn truth<'a>(&'a self, row: &'a dyn Row, with: &Evaluation<'a>) -> Result<Option<bool>, Fault>
//! pub fn fold(&mut self)       // constants computed; what is refused stays as it is, to be refused when it is run
//! ```

#![forbid(unsafe_code)]

mod aggregate;
mod arena;
pub mod build;
mod comparison;
mod evaluation;
mod expression;
mod fault;
mod functions;
mod kind;
mod row;
mod row_bytes;
mod rows;

pub use aggregate::{Accumulator, Aggregate, ResolvedAggregate};
pub use arena::Arena;
pub use build::Typed;
pub use comparison::Comparison;
pub use evaluation::{Asked, Bare, Evaluation, Subqueries};
pub use expression::{Branch, CastTo, Expression, Operator, Question, Subquery};
pub use fault::{Fault, sqlstate};
pub use functions::{Function, Resolved, Volatility, resolve};
pub use kind::Kind;
pub use row::{Joined, NoRow, Nulls, Row};
pub use rows::{RowOf, Rows};
