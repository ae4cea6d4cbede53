//! Where the time of ours goes, as a line of a race's settings.
//!
//! It is that of a run before the race: a race's own runs are measured by nothing but their time.
//!
//! Callers: races of SQL.

use os::Session;
use report::{SessionInterval, TimeProfile};

/// A part of the time that is less than this many thousandths is left out.
const LEAST: f64 = 0.5;

/// Where the time of `work` goes, which this session does with every wait sampled.
pub(crate) fn profiled(
    session: &Session,
    work: impl FnOnce() -> bench::Result<()>,
) -> bench::Result<String> {
    let _every_wait = session.sample_every_wait();
    let start = session.reading();
    work()?;
    Ok(profile_of([&SessionInterval::since(session, &start)]))
}

/// Where the time of these sessions went.
pub(crate) fn profile_of<'i>(intervals: impl IntoIterator<Item = &'i SessionInterval>) -> String {
    line(&TimeProfile::of(intervals))
}

fn line(profile: &TimeProfile) -> String {
    let elapsed = profile.elapsed_ns.max(1) as f64;
    let parts: Vec<String> = profile
        .lines()
        .iter()
        .map(|line| (line.name, line.ns as f64 * 1e3 / elapsed))
        .filter(|(_, thousandths)| thousandths.abs() >= LEAST)
        .map(|(name, thousandths)| format!("{name} {:.1} %", thousandths / 10.0))
        .collect();
    format!(
        "time profile of ours in a run before the race: {}; {:.3} s in all sessions",
        parts.join(", "),
        elapsed / 1e9
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_in_their_order_and_small_ones_are_left_out() {
        let profile = TimeProfile {
            elapsed_ns: 2_000_000_000,
            cpu_ns: 1_900_000_000,
            run_queue_ns: 99_500_000,
            unaccounted_ns: 500_000,
            ..TimeProfile::default()
        };
        let told = line(&profile);
        assert!(told.contains("race: CPU 95.0 %, run queue 5.0 %; 2.000 s"), "{told}");
    }
}
