//! Where the time of a statement went, as `\waits` shows it.
//!
//! ```text
//!                       ms        %   waits   mean wait
//!   log file sync    2.410     71.9       1     2.41 ms
//!   CPU              0.902     26.9
//!   unaccounted      0.040      1.2
//!                    -----    -----
//!   elapsed          3.352    100.0
//! ```
//!
//! Callers: `open_database`.

use report::number::{apportion, fixed, grouped};
use report::{Table, TimeLine, TimeProfile, UNACCOUNTED};
use waits::{Nanos, TimeAccount};

/// The account of a statement as a table. The columns add up as they are printed.
pub(crate) fn text(account: &TimeAccount) -> String {
    let profile = TimeProfile::from(account);
    let is_shown = |line: &TimeLine<'_>| line.ns != 0 || line.name == UNACCOUNTED;
    let lines: Vec<TimeLine<'_>> = profile.lines().into_iter().filter(is_shown).collect();
    let column = |unit_ns: f64| {
        apportion(&lines.iter().map(|line| line.ns as f64 / unit_ns).collect::<Vec<f64>>())
    };
    let micros = column(1e3);
    let shares = column(profile.elapsed_ns.max(1) as f64 / 1e3);
    let mut table = Table::default();
    table.row(["", "ms", "%", "waits", "mean wait"]);
    for (index, line) in lines.iter().enumerate() {
        let waits = match line.waits {
            0 => [String::new(), String::new()],
            waits => [grouped(waits), Nanos(line.ns.unsigned_abs() / waits).to_string()],
        };
        let figures = [fixed(micros[index], 3), fixed(shares[index], 1)];
        table.row(std::iter::once(line.name.to_owned()).chain(figures).chain(waits));
    }
    table.rule(2);
    let sums = [fixed(micros.iter().sum(), 3), fixed(shares.iter().sum(), 1)];
    let sums = std::iter::once("elapsed".to_owned()).chain(sums);
    table.row(sums.chain([String::new(), String::new()]));
    table.text()
}

#[cfg(test)]
mod tests {
    use waits::{WaitEvent, WaitLine};

    use super::*;

    #[test]
    fn parts_add_up_to_what_elapsed() {
        let wait = WaitLine {
            event: WaitEvent::LogFileSync,
            count: 1,
            total: Nanos::from_micros(2_410),
            of_which_cpu: Nanos::ZERO,
            of_which_run_queue: Nanos::ZERO,
        };
        let account = TimeAccount {
            elapsed: Nanos::from_micros(3_352),
            cpu_ns: 902_000,
            run_queue_ns: 0,
            waits: vec![wait],
            unaccounted_ns: 40_000,
            stolen: Nanos::ZERO,
        };
        let text = text(&account);
        let words: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[1], ["log", "file", "sync", "2.410", "71.9", "1", "2.41", "ms"]);
        assert_eq!(words[2], ["CPU", "0.902", "26.9"]);
        assert_eq!(words[3], ["unaccounted", "0.040", "1.2"]);
        assert_eq!(words[5], ["elapsed", "3.352", "100.0"]);
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
