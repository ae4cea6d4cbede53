//! A frame: the memory of one block, and what must be known of it without its latch.
//!
//! ```text
//!   Absent ──memory, into a set──▶ Free
//!
//!   Free ──claim, hash──▶ Reading ──read, checked──▶ Resident ──claim, unhash──▶ Free
//!                            └──fault──▶ Failed ──last pin goes──▶ Free
//! ```
//!
//! Facts that hold in each state
//!   * Absent: without memory and of no set; nobody but the list of such frames knows it
//!   * Free: not on a chain, no pin; on the free list, or owned by one session that claimed it
//!   * Reading: on a chain, pinned by who reads; on no list; its bytes belong to the reader
//!   * Resident: on a chain; on the replacement or the write list, or claimed by one session
//!   * Failed: on no chain and no list; the pins left are of those who waited for the read
//!
//! Reading and Failed are bits beside the count of pins, so that a hit learns of them with the
//! same access that counts its pin.
//!
//! Callers: all of this crate.

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
    pub(crate) fault: Option<Stop>,
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
pub(crate) struct Frame {
    /// The block's bytes.
    pub(crate) latch: FrameLatch<Content>,
    /// The block that lives here, packed, or `NO_ADDRESS`. Changed only by the session that claimed
    /// the frame, under the exclusive latch of the block's bucket, with no pin; so it is stable
    /// while pinned, while dirty, and under the bucket's latch.
    pub(crate) address: Shared64,
    /// The working set, and the slot there, packed, or `HOMELESS`. Changed only while nobody can
    /// come upon the frame: as it leaves state Absent, or enters it.
    home: Shared64,
    /// The next frame on the chain. Protected by the bucket's latch.
    pub(crate) chained: Shared32,
    /// Pins, and the bits `READING` and `FAILED`. From no pin to one only under the bucket's latch;
    /// who has a pin may add one. Bits: see `get`.
    pub(crate) pins: Shared32,
    /// How often it was hit, roughly; a hint that nothing protects and nothing relies on.
    touches: Shared32,
    /// `DIRTY` and `WRITING`. Changed only under the set's latch: `DIRTY` is set with the frame's
    /// latch held exclusively and cleared with it held shared, so it is stable under the frame's
    /// latch held exclusively too, and with no pin under the bucket's exclusive latch it can't be
    /// set.
    pub(crate) flags: Shared32,
}

/// What `address` holds when no block lives in a frame; no packed address has these bits.
pub(crate) const NO_ADDRESS: u64 = u64::MAX;

/// What `home` holds when a frame is of no set.
const HOMELESS: u64 = u64::MAX;

/// In `pins`: the block is being read; its bytes aren't there yet.
pub(crate) const READING: u32 = 1 << 30;
/// In `pins`: the read failed; who has a pin looks at the fault and lets go.
pub(crate) const FAILED: u32 = 1 << 31;
/// More pins than sessions times blocks that one of them uses can ever be.
const PINS_MAX: u32 = 1 << 24;
/// The count in `pins`.
pub(crate) const PINS: u32 = READING - 1;

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
            latch: FrameLatch::new(os, Content { buffer: None, fault: None }),
            address: Shared64::new(NO_ADDRESS),
            home: Shared64::new(HOMELESS),
            chained: Shared32::new(NONE),
            pins: Shared32::new(0),
            touches: Shared32::new(0),
            flags: Shared32::new(0),
        }
    }

    /// The block that lives here; asked only where it is stable.
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
