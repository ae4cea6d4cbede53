//! How a simulation can end other than well.

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
    /// What it sleeps on: "word 17", "completions of ring 2".
    pub on: String,
    /// Since when, in ns of virtual time.
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

/// Why a simulation stopped before its threads had ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Threads are left and none can ever go on: who waits for what.
    Deadlock(Vec<Waiter>),
    /// A thread panicked.
    Panicked {
        /// Its name.
        thread: String,
        /// What it said.
        message: String,
    },
    /// The machine lost power, as it was told to. What survived can be had from the disks.
    PowerLost,
    /// Virtual time passed its limit.
    TimeLimit {
        /// When the last thing happened, in ns.
        at_ns: u64,
        /// Who waits for what meanwhile.
        waiters: Vec<Waiter>,
    },
    /// A thread came to the scheduler again and again without using any CPU: a loop that polls in
    /// no time, so that what it waits for never happens.
    NoProgress {
        /// Its name.
        thread: String,
        /// Where time stands still, in ns.
        at_ns: u64,
    },
    /// The holder of the baton didn't come back to the scheduler: it blocks on something foreign,
    /// or computes for ever. Its thread is still there.
    Stuck {
        /// Its name.
        thread: String,
        /// The last thing that the log has of it.
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
