//! Tables: heap blocks and their rows; and indexes, in `btree`.
//!
//! ```text
//!   block: header │ head │ interested transactions │ slots ──▶   free   ◀── rows
//!                                                     each names who has it locked
//! ```
//!
//! A row is bytes, found by its address; what they mean is `relation`'s. Rules AC1 to AC16 are in
//! the README.
//!
//! * [`Heap`]: insert, update, delete and lock rows, several of a block together; fetch, visit all.
//! * [`HeapInserter`]: where one session's inserts go.
//! * [`LAYER`]: how heap blocks change.
//! * [`check_heap_block`], [`check_index_block`], [`check_tree`]: whether they are in order; for
//!   who doesn't believe them.
//! * [`Index`]: insert, delete, find; [`Cursor`]: ranges, both ways; [`Now`]: a range as it is now,
//!   for constraints; [`IndexBuilder`]: from the bottom up; [`INDEX_LAYER`]: how their blocks
//!   change. Rules BT1 to BT14.
//!
//! Callers: `instance`'s users.

#![forbid(unsafe_code)]

mod apply;
mod block_change;
mod btree;
mod free_map;
mod inserter;
mod inspect;
mod ops;
mod outline;
mod read;
mod row;
mod rows;

pub use apply::LAYER;
pub use btree::{
    Checked, Current, Cursor, Direction, HandedOut, Index, IndexBuilder, Inserted,
    LAYER as INDEX_LAYER, Now, TreeFault, TreeFaultKind, TreeSeen, check_index_block, check_tree,
};
pub use free_map::{is_map as is_free_map, map_of as map_number};
pub use inserter::HeapInserter;
pub use inspect::{
    HeapSlot, check_free_map, check_heap_block, check_map_entry, heap_slot, heap_slots, is_of,
    was_formatted,
};
pub use row::RowAddress;
pub use rows::{Changed, FreeSpace, Heap};
