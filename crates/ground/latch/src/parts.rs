//! The parts of latches, as traits: the machines in `raw` run on the real parts and, in tests, on
//! those of a model checker.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, Ordering};

use os::{Session, WaitWord, Woken};
use waits::Nanos;

/// A number that several threads change. All changes are exchanges, additions and subtractions, so
/// that a thread that sees a later value also sees all that came before every earlier value (the
/// release sequence is never broken).
pub(crate) trait Atom {
    fn load(&self, order: Ordering) -> u64;
    /// May fail for no reason. When it fails it returns the value found, without any memory order.
    fn exchange(&self, seen: u64, next: u64, order: Ordering) -> Result<u64, u64>;
    fn add(&self, amount: u64, order: Ordering);
    /// Subtracts. Returns the value before.
    fn subtract(&self, amount: u64, order: Ordering) -> u64;
}

/// Shared holds that are counted apart from the latch's state, in stripes. Every change and every
/// read is sequentially consistent.
pub(crate) trait Holds {
    /// Whether other threads go on when a thread unwinds out of one of these calls; false in a
    /// model that has failed.
    const UNWINDS: bool;
    /// Adds one hold to the acting thread's stripe.
    fn enter(&self);
    /// Removes one hold. Returns whether it was the last of the stripe.
    fn leave(&self) -> bool;
    /// Whether any stripe has a hold. The stripes are read one after the other.
    fn any(&self) -> bool;
}

/// A word that threads sleep on.
pub(crate) trait Word {
    /// The value; all writes before the value was written are visible.
    fn load(&self) -> u32;
    /// Changes the value, so that a thread that is about to sleep on the old one doesn't.
    fn raise(&self);
    /// Sets bits. Returns the value before.
    fn set_bits(&self, bits: u32) -> u32;
    /// Replaces the value. Returns the value before.
    fn replace(&self, value: u32) -> u32;
}

/// The acting thread as one that wakes others.
pub(crate) trait Waker<W> {
    fn wake(&self, word: &W, count: u32);
}

/// The acting thread as one that may have to wait.
pub(crate) trait Sleeper<W>: Copy {
    /// The number of tries of a get before the thread sleeps.
    const SPIN_TURNS: u32;
    /// Whether other threads go on when a thread unwinds out of its sleep; false in a model that
    /// has failed.
    const UNWINDS: bool;
    /// One turn of a spin.
    fn relax(self, turn: u32);
    /// Sleeps while `word` holds `expected`. May return for no reason.
    fn sleep(self, word: &W, expected: u32, timeout: Option<Nanos>, tries: u64) -> Woken;
}

impl Atom for AtomicU64 {
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }

    #[inline]
    fn exchange(&self, seen: u64, next: u64, order: Ordering) -> Result<u64, u64> {
        self.compare_exchange_weak(seen, next, order, Relaxed)
    }

    #[inline]
    fn add(&self, amount: u64, order: Ordering) {
        self.fetch_add(amount, order);
    }

    #[inline]
    fn subtract(&self, amount: u64, order: Ordering) -> u64 {
        self.fetch_sub(amount, order)
    }
}

impl Word for WaitWord {
    fn load(&self) -> u32 {
        self.value().load(Acquire)
    }

    fn raise(&self) {
        self.value().fetch_add(1, Release);
    }

    fn set_bits(&self, bits: u32) -> u32 {
        self.value().fetch_or(bits, AcqRel)
    }

    fn replace(&self, value: u32) -> u32 {
        self.value().swap(value, AcqRel)
    }
}

impl Waker<WaitWord> for Session {
    fn wake(&self, word: &WaitWord, count: u32) {
        word.wake(count, self);
    }
}

/// A word that others than its machine keep too: who cancels a sleeper's call wakes it (L28).
impl Word for Arc<WaitWord> {
    fn load(&self) -> u32 {
        Word::load(&**self)
    }

    fn raise(&self) {
        Word::raise(&**self);
    }

    fn set_bits(&self, bits: u32) -> u32 {
        Word::set_bits(&**self, bits)
    }

    fn replace(&self, value: u32) -> u32 {
        Word::replace(&**self, value)
    }
}

impl Waker<Arc<WaitWord>> for Session {
    fn wake(&self, word: &Arc<WaitWord>, count: u32) {
        word.wake(count, self);
    }
}
