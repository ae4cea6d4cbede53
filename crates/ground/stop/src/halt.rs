//! The latch that ends an instance (rules K2 to K5).
//!
//! ```text
//!   running ─┬─ raise(cause) ──▶ halted(cause)
//!            └─ close ─────────▶ shut               both for good; sleepers are woken once
//! ```
//!
//! Callers: code that finds that the instance can promise no more; every loop that waits.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use latch::{Latch, LatchKind, SharedFlag};
use os::{Os, Session};

use crate::{RefusalKind, Stop, check_call};

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
    /// What every call returns from now on; none while the instance runs.
    ended: Option<Stop>,
    wakers: Vec<Waker>,
}

struct Shared {
    raised: SharedFlag,
    state: Latch<State>,
}

/// The halt of one instance. All clones share one state.
#[derive(Clone)]
pub struct Halt {
    shared: Arc<Shared>,
}

impl Halt {
    /// Makes the halt of a running instance.
    pub fn new(os: &Os) -> Halt {
        let state = State { ended: None, wakers: Vec::new() };
        let state = Latch::new(os, LatchKind::Innermost, state);
        Halt { shared: Arc::new(Shared { raised: SharedFlag::new(false), state }) }
    }

    /// Registers a waker that is called once, when the instance halts or is shut, to wake sleeping
    /// threads (rule K3). A waker that is registered after that is never called, so a thread looks
    /// at the halt before it sleeps. The waker must hold no strong reference to an owner of this
    /// halt: such a cycle would keep both alive for ever.
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

    /// Marks the instance as shut in good order: every later call is refused (K5).
    pub fn close(&self, session: &Session) {
        let message = "the database is shut: open it again to work with it";
        self.end(Stop::refuse(RefusalKind::WrongState, message), session, || ());
    }

    /// Ends the instance in this way, unless it has ended before. Returns how it ended.
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

    /// An error if the instance has ended, or if the session's call is to end (K26).
    #[inline]
    pub fn check_call(&self, session: &Session) -> Result<(), Stop> {
        self.check(session)?;
        check_call(session)
    }

    #[cold]
    fn ended(&self, session: &Session) -> Stop {
        let ended = self.shared.state.exclusive(session).ended.clone();
        ended.expect("how the instance ended is set before the flag")
    }

    /// A guard that halts the instance if it is dropped without [`HaltGuard::disarm`], as when its
    /// thread panics.
    pub fn guard<'s>(
        &'s self,
        what: impl Into<Cow<'static, str>>,
        session: &'s Session,
    ) -> HaltGuard<'s> {
        HaltGuard { halt: self, what: what.into(), session, armed: true }
    }
}

impl fmt::Debug for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Halt({:?})", self.shared.raised)
    }
}

/// Halts the instance when it is dropped armed, as when its thread panics.
pub struct HaltGuard<'s> {
    halt: &'s Halt,
    what: Cow<'static, str>,
    session: &'s Session,
    armed: bool,
}

impl HaltGuard<'_> {
    /// Disarms the guard: the work ended in good order.
    pub fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for HaltGuard<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.halt.raise(std::mem::take(&mut self.what).into_owned(), self.session);
        }
    }
}
