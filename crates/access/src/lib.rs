//! Tables: heap blocks and their rows; and indexes, in `btree`.
//!
//! ```text
//!   block: header │ head │ interested transactions │ slots ──▶   free   ◀── rows
//!                                                     each names who has it locked
//! ```
//!
//! Thin as yet: columns have fixed widths, and a row is found by its address. Rules AC1 to AC12
//! are in the README.
//!
//! * [`Table`]: insert, update one row or every one, fetch, scan.
//! * [`Inserter`]: where one session's inserts go.
//! * [`RowShape`], [`RowMut`]: columns in a row's bytes.
//! * [`LAYER`]: how heap blocks change.
//! * [`check_heap_block`], [`check_index_block`], [`check_tree`]: whether they are in order; for
//!   who doesn't believe them.
//! * [`Index`]: insert, delete, find; [`Cursor`]: ranges, both ways; [`IndexBuilder`]: from the
//!   bottom up; [`INDEX_LAYER`]: how their blocks change. Rules BT1 to BT7.
//!
//! Callers: `instance`'s users.

#![forbid(unsafe_code)]

mod apply;
mod btree;
mod free_map;
mod heap;
mod inserter;
mod inspect;
mod ops;
mod read;
mod row;
mod rows;
mod scan;
mod table;
mod update_scan;

pub use apply::LAYER;
pub use btree::{
    Checked, Current, Cursor, Direction, HandedOut, Index, IndexBuilder, Inserted,
    LAYER as INDEX_LAYER, TreeFault, TreeFaultKind, TreeSeen, check_index_block, check_tree,
};
pub use inserter::Inserter;
pub use inspect::{HeapSlot, check_free_map, check_heap_block, heap_slot, heap_slots, is_of};
pub use row::{RowAddress, RowMut, RowShape, RowView};
pub use rows::{Changed, FreeSpace, Heap, HeapInserter};
pub use table::{Loaded, Table};
