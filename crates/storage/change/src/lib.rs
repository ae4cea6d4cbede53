//! Atomic groups: blocks that change together, with one redo record. The only writer of block
//! bytes.
//!
//! ```text
//!   forward:   pins ─▶ credits ─▶ latches ─▶ Group::change … ─▶ commit ─┬▶ redo record
//!                                                                       └▶ apply, stamp
//!   recovery:  redo record ─▶ replay: version equal? ─▶ apply, stamp
//! ```
//!
//! A *layer* owns some kinds of blocks and has one `apply`: a function of block, opcode, payload
//! and SCN, without memory of its own. Rules CH are in the README.
//!
//! * [`Changes`], [`Group`]: making changes.
//! * [`Layer`]: what changes blocks.
//! * [`replay`]: making changes again in recovery.
//!
//! Callers: `space`, `txn` and `access` build groups; `recovery` replays. Sources: Oracle's redo
//! records of change vectors; PostgreSQL's access/transam/README, "Writing a REDO routine".

#![forbid(unsafe_code)]

mod group;
mod layer;
mod replay;

pub use group::{Changes, Group, credits_for};
pub use layer::{BackPart, BlockMut, Layer, Moves, Watch};
pub use replay::{Replayed, replay};
