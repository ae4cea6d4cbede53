//! The calling thread's ticket to the world.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use waits::{
    Account, CurrentStatement, CurrentWork, LongWork, Nanos, OffCpuTime, OpenWait, Recorder,
    Sampling, SessionKind, Statistic, ThreadTimes, TimeAccount, Timestamp, Totals, WaitEvent,
    WaitSink,
};

use crate::call::Calls;
use crate::copies::Copier;
use crate::registry::{EndedTimes, Entered};
use crate::{
    Clock, Cost, Error, Os, SessionNo, ThreadHandle, ThreadId, ThreadSpec, WaitWord, thread,
};

/// One thread's session: its account and its world. Every call that can block takes a [`Waiting`]
/// made from it. It belongs to one thread and can't be shared.
#[derive(Debug)]
pub struct Session {
    /// The copier, once the session has written copies.
    copier: RefCell<Option<Copier>>,
    recorder: Recorder,
    clock: Clock,
    simulated: bool,
    os: Os,
    number: SessionNo,
    thread: ThreadId,
    /// The thread's clocks when the session began; the thread may be older than the session.
    times_at_start: ThreadTimes,
    /// The clocks after the last wait, if that was sampled; before the first wait, those at the
    /// beginning of the session.
    seen: Cell<Option<Clocks>>,
    pause: WaitWord,
    pub(crate) calls: Rc<Calls>,
}

/// A wait about to happen: its session, its event and its parameters. The call that blocks consumes
/// it. If the call turns out not to block, nothing is recorded.
#[derive(Clone, Copy, Debug)]
#[must_use = "a wait is named for a blocking call"]
pub struct Waiting<'s> {
    session: &'s Session,
    event: WaitEvent,
    p: [u64; 3],
}

/// As long as this lives, every wait of a session is sampled.
#[derive(Debug)]
#[must_use = "waits are sampled as before once this is dropped"]
pub struct EveryWaitSampled<'s> {
    session: &'s Session,
    before: Sampling,
}

impl Drop for EveryWaitSampled<'_> {
    fn drop(&mut self) {
        let EveryWaitSampled { session, before } = self;
        let _ = session.recorder.set_sampling(*before, session.now());
    }
}

/// Long work of a session, published until this is dropped.
#[derive(Debug)]
#[must_use = "the work has ended once this is dropped"]
pub struct WorkUnderWay<'s> {
    session: &'s Session,
    /// The work of which this is a part.
    outer: Option<CurrentWork>,
}

impl WorkUnderWay<'_> {
    /// So many more of its units are done.
    #[inline]
    pub fn done(&self, units: u64) {
        self.session.recorder.work_done(units);
    }
}

impl Drop for WorkUnderWay<'_> {
    fn drop(&mut self) {
        self.session.recorder.end_work(self.outer);
    }
}

/// A session's account and its thread's clocks at one moment.
#[derive(Clone, Debug)]
pub struct SessionReading {
    /// The moment.
    pub at: Timestamp,
    /// The thread's clocks since the session began.
    pub times: ThreadTimes,
    /// The session's waits and statistics.
    pub totals: Totals,
}

impl Session {
    pub(crate) fn open(os: &Os, name: &str, kind: SessionKind) -> Session {
        let port = os.port();
        let thread = port.current_thread();
        let started = os.now();
        let recorder = Recorder::open(name, kind, started, port.sampling());
        let Entered { number, sink } = os.registry().enter(recorder.account(), thread);
        recorder.set_sink(sink);
        let times_at_start = port.thread_times(thread);
        let session = Session {
            copier: RefCell::new(None),
            recorder,
            clock: os.clock().clone(),
            simulated: os.clock().is_virtual(),
            number,
            thread,
            times_at_start,
            seen: Cell::new(None),
            pause: WaitWord::new(os, 0),
            calls: Rc::default(),
            os: os.clone(),
        };
        session.seen.set(Some(session.clocks()));
        session
    }

    /// Names the wait for a blocking call.
    #[inline]
    pub fn waiting(&self, event: WaitEvent) -> Waiting<'_> {
        Waiting { session: self, event, p: [0; 3] }
    }

    /// The world of the session.
    #[inline]
    pub fn os(&self) -> &Os {
        &self.os
    }

    /// The present.
    #[inline]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The wall clock: microseconds since 1970-01-01 00:00 UTC. It may jump, so nothing is measured
    /// by it (O31).
    pub fn wall_clock(&self) -> i64 {
        i64::try_from(self.os.calendar_us()).unwrap_or(i64::MAX)
    }

    pub(crate) fn copier(&self) -> &RefCell<Option<Copier>> {
        &self.copier
    }

    /// Its number in its world (O73).
    pub fn number(&self) -> SessionNo {
        self.number
    }

    /// Its thread.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// The account.
    pub fn account(&self) -> &Arc<Account> {
        self.recorder.account()
    }

    /// Raises a statistic.
    #[inline]
    pub fn count(&self, statistic: Statistic, amount: u64) {
        self.recorder.count(statistic, amount);
    }

    /// Publishes the statement of this number, which isn't 0, as what the session works for from
    /// `now` on, and returns what it worked for before (rule waits/W20).
    #[inline]
    pub fn begin_statement(&self, number: u64, now: Timestamp) -> Option<CurrentStatement> {
        self.recorder.begin_statement(number, now)
    }

    /// Ends the work for a statement; the session goes on with `outer`, which the begin returned.
    #[inline]
    pub fn end_statement(&self, outer: Option<CurrentStatement>, now: Timestamp) {
        self.recorder.end_statement(outer, now);
    }

    /// Publishes that the session does long work of so many units, until what this returns is
    /// dropped (rule waits/W22).
    pub fn begin_work(&self, work: LongWork, total: u64) -> WorkUnderWay<'_> {
        WorkUnderWay { session: self, outer: self.recorder.begin_work(work, total) }
    }

    /// Sets the receiver of ended waits at level trace.
    pub fn set_wait_sink(&self, sink: Option<Box<dyn WaitSink>>) {
        self.recorder.set_sink(sink);
    }

    /// Charges CPU for `units` of `cost` in a simulated world. On Linux it does nothing.
    #[inline]
    pub fn charge(&self, cost: Cost, units: u64) {
        self.clock.charge(cost, units);
    }

    /// Charges CPU for work without an entry in the list, such as a load generator's own.
    #[inline]
    pub fn charge_nanos(&self, length: Nanos) {
        self.clock.charge_nanos(length.0);
    }

    /// A point at which, in the simulator, another thread may come first: before and after every
    /// access to shared state that isn't under a latch. It costs one branch on Linux.
    #[inline]
    pub fn interleave(&self) {
        if self.simulated {
            self.interleave_simulated();
        }
    }

    /// As `interleave`, in the middle of a change that has to be made or taken back as a whole:
    /// calls `complete` if the thread unwinds here, because the simulation stops.
    #[inline]
    pub fn interleave_or(&self, complete: impl FnOnce()) {
        if self.simulated {
            self.interleave_simulated_or(complete);
        }
    }

    #[cold]
    #[inline(never)]
    fn interleave_simulated_or(&self, complete: impl FnOnce()) {
        struct OnUnwind<F: FnOnce()>(Option<F>);
        impl<F: FnOnce()> Drop for OnUnwind<F> {
            fn drop(&mut self) {
                if let Some(complete) = self.0.take() {
                    complete();
                }
            }
        }
        let mut on_unwind = OnUnwind(Some(complete));
        self.os.port().interleave();
        on_unwind.0 = None;
    }

    /// This is out of line because there is such a point in every other line of a get.
    #[cold]
    fn interleave_simulated(&self) {
        self.os.port().interleave();
    }

    /// Makes one turn of a spin, the `turn`th in a row. Spins call this and nothing else (rule O5).
    #[inline]
    pub fn relax(&self, turn: u32) {
        self.charge(Cost::Relax, 1);
        self.os.port().relax(turn);
    }

    /// Sleeps for `length`.
    pub fn pause(&self, length: Nanos, waiting: Waiting<'_>) {
        let until = self.now().after(length);
        let mut left = length;
        while left > Nanos::ZERO {
            let _ = self.pause.wait(0, Some(left), waiting);
            left = until.since(self.now());
        }
    }

    /// Starts a thread with a session of its own. The wait for its creation is `os thread
    /// creation`.
    pub fn spawn(
        &self,
        spec: ThreadSpec,
        body: impl FnOnce(&Session) + Send + 'static,
    ) -> Result<ThreadHandle, Error> {
        thread::spawn(self, spec, Box::new(body))
    }

    /// The thread's own clocks since the session began.
    pub fn thread_times(&self) -> ThreadTimes {
        self.os.port().thread_times(self.thread).since(self.times_at_start)
    }

    /// The thread's time on a CPU since the session began, without that in the run queue: half the
    /// cost of [`thread_times`](Session::thread_times).
    pub fn thread_cpu(&self) -> Nanos {
        Nanos(self.os.port().own_cpu().0.saturating_sub(self.times_at_start.cpu.0))
    }

    /// Has the thread's clocks read around every wait until what this returns is dropped, so that
    /// an account over that while is exact (rule waits/W21). Each wait costs some microseconds
    /// more.
    pub fn sample_every_wait(&self) -> EveryWaitSampled<'_> {
        let before = self.recorder.set_sampling(Sampling::EveryWait, self.now());
        EveryWaitSampled { session: self, before }
    }

    /// A reading from which [`time_account_since`](Session::time_account_since) starts. It is taken
    /// at call boundaries, not inside a wait.
    pub fn reading(&self) -> SessionReading {
        let clocks = self.clocks();
        self.close_gap(clocks);
        let taken_max = self.os.port().taken_from_machine();
        let times = ThreadTimes { cpu: clocks.cpu, run_queue: clocks.run_queue, taken_max };
        let times = times.since(self.times_at_start);
        SessionReading { at: clocks.at, times, totals: self.account().totals() }
    }

    /// Reads the clocks. The way to the CPU clock is usually cold and takes 2-4 us, so it is taken
    /// twice: the second time it takes 0.3 us, and the two clocks are read within 20 ns of one
    /// another (measured on reads served from the page cache, which are CPU from end to end). With
    /// one cold reading on either side of a wait, and a guess where in it the reading was, the
    /// account of a session of 20,000 waits a second was off by 1.8 %.
    ///
    /// A thread that loses its CPU between two of the readings finds that time on one clock and not
    /// on the other. On a crowded machine that is milliseconds without a name. A reading that took
    /// long is therefore repeated.
    fn clocks(&self) -> Clocks {
        for _ in 1..LOOKS_MAX {
            let clocks = self.look_at_clocks();
            if clocks.done.since(clocks.at) <= LOOK_MAX {
                return clocks;
            }
        }
        self.look_at_clocks()
    }

    fn look_at_clocks(&self) -> Clocks {
        let port = self.os.port();
        let _ = port.own_cpu();
        let asked = self.clock.now();
        let cpu = port.own_cpu();
        let took = self.clock.now().since(asked);
        let at = asked.after(Nanos(took.0 / 2));
        let (run_queue, stolen) = (port.own_run_queue(), port.own_stolen());
        Clocks { at, cpu, run_queue, stolen, done: self.clock.now() }
    }

    /// Records the gap between waits that ends `now`, if its beginning was read.
    fn close_gap(&self, now: Clocks) {
        if let Some(began) = self.seen.replace(Some(now)) {
            self.recorder.sampled_gap(self.away(began, now));
        }
    }

    /// The time that the thread was without a CPU between two readings. The time between a reading
    /// and a wait cancels out: there the thread computes.
    fn away(&self, from: Clocks, to: Clocks) -> OffCpuTime {
        let between = |from: Nanos, to: Nanos| Nanos(to.0.saturating_sub(from.0));
        let wall = to.at.since(from.at);
        let off_cpu = between(between(from.cpu, to.cpu), wall);
        if off_cpu < AWAY_MIN && !self.simulated {
            return OffCpuTime::default();
        }
        OffCpuTime {
            off_cpu,
            run_queue: between(from.run_queue, to.run_queue).min(off_cpu),
            stolen: between(from.stolen, to.stolen).min(off_cpu),
        }
    }

    /// Closes the account over the time since `start`. It is called at call boundaries, not inside
    /// a wait.
    pub fn time_account_since(&self, start: &SessionReading) -> TimeAccount {
        let SessionReading { at, times, totals } = self.reading();
        TimeAccount::close(
            at.since(start.at),
            times.since(start.times),
            &totals.since(&start.totals),
        )
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let (port, account) = (self.os.port(), self.recorder.account());
        let since = |now: Nanos, start: Nanos| Nanos(now.0.saturating_sub(start.0));
        let times = EndedTimes {
            elapsed: self.clock.now().since(account.started()),
            cpu: since(port.own_cpu(), self.times_at_start.cpu),
            run_queue: since(port.own_run_queue(), self.times_at_start.run_queue),
        };
        self.os.registry().leave(account, self.number, times);
    }
}

impl<'s> Waiting<'s> {
    /// The same wait with p1, p2 and p3, in the meanings that its event declares.
    pub fn p(mut self, p1: u64, p2: u64, p3: u64) -> Waiting<'s> {
        self.p = [p1, p2, p3];
        self
    }

    /// The waiting session.
    pub fn session(&self) -> &'s Session {
        self.session
    }

    /// The event.
    pub fn event(&self) -> WaitEvent {
        self.event
    }

    /// Runs `block`, which may block, inside the wait. `block` returns its result and whether it
    /// timed out.
    #[inline]
    pub(crate) fn around<R>(self, block: impl FnOnce(&'s Session, WaitEvent) -> (R, bool)) -> R {
        self.around_timed(block).0
    }

    /// As `around`. Also returns how long the wait was; zero if it wasn't recorded.
    #[inline]
    pub(crate) fn around_timed<R>(
        self,
        block: impl FnOnce(&'s Session, WaitEvent) -> (R, bool),
    ) -> (R, Nanos) {
        let session = self.session;
        if std::thread::panicking() {
            // The thread may be inside a wait that it hasn't unwound out of yet (waits/W3).
            return (block(session, self.event).0, Nanos::ZERO);
        }
        if session.recorder.sample_due() {
            return self.around_sampled(block);
        }
        session.seen.set(None);
        let open = session.recorder.begin(self.event, self.p, || session.clock.now());
        let mut wait = Unended { session, open };
        let (result, timed_out) = block(session, self.event);
        let end = |open| session.recorder.end(open, session.clock.now(), timed_out);
        let elapsed = wait.open.take().map_or(Nanos::ZERO, end);
        (result, elapsed)
    }

    /// Does the same with the thread's clocks read around the wait. The cost of reading them is the
    /// session's CPU time, not part of the wait.
    #[cold]
    fn around_sampled<R>(
        self,
        block: impl FnOnce(&'s Session, WaitEvent) -> (R, bool),
    ) -> (R, Nanos) {
        let session = self.session;
        let asked = session.clock.now();
        let before = session.clocks();
        session.close_gap(before);
        let began = before.done;
        let open = session.recorder.begin(self.event, self.p, || began);
        let (cpu, run_queue) = (before.cpu, before.run_queue);
        let clocks = ThreadTimes { cpu, run_queue, ..ThreadTimes::default() };
        session.recorder.began_sampled(clocks);
        let mut wait = Unended { session, open };
        let (result, timed_out) = block(session, self.event);
        let mut elapsed = Nanos::ZERO;
        if let Some(open) = wait.open.take() {
            let ended = session.clock.now();
            elapsed = session.recorder.end(open, ended, timed_out);
            let after = session.clocks();
            let away = session.away(before, after);
            let (away, lost) = split_at_end(away, elapsed, after.at.since(ended));
            session.recorder.sampled_gap(lost);
            let cost = Nanos(began.since(asked).0 + after.done.since(ended).0 - lost.off_cpu.0);
            session.recorder.sampled(self.event, elapsed, away, cost, after.done);
            session.seen.set(Some(after));
        }
        (result, elapsed)
    }
}

/// A wait under way. If the thread unwinds out of it, it is broken off, so that a caller that
/// catches the panic can wait again.
struct Unended<'s> {
    session: &'s Session,
    open: Option<OpenWait>,
}

impl Drop for Unended<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            self.session.recorder.break_off(open);
            self.session.seen.set(None);
        }
    }
}

/// A thread that gives its CPU up is away for longer; a shorter time is the error of two readings.
const AWAY_MIN: Nanos = Nanos(500);

/// A reading of the clocks takes 1 to 4 us; in a longer one the thread lost its CPU.
const LOOK_MAX: Nanos = Nanos::from_micros(20);

/// The most readings until one is quick.
const LOOKS_MAX: u32 = 4;

/// Splits the time that a thread was away, between a reading before a wait and one `tail` after its
/// end: the part in the wait of length `elapsed`, and the part after it. After the wait a thread
/// isn't away of its own will, so run-queue delay and stolen time are taken from there first.
fn split_at_end(away: OffCpuTime, elapsed: Nanos, tail: Nanos) -> (OffCpuTime, OffCpuTime) {
    let off_cpu = if tail <= LOOK_MAX { Nanos::ZERO } else { tail.min(away.off_cpu) };
    let run_queue = away.run_queue.min(off_cpu);
    let stolen = away.stolen.min(Nanos(off_cpu.0 - run_queue.0));
    let after = OffCpuTime { off_cpu, run_queue, stolen };
    let off_cpu = Nanos(away.off_cpu.0 - after.off_cpu.0).min(elapsed);
    let run_queue = Nanos(away.run_queue.0 - after.run_queue.0).min(off_cpu);
    let stolen = Nanos(away.stolen.0 - after.stolen.0);
    (OffCpuTime { off_cpu, run_queue, stolen }, after)
}

/// A thread's clocks, all at one moment.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    at: Timestamp,
    cpu: Nanos,
    run_queue: Nanos,
    stolen: Nanos,
    /// When the last clock was read.
    done: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away(off_cpu: u64, run_queue: u64, stolen: u64) -> OffCpuTime {
        OffCpuTime { off_cpu: Nanos(off_cpu), run_queue: Nanos(run_queue), stolen: Nanos(stolen) }
    }

    /// A thread slept 1 ms and was preempted for 8 ms right after waking: the sleep belongs to the
    /// wait, the run queue doesn't.
    #[test]
    fn what_was_lost_after_a_wait_is_not_the_waits() {
        let (wait, after) = (Nanos(1_000_000), Nanos(8_000_000));
        let split = split_at_end(away(9_000_000, 8_000_000, 0), wait, after);
        assert_eq!(split, (away(1_000_000, 0, 0), away(8_000_000, 8_000_000, 0)));
        let stolen = split_at_end(away(9_000_000, 3_000_000, 5_000_000), wait, after);
        assert_eq!(stolen, (away(1_000_000, 0, 0), away(8_000_000, 3_000_000, 5_000_000)));
    }

    /// After a reading without interruption, all of the time belongs to the wait.
    #[test]
    fn a_quick_look_leaves_all_to_the_wait() {
        let all = away(900_000, 300_000, 10);
        assert_eq!(split_at_end(all, Nanos(1_000_000), Nanos(4_000)), (all, OffCpuTime::default()));
    }
}
