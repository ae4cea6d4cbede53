//! Indexes: B-trees whose blocks are linked to the right.
//!
//! ```text
//!                 root                              keys: bytes that are compared as bytes
//!               /       \                           entry: key, address of a row
//!        branch ───▶ branch ───▶                      one block latched at a time (BT1)
//!       /   |          |   \                          readers see a snapshot, as in tables
//!   leaf ─▶ leaf ─▶ leaf ─▶ leaf
//! ```
//!
//! Rules BT1 to BT44 are in the README.
//!
//! Callers: users of tables that have indexes.
//! Sources: Lehman & Yao, "Efficient Locking for Concurrent Operations on B-Trees" (TODS '81);
//! Oracle's index leaves, with an ITL.

mod apply;
mod build;
mod check;
mod content;
mod cursor;
mod descent;
mod find;
mod hand;
mod index;
mod insert_many;
mod last_leaf;
mod many;
mod node;
mod now;
mod ops;
mod page_delete;
mod position;
mod shortcuts;
mod split;

pub use apply::LAYER;
pub use build::IndexBuilder;
pub use check::{
    Checked, HandedOut, TreeFault, TreeFaultKind, TreeSeen, check_index_block, check_tree,
};
pub use cursor::{Cursor, Direction, Entry, IndexRange};
pub use index::{Index, Inserted};
pub use insert_many::NewEntry;
pub use now::{Current, Now};
