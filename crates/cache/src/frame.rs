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
//! Vacant, Reading and Failed are bits beside the count of pins, so that a hit learns of them with
//! the same access that counts its pin. A hit pins on a hint (CB3): a pin may come to any frame at
//! any time, and goes at once if the frame isn't what it was to be.
//!
//! In memory, two lines of the processor's cache: what a hit doesn't touch, and what it does.
//!
//! ```text
//!    0  home            words of the latch                                     (cold)
//!   64  latch's state   buffer, fault   address   chained   pins   touches   flags
//! ```
//!
//! Callers: all of this crate.

use std::mem::offset_of;

use ids::Dba;
use latch::{FrameLatch, Shared32, Shared64};
use os::{IoBuf, Os, Session};
use stop::Stop;

use crate::list::NONE;

/// What a frame's latch guards.
pub(crate) struct Content {
    /// The block. It is away only while a session reads into it, in state Reading, and when the
    /// frame is Absent.
    pub(crate) buffer: Option<IoBuf>,
    /// Why the read failed, in state Failed.
    pub(crate) fault: Option<Box<Stop>>,
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
    _cold: [u64; 2],
    /// The block's bytes.
    pub(crate) latch: FrameLatch<Content>,
    /// The block that lives here, packed, or `NO_ADDRESS`. Changed only by the session that claimed
    /// the frame, under the exclusive latch of the block's bucket, with no pin; so it is stable
    /// while pinned, while dirty, and under the bucket's latch.
    pub(crate) address: Shared64,
    /// The next frame on the chain. Protected by the bucket's latch.
    pub(crate) chained: Shared32,
    /// Pins, and the bits `VACANT`, `READING` and `FAILED`.
    pub(crate) pins: Shared32,
    /// How often it was hit, roughly; a hint that nothing protects and nothing relies on.
    touches: Shared32,
    /// `DIRTY` and `WRITING`. Changed only under the set's latch: `DIRTY` is set with the frame's
    /// latch held exclusively and cleared with it held shared, so it is stable under the frame's
    /// latch held exclusively too, and of a frame that is `VACANT` it can't be set.
    pub(crate) flags: Shared32,
}

/// A line of the processor's cache: what two processors write to is apart by this much.
const LINE: usize = 64;
const _: () = assert!(offset_of!(Frame, latch) + FrameLatch::<Content>::STATE_AT == LINE);
const _: () = assert!(size_of::<Frame>() == 2 * LINE);

/// What `address` holds when no block lives in a frame; no packed address has these bits.
pub(crate) const NO_ADDRESS: u64 = u64::MAX;

/// What `home` holds when a frame is of no set.
const HOMELESS: u64 = u64::MAX;

/// In `pins`: no block lives here. Set when there is no pin, and in the same step, so the frame
/// belongs to the session that set it; who pins it now lets go at once.
pub(crate) const VACANT: u32 = 1 << 29;
/// In `pins`: the block is being read; its bytes aren't there yet.
pub(crate) const READING: u32 = 1 << 30;
/// In `pins`: the read failed; who has a pin looks at the fault and lets go.
pub(crate) const FAILED: u32 = 1 << 31;
/// More pins than sessions times blocks that one of them uses can ever be.
const PINS_MAX: u32 = 1 << 24;
/// The count in `pins`.
pub(crate) const PINS: u32 = VACANT - 1;

/// In `flags`: changed since last written; exactly then it is in its set's checkpoint queue.
pub(crate) const DIRTY: u32 = 1;
/// In `flags`: a copy of it is on its way to disk.
pub(crate) const WRITING: u32 = 2;

/// A frame hit this often since it was last looked at is warm: it goes to the hot end, not out.
const TOUCHES_WARM: u32 = 2;
/// Touches beyond this aren't counted, so that hits don't all write to the same memory, and a block
/// that was hot once is cold after a round of the list.
const TOUCHES_MAX: u32 = 3;
const _: () = assert!(TOUCHES_WARM <= TOUCHES_MAX && TOUCHES_MAX / 2 < TOUCHES_WARM);

impl Frame {
    /// A frame without memory.
    pub(crate) fn absent(os: &Os) -> Frame {
        Frame {
            home: Shared64::new(HOMELESS),
            _cold: [0; 2],
            latch: FrameLatch::new(os, Content { buffer: None, fault: None }),
            address: Shared64::new(NO_ADDRESS),
            chained: Shared32::new(NONE),
            pins: Shared32::new(VACANT),
            touches: Shared32::new(0),
            flags: Shared32::new(0),
        }
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
    /// is a pin.
    pub(crate) fn vacate(&self, session: &Session) -> bool {
        self.pins.compare_exchange(0, VACANT, session).is_ok()
    }

    /// It was vacated too early.
    pub(crate) fn unvacate(&self, session: &Session) {
        let before = self.pins.fetch_and(!VACANT, session);
        assert!(before & VACANT != 0, "a frame was vacant and isn't");
    }

    /// It is going to have a block again, with a pin of the session that reads it.
    pub(crate) fn occupy(&self, session: &Session) {
        let before = self.pins.fetch_add((READING + 1) - VACANT, session);
        assert_eq!(before & !PINS, VACANT, "a claimed frame is in use");
    }

    /// The read has failed and all pins have gone; whether this session is the one to recycle it.
    pub(crate) fn vacate_failed(&self, session: &Session) -> bool {
        self.pins.compare_exchange(FAILED, VACANT, session).is_ok()
    }

    /// One more pin; what `pins` was before.
    #[inline]
    pub(crate) fn pin(&self, session: &Session) -> u32 {
        let before = self.pins.fetch_add(1, session);
        assert!(before & PINS < PINS_MAX, "a block has {PINS_MAX} pins: they leak");
        before
    }

    pub(crate) fn is_pinned(&self, session: &Session) -> bool {
        self.pins.load(session) != 0
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
