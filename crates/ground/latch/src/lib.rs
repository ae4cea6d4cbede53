//! Latches with ranks, and the other primitives by which sessions coordinate.
//!
//! ```text
//!      cache, redo, txn …        say what they wait for and in which order
//!           │
//!   ┌───────▼───────────────────────────────────────────────┐
//!   │ Latch  FrameLatch  Condition  Signal  Shared64 …      │  data, ranks, events, costs
//!   ├───────────────────────────────────────────────────────┤
//!   │ raw latch, striped latch, raw condition, raw signal   │  run on modelled parts in tests
//!   └───────┬───────────────────────────────────────────────┘
//!        os::WaitWord                                           the one thing that blocks
//! ```
//!
//! The simulator hooks in here: a get is a point at which it may switch threads, a wait has an
//! event, and an id is the same from run to run. Every claim about the machines (they exclude, they
//! lose no wake-up) is checked by a model checker, loom, over the same code that ships.
//! Rules L1 to L28 are in the README.
//!
//! * [`Latch`]: owns the data that it guards; many readers or one writer; waits have names.
//! * [`FrameLatch`]: a latch for a frame, whose block and rank change, and which has many readers.
//! * [`ReaderCounts`]: the readers of each frame, counted in stripes so that they don't contend.
//! * [`LatchKind`], [`FrameOrder`], [`LatchRank`]: the order of latches, declared once.
//! * [`Condition`]: a wait for a change of the data under a latch.
//! * [`Signal`]: posts a background process; posts aren't forgotten.
//! * [`Shared64`], [`Shared32`], [`Shared16`], [`SharedFlag`]: atomics that the simulator can
//!   interleave; [`Guess`]: a number that only speed depends on.
//! * [`assert_none_held`]: a check before work across which no latch may be held.

mod check;
mod condition;
mod frame_latch;
mod get;
mod held;
mod latch;
#[cfg(test)]
mod loom_striped;
#[cfg(test)]
mod loom_tests;
mod parts;
mod rank;
mod raw;
mod reader_counts;
mod shared;
mod signal;
mod state;
mod striped;

pub use check::Pace;
pub use condition::Condition;
pub use frame_latch::{
    FrameBlock, FrameExclusiveGuard, FrameLatch, FrameSharedGuard, Pinned, PinnedShared,
};
pub use held::assert_none_held;
pub use latch::{ExclusiveGuard, Latch, SharedGuard};
pub use rank::{FrameOrder, LatchInfo, LatchKind, LatchRank};
pub use reader_counts::ReaderCounts;
pub use shared::{Guess, Shared16, Shared32, Shared64, SharedFlag};
pub use signal::Signal;
