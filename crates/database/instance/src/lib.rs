//! An instance: a database's files, open, with memory and background processes.
//!
//! ```text
//!   create ──▶ open ──▶ work … ──┬── shutdown ──▶ shut
//!               ▲                └── abort, halt, crash ──┐
//!               └──────────────── recovery ◀──────────────┘
//!
//!   fb_lgwr   writes redo that no session waits for
//!   fb_dbw0…  write dirty blocks
//!   fb_ckpt   moves the checkpoint
//!   fb_smco   makes data files grow before sessions need it
//!   fb_smon   rolls back transactions that a crash left, then ends
//!   fb_pmon   cleans up after sessions that have vanished
//! ```
//!
//! Rules IN1 to IN54 are in the README.
//!
//! * [`Instance`]: create, open, commit, roll back, checkpoint, shut down, abort.
//! * [`recover_database`]: recovery without opening, with [`Progress`] and [`Recovered`].
//! * [`Creation`], [`Parameters`]: the parameters, of which [`Instance::set_parameter`] changes
//!   some
//!   while the instance runs; [`ParameterInfo`]: their declarations. [`CommitMode`]: one commit's.
//! * [`LogGroupSpec`], [`LogChange`], [`Instance::log_groups`]: redo log groups and members, which
//!   are added and dropped while the instance runs; [`look_at_logs`]: those of a shut database;
//!   [`clear_log_group`]: one of those that is lost, made anew.
//! * [`Connected`]: a connected session; [`RecoveryAhead`], [`UndoInterval`]: figures for views.

#![forbid(unsafe_code)]

mod alter;
mod checkpointer;
mod cleaners;
mod create;
mod gate;
mod incremental;
mod lock_waits;
mod log_change;
mod logs;
mod lost_logs;
mod mount;
mod open;
mod parameters;
mod planted;
mod processes;
mod redo_write;
mod scheduling;
mod sessions;
mod shown;
mod shut;
mod tablespaces;
mod undo_history;

pub use create::{CreatedFiles, doublewrite_path, redo_to_read};
pub use lock_waits::LockWaits;
pub use log_change::{LogChange, check_log_changes};
pub use logs::{LogGroupSpec, look_at_logs};
pub use lost_logs::{LostGroup, clear_log_group};
pub use mount::recover_database;
pub use open::{Instance, Opened};
pub use parameters::{
    Allowed, Changeable, Creation, ParameterInfo, Parameters, markdown, parse_size,
};
pub use recovery::{Progress, Recovered};
pub use redo::{CommitLeader, CommitLogging, CommitMode, CommitWait, LogStatus, LogView, LogsSeen};
pub use scheduling::{ProcessAffinity, ProcessPatterns};
pub use sessions::Connected;
pub use shown::RecoveryAhead;
pub use space::{DataFileSpec, TablespaceSpec, say_moved};
pub use txn::Transaction;
pub use undo_history::UndoInterval;
