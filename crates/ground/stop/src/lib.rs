//! The ways in which work fails: it is refused, or the instance halts. (The third way, a broken
//! invariant, panics.)
//!
//! * [`Refusal`]: the statement can't be done; nothing was changed; it says what failed, on what,
//!   and what to do, in parts ([`RefusalParts`]).
//! * [`SqlState`]: five characters by which a client tells one refusal from another.
//! * [`Halt`]: the instance stops in good order: the data on disk is right, and no more is
//!   promised.
//! * [`Stop`]: a refusal or a halt; the error type of calls.
//! * [`check_call`]: a refusal if the session's call was cancelled, or is out of time.
//! * [`did_you_mean`]: the end of a refusal of a name that doesn't exist.
//! * [`Failpoint`]: a way to break the engine on purpose, for tests of the tests.
//!
//! Rules K1 to K27 are in the README. Callers: every crate of the engine.

#![forbid(unsafe_code)]

mod call;
mod failpoint;
mod halt;
mod refusal;
mod sqlstate;
mod suggestion;

pub use call::check_call;
pub use failpoint::{Failpoint, Failpoints};
pub use halt::{Halt, HaltCause, HaltGuard};
pub use refusal::{Refusal, RefusalKind, RefusalParts};
pub use sqlstate::SqlState;
pub use suggestion::did_you_mean;

use std::fmt;
use std::sync::Arc;

use value::{Damaged, Misfit};

/// Why a call could not do its work.
#[derive(Clone, Debug)]
pub enum Stop {
    /// Nothing was changed; the instance goes on.
    Refused(Refusal),
    /// The instance has halted for this reason.
    Halted(Arc<HaltCause>),
}

impl Stop {
    /// A refusal of this kind. The message says what failed, on what, and what to do.
    pub fn refuse(kind: RefusalKind, message: impl Into<String>) -> Stop {
        Stop::Refused(Refusal::new(kind, message))
    }

    /// The same refusal with this text behind what it says. A halt stays as it is.
    pub fn saying(self, more: &str) -> Stop {
        self.map_refusal(|refusal| refusal.saying(more))
    }

    /// The refusal that `change` makes of this one. A halt stays as it is.
    pub fn map_refusal(self, change: impl FnOnce(Refusal) -> Refusal) -> Stop {
        match self {
            Stop::Refused(refusal) => Stop::Refused(change(refusal)),
            halted @ Stop::Halted(_) => halted,
        }
    }

    /// The kind of the refusal; none if the instance has halted.
    pub fn refusal(&self) -> Option<RefusalKind> {
        match self {
            Stop::Refused(refusal) => Some(refusal.kind()),
            Stop::Halted(_) => None,
        }
    }

    /// The SQLSTATE of the refusal, or that of an instance that has halted.
    pub fn state(&self) -> SqlState {
        match self {
            Stop::Refused(refusal) => refusal.state(),
            Stop::Halted(_) => SqlState::CRASH_SHUTDOWN,
        }
    }

    /// Whether the statement was cancelled, or has had its time.
    pub fn is_cancelled(&self) -> bool {
        self.refusal() == Some(RefusalKind::Cancelled)
    }

    /// Whether something on the medium can't be read, or is damaged.
    pub fn is_of_medium(&self) -> bool {
        matches!(self.refusal(), Some(RefusalKind::Corrupt | RefusalKind::Io))
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Refused(refusal) => refusal.fmt(f),
            Stop::Halted(cause) => write!(f, "the instance has halted: {cause}"),
        }
    }
}

impl std::error::Error for Stop {}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

impl From<Misfit> for Stop {
    fn from(misfit: Misfit) -> Stop {
        Stop::Refused(Refusal::from(misfit))
    }
}

impl From<Damaged> for Stop {
    fn from(damaged: Damaged) -> Stop {
        Stop::Refused(Refusal::from(damaged))
    }
}

/// An I/O error that comes before anything was changed is a refusal. Where it must halt the
/// instance, the caller raises the halt.
impl From<os::Error> for Stop {
    fn from(error: os::Error) -> Stop {
        Stop::Refused(Refusal::from(error))
    }
}
