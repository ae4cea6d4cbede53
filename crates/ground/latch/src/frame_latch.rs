//! The latch of a frame of the buffer cache, whose readers don't write to one place.
//!
//! ```text
//!   session 1 ──pin, shared──▶ stripe 0 ┐
//!   session 2 ──pin, shared──▶ stripe 1 ├──▶ look at the state: no writer? then it is theirs
//!   session 3 ──pin, shared──▶ stripe 0 ┘
//!
//!   writer ──▶ the state says so ──▶ look at every stripe: no reader? then it is its own
//! ```
//!
//! It differs from a [`Latch`](crate::Latch) in two things. The block in a frame comes and goes, so
//! each get says which one it is for. And readers are counted in stripes (`reader_counts.rs`), so
//! that two that read one block on two processors don't take a line of memory from each other; the
//! machine for that is in `striped.rs`.
//!
//! Callers: the buffer cache.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::offset_of;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use os::{Cost, Os, Session, WaitWord};

use crate::get::{self, Get};
use crate::raw::RawLatch;
use crate::reader_counts::{FrameHolds, ReaderCounts, leave_and_unpin};
use crate::state::State;
use crate::{FrameOrder, LatchKind, held};

/// The block that a frame holds, as the one who asks for the frame's latch knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameBlock {
    /// Its place in the order of latches.
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

/// The latch of a frame of the buffer cache, and where the frame's pins are counted. It outlives
/// the blocks that come and go in the frame, so each get names the block; the wait is `buffer busy
/// waits` on that block.
///
/// What an uncontended get doesn't touch comes first; what it does touch are neighbours: the state,
/// where to count, the value.
#[repr(C)]
pub struct FrameLatch<T> {
    raw: RawLatch<AtomicU64, WaitWord>,
    counts: Arc<ReaderCounts>,
    /// Protected by `raw` and the shared holds in `counts`.
    value: UnsafeCell<T>,
    /// The frame's, in `counts`.
    number: u32,
}

// SAFETY: the value is reached only through guards: `&T` by many threads at once, which asks for
// `T: Sync`, or `&mut T` by one thread after the other, which asks for `T: Send` (rule L6).
unsafe impl<T: Send + Sync> Sync for FrameLatch<T> {}

impl<T> FrameLatch<T> {
    /// Where in it that begins which a get touches. So a frame can be laid out in lines of the
    /// processor's cache.
    pub const STATE_AT: usize =
        offset_of!(FrameLatch<T>, raw) + offset_of!(RawLatch<AtomicU64, WaitWord>, state);

    /// A free latch around the contents of the frame of this number, whose readers are counted in
    /// `counts`.
    pub fn new(os: &Os, counts: &Arc<ReaderCounts>, number: u32, value: T) -> FrameLatch<T> {
        let state = AtomicU64::new(State::FREE.0);
        let raw = RawLatch::new(state, WaitWord::new(os, 0), WaitWord::new(os, 0));
        let counts = Arc::clone(counts);
        FrameLatch { raw, counts, value: UnsafeCell::new(value), number }
    }

    /// Its number in its world (rule L5).
    pub fn id(&self) -> u64 {
        self.raw.readers().id()
    }

    /// Gets it together with other readers. Waits while a writer has it or waits for it.
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

    /// Gets it alone. Waits while anybody has it.
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

    /// As `shared`, but gives up rather than waits. Exempt from the order of ranks (rule L3).
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

    /// As `exclusive`, but gives up rather than waits. Exempt from the order of ranks (rule L3).
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

    /// Counts a pin and gets the latch together with other readers, in one step. While a writer has
    /// it or waits for it there is only the pin. Exempt from the order of ranks (rule L3).
    #[inline(always)]
    pub fn pin_shared<'a, P: Pinned>(
        &'a self,
        order: FrameOrder,
        pinned: P,
        session: &'a Session,
    ) -> Option<PinnedShared<'a, T, P>> {
        session.charge(Cost::LatchGet, 1);
        let word = self.counts.pin_and_enter(self.number, session);
        if !self.raw.stays_inside(&self.holds(session), session) {
            return None;
        }
        held::enter(order.rank(), self.id());
        Some(PinnedShared { latch: self, word, pinned, session })
    }

    /// Counts one more pin of the frame, in the stripe of the session.
    #[inline]
    pub fn pin(&self, session: &Session) {
        self.counts.pin(self.number, session);
    }

    /// One pin of the frame goes that this session has counted; whether it was the last one of its
    /// stripe.
    #[inline]
    pub fn unpin(&self, session: &Session) -> bool {
        self.counts.unpin(self.number, session)
    }

    /// Whether any stripe has a pin of the frame, each as it was at the look at it.
    pub fn has_pins(&self, session: &Session) -> bool {
        self.counts.has_pins(self.number, session)
    }

    #[inline]
    fn holds<'a>(&'a self, session: &'a Session) -> FrameHolds<'a> {
        self.counts.holds(self.number, session)
    }
}

/// Says how it stands; not what it guards, which another thread may be changing.
impl<T> fmt::Debug for FrameLatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameLatch {}: {:?}", self.id(), self.raw.state())
    }
}

/// A frame's latch held together with other readers; lets go when dropped. Stays with its thread.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct FrameSharedGuard<'a, T> {
    latch: &'a FrameLatch<T>,
    session: &'a Session,
}

/// What is pinned, for who counts pins: told when one goes.
pub trait Pinned {
    /// A pin of it has gone, the last one of its stripe.
    fn stripe_unpinned(&self, session: &Session);
}

/// A frame's latch held together with other readers, and a pin of the frame; lets both go when
/// dropped, in one step. Stays with its thread.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct PinnedShared<'a, T, P: Pinned> {
    latch: &'a FrameLatch<T>,
    /// Where both are counted.
    word: &'a AtomicU32,
    pinned: P,
    session: &'a Session,
}

impl<'a, T> FrameSharedGuard<'a, T> {
    /// The same, with a pin that the caller has counted and now hands over.
    pub fn with_pin<P: Pinned>(self, pinned: P) -> PinnedShared<'a, T, P> {
        let (latch, session) = (self.latch, self.session);
        std::mem::forget(self);
        PinnedShared { latch, word: latch.counts.own(latch.number, session), pinned, session }
    }
}

/// A frame's latch held alone; lets go when dropped. Stays with its thread.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct FrameExclusiveGuard<'a, T> {
    latch: &'a FrameLatch<T>,
    session: &'a Session,
}

impl<T> Deref for FrameSharedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the latch is held shared while this guard lives, so nobody has `&mut T` (L6).
        unsafe { &*self.latch.value.get() }
    }
}

impl<T, P: Pinned> Deref for PinnedShared<'_, T, P> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the latch is held shared while this guard lives, so nobody has `&mut T` (L6).
        unsafe { &*self.latch.value.get() }
    }
}

impl<T> Deref for FrameExclusiveGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the latch is held exclusively while this guard lives, and `&self` keeps
        // `deref_mut` out, so nobody has `&mut T` (L6).
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
        let (last_hold, last_pin) = leave_and_unpin(self.word, self.session);
        if last_hold {
            self.latch.raw.stripe_empty(self.session);
        }
        if last_pin {
            self.pinned.stripe_unpinned(self.session);
        }
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
