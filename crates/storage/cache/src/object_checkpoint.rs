//! The checkpoint of some blocks: their changes are on disk when it returns.
//!
//! ```text
//!   position P ──▶ each set: dirty since P or before, or being written? ──▶ requested writes
//!                                                 │
//!                    wait until none of them is ◀─┘       (enq: KO - fast object checkpoint)
//! ```
//!
//! A session that reads around the cache needs this: afterwards every change made before it is on
//! disk.
//!
//! Invariants
//!   * a change made before the call is on disk when it returns: the look finds its frame dirty
//!     with a low not above P, or being written with such a low, or the change was written before
//!     (CB23)
//!   * the session waits for the end of one write that begins after the look, which has every such
//!     change. It doesn't wait for later changes, so a block that is changed all the time doesn't
//!     hold it up
//!
//! Callers: direct reads.

use ids::Dba;
use os::{Session, Waiting};
use stop::Stop;
use waits::{Statistic, WaitEvent};

use crate::Cache;

/// `name|mode` of the enqueue: KO, exclusive.
const KO_EXCLUSIVE: u64 = (b'K' as u64) << 24 | (b'O' as u64) << 16 | 6;

/// Neighbouring blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// The first block.
    pub first: Dba,
    /// The number of blocks.
    pub count: u32,
}

/// Runs of blocks that don't overlap, in the order of their addresses.
pub(crate) struct BlockSet(Vec<Blocks>);

/// A block whose write a session waits for.
pub(crate) struct PendingWrite {
    pub(crate) frame: u32,
    /// The set and the slot that the frame had.
    pub(crate) home: (u32, u32),
    pub(crate) address: Dba,
    /// The number of the slot's writes that will have ended by then.
    pub(crate) until: u32,
}

impl Blocks {
    /// The addresses of the blocks, in order. Damaged ones may end at the highest block number.
    pub fn addresses(self) -> impl Iterator<Item = Dba> {
        let Dba { file, block } = self.first;
        (0..self.count).map(move |nth| Dba::new(file.get(), block.get().saturating_add(nth)))
    }

    fn holds(&self, address: Dba) -> bool {
        let from = self.first.block.get();
        let at = address.block.get();
        address.file == self.first.file && at >= from && at - from < self.count
    }
}

impl BlockSet {
    pub(crate) fn new(runs: &[Blocks]) -> BlockSet {
        let mut sorted = runs.to_vec();
        sorted.sort_unstable_by_key(|run| run.first);
        BlockSet(sorted)
    }

    pub(crate) fn holds(&self, address: Dba) -> bool {
        let after = self.0.partition_point(|run| run.first <= address);
        after > 0 && self.0[after - 1].holds(address)
    }
}

impl Cache {
    /// Has the dirty blocks of these runs written, which don't overlap, and returns when every
    /// change of them made before this call is on disk.
    pub fn checkpoint_blocks(&self, runs: &[Blocks], session: &Session) -> Result<(), Stop> {
        let waiting = session.waiting(WaitEvent::EnqKoFastObjectCheckpoint);
        self.checkpoint_set(BlockSet::new(runs), waiting.p(KO_EXCLUSIVE, 2, 0))
    }

    fn checkpoint_set(&self, blocks: BlockSet, waiting: Waiting<'_>) -> Result<(), Stop> {
        latch::assert_none_held("a checkpoint of blocks");
        let session = waiting.session();
        // CB23: before the look at the sets.
        let until = self.gate.position(session);
        let mut left = Vec::new();
        for set in &self.sets {
            let mut state = set.state.exclusive(session);
            state.request_writes(&self.frames, &blocks, until, &mut left, session);
        }
        if left.is_empty() {
            return Ok(());
        }
        session.count(Statistic::DbwrCheckpoints, 1);
        self.post_writers(session);
        let is_written = || {
            left.retain(|write| self.is_pending(write, session));
            left.is_empty()
        };
        self.await_progress(is_written, waiting)
    }

    fn is_pending(&self, write: &PendingWrite, session: &Session) -> bool {
        let frame = &self.frames[write.frame as usize];
        let (set, slot) = write.home;
        let state = self.sets[set as usize].state.shared(session);
        // If another block lives here, or the frame has left its set, this block was written.
        frame.home_if_any(session) == Some(write.home)
            && frame.address.load(session) == write.address.pack()
            && state.is_pending(slot, write.until)
    }
}
