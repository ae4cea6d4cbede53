//! The real world: Linux 5.15 or later on x86-64.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex;
use rustix::time::Timespec;
use waits::{Nanos, Sampling, ThreadTimes, WaitEvent};

use crate::{
    Clock, CpuSet, Disk, Error, NoticeSink, Os, Port, Priority, ThreadBody, ThreadId, ThreadSpec,
    WaitWord, Woken,
};

mod disk;
mod file;
mod interrupt;
pub mod machine;
mod schedstat;
mod task_clock;
pub mod terminal;
mod threads;
pub(crate) mod tsc;
mod uring;

pub use interrupt::{cancel_is_asked, interrupted, listen, listen_for_cancel, take_cancel};
pub use tsc::ClockCheck;

/// Opens the real world; notices go to standard error.
pub fn start() -> Os {
    start_with(Arc::new(|line| {
        // A failure to write can't be reported anywhere, and nothing depends on it.
        let _ = writeln!(std::io::stderr(), "notice: {line}");
    }))
}

/// Opens the real world; notices go to `notices`.
pub fn start_with(notices: NoticeSink) -> Os {
    let clock = match tsc::calibrated() {
        Ok(tsc) => Clock::tsc(tsc),
        Err(reason) => {
            notices(&format!(
                "the time stamp counter can't be trusted ({reason}); using clock_gettime, \
                 {} a reading",
                tsc::kernel_reading_cost()
            ));
            Clock::kernel()
        }
    };
    if !schedstat::is_available() {
        notices(
            "/proc/thread-self/schedstat can't be read; run-queue delay will count as \
             unaccounted (the kernel needs CONFIG_SCHED_INFO)",
        );
    }
    interrupt::ignore_file_size_signal();
    Os::new(Arc::new(LinuxPort { clock, next_word: AtomicU64::new(1) }), notices)
}

/// The file systems of this machine.
pub fn disk() -> Disk {
    Disk::new(Arc::new(disk::LinuxDisk))
}

/// The path from the root on, which names the same file after the process changes its directory.
/// Links stay as they are.
pub fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| Error::on("find", path, &error))
}

/// Compares the time stamp counter with the kernel's clock over `length`.
pub fn check_clock(length: Duration) -> ClockCheck {
    tsc::check(length)
}

/// Puts the calling thread and its future children on one CPU, where a woken thread doesn't preempt
/// the one that woke it. This is for the simulator, whose threads run one at a time.
pub fn share_one_cpu(cpu: usize) {
    threads::share_one_cpu(cpu);
}

/// The CPU on which the calling thread runs; none where the kernel doesn't tell.
pub fn this_cpu() -> Option<usize> {
    threads::this_cpu()
}

/// The CPUs on which the calling thread may run; none where the kernel doesn't tell.
pub fn cpus_allowed() -> Vec<usize> {
    threads::cpus_allowed()
}

/// The thread's number in the kernel, for looking it up with other tools.
pub fn kernel_thread_id(thread: ThreadId) -> Option<i32> {
    threads::kernel_id(thread)
}

/// Whether this kernel reports the run-queue delay of threads.
pub fn tells_run_queue_delay() -> bool {
    schedstat::is_available()
}

/// The number of bytes that this process may lock in memory, for registered buffers; `None` for no
/// limit. The limit doesn't apply to a process with CAP_IPC_LOCK.
pub fn locked_memory_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Memlock).current
}

struct LinuxPort {
    clock: Clock,
    next_word: AtomicU64,
}

impl Port for LinuxPort {
    fn clock(&self) -> Clock {
        self.clock.clone()
    }

    fn sampling(&self) -> Sampling {
        Sampling::Adaptive
    }

    fn memory_bytes(&self) -> u64 {
        machine::memory_bytes()
    }

    fn new_word_id(&self) -> u64 {
        self.next_word.fetch_add(1, Ordering::Relaxed)
    }

    fn spawn(&self, spec: &ThreadSpec, body: ThreadBody) -> Result<ThreadId, Error> {
        threads::spawn(spec, body)
    }

    fn current_thread(&self) -> ThreadId {
        threads::current()
    }

    fn wait(
        &self,
        word: &WaitWord,
        expected: u32,
        timeout: Option<Nanos>,
        _event: WaitEvent,
    ) -> Woken {
        let timeout = timeout.map(timespec);
        match futex::wait(word.value(), futex::Flags::PRIVATE, expected, timeout.as_ref()) {
            Ok(()) | Err(Errno::INTR) => Woken::Woken,
            Err(Errno::AGAIN) => Woken::Changed,
            Err(Errno::TIMEDOUT) => Woken::TimedOut,
            Err(error) => panic!("futex wait on word {}: {error}", word.id()),
        }
    }

    fn wake(&self, word: &WaitWord, count: u32) {
        let count = count.min(i32::MAX as u32);
        if let Err(error) = futex::wake(word.value(), futex::Flags::PRIVATE, count) {
            panic!("futex wake on word {}: {error}", word.id());
        }
    }

    fn relax(&self, turn: u32) {
        /// The number of turns on the CPU before a spinning thread yields.
        const TURNS_BEFORE_YIELD: u32 = 64;
        if turn < TURNS_BEFORE_YIELD {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }

    fn interleave(&self) {}

    fn thread_times(&self, thread: ThreadId) -> ThreadTimes {
        threads::times(thread)
    }

    fn own_cpu(&self) -> Nanos {
        schedstat::cpu_of_self()
    }

    fn own_run_queue(&self) -> Nanos {
        schedstat::run_queue_of_self()
    }

    fn own_stolen(&self) -> Nanos {
        task_clock::stolen()
    }

    fn taken_from_machine(&self) -> Nanos {
        task_clock::taken_from_machine()
    }

    fn set_priority(&self, thread: ThreadId, priority: Priority) -> Result<(), Error> {
        threads::set_priority(thread, priority)
    }

    fn set_affinity(&self, thread: ThreadId, cpus: CpuSet) -> Result<(), Error> {
        threads::set_affinity(thread, cpus)
    }

    fn cpu_count(&self) -> u32 {
        std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
    }

    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        assert_eq!(filled, Ok(bytes.len()), "the kernel gives eight random bytes");
        u64::from_le_bytes(bytes)
    }

    fn calendar_us(&self) -> u64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        seconds * 1_000_000 + now.tv_nsec.unsigned_abs() / 1_000
    }
}

pub(crate) fn timespec(length: Nanos) -> Timespec {
    let seconds = length.0 / 1_000_000_000;
    Timespec {
        tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
        tv_nsec: (length.0 % 1_000_000_000) as i64,
    }
}
