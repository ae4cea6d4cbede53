//! A simulated thread as the scheduler sees it.

use os::{CpuSet, Priority, Woken};
use waits::WaitEvent;

/// A thread's number.
pub(crate) type Tid = usize;

/// The object on which a blocked thread sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum On {
    /// A wait word.
    Word(u64),
    /// One blocking I/O.
    Io(u64),
    /// Completions of a ring.
    Ring(u64),
    /// Nothing with a name: planted by a test.
    Unnamed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Ready,
    Running { cpu: usize },
    Blocked { on: On, event: Option<WaitEvent> },
    Ended,
}

#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) name: String,
    pub(crate) state: State,
    pub(crate) rank: i32,
    pub(crate) affinity: CpuSet,
    /// The CPU time that it must still use before its code goes on.
    pub(crate) burst_ns: u64,
    pub(crate) born: u64,
    /// When the present state, or the present stretch on a CPU, began.
    pub(crate) since: u64,
    /// A counter raised whenever a pending event of this thread becomes void.
    pub(crate) burst_generation: u64,
    pub(crate) sleep_generation: u64,
    pub(crate) last_cpu: Option<usize>,
    /// Its position in the run queue among equals.
    pub(crate) queued: u64,
    pub(crate) woken: Woken,
    pub(crate) cpu_ns: u64,
    pub(crate) run_queue_ns: u64,
    pub(crate) blocked_ns: u64,
    /// The number of times that it was put on a CPU after another thread, and after running
    /// elsewhere.
    pub(crate) switches: u64,
    pub(crate) migrations: u64,
    /// Whether the real thread behind it is gone.
    pub(crate) buried: bool,
}

impl Thread {
    /// A thread that sleeps on nothing since `now`.
    pub(crate) fn new(name: &str, now: u64) -> Thread {
        Thread {
            name: name.to_string(),
            state: State::Blocked { on: On::Unnamed, event: None },
            rank: Priority::NORMAL.rank(),
            affinity: CpuSet::ALL,
            burst_ns: 0,
            born: now,
            since: now,
            burst_generation: 0,
            sleep_generation: 0,
            last_cpu: None,
            queued: 0,
            woken: Woken::Woken,
            cpu_ns: 0,
            run_queue_ns: 0,
            blocked_ns: 0,
            switches: 0,
            migrations: 0,
            buried: false,
        }
    }
}
