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
    /// The sampled ones' time, by the wall.
    pub sampled: Nanos,
    /// CPU inside the sampled ones.
    pub sampled_cpu: Nanos,
    /// Run-queue delay inside the sampled ones.
    pub sampled_run_queue: Nanos,
}

impl EventTotals {
    /// CPU inside all of these waits. A system call's CPU goes with its count, so the sampled sum
    /// is scaled by count; exact when every wait was sampled.
    pub fn cpu(&self) -> Nanos {
        scaled(self.sampled_cpu.0, self.count, self.sampled_count)
    }

    /// Run-queue delay inside all of these waits. Delay goes with length (a long wait is often
    /// long because of it), so the sampled sum is scaled by time; exact when all were sampled.
    pub fn run_queue(&self) -> Nanos {
        scaled(self.sampled_run_queue.0, self.total.0, self.sampled.0)
    }

    fn combine(&mut self, other: &EventTotals, op: fn(u64, u64) -> u64) {
        self.count = op(self.count, other.count);
        self.total = Nanos(op(self.total.0, other.total.0));
        self.timeouts = op(self.timeouts, other.timeouts);
        for (mine, theirs) in self.histogram.iter_mut().zip(other.histogram) {
            *mine = op(*mine, theirs);
        }
        self.sampled_count = op(self.sampled_count, other.sampled_count);
        self.sampled = Nanos(op(self.sampled.0, other.sampled.0));
        self.sampled_cpu = Nanos(op(self.sampled_cpu.0, other.sampled_cpu.0));
        self.sampled_run_queue = Nanos(op(self.sampled_run_queue.0, other.sampled_run_queue.0));
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
                sampled: Nanos(cells.sampled_ns.get()),
                sampled_cpu: Nanos(cells.sampled_cpu_ns.get()),
                sampled_run_queue: Nanos(cells.sampled_run_queue_ns.get()),
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
    use crate::{Recorder, Sampling, SessionKind, Timestamp};

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

    /// With half of the waits sampled, CPU scales with count and run-queue delay with time.
    #[test]
    fn samples_are_scaled_to_the_whole() {
        let line = EventTotals {
            count: 10,
            total: Nanos(4_000),
            sampled_count: 5,
            sampled: Nanos(1_000),
            sampled_cpu: Nanos(50),
            sampled_run_queue: Nanos(100),
            ..EventTotals::default()
        };
        assert_eq!((line.cpu(), line.run_queue()), (Nanos(100), Nanos(400)));
        assert_eq!(EventTotals::default().cpu(), Nanos::ZERO);
    }
}
