//! A thread's own clocks: CPU time and run-queue delay.
//!
//! CPU time comes from the thread's CPU clock, which is exact except for the time that a hypervisor
//! takes (see `task_clock`). It never comes from schedstat's CPU field, which moves in scheduler
//! ticks. Run-queue delay comes from schedstat's second field.

use std::cell::OnceCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use waits::{Nanos, ThreadTimes};

use super::task_clock;

thread_local! {
    /// The file is opened once: reading an open file costs about a microsecond, opening it five.
    static SCHEDSTAT: OnceCell<Option<File>> = const { OnceCell::new() };
}

/// Whether this kernel tells run-queue delays.
pub(crate) fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        run_queue_field(text.as_bytes()).is_some()
    })
}

/// The times of the calling thread.
pub(crate) fn of_self() -> ThreadTimes {
    let taken_max = task_clock::taken_from_machine();
    ThreadTimes { cpu: cpu_of_self(), run_queue: run_queue_of_self(), taken_max }
}

/// Time on a CPU of the calling thread.
pub(crate) fn cpu_of_self() -> Nanos {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// The run-queue delay of the calling thread; zero where the kernel doesn't report it.
pub(crate) fn run_queue_of_self() -> Nanos {
    let told = SCHEDSTAT.try_with(|cell| {
        let file = cell.get_or_init(|| {
            is_available().then(|| File::open("/proc/thread-self/schedstat").ok()).flatten()
        });
        let Some(file) = file else { return Nanos::ZERO };
        let mut text = [0; 96];
        let length = file.read_at(&mut text, 0).unwrap_or(0);
        run_queue_field(&text[..length]).unwrap_or(Nanos::ZERO)
    });
    // The file is gone while the thread's last destructors run.
    told.unwrap_or(Nanos::ZERO)
}

/// The times of another thread of this process, by its number in the kernel; `None` once it
/// has ended.
pub(crate) fn of_kernel_thread(tid: i32) -> Option<ThreadTimes> {
    let text = std::fs::read(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    // The clock id of a thread's CPU clock: the complement of its number, then "per thread" and
    // "scheduler time" in the low three bits (linux/posix-timers.h).
    let clock = (!tid << 3) | 6;
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to be written.
    if unsafe { libc::clock_gettime(clock, &mut now) } != 0 {
        return None;
    }
    let cpu = Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64);
    let run_queue = run_queue_field(&text).unwrap_or(Nanos::ZERO);
    Some(ThreadTimes { cpu, run_queue, taken_max: task_clock::taken_from_machine() })
}

/// The second of the three numbers.
fn run_queue_field(text: &[u8]) -> Option<Nanos> {
    let field = text.split(|byte| *byte == b' ').nth(1)?;
    std::str::from_utf8(field).ok()?.parse().ok().map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second field is the run-queue delay in ns.
    #[test]
    fn the_second_field_is_the_run_queue_delay() {
        assert_eq!(run_queue_field(b"104 68744 1\n"), Some(Nanos(68_744)));
        assert_eq!(run_queue_field(b"0\n"), None);
    }

    /// CPU that a thread burns shows on its own clock, and another thread sees it too.
    #[test]
    fn burnt_cpu_shows_on_the_threads_clock() {
        let before = cpu_of_self();
        let mut x = 0u64;
        while cpu_of_self().0 - before.0 < 5_000_000 {
            x = std::hint::black_box(x.wrapping_add(1));
        }
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let seen = std::thread::spawn(move || of_kernel_thread(tid)).join().expect("no panic");
        assert!(seen.expect("alive").cpu.0 - before.0 >= 5_000_000);
    }
}
