//! SQL's expressions over rows: kinds, functions, three-valued logic, aggregates.
//!
//! ```text
//!   SQL's binder                                    row sources, for each row
//!      │ build: compare, arithmetic, call, ...         │
//!      ▼                                               ▼
//!   Typed ── fold ──▶ Expression ──────────────▶ evaluate, truth ──▶ Value, or a Fault
//!   (with its kind)                              ▲        ▲    ▲
//!                                              a Row   slots   an Arena for texts that are made
//! ```
//!
//! An expression is made once, with a kind for each part, and evaluated many times. What SQL leaves
//! out is put in when it is made: a literal takes the kind of what it meets, a whole number in a
//! CASE beside a NUMBER becomes one. So the evaluation looks at values only. It takes no memory but
//! for texts that are made, and those go into an arena that is given back batch by batch.
//!
//! | module | what it has |
//! |---|---|
//! | `rows`, `row`, `row_bytes` | [`Rows`]: a run of rows; [`Row`]: one; their bytes for spills |
//! | `kind` | [`Kind`]: what is known of a value before a row is read |
//! | `expression`, `equality` | [`Expression`]: the tree, and the questions that it answers |
//! | `build` | makes trees of typed parts, with the conversions that SQL leaves out |
//! | `fold` | computes what is constant |
//! | `evaluate`, `evaluation` | the value for a row; what it needs besides the row |
//! | `arithmetic`, `number_math` | operators of numbers, moments and spans; powers of NUMBERs |
//! | `comparison`, `like` | operators of comparison; LIKE |
//! | `cast` | conversions of values, and their texts |
//! | `functions` | the table of functions, and how a call finds its entry |
//! | `aggregate`, `accumulator` | aggregates, and the state of one of one group |
//! | `arena`, `fault` | memory of texts; refusals |
//!
//! Rules EV are in the README. Callers: `rowsource`, `sql`.
//! Sources: PostgreSQL's documentation for what each operator and function gives and refuses; where
//! Oracle's NUMBER keeps more digits, Oracle's.

#![forbid(unsafe_code)]

mod accumulator;
mod aggregate;
mod arena;
mod arithmetic;
pub mod build;
mod cast;
mod comparison;
mod equality;
mod evaluate;
mod evaluation;
mod expression;
mod fault;
mod fold;
mod functions;
mod kind;
mod like;
mod number_math;
mod row;
mod row_bytes;
mod rows;

pub use accumulator::Accumulator;
pub use aggregate::{Aggregate, OfPairs, ResolvedAggregate};
pub use arena::Arena;
pub use build::Typed;
pub use cast::{read_text, write_text};
pub use comparison::Comparison;
pub use evaluation::{Asked, Bare, Evaluation, Subqueries};
pub use expression::{Branch, CastTo, Expression, Operator, Question, Subquery};
pub use fault::Fault;
pub use functions::{Function, Resolved, Volatility, functions, resolve};
pub use kind::Kind;
pub use like::{DEFAULT_ESCAPE, LikePrefix, escape_of, like_prefix};
pub use row::{Joined, NoRow, Nulls, Row};
pub use rows::{RowOf, Rows};
