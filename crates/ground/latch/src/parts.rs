//! What latches are made of, as traits: the machines in `raw` run on the real parts and, in tests,
//! on those of a model checker.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, Ordering};

use os::{Session, WaitWord, Woken};
use waits::Nanos;

/// A number that threads change at once. Changes are exchanges, additions and subtractions only,
/// so that whoever sees a later value also sees what came before every earlier one (the release
/// sequence is never broken).
pub(crate) trait Atom {
    fn load(&self, order: Ordering) -> u64;
    /// May fail for no reason. Gives the value found when it fails; then with no order.
    fn exchange(&self, seen: u64, next: u64, order: Ordering) -> Result<u64, u64>;
    fn add(&self, amount: u64, order: Ordering);
    /// The value before.
    fn subtract(&self, amount: u64, order: Ordering) -> u64;
}

/// Shared holds that are counted apart from the latch's state, in stripes. Every change and every
/// look is sequentially consistent.
pub(crate) trait Holds {
    /// One more, in the acting thread's stripe.
    fn enter(&self);
    /// One less; whether it was the last of the stripe.
    fn leave(&self) -> bool;
    /// Whether any stripe has one, each as it was at the look at it.
    fn any(&self) -> bool;
}

/// A word that threads sleep on.
pub(crate) trait Word {
    /// Its value; what came before it was written is seen.
    fn load(&self) -> u32;
    /// Makes its value another: who is about to sleep on the old one doesn't.
    fn raise(&self);
    /// Sets bits; the value before.
    fn set_bits(&self, bits: u32) -> u32;
    /// Replaces the value; the value before.
    fn replace(&self, value: u32) -> u32;
}

/// The acting thread, when it lets others go on.
pub(crate) trait Waker<W> {
    fn wake(&self, word: &W, count: u32);
}

/// The acting thread, when it may have to wait itself.
pub(crate) trait Sleeper<W>: Copy {
    /// How often a get is tried again before the thread sleeps.
    const SPIN_TURNS: u32;
    /// Whether others go on when a thread unwinds out of its sleep; not in a model that has failed.
    const UNWINDS: bool;
    /// One turn of a spin.
    fn relax(self, turn: u32);
    /// Sleeps while `word` holds `expected`; may return for no reason.
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
