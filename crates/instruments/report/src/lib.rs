//! Reports: what sessions did and where their time went, as text for people.
//!
//! ```text
//!   wait interface ──▶ Snapshot, SessionInterval ──▶ TimeProfile ──┐
//!     (waits, os)                    │                             ├──▶ Table, paragraph: text
//!                                    └──▶ SessionGroup, ProcessUsage ┘       in 80 columns
//! ```
//!
//! * [`Snapshot`], [`SessionInterval`]: the books of running sessions, read and closed.
//! * [`TimeProfile`]: elapsed = CPU + run queue + waits + unaccounted, of one session or of many.
//! * [`SessionGroup`], [`ProcessUsage`]: sessions of a kind together; a process as `ps` shows it.
//! * [`Table`], [`paragraph`], [`labelled`]: text in 80 columns.
//! * [`number`]: figures in text, and rounding that keeps sums.
//!
//! Rules RP1 to RP32 are in the README. The room knows no database; loads, experiments and the
//! programs use it.

#![forbid(unsafe_code)]

pub mod number;
mod sessions;
mod snapshot;
mod table;
mod text;
mod time_profile;

pub use sessions::{ProcessUsage, SessionGroup, UnaccountedShare};
pub use snapshot::{SessionInterval, Snapshot};
pub use table::Table;
pub use text::{COLUMNS, labelled, paragraph};
pub use time_profile::{CPU, EventTime, RUN_QUEUE, TimeLine, TimeProfile, UNACCOUNTED};
