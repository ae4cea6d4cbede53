//! The report as text: 80 columns.
//!
//! Callers: `report`.

use report::number::{counted, grouped};
use report::{Table, paragraph};

use super::NAME;
use super::asked::MATTERS;
use super::report::{Report, Row};
use crate::cells::{Line, Shown, equals_text, statements_text, unaccounted_text};
use crate::checks::{commits_line, lost_warning};

/// The most lines of a profile in text.
const LINES: usize = 8;

pub(super) fn text(report: &Report) -> String {
    let mut text = head(report);
    text += &lost_warning(report.commits);
    text += &format!("\n{}\n", table(report));
    text += &statements_text(&shown_statements(report));
    text += &equals_text(report.equals, report.modelled);
    for row in shown(report) {
        text += &format!("\nA session's time under\n{}\n{}", row.name, times(row));
    }
    text += &format!("\n{}", commits_line(report.commits, "each cell's crash"));
    text += &unaccounted_text(report.unaccounted.as_ref());
    text += &paragraph(&report.chosen, "");
    if !report.asynchronous_files {
        text += &paragraph(
            "This system's asynchronous I/O isn't asynchronous on files, so asynch is as none and \
             setall as directio.",
            "",
        );
    }
    text += &paragraph(&report.machine, "");
    text + &format!("commit {}\nto repeat it: {}\n", report.commit, report.command)
}

fn head(report: &Report) -> String {
    let rounds = match report.modelled {
        true => "modelled, once: a model repeats itself, so no figure has an interval".to_owned(),
        false => format!(
            "{}, in each of which every cell is measured once and one twice, in an order drawn by \
             lot",
            counted(report.rounds.into(), "round")
        ),
    };
    paragraph(
        &format!(
            "{NAME}: {} sessions change every row of a table each, {} blocks in {} buffers; \
             {rounds}.",
            report.sessions,
            grouped(report.blocks),
            grouped(report.buffers)
        ),
        "",
    )
}

fn table(report: &Report) -> String {
    let mut table = Table::default();
    let interval = if report.modelled { "" } else { "95 % interval" };
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

/// What the statements rest on.
fn shown_statements(report: &Report) -> Shown<'_> {
    Shown {
        statements: &report.statements,
        rounds: report.rounds,
        rounds_least: report.rounds_least,
        error: report.error,
        matters: MATTERS,
        is_modelled: report.modelled,
    }
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
