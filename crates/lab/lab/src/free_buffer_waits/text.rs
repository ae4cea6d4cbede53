//! The report as text: 80 columns.
//!
//! Callers: `report`.

use report::number::{change_size, counted, decimal, grouped, share, signed};
use report::{Table, paragraph};

use super::NAME;
use super::report::{Line, Report, Row};
use super::statements::{Answer, Equals, MATTERS, Part, Statement};
use crate::checks::{commits_line, lost_warning};

/// The most lines of a profile in text.
const LINES: usize = 8;
/// A smaller part of a difference is none, as printed.
const SECONDS_SHOWN: f64 = 0.0005;
/// From this share on, time without a name is warned of.
const UNACCOUNTED_MAX: f64 = 0.01;

pub(super) fn text(report: &Report) -> String {
    let mut text = head(report);
    text += &lost_warning(report.commits);
    text += &format!("\n{}\n", table(report));
    text += &statements(report);
    text += &equals(report);
    for row in shown(report) {
        text += &format!("\nA session's time under\n{}\n{}", row.name, times(row));
    }
    text += &format!("\n{}", commits_line(report.commits, "each cell's crash"));
    text += &unaccounted(report);
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

fn statements(report: &Report) -> String {
    let (mut text, mut question) = (String::new(), "");
    for statement in &report.statements {
        if statement.question != question {
            question = statement.question;
            text += &format!("{question}\n");
        }
        text += &paragraph(&sentence(statement), "  ");
    }
    if report.modelled || report.statements.is_empty() {
        return text;
    }
    let count = report.statements.len();
    let few = match report.rounds < report.rounds_least {
        true => format!(
            " Of fewer than {} rounds none can be certain: these are {}.",
            report.rounds_least, report.rounds
        ),
        false => String::new(),
    };
    text + &paragraph(
        &format!(
            "Each compares the two cells of the same rounds. The declared error of {} is shared \
             over these {count} (Bonferroni): every interval is one of {} %. A difference under {} \
             doesn't matter, and one that equals show too isn't told. The parts of a session's \
             time have the interval of their statement each.{few}",
            share(report.error),
            decimal(100.0 * (1.0 - report.error / count as f64), 2),
            change_size(MATTERS),
        ),
        "",
    )
}

/// A statement without its question.
fn sentence(statement: &Statement) -> String {
    let Statement { cells, times_as_fast, .. } = statement;
    let interval = match (statement.times_low, statement.times_high) {
        (Some(low), Some(high)) => format!(" ({} to {})", factor(low), factor(high)),
        _ => String::new(),
    };
    let times = format!("{} times as fast{interval}", factor(*times_as_fast));
    let says = match statement.answer {
        Answer::Faster => format!("faster, {times}."),
        Answer::Slower => format!("slower, {times}."),
        Answer::NoDifference => format!("no difference that matters: {times}."),
        Answer::CantTell => format!("can't tell: {times}."),
        Answer::Modelled => format!("modelled, {times}, without an interval."),
    };
    format!("{cells}: {says}{}", cause(statement))
}

fn cause(statement: &Statement) -> String {
    let seconds = |seconds: f64| signed((seconds * 1e3).round() as i64, 3);
    let size = |part: &Part| match (part.seconds_low, part.seconds_high) {
        (Some(low), Some(high)) => {
            format!("{} s a session ({} to {})", seconds(part.seconds), seconds(low), seconds(high))
        }
        _ => format!("{} s a session", seconds(part.seconds)),
    };
    let named = |name: &String| statement.parts.iter().find(|part| part.name == *name);
    match (statement.answer, statement.cause.as_ref().and_then(named), statement.parts.first()) {
        (Answer::Faster | Answer::Slower, Some(part), _) => {
            format!(" The largest certain part of it: {}, {}.", part.name, size(part))
        }
        (Answer::Faster | Answer::Slower, None, _) => {
            " Which part of the time makes it can't be told.".to_owned()
        }
        (Answer::Modelled, _, Some(part)) if part.seconds.abs() >= SECONDS_SHOWN => {
            format!(" The part that differs most: {}, {}.", part.name, size(part))
        }
        _ => String::new(),
    }
}

/// A ratio with two decimals, or with more digits than anybody needs none.
fn factor(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 1e3 => "over 1,000".to_owned(),
        ratio => decimal(ratio, 2),
    }
}

fn equals(report: &Report) -> String {
    let Some(equals) = report.equals else {
        let none = "There were no two rounds of equals, so how far equals lie apart isn't known.\n";
        return if report.modelled { String::new() } else { none.to_owned() };
    };
    let Equals { rounds, ratio, ratio_low, ratio_high, floor } = equals;
    let warning = match equals.differ() {
        true => {
            " WARNING: equals differ for certain, so runs of one round depend on their order: \
             don't trust the statements."
        }
        false => "",
    };
    paragraph(
        &format!(
            "Equals, one cell of each of {rounds} rounds: the later took {} times as long ({} to \
             {}, 95 %). Equals of as many rounds could lie {} apart.{warning}",
            decimal(ratio, 3),
            decimal(ratio_low, 3),
            decimal(ratio_high, 3),
            change_size(floor)
        ),
        "",
    )
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

fn unaccounted(report: &Report) -> String {
    let Some(most) = &report.unaccounted else { return String::new() };
    let warning = if most.share > UNACCOUNTED_MAX { "WARNING: " } else { "" };
    paragraph(
        &format!(
            "{warning}Without a name: {} of a single session's time at most ({}, {}).",
            share(most.share),
            most.session,
            most.setting
        ),
        "",
    )
}
