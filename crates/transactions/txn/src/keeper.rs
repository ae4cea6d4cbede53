//! What undo asks about the transactions whose records it keeps.
//!
//! Caller: `undo`, before a block of a ring is used again.

use ids::{Scn, TxnId, UndoAddress};
use os::Session;
use stop::{Failpoint, Stop};
use undo::{Keeper, TransactionEnd};
use waits::WaitEvent;

use crate::Transactions;
use crate::active::Fate;

impl Keeper for Transactions {
    fn ended_by(&self, (record, id): (UndoAddress, TxnId), session: &Session) -> Result<Scn, Stop> {
        Ok(match self.active().fate(id, session) {
            Fate::Ended(scn) => scn,
            Fate::EndedBy(scn) if scn <= self.oldest_snapshot(session) => scn,
            // Nobody else overwrites a segment's undo, so this one's is there.
            Fate::EndedBy(scn) => self.exact_end((record, id), session)?.unwrap_or(scn),
            Fate::Active | Fate::Committing => {
                unreachable!("{id} is active in a segment that serves another (rule undo/UN1)")
            }
        })
    }

    fn is_needed(&self, by: Scn, session: &Session) -> bool {
        // What is not visible yet is needed by every snapshot to come, however old it is.
        let has_expired =
            || by <= self.visible(session) && self.retention().has_expired(by, session);
        by > self.oldest_snapshot(session)
            && !has_expired()
            && !self.failpoints().has(Failpoint::ForgetSnapshots)
    }

    fn make_visible(&self, by: Scn, session: &Session) -> Result<(), Stop> {
        if by <= self.visible(session) {
            return Ok(());
        }
        self.changes().redo().make_durable(by, session, WaitEvent::LogFileSync)
    }

    fn is_taken(&self, taken: &[TransactionEnd], session: &Session) {
        self.taken().note(taken, self.oldest_snapshot(session), session);
    }
}
