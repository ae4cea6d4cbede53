//! The account closed over an interval: where did the time go?
//!
//! ```text
//!   ├──────────────────────────── elapsed ────────────────────────────┤
//!   ├─ CPU ─┼─ run queue ─┼──────────── waits (wall) ───────────┼─ ? ─┤
//!                         ├ of which CPU ┼ of which run queue ┼ … ┤    └ unaccounted
//! ```
//!
//! The thread's own clocks tell how much CPU it used and how long it stood in the run queue in all.
//! The part of both inside waits is taken out, because a wait's wall time holds it already. The
//! remainder of elapsed time is *unaccounted*: it has no name. It is signed and never clamped: a
//! negative figure is an error of estimate, and shows.
//!
//! Where every wait was sampled, all of this is exact. Otherwise CPU time inside waits is
//! estimated. This estimate is good, because waits of one length use much the same CPU time. So the
//! time outside waits without a CPU is known as well. One part of it is run-queue delay, one part
//! was stolen, and the rest has no name; the sampled gaps between waits tell the proportions.
//!
//! (An earlier method estimated run-queue delay inside waits and took the rest as outside. The
//! accounts of a session on a crowded machine were then off by 2 %. With stolen time counted as CPU
//! they were off by 5 % where a third of the CPUs' time was stolen. Both come in few and large
//! pieces, which samples of waits miss. A gap in which the thread was away and in the run queue all
//! the time has the same proportions however many such gaps there are.)
//!
//! The sampled gaps of a short interval can miss all of a session's long unnamed sleeps and catch
//! some interrupts, so proportions alone called them stolen: 5 % of unnamed time, in one of two
//! intervals of 5 s. A thread loses no more than the machine lost, and that is known.

use crate::totals::scaled;
use crate::{EventTotals, Nanos, OffCpuTime, Totals, WaitEvent};

/// The readings of a thread's own clocks since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadTimes {
    /// Time on a CPU, user and system.
    pub cpu: Nanos,
    /// Time ready to run but without a CPU.
    pub run_queue: Nanos,
    /// The time that a hypervisor and interrupts took from all of the machine's CPUs, and so the
    /// most that they can have taken from this thread.
    pub taken_max: Nanos,
}

impl ThreadTimes {
    /// The difference between `earlier` and this reading.
    pub fn since(self, earlier: ThreadTimes) -> ThreadTimes {
        let since =
            |of: fn(&ThreadTimes) -> Nanos| Nanos(of(&self).0.saturating_sub(of(&earlier).0));
        ThreadTimes {
            cpu: since(|times| times.cpu),
            run_queue: since(|times| times.run_queue),
            taken_max: since(|times| times.taken_max),
        }
    }
}

/// One event's line in a time account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitLine {
    /// The event that was waited for.
    pub event: WaitEvent,
    /// The number of waits.
    pub count: u64,
    /// The wall time of the waits.
    pub total: Nanos,
    /// The part of it on a CPU (estimated from samples).
    pub of_which_cpu: Nanos,
    /// The part of it in the run queue (estimated from samples).
    pub of_which_run_queue: Nanos,
}

/// A session's time over an interval, every part with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeAccount {
    /// The length of the interval, by the wall clock.
    pub elapsed: Nanos,
    /// CPU time outside waits, in ns. It is signed because CPU time inside waits is an estimate. It
    /// includes the time stolen there.
    pub cpu_ns: i64,
    /// Run-queue delay outside waits, in ns; signed for the same reason.
    pub run_queue_ns: i64,
    /// The waits, in descending order of total time.
    pub waits: Vec<WaitLine>,
    /// The unaccounted time, in ns.
    pub unaccounted_ns: i64,
    /// The part of `cpu_ns` taken by a hypervisor or by interrupts, where the world can tell.
    pub stolen: Nanos,
}

impl TimeAccount {
    /// Closes the account: `times` and `totals` are the readings of the thread's clocks and of its
    /// account over an interval of length `elapsed`.
    pub fn close(elapsed: Nanos, times: ThreadTimes, totals: &Totals) -> TimeAccount {
        let events: Vec<_> = totals.events().collect();
        let sum = |part: fn(&EventTotals) -> Nanos| -> i64 {
            events.iter().map(|(_, line)| signed(part(line))).sum()
        };
        let outside_ns = signed(elapsed) - sum(|line| line.total);
        let computed_ns = signed(times.cpu) - sum(EventTotals::cpu);
        let away = Nanos(u64::try_from(outside_ns - computed_ns).unwrap_or(0));
        let mut run_queue: Vec<u64> = events.iter().map(|(_, line)| line.run_queue().0).collect();
        let stolen = if totals.every_wait_was_sampled() {
            let run_queue = times.run_queue.0.saturating_sub(run_queue.iter().sum());
            totals.gaps().stolen.min(Nanos(away.0.saturating_sub(run_queue)))
        } else {
            let outside = named_outside(away, totals.gaps(), times);
            let sleeping =
                |(_, line): &(_, &EventTotals)| line.total.0.saturating_sub(line.cpu().0);
            let room = events.iter().map(sleeping).collect();
            share_out(&mut run_queue, times.run_queue.0 - outside.run_queue.0, room);
            outside.stolen
        };
        let cpu_ns = computed_ns + signed(stolen);
        let run_queue_ns = signed(times.run_queue) - signed(Nanos(run_queue.iter().sum()));
        let mut waits: Vec<WaitLine> = events
            .iter()
            .zip(run_queue)
            .map(|(&(event, line), run_queue)| WaitLine {
                event,
                count: line.count,
                total: line.total,
                of_which_cpu: line.cpu(),
                of_which_run_queue: Nanos(run_queue),
            })
            .collect();
        waits.sort_by_key(|line| (std::cmp::Reverse(line.total), line.event));
        let unaccounted_ns = outside_ns - cpu_ns - run_queue_ns;
        TimeAccount { elapsed, cpu_ns, run_queue_ns, waits, unaccounted_ns, stolen }
    }

    /// The absolute share of unaccounted time in elapsed time: 0.01 is one per cent.
    pub fn unaccounted_share(&self) -> f64 {
        if self.elapsed == Nanos::ZERO {
            return 0.0;
        }
        self.unaccounted_ns.unsigned_abs() as f64 / self.elapsed.0 as f64
    }
}

/// The kernel counts what was taken from the machine in hundredths of a second.
const TAKEN_UNIT: Nanos = Nanos::from_millis(10);

/// The named parts of the time `away` from the CPU outside waits, in the proportions of the sampled
/// gaps, and no more of each than there was. While there are no gaps it is run-queue delay.
fn named_outside(away: Nanos, gaps: OffCpuTime, times: ThreadTimes) -> OffCpuTime {
    let run_queue = times.run_queue;
    if gaps.off_cpu == Nanos::ZERO {
        return OffCpuTime { off_cpu: away, run_queue: run_queue.min(away), stolen: Nanos::ZERO };
    }
    let seen = gaps.run_queue.0 + gaps.stolen.0;
    let named = scaled(away.0, seen.min(gaps.off_cpu.0), gaps.off_cpu.0);
    let run_queue = run_queue.min(Nanos(scaled(named, gaps.run_queue.0, seen)));
    let stolen = if gaps.stolen > Nanos::ZERO { named - run_queue.0 } else { 0 };
    let stolen = stolen.min(times.taken_max.0 + TAKEN_UNIT.0);
    OffCpuTime { off_cpu: away, run_queue, stolen: Nanos(stolen) }
}

/// Scales `shares` so that they add up to `whole`, keeping their proportions as far as each has
/// room. The remainder goes where room is left.
fn share_out(shares: &mut [u64], whole: u64, mut rooms: Vec<u64>) {
    let sampled = shares.iter().sum();
    let mut left = whole;
    for (share, room) in shares.iter_mut().zip(&mut rooms) {
        *share = scaled(*share, whole, sampled).min(*room).min(left);
        *room -= *share;
        left -= *share;
    }
    let all_room = rooms.iter().sum();
    for (share, room) in shares.iter_mut().zip(rooms) {
        *share += scaled(room, left.min(all_room), all_room);
    }
}

fn signed(length: Nanos) -> i64 {
    i64::try_from(length.0).expect("a length of time is under 292 years")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, Sampling, SessionKind, Timestamp};

    /// The account of a session of `elapsed` ns: 300 of CPU, of which 40 inside a wait; 120 in the
    /// run queue, of which 70 after waking; one wait of 500.
    fn closed(elapsed: u64) -> TimeAccount {
        let r = Recorder::open("s", SessionKind::Foreground, Timestamp::ZERO, Sampling::EveryWait);
        let open = r.begin(WaitEvent::LogFileSync, [0; 3], || Timestamp::from_nanos(100));
        let end = Timestamp::from_nanos(600);
        let waited = r.end(open.expect("on"), end, false);
        let away = OffCpuTime { off_cpu: Nanos(460), run_queue: Nanos(70), stolen: Nanos::ZERO };
        r.sampled(WaitEvent::LogFileSync, waited, away, Nanos::ZERO, end);
        let times =
            ThreadTimes { cpu: Nanos(300), run_queue: Nanos(120), ..ThreadTimes::default() };
        TimeAccount::close(Nanos(elapsed), times, &r.account().totals())
    }

    /// Time inside a wait is counted once: 260 + 50 + 500 leave 190 of 1,000 without a name.
    #[test]
    fn cpu_and_run_queue_inside_a_wait_are_counted_once() {
        let account = closed(1_000);
        assert_eq!((account.cpu_ns, account.run_queue_ns), (260, 50));
        assert_eq!(account.unaccounted_ns, 190);
        assert_eq!(account.unaccounted_share(), 0.19);
    }

    /// When every nanosecond has a name, the unaccounted time is exactly zero.
    #[test]
    fn a_complete_account_leaves_nothing() {
        assert_eq!(closed(810).unaccounted_ns, 0);
    }

    /// More time named than passed is an error of the account and is shown, not clamped.
    #[test]
    fn an_overdrawn_account_is_negative() {
        assert_eq!(closed(800).unaccounted_ns, -10);
    }

    /// One wait of 100 us, of which 10 on a CPU; a second like it, not sampled. A session of 1 ms
    /// with them that computed 700 us outside, was in the run queue 60 us in all, and away for
    /// 100 us outside.
    fn estimated(gaps: OffCpuTime) -> TimeAccount {
        let r = Recorder::open("s", SessionKind::Foreground, Timestamp::ZERO, Sampling::Adaptive);
        let at = |us: u64| Timestamp::from_nanos(us * 1_000);
        for (from, is_sampled) in [(100, true), (300, false)] {
            let open = r.begin(WaitEvent::LogFileSync, [0; 3], || at(from)).expect("on");
            let waited = r.end(open, at(from + 100), false);
            let (off_cpu, run_queue) = (Nanos::from_micros(90), Nanos::from_micros(1));
            if is_sampled {
                let away = OffCpuTime { off_cpu, run_queue, stolen: Nanos::ZERO };
                r.sampled(WaitEvent::LogFileSync, waited, away, Nanos::ZERO, at(from + 100));
            }
        }
        r.sampled_gap(gaps);
        let (cpu, run_queue) = (Nanos::from_micros(720), Nanos::from_micros(60));
        let times = ThreadTimes { cpu, run_queue, ..ThreadTimes::default() };
        TimeAccount::close(Nanos::from_millis(1), times, &r.account().totals())
    }

    /// Gaps in which the thread was away, and in the run queue half of the time, say that half of
    /// what it was away has no name. The rest of the run-queue delay was in the waits.
    #[test]
    fn sampled_gaps_tell_what_has_no_name() {
        let account = estimated(OffCpuTime {
            off_cpu: Nanos(10),
            run_queue: Nanos(5),
            ..OffCpuTime::default()
        });
        assert_eq!((account.cpu_ns, account.run_queue_ns), (700_000, 50_000));
        assert_eq!(account.unaccounted_ns, 50_000);
        assert_eq!(account.waits[0].of_which_run_queue, Nanos::from_micros(10));
    }

    /// Without a gap that says otherwise it is run-queue delay, but not more than there was.
    #[test]
    fn what_the_run_queue_cannot_explain_has_no_name() {
        let account = estimated(OffCpuTime::default());
        assert_eq!((account.run_queue_ns, account.unaccounted_ns), (60_000, 40_000));
        assert_eq!(account.waits[0].of_which_run_queue, Nanos::ZERO);
    }

    /// Stolen time is part of CPU outside waits, and shown as what it is.
    #[test]
    fn stolen_time_has_a_name() {
        let gaps = OffCpuTime { off_cpu: Nanos(10), run_queue: Nanos(2), stolen: Nanos(8) };
        let account = estimated(gaps);
        assert_eq!((account.cpu_ns, account.run_queue_ns), (780_000, 20_000));
        assert_eq!((account.stolen, account.unaccounted_ns), (Nanos::from_micros(80), 0));
    }

    /// The samples missed every sleep and caught an interrupt. The machine lost 20 ms, to the
    /// hundredth of a second: the rest has no name.
    #[test]
    fn no_more_is_stolen_than_the_machine_lost() {
        let gaps = OffCpuTime { off_cpu: Nanos(10), run_queue: Nanos::ZERO, stolen: Nanos(10) };
        let taken_max = Nanos::from_millis(20);
        let times = ThreadTimes { taken_max, ..ThreadTimes::default() };
        let outside = named_outside(Nanos::from_millis(250), gaps, times);
        assert_eq!((outside.run_queue, outside.stolen), (Nanos::ZERO, Nanos::from_millis(30)));
    }

    /// Shares keep their proportions, as far as there is room; the rest goes where room is left.
    #[test]
    fn shares_add_up_to_the_whole() {
        let shared = |mut shares: [u64; 3], whole, rooms: [u64; 3]| {
            share_out(&mut shares, whole, rooms.to_vec());
            shares
        };
        assert_eq!(shared([1, 3, 0], 40, [100, 100, 100]), [10, 30, 0]);
        assert_eq!(shared([1, 3, 0], 40, [100, 10, 0]), [30, 10, 0]);
        assert_eq!(shared([0, 0, 0], 40, [60, 20, 0]), [30, 10, 0]);
        assert_eq!(shared([1, 1, 1], 40, [1, 2, 3]), [1, 2, 3]);
    }
}
