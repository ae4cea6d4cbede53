//! Transactions: begin, commit and roll back; the snapshots of statements and transactions.
//!
//! Callers: `access`, for changes; `instance`, for begin and end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use change::{Changes, Layer};
use ids::{Scn, TxnId};
use latch::Shared64;
use os::{Cost, Session};
use redo::{CommitMode, CommitWait};
use space::{Enqueue, Space};
use stop::{Failpoint, Failpoints, RefusalKind, Stop};
use waits::{Statistic, WaitEvent};

use crate::active::SegmentChoice;
use crate::ends::Ends;
use crate::kept::{KeptSlots, OwnedSnapshot};
use crate::overwritten::OverwrittenUndo;
use crate::retention::Retention;
use crate::snapshots::{SnapshotSlot, Snapshots};
use crate::undo::{Ended, SegmentState, Tail, Undo, UndoLog};
use crate::waited::Waited;
use crate::{Active, LockWait, Locks, OwnChanges, RowRequest, TableMode, View};

/// The end of a transaction is remembered if it has filled this number of undo blocks (TX19).
const BLOCKS_MANY: u32 = 4;

/// The transactions of an instance.
#[derive(Clone)]
pub struct Transactions {
    changes: Changes,
    undo: Undo,
    active: Arc<Active>,
    locks: Arc<Locks>,
    pub(crate) shared: Arc<Shared>,
    layers: &'static [&'static Layer],
    failpoints: Failpoints,
}

pub(crate) struct Shared {
    pub(crate) snapshots: Snapshots,
    pub(crate) retention: Retention,
    pub(crate) ends: Ends,
    pub(crate) overwritten: OverwrittenUndo,
    /// The SCN of the newest rollback that left undo. No session waits for it to be durable.
    rolled_back: Shared64,
    /// The SCN of the newest commit that didn't wait to be durable. Snapshots see it all the same
    /// (TX6).
    not_waited_for: Shared64,
    /// How many commits wait to be durable, counted from before their records are made (TX35).
    waiting: Shared64,
    /// Held by the session that makes an undo segment.
    making: Enqueue<()>,
    /// The slots of snapshots that live between calls.
    pub(crate) kept: KeptSlots,
}

/// A transaction of one session. It has to be ended by [`Transactions::commit`] or
/// [`Transactions::rollback`].
#[derive(Debug, Default)]
#[must_use = "a transaction ends by commit or rollback"]
pub struct Transaction {
    log: Option<UndoLog>,
    /// The snapshot, if all statements share one.
    snapshot: Option<OwnedSnapshot>,
    /// How many undo records the transaction had when its present statement began.
    statement: Option<u32>,
    /// How long each wait for a lock may take.
    lock_wait: LockWait,
    /// The table that it has locked last, and the mode: it has both until it ends, or until
    /// [`Transactions::lower_table`].
    table: Option<(u32, TableMode)>,
    /// How often it has gone back to a savepoint.
    times_back: u64,
    /// How long the present statement has waited for rows.
    pub(crate) waited: Waited,
    /// The strong end of the session's reference. Others hold the weak end and see when it is
    /// dropped (TX17).
    alive: Arc<()>,
}

/// A point in a transaction to which it can be rolled back (TX28): its number of undo records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Savepoint(pub(crate) u32);

/// A snapshot in use: undo that it needs isn't overwritten while there is room (TX7).
pub struct Snapshot<'a> {
    transactions: &'a Transactions,
    session: &'a Session,
    scn: Scn,
    place: Option<SnapshotSlot>,
}

impl Snapshot<'_> {
    /// The SCN: commits up to it are seen.
    pub fn scn(&self) -> Scn {
        self.scn
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.transactions.shared.snapshots.give_back(place, self.session);
        }
    }
}

impl Transaction {
    /// A read committed transaction without changes, and so without a name.
    pub fn new() -> Transaction {
        Transaction::default()
    }

    /// Sets how long each wait for a lock may take, where a statement doesn't say it.
    pub fn set_lock_wait(&mut self, lock_wait: LockWait) {
        self.lock_wait = lock_wait;
    }

    /// How long each wait for a lock may take.
    pub fn lock_wait(&self) -> LockWait {
        self.lock_wait
    }

    /// The transaction's name, which it has from its first change or table lock on.
    pub fn id(&self) -> Option<TxnId> {
        self.log.as_ref().map(|log| log.id)
    }

    /// The transaction's undo, which it has as long as it has a name.
    pub fn undo(&mut self) -> &mut UndoLog {
        self.log.as_mut().expect("a transaction that changes something has begun")
    }

    /// Whether all statements share one snapshot.
    pub fn is_serializable(&self) -> bool {
        self.snapshot.is_some()
    }

    /// A savepoint at this moment.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint(self.log.as_ref().map_or(0, |log| log.records))
    }

    /// How often the transaction has taken changes back and gone on. A savepoint doesn't tell: it
    /// counts applied undo records too (UN8).
    pub fn times_back(&self) -> u64 {
        self.times_back
    }

    /// Begins a statement: its reads don't see what the transaction changes from now on, until the
    /// next call or [`end_statement`](Transaction::end_statement).
    pub fn begin_statement(&mut self) {
        self.statement = Some(self.savepoint().0);
    }

    /// Ends the statement: reads see all of the transaction's own changes.
    pub fn end_statement(&mut self) {
        self.statement = None;
    }

    /// The view that all statements share, if they share one snapshot.
    pub fn fixed_view(&self) -> Option<View> {
        self.snapshot_scn().map(|scn| self.view_at(scn))
    }

    /// The view of this SCN and of the transaction's own changes.
    pub fn view_at(&self, scn: Scn) -> View {
        View { scn, own: self.own() }
    }

    /// The snapshot that all statements share.
    pub(crate) fn owned_snapshot(&self) -> Option<&OwnedSnapshot> {
        self.snapshot.as_ref()
    }

    fn snapshot_scn(&self) -> Option<Scn> {
        self.snapshot.as_ref().map(|snapshot| snapshot.scn)
    }

    /// The number of undo records of the changes that a read sees if it begins now.
    pub(crate) fn seen_records(&self) -> u32 {
        self.statement.unwrap_or(self.savepoint().0)
    }

    fn own(&self) -> Option<OwnChanges> {
        let log = self.log.as_ref()?;
        let before = self.statement.unwrap_or(u32::MAX);
        Some(OwnChanges { id: log.id, before, all: log.records <= before })
    }
}

impl Transactions {
    /// Opens the undo of the database; `layers` are those whose changes can be taken back. Also
    /// returns the undo of the dead transactions, for [`roll_back_dead`](Self::roll_back_dead).
    pub fn open(
        space: &Space,
        layers: &'static [&'static Layer],
        failpoints: Failpoints,
        session: &Session,
    ) -> Result<(Transactions, Vec<UndoLog>), Stop> {
        let (undo, segments) = Undo::open(space, session)?;
        let changes = space.changes().clone();
        let os = session.os();
        let config = changes.cache().config();
        let buffers = config.frames..=config.frames_max.max(config.frames);
        let active = Active::new(os, undo.slots, buffers, segments.len());
        let locks = Locks::new(os, active.segments_max(), failpoints, changes.halt().clone());
        // Transactions that aren't active ended before every snapshot to come.
        let by = changes.redo().durable_scn(session);
        let mut dead = Vec::new();
        for segment in segments {
            match segment {
                SegmentState::Idle(tail) => active.add(tail, by, session),
                SegmentState::Dead(log) => {
                    active.add_dead(log.id, log.ended(None), by, session);
                    dead.push(log);
                }
            }
        }
        let making = Enqueue::new(os, *b"US", WaitEvent::EnqUsContention, ());
        let shared = Shared {
            snapshots: Snapshots::new(os),
            retention: Retention::new(os),
            ends: Ends::new(by, os),
            overwritten: OverwrittenUndo::new(by, os),
            rolled_back: Shared64::new(0),
            not_waited_for: Shared64::new(0),
            waiting: Shared64::new(0),
            making,
            kept: KeptSlots::new(os),
        };
        let (active, locks, shared) = (Arc::new(active), Arc::new(locks), Arc::new(shared));
        Ok((Transactions { changes, undo, active, locks, shared, layers, failpoints }, dead))
    }

    /// The failpoints of a test.
    #[inline]
    pub fn failpoints(&self) -> Failpoints {
        self.failpoints
    }

    /// What blocks are changed with.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// The active transactions.
    pub fn active(&self) -> &Arc<Active> {
        &self.active
    }

    /// The table locks, and the waits of transactions.
    pub fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    /// Waits until any of the holders isn't active any more. The caller reads the block again
    /// afterwards (TX3). A wait for an ITL entry also returns from time to time while all are
    /// active.
    pub fn wait_for(
        &self,
        holders: &[TxnId],
        request: &RowRequest,
        session: &Session,
    ) -> Result<(), Stop> {
        let is_active = |id| self.active.is_active(id, session);
        self.locks.wait_for_end(holders, request, &is_active, session)
    }

    /// The undo segments.
    pub fn undo(&self) -> &Undo {
        &self.undo
    }

    /// The layer of this number.
    pub(crate) fn layer(&self, number: u8) -> &'static Layer {
        let found = self.layers.iter().find(|layer| layer.number == number);
        found.expect("undo was pushed by a layer that can take it back")
    }

    /// The SCN of a snapshot that is taken now (TX6). It never gets lower. It isn't to be read as
    /// of until [`settle`](Self::settle) has returned.
    pub fn visible(&self, session: &Session) -> Scn {
        if self.failpoints.has(Failpoint::SeeBeforeDurable) {
            return self.changes.redo().last_scn(session);
        }
        let durable = self.changes.redo().durable_scn(session);
        durable.max(Scn::new(self.shared.not_waited_for.load(session)))
    }

    /// An SCN that no snapshot in use, and none to come, is below: all see what ended by it. A view
    /// without a place among the snapshots may be below (TX42).
    pub fn oldest_snapshot(&self, session: &Session) -> Scn {
        // Read before the list of snapshots is.
        let visible = self.visible(session);
        self.shared.snapshots.oldest_in_use(visible, session)
    }

    /// Waits, if need be, until reading as of this SCN, which was [`visible`], shows nothing of a
    /// commit that waits to be durable (TX2, TX35). Called without latches.
    ///
    /// [`visible`]: Transactions::visible
    ///
    /// Commits that wait are counted before they get their SCNs. So those below a commit that
    /// didn't wait were counted before that one raised the visible SCN, and that was read before
    /// the count.
    fn settle(&self, scn: Scn, session: &Session) -> Result<(), Stop> {
        let redo = self.changes.redo();
        if scn <= redo.durable_scn(session)
            || self.shared.waiting.load(session) == 0
            || self.failpoints.has(Failpoint::SeeBeforeDurable)
        {
            return Ok(());
        }
        redo.make_durable(scn, session, WaitEvent::LogFileSync)
    }

    /// The view of a read that begins now and looks at one block only (TX42). Called without
    /// latches.
    pub fn view(&self, transaction: Option<&Transaction>, session: &Session) -> Result<View, Stop> {
        let scn = match transaction.and_then(Transaction::snapshot_scn) {
            Some(kept) => kept,
            None => {
                let scn = self.visible(session);
                self.settle(scn, session)?;
                scn
            }
        };
        Ok(View { scn, own: transaction.and_then(Transaction::own) })
    }

    /// The SCN by which the transaction of an ITL entry has to have ended for a statement to take
    /// the entry over (TX9). `snapshot` is the statement's, if it has one.
    pub fn takes_over_by(
        &self,
        transaction: &Transaction,
        snapshot: Option<Scn>,
        session: &Session,
    ) -> Scn {
        snapshot.or(transaction.snapshot_scn()).unwrap_or_else(|| self.visible(session))
    }

    /// Takes a snapshot: its place in the list of those in use, and its SCN. Called without
    /// latches.
    pub(crate) fn take_snapshot(&self, session: &Session) -> Result<(SnapshotSlot, Scn), Stop> {
        let (place, scn) = self.shared.snapshots.take(|| self.visible(session), session)?;
        match self.settle(scn, session) {
            Ok(()) => Ok((place, scn)),
            Err(stop) => {
                self.shared.snapshots.give_back(place, session);
                Err(stop)
            }
        }
    }

    /// The snapshot of a statement: the transaction's, if it has one, else a new one.
    pub fn snapshot<'a>(
        &'a self,
        transaction: Option<&Transaction>,
        session: &'a Session,
    ) -> Result<Snapshot<'a>, Stop> {
        let (place, scn) = match transaction.and_then(Transaction::snapshot_scn) {
            Some(scn) => (None, scn),
            None => {
                let (place, scn) = self.take_snapshot(session)?;
                (Some(place), scn)
            }
        };
        Ok(Snapshot { transactions: self, session, scn, place })
    }

    /// The view of a statement with this snapshot.
    pub fn view_of(&self, snapshot: &Snapshot<'_>, transaction: Option<&Transaction>) -> View {
        View { scn: snapshot.scn, own: transaction.and_then(Transaction::own) }
    }

    /// Begins a serializable transaction: all its statements see this moment (snapshot isolation).
    pub fn begin_serializable(&self, session: &Session) -> Result<Transaction, Stop> {
        // A rollback stays in the ITL of leaves, and is nothing that happened since (TX40).
        self.see_rollbacks(session)?;
        let (slot, scn) = self.take_snapshot(session)?;
        let snapshot = Some(self.shared.kept.add(slot, scn, session));
        Ok(Transaction { snapshot, ..Transaction::default() })
    }

    /// Waits until new snapshots see every rollback so far. Called without latches.
    pub fn see_rollbacks(&self, session: &Session) -> Result<(), Stop> {
        self.make_visible(Scn::new(self.shared.rolled_back.load(session)), session)
    }

    /// Gives the transaction a name, if it has none, and makes room for an undo record with a
    /// payload of this length. Waits; called without latches. Refused before that if the session's
    /// call is to end; the room itself is made to the end (TX48).
    pub fn prepare(
        &self,
        transaction: &mut Transaction,
        undo_bytes: usize,
        session: &Session,
    ) -> Result<TxnId, Stop> {
        self.changes.halt().check_call(session)?;
        // Each change of a row comes through here, and the first table lock, which needs a name.
        session.charge(Cost::RowChange, 1);
        if transaction.log.is_none() {
            let _held = session.hold_off();
            let log = self.take_segment(&transaction.alive, session)?.begin();
            self.active.enter(log.id, session);
            transaction.log = Some(log);
        }
        let log = transaction.undo();
        if log.is_full() {
            let message = "cannot change more: the transaction has as many changes as one can \
                           have; commit it, or roll it back";
            return Err(Stop::refuse(RefusalKind::NoSpace, message));
        }
        self.undo.make_room(log, undo_bytes, self, session)?;
        Ok(log.id)
    }

    /// Locks a table for the transaction, which gets a name if it has none. Waits and is refused as
    /// [`Locks::lock_table`]. A statement on the same table as the one before asks for nothing.
    pub fn lock_table(
        &self,
        transaction: &mut Transaction,
        object: u32,
        mode: TableMode,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        let wanted = Some((object, mode));
        if transaction.table == wanted {
            session.count(Statistic::EnqueueRequests, 1);
            return Ok(());
        }
        let id = match transaction.id() {
            Some(id) => id,
            None => self.prepare(transaction, 0, session)?,
        };
        self.locks.lock_table(id, object, mode, lock_wait, session)?;
        transaction.table = wanted;
        Ok(())
    }

    /// The mode in which the transaction has a table, if it has it.
    pub fn table_mode(
        &self,
        transaction: &Transaction,
        object: u32,
        session: &Session,
    ) -> Option<TableMode> {
        self.locks.mode(transaction.id()?, object, session)
    }

    /// Has the transaction have a table in mode `to` again, or not at all, as before a statement
    /// that locks tables and is refused (TX61).
    pub fn lower_table(
        &self,
        transaction: &mut Transaction,
        object: u32,
        to: Option<TableMode>,
        session: &Session,
    ) {
        transaction.table = None;
        if let Some(id) = transaction.id() {
            self.locks.lower(id, object, to, session);
        }
    }

    fn take_segment(&self, alive: &Arc<()>, session: &Session) -> Result<Tail, Stop> {
        if let SegmentChoice::Existing(tail) = self.active.take(alive, false, session)? {
            return Ok(tail);
        }
        let _making = self.shared.making.hold(0, session);
        loop {
            let (number, last) = match self.active.take(alive, false, session)? {
                SegmentChoice::Existing(tail) => return Ok(tail),
                SegmentChoice::NeedsNew { number, last } => (number, last),
            };
            match self.undo.add_segment(last, number, session) {
                Ok(tail) => self.active.add(tail, Scn::ZERO, session),
                Err(stop) => {
                    return match self.active.take(alive, true, session)? {
                        SegmentChoice::Existing(tail) => Ok(tail),
                        SegmentChoice::NeedsNew { .. } => Err(stop),
                    };
                }
            }
        }
    }

    /// Commits the transaction (TX24, TX25) and returns when that is durable, or at once with
    /// `nowait` (TX2). A commit that is refused has rolled back (TX4). Returns the commit's SCN, if
    /// the transaction had changed anything.
    pub fn commit(
        &self,
        mut transaction: Transaction,
        mode: CommitMode,
        session: &Session,
    ) -> Result<Option<Scn>, Stop> {
        let _held = session.hold_off();
        self.release_snapshot(&mut transaction, session);
        let Some(log) = transaction.log else { return Ok(None) };
        if log.records == 0 {
            // It leaves no undo, from which others could find out when it ended (UN7).
            return self.end_by_rollback(log, session).map(|()| None);
        }
        session.charge(Cost::Transaction, 1);
        let waits = mode.wait == CommitWait::Wait;
        if waits {
            // Counted before the record has an SCN (TX35).
            self.shared.waiting.fetch_add(1, session);
        }
        self.active.set_committing(log.id, true, session);
        let placed = match self.undo.end(&log, Ended::Committed, session) {
            Ok(placed) => placed,
            Err(Stop::Refused(refusal)) => {
                self.active.set_committing(log.id, false, session);
                if waits {
                    self.shared.waiting.fetch_sub(1, session);
                }
                self.end_by_rollback(log, session)?;
                let lead = "the transaction was rolled back instead: ";
                return Err(refusal.led_by(lead).into());
            }
            Err(halted) => return Err(halted),
        };
        self.active.set_ended(log.id, placed.scn, true, session);
        self.remember_end(&log, placed.scn, session);
        session.count(Statistic::UserCommits, 1);
        // If this ends by a halt, no session reads any more, and the commit stays counted.
        self.changes.redo().commit(placed.scn, mode, session)?;
        match waits {
            true => drop(self.shared.waiting.fetch_sub(1, session)),
            false => drop(self.shared.not_waited_for.fetch_max(placed.scn.get(), session)),
        }
        self.leave(log.id, log.ended(Some(placed.scn)), session);
        Ok(Some(placed.scn))
    }

    /// Rolls the transaction back (TX26). A failure halts the instance, because the transaction's
    /// rows would be locked for ever (TX27).
    pub fn rollback(&self, mut transaction: Transaction, session: &Session) -> Result<(), Stop> {
        self.release_snapshot(&mut transaction, session);
        let Some(log) = transaction.log else { return Ok(()) };
        self.end_by_rollback(log, session)?;
        session.count(Statistic::UserRollbacks, 1);
        Ok(())
    }

    /// Takes back what the transaction has changed since the savepoint (TX28). A failure halts the
    /// instance.
    pub fn rollback_to(
        &self,
        transaction: &mut Transaction,
        savepoint: Savepoint,
        session: &Session,
    ) -> Result<(), Stop> {
        let _held = session.hold_off();
        let Some(log) = transaction.log.as_mut() else { return Ok(()) };
        transaction.times_back += u64::from(log.records > savepoint.0);
        match log.has_begun {
            true => self.take_back(log, savepoint.0, session),
            false => Ok(()),
        }
    }

    /// Rolls back a dead transaction (TX29).
    pub fn roll_back_dead(&self, log: UndoLog, session: &Session) -> Result<(), Stop> {
        self.end_by_rollback(log, session)
    }

    /// Rolls back the transactions of vanished sessions and releases their snapshots (TX17).
    /// Returns how many transactions there were.
    pub fn clean_up(&self, session: &Session) -> Result<u64, Stop> {
        self.shared.release_abandoned(session);
        let abandoned = self.active.abandoned(session);
        let count = abandoned.len() as u64;
        for id in abandoned {
            let table = self.active.table_of(id, session);
            let found = insist(|| self.undo.found(table, session));
            let found = found.map_err(|stop| self.cannot_roll_back(id, &stop, session))?;
            // The table doesn't know commits whose slots were used again.
            match found.after(self.active.last_commit(id, session)) {
                SegmentState::Dead(log) => self.end_by_rollback(log, session)?,
                // The transaction had changed nothing.
                SegmentState::Idle(tail) => self.leave(id, tail, session),
            }
        }
        Ok(count)
    }

    /// Whether a session has vanished whose transaction `clean_up` hasn't ended yet.
    pub fn has_abandoned(&self, session: &Session) -> bool {
        !self.active.abandoned(session).is_empty()
    }

    /// Notes the number of buffers that the cache has or is about to have (TX23). Refused if more
    /// transactions are active than these buffers are enough for.
    pub fn set_buffers(&self, buffers: u32, session: &Session) -> Result<(), Stop> {
        self.active.set_buffers(buffers, session)
    }

    fn release_snapshot(&self, transaction: &mut Transaction, session: &Session) {
        if let Some(snapshot) = transaction.snapshot.take() {
            self.shared.release(snapshot, session);
        }
    }

    /// Remembers the end of a transaction with much undo, so that no session has to read all of it
    /// to find that end.
    fn remember_end(&self, log: &UndoLog, at: Scn, session: &Session) {
        if log.blocks_filled >= BLOCKS_MANY {
            self.shared.ends.remember(log.id, at, session);
        }
    }

    /// Releases the transaction's locks and its segment, in the order of TX10.
    fn leave(&self, id: TxnId, tail: Tail, session: &Session) {
        self.active.set_idle(id, session);
        self.locks.ended(id, session);
        self.active.give_back(id, tail, session);
    }

    fn end_by_rollback(&self, mut log: UndoLog, session: &Session) -> Result<(), Stop> {
        let _held = session.hold_off();
        let mut left = None;
        if log.has_begun {
            self.take_back(&mut log, 0, session)?;
            let ended = insist(|| self.undo.end(&log, Ended::RolledBack, session));
            let placed = ended.map_err(|stop| self.cannot_roll_back(log.id, &stop, session))?;
            left = log.has_records().then_some(placed.scn);
            self.active.set_ended(log.id, placed.scn, left.is_some(), session);
            if left.is_some() {
                self.remember_end(&log, placed.scn, session);
                self.shared.rolled_back.fetch_max(placed.scn.get(), session);
            }
        }
        self.leave(log.id, log.ended(left), session);
        Ok(())
    }

    fn cannot_roll_back(&self, id: TxnId, stop: &Stop, session: &Session) -> Stop {
        let cause = format!("transaction {id} can't be rolled back: {stop}");
        self.changes.halt().raise(cause, session)
    }

    /// Takes back all changes but the first `keep`. A panic in there halts the instance, and goes
    /// on unless the thread is unwinding already, which a second one would abort.
    fn take_back(&self, log: &mut UndoLog, keep: u32, session: &Session) -> Result<(), Stop> {
        let id = log.id;
        let taken = || insist(|| self.try_take_back(log, keep, session));
        match catch_unwind(AssertUnwindSafe(taken)) {
            Ok(taken) => taken.map_err(|stop| self.cannot_roll_back(id, &stop, session)),
            Err(panic) => {
                let cause = format!("the rollback of transaction {id} panicked");
                let stop = self.changes.halt().raise(cause, session);
                if std::thread::panicking() { Err(stop) } else { resume_unwind(panic) }
            }
        }
    }
}

/// Repeats a step of a rollback until it gets a buffer. Each try lets go of its pins, and sessions
/// that don't roll back are refused meanwhile (TX23).
fn insist<T>(mut act: impl FnMut() -> Result<T, Stop>) -> Result<T, Stop> {
    loop {
        match act() {
            Err(stop) if stop.refusal() == Some(RefusalKind::NoBuffer) => {}
            done => return done,
        }
    }
}
