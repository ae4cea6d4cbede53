//! The checkpoint of some blocks: what was changed of them is on disk when it returns.
//!
//! ```text
//!   position P ──▶ each set: dirty since P or before, or being written? ──▶ asked of its writer
//!                                                 │
//!                    wait until none of them is ◀─┘       (enq: KO - fast object checkpoint,
//!                                                          or rdbms ipc reply for whole files)
//! ```
//!
//! Who reads around the cache needs this: a change is found in the cache, or on disk, and after
//! this every change made before it is on disk.
//!
//! Invariants
//!   * a change made before the call is on disk when it returns: its frame is found dirty with a
//!     position not above P, or being written with one, or it was written before (CB23)
//!   * one write that begins after that has every such change, so its end is waited for; changes
//!     made since aren't, so a block that is changed all the time doesn't hold it up
//!
//! Callers: direct reads; checkpoints of a tablespace; whoever drops a file or a segment.

use ids::Dba;
use os::{Session, Waiting};
use stop::Stop;
use waits::{Statistic, WaitEvent};

use crate::Cache;

/// `name|mode` of the enqueue: KO, exclusive.
const KO_EXCLUSIVE: u64 = (b'K' as u64) << 24 | (b'O' as u64) << 16 | 6;

/// Neighbouring blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first of them.
    pub first: Dba,
    /// How many.
    pub count: u32,
}

/// Spans that don't overlap, in the order of their blocks.
pub(crate) struct Spans(Vec<Span>);

/// A block that is waited for.
pub(crate) struct Awaited {
    pub(crate) frame: u32,
    /// Where that was, in set and slot.
    pub(crate) home: (u32, u32),
    pub(crate) address: Dba,
    /// Until so many writes of this slot have ended.
    pub(crate) until: u32,
}

impl Span {
    fn holds(&self, address: Dba) -> bool {
        let from = self.first.block.get();
        let at = address.block.get();
        address.file == self.first.file && at >= from && at - from < self.count
    }
}

impl Spans {
    pub(crate) fn new(spans: &[Span]) -> Spans {
        let mut sorted = spans.to_vec();
        sorted.sort_unstable_by_key(|span| span.first);
        Spans(sorted)
    }

    pub(crate) fn holds(&self, address: Dba) -> bool {
        let after = self.0.partition_point(|span| span.first <= address);
        after > 0 && self.0[after - 1].holds(address)
    }
}

impl Cache {
    /// Has the blocks written that were changed of these spans, which don't overlap, and waits
    /// until every change made before this call is on disk.
    pub fn checkpoint_blocks(&self, spans: &[Span], session: &Session) -> Result<(), Stop> {
        let waiting = session.waiting(WaitEvent::EnqKoFastObjectCheckpoint);
        self.checkpoint_spans(Spans::new(spans), waiting.p(KO_EXCLUSIVE, 2, 0))
    }

    fn checkpoint_spans(&self, spans: Spans, waiting: Waiting<'_>) -> Result<(), Stop> {
        latch::assert_none_held("a checkpoint of blocks");
        let session = waiting.session();
        // CB23: before the sets are looked at.
        let until = self.gate.position(session);
        let mut left = Vec::new();
        for set in &self.sets {
            let mut state = set.state.exclusive(session);
            state.ask(&self.frames, (&spans, until), &mut left, session);
        }
        if left.is_empty() {
            return Ok(());
        }
        session.count(Statistic::DbwrCheckpoints, 1);
        self.post_writers(session);
        let is_written = || {
            left.retain(|awaited| self.is_awaited(awaited, session));
            left.is_empty()
        };
        self.await_progress(is_written, waiting)
    }

    fn is_awaited(&self, awaited: &Awaited, session: &Session) -> bool {
        let frame = &self.frames[awaited.frame as usize];
        let (set, slot) = awaited.home;
        let state = self.sets[set as usize].state.shared(session);
        // Another block lives here, or the frame has left its set: this one was written before.
        frame.home_if_any(session) == Some(awaited.home)
            && frame.address.load(session) == awaited.address.pack()
            && state.is_awaited(slot, awaited.until)
    }
}
