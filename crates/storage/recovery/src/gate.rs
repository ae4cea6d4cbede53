//! The redo gate of the cache during recovery: all redo is durable, and the present position is
//! that of the batch that is being applied.

use cache::RedoGate;
use ids::{Rba, Scn};
use latch::Shared64;
use os::Session;
use stop::Stop;

#[derive(Debug, Default)]
pub(crate) struct ReplayGate {
    at: Shared64,
}

impl ReplayGate {
    pub(crate) fn new(at: Rba) -> ReplayGate {
        ReplayGate { at: Shared64::new(at.pack_block()) }
    }

    pub(crate) fn move_to(&self, at: Rba, session: &Session) {
        self.at.store(at.pack_block(), session);
    }
}

impl RedoGate for ReplayGate {
    fn position(&self, session: &Session) -> Rba {
        Rba::unpack_block(self.at.load(session))
    }

    fn make_durable(&self, _: Scn, _: &Session) -> Result<(), Stop> {
        Ok(())
    }

    fn is_durable(&self, _: Scn, _: &Session) -> bool {
        true
    }
}
