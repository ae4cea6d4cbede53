//! The lock manager: granting locks at once, and releasing them. Waits are in `waiting`.
//!
//! Why a weak mode at a seat is never in conflict with a strong one (TX36): a session that wants a
//! strong mode first raises the table's watch, then reads every seat under the seat's latch. A
//! session that wants a weak mode reads the watch and puts its mode at its seat under the latch of
//! the seat. So either it comes first, and its mode is found; or it comes later, and sees the
//! watch.
//!
//! Callers: `relation` and `catalog` lock tables; `transaction` ends transactions.

use std::sync::Arc;

use ids::TxnId;
use latch::{ExclusiveGuard, Latch, LatchKind, Shared32, assert_none_held};
use os::{Os, Session};
use stop::{Failpoint, Failpoints, Halt, Stop};
use waits::Statistic;

use crate::locks::deadlock::{LockNames, Namer};
use crate::locks::queues::Queues;
use crate::locks::seat::{ModeAt, Seat};
use crate::locks::table::Request;
use crate::locks::{LockWait, TableMode};

/// The number of watches. A table whose watch is raised for another table is slower, not wrong.
const WATCHES: usize = 1024;

/// The table locks of an instance, and the waits for the ends of transactions.
pub struct Locks {
    /// The seats, by undo segment.
    pub(super) seats: Arc<[Seat]>,
    /// How many tables with this remainder of their numbers are watched. Read often, seldom
    /// written.
    pub(super) watches: Vec<Shared32>,
    /// In a box of its own, so that waits don't slow down transactions that meet no other.
    pub(super) queues: Box<Latch<Queues>>,
    pub(super) halt: Halt,
    /// Set once the catalog is open.
    names: Latch<Option<Arc<dyn LockNames>>>,
    pub(super) failpoints: Failpoints,
}

impl Locks {
    /// Without locks and waits. Segments have numbers below `segments_max`.
    pub fn new(os: &Os, segments_max: u16, failpoints: Failpoints, halt: Halt) -> Locks {
        let seats: Arc<[Seat]> = (0..segments_max).map(|_| Seat::new(os)).collect();
        let seen = Arc::clone(&seats);
        let look = move |queues: &Queues| queues.assert_consistent(&seen);
        let queues = Queues::new(segments_max);
        let queues = Latch::new(os, LatchKind::EnqueueHashChains, queues).checked(os, look);
        Locks {
            seats,
            watches: (0..WATCHES).map(|_| Shared32::new(0)).collect(),
            queues: Box::new(queues),
            halt,
            names: Latch::new(os, LatchKind::Innermost, None),
            failpoints,
        }
    }

    /// Sets the names of objects and rows for messages.
    pub fn name_by(&self, names: Arc<dyn LockNames>, session: &Session) {
        *self.names.exclusive(session) = Some(names);
    }

    /// Locks a table for a transaction until it ends. A mode that the transaction has already costs
    /// a look at its seat. Waits (`enq: TM - contention`) while other transactions have or wanted
    /// the table in a conflicting mode. Refused if the lock wait is over, or if the wait would
    /// close a cycle. Called without latches.
    pub fn lock_table(
        &self,
        owner: TxnId,
        object: u32,
        mode: TableMode,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        assert_none_held("a wait for a table");
        session.count(Statistic::EnqueueRequests, 1);
        if self.lock_at_seat(owner, object, mode, session) {
            return Ok(());
        }
        let mut queues = self.queues.exclusive(session);
        let has = self.mode_of(&queues, owner, object, session);
        let request = Request { owner, mode: has.map_or(mode, |has| has.and(mode)) };
        if has == Some(request.mode) {
            return Ok(());
        }
        session.count(Statistic::EnqueueConversions, u64::from(has.is_some()));
        if !queues.table(object).watched && !request.mode.is_weak() {
            self.watch(&mut queues, object, session);
        }
        let table = queues.table(object);
        let at_once = match self.failpoints.has(Failpoint::Overtake) {
            true => table.fits(request),
            false => table.may_have(request),
        };
        if at_once {
            self.grant(&mut queues, object, request, session);
            return Ok(());
        }
        self.wait_for_table(queues, object, request, lock_wait, session)
    }

    /// The mode in which a transaction has a table, if it has it.
    pub fn mode(&self, owner: TxnId, object: u32, session: &Session) -> Option<TableMode> {
        self.mode_of(&self.queues.shared(session), owner, object, session)
    }

    /// Takes back what an active transaction has asked for of a table since it had the table in
    /// mode `to`, or not at all (TX61). Wakes the sessions that can have the table by that. Called
    /// by the transaction's session, without latches.
    pub fn lower(&self, owner: TxnId, object: u32, to: Option<TableMode>, session: &Session) {
        let mut queues = self.queues.exclusive(session);
        if self.mode_of(&queues, owner, object, session) == to {
            return;
        }
        match to {
            Some(mode) => self.grant(&mut queues, object, Request { owner, mode }, session),
            None => {
                self.seat(owner).holdings.exclusive(session).remove(object);
                queues.table(object).release(owner);
            }
        }
        let mut woken = Vec::new();
        self.serve(&mut queues, object, &mut woken, session);
        drop(queues);
        self.wake(&woken, session);
    }

    /// Releases the tables of a transaction that has ended and wakes the sessions that wait for it.
    /// The transaction's status says already that it has ended, and its segment serves no other yet
    /// (TX10).
    pub fn ended(&self, id: TxnId, session: &Session) {
        let seat = self.seat(id);
        let objects = seat.holdings.exclusive(session).leave(id);
        let is_awaited = seat.waiters.load(session) > 0;
        if objects.is_empty() && !is_awaited {
            return;
        }
        // Taken even without tables to release: a session that saw the transaction active is asleep
        // once this session has the latch.
        let mut queues = self.queues.exclusive(session);
        let mut woken = Vec::new();
        for object in objects {
            queues.table(object).release(id);
            self.serve(&mut queues, object, &mut woken, session);
        }
        drop(queues);
        self.wake(&woken, session);
        if is_awaited && !self.failpoints.has(Failpoint::SkipWake) {
            seat.ended.notify_all(session);
        }
    }

    /// Wakes all waiting sessions when the instance halts.
    pub fn wake_all(&self, session: &Session) {
        let _queues = self.queues.exclusive(session);
        for seat in &*self.seats {
            seat.ended.notify_all(session);
            seat.granted.notify_all(session);
        }
    }

    /// Grants the usual requests: a mode that the transaction has, or a weak mode of a table that
    /// isn't watched. Returns whether it was one of these.
    fn lock_at_seat(&self, owner: TxnId, object: u32, mode: TableMode, session: &Session) -> bool {
        let mut holdings = self.seat(owner).holdings.exclusive(session);
        holdings.enter(owner, session);
        let has = match holdings.place(object) {
            Some(ModeAt::Seat(has)) if has.and(mode) == has => return true,
            Some(ModeAt::Seat(has)) => Some(has),
            Some(ModeAt::Table) => return false,
            None => None,
        };
        let is_watched = self.watch_of(object).load(session) > 0;
        if !mode.is_weak() || (is_watched && !self.failpoints.has(Failpoint::IgnoreWatch)) {
            return false;
        }
        session.count(Statistic::EnqueueConversions, u64::from(has.is_some()));
        let mode = has.map_or(mode, |has| has.and(mode));
        holdings.put(object, ModeAt::Seat(mode), session.now());
        true
    }

    /// The mode in which the transaction has the table.
    fn mode_of(
        &self,
        queues: &Queues,
        owner: TxnId,
        object: u32,
        session: &Session,
    ) -> Option<TableMode> {
        match self.seat(owner).holdings.exclusive(session).place(object)? {
            ModeAt::Seat(mode) => Some(mode),
            ModeAt::Table => queues.tables.get(&object).and_then(|table| table.mode_of(owner)),
        }
    }

    /// Makes a table watched: raises its watch, then takes the modes of it from all seats (TX36).
    fn watch(&self, queues: &mut Queues, object: u32, session: &Session) {
        let table = queues.table(object);
        table.watched = true;
        self.watch_of(object).fetch_add(1, session);
        if self.failpoints.has(Failpoint::SkipSweep) {
            return;
        }
        for seat in &*self.seats {
            if let Some((owner, mode)) = seat.holdings.exclusive(session).hand_over(object) {
                table.grant(Request { owner, mode });
            }
        }
    }

    /// Grants the request: at the table if it is watched or knows the transaction, else at the
    /// seat.
    pub(super) fn grant(
        &self,
        queues: &mut Queues,
        object: u32,
        request: Request,
        session: &Session,
    ) {
        let now = session.now();
        let mut holdings = self.seat(request.owner).holdings.exclusive(session);
        let table = queues.table(object);
        if table.watched || table.mode_of(request.owner).is_some() {
            table.grant(request);
            holdings.put(object, ModeAt::Table, now);
            return;
        }
        holdings.put(object, ModeAt::Seat(request.mode), now);
        if table.is_empty() {
            queues.tables.remove(&object);
        }
    }

    /// Grants the waiting requests for a table that can be granted now, and stops watching it if
    /// that isn't needed any more. Adds the transactions that are to be woken.
    pub(super) fn serve(
        &self,
        queues: &mut Queues,
        object: u32,
        woken: &mut Vec<TxnId>,
        session: &Session,
    ) {
        while let Some(request) = queues.table(object).next() {
            self.grant(queues, object, request, session);
            queues.waits[usize::from(request.owner.segment)] = None;
            woken.push(request.owner);
        }
        let table = queues.table(object);
        if table.watched && !table.needs_watching() {
            table.watched = false;
            self.watch_of(object).fetch_sub(1, session);
        }
        if table.is_empty() {
            queues.tables.remove(&object);
        }
    }

    /// Wakes the transactions that were granted a table.
    pub(super) fn wake(&self, woken: &[TxnId], session: &Session) {
        woken.iter().for_each(|id| self.seat(*id).granted.notify_all(session));
    }

    pub(super) fn seat(&self, id: TxnId) -> &Seat {
        &self.seats[usize::from(id.segment)]
    }

    /// The names for messages. Called, and used, without latches.
    pub(super) fn namer<'n>(&self, session: &'n Session) -> Namer<'n> {
        Namer { names: self.names.exclusive(session).clone(), session }
    }

    fn watch_of(&self, object: u32) -> &Shared32 {
        &self.watches[object as usize % WATCHES]
    }
}

/// The guard of the queues' latch.
pub(super) type QueuesGuard<'a> = ExclusiveGuard<'a, Queues>;
