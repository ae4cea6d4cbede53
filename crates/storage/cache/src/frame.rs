//! A frame: the memory of one block, and what must be known of it without its latch.
//!
//! ```text
//!   Absent ──memory, into a set──▶ Free ──claim, out of its set, memory away──▶ Absent
//!
//!   Free ──claim, hash──▶ Reading ──read, checked──▶ Resident ──claim, unhash──▶ Free
//!                            └──fault──▶ Failed ──last pin goes──▶ Free
//! ```
//!
//! Facts that hold in each state
//!   * Absent: without memory and of no set; nobody but the list of such frames knows it
//!   * Free: not on a chain, `VACANT`; on the free list, or owned by one session that claimed it
//!   * Reading: on a chain, pinned by who reads; on no list; its bytes belong to the reader
//!   * Resident: on a chain; on the replacement or the write list, or claimed by one session
//!   * Failed: on no chain and no list; the pins left are of those who waited for the read
//!
//! Vacant, Reading and Failed are bits of one word, `status`, which is zero of a block that can be
//! had. Pins are counted apart from it, in stripes (`latch::ReaderCounts`), so that sessions that
//! use one block don't write to one place. A hit pins on a hint (CB3): a pin may come to any frame
//! at any time, and goes at once if the frame isn't what it was to be.
//!
//! In memory, two lines of the processor's cache. Of a block that is only read neither is written.
//!
//! ```text
//!    0  home   chained                                 words of the latch      (cold)
//!   64  latch's state   counts   buffer   number   address   status   touches   flags
//! ```
//!
//! Callers: all of this crate.

use std::mem::offset_of;
use std::sync::Arc;

use ids::Dba;
use latch::{FrameLatch, ReaderCounts, Shared16, Shared32, Shared64};
use os::{CACHE_LINE, IoBuf, Os, Session};

use crate::list::NONE;

/// What a frame's latch guards.
pub(crate) struct Content {
    /// The block. It is away only while a session reads into it, in state Reading, and when the
    /// frame is Absent.
    pub(crate) buffer: Option<IoBuf>,
}

impl Content {
    /// The block's bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.as_ref().expect("a frame that isn't being read has its buffer")
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.buffer.as_mut().expect("a frame that isn't being read has its buffer")
    }
}

/// One buffer of the cache.
#[repr(C, align(64))]
pub(crate) struct Frame {
    /// The working set, and the slot there, packed, or `HOMELESS`. Changed only while nobody can
    /// come upon the frame: as it leaves state Absent, or enters it.
    home: Shared64,
    /// The next frame on the chain. Protected by the bucket's latch.
    pub(crate) chained: Shared32,
    _cold: [u32; 5],
    /// The block's bytes.
    pub(crate) latch: FrameLatch<Content>,
    /// The block that lives here, packed, or `NO_ADDRESS`. Changed only by the session that claimed
    /// the frame, under the exclusive latch of the block's bucket, with no pin; so it is stable
    /// while pinned, while dirty, and under the bucket's latch.
    pub(crate) address: Shared64,
    /// `VACANT`, `READING` and `FAILED`; see CB3 for who sets and clears them.
    pub(crate) status: Shared32,
    /// How often it was hit, roughly; a hint that nothing protects and nothing relies on.
    touches: Shared16,
    /// `DIRTY` and `WRITING`. Changed only under the set's latch: `DIRTY` is set with the frame's
    /// latch held exclusively and cleared with it held shared, so it is stable under the frame's
    /// latch held exclusively too, and of a frame that is `VACANT` it can't be set.
    pub(crate) flags: Shared16,
}

// What two processors write to is a line apart.
const _: () = assert!(offset_of!(Frame, latch) + FrameLatch::<Content>::STATE_AT == CACHE_LINE);
const _: () = assert!(size_of::<Frame>() == 2 * CACHE_LINE);

/// What `address` holds when no block lives in a frame; no packed address has these bits.
pub(crate) const NO_ADDRESS: u64 = u64::MAX;

/// What `home` holds when a frame is of no set.
const HOMELESS: u64 = u64::MAX;

/// In `status`: no block lives here. Who sets it then looks whether there is a pin, and if there is
/// none the frame is his; who pins it and sees this lets go at once.
pub(crate) const VACANT: u32 = 1;
/// In `status`: the block is being read; its bytes aren't there yet.
pub(crate) const READING: u32 = 2;
/// In `status`: the read failed; who has a pin looks at the fault and lets go.
pub(crate) const FAILED: u32 = 4;

/// In `flags`: changed since last written; exactly then it is in its set's checkpoint queue.
pub(crate) const DIRTY: u16 = 1;
/// In `flags`: a copy of it is on its way to disk.
pub(crate) const WRITING: u16 = 2;

/// A frame hit this often since it was last looked at is warm: it goes to the hot end, not out.
const TOUCHES_WARM: u16 = 2;
/// Touches beyond this aren't counted, so that hits don't all write to the same memory, and a block
/// that was hot once is cold after a round of the list.
const TOUCHES_MAX: u16 = 3;
const _: () = assert!(TOUCHES_WARM <= TOUCHES_MAX && TOUCHES_MAX / 2 < TOUCHES_WARM);

impl Frame {
    /// A frame without memory, of this number.
    pub(crate) fn absent(os: &Os, counts: &Arc<ReaderCounts>, number: u32) -> Frame {
        Frame {
            home: Shared64::new(HOMELESS),
            chained: Shared32::new(NONE),
            _cold: [0; 5],
            latch: FrameLatch::new(os, counts, number, Content { buffer: None }),
            address: Shared64::new(NO_ADDRESS),
            status: Shared32::new(VACANT),
            touches: Shared16::new(0),
            flags: Shared16::new(0),
        }
    }

    /// Something of both of its lines, for which nobody has a use.
    #[inline]
    pub(crate) fn look(&self, session: &Session) -> u64 {
        self.home.load(session) ^ u64::from(self.flags.load(session))
    }

    /// The block that lives here; asked only where it is stable.
    #[inline]
    pub(crate) fn address(&self, session: &Session) -> Dba {
        Dba::unpack(self.address.load(session)).expect("a frame in use has an address")
    }

    /// Its set, and its slot there.
    #[inline]
    pub(crate) fn home(&self, session: &Session) -> (u32, u32) {
        self.home_if_any(session).expect("a frame in use is in a working set")
    }

    /// The same, of a frame that may be Absent.
    #[inline]
    pub(crate) fn home_if_any(&self, session: &Session) -> Option<(u32, u32)> {
        let home = self.home.load(session);
        (home != HOMELESS).then_some(((home >> 32) as u32, home as u32))
    }

    /// Its set and slot, for a check.
    pub(crate) fn home_to_check(&self) -> Option<(u32, u32)> {
        let home = self.home.peek();
        (home != HOMELESS).then_some(((home >> 32) as u32, home as u32))
    }

    /// It comes into a set.
    pub(crate) fn settle(&self, set: u32, slot: u32, session: &Session) {
        let before = self.home.swap(u64::from(set) << 32 | u64::from(slot), session);
        assert_eq!(before, HOMELESS, "a frame comes into a second working set");
    }

    /// It leaves its set: no block lives here, and it gets back to the stock.
    pub(crate) fn unsettle(&self, session: &Session) {
        let before = self.home.swap(HOMELESS, session);
        assert_ne!(before, HOMELESS, "a frame leaves a working set that it isn't in");
    }

    /// The session that has claimed it, and found it on a chain, takes it for itself; not if there
    /// is a pin. With its bucket's latch held exclusively.
    pub(crate) fn vacate(&self, session: &Session) -> bool {
        if self.status.compare_exchange(0, VACANT, session).is_err() {
            return false;
        }
        // CB3: the look at the pins comes after it says that it is vacant.
        let pinned = self.latch.has_pins(session);
        if pinned {
            self.unvacate(session);
        }
        !pinned
    }

    /// It was vacated too early.
    pub(crate) fn unvacate(&self, session: &Session) {
        let before = self.status.fetch_and(!VACANT, session);
        assert!(before & VACANT != 0, "a frame was vacant and isn't");
    }

    /// It is going to have a block again, with a pin of the session that reads it.
    pub(crate) fn occupy(&self, session: &Session) {
        self.latch.pin(session);
        let before = self.status.swap(READING, session);
        assert_eq!(before, VACANT, "a claimed frame is in use");
    }

    /// If its read has failed and all pins have gone it is vacant, and the caller's. With the latch
    /// of its shard of reads held.
    pub(crate) fn vacate_failed(&self, session: &Session) -> bool {
        let status = self.status.load(session);
        if status != FAILED || self.latch.has_pins(session) {
            return false;
        }
        let before = self.status.swap(VACANT, session);
        assert_eq!(before, FAILED, "a failed frame changes without its latch");
        true
    }

    /// One more pin.
    #[inline]
    pub(crate) fn pin(&self, session: &Session) {
        self.latch.pin(session);
    }

    /// A pin of this session goes; whether it was the last of its stripe.
    #[inline]
    pub(crate) fn unpin(&self, session: &Session) -> bool {
        self.latch.unpin(session)
    }

    /// Whether a block lives here that nobody uses, each as it was at the look at it.
    pub(crate) fn is_idle(&self, session: &Session) -> bool {
        self.status.load(session) == 0 && !self.latch.has_pins(session)
    }

    /// Notes a hit. Two at once may count as one.
    #[inline]
    pub(crate) fn touch(&self, session: &Session) {
        let touches = self.touches.load(session);
        if touches < TOUCHES_MAX {
            self.touches.store(touches + 1, session);
        }
    }

    /// Forgets the hits of the block that lived here before.
    pub(crate) fn untouch(&self, session: &Session) {
        self.touches.store(0, session);
    }

    /// Ages it: whether it was warm, and so deserves another round. A hit that comes at this very
    /// moment may be lost.
    pub(crate) fn cool(&self, session: &Session) -> bool {
        let touches = self.touches.load(session);
        let warm = touches >= TOUCHES_WARM;
        if warm {
            self.touches.store(touches / 2, session);
        }
        warm
    }
}

#[cfg(test)]
mod tests {
    use ids::Rba;
    use os::ThreadSpec;
    use sim::{Perturbation, Simulation};

    use super::*;
    use crate::set_state::SetState;

    /// Whoever has claimed a frame looks at its flags without the latch of its set (CB5), so there
    /// must be no moment in which a frame that goes from dirty to being written looks clean.
    #[test]
    fn what_begins_to_be_written_never_looks_clean() {
        for seed in 0..100 {
            let mut simulation = Simulation::new(seed);
            simulation.perturbation = Perturbation::RACES;
            let report = simulation.run(|world, session| {
                let counts = ReaderCounts::new(world.os(), 1);
                let frame = Arc::new(Frame::absent(world.os(), &counts, 0));
                let mut state = SetState::new();
                let slot = state.add(0);
                state.enter_queue(slot, &frame, Rba::block(1, 1), session);
                let seen = Arc::clone(&frame);
                let look = move |session: &Session| {
                    for _ in 0..20 {
                        assert_ne!(seen.flags.load(session), 0, "it looks clean");
                    }
                };
                let other = session.spawn(ThreadSpec::foreground("other"), look).expect("started");
                state.begin_write(slot, &frame, 1, session);
                other.join(session).expect("it never looks clean");
            });
            report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        }
    }
}
