//! One get as the world sees it: what it costs, where the simulator may switch, how it spins, and
//! under which event and parameters it sleeps.

use os::{Cost, Session, WaitWord, Woken};
use waits::{Nanos, WaitEvent};

use crate::parts::Sleeper;

/// A get is paid for and may come after another thread's, whether or not it waits (rule L11).
#[inline]
pub(crate) fn begin(session: &Session) {
    session.charge(Cost::LatchGet, 1);
    session.interleave();
}

/// Who asks for a latch, and what its wait would be called.
#[derive(Clone, Copy)]
pub(crate) struct Get<'s> {
    session: &'s Session,
    event: WaitEvent,
    p1: u64,
    p2: u64,
    /// `None`: the number of the try.
    p3: Option<u64>,
}

impl<'s> Get<'s> {
    /// Asked for only when a latch can't be had at once.
    pub(crate) fn new(session: &'s Session, event: WaitEvent, p1: u64, p2: u64) -> Get<'s> {
        Get { session, event, p1, p2, p3: None }
    }

    /// The same with a fixed p3.
    pub(crate) fn with_p3(self, p3: u64) -> Get<'s> {
        Get { p3: Some(p3), ..self }
    }
}

impl Sleeper<WaitWord> for Get<'_> {
    /// About two microseconds on Linux: as long as a latch is held, and as sleeping would cost.
    const SPIN_TURNS: u32 = 40;
    /// In a simulation that stops.
    const UNWINDS: bool = true;

    fn relax(self, turn: u32) {
        self.session.relax(turn);
    }

    fn sleep(self, word: &WaitWord, expected: u32, timeout: Option<Nanos>, tries: u64) -> Woken {
        self.session.interleave();
        let waiting = self.session.waiting(self.event);
        word.wait(expected, timeout, waiting.p(self.p1, self.p2, self.p3.unwrap_or(tries)))
    }
}
