//! Threads: named, with a session each, joined by waiting.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use waits::{SessionKind, WaitEvent};

use crate::{Cost, Error, Os, Session, ThreadBody, WaitWord};

/// A thread's number in its world: 0 is the first. Not the kernel's id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub u32);

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

/// The CPUs on which a thread may run, by number; at most 128.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuSet(u128);

impl CpuSet {
    /// The number of CPUs that a set can hold.
    pub const CPUS_MAX: u32 = 128;
    /// Every CPU there is.
    pub const ALL: CpuSet = CpuSet(u128::MAX);

    /// One CPU.
    pub fn one(cpu: u32) -> CpuSet {
        assert!(cpu < CpuSet::CPUS_MAX, "CPU {cpu} is beyond the limit");
        CpuSet(1 << cpu)
    }

    /// This set and one more CPU.
    #[must_use]
    pub fn with(self, cpu: u32) -> CpuSet {
        CpuSet(self.0 | CpuSet::one(cpu).0)
    }

    /// Whether it holds a CPU.
    pub fn contains(self, cpu: u32) -> bool {
        cpu < CpuSet::CPUS_MAX && self.0 & (1 << cpu) != 0
    }
}

/// The priority of a thread for a CPU. Real time comes before everything else; a lower nice value
/// before a higher one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// The usual kind: -20 (most) to 19 (least); 0 is normal.
    Nice(i8),
    /// Round robin real time: 1 (least) to 99 (most).
    RealTime(u8),
}

impl Priority {
    /// The priority with which a thread starts.
    pub const NORMAL: Priority = Priority::Nice(0);

    /// The priority as one number, larger for more: a scheduler with strict priorities sorts by it.
    pub fn rank(self) -> i32 {
        match self {
            Priority::Nice(nice) => -i32::from(nice),
            Priority::RealTime(level) => 100 + i32::from(level),
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Priority::Nice(nice) => write!(f, "nice {nice}"),
            Priority::RealTime(level) => write!(f, "real time {level}"),
        }
    }
}

/// The specification of a new thread.
#[derive(Clone, Debug)]
pub struct ThreadSpec {
    /// At most 15 bytes, as `top -H` and `ps -L` show it: `fb_dbw0`.
    pub name: String,
    /// Whether its session works for a user or for the instance.
    pub kind: SessionKind,
}

impl ThreadSpec {
    /// A process of the instance.
    pub fn background(name: impl Into<String>) -> ThreadSpec {
        ThreadSpec { name: name.into(), kind: SessionKind::Background }
    }

    /// A user's connection.
    pub fn foreground(name: impl Into<String>) -> ThreadSpec {
        ThreadSpec { name: name.into(), kind: SessionKind::Foreground }
    }
}

/// A thread ended by a panic. Its message went to the panic hook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Panicked {
    /// The thread's name.
    pub thread: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} panicked", self.thread)
    }
}

impl std::error::Error for Panicked {}

const RUNNING: u32 = 0;
const ENDED: u32 = 1;
const PANICKED: u32 = 2;

/// A started thread. Dropping the handle lets it run on.
#[derive(Debug)]
pub struct ThreadHandle {
    name: String,
    id: ThreadId,
    state: Arc<WaitWord>,
}

impl ThreadHandle {
    /// Its number.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.state.value().load(Ordering::Acquire) != RUNNING
    }

    /// Waits (`process exit`) until the thread has ended.
    pub fn join(&self, session: &Session) -> Result<(), Panicked> {
        while !self.has_ended() {
            let waiting = session.waiting(WaitEvent::ProcessExit).p(u64::from(self.id.0), 0, 0);
            let _ = self.state.wait(RUNNING, None, waiting);
        }
        match self.state.value().load(Ordering::Acquire) {
            ENDED => Ok(()),
            _ => Err(Panicked { thread: self.name.clone() }),
        }
    }
}

/// Marks the thread as ended when it leaves, also by a panic. This comes after its session has
/// ended, so that a thread that joins finds all its figures among those of the ended sessions.
struct Leaving {
    os: Os,
    state: Arc<WaitWord>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let state = if std::thread::panicking() { PANICKED } else { ENDED };
        self.state.value().store(state, Ordering::Release);
        self.os.clock().charge(Cost::Wake, 1);
        self.os.port().wake(&self.state, u32::MAX);
    }
}

pub(crate) fn spawn(
    session: &Session,
    spec: ThreadSpec,
    body: Box<dyn FnOnce(&Session) + Send>,
) -> Result<ThreadHandle, Error> {
    let os = session.os().clone();
    let state = Arc::new(WaitWord::new(&os, RUNNING));
    let (name, kind, state_inside) = (spec.name.clone(), spec.kind, Arc::clone(&state));
    let run: ThreadBody = Box::new(move || {
        let leaving = Leaving { os, state: state_inside };
        let session = Session::open(&leaving.os, &name, kind);
        body(&session);
    });
    let waiting = session.waiting(WaitEvent::OsThreadCreation);
    let id = waiting.around(|session, _| {
        session.charge(crate::Cost::ThreadSpawn, 1);
        (session.os().port().spawn(&spec, run), false)
    })?;
    Ok(ThreadHandle { name: spec.name, id, state })
}

/// Whether `pattern` matches a process, which is named as its thread is: a name without `fb_`, in
/// which `*` stands for any characters. Capital letters are as good as small ones.
pub fn is_process(pattern: &str, name: &str) -> bool {
    let name = name.strip_prefix("fb_").unwrap_or(name).to_ascii_lowercase();
    let pattern = pattern.to_ascii_lowercase();
    let Some((first, others)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut middle: Vec<&str> = others.split('*').collect();
    let last = middle.pop().unwrap_or_default();
    for piece in middle {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_the_names_that_it_should() {
        let cases = [
            ("lgwr", "fb_lgwr", true),
            ("LG*", "fb_lgwr", true),
            ("dbw*", "fb_dbw12", true),
            ("dbw1", "fb_dbw12", false),
            ("*w*2", "fb_dbw12", true),
            ("*w*2", "fb_dbw122", true),
            ("*2*", "fb_dbw12", true),
            ("*", "fb_ckpt", true),
            ("ck*t", "fb_ckpt", true),
            ("ck*pt*t", "fb_ckpt", false),
            ("c*p", "fb_ckpt", false),
        ];
        for (pattern, process, means) in cases {
            assert_eq!(is_process(pattern, process), means, "{pattern} {process}");
        }
    }
}
