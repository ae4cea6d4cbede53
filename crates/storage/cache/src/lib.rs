//! The buffer cache: blocks in memory, and the database writers that bring them back to disk.
//!
//! ```text
//!   session ── pin ──▶ chains ── hit ──────────────────────────▶ Pin ── shared, exclusive
//!                        │ miss                                    ▲
//!                        ▼                                         │ read, check
//!                 working set: free ◀── replacement ──▶ write ─────┼──▶ DBWR
//!                        │  a frame  (cold … hot)      (dirty)     │     │
//!                        └─────────────────────────────────────────┘     ▼
//!                 checkpoint queue (dirty, by redo address) ─────────▶ batch: gate,
//!                                                      doublewrite, sync, home, sync
//! ```
//!
//! A block lives in a frame. A session that uses it pins the frame, and touches its bytes under the
//! frame's latch. A changed block stands in the checkpoint queue of its working set until a writer
//! has written it; the lowest redo address in the queues is the checkpoint position. The cache
//! doesn't know the redo: it asks a [`RedoGate`] before it writes. Rules CB1 to CB80, with their
//! reasons, are in the README.
//!
//! * [`Cache`]: [`pin`](Cache::pin), [`pin_shared`](Cache::pin_shared) and
//!   [`pin_new`](Cache::pin_new) for sessions;
//!   [`start_writer`](Cache::start_writer) for the processes `fb_dbw<n>`, and
//!   [`begin_writer`](Cache::begin_writer), with a [`StartingWriter`] to be waited for later;
//!   [`checkpoint_position`](Cache::checkpoint_position) and [`checkpoint`](Cache::checkpoint).
//! * [`MultiblockReader`]: runs of blocks, and separate ones, read with few I/Os.
//! * [`DirectScan`]: runs of [`Blocks`] read around the cache, after
//!   [`checkpoint_blocks`](Cache::checkpoint_blocks); [`DirectReader`], while a call reads them.
//! * [`Pin`]: a pin on a block; from it come [`SharedBlock`] and [`ExclusiveBlock`].
//! * [`CacheConfig`], [`PoolSize`]: sizes, numbers of parts, and how blocks are written.
//! * [`DataFile`]: a data file that is open. [`BufferSeen`]: a buffer, for views.
//! * [`RedoGate`]: what the cache needs of the redo.
//! * [`doublewrite`]: writing torn blocks from their copies before recovery.

#![forbid(unsafe_code)]

mod ahead;
mod batch;
mod cache;
mod chains;
mod checkpoint;
mod config;
mod direct;
pub mod doublewrite;
mod files;
mod frame;
mod gate;
mod get;
mod list;
mod multiblock;
mod object_checkpoint;
mod pin;
mod pipeline;
mod pool;
mod replacement;
mod seen;
mod set_state;
mod shrink;
mod versions;
mod victim;
mod warm;
mod working_set;
mod writer;

pub use cache::Cache;
pub use config::{CacheConfig, PoolSize};
pub use direct::{DirectBlock, DirectReader, DirectRun, DirectScan, ReadAhead};
pub use files::DataFile;
pub use gate::RedoGate;
pub use get::{Get, check_written};
pub use multiblock::MultiblockReader;
pub use object_checkpoint::Blocks;
pub use pin::{ExclusiveBlock, Pin, PinnedBlock, SharedBlock, is_unwritten};
pub use seen::{BufferSeen, BufferState};
pub use writer::StartingWriter;
