//! Where a statement's time went, for EXPLAIN ANALYZE.
//!
//! ```text
//!   Planning time: 0.412345 ms
//!   Time profile:
//!     log file sync              1.203000 ms   1 wait
//!     CPU                        0.310211 ms
//!     run queue                  0.000000 ms
//!     unaccounted                0.002000 ms
//!     elapsed                    1.515211 ms
//! ```
//!
//! Invariant: the lines add up to the last one, to the nanosecond, as they are printed. CPU and run
//! queue are those outside waits (`waits::TimeAccount`, rule SQ70).
//!
//! Callers: `explain`.

use std::fmt::Write;

use waits::{Nanos, TimeAccount};

use super::quoted;

/// The profile as lines.
pub(super) fn text(account: &TimeAccount, planning: Nanos) -> Vec<String> {
    let mut lines = vec![planning_line(planning), "Time profile:".to_string()];
    let mut line = |name: &str, ns: i128, waits: u64| {
        let waits = match waits {
            0 => String::new(),
            1 => "   1 wait".to_string(),
            waits => format!("   {waits} waits"),
        };
        lines.push(format!("  {name:<36}{:>16} ms{waits}", ms(ns)));
    };
    for wait in &account.waits {
        line(wait.event.name(), i128::from(wait.total.0), wait.count);
    }
    line("CPU", i128::from(account.cpu_ns), 0);
    line("run queue", i128::from(account.run_queue_ns), 0);
    line("unaccounted", i128::from(account.unaccounted_ns), 0);
    line("elapsed", i128::from(account.elapsed.0), 0);
    lines
}

/// How long it took to get the plan.
pub(super) fn planning_line(planning: Nanos) -> String {
    format!("Planning time: {} ms", ms(i128::from(planning.0)))
}

/// The same as a member of the plan's object of JSON.
pub(super) fn planning_json(planning: Nanos) -> String {
    format!(",\n\"Planning Time ns\": {}", planning.0)
}

/// Milliseconds with all digits of the nanoseconds.
fn ms(ns: i128) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}

/// Further members of the plan's object of JSON.
pub(super) fn json(account: &TimeAccount, planning: Nanos) -> String {
    let mut out = format!("{},\n\"Time Profile\": {{", planning_json(planning));
    let _ = write!(
        out,
        "\"Elapsed ns\": {}, \"CPU ns\": {}, \"Run Queue ns\": {}, \"Unaccounted ns\": {}",
        account.elapsed.0, account.cpu_ns, account.run_queue_ns, account.unaccounted_ns
    );
    out.push_str(", \"Waits\": [");
    for (number, wait) in account.waits.iter().enumerate() {
        let between = if number == 0 { "\n  {" } else { ",\n  {" };
        let (event, class) = (quoted(wait.event.name()), quoted(wait.event.class().name()));
        let _ = write!(out, "{between}\"Event\": {event}, \"Class\": {class}");
        let _ = write!(out, ", \"Count\": {}, \"Total ns\": {}}}", wait.count, wait.total.0);
    }
    out.push_str("]}");
    out
}

#[cfg(test)]
mod tests {
    use waits::{WaitEvent, WaitLine};

    use super::*;

    fn account() -> TimeAccount {
        let wait = WaitLine {
            event: WaitEvent::LogFileSync,
            count: 2,
            total: Nanos(1_203_000),
            of_which_cpu: Nanos(3),
            of_which_run_queue: Nanos(5),
        };
        TimeAccount {
            elapsed: Nanos(1_515_211),
            cpu_ns: 310_212,
            run_queue_ns: 2_000,
            waits: vec![wait],
            unaccounted_ns: -1,
            stolen: Nanos::ZERO,
        }
    }

    /// The nanoseconds of a line.
    fn ns(line: &str) -> i64 {
        let mut words = line.split_whitespace().rev().skip_while(|word| *word != "ms");
        let digits = words.nth(1).expect("a number stands before ms").replace('.', "");
        digits.parse().expect("a number")
    }

    /// SQ70.
    #[test]
    fn a_profile_adds_up_as_it_is_printed() {
        let lines = text(&account(), Nanos(7));
        assert_eq!(lines[0], "Planning time: 0.000007 ms");
        let (last, parts) = lines[2..].split_last().expect("there are lines");
        assert_eq!(parts.iter().map(|line| ns(line)).sum::<i64>(), ns(last));
        assert_eq!(ns(last), 1_515_211);
        assert!(parts[0].ends_with("1.203000 ms   2 waits"), "{}", parts[0]);
        assert!(parts[3].ends_with(" -0.000001 ms"), "{}", parts[3]);
    }

    #[test]
    fn json_has_each_part_once() {
        let json = json(&account(), Nanos(7));
        for part in ["\"Elapsed ns\": 1515211", "\"Unaccounted ns\": -1", "\"Count\": 2"] {
            assert_eq!(json.matches(part).count(), 1, "{json}");
        }
    }
}
