//! The latch without its data, with readers that are counted apart, in stripes.
//!
//! ```text
//!   reader   look: no writer? ─▶ enter own stripe ─▶ look again: no writer? ─▶ inside
//!                  │                                       │ a writer: leave the stripe
//!                  └──────────────▶ spin, wait ◀───────────┘ (waits are in the state, raw.rs)
//!
//!   writer   take the state (raw.rs) ─▶ look at all stripes: empty? ─▶ its own
//!                                              │ no: spin; say DRAINING and sleep until they are
//!                                              ▼
//!                                         looks again, whenever a stripe has become empty
//! ```
//!
//! No reader is inside with a writer (rule L12), because each side first announces itself and then
//! looks for the other: in any order of these four steps one of the two sees the other. No wake-up
//! is lost (rule L13) by the same argument: a writer announces that it sleeps and then looks at the
//! stripes; a reader leaves its stripe and then looks whether a writer sleeps.
//!
//! All four steps are sequentially consistent: with acquire and release alone both could look too
//! early, as loom shows. Callers: `frame_latch.rs`.

use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

use crate::parts::{Atom, Holds, Sleeper, Waker, Word};
use crate::raw::{RawLatch, spin};
use crate::state::{DRAINING, READER, State};

/// The state taken by a writer that looks whether readers are inside. If the writer unwinds there,
/// it gives the state up.
struct TakenState<'a, A: Atom, W: Word> {
    latch: &'a RawLatch<A, W>,
    is_draining: bool,
    unwinds: bool,
}

impl<'a, A: Atom, W: Word> TakenState<'a, A, W> {
    fn of<H: Holds>(latch: &'a RawLatch<A, W>, _: &H) -> TakenState<'a, A, W> {
        TakenState { latch, is_draining: false, unwinds: H::UNWINDS }
    }

    /// Notes that the writer didn't unwind.
    #[inline]
    fn stays_taken(self) {
        std::mem::forget(self);
    }
}

impl<A: Atom, W: Word> Drop for TakenState<'_, A, W> {
    #[cold]
    fn drop(&mut self) {
        if !self.unwinds {
            return;
        }
        if self.is_draining {
            self.latch.state.subtract(DRAINING, Relaxed);
        }
        // No thread is woken: a waiter unwinds too, or polls.
        self.latch.give_up_exclusive();
    }
}

/// A reader that has waited, on its way from the state into its stripe. If it unwinds, it gives up
/// what it has of the two.
struct EnteringReader<'a, A: Atom, W: Word, H: Holds> {
    latch: &'a RawLatch<A, W>,
    holds: &'a H,
    has_entered: bool,
}

impl<A: Atom, W: Word, H: Holds> Drop for EnteringReader<'_, A, W, H> {
    #[cold]
    fn drop(&mut self) {
        if !H::UNWINDS {
            return;
        }
        // No thread is woken: a waiter unwinds too, or polls.
        if self.has_entered {
            let _ = self.holds.leave();
        } else {
            self.latch.state.subtract(READER, Release);
        }
    }
}

impl<A: Atom, W: Word> RawLatch<A, W> {
    #[inline]
    pub(crate) fn try_shared_striped(&self, holds: &impl Holds, waker: &impl Waker<W>) -> bool {
        // This isn't needed, but a reader that enters in vain holds a writer up.
        if self.state().keeps_readers_out() {
            return false;
        }
        holds.enter();
        self.stays_inside(holds, waker)
    }

    /// Whether a reader that has entered its stripe is inside. If it isn't, it has left the stripe
    /// again.
    #[inline]
    pub(crate) fn stays_inside(&self, holds: &impl Holds, waker: &impl Waker<W>) -> bool {
        if State(self.state.load(SeqCst)).keeps_readers_out() {
            self.release_shared_striped(holds, waker);
            return false;
        }
        true
    }

    #[inline]
    pub(crate) fn try_exclusive_striped(&self, holds: &impl Holds, waker: &impl Waker<W>) -> bool {
        if !self.try_take(State::take_exclusive, SeqCst) {
            return false;
        }
        let taken = TakenState::of(self, holds);
        let is_shared = holds.any();
        taken.stays_taken();
        if is_shared {
            // Lets in the threads that have come to wait meanwhile.
            self.release_exclusive(waker);
        }
        !is_shared
    }

    #[inline]
    pub(crate) fn shared_striped<S: Sleeper<W>>(
        &self,
        holds: &impl Holds,
        waker: &impl Waker<W>,
        sleeper: impl FnOnce() -> S,
    ) {
        if !self.try_shared_striped(holds, waker) {
            self.shared_striped_contended(holds, waker, sleeper());
        }
    }

    #[inline]
    pub(crate) fn exclusive_striped<S: Sleeper<W>>(
        &self,
        holds: &impl Holds,
        sleeper: impl FnOnce() -> S,
    ) {
        if !self.try_take(State::take_exclusive, SeqCst) {
            let sleeper = sleeper();
            self.exclusive_contended(sleeper, SeqCst);
            self.drain(TakenState::of(self, holds), holds, sleeper);
            return;
        }
        let taken = TakenState::of(self, holds);
        if holds.any() {
            self.drain(taken, holds, sleeper());
        } else {
            taken.stays_taken();
        }
    }

    #[inline]
    pub(crate) fn release_shared_striped(&self, holds: &impl Holds, waker: &impl Waker<W>) {
        if holds.leave() {
            self.stripe_empty(waker);
        }
    }

    /// Called when the last reader has left a stripe.
    #[inline]
    pub(crate) fn stripe_empty(&self, waker: &impl Waker<W>) {
        if State(self.state.load(SeqCst)).is_draining() {
            self.wake_drainer(waker);
        }
    }

    /// Waits as a reader of any latch does, and then holds the latch by the state. It enters its
    /// stripe before it gives up the state.
    #[cold]
    fn shared_striped_contended<S: Sleeper<W>>(
        &self,
        holds: &impl Holds,
        waker: &impl Waker<W>,
        sleeper: S,
    ) {
        if spin(sleeper, || self.try_shared_striped(holds, waker)) {
            return;
        }
        self.shared_waited(sleeper);
        let mut reader = EnteringReader { latch: self, holds, has_entered: false };
        holds.enter();
        reader.has_entered = true;
        self.release_shared(waker);
        std::mem::forget(reader);
    }

    /// Waits for the readers inside. The caller has the state, and no more readers come in.
    #[cold]
    fn drain<S: Sleeper<W>>(
        &self,
        mut taken: TakenState<'_, A, W>,
        holds: &impl Holds,
        sleeper: S,
    ) {
        if !holds.any() || spin(sleeper, || !holds.any()) {
            return taken.stays_taken();
        }
        self.state.add(DRAINING, SeqCst);
        taken.is_draining = true;
        for tries in 1.. {
            let word = self.writers.load();
            if !holds.any() {
                break;
            }
            let _ = sleeper.sleep(&self.writers, word, None, tries);
        }
        self.state.subtract(DRAINING, Relaxed);
        taken.stays_taken();
    }

    /// Wakes all sleepers there, because the draining writer may not be the first.
    #[cold]
    fn wake_drainer(&self, waker: &impl Waker<W>) {
        self.writers.raise();
        waker.wake(&self.writers, u32::MAX);
    }
}
