//! A word to wait on: the one blocking primitive between threads, from which locks are built.

use std::sync::atomic::{AtomicU32, Ordering};

use waits::Nanos;

use crate::{Os, Session, Waiting, Woken};

/// A 32-bit word on which threads can sleep while it holds an expected value, as on a futex.
///
/// Its world gives out the ids in sequence, so an id is the same from run to run of one seed, where
/// an address wouldn't be (rule O6). Only crate `latch` should need this type; its primitives carry
/// a latch rank and a point at which the simulator may switch.
#[derive(Debug)]
pub struct WaitWord {
    id: u64,
    value: AtomicU32,
}

impl WaitWord {
    /// A word of this world that holds `value`.
    pub fn new(os: &Os, value: u32) -> WaitWord {
        WaitWord { id: os.port().new_word_id(), value: AtomicU32::new(value) }
    }

    /// Its number in its world, stable over runs.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The word itself, for loads, stores and exchanges.
    #[inline]
    pub fn value(&self) -> &AtomicU32 {
        &self.value
    }

    /// Sleeps while the word holds `expected`, until woken or until `timeout` has passed. May
    /// return early for no reason: the caller looks at the word again.
    pub fn wait(&self, expected: u32, timeout: Option<Nanos>, waiting: Waiting<'_>) -> Woken {
        if self.value.load(Ordering::Acquire) != expected {
            return Woken::Changed;
        }
        waiting.around(|session, event| {
            session.charge(crate::Cost::Park, 1);
            let woken = session.os().port().wait(self, expected, timeout, event);
            (woken, woken == Woken::TimedOut)
        })
    }

    /// Wakes up to `count` threads that sleep on this word. The caller has changed it before.
    pub fn wake(&self, count: u32, session: &Session) {
        session.charge(crate::Cost::Wake, 1);
        session.os().port().wake(self, count);
    }
}
