//! Sums of accounts, and differences of two readings.
//!
//! A system total is the sum over the live sessions plus what ended sessions left behind. A report
//! over an interval is the difference of two readings.

use crate::histogram::HISTOGRAM_BUCKETS;
use crate::{Account, Nanos, Statistic, WaitEvent};

/// What was waited for one event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventTotals {
    /// How many waits ended.
    pub count: u64,
    /// Their time, by the wall.
    pub total: Nanos,
    /// The longest. Of a difference: the longest since the session began, not since the reading.
    pub max: Nanos,
    /// How many ended by timeout.
    pub timeouts: u64,
    /// Waits by length; bounds by [`bucket_upper_bound_us`](crate::bucket_upper_bound_us).
    pub histogram: [u64; HISTOGRAM_BUCKETS],
    /// How many were sampled.
    pub sampled_count: u64,
    /// How many waits the sampled ones stand for. In the three sums below, too, each sample counts
    /// as often as the waits that it stands for.
    pub sampled_weight: u64,
    /// CPU inside the sampled ones.
    pub sampled_cpu: Nanos,
    /// The time of the sampled ones under [`LONG_WAIT`](crate::LONG_WAIT), by the wall.
    pub sampled_short: Nanos,
    /// Run-queue delay inside these.
    pub sampled_short_run_queue: Nanos,
    /// The time of all waits of [`LONG_WAIT`](crate::LONG_WAIT) or more, by the wall.
    pub long: Nanos,
    /// Run-queue delay inside these.
    pub long_run_queue: Nanos,
}

impl EventTotals {
    /// CPU inside all of these waits. A system call's CPU goes with its count, so the sampled sum
    /// is scaled by count; exact when every wait was sampled.
    pub fn cpu(&self) -> Nanos {
        scaled(self.sampled_cpu.0, self.count, self.sampled_weight)
    }

    /// Run-queue delay inside all of these waits. That of the long ones is known. In the short ones
    /// delay goes with length (a wait is often long because of it), so the sampled sum is scaled by
    /// time; exact when all were sampled.
    pub fn run_queue(&self) -> Nanos {
        let short = self.total.0.saturating_sub(self.long.0);
        let inside = scaled(self.sampled_short_run_queue.0, short, self.sampled_short.0);
        Nanos(self.long_run_queue.0 + inside.0)
    }

    fn combine(&mut self, other: &EventTotals, op: fn(u64, u64) -> u64) {
        self.count = op(self.count, other.count);
        self.total = Nanos(op(self.total.0, other.total.0));
        self.timeouts = op(self.timeouts, other.timeouts);
        for (mine, theirs) in self.histogram.iter_mut().zip(other.histogram) {
            *mine = op(*mine, theirs);
        }
        self.sampled_count = op(self.sampled_count, other.sampled_count);
        self.sampled_weight = op(self.sampled_weight, other.sampled_weight);
        let op = |mine: &mut Nanos, theirs: Nanos| mine.0 = op(mine.0, theirs.0);
        op(&mut self.sampled_cpu, other.sampled_cpu);
        op(&mut self.sampled_short, other.sampled_short);
        op(&mut self.sampled_short_run_queue, other.sampled_short_run_queue);
        op(&mut self.long, other.long);
        op(&mut self.long_run_queue, other.long_run_queue);
    }
}

fn scaled(sampled: u64, whole: u64, part: u64) -> Nanos {
    if part == 0 {
        return Nanos::ZERO;
    }
    let scaled = u128::from(sampled) * u128::from(whole) / u128::from(part);
    Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

/// Everything waited for and counted, by one session or by many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Totals {
    events: Vec<EventTotals>,
    statistics: Vec<u64>,
}

impl Default for Totals {
    fn default() -> Totals {
        Totals {
            events: vec![EventTotals::default(); WaitEvent::COUNT],
            statistics: vec![0; Statistic::COUNT],
        }
    }
}

impl Totals {
    /// What was waited for `event`.
    pub fn event(&self, event: WaitEvent) -> &EventTotals {
        &self.events[event as usize]
    }

    /// The events that were waited for at all, in the order of the list.
    pub fn events(&self) -> impl Iterator<Item = (WaitEvent, &EventTotals)> {
        WaitEvent::ALL.iter().copied().zip(&self.events).filter(|(_, totals)| totals.count > 0)
    }

    /// One statistic.
    pub fn statistic(&self, statistic: Statistic) -> u64 {
        self.statistics[statistic as usize]
    }

    /// Adds another reading: sums, and the longer of the longest.
    pub fn add(&mut self, other: &Totals) {
        for (mine, theirs) in self.events.iter_mut().zip(&other.events) {
            mine.combine(theirs, u64::wrapping_add);
            mine.max = mine.max.max(theirs.max);
        }
        for (mine, theirs) in self.statistics.iter_mut().zip(&other.statistics) {
            *mine = mine.wrapping_add(*theirs);
        }
    }

    /// What came between `earlier`, a reading of the same books, and this one.
    pub fn since(&self, earlier: &Totals) -> Totals {
        let mut difference = self.clone();
        for (mine, theirs) in difference.events.iter_mut().zip(&earlier.events) {
            mine.combine(theirs, u64::wrapping_sub);
        }
        for (mine, theirs) in difference.statistics.iter_mut().zip(&earlier.statistics) {
            *mine = mine.wrapping_sub(*theirs);
        }
        difference
    }

    pub(crate) fn add_account(&mut self, account: &Account) {
        for (mine, cells) in self.events.iter_mut().zip(&account.events) {
            let read = EventTotals {
                count: cells.count.get(),
                total: Nanos(cells.total_ns.get()),
                max: Nanos(cells.max_ns.get()),
                timeouts: cells.timeouts.get(),
                histogram: std::array::from_fn(|i| cells.histogram[i].get()),
                sampled_count: cells.sampled_count.get(),
                sampled_weight: cells.sampled_weight.get(),
                sampled_cpu: Nanos(cells.sampled_cpu_ns.get()),
                sampled_short: Nanos(cells.sampled_short_ns.get()),
                sampled_short_run_queue: Nanos(cells.sampled_short_run_queue_ns.get()),
                long: Nanos(cells.long_ns.get()),
                long_run_queue: Nanos(cells.long_run_queue_ns.get()),
            };
            mine.combine(&read, u64::wrapping_add);
            mine.max = mine.max.max(read.max);
        }
        for (mine, cell) in self.statistics.iter_mut().zip(&account.statistics) {
            *mine = mine.wrapping_add(cell.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, Sampling, SessionKind, ThreadTimes, Timestamp};

    fn account(waits: u64) -> Recorder {
        let r = Recorder::open("s", SessionKind::Background, Timestamp::ZERO, Sampling::EveryWait);
        for i in 0..waits {
            let at = |ns| Timestamp::from_nanos(ns);
            let open = r.begin(WaitEvent::LogFileSync, [0; 3], || at(i * 100)).expect("on");
            let _ = r.end(open, at(i * 100 + 10 + i), false);
        }
        r.count(Statistic::PhysicalWriteBytes, waits * 4096);
        r
    }

    /// A system total is the sum of its sessions, and the longest wait is the longest of all.
    #[test]
    fn totals_of_many_are_sums_and_the_longest() {
        let mut all = account(3).account().totals();
        all.add(&account(5).account().totals());
        let line = all.event(WaitEvent::LogFileSync);
        assert_eq!((line.count, line.total, line.max), (8, Nanos(93), Nanos(14)));
        assert_eq!(all.statistic(Statistic::PhysicalWriteBytes), 8 * 4096);
        assert_eq!(all.events().count(), 1);
    }

    /// The difference of two readings holds what came in between.
    #[test]
    fn a_difference_is_what_came_in_between() {
        let difference = account(5).account().totals().since(&account(3).account().totals());
        let line = difference.event(WaitEvent::LogFileSync);
        assert_eq!((line.count, line.total), (2, Nanos(27)));
        assert_eq!(line.histogram[0], 2);
    }

    /// With half of the waits sampled, CPU scales with count and the run-queue delay of short waits
    /// with their time; that of long ones is known and isn't scaled.
    #[test]
    fn samples_are_scaled_to_the_whole() {
        let line = EventTotals {
            count: 10,
            total: Nanos(4_000_000),
            sampled_count: 3,
            sampled_weight: 5,
            sampled_cpu: Nanos(50),
            sampled_short: Nanos(100_000),
            sampled_short_run_queue: Nanos(7),
            long: Nanos(3_500_000),
            long_run_queue: Nanos(1_000),
            ..EventTotals::default()
        };
        assert_eq!((line.cpu(), line.run_queue()), (Nanos(100), Nanos(1_035)));
        assert_eq!(EventTotals::default().cpu(), Nanos::ZERO);
        assert_eq!(EventTotals::default().run_queue(), Nanos::ZERO);
    }

    /// When every wait is sampled, as in a simulated world, nothing is an estimate, short or long.
    #[test]
    fn with_every_wait_sampled_the_figures_are_exact() {
        let r = Recorder::open("s", SessionKind::Background, Timestamp::ZERO, Sampling::EveryWait);
        let at = |us: u64| Timestamp::from_nanos(us * 1_000);
        for (from, to, cpu, run_queue) in [(0, 5, 3, 1), (10, 400, 7, 380), (500, 900, 11, 0)] {
            assert!(r.sample_due());
            let open = r.begin(WaitEvent::LogFileSync, [0; 3], || at(from)).expect("on");
            let waited = r.end(open, at(to), false);
            let inside = ThreadTimes {
                cpu: Nanos::from_micros(cpu),
                run_queue: Nanos::from_micros(run_queue),
            };
            r.sampled(WaitEvent::LogFileSync, waited, inside, Nanos::ZERO, at(to));
        }
        let totals = r.account().totals();
        let line = totals.event(WaitEvent::LogFileSync);
        assert_eq!((line.cpu(), line.run_queue()), (Nanos::from_micros(21), Nanos::from_micros(381)));
        assert_eq!((line.sampled_count, line.sampled_weight), (3, 3));
    }
}
