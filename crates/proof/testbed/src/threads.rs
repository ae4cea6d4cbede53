//! Sessions in threads of a simulated machine.
//!
//! Callers: tests of rooms that run several sessions.

use os::{Session, ThreadHandle};
use waits::{Nanos, WaitEvent};

/// Waits for the end of these threads.
///
/// # Panics
///
/// If one of them panicked.
#[track_caller]
pub fn join(threads: Vec<ThreadHandle>, session: &Session) {
    for thread in threads {
        assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
    }
}

/// Lets time pass.
pub fn pause(length: Nanos, session: &Session) {
    session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
}
