//! A frame: the memory of one block, and its state that is read without its latch.
//!
//! ```text
//!   Absent ──memory, into a set──▶ Free ──claim, out of its set, memory away──▶ Absent
//!
//!   Free ──claim, hash──▶ Reading ──read, checked──▶ Resident ──claim, unhash──▶ Free
//!                            └──fault──▶ Failed ──last pin goes──▶ Free
//! ```
//!
//! Facts that hold in each state
//!   * Absent: without memory and in no set; only the stock has its number
//!   * Free: not on a chain, `VACANT`; on the free list, or claimed by one session
//!   * Reading: on a chain, pinned by the session that reads; on no list; its bytes belong to that
//!     session
//!   * Resident: on a chain; on the replacement or the write list, or claimed by one session
//!   * Failed: on no chain and no list; the pins left belong to sessions that waited for the read
//!
//! `VACANT`, `READING` and `FAILED` are bits of one word, `status`, which is zero for a resident
//! block. Pins are counted apart from it, in stripes (`latch::ReaderCounts`), so that sessions that
//! use one block don't write to one place. A hit pins on a hint (CB3): a pin may come to any frame
//! at any time, and goes at once if the frame doesn't have the block.
//!
//! A frame takes two lines of the processor's cache. A read of its block writes to neither.
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
use os::{CACHE_LINE, IoBuf, Os, Session, prefetch};

use crate::list::NONE;

/// The part of a frame that its latch guards.
pub(crate) struct Content {
    /// The block. `None` in state Reading, while a session reads into the buffer, and in state
    /// Absent.
    pub(crate) buffer: Option<IoBuf>,
}

impl Content {
    /// The block's bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.as_ref().expect("a frame that isn't being read has its buffer")
    }

    /// The block's bytes, to be changed.
    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.buffer.as_mut().expect("a frame that isn't being read has its buffer")
    }
}

/// One buffer of the cache.
#[repr(C, align(64))]
pub(crate) struct Frame {
    /// The working set and the slot there, packed, or `HOMELESS`. Changed only while no session can
    /// reach the frame: when it leaves or enters state Absent.
    home: Shared64,
    /// The next frame on the chain. Protected by the bucket's latch.
    pub(crate) chained: Shared32,
    _cold: [u32; 5],
    /// The block's bytes.
    pub(crate) latch: FrameLatch<Content>,
    /// The address of the block that lives here, packed, or `NO_ADDRESS`. Changed only by the
    /// session that claimed the frame, under the exclusive latch of the block's bucket, with no
    /// pin; so it is stable while the frame is pinned or dirty, and under the bucket's latch.
    pub(crate) address: Shared64,
    /// `VACANT`, `READING` and `FAILED`, set and cleared as CB3 and CB4 say.
    pub(crate) status: Shared32,
    /// The touch count: roughly how often the block was hit. A hint that nothing protects.
    touches: Shared16,
    /// `DIRTY` and `WRITING`. Changed only under the set's latch. `DIRTY` is set with the frame's
    /// latch held exclusively too, and cleared with it held shared; so it is stable under the
    /// frame's exclusive latch, and it can't be set while the frame is `VACANT`.
    pub(crate) flags: Shared16,
}

// Words that two processors write to lie in different lines.
const _: () = assert!(offset_of!(Frame, latch) + FrameLatch::<Content>::STATE_AT == CACHE_LINE);
const _: () = assert!(size_of::<Frame>() == 2 * CACHE_LINE);

/// The `address` of a frame in which no block lives; no packed address has these bits.
pub(crate) const NO_ADDRESS: u64 = u64::MAX;

/// The `home` of a frame that is in no set.
const HOMELESS: u64 = u64::MAX;

/// In `status`: no block lives here. The session that sets it then looks at the pins, and has the
/// frame if there is none. A session that pins the frame and sees this lets go at once.
pub(crate) const VACANT: u32 = 1;
/// In `status`: the block is being read.
pub(crate) const READING: u32 = 2;
/// In `status`: the read failed. A session with a pin looks at the fault and lets go.
pub(crate) const FAILED: u32 = 4;

/// In `flags`: changed since its last write. A frame is in its set's checkpoint queue exactly while
/// this is set.
pub(crate) const DIRTY: u16 = 1;
/// In `flags`: a copy of the block is being written.
pub(crate) const WRITING: u16 = 2;

/// A frame with this touch count is warm: a search moves it to the hot end.
const TOUCHES_WARM: u16 = 2;
/// The highest touch count: further hits don't write to the frame, and a block that was hot once is
/// cold after a round of the list.
const TOUCHES_MAX: u16 = 3;
const _: () = assert!(TOUCHES_WARM <= TOUCHES_MAX && TOUCHES_MAX / 2 < TOUCHES_WARM);
/// The touch count of a block that was read ahead and hasn't been hit since: it is warm once.
const TOUCHES_AHEAD: u16 = u16::MAX;

impl Frame {
    /// The frame of this number, without memory.
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

    /// A value made of a word of each line, so that both lines are fetched.
    #[inline]
    pub(crate) fn fetch(&self, session: &Session) -> u64 {
        self.home.load(session) ^ u64::from(self.flags.load(session))
    }

    /// Prefetches what a hit reads.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(std::ptr::from_ref(&self.latch).addr() + FrameLatch::<Content>::STATE_AT);
    }

    /// The address of the block that lives here. Called only where it is stable.
    #[inline]
    pub(crate) fn address(&self, session: &Session) -> Dba {
        Dba::unpack(self.address.load(session)).expect("a frame in use has an address")
    }

    /// The frame's set, and its slot there.
    #[inline]
    pub(crate) fn home(&self, session: &Session) -> (u32, u32) {
        self.home_if_any(session).expect("a frame in use is in a working set")
    }

    /// As `home`; `None` if the frame is Absent.
    #[inline]
    pub(crate) fn home_if_any(&self, session: &Session) -> Option<(u32, u32)> {
        let home = self.home.load(session);
        (home != HOMELESS).then_some(((home >> 32) as u32, home as u32))
    }

    /// As `home_if_any`, for a check that has no session.
    pub(crate) fn home_to_check(&self) -> Option<(u32, u32)> {
        let home = self.home.peek();
        (home != HOMELESS).then_some(((home >> 32) as u32, home as u32))
    }

    /// Enters the frame into a set.
    pub(crate) fn settle(&self, set: u32, slot: u32, session: &Session) {
        let before = self.home.swap(u64::from(set) << 32 | u64::from(slot), session);
        assert_eq!(before, HOMELESS, "a frame comes into a second working set");
    }

    /// Takes the frame out of its set, on its way to the stock.
    pub(crate) fn unsettle(&self, session: &Session) {
        let before = self.home.swap(HOMELESS, session);
        assert_ne!(before, HOMELESS, "a frame leaves a working set that it isn't in");
    }

    /// Makes the frame vacant; false if it is pinned. The caller has claimed it, found it on a
    /// chain, and holds its bucket's latch exclusively.
    pub(crate) fn vacate(&self, session: &Session) -> bool {
        if self.status.compare_exchange(0, VACANT, session).is_err() {
            return false;
        }
        // CB42: the look at the pins comes after VACANT is set.
        let pinned = self.latch.has_pins(session);
        if pinned {
            self.unvacate(session);
        }
        !pinned
    }

    /// Takes `vacate` back.
    pub(crate) fn unvacate(&self, session: &Session) {
        let before = self.status.fetch_and(!VACANT, session);
        assert!(before & VACANT != 0, "a frame was vacant and isn't");
    }

    /// Makes a vacant frame Reading, with a pin of the session that reads.
    pub(crate) fn occupy(&self, session: &Session) {
        self.latch.pin(session);
        let before = self.status.swap(READING, session);
        assert_eq!(before, VACANT, "a claimed frame is in use");
    }

    /// Makes the frame vacant if its read has failed and all pins have gone: then it belongs to the
    /// caller, which holds the latch of the frame's read shard.
    pub(crate) fn vacate_failed(&self, session: &Session) -> bool {
        let status = self.status.load(session);
        if status != FAILED || self.latch.has_pins(session) {
            return false;
        }
        let before = self.status.swap(VACANT, session);
        assert_eq!(before, FAILED, "a failed frame changes without its latch");
        true
    }

    /// Adds a pin.
    #[inline]
    pub(crate) fn pin(&self, session: &Session) {
        self.latch.pin(session);
    }

    /// Removes a pin of this session. Whether it was the last of its stripe.
    #[inline]
    pub(crate) fn unpin(&self, session: &Session) -> bool {
        self.latch.unpin(session)
    }

    /// Whether a block lives here and has no pin. Status and stripes are looked at one by one.
    pub(crate) fn is_idle(&self, session: &Session) -> bool {
        self.status.load(session) == 0 && !self.latch.has_pins(session)
    }

    /// Counts a hit. Two at once may count as one.
    #[inline]
    pub(crate) fn touch(&self, session: &Session) {
        let touches = self.touches.load(session);
        if touches < TOUCHES_MAX {
            self.touches.store(touches + 1, session);
        } else if touches == TOUCHES_AHEAD {
            self.touches.store(1, session);
        }
    }

    /// Notes that the block is read before it is hit.
    pub(crate) fn set_ahead(&self, session: &Session) {
        self.touches.store(TOUCHES_AHEAD, session);
    }

    /// Takes a hit back.
    pub(crate) fn forget_hit(&self, session: &Session) {
        let touches = self.touches.load(session).min(TOUCHES_MAX);
        self.touches.store(touches.saturating_sub(1), session);
    }

    /// Resets the touch count for a new block.
    pub(crate) fn untouch(&self, session: &Session) {
        self.touches.store(0, session);
    }

    /// Halves the touch count if the frame is warm. Whether it was. A hit at the same moment may be
    /// lost.
    pub(crate) fn cool(&self, session: &Session) -> bool {
        let touches = self.touches.load(session);
        let warm = touches >= TOUCHES_WARM;
        if warm {
            let cooled = if touches == TOUCHES_AHEAD { 0 } else { touches / 2 };
            self.touches.store(cooled, session);
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

    /// A session that has claimed a frame looks at its flags without the latch of its set (CB5), so
    /// a frame that goes from dirty to being written must not look clean at any moment.
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
