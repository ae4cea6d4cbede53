//! The ways in which a simulation fails.

use std::fmt;

use waits::WaitEvent;

use crate::thread::On;

/// A thread that will never go on, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiter {
    /// The thread's name and number.
    pub thread: String,
    /// The event under which it waits.
    pub event: Option<WaitEvent>,
    /// The object on which it sleeps: "word 17", "completions of ring 2".
    pub on: String,
    /// When the wait began, in ns of virtual time.
    pub since_ns: u64,
}

impl fmt::Display for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = self.event.map_or("nothing that has a name", WaitEvent::name);
        write!(f, "{} waits for '{event}' on {} since {} ns", self.thread, self.on, self.since_ns)
    }
}

pub(crate) fn describe(on: On) -> String {
    match on {
        On::Word(id) => format!("word {id}"),
        On::Io(id) => format!("I/O {id}"),
        On::Ring(id) => format!("completions of ring {id}"),
        On::Unnamed => "nothing".into(),
    }
}

/// The reason why a simulation stopped before its threads had ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Threads are left and none can ever go on; the list says which waits for what.
    Deadlock(Vec<Waiter>),
    /// A thread panicked.
    Panicked {
        /// Its name.
        thread: String,
        /// The panic message.
        message: String,
    },
    /// The machine lost power, as planned. The surviving states can be had from the disks.
    PowerLost,
    /// Virtual time passed its limit.
    TimeLimit {
        /// The time of the last event, in ns.
        at_ns: u64,
        /// The threads that wait meanwhile.
        waiters: Vec<Waiter>,
    },
    /// A thread called the scheduler again and again without using any CPU: a loop that polls in no
    /// time, so that the awaited event never happens.
    NoProgress {
        /// Its name.
        thread: String,
        /// The time at which the clock stands still, in ns.
        at_ns: u64,
    },
    /// The holder of the baton didn't return to the scheduler: it blocks on something outside the
    /// simulation, or computes for ever. Its thread still exists.
    Stuck {
        /// Its name.
        thread: String,
        /// Its last entry in the log.
        last: String,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Deadlock(waiters) => {
                write!(f, "deadlock: no thread can go on")?;
                waiters.iter().try_for_each(|waiter| write!(f, "\n  {waiter}"))
            }
            Failure::Panicked { thread, message } => write!(f, "{thread} panicked: {message}"),
            Failure::PowerLost => f.write_str("the simulated machine lost power"),
            Failure::TimeLimit { at_ns, waiters } => {
                write!(f, "virtual time passed its limit; it stands at {at_ns} ns")?;
                waiters.iter().try_for_each(|waiter| write!(f, "\n  {waiter}"))
            }
            Failure::NoProgress { thread, at_ns } => write!(
                f,
                "{thread} polls without using CPU, so time stands still at {at_ns} ns: a spin \
                 calls Session::relax on every turn"
            ),
            Failure::Stuck { thread, last } => write!(
                f,
                "{thread} holds the baton and doesn't come back: it blocks on something outside \
                 the simulation or computes for ever; last seen: {last}"
            ),
        }
    }
}

impl std::error::Error for Failure {}
