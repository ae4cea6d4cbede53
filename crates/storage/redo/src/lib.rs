//! Redo: the log buffer, the log writer, group commit, the online log groups, reading back.
//!
//! ```text
//!   reserve ─▶ Credits ─▶ (block latches) ─▶ append ─▶ RecordPosition
//!                                              │
//!                     ┌────────────────────────▼─────┐
//!                     │ log buffer: active │ spares  │   one batch fills, others are written
//!                     └────────────────────────┬─────┘
//!   make_durable ─▶ a session, or run_lgwr ────▼─────┐
//!                     │ log 1 │ log 2 │ log 3 │ log 4 … in groups of files, in turn
//!                     └──────────────────────────────┘
//!   checkpoint_advanced ─▶ logs become free               Reader ─▶ Record ─▶ Vector … LogEnd
//! ```
//!
//! Each record has an SCN of its own, one above that of the record before. So the order of SCNs is
//! the order of redo, "durable through SCN x" says all about durability, and a reader sees a gap by
//! its number. The rules, RD1 to RD60, and the proofs are in README.md.
//!
//! * [`create`], [`examine`], [`Redo::open`], [`RedoConfig`], [`LogStart`]: making, checking and
//!   opening logs.
//! * [`LogGroup`], [`LogMember`], [`LogView`]: groups and their members, which come and go while
//!   redo is open ([`Redo::add_group`]).
//! * [`Redo`]: reserve, append, make durable, switch, advance the checkpoint, stop.
//! * [`Credits`], [`RecordPosition`]: room for a record, and where the record begins.
//! * [`CommitLeader`]: which side writes redo for commits. [`CommitMode`]: whether a commit waits,
//!   and when its redo is written.
//! * [`Reader`], [`Record`], [`Records`], [`Vector`]: reading redo back.
//! * [`rewrite_tail`]: making the end of redo durable before recovery writes a block.
//! * [`LogEnd`], [`EndReason`]: where redo ends, and why.

#![forbid(unsafe_code)]

mod alter;
mod batch;
mod commit;
mod config;
mod credits;
mod end;
mod examine;
mod flights;
mod gather;
mod groups;
mod landing;
mod lgwr;
mod log_file;
mod log_files;
mod look;
mod medium;
mod members;
mod queue;
mod read_ahead;
mod reader;
mod record;
mod records;
mod redo;
mod rewrite;
mod state;
mod tail;
mod writer;

pub use alter::GroupFiles;
pub use config::{
    CommitLeader, CommitLogging, CommitMode, CommitWait, GROUPS_MAX, LOG_BLOCKS_MIN,
    LOG_BUFFER_BYTES_MIN, LogGroup, LogMember, LogStart, MEMBERS_MAX, RECORD_BYTES_MAX, RedoConfig,
    check_drop, check_log_bytes, log_buffer_least,
};
pub use credits::Credits;
pub use end::{EndReason, LogEnd};
pub use examine::{examine, look_at_member};
pub use flights::WRITES_IN_FLIGHT_MAX;
pub use groups::{LogStatus, LogView};
pub use log_file::{LogOwner, create, create_member, log_path};
pub use look::{LogsSeen, has_block, look_at_groups};
pub use members::{KeepMembers, MemberChange};
pub use reader::Reader;
pub use record::{Record, RecordFault, RecordPosition, Vector};
pub use records::{Change, Records};
pub use redo::{CheckpointWanted, Hooks, Redo};
pub use rewrite::{TailRewrite, rewrite_tail};
