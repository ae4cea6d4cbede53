//! The report as text: 80 columns.
//!
//! Callers: `report`.

use report::number::grouped;
use report::{Table, paragraph};

use super::NAME;
use super::asked::MATTERS;
use super::report::{Report, Row};
use crate::cells::{Line, end_text, equals_text, rounds_text, statements_text};
use crate::checks::lost_warning;

/// The most lines of a profile in text.
const LINES: usize = 8;

pub(super) fn text(report: &Report) -> String {
    let mut text = head(report);
    text += &lost_warning(report.rest.commits);
    text += &format!("\n{}\n", table(report));
    text += &statements_text(&report.rest, MATTERS);
    text += &equals_text(&report.rest);
    for row in shown(report) {
        text += &format!("\nA session's time under\n{}\n{}", row.name, times(row));
    }
    let same = ", so asynch is as none and setall as directio";
    text + &format!("\n{}", end_text(&report.rest, "each cell's crash", same))
}

fn head(report: &Report) -> String {
    paragraph(
        &format!(
            "{NAME}: {} sessions change every row of a table each, {} blocks in {} buffers; \
             {}.",
            report.sessions,
            grouped(report.blocks),
            grouped(report.buffers),
            rounds_text(&report.rest)
        ),
        "",
    )
}

fn table(report: &Report) -> String {
    let mut table = Table::default();
    let interval = if report.rest.modelled { "" } else { "95 % interval" };
    table.row(["filesystemio", "writers", "slaves", "seconds", interval, "free buffer waits"]);
    for row in &report.cells {
        let interval = row.seconds_low.zip(row.seconds_high);
        table.row([
            row.filesystemio_options,
            &row.db_writer_processes.to_string(),
            &row.dbwr_io_slaves.to_string(),
            &format!("{:.2}", row.seconds),
            &interval.map_or(String::new(), |(low, high)| format!("{low:.2} to {high:.2}")),
            &format!("{:.1} %", row.share("free buffer waits")),
        ]);
    }
    table.text()
}

fn times(row: &Row) -> String {
    let line = |name: &str, seconds: &str, percentage: &str| {
        format!("{name:<30}{seconds:>12}{percentage:>12}\n")
    };
    let mut text = line("TIMESOURCE", "SECONDS", "PERCENTAGE");
    for Line { timesource, seconds, percentage } in row.profile.iter().take(LINES) {
        text += &line(timesource, &format!("{seconds:.3}"), &format!("{percentage:.1}"));
    }
    text
}

/// The slowest cell, the quickest, and the original's way out without direct I/O.
fn shown(report: &Report) -> Vec<&Row> {
    let by_time = |a: &&Row, b: &&Row| a.seconds.total_cmp(&b.seconds);
    let slowest = report.cells.iter().max_by(by_time);
    let fastest = report.cells.iter().min_by(by_time);
    let mut rows: Vec<&Row> = Vec::new();
    for row in [slowest, report.row("none", 1, 32), fastest].into_iter().flatten() {
        if !rows.iter().any(|shown| std::ptr::eq(*shown, row)) {
            rows.push(row);
        }
    }
    rows
}
