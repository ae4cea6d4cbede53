//! Exact ends of transactions whose slots were used again, as far as a session had to find them
//! out. That may take reading as many undo blocks as the transaction has filled.
//!
//! ```text
//!   status ─▶ EndedBy ─▶ known here? ──no──▶ the first record of the next one in the ring says it
//!                            ▲                                     │
//!                            └──────────── remembered ◀────────────┘
//! ```
//!
//! A remembered end stays true: a name is given to one transaction, and that one ends once.
//!
//! Callers: `consistent`, `itl`; `needed`; `transaction`, for transactions with much undo.

use ids::{Scn, TxnId};
use latch::{Latch, LatchKind};
use os::{Os, Session};
use stop::Stop;

use crate::Transactions;
use crate::undo::{EndInUndo, TransactionEnd, UndoPointer};

/// Logarithm of the number of ends that are remembered, each in the place that a hash of its name
/// gives.
const PLACES_LOG: u32 = 10;

/// Exact ends that were found.
pub(crate) struct Ends {
    /// The SCN by which transactions had ended that were found when the database was opened. Undo
    /// may say too early an end of these.
    opened_by: Scn,
    places: Latch<Vec<Option<TransactionEnd>>>,
}

impl Ends {
    pub(crate) fn new(opened_by: Scn, os: &Os) -> Ends {
        let places = vec![None; 1 << PLACES_LOG];
        Ends { opened_by, places: Latch::new(os, LatchKind::Innermost, places) }
    }

    fn of(&self, id: TxnId, session: &Session) -> Option<Scn> {
        let known = self.places.shared(session)[place_of(id)];
        known.filter(|end| end.transaction == id).map(|end| end.ended)
    }

    /// Remembers that the transaction, which left undo, ended at this SCN, or by the opening of the
    /// database if that is later. Returns which.
    pub(crate) fn remember(&self, transaction: TxnId, ended: Scn, session: &Session) -> Scn {
        let end = TransactionEnd { transaction, ended: ended.max(self.opened_by) };
        self.places.exclusive(session)[place_of(transaction)] = Some(end);
        end.ended
    }
}

/// A multiplicative hash (Knuth), which spreads neighbours.
fn place_of(TxnId { segment, slot, sequence }: TxnId) -> usize {
    let name = u64::from(segment) << 48 | u64::from(slot) << 32 | u64::from(sequence);
    (name.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - PLACES_LOG)) as usize
}

impl Transactions {
    /// The exact end of the transaction of an undo record, which has ended. None if the undo isn't
    /// there any more. Waits; called without latches.
    pub(crate) fn exact_end(
        &self,
        undo: UndoPointer,
        session: &Session,
    ) -> Result<Option<Scn>, Stop> {
        let id = undo.transaction;
        if let Some(known) = self.shared.ends.of(id, session) {
            return Ok(Some(known));
        }
        // Read before the undo is: if the transaction is the last one then, this was its end.
        let last = self.active().last_commit(id, session);
        let found = match self.undo().ended_by_undo(undo, session)? {
            EndInUndo::Ended(scn) => scn,
            EndInUndo::Last => last,
            EndInUndo::Gone => return Ok(None),
        };
        Ok(Some(self.shared.ends.remember(id, found, session)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_of_its_own_transaction_only() {
        let simulation = sim::Simulation::new(1);
        let report = simulation.run(|_, session| {
            let ends = Ends::new(Scn::new(100), session.os());
            let id = |slot, sequence| TxnId { segment: 1, slot, sequence };
            assert_eq!(ends.of(id(2, 3), session), None);
            assert_eq!(ends.remember(id(2, 3), Scn::new(500), session), Scn::new(500));
            assert_eq!(ends.of(id(2, 3), session), Some(Scn::new(500)));
            // The slot's next transaction, and one with the same place.
            let same = (4..).find(|sequence| place_of(id(2, *sequence)) == place_of(id(2, 3)));
            let same = id(2, same.expect("there are fewer places than names"));
            assert_eq!((ends.of(id(2, 4), session), ends.of(same, session)), (None, None));
            ends.remember(same, Scn::new(600), session);
            assert_eq!(ends.of(same, session), Some(Scn::new(600)));
            assert_eq!(ends.of(id(2, 3), session), None, "its place is another's");
            // After a crash, undo may say too early an end.
            assert_eq!(ends.remember(id(0, 1), Scn::ZERO, session), Scn::new(100));
        });
        report.result.unwrap_or_else(|failure| panic!("{failure}"));
    }
}
