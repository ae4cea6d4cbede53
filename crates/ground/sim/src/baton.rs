//! The baton that passes between the real threads of a simulation: only its holder runs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

/// One thread's end of the baton.
#[derive(Debug, Default)]
pub(crate) struct Baton {
    given: AtomicBool,
    owner: OnceLock<Thread>,
}

impl Baton {
    /// Sets the owner, before the baton is first given.
    pub(crate) fn belongs_to(&self, thread: Thread) {
        self.owner.set(thread).expect("a baton has one owner");
    }

    /// Lets the owner run.
    pub(crate) fn give(&self) {
        self.given.store(true, Ordering::Release);
        self.owner.get().expect("an owner before it is given").unpark();
    }

    /// Sleeps until given. Called by the owner.
    pub(crate) fn take(&self) {
        while !self.given.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
    }
}
