//! Waiting in the real world, and the resulting account of a session.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test watches sessions from outside"
)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::{session, world};
use os::{LoggedWaits, ThreadSpec, WaitWord, Woken};
use waits::{Level, Nanos, Statistic, WaitEvent, WaitRecord, WaitSink, bucket_of};

const EVENT: WaitEvent = WaitEvent::LogFileSync;

/// A word with another value than expected is no wait; a word with the expected value is, until its
/// time is up.
#[test]
fn a_wait_ends_by_a_change_by_time_or_by_a_wake() {
    let (os, _) = world();
    let session = session(&os);
    let word = Arc::new(WaitWord::new(&os, 7));
    assert_eq!(word.wait(8, None, session.waiting(EVENT)), Woken::Changed);
    assert_eq!(session.account().totals().event(EVENT).count, 0, "it didn't block");
    let started = session.now();
    let timeout = Nanos::from_millis(20);
    assert_eq!(word.wait(7, Some(timeout), session.waiting(EVENT)), Woken::TimedOut);
    assert!(session.now().since(started) >= timeout);
    let totals = session.account().totals();
    assert_eq!((totals.event(EVENT).count, totals.event(EVENT).timeouts), (1, 1));
    let inside = Arc::clone(&word);
    let waker = session
        .spawn(ThreadSpec::background("fb_waker"), move |session| {
            session.pause(Nanos::from_millis(20), session.waiting(WaitEvent::PlSqlLockTimer));
            inside.value().store(8, Ordering::Release);
            inside.wake(1, session);
        })
        .expect("started");
    while word.value().load(Ordering::Acquire) == 7 {
        let woken = word.wait(7, Some(Nanos::from_secs(20)), session.waiting(EVENT));
        assert_ne!(woken, Woken::TimedOut);
    }
    waker.join(&session).expect("no panic");
    assert_eq!(session.account().totals().event(EVENT).timeouts, 1);
}

/// A wake of one lets one thread go, a wake of all lets the others go; no wake is lost.
#[test]
fn a_wake_lets_go_as_many_as_it_says() {
    let (os, _) = world();
    let session = session(&os);
    let (word, gone) = (Arc::new(WaitWord::new(&os, 0)), Arc::new(AtomicU64::new(0)));
    let sleepers: Vec<_> = (0..4)
        .map(|number| {
            let (word, gone) = (Arc::clone(&word), Arc::clone(&gone));
            let spec = ThreadSpec::background(format!("fb_sleep{number}"));
            let sleep = move |session: &os::Session| {
                let _ = word.wait(0, None, session.waiting(WaitEvent::RdbmsIpcMessage));
                let _ = gone.fetch_add(1, Ordering::AcqRel);
            };
            session.spawn(spec, sleep).expect("started")
        })
        .collect();
    let pause =
        || session.pause(Nanos::from_millis(30), session.waiting(WaitEvent::PlSqlLockTimer));
    let asleep = || os.running().iter().filter(|s| s.account.is_waiting()).count();
    while asleep() < 4 {
        pause();
    }
    pause();
    for (wakes, left) in [(1, 1), (2, 3), (u32::MAX, 4)] {
        word.wake(wakes, &session);
        while gone.load(Ordering::Acquire) < left {
            pause();
        }
        pause();
        assert_eq!(gone.load(Ordering::Acquire), left, "after a wake of {wakes}");
    }
    for sleeper in sleepers {
        sleeper.join(&session).expect("no panic");
    }
}

/// A wait of 50 ms is one wait of about 50 ms under its event, in its bucket, and visible with its
/// parameters while it lasts.
#[test]
fn a_wait_of_50_ms_is_one_wait_of_50_ms() {
    let (os, _) = world();
    let session = session(&os);
    let waits_50_ms = session
        .spawn(ThreadSpec::foreground("fb_waits"), |session| {
            let word = WaitWord::new(session.os(), 0);
            let waiting = session.waiting(EVENT).p(11, 22, 33);
            let started = session.now();
            assert_eq!(word.wait(0, Some(Nanos::from_millis(50)), waiting), Woken::TimedOut);
            let elapsed = session.now().since(started);
            let totals = session.account().totals();
            let line = totals.event(EVENT);
            assert_eq!((line.count, line.timeouts, line.sampled_count()), (1, 1, 1));
            let about = Nanos::from_millis(49)..=elapsed;
            assert!(about.contains(&line.total), "{} of {elapsed}", line.total);
            assert_eq!(line.max, line.total);
            assert_eq!(line.histogram[bucket_of(line.total.0)], 1);
            assert!(line.cpu() < Nanos::from_millis(1), "{} on a CPU", line.cpu());
            assert_eq!(totals.events().count(), 1, "nothing else was waited for");
        })
        .expect("started");
    let mut seen = None;
    while !waits_50_ms.has_ended() {
        let running = os.running();
        let other = running.iter().find(|s| s.account.name() == "fb_waits");
        seen = other.and_then(|other| other.account.current_wait()).or(seen);
        session.pause(Nanos::from_millis(2), session.waiting(WaitEvent::PlSqlLockTimer));
    }
    waits_50_ms.join(&session).expect("no panic");
    let seen = seen.expect("it waited for 50 ms");
    assert_eq!((seen.event, seen.p), (EVENT, [11, 22, 33]));
}

/// Off records nothing, stats counts, trace hands over. Each can be switched while running, also
/// for future sessions.
#[test]
fn levels_are_switched_while_running() {
    struct Sink(Arc<AtomicU64>);
    impl WaitSink for Sink {
        fn wait_ended(&mut self, record: &WaitRecord) {
            assert_eq!((record.event, record.p), (EVENT, [1, 2, 3]));
            let _ = self.0.fetch_add(1, Ordering::AcqRel);
        }
    }
    let (os, _) = world();
    let session = session(&os);
    let traced = Arc::new(AtomicU64::new(0));
    session.set_wait_sink(Some(Box::new(Sink(Arc::clone(&traced)))));
    let mut seen = Vec::new();
    for level in [Level::Stats, Level::Off, Level::Trace, Level::Off, Level::Stats] {
        os.set_level(level);
        session.pause(Nanos::from_micros(100), session.waiting(EVENT).p(1, 2, 3));
        let counted = session.account().totals().event(EVENT).count;
        seen.push((counted, traced.load(Ordering::Acquire)));
    }
    assert_eq!(seen, [(1, 0), (1, 0), (2, 1), (2, 1), (3, 1)]);
    session.set_wait_sink(None);
    os.set_level(Level::Trace);
    let levels = Arc::new(AtomicBool::new(false));
    let inside = Arc::clone(&levels);
    let spec = ThreadSpec::background("fb_later");
    let later = session.spawn(spec, move |session| {
        inside.store(session.account().level() == Level::Trace, Ordering::Release);
    });
    later.expect("started").join(&session).expect("no panic");
    assert!(levels.load(Ordering::Acquire), "a new session has the level of the world");
}

/// A log has the waits of its time and no others, at most so many, and leaves the level as it was
/// (O75).
#[test]
fn a_log_keeps_the_first_waits_of_its_time_and_counts_the_others() {
    let (os, _) = world();
    let session = session(&os);
    let pause = |p| session.pause(Nanos::from_micros(100), session.waiting(EVENT).p(p, 0, 0));
    pause(1);
    let log = session.log_waits(2);
    (2..=4).for_each(pause);
    let first = log.take();
    pause(5);
    let second = log.take();
    drop(log);
    assert_eq!(session.account().level(), Level::Stats);
    let again = session.log_waits(8);
    assert_eq!(again.take(), LoggedWaits::default(), "a log begins empty");
    drop(again);
    pause(6);
    let seen = |logged: &LoggedWaits| logged.waits.iter().map(|wait| wait.p[0]).collect::<Vec<_>>();
    assert_eq!((seen(&first), first.left_out), (vec![2, 3], 1));
    assert_eq!((seen(&second), second.left_out), (vec![5], 0));
    assert!(first.waits.iter().all(|wait| wait.event == EVENT && wait.elapsed > Nanos::ZERO));
}

/// While sessions begin and end, no reader ever sees a total shrink, and in the end the totals of
/// all sessions are there.
#[test]
fn totals_never_shrink_while_sessions_come_and_go() {
    const THREADS: u64 = 200;
    const WAITS: u64 = 5;
    let (os, _) = world();
    let session = session(&os);
    let done = Arc::new(AtomicBool::new(false));
    let inside = Arc::clone(&done);
    let watcher = session
        .spawn(ThreadSpec::background("fb_watcher"), move |session| {
            let (mut last, mut looks) = ((0, 0, Nanos::ZERO), 0_u64);
            while !inside.load(Ordering::Acquire) {
                let totals = session.os().totals();
                let line = totals.event(WaitEvent::DirectPathRead);
                let now = (totals.statistic(Statistic::ShortIo), line.count, line.total);
                assert!(now.0 >= last.0 && now.1 >= last.1 && now.2 >= last.2, "{now:?} {last:?}");
                (last, looks) = (now, looks + 1);
            }
            assert!(looks > 20, "only {looks} looks");
        })
        .expect("started");
    for round in 0..THREADS / 4 {
        let four: Vec<_> = (0..4)
            .map(|number| {
                let spec = ThreadSpec::foreground(format!("fb_{round}_{number}"));
                let body = |session: &os::Session| {
                    for _ in 0..WAITS {
                        session.count(Statistic::ShortIo, 3);
                        let waiting = session.waiting(WaitEvent::DirectPathRead);
                        let word = WaitWord::new(session.os(), 0);
                        let _ = word.wait(0, Some(Nanos::from_micros(50)), waiting);
                    }
                };
                session.spawn(spec, body).expect("started")
            })
            .collect();
        for one in four {
            one.join(&session).expect("no panic");
        }
    }
    done.store(true, Ordering::Release);
    watcher.join(&session).expect("no panic");
    let totals = os.totals();
    assert_eq!(totals.statistic(Statistic::ShortIo), THREADS * WAITS * 3);
    assert_eq!(totals.event(WaitEvent::DirectPathRead).count, THREADS * WAITS);
    assert_eq!(os.running().len(), 1, "only this one is left");
}
