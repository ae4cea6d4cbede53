//! Reports of rows made by hand.

use ids::BlockSize;

use super::super::load::Size;
use super::super::measure::Call;
use super::super::setting::BLOCK_SIZES;
use super::super::text::text as text_of;
use super::super::tkprof::tkprof;
use super::*;
use crate::RunOn;
use crate::cells::made_rows::rows;
use crate::tests::{fits, place, says, scatter};

/// What a scan of some MiB would count.
fn calls(setting: Setting) -> Calls {
    let blocks = (128 << 20) / setting.block_size.bytes() as u64;
    let reads = (128 << 20) / u64::from(setting.read.bytes().unwrap_or(1 << 20));
    let fetch = Call {
        count: 10_128,
        cpu_ns: 900_000_000,
        elapsed_ns: 990_000_000,
        disk: blocks + 3,
        direct: blocks,
        query: blocks + 3,
        current: 0,
        rows: 1_000_000,
        reads: reads + 3,
        read_waits: reads - 1,
    };
    let execute = Call { count: 1, disk: 2, query: 3, reads: 2, ..Call::default() };
    Calls { parse: Call { count: 1, ..Call::default() }, execute, fetch }
}

fn report(count: u32, is_modelled: bool, seconds: impl Fn(u32, usize) -> f64) -> Report {
    report_by(count, is_modelled, seconds, |_, calls| calls)
}

/// By these calls, of those that a scan would count.
fn report_by(
    count: u32,
    is_modelled: bool,
    seconds: impl Fn(u32, usize) -> f64,
    changed: impl Fn(&Run, Calls) -> Calls,
) -> Report {
    let settings = Setting::all();
    let names: Vec<String> = settings.iter().map(Setting::to_string).collect();
    let mut rows = rows(&names, count, |round, cell| [seconds(round, cell), 0.1]);
    if is_modelled {
        rows.retain(|run| run.identity.kind == RoundKind::Compared);
    }
    let counted = |run: &Run| changed(run, calls(settings[run.identity.level.index()]));
    let calls = rows.iter().map(counted).collect();
    let commits = Commits { acknowledged: 4, found: 4 };
    let scans = Scans {
        size: Size::HERE,
        settings,
        matters: 1.05,
        run_on: RunOn::ThisMachine(".".into()),
        seed: 1,
        commit: "of a test".into(),
        command: "a test".into(),
    };
    let outcome = Outcome { rows, calls, traces: Vec::new(), commits };
    Report::of(&outcome, &scans, place(is_modelled))
}

/// The original's answer: all block sizes alike, where reads are as long.
#[test]
fn where_only_the_length_of_reads_counts_the_report_says_so() {
    let report = report(10, false, |round, cell| {
        let slow = [1.0, 1.5, 1.1, 1.0];
        slow[cell / 4] * scatter(round, cell)
    });
    let text = report.text();
    says(&text, "Spread between block sizes: ");
    says(&text, "95 % for all pairs together): no difference that matters.");
    says(&text, "reads of 64 KiB against automatic reads: slower, 0.67 times as fast");
    says(&text, "reads of 4 MiB against automatic reads: no difference that matters");
    says(&text, "shared over these 9 (Bonferroni): every interval is one of 99.44 %");
    says(&text, "2 KiB 1.000 0.990 65,541 65,542 127 512.0");
    says(&text, "16 KiB 1.000 0.990 8,197 8,198 127 64.0");
    // One wait may be for several reads.
    says(&text, "consistent gets read waits blocks/read");
    assert!(!text.contains("reads waited"), "{text}");
    says(&text, "out of scope");
    says(&text, "Equals, one cell of each of 10 rounds");
    says(&text, "Commits lost: none, of 4 acknowledged");
    fits(&text);
    assert!(report.json().contains("\"answer\":\"no difference that matters\""));
    let setting = |read| Setting { block_size: BlockSize::KIB_8, read };
    assert_eq!(report.blocks_a_read(setting(ReadSize::Automatic)), Some(128.0));
    assert_eq!(report.blocks_a_read(setting(ReadSize::Bytes(64 << 10))), Some(8.0));
}

#[test]
fn a_block_size_that_is_slower_makes_a_difference() {
    let report = report(10, false, |round, cell| {
        let slow = if cell == 0 { 1.3 } else { 1.0 };
        slow * scatter(round, cell)
    });
    let text = report.text();
    says(&text, "blocks of 2 KiB take 30.0 % longer than blocks of");
    says(&text, "the block size makes a difference");
    says(&text, "blocks of 16 KiB against blocks of 2 KiB: faster, 1.30 times as fast");
    fits(&text);
}

#[test]
fn a_model_has_no_interval_and_no_equals() {
    let report = report(1, true, |_, cell| if cell % 4 == 0 { 1.1 } else { 1.0 });
    let text = report.text();
    says(&text, "a model repeats itself, so no figure has an interval");
    says(&text, "modelled, without an interval");
    assert!(!text.contains("95 %") && !text.contains("Equals"), "{text}");
    fits(&text);
    assert!(report.json().contains("\"seconds_low\":null"));
}

/// All of a scan but a millisecond is in calls, whether it is a quick one or a slow one.
#[test]
fn no_more_time_is_in_calls_than_there_is() {
    let seconds = |round: u32, _| if round.is_multiple_of(2) { 1.0 } else { 4.0 };
    let report = report_by(10, false, seconds, |run, calls| {
        let elapsed_ns = run.elapsed_ns - 1_000_000;
        Calls { fetch: Call { elapsed_ns, ..calls.fetch }, ..calls }
    });
    for row in &report.cells {
        assert!((row.seconds - 2.0).abs() < 1e-6, "{row:?}");
        assert!(row.db_seconds < row.seconds && row.db_seconds > 1.99, "{row:?}");
    }
}

/// By the blocks that were read, not by the waits: a read that has come already isn't waited for.
#[test]
fn the_report_says_which_way_the_tables_were_read() {
    let report = |is_direct: fn(usize) -> bool| {
        report_by(
            2,
            false,
            |_, _| 1.0,
            move |run, calls| match is_direct(run.identity.level.index()) {
                true => calls,
                false => Calls { fetch: Call { direct: 0, ..calls.fetch }, ..calls },
            },
        )
    };
    let mut all = report(|_| true);
    let text = all.text();
    says(&text, "Here all tables are. Of such pieces up to seven are on their way at once");
    fits(&text);
    says(&report(|cell| cell % 4 == 0).text(), "Here some are. Of such pieces");
    says(&report(|_| false).text(), "Here none is. db file scattered read");
    all.rest.asynchronous_files = false;
    says(&all.text(), "Here all tables are. db file scattered read");
}

#[test]
fn a_report_of_two_rounds_or_of_hours_fits_too() {
    let report =
        report(2, false, |round, cell| if round == 1 { 1.2 } else { scatter(round, cell) });
    let text = report.text();
    fits(&text);
    says(&text, "can't tell");
    // Nor do scans of hours break a line.
    let slow = |round: u32, cell: usize| 12_345.0 * if round < 6 { 1.5 } else { 1.0 + cell as f64 };
    let slow = self::report(10, false, slow).text();
    fits(&slow);
    says(&slow, "2 KiB automatic 15,119");
    assert!(report.json().contains("\"seconds_high\":null"));
}

#[test]
fn lost_loads_are_told_before_all_else() {
    let mut report = report(2, false, |_, _| 1.0);
    report.rest.commits.found = 3;
    let text = text_of(&report);
    says(&text, "Commits were lost: no figure of this engine is worth anything.");
    assert!(text.find("Commits were lost") < text.find("consistent gets"), "{text}");
}

/// A trace that was made by hand: the lines of TKPROF, in 80 columns.
fn traced(block_size: BlockSize, reads: u64) -> Traced {
    let setting = Setting { block_size, read: ReadSize::Automatic };
    let calls = calls(setting);
    let calls = Calls { fetch: Call { reads, ..calls.fetch }, ..calls };
    let waited = |event: WaitEvent, times| Waited {
        event: event.info().name,
        times,
        max_ns: 41_000_000,
        total_ns: 130_000_000,
    };
    Traced {
        statement: query_of(block_size),
        block_size: block_size.bytes() as u64,
        calls,
        waits: vec![
            waited(WaitEvent::DirectPathRead, 127),
            waited(WaitEvent::DbFileSequentialRead, 2),
        ],
        plan: vec!["Table Scan on web_returns_2k (cost=1.00..2.00 rows=1000000) ".repeat(2)],
        blocks_most: 512,
        longest_read: Some(format!("WAIT #1: {}", "nam='direct path read' ".repeat(5))),
        trace: vec!["a line".into(); 130],
        trace_left_out: 2,
    }
}

#[test]
fn a_traced_scan_is_shown_as_tkprof_shows_one() {
    let text = tkprof(&traced(BlockSize::KIB_2, 131));
    fits(&text);
    let lines = [
        "call     count       cpu    elapsed       disk      query    current        rows",
        "------- ------  -------- ---------- ---------- ---------- ----------  ----------",
        "Fetch    10128     0.900      0.990      65539      65539          0     1000000",
        "total    10130     0.900      0.990      65541      65542          0     1000000",
        "1000000  Table Scan on web_returns_2k (cost=1.00..2.00 rows=1000000)",
        "  direct path read                              127      0.0410        0.1300",
    ];
    for line in lines {
        let found = text.lines().any(|each| each == line || each.starts_with(&format!("{line} ")));
        assert!(found, "{line}\n{text}");
    }
    says(&text, "of a trace of 132 lines");
}

/// Set to 0 the count is the same as unset: else the original's bug is back.
#[test]
fn reads_of_one_block_where_the_count_is_zero_are_warned_of() {
    let mut report = report(2, false, |_, _| 1.0);
    report.traces = BLOCK_SIZES.map(|size| traced(size, 131)).to_vec();
    let text = report.text();
    says(&text, "left unset in the traced scans: both read alike.");
    assert!(!text.contains("WARNING"), "{text}");
    fits(&text);
    for row in report.cells.iter_mut().filter(|row| row.block_size == 2_048) {
        row.reads = 65_536.0;
    }
    says(&report.text(), "WARNING: a db_file_multiblock_read_count of 0 isn't as one that is left");
}
