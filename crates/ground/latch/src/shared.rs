//! Numbers by which sessions coordinate without a latch.
//!
//! Each access is a point at which the simulator may switch to another thread (rule L11). A bare
//! atomic would run without a switch there, and its races would never be seen.
//!
//! Every access is sequentially consistent. The simulator explores exactly this order, so a program
//! that it finds right is right on the machine too. On x86-64 loads and exchanges cost the same as
//! with any weaker order; only a store costs more (some 20 cycles).
//!
//! A [`Guess`] is an exception: only speed depends on it.

use std::fmt;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64};

use os::Session;

/// A number on which only the speed of an operation depends, never its result. So an access is no
/// point at which the simulator switches, and has no order with other accesses.
#[derive(Default)]
pub struct Guess(AtomicU64);

impl Guess {
    /// The last guess; 0 if there was none.
    #[inline]
    pub fn load(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Stores a guess.
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

            /// Loads the value.
            #[inline]
            pub fn load(&self, session: &Session) -> $number {
                session.interleave();
                self.0.load(SeqCst)
            }

            /// Loads the value for a check (L15). This is no point at which the simulator switches.
            pub fn peek(&self) -> $number {
                self.0.load(SeqCst)
            }

            /// Stores `value`.
            #[inline]
            pub fn store(&self, value: $number, session: &Session) {
                session.interleave();
                self.0.store(value, SeqCst);
            }

            /// Stores `value`. Returns the value before.
            #[inline]
            pub fn swap(&self, value: $number, session: &Session) -> $number {
                session.interleave();
                self.0.swap(value, SeqCst)
            }

            /// Stores `next` if the value is `current`; otherwise returns the value as an error.
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

            /// Adds and wraps around. Returns the value before.
            #[inline]
            pub fn fetch_add(&self, amount: $number, session: &Session) -> $number {
                session.interleave();
                self.0.fetch_add(amount, SeqCst)
            }

            /// Subtracts and wraps around. Returns the value before.
            #[inline]
            pub fn fetch_sub(&self, amount: $number, session: &Session) -> $number {
                session.interleave();
                self.0.fetch_sub(amount, SeqCst)
            }

            /// Raises the value to `least` if it is lower. Returns the value before.
            #[inline]
            pub fn fetch_max(&self, least: $number, session: &Session) -> $number {
                session.interleave();
                self.0.fetch_max(least, SeqCst)
            }

            /// Sets bits. Returns the value before.
            #[inline]
            pub fn fetch_or(&self, bits: $number, session: &Session) -> $number {
                session.interleave();
                self.0.fetch_or(bits, SeqCst)
            }

            /// Clears the bits that aren't in `bits`. Returns the value before.
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
    /// A number of 64 bits by which sessions coordinate.
    Shared64, AtomicU64, u64
}

shared_number! {
    /// A number of 32 bits by which sessions coordinate.
    Shared32, AtomicU32, u32
}

shared_number! {
    /// A number of 16 bits by which sessions coordinate.
    Shared16, AtomicU16, u16
}

/// A flag by which sessions coordinate.
#[derive(Default)]
pub struct SharedFlag(AtomicBool);

impl SharedFlag {
    /// A flag that is `value`.
    pub const fn new(value: bool) -> SharedFlag {
        SharedFlag(AtomicBool::new(value))
    }

    /// Whether the flag is raised.
    #[inline]
    pub fn is_raised(&self, session: &Session) -> bool {
        session.interleave();
        self.0.load(SeqCst)
    }

    /// Raises the flag. Returns whether it was raised before.
    #[inline]
    pub fn raise(&self, session: &Session) -> bool {
        session.interleave();
        self.0.swap(true, SeqCst)
    }

    /// Lowers the flag. Returns whether it was raised before.
    #[inline]
    pub fn lower(&self, session: &Session) -> bool {
        session.interleave();
        self.0.swap(false, SeqCst)
    }

    /// Whether the flag is raised, for a caller with exclusive access.
    pub fn get_mut(&mut self) -> bool {
        *self.0.get_mut()
    }
}

impl fmt::Debug for SharedFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.load(Relaxed).fmt(f)
    }
}
