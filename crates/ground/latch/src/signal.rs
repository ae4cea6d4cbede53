//! A signal that tells a background process of work: a post that isn't forgotten.
//!
//! ```text
//!             post                 wait, wait
//!   Quiet ───────────▶ Posted ─────────────────▶ Quiet
//!     │                                            ▲
//!     └── wait ──▶ Sleeping ── post, or time up ───┘
//! ```
//!
//! A post without a waiter ends the next wait at once; posts before that wait count as one. The
//! poster makes the work visible before the post, so the process finds it. One thread waits (rule
//! L10). Any thread may post, and only the first post to a sleeper costs a system call.

use os::{Os, Session, WaitWord, Waiting, Woken};
use waits::Nanos;

use crate::parts::{Waker, Word};

/// A place where one background process waits to be posted.
#[derive(Debug)]
pub struct Signal {
    raw: RawSignal<WaitWord>,
}

impl Signal {
    /// A signal of this world that isn't posted.
    pub fn new(os: &Os) -> Signal {
        Signal { raw: RawSignal { word: WaitWord::new(os, 0) } }
    }

    /// Ends the present wait, or the next one.
    pub fn post(&self, session: &Session) {
        session.interleave();
        self.raw.post(session);
    }

    /// Sleeps until posted, or until `timeout` has passed. Returns true, and takes the post, if
    /// posted.
    pub fn wait(&self, waiting: Waiting<'_>, timeout: Option<Nanos>) -> bool {
        let session = waiting.session();
        session.interleave();
        let until = timeout.map(|timeout| session.now().after(timeout));
        self.raw.wait(|word, expected| {
            let left = until.map(|until| until.since(session.now()));
            match left {
                Some(Nanos::ZERO) => Woken::TimedOut,
                _ => word.wait(expected, left, waiting),
            }
        })
    }

    /// Takes the post, if there is one, without waiting. Only the waiting thread calls this.
    pub fn take(&self, session: &Session) -> bool {
        session.interleave();
        self.raw.take()
    }
}

const POSTED: u32 = 1;
const SLEEPING: u32 = 2;
const TWO_WAIT: &str = "two threads wait for one signal (rule L10)";

/// A signal on real or modelled parts.
#[derive(Debug)]
pub(crate) struct RawSignal<W> {
    pub(crate) word: W,
}

impl<W: Word> RawSignal<W> {
    pub(crate) fn post(&self, waker: &impl Waker<W>) {
        if self.word.set_bits(POSTED) == SLEEPING {
            waker.wake(&self.word, 1);
        }
    }

    /// Waits. `sleep` sleeps while the word holds the given value, and returns how that ended.
    pub(crate) fn wait(&self, sleep: impl Fn(&W, u32) -> Woken) -> bool {
        let before = self.word.set_bits(SLEEPING);
        assert!(before & SLEEPING == 0, "{TWO_WAIT}");
        while self.word.load() & POSTED == 0 && sleep(&self.word, SLEEPING) != Woken::TimedOut {}
        self.word.replace(0) & POSTED != 0
    }

    pub(crate) fn take(&self) -> bool {
        let before = self.word.replace(0);
        assert!(before & SLEEPING == 0, "{TWO_WAIT}");
        before & POSTED != 0
    }
}
