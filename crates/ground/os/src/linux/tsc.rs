//! The time stamp counter as a clock. It is calibrated against the kernel's clock once per process,
//! and trusted only where the kernel trusts it too.

use std::sync::OnceLock;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use waits::Nanos;

/// A calibrated counter: `ns = (count - origin) * multiplier >> SHIFT`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tsc {
    origin: u64,
    multiplier: u64,
}

const SHIFT: u32 = 32;
/// The largest difference between the two halves of the calibration.
const DISAGREEMENT_MAX_PPM: f64 = 100.0;
/// Each half of the calibration takes this long.
const CALIBRATION: Duration = Duration::from_millis(5);

/// The comparison of the counter with the kernel's clock.
#[derive(Clone, Copy, Debug)]
pub struct ClockCheck {
    /// The drift of the counter against the kernel's clock, in parts per million.
    pub drift_ppm: f64,
    /// The time of one reading of the counter.
    pub reading_ns: f64,
    /// The time of one `clock_gettime`.
    pub kernel_reading_ns: f64,
}

impl Tsc {
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        let ticks = count().saturating_sub(self.origin);
        ((u128::from(ticks) * u128::from(self.multiplier)) >> SHIFT) as u64
    }
}

/// The kernel's monotonic clock in ns.
pub(crate) fn kernel_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

pub(crate) fn kernel_reading_cost() -> Nanos {
    Nanos(cost_of(|| {
        std::hint::black_box(kernel_ns());
    }) as u64)
}

/// The counter of this process, or the reason why it can't be trusted.
pub(crate) fn calibrated() -> Result<Tsc, String> {
    static TSC: OnceLock<Result<Tsc, String>> = OnceLock::new();
    TSC.get_or_init(calibrate).clone()
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn count() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets user space use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn count() -> u64 {
    0
}

fn calibrate() -> Result<Tsc, String> {
    trusted_by_the_kernel()?;
    let start = paired_reading();
    std::thread::sleep(CALIBRATION);
    let middle = paired_reading();
    std::thread::sleep(CALIBRATION);
    let end = paired_reading();
    let rate = |from: (u64, u64), to: (u64, u64)| {
        (to.1 - from.1) as f64 / to.0.saturating_sub(from.0).max(1) as f64
    };
    let disagreement = (rate(start, middle) / rate(middle, end) - 1.0).abs() * 1e6;
    if disagreement > DISAGREEMENT_MAX_PPM {
        return Err(format!("two readings of its rate differ by {disagreement:.0} ppm"));
    }
    let ns_per_tick = rate(start, end);
    Ok(Tsc { origin: start.0, multiplier: (ns_per_tick * (1u64 << SHIFT) as f64).round() as u64 })
}

/// (counter, kernel ns) of the same moment: the tightest of a few tries.
fn paired_reading() -> (u64, u64) {
    let tries = (0..16).map(|_| {
        let before = count();
        let kernel = kernel_ns();
        let after = count();
        (after.saturating_sub(before), before + after.saturating_sub(before) / 2, kernel)
    });
    let (_, ticks, kernel) = tries.min().expect("sixteen tries");
    (ticks, kernel)
}

fn trusted_by_the_kernel() -> Result<(), String> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err("this isn't an x86-64 processor".into());
    }
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").map_err(|e| format!("cpuinfo: {e}"))?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    for flag in ["constant_tsc", "nonstop_tsc"] {
        if !flags.split_whitespace().any(|f| f == flag) {
            return Err(format!("the processor doesn't promise {flag}"));
        }
    }
    let sources = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let available = std::fs::read_to_string(sources).map_err(|e| format!("{sources}: {e}"))?;
    if available.split_whitespace().any(|source| source == "tsc") {
        return Ok(());
    }
    Err(format!("the kernel doesn't offer it, only {}", available.trim()))
}

/// Compares the counter with the kernel's clock over `length`.
pub(crate) fn check(length: Duration) -> ClockCheck {
    let reading_ns = cost_of(|| {
        std::hint::black_box(count());
    });
    let kernel_reading_ns = cost_of(|| {
        std::hint::black_box(kernel_ns());
    });
    let drift_ppm = calibrated().map_or(f64::NAN, |tsc| {
        let start = paired_reading();
        std::thread::sleep(length);
        let end = paired_reading();
        let ns_per_tick = tsc.multiplier as f64 / (1u64 << SHIFT) as f64;
        let counted = (end.0 - start.0) as f64 * ns_per_tick;
        (counted / (end.1 - start.1) as f64 - 1.0) * 1e6
    });
    ClockCheck { drift_ppm, reading_ns, kernel_reading_ns }
}

fn cost_of(reading: impl Fn()) -> f64 {
    const TURNS: u32 = 10_000;
    let start = kernel_ns();
    for _ in 0..TURNS {
        reading();
    }
    (kernel_ns() - start) as f64 / f64::from(TURNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the counter is trusted it keeps the kernel's time to 100 ppm, and never goes back.
    #[test]
    fn a_trusted_counter_keeps_the_kernels_time() {
        let Ok(tsc) = calibrated() else {
            println!("no trusted counter here: {:?}", calibrated());
            return;
        };
        let mut last = 0;
        for _ in 0..100_000 {
            let now = tsc.now_ns();
            assert!(now >= last);
            last = now;
        }
        let check = check(Duration::from_millis(50));
        assert!(check.drift_ppm.abs() < 100.0, "{check:?}");
    }
}
