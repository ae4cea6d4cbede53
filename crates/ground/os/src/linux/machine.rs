//! The origin of a figure: one line on the machine, one on the file system of a folder.
//!
//! The lines are read from /proc. A fact that can't be read is called unknown: no measurement is
//! stopped by its header.
//!
//! Callers: races, for their header and settings; the lab, for its rows.
//! Sources: proc(5), proc_pid_mountinfo(5).

use std::fs;
use std::path::{Path, PathBuf};

use rustix::time::{self, ClockId};
use waits::Nanos;

/// Kernel, CPU model, cores and memory, in one line.
pub fn line() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let kernel = format!(
        "{} {}",
        or_unknown(read("/proc/sys/kernel/ostype").trim()),
        or_unknown(read("/proc/sys/kernel/osrelease").trim()),
    );
    describe(&kernel, &read("/proc/cpuinfo"), &read("/proc/meminfo"))
}

/// The bytes of memory that a program can have: those of the machine and its swap space, or the
/// limit of its control group, whichever is less.
pub(super) fn memory_bytes() -> u64 {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    memory_of(&read("/proc/meminfo"), &limits.map(read))
}

fn memory_of(meminfo: &str, limits: &[String]) -> u64 {
    let kib = |name| field(meminfo, name)?.split_whitespace().next()?.parse::<u64>().ok();
    let all = kib("MemTotal").map(|total| (total + kib("SwapTotal").unwrap_or(0)) << 10);
    let limits = limits.iter().filter_map(|text| text.trim().parse().ok());
    limits.chain(all).min().unwrap_or(u64::MAX)
}

/// All cores of the machine, also those that the calling thread may not use.
fn describe(kernel: &str, cpuinfo: &str, meminfo: &str) -> String {
    let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let model = field(cpuinfo, "model name").unwrap_or("unknown CPU");
    let memory = field(meminfo, "MemTotal")
        .and_then(|kib| kib.split_whitespace().next()?.parse::<f64>().ok())
        .map_or("memory unknown".into(), |kib| format!("{:.1} GiB", kib / (1024.0 * 1024.0)));
    let cores = match cores {
        0 => "cores unknown".into(),
        1 => "1 core".into(),
        more => format!("{more} cores"),
    };
    format!("{kernel} {}, {model}, {cores}, {memory}", std::env::consts::ARCH)
}

/// What the CPUs of this machine have done since it started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuTimes {
    /// How many CPUs these are: all that are online, also those that this process may not use.
    pub cpus: u32,
    /// The CPU time of this process.
    pub own: Nanos,
    /// The CPU time of everything else, the kernel's threads and interrupts among it.
    pub others: Nanos,
    /// The time that a hypervisor gave to other machines while a CPU of this one wanted to run.
    pub stolen: Nanos,
}

/// Reads the CPU times; all zero where they can't be read. The kernel counts those of the whole
/// machine in hundredths of a second, so differences over less than a second are coarse.
pub fn cpu_times() -> CpuTimes {
    let own = time::clock_gettime(ClockId::ProcessCPUTime);
    let own = Nanos(own.tv_sec as u64 * 1_000_000_000 + own.tv_nsec as u64);
    cpu_times_of(&fs::read_to_string("/proc/stat").unwrap_or_default(), own)
}

/// How often threads of this process have given up a CPU, of their own will or not, ended ones too.
pub fn context_switches() -> u64 {
    // SAFETY: a zeroed rusage is a valid one, and it is only written by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let _ = libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    u64::try_from(usage.ru_nvcsw + usage.ru_nivcsw).unwrap_or(0)
}

fn cpu_times_of(stat: &str, own: Nanos) -> CpuTimes {
    let Some(all) = AllCpus::of(stat) else { return CpuTimes { own, ..CpuTimes::default() } };
    // The first line is of all together.
    let cpus = stat.lines().filter(|line| line.starts_with("cpu")).count() as u32 - 1;
    CpuTimes { cpus, own, others: Nanos(all.busy().0.saturating_sub(own.0)), stolen: all.stolen }
}

/// What the first line of `/proc/stat` tells, since the machine started.
#[derive(Clone, Copy)]
pub(super) struct AllCpus {
    /// User, nice and system; guests are in them already.
    threads: Nanos,
    /// Hardware interrupts.
    interrupts: Nanos,
    soft_interrupts: Nanos,
    stolen: Nanos,
}

impl AllCpus {
    /// Reads the line.
    pub(super) fn read() -> Option<AllCpus> {
        AllCpus::of(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The line is `cpu user nice system idle iowait irq softirq steal guest guest_nice`.
    fn of(stat: &str) -> Option<AllCpus> {
        const TICK_NS: u64 = 10_000_000;
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks[..] else {
            return None;
        };
        Some(AllCpus {
            threads: Nanos((user + nice + system) * TICK_NS),
            interrupts: Nanos(irq * TICK_NS),
            soft_interrupts: Nanos(softirq * TICK_NS),
            stolen: Nanos(steal * TICK_NS),
        })
    }

    /// The time in which CPUs did something.
    fn busy(self) -> Nanos {
        Nanos(self.threads.0 + self.interrupts.0 + self.soft_interrupts.0)
    }

    /// Stolen time as a share of the time in which CPUs did or wanted to do something.
    pub(super) fn stolen_share(self) -> f64 {
        self.stolen.0 as f64 / (self.busy().0 + self.stolen.0).max(1) as f64
    }

    /// The time that didn't go onto the clock of the thread that had the CPU. A kernel that doesn't
    /// measure interrupts (CONFIG_IRQ_TIME_ACCOUNTING) counts no hardware interrupts, and leaves
    /// the time of all of them on the threads' clocks.
    pub(super) fn taken_from_threads(self) -> Nanos {
        let interrupts = match self.interrupts {
            Nanos::ZERO => 0,
            interrupts => interrupts.0 + self.soft_interrupts.0,
        };
        Nanos(self.stolen.0 + interrupts)
    }
}

/// The value of the first `name : value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}

/// The number that the kernel drew when it was started: another one for each machine, each kernel
/// and each start.
pub(super) fn boot() -> Option<String> {
    let number = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("boot {}", number.trim()))
}

/// The file system that holds `path`: type, device and mount point, as in `ext4 on /dev/vda at /`.
pub fn file_system(path: &Path) -> String {
    let found = mount_of(&mounts(), &real(path)).map(|mount| mount.line());
    found.unwrap_or_else(|| "file system unknown".into())
}

/// The same, with the options with which it is mounted.
pub(super) fn mount(path: &Path) -> Option<String> {
    let mounts = mounts();
    let mount = mount_of(&mounts, &real(path))?;
    Some(format!("{} ({}; {})", mount.line(), mount.options, mount.kind_options))
}

fn mounts() -> String {
    // Somebody else's mount point may be no text: the other lines count.
    let bytes = fs::read("/proc/self/mountinfo").unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// A line of mountinfo.
struct Mount<'a> {
    /// As it is written there.
    point: &'a str,
    options: &'a str,
    kind: &'a str,
    device: &'a str,
    /// The options of this kind of file system.
    kind_options: &'a str,
}

impl<'a> Mount<'a> {
    /// Reads a line `number above device root point options … - kind device kind-options`.
    fn read(line: &'a str) -> Option<Mount<'a>> {
        let (place, source) = line.split_once(" - ")?;
        let (mut place, mut source) = (place.split(' ').skip(4), source.split(' '));
        Some(Mount {
            point: place.next()?,
            options: place.next().unwrap_or_default(),
            kind: source.next()?,
            device: source.next()?,
            kind_options: source.next().unwrap_or_default(),
        })
    }

    fn line(&self) -> String {
        format!("{} on {} at {}", self.kind, self.device, self.point)
    }
}

/// The deepest mount point above `path`; among those mounted over each other, the last.
fn mount_of<'a>(mountinfo: &'a str, path: &Path) -> Option<Mount<'a>> {
    let all = mountinfo.lines().filter_map(Mount::read);
    let above = all.filter(|mount| path.starts_with(unescaped(mount.point)));
    above.max_by_key(|mount| Path::new(mount.point).components().count())
}

/// A name that mountinfo writes: in place of a blank, of other white space and of a backslash it
/// has a backslash with three octal digits.
fn unescaped(written: &str) -> String {
    let mut parts = written.split('\\');
    let mut name = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(sign) => {
                name.push(char::from(sign));
                name.push_str(&part[3..]);
            }
            None => {
                name.push('\\');
                name.push_str(part);
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_described_in_one_line() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.80GHz\nflags\t\t: fpu\n\n";
        let meminfo = "MemTotal:       16302304 kB\nMemFree: 1 kB\n";
        let line = describe("Linux 6.1.0", &cpuinfo.repeat(2), meminfo);
        let arch = std::env::consts::ARCH;
        assert_eq!(line, format!("Linux 6.1.0 {arch}, Some CPU @ 2.80GHz, 2 cores, 15.5 GiB"));
    }

    #[test]
    fn memory_is_that_of_the_machine_or_of_the_control_group() {
        let meminfo = "MemTotal:       1024 kB\nSwapTotal:  1024 kB\n";
        let limits = |text: &str| [text.to_string(), String::new()];
        assert_eq!(memory_of(meminfo, &limits("max\n")), 2 << 20);
        assert_eq!(memory_of(meminfo, &limits("65536\n")), 65_536);
        assert_eq!(memory_of("", &limits("")), u64::MAX);
        assert!(memory_bytes() > 1 << 20);
    }

    #[test]
    fn what_others_use_is_the_machine_s_time_without_our_own() {
        let stat = "cpu  100 10 50 900 7 3 2 40 0 0\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 7\n";
        let times = cpu_times_of(stat, Nanos::from_millis(600));
        let expected = CpuTimes {
            cpus: 2,
            own: Nanos::from_millis(600),
            others: Nanos::from_millis(1_050),
            stolen: Nanos::from_millis(400),
        };
        assert_eq!(times, expected);
        assert_eq!(cpu_times_of("", Nanos(1)), CpuTimes { own: Nanos(1), ..CpuTimes::default() });
        assert!(cpu_times().own > Nanos::ZERO);
    }

    #[test]
    fn a_sleep_is_a_context_switch() {
        let before = context_switches();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(context_switches() > before);
    }

    #[test]
    fn the_stolen_share_is_of_the_time_that_was_wanted() {
        let of = |stat| AllCpus::of(stat).map(AllCpus::stolen_share);
        assert_eq!(of("cpu  600 0 200 9000 100 0 100 100 0 0\ncpu0 1 2 3\n"), Some(0.1));
        assert_eq!(of("cpu  0 0 0 9000 0 0 0 0 0 0\n"), Some(0.0));
        assert_eq!(of("cpu  1 2 3\n"), None);
    }

    /// Interrupts count where the kernel measures them.
    #[test]
    fn what_was_taken_from_threads_is_stolen_time_and_measured_interrupts() {
        let of = |stat| AllCpus::of(stat).map(|all| all.taken_from_threads().0 / 10_000_000);
        assert_eq!(of("cpu  600 0 200 9000 100 0 30 5 0 0\n"), Some(5));
        assert_eq!(of("cpu  600 0 200 9000 100 1 30 5 0 0\n"), Some(36));
    }

    #[test]
    fn what_proc_does_not_say_is_called_unknown() {
        let line = describe("Linux 6.1.0", "", "");
        assert!(line.ends_with("unknown CPU, cores unknown, memory unknown"), "{line}");
    }

    #[test]
    fn this_machine_has_a_kernel_and_cores() {
        let line = line();
        assert!(line.starts_with("Linux ") && line.contains(" core") && !line.contains('\n'));
    }

    #[test]
    fn the_deepest_and_last_mount_above_a_path_is_its_file_system() {
        let mounts = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                      30 22 0:5 / /data rw shared:1 - xfs /dev/vdb rw\n\
                      31 22 0:6 / /data rw - tmpfs none rw\n\
                      32 22 0:7 / /database rw - btrfs /dev/vdc rw\n\
                      33 22 0:8 / /my\\040disk rw,sync - xfs /dev/vdd rw\n";
        let of = |path: &str| mount_of(mounts, Path::new(path)).expect("/ holds every path");
        assert_eq!(of("/data/x").line(), "tmpfs on none at /data");
        let root = of("/home/x");
        assert_eq!(root.line(), "ext4 on /dev/vda at /");
        assert_eq!((root.options, root.kind_options), ("rw,relatime", "rw"));
        // A blank in a name is written as its number.
        let disk = of("/my disk/x");
        assert_eq!((disk.device, disk.options), ("/dev/vdd", "rw,sync"));
        assert_eq!(unescaped(r"/a\134b\011\x\"), "/a\\b\t\\x\\");
    }
}
