//! Which undo was overwritten, and by when its transactions had ended (TX20).
//!
//! A ring is overwritten in the order in which its transactions began, and they ended in that order
//! too. So each overwritten block bounds the ends of all transactions up to its newest one, and the
//! first bound from a transaction on is its lowest.
//!
//! Callers: `needed`, before a block is overwritten; `consistent` and `itl`, if undo is gone.

use std::collections::BTreeMap;

use crate::undo::TransactionEnd;

use ids::{Scn, TxnId};
use latch::{Latch, LatchKind};
use os::{Os, Session};

/// How many bounds of a segment are kept. There is more than one only while a snapshot is in use
/// that is older than what was overwritten.
const BOUNDS_MAX: usize = 256;

/// Of one segment: the transactions up to which its undo is gone, in order, and by when each had
/// ended.
type Bounds = BTreeMap<(u32, u16), Scn>;

pub(crate) struct OverwrittenUndo {
    /// The SCN by which transactions had ended that were found when the database was opened.
    opened_by: Scn,
    segments: Latch<BTreeMap<u16, Bounds>>,
}

impl OverwrittenUndo {
    pub(crate) fn new(opened_by: Scn, os: &Os) -> OverwrittenUndo {
        OverwrittenUndo {
            opened_by,
            segments: Latch::new(os, LatchKind::Innermost, BTreeMap::new()),
        }
    }

    /// The SCN by which a transaction had ended whose undo was overwritten.
    pub(crate) fn ended_by(&self, id: TxnId, session: &Session) -> Scn {
        let segments = self.segments.shared(session);
        let bounds = segments.get(&id.segment).into_iter().flat_map(|all| all.range(id.order()..));
        bounds.map(|(_, by)| *by).min().unwrap_or(self.opened_by)
    }

    /// Notes that the undo of these transactions of one segment, and of earlier ones, is gone from
    /// now on. The last one is the newest. No snapshot in use, and none to come, is below `oldest`.
    pub(crate) fn note(&self, taken: &[TransactionEnd], oldest: Scn, session: &Session) {
        let Some(TransactionEnd { transaction: newest, .. }) = taken.last() else { return };
        let mut segments = self.segments.exclusive(session);
        let bounds = segments.entry(newest.segment).or_default();
        // Undo may say too early an end of a transaction from before the database was opened.
        bounds.extend(
            taken.iter().map(|end| (end.transaction.order(), end.ended.max(self.opened_by))),
        );
        // Ends that every snapshot sees needn't be told apart.
        if let Some(last) = bounds.iter().rev().find(|(_, by)| **by <= oldest) {
            let last = *last.0;
            bounds.retain(|order, _| *order >= last);
        }
        while bounds.len() > BOUNDS_MAX {
            // Every second bound goes, except the last.
            let (newest, mut stays) = (newest.order(), false);
            bounds.retain(|order, _| {
                stays = !stays;
                stays || *order == newest
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bound_from_a_transaction_on_says_when_it_had_ended() {
        let simulation = sim::Simulation::new(1);
        let report = simulation.run(|_, session| {
            let taken = OverwrittenUndo::new(Scn::new(10), session.os());
            let id = |sequence| TxnId { segment: 1, slot: 2, sequence };
            let by = |sequence| taken.ended_by(id(sequence), session).get();
            let note = |sequence, scn, oldest| {
                let (transaction, ended) = (id(sequence), Scn::new(scn));
                taken.note(&[TransactionEnd { transaction, ended }], Scn::new(oldest), session);
            };
            assert_eq!(by(1), 10, "it was there when the database was opened");
            note(3, 300, 350);
            note(5, 500, 350);
            note(7, 700, 350);
            assert_eq!([1, 3, 4, 5, 6, 7].map(by), [300, 300, 500, 500, 700, 700]);
            let other = TxnId { segment: 0, ..id(4) };
            assert_eq!(taken.ended_by(other, session).get(), 10);
            // The snapshot isn't in use any more, so older bounds become one.
            note(8, 800, 600);
            assert_eq!([1, 5, 6, 8].map(by), [500, 500, 700, 800]);
            // With more bounds than are kept, the answers are higher, and still true.
            (9..2_000).for_each(|sequence| note(sequence, u64::from(sequence) * 100, 600));
            for sequence in 6..2_000 {
                let by = by(sequence);
                assert!(by >= u64::from(sequence) * 100, "{sequence}: {by}");
            }
            assert!(taken.segments.shared(session)[&1].len() <= BOUNDS_MAX);
        });
        report.result.unwrap_or_else(|failure| panic!("{failure}"));
    }
}
