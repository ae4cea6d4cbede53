//! What became of undo in the last days, in intervals of ten minutes, as `v$undostat` shows it.
//!
//! `fb_pmon` notes once a second how many transactions are active, and ends an interval when its
//! time is over. The figures of an interval are differences of the world's totals, so nothing is
//! counted twice for them.
//!
//! Callers: `cleaners`; views.

use std::collections::VecDeque;

use latch::{Latch, LatchKind};
use os::{Os, Session};
use waits::{Nanos, Statistic, Timestamp};

/// The length of an interval, as in Oracle.
const INTERVAL: Nanos = Nanos::from_secs(600);
/// The most intervals that are kept: those of four days.
const INTERVALS_MAX: usize = 4 * 24 * 6;

/// An interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndoInterval {
    /// When it began: microseconds since 1970-01-01 00:00 UTC.
    pub began_us: u64,
    /// When it ended; for the one under way, the present.
    pub ended_us: u64,
    /// The undo blocks that transactions went on to.
    pub blocks: u64,
    /// The transactions that ended, by commit or rollback.
    pub transactions: u64,
    /// The most transactions that were active at once, as seen once a second.
    pub active_max: u32,
}

/// The intervals so far.
pub(crate) struct UndoHistory {
    intervals: Latch<Intervals>,
}

struct Intervals {
    under_way: Reading,
    active_max: u32,
    /// Those that have ended, the newest first.
    past: VecDeque<UndoInterval>,
}

/// The counters at a moment.
#[derive(Clone, Copy)]
struct Reading {
    at: Timestamp,
    us: u64,
    blocks: u64,
    transactions: u64,
}

impl Reading {
    fn of(session: &Session) -> Reading {
        let os = session.os();
        let totals = os.totals();
        let ended = [Statistic::UserCommits, Statistic::UserRollbacks];
        Reading {
            at: session.now(),
            us: os.calendar_us(),
            blocks: totals.statistic(Statistic::UndoBlocksFilled),
            transactions: ended.map(|statistic| totals.statistic(statistic)).iter().sum(),
        }
    }
}

impl Intervals {
    /// The interval under way. A reading of before it, which a reader may have, is as if nothing
    /// had come since.
    fn up_to(&self, now: Reading) -> UndoInterval {
        let Reading { us, blocks, transactions, .. } = self.under_way;
        UndoInterval {
            began_us: us,
            ended_us: now.us.max(us),
            blocks: now.blocks.saturating_sub(blocks),
            transactions: now.transactions.saturating_sub(transactions),
            active_max: self.active_max,
        }
    }

    /// Ends the interval under way, and begins the next.
    fn end(&mut self, now: Reading) {
        let ended = self.up_to(now);
        self.past.truncate(INTERVALS_MAX - 1);
        self.past.push_front(ended);
        (self.under_way, self.active_max) = (now, 0);
    }
}

impl UndoHistory {
    pub(crate) fn new(os: &Os, session: &Session) -> UndoHistory {
        let (under_way, past) = (Reading::of(session), VecDeque::new());
        let intervals = Intervals { under_way, active_max: 0, past };
        UndoHistory { intervals: Latch::new(os, LatchKind::Innermost, intervals) }
    }

    /// Notes the number of active transactions. One session calls it about once a second.
    pub(crate) fn note(&self, active: usize, session: &Session) {
        let is_over = {
            let mut intervals = self.intervals.exclusive(session);
            let active = u32::try_from(active).unwrap_or(u32::MAX);
            intervals.active_max = intervals.active_max.max(active);
            session.now().since(intervals.under_way.at) >= INTERVAL
        };
        if is_over {
            // The totals are read without the latch: that takes microseconds for each session.
            let now = Reading::of(session);
            self.intervals.exclusive(session).end(now);
        }
    }

    /// The intervals, the one under way first.
    pub(crate) fn all(&self, session: &Session) -> Vec<UndoInterval> {
        let now = Reading::of(session);
        let intervals = self.intervals.shared(session);
        let past = intervals.past.iter().copied();
        std::iter::once(intervals.up_to(now)).chain(past).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(second: u64, blocks: u64, transactions: u64) -> Reading {
        let at = Timestamp::ZERO.after(Nanos::from_secs(second));
        Reading { at, us: second * 1_000_000, blocks, transactions }
    }

    /// An interval has what came in it; the oldest go when there are many.
    #[test]
    fn an_interval_has_what_came_in_it() {
        let under_way = reading(0, 5, 7);
        let mut intervals = Intervals { under_way, active_max: 3, past: VecDeque::new() };
        intervals.end(reading(600, 8, 17));
        let first = UndoInterval {
            began_us: 0,
            ended_us: 600_000_000,
            blocks: 3,
            transactions: 10,
            active_max: 3,
        };
        assert_eq!(intervals.past, [first]);
        let now = intervals.up_to(reading(700, 9, 17));
        assert_eq!((now.began_us, now.blocks, now.transactions), (600_000_000, 1, 0));
        assert_eq!(now.active_max, 0);
        let early = intervals.up_to(reading(599, 7, 16));
        assert_eq!((early.ended_us, early.blocks, early.transactions), (600_000_000, 0, 0));
        for number in 2..1_000 {
            intervals.end(reading(600 * number, 8, 17));
        }
        assert_eq!(intervals.past.len(), INTERVALS_MAX);
        assert!(intervals.past.iter().all(|one| *one != first));
        assert_eq!(intervals.past[0].ended_us, 999 * 600_000_000);
    }
}
