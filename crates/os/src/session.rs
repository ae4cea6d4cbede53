//! The calling thread's ticket to the world.

use std::cell::Cell;
use std::sync::Arc;

use waits::{
    Account, LONG_WAIT, Nanos, Recorder, SessionKind, Statistic, ThreadTimes, TimeAccount,
    Timestamp, Totals, WaitEvent, WaitSink,
};

use crate::{Clock, Cost, Error, Os, ThreadHandle, ThreadId, ThreadSpec, WaitWord, thread};

/// One thread's session: the books it keeps and the world it runs in. Every call that can block
/// takes a [`Waiting`] made from it. Belongs to one thread; it can't be shared.
#[derive(Debug)]
pub struct Session {
    recorder: Recorder,
    clock: Clock,
    simulated: bool,
    os: Os,
    thread: ThreadId,
    /// The thread's clocks when the session began: the thread may be older than the session.
    times_at_start: ThreadTimes,
    /// When the run-queue clock was read last, and what it showed.
    run_queue_seen: Cell<(Timestamp, Nanos)>,
    /// Before that, another look before a wait would cost too much.
    next_look: Cell<Timestamp>,
    pause: WaitWord,
}

/// A wait about to happen: who waits, for what, with which parameters. Consumed by the call that
/// blocks; if it turns out not to block, nothing is recorded.
#[derive(Clone, Copy, Debug)]
#[must_use = "a wait is named for a blocking call"]
pub struct Waiting<'s> {
    session: &'s Session,
    event: WaitEvent,
    p: [u64; 3],
}

impl Session {
    pub(crate) fn open(os: &Os, name: &str, kind: SessionKind) -> Session {
        let port = os.port();
        let thread = port.current_thread();
        let started = os.now();
        let recorder = Recorder::open(name, kind, started, port.sampling());
        os.registry().enter(recorder.account(), thread);
        let times_at_start = port.thread_times(thread);
        Session {
            recorder,
            clock: os.clock().clone(),
            simulated: os.clock().is_virtual(),
            thread,
            times_at_start,
            run_queue_seen: Cell::new((started, times_at_start.run_queue)),
            next_look: Cell::new(started),
            pause: WaitWord::new(os, 0),
            os: os.clone(),
        }
    }

    /// Names the wait for a blocking call.
    #[inline]
    pub fn waiting(&self, event: WaitEvent) -> Waiting<'_> {
        Waiting { session: self, event, p: [0; 3] }
    }

    /// The world it runs in.
    #[inline]
    pub fn os(&self) -> &Os {
        &self.os
    }

    /// The present.
    #[inline]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Its thread.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// Its books.
    pub fn account(&self) -> &Arc<Account> {
        self.recorder.account()
    }

    /// Raises a statistic.
    #[inline]
    pub fn count(&self, statistic: Statistic, amount: u64) {
        self.recorder.count(statistic, amount);
    }

    /// Where ended waits go at level trace.
    pub fn set_wait_sink(&self, sink: Option<Box<dyn WaitSink>>) {
        self.recorder.set_sink(sink);
    }

    /// Charges CPU for `units` of `cost` in a simulated world; on Linux CPU is what it is.
    #[inline]
    pub fn charge(&self, cost: Cost, units: u64) {
        self.clock.charge(cost, units);
    }

    /// The same for work that has no entry in the list, such as a load generator's own.
    #[inline]
    pub fn charge_nanos(&self, length: Nanos) {
        self.clock.charge_nanos(length.0);
    }

    /// A point at which, in the simulator, another thread may come first: before and after every
    /// access to shared state that isn't under a latch. One branch on Linux.
    #[inline]
    pub fn interleave(&self) {
        if self.simulated {
            self.os.port().interleave();
        }
    }

    /// One turn of a spin, the `turn`th in a row. Spins call this and nothing else (rule O5).
    #[inline]
    pub fn relax(&self, turn: u32) {
        self.charge(Cost::Relax, 1);
        self.os.port().relax(turn);
    }

    /// Does nothing for `length`.
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

    /// A reading from which [`time_account_since`](Session::time_account_since) starts.
    pub fn reading(&self) -> (Timestamp, ThreadTimes, Totals) {
        (self.now(), self.thread_times(), self.account().totals())
    }

    /// The present, to begin a wait with. If there wasn't one lately it looks at the run-queue
    /// clock first: only a wait with a look right before it has its delay read after it, should it
    /// be long, for only then is what the clock shows the wait's, and neither what came before it
    /// nor what a short wait had, for which samples stand. (When every long wait was read, looked
    /// at before or not, delays from outside were filed inside, and 1.7 % of a busy session's time
    /// was left without a name; with every wait sampled it was 0.1 %.)
    #[inline]
    fn now_before_wait(&self) -> Timestamp {
        let now = self.clock.now();
        let unseen = now.since(self.run_queue_seen.get().0);
        if unseen < WORTH_A_LOOK || now < self.next_look.get() {
            return now;
        }
        self.next_look.set(now.after(LOOKS_APART));
        let _ = self.run_queue_since_seen();
        self.run_queue_seen.get().0
    }

    /// Run-queue delay since the clock was read last.
    #[cold]
    fn run_queue_since_seen(&self) -> Nanos {
        let run_queue = self.os.port().own_run_queue();
        let (_, before) = self.run_queue_seen.replace((self.clock.now(), run_queue));
        Nanos(run_queue.0.saturating_sub(before.0))
    }

    /// Closes the books over the time since `start`. Called at call boundaries, not inside a wait.
    pub fn time_account_since(&self, start: &(Timestamp, ThreadTimes, Totals)) -> TimeAccount {
        let (now, times, totals) = self.reading();
        TimeAccount::close(now.since(start.0), times.since(start.1), &totals.since(&start.2))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.os.registry().leave(self.recorder.account());
    }
}

impl<'s> Waiting<'s> {
    /// The same wait with p1, p2 and p3, in the meanings that its event declares.
    pub fn p(mut self, p1: u64, p2: u64, p3: u64) -> Waiting<'s> {
        self.p = [p1, p2, p3];
        self
    }

    /// Who waits.
    pub fn session(&self) -> &'s Session {
        self.session
    }

    /// What for.
    pub fn event(&self) -> WaitEvent {
        self.event
    }

    /// Runs `block`, which may block, inside the wait. It returns its result and whether it ended
    /// by timeout.
    #[inline]
    pub(crate) fn around<R>(self, block: impl FnOnce(&'s Session, WaitEvent) -> (R, bool)) -> R {
        let session = self.session;
        if session.recorder.sample_due() {
            return self.around_sampled(block);
        }
        let open = session.recorder.begin(self.event, self.p, || session.now_before_wait());
        let (result, timed_out) = block(session, self.event);
        if let Some(open) = open {
            let began = open.started();
            let elapsed = session.recorder.end(open, session.clock.now(), timed_out);
            if elapsed >= LONG_WAIT && began.since(session.run_queue_seen.get().0) < WORTH_A_LOOK {
                let run_queue = session.run_queue_since_seen().min(elapsed);
                session.recorder.long_wait(self.event, elapsed, run_queue);
            }
        }
        result
    }

    /// The same with the thread's clocks read around the wait. What reading them costs is the
    /// session's CPU, not part of the wait.
    #[cold]
    fn around_sampled<R>(self, block: impl FnOnce(&'s Session, WaitEvent) -> (R, bool)) -> R {
        let session = self.session;
        let (port, now) = (session.os.port(), || session.clock.now());
        let asked = now();
        let run_queue = port.own_run_queue();
        let before_reading = now();
        let cpu = port.own_cpu();
        let began = now();
        let open = session.recorder.begin(self.event, self.p, || began);
        let (result, timed_out) = block(session, self.event);
        if let Some(open) = open {
            let ended = now();
            let cpu_after = port.own_cpu();
            let after_reading = now();
            let elapsed = session.recorder.end(open, ended, timed_out);
            let run_queue_after = port.own_run_queue();
            let now = now();
            session.run_queue_seen.set((now, run_queue_after));
            let readings = (began.since(before_reading), after_reading.since(ended));
            let inside = ThreadTimes {
                cpu: Nanos(cpu_after.0.saturating_sub(cpu.0)),
                run_queue: Nanos(run_queue_after.0.saturating_sub(run_queue.0)),
                stolen: Nanos::ZERO,
            };
            let inside = if session.simulated { inside } else { within(elapsed, inside, readings) };
            let cost = Nanos(began.since(asked).0 + now.since(ended).0);
            session.recorder.sampled(self.event, elapsed, inside, cost, now);
        }
        result
    }
}

/// What came since the last look is worth another one if it is this much.
const WORTH_A_LOOK: Nanos = Nanos::from_micros(16);
/// Looks before waits are so far apart at least; a look takes about 1 us, and there is another one
/// after a long wait, so that they cost 0.3 % of the time at most.
const LOOKS_APART: Nanos = Nanos::from_micros(600);

/// What two looks at the thread's clocks say of the wait between them, without what lies between
/// the looks but outside the wait: the end of the first reading and the beginning of the second. A
/// reading takes 0.3 us, and several after a sleep or when the way to the clock isn't in the
/// processor's caches. Where in it the look is was measured, on sleeps and on direct reads: the
/// first is late, for its way there is the cold part; the second is in the middle.
fn within(elapsed: Nanos, inside: ThreadTimes, readings: (Nanos, Nanos)) -> ThreadTimes {
    /// Beyond that something else came between.
    const READING_MAX: Nanos = Nanos::from_micros(4);
    let outside = readings.0.min(READING_MAX).0 / 3 + readings.1.min(READING_MAX).0 / 2;
    let run_queue = inside.run_queue.min(elapsed);
    let cpu = Nanos(inside.cpu.0.saturating_sub(outside).min(elapsed.0 - run_queue.0));
    ThreadTimes { cpu, run_queue, stolen: Nanos::ZERO }
}
