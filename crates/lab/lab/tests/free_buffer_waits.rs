//! The two answers of `free-buffer-waits`, on models: more writers pay where a writer waits for
//! each of its writes, and don't where it doesn't. Rows, and the audit, come with them.
#![forbid(unsafe_code)]

mod common;

use common::{check_rows, fits, report_of};
use experiment::{Commits, Run};
use lab::RunOn;
use lab::free_buffer_waits::{Matrix, Report, Setting, Size, run};

fn report(machine: &str, size: Size) -> (Report, Vec<Run>) {
    let matrix = Matrix {
        size,
        settings: Setting::all(),
        run_on: RunOn::Model { machine: machine.into(), disk: "array".into() },
        paced: None,
        seed: 5,
        commit: "of a test".into(),
        command: "a test".into(),
    };
    report_of(|follower, session| run(&matrix, &|| false, follower, session))
}

/// The shape of the original: buffered and one by one is slow, slaves help, direct I/O with 36
/// writers is several times as fast; every second of every session has a name.
#[test]
fn on_the_hp_ux_server_direct_io_with_many_writers_wins() {
    let (report, rows) = report("hp-ux", Size::TINY);
    let text = report.text();
    let seconds = |io, writers, slaves| report.seconds(io, writers, slaves).expect("it is a cell");
    let (buffered, slaves) = (seconds("none", 4, 0), seconds("none", 1, 32));
    let direct = seconds("directio", 36, 0);
    assert!(slaves < buffered, "{text}");
    assert!(buffered / direct > 3.0, "{text}");
    // Nothing is asynchronous there.
    assert!((seconds("asynch", 1, 0) / seconds("none", 1, 0) - 1.0).abs() < 0.2, "{text}");
    assert!(report.more_writers("directio") > Some(3.0), "{text}");
    assert_eq!(report.unaccounted_most(), 0.0, "{text}");
    fits(&text);
    assert!(report.json().contains("\"timesource\":\"TOTAL_TIME\""));
    assert_eq!(report.commits(), Commits { acknowledged: 12 * 20, found: 12 * 20 });
    assert!(text.contains("a model repeats itself") && text.contains("modelled, "), "{text}");
    check(&rows);
}

/// A row for each cell, and all under one way of redo.
fn check(rows: &[Run]) {
    check_rows(rows, Setting::all().len());
    for name in ["redo_write", "log_writes_in_flight"] {
        let value = |run: &Run| run.identity.parameters[name].clone();
        assert!(!value(&rows[0]).is_empty() && value(&rows[0]) != "0");
        assert!(rows.iter().all(|run| value(run) == value(&rows[0])), "{name} differs");
    }
    assert!(rows.iter().all(|run| run.processes.iter().any(|p| p.name.starts_with("fb_dbw"))));
}

/// Where asynchronous I/O is asynchronous, one writer does most: 36 are 1.5 times as fast, which
/// with direct I/O are 18 times as fast. In the size that users get: the buffers are few, so a
/// writer has too few dirty ones for the batches that it may have on their way.
#[test]
fn where_a_writer_has_many_writes_in_flight_one_is_enough() {
    let (report, _) = report("eight-core", Size::MODELLED);
    let text = report.text();
    assert!(report.more_writers("asynch") < Some(1.6), "{text}");
    assert!(report.more_writers("directio") > Some(3.0), "{text}");
    assert_eq!(report.commits().lost(), 0, "{text}");
}
