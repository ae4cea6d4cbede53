//! Adapters to the programs that we compare ourselves with, and the race that compares.
//!
//! ```text
//!   xbench race NAME ──▶ race      pairs in ABBA order, ratio, interval, verdict, one JSON line
//!                        │
//!        ours: a closure │ rival: a closure
//!        of the caller   ▼
//!                       fio       finds it, runs a job, reads its figures
//!                       postgres  a server in the folder, clients of it
//!                       sqlite    in this process (feature `sqlite`)
//!                        │
//!            child, cpu ─┴─ run a program to its end; count the CPU time it really used
//!            scratch        a folder and a child that are gone after us, however we end
//!            machine        one line on where all this ran
//! ```
//!
//! Rules
//!   * No other crate starts, reads or names a rival, but `statements`, which compares answers: the
//!     engine never depends on this crate.
//!   * A figure of a rival goes with its version and its exact settings.
//!   * A missing rival is a clear message with the package to install, never a skipped race.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate measures other programs from outside the engine: it may use processes, \
              the wall clock, threads and files"
)]

pub mod child;
pub mod cpu;
pub mod error;
pub mod fio;
pub use os::linux::machine;
pub mod postgres;
pub mod race;
pub mod scratch;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use error::{Error, Result};
pub use scratch::{Ending, Scratch};
