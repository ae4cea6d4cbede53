//! A traced scan as TKPROF shows one: calls, row sources, waits.
//!
//! Callers: `text`.
//! Source: the reports of Oracle's TKPROF, whose form it is.

use report::paragraph;

use super::measure::Call;
use super::report::{Traced, Waited};

/// Of 80 columns.
pub(super) fn tkprof(traced: &Traced) -> String {
    let mut text = format!("{}\n\n{}", traced.statement, calls(traced));
    text += &format!("\n{}", row_sources(traced));
    text += &format!("\n{}", waits(&traced.waits));
    if let Some(longest) = &traced.longest_read {
        let lines = traced.trace.len() as u64 + traced.trace_left_out;
        text += &format!("\nThe longest read that was waited for, of a trace of {lines} lines:\n");
        text += &paragraph(longest, "  ");
    }
    text
}

fn calls(traced: &Traced) -> String {
    let line = |cells: [&str; 8]| {
        let [call, count, cpu, elapsed, disk, query, current, rows] = cells;
        format!(
            "{call:<7} {count:>6}  {cpu:>8} {elapsed:>10} {disk:>10} {query:>10} {current:>10}  \
             {rows:>10}\n"
        )
    };
    let figures = |name: &str, call: &Call| {
        let [count, disk, query, current, rows] =
            [call.count, call.disk, call.query, call.current, call.rows].map(|of| of.to_string());
        let [cpu, elapsed] = [call.cpu_ns, call.elapsed_ns].map(|ns| seconds(ns, 3));
        line([name, &count, &cpu, &elapsed, &disk, &query, &current, &rows])
    };
    let rule = {
        let dashes = |count: usize| "-".repeat(count);
        let [seven, six, eight, ten] = [7, 6, 8, 10].map(dashes);
        line([&seven, &six, &eight, &ten, &ten, &ten, &ten, &ten])
    };
    let head = ["call", "count", "cpu", "elapsed", "disk", "query", "current", "rows"];
    let mut text = line(head) + &rule;
    text += &figures("Parse", &traced.calls.parse);
    text += &figures("Execute", &traced.calls.execute);
    text += &figures("Fetch", &traced.calls.fetch);
    text + &rule + &figures("total", &traced.calls.total())
}

fn row_sources(traced: &Traced) -> String {
    let (seven, rule) = ("-".repeat(7), "-".repeat(51));
    let mut text = format!("Rows     Row Source Operation\n{seven}  {rule}\n");
    let mut rows = traced.calls.fetch.rows.to_string();
    for line in traced.plan.iter().filter(|line| !line.trim().is_empty()) {
        let said = paragraph(line.trim(), &" ".repeat(9));
        text += &format!("{rows:>7}  {}", said.trim_start());
        rows.clear();
    }
    text
}

fn waits(waits: &[Waited]) -> String {
    let line = |event: &str, times: &str, longest: &str, total: &str| {
        format!("  {event:<40} {times:>8}  {longest:>10}  {total:>12}\n")
    };
    let mut text = "Elapsed times include waiting on following events:\n".to_owned();
    text += &line("Event waited on", "Times", "Max. Wait", "Total Waited");
    text += &line(&"-".repeat(40), "Waited", &"-".repeat(10), &"-".repeat(12));
    for Waited { event, times, max_ns, total_ns } in waits {
        text += &line(event, &times.to_string(), &seconds(*max_ns, 4), &seconds(*total_ns, 4));
    }
    text
}

fn seconds(ns: u64, decimals: usize) -> String {
    format!("{:.decimals$}", ns as f64 / 1e9)
}
