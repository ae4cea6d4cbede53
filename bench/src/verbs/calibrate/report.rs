//! What calibrating says: a table against the built-in figures, and the cost file.
//!
//! Callers: `calibrate`.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use sim::model::{CostList, MachineParameters};

use super::figure::Figure;
use super::rounds::{Measured, Spread};

const TO_A_STRING: &str = "writing to a string can't fail";

/// The table, within 80 columns: each figure beside what the simulator has without a cost file.
pub(super) fn table(measured: &Measured, costs: &CostList, machine: &MachineParameters) -> String {
    let mut table = String::new();
    let heads = ["built-in", "median", "quartiles", "ratio"];
    row(&mut table, "ns of CPU", "per", heads.map(String::from));
    for figure in Figure::all() {
        let known = figure.known(costs, machine);
        let ratio = |ns: f64| known.map(|known| format!("{:.2}", ns / f64::from(known)));
        let columns = match measured.of(figure) {
            Some(spread) => [ns(spread.median), quartiles(spread), or_dash(ratio(spread.median))],
            None => ["-".into(), "takes two CPUs".into(), "-".into()],
        };
        let [median, quartiles, ratio] = columns;
        let known = or_dash(known.map(|known| known.to_string()));
        row(&mut table, figure.name(), figure.unit(), [known, median, quartiles, ratio]);
    }
    table
}

fn row(
    table: &mut String,
    name: &str,
    unit: &str,
    [declared, median, quartiles, ratio]: [String; 4],
) {
    writeln!(table, "{name:<18}{unit:<11}{declared:>9}{median:>11}{quartiles:>21}{ratio:>9}")
        .expect(TO_A_STRING);
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_string())
}

fn quartiles(spread: Spread) -> String {
    format!("{} to {}", ns(spread.low), ns(spread.high))
}

/// Three figures, or all before the point.
fn ns(value: f64) -> String {
    match value.abs() {
        0.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Where and when it was measured, in a sentence.
pub(super) fn source(measured: &Measured, machine: &str, disk: &str) -> String {
    let (today, rounds, ring) = (date(now_s()), measured.rounds, &measured.ring);
    format!("measured {today} on {machine}; {disk}, {ring}; medians of {rounds} rounds")
}

/// The cost file: the list, then as comments what else a reader wants to know.
pub(super) fn file(measured: &Measured, list: &CostList) -> String {
    let mut text = String::from(
        "# What code costs on one machine, written by `cargo xbench calibrate --write`.\n\n",
    );
    text += &list.to_text();
    text += "\n# Medians and quartiles, those for a machine file included:\n#\n";
    for figure in Figure::all() {
        if let Some(spread) = measured.of(figure) {
            let (name, median) = (figure.name(), ns(spread.median));
            writeln!(text, "#   {name:<18}{median:>8}{:>22}", quartiles(spread))
                .expect(TO_A_STRING);
        }
    }
    text
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("the clock is set to a time after 1970").as_secs()
}

/// The day in which a second since 1970 lies (UTC), as 2026-11-21. After Hinnant, "chrono-
/// compatible low-level date algorithms": years begin in March, so that a leap day is the last.
fn date(second: u64) -> String {
    let day = second / 86_400 + 719_468; // since 0000-03-01
    let (era, day) = (day / 146_097, day % 146_097); // of 400 years
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153; // 0 is March
    let day = day - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year + u64::from(month > 9);
    let month = if month > 9 { month - 9 } else { month + 3 };
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `date -u -d @SECOND +%F`
    #[test]
    fn a_second_lies_in_its_day() {
        let days = [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_798_761_599, "2026-12-31"),
            (1_798_761_600, "2027-01-01"),
            (4_107_542_400, "2100-03-01"),
        ];
        for (second, day) in days {
            assert_eq!(date(second), day, "second {second}");
        }
    }

    #[test]
    fn a_number_has_three_figures_or_all_before_the_point() {
        let shown = [0.514, 12.34, 99.96, 123.4, 12_345.6, -3.25].map(ns);
        assert_eq!(shown, ["0.51", "12.3", "100.0", "123", "12346", "-3.25"]);
    }
}
