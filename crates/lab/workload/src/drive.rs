//! Sessions in a closed loop for a time, whatever they do.
//!
//! ```text
//!   begin of all ── warm-up ──▶ what counts ──────────▶ end
//!                   each session's account of time: ◀──▶
//! ```
//!
//! Callers: the loads.

use std::sync::Arc;

use latch::{Latch, LatchKind, SharedFlag};
use os::{Session, ThreadSpec};
use report::SessionInterval;
use stop::{RefusalKind, Stop};
use waits::{Nanos, ThreadTimes, Timestamp, Totals, WaitEvent};

/// Who works, and how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drive {
    /// Sessions at once.
    pub sessions: u32,
    /// The number of the first.
    pub first_session: u32,
    /// How long sessions work before what they do counts.
    pub warm_up: Nanos,
    /// How long what they do counts.
    pub length: Nanos,
}

/// What one session did.
#[derive(Clone, Debug)]
pub struct SessionRun {
    /// Its number.
    pub session: u32,
    /// Commits that it was told of, all in all: their numbers are 1 to this.
    pub acknowledged: u64,
    /// Of these, within the time that counts.
    pub counted: u64,
    /// Where its time went, within the time that counts.
    pub interval: SessionInterval,
}

/// What all did.
#[derive(Clone, Debug)]
pub struct Run {
    /// Each session.
    pub sessions: Vec<SessionRun>,
    /// The time that counted: less than was asked for if the load was told to stop.
    pub elapsed: Nanos,
}

impl Run {
    /// Transactions a second, of the time that counted.
    pub fn throughput(&self) -> f64 {
        let counted: u64 = self.sessions.iter().map(|session| session.counted).sum();
        match self.elapsed {
            Nanos::ZERO => 0.0,
            elapsed => counted as f64 / elapsed.as_secs_f64(),
        }
    }

    /// Each session and how many commits it was told of, for the audit.
    pub fn acknowledged(&self) -> Vec<(u32, u64)> {
        self.sessions.iter().map(|session| (session.session, session.acknowledged)).collect()
    }
}

/// Told of each acknowledged commit: session, and the commit's number there, from 1.
pub type Witness = Arc<dyn Fn(u32, u64) + Send + Sync>;

/// What a session does: as long as [`Turns::next`] says so.
pub(crate) type Client = dyn Fn(&mut Turns, &Session) -> Result<(), Stop> + Send + Sync;

/// A session's turns.
pub(crate) struct Turns {
    /// The session's number.
    pub(crate) number: u32,
    bounds: [Timestamp; 2],
    stop: Arc<SharedFlag>,
    witness: Option<Witness>,
    acknowledged: u64,
    /// From when its time counts.
    counting: Option<Counting>,
}

struct Counting {
    reading: (Timestamp, ThreadTimes, Totals),
    acknowledged: u64,
}

impl Turns {
    /// Whether there is another turn.
    pub(crate) fn next(&mut self, session: &Session) -> bool {
        if session.now() >= self.bounds[0] && self.counting.is_none() {
            let (reading, acknowledged) = (session.reading(), self.acknowledged);
            self.counting = Some(Counting { reading, acknowledged });
        }
        session.now() < self.bounds[1] && !self.stop.is_raised(session)
    }

    /// Commits that the session was told of so far.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The session was told of a commit.
    pub(crate) fn acknowledge(&mut self) {
        self.acknowledged += 1;
        if let Some(witness) = &self.witness {
            witness(self.number, self.acknowledged);
        }
    }

    fn done(&self, session: &Session) -> SessionRun {
        let now;
        let (reading, before) = match &self.counting {
            Some(counting) => (&counting.reading, counting.acknowledged),
            None => {
                now = session.reading();
                (&now, self.acknowledged)
            }
        };
        SessionRun {
            session: self.number,
            acknowledged: self.acknowledged,
            counted: self.acknowledged - before,
            interval: SessionInterval::since(session, reading),
        }
    }
}

/// Has sessions do what `client` does; ends early when `told_to_stop`, and then says less.
/// `at_bound` is called, by the calling session, when the time that counts begins, and when it
/// ends.
pub(crate) fn drive(
    (drive, witness): (Drive, Option<Witness>),
    client: Arc<Client>,
    told_to_stop: &dyn Fn() -> bool,
    mut at_bound: impl FnMut(&Session),
    session: &Session,
) -> Result<Run, Stop> {
    let done = Arc::new(Latch::new(session.os(), LatchKind::Innermost, Vec::new()));
    let stop = Arc::new(SharedFlag::new(false));
    let begin = session.now().after(drive.warm_up);
    let bounds = [begin, begin.after(drive.length)];
    let mut threads = Vec::new();
    for number in drive.first_session..drive.first_session + drive.sessions {
        let (stop, witness) = (Arc::clone(&stop), witness.clone());
        let (acknowledged, counting) = (0, None);
        let mut turns = Turns { number, bounds, stop, witness, acknowledged, counting };
        let (client, done) = (Arc::clone(&client), Arc::clone(&done));
        // A thread's name has at most 15 bytes.
        let word = if number < 100_000_000 { "session" } else { "s" };
        let spec = ThreadSpec::foreground(format!("{word}{number}"));
        threads.push(session.spawn(spec, move |session| {
            let ended = client(&mut turns, session).map(|()| turns.done(session));
            done.exclusive(session).push(ended);
        })?);
    }
    let mut ended = begin;
    for bound in bounds {
        sleep_until(bound, told_to_stop, session);
        if told_to_stop() {
            stop.raise(session);
        }
        ended = session.now().min(bound).max(begin);
        at_bound(session);
    }
    for thread in threads {
        if thread.join(session).is_err() {
            let what = format!("{} of the load panicked", thread.name());
            return Err(Stop::refuse(RefusalKind::WrongState, what));
        }
    }
    let done = std::mem::take(&mut *done.exclusive(session));
    let mut sessions = done.into_iter().collect::<Result<Vec<_>, _>>()?;
    sessions.sort_by_key(|session| session.session);
    Ok(Run { sessions, elapsed: ended.since(begin) })
}

fn sleep_until(until: Timestamp, told_to_stop: &dyn Fn() -> bool, session: &Session) {
    while session.now() < until && !told_to_stop() {
        let left = until.since(session.now()).min(Nanos::from_millis(100));
        session.pause(left, session.waiting(WaitEvent::PlSqlLockTimer));
    }
}
