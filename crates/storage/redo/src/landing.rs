//! Where sessions sleep until their batch is durable, or until one of them has to write the next.
//!
//! Each lane has a word, and the active batch and those in flight have one lane each. So one call
//! wakes all sessions whose redo landed with a batch, and no other.
//!
//! No wake-up is lost. A session reads the word under redo allocation, together with the state that
//! makes it wait. A session that changes that state does so first (under the latch, or by raising
//! the halt), then raises the word, then wakes. A session that looked before the change finds a
//! word other than the one it read, or is asleep and woken.
//!
//! A `Condition` would do as well, but brings each sleeper back through the latch. Here one look at
//! an atomic is enough for all whose redo landed. Callers: `commit`, `writer`, the halt.

use std::sync::atomic::Ordering::{Acquire, SeqCst};

use os::{Os, Session, WaitWord, Waiting};

use crate::state::LANES;

#[derive(Debug)]
pub(crate) struct Landings {
    words: [WaitWord; LANES],
}

/// The value that was read from a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen(u32);

impl Landings {
    pub(crate) fn new(os: &Os) -> Landings {
        Landings { words: std::array::from_fn(|_| WaitWord::new(os, 0)) }
    }

    /// Reads the word, before the look at the state that makes the session wait.
    pub(crate) fn see(&self, lane: usize) -> Seen {
        Seen(self.words[lane].value().load(Acquire))
    }

    /// Sleeps unless the word was raised since `seen`. May return without a reason.
    pub(crate) fn wait(&self, lane: usize, seen: Seen, waiting: Waiting<'_>) {
        waiting.session().interleave();
        let _ = self.words[lane].wait(seen.0, None, waiting);
    }

    /// Raises the word and wakes up to `count` sleepers. A session that read the word before
    /// doesn't go to sleep.
    pub(crate) fn wake(&self, lane: usize, count: u32, session: &Session) {
        session.interleave();
        self.words[lane].value().fetch_add(1, SeqCst);
        self.words[lane].wake(count, session);
    }
}
