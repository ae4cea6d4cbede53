//! Every byte on disk: layouts, checksums, versions. No I/O and no `unsafe`.
//!
//! A block is written by one program and read by another, perhaps years later, perhaps after the
//! disk has torn it, corrupted it, or returned a different one. So each block states its kind, its
//! version and its address, and has a checksum over all its bytes. [`seal`] completes the block
//! just before the write and [`check`] tests it just after the read. No byte from the disk is used
//! unchecked.
//!
//! ```text
//!   BlockHeader::new ─▶ changes, each with a stamp ─▶ seal ─▶ disk ─▶ check ─▶ use
//!                                                                       │
//!                                                                       └─▶ BlockFault
//! ```
//!
//! Layouts are declared with one macro (`layout.rs`), from which come the struct, the
//! compile-time checks of its shape, and the tables of [`markdown`]. The access rules, F1 to F26,
//! are in this crate's README.md.
//!
//! Callers: all code that reads or writes blocks; `cargo xtask` for the document.

#![forbid(unsafe_code)]

mod advice;
mod block;
mod block_fault;
mod block_header;
mod block_kind;
pub mod changes;
mod checksum;
mod data;
mod document;
mod few_bytes;
mod file;
mod layout;
mod number;
mod redo;
mod sort;
mod undo;
mod version;

pub use advice::RESTORE_ALL;
pub use block::{check, seal};
pub use block_fault::BlockFault;
pub use block_header::BlockHeader;
pub use block_kind::BlockKind;
pub use changes::PayloadFault;
pub use data::{DataHead, DataSlot, FreeMap, ItlEntry, PieceAddress};
pub use document::markdown;
pub use few_bytes::FewBytes;
pub use file::{
    CONTROL_BLOCK, Control, DataFileEntry, Directory, DirectoryEntry, Extent, ExtentMap,
    FileHeader, FreeBlock, LogGroupEntry, LogMemberEntry, SegmentHeader, TablespaceEntry,
};
pub use number::{DbaLe, ScnLe, TxnIdLe, UndoAddressLe};
pub use redo::{ChangeVector, LogHeader, REDO_BLOCK, REDO_PAYLOAD_BYTES, RedoBlock, RedoRecord};
pub use sort::{SORT_BLOCK, SORT_PAYLOAD_BYTES, SortBlock, SortRecord};
pub use undo::{RecordOffset, TransactionSlot, TransactionTable, UndoBlock, UndoRecord};
pub use version::{FORMAT, OLDEST, PROMISE};
pub use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le, U64 as U64Le};
