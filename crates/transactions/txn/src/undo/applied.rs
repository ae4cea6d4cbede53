//! Stretches of a transaction's undo in which all records are applied. A rollback skips them, so
//! that it doesn't read each record again each time the transaction rolls back to a savepoint
//! (UN16).
//!
//! ```text
//!   oldest   live ── live ── ╳ ── ╳ ── ╳ ── live ── ╳ ── ╳   newest
//!                     ▲      └────────┘      ▲      └────┘
//!                   below     stretch      below    stretch
//! ```
//!
//! A remembered stretch stays true until the transaction ends: an applied record is neither popped
//! nor made live again, and none below it is popped (UN8); the address of a record isn't given to
//! another (UN6).
//!
//! Callers: `log`.

use ids::UndoAddress;

/// How many stretches are remembered. A savepoint within another leaves one more, behind records
/// that are live until the transaction rolls back to the outer one.
const STRETCHES: usize = 4;

/// Neighbouring records that are all applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    /// The newest record of the stretch.
    pub(crate) newest: UndoAddress,
    /// The record before the oldest one of the stretch; none if that is the transaction's first.
    pub(crate) below: Option<UndoAddress>,
    /// The number of records.
    pub(crate) records: u32,
}

/// The stretches that are remembered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct AppliedUndo([Option<Stretch>; STRETCHES]);

impl AppliedUndo {
    /// Forgets and returns the stretch whose newest record this is: the caller remembers a longer
    /// one.
    pub(crate) fn take(&mut self, newest: UndoAddress) -> Option<Stretch> {
        let begins = |stretch: &mut Stretch| stretch.newest == newest;
        self.0.iter_mut().find_map(|place| place.take_if(begins))
    }

    /// Remembers a stretch, if need be instead of the shortest one.
    pub(crate) fn remember(&mut self, stretch: Stretch) {
        let length = |place: &&mut Option<Stretch>| place.map_or(0, |known| known.records);
        if stretch.records > 0
            && let Some(place) = self.0.iter_mut().min_by_key(length)
        {
            *place = Some(stretch);
        }
    }
}

#[cfg(test)]
mod tests {
    use ids::Dba;

    use super::*;

    fn stretch(record: u16, records: u32) -> Stretch {
        let newest = UndoAddress { block: Dba::new(1, 9), record };
        Stretch { newest, below: None, records }
    }

    #[test]
    fn the_shortest_stretch_is_forgotten_first() {
        let mut applied = AppliedUndo::default();
        for (record, records) in [(10, 5), (20, 0), (30, 2), (40, 7), (50, 3), (60, 1), (70, 9)] {
            applied.remember(stretch(record, records));
        }
        let mut taken = |record| applied.take(stretch(record, 0).newest).map(|it| it.records);
        let known = [10, 20, 30, 40, 50, 60, 70].map(&mut taken);
        assert_eq!(known, [Some(5), None, None, Some(7), Some(3), None, Some(9)]);
        assert_eq!(taken(40), None, "it was taken");
    }
}
