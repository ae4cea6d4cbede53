//! Whether undo in a ring is still needed, and by which snapshots.
//!
//! Caller: `undo::ring`, before it uses a block of a ring again.

use ids::Scn;
use os::Session;
use stop::{Failpoint, Stop};
use waits::WaitEvent;

use crate::Transactions;
use crate::active::TransactionStatus;
use crate::undo::{TransactionEnd, UndoPointer};

impl Transactions {
    /// By when the transaction of an undo record had ended, which isn't active: exactly, unless
    /// every snapshot sees it anyway. Waits; called without latches.
    pub(crate) fn ended_by(&self, undo: UndoPointer, session: &Session) -> Result<Scn, Stop> {
        let id = undo.transaction;
        Ok(match self.active().status(id, session) {
            TransactionStatus::Ended(scn) => scn,
            TransactionStatus::EndedBy(scn) if scn <= self.oldest_snapshot(session) => scn,
            // Nobody else overwrites a segment's undo, so this one's is there.
            TransactionStatus::EndedBy(scn) => self.exact_end(undo, session)?.unwrap_or(scn),
            TransactionStatus::Active | TransactionStatus::Committing => {
                unreachable!("{id} is active in a segment that serves another (rule UN1)")
            }
        })
    }

    /// Whether a snapshot may still need undo of what ended by this SCN.
    pub(crate) fn is_needed(&self, by: Scn, session: &Session) -> bool {
        // What is not visible yet is needed by every snapshot to come, however old it is.
        let has_expired =
            || by <= self.visible(session) && self.retention().has_expired(by, session);
        by > self.oldest_snapshot(session)
            && !has_expired()
            && !self.failpoints().has(Failpoint::ForgetSnapshots)
    }

    /// Returns when every snapshot to come sees what ended by this SCN. Waits; called without
    /// latches.
    pub(crate) fn make_visible(&self, by: Scn, session: &Session) -> Result<(), Stop> {
        if by <= self.visible(session) {
            return Ok(());
        }
        self.changes().redo().make_durable(by, session, WaitEvent::LogFileSync)
    }

    /// Notes that the undo of these transactions of one segment, and of those before them, is gone
    /// from now on. The newest is the last.
    pub(crate) fn note_taken(&self, taken: &[TransactionEnd], session: &Session) {
        self.taken().note(taken, self.oldest_snapshot(session), session);
    }
}
