//! What blocks of tables and leaves of indexes have in common: an ITL, a directory of slots, and
//! bytes that fill the block from its end.
//!
//! ```text
//!   header │ head │ ITL │ slots ──▶  free  ◀── bytes of the slots
//! ```
//!
//! Plain functions of a block's bytes, without memory of their own. Forward, in recovery and on a
//! copy for a consistent read they do the same. The caller has the block's latch, or a copy.
//!
//! Invariants (held by [`check`])
//!   * the bytes of slots don't overlap each other or the directory
//!   * the head's `free` counts all unused bytes: those between directory and bytes, and gaps among
//!     the bytes
//!   * bytes that are kept for the rollbacks of active transactions are free
//!   * a slot's lock byte names an entry of the list, and an entry whose end was noted has no locks
//!
//! Callers: `itl` and `consistent`, for the ITL; `access` for the rest, within its `apply`.

mod check;
mod list;
mod slots;

pub use check::check;
pub(crate) use list::grow_list;
pub use list::{entries, entry, entry_mut, kept, unlock};
pub use slots::{
    add_slot, append, bytes_of, create, directory, gap, insert_slot, place, release, remove_slot,
    room_of, set_slot, slot, slots, splice, used,
};
