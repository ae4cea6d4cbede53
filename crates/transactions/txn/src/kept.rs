//! Snapshots that live between calls: those of serializable transactions, and those of cursors.
//!
//! ```text
//!   serializable transaction ──┐
//!   KeptSnapshot ──────────────┴──▶ owner ◀┄┄ weak ┄┄ list ──▶ slot among the snapshots in use
//! ```
//!
//! Invariants
//!   * a slot is given back when the last owner lets go of the snapshot, or by `clean_up` once all
//!     owners were dropped (TX50)
//!   * a cursor of a serializable transaction shares the transaction's slot: a session that looks
//!     for the oldest snapshot, slot by slot, would miss an old SCN that moves to another slot
//!
//! Callers: `transaction`; cursors.

use std::fmt;
use std::sync::{Arc, Weak};

use ids::{Scn, TxnId};
use latch::{Latch, LatchKind};
use os::{Os, Session};
use stop::Stop;

use crate::snapshots::SnapshotSlot;
use crate::transaction::Shared;
use crate::{OwnChanges, Savepoint, Transaction, Transactions, View};

/// The slots of snapshots that live between calls.
pub(crate) struct KeptSlots(Latch<Vec<KeptSlot>>);

struct KeptSlot {
    slot: SnapshotSlot,
    /// Dropped with the last owner.
    owner: Weak<()>,
}

/// A snapshot that lives between calls. Its clones are its owners.
#[derive(Clone, Debug)]
pub(crate) struct OwnedSnapshot {
    pub(crate) scn: Scn,
    owner: Arc<()>,
}

/// A snapshot that is kept between calls, as for a cursor that waits for its reader. Undo that it
/// needs isn't overwritten while there is room (TX7), so it is closed as soon as it isn't needed.
#[must_use = "a snapshot that is kept holds undo until it is closed"]
pub struct KeptSnapshot {
    snapshot: OwnedSnapshot,
    own: Option<OwnBefore>,
    shared: Arc<Shared>,
}

/// Which changes of its own transaction the snapshot sees: those with fewer undo records before
/// them.
#[derive(Clone, Copy, Debug)]
struct OwnBefore {
    id: TxnId,
    before: u32,
}

impl KeptSlots {
    pub(crate) fn new(os: &Os) -> KeptSlots {
        KeptSlots(Latch::new(os, LatchKind::Innermost, Vec::new()))
    }

    /// Adds the slot of a snapshot with this SCN.
    pub(crate) fn add(&self, slot: SnapshotSlot, scn: Scn, session: &Session) -> OwnedSnapshot {
        let owner = Arc::new(());
        self.0.exclusive(session).push(KeptSlot { slot, owner: Arc::downgrade(&owner) });
        OwnedSnapshot { scn, owner }
    }

    /// Takes the snapshot's slot out. None if `clean_up` has.
    fn take(&self, snapshot: &OwnedSnapshot, session: &Session) -> Option<SnapshotSlot> {
        let owner = Arc::as_ptr(&snapshot.owner);
        let mut kept = self.0.exclusive(session);
        // Cursors come and go while transactions stay.
        let place = kept.iter().rposition(|kept| kept.owner.as_ptr() == owner)?;
        Some(kept.swap_remove(place).slot)
    }

    /// Takes the slots out whose owners were all dropped.
    fn take_abandoned(&self, session: &Session) -> Vec<SnapshotSlot> {
        let mut kept = self.0.exclusive(session);
        let abandoned = kept.extract_if(.., |kept| kept.owner.strong_count() == 0);
        abandoned.map(|kept| kept.slot).collect()
    }
}

impl Shared {
    /// Lets go of a snapshot. The last owner gives its slot back.
    pub(crate) fn release(&self, snapshot: OwnedSnapshot, session: &Session) {
        // If two owners come here at once, `clean_up` gives the slot back.
        if Arc::strong_count(&snapshot.owner) > 1 {
            return;
        }
        if let Some(slot) = self.kept.take(&snapshot, session) {
            self.snapshots.give_back(slot, session);
        }
    }

    /// Gives the slots back whose owners were dropped.
    pub(crate) fn release_abandoned(&self, session: &Session) {
        for slot in self.kept.take_abandoned(session) {
            self.snapshots.give_back(slot, session);
        }
    }
}

impl Transactions {
    /// A snapshot that is kept between calls: the transaction's, if it has one for all statements,
    /// else a new one. It sees what the transaction has changed so far, or by the beginning of its
    /// statement if one has begun. Waits and is refused as [`snapshot`](Self::snapshot).
    pub fn keep_snapshot(
        &self,
        transaction: Option<&Transaction>,
        session: &Session,
    ) -> Result<KeptSnapshot, Stop> {
        let snapshot = match transaction.and_then(Transaction::owned_snapshot) {
            Some(snapshot) => snapshot.clone(),
            None => {
                let (slot, scn) = self.take_snapshot(session)?;
                self.shared.kept.add(slot, scn, session)
            }
        };
        let named = transaction.and_then(|own| own.id().zip(Some(own.seen_records())));
        let own = named.map(|(id, before)| OwnBefore { id, before });
        Ok(KeptSnapshot { snapshot, own, shared: Arc::clone(&self.shared) })
    }
}

impl KeptSnapshot {
    /// The SCN: commits up to it are seen.
    pub fn scn(&self) -> Scn {
        self.snapshot.scn
    }

    /// The view of a read that is done now, by the transaction for which the snapshot was kept. It
    /// shows the same whenever it is asked for; but while the transaction has changed nothing more,
    /// and is given here, blocks that it has changed are read without a copy.
    pub fn view(&self, transaction: Option<&Transaction>) -> View {
        let own = self.own.map(|OwnBefore { id, before }| {
            let now = transaction.filter(|transaction| transaction.id() == Some(id));
            let all = now.is_some_and(|transaction| transaction.savepoint().0 <= before);
            OwnChanges { id, before, all }
        });
        View { scn: self.snapshot.scn, own }
    }

    /// Whether it sees changes that a rollback to this savepoint takes back. Then it is closed
    /// before, because later changes get the same numbers (TX51).
    pub fn is_taken_back_by(&self, savepoint: Savepoint) -> bool {
        self.own.is_some_and(|own| own.before > savepoint.0)
    }

    /// Lets the snapshot go. One that is dropped instead is let go by `fb_pmon`, within a second.
    pub fn close(self, session: &Session) {
        self.shared.release(self.snapshot, session);
    }
}

impl fmt::Debug for KeptSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptSnapshot({}, {:?})", self.snapshot.scn, self.own)
    }
}
