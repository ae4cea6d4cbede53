//! A transaction's life.
//!
//! Callers: `access` makes changes in one; sessions end it; `recovery` rolls dead ones back.

use std::sync::Arc;

use change::{Changes, Layer, credits_for};
use ids::TxnId;
use latch::FrameOrder;
use os::{Cost, Session};
use redo::CommitMode;
use stop::Stop;
use undo::{Ended, Undo, UndoLog};
use waits::Statistic;

use crate::Active;

/// What transactions are made from.
#[derive(Clone)]
pub struct Transactions {
    changes: Changes,
    undo: Undo,
    active: Arc<Active>,
    layers: &'static [&'static Layer],
}

/// A transaction. One that is dropped without an end is rolled back when the database is opened
/// next; a session ends its transactions.
#[derive(Debug, Default)]
#[must_use = "a transaction ends by commit or rollback"]
pub struct Transaction {
    log: Option<UndoLog>,
}

impl Transaction {
    /// One that has changed nothing yet, and so has no name.
    pub fn new() -> Transaction {
        Transaction::default()
    }

    /// Its name, from its first change on.
    pub fn id(&self) -> Option<TxnId> {
        self.log.as_ref().map(|log| log.id)
    }

    /// Its undo, from its first change on.
    pub fn undo(&mut self) -> &mut UndoLog {
        self.log.as_mut().expect("a transaction that changes something has begun")
    }
}

impl Transactions {
    /// Over these undo segments; `layers` are those whose changes can be taken back.
    pub fn new(
        undo: Undo,
        changes: Changes,
        active: Arc<Active>,
        layers: &'static [&'static Layer],
    ) -> Transactions {
        Transactions { changes, undo, active, layers }
    }

    /// What changes are made with.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Who is active.
    pub fn active(&self) -> &Arc<Active> {
        &self.active
    }

    /// The undo segments.
    pub fn undo(&self) -> &Undo {
        &self.undo
    }

    /// Gives the transaction a name, if it has none, and room for undo of so many bytes. Waits;
    /// called without latches.
    pub fn prepare(
        &self,
        transaction: &mut Transaction,
        undo_bytes: usize,
        session: &Session,
    ) -> Result<TxnId, Stop> {
        self.changes.halt().check(session)?;
        // Every change of a row comes by here, and nothing else.
        session.charge(Cost::RowChange, 1);
        if transaction.log.is_none() {
            let (segment, slot) = self.active.take_slot(session)?;
            match self.undo.begin(segment, slot, session) {
                Ok(log) => {
                    self.active.enter(log.id, session);
                    transaction.log = Some(log);
                }
                Err(stop) => {
                    self.active.give_back(segment, slot, session);
                    return Err(stop);
                }
            }
        }
        let log = transaction.undo();
        self.undo.make_room(log, undo_bytes, session)?;
        Ok(log.id)
    }

    /// Makes the transaction's changes stay, and returns when they are durable, unless the mode
    /// says not to wait (TX2). What can't be committed is rolled back (TX4).
    pub fn commit(
        &self,
        transaction: Transaction,
        mode: CommitMode,
        session: &Session,
    ) -> Result<(), Stop> {
        let Some(log) = transaction.log else { return Ok(()) };
        session.charge(Cost::Transaction, 1);
        let placed = match self.undo.end(&log, Ended::Committed, session) {
            Ok(placed) => placed,
            Err(Stop::Refused(refusal)) => {
                self.rollback(Transaction { log: Some(log) }, session)?;
                let message = format!("the transaction was rolled back instead: {refusal}");
                return Err(Stop::refuse(refusal.kind(), message));
            }
            Err(halted) => return Err(halted),
        };
        session.count(Statistic::UserCommits, 1);
        self.changes.redo().commit(placed.scn, mode, session)?;
        self.active.leave(log.id, session);
        Ok(())
    }

    /// Takes the transaction's changes back. The redo of it need not be durable: what a crash takes
    /// of it, recovery does again. What stands in its way halts the instance: else its rows would
    /// be locked for ever (TX4).
    pub fn rollback(&self, transaction: Transaction, session: &Session) -> Result<(), Stop> {
        let Some(log) = transaction.log else { return Ok(()) };
        let id = log.id;
        if let Err(stop) = self.take_back(log, session) {
            let cause = format!("transaction {id} can't be rolled back: {stop}");
            return Err(self.changes.halt().raise(cause, session));
        }
        session.count(Statistic::UserRollbacks, 1);
        self.active.leave(id, session);
        Ok(())
    }

    /// Rolls back what was active when the instance stopped. Before anybody else works. How many.
    pub fn roll_back_dead(&self, session: &Session) -> Result<u64, Stop> {
        let dead = self.undo.active(session)?;
        let count = dead.len() as u64;
        dead.into_iter().try_for_each(|log| self.take_back(log, session))?;
        Ok(count)
    }

    fn take_back(&self, mut log: UndoLog, session: &Session) -> Result<(), Stop> {
        let cache = self.changes.cache();
        while let Some(change) = self.undo.newest(&mut log, session)? {
            let layer = self.layers.iter().find(|layer| layer.number == change.layer);
            let layer = layer.expect("undo was pushed by a layer that can take it back");
            let block_pin = cache.pin(change.address, session)?;
            let undo_pin = cache.pin(log.current(), session)?;
            let credits = credits_for(&[change.payload.len(), 0]);
            let mut group = self.changes.begin(credits, session)?;
            let block = block_pin.exclusive(layer.order, session);
            let undo = undo_pin.exclusive(FrameOrder::Undo, session);
            group.change(block, layer, change.opcode, &[&change.payload]);
            self.undo.pop(&mut group, undo);
            group.commit(session);
            session.count(Statistic::UndoRecordsApplied, 1);
        }
        self.undo.end(&log, Ended::RolledBack, session)?;
        Ok(())
    }
}
