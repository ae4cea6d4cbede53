//! Undo segments: transaction tables, and rings of blocks with undo records.
//!
//! ```text
//!   transaction table ──current──▶ undo block ──next──▶ undo block ──▶ …, in a ring
//!                                  records of one transaction after the other
//! ```
//!
//! A segment serves one transaction at a time, and only that one writes there. So its undo is a log
//! of transactions in the order in which they ended. Rules UN are in the README.
//!
//! * [`Undo`]: making segments, finding them, ending transactions.
//! * [`Tail`], [`UndoLog`]: where a segment's undo ends; the undo of its active transaction.
//! * [`LAYER`]: how these blocks change.
//! * [`check_table`], [`check_undo_block`]: checks of a single block.
//!
//! Callers: the rest of this crate; `access`, which pushes undo; `verify`. Sources: Oracle's undo
//! segments (header with transaction table, undo block chain).

mod applied;
mod apply;
mod check;
mod log;
mod ring;
mod segment;

pub use apply::{APPLIED, LAYER};
pub use check::{
    RecordLink, TableContents, UndoBlockContents, check_table, check_undo_block, record_link,
};
pub(crate) use log::{RecordView, Tail, UndoChange};
pub use log::{UndoLog, UndoPins, UndoPointer};
pub(crate) use ring::EndInUndo;
pub use ring::TransactionEnd;
pub use segment::Undo;
pub(crate) use segment::{Ended, SegmentState, TableStatus};
