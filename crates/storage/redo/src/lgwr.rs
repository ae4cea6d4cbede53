//! The log writer: it writes what no session writes for itself.
//!
//! That is a batch that has become large, room for those who wait for it, everything when it stops,
//! and, every 3 seconds, whatever is there. With `commit_leader = lgwr` also every commit.
//!
//! Callers: the instance's thread `fb_lgwr`.

use os::Session;
use stop::Stop;
use waits::{Nanos, WaitEvent};

use crate::Redo;
use crate::redo::Shared;
use crate::state::Flight;
use crate::writer::WriteAccount;

/// Redo is written after this time even if nobody asks.
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

    /// Makes the log writer flush everything and leave. For the end, when nobody changes anything
    /// any more.
    pub fn stop(&self, session: &Session) {
        self.shared.state.exclusive(session).lgwr.stops = true;
        self.shared.lgwr.post(session);
    }
}

impl Shared {
    fn lgwr_step(&self, ticks: bool, session: &Session) -> LgwrStep {
        let mut state = self.state.exclusive(session);
        if ticks {
            // Whoever writes now, it is written next: what is there now waits no longer.
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
