//! A latch that owns the data that it guards.
//!
//! ```text
//!   Latch ──shared──▶ SharedGuard     reads, with others
//!     │
//!     └──exclusive──▶ ExclusiveGuard  reads and writes, alone
//! ```
//!
//! Uncontended, a get and a release are one exchange each and no system call. A get that fails
//! spins briefly, then waits under the event of the latch's kind. `raw.rs` has the machine, and
//! `state.rs` the order.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU64;

use os::{Os, Session, WaitWord};

use crate::check::Check;
use crate::get::{self, Get};
use crate::raw::RawLatch;
use crate::state::State;
use crate::{LatchKind, held};

/// Guards a `T`: many readers or one writer. Frames of the buffer cache have a [`FrameLatch`].
///
/// The fields that an uncontended get doesn't touch come first; the state and the value are
/// neighbours.
#[repr(C)]
pub struct Latch<T> {
    kind: LatchKind,
    raw: RawLatch<AtomicU64, WaitWord>,
    /// Checks the value when a writer releases the latch (rule L15).
    check: Option<Box<Check<T>>>,
    /// Protected by `raw`.
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through guards: `&T` by many threads at once, which asks for
// `T: Sync`, or `&mut T` by one thread after the other, which asks for `T: Send` (rule L6).
unsafe impl<T: Send + Sync> Sync for Latch<T> {}

impl<T> Latch<T> {
    /// A free latch of this kind around `value`. It is not for frames, whose rank changes with
    /// their block.
    pub fn new(os: &Os, kind: LatchKind, value: T) -> Latch<T> {
        assert!(kind != LatchKind::Frame, "a frame has a FrameLatch");
        let state = AtomicU64::new(State::FREE.0);
        let raw = RawLatch::new(state, WaitWord::new(os, 0), WaitWord::new(os, 0));
        Latch { kind, raw, check: None, value: UnsafeCell::new(value) }
    }

    /// The same latch with a check of the guarded data. `look` panics if the value isn't
    /// consistent, and returns the number of parts that it has checked. It is called when a writer
    /// releases the latch, at the rate that the world wants (L15).
    #[must_use]
    pub fn checked(self, os: &Os, look: impl Fn(&T) -> usize + Send + Sync + 'static) -> Latch<T> {
        Latch { check: Check::new(os, look), ..self }
    }

    /// The number of the latch in its world, stable from run to run (rule L5). It is p1 of the wait
    /// event.
    pub fn id(&self) -> u64 {
        self.raw.readers().id()
    }

    /// The kind of the latch.
    pub fn kind(&self) -> LatchKind {
        self.kind
    }

    /// Gets the latch shared. Waits while a writer has it or waits for it.
    #[inline]
    pub fn shared<'a>(&'a self, session: &'a Session) -> SharedGuard<'a, T> {
        get::begin(session);
        held::check_order(self.kind.rank(), self.id());
        self.raw.shared(|| self.named(session));
        held::enter(self.kind.rank(), self.id());
        SharedGuard { latch: self, session }
    }

    /// Gets the latch exclusively. Waits while any other thread has it.
    #[inline]
    pub fn exclusive<'a>(&'a self, session: &'a Session) -> ExclusiveGuard<'a, T> {
        get::begin(session);
        held::check_order(self.kind.rank(), self.id());
        self.raw.exclusive(|| self.named(session));
        held::enter(self.kind.rank(), self.id());
        ExclusiveGuard { hold: Hold { latch: self, session } }
    }

    /// Gets the latch shared, or returns none instead of waiting. Exempt from the order of ranks
    /// (rule L3).
    #[inline]
    pub fn try_shared<'a>(&'a self, session: &'a Session) -> Option<SharedGuard<'a, T>> {
        get::begin(session);
        self.raw.try_shared().then(|| {
            held::enter(self.kind.rank(), self.id());
            SharedGuard { latch: self, session }
        })
    }

    /// Gets the latch exclusively, or returns none instead of waiting. Exempt from the order of
    /// ranks (rule L3).
    #[inline]
    pub fn try_exclusive<'a>(&'a self, session: &'a Session) -> Option<ExclusiveGuard<'a, T>> {
        get::begin(session);
        self.raw.try_exclusive().then(|| {
            held::enter(self.kind.rank(), self.id());
            ExclusiveGuard { hold: Hold { latch: self, session } }
        })
    }

    /// The value, when no other thread can have the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value, at the end of the latch.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    fn named<'a>(&self, session: &'a Session) -> Get<'a> {
        let info = self.kind.info();
        Get::new(session, info.event, self.id(), u64::from(info.number))
    }
}

/// Prints the state but not the guarded data, which another thread may be changing.
impl<T> fmt::Debug for Latch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Latch {} ({}): {:?}", self.id(), self.kind.rank(), self.raw.state())
    }
}

/// The latch, held shared. Dropping it releases the latch. It stays with its thread.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct SharedGuard<'a, T> {
    latch: &'a Latch<T>,
    session: &'a Session,
}

/// The latch, held exclusively. Dropping it releases the latch. It stays with its thread.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct ExclusiveGuard<'a, T> {
    hold: Hold<'a, T>,
}

/// Releases the latch after the check, also if the check panics.
struct Hold<'a, T> {
    latch: &'a Latch<T>,
    session: &'a Session,
}

impl<'a, T> ExclusiveGuard<'a, T> {
    /// Releases the latch and returns what is needed to get it again. For `Condition`.
    pub(crate) fn release(self) -> (&'a Latch<T>, &'a Session) {
        (self.hold.latch, self.hold.session)
    }
}

impl<T> Deref for SharedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the latch is held shared while this guard lives, so no thread has `&mut T` (L6).
        unsafe { &*self.latch.value.get() }
    }
}

impl<T> Deref for ExclusiveGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the latch is held exclusively while this guard lives, and `&self` keeps
        // `deref_mut` out, so no thread has `&mut T` (L6).
        unsafe { &*self.hold.latch.value.get() }
    }
}

impl<T> DerefMut for ExclusiveGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the latch is held exclusively while this guard lives, and `&mut self` makes this
        // the only reference through it (L6).
        unsafe { &mut *self.hold.latch.value.get() }
    }
}

impl<T> Drop for SharedGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        held::leave(self.latch.id());
        self.latch.raw.release_shared(self.session);
    }
}

impl<T> Drop for ExclusiveGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(check) = &self.hold.latch.check {
            check.run(self);
        }
    }
}

impl<T> Drop for Hold<'_, T> {
    #[inline]
    fn drop(&mut self) {
        held::leave(self.latch.id());
        self.latch.raw.release_exclusive(self.session);
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: fmt::Debug> fmt::Debug for ExclusiveGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
