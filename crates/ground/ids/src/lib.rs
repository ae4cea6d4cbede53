//! The numbers that name things: one newtype each, so that none is taken for another.
//!
//! A database is full of integers that look alike: a block number, a log sequence and an SCN are
//! all "17" in a debugger. Here each is a type. It has the order that its meaning gives it, the
//! notation that its users already know, and only the arithmetic that means something: two SCNs
//! have an order, not a sum.
//!
//! | type          | names                          | written                  |
//! |---------------|--------------------------------|--------------------------|
//! | [`Scn`]       | a moment in the database       | `1841`                   |
//! | [`Rba`]       | a place in the redo            | `0x000032.00000003.0010` |
//! | [`FileNo`]    | a file                         | `3`                      |
//! | [`BlockNo`]   | a block of a file              | `17`                     |
//! | [`Dba`]       | a block of the database        | `3/17`                   |
//! | [`ObjectNo`]  | a segment                      | `70000`                  |
//! | [`TxnId`]     | a transaction                  | `4.22.1841`              |
//! | [`UndoAddress`] | a record of undo            | `3/17.4`                 |
//! | [`BlockSize`] | how long the blocks are        | `8 KiB`                  |
//!
//! The crate `format` defines how these numbers lie on disk. Nothing here knows a byte order.
//!
//! Callers: every crate above. This one depends on none.

#![forbid(unsafe_code)]

mod block_no;
mod block_size;
mod dba;
mod file_no;
mod object_no;
mod rba;
mod scn;
mod txn_id;
mod undo_address;

pub use block_no::BlockNo;
pub use block_size::BlockSize;
pub use dba::Dba;
pub use file_no::FileNo;
pub use object_no::ObjectNo;
pub use rba::Rba;
pub use scn::Scn;
pub use txn_id::TxnId;
pub use undo_address::UndoAddress;
