//! The time profile: where the time of one session or of many went.
//!
//! ```text
//!   elapsed = CPU + run queue + waits + unaccounted       to the nanosecond (rule RP1)
//! ```
//!
//! CPU and run queue are those outside waits; what lies inside a wait is an "of which" of it, as in
//! `waits::TimeAccount`, whose sum a profile is.
//!
//! Callers: loads, rows of experiments, verdicts, the validity check.

use serde::{Deserialize, Serialize};
use waits::{Nanos, TimeAccount, WaitClass, WaitLine};

use crate::number::{apportion, fixed, grouped, share};
use crate::{SessionInterval, Table, paragraph};

/// The line of time on a CPU, outside waits.
pub const CPU: &str = "CPU";
/// The line of time ready to run without a CPU, outside waits.
pub const RUN_QUEUE: &str = "run queue";
/// The line of time without a name.
pub const UNACCOUNTED: &str = "unaccounted";

/// Where time went: the sum of the closed books of sessions.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TimeProfile {
    /// The sessions' intervals by the wall, added up, ns.
    pub elapsed_ns: u64,
    /// CPU outside waits, ns; signed because what lies inside waits is an estimate.
    pub cpu_ns: i64,
    /// Run-queue delay outside waits, ns.
    pub run_queue_ns: i64,
    /// Time without a name, ns.
    pub unaccounted_ns: i64,
    /// The wait events, the longest in all first.
    pub events: Vec<EventTime>,
    /// Of the CPU time: taken away by a hypervisor or by interrupts, ns. The row of a run keeps it
    /// once for all sessions, so it is not in a profile's own JSON.
    #[serde(skip)]
    pub stolen_ns: u64,
}

/// The waits for one event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventTime {
    /// The event's name.
    pub event: String,
    /// Its wait class.
    pub class: String,
    /// How many waits ended.
    pub count: u64,
    /// Their time, by the wall, ns.
    pub total_ns: u64,
    /// Of which on a CPU, ns (estimated).
    pub of_which_cpu_ns: u64,
    /// Of which in the run queue, ns (estimated).
    pub of_which_run_queue_ns: u64,
}

/// One part of the elapsed time, as a table shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeLine<'a> {
    /// The event's name, or [`CPU`], [`RUN_QUEUE`], [`UNACCOUNTED`].
    pub name: &'a str,
    /// The event's wait class; none for the three others.
    pub class: Option<&'a str>,
    /// Its time, ns; of CPU, run queue and unaccounted it may be negative by an error of estimate.
    pub ns: i64,
    /// How many waits ended.
    pub waits: u64,
    /// Of which on a CPU, ns.
    pub of_which_cpu_ns: u64,
    /// Of which in the run queue, ns.
    pub of_which_run_queue_ns: u64,
}

impl EventTime {
    /// Whether a session in this wait has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.class == WaitClass::Idle.name()
    }

    fn line(&self) -> TimeLine<'_> {
        TimeLine {
            name: &self.event,
            class: Some(&self.class),
            ns: signed(self.total_ns),
            waits: self.count,
            of_which_cpu_ns: self.of_which_cpu_ns,
            of_which_run_queue_ns: self.of_which_run_queue_ns,
        }
    }
}

impl TimeLine<'_> {
    /// Whether the line is of waits in which a session has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.class == Some(WaitClass::Idle.name())
    }
}

impl From<&WaitLine> for EventTime {
    fn from(line: &WaitLine) -> EventTime {
        EventTime {
            event: line.event.name().to_owned(),
            class: line.event.class().name().to_owned(),
            count: line.count,
            total_ns: line.total.0,
            of_which_cpu_ns: line.of_which_cpu.0,
            of_which_run_queue_ns: line.of_which_run_queue.0,
        }
    }
}

impl From<&TimeAccount> for TimeProfile {
    fn from(account: &TimeAccount) -> TimeProfile {
        TimeProfile {
            elapsed_ns: account.elapsed.0,
            cpu_ns: account.cpu_ns,
            run_queue_ns: account.run_queue_ns,
            unaccounted_ns: account.unaccounted_ns,
            events: account.waits.iter().map(EventTime::from).collect(),
            stolen_ns: account.stolen.0,
        }
    }
}

impl TimeProfile {
    /// The profile of these sessions together.
    pub fn of<'a>(intervals: impl IntoIterator<Item = &'a SessionInterval>) -> TimeProfile {
        let mut profile = TimeProfile::default();
        for interval in intervals {
            profile.add(&TimeProfile::from(&interval.account));
        }
        profile
    }

    /// Adds another profile's time.
    pub fn add(&mut self, other: &TimeProfile) {
        self.elapsed_ns += other.elapsed_ns;
        self.cpu_ns += other.cpu_ns;
        self.run_queue_ns += other.run_queue_ns;
        self.unaccounted_ns += other.unaccounted_ns;
        self.stolen_ns += other.stolen_ns;
        for theirs in &other.events {
            match self.events.iter_mut().find(|mine| mine.event == theirs.event) {
                Some(mine) => {
                    mine.count += theirs.count;
                    mine.total_ns += theirs.total_ns;
                    mine.of_which_cpu_ns += theirs.of_which_cpu_ns;
                    mine.of_which_run_queue_ns += theirs.of_which_run_queue_ns;
                }
                None => self.events.push(theirs.clone()),
            }
        }
        self.events.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then(a.event.cmp(&b.event)));
    }

    /// The parts that make up the elapsed time: CPU, run queue and each event, the longest first,
    /// then what is unaccounted.
    pub fn lines(&self) -> Vec<TimeLine<'_>> {
        let plain = |name, ns| TimeLine {
            name,
            class: None,
            ns,
            waits: 0,
            of_which_cpu_ns: 0,
            of_which_run_queue_ns: 0,
        };
        let mut lines = vec![plain(CPU, self.cpu_ns), plain(RUN_QUEUE, self.run_queue_ns)];
        lines.extend(self.events.iter().map(EventTime::line));
        lines.sort_by(|a, b| b.ns.cmp(&a.ns).then(a.name.cmp(b.name)));
        lines.push(plain(UNACCOUNTED, self.unaccounted_ns));
        lines
    }

    /// The profile as a table: seconds in all, shares, and microseconds for each of `transactions`.
    /// The columns add up as they are printed.
    pub fn text(&self, transactions: u64) -> String {
        let lines = self.lines();
        let column = |unit_ns: f64| {
            apportion(&lines.iter().map(|line| line.ns as f64 / unit_ns).collect::<Vec<f64>>())
        };
        let columns = [
            (column(1e6), 3),
            (column(self.elapsed_ns.max(1) as f64 / 1e3), 1),
            (column(transactions.max(1) as f64 * 1e2), 1),
        ];
        let shown = if transactions == 0 { &columns[..2] } else { &columns[..] };
        let mut table = Table::default();
        let headings = ["", "seconds", "%", "us per tx"].into_iter().take(1 + shown.len());
        table.row(headings.chain(["waits", "mean wait"]));
        for (index, line) in lines.iter().enumerate() {
            let figures = shown.iter().map(|(units, decimals)| fixed(units[index], *decimals));
            let waits = match line.waits {
                0 => [String::new(), String::new()],
                waits => [grouped(waits), Nanos(line.ns.unsigned_abs() / waits).to_string()],
            };
            table.row(std::iter::once(line.name.to_owned()).chain(figures).chain(waits));
        }
        table.rule(shown.len());
        let sums = shown.iter().map(|(units, decimals)| fixed(units.iter().sum(), *decimals));
        let sums = std::iter::once("elapsed, all sessions".to_owned()).chain(sums);
        table.row(sums.chain([String::new(), String::new()]));
        let stolen = share(self.stolen_ns as f64 / self.elapsed_ns.max(1) as f64);
        let stolen = format!(
            "Of the CPU time, a hypervisor and interrupts took {} s, {stolen} of elapsed.",
            fixed((self.stolen_ns / 1_000_000) as i64, 3)
        );
        table.text() + &paragraph(&stolen, "  ")
    }

    /// Time in idle waits, ns.
    pub fn idle_ns(&self) -> u64 {
        self.events.iter().filter(|event| event.is_idle()).map(|event| event.total_ns).sum()
    }

    /// Elapsed time without idle waits, ns: the time in which there was something to do.
    pub fn busy_ns(&self) -> i64 {
        signed(self.elapsed_ns) - signed(self.idle_ns())
    }

    /// CPU time inside waits and outside, ns: what `ps` shows.
    pub fn cpu_in_all_ns(&self) -> i64 {
        self.cpu_ns + self.events.iter().map(|event| signed(event.of_which_cpu_ns)).sum::<i64>()
    }

    /// Run-queue delay inside waits and outside, ns.
    pub fn run_queue_in_all_ns(&self) -> i64 {
        let inside = self.events.iter().map(|event| signed(event.of_which_run_queue_ns));
        self.run_queue_ns + inside.sum::<i64>()
    }

    /// The unaccounted share of elapsed time, by size: 0.01 is one per cent.
    pub fn unaccounted_share(&self) -> f64 {
        if self.elapsed_ns == 0 {
            return 0.0;
        }
        self.unaccounted_ns.unsigned_abs() as f64 / self.elapsed_ns as f64
    }

    /// Whether the parts make the whole (rule RP1).
    pub fn closes(&self) -> bool {
        let waits: i128 = self.events.iter().map(|event| i128::from(event.total_ns)).sum();
        let rest = [self.cpu_ns, self.run_queue_ns, self.unaccounted_ns].map(i128::from);
        waits + rest.iter().sum::<i128>() == i128::from(self.elapsed_ns)
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).expect("a sum of session times is under 292 years")
}

#[cfg(test)]
mod tests {
    use super::*;
    use waits::{Nanos, WaitEvent};

    fn line(event: WaitEvent, total: u64) -> WaitLine {
        WaitLine {
            event,
            count: 2,
            total: Nanos(total),
            of_which_cpu: Nanos(3),
            of_which_run_queue: Nanos(5),
        }
    }

    fn account(waits: Vec<WaitLine>) -> TimeProfile {
        let waited: u64 = waits.iter().map(|wait| wait.total.0).sum();
        let elapsed = Nanos(1_000 + waited);
        let books = TimeAccount {
            elapsed,
            cpu_ns: 900,
            run_queue_ns: 110,
            waits,
            unaccounted_ns: -10,
            stolen: Nanos::ZERO,
        };
        TimeProfile::from(&books)
    }

    #[test]
    fn a_sum_of_accounts_closes_and_has_each_event_once() {
        let mut sum = account(vec![line(WaitEvent::LogFileSync, 50)]);
        sum.add(&account(vec![
            line(WaitEvent::FreeBufferWaits, 80),
            line(WaitEvent::LogFileSync, 40),
            line(WaitEvent::PlSqlLockTimer, 700),
        ]));
        assert!(sum.closes());
        let names: Vec<(&str, u64, u64)> =
            sum.events.iter().map(|e| (e.event.as_str(), e.count, e.total_ns)).collect();
        assert_eq!(
            names,
            [("PL/SQL lock timer", 2, 700), ("log file sync", 4, 90), ("free buffer waits", 2, 80)]
        );
        assert_eq!((sum.elapsed_ns, sum.idle_ns(), sum.busy_ns()), (2_870, 700, 2_170));
        assert_eq!((sum.cpu_in_all_ns(), sum.run_queue_in_all_ns()), (1_812, 240));
    }

    #[test]
    fn an_account_with_a_nanosecond_too_many_does_not_close() {
        let mut books = account(vec![line(WaitEvent::LogFileSync, 50)]);
        assert!(books.closes());
        books.cpu_ns += 1;
        assert!(!books.closes());
    }

    #[test]
    fn the_unaccounted_share_is_by_size() {
        assert_eq!(account(vec![]).unaccounted_share(), 0.01);
        assert_eq!(TimeProfile::default().unaccounted_share(), 0.0);
    }

    /// Rules RP2 and RP3.
    #[test]
    fn a_profile_in_text_adds_up_and_fits_80_columns() {
        let profile = account(vec![line(WaitEvent::LogFileSync, 3_000_777_000)]);
        let expected = "
                          seconds       %   us per tx   waits   mean wait
  log file sync             3.001   100.0   428,682.4       2      1.50 s
  CPU                       0.000     0.0         0.2
  run queue                 0.000     0.0         0.0
  unaccounted               0.000     0.0         0.0
                          -------   -----   ---------
  elapsed, all sessions     3.001   100.0   428,682.6
  Of the CPU time, a hypervisor and interrupts took 0.000 s, 0.00 % of elapsed.
";
        assert_eq!(profile.text(7), expected.trim_start_matches('\n'));
        assert!(!profile.text(0).contains("us per tx"), "without transactions there is no column");
    }
}
