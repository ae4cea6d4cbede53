//! The answer: a table of times, time profiles of a session, and in which cells more writers pay.

use std::fmt::Write;

use os::FilesystemIo;
use report::{TimeLine, TimeProfile, UNACCOUNTED, paragraph};
use serde::Serialize;

use super::NAME;
use super::measure::Cell;
use super::run::Matrix;
use super::setting::Setting;

const TO_A_STRING: &str = "writing to a string can't fail";
/// From this factor on, more writers pay.
const PAYS: f64 = 1.5;
/// Below this factor they don't.
const PAYS_NOT: f64 = 1.2;
/// The most lines of a profile in text.
const LINES: usize = 8;

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    experiment: &'static str,
    sessions: u32,
    blocks: u64,
    buffers: u64,
    rounds: u32,
    cells: Vec<Row>,
    asynchronous_files: bool,
    machine: String,
    commit: String,
    command: String,
}

/// A cell of the table.
#[derive(Clone, Debug, Serialize)]
struct Row {
    filesystemio_options: &'static str,
    db_writer_processes: u32,
    dbwr_io_slaves: u32,
    /// Until the last session had ended: the median of the rounds, and their range.
    seconds: f64,
    seconds_least: f64,
    seconds_most: f64,
    /// The mean session's.
    profile: Vec<Line>,
}

#[derive(Clone, Debug, Serialize)]
struct Line {
    timesource: String,
    seconds: f64,
    percentage: f64,
}

impl Row {
    fn of(setting: &Setting, cells: &[Cell], sessions: u32) -> Row {
        let seconds: Vec<f64> = cells.iter().map(|cell| cell.elapsed.as_secs_f64()).collect();
        let bound = |pick: fn(f64, f64) -> f64| seconds.iter().copied().reduce(pick);
        let mut all = TimeProfile::default();
        cells.iter().for_each(|cell| all.add(&cell.profile));
        let median = stats::median(&seconds);
        Row {
            filesystemio_options: setting.io.name(),
            db_writer_processes: setting.writers,
            dbwr_io_slaves: setting.slaves,
            seconds: median,
            seconds_least: bound(f64::min).unwrap_or(median),
            seconds_most: bound(f64::max).unwrap_or(median),
            profile: profile(&all, cells.len() as f64 * f64::from(sessions)),
        }
    }

    fn name(&self) -> String {
        format!(
            "filesystemio_options = {}, db_writer_processes = {}, dbwr_io_slaves = {}",
            self.filesystemio_options, self.db_writer_processes, self.dbwr_io_slaves
        )
    }

    fn share(&self, timesource: &str) -> f64 {
        let line = self.profile.iter().find(|line| line.timesource == timesource);
        line.map_or(0.0, |line| line.percentage)
    }
}

/// The profile of the mean session: the total, and below it its parts, the longest first.
fn profile(all: &TimeProfile, sessions: f64) -> Vec<Line> {
    let total = all.elapsed_ns as f64;
    let line = |timesource: &str, ns: f64| Line {
        timesource: timesource.to_owned(),
        seconds: ns / sessions / 1e9,
        percentage: 100.0 * ns / total.max(1.0),
    };
    let part = |of: &TimeLine<'_>| match of.name {
        UNACCOUNTED => line("UNACCOUNTED_TIME", of.ns as f64),
        name => line(name, of.ns as f64),
    };
    let mut lines: Vec<Line> = all.lines().iter().map(part).collect();
    lines.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    lines.insert(0, line("TOTAL_TIME", total));
    lines
}

impl Report {
    pub(super) fn of(
        cells: &[Vec<Cell>],
        matrix: &Matrix,
        machine: String,
        asynchronous_files: bool,
    ) -> Report {
        let size = matrix.size;
        let rows = matrix.settings.iter().zip(cells);
        Report {
            experiment: NAME,
            sessions: size.sessions,
            blocks: size.blocks(),
            buffers: size.cache / ids::BlockSize::KIB_8.bytes() as u64,
            rounds: size.rounds,
            cells: rows.map(|(setting, cells)| Row::of(setting, cells, size.sessions)).collect(),
            asynchronous_files,
            machine,
            commit: matrix.commit.clone(),
            command: matrix.command.clone(),
        }
    }

    /// How many times as fast more writers are than one under these `filesystemio_options`, without
    /// slaves; none if one of the cells isn't there.
    pub fn more_writers(&self, io: &str) -> Option<f64> {
        let alone = self.seconds(io, 1, 0)?;
        let most = self.cells.iter().map(|row| row.db_writer_processes).max()?;
        Some(alone / self.seconds(io, most, 0)?)
    }

    /// Seconds of a cell.
    pub fn seconds(&self, io: &str, writers: u32, slaves: u32) -> Option<f64> {
        self.row(io, writers, slaves).map(|row| row.seconds)
    }

    /// The largest share of a session's time without a name, in per cent.
    pub fn unaccounted_most(&self) -> f64 {
        self.cells.iter().map(|row| row.share("UNACCOUNTED_TIME").abs()).fold(0.0, f64::max)
    }

    fn row(&self, io: &str, writers: u32, slaves: u32) -> Option<&Row> {
        self.cells.iter().find(|row| {
            let processes = (row.db_writer_processes, row.dbwr_io_slaves);
            row.filesystemio_options == io && processes == (writers, slaves)
        })
    }

    /// For people: 80 columns of plain text, with a line end at the end.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{NAME}: {} sessions change every row of a table each, {} blocks\n\
             in {} buffers; {}\n\n",
            self.sessions,
            self.blocks,
            self.buffers,
            match self.rounds {
                1 => "once".to_string(),
                rounds => format!("median of {rounds} rounds, and their range"),
            }
        );
        let mut line = |line: String| writeln!(text, "{line}").expect(TO_A_STRING);
        line("filesystemio  writers  slaves  seconds              free buffer waits".to_string());
        for row in &self.cells {
            let range = match self.rounds {
                1 => String::new(),
                _ => format!("({:.2} to {:.2})", row.seconds_least, row.seconds_most),
            };
            line(format!(
                "{:<12}{:>9}{:>8}{:>9.2} {range:<18}{:>10.1} %",
                row.filesystemio_options,
                row.db_writer_processes,
                row.dbwr_io_slaves,
                row.seconds,
                row.share("free buffer waits")
            ));
        }
        for row in self.shown() {
            line(format!("\nA session's time under\n{}", row.name()));
            line(format!("{:<30}{:>12}{:>12}", "TIMESOURCE", "SECONDS", "PERCENTAGE"));
            for Line { timesource, seconds, percentage } in row.profile.iter().take(LINES) {
                line(format!("{timesource:<30}{seconds:>12.3}{percentage:>12.1}"));
            }
        }
        line(format!(
            "\nWithout a name: {:.2} % of a session's time at most (all cells).",
            self.unaccounted_most()
        ));
        line(format!("\n{}\n{}", self.answer(), paragraph(&self.machine, "").trim_end()));
        line(format!("commit {}\nto repeat it: {}", self.commit, self.command));
        text
    }

    /// The slowest cell, the quickest, and the original's way out without direct I/O.
    fn shown(&self) -> Vec<&Row> {
        let by_time = |a: &&Row, b: &&Row| a.seconds.total_cmp(&b.seconds);
        let slowest = self.cells.iter().max_by(by_time);
        let fastest = self.cells.iter().min_by(by_time);
        let mut rows: Vec<&Row> = Vec::new();
        for row in [slowest, self.row("none", 1, 32), fastest].into_iter().flatten() {
            if !rows.iter().any(|shown| std::ptr::eq(*shown, row)) {
                rows.push(row);
            }
        }
        rows
    }

    /// In which cells more writers pay, and what that says of the two experiments.
    fn answer(&self) -> String {
        let (mut pay, mut pay_anyhow) = (Vec::new(), Vec::new());
        let (mut little, mut not) = (Vec::new(), Vec::new());
        for io in FilesystemIo::ALL {
            let Some(times) = self.more_writers(io.name()) else { continue };
            let has_many = io.is_asynchronous() && self.asynchronous_files;
            let group = match times {
                times if times >= PAYS && has_many => &mut pay_anyhow,
                times if times >= PAYS => &mut pay,
                times if times < PAYS_NOT => &mut not,
                _ => &mut little,
            };
            group.push(format!("{io} ({times:.2} times)"));
        }
        let mut parts = Vec::new();
        if !pay.is_empty() {
            parts.push(format!(
                "More writers pay under {}: there a writer waits for each of its writes, so as \
                 many are on their way as there are writers. That is this experiment's case: \
                 count them up.",
                pay.join(", ")
            ));
        }
        if !not.is_empty() {
            parts.push(format!(
                "They don't under {}: there one writer has many writes on their way, and more only \
                 share them. That is the case of dbwr-count: one is enough.",
                not.join(", ")
            ));
        }
        if !pay_anyhow.is_empty() {
            parts.push(format!(
                "They pay under {} too, though a writer has many writes on their way: each batch \
                 ends with a sync of every file that it has written to, one after the other.",
                pay_anyhow.join(", ")
            ));
        }
        if !little.is_empty() {
            parts.push(format!("They help a little under {}.", little.join(", ")));
        }
        let slaves = self.seconds("none", 1, 0).zip(self.seconds("none", 1, 32));
        if let Some((without, with)) = slaves {
            let times = without / with;
            parts.push(format!(
                "I/O slaves stand in for writes on their way: with 32 of them one writer under \
                 none is {times:.2} times as fast."
            ));
        }
        if !self.asynchronous_files {
            parts.push(
                "This system's asynchronous I/O isn't asynchronous on files, so asynch is as \
                 none and setall as directio."
                    .to_string(),
            );
        }
        paragraph(&parts.join(" "), "")
    }

    /// For programs: one line, all figures unrounded, without a line end.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialize")
    }
}
