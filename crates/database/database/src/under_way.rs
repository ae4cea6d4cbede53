//! One statement at a time on a thread: a statement begun within a closure is refused (DB11). Each
//! statement is a call of its session, which another thread can cancel (DB97).
//!
//! Callers: every statement of `connection`, `work` and `definition`.

use std::cell::Cell;

use os::{Call, Session};
use stop::{RefusalKind, Stop};
use waits::Nanos;

thread_local! {
    static IS_UNDER_WAY: Cell<bool> = const { Cell::new(false) };
}

/// A statement that is under way on this thread, until this is dropped.
pub(crate) struct UnderWay {
    _call: Call,
}

impl UnderWay {
    /// Begins a statement, which may take this long. Refused within a closure of another, which may
    /// hold a block's latch.
    #[inline]
    pub(crate) fn begin(limit: Option<Nanos>, session: &Session) -> Result<UnderWay, Stop> {
        match IS_UNDER_WAY.replace(true) {
            false => Ok(UnderWay { _call: session.begin_call(limit) }),
            true => Err(within_another()),
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        IS_UNDER_WAY.set(false);
    }
}

#[cold]
fn within_another() -> Stop {
    let message = "cannot begin a statement within a closure of another one, which only computes: \
                   keep what it has seen, and begin the statement when the other has ended";
    Stop::refuse(RefusalKind::Invalid, message)
}
