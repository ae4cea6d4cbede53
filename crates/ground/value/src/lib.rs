//! Types of columns, their values, a row's bytes, and keys whose bytes compare as the values do.
//!
//! ```text
//!   SQL ── Value ──▶ Type::fit ──▶ RowLayout::encode ──▶ a row's bytes in a block
//!                        │                                   │
//!                        │                      RowView::get │ borrows from the block
//!                        ▼                                   ▼
//!                    encode_key ◀──────────────────────── Value
//! ```
//!
//! | module   | what it has |
//! |----------|-------------|
//! | `types`  | [`Type`]: what a column may hold; its four bytes for the catalog |
//! | `value`  | [`Value`], which borrows, and [`OwnedValue`]; how values compare |
//! | `number` | [`Number`]: exact decimals of 38 digits |
//! | `moment` | [`Date`] and [`Timestamp`] |
//! | `interval` | [`Interval`]: spans of time, which no column holds |
//! | `calendar` | days and moments plus and minus spans |
//! | `part`   | [`Part`]: what EXTRACT reads and DATE_TRUNC keeps |
//! | `pattern` | moments as texts by patterns such as `YYYY-MM-DD`, and back |
//! | `fit`    | [`Type::fit`]: a value goes into a column, or is refused with a sentence |
//! | `row`    | [`RowLayout`], [`RowView`], [`RowMut`]: columns in a row's bytes |
//! | `key`    | [`encode_key`], [`KeyRange`]: bytes that compare as the values do; [`KeyDecoder`] |
//!
//! The crate stands low in the house. It knows no blocks, no transactions and no refusals of crate
//! `stop`: the caller turns a [`Misfit`] into a refusal, and a [`Damaged`] into an error of its
//! own.
//!
//! The rules are in the README. Callers: tables, indexes, the dictionary, SQL.

#![forbid(unsafe_code)]

mod calendar;
mod fault;
mod fit;
mod interval;
mod key;
mod moment;
mod number;
mod part;
mod pattern;
mod row;
mod types;
mod value;

pub use fault::{Damaged, DamagedKey, Misfit, MisfitKind, MisfitValue};
pub use fit::shown;
pub use interval::Interval;
pub use key::{
    Direction, KeyDecoder, KeyRange, KeyValues, NullOrdering, encode_key, key_push, key_successor,
};
pub use moment::{Date, Timestamp};
pub use number::{Number, NumberFault};
pub use part::Part;
pub use pattern::{PatternFault, format_moment, parse_moment};
pub use row::{Misread, MisreadKind, Misreads, RowLayout, RowMut, RowView};
pub use types::{Chars, Digits, Type};
pub use value::{OwnedValue, Value};

/// The most columns that a table can have.
pub const COLUMNS_MAX: usize = 1000;
/// The largest `n` in `VARCHAR(n)` and `CHAR(n)`, in characters.
pub const CHARS_MAX: u16 = 4000;
/// The most bytes in a TEXT or a BYTEA: 1 GiB.
pub const BYTES_MAX: usize = 1 << 30;
