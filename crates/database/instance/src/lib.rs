//! An instance: a database's files, open, with memory and background processes.
//!
//! ```text
//!   create ──▶ open ──▶ work … ──┬── shutdown ──▶ shut
//!               ▲                └── abort, halt, crash ──┐
//!               └──────────────── recovery ◀──────────────┘
//!
//!   fb_lgwr   writes redo that nobody waits for
//!   fb_dbw0…  write dirty blocks
//!   fb_ckpt   moves the checkpoint
//!   fb_smco   makes data files grow before sessions need it
//! ```
//!
//! Rules IN1 to IN26 are in the README.
//!
//! * [`Instance`]: create, open, begin, commit, roll back, checkpoint, shut down, abort.
//! * [`recover_database`]: recovery without opening; [`Progress`], [`Recovered`]: how it goes.
//! * [`Parameters`], [`Creation`]: what can be chosen, some of it also while the instance runs
//!   ([`Instance::set_parameter`]); [`ParameterInfo`], [`markdown`]: what there is to say of it.
//!   [`CommitMode`]: and for each commit.
//! * [`LogGroupSpec`], [`LogChange`]: redo log groups and members, that come and go while it runs;
//!   [`Instance::log_groups`]: how they are.

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
mod mount;
mod open;
mod parameters;
mod processes;
mod scheduling;
mod shut;
mod tablespaces;

pub use create::{Made, doublewrite_path, redo_to_read};
pub use lock_waits::LockWaits;
pub use log_change::LogChange;
pub use logs::LogGroupSpec;
pub use mount::recover_database;
pub use open::{Instance, Opened};
pub use parameters::{Allowed, Changeable, Creation, ParameterInfo, Parameters, markdown};
pub use recovery::{Progress, Recovered};
pub use redo::{CommitLeader, CommitLogging, CommitMode, CommitWait, LogStatus, LogView};
pub use scheduling::{ProcessAffinity, ProcessPatterns};
pub use space::{DataFileSpec, TablespaceSpec, say_moved};
pub use txn::Transaction;
