//! The time that a hypervisor and interrupts take from a thread.
//!
//! A hypervisor takes a virtual machine's processor away now and then, and interrupts take any
//! processor. The kernel leaves that time out of a thread's CPU clock, and it isn't run-queue delay
//! either, so it would have no name. On a machine that shared its host with busy neighbours it was
//! 2 to 11 % of a thread that only computed, and run-queue delay plus the kernel's *task clock*
//! made up elapsed time to 0.05 %. So where a hypervisor takes time away, the difference between
//! the task clock and the CPU clock is *stolen*.
//!
//! This holds as long as the thread keeps its CPU. When a thread is given a CPU, the task clock
//! begins a little after the CPU clock: in a virtual machine 17 us were measured, after short
//! sleeps. So the difference doesn't measure the stolen time of a thread as a whole, and is only
//! used between waits.
//!
//! The task clock is a counter that the kernel keeps per thread on request (perf_event_open).
//! Reading it costs as much as reading the CPU clock (0.4 us); keeping it costs 0.65 us at each
//! change of threads. Therefore it is kept only where the hypervisor has taken a share of time that
//! would show in an account, and where the kernel allows it.
//!
//! Callers: `linux`.
//! Sources: perf_event_open(2), proc_stat(5).

use std::cell::OnceCell;
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::sync::OnceLock;

use waits::Nanos;

use super::machine::AllCpus;
use super::schedstat;

/// The share of busy time below which stolen time doesn't show in an account.
const STOLEN_SHARE_MIN: f64 = 0.001;

/// `perf_event_attr` up to the end of its first version, as far as it is filled in here.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const KIND_SOFTWARE: u32 = 1;
/// PERF_FLAG_FD_CLOEXEC
const CLOSED_ON_EXEC: libc::c_ulong = 1 << 3;
const TASK_CLOCK: u64 = 1;
/// exclude_kernel and exclude_hv: unprivileged users may count only their own events. The task
/// clock runs all the same.
const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;

struct Counter {
    file: File,
    /// The reading of the CPU clock when the counter began.
    cpu_at_start: Nanos,
}

impl Counter {
    fn of_self() -> Option<Counter> {
        let size = u32::try_from(size_of::<Attributes>()).expect("a few bytes");
        let attributes = Attributes {
            kind: KIND_SOFTWARE,
            size,
            config: TASK_CLOCK,
            flags: EXCLUDE_KERNEL_AND_HYPERVISOR,
            ..Attributes::default()
        };
        let (this_thread, any_cpu, no_group) = (0, -1, -1);
        // SAFETY: the attributes are as long as they say, of the kernel's layout, and only read.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                this_thread,
                any_cpu,
                no_group,
                CLOSED_ON_EXEC,
            )
        };
        let descriptor = i32::try_from(descriptor).ok().filter(|number| *number >= 0)?;
        // SAFETY: the descriptor was just made and has no other owner.
        let file = unsafe { File::from_raw_fd(descriptor) };
        Some(Counter { file, cpu_at_start: schedstat::cpu_of_self() })
    }

    fn read(&self) -> Option<Nanos> {
        // The machine is little-endian: x86-64 (see the head of `linux`).
        let mut value = [0; 8];
        (&self.file).read_exact(&mut value).ok()?;
        Some(Nanos(u64::from_le_bytes(value)))
    }

    /// The time that the CPU clock lacks.
    fn stolen(&self) -> Option<Nanos> {
        let cpu = schedstat::cpu_of_self().0 - self.cpu_at_start.0;
        Some(Nanos(STARTS_AT.0.saturating_add(self.read()?.0).saturating_sub(cpu)))
    }
}

/// The start of the difference, which may also fall below it.
const STARTS_AT: Nanos = Nanos::from_secs(1 << 32);

thread_local! {
    static OWN: OnceCell<Option<Counter>> = const { OnceCell::new() };
}

/// The time stolen from the calling thread, from an arbitrary start; zero where it isn't kept.
pub(crate) fn stolen() -> Nanos {
    let stolen = || {
        let begin = || is_worth_it().then(Counter::of_self).flatten();
        OWN.try_with(|own| own.get_or_init(begin).as_ref()?.stolen()).ok().flatten()
    };
    stolen().unwrap_or_default()
}

/// The time that a hypervisor and interrupts have taken from all CPUs, and so the most that they
/// have taken from one thread; zero where a thread's stolen time isn't kept.
pub(crate) fn taken_from_machine() -> Nanos {
    let taken = || is_worth_it().then(AllCpus::read).flatten().map(AllCpus::taken_from_threads);
    taken().unwrap_or_default()
}

/// Whether a hypervisor has taken time since this machine was started.
fn is_worth_it() -> bool {
    static WORTH_IT: OnceLock<bool> = OnceLock::new();
    *WORTH_IT
        .get_or_init(|| AllCpus::read().is_some_and(|all| all.stolen_share() >= STOLEN_SHARE_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::schedstat;

    /// Together with the run-queue delay it makes up all the time of a thread that only computes.
    #[test]
    fn the_task_clock_and_the_run_queue_make_up_the_wall_clock() {
        let Some(counter) = Counter::of_self() else {
            println!("this kernel keeps no task clock for us: nothing to compare");
            return;
        };
        let kernel_ns = crate::linux::tsc::kernel_ns;
        let read = || (kernel_ns(), counter.read().expect("it could be read before"));
        let off = || {
            let (run_queue, (began, before)) = (schedstat::run_queue_of_self(), read());
            while kernel_ns() - began < 300_000_000 {}
            let ((ended, after), delayed) = (read(), schedstat::run_queue_of_self());
            let named = after.0 - before.0 + delayed.0 - run_queue.0;
            (ended - began).abs_diff(named) as f64 / (ended - began) as f64
        };
        // On a crowded machine a thread may lose its CPU between two of the readings.
        let offs: Vec<f64> = (0..5).map(|_| off()).collect();
        assert!(offs.iter().any(|off| *off < 0.005), "so much has no name: {offs:?}");
    }
}
