//! The simulated file system: the view of a program, the states after a power cut, and the faults.
//!
//! A pure, single-threaded data structure: no threads, no time, no I/O. The scheduler wraps it and
//! decides *when* an operation happens; this room decides *what* it does.
//!
//! ```text
//!                    volatile view                     durable view
//!   names     Tree (what lookups see)   ── pending ──▶  Tree (what surely survives)
//!   a file    Image (what reads see)    ── pending ──▶  Image
//!                                          │
//!                                          ▼ crash::CrashStates
//!                        each pending change kept, dropped or torn: FileSystem, FileSystem, ...
//! ```
//!
//! Rules of durability
//!   * Volatile = durable + all pending changes in order, except where a fault says otherwise.
//!   * An un-flushed write survives in any subset of its 512-byte sectors, whatever becomes of
//!     the writes before and after it. A sector is never torn.
//!   * The sizes of a file are successive versions of one field: a crash leaves one of them. Bytes
//!     of a kept write beyond the surviving size are lost.
//!   * `sync` makes content and size of one file durable, and not its directory entry.
//!   * A durable write (`O_DSYNC`, FUA) makes itself and the size that it needs durable, and no
//!     earlier write of the file.
//!   * Creation, rename and removal are changes of a directory, each kept or dropped by itself and
//!     durable with `sync_dir`. A rename is atomic and belongs to the *target* directory; syncing
//!     only the source directory promises nothing about it.
//!   * Making a directory durable flushes, in any directory, the earlier changes of the same names:
//!     the durable view never has the later of two changes to one name without the earlier.
//!   * Directories are made by `create_dir`, and are entries of their parent like files: a
//!     directory whose parent was not synced may vanish with everything in it.
//!
//! These are weaker than what a journalling file system does in practice (it keeps names in order)
//! and as weak as POSIX lets it be. A program that survives them survives ext4 and XFS.
//!
//! A file has exactly one name (no hard links). It is charged its length against the capacity,
//! holes included; names and directories are free.
//!
//! Sources: Pillai et al., "All File Systems Are Not Created Equal" (ALICE, OSDI '14), for
//! independent survival of names, sizes and data; Rebello et al., "Can Applications Recover from
//! fsync Failures?" (ATC '20), for failed syncs; Prabhakaran et al., "IRON File Systems"
//! (SOSP '05), for rot, lost and misdirected writes.

pub mod crash;
pub mod errno;
pub mod faults;

mod data;
mod file;
mod image;
mod mix;
mod names;
mod survival;
mod system;

#[cfg(test)]
mod tests;

pub use image::ImageHash;
pub use system::{FileId, FileSystem, Operation};
