//! Sessions that work in a loop for a time: the frame of all loads.
//!
//! ```text
//!   begin of all ── warm-up ──▶ what counts ──────────▶ end
//!                   each session's account of time: ◀──▶
//! ```
//!
//! Callers: the loads.

use std::collections::BTreeMap;
use std::sync::Arc;

use latch::{Latch, LatchKind, SharedFlag};
use os::{Session, SessionReading, ThreadHandle, ThreadSpec};
use report::SessionInterval;
use stop::{RefusalKind, Stop};
use waits::{Nanos, Timestamp, WaitEvent};

use crate::Latencies;
use crate::arrivals::Arrivals;
use crate::periods::{Book, Periods};

/// How many sessions work, and how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drive {
    /// Sessions at once.
    pub sessions: u32,
    /// The number of the first.
    pub first_session: u32,
    /// The warm-up: how long sessions work before the time that counts.
    pub warm_up: Nanos,
    /// The time that counts.
    pub length: Nanos,
    /// Transactions that arrive a second, at all sessions together, whether or not these keep up:
    /// an open loop (WL22). None: each session begins the next one when the last has ended.
    pub rate: Option<u32>,
}

/// How a load is watched from outside; by default not at all.
#[derive(Default)]
pub struct Watch<'a> {
    /// Told of each acknowledged commit, by the session that made it.
    pub witness: Option<Witness>,
    /// Asked every 100 ms, by the calling session, whether the load is to end early.
    pub told_to_stop: Option<&'a dyn Fn() -> bool>,
    /// Called by the calling session when the time that counts begins, and when it ends.
    pub at_bound: Option<&'a mut dyn FnMut(&Session)>,
    /// Given, it gets the first failure of a session, and what all sessions did is returned.
    pub failure: Option<&'a mut Option<Stop>>,
    /// Given, sessions close their books whenever another period begins (WL20).
    pub periods: Option<Arc<Periods>>,
    /// Given, it is called by the calling session after the warm-up, while sessions work, with a
    /// question for whether one has ended by itself. The load lasts until it returns (WL21).
    pub conduct: Option<&'a mut Conduct<'a>>,
}

/// Conducts a load while it runs: `(session, has a session ended by itself?)`.
pub type Conduct<'a> = dyn FnMut(&Session, &dyn Fn() -> bool) + 'a;

impl Watch<'_> {
    fn told_to_stop(&self) -> bool {
        self.told_to_stop.is_some_and(|told_to_stop| told_to_stop())
    }
}

/// What one session did.
#[derive(Clone, Debug)]
pub struct SessionRun {
    /// The session's number.
    pub session: u32,
    /// Commits that were acknowledged to it, warm-up included: they are numbered from 1 to this.
    pub acknowledged: u64,
    /// Of these, within the time that counts.
    pub counted: u64,
    /// Where its time went, within the time that counts.
    pub interval: SessionInterval,
    /// How long its transactions took, by type, within the time that counts.
    pub types: BTreeMap<&'static str, Latencies>,
}

/// What all sessions did.
#[derive(Clone, Debug)]
pub struct Run {
    /// Each session, by number.
    pub sessions: Vec<SessionRun>,
    /// The time that counted: shorter than the plan's if the load was told to stop, or all sessions
    /// were refused.
    pub elapsed: Nanos,
}

impl Run {
    /// Commits within the time that counted.
    pub fn counted(&self) -> u64 {
        self.sessions.iter().map(|session| session.counted).sum()
    }

    /// Commits a second, within the time that counted.
    pub fn throughput(&self) -> f64 {
        match self.elapsed {
            Nanos::ZERO => 0.0,
            elapsed => self.counted() as f64 / elapsed.as_secs_f64(),
        }
    }

    /// How long transactions took, by type.
    pub fn types(&self) -> BTreeMap<&'static str, Latencies> {
        let mut all: BTreeMap<&'static str, Latencies> = BTreeMap::new();
        for (name, latencies) in self.sessions.iter().flat_map(|session| &session.types) {
            all.entry(name).or_default().add(latencies);
        }
        all
    }

    /// Each session and how many commits were acknowledged to it, for the audit.
    pub fn acknowledged(&self) -> Vec<(u32, u64)> {
        self.sessions.iter().map(|session| (session.session, session.acknowledged)).collect()
    }
}

/// Told of each acknowledged commit: session, and the commit's number there, from 1.
pub type Witness = Arc<dyn Fn(u32, u64) + Send + Sync>;

/// The loop of a session. It works as long as [`Turns::next`] returns true.
pub(crate) type Client = dyn Fn(&mut Turns, &Session) -> Result<(), Stop> + Send + Sync;

/// A session's turns: one transaction each.
pub(crate) struct Turns {
    /// The session's number.
    pub(crate) number: u32,
    /// When the time that counts begins, and when it ends.
    bounds: [Timestamp; 2],
    /// Of an open loop.
    arrivals: Option<Arrivals>,
    /// When the turn began, or was to begin.
    began: Timestamp,
    types: BTreeMap<&'static str, Latencies>,
    stop: Arc<SharedFlag>,
    witness: Option<Witness>,
    acknowledged: u64,
    /// What was read when the time that counts began; none before.
    counting: Option<Counting>,
    /// The book of the period that is on, if the load is divided into periods.
    book: Option<Book>,
}

struct Counting {
    reading: SessionReading,
    acknowledged: u64,
}

/// A session that waits for its next transaction looks so often whether its book is to be closed,
/// or the load over.
const ARRIVAL_LOOK: Nanos = Nanos::from_millis(10);

impl Turns {
    fn of(
        number: u32,
        plan: &Drive,
        seed: u64,
        bounds: [Timestamp; 2],
        watch: &Watch<'_>,
        stop: &Arc<SharedFlag>,
        session: &Session,
    ) -> Turns {
        let now = session.now();
        Turns {
            number,
            bounds,
            arrivals: plan.rate.map(|rate| Arrivals::new(rate, plan.sessions, number, seed, now)),
            began: now,
            types: BTreeMap::new(),
            stop: Arc::clone(stop),
            witness: watch.witness.clone(),
            acknowledged: 0,
            counting: None,
            book: watch.periods.as_ref().map(Book::new),
        }
    }

    /// Begins the next turn; false if there is none.
    pub(crate) fn next(&mut self, session: &Session) -> bool {
        let arrival = self.arrivals.as_mut().map(Arrivals::next);
        loop {
            let now = session.now();
            if !self.goes_on(now, session) {
                return false;
            }
            match arrival {
                Some(arrival) if now < arrival => {
                    let left = arrival.since(now).min(ARRIVAL_LOOK);
                    session.pause(left, session.waiting(WaitEvent::PlSqlLockTimer));
                }
                _ => {
                    self.began = arrival.unwrap_or(now);
                    return true;
                }
            }
        }
    }

    /// Between two turns: closes books, and says whether there is another turn.
    fn goes_on(&mut self, now: Timestamp, session: &Session) -> bool {
        if let Some(book) = &mut self.book {
            book.look(self.number, self.acknowledged, session);
        }
        if now >= self.bounds[0] && self.counting.is_none() {
            let (reading, acknowledged) = (session.reading(), self.acknowledged);
            self.counting = Some(Counting { reading, acknowledged });
        }
        now < self.bounds[1] && !self.stop.is_raised(session)
    }

    /// The turn's transaction, of this type, has ended: its time counts from here.
    pub(crate) fn timed(&mut self, kind: &'static str, session: &Session) {
        if self.book.is_none() && self.counting.is_none() {
            return;
        }
        let took = session.now().since(self.began);
        if let Some(book) = &mut self.book {
            book.record(took);
        }
        if self.counting.is_some() {
            self.types.entry(kind).or_default().record(took);
        }
    }

    /// Commits that were acknowledged to the session so far.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// A commit was acknowledged to the session.
    pub(crate) fn acknowledge(&mut self) {
        self.acknowledged += 1;
        if let Some(witness) = &self.witness {
            witness(self.number, self.acknowledged);
        }
    }

    fn done(self, session: &Session) -> SessionRun {
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
            types: self.types,
        }
    }
}

/// Runs `client` in each session of the plan, in threads of their own, and waits for their end. The
/// seed is that of arrivals: what `client` draws is its own.
pub(crate) fn drive(
    plan: Drive,
    seed: u64,
    client: Arc<Client>,
    mut watch: Watch<'_>,
    session: &Session,
) -> Result<Run, Stop> {
    let done = Arc::new(Latch::new(session.os(), LatchKind::Innermost, Vec::new()));
    let stop = Arc::new(SharedFlag::new(false));
    let begin = session.now().after(plan.warm_up);
    let length = if watch.conduct.is_some() { Nanos(u64::MAX) } else { plan.length };
    let bounds = [begin, begin.after(length)];
    let (mut threads, mut refused) = (Vec::new(), None);
    for number in plan.first_session..plan.first_session + plan.sessions {
        let mut turns = Turns::of(number, &plan, seed, bounds, &watch, &stop, session);
        let (client, done) = (Arc::clone(&client), Arc::clone(&done));
        // A thread's name has at most 15 bytes.
        let word = if number < 100_000_000 { "session" } else { "s" };
        let spec = ThreadSpec::foreground(format!("{word}{number}"));
        let started = session.spawn(spec, move |session| {
            let failure = client(&mut turns, session).err();
            let run = turns.done(session);
            done.exclusive(session).push((run, failure));
        });
        match started {
            Ok(thread) => threads.push(thread),
            Err(cause) => {
                refused = Some(cause);
                break;
            }
        }
    }
    let (mut ended, mut conduct) = (begin, watch.conduct.take());
    // A session also ends when it is refused, as all are on a full disk.
    let all_ended = || done.shared(session).len() == threads.len();
    for (at, bound) in bounds.into_iter().enumerate() {
        match (&refused, &mut conduct) {
            (None, Some(conduct)) if at == 1 => {
                // A session ends by itself only if it was refused, or panicked.
                conduct(session, &|| threads.iter().any(ThreadHandle::has_ended));
                stop.raise(session);
            }
            (None, _) => {
                sleep_until(bound, &|| all_ended() || watch.told_to_stop(), session);
            }
            (Some(_), _) => {}
        }
        if refused.is_some() || watch.told_to_stop() {
            stop.raise(session);
        }
        ended = session.now().min(bound).max(begin);
        if let Some(at_bound) = &mut watch.at_bound {
            at_bound(session);
        }
    }
    join(threads, session)?;
    if let Some(cause) = refused {
        return Err(cause.into());
    }
    let done = std::mem::take(&mut *done.exclusive(session));
    let sessions = all_done(done, watch.failure)?;
    Ok(Run { sessions, elapsed: ended.since(begin) })
}

/// Waits for all of them before a panic is told, so that nobody works on what the caller takes
/// away.
fn join(threads: Vec<ThreadHandle>, session: &Session) -> Result<(), Stop> {
    let mut panicked = None;
    for thread in threads {
        if thread.join(session).is_err() {
            panicked.get_or_insert(thread);
        }
    }
    panicked.map_or(Ok(()), |thread| {
        let what = format!("{} of the load panicked", thread.name());
        Err(Stop::refuse(RefusalKind::WrongState, what))
    })
}

/// What the sessions did, by number. The first failure of one is put where the caller wants it.
fn all_done(
    done: Vec<(SessionRun, Option<Stop>)>,
    failure: Option<&mut Option<Stop>>,
) -> Result<Vec<SessionRun>, Stop> {
    let (mut sessions, failures): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    match (failures.into_iter().flatten().next(), failure) {
        (Some(stop), None) => return Err(stop),
        (stop, Some(failure)) => *failure = stop,
        (None, None) => {}
    }
    sessions.sort_by_key(|session| session.session);
    Ok(sessions)
}

/// Sleeps until the moment `until`, or until the load is over.
fn sleep_until(until: Timestamp, is_over: &dyn Fn() -> bool, session: &Session) {
    while session.now() < until && !is_over() {
        let left = until.since(session.now()).min(Nanos::from_millis(100));
        session.pause(left, session.waiting(WaitEvent::PlSqlLockTimer));
    }
}

#[cfg(test)]
mod tests {
    use sim::Simulation;

    use super::*;

    /// A load that is conducted ends when one of its sessions was refused: it would be an error
    /// whatever the others do.
    #[test]
    fn a_conductor_is_told_when_a_session_was_refused() {
        let report = Simulation::new(1).run(|_, session| {
            let plan = Drive {
                sessions: 3,
                first_session: 1,
                warm_up: Nanos::ZERO,
                length: Nanos::ZERO,
                rate: None,
            };
            let client: Arc<Client> = Arc::new(|turns, session| {
                while turns.next(session) {
                    turns.acknowledge();
                    session.pause(Nanos::from_secs(1), session.waiting(WaitEvent::PlSqlLockTimer));
                    if turns.number == 2 && turns.acknowledged() == 3 {
                        return Err(Stop::refuse(RefusalKind::NoSpace, "it is full".to_owned()));
                    }
                }
                Ok(())
            });
            let mut conducted = Nanos::ZERO;
            let mut conduct = |session: &Session, has_ended: &dyn Fn() -> bool| {
                let began = session.now();
                while !has_ended() && conducted < Nanos::from_secs(100) {
                    let wait = session.waiting(WaitEvent::PlSqlLockTimer);
                    session.pause(Nanos::from_millis(100), wait);
                    conducted = session.now().since(began);
                }
            };
            let watch = Watch { conduct: Some(&mut conduct), ..Watch::default() };
            let refused = drive(plan, 1, client, watch, session).expect_err("full").refusal();
            (conducted, refused)
        });
        let (conducted, refusal) = report.result.expect("it ended");
        assert!((3.0..3.5).contains(&conducted.as_secs_f64()), "{conducted}");
        assert_eq!(refusal, Some(RefusalKind::NoSpace));
    }

    /// One transaction of 1 s among others of 1 ms, and 100 a second arrive: those behind it wait,
    /// and that counts. A closed loop knows of one that was slow.
    #[test]
    fn in_an_open_loop_a_stall_counts_for_all_whom_it_keeps_waiting() {
        let of = |rate: Option<u32>| {
            let run = Simulation::new(1).run(move |_, session| {
                let length = Nanos::from_secs(10);
                let plan =
                    Drive { sessions: 1, first_session: 1, warm_up: Nanos::ZERO, length, rate };
                let client: Arc<Client> = Arc::new(|turns, session| {
                    while turns.next(session) {
                        let stalls = turns.acknowledged() == 100;
                        let length = Nanos::from_millis(if stalls { 1_000 } else { 1 });
                        session.pause(length, session.waiting(WaitEvent::DbFileSequentialRead));
                        turns.acknowledge();
                        turns.timed("one", session);
                    }
                    Ok(())
                });
                drive(plan, 1, client, Watch::default(), session).expect("it ran")
            });
            run.result.expect("it ended")
        };
        let (open, closed) = (of(Some(100)), of(None));
        assert!((900..1_100).contains(&open.counted()), "{} transactions", open.counted());
        let at = |run: &Run, percent| run.types()["one"].percentile(percent);
        assert!(at(&open, 95.0) > Nanos::from_millis(400), "{}", at(&open, 95.0));
        assert!(at(&closed, 99.9) < Nanos::from_millis(2), "{}", at(&closed, 99.9));
    }

    /// A load whose sessions were all refused is over, and its time is that of its sessions.
    #[test]
    fn a_load_ends_with_its_last_session() {
        let report = Simulation::new(1).run(|_, session| {
            let plan = Drive {
                sessions: 3,
                first_session: 1,
                warm_up: Nanos::ZERO,
                length: Nanos::from_secs(60),
                rate: None,
            };
            let client: Arc<Client> = Arc::new(|turns, session| {
                while turns.next(session) {
                    turns.acknowledge();
                    session.pause(Nanos::from_secs(1), session.waiting(WaitEvent::PlSqlLockTimer));
                    if turns.acknowledged() == 2 {
                        return Err(Stop::refuse(RefusalKind::NoSpace, "it is full".to_owned()));
                    }
                }
                Ok(())
            });
            let mut failure = None;
            let watch = Watch { failure: Some(&mut failure), ..Watch::default() };
            let run = drive(plan, 1, client, watch, session).expect("it ran");
            (run.elapsed, run.counted(), failure.expect("it was full").refusal())
        });
        let (elapsed, counted, refusal) = report.result.expect("it ended");
        assert!((2.0..2.2).contains(&elapsed.as_secs_f64()), "{elapsed}");
        assert_eq!((counted, refusal), (6, Some(RefusalKind::NoSpace)));
    }
}
