//! Threads of this process: numbers, names, priorities, affinity, times.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use rustix::process::Pid;
use waits::ThreadTimes;

use super::schedstat;
use crate::{Cause, CpuSet, Error, Priority, ThreadBody, ThreadId, ThreadSpec};

/// Linux cuts names of threads here.
const NAME_BYTES_MAX: usize = 15;

#[derive(Clone, Copy)]
enum Known {
    Running { tid: i32 },
    Ended(ThreadTimes),
}

static THREADS: Mutex<Vec<Known>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Cell<Option<ThreadId>> = const { Cell::new(None) };
}

fn threads() -> MutexGuard<'static, Vec<Known>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread's number; given now if it had none.
pub(crate) fn current() -> ThreadId {
    CURRENT.with(|current| {
        current.get().unwrap_or_else(|| {
            let tid = rustix::thread::gettid().as_raw_nonzero().get();
            let mut threads = threads();
            let id = ThreadId(u32::try_from(threads.len()).expect("under four billion threads"));
            threads.push(Known::Running { tid });
            current.set(Some(id));
            id
        })
    })
}

pub(crate) fn kernel_id(thread: ThreadId) -> Option<i32> {
    match threads().get(thread.0 as usize) {
        Some(Known::Running { tid }) => Some(*tid),
        _ => None,
    }
}

pub(crate) fn spawn(spec: &ThreadSpec, body: ThreadBody) -> Result<ThreadId, Error> {
    if spec.name.len() > NAME_BYTES_MAX {
        let detail = format!("a thread's name has at most {NAME_BYTES_MAX} bytes");
        return Err(Error::new(format!("start thread {}", spec.name), Cause::Invalid, detail));
    }
    let (sender, receiver) = mpsc::channel();
    let run = move || {
        let id = current();
        sender.send(id).expect("the starting thread waits for this");
        let _ended = Ended(id);
        body();
    };
    std::thread::Builder::new().name(spec.name.clone()).spawn(run).map_err(|error| {
        Error::from_io(format!("start thread {}", spec.name), &error)
            .advise("raise the limit on processes (ulimit -u) or use fewer threads")
    })?;
    Ok(receiver.recv().expect("a thread that started tells its number"))
}

/// Keeps a thread's last times when it ends, also by a panic.
struct Ended(ThreadId);

impl Drop for Ended {
    fn drop(&mut self) {
        let times = of_self();
        threads()[self.0.0 as usize] = Known::Ended(times);
    }
}

fn of_self() -> ThreadTimes {
    ThreadTimes { cpu: schedstat::cpu_of_self(), run_queue: schedstat::run_queue_of_self() }
}

pub(crate) fn times(thread: ThreadId) -> ThreadTimes {
    if CURRENT.with(Cell::get) == Some(thread) {
        return of_self();
    }
    match threads().get(thread.0 as usize).copied() {
        Some(Known::Running { tid }) => schedstat::of_kernel_thread(tid).unwrap_or_default(),
        Some(Known::Ended(times)) => times,
        None => ThreadTimes::default(),
    }
}

fn running(thread: ThreadId, what: &str) -> Result<i32, Error> {
    kernel_id(thread)
        .ok_or_else(|| Error::new(format!("{what} of {thread}"), Cause::NotFound, "it has ended"))
}

pub(crate) fn set_priority(thread: ThreadId, priority: Priority) -> Result<(), Error> {
    let what = format!("set the priority of {thread} to {priority}");
    let tid = running(thread, "set the priority")?;
    let (policy, level) = match priority {
        Priority::Nice(_) => (libc::SCHED_OTHER, 0),
        Priority::RealTime(level) => (libc::SCHED_RR, i32::from(level)),
    };
    let parameters = libc::sched_param { sched_priority: level };
    // SAFETY: `parameters` is a valid sched_param to be read.
    let result = unsafe { libc::sched_setscheduler(tid, policy, &parameters) };
    let result = if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) };
    let result = result.and_then(|()| match priority {
        Priority::Nice(nice) => {
            rustix::process::setpriority_process(Pid::from_raw(tid), nice.into())
                .map_err(std::io::Error::from)
        }
        Priority::RealTime(_) => Ok(()),
    });
    result.map_err(|error| {
        let error = Error::from_io(what, &error);
        if error.cause() != Cause::PermissionDenied {
            return error;
        }
        error.advise(
            "run as root, give the program the capability (setcap cap_sys_nice+ep), or raise the \
             limit (ulimit -e for nice, ulimit -r for real time)",
        )
    })
}

/// Puts the calling thread and those that it starts on one CPU, and under SCHED_BATCH, where a
/// thread that is woken doesn't push aside the one that woke it. For the simulator: passing its
/// baton is then one switch instead of two (measured: 1.6 times as many hand-offs a second).
/// A machine that refuses is slower, not wrong.
pub(crate) fn share_one_cpu(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let _ = rustix::thread::sched_setaffinity(None, &set);
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is a valid sched_param to be read.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters) };
}

pub(crate) fn set_affinity(thread: ThreadId, cpus: CpuSet) -> Result<(), Error> {
    let tid = running(thread, "set the CPUs")?;
    let mut set = rustix::thread::CpuSet::new();
    for cpu in (0..CpuSet::CPUS_MAX).filter(|cpu| cpus.contains(*cpu)) {
        set.set(cpu as usize);
    }
    rustix::thread::sched_setaffinity(Pid::from_raw(tid), &set).map_err(|error| {
        let what = format!("set the CPUs on which {thread} may run");
        Error::from_io(what, &error.into()).advise("name CPUs that this machine has")
    })
}
