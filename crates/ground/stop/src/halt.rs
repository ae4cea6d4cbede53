//! The latch that ends an instance (rules K2 to K5).
//!
//! ```text
//!   running ─┬─ raise(cause) ──▶ halted(cause)
//!            └─ close ─────────▶ shut               both for good; sleepers are woken once
//! ```
//!
//! Callers: whoever finds that no more can be promised; every loop that waits.

use std::fmt;
use std::sync::Arc;

use latch::{Latch, LatchKind, SharedFlag};
use os::{Os, Session};

use crate::{RefusalKind, Stop};

/// Why an instance halted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HaltCause {
    what: String,
}

impl fmt::Display for HaltCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

type Waker = Arc<dyn Fn(&Session) + Send + Sync>;

struct State {
    /// What every call returns from now on.
    ended: Option<Stop>,
    wakers: Vec<Waker>,
}

struct Shared {
    raised: SharedFlag,
    state: Latch<State>,
}

/// One instance's halt. Clones are the same.
#[derive(Clone)]
pub struct Halt {
    shared: Arc<Shared>,
}

impl Halt {
    /// Of an instance that runs.
    pub fn new(os: &Os) -> Halt {
        let state = State { ended: None, wakers: Vec::new() };
        let state = Latch::new(os, LatchKind::Innermost, state);
        Halt { shared: Arc::new(Shared { raised: SharedFlag::new(false), state }) }
    }

    /// Called once, when the instance halts or is shut, to wake those that sleep (rule K3). A waker
    /// that is registered after that is never called: who registers it looks at the halt before it
    /// sleeps. It holds no strong reference to what holds this halt, or neither would ever go away.
    pub fn on_raise(&self, session: &Session, waker: impl Fn(&Session) + Send + Sync + 'static) {
        self.shared.state.exclusive(session).wakers.push(Arc::new(waker));
    }

    /// Halts the instance, unless it has ended before. Returns what every call returns from now on.
    pub fn raise(&self, cause: impl Into<String>, session: &Session) -> Stop {
        let cause = Arc::new(HaltCause { what: cause.into() });
        self.end(Stop::Halted(Arc::clone(&cause)), session, || {
            session.os().notice(&format!("the instance halts: {cause}"));
        })
    }

    /// The instance was shut in good order: every later call is refused (K5).
    pub fn close(&self, session: &Session) {
        let message = "the database is shut: open it again to work with it";
        self.end(Stop::refuse(RefusalKind::WrongState, message), session, || ());
    }

    /// The instance ends like this, unless it has ended before. Returns how it ended.
    fn end(&self, how: Stop, session: &Session, tell: impl FnOnce()) -> Stop {
        let wakers = {
            let mut state = self.shared.state.exclusive(session);
            if let Some(first) = &state.ended {
                return first.clone();
            }
            state.ended = Some(how.clone());
            std::mem::take(&mut state.wakers)
        };
        self.shared.raised.raise(session);
        tell();
        for waker in wakers {
            waker(session);
        }
        how
    }

    /// Whether the instance has halted or was shut.
    #[inline]
    pub fn is_raised(&self, session: &Session) -> bool {
        self.shared.raised.is_raised(session)
    }

    /// Why the instance halted, if it has.
    pub fn cause(&self, session: &Session) -> Option<Arc<HaltCause>> {
        match &self.shared.state.exclusive(session).ended {
            Some(Stop::Halted(cause)) => Some(Arc::clone(cause)),
            Some(Stop::Refused(_)) | None => None,
        }
    }

    /// An error if the instance has halted or was shut.
    #[inline]
    pub fn check(&self, session: &Session) -> Result<(), Stop> {
        if self.is_raised(session) { Err(self.ended(session)) } else { Ok(()) }
    }

    #[cold]
    fn ended(&self, session: &Session) -> Stop {
        let ended = self.shared.state.exclusive(session).ended.clone();
        ended.expect("how the instance ended is set before the flag")
    }

    /// Halts if it is dropped without [`HaltGuard::disarm`], as when its thread panics.
    pub fn guard<'s>(&self, what: impl Into<String>, session: &'s Session) -> HaltGuard<'s> {
        HaltGuard { halt: self.clone(), what: what.into(), session, armed: true }
    }
}

impl fmt::Debug for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Halt({:?})", self.shared.raised)
    }
}

/// Halts the instance if its thread panics.
pub struct HaltGuard<'s> {
    halt: Halt,
    what: String,
    session: &'s Session,
    armed: bool,
}

impl HaltGuard<'_> {
    /// The work ended in good order.
    pub fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for HaltGuard<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.halt.raise(std::mem::take(&mut self.what), self.session);
        }
    }
}
