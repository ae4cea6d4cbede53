//! Tables and indexes: heap blocks with rows, and B-trees.
//!
//! ```text
//!   block: header │ head │ ITL │ slots ──▶   free   ◀── rows, or entries
//!                                 └─ each names the ITL entry that has it locked
//! ```
//!
//! A row is bytes, found by its address; `relation` says what the bytes mean. Rules AC1 to AC51 and
//! BT1 to BT44 are in the README.
//!
//! * [`Heap`]: insert, update, delete and lock rows, one by one or several of a block together;
//!   fetch a row, scan all. [`HeapScan`]: a scan between calls; [`RowVisit`]: what takes its rows,
//!   as [`EachRow`] does. [`HeapInserter`]: the block that a session's inserts fill.
//!   [`HeapLoader`]: the blocks that a load fills.
//! * [`Index`]: insert, delete and find entries. [`Cursor`]: ranges, both ways. [`IndexRange`]: one
//!   between calls. [`Now`]: a range as it is at this moment, for constraints. [`IndexBuilder`]: an
//!   index from the bottom up.
//! * [`LAYER`], [`INDEX_LAYER`]: how blocks of tables and of indexes change.
//! * [`check_heap_block`], [`check_index_block`], [`check_tree`]: checks of blocks that may be
//!   damaged, for `verify`.
//!
//! Modules: `block_change` changes one block, for both kinds. `rows` has the heap; `inserter` and
//! `free_map` its free space; `ops` the steps of its changes, `apply` their redo. `btree` has the
//! index. `outline` guesses where the bytes of a block lie, `inspect` checks it, `lost` refuses
//! readers whose blocks are gone.
//!
//! Callers: `relation` and `catalog`; `verify`; `instance`, for the layers.

#![forbid(unsafe_code)]

mod apply;
mod block_change;
mod btree;
mod free_map;
mod inserter;
mod inspect;
mod lost;
mod ops;
mod outline;
mod row;
mod rows;

pub use apply::LAYER;
pub use btree::{
    Checked, Current, Cursor, Direction, Entry, HandedOut, Index, IndexBuilder, IndexRange,
    Inserted, LAYER as INDEX_LAYER, NewEntry, Now, TreeFault, TreeFaultKind, TreeSeen,
    check_index_block, check_tree,
};
pub use free_map::{is_map as is_free_map, map_of as map_number};
pub use inserter::HeapInserter;
pub use inspect::{
    HeapSlot, check_free_map, check_heap_block, check_map_entry, heap_slot, heap_slots, is_of,
    was_formatted,
};
pub use row::RowAddress;
pub use rows::{
    BlockRow, BlockRows, Changed, EachRow, Heap, HeapLoader, HeapScan, RowVisit, Sampled,
};
