//! `block-size-scan` on a model, and small on this machine: reads are as long as was asked for,
//! whatever the block, and the report says what came of it.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "the test looks at the real directory")]

mod common;

use std::path::PathBuf;

use common::{check_rows, fits, report_of};
use experiment::{Commits, Run};
use ids::BlockSize;
use lab::RunOn;
use lab::block_size_scan::{ReadSize, Report, Scans, Setting, Size, run};

const BLOCK_SIZES: [BlockSize; 4] =
    [BlockSize::KIB_2, BlockSize::KIB_4, BlockSize::KIB_8, BlockSize::KIB_16];
const MIB: f64 = (1 << 20) as f64;

fn report(size: Size, settings: Vec<Setting>, run_on: RunOn) -> (Report, Vec<Run>) {
    let scans = Scans {
        size,
        settings,
        matters: 1.05,
        run_on,
        seed: 5,
        commit: "of a test".into(),
        command: "a test".into(),
    };
    report_of(|follower, session| run(&scans, &|| false, follower, session))
}

fn on_a_model() -> RunOn {
    RunOn::Model { machine: "eight-core".into(), disk: "nvme".into() }
}

/// The text without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Bytes of a read in the cells with this length.
fn bytes_of_reads(report: &Report, read: ReadSize) -> Vec<f64> {
    let bytes = |block_size: BlockSize| {
        let blocks = report.blocks_a_read(Setting { block_size, read }).expect("it is a cell");
        blocks * block_size.bytes() as f64
    };
    BLOCK_SIZES.map(bytes).to_vec()
}

/// The original's finding: the length of reads doesn't depend on the size of blocks. 0 is as unset,
/// and reads may be longer than a MiB.
#[test]
fn reads_are_as_long_as_was_asked_for_whatever_the_block() {
    let (report, rows) = report(Size::TINY, Setting::all(), on_a_model());
    let text = report.text();
    for bytes in bytes_of_reads(&report, ReadSize::Bytes(64 << 10)) {
        assert!(bytes <= 65_536.0 && bytes > 48_000.0, "{bytes} {text}");
    }
    for bytes in bytes_of_reads(&report, ReadSize::Automatic) {
        // The table is more than one such read, and less than two.
        assert!(bytes <= MIB && bytes > MIB / 2.0, "{bytes} {text}");
    }
    for bytes in bytes_of_reads(&report, ReadSize::Bytes(4 << 20)) {
        assert!(bytes > MIB, "{bytes} {text}");
    }
    assert_eq!(report.commits(), Commits { acknowledged: 4, found: 4 }, "{text}");
    for words in [
        "a model repeats itself",
        "modelled, without an interval",
        "both read alike",
        "out of scope",
        "select * from web_returns_16k",
        "call count cpu elapsed disk query current rows",
        "Elapsed times include waiting on following events:",
        "WAIT #1: nam='direct path read'",
    ] {
        assert!(flat(&text).contains(words), "{words}: {text}");
    }
    fits(&text);
    assert!(report.json().contains("\"event\":\"direct path read\""));
    check_rows(&rows, Setting::all().len());
    for run in &rows {
        let setting = &run.identity.setting;
        let count = &run.identity.parameters["db_file_multiblock_read_count"];
        assert!(setting.ends_with(&format!("= {count}")), "{setting}, {count}");
        assert!(run.foreground.profile.closes(), "{setting}");
    }
}

/// A table with fewer blocks than a tenth of the buffers comes through the cache.
#[test]
fn a_small_table_is_read_by_scattered_reads() {
    let size = Size { rows: 2_000, cache: 16 << 20, rounds: 1 };
    let automatic = BLOCK_SIZES.map(|block_size| Setting { block_size, read: ReadSize::Automatic });
    let (report, rows) = report(size, automatic.to_vec(), on_a_model());
    let (text, json) = (report.text(), report.json());
    assert_eq!(rows.len(), 4);
    assert!(json.contains("\"event\":\"db file scattered read\""), "{json}");
    assert!(!json.contains("direct path read"), "{json}");
    assert!(flat(&text).contains("Here none is."), "{text}");
    fits(&text);
}

/// All rows come, by direct I/O; equals are measured; nothing is left.
#[test]
fn on_this_machine_rounds_have_equals_and_nothing_is_left() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lab-block-size-scan");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let size = Size { rounds: 2, ..Size::TINY };
    let few = BLOCK_SIZES.map(|block_size| Setting { block_size, read: ReadSize::Automatic });
    let (report, rows) = report(size, few.to_vec(), RunOn::ThisMachine(folder.clone()));
    let text = report.text();
    assert_eq!(rows.len(), 2 * 5, "each cell once, and one twice");
    assert!(flat(&text).contains("Equals, one cell of each of 2 rounds"), "{text}");
    assert!(flat(&text).contains("can't tell"), "two rounds are too few: {text}");
    assert_eq!(report.commits(), Commits { acknowledged: 4, found: 4 }, "{text}");
    fits(&text.lines().filter(|line| !line.contains('/')).collect::<Vec<_>>().join("\n"));
    assert!(rows.iter().all(|run| run.identity.parameters["filesystemio_options"] == "setall"));
    let mut left = std::fs::read_dir(&folder).expect("it is there");
    assert!(left.next().is_none(), "the scratch folder is removed");
}
