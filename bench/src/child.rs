//! One run of another program, watched from its start to its end.
//!
//! Both output pipes are drained while it runs, its io_uring workers are sampled, it is killed when
//! it outstays its time, and its CPU time is read before it is buried. It is always buried: an
//! error on the way kills it.
//!
//! Callers: `fio` and the adapters to come.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::cpu;
use crate::{Ending, Error, Result, Scratch};

/// How often the workers are sampled. What they use after the last sample is lost: at most this
/// much of a run of seconds, in the rival's favour.
const SAMPLE_EVERY: Duration = Duration::from_millis(10);

/// What a program did.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) timed_out: bool,
    /// All its threads from start to end, to 10 ms.
    pub(crate) cpu: Option<Duration>,
    pub(crate) workers: WorkerTimes,
}

/// Runs `program` to its end, or to its death after `limit`, in our environment with `more`. It
/// works in the scratch folder, by which the keeper finds it if we end before the keeper was told
/// of it.
pub(crate) fn run(
    program: &Path,
    arguments: &[String],
    more: &[(&str, &str)],
    limit: Duration,
    scratch: &Scratch,
) -> Result<Watched> {
    let shown = program.display();
    let child = Command::new(program)
        .args(arguments)
        .envs(more.iter().copied())
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|cause| Error::cannot(format_args!("start {shown}"), cause))?;
    let mut child = Buried(child);
    let _guard = scratch.guard(child.0.id(), Ending::Kill)?;
    let watched = watch(&mut child.0, limit);
    watched.map_err(|cause| Error::cannot(format_args!("watch {shown}"), cause))
}

fn watch(child: &mut Child, limit: Duration) -> std::io::Result<Watched> {
    let pid = Pid::from_child(child);
    let mut stdout = child.stdout.take().expect("stdout is piped and not taken yet");
    let mut stderr = child.stderr.take().expect("stderr is piped and not taken yet");
    let ended = AtomicBool::new(false);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (outcome, sampled) = std::thread::scope(|threads| {
        let sampler = threads.spawn(|| sample(pid, limit, &ended));
        let drain = threads.spawn(|| stderr.read_to_end(&mut err));
        let outcome = stdout.read_to_end(&mut out).and_then(|_| {
            // Ended, but not buried: /proc still has its figures.
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
            Ok(cpu::of_ended(pid))
        });
        ended.store(true, Ordering::Relaxed);
        let drained = drain.join().expect("reading a pipe doesn't panic");
        let sampled = sampler.join().expect("sampling doesn't panic");
        (drained.and(outcome), sampled)
    });
    let (workers, timed_out) = sampled;
    Ok(Watched {
        cpu: outcome?,
        status: child.wait()?,
        stdout: String::from_utf8_lossy(&out).into_owned(),
        stderr: String::from_utf8_lossy(&err).into_owned(),
        timed_out,
        workers,
    })
}

/// Samples until `ended`, and kills the process once its time is over. The caller buries it only
/// after this has returned, so its id cannot have gone to somebody else.
fn sample(process: Pid, limit: Duration, ended: &AtomicBool) -> (WorkerTimes, bool) {
    let start = Instant::now();
    let mut times = WorkerTimes::default();
    let mut timed_out = false;
    while !ended.load(Ordering::Relaxed) {
        times.add(start.elapsed(), &cpu::io_workers(process));
        if start.elapsed() > limit && !timed_out {
            timed_out = true;
            kill_process(process, Signal::KILL).ok();
        }
        std::thread::sleep(SAMPLE_EVERY);
    }
    (times, timed_out)
}

/// The CPU time of a process's io_uring workers as it grew.
#[derive(Debug, Default)]
pub(crate) struct WorkerTimes {
    latest: BTreeMap<u32, Duration>,
    /// When at least one worker lived: the time since the start, and the sum over all so far.
    growth: Vec<(Duration, Duration)>,
}

impl WorkerTimes {
    fn add(&mut self, at: Duration, alive: &BTreeMap<u32, Duration>) {
        if alive.is_empty() {
            return;
        }
        self.latest.extend(alive);
        self.growth.push((at, self.latest.values().sum()));
    }

    /// What they used in the last `interval` of their lives. Workers die with the thread that feeds
    /// them, so that is the end of the measured interval; a ramp lies before it.
    pub(crate) fn in_last(&self, interval: Duration) -> Duration {
        let Some(&(end, total)) = self.growth.last() else { return Duration::ZERO };
        let start = end.saturating_sub(interval);
        let before = self.growth.iter().take_while(|(at, _)| *at <= start).last();
        total - before.map_or(Duration::ZERO, |(_, sum)| *sum)
    }
}

/// A child that is dead and waited for once this is dropped.
struct Buried(Child);

impl Drop for Buried {
    fn drop(&mut self) {
        // Both fail only where the child was waited for already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_what_it_needs_in_its_environment() {
        let scratch = Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let arguments = ["-c".to_owned(), "echo $NEEDED".to_owned()];
        let more = [("NEEDED", "here")];
        let watched = run(Path::new("/bin/sh"), &arguments, &more, MINUTE, &scratch);
        assert_eq!(watched.expect("every system has a shell").stdout, "here\n");
    }

    fn sh(script: &str, limit: Duration) -> Watched {
        let scratch = Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let arguments = ["-c".to_owned(), script.to_owned()];
        run(Path::new("/bin/sh"), &arguments, &[], limit, &scratch)
            .expect("every system has a shell")
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn both_outputs_and_the_status_are_kept_however_much_there_is() {
        let script = "yes out | head -c 200000; yes err | head -c 200000 >&2; exit 3";
        let watched = sh(script, MINUTE);
        assert_eq!((watched.stdout.len(), watched.stderr.len()), (200_000, 200_000));
        assert_eq!(watched.status.code(), Some(3));
        assert!(!watched.timed_out);
    }

    /// Or it is left behind when we end between starting it and telling the keeper.
    #[test]
    fn a_program_works_where_the_keeper_looks() {
        let watched = sh("pwd", MINUTE);
        assert!(watched.stdout.contains("/race-scratch-"), "{}", watched.stdout);
    }

    #[test]
    fn a_program_that_outstays_its_time_is_killed() {
        let start = Instant::now();
        let watched = sh("exec sleep 60", Duration::from_millis(50));
        assert!(watched.timed_out && !watched.status.success());
        assert!(start.elapsed() < MINUTE / 2);
    }

    #[test]
    fn the_cpu_time_of_a_program_is_read_before_it_is_gone() {
        let watched = sh("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done", MINUTE);
        let cpu = watched.cpu.expect("/proc has the figures of a child not waited for");
        assert!(cpu >= Duration::from_millis(20), "{cpu:?}");
    }

    #[test]
    fn workers_count_in_the_measured_interval_even_after_they_died() {
        let ms = Duration::from_millis;
        let mut times = WorkerTimes::default();
        assert_eq!(times.in_last(ms(100)), Duration::ZERO);
        times.add(ms(100), &BTreeMap::from([(1, ms(10))]));
        times.add(ms(200), &BTreeMap::from([(1, ms(30)), (2, ms(5))]));
        times.add(ms(300), &BTreeMap::from([(2, ms(25))]));
        times.add(ms(400), &BTreeMap::new());
        assert_eq!(times.in_last(ms(1000)), ms(55), "all of it");
        assert_eq!(times.in_last(ms(200)), ms(45), "without the 10 ms of the ramp");
    }
}
