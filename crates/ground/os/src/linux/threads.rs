//! Threads of this process: numbers, names, priorities, affinity, times.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use rustix::process::Pid;
use waits::ThreadTimes;

use super::schedstat;
use crate::{Cause, CpuSet, Error, Priority, ThreadBody, ThreadId, ThreadSpec};

/// The length at which Linux truncates names of threads.
const NAME_BYTES_MAX: usize = 15;

/// The number of ended threads whose last times are kept, for callers that ask while they end.
const ENDED_KEPT: usize = 1024;

#[derive(Clone, Copy)]
enum Known {
    Running { tid: i32 },
    Ended(ThreadTimes),
}

static THREADS: Mutex<Threads> =
    Mutex::new(Threads { next: 0, running: BTreeMap::new(), ended: VecDeque::new() });

struct Threads {
    next: u32,
    /// The running threads, with their numbers in the kernel.
    running: BTreeMap<ThreadId, i32>,
    /// The ended threads; the one that ended last is at the back.
    ended: VecDeque<(ThreadId, ThreadTimes)>,
}

impl Threads {
    fn give_number(&mut self) -> ThreadId {
        let id = ThreadId(self.next);
        self.next = self.next.checked_add(1).expect("under four billion threads");
        id
    }

    fn known(&self, thread: ThreadId) -> Option<Known> {
        if let Some(tid) = self.running.get(&thread) {
            return Some(Known::Running { tid: *tid });
        }
        let ended = self.ended.iter().rev().find(|(id, _)| *id == thread);
        ended.map(|(_, times)| Known::Ended(*times))
    }

    fn end(&mut self, thread: ThreadId, times: ThreadTimes) {
        self.running.remove(&thread);
        if self.ended.len() == ENDED_KEPT {
            self.ended.pop_front();
        }
        self.ended.push_back((thread, times));
    }
}

thread_local! {
    /// The calling thread's number, if it has one. It needs no destructor, so destructors of other
    /// thread-locals still find it.
    static CURRENT: Cell<Option<ThreadId>> = const { Cell::new(None) };
    static ENDING: Ending = const { Ending };
}

/// Keeps the last times of a thread when it ends, also by a panic: from then on another thread may
/// get its number in the kernel at any moment.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        let Some(id) = CURRENT.get() else { return };
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let times = schedstat::of_kernel_thread(tid).unwrap_or_default();
        threads().end(id, times);
    }
}

fn threads() -> MutexGuard<'static, Threads> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread's number, which it gets now if it had none.
pub(crate) fn current() -> ThreadId {
    CURRENT.get().unwrap_or_else(|| {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        // A thread that asks for the first time while it ends will run no such destructor.
        let runs_on = ENDING.try_with(|_| ()).is_ok();
        let mut threads = threads();
        let id = threads.give_number();
        if runs_on {
            threads.running.insert(id, tid);
        }
        CURRENT.set(Some(id));
        id
    })
}

pub(crate) fn kernel_id(thread: ThreadId) -> Option<i32> {
    threads().running.get(&thread).copied()
}

pub(crate) fn spawn(spec: &ThreadSpec, body: ThreadBody) -> Result<ThreadId, Error> {
    if spec.name.len() > NAME_BYTES_MAX || spec.name.contains('\0') {
        let what = format!("start thread {}", spec.name.escape_default());
        let detail = format!("a thread's name has at most {NAME_BYTES_MAX} bytes, none of them 0");
        return Err(Error::new(what, Cause::Invalid, detail));
    }
    let (sender, receiver) = mpsc::channel();
    let run = move || {
        grow_heap();
        sender.send(current()).expect("the starting thread waits for this");
        body();
    };
    std::thread::Builder::new().name(spec.name.clone()).spawn(run).map_err(|error| {
        Error::from_io(format!("start thread {}", spec.name), &error).advise(
            "raise the limit on processes (ulimit -u) or on memory (ulimit -v), or use fewer \
                 threads",
        )
    })?;
    Ok(receiver.recv().expect("a thread that started tells its number"))
}

/// Grows the heap of this thread once, before it works. glibc grows a thread's heap by single
/// pages, each with a call of mprotect, which waits for every other thread that changes the address
/// space. On a crowded machine sessions waited there for 7 to 28 ms, eight times in the first two
/// seconds of a load. Pages that have been grown once stay accessible.
fn grow_heap() {
    let pieces: [Vec<u8>; HEAP_PIECES] =
        std::array::from_fn(|_| Vec::with_capacity(HEAP_PIECE_BYTES));
    std::hint::black_box(&pieces);
}

/// Together the pieces are 1 MiB of addresses; untouched pages take no memory. A piece is below the
/// size from which glibc maps each piece separately (128 KiB).
const HEAP_PIECES: usize = 16;
const HEAP_PIECE_BYTES: usize = 64 << 10;

pub(crate) fn times(thread: ThreadId) -> ThreadTimes {
    if CURRENT.get() == Some(thread) {
        return schedstat::of_self();
    }
    let known = || threads().known(thread);
    if let Some(Known::Running { tid }) = known()
        && let Some(times) = schedstat::of_kernel_thread(tid)
        && matches!(known(), Some(Known::Running { .. }))
    {
        return times;
    }
    // The thread may have ended between the two looks, and left its last times.
    match known() {
        Some(Known::Ended(times)) => times,
        _ => ThreadTimes::default(),
    }
}

fn running(thread: ThreadId, what: &str) -> Result<i32, Error> {
    kernel_id(thread).ok_or_else(|| {
        let what = format!("{what} of {thread}");
        Error::new(what, Cause::NotFound, "it has ended").advise("")
    })
}

pub(crate) fn set_priority(thread: ThreadId, priority: Priority) -> Result<(), Error> {
    let what = format!("set the priority of {thread} to {priority}");
    let tid = running(thread, "set the priority")?;
    // The kernel would replace a nice value out of range by the nearest valid one.
    if !matches!(priority, Priority::Nice(-20..=19) | Priority::RealTime(1..=99)) {
        let detail = "nice is -20 to 19, real time 1 to 99";
        return Err(Error::new(what, Cause::Invalid, detail));
    }
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

/// Puts the calling thread and its future children on one CPU, under SCHED_BATCH, where a woken
/// thread doesn't preempt the one that woke it. This is for the simulator: passing its baton is
/// then one switch instead of two (measured: 1.6 times as many hand-offs a second). A machine that
/// refuses is slower, not wrong.
pub(crate) fn share_one_cpu(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let _ = rustix::thread::sched_setaffinity(None, &set);
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is a valid sched_param to be read.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters) };
}

pub(crate) fn this_cpu() -> Option<usize> {
    // SAFETY: no memory is passed.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

pub(crate) fn cpus_allowed() -> Vec<usize> {
    let set = rustix::thread::sched_getaffinity(None);
    set.map_or_else(
        |_| Vec::new(),
        |set| (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that starts threads for ever doesn't grow by them.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "as an application's, they are adopted")]
    fn threads_that_have_ended_leave_little() {
        for _ in 0..2 * ENDED_KEPT {
            std::thread::spawn(current).join().expect("no panic");
        }
        let threads = threads();
        let known = threads.running.len() + threads.ended.len();
        drop(threads);
        assert!(known <= ENDED_KEPT + 64, "{known} are known");
    }
}
