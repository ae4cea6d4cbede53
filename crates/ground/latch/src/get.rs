//! One get as the world sees it: its cost, its point at which the simulator may switch, its
//! spinning, and the event and parameters of its sleep.

use os::{Cost, Session, WaitWord, Woken};
use waits::{Nanos, WaitEvent};

use crate::parts::Sleeper;

/// Charges for the get. Another thread may come first, whether or not the get waits (rule L11).
#[inline]
pub(crate) fn begin(session: &Session) {
    session.charge(Cost::LatchGet, 1);
    session.interleave();
}

/// The session that gets a latch, and the wait event of the get.
#[derive(Clone, Copy)]
pub(crate) struct Get<'s> {
    session: &'s Session,
    event: WaitEvent,
    p1: u64,
    p2: u64,
    /// The fixed value of p3; `None`: p3 is the number of the try.
    p3: Option<u64>,
}

impl<'s> Get<'s> {
    /// Called only when a latch isn't free at once.
    pub(crate) fn new(session: &'s Session, event: WaitEvent, p1: u64, p2: u64) -> Get<'s> {
        Get { session, event, p1, p2, p3: None }
    }

    /// The same get with a fixed p3.
    pub(crate) fn with_p3(self, p3: u64) -> Get<'s> {
        Get { p3: Some(p3), ..self }
    }
}

impl Sleeper<WaitWord> for Get<'_> {
    /// About two microseconds on Linux: a usual hold takes as long, and sleeping would cost as
    /// much.
    const SPIN_TURNS: u32 = 40;
    /// A simulation that stops unwinds its threads.
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
