//! A load divided into periods while it runs.
//!
//! Whoever conducts the load begins a period. Each session closes its book of the last one at its
//! next turn, on its own thread, and opens another. So every period's figures are exact, and no
//! session waits for another.
//!
//! ```text
//!   conductor   begin(7)                 begin(8)                take(7)
//!   session 1 ──turn──┤ turn  turn  turn ──┤ turn  turn
//!   session 2 ────turn──┤ turn  turn  turn ──┤ turn
//!                       └─── period 7 ───────┘
//! ```
//!
//! Callers: the lab's alternating experiments.

use std::collections::BTreeMap;
use std::sync::Arc;

use latch::{Latch, LatchKind, Shared64};
use os::{Os, Session, SessionReading};
use report::SessionInterval;
use waits::Nanos;

use crate::Latencies;

/// The periods of a load: which one is on, and the closed books of those before.
pub struct Periods {
    number: Shared64,
    closed: Latch<Closed>,
}

#[derive(Default)]
struct Closed {
    books: Vec<SessionPeriod>,
    /// Of each session, the period of its open book.
    open: BTreeMap<u32, u64>,
}

/// What one session did in one period: from its first turn after the begin to its first turn after
/// the end.
#[derive(Clone, Debug)]
pub struct SessionPeriod {
    /// The period's number.
    pub period: u64,
    /// The session's number.
    pub session: u32,
    /// Commits that were acknowledged to it.
    pub counted: u64,
    /// Where its time went.
    pub interval: SessionInterval,
    /// How long its transactions took.
    pub latencies: Latencies,
}

impl Periods {
    /// With period 0 on.
    pub fn new(os: &Os) -> Arc<Periods> {
        let closed = Latch::new(os, LatchKind::Innermost, Closed::default());
        Arc::new(Periods { number: Shared64::new(0), closed })
    }

    /// Begins the next period. Returns its number.
    pub fn begin(&self, session: &Session) -> u64 {
        self.number.fetch_add(1, session) + 1
    }

    /// The closed books of `period`, and of earlier ones that nobody has taken. A session's book is
    /// missing as long as it hasn't come to its next turn, and if no turn of it began in the
    /// period.
    pub fn take(&self, period: u64, session: &Session) -> Vec<SessionPeriod> {
        let mut closed = self.closed.exclusive(session);
        let (taken, later) = closed.books.drain(..).partition(|book| book.period <= period);
        closed.books = later;
        taken
    }

    /// How many sessions have come to a turn behind this period: no book of theirs is missing.
    pub fn behind(&self, period: u64, session: &Session) -> usize {
        let closed = self.closed.exclusive(session);
        closed.open.values().filter(|open| **open > period).count()
    }
}

/// A session's book of the period that is on.
pub(crate) struct Book {
    periods: Arc<Periods>,
    open: Option<Open>,
}

struct Open {
    period: u64,
    reading: SessionReading,
    acknowledged: u64,
    latencies: Latencies,
}

impl Book {
    pub(crate) fn new(periods: &Arc<Periods>) -> Book {
        Book { periods: Arc::clone(periods), open: None }
    }

    /// A turn begins: closes the book if another period has begun, and opens the next.
    pub(crate) fn look(&mut self, number: u32, acknowledged: u64, session: &Session) {
        let period = self.periods.number.load(session);
        if self.open.as_ref().is_some_and(|open| open.period == period) {
            return;
        }
        let book = self.open.take().map(|open| SessionPeriod {
            period: open.period,
            session: number,
            counted: acknowledged - open.acknowledged,
            interval: SessionInterval::since(session, &open.reading),
            latencies: open.latencies,
        });
        let mut closed = self.periods.closed.exclusive(session);
        closed.books.extend(book);
        closed.open.insert(number, period);
        drop(closed);
        let reading = session.reading();
        self.open = Some(Open { period, reading, acknowledged, latencies: Latencies::default() });
    }

    /// A turn took so long.
    pub(crate) fn record(&mut self, took: Nanos) {
        if let Some(open) = &mut self.open {
            open.latencies.record(took);
        }
    }
}
