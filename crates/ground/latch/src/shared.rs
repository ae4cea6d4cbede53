//! Numbers that sessions coordinate by without a latch.
//!
//! Each access is a point at which the simulator may switch to another thread (rule L11): a bare
//! atomic would run in one piece there, and its races would never be seen.
//!
//! Every access is sequentially consistent. That is what the simulator explores, so what it finds
//! right is right on the machine too. On x86-64 loads and exchanges cost the same as with any
//! weaker order; only a store costs more (some 20 cycles).
//!
//! A [`Guess`] is neither: nothing but speed depends on it.

use std::fmt;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64};

use os::Session;

/// A number that only how fast something goes depends on, and nothing that it does: so an access is
/// no point at which the simulator switches, and in no order with others.
#[derive(Default)]
pub struct Guess(AtomicU64);

impl Guess {
    /// What was guessed last; 0 if nothing was.
    #[inline]
    pub fn load(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Guesses.
    #[inline]
    pub fn store(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
}

impl fmt::Debug for Guess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guess({:#x})", self.load())
    }
}

macro_rules! shared_number {
    ($(#[$doc:meta])* $name:ident, $atomic:ident, $number:ident) => {
        $(#[$doc])*
        #[derive(Default)]
        pub struct $name($atomic);

        impl $name {
            /// A number that holds `value`.
            pub const fn new(value: $number) -> $name {
                $name($atomic::new(value))
            }

            /// Its value.
            #[inline]
            pub fn load(&self, session: &Session) -> $number {
                session.interleave();
                self.0.load(SeqCst)
            }

            /// Its value, for a check (L15): no point at which the simulator switches.
            pub fn peek(&self) -> $number {
                self.0.load(SeqCst)
            }

            /// Makes it `value`.
            #[inline]
            pub fn store(&self, value: $number, session: &Session) {
                session.interleave();
                self.0.store(value, SeqCst);
            }

            /// Makes it `value`; what it was before.
            #[inline]
            pub fn swap(&self, value: $number, session: &Session) -> $number {
                session.interleave();
                self.0.swap(value, SeqCst)
            }

            /// Makes it `next` if it is `current`; if it isn't, says what it is.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $number,
                next: $number,
                session: &Session,
            ) -> Result<(), $number> {
                session.interleave();
                self.0.compare_exchange(current, next, SeqCst, SeqCst).map(|_| ())
            }

            /// Adds, and wraps around; what it was before.
            #[inline]
            pub fn fetch_add(&self, amount: $number, session: &Session) -> $number {
                session.interleave();
                self.0.fetch_add(amount, SeqCst)
            }

            /// Subtracts, and wraps around; what it was before.
            #[inline]
            pub fn fetch_sub(&self, amount: $number, session: &Session) -> $number {
                session.interleave();
                self.0.fetch_sub(amount, SeqCst)
            }

            /// Raises it to `least` if it is lower; what it was before.
            #[inline]
            pub fn fetch_max(&self, least: $number, session: &Session) -> $number {
                session.interleave();
                self.0.fetch_max(least, SeqCst)
            }

            /// Sets bits; what it was before.
            #[inline]
            pub fn fetch_or(&self, bits: $number, session: &Session) -> $number {
                session.interleave();
                self.0.fetch_or(bits, SeqCst)
            }

            /// Clears the bits that aren't in `bits`; what it was before.
            #[inline]
            pub fn fetch_and(&self, bits: $number, session: &Session) -> $number {
                session.interleave();
                self.0.fetch_and(bits, SeqCst)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.load(Relaxed).fmt(f)
            }
        }
    };
}

shared_number! {
    /// A number of 64 bits that sessions coordinate by.
    Shared64, AtomicU64, u64
}

shared_number! {
    /// A number of 32 bits that sessions coordinate by.
    Shared32, AtomicU32, u32
}

shared_number! {
    /// A number of 16 bits that sessions coordinate by.
    Shared16, AtomicU16, u16
}

/// A yes or no that sessions coordinate by.
#[derive(Default)]
pub struct SharedFlag(AtomicBool);

impl SharedFlag {
    /// A flag that is `value`.
    pub const fn new(value: bool) -> SharedFlag {
        SharedFlag(AtomicBool::new(value))
    }

    /// Whether it is raised.
    #[inline]
    pub fn is_raised(&self, session: &Session) -> bool {
        session.interleave();
        self.0.load(SeqCst)
    }

    /// Raises it; whether it was raised before.
    #[inline]
    pub fn raise(&self, session: &Session) -> bool {
        session.interleave();
        self.0.swap(true, SeqCst)
    }

    /// Lowers it; whether it was raised before.
    #[inline]
    pub fn lower(&self, session: &Session) -> bool {
        session.interleave();
        self.0.swap(false, SeqCst)
    }

    /// Whether it is raised, for a caller whom nobody can overtake any more.
    pub fn get_mut(&mut self) -> bool {
        *self.0.get_mut()
    }
}

impl fmt::Debug for SharedFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.load(Relaxed).fmt(f)
    }
}
