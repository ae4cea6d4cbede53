//! fio, the I/O tester that everyone knows: the rival of our I/O backend.
//!
//!   * [`job`]: what to run, and its exact command line
//!   * [`figures`]: what fio says it did, and what the kernel says it cost
//!   * [`Fio`]: the program itself, found on the search path
//!
//! Sources: fio 3.33's HOWTO.

pub mod figures;
pub mod job;
mod program;

pub use figures::FioResult;
pub use job::{Batch, Durability, Engine, FioJob, Pattern};
pub use program::Fio;
