//! Calls of a session: their numbers, and how they end before their work is done.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test shares words and channels among threads"
)]

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use common::{session, world};
use os::{CallEnd, ThreadSpec, WaitWord, Woken};
use waits::{Nanos, WaitEvent};

/// A cancel is of the call that it names, and of no later one.
#[test]
fn a_late_cancel_cancels_nothing() {
    let (os, _) = world();
    let session = session(&os);
    let handle = session.cancel_handle();
    assert_eq!(handle.running(), None);
    assert!(!handle.cancel_running(), "there is no call");
    let call = session.begin_call(None);
    let first = handle.running().expect("it runs");
    drop(call);
    assert!(!handle.cancel(first), "it has ended");
    let call = session.begin_call(None);
    assert_ne!(handle.running(), Some(first));
    assert!(!handle.cancel(first), "another one runs");
    assert_eq!(session.call_end(), None);
    assert!(handle.cancel_running());
    assert_eq!(session.call_end(), Some(CallEnd::Cancelled));
    assert!(handle.cancel_running(), "it is cancelled already");
    drop(call);
    assert_eq!(session.call_end(), None, "what was cancelled has ended");
    let _call = session.begin_call(None);
    assert_eq!(session.call_end(), None);
}

/// What is begun within a call is a part of it: its end, its number and its limit are the call's.
#[test]
fn calls_within_a_call_are_a_part_of_it() {
    let (os, _) = world();
    let session = session(&os);
    let handle = session.cancel_handle();
    let outer = session.begin_call(None);
    let number = handle.running();
    let inner = session.begin_call(Some(Nanos::ZERO));
    assert_eq!(handle.running(), number);
    assert_eq!(session.call_end(), None, "the limit of the inner one doesn't count");
    drop(inner);
    assert_eq!(handle.running(), number);
    assert!(handle.cancel_running());
    let _inner = session.begin_call(None);
    assert_eq!(session.call_end(), Some(CallEnd::Cancelled));
    drop(outer);
    assert_eq!(handle.running(), number, "a part of it still runs");
}

/// A limit of time ends a call as a cancel does; without a call there is no limit.
#[test]
fn a_call_that_has_had_its_time_is_to_end() {
    let (os, _) = world();
    let session = session(&os);
    let limit = Nanos::from_millis(2);
    let call = session.begin_call(Some(Nanos::from_secs(3_600)));
    assert_eq!(session.call_end(), None);
    drop(call);
    let call = session.begin_call(Some(limit));
    session.pause(limit, session.waiting(WaitEvent::PlSqlLockTimer));
    assert_eq!(session.call_end(), Some(CallEnd::OutOfTime(limit)));
    assert!(session.cancel_handle().cancel_running());
    assert_eq!(session.call_end(), Some(CallEnd::Cancelled), "that was said later, and counts");
    drop(call);
    assert_eq!(session.call_end(), None);
}

/// Calls for one statement have its time together.
#[test]
fn what_earlier_calls_took_counts() {
    let (os, _) = world();
    let session = session(&os);
    let limit = Nanos::from_secs(3_600);
    let call = session.begin_call(Some(limit));
    session.count_as_spent(Nanos::from_secs(3_000));
    assert_eq!(session.call_end(), None);
    session.count_as_spent(Nanos::from_secs(600));
    assert_eq!(session.call_end(), Some(CallEnd::OutOfTime(limit)));
    drop(call);
    let _call = session.begin_call(Some(limit));
    assert_eq!(session.call_end(), None, "another call has its own time");
    session.count_as_spent(Nanos(u64::MAX));
    assert_eq!(session.call_end(), Some(CallEnd::OutOfTime(limit)));
}

/// Work that is held off is done to its end; then the cancel counts that came meanwhile.
#[test]
fn what_has_to_be_done_to_its_end_sees_no_cancel() {
    let (os, _) = world();
    let session = session(&os);
    let word = Arc::new(WaitWord::new(&os, 0));
    let _call = session.begin_call(None);
    let outer = session.hold_off();
    let inner = session.hold_off();
    assert!(session.cancel_handle().cancel_running());
    assert_eq!(session.call_end(), None);
    drop(inner);
    assert_eq!(session.call_end(), None);
    let sleep = session.enter_sleep(&word, Some(Nanos(7))).expect("it may sleep");
    assert_eq!(sleep.timeout(), Some(Nanos(7)));
    drop(sleep);
    drop(outer);
    assert_eq!(session.call_end(), Some(CallEnd::Cancelled));
    assert!(session.enter_sleep(&word, None).is_none(), "a sleep would be for nothing");
}

/// The moment of a call stays while the wall clock goes on.
#[test]
fn the_moment_of_a_call_stays() {
    let (os, _) = world();
    let session = session(&os);
    let pause = || {
        session.pause(Nanos::from_millis(3), session.waiting(WaitEvent::PlSqlLockTimer));
    };
    let call = session.begin_call(None);
    let moment = session.call_moment();
    pause();
    let inner = session.begin_call(None);
    assert_eq!(session.call_moment(), moment);
    drop(inner);
    assert_eq!(session.call_moment(), moment);
    drop(call);
    let _call = session.begin_call(None);
    pause();
    assert!(session.call_moment() > moment);
}

/// A sleep is bounded by what is left of the call's time, and by what its caller says.
#[test]
fn a_sleep_takes_no_more_than_is_left_of_the_call() {
    let (os, _) = world();
    let session = session(&os);
    let word = Arc::new(WaitWord::new(&os, 0));
    let (minute, hour) = (Nanos::from_secs(60), Nanos::from_secs(3_600));
    let _call = session.begin_call(Some(hour));
    let lasts = |most| session.enter_sleep(&word, most).expect("there is time").timeout();
    assert_eq!(lasts(Some(minute)), Some(minute));
    assert!(lasts(None).is_some_and(|length| length <= hour && length > minute));
    assert!(lasts(Some(Nanos::from_secs(7_200))).is_some_and(|length| length <= hour));
}

/// A thread that sleeps in a call is woken by the cancel.
#[test]
fn a_cancel_wakes_the_sleeper() {
    let (os, _) = world();
    let session = session(&os);
    for round in 0..50 {
        let word = Arc::new(WaitWord::new(&os, 0));
        let (inside, (tell, told)) = (Arc::clone(&word), std::sync::mpsc::channel());
        let sleeper = session.spawn(ThreadSpec::foreground("sleeper"), move |session| {
            let _call = session.begin_call(None);
            tell.send(session.cancel_handle()).expect("the test listens");
            while session.call_end().is_none() {
                let seen = inside.value().load(Ordering::Acquire);
                let most = Some(Nanos::from_secs(60));
                let Some(sleep) = session.enter_sleep(&inside, most) else { continue };
                let waiting = session.waiting(WaitEvent::PlSqlLockTimer);
                let woken = inside.wait(seen, sleep.timeout(), waiting);
                assert_ne!(woken, Woken::TimedOut);
            }
        });
        let handle = told.recv().expect("it tells");
        if round % 2 == 1 {
            // By now it sleeps, most likely.
            session.pause(Nanos::from_millis(1), session.waiting(WaitEvent::PlSqlLockTimer));
        }
        assert!(handle.cancel_running());
        sleeper.expect("started").join(&session).expect("no panic");
        assert!(!handle.cancel_running());
    }
}
