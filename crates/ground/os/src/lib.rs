//! The one door to the world: time, threads, blocking, randomness and files.
//!
//! ```text
//!      engine crates            every blocking call names a wait event
//!           │
//!   ┌───────▼────────────────────────────────────────────────┐
//!   │ Session  Waiting  WaitWord  Disk  File  Ring  Thread…  │  the neutral side: the account of
//!   ├────────────────────────────────────────────────────────┤  waits, short I/O, failed files
//!   │ Port · DiskPort · FilePort · RingPort                  │  what a world must offer
//!   └───────┬──────────────────────────────┬─────────────────┘
//!        linux (here)                  sim (crate `sim`)
//! ```
//!
//! No other crate of the engine may block, read a clock, start a thread, draw a random number or
//! touch a file. So this crate is the wait interface's only source, the simulator's seam and the
//! crash tester's seam. Rules O1 to O77 are in the README.
//!
//! * [`Os`]: a world. [`linux::start`] opens the real one; `sim` makes simulated ones.
//! * [`Session`]: the calling thread's ticket: it holds the account and begins every wait.
//! * [`Call`], [`CancelHandle`]: a call of a session, and how another thread ends it early.
//! * [`Waiting`]: a wait about to happen. Blocking calls take one, so an unnamed wait doesn't
//!   type-check.
//! * [`WaitWord`]: a futex-like word, from which `latch` builds every lock.
//! * [`Disk`], [`File`]: files by declared options; short I/O, interruptions and failed syncs are
//!   handled here, once, for every world.
//! * [`Ring`]: many I/Os in flight from one thread, by io_uring or by I/O slaves.
//! * [`with_stack`]: work with more stack than the thread has left.
//! * [`probe`]: times the ways to make a write durable, and picks one.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is the crate that the bans send everybody to"
)]

mod buffer;
mod call;
mod clock;
mod copies;
mod cost;
mod disk;
mod error;
mod file;
mod file_operation;
mod file_totals;
mod huge;
pub mod linux;
mod made_once;
mod options;
mod owned_files;
mod port;
mod prefetch;
pub mod probe;
mod registry;
mod ring;
mod session;
mod slaves;
mod stack;
mod syncs;
mod thread;
mod wait_log;
mod word;
mod world;

pub use buffer::{HUGE_PAGE, IO_ALIGNMENT, IoArea, IoBuf, IoPool};
pub use call::{Call, CallEnd, CallNo, CallSleep, CancelHandle, HoldOff};
pub use clock::{Clock, ClockSource, VirtualClock};
pub use copies::COPIES_MAX;
pub use cost::{Cost, CostInfo};
pub use disk::{Disk, TEMPORARY_NAME_END};
pub use error::{Cause, Error};
pub use file::File;
pub use file_operation::FileOperation;
pub use file_totals::{FileTotals, IoTotals};
pub use huge::huge_table;
pub use made_once::MadeOnce;
pub use options::{Alignment, FileOptions, FilesystemIo, OpenMode};
pub use owned_files::OwnedFiles;
pub use port::{
    DiskPort, FilePort, IoKind, NameKind, Port, RawCompletion, RawRequest, RingPort, ThreadBody,
    Woken,
};
pub use prefetch::{CACHE_LINE, prefetch, prefetch_all};
pub use registry::{
    Census, EndedTimes, RunningSession, SessionNo, SessionTimes, TotalsByKind, WaitSinks,
};
pub use ring::{Completion, Request, Ring, RingBackend, RingConfig};
pub use session::{EveryWaitSampled, Session, SessionReading, Waiting, WorkUnderWay};
pub use stack::{STACK_ASKED_MAX, with_stack};
pub use thread::{CpuSet, Panicked, Priority, ThreadHandle, ThreadId, ThreadSpec, is_process};
pub use wait_log::{LoggedWaits, WaitLog};
pub use word::WaitWord;
pub use world::{NoticeSink, Os};
