//! Tables: heap blocks and their rows; and indexes, in `btree`.
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
//! * [`Index`]: insert, delete, find; [`Cursor`]: ranges, both ways; [`IndexBuilder`]: from the
//!   bottom up; [`INDEX_LAYER`]: how their blocks change. Rules BT1 to BT7.
//!
//! Callers: `instance`'s users.

#![forbid(unsafe_code)]

mod apply;
mod btree;
mod heap;
mod ops;
mod read;
mod row;
mod rows;
mod scan;
mod table;
mod update_scan;

pub use apply::LAYER;
pub use btree::{
    Checked, Current, Cursor, Direction, Index, IndexBuilder, Inserted, LAYER as INDEX_LAYER,
};
pub use row::{RowAddress, RowMut, RowShape, RowView};
pub use rows::{Changed, Heap, HeapInserter};
pub use table::{Inserter, Loaded, Table};
