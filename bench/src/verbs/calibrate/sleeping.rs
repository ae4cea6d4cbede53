//! What it costs to sleep, to wake a sleeper, and to change threads on a CPU.
//!
//! ```text
//!   together   CPU a   wake │ wait ····· │ wake │ wait ·····     wake, and park + switch
//!              CPU a   ·····wait │ wake │ wait ····· │ wake
//!
//!   yielding   CPU a   yield ··· yield ··· yield ··· yield       switch = a yield that gives way
//!              CPU a   ···· yield ··· yield ··· yield ···                 − one that doesn't
//!
//!   apart      CPU a   pause · wake · pause · wake …             wake and park with a CPU that
//!              CPU b   wait ······· wait ······· wait            goes idle in between
//! ```
//!
//! A hand-over on one CPU, which is what a busy machine does all the time, is charged as a wake, a
//! park and a switch in the simulator; so these three are measured there and add up to what a real
//! one takes. Where the sleeper's CPU goes idle, waking it takes a call to that CPU and a start
//! from the cold as well: little on bare metal, several microseconds in a virtual machine. What it
//! adds to a wake is the machine's; what it adds to a park is reported only, for the CPU idles.
//!
//! Callers: `rounds`.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use os::{Cost, Session, WaitWord};
use waits::{Nanos, WaitEvent};

use super::clock::{Windows, mean_ns};
use super::figure::Figure;
use super::threads::{Job, go_to};

/// Sleeps that are woken from another CPU, in a round.
const WAKES: u32 = 48;
/// Turns of each of two threads that wake each other on one CPU, in a round.
const TURNS: u32 = 192;
/// Yields of each of two threads on one CPU, in a round.
const YIELDS: u32 = 1_000;
/// How long the waker lets the other sleep, besides the slack of the kernel's timers (50 us).
const ASLEEP: Nanos = Nanos::from_micros(50);
/// The turn of a spin at which it yields: the last that there can be.
const YIELDING: u32 = u32::MAX;

pub(super) fn round(session: &Session, cpus: &[u32]) -> Result<Vec<(Figure, f64)>, String> {
    let switch = yielding(session, cpus[0])?;
    let (wait, wake) = together(session, cpus[0])?;
    let mut found = vec![
        (Figure::Cost(Cost::Park), (wait - switch).max(0.0)),
        (Figure::Cost(Cost::Wake), wake),
        (Figure::Switch, switch),
    ];
    if let &[here, .., there] = cpus {
        let (park, idle_wake) = apart(session, here, there)?;
        let beyond = (idle_wake - wake).max(0.0);
        found.extend([(Figure::ParkToIdle, park), (Figure::WakeIdle, beyond)]);
    }
    Ok(found)
}

/// Runs `work` in two threads on one CPU, where a thread that is woken doesn't push aside the one
/// that woke it. Gives both results.
fn two_on<R: Send + 'static>(
    cpu: u32,
    session: &Session,
    work: impl Fn(usize, &Session) -> R + Clone + Send + 'static,
) -> Result<[R; 2], String> {
    let first = Job::start(session, "cal_first", move |session| {
        // The second inherits both.
        os::linux::share_one_cpu(cpu as usize);
        let same = work.clone();
        let second = Job::start(session, "cal_second", move |session| same(1, session))?;
        let mine = work(0, session);
        Ok::<_, String>([mine, second.join(session)?])
    })?;
    first.join(session)?
}

/// A change of thread: what a yield takes longer when there is another thread to give way to.
fn yielding(session: &Session, cpu: u32) -> Result<f64, String> {
    let alone = Job::start(session, "cal_alone", move |session| {
        os::linux::share_one_cpu(cpu as usize);
        mean_ns(YIELDS, |_| session.relax(YIELDING))
    })?;
    let alone = alone.join(session)?;
    let (there, latest) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let found = two_on(cpu, session, move |me, session| {
        let me = me as u32;
        there.fetch_add(1, SeqCst);
        while there.load(SeqCst) < 2 {
            session.relax(YIELDING);
        }
        let mut gave_way = 0_u32;
        let with_another = mean_ns(YIELDS, |_| {
            latest.store(me, Relaxed);
            session.relax(YIELDING);
            gave_way += u32::from(latest.load(Relaxed) != me);
        });
        (with_another, f64::from(gave_way) / f64::from(YIELDS))
    })?;
    let mean = |of: fn(&(f64, f64)) -> f64| (of(&found[0]) + of(&found[1])) / 2.0;
    let (with_another, share) = (mean(|it| it.0), mean(|it| it.1));
    if share < 0.05 {
        return Err("a change of thread can't be measured: this kernel doesn't let a thread that \
                    yields give way to another"
            .to_string());
    }
    Ok(((with_another - alone) / share).max(0.0))
}

/// A wait, with its change of thread, and a wake, of two threads that hand one CPU to each other.
fn together(session: &Session, cpu: u32) -> Result<(f64, f64), String> {
    let words = Arc::new([WaitWord::new(session.os(), 0), WaitWord::new(session.os(), 0)]);
    let found = two_on(cpu, session, move |me, session| {
        let (mine, theirs) = (&words[me], &words[1 - me]);
        // The second is given its first turn before it gives one.
        let ahead = me as u32;
        wait_for(mine, ahead, session);
        let (mut waits, mut wakes) = (Windows::new(), Windows::new());
        for turn in 1..=TURNS {
            theirs.value().store(turn, Release);
            wakes.around(|| theirs.wake(1, session));
            waits.around(|| wait_for(mine, turn + ahead, session));
        }
        if me == 0 {
            theirs.value().store(TURNS + 1, Release);
            theirs.wake(1, session);
        }
        (waits.median_ns(), wakes.median_ns())
    })?;
    Ok(((found[0].0 + found[1].0) / 2.0, (found[0].1 + found[1].1) / 2.0))
}

/// A wait and a wake, each on a CPU of its own; the sleeper's has been idle for some 100 us.
fn apart(session: &Session, here: u32, there: u32) -> Result<(f64, f64), String> {
    let word = Arc::new(WaitWord::new(session.os(), 0));
    let about_to_sleep = Arc::new(AtomicU32::new(0));
    let (slept_on, about) = (Arc::clone(&word), Arc::clone(&about_to_sleep));
    let sleeper = Job::start(session, "cal_sleeper", move |session| {
        let moved = go_to(there, session);
        let mut parks = Windows::new();
        for number in 1..=WAKES {
            about.store(number, Release);
            parks.around(|| wait_for(&slept_on, number, session));
        }
        moved.map(|()| parks.median_ns())
    })?;
    let waker = Job::start(session, "cal_waker", move |session| {
        let moved = go_to(here, session);
        let mut wakes = Windows::new();
        for number in 1..=WAKES {
            while about_to_sleep.load(Acquire) < number {
                session.relax(YIELDING);
            }
            session.pause(ASLEEP, session.waiting(WaitEvent::LogFileSync));
            word.value().store(number, Release);
            wakes.around(|| word.wake(1, session));
        }
        moved.map(|()| wakes.median_ns())
    })?;
    let wake = waker.join(session)??;
    let park = sleeper.join(session)??;
    Ok((park, wake))
}

/// Sleeps until the word has come to `number`.
fn wait_for(word: &WaitWord, number: u32, session: &Session) {
    loop {
        let seen = word.value().load(Acquire);
        if seen >= number {
            return;
        }
        let _ = word.wait(seen, None, session.waiting(WaitEvent::LogFileSync));
    }
}
