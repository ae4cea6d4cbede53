//! How an instance ends (IN5, IN10).
//!
//! ```text
//!   open ─┬─ shutdown ──▶ shut       refused, and open again, while transactions are active
//!         └─ abort ─────▶ halted     as if the process were killed
//! ```
//!
//! The enqueue PR keeps both apart from each other and from changes of parameters.
//!
//! Callers: the owner of the instance.

use os::Session;
use space::ControlState;
use stop::{RefusalKind, Stop};

use crate::Instance;
use crate::processes::{Processes, join_all};

impl Instance {
    /// Shuts the instance in good order (IN5). While transactions are active this is refused, and
    /// the instance stays open. Any other failure halts the instance. After both every later call
    /// is refused, and no process runs.
    pub fn shutdown(&self, session: &Session) -> Result<(), Stop> {
        let mut settings = self.settings.hold(0, session);
        if let Err(ended) = self.halt().check(session) {
            settings.processes.join(session);
            return Err(ended);
        }
        self.wait_for_dead(session);
        self.cleaners.wait_for_abandoned(session);
        let closed = self.transactions().active().close(session);
        // A transaction that couldn't be rolled back meanwhile has halted it.
        if let Err(ended) = self.halt().check(session) {
            settings.processes.join(session);
            return Err(ended);
        }
        if let Err(active) = closed {
            let message = format!(
                "cannot shut down in good order: {active} transactions are active; commit them or \
                 roll them back"
            );
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        let shut = self.shut(&mut settings.processes, session);
        match shut {
            Ok(()) => self.halt().close(session),
            Err(_) => drop(self.halt().raise("the shutdown failed", session)),
        }
        settings.processes.join(session);
        shut
    }

    fn shut(&self, processes: &mut Processes, session: &Session) -> Result<(), Stop> {
        // Both before the checkpoint, for they make changes. All are told before one is joined.
        self.cleaners.stop(session);
        self.space().ahead().stop(session);
        let monitors = std::mem::take(&mut processes.monitors);
        join_all(monitors.into_iter().chain(processes.space_process.take()), session);
        self.halt().check(session)?;
        self.checkpoint(session)?;
        // A writer that still waits for redo gets it: without the log writer it writes that itself
        // (rule redo/RD40).
        self.cache().stop(session);
        self.checkpointer.wanted.stop(session);
        self.redo().stop(session);
        processes.join(session);
        self.halt().check(session)?;
        // The checkpoint of the cache, not the end of the redo: a late change is applied again by
        // the next opening (rule space/SP2).
        let at = self.cache().checkpoint_position(session);
        let scn = self.redo().last_scn(session);
        // A session that goes on making segments meanwhile leaves redo behind it.
        let state = match at == self.redo().position(session) {
            true => ControlState::Shut,
            false => ControlState::Open,
        };
        // Headers that were left, and nothing has changed: they have it all (rule space/SP51).
        let written = match self.checkpointer.headers_can_stay(at, session) {
            true => None,
            false => Some(self.checkpointer.write_headers(at, scn, session)?),
        };
        let shut = self.checkpointer.control.hold(0, session).update(
            |content| {
                content.checkpoint = at;
                content.checkpoint_scn = scn;
                content.state = state;
                if let Some(written) = &written {
                    written.require(content);
                }
            },
            session,
        );
        shut.map_err(Stop::from)
    }

    /// Stops at once, as if the process were killed: uncommitted changes are lost (IN26). An
    /// instance that has ended stays as it is.
    pub fn abort(&self, session: &Session) {
        self.halt().raise("it was aborted", session);
        self.settings.hold(0, session).processes.join(session);
    }
}
