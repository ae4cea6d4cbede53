//! The log writer: it writes redo that no session writes for itself.
//!
//! It writes a batch that has become large, a batch that stands in the way of sessions in the room
//! queue, everything when it stops, and whatever there is every 3 seconds. With `commit_leader =
//! lgwr` it also writes for every commit (RD39, RD40).
//!
//! Callers: the instance's thread `fb_lgwr`.

use os::Session;
use stop::Stop;
use waits::{Nanos, WaitEvent};

use crate::Redo;
use crate::redo::Shared;
use crate::state::Flight;
use crate::writer::WriteAccount;

/// How long redo waits at most before it is written, if nobody asks.
const TICK: Nanos = Nanos::from_secs(3);

enum LgwrStep {
    Write(Flight),
    Sleep,
    Leave,
}

impl Redo {
    /// The body of the log writer. Returns after [`stop`](Redo::stop), with all redo durable, or
    /// when the instance has halted.
    pub fn run_lgwr(&self, session: &Session) -> Result<(), Stop> {
        let shared = &self.shared;
        shared.state.exclusive(session).lgwr.runs = true;
        let mut tick = session.now().after(TICK);
        loop {
            shared.halt.check(session)?;
            let now = session.now();
            let ticks = now >= tick;
            if ticks {
                tick = now.after(TICK);
            }
            match shared.lgwr_step(ticks, session) {
                LgwrStep::Write(flight) => shared.write(flight, WriteAccount::Lgwr, session)?,
                LgwrStep::Leave => return Ok(()),
                LgwrStep::Sleep => {
                    let left = tick.since(now);
                    let waiting = session.waiting(WaitEvent::RdbmsIpcMessage);
                    let waiting = waiting.p(left.0 / 10_000_000, 0, 0);
                    let _ = shared.lgwr.wait(waiting, Some(left));
                }
            }
        }
    }

    /// Makes the log writer write everything and end. Called when no session changes anything any
    /// more.
    pub fn stop(&self, session: &Session) {
        self.shared.state.exclusive(session).lgwr.stops = true;
        self.shared.lgwr.post(session);
    }
}

impl Shared {
    fn lgwr_step(&self, ticks: bool, session: &Session) -> LgwrStep {
        let mut state = self.state.exclusive(session);
        if ticks {
            // Also if another write is in flight, the active batch is written next.
            state.ask_lgwr();
        }
        let due = state.lgwr_is_due();
        let stops = state.lgwr.stops;
        if due && state.can_take() {
            return LgwrStep::Write(self.take(&mut state, session));
        }
        state.lgwr.wants = state.is_writing() && (due || stops);
        if stops && !state.is_writing() {
            state.lgwr.runs = false;
            return LgwrStep::Leave;
        }
        LgwrStep::Sleep
    }
}
