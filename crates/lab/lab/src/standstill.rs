//! Whether the process stood still: a signal had stopped it, or its machine was paused.
//!
//! The clock goes on meanwhile, and nothing else does. The thread that makes blocks sees it by its
//! own looks at the clock: it sleeps for 100 ms at most and asks nothing of the device, so a
//! second between two of its looks isn't the effect of a setting.
//!
//! Callers: `alternate`.

use std::cell::Cell;

use os::Session;
use waits::{Nanos, Timestamp};

/// More than this between two looks is a standstill.
const STANDSTILL: Nanos = Nanos::from_secs(1);

/// Watches a thread that looks several times a second.
pub(crate) struct Standstill<'a> {
    session: &'a Session,
    looked: Cell<Timestamp>,
    is_seen: Cell<bool>,
}

impl<'a> Standstill<'a> {
    /// Watches from now on.
    pub(crate) fn watch(session: &'a Session) -> Standstill<'a> {
        Standstill { session, looked: Cell::new(session.now()), is_seen: Cell::new(false) }
    }

    /// Looks. Returns whether the process has stood still since the begin.
    pub(crate) fn is_seen(&self) -> bool {
        let now = self.session.now();
        let since_last = now.since(self.looked.replace(now));
        self.is_seen.set(self.is_seen.get() || since_last > STANDSTILL);
        self.is_seen.get()
    }
}

#[cfg(test)]
mod tests {
    use sim::Simulation;
    use waits::WaitEvent;

    use super::*;

    #[test]
    fn a_standstill_is_seen_at_the_next_look_and_stays_seen() {
        let report = Simulation::new(1).run(|_, session| {
            let standstill = Standstill::watch(session);
            let seen_behind = |ms| {
                let wait = session.waiting(WaitEvent::PlSqlLockTimer);
                session.pause(Nanos::from_millis(ms), wait);
                standstill.is_seen()
            };
            [100, 900, 900, 1_500, 100].map(seen_behind)
        });
        let seen = report.result.expect("it ended");
        assert_eq!(seen, [false, false, false, true, true]);
    }
}
