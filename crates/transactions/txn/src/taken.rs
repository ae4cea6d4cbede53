//! Whose undo was overwritten, and by when those had ended: for who looks for undo that is gone.
//!
//! A ring is overwritten in the order in which its transactions began, and they ended in that
//! order too. So each block that is overwritten bounds the ends of all up to the newest in it, and
//! of one transaction the first such bound from it on says most.
//!
//! Callers: `keeper`, before a block is overwritten; `consistent` and `itl`, who found none.

use std::collections::BTreeMap;

use crate::undo::TransactionEnd;

use ids::{Scn, TxnId};
use latch::{Latch, LatchKind};
use os::{Os, Session};

/// So many bounds are kept of a segment. There are more than one only while a snapshot is in use
/// that is older than what was overwritten; with more of them every second one goes.
const BOUNDS_MAX: usize = 256;

/// For each segment, up to which transaction its undo is gone, in the order of time, and by when
/// they had ended.
type Bounds = BTreeMap<(u32, u16), Scn>;

pub(crate) struct OverwrittenUndo {
    /// Whoever was found when the database was opened had ended by this SCN.
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

    /// By when a transaction had ended whose undo is gone, but wasn't taken back.
    pub(crate) fn ended_by(&self, id: TxnId, session: &Session) -> Scn {
        let segments = self.segments.shared(session);
        let bounds = segments.get(&id.segment).into_iter().flat_map(|all| all.range(id.order()..));
        bounds.map(|(_, by)| *by).min().unwrap_or(self.opened_by)
    }

    /// The undo of these transactions of one segment, each of which had ended by its SCN, is gone
    /// from now on, and that of those before them; the newest is the last. Every snapshot in use,
    /// and every one to come, is at least `oldest`.
    pub(crate) fn note(&self, taken: &[TransactionEnd], oldest: Scn, session: &Session) {
        let Some(TransactionEnd { transaction: newest, .. }) = taken.last() else { return };
        let mut segments = self.segments.exclusive(session);
        let bounds = segments.entry(newest.segment).or_default();
        // Undo may say too early an end of one that was found when the database was opened.
        bounds.extend(
            taken.iter().map(|end| (end.transaction.order(), end.ended.max(self.opened_by))),
        );
        // What all see need not be told apart.
        if let Some(last) = bounds.iter().rev().find(|(_, by)| **by <= oldest) {
            let last = *last.0;
            bounds.retain(|order, _| *order >= last);
        }
        while bounds.len() > BOUNDS_MAX {
            // Every second one goes, but for the last.
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
            // The snapshot has gone, and what all see is one.
            note(8, 800, 600);
            assert_eq!([1, 5, 6, 8].map(by), [500, 500, 700, 800]);
            // More than are kept: bounds are looser, and stay true.
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
