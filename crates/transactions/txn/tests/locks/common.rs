//! Locks with transactions that do nothing but lock.

use std::sync::Arc;
use std::time::Duration;

use ids::{Dba, TxnId};
use latch::Shared64;
use os::{Os, Session, ThreadHandle, ThreadSpec};
use sim::{Perturbation, Simulation};
use stop::{Failpoints, Halt, RefusalKind, Stop};
use testbed::pause;
use txn::{LockWait, Locks, RowRequest, RowWait, RowWanted, TableMode};
use waits::Nanos;

/// What a waiter does.
pub(crate) type Waits<B> = Box<dyn FnOnce(&B, &Session) -> Result<(), Stop> + Send>;

/// Longer than anything takes that isn't a wait.
pub(crate) const SETTLED: Nanos = Nanos::from_millis(1);

/// An instance's locks, and its active transactions.
pub(crate) struct Bed {
    pub(crate) locks: Locks,
    pub(crate) halt: Halt,
    /// By segment: the sequence of the active transaction, or 0.
    active: Vec<Shared64>,
    begun: Vec<Shared64>,
}

impl Bed {
    pub(crate) fn new(os: &Os, segments: u16, session: &Session) -> Arc<Bed> {
        Bed::broken_at(os, segments, Failpoints::NONE, session)
    }

    pub(crate) fn broken_at(
        os: &Os,
        segments: u16,
        failpoints: Failpoints,
        session: &Session,
    ) -> Arc<Bed> {
        if failpoints != Failpoints::NONE {
            // The tests have to notice the fault without the checks of what latches guard.
            os.set_check_effort(0);
        }
        let halt = Halt::new(os);
        let locks = Locks::new(os, segments, failpoints, halt.clone());
        let zeros = || (0..segments).map(|_| Shared64::new(0)).collect();
        let bed = Arc::new(Bed { locks, halt, active: zeros(), begun: zeros() });
        let weak = Arc::downgrade(&bed);
        bed.halt.on_raise(session, move |session| {
            if let Some(bed) = weak.upgrade() {
                bed.locks.wake_all(session);
            }
        });
        bed
    }

    pub(crate) fn begin(&self, segment: u16, session: &Session) -> TxnId {
        let sequence = self.begun[usize::from(segment)].fetch_add(1, session) + 1;
        self.active[usize::from(segment)].store(sequence, session);
        TxnId { segment, slot: (sequence % 34) as u16, sequence: sequence as u32 }
    }

    pub(crate) fn end(&self, id: TxnId, session: &Session) {
        self.active[usize::from(id.segment)].store(0, session);
        self.locks.ended(id, session);
    }

    pub(crate) fn is_active(&self, id: TxnId, session: &Session) -> bool {
        self.active[usize::from(id.segment)].load(session) == u64::from(id.sequence)
    }

    pub(crate) fn lock(
        &self,
        owner: TxnId,
        object: u32,
        mode: TableMode,
        session: &Session,
    ) -> Result<(), Stop> {
        self.locks.lock_table(owner, object, mode, LockWait::Forever, session)
    }

    /// Waits for the end of `holder`, for a row.
    pub(crate) fn await_end(
        &self,
        holder: TxnId,
        waiter: TxnId,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        let is_active = |id| self.is_active(id, session);
        let request = RowRequest { waiter, wanted: row(7), lock_wait, began: session.now() };
        self.locks.wait_for_end(&[holder], &request, &is_active, session)
    }
}

pub(crate) fn row(slot: u16) -> RowWanted {
    RowWanted { what: RowWait::Row, object: 71, block: Dba::new(4, 129), slot }
}

/// A schedule bent by the seed. It fails if a session waits for ever.
pub(crate) fn racy(seed: u64) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.perturbation = Perturbation::RACES;
    simulation.machine.cpus = 1 + (seed % 4) as u16;
    simulation.time_limit_ns = 600_000_000_000;
    simulation
}

/// The same for locks that are broken by a failpoint. A session that waits outside of the simulated
/// machine is given up soon, in real time: it waits for ever.
pub(crate) fn racy_with(seed: u64, failpoints: Failpoints) -> Simulation {
    let mut simulation = racy(seed);
    if failpoints != Failpoints::NONE {
        simulation.stuck_after = Duration::from_secs(2);
    }
    simulation
}

pub(crate) fn start(
    name: &str,
    bed: &Arc<Bed>,
    session: &Session,
    body: impl FnOnce(&Bed, &Session) + Send + 'static,
) -> ThreadHandle {
    let bed = Arc::clone(bed);
    let spec = ThreadSpec::foreground(name);
    session.spawn(spec, move |session| body(&bed, session)).expect("a thread starts")
}

pub(crate) fn settle(session: &Session) {
    pause(SETTLED, session);
}

pub(crate) fn kind(result: &Result<(), Stop>) -> Option<RefusalKind> {
    result.as_ref().err().and_then(Stop::refusal)
}
