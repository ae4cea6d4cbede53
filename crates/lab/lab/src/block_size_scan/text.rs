//! The report as text: 80 columns.
//!
//! Callers: `report`.

use ids::BlockSize;
use report::number::{change_size, counted, decimal, grouped};
use report::{CPU, RUN_QUEUE, Table, paragraph};

use super::NAME;
use super::asked::Found;
use super::measure::READS;
use super::report::{Report, Row};
use super::tkprof::tkprof;
use crate::cells::{end_text, equals_text, rounds_text, statements_text};
use crate::checks::lost_warning;

/// Numbers of reads that lie farther apart, as a share, aren't the same.
const SAME_READS: f64 = 0.1;

pub(super) fn text(report: &Report) -> String {
    let mut text = head(report);
    text += &lost_warning(report.rest.commits);
    text += &format!("\n{}\n{}", block_sizes(report), spread(report));
    text += &format!("\n{}\n", read_sizes(report));
    text += &statements_text(&report.rest, report.matters);
    text += &equals_text(&report.rest);
    text += &format!("\n{}\n{}", times(report), events(report));
    for (number, traced) in report.traces.iter().enumerate() {
        if number == 0 {
            text += "\nOne more scan of each table, traced, which isn't in the figures above.\n";
        }
        text += &format!("{}\n{}", "*".repeat(80), tkprof(traced));
    }
    if !report.traces.is_empty() {
        text += &format!("{}\n{}", "*".repeat(80), unset(report));
    }
    let (crash, one) = ("a crash behind the loading", ": a scan has one read in flight");
    text + &format!("\n{}", end_text(&report.rest, crash, one))
}

fn head(report: &Report) -> String {
    let what = format!(
        "{NAME}: select * from a table of {}, loaded from a flat file by an external table and \
         CREATE TABLE AS into tablespaces of blocks of {}; {} a fetch at most; {}.",
        counted(report.table_rows, "row"),
        listed(report.automatic().map(|row| size_of(row.block_size))),
        counted(report.array as u64, "row"),
        rounds_text(&report.rest),
    );
    let cold = format!(
        "Before each scan the instance is opened, so its buffer caches ({} for each block size) \
         are empty. Data files are read by direct I/O, past the file system's cache; what the \
         device itself or a hypervisor keeps isn't emptied. Time in a client, and on the way to \
         one, is out of scope: rows are fetched within the database's own process. DB time is that \
         of its calls.",
        mebibytes(report.cache_bytes)
    );
    paragraph(&what, "") + &paragraph(&cold, "")
}

/// The table of the original.
fn block_sizes(report: &Report) -> String {
    let mut table = Table::default();
    table.row([
        "block",
        "elapsed s",
        "DB s",
        "blocks read",
        "consistent gets",
        "read waits",
        "blocks/read",
    ]);
    for row in report.automatic() {
        table.row([
            size_of(row.block_size),
            seconds(row.seconds),
            seconds(row.db_seconds),
            whole(row.blocks_read),
            whole(row.consistent_gets),
            whole(row.read_waits),
            decimal(row.blocks_a_read, 1),
        ]);
    }
    table.text()
}

fn spread(report: &Report) -> String {
    let Some(spread) = &report.spread else { return String::new() };
    let (slow, fast) = (size_of(spread.slowest), size_of(spread.fastest));
    let interval = match (spread.ratio_low, spread.ratio_high) {
        (Some(low), Some(high)) => {
            format!(" ({} to {}, 95 % for all pairs together)", change_size(low), change_size(high))
        }
        _ => String::new(),
    };
    let says = match spread.answer {
        Found::Differ => "the block size makes a difference",
        Found::NoDifference => "no difference that matters",
        Found::CantTell => "can't tell",
        Found::Modelled => "modelled, without an interval",
    };
    let bytes = report.automatic().map(|row| mebibytes(row.bytes_read as u64));
    paragraph(
        &format!(
            "Spread between block sizes: blocks of {slow} take {} longer than blocks of \
             {fast}{interval}: {says}. The fetches read {}: a table of smaller blocks is longer, \
             for each block has a head, and at its end room in which no row fits. Each block size \
             has one table in one file: where that lies on the device is in its figures too, and \
             no interval knows of it.",
            change_size(spread.ratio),
            listed(bytes)
        ),
        "",
    )
}

/// All cells, by the length of their reads.
fn read_sizes(report: &Report) -> String {
    let mut table = Table::default();
    let interval = if report.rest.modelled { "" } else { "95 % interval" };
    table.row(["block", "read", "elapsed s", interval, "reads", "read waits", "blocks/read"]);
    for row in &report.cells {
        let interval = row.seconds_low.zip(row.seconds_high);
        let interval = interval.map(|(low, high)| format!("{} to {}", seconds(low), seconds(high)));
        table.row([
            size_of(row.block_size),
            row.setting.read.short(),
            seconds(row.seconds),
            interval.unwrap_or_default(),
            whole(row.reads),
            whole(row.read_waits),
            decimal(row.blocks_a_read, 1),
        ]);
    }
    table.text()
}

/// Where the time of the mean scan goes, with automatic reads.
fn times(report: &Report) -> String {
    let rows: Vec<&Row> = report.automatic().collect();
    let mut table = Table::default();
    let sizes = rows.iter().map(|row| size_of(row.block_size));
    table.row(std::iter::once("mean seconds of a scan".to_owned()).chain(sizes));
    let named = [CPU, RUN_QUEUE].into_iter().chain(READS.iter().map(|event| event.info().name));
    let named: Vec<&str> = named.chain([UNACCOUNTED]).collect();
    for name in &named {
        let shown = if *name == UNACCOUNTED { "without a name" } else { *name };
        let parts = rows.iter().map(|row| decimal(row.part(name), 3));
        table.row(std::iter::once(shown.to_owned()).chain(parts));
    }
    let others = |row: &&Row| {
        let known: f64 = named.iter().map(|name| row.part(name)).sum();
        decimal(row.part(TOTAL) - known, 3)
    };
    table.row(std::iter::once("other waits".to_owned()).chain(rows.iter().map(others)));
    table.rule(rows.len());
    let all = rows.iter().map(|row| decimal(row.part(TOTAL), 3));
    table.row(std::iter::once("elapsed".to_owned()).chain(all));
    table.text()
}

/// The names of a profile's lines.
const TOTAL: &str = "TOTAL_TIME";
const UNACCOUNTED: &str = "UNACCOUNTED_TIME";

/// What the waits for reads are.
fn events(report: &Report) -> String {
    let has = |is_direct: bool| report.cells.iter().any(|row| row.is_direct == is_direct);
    let way = match (has(true), has(false)) {
        (true, false) => "Here all tables are.",
        (true, true) => "Here some are.",
        (false, _) => "Here none is.",
    };
    // Rule cache/CB70, and the limits there.
    let ahead = match has(true) && report.rest.asynchronous_files {
        true => {
            " Of such pieces up to seven are on their way at once while they have 256 KiB or less, \
             and one if they are longer: lengths of reads differ in that too. A call that reads \
             ends with one wait for all that are on their way."
        }
        false => "",
    };
    paragraph(
        &format!(
            "direct path read: a piece of a table that is read around the cache, as one with more \
             blocks than a tenth of the buffers is. {way}{ahead} db file scattered read: \
             neighbours that are read into the cache at once. db file sequential read: a single \
             block, such as a segment's header, its maps, and the dictionary."
        ),
        "",
    )
}

/// Whether a count of 0 is the same as none.
fn unset(report: &Report) -> String {
    let mut others = Vec::new();
    for traced in &report.traces {
        let cell = report.automatic().find(|row| row.block_size == traced.block_size);
        let (Some(cell), unset) = (cell, traced.calls.fetch.reads as f64) else { continue };
        if (cell.reads - unset).abs() > SAME_READS * unset.max(1.0) {
            let (zero, unset) = (whole(cell.reads), whole(unset));
            let size = size_of(traced.block_size);
            others.push(format!("{zero} and {unset} reads of blocks of {size}"));
        }
    }
    let said = match others.is_empty() {
        true => "db_file_multiblock_read_count is 0 in the cells with automatic reads, and left \
                 unset in the traced scans: both read alike."
            .to_owned(),
        false => format!(
            "WARNING: a db_file_multiblock_read_count of 0 isn't as one that is left unset: {}.",
            others.join(", ")
        ),
    };
    paragraph(&said, "")
}

fn size_of(bytes: u64) -> String {
    let size = usize::try_from(bytes).ok().and_then(BlockSize::new);
    size.map_or_else(|| format!("{bytes} bytes"), |size| size.to_string())
}

/// With as many decimals as are worth a column.
fn seconds(seconds: f64) -> String {
    let decimals = match seconds {
        ..10.0 => 3,
        ..100.0 => 2,
        ..1_000.0 => 1,
        _ => 0,
    };
    decimal(seconds, decimals)
}

fn whole(number: f64) -> String {
    grouped(number.round() as u64)
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", decimal(bytes as f64 / f64::from(1 << 20), 1))
}

/// `a, b and c`.
fn listed(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.collect();
    match items.pop() {
        None => String::new(),
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} and {last}", items.join(", ")),
    }
}
