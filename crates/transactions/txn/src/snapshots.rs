//! Which snapshots are in use: their undo is kept (rule TX7).
//!
//! A place has 0 while nobody has it, 1 while a snapshot is being taken, and else the snapshot's
//! SCN. Who asks for the oldest while one is being taken is told the oldest of before.
//!
//! Callers: `transaction`; who reads much.

use ids::Scn;
use latch::{Latch, LatchKind, Shared64};
use os::{Os, Session};
use stop::{RefusalKind, Stop};

const NOBODY: u64 = 0;
const BEING_TAKEN: u64 = 1;
/// The lowest SCN that a snapshot may have: those below mean something else.
const LOWEST: u64 = 2;

/// Places for so many snapshots at once.
const PLACES: usize = 4_096;

/// The snapshots in use.
pub(crate) struct Snapshots {
    places: Vec<Shared64>,
    /// Places that nobody has; taken from the end, so that the first are used most.
    free: Latch<Vec<u32>>,
    /// No place above this was ever used.
    used: Shared64,
    /// Every snapshot in use, and every one to come, is at least this.
    oldest: Shared64,
}

/// A place of a snapshot; given back with [`Snapshots::give_back`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SnapshotSlot(u32);

impl Snapshots {
    pub(crate) fn new(os: &Os) -> Snapshots {
        Snapshots {
            places: (0..PLACES).map(|_| Shared64::new(NOBODY)).collect(),
            free: Latch::new(os, LatchKind::Innermost, (0..PLACES as u32).rev().collect()),
            used: Shared64::new(0),
            oldest: Shared64::new(0),
        }
    }

    /// A place, and the SCN of a snapshot that is in use from now on: what `visible` says.
    pub(crate) fn take(
        &self,
        visible: impl FnOnce() -> Scn,
        session: &Session,
    ) -> Result<(SnapshotSlot, Scn), Stop> {
        let Some(number) = self.free.exclusive(session).pop() else {
            let message = format!("cannot begin to read: {PLACES} snapshots are in use");
            return Err(Stop::refuse(RefusalKind::NoSpace, message));
        };
        self.used.fetch_max(u64::from(number) + 1, session);
        let place = &self.places[number as usize];
        place.store(BEING_TAKEN, session);
        let scn = Scn::new(visible().get().max(LOWEST));
        place.store(scn.get(), session);
        Ok((SnapshotSlot(number), scn))
    }

    /// The snapshot isn't in use any more.
    pub(crate) fn give_back(&self, place: SnapshotSlot, session: &Session) {
        self.places[place.0 as usize].store(NOBODY, session);
        self.free.exclusive(session).push(place.0);
    }

    /// Every snapshot in use, and every one that will be taken, is at least this; `visible` is what
    /// one would have been that was taken before the call.
    pub(crate) fn oldest_in_use(&self, visible: Scn, session: &Session) -> Scn {
        let mut oldest = visible.get();
        let used = self.used.load(session) as usize;
        for place in &self.places[..used] {
            match place.load(session) {
                NOBODY => {}
                BEING_TAKEN => return Scn::new(self.oldest.load(session)),
                scn => oldest = oldest.min(scn),
            }
        }
        self.oldest.fetch_max(oldest, session);
        Scn::new(oldest)
    }
}
