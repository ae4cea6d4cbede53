//! Taking a transaction's changes back, one after the other, from the newest on.
//!
//! Callers: `transaction`, for a rollback of a transaction or to a savepoint.

use std::borrow::Cow;

use change::{BackPart, Layer, credits_for};
use ids::Dba;
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
            self.take_back_change(&change, session)?;
            session.count(Statistic::UndoRecordsApplied, 1);
        }
        Ok(())
    }

    /// Takes one change back, block by block if its content lies in several (UN19).
    fn take_back_change(&self, change: &UndoChange, session: &Session) -> Result<(), Stop> {
        let layer = self.layer(change.layer);
        let checked = layer.changes.check(change.opcode, &change.payload);
        checked.map_err(|fault| unreadable(change.place, fault))?;
        let mut left = Cow::Borrowed(&change.payload[..]);
        loop {
            match self.take_back_part(change, layer, &left, session)? {
                TakenBack::Moved => {}
                TakenBack::Part(rest) => left = Cow::Owned(rest),
                TakenBack::All => return Ok(()),
            }
        }
    }

    /// Takes back what one block has of a change, of which `left` isn't taken back yet. The record
    /// is taken away with the last part.
    fn take_back_part(
        &self,
        change: &UndoChange,
        layer: &'static Layer,
        left: &[u8],
        session: &Session,
    ) -> Result<TakenBack, Stop> {
        let cache = self.changes().cache();
        let moves = layer.moves.as_ref();
        let address = match moves {
            None => change.address,
            Some(moves) => (moves.locate)(cache, change.opcode, left, session)?,
        };
        let block_pin = cache.pin(address, session)?;
        let undo_pin = cache.pin(change.place.block, session)?;
        let credits = credits_for(&[left.len(), Undo::TAKE_AWAY_BYTES]);
        let mut group = self.changes().begin(credits, session)?;
        let block = block_pin.exclusive(layer.order, session);
        let part = match moves {
            None => Some(whole(change.opcode, left)),
            Some(moves) => (moves.part)(&block, change.opcode, left),
        };
        let Some(BackPart { change: in_block, rest, emptied }) = part else {
            return Ok(TakenBack::Moved);
        };
        let is_last = rest.is_none();
        let taken_back = rest.map_or(TakenBack::All, TakenBack::Part);
        if in_block.is_none() && !is_last {
            return Ok(taken_back);
        }
        let level = layer.watch.as_ref().map(|watch| (watch, (watch.level)(&block)));
        match &in_block {
            Some((opcode, payload)) => group.change(block, layer, *opcode, &[payload]),
            None => drop(block),
        }
        if is_last {
            let undo = undo_pin.exclusive(FrameOrder::Undo, session);
            self.undo().take_away(&mut group, undo, change, moves.is_some());
        }
        group.commit(session);
        drop(undo_pin);
        if let Some(header) = emptied {
            self.note_emptied(header, address, session);
        }
        if let Some((watch, before)) = level
            && (watch.level)(&block_pin.shared(layer.order, session)) != before
        {
            (watch.told)(self.changes(), &block_pin, session);
        }
        Ok(taken_back)
    }

    fn note_emptied(&self, header: Dba, block: Dba, session: &Session) {
        let note = space::EmptyNote::default();
        self.undo().space().emptied().note(header, block, note, session);
    }
}

/// How far a change is taken back.
enum TakenBack {
    /// Nothing was done: the content has moved to another block meanwhile.
    Moved,
    /// Only in one block: this is the payload of what is left.
    Part(Vec<u8>),
    All,
}

/// A change that is taken back in its own block.
fn whole(opcode: u8, payload: &[u8]) -> BackPart<'_> {
    BackPart { change: Some((opcode, Cow::Borrowed(payload))), rest: None, emptied: None }
}
