//! Threads to measure in, each on CPUs of its own choice; and what making one costs.
//!
//! Callers: `rounds`, `sleeping`, `migration`.

use std::sync::mpsc;

use os::{Cost, CpuSet, Session, ThreadHandle, ThreadSpec};

use super::clock::Windows;
use super::figure::Figure;

/// Threads made in a round.
const THREADS: u32 = 16;

/// The CPUs on which this process may run, those that an [`os::CpuSet`] can name.
pub(super) fn cpus() -> Vec<u32> {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::CPUS_MAX).filter(|cpu| allowed.is_set(*cpu as usize)).collect()
}

/// A thread at work, and what it will say.
pub(super) struct Job<R> {
    thread: ThreadHandle,
    said: mpsc::Receiver<R>,
}

impl<R: Send + 'static> Job<R> {
    /// Starts `work` in a thread of its own.
    pub(super) fn start(
        session: &Session,
        name: &str,
        work: impl FnOnce(&Session) -> R + Send + 'static,
    ) -> Result<Job<R>, String> {
        let (sender, said) = mpsc::channel();
        let body = move |session: &Session| {
            // Nobody listens if the other side has failed: then it says why.
            let _ = sender.send(work(session));
        };
        let thread = session.spawn(ThreadSpec::background(name), body);
        Ok(Job { thread: thread.map_err(|error| error.to_string())?, said })
    }

    /// Waits for what it says.
    pub(super) fn join(self, session: &Session) -> Result<R, String> {
        self.thread.join(session).map_err(|panicked| panicked.to_string())?;
        self.said.recv().map_err(|_| "a thread ended without a result".to_string())
    }
}

/// Puts the calling thread on one CPU.
pub(super) fn go_to(cpu: u32, session: &Session) -> Result<(), String> {
    let moved = session.os().set_affinity(session.thread(), CpuSet::one(cpu));
    moved.map_err(|error| error.to_string())
}

/// What making a thread costs the one that makes it.
pub(super) fn round(session: &Session) -> Result<Vec<(Figure, f64)>, String> {
    let mut spawns = Windows::new();
    for _ in 0..THREADS {
        let thread = spawns.around(|| session.spawn(ThreadSpec::background("cal_idle"), |_| ()));
        let thread = thread.map_err(|error| error.to_string())?;
        thread.join(session).map_err(|panicked| panicked.to_string())?;
    }
    Ok(vec![(Figure::Cost(Cost::ThreadSpawn), spawns.median_ns())])
}
