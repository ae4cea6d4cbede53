//! The wait interface: the one list of wait events and statistics, and the accounting of time.
//!
//! Every microsecond of a session has a name. The session is on a CPU, or it stands in the run
//! queue, or it is in a wait, which names a [`WaitEvent`]:
//!
//! ```text
//!   elapsed = CPU outside waits + run queue outside waits + waits (wall) + unaccounted
//! ```
//!
//! This crate keeps the accounts and never asks for the time: the caller tells it. So the whole
//! interface runs on virtual time as well as on a real clock. Crate `os`, which owns every blocking
//! call, tells it when a wait begins and ends.
//!
//! * [`WaitEvent`], [`WaitClass`]: the events that can be waited for (declared once, in
//!   `event.rs`).
//! * [`Statistic`]: the counted events (declared once, in `statistic.rs`).
//! * [`Account`], [`Recorder`]: the account of one session, and its only writer.
//! * [`LongWork`]: work of minutes, and how far a session is with it.
//! * [`Totals`]: the sum of many accounts, and the difference of two readings.
//! * [`TimeAccount`]: the account closed over an interval, with an explicit unaccounted line.
//! * [`Level`]: off, stats or trace, switchable while running.

#![forbid(unsafe_code)]

mod account;
mod away;
mod cell;
mod event;
mod histogram;
mod level;
mod markdown;
mod recorder;
mod sampler;
mod statistic;
mod time;
mod time_account;
mod totals;
mod work;

pub use account::{Account, CurrentStatement, CurrentWait, SessionKind};
pub use away::OffCpuTime;
pub use event::{EventInfo, WaitClass, WaitEvent};
pub use histogram::{HISTOGRAM_BUCKETS, STRATA, bucket_of, bucket_upper_bound_us};
pub use level::Level;
pub use markdown::markdown;
pub use recorder::{OpenWait, Recorder, WaitRecord, WaitSink};
pub use sampler::Sampling;
pub use statistic::{Statistic, StatisticInfo};
pub use time::{Nanos, Timestamp};
pub use time_account::{ThreadTimes, TimeAccount, WaitLine};
pub use totals::{EventTotals, Stratum, Totals};
pub use work::{CurrentWork, LongWork};
