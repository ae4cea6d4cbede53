//! The redo as the cache sees it (joint J3).

use std::sync::Arc;

use cache::RedoGate;
use ids::{Rba, Scn};
use os::Session;
use redo::Redo;
use stop::Stop;
use waits::WaitEvent;

#[derive(Debug)]
pub(crate) struct Gate(pub(crate) Arc<Redo>);

impl RedoGate for Gate {
    fn position(&self, session: &Session) -> Rba {
        self.0.position(session)
    }

    fn make_durable(&self, scn: Scn, session: &Session) -> Result<(), Stop> {
        self.0.make_durable(scn, session, WaitEvent::RdbmsIpcReply)
    }

    fn is_durable(&self, scn: Scn, session: &Session) -> bool {
        self.0.durable_scn(session) >= scn
    }
}
