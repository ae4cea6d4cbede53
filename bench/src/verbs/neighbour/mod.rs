//! The verb `neighbour`: a program beside the one that is measured, which makes the machine noisy.
//!
//! ```text
//!   a burner for each CPU   burst, pause, burst, ...    of random lengths, a share in the mean
//!   a writer (--disk)       durable writes at a rate that changes every few seconds
//! ```
//! The share of the CPU that it takes is one over minutes, not over seconds. If none is given it
//! wanders slowly between 20 and 30 per cent. It is a process of its own, so that its CPU time and
//! its waits are no part of what is measured.
//!
//! Callers: `decides`, as a child process; people, beside whatever they measure.

mod cpu;
mod disk;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bench::Scratch;
use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Outcome;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The share of the machine's CPU to take, in per cent; if none, it wanders from 20 to 30
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    cpu: Option<f64>,
    /// Disturb the disk too: durable writes, now none, now 150 a second
    #[arg(long)]
    disk: bool,
    /// How long; until Ctrl-C if not given
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Where the writer's file is made, on the disk to disturb; it is removed in the end
    #[arg(long, default_value = "target")]
    dir: PathBuf,
    /// Decides when it works and when it rests
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// More would leave nothing to measure.
const PERCENT_MAX: f64 = 90.0;
/// Of less, one burst would come in hours.
const PERCENT_MIN: f64 = 0.01;
/// Nobody sleeps longer than this before looking whether it is over.
const NAP: Duration = Duration::from_millis(50);

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if percent == 0.0 || (PERCENT_MIN..=PERCENT_MAX).contains(&percent) => {
            Ok(percent)
        }
        _ => Err(format!("choose 0, or {PERCENT_MIN} to {PERCENT_MAX} per cent")),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("choose a number of seconds".to_owned()),
    }
}

/// Disturbs until it is over, and says what it took.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Outcome {
    os::linux::listen();
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let writer = match arguments.disk {
        true => Some(Files::make(&root.join(&arguments.dir))?),
        false => None,
    };
    let (used_before, time) = (bench::cpu::own(), Time::begin(arguments.seconds));
    let writes = work(arguments, cpus, &time, || match &writer {
        Some(files) => disk::disturb(files.0.path(), generator(arguments.seed, 0), &time),
        None => {
            time.sleep(Duration::MAX);
            Ok(0)
        }
    })?;
    let (used, passed) = (bench::cpu::own() - used_before, time.passed());
    let machine = passed.as_secs_f64() * cpus as f64;
    println!(
        "neighbour: took {:.1} s of CPU in {:.1} s, {:.1} % of {cpus} CPUs, and made {writes} \
         durable writes",
        used.as_secs_f64(),
        passed.as_secs_f64(),
        100.0 * used.as_secs_f64() / machine.max(f64::MIN_POSITIVE),
    );
    Ok(())
}

/// Burns on each CPU while `write` does its part; what that has returned. Whoever ends ends all: a
/// neighbour that does a part of its work is none.
fn work(
    arguments: &Arguments,
    cpus: usize,
    time: &Time,
    write: impl FnOnce() -> Result<u64, String>,
) -> Result<u64, String> {
    std::thread::scope(|threads| {
        for index in 0..cpus {
            let seed = arguments.seed;
            let share = cpu::Share::of(arguments.cpu, seed);
            threads.spawn(move || {
                let _ends = EndsAll(time);
                cpu::burn(share, generator(seed, 1 + index as u64), time);
            });
        }
        let _ends = EndsAll(time);
        write()
    })
}

/// Its drop, also in a panic, is the end of all.
struct EndsAll<'a>(&'a Time);

impl Drop for EndsAll<'_> {
    fn drop(&mut self) {
        self.0.has_ended.store(true, Ordering::Relaxed);
    }
}

/// The writer's folder, which goes however this process ends.
struct Files(Scratch);

impl Files {
    fn make(parent: &Path) -> Result<Files, String> {
        std::fs::create_dir_all(parent)
            .map_err(|error| format!("cannot create {}: {error}", parent.display()))?;
        Scratch::create(parent).map(Files).map_err(|error| format!("neighbour: {error}"))
    }
}

/// The random numbers of one worker: those of two workers have nothing to do with each other.
fn generator(seed: u64, worker: u64) -> Xoshiro256PlusPlus {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..worker).for_each(|_| generator.jump());
    generator
}

/// An exponential length of this mean.
fn exponential(mean: Duration, random: &mut Xoshiro256PlusPlus) -> Duration {
    // 1 - u is above zero, and its logarithm finite.
    mean.mul_f64(-(1.0 - random.random::<f64>()).ln())
}

/// When it began and when it is over.
struct Time {
    began: Instant,
    limit: Option<Duration>,
    /// One of its workers has ended.
    has_ended: AtomicBool,
}

impl Time {
    fn begin(limit: Option<Duration>) -> Time {
        Time { began: Instant::now(), limit, has_ended: AtomicBool::new(false) }
    }

    fn passed(&self) -> Duration {
        self.began.elapsed()
    }

    fn is_over(&self) -> bool {
        os::linux::interrupted()
            || self.has_ended.load(Ordering::Relaxed)
            || self.limit.is_some_and(|limit| self.passed() >= limit)
    }

    /// Sleeps so long, or until it is over.
    fn sleep(&self, length: Duration) {
        self.sleep_until(self.passed().saturating_add(length));
    }

    /// Sleeps until so much time has passed since the begin, or until it is over.
    fn sleep_until(&self, end: Duration) {
        while !self.is_over() {
            let left = end.saturating_sub(self.passed());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_taken_is_refused() {
        assert_eq!(percent("12.5"), Ok(12.5));
        assert_eq!(percent("0"), Ok(0.0));
        for wrong in ["91", "-1", "NaN", "1e-30"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert!(seconds("-1").is_err() && seconds("x").is_err());
    }

    /// Else a campaign goes on beside half a neighbour.
    #[test]
    fn a_writer_that_fails_ends_the_burners() {
        let (seconds, dir) = (None, PathBuf::new());
        let arguments = Arguments { cpu: Some(1.0), disk: true, seconds, dir, seed: 1 };
        let time = Time::begin(Some(Duration::from_secs(60)));
        let ended = work(&arguments, 2, &time, || Err("no room".to_owned()));
        assert_eq!(ended, Err("no room".to_owned()));
        assert!(time.passed() < Duration::from_secs(30), "{:?}", time.passed());
    }

    #[test]
    fn workers_have_numbers_of_their_own_and_a_seed_repeats_them() {
        let first = |seed, worker| generator(seed, worker).random::<u64>();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
    }

    #[test]
    fn exponential_lengths_have_their_mean() {
        let mut random = generator(7, 0);
        let mean = Duration::from_millis(500);
        let sum: Duration = (0..20_000).map(|_| exponential(mean, &mut random)).sum();
        let mean = sum.as_secs_f64() / 20_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
    }
}
