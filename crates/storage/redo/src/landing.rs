//! Where sessions sleep until a batch has landed, or until one of them is to write the next.
//!
//! A word for each lane: the active batch and those in flight have one each. So everybody whose
//! redo has landed with a batch is woken by one call, and nobody else by it.
//!
//! No wake-up is lost: a session reads the word under the redo allocation latch, with the state
//! that makes it wait; whoever changes that state does so first (under the latch, or by raising
//! the halt), then raises the word, then wakes. A session that looked before finds another word
//! than the one it read, or is asleep and woken.
//!
//! A `Condition` would do the same, but brings each sleeper back through the latch; here one look
//! at an atomic is enough for all that landed. Callers: `commit`, `writer`, the halt.

use std::sync::atomic::Ordering::{Acquire, SeqCst};

use os::{Os, Session, WaitWord, Waiting};

use crate::state::LANES;

#[derive(Debug)]
pub(crate) struct Landings {
    words: [WaitWord; LANES],
}

/// What a word held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen(u32);

impl Landings {
    pub(crate) fn new(os: &Os) -> Landings {
        Landings { words: std::array::from_fn(|_| WaitWord::new(os, 0)) }
    }

    /// To be read before the look at the state that makes one wait.
    pub(crate) fn see(&self, lane: usize) -> Seen {
        Seen(self.words[lane].value().load(Acquire))
    }

    /// Sleeps unless something happened since `seen`. May return for no reason.
    pub(crate) fn wait(&self, lane: usize, seen: Seen, waiting: Waiting<'_>) {
        waiting.session().interleave();
        let _ = self.words[lane].wait(seen.0, None, waiting);
    }

    /// Something happened: wakes up to `count` of the sleepers, and nobody goes to sleep who looked
    /// before.
    pub(crate) fn wake(&self, lane: usize, count: u32, session: &Session) {
        session.interleave();
        self.words[lane].value().fetch_add(1, SeqCst);
        self.words[lane].wake(count, session);
    }
}
