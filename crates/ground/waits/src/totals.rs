//! Sums of accounts, and differences of two readings.
//!
//! A system total is the sum over the live sessions plus what ended sessions left behind. A report
//! over an interval is the difference of two readings.

use crate::histogram::{HISTOGRAM_BUCKETS, STRATA, stratum_of};
use crate::{Account, Nanos, OffCpuTime, Statistic, WaitEvent};

/// The waits for one event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventTotals {
    /// The number of waits that ended.
    pub count: u64,
    /// The wall time of the waits.
    pub total: Nanos,
    /// The longest wait. In a difference: the longest since the session began, not since the
    /// reading.
    pub max: Nanos,
    /// The number of waits that ended by timeout.
    pub timeouts: u64,
    /// The numbers of waits by length; bounds by
    /// [`bucket_upper_bound_us`](crate::bucket_upper_bound_us).
    pub histogram: [u64; HISTOGRAM_BUCKETS],
    /// The waits by length, coarser than the histogram, and the samples that stand for them.
    pub strata: [Stratum; STRATA],
}

/// The waits of one event and one stratum of lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stratum {
    /// The wall time of the waits.
    pub total: Nanos,
    /// The number of sampled waits.
    pub sampled_count: u64,
    /// The wall time of the sampled waits.
    pub sampled: Nanos,
    /// The part of it in which the thread was away from its CPU.
    pub sampled_away: OffCpuTime,
}

impl Stratum {
    fn sampled_cpu(&self) -> Nanos {
        Nanos(self.sampled.0.saturating_sub(self.sampled_away.off_cpu.0))
    }
}

impl EventTotals {
    /// CPU time inside all of these waits, estimated: the samples of each stratum stand for its
    /// waits. They do so in proportion to time, because a sampled wait that is all CPU is also a
    /// little longer than others. It is exact when every wait was sampled.
    pub fn cpu(&self) -> Nanos {
        self.estimated(Stratum::sampled_cpu)
    }

    /// Run-queue delay inside all of these waits, estimated in the same way but less well, because
    /// it comes in few and large pieces. [`TimeAccount`](crate::TimeAccount) has a better estimate.
    pub fn run_queue(&self) -> Nanos {
        self.estimated(|stratum| stratum.sampled_away.run_queue)
    }

    /// The number of sampled waits.
    pub fn sampled_count(&self) -> u64 {
        self.strata.iter().map(|stratum| stratum.sampled_count).sum()
    }

    /// The sum over the strata. The mean of all samples stands in for a stratum without a sample.
    fn estimated(&self, part: fn(&Stratum) -> Nanos) -> Nanos {
        let mut counts = [0; STRATA];
        for (bucket, count) in self.histogram.iter().enumerate() {
            counts[stratum_of(bucket)] += count;
        }
        let strata = &self.strata;
        let sum = strata.iter().map(|stratum| part(stratum).0).sum();
        let samples = strata.iter().map(|stratum| stratum.sampled_count).sum();
        let estimates = strata.iter().zip(counts).map(|(stratum, count)| {
            if stratum.sampled_count == 0 {
                scaled(sum, count, samples)
            } else {
                scaled(part(stratum).0, stratum.total.0, stratum.sampled.0)
            }
        });
        Nanos(estimates.sum())
    }

    fn combine(&mut self, other: &EventTotals, op: fn(u64, u64) -> u64) {
        self.count = op(self.count, other.count);
        self.total = Nanos(op(self.total.0, other.total.0));
        self.timeouts = op(self.timeouts, other.timeouts);
        for (mine, theirs) in self.histogram.iter_mut().zip(other.histogram) {
            *mine = op(*mine, theirs);
        }
        for (mine, theirs) in self.strata.iter_mut().zip(other.strata) {
            mine.total.0 = op(mine.total.0, theirs.total.0);
            mine.sampled_count = op(mine.sampled_count, theirs.sampled_count);
            mine.sampled.0 = op(mine.sampled.0, theirs.sampled.0);
            mine.sampled_away.combine(theirs.sampled_away, op);
        }
    }
}

/// `sampled` scaled from a `part` to the `whole`; zero if there is no part.
pub(crate) fn scaled(sampled: u64, whole: u64, part: u64) -> u64 {
    if part == 0 {
        return 0;
    }
    let scaled = u128::from(sampled) * u128::from(whole) / u128::from(part);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// All waits and statistics of one session or of many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Totals {
    events: Vec<EventTotals>,
    statistics: Vec<u64>,
    gaps: OffCpuTime,
    in_statements: Nanos,
}

impl Default for Totals {
    fn default() -> Totals {
        Totals {
            events: vec![EventTotals::default(); WaitEvent::COUNT],
            statistics: vec![0; Statistic::COUNT],
            gaps: OffCpuTime::default(),
            in_statements: Nanos::ZERO,
        }
    }
}

impl Totals {
    /// The waits for `event`.
    pub fn event(&self, event: WaitEvent) -> &EventTotals {
        &self.events[event as usize]
    }

    /// The events that were waited for at least once, in the order of the list.
    pub fn events(&self) -> impl Iterator<Item = (WaitEvent, &EventTotals)> {
        WaitEvent::ALL.iter().copied().zip(&self.events).filter(|(_, totals)| totals.count > 0)
    }

    /// The value of one statistic.
    pub fn statistic(&self, statistic: Statistic) -> u64 {
        self.statistics[statistic as usize]
    }

    /// Block gets, from the cache or from disk, for every purpose: `db block gets` and `consistent
    /// gets` (Oracle's `session logical reads`).
    pub fn logical_reads(&self) -> u64 {
        self.statistic(Statistic::CurrentGets) + self.statistic(Statistic::ConsistentGets)
    }

    /// The measured time between waits: samples come in pairs of waits, and the gap between the two
    /// waits of a pair is measured too.
    pub fn gaps(&self) -> OffCpuTime {
        self.gaps
    }

    /// The time in statements that have ended (W20).
    pub fn in_statements(&self) -> Nanos {
        self.in_statements
    }

    /// Whether every wait was sampled. Then no figure about waits is an estimate.
    pub fn every_wait_was_sampled(&self) -> bool {
        self.events().all(|(_, totals)| totals.sampled_count() == totals.count)
    }

    /// Adds another reading: the sums add up, and the longer of the longest waits stays.
    pub fn add(&mut self, other: &Totals) {
        for (mine, theirs) in self.events.iter_mut().zip(&other.events) {
            mine.combine(theirs, u64::wrapping_add);
            mine.max = mine.max.max(theirs.max);
        }
        self.gaps.combine(other.gaps, u64::wrapping_add);
        self.in_statements.0 = self.in_statements.0.wrapping_add(other.in_statements.0);
        for (mine, theirs) in self.statistics.iter_mut().zip(&other.statistics) {
            *mine = mine.wrapping_add(*theirs);
        }
    }

    /// The difference between `earlier`, a reading of the same account, and this one.
    pub fn since(&self, earlier: &Totals) -> Totals {
        let mut difference = self.clone();
        for (mine, theirs) in difference.events.iter_mut().zip(&earlier.events) {
            mine.combine(theirs, u64::wrapping_sub);
        }
        difference.gaps.combine(earlier.gaps, u64::wrapping_sub);
        let statements = &mut difference.in_statements;
        statements.0 = statements.0.wrapping_sub(earlier.in_statements.0);
        for (mine, theirs) in difference.statistics.iter_mut().zip(&earlier.statistics) {
            *mine = mine.wrapping_sub(*theirs);
        }
        difference
    }

    pub(crate) fn add_account(&mut self, account: &Account) {
        for (mine, cells) in self.events.iter_mut().zip(&account.events) {
            let read = EventTotals {
                count: cells.count.get(),
                total: Nanos(cells.strata.iter().map(|stratum| stratum.total_ns.get()).sum()),
                max: Nanos(cells.max_ns.get()),
                timeouts: cells.timeouts.get(),
                histogram: std::array::from_fn(|i| cells.histogram[i].get()),
                strata: std::array::from_fn(|i| Stratum {
                    total: Nanos(cells.strata[i].total_ns.get()),
                    sampled_count: cells.strata[i].sampled_count.get(),
                    sampled: Nanos(cells.strata[i].sampled_ns.get()),
                    sampled_away: cells.strata[i].sampled_away.get(),
                }),
            };
            mine.combine(&read, u64::wrapping_add);
            mine.max = mine.max.max(read.max);
        }
        self.gaps.combine(account.gaps.get(), u64::wrapping_add);
        let in_statements = account.in_statements_ns.get();
        self.in_statements.0 = self.in_statements.0.wrapping_add(in_statements);
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

    /// The difference of two readings holds the waits between them.
    #[test]
    fn a_difference_is_what_came_in_between() {
        let difference = account(5).account().totals().since(&account(3).account().totals());
        let line = difference.event(WaitEvent::LogFileSync);
        assert_eq!((line.count, line.total), (2, Nanos(27)));
        assert_eq!(line.histogram[0], 2);
    }

    /// Short waits are all CPU and long waits have little of it. The samples of each stratum stand
    /// for its own waits, in whatever proportion they were drawn.
    #[test]
    fn samples_stand_for_waits_of_their_own_length() {
        let mut line = EventTotals { count: 1_010, ..EventTotals::default() };
        // A thousand waits of 1.5 us, of which two sampled; ten of 600 us, of which five.
        (line.histogram[1], line.histogram[10]) = (1_000, 10);
        line.strata[0] = Stratum {
            total: Nanos(1_500_000),
            sampled_count: 2,
            sampled: Nanos(3_200),
            sampled_away: OffCpuTime { run_queue: Nanos(32), ..OffCpuTime::default() },
        };
        line.strata[5] = Stratum {
            total: Nanos(6_000_000),
            sampled_count: 5,
            sampled: Nanos(3_000_000),
            sampled_away: OffCpuTime {
                off_cpu: Nanos(2_900_000),
                run_queue: Nanos(777),
                stolen: Nanos(50),
            },
        };
        assert_eq!(line.cpu(), Nanos(1_500_000 + 200_000));
        assert_eq!(line.run_queue(), Nanos(15_000 + 1_554));
        assert_eq!(line.sampled_count(), 7);
        // Three waits of a length without a sample: the mean of all samples stands in.
        line.histogram[4] = 3;
        line.strata[2].total = Nanos(40_000);
        assert_eq!(line.cpu(), Nanos(1_700_000 + 3 * 103_200 / 7));
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
            let away = OffCpuTime {
                off_cpu: Nanos(waited.0 - cpu * 1_000),
                run_queue: Nanos::from_micros(run_queue),
                stolen: Nanos::ZERO,
            };
            r.sampled(WaitEvent::LogFileSync, waited, away, Nanos::ZERO, at(to));
        }
        let totals = r.account().totals();
        let line = totals.event(WaitEvent::LogFileSync);
        assert_eq!(
            (line.cpu(), line.run_queue()),
            (Nanos::from_micros(21), Nanos::from_micros(381))
        );
        assert_eq!(line.sampled_count(), 3);
    }
}
