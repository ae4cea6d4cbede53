//! Whether the process stood still: a signal had stopped it, or its machine was paused.
//!
//! The clock goes on meanwhile, and nothing else does. The thread that makes blocks sees it by its
//! own looks at the clock, which are 100 ms apart at most. A longer gap alone says little: the
//! thread may have waited for a CPU, for memory or for a file, as a setting may have it wait. So
//! sessions must have made next to no commits meanwhile, and the process have used next to no CPU.
//!
//! Callers: `alternate`.

use std::cell::Cell;

use os::Session;
use os::linux::machine::cpu_times;
use waits::{Nanos, Statistic, Timestamp};

/// More than this between two looks may be a standstill.
const STANDSTILL: Nanos = Nanos::from_secs(1);
/// It is none if more than this share of the usual work was done. The work on both sides of a
/// standstill of a second, up to 100 ms each, is less.
const LITTLE: f64 = 0.25;
/// How often it is read what work was done.
const READ: Nanos = Nanos::from_millis(100);

/// Watches a thread that looks several times a second.
pub(crate) struct Standstill<'a> {
    session: &'a Session,
    /// None before the first look.
    watched: Cell<Option<Watched>>,
}

/// What was seen up to the last look.
#[derive(Clone, Copy)]
struct Watched {
    looked: Timestamp,
    /// What was done up to a moment shortly before that.
    done: Work,
    /// What was done while the process didn't stand still.
    usual: Work,
    /// How long it stood still.
    stood: Nanos,
}

/// What the process does in a time.
#[derive(Clone, Copy, Default)]
struct Work {
    ns: u64,
    commits: u64,
    cpu_ns: u64,
}

impl Work {
    /// From the begin of the world to now.
    fn done(session: &Session) -> Work {
        let os = session.os();
        let cpu_ns = if os.clock().is_virtual() { 0 } else { cpu_times().own.0 };
        let commits = os.totals().statistic(Statistic::UserCommits);
        Work { ns: session.now().as_nanos(), commits, cpu_ns }
    }

    fn since(&self, earlier: &Work) -> Work {
        Work {
            ns: self.ns.saturating_sub(earlier.ns),
            commits: self.commits.saturating_sub(earlier.commits),
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
        }
    }

    fn add(&mut self, more: &Work) {
        self.ns += more.ns;
        self.commits += more.commits;
        self.cpu_ns += more.cpu_ns;
    }

    /// Whether this is little for its time, if anything is known of what is usual.
    fn is_little(&self, usual: &Work) -> bool {
        let most = LITTLE * self.ns as f64 / usual.ns.max(1) as f64;
        let is_little = |this: u64, usual: u64| this as f64 <= most * usual as f64;
        usual.ns == 0
            || is_little(self.commits, usual.commits) && is_little(self.cpu_ns, usual.cpu_ns)
    }
}

impl<'a> Standstill<'a> {
    /// Watches from its first look on.
    pub(crate) fn watch(session: &'a Session) -> Standstill<'a> {
        Standstill { session, watched: Cell::new(None) }
    }

    /// Looks. Returns whether the process has stood still since the begin, or since this was last
    /// taken.
    pub(crate) fn is_seen(&self) -> bool {
        self.look().stood > Nanos::ZERO
    }

    /// Looks, and takes how long the process has stood still: from now on it hasn't.
    pub(crate) fn take(&self) -> Nanos {
        let watched = self.look();
        self.watched.set(Some(Watched { stood: Nanos::ZERO, ..watched }));
        watched.stood
    }

    fn look(&self) -> Watched {
        let now = self.session.now();
        let mut watched = self.watched.get().unwrap_or_else(|| Watched {
            looked: now,
            done: Work::done(self.session),
            usual: Work::default(),
            stood: Nanos::ZERO,
        });
        let gap = now.since(watched.looked);
        let is_long = gap > STANDSTILL;
        if is_long || now.as_nanos().saturating_sub(watched.done.ns) >= READ.0 {
            let done = Work::done(self.session);
            let work = done.since(&watched.done);
            match is_long && work.is_little(&watched.usual) {
                true => watched.stood.0 += gap.0,
                false => watched.usual.add(&work),
            }
            watched.done = done;
        }
        watched.looked = now;
        self.watched.set(Some(watched));
        watched
    }
}

#[cfg(test)]
mod tests {
    use os::ThreadSpec;
    use sim::Simulation;
    use waits::WaitEvent;

    use super::*;

    fn pause(ms: u64, session: &Session) {
        session.pause(Nanos::from_millis(ms), session.waiting(WaitEvent::PlSqlLockTimer));
    }

    #[test]
    fn a_standstill_is_seen_at_the_next_look_and_stays_seen_until_it_is_taken() {
        let report = Simulation::new(1).run(|_, session| {
            let standstill = Standstill::watch(session);
            // Nobody looks yet.
            pause(5_000, session);
            let seen_behind = |ms| {
                pause(ms, session);
                standstill.is_seen()
            };
            let seen = [100, 900, 900, 1_500, 100].map(seen_behind);
            (seen, standstill.take().as_secs_f64(), standstill.is_seen())
        });
        let (seen, took, is_seen) = report.result.expect("it ended");
        assert_eq!((seen, is_seen), ([false, false, false, true, true], false));
        assert!((1.4..1.6).contains(&took), "{took}");
    }

    /// LB79: the thread that looks may be held up alone, by what a setting does.
    #[test]
    fn the_process_does_not_stand_still_while_sessions_commit() {
        let report = Simulation::new(1).run(|_, session| {
            let busy = session.spawn(ThreadSpec::foreground("busy"), |session| {
                for _ in 0..300 {
                    session.count(Statistic::UserCommits, 1);
                    pause(10, session);
                }
            });
            let standstill = Standstill::watch(session);
            let seen_behind = |ms| {
                pause(ms, session);
                standstill.is_seen()
            };
            let seen = [100, 100, 1_500].map(seen_behind);
            busy.expect("it began").join(session).expect("it ended");
            (seen, standstill.is_seen(), seen_behind(1_500))
        });
        let (while_busy, at_its_end, behind) = report.result.expect("it ended");
        assert_eq!((while_busy, at_its_end, behind), ([false; 3], false, true));
    }
}
