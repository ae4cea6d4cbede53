//! The latch that halts an instance (rules K2 to K4).
//!
//! ```text
//!   running ── raise(cause) ──▶ halted(cause)      for good; whoever sleeps is woken once
//! ```
//!
//! Callers: whoever finds that no more can be promised; every loop that waits.

use std::fmt;
use std::sync::Arc;

use latch::{Latch, LatchKind, SharedFlag};
use os::{Os, Session};

use crate::Stop;

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
    cause: Option<Arc<HaltCause>>,
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
        let state = State { cause: None, wakers: Vec::new() };
        let state = Latch::new(os, LatchKind::Innermost, state);
        Halt { shared: Arc::new(Shared { raised: SharedFlag::new(false), state }) }
    }

    /// Called when the halt is raised, to wake those that sleep (rule K3). It holds no strong
    /// reference to what holds this halt, or neither would ever go away.
    pub fn on_raise(&self, session: &Session, waker: impl Fn(&Session) + Send + Sync + 'static) {
        self.shared.state.exclusive(session).wakers.push(Arc::new(waker));
    }

    /// Halts, unless that was done before; the cause that counts is the first.
    pub fn raise(&self, cause: impl Into<String>, session: &Session) -> Stop {
        let (cause, wakers) = {
            let mut state = self.shared.state.exclusive(session);
            if let Some(first) = &state.cause {
                return Stop::Halted(Arc::clone(first));
            }
            let cause = Arc::new(HaltCause { what: cause.into() });
            state.cause = Some(Arc::clone(&cause));
            (cause, std::mem::take(&mut state.wakers))
        };
        self.shared.raised.raise(session);
        session.os().notice(&format!("the instance halts: {cause}"));
        for waker in wakers {
            waker(session);
        }
        Stop::Halted(cause)
    }

    /// Whether it has been raised.
    #[inline]
    pub fn is_raised(&self, session: &Session) -> bool {
        self.shared.raised.is_raised(session)
    }

    /// The cause, if it has been raised.
    pub fn cause(&self, session: &Session) -> Option<Arc<HaltCause>> {
        self.shared.state.exclusive(session).cause.clone()
    }

    /// An error if it has been raised.
    #[inline]
    pub fn check(&self, session: &Session) -> Result<(), Stop> {
        if !self.is_raised(session) {
            return Ok(());
        }
        let cause = self.cause(session).expect("the cause is set before the flag");
        Err(Stop::Halted(cause))
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
