//! Where time went, as a row keeps it: the sum of sessions' closed books.
//!
//! ```text
//!   elapsed = CPU + run queue + waits + unaccounted       to the nanosecond (rule E5)
//! ```
//!
//! CPU and run queue are those outside waits; what lies inside a wait is an "of which" of it, as in
//! `waits::TimeAccount`, whose sum this is.
//!
//! Callers: `row`; crate `verdict`.

use serde::{Deserialize, Serialize};
use waits::{TimeAccount, WaitClass, WaitLine};

/// The class of waits in which a session has nothing to do.
pub const IDLE: &str = WaitClass::Idle.name();

/// The time of one session or of many.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Account {
    /// By the wall, summed over the sessions, ns.
    pub elapsed_ns: u64,
    /// CPU outside waits, ns; signed because what lies inside waits is an estimate.
    pub cpu_ns: i64,
    /// Run-queue delay outside waits, ns.
    pub run_queue_ns: i64,
    /// What has no name, ns.
    pub unaccounted_ns: i64,
    /// What was waited for, the longest in all first.
    pub events: Vec<Event>,
}

/// What was waited for one event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Its name.
    pub event: String,
    /// Its class.
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

impl Event {
    /// Whether a session in it has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.class == IDLE
    }
}

impl From<&WaitLine> for Event {
    fn from(line: &WaitLine) -> Event {
        Event {
            event: line.event.name().to_owned(),
            class: line.event.class().name().to_owned(),
            count: line.count,
            total_ns: line.total.0,
            of_which_cpu_ns: line.of_which_cpu.0,
            of_which_run_queue_ns: line.of_which_run_queue.0,
        }
    }
}

impl From<&TimeAccount> for Account {
    fn from(account: &TimeAccount) -> Account {
        Account {
            elapsed_ns: account.elapsed.0,
            cpu_ns: account.cpu_ns,
            run_queue_ns: account.run_queue_ns,
            unaccounted_ns: account.unaccounted_ns,
            events: account.waits.iter().map(Event::from).collect(),
        }
    }
}

impl Account {
    /// Adds another's time.
    pub fn add(&mut self, other: &Account) {
        self.elapsed_ns += other.elapsed_ns;
        self.cpu_ns += other.cpu_ns;
        self.run_queue_ns += other.run_queue_ns;
        self.unaccounted_ns += other.unaccounted_ns;
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

    /// Time in idle waits, ns.
    pub fn idle_ns(&self) -> u64 {
        self.events.iter().filter(|event| event.is_idle()).map(|event| event.total_ns).sum()
    }

    /// Time in which there was something to do: elapsed without idle waits, ns.
    pub fn busy_ns(&self) -> i64 {
        signed(self.elapsed_ns) - signed(self.idle_ns())
    }

    /// CPU in all, inside waits and outside, ns: what `ps` shows.
    pub fn cpu_in_all_ns(&self) -> i64 {
        self.cpu_ns + self.events.iter().map(|event| signed(event.of_which_cpu_ns)).sum::<i64>()
    }

    /// Run-queue delay in all, ns.
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

    /// Whether the parts make the whole (rule E5).
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

    fn account(waits: Vec<WaitLine>) -> Account {
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
        Account::from(&books)
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
        assert_eq!(Account::default().unaccounted_share(), 0.0);
    }
}
