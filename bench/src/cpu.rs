//! CPU time of processes, counted so that two programs can be compared per I/O.
//!
//! What belongs to a program's I/O (RM6) is the time of the threads that submit and reap it *and*
//! of the kernel's io_uring workers (`iou-wrk-*`, `iou-sqp-*`): threads of the process that do what
//! could not be done inline, always so for fsync. Interrupts and the kernel's own worker threads
//! are charged to nobody in particular and left out on both sides.
//!
//!   * Ours: [`own`] before and after a run. It counts every thread of this process, dead ones and
//!     io_uring workers included, to the nanosecond.
//!   * A rival's workers: [`io_workers`], sampled while it runs.
//!   * A rival as a whole: [`of_ended`], in clock ticks of 10 ms, read between its end and its
//!     burial. It includes the start-up, so it is a cross-check, not a figure per I/O.
//!
//! Callers: `child`, and the closures of a race.
//! Sources: proc_pid_stat(5); Documentation/scheduler/sched-stats.rst (schedstat);
//! io_uring/io-wq.c (workers are threads of the submitter's process).

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};

/// The CPU time this process has used, in all its threads since its start.
pub fn own() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).expect("a process's CPU time isn't negative");
    let nanos = u32::try_from(time.tv_nsec).expect("nanoseconds are below 10^9");
    Duration::new(seconds, nanos)
}

/// The CPU time of each living io_uring worker of a process, by thread id. A process that is gone
/// has none.
pub(crate) fn io_workers(process: Pid) -> BTreeMap<u32, Duration> {
    let folder = format!("/proc/{}/task", process.as_raw_nonzero());
    let mut workers = BTreeMap::new();
    for task in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A thread may end between two reads: it is then simply not there.
        let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if !is_io_worker(&name) {
            continue;
        }
        let schedstat = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        if let Some(nanos) = schedstat.split(' ').next().and_then(|first| first.parse().ok()) {
            workers.insert(thread, Duration::from_nanos(nanos));
        }
    }
    workers
}

fn is_io_worker(name: &str) -> bool {
    name.starts_with("iou-wrk-") || name.starts_with("iou-sqp-")
}

/// The CPU time of a child that has ended and has not been waited for yet, all threads together.
pub(crate) fn of_ended(process: Pid) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    let ticks = ticks_of_stat(&stat)?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// utime + stime: the 14th and 15th field, counted after the name, which may hold anything.
fn ticks_of_stat(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut times = after_name.split_whitespace().skip(11);
    let user: u64 = times.next()?.parse().ok()?;
    let system: u64 = times.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_cpu_time_counts_threads_that_have_ended() {
        let used =
            || Duration::from_nanos(clock_gettime(ClockId::ThreadCPUTime).tv_nsec.unsigned_abs());
        let start = own();
        let burner = std::thread::spawn(move || {
            // A new thread starts at zero, so the nanoseconds alone tell its first second.
            while used() < Duration::from_millis(30) {
                std::hint::spin_loop();
            }
        });
        burner.join().expect("the burner doesn't panic");
        assert!(own() - start >= Duration::from_millis(30));
    }

    #[test]
    fn the_times_of_a_process_are_found_behind_any_name() {
        let stat = "42 (a) b) R) S 1 42 42 0 -1 4194304 90 0 0 0 17 25 0 0 20 0 1 0 99 0 0";
        assert_eq!(ticks_of_stat(stat), Some(42));
        assert_eq!(ticks_of_stat("42 (cut"), None);
    }

    #[test]
    fn only_io_uring_workers_count_as_workers() {
        assert!(is_io_worker("iou-wrk-4711\n") && is_io_worker("iou-sqp-4711\n"));
        assert!(!is_io_worker("fio\n") && !is_io_worker("kworker/0:1\n"));
    }
}
