//! One session's books: what it waited for, and what it counted.
//!
//! An account is written by one thread, through its [`Recorder`](crate::Recorder), and read by any:
//! the writer never takes a lock, and a reader sums what it sees (rules W1, W2 in the README).

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use crate::cell::Cell64;
use crate::histogram::{HISTOGRAM_BUCKETS, STRATA};
use crate::{Away, Level, Nanos, Statistic, ThreadTimes, Timestamp, Totals, WaitEvent};

/// Who a session works for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionKind {
    /// A user's connection.
    Foreground,
    /// A process of the instance.
    Background,
}

/// The cells of one event.
#[derive(Debug, Default)]
pub(crate) struct EventCells {
    pub(crate) count: Cell64,
    pub(crate) max_ns: Cell64,
    pub(crate) timeouts: Cell64,
    pub(crate) strata: [StratumCells; STRATA],
    pub(crate) histogram: [Cell64; HISTOGRAM_BUCKETS],
}

/// The waits of one event and one stratum of lengths.
#[derive(Debug, Default)]
pub(crate) struct StratumCells {
    pub(crate) total_ns: Cell64,
    pub(crate) sampled_count: Cell64,
    pub(crate) sampled_ns: Cell64,
    pub(crate) sampled_away: AwayCells,
}

/// Time away from the CPU.
#[derive(Debug, Default)]
pub(crate) struct AwayCells {
    off_cpu_ns: Cell64,
    run_queue_ns: Cell64,
    stolen_ns: Cell64,
}

impl AwayCells {
    pub(crate) fn add(&self, away: Away) {
        self.off_cpu_ns.add(away.off_cpu.0);
        self.run_queue_ns.add(away.run_queue.0);
        self.stolen_ns.add(away.stolen.0);
    }

    pub(crate) fn get(&self) -> Away {
        Away {
            off_cpu: Nanos(self.off_cpu_ns.get()),
            run_queue: Nanos(self.run_queue_ns.get()),
            stolen: Nanos(self.stolen_ns.get()),
        }
    }
}

/// One session's books. Shared between the session that writes and the views that read.
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
    /// Whether the current wait is a sampled one, and if so what the thread's clocks showed.
    pub(crate) current_is_sampled: Cell64,
    pub(crate) current_cpu_ns: Cell64,
    pub(crate) current_run_queue_ns: Cell64,
}

/// The wait that a session is in right now, as a sampler sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurrentWait {
    /// What it waits for.
    pub event: WaitEvent,
    /// p1, p2 and p3, with the meanings that the event declares.
    pub p: [u64; 3],
    /// Since when.
    pub since: Timestamp,
    /// What the thread's clocks showed when it began, if it's a sampled one.
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
        }
    }

    /// The session's name: its thread's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who it works for.
    pub fn kind(&self) -> SessionKind {
        self.kind
    }

    /// When it began.
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// How much is recorded.
    #[inline]
    pub fn level(&self) -> Level {
        Level::from_u8(self.level.load(Relaxed))
    }

    /// Switches the level. Any thread may, at any time (rule W7).
    pub fn set_level(&self, level: Level) {
        self.level.store(level as u8, Relaxed);
    }

    /// What the session waits for at this moment, if it does. The event is exact; the
    /// rest may belong to the wait before for a few nanoseconds.
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
            }),
        })
    }

    /// Whether the session is in a wait.
    pub fn is_waiting(&self) -> bool {
        self.current.load(Relaxed) != 0
    }

    /// The sum of everything so far, to add to others' and to subtract an earlier reading from.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        totals.add_account(self);
        totals
    }

    /// One statistic as it stands.
    pub fn statistic(&self, statistic: Statistic) -> u64 {
        self.statistics[statistic as usize].get()
    }

    /// Time spent in waits so far, by the wall.
    pub fn waited(&self) -> Nanos {
        let strata = self.events.iter().flat_map(|cells| &cells.strata);
        Nanos(strata.map(|stratum| stratum.total_ns.get()).sum())
    }
}
