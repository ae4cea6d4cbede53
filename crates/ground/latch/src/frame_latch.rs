//! The latch of a frame of the buffer cache, whose readers don't write to one cache line.
//!
//! ```text
//!   session 1 ──pin, shared──▶ stripe 0 ┐
//!   session 2 ──pin, shared──▶ stripe 1 ├──▶ look at the state: no writer? then it is theirs
//!   session 3 ──pin, shared──▶ stripe 0 ┘
//!
//!   writer ──▶ the state says so ──▶ look at every stripe: no reader? then it is its own
//! ```
//!
//! It differs from a [`Latch`](crate::Latch) in two ways. The block in a frame changes, so each get
//! names the block. And readers are counted in stripes (`reader_counts.rs`), so that two readers of
//! one block on two processors don't take a cache line from each other; `striped.rs` has the
//! machine for that.
//!
//! Callers: the buffer cache.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::{self, offset_of};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use os::{Cost, Os, Session, WaitWord};

use crate::get::{self, Get};
use crate::raw::RawLatch;
use crate::reader_counts::{FrameHolds, ReaderCounts, leave_and_unpin};
use crate::state::State;
use crate::{FrameOrder, LatchKind, held};

/// The block that a frame holds, as the caller of a get knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameBlock {
    /// Its position in the order of latches.
    pub order: FrameOrder,
    /// p1 of `buffer busy waits`: the file's number.
    pub file: u64,
    /// p2: the block's number in its file.
    pub block: u64,
    /// p3: the block's class.
    pub class: u64,
}

impl FrameBlock {
    fn named(self, session: &Session) -> Get<'_> {
        let event = LatchKind::Frame.info().event;
        Get::new(session, event, self.file, self.block).with_p3(self.class)
    }
}

/// The latch of a frame of the buffer cache, which also counts the frame's pins. It outlives the
/// blocks in the frame, so each get names the block. The wait is `buffer busy waits` on that block.
///
/// The fields that an uncontended get doesn't touch come first. The fields that it does touch are
/// neighbours: the state, the counts, the value.
#[repr(C)]
pub struct FrameLatch<T> {
    raw: RawLatch<AtomicU64, WaitWord>,
    counts: Arc<ReaderCounts>,
    /// Protected by `raw` and the shared holds in `counts`.
    value: UnsafeCell<T>,
    /// The number of the frame, in `counts`.
    number: u32,
}

// SAFETY: the value is reached only through guards: `&T` by many threads at once, which asks for
// `T: Sync`, or `&mut T` by one thread after the other, which asks for `T: Send` (rule L6).
unsafe impl<T: Send + Sync> Sync for FrameLatch<T> {}

impl<T> FrameLatch<T> {
    /// The offset of the first field that a get touches. With it a frame can be laid out in cache
    /// lines.
    pub const STATE_AT: usize =
        offset_of!(FrameLatch<T>, raw) + offset_of!(RawLatch<AtomicU64, WaitWord>, state);

    /// A free latch around the contents of the frame with this number, whose readers are counted in
    /// `counts`.
    pub fn new(os: &Os, counts: &Arc<ReaderCounts>, number: u32, value: T) -> FrameLatch<T> {
        let state = AtomicU64::new(State::FREE.0);
        let raw = RawLatch::new(state, WaitWord::new(os, 0), WaitWord::new(os, 0));
        let counts = Arc::clone(counts);
        FrameLatch { raw, counts, value: UnsafeCell::new(value), number }
    }

    /// The number of the latch in its world (rule L5).
    pub fn id(&self) -> u64 {
        self.raw.readers().id()
    }

    /// Gets the latch shared. Waits while a writer has it or waits for it.
    #[inline]
    pub fn shared<'a>(
        &'a self,
        block: FrameBlock,
        session: &'a Session,
    ) -> FrameSharedGuard<'a, T> {
        get::begin(session);
        held::check_order(block.order.rank(), self.id());
        let holds = self.holds(session);
        self.raw.shared_striped(&holds, session, || block.named(session));
        held::enter(block.order.rank(), self.id());
        FrameSharedGuard { latch: self, session }
    }

    /// Gets the latch exclusively. Waits while any other thread has it.
    #[inline]
    pub fn exclusive<'a>(
        &'a self,
        block: FrameBlock,
        session: &'a Session,
    ) -> FrameExclusiveGuard<'a, T> {
        get::begin(session);
        held::check_order(block.order.rank(), self.id());
        self.raw.exclusive_striped(&self.holds(session), || block.named(session));
        held::enter(block.order.rank(), self.id());
        FrameExclusiveGuard { latch: self, session }
    }

    /// Gets the latch shared, or returns none instead of waiting. Exempt from the order of ranks
    /// (rule L3).
    #[inline]
    pub fn try_shared<'a>(
        &'a self,
        order: FrameOrder,
        session: &'a Session,
    ) -> Option<FrameSharedGuard<'a, T>> {
        get::begin(session);
        self.raw.try_shared_striped(&self.holds(session), session).then(|| {
            held::enter(order.rank(), self.id());
            FrameSharedGuard { latch: self, session }
        })
    }

    /// Gets the latch exclusively, or returns none instead of waiting. Exempt from the order of
    /// ranks (rule L3).
    #[inline]
    pub fn try_exclusive<'a>(
        &'a self,
        order: FrameOrder,
        session: &'a Session,
    ) -> Option<FrameExclusiveGuard<'a, T>> {
        get::begin(session);
        self.raw.try_exclusive_striped(&self.holds(session), session).then(|| {
            held::enter(order.rank(), self.id());
            FrameExclusiveGuard { latch: self, session }
        })
    }

    /// Counts a pin and gets the latch shared, in one step, if no writer has the latch or waits for
    /// it, and `is_wanted` says then that the frame is the right one. Otherwise neither is left
    /// (rule L20). Exempt from the order of ranks (rule L3).
    #[inline(always)]
    pub fn pin_shared<'a, P: Pinned + Copy>(
        &'a self,
        order: FrameOrder,
        pinned: P,
        is_wanted: impl FnOnce() -> bool,
        session: &'a Session,
    ) -> Option<PinnedShared<'a, T, P>> {
        session.charge(Cost::LatchGet, 1);
        let word = self.counts.pin_and_enter(self.number, session);
        if !self.raw.stays_inside(&self.holds(session), session) {
            if self.unpin(session) {
                pinned.stripe_unpinned(session);
            }
            return None;
        }
        let both = Both { latch: self, word, pinned, session };
        if !is_wanted() {
            return None;
        }
        mem::forget(both);
        held::enter(order.rank(), self.id());
        Some(PinnedShared { latch: self, word, pinned, session })
    }

    /// Removes a shared hold and a pin that are counted in this word, in one step.
    #[inline(always)]
    fn leave_both(&self, word: &AtomicU32, pinned: &impl Pinned, session: &Session) {
        let (last_hold, last_pin) = leave_and_unpin(word, session);
        if last_hold {
            self.raw.stripe_empty(session);
        }
        if last_pin {
            pinned.stripe_unpinned(session);
        }
    }

    #[cold]
    #[inline(never)]
    fn leave_in_vain(&self, word: &AtomicU32, pinned: impl Pinned, session: &Session) {
        self.leave_both(word, &pinned, session);
    }

    /// Counts one more pin of the frame, in the stripe of the session.
    #[inline]
    pub fn pin(&self, session: &Session) {
        self.counts.pin(self.number, session);
    }

    /// Removes one pin of the frame that this session has counted. Returns whether it was the last
    /// one of its stripe.
    #[inline]
    pub fn unpin(&self, session: &Session) -> bool {
        self.counts.unpin(self.number, session)
    }

    /// Whether any stripe has a pin of the frame. The stripes are read one after the other.
    pub fn has_pins(&self, session: &Session) -> bool {
        self.counts.has_pins(self.number, session)
    }

    #[inline]
    fn holds<'a>(&'a self, session: &'a Session) -> FrameHolds<'a> {
        self.counts.holds(self.number, session)
    }
}

/// Prints the state but not the guarded data, which another thread may be changing.
impl<T> fmt::Debug for FrameLatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameLatch {}: {:?}", self.id(), self.raw.state())
    }
}

/// A frame's latch, held shared. Dropping it releases the latch. It stays with its thread.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct FrameSharedGuard<'a, T> {
    latch: &'a FrameLatch<T>,
    session: &'a Session,
}

/// A pinned frame, for the owner of the pins: it is told when a stripe loses its last pin.
pub trait Pinned {
    /// Called when the last pin of a stripe has gone.
    fn stripe_unpinned(&self, session: &Session);
}

/// A pin and a shared hold that go if the frame isn't wanted, or on the way out of a panic.
///
/// A `PinnedShared` could do the same. But what may be dropped lies in memory, and a guard that is
/// returned is then moved from there in pieces of 16 bytes that were just written in pieces of 8,
/// for which the processor waits: that was a quarter of a hit. This one hands its parts over by
/// value, so that they stay in registers.
struct Both<'a, T, P: Pinned + Copy> {
    latch: &'a FrameLatch<T>,
    word: &'a AtomicU32,
    pinned: P,
    session: &'a Session,
}

impl<T, P: Pinned + Copy> Drop for Both<'_, T, P> {
    #[inline(always)]
    fn drop(&mut self) {
        self.latch.leave_in_vain(self.word, self.pinned, self.session);
    }
}

/// A frame's latch, held shared, and a pin of the frame. Dropping it releases both in one step. It
/// stays with its thread.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct PinnedShared<'a, T, P: Pinned> {
    latch: &'a FrameLatch<T>,
    /// The word in which both are counted.
    word: &'a AtomicU32,
    pinned: P,
    session: &'a Session,
}

impl<'a, T> FrameSharedGuard<'a, T> {
    /// Adds a pin that the caller has counted and now hands over.
    pub fn with_pin<P: Pinned>(self, pinned: P) -> PinnedShared<'a, T, P> {
        let (latch, session) = (self.latch, self.session);
        mem::forget(self);
        PinnedShared { latch, word: latch.counts.own(latch.number, session), pinned, session }
    }
}

/// A frame's latch, held exclusively. Dropping it releases the latch. It stays with its thread.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct FrameExclusiveGuard<'a, T> {
    latch: &'a FrameLatch<T>,
    session: &'a Session,
}

impl<T> Deref for FrameSharedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the latch is held shared while this guard lives, so no thread has `&mut T` (L6).
        unsafe { &*self.latch.value.get() }
    }
}

impl<T, P: Pinned> Deref for PinnedShared<'_, T, P> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the latch is held shared while this guard lives, so no thread has `&mut T` (L6).
        unsafe { &*self.latch.value.get() }
    }
}

impl<T> Deref for FrameExclusiveGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the latch is held exclusively while this guard lives, and `&self` keeps
        // `deref_mut` out, so no thread has `&mut T` (L6).
        unsafe { &*self.latch.value.get() }
    }
}

impl<T> DerefMut for FrameExclusiveGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the latch is held exclusively while this guard lives, and `&mut self` makes this
        // the only reference through it (L6).
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<T> Drop for FrameSharedGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        held::leave(self.latch.id());
        let holds = self.latch.holds(self.session);
        self.latch.raw.release_shared_striped(&holds, self.session);
    }
}

impl<T, P: Pinned> Drop for PinnedShared<'_, T, P> {
    #[inline(always)]
    fn drop(&mut self) {
        held::leave(self.latch.id());
        self.latch.leave_both(self.word, &self.pinned, self.session);
    }
}

impl<T> Drop for FrameExclusiveGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        held::leave(self.latch.id());
        self.latch.raw.release_exclusive(self.session);
    }
}

impl<T: fmt::Debug> fmt::Debug for FrameSharedGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: fmt::Debug> fmt::Debug for FrameExclusiveGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
