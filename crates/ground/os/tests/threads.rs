//! Threads of the real world: names, priorities, CPUs, ends.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test looks at threads from outside"
)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use common::{session, world};
use os::{Cause, CpuSet, Os, Priority, Session, ThreadHandle, ThreadSpec, WaitWord};
use waits::{Nanos, SessionKind, WaitEvent};

/// A session's wall clock is the machine's: the same moment read in two ways.
#[test]
fn the_wall_clock_is_the_machines() {
    let (os, _) = world();
    let session = session(&os);
    let machine = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        i64::try_from(since.expect("it isn't before 1970").as_micros()).expect("it fits")
    };
    let (before, read, after) = (machine(), session.wall_clock(), machine());
    assert!((before..=after).contains(&read), "{before} {read} {after}");
}

/// A thread that waits until it is let go.
struct Held {
    handle: ThreadHandle,
    gate: Arc<WaitWord>,
}

impl Held {
    fn start(name: &str, session: &Session) -> Held {
        let gate = Arc::new(WaitWord::new(session.os(), 0));
        let inside = Arc::clone(&gate);
        let spec = ThreadSpec::background(name);
        let handle = session.spawn(spec, move |session| {
            while inside.value().load(Ordering::Acquire) == 0 {
                let _ = inside.wait(0, None, session.waiting(WaitEvent::RdbmsIpcMessage));
            }
        });
        Held { handle: handle.expect("threads can be made"), gate }
    }

    fn end(self, session: &Session) -> ThreadHandle {
        self.gate.value().store(1, Ordering::Release);
        self.gate.wake(u32::MAX, session);
        self.handle.join(session).expect("no panic");
        self.handle
    }

    /// A line of this thread's status, as the kernel tells it.
    fn status(&self, key: &str) -> String {
        let tid = os::linux::kernel_thread_id(self.handle.id()).expect("it runs");
        let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status"));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a known key");
        line.trim().to_string()
    }
}

/// `top -H` and `ps -L` show a thread by its name, and the world's list of sessions has it until it
/// has ended.
#[test]
fn a_thread_is_known_by_its_name() {
    let (os, _) = world();
    let session = session(&os);
    let held = Held::start("fb_names_15byte", &session);
    let tid = os::linux::kernel_thread_id(held.handle.id()).expect("it runs");
    let comm = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).expect("it runs");
    assert_eq!(comm, "fb_names_15byte\n");
    let runs = |os: &Os| {
        let running = os.running();
        running.iter().filter(|s| s.account.name() == "fb_names_15byte").count()
    };
    // The thread gets its name before it is in the list.
    while runs(&os) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(runs(&os), 1);
    let handle = held.end(&session);
    assert!(handle.has_ended() && handle.name() == "fb_names_15byte");
    assert_eq!(runs(&os), 0);
}

/// Linux would truncate a longer name, and two threads would look the same.
#[test]
fn a_name_that_linux_would_change_is_refused() {
    let (os, _) = world();
    let session = session(&os);
    for name in ["fb_sixteen_bytes", "fb_\0zero"] {
        let spec = ThreadSpec::background(name);
        let error = session.spawn(spec, |_| panic!("it runs")).expect_err("refused");
        assert_eq!(error.cause(), Cause::Invalid, "{error}");
        assert!(error.to_string().contains("at most 15 bytes"), "{error}");
    }
}

/// Once a thread is joined, its session has ended too, however little time it had.
#[test]
fn a_joined_thread_is_no_running_session() {
    let (os, _) = world();
    let session = session(&os);
    for turn in 0..500 {
        let handle = session.spawn(ThreadSpec::background("fb_brief"), |_| ()).expect("started");
        handle.join(&session).expect("no panic");
        let left = os.running().iter().filter(|s| s.account.name() == "fb_brief").count();
        assert_eq!(left, 0, "turn {turn}");
    }
}

/// A session's number is its own while it runs; another session gets it later, with another serial
/// (O73). The times of the ended ones are kept, with their kinds apart (O28).
#[test]
fn a_session_has_a_number_and_leaves_its_times() {
    let (os, _) = world();
    let session = session(&os);
    let mine = session.number();
    let own = os.running().into_iter().find(|one| one.number == mine).expect("it runs");
    assert_eq!(own.account.name(), session.account().name());
    let mut numbers = vec![mine];
    for _ in 0..3 {
        let (held, before) = (Held::start("fb_numbered", &session), os.census());
        let number = loop {
            let running = os.running();
            let found = running.iter().find(|one| one.account.name() == "fb_numbered");
            match found {
                Some(found) => break found.number,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(number.sid, mine.sid + 1, "the lowest that is free");
        numbers.push(number);
        drop(held.end(&session));
        let after = os.census();
        assert_eq!(after.running.len(), 1);
        assert!(after.ended_background.elapsed > before.ended_background.elapsed);
        assert!(after.ended_background.cpu >= before.ended_background.cpu);
        assert_eq!(after.ended_foreground, before.ended_foreground);
    }
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 4, "{numbers:?}");
}

/// A panic ends a thread, is reported to the thread that joins, and leaves no session behind.
#[test]
fn joining_a_panicked_thread_says_so() {
    let (os, _) = world();
    let session = session(&os);
    let body = |_: &Session| panic!("this panic is part of the test");
    let handle = session.spawn(ThreadSpec::background("fb_panics"), body).expect("started");
    let panicked = handle.join(&session).expect_err("it panicked");
    assert_eq!(panicked.to_string(), "thread fb_panics panicked");
    assert_eq!(handle.join(&session), Err(panicked), "asked again");
    assert!(os.running().iter().all(|s| s.account.name() != "fb_panics"));
    assert!(session.account().totals().event(WaitEvent::ProcessExit).count <= 1);
}

/// Priorities reach the kernel, and a thread can go back from real time.
#[test]
fn a_priority_reaches_the_kernel() {
    if !common::is_root() {
        // Without the privilege a thread may still be lowered: that much holds everywhere.
        assert!(std::env::var_os("CI").is_none(), "in CI the test has to be root's");
        eprintln!("raising a priority isn't tried: the user isn't root");
        let (os, _) = world();
        let session = session(&os);
        let held = Held::start("fb_prio", &session);
        os.set_priority(held.handle.id(), Priority::Nice(5)).expect("lower is allowed");
        assert_eq!(nice_of(&held), 5);
        let _ = held.end(&session);
        return;
    }
    let (os, _) = world();
    let session = session(&os);
    let held = Held::start("fb_prio", &session);
    for (priority, policy, nice) in [
        (Priority::Nice(-7), libc::SCHED_OTHER, -7),
        (Priority::RealTime(3), libc::SCHED_RR, -7),
        (Priority::Nice(4), libc::SCHED_OTHER, 4),
    ] {
        os.set_priority(held.handle.id(), priority).expect("root may");
        let tid = os::linux::kernel_thread_id(held.handle.id()).expect("it runs");
        // SAFETY: only reads a thread's policy.
        assert_eq!(unsafe { libc::sched_getscheduler(tid) }, policy, "{priority}");
        if matches!(priority, Priority::Nice(_)) {
            assert_eq!(nice_of(&held), nice);
        }
    }
    let _ = held.end(&session);
}

/// The 19th field of a thread's stat line.
fn nice_of(held: &Held) -> i32 {
    let tid = os::linux::kernel_thread_id(held.handle.id()).expect("it runs");
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).expect("it runs");
    let after_name = stat.rsplit(") ").next().expect("a stat line");
    after_name.split(' ').nth(16).expect("nineteen fields").parse().expect("a number")
}

/// Without the privilege the message names the remedy, and the thread stays as it is.
#[test]
fn a_priority_without_the_privilege_says_what_to_do() {
    let refused = std::thread::spawn(|| {
        common::become_nobody_in_this_thread();
        let (os, _) = world();
        let session = session(&os);
        for priority in [Priority::Nice(-5), Priority::RealTime(1)] {
            let error = os.set_priority(session.thread(), priority).expect_err("no privilege");
            assert_eq!(error.cause(), Cause::PermissionDenied, "{error}");
            let text = error.to_string();
            assert!(text.contains(&format!("to {priority}: ")), "{text}");
            assert!(text.contains("setcap cap_sys_nice+ep"), "{text}");
            assert!(text.contains("ulimit -e for nice, ulimit -r for real time"), "{text}");
            assert!(!text.contains('\n'));
        }
    });
    refused.join().expect("no panic");
}

/// A level that doesn't exist is refused rather than replaced by the nearest one.
#[test]
fn a_priority_out_of_range_is_refused() {
    let (os, _) = world();
    let session = session(&os);
    for priority in
        [Priority::Nice(20), Priority::Nice(-21), Priority::RealTime(0), Priority::RealTime(100)]
    {
        let error = os.set_priority(session.thread(), priority).expect_err("out of range");
        assert_eq!(error.cause(), Cause::Invalid, "{error}");
        assert!(error.to_string().contains("-20 to 19"), "{error}");
    }
}

/// A thread runs on the CPUs that it is given; a CPU that doesn't exist is refused.
#[test]
fn affinity_reaches_the_kernel() {
    let (os, _) = world();
    let session = session(&os);
    let held = Held::start("fb_cpus", &session);
    let allowed = held.status("Cpus_allowed_list:");
    let last = os.cpu_count() - 1;
    os.set_affinity(held.handle.id(), CpuSet::one(last)).expect("it is there");
    assert_eq!(held.status("Cpus_allowed_list:"), last.to_string());
    os.set_affinity(held.handle.id(), CpuSet::ALL).expect("those that are there");
    assert_eq!(held.status("Cpus_allowed_list:"), allowed);
    let error = os.set_affinity(held.handle.id(), CpuSet::one(127)).expect_err("not there");
    assert!(error.to_string().ends_with("name CPUs that this machine has"), "{error}");
    let handle = held.end(&session);
    // The thread has announced its end, and is gone soon after.
    while os::linux::kernel_thread_id(handle.id()).is_some() {
        session.pause(Nanos::from_millis(1), session.waiting(WaitEvent::PlSqlLockTimer));
    }
    let error = os.set_affinity(handle.id(), CpuSet::ALL).expect_err("it has ended");
    assert_eq!(error.cause(), Cause::NotFound);
    assert!(error.to_string().ends_with(": it has ended"), "{error}");
}

/// Another thread's CPU time is visible while it runs, to the millisecond.
#[test]
fn another_threads_times_are_seen() {
    let (os, _) = world();
    let session = session(&os);
    let burnt = Arc::new(AtomicU32::new(0));
    let (inside, gate) = (Arc::clone(&burnt), Arc::new(WaitWord::new(&os, 0)));
    let held = Arc::clone(&gate);
    let spec = ThreadSpec::foreground("fb_burns");
    let handle = session
        .spawn(spec, move |session| {
            while session.thread_times().cpu < Nanos::from_millis(20) {
                std::hint::black_box(0);
            }
            inside.store(1, Ordering::Release);
            while held.value().load(Ordering::Acquire) == 0 {
                let _ = held.wait(0, None, session.waiting(WaitEvent::RdbmsIpcMessage));
            }
        })
        .expect("started");
    while burnt.load(Ordering::Acquire) == 0 {
        session.pause(Nanos::from_millis(1), session.waiting(WaitEvent::PlSqlLockTimer));
    }
    let seen = |os: &Os| {
        let one = os.running().into_iter().find(|s| s.thread == handle.id());
        one.map(|one| os.times_of(one).times.cpu)
    };
    let cpu = seen(&os).expect("it runs");
    assert!(cpu >= Nanos::from_millis(20) && cpu < Nanos::from_millis(40), "{cpu}");
    gate.value().store(1, Ordering::Release);
    gate.wake(1, &session);
    handle.join(&session).expect("no panic");
    assert_eq!(seen(&os), None);
}

/// A thread that this world didn't start gets a number, and is known to have ended when it ends.
/// The kernel may give the same id to another thread, whose priority must not be changed.
#[test]
fn an_adopted_thread_that_has_ended_is_known_to_have_ended() {
    let (os, _) = world();
    let inside = os.clone();
    let adopted = std::thread::spawn(move || {
        let session = inside.adopt("adopted", SessionKind::Foreground);
        assert!(os::linux::kernel_thread_id(session.thread()).is_some());
        session.thread()
    });
    let thread = adopted.join().expect("no panic");
    assert_eq!(os::linux::kernel_thread_id(thread), None);
    let error = os.set_priority(thread, Priority::NORMAL).expect_err("it has ended");
    assert_eq!(error.cause(), Cause::NotFound, "{error}");
}

/// The times of a thread that is just leaving are never taken for zero: they only grow.
#[test]
fn the_times_of_a_leaving_thread_never_fall_back() {
    let (os, _) = world();
    let session = session(&os);
    for _ in 0..300 {
        let spec = ThreadSpec::background("fb_leaves");
        let handle = session
            .spawn(spec, |session| {
                while session.thread_times().cpu < Nanos::from_micros(300) {
                    std::hint::black_box(0);
                }
            })
            .expect("started");
        let mut last = Nanos::ZERO;
        while !handle.has_ended() {
            let one = os.running().into_iter().find(|s| s.thread == handle.id());
            let now = one.map_or(last, |one| os.times_of(one).times.cpu);
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
        handle.join(&session).expect("no panic");
    }
}
