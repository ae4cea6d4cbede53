//! Waits for locks, and how they end.
//!
//! ```text
//!                    ┌─ a cycle ─────────────────▶ refused: Deadlock
//!   enter the wait ──┤                ┌──────────▶ granted, or the other one has ended
//!                    └─ sleep ◀──────▶┼─ halt ───▶ halted
//!                       look again    ├─ time up ▶ refused: LockTimeout
//!                                     └─ call ───▶ refused: Cancelled
//! ```
//!
//! A session that sleeps holds nothing, and looks again each time it wakes. Messages are made after
//! the latch is released, because names of tables may have to be read.
//!
//! Why no wake-up is lost: a table is granted under the latch of the queues. A session that waits
//! for the end of a transaction counts itself and then reads the transaction's status, both under
//! the latch; then it sleeps. A session that ends a transaction stores the status first, then reads
//! the count, then takes the latch and wakes. So either it finds the waiter counted, and the waiter
//! sleeps once it has the latch; or the waiter finds the transaction ended.
//!
//! Callers: `manager`; `transaction`, for rows.

use ids::TxnId;
use latch::{Condition, assert_none_held};
use os::{Session, Waiting};
use stop::{Failpoint, Stop, check_call};
use waits::{Nanos, Statistic, Timestamp, WaitEvent};

use crate::locks::deadlock::{self, BLOCKERS_MAX, Blocker, Blockers};
use crate::locks::manager::{Locks, QueuesGuard};
use crate::locks::queues::WaitsForEdge;
use crate::locks::seat::ModeAt;
use crate::locks::table::{BlockReason, Request};
use crate::locks::wanted::{SessionName, Wait};
use crate::locks::{LockWait, LockWanted, RowRequest, RowWait};

/// A sleeper looks again after this time, in case it was forgotten.
const LOOK_UP: Nanos = Nanos::from_secs(3);

/// A session that waits for an ITL entry returns after this time, because it sleeps until the end
/// of one holder only (TX37).
const ITL_LOOK_UP: Nanos = Nanos::from_millis(100);

/// "TM" as p1 of a wait shows it, with the mode in the lower half.
const TM: u64 = 0x544d_0000;

/// How a wait ended without the lock.
enum WaitEnd {
    Cycle(Vec<WaitsForEdge>),
    Halted,
    /// The session's call is to end.
    CallEnds,
    TimeUp(Vec<(TxnId, BlockReason)>),
}

impl Locks {
    /// Waits (`enq: TX - row lock contention`, `enq: TX - allocate ITL entry`) until any of the
    /// holders isn't active any more; then the caller reads the block again. It is refused if its
    /// lock wait is over, or if it would close a cycle through each holder (TX14, TX37). A wait for
    /// an ITL entry also returns after [`ITL_LOOK_UP`], because the list may have room without the
    /// end of a holder. `is_active` takes no latch. Called without latches.
    pub fn wait_for_end(
        &self,
        holders: &[TxnId],
        request: &RowRequest,
        is_active: &dyn Fn(TxnId) -> bool,
        session: &Session,
    ) -> Result<(), Stop> {
        assert_none_held("a wait for the end of a transaction");
        let RowRequest { waiter, wanted, lock_wait, began } = *request;
        assert!(!holders.contains(&waiter), "a transaction waits for itself");
        let has_ended = || !holders.iter().all(|holder| is_active(*holder));
        let Some(first) = holders.first().filter(|_| !has_ended()) else { return Ok(()) };
        let blockers = || holders.iter().map(|holder| (*holder, BlockReason::Row)).collect();
        let lock = LockWanted::Row { holder: *first, wanted };
        if lock_wait == LockWait::NoWait {
            let blockers: Vec<_> = blockers();
            return Err(self.busy(&lock, &blockers, session));
        }
        let mut queues = self.queues.exclusive(session);
        let look_up = session.now().after(ITL_LOOK_UP);
        let look_up = Some(look_up).filter(|_| wanted.what == RowWait::ItlEntry);
        let (holder, cycle) = self.enter_for_any(&mut queues, holders, request, session);
        let seat = self.seat(holder);
        seat.waiters.fetch_add(1, session);
        session.count(Statistic::EnqueueWaits, u64::from(cycle.is_none()));
        let (waiting, until) = (wanted.waiting(holder, session), request.until());
        let next = [until, look_up].into_iter().flatten().min();
        let end = loop {
            if cycle.is_some() || has_ended() {
                break cycle;
            }
            if self.halt.is_raised(session) {
                break Some(WaitEnd::Halted);
            }
            if session.call_end().is_some() {
                break Some(WaitEnd::CallEnds);
            }
            let now = session.now();
            if until.is_some_and(|until| now >= until) {
                break Some(WaitEnd::TimeUp(blockers()));
            }
            if look_up.is_some_and(|look_up| now >= look_up) {
                break None;
            }
            queues = sleep(&seat.ended, queues, waiting, next);
        };
        seat.waiters.fetch_sub(1, session);
        queues.waits[usize::from(waiter.segment)] = None;
        drop(queues);
        end.map_or(Ok(()), |end| Err(self.refusal(end, &lock, began, session)))
    }

    /// Enters a wait for one of the holders that closes no cycle; if each does, returns the last
    /// cycle. The holder that is tried first differs by the waiter, so that one end doesn't wake
    /// all that wait for the same ITL.
    fn enter_for_any(
        &self,
        queues: &mut QueuesGuard<'_>,
        holders: &[TxnId],
        request: &RowRequest,
        session: &Session,
    ) -> (TxnId, Option<WaitEnd>) {
        let RowRequest { waiter, wanted, began: since, .. } = *request;
        let mut last = None;
        let (before, from) = holders.split_at(usize::from(waiter.segment) % holders.len());
        for holder in from.iter().chain(before) {
            queues.waits[usize::from(waiter.segment)] = None;
            let wanted = LockWanted::Row { holder: *holder, wanted };
            self.enter(queues, Wait { waiter, who: SessionName::of(session), since, wanted });
            let cycle = self.cycle(queues, waiter, session);
            let is_open = cycle.is_none();
            last = Some((*holder, cycle));
            if is_open {
                break;
            }
        }
        last.expect("there is a holder")
    }

    /// Waits for a table that can't be granted at once.
    pub(super) fn wait_for_table(
        &self,
        mut queues: QueuesGuard<'_>,
        object: u32,
        request: Request,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        let Request { owner, mode } = request;
        let table = queues.table(object);
        let converts = table.mode_of(owner).is_some();
        let lock = LockWanted::Table { object, mode, converts };
        if lock_wait == LockWait::NoWait {
            let blockers = table.blockers(request);
            // The table may be watched for this request only.
            self.serve(&mut queues, object, &mut Vec::new(), session);
            drop(queues);
            return Err(self.busy(&lock, &blockers, session));
        }
        table.enqueue(request);
        let began = session.now();
        let wait =
            Wait { waiter: owner, who: SessionName::of(session), since: began, wanted: lock };
        self.enter(&mut queues, wait);
        let (p1, p2) = (TM | u64::from(mode.number()), u64::from(object));
        let waiting = session.waiting(WaitEvent::EnqTmContention).p(p1, p2, 0);
        let until = lock_wait.until(began);
        let cycle = self.cycle(&queues, owner, session);
        session.count(Statistic::EnqueueWaits, u64::from(cycle.is_none()));
        let end = loop {
            if cycle.is_some() {
                break cycle;
            }
            if queues.wait_of(owner).is_none() {
                return Ok(());
            }
            if self.halt.is_raised(session) {
                break Some(WaitEnd::Halted);
            }
            if session.call_end().is_some() {
                break Some(WaitEnd::CallEnds);
            }
            if until.is_some_and(|until| session.now() >= until) {
                let blockers = queues.wait_of(owner).map(|wait| queues.blockers(wait));
                break blockers.map(WaitEnd::TimeUp);
            }
            queues = sleep(&self.seat(owner).granted, queues, waiting, until);
        };
        queues.waits[usize::from(owner.segment)] = None;
        queues.table(object).give_up(owner);
        let mut woken = Vec::new();
        if !self.failpoints.has(Failpoint::SkipServe) {
            self.serve(&mut queues, object, &mut woken, session);
        }
        drop(queues);
        self.wake(&woken, session);
        let end = end.expect("a wait that isn't granted has ended otherwise");
        Err(self.refusal(end, &lock, began, session))
    }

    fn enter(&self, queues: &mut QueuesGuard<'_>, wait: Wait) {
        let place = &mut queues.waits[usize::from(wait.waiter.segment)];
        assert!(place.is_none(), "transaction {} waits twice", wait.waiter);
        *place = Some(wait);
    }

    /// The cycle that the wait closes as it begins, if any. A transaction without waiters is in no
    /// cycle. So where many wait that have nothing yet, none of them searches along all the others.
    fn cycle(&self, queues: &QueuesGuard<'_>, waiter: TxnId, session: &Session) -> Option<WaitEnd> {
        let is_awaited = self.seat(waiter).waiters.load(session) > 0;
        if self.failpoints.has(Failpoint::SkipDeadlocks)
            || !(is_awaited || self.is_in_the_way(queues, waiter, session))
        {
            return None;
        }
        queues.cycle(waiter).map(WaitEnd::Cycle)
    }

    /// Whether the transaction has a table that others wait for. Requests that wait for it in a
    /// queue came later.
    fn is_in_the_way(&self, queues: &QueuesGuard<'_>, id: TxnId, session: &Session) -> bool {
        let holdings = self.seat(id).holdings.exclusive(session);
        let mut tables = holdings.all().filter(|(_, held)| held.place == ModeAt::Table);
        tables.any(|(_, held)| {
            queues.tables.get(&held.object).is_some_and(|table| table.is_waited_for())
        })
    }

    /// The refusal, or the halt, that ends a wait.
    fn refusal(
        &self,
        end: WaitEnd,
        lock: &LockWanted,
        began: Timestamp,
        session: &Session,
    ) -> Stop {
        let names = self.namer(session);
        match end {
            WaitEnd::Halted => self.halt.check(session).expect_err("the halt was raised, for good"),
            WaitEnd::CallEnds => {
                check_call(session).expect_err("a call that is to end is to end for good")
            }
            WaitEnd::Cycle(links) => {
                session.count(Statistic::EnqueueDeadlocks, 1);
                deadlock::cycle(&links, session.now(), &names).into()
            }
            WaitEnd::TimeUp(blockers) => {
                session.count(Statistic::EnqueueTimeouts, 1);
                let in_the_way = self.in_the_way(&blockers, session);
                let waited = session.now().since(began);
                deadlock::refused(lock, &in_the_way, Some(waited), &names).into()
            }
        }
    }

    fn busy(
        &self,
        lock: &LockWanted,
        blockers: &[(TxnId, BlockReason)],
        session: &Session,
    ) -> Stop {
        session.count(Statistic::EnqueueTimeouts, 1);
        let in_the_way = self.in_the_way(blockers, session);
        deadlock::refused(lock, &in_the_way, None, &self.namer(session)).into()
    }

    /// The blockers that a message names, with the sessions of those that have asked for a table
    /// and haven't ended since.
    fn in_the_way(&self, blockers: &[(TxnId, BlockReason)], session: &Session) -> Blockers {
        let named = blockers.iter().take(BLOCKERS_MAX).map(|(id, reason)| {
            let holdings = self.seat(*id).holdings.exclusive(session);
            Blocker {
                id: *id,
                reason: *reason,
                session: holdings.who(*id).map(ToString::to_string),
            }
        });
        Blockers { named: named.collect(), count: blockers.len() }
    }
}

/// Releases the latch and sleeps, until the condition is notified, it is time to look again, or the
/// session's call is to end.
fn sleep<'a>(
    condition: &Condition,
    queues: QueuesGuard<'a>,
    waiting: Waiting<'_>,
    until: Option<Timestamp>,
) -> QueuesGuard<'a> {
    let now = waiting.session().now();
    let length = until.map_or(LOOK_UP, |until| until.since(now).min(LOOK_UP));
    condition.wait_in_call(queues, waiting, Some(length)).0
}
