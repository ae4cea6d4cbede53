//! How work ends that can't go on: refused, or halted. (The third way, a broken invariant, panics.)
//!
//! * [`Refusal`]: this statement can't be done; nothing was changed; here is what to do.
//! * [`Halt`]: the instance stops in good order: what is on disk is right, and no more is promised.
//! * [`Stop`]: either, as calls return it.
//! * [`did_you_mean`]: the end of a refusal of a name that isn't there.
//! * [`Failpoint`]: a way to break the engine on purpose, for tests of the tests.
//!
//! Rules K1 to K6 are in the README. Callers: every crate of the engine.

#![forbid(unsafe_code)]

mod failpoint;
mod halt;
mod refusal;
mod suggestion;

pub use failpoint::{Failpoint, Failpoints};
pub use halt::{Halt, HaltCause, HaltGuard};
pub use refusal::{Refusal, RefusalKind};
pub use suggestion::did_you_mean;

use std::fmt;
use std::sync::Arc;

use value::{Damaged, Misfit};

/// Why a call could not do its work.
#[derive(Clone, Debug)]
pub enum Stop {
    /// Nothing was changed; the instance goes on.
    Refused(Refusal),
    /// The instance has stopped, and why.
    Halted(Arc<HaltCause>),
}

impl Stop {
    /// A refusal of this kind: what failed, on what, what to do.
    pub fn refuse(kind: RefusalKind, message: impl Into<String>) -> Stop {
        Stop::Refused(Refusal::new(kind, message))
    }

    /// The same refusal, which also says this.
    pub fn saying(self, more: &str) -> Stop {
        match self {
            Stop::Refused(refusal) => Stop::refuse(refusal.kind(), format!("{refusal}; {more}")),
            halted @ Stop::Halted(_) => halted,
        }
    }

    /// The kind of refusal, if it is one.
    pub fn refusal(&self) -> Option<RefusalKind> {
        match self {
            Stop::Refused(refusal) => Some(refusal.kind()),
            Stop::Halted(_) => None,
        }
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

/// An I/O that failed before anything was changed refuses; where it must halt, the caller raises.
impl From<os::Error> for Stop {
    fn from(error: os::Error) -> Stop {
        Stop::Refused(Refusal::from(error))
    }
}
