//! The only writer of a session's account.
//!
//! ```text
//!   begin(event, now) ──▶ OpenWait ──▶ end(open, now) ──▶ counted, timed, traced
//!         │                                 ▲
//!         └── publishes "waiting for …" ────┘ cleared here
//! ```
//!
//! At level stats a wait costs two clock readings (the caller's) and about fifteen plain loads and
//! stores on three cache lines; at level off, one load and one branch.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::histogram::{bucket_of, stratum_of};
use crate::sampler::Sampler;
use crate::{
    Account, CurrentStatement, CurrentWork, Level, LongWork, Nanos, OffCpuTime, Sampling,
    SessionKind, Statistic, ThreadTimes, Timestamp, WaitEvent,
};

/// A wait that has begun. It ends through [`Recorder::end`], or through [`Recorder::break_off`] if
/// the thread unwinds out of it.
#[derive(Debug)]
#[must_use = "a wait that has begun must end"]
pub struct OpenWait {
    event: WaitEvent,
    started: Timestamp,
}

impl OpenWait {
    /// The event that is waited for.
    pub fn event(&self) -> WaitEvent {
        self.event
    }

    /// When the wait began.
    pub fn started(&self) -> Timestamp {
        self.started
    }
}

/// One ended wait, as a trace receives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitRecord {
    /// The event that was waited for.
    pub event: WaitEvent,
    /// p1, p2 and p3.
    pub p: [u64; 3],
    /// When the wait ended.
    pub ended: Timestamp,
    /// The wall time of the wait.
    pub elapsed: Nanos,
}

/// A receiver of ended waits at level trace.
pub trait WaitSink: Send {
    /// Called by the session's own thread right after each wait. It must not wait for anything, nor
    /// set the sink (rule W10).
    fn wait_ended(&mut self, record: &WaitRecord);
}

/// The only writer of one [`Account`]. It belongs to one thread at a time: it can be sent but
/// neither cloned nor shared (rule W1).
pub struct Recorder {
    account: Arc<Account>,
    sampler: Sampler,
    sink: RefCell<Option<Box<dyn WaitSink>>>,
    not_sync: PhantomData<Cell<()>>,
}

impl Recorder {
    /// Opens the account of a session called `name` at `started`.
    pub fn open(
        name: impl Into<String>,
        kind: SessionKind,
        started: Timestamp,
        sampling: Sampling,
    ) -> Recorder {
        Recorder {
            account: Arc::new(Account::new(name.into(), kind, started)),
            sampler: Sampler::new(sampling, started),
            sink: RefCell::new(None),
            not_sync: PhantomData,
        }
    }

    /// The account, for reading.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Sets the receiver of ended waits at level trace; with `None` they are dropped.
    pub fn set_sink(&self, sink: Option<Box<dyn WaitSink>>) {
        *self.sink.borrow_mut() = sink;
    }

    /// Begins a wait for `event`. Returns `None` at level off; the wait then needs no end.
    #[inline]
    pub fn begin(
        &self,
        event: WaitEvent,
        p: [u64; 3],
        now: impl FnOnce() -> Timestamp,
    ) -> Option<OpenWait> {
        if self.account.level() == Level::Off {
            return None;
        }
        assert!(!self.account.is_waiting(), "a wait for {event} began inside another wait");
        let started = now();
        for (cell, value) in self.account.current_p.iter().zip(p) {
            cell.set(value);
        }
        self.account.current_since_ns.set(started.as_nanos());
        self.account.current_is_sampled.set(0);
        self.account.current.store(event as u64 + 1, Relaxed);
        Some(OpenWait { event, started })
    }

    /// Publishes the readings of the thread's clocks before the sampled wait that has just begun.
    pub fn began_sampled(&self, clocks: ThreadTimes) {
        self.account.current_cpu_ns.set(clocks.cpu.0);
        self.account.current_run_queue_ns.set(clocks.run_queue.0);
        self.account.current_is_sampled.set(1);
    }

    /// Ends a wait: counts it, files its time, clears what was published; at level trace the sink
    /// gets it, at whatever level it began. Returns its length.
    #[inline]
    pub fn end(&self, open: OpenWait, now: Timestamp, timed_out: bool) -> Nanos {
        let elapsed = now.since(open.started);
        let cells = &self.account.events[open.event as usize];
        cells.count.add(1);
        cells.max_ns.raise_to(elapsed.0);
        let bucket = bucket_of(elapsed.0);
        cells.histogram[bucket].add(1);
        cells.strata[stratum_of(bucket)].total_ns.add(elapsed.0);
        if timed_out {
            cells.timeouts.add(1);
        }
        self.account.current.store(0, Relaxed);
        self.sampler.wait_ended(now);
        if self.account.level() == Level::Trace {
            self.trace(open.event, now, elapsed);
        }
        elapsed
    }

    /// Ends a wait that the thread unwinds out of: clears what was published, and counts nothing.
    #[cold]
    pub fn break_off(&self, _open: OpenWait) {
        self.account.current.store(0, Relaxed);
    }

    /// Whether both of the thread's clocks should be read around the wait about to begin. Asked
    /// once for each wait, because it counts them.
    #[inline]
    pub fn sample_due(&self) -> bool {
        self.account.level() != Level::Off && self.sampler.due()
    }

    /// Has waits chosen for sampling in another way from `now` on. Returns the way until now.
    pub fn set_sampling(&self, sampling: Sampling, now: Timestamp) -> Sampling {
        self.sampler.set(sampling, now)
    }

    /// Adds the figures of one sampled wait of `elapsed`: the thread was `away` from its CPU, and
    /// on it for the rest. `cost` is the time that reading the clocks took; the sampler limits its
    /// share of all time.
    pub fn sampled(
        &self,
        event: WaitEvent,
        elapsed: Nanos,
        away: OffCpuTime,
        cost: Nanos,
        now: Timestamp,
    ) {
        let cells = &self.account.events[event as usize];
        let stratum = &cells.strata[stratum_of(bucket_of(elapsed.0))];
        stratum.sampled_count.add(1);
        stratum.sampled_ns.add(elapsed.0);
        stratum.sampled_away.add(away);
        self.sampler.sampled(now, cost);
    }

    /// Adds the gap between two consecutive sampled waits.
    pub fn sampled_gap(&self, away: OffCpuTime) {
        self.account.gaps.add(away);
    }

    /// Publishes the statement that the session works for from `now` on (W20). Returns the one that
    /// it worked for before, of which this one is a part, for [`Recorder::end_statement`].
    #[inline]
    pub fn begin_statement(&self, number: u64, now: Timestamp) -> Option<CurrentStatement> {
        let outer = self.account.current_statement();
        self.account.statement_since_ns.set(now.as_nanos());
        self.account.statement.set(number);
        outer
    }

    /// Ends the work for a statement: the session goes on with `outer`, if there is one. Only the
    /// outermost statement's time is filed, because it contains that of the others.
    #[inline]
    pub fn end_statement(&self, outer: Option<CurrentStatement>, now: Timestamp) {
        if let Some(CurrentStatement { number, since }) = outer {
            self.account.statement_since_ns.set(since.as_nanos());
            self.account.statement.set(number);
            return;
        }
        if let Some(ended) = self.account.current_statement() {
            self.account.statement.set(0);
            self.account.in_statements_ns.add(now.since(ended.since).0);
        }
    }

    /// Publishes that the session begins long work of so many units (W22). Returns the work of
    /// which this is a part, for [`Recorder::end_work`].
    pub fn begin_work(&self, work: LongWork, total: u64) -> Option<CurrentWork> {
        let outer = self.account.current_work();
        self.set_work(Some(CurrentWork { work, done: 0, total }));
        outer
    }

    /// So many more units of the long work are done.
    #[inline]
    pub fn work_done(&self, units: u64) {
        self.account.work_done.add(units);
    }

    /// Ends the long work: the session goes on with `outer`, if there is one.
    pub fn end_work(&self, outer: Option<CurrentWork>) {
        self.set_work(outer);
    }

    fn set_work(&self, now: Option<CurrentWork>) {
        self.account.work.set(0);
        if let Some(CurrentWork { work, done, total }) = now {
            self.account.work_done.set(done);
            self.account.work_total.set(total);
            self.account.work.set(work as u64 + 1);
        }
    }

    /// Raises a statistic, at any level.
    #[inline]
    pub fn count(&self, statistic: Statistic, amount: u64) {
        self.account.statistics[statistic as usize].add(amount);
    }

    #[cold]
    fn trace(&self, event: WaitEvent, ended: Timestamp, elapsed: Nanos) {
        if let Some(sink) = self.sink.borrow_mut().as_mut() {
            let p = [0, 1, 2].map(|i: usize| self.account.current_p[i].get());
            sink.wait_ended(&WaitRecord { event, p, ended, elapsed });
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("account", &self.account.name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder() -> Recorder {
        Recorder::open("s1", SessionKind::Foreground, Timestamp::ZERO, Sampling::EveryWait)
    }

    fn wait(recorder: &Recorder, event: WaitEvent, from_us: u64, to_us: u64) {
        let at = |us| Timestamp::from_nanos(us * 1_000);
        let open = recorder.begin(event, [1, 2, 3], || at(from_us)).expect("not off");
        let _ = recorder.end(open, at(to_us), false);
    }

    /// The count, total, longest wait and histogram follow from the recorded waits alone.
    #[test]
    fn a_wait_is_counted_timed_and_binned() {
        let r = recorder();
        wait(&r, WaitEvent::LogFileSync, 10, 110);
        wait(&r, WaitEvent::LogFileSync, 200, 203);
        let totals = r.account().totals();
        let line = totals.event(WaitEvent::LogFileSync);
        assert_eq!((line.count, line.total, line.max), (2, Nanos(103_000), Nanos(100_000)));
        assert_eq!((line.histogram[2], line.histogram[7]), (1, 1));
        assert_eq!(line.histogram.iter().sum::<u64>(), 2);
    }

    /// A wait can be seen from outside, with its parameters, only while it lasts.
    #[test]
    fn the_current_wait_is_published_while_it_lasts() {
        let r = recorder();
        let open = r.begin(WaitEvent::FreeBufferWaits, [4, 711, 2], || Timestamp::from_nanos(9));
        let seen = r.account().current_wait().expect("waiting");
        assert_eq!((seen.event, seen.p), (WaitEvent::FreeBufferWaits, [4, 711, 2]));
        let _ = r.end(open.expect("not off"), Timestamp::from_nanos(10), true);
        assert_eq!(r.account().current_wait(), None);
        assert_eq!(r.account().totals().event(WaitEvent::FreeBufferWaits).timeouts, 1);
    }

    /// At level off nothing of a wait is read or written, and the clock isn't asked. Statistics are
    /// counted all the same.
    #[test]
    fn at_level_off_the_clock_is_not_asked() {
        let r = recorder();
        r.account().set_level(Level::Off);
        assert!(r.begin(WaitEvent::LogFileSync, [0; 3], || panic!("clock asked")).is_none());
        assert!(!r.sample_due());
        r.count(Statistic::ShortIo, 2);
        assert_eq!(r.account().statistic(Statistic::ShortIo), 2);
    }

    /// The statement that a session works for can be seen while it lasts, and the one within it
    /// while that lasts. Time within time isn't counted twice.
    #[test]
    fn the_outermost_statement_has_the_time() {
        let r = recorder();
        let at = Timestamp::from_nanos;
        let seen = || r.account().current_statement().map(|it| (it.number, it.since.as_nanos()));
        assert_eq!((r.begin_statement(7, at(100)), seen()), (None, Some((7, 100))));
        let outer = r.begin_statement(8, at(150));
        assert_eq!((outer.map(|it| it.number), seen()), (Some(7), Some((8, 150))));
        r.end_statement(outer, at(180));
        assert_eq!((seen(), r.account().totals().in_statements()), (Some((7, 100)), Nanos::ZERO));
        r.end_statement(None, at(300));
        assert_eq!((seen(), r.account().totals().in_statements()), (None, Nanos(200)));
        // A session that ends what it hasn't begun has spent nothing.
        r.end_statement(None, at(900));
        assert_eq!(r.account().totals().in_statements(), Nanos(200));
        let before = r.account().totals();
        let _ = r.begin_statement(7, at(1_000));
        r.end_statement(None, at(1_001));
        assert_eq!(r.account().totals().since(&before).in_statements(), Nanos(1));
        let mut both = before.clone();
        both.add(&before);
        assert_eq!(both.in_statements(), Nanos(400));
    }

    /// Rule W22: how far long work is can be seen while it lasts. Work within work is seen while it
    /// lasts, and then the outer one goes on where it was.
    #[test]
    fn long_work_is_published_while_it_lasts() {
        let r = recorder();
        let seen = || r.account().current_work().map(|it| (it.work, it.done, it.total));
        r.work_done(3);
        assert_eq!(seen(), None);
        assert_eq!(r.begin_work(LongWork::TableScan, 10), None);
        assert_eq!(seen(), Some((LongWork::TableScan, 0, 10)));
        r.work_done(4);
        let outer = r.begin_work(LongWork::IndexBuild, 2);
        r.work_done(1);
        assert_eq!(seen(), Some((LongWork::IndexBuild, 1, 2)));
        r.end_work(outer);
        r.work_done(1);
        assert_eq!(seen(), Some((LongWork::TableScan, 5, 10)));
        r.end_work(None);
        assert_eq!(seen(), None);
    }

    /// A wait that began before the level went off still ends: nothing stays published.
    #[test]
    fn a_wait_in_progress_survives_the_switch_to_off() {
        let r = recorder();
        let open = r.begin(WaitEvent::LogFileSync, [0; 3], || Timestamp::ZERO).expect("on");
        r.account().set_level(Level::Off);
        let _ = r.end(open, Timestamp::from_nanos(5_000), false);
        assert!(!r.account().is_waiting());
        assert_eq!(r.account().totals().event(WaitEvent::LogFileSync).count, 1);
    }

    /// A thread that caught its panic may wait again. The wait that was broken off isn't counted.
    #[test]
    fn a_wait_may_follow_one_that_was_broken_off() {
        let r = recorder();
        let open = r.begin(WaitEvent::LogFileSync, [0; 3], || Timestamp::ZERO).expect("on");
        r.break_off(open);
        assert!(!r.account().is_waiting());
        wait(&r, WaitEvent::LogFileSync, 1, 2);
        assert_eq!(r.account().totals().event(WaitEvent::LogFileSync).count, 1);
    }

    /// Two waits at once would count the same time twice.
    #[test]
    #[should_panic(expected = "began inside another wait")]
    fn a_wait_inside_a_wait_is_refused() {
        let r = recorder();
        let _outer = r.begin(WaitEvent::LogFileSync, [0; 3], || Timestamp::ZERO);
        let _inner = r.begin(WaitEvent::LogBufferSpace, [0; 3], || Timestamp::ZERO);
    }

    /// At level trace each ended wait reaches the sink once, with its parameters and end. The level
    /// at the end decides, not the one at the begin.
    #[test]
    #[allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "a test of one thread; nothing waits on the channel"
    )]
    fn level_trace_hands_over_every_wait() {
        struct Sink(std::sync::mpsc::Sender<WaitRecord>);
        impl WaitSink for Sink {
            fn wait_ended(&mut self, record: &WaitRecord) {
                self.0.send(*record).expect("receiver lives");
            }
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        let r = recorder();
        r.set_sink(Some(Box::new(Sink(sender))));
        wait(&r, WaitEvent::LogFileSync, 1, 2);
        r.account().set_level(Level::Trace);
        wait(&r, WaitEvent::DbFileSequentialRead, 3, 7);
        let record = receiver.try_recv().expect("traced");
        assert_eq!(record.event, WaitEvent::DbFileSequentialRead);
        assert_eq!((record.p, record.elapsed), ([1, 2, 3], Nanos(4_000)));
        assert!(receiver.try_recv().is_err(), "the wait at level stats was traced");
        for (begin, end) in [(Level::Stats, Level::Trace), (Level::Trace, Level::Stats)] {
            r.account().set_level(begin);
            let open = r.begin(WaitEvent::LogFileSync, [4, 5, 6], || Timestamp::ZERO);
            r.account().set_level(end);
            let _ = r.end(open.expect("not off"), Timestamp::from_nanos(9), false);
            let traced = receiver.try_recv().map(|record| record.p).ok();
            assert_eq!(traced, (end == Level::Trace).then_some([4, 5, 6]));
        }
    }
}
