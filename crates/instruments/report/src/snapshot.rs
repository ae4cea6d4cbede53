//! The books of sessions over an interval: read from inside, or by two snapshots from outside.
//!
//! A foreground closes its own books, on its own thread, when its load ends
//! ([`SessionInterval::since`]). Processes go on; they are read from outside by two snapshots
//! ([`Snapshot`]). A process is usually inside a wait when it is read, and its books hold only
//! waits that have ended. So a snapshot also takes the wait in progress, as far as it has gone
//! (rule RP4). In a sampled wait, the thread's CPU and run-queue time so far is known too.
//!
//! ```text
//!   snapshot 1                                          snapshot 2
//!       │                                                   │
//!  ───[─┼────────]──[──────]───────[───]──────[─────────────┼────────]──▶
//!       ├ counted ┤                           ├── counted ──┤
//! ```
//!
//! Callers: loads, experiments.

use std::cmp::Reverse;
use std::sync::Arc;

use os::{RunningSession, Session, SessionReading, SessionTimes};
use waits::{
    CurrentWait, Nanos, SessionKind, ThreadTimes, TimeAccount, Totals, WaitEvent, WaitLine,
};

/// The closed books of one session over an interval.
#[derive(Clone, Debug)]
pub struct SessionInterval {
    /// The session's name.
    pub name: String,
    /// Foreground or background.
    pub kind: SessionKind,
    /// Its waits and statistics.
    pub totals: Totals,
    /// Where its time went.
    pub account: TimeAccount,
}

impl SessionInterval {
    /// The interval of the calling thread's own session since `start` ([`Session::reading`]).
    pub fn since(session: &Session, start: &SessionReading) -> SessionInterval {
        let SessionReading { at, times, totals } = session.reading();
        let totals = totals.since(&start.totals);
        let account = TimeAccount::close(at.since(start.at), times.since(start.times), &totals);
        let books = session.account();
        SessionInterval { name: books.name().to_owned(), kind: books.kind(), totals, account }
    }
}

/// The running sessions of a kind, each at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot(Vec<Reading>);

/// How many times a session is read until it is inside a wait: for 10 ms.
const TRIES: u32 = 100;
const TRY_AGAIN_AFTER: Nanos = Nanos::from_micros(100);

#[derive(Clone, Debug)]
struct Reading {
    session: SessionTimes,
    totals: Totals,
    current: Option<CurrentWait>,
}

impl Snapshot {
    /// Reads all running sessions of `kind`, each inside a wait if it enters one within 10 ms. A
    /// thread that works is read exactly only from its own side: from here, the time that it has
    /// stood in the run queue is unknown until it gets a CPU again.
    pub fn take(reader: &Session, kind: SessionKind) -> Snapshot {
        let sessions = reader.os().running().into_iter();
        let sessions = sessions.filter(|session| session.account.kind() == kind);
        Snapshot(sessions.map(|session| Reading::of(session, reader)).collect())
    }

    /// The intervals of these sessions since `earlier`; of one that has begun since, from its
    /// beginning. Sessions that have ended meanwhile are missing.
    pub fn intervals_since(&self, earlier: &Snapshot) -> Vec<SessionInterval> {
        let before = |reading: &Reading| earlier.0.iter().find(|other| other.is_of(reading));
        self.0.iter().map(|reading| reading.interval_since(before(reading))).collect()
    }
}

impl Reading {
    /// Reads books, clocks and current wait until all are of one moment inside a wait: a wait that
    /// ends between two of the readings would be counted twice, or not at all.
    fn of(session: RunningSession, reader: &Session) -> Reading {
        for _ in 1..TRIES {
            let (reading, whole) = Reading::once(&session, reader);
            if whole {
                return reading;
            }
            reader.pause(TRY_AGAIN_AFTER, reader.waiting(WaitEvent::PlSqlLockTimer));
        }
        Reading::once(&session, reader).0
    }

    /// One try, and whether the session was in one wait all that time.
    fn once(session: &RunningSession, reader: &Session) -> (Reading, bool) {
        let account = &session.account;
        let (totals, current) = (account.totals(), account.current_wait());
        let session = reader.os().times_of(session.clone());
        let is_whole =
            current.is_some() && account.current_wait() == current && account.totals() == totals;
        (Reading { session, totals, current }, is_whole)
    }

    fn is_of(&self, other: &Reading) -> bool {
        Arc::ptr_eq(&self.session.session.account, &other.session.session.account)
    }

    fn interval_since(&self, earlier: Option<&Reading>) -> SessionInterval {
        let books = &self.session.session.account;
        let start = earlier.map_or(books.started(), |earlier| earlier.session.at);
        let times =
            earlier.map_or(self.session.times, |e| self.session.times.since(e.session.times));
        let totals = earlier.map_or_else(|| self.totals.clone(), |e| self.totals.since(&e.totals));
        let elapsed = self.session.at.since(start);
        // The books close over the time that they know of: from the beginning of the wait that was
        // open at the start to the beginning of the one that is open at the end.
        let (open, open_before) = (self.open_wait(), earlier.and_then(Reading::open_wait));
        let part = |of: fn(&OpenWait) -> Nanos, all: Nanos| {
            let [open, open_before] = [open, open_before].map(|wait| wait.map_or(0, |w| of(&w).0));
            Nanos((all.0 + open_before).saturating_sub(open))
        };
        let known = part(|wait| wait.so_far, elapsed);
        let known_times = ThreadTimes {
            cpu: part(|wait| wait.inside.cpu, times.cpu),
            run_queue: part(|wait| wait.inside.run_queue, times.run_queue),
            taken_max: times.taken_max,
        };
        let mut account = TimeAccount::close(known, known_times, &totals);
        account.elapsed = elapsed;
        account.unaccounted_ns += signed(elapsed) - signed(known);
        if let Some(open) = open {
            shift(&mut account, &open, 1);
        }
        if let Some(open_before) = open_before {
            shift(&mut account, &open_before, -1);
        }
        account.waits.sort_by_key(|line| (Reverse(line.total), line.event));
        SessionInterval { name: books.name().to_owned(), kind: books.kind(), totals, account }
    }

    /// The wait in progress, as far as it has gone when the session's clocks were read.
    fn open_wait(&self) -> Option<OpenWait> {
        let wait = self.current?;
        let so_far = self.session.at.since(wait.since);
        let inside = wait.clocks.map_or_else(ThreadTimes::default, |clocks| {
            let inside = self.session.times.since(clocks);
            let cpu = inside.cpu.min(so_far);
            let run_queue = inside.run_queue.min(Nanos(so_far.0 - cpu.0));
            ThreadTimes { cpu, run_queue, ..inside }
        });
        Some(OpenWait { event: wait.event, so_far, inside })
    }
}

/// A wait that hasn't ended: how long it has lasted, and the thread's times in it, if known.
#[derive(Clone, Copy)]
struct OpenWait {
    event: WaitEvent,
    so_far: Nanos,
    inside: ThreadTimes,
}

/// Moves an open wait's time to its event, or from it (`sign`); what the event lacks stays
/// unaccounted.
fn shift(account: &mut TimeAccount, open: &OpenWait, sign: i64) {
    let OpenWait { event, so_far, inside } = *open;
    if !account.waits.iter().any(|line| line.event == event) {
        let none = Nanos::ZERO;
        account.waits.push(WaitLine {
            event,
            count: 0,
            total: none,
            of_which_cpu: none,
            of_which_run_queue: none,
        });
    }
    let line = account.waits.iter_mut().find(|line| line.event == event);
    let line = line.expect("it was pushed if it was missing");
    let moved = |part: &mut Nanos, length: Nanos| {
        let after = (signed(*part) + sign * signed(length)).max(0);
        let moved = after - signed(*part);
        *part = Nanos(after.unsigned_abs());
        moved
    };
    account.unaccounted_ns -= moved(&mut line.total, so_far);
    let _ = moved(&mut line.of_which_cpu, inside.cpu);
    let _ = moved(&mut line.of_which_run_queue, inside.run_queue);
}

fn signed(length: Nanos) -> i64 {
    i64::try_from(length.0).expect("a length of time is under 292 years")
}
