//! The snapshots in use, whose undo is kept (TX7).
//!
//! A slot is 0 if it is free, 1 while a snapshot is being taken, and else the snapshot's SCN. A
//! session that asks for the oldest snapshot while one is being taken gets an earlier answer.
//!
//! Callers: `transaction`.

use ids::Scn;
use latch::{Latch, LatchKind, Shared64};
use os::{Os, Session};
use stop::{RefusalKind, Stop};

const NOBODY: u64 = 0;
const BEING_TAKEN: u64 = 1;
/// The lowest SCN of a snapshot; lower numbers mean something else.
const LOWEST: u64 = 2;

/// How many snapshots can be in use at once.
const SNAPSHOTS_MAX: usize = 4_096;

/// The snapshots in use.
pub(crate) struct Snapshots {
    slots: Vec<Shared64>,
    /// Free slots, taken from the end, so that the first are used most.
    free: Latch<Vec<u32>>,
    /// No slot from this one on was ever used.
    used: Shared64,
    /// An SCN that no snapshot in use, and none to come, is below.
    oldest: Shared64,
}

/// A slot that a snapshot has until [`Snapshots::give_back`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SnapshotSlot(u32);

impl Snapshots {
    pub(crate) fn new(os: &Os) -> Snapshots {
        Snapshots {
            slots: (0..SNAPSHOTS_MAX).map(|_| Shared64::new(NOBODY)).collect(),
            free: Latch::new(os, LatchKind::Innermost, (0..SNAPSHOTS_MAX as u32).rev().collect()),
            used: Shared64::new(0),
            oldest: Shared64::new(0),
        }
    }

    /// Takes a slot, then chooses the snapshot's SCN by `visible`. The snapshot is in use from now
    /// on.
    pub(crate) fn take(
        &self,
        visible: impl FnOnce() -> Scn,
        session: &Session,
    ) -> Result<(SnapshotSlot, Scn), Stop> {
        let Some(number) = self.free.exclusive(session).pop() else {
            let message = format!("cannot begin to read: {SNAPSHOTS_MAX} snapshots are in use");
            return Err(Stop::refuse(RefusalKind::NoSpace, message));
        };
        self.used.fetch_max(u64::from(number) + 1, session);
        let slot = &self.slots[number as usize];
        slot.store(BEING_TAKEN, session);
        let scn = Scn::new(visible().get().max(LOWEST));
        slot.store(scn.get(), session);
        Ok((SnapshotSlot(number), scn))
    }

    /// Frees the slot of a snapshot that isn't in use any more.
    pub(crate) fn give_back(&self, slot: SnapshotSlot, session: &Session) {
        self.slots[slot.0 as usize].store(NOBODY, session);
        self.free.exclusive(session).push(slot.0);
    }

    /// An SCN that no snapshot in use, and none to come, is below. `visible` is what a snapshot
    /// taken before the call would have been.
    pub(crate) fn oldest_in_use(&self, visible: Scn, session: &Session) -> Scn {
        let mut oldest = visible.get();
        let used = self.used.load(session) as usize;
        for slot in &self.slots[..used] {
            match slot.load(session) {
                NOBODY => {}
                BEING_TAKEN => return Scn::new(self.oldest.load(session)),
                scn => oldest = oldest.min(scn),
            }
        }
        self.oldest.fetch_max(oldest, session);
        Scn::new(oldest)
    }
}
