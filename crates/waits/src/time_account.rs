//! The books closed over an interval: where did the time go?
//!
//! ```text
//!   ├──────────────────────────── elapsed ────────────────────────────┤
//!   ├─ CPU ─┼─ run queue ─┼──────────── waits (wall) ───────────┼─ ? ─┤
//!                         ├ of which CPU ┼ of which run queue ┼ … ┤    └ unaccounted
//! ```
//!
//! The thread's own clocks say how much CPU it used and how long it stood in the run queue in all.
//! What of that lies inside waits is estimated from sampled waits and taken out, because a wait's
//! wall time holds it already. What then remains of elapsed time is *unaccounted*: a name that was
//! not given. It is signed and never clamped: a negative figure is an error of estimate, and shows.

use crate::{Nanos, Totals, WaitEvent};

/// What a thread's own clocks say since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadTimes {
    /// Time on a CPU, user and system.
    pub cpu: Nanos,
    /// Time ready to run but without a CPU.
    pub run_queue: Nanos,
    /// Of `cpu`: taken away by a hypervisor or by interrupts, where the world can tell.
    pub stolen: Nanos,
}

impl ThreadTimes {
    /// What came between `earlier` and this reading.
    pub fn since(self, earlier: ThreadTimes) -> ThreadTimes {
        ThreadTimes {
            cpu: Nanos(self.cpu.0.saturating_sub(earlier.cpu.0)),
            run_queue: Nanos(self.run_queue.0.saturating_sub(earlier.run_queue.0)),
            stolen: Nanos(self.stolen.0.saturating_sub(earlier.stolen.0)),
        }
    }
}

/// One event's line in a time account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitLine {
    /// What was waited for.
    pub event: WaitEvent,
    /// How many waits.
    pub count: u64,
    /// Their time, by the wall.
    pub total: Nanos,
    /// Of which the thread was on a CPU (estimated from samples).
    pub of_which_cpu: Nanos,
    /// Of which it stood in the run queue (estimated from samples).
    pub of_which_run_queue: Nanos,
}

/// A session's time over an interval, every part with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeAccount {
    /// The interval, by the wall.
    pub elapsed: Nanos,
    /// CPU outside waits, ns; signed because what lies inside waits is an estimate.
    pub cpu_ns: i64,
    /// Run-queue delay outside waits, ns; signed for the same reason.
    pub run_queue_ns: i64,
    /// Waits, the longest in all first.
    pub waits: Vec<WaitLine>,
    /// What has no name, ns.
    pub unaccounted_ns: i64,
    /// Of the time on a CPU, outside and inside waits: taken away by a hypervisor or by interrupts.
    pub stolen: Nanos,
}

impl TimeAccount {
    /// Closes the books: `times` and `totals` are what the thread's clocks and its account show
    /// over the interval of length `elapsed`.
    pub fn close(elapsed: Nanos, times: ThreadTimes, totals: &Totals) -> TimeAccount {
        let mut waits: Vec<WaitLine> = totals
            .events()
            .map(|(event, line)| WaitLine {
                event,
                count: line.count,
                total: line.total,
                of_which_cpu: line.cpu(),
                of_which_run_queue: line.run_queue(),
            })
            .collect();
        waits.sort_by_key(|line| (std::cmp::Reverse(line.total), line.event));
        let sum = |part: fn(&WaitLine) -> Nanos| waits.iter().map(|w| signed(part(w))).sum::<i64>();
        let cpu_ns = signed(times.cpu) - sum(|w| w.of_which_cpu);
        let run_queue_ns = signed(times.run_queue) - sum(|w| w.of_which_run_queue);
        let waited_ns = sum(|w| w.total);
        let unaccounted_ns = signed(elapsed) - cpu_ns - run_queue_ns - waited_ns;
        let stolen = times.stolen;
        TimeAccount { elapsed, cpu_ns, run_queue_ns, waits, unaccounted_ns, stolen }
    }

    /// The unaccounted share of elapsed time, by size: 0.01 is one per cent.
    pub fn unaccounted_share(&self) -> f64 {
        if self.elapsed == Nanos::ZERO {
            return 0.0;
        }
        self.unaccounted_ns.unsigned_abs() as f64 / self.elapsed.0 as f64
    }
}

fn signed(length: Nanos) -> i64 {
    i64::try_from(length.0).expect("a length of time is under 292 years")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, Sampling, SessionKind, Timestamp};

    /// A session of 1,000 ns: 300 of CPU, of which 40 inside a wait; 120 in the run queue, of
    /// which 70 after waking; one wait of 500.
    fn closed(elapsed: u64) -> TimeAccount {
        let r = Recorder::open("s", SessionKind::Foreground, Timestamp::ZERO, Sampling::EveryWait);
        let open = r.begin(WaitEvent::LogFileSync, [0; 3], || Timestamp::from_nanos(100));
        let end = Timestamp::from_nanos(600);
        let waited = r.end(open.expect("on"), end, false);
        let inside = ThreadTimes { cpu: Nanos(40), run_queue: Nanos(70), stolen: Nanos::ZERO };
        r.sampled(WaitEvent::LogFileSync, waited, inside, Nanos::ZERO, end);
        let times = ThreadTimes { cpu: Nanos(300), run_queue: Nanos(120), stolen: Nanos(5) };
        TimeAccount::close(Nanos(elapsed), times, &r.account().totals())
    }

    /// What lies inside a wait is counted once: 260 + 50 + 500 leave 190 of 1,000 without a name.
    #[test]
    fn cpu_and_run_queue_inside_a_wait_are_counted_once() {
        let account = closed(1_000);
        assert_eq!((account.cpu_ns, account.run_queue_ns), (260, 50));
        assert_eq!(account.unaccounted_ns, 190);
        assert_eq!(account.unaccounted_share(), 0.19);
    }

    /// When every nanosecond has a name the rest is exactly nothing.
    #[test]
    fn a_complete_account_leaves_nothing() {
        assert_eq!(closed(810).unaccounted_ns, 0);
    }

    /// More time named than passed is an error of the books and is shown, not clamped.
    #[test]
    fn an_overdrawn_account_is_negative() {
        assert_eq!(closed(800).unaccounted_ns, -10);
    }
}
