//! Taking a transaction's changes back, one after the other, from the newest on.
//!
//! Callers: `transaction`, for a rollback of a transaction or to a savepoint.

use change::credits_for;
use latch::FrameOrder;
use os::Session;
use stop::{Failpoint, Stop};
use waits::Statistic;

use crate::Transactions;
use crate::consistent::unreadable;
use crate::undo::{Undo, UndoChange, UndoLog};

impl Transactions {
    /// Takes back all changes but the first `keep`, until it gets no buffer.
    pub(crate) fn try_take_back(
        &self,
        log: &mut UndoLog,
        keep: u32,
        session: &Session,
    ) -> Result<(), Stop> {
        let skips = match keep {
            0 => self.failpoints().has(Failpoint::SkipRollbackRecord),
            _ => self.failpoints().has(Failpoint::SkipSavepointRecord),
        };
        let keep = keep + u32::from(skips);
        while let Some(change) = self.undo().newest(log, keep, session)? {
            while !self.try_take_back_one(&change, session)? {}
            session.count(Statistic::UndoRecordsApplied, 1);
        }
        Ok(())
    }

    /// Takes one change back. Returns false if its content has moved to another block meanwhile.
    fn try_take_back_one(&self, change: &UndoChange, session: &Session) -> Result<bool, Stop> {
        let cache = self.changes().cache();
        let layer = self.layer(change.layer);
        let checked = layer.changes.check(change.opcode, &change.payload);
        checked.map_err(|fault| unreadable(change.place, fault))?;
        let (address, opcode) = match &layer.moves {
            None => (change.address, change.opcode),
            Some(moves) => ((moves.locate)(cache, &change.payload, session)?, moves.opcode),
        };
        let block_pin = cache.pin(address, session)?;
        let undo_pin = cache.pin(change.place.block, session)?;
        let credits = credits_for(&[change.payload.len(), Undo::TAKE_AWAY_BYTES]);
        let mut group = self.changes().begin(credits, session)?;
        let block = block_pin.exclusive(layer.order, session);
        if layer.moves.as_ref().is_some_and(|moves| !(moves.is_it)(&block, &change.payload)) {
            return Ok(false);
        }
        let undo = undo_pin.exclusive(FrameOrder::Undo, session);
        let level = layer.watch.as_ref().map(|watch| (watch, (watch.level)(&block)));
        let moves = layer.moves.as_ref();
        let emptied = moves.and_then(|moves| (moves.empties)(&block, &change.payload));
        group.change(block, layer, opcode, &[&change.payload]);
        self.undo().take_away(&mut group, undo, change, layer.moves.is_some());
        group.commit(session);
        drop(undo_pin);
        if let Some(header) = emptied {
            let note = space::EmptyNote::default();
            self.undo().space().emptied().note(header, address, note, session);
        }
        if let Some((watch, before)) = level
            && (watch.level)(&block_pin.shared(layer.order, session)) != before
        {
            (watch.told)(self.changes(), &block_pin, session);
        }
        Ok(true)
    }
}
