//! Tables: heap blocks and their rows.
//!
//! ```text
//!   block: header │ head │ interested transactions │ slots ──▶   free   ◀── rows
//!                                                     each names who has it locked
//! ```
//!
//! Thin as yet: columns have fixed widths, and a row is found by its address. Rules AC1 to AC4 are
//! in the README.
//!
//! * [`Table`]: insert, update one row or every one, fetch, scan.
//! * [`Inserter`]: where one session's inserts go.
//! * [`RowShape`], [`RowMut`]: columns in a row's bytes.
//! * [`LAYER`]: how heap blocks change.
//!
//! Callers: `instance`'s users.

#![forbid(unsafe_code)]

mod apply;
mod heap;
mod ops;
mod read;
mod row;
mod rows;
mod scan;
mod table;
mod update_scan;

pub use apply::LAYER;
pub use row::{RowAddress, RowMut, RowShape, RowView};
pub use rows::{Changed, Heap, HeapInserter};
pub use table::{Inserter, Loaded, Table};
