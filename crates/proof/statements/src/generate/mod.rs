//! Cases: schemas, data and statements that follow from a seed.
//!
//! ```text
//!   seed ─▶ Case ── tables with rows, indexes, a view ── statements
//!            │
//!            └─ script(dialect) ─▶ Steps: a text, and how its answers are compared
//! ```
//!
//! A case is a tree and not a text: so one case is written in the words of each program
//! ([`Dialect`]), and a case that fails is made smaller by taking parts out ([`crate::shrink`]).
//! Expressions have kinds, so that what is written is accepted everywhere.
//!
//! | module | what it has |
//! |---|---|
//! | `dialect` | the programs, and what each of them can do |
//! | `operations` | operators and functions, in the words of each program |
//! | `term`, `query` | expressions and queries as trees, and how they are written |
//! | `schema` | tables, their rows, values at their limits |
//! | `draw`, `draw_term` | queries and expressions, drawn |
//! | `change` | INSERT, UPDATE, DELETE, and statements of transactions |
//! | `case` | a case, drawn and written |
//!
//! Invariants
//!   * a seed and a [`Rival`] decide a case; no clock, no address, no map without order is asked
//!   * what may be refused depending on the order of evaluation is marked ([`Judged::is_risky`])
//!   * an order that is compared is total: it is by all columns
//!
//! Callers: `differential`, `metamorphic`, `shrink`.

mod case;
mod change;
mod dialect;
mod draw;
mod draw_term;
mod operations;
mod query;
mod schema;
mod term;

pub use case::{Case, Judged, Step, text_of};
pub use change::{Change, Statement};
pub use dialect::{Dialect, Rival};
pub use operations::Operation;
pub use query::{Body, Common, Join, JoinKind, Key, Query, Select, SetOperator, Source, SourceOf};
pub use schema::{Column, Forbidden, Held, Index, Literal, Table};
pub use term::{Arm, Quantity, Term};

use testbed::Dice;

/// True in so many of a hundred cases.
fn chance(dice: &mut Dice, per_cent: u64) -> bool {
    dice.below(100) < per_cent
}

/// One of these, without a copy.
fn pick<'a, T>(dice: &mut Dice, all: &'a [T]) -> &'a T {
    &all[dice.below(all.len() as u64) as usize]
}
