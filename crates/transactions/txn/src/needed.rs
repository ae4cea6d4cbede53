//! Whether snapshots still need the undo in a block of a ring.
//!
//! Caller: `undo::ring`, before it uses a block again.

use ids::Scn;
use os::Session;
use stop::{Failpoint, Stop};
use waits::WaitEvent;

use crate::Transactions;
use crate::active::TransactionStatus;
use crate::undo::{TransactionEnd, UndoPointer};

impl Transactions {
    /// The SCN by which the transaction of an undo record had ended, which isn't active: its exact
    /// end, unless every snapshot sees a later SCN anyway. Waits; called without latches.
    pub(crate) fn ended_by(&self, undo: UndoPointer, session: &Session) -> Result<Scn, Stop> {
        let id = undo.transaction;
        Ok(match self.active().status(id, session) {
            TransactionStatus::Ended(scn) => scn,
            TransactionStatus::EndedBy(scn) if scn <= self.oldest_snapshot(session) => scn,
            // No other session overwrites this segment's undo, so the record is there.
            TransactionStatus::EndedBy(scn) => self.exact_end(undo, session)?.unwrap_or(scn),
            TransactionStatus::Active | TransactionStatus::Committing => {
                unreachable!("{id} is active in a segment that serves another (rule UN1)")
            }
        })
    }

    /// Whether a snapshot may still need the undo of a transaction that ended by this SCN.
    pub(crate) fn is_needed(&self, by: Scn, session: &Session) -> bool {
        // Every snapshot to come needs the undo of an end that isn't visible yet, however old it
        // is.
        let has_expired =
            || by <= self.visible(session) && self.shared.retention.has_expired(by, session);
        by > self.oldest_snapshot(session)
            && !has_expired()
            && !self.failpoints().has(Failpoint::ForgetSnapshots)
    }

    /// Waits until every snapshot to come sees ends up to this SCN (UN10). Called without latches.
    pub(crate) fn make_visible(&self, by: Scn, session: &Session) -> Result<(), Stop> {
        if by <= self.visible(session) {
            return Ok(());
        }
        self.changes().redo().make_durable(by, session, WaitEvent::LogFileSync)
    }

    /// Notes that the undo of these transactions of one segment, and of earlier ones, is gone from
    /// now on (TX20). The last one is the newest.
    pub(crate) fn note_overwritten(&self, taken: &[TransactionEnd], session: &Session) {
        self.shared.overwritten.note(taken, self.oldest_snapshot(session), session);
    }
}
