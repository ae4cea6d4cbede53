//! The lock manager: how locks are had at once, and let go. How they are waited for is in
//! `waiting.rs`.
//!
//! Why a weak mode that is kept at a seat is never at odds with a strong one (rule TX12): who wants
//! a strong mode first raises the table's watch, then looks at every seat under its latch. A
//! transaction looks at the watch and puts its weak mode down under the latch of its seat. So
//! either it comes first, and its mode is found; or later, and it sees the watch.
//!
//! Callers: `access` asks for tables, `instance` ends transactions.

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

/// Tables share so many watches. A table whose watch is raised for another is slower, not wrong.
const WATCHES: usize = 1024;

/// The locks of an instance.
pub struct Locks {
    /// By undo segment.
    pub(super) seats: Arc<[Seat]>,
    /// By object modulo their number: so many tables are watched. Read by all, seldom written.
    pub(super) watches: Vec<Shared32>,
    /// In a place of its own: waiting must not slow those down who meet nobody.
    pub(super) queues: Box<Latch<Queues>>,
    pub(super) halt: Halt,
    /// Once somebody has named objects and rows.
    names: Latch<Option<Arc<dyn LockNames>>>,
    pub(super) failpoints: Failpoints,
}

impl Locks {
    /// Nobody has or waits for anything. Segments have numbers below `segments_max`.
    pub fn new(os: &Os, segments_max: u16, halt: Halt) -> Locks {
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
            failpoints: Failpoints::NONE,
        }
    }

    /// From now on messages name objects and rows so.
    pub fn name_by(&self, names: Arc<dyn LockNames>, session: &Session) {
        *self.names.exclusive(session) = Some(names);
    }

    /// The same with what a test breaks on purpose.
    #[must_use]
    pub fn broken_at(self, failpoints: Failpoints) -> Locks {
        Locks { failpoints, ..self }
    }

    /// Locks a table for a transaction, until it ends; a mode that it has already costs a look at
    /// its seat. Waits (`enq: TM - contention`) while others have or wanted the table otherwise;
    /// refused if that takes longer than `lock wait`, or would close a circle. Called without
    /// latches.
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

    /// The transaction has ended; its status says so already. Lets go of its tables and wakes who
    /// waits for it. Before its segment serves another (rule TX10).
    pub fn ended(&self, id: TxnId, session: &Session) {
        let seat = self.seat(id);
        let objects = seat.holdings.exclusive(session).leave(id);
        let is_awaited = seat.waiters.load(session) > 0;
        if objects.is_empty() && !is_awaited {
            return;
        }
        // Also if there are no tables: who saw it active has gone to sleep when we have the latch.
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

    /// The instance halts: whoever waits looks up, and is told.
    pub fn wake_all(&self, session: &Session) {
        let _queues = self.queues.exclusive(session);
        for seat in &*self.seats {
            seat.ended.notify_all(session);
            seat.granted.notify_all(session);
        }
    }

    /// The usual case: a mode that the transaction has, or a weak one of a table that nobody
    /// watches. Whether it was that.
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

    /// What the transaction has of the table.
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

    /// From now on all who want the table come to the queues; and what seats know of it does.
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

    /// The transaction has the table now: with the table, if that is watched or knows of it.
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

    /// Something of the table was let go: grants what can be granted now, and stops watching if
    /// there is no more need. Adds who is to be woken.
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

    /// Wakes who was granted a table.
    pub(super) fn wake(&self, woken: &[TxnId], session: &Session) {
        woken.iter().for_each(|id| self.seat(*id).granted.notify_all(session));
    }

    pub(super) fn seat(&self, id: TxnId) -> &Seat {
        &self.seats[usize::from(id.segment)]
    }

    /// What messages call objects and rows. Called, and used, without latches.
    pub(super) fn namer<'n>(&self, session: &'n Session) -> Namer<'n> {
        Namer { names: self.names.exclusive(session).clone(), session }
    }

    fn watch_of(&self, object: u32) -> &Shared32 {
        &self.watches[object as usize % WATCHES]
    }
}

/// The latch of the queues, held.
pub(super) type QueuesGuard<'a> = ExclusiveGuard<'a, Queues>;
