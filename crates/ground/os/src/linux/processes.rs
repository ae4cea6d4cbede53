//! The CPU time that other processes of the machine have taken.
//!
//! Each process is asked for its own clock, which is exact to the nanosecond. `/proc/stat` is
//! sampled by the scheduler's ticks, of which a tenth of a second has 25, and holds what the kernel
//! does on our behalf: beside a load of small commits its own threads and soft interrupts had 22 %
//! of a CPU, which more writes would raise. Neither is here, but for interrupts that came while
//! another process ran: those stay on that one's clock.
//!
//! Processes that come and go between two readings are missed, and of one that ends, what it did
//! since the last.
//!
//! Where the machine's processes aren't seen (in a container, or if `/proc` is mounted with
//! `hidepid`) it is the machine's user time without our own, by ticks.
//!
//! Callers: the lab, for its covariates.
//! Sources: clock_getcpuclockid(3), proc_pid_stat(5); PF_KTHREAD in Linux' `include/linux/sched.h`.

use std::collections::BTreeMap;
use std::fs;

use waits::Nanos;

use super::machine;

/// The flag of a thread of the kernel.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The other processes of the machine.
#[derive(Default)]
pub struct OtherProcesses {
    known: BTreeMap<i32, Process>,
    /// Of all of them, ended ones too.
    total: Nanos,
}

/// A process that was there at the last reading.
enum Process {
    /// One of the kernel's, or this one.
    NotCounted,
    Counted {
        clock: libc::clockid_t,
        last: Nanos,
    },
}

impl OtherProcesses {
    /// Their CPU time, since some moment in the past: only differences say something. It costs
    /// about a microsecond a process of the machine.
    pub fn cpu(&mut self) -> Nanos {
        if !are_seen() {
            return machine::user_time_of_others();
        }
        let mut before = std::mem::take(&mut self.known);
        for pid in pids() {
            let process = before.remove(&pid).or_else(|| Process::find(pid));
            let Some(mut process) = process else { continue };
            self.total.0 += process.since_last(pid).0;
            self.known.insert(pid, process);
        }
        self.total
    }
}

impl Process {
    /// One that wasn't there before; none if it has ended meanwhile.
    fn find(pid: i32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        if pid == own_pid() || is_kernel_thread(&stat)? {
            return Some(Process::NotCounted);
        }
        let mut clock = 0;
        // SAFETY: it writes a clock's number to the place that is given.
        let error = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
        (error == 0).then_some(Process::Counted { clock, last: Nanos::ZERO })
    }

    /// What it has taken since it was asked last.
    fn since_last(&mut self, pid: i32) -> Nanos {
        let Process::Counted { clock, last } = self else { return Nanos::ZERO };
        // It has ended.
        let Some(now) = read(*clock) else { return Nanos::ZERO };
        if now < *last {
            // Another has its number now, which may be one of ours or the kernel's.
            *self = Process::find(pid).unwrap_or(Process::NotCounted);
            return self.since_last(pid);
        }
        let since = Nanos(now.0 - last.0);
        *last = now;
        since
    }
}

/// Whether those of the whole machine are in `/proc`: the kernel's first thread is, which no
/// namespace of processes but the machine's own has.
fn are_seen() -> bool {
    fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n")
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

fn pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.filter_map(Result::ok).filter_map(pid).collect()
}

/// By the flags in `/proc/PID/stat`: the seventh word behind the name, which is in brackets and may
/// hold any character.
fn is_kernel_thread(stat: &str) -> Option<bool> {
    let (_, behind) = stat.rsplit_once(')')?;
    let flags: u64 = behind.split_whitespace().nth(6)?.parse().ok()?;
    Some(flags & KERNEL_THREAD != 0)
}

/// A process' clock; none if it has ended.
fn read(clock: libc::clockid_t) -> Option<Nanos> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes a time to the place that is given.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (result == 0).then_some(Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_process_is_counted_while_it_runs_and_stays_counted_when_it_has_ended() {
        let mut processes = OtherProcesses::default();
        let begin = processes.cpu();
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh");
        std::thread::sleep(Duration::from_millis(200));
        let running = processes.cpu();
        busy.kill().expect("it runs");
        busy.wait().expect("it has ended");
        let ended = processes.cpu();
        assert!(running.0 > begin.0 + 10_000_000, "{begin:?} {running:?}");
        assert!(ended >= running, "{running:?} {ended:?}");
        // Where the machine isn't seen nothing is known.
        assert!(!are_seen() || !processes.known.is_empty());
        assert!(!processes.known.contains_key(&i32::try_from(busy.id()).expect("a number")));
    }

    #[test]
    fn what_this_process_does_is_not_counted() {
        assert!(matches!(Process::find(own_pid()), Some(Process::NotCounted)));
    }

    #[test]
    fn a_thread_of_the_kernel_is_known_by_its_flags() {
        let of = |flags: u64| is_kernel_thread(&format!("7 (a) b ) S 1 2 3 4 5 {flags} 8 9"));
        assert_eq!([of(0x0020_8040), of(0x0040_0100)], [Some(true), Some(false)]);
        assert_eq!(is_kernel_thread("7 (a"), None);
    }

    /// A number that another process has now: its clock is behind the last reading.
    #[test]
    fn a_number_may_be_given_away_again() {
        let mut sleeping = Command::new("sleep").arg("10").spawn().expect("sleep");
        let pid = i32::try_from(sleeping.id()).expect("a number");
        let Some(Process::Counted { clock, .. }) = Process::find(pid) else { panic!("it runs") };
        let mut process = Process::Counted { clock, last: Nanos::from_millis(60_000) };
        let since = process.since_last(pid);
        sleeping.kill().expect("it runs");
        sleeping.wait().expect("it has ended");
        assert!(since > Nanos::ZERO && since < Nanos::from_millis(60_000), "{since:?}");
    }
}
