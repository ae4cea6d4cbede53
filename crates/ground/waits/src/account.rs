//! The account of one session: its waits, and its statistics.
//!
//! An account is written by one thread, through its [`Recorder`](crate::Recorder), and read by any:
//! the writer never takes a lock, and a reader sums what it sees (rules W1, W2 in the README).

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use crate::cell::Cell64;
use crate::histogram::{HISTOGRAM_BUCKETS, STRATA};
use crate::{
    CurrentWork, Level, LongWork, Nanos, OffCpuTime, Statistic, ThreadTimes, Timestamp, Totals,
    WaitEvent,
};

/// Whether a session works for a user or for the instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionKind {
    /// A user's connection.
    Foreground,
    /// A process of the instance.
    Background,
}

/// The counters of one event.
#[derive(Debug, Default)]
pub(crate) struct EventCells {
    pub(crate) count: Cell64,
    pub(crate) max_ns: Cell64,
    pub(crate) timeouts: Cell64,
    pub(crate) strata: [StratumCells; STRATA],
    pub(crate) histogram: [Cell64; HISTOGRAM_BUCKETS],
}

/// The counters of one event's waits in one stratum of wait times.
#[derive(Debug, Default)]
pub(crate) struct StratumCells {
    pub(crate) total_ns: Cell64,
    pub(crate) sampled_count: Cell64,
    pub(crate) sampled_ns: Cell64,
    pub(crate) sampled_away: AwayCells,
}

/// The counters of time away from the CPU.
#[derive(Debug, Default)]
pub(crate) struct AwayCells {
    off_cpu_ns: Cell64,
    run_queue_ns: Cell64,
    stolen_ns: Cell64,
}

impl AwayCells {
    pub(crate) fn add(&self, away: OffCpuTime) {
        self.off_cpu_ns.add(away.off_cpu.0);
        self.run_queue_ns.add(away.run_queue.0);
        self.stolen_ns.add(away.stolen.0);
    }

    pub(crate) fn get(&self) -> OffCpuTime {
        OffCpuTime {
            off_cpu: Nanos(self.off_cpu_ns.get()),
            run_queue: Nanos(self.run_queue_ns.get()),
            stolen: Nanos(self.stolen_ns.get()),
        }
    }
}

/// The account of one session, shared by the session that writes it and the views that read it.
#[derive(Debug)]
pub struct Account {
    name: String,
    kind: SessionKind,
    started: Timestamp,
    level: AtomicU8,
    pub(crate) events: Box<[EventCells]>,
    pub(crate) statistics: Box<[Cell64]>,
    pub(crate) gaps: AwayCells,
    /// 0 when the session doesn't wait, else the event's number plus one.
    pub(crate) current: AtomicU64,
    pub(crate) current_since_ns: Cell64,
    pub(crate) current_p: [Cell64; 3],
    /// Whether the current wait is sampled, and if so the readings of the thread's clocks.
    pub(crate) current_is_sampled: Cell64,
    pub(crate) current_cpu_ns: Cell64,
    pub(crate) current_run_queue_ns: Cell64,
    /// The number of the statement that the session runs; 0 if it runs none.
    pub(crate) statement: Cell64,
    pub(crate) statement_since_ns: Cell64,
    /// The time in statements that have ended.
    pub(crate) in_statements_ns: Cell64,
    /// The number plus one of the long work that the session does; 0 if it does none.
    pub(crate) work: Cell64,
    pub(crate) work_done: Cell64,
    pub(crate) work_total: Cell64,
}

/// The statement that a session runs right now, as an observer sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurrentStatement {
    /// The number of the statement: the 64 bits of its `sql_id`.
    pub number: u64,
    /// When the session began to work for it.
    pub since: Timestamp,
}

/// The wait that a session is in right now, as an observer sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurrentWait {
    /// The event that the session waits for.
    pub event: WaitEvent,
    /// p1, p2 and p3, with the meanings that the event declares.
    pub p: [u64; 3],
    /// When the wait began.
    pub since: Timestamp,
    /// The readings of the thread's clocks at the beginning of the wait, if it is sampled.
    pub clocks: Option<ThreadTimes>,
}

impl Account {
    pub(crate) fn new(name: String, kind: SessionKind, started: Timestamp) -> Account {
        Account {
            name,
            kind,
            started,
            level: AtomicU8::new(Level::Stats as u8),
            events: (0..WaitEvent::COUNT).map(|_| EventCells::default()).collect(),
            statistics: (0..Statistic::COUNT).map(|_| Cell64::default()).collect(),
            gaps: AwayCells::default(),
            current: AtomicU64::new(0),
            current_since_ns: Cell64::default(),
            current_p: Default::default(),
            current_is_sampled: Cell64::default(),
            current_cpu_ns: Cell64::default(),
            current_run_queue_ns: Cell64::default(),
            statement: Cell64::default(),
            statement_since_ns: Cell64::default(),
            in_statements_ns: Cell64::default(),
            work: Cell64::default(),
            work_done: Cell64::default(),
            work_total: Cell64::default(),
        }
    }

    /// The session's name: its thread's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it works for a user or for the instance.
    pub fn kind(&self) -> SessionKind {
        self.kind
    }

    /// When the session began.
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// The level of recording.
    #[inline]
    pub fn level(&self) -> Level {
        Level::from_u8(self.level.load(Relaxed))
    }

    /// Switches the level. Any thread may, at any time (rule W7).
    pub fn set_level(&self, level: Level) {
        self.level.store(level as u8, Relaxed);
    }

    /// The wait that the session is in, if any. The event is exact; the other fields may belong to
    /// the previous wait for a few nanoseconds.
    pub fn current_wait(&self) -> Option<CurrentWait> {
        let number = self.current.load(Relaxed);
        let event = WaitEvent::from_index(usize::try_from(number.checked_sub(1)?).ok()?)?;
        Some(CurrentWait {
            event,
            p: [self.current_p[0].get(), self.current_p[1].get(), self.current_p[2].get()],
            since: Timestamp::from_nanos(self.current_since_ns.get()),
            clocks: (self.current_is_sampled.get() != 0).then(|| ThreadTimes {
                cpu: Nanos(self.current_cpu_ns.get()),
                run_queue: Nanos(self.current_run_queue_ns.get()),
                ..ThreadTimes::default()
            }),
        })
    }

    /// The statement that the session runs, if any (W20).
    pub fn current_statement(&self) -> Option<CurrentStatement> {
        let number = self.statement.get();
        let since = Timestamp::from_nanos(self.statement_since_ns.get());
        (number != 0).then_some(CurrentStatement { number, since })
    }

    /// The long work that the session does, if any (W22).
    pub fn current_work(&self) -> Option<CurrentWork> {
        let number = usize::try_from(self.work.get().checked_sub(1)?).ok()?;
        let work = *LongWork::ALL.get(number)?;
        Some(CurrentWork { work, done: self.work_done.get(), total: self.work_total.get() })
    }

    /// Whether the session is in a wait.
    pub fn is_waiting(&self) -> bool {
        self.current.load(Relaxed) != 0
    }

    /// The totals up to now. They can be added to others', and an earlier reading can be
    /// subtracted.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        totals.add_account(self);
        totals
    }

    /// The present value of one statistic.
    pub fn statistic(&self, statistic: Statistic) -> u64 {
        self.statistics[statistic as usize].get()
    }

    /// The wall time spent in waits up to now.
    pub fn waited(&self) -> Nanos {
        let strata = self.events.iter().flat_map(|cells| &cells.strata);
        Nanos(strata.map(|stratum| stratum.total_ns.get()).sum())
    }
}
