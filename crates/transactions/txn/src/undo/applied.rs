//! Which stretches of a transaction's undo are applied: they are passed by, and not gone
//! through record by record each time the transaction goes back to a savepoint.
//!
//! ```text
//!   oldest   live ── live ── ╳ ── ╳ ── ╳ ── live ── ╳ ── ╳   newest
//!                     ▲      └────────┘      ▲      └────┘
//!                   below     stretch      below    stretch
//! ```
//!
//! What is remembered here stays true until the transaction ends: a record that is applied is
//! neither taken away nor made live again, and none below it is taken away (UN8); the place of a
//! record isn't given to another (UN6).
//!
//! Callers: `log`.

use ids::UndoAddress;

/// So many stretches are remembered: a savepoint within another leaves one more, behind records
/// that are live until the outer one is gone back to.
const STRETCHES: usize = 4;

/// Records that are all applied, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    /// The newest of them.
    pub(crate) newest: UndoAddress,
    /// The record before the oldest of them; none if that is the transaction's first.
    pub(crate) below: Option<UndoAddress>,
    /// How many they are.
    pub(crate) records: u32,
}

/// The stretches that are remembered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct AppliedUndo([Option<Stretch>; STRETCHES]);

impl AppliedUndo {
    /// The stretch that begins with this record, which isn't remembered any more: the caller
    /// remembers a longer one.
    pub(crate) fn take(&mut self, newest: UndoAddress) -> Option<Stretch> {
        let begins = |stretch: &mut Stretch| stretch.newest == newest;
        self.0.iter_mut().find_map(|place| place.take_if(begins))
    }

    /// Remembers a stretch, if need be instead of the shortest.
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
