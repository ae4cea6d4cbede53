//! The latch without its data: one number and two words, on real or modelled parts.
//!
//! ```text
//!   state     the holders, and the numbers of waiters (state.rs)
//!   readers   the word on which waiting readers sleep
//!   writers   the word on which waiting writers sleep
//! ```
//!
//! No wake-up is lost (rule L8), because both sides keep an order. A thread that releases the latch
//! changes the state, then raises the word, then wakes. A thread that waits enters itself in the
//! state, reads the word, looks at the state, then sleeps on the value that it read. A sleeper that
//! missed the change of state finds another value in the word, or is asleep and woken.
//!
//! Memory orders: taking acquires, releasing releases, on `state`. Callers: `latch.rs`, and
//! `striped.rs`, which takes it exclusively in a stronger order.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};

use crate::parts::{Atom, Sleeper, Waker, Word};
use crate::state::{READER, State};

/// `state` is last, so that the guarded data lies beside it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct RawLatch<A, W> {
    readers: W,
    pub(crate) writers: W,
    pub(crate) state: A,
}

/// A waiting thread. If it unwinds out of its wait, as all do in a simulation that stops, it leaves
/// the waiters. Otherwise the latch would be handed to it, or kept for it, for ever.
struct WaitingThread<'a, A: Atom, W: Word> {
    latch: &'a RawLatch<A, W>,
    /// For a reader: the phase in which it came.
    reader: Option<u64>,
    /// Whether other threads go on and need this cleanup.
    unwinds: bool,
}

impl<A: Atom, W: Word> WaitingThread<'_, A, W> {
    /// Notes that the waiter has the latch.
    fn has_it(self) {
        std::mem::forget(self);
    }
}

impl<A: Atom, W: Word> Drop for WaitingThread<'_, A, W> {
    #[cold]
    fn drop(&mut self) {
        if !self.unwinds {
            return;
        }
        let mut seen = self.latch.state();
        let leaves = |seen: State| match self.reader {
            Some(phase) => seen.reader_gives_up(phase),
            None => seen.writer_gives_up(),
        };
        // No thread is woken: a waiter unwinds too, or polls.
        while let Err(now) = self.latch.state.exchange(seen.0, leaves(seen).0, AcqRel) {
            seen = State(now);
        }
    }
}

/// The result of a try to take the latch, after which a thread that failed is a waiter.
enum TakeResult {
    Taken,
    Waiting(State),
}

impl<A: Atom, W: Word> RawLatch<A, W> {
    /// A free latch. `state` must be zero; the words may hold anything.
    pub(crate) fn new(state: A, readers: W, writers: W) -> RawLatch<A, W> {
        RawLatch { readers, writers, state }
    }

    /// The word of the readers, whose id is the latch's id.
    pub(crate) fn readers(&self) -> &W {
        &self.readers
    }

    /// The present state, for messages and tests.
    pub(crate) fn state(&self) -> State {
        State(self.state.load(Relaxed))
    }

    #[inline]
    pub(crate) fn try_shared(&self) -> bool {
        self.try_take(State::take_shared, Acquire)
    }

    #[inline]
    pub(crate) fn try_exclusive(&self) -> bool {
        self.try_take(State::take_exclusive, Acquire)
    }

    #[inline]
    pub(crate) fn shared<S: Sleeper<W>>(&self, sleeper: impl FnOnce() -> S) {
        if !self.try_shared() {
            self.shared_contended(sleeper());
        }
    }

    #[inline]
    pub(crate) fn exclusive<S: Sleeper<W>>(&self, sleeper: impl FnOnce() -> S) {
        if !self.try_exclusive() {
            self.exclusive_contended(sleeper(), Acquire);
        }
    }

    #[inline]
    pub(crate) fn release_shared(&self, waker: &impl Waker<W>) {
        let before = State(self.state.subtract(READER, Release));
        assert!(before.readers() > 0, "a latch is let go that isn't held: {before:?}");
        if before.readers() == 1 && before.waiting_writers() > 0 {
            self.wake_writer(waker);
        }
    }

    #[inline]
    pub(crate) fn release_exclusive(&self, waker: &impl Waker<W>) {
        let seen = self.give_up_exclusive();
        if seen.waiting_readers() > 0 {
            self.wake_readers(waker);
        } else if seen.waiting_writers() > 0 {
            self.wake_writer(waker);
        }
    }

    /// Takes the latch as long as its state allows that, whatever else changes meanwhile.
    #[inline]
    pub(crate) fn try_take(&self, take: impl Fn(State) -> Option<State>, order: Ordering) -> bool {
        let mut seen = self.state();
        while let Some(taken) = take(seen) {
            match self.state.exchange(seen.0, taken.0, order) {
                Ok(_) => return true,
                Err(now) => seen = State(now),
            }
        }
        false
    }

    /// Lets the waiting readers in, or the next writer, and wakes neither. Returns the state that
    /// was.
    #[inline]
    pub(crate) fn give_up_exclusive(&self) -> State {
        let mut seen = self.state();
        loop {
            match self.state.exchange(seen.0, seen.release_exclusive().0, Release) {
                Ok(_) => return seen,
                Err(now) => seen = State(now),
            }
        }
    }

    /// Takes the latch or enters the caller among the waiters, in one step.
    fn take_or(
        &self,
        take: impl Fn(State) -> Option<State>,
        wait: impl Fn(State) -> State,
        order: Ordering,
    ) -> TakeResult {
        let mut seen = self.state();
        loop {
            let taken = take(seen);
            let next = taken.unwrap_or_else(|| wait(seen));
            match self.state.exchange(seen.0, next.0, order) {
                Ok(_) if taken.is_some() => return TakeResult::Taken,
                Ok(_) => return TakeResult::Waiting(next),
                Err(now) => seen = State(now),
            }
        }
    }

    #[cold]
    fn shared_contended<S: Sleeper<W>>(&self, sleeper: S) {
        if spin(sleeper, || self.try_shared()) {
            return;
        }
        self.shared_waited(sleeper);
    }

    /// Takes the latch shared, in the state, after waiting if necessary.
    pub(crate) fn shared_waited<S: Sleeper<W>>(&self, sleeper: S) {
        let phase = match self.take_or(State::take_shared, State::reader_waits, Acquire) {
            TakeResult::Taken => return,
            TakeResult::Waiting(state) => state.phase(),
        };
        let waits = WaitingThread { latch: self, reader: Some(phase), unwinds: S::UNWINDS };
        for tries in 1.. {
            let word = self.readers.load();
            if State(self.state.load(Acquire)).phase() != phase {
                return waits.has_it();
            }
            let _ = sleeper.sleep(&self.readers, word, None, tries);
        }
    }

    #[cold]
    pub(crate) fn exclusive_contended<S: Sleeper<W>>(&self, sleeper: S, order: Ordering) {
        if spin(sleeper, || self.try_take(State::take_exclusive, order)) {
            return;
        }
        match self.take_or(State::take_exclusive, State::writer_waits, order) {
            TakeResult::Taken => return,
            TakeResult::Waiting(_) => {}
        }
        let waits = WaitingThread { latch: self, reader: None, unwinds: S::UNWINDS };
        for tries in 1.. {
            let word = self.writers.load();
            if self.try_take(State::take_exclusive_waited, order) {
                return waits.has_it();
            }
            let _ = sleeper.sleep(&self.writers, word, None, tries);
        }
    }

    #[cold]
    fn wake_readers(&self, waker: &impl Waker<W>) {
        self.readers.raise();
        waker.wake(&self.readers, u32::MAX);
    }

    #[cold]
    fn wake_writer(&self, waker: &impl Waker<W>) {
        self.writers.raise();
        waker.wake(&self.writers, 1);
    }
}

pub(crate) fn spin<W, S: Sleeper<W>>(sleeper: S, attempt: impl Fn() -> bool) -> bool {
    (0..S::SPIN_TURNS).any(|turn| {
        sleeper.relax(turn);
        attempt()
    })
}
