//! The two answers of `free-buffer-waits`, on models: more writers pay where a writer waits for
//! each of its writes, and don't where it doesn't.
#![forbid(unsafe_code)]

use std::sync::Arc;

use lab::RunOn;
use lab::free_buffer_waits::{Matrix, Report, Setting, Size, run};
use waits::SessionKind;

fn report(machine: &str, size: Size) -> Report {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let matrix = Matrix {
        size,
        settings: Setting::all(),
        run_on: RunOn::Model { machine: machine.into(), disk: "array".into() },
        paced: None,
        seed: 5,
        commit: "of a test".into(),
        command: "a test".into(),
    };
    match run(&matrix, &|| false, &mut |_: &str| {}, &session) {
        Ok(Some(report)) => report,
        Ok(None) => panic!("nobody told it to stop"),
        Err(stop) => panic!("{stop}"),
    }
}

/// The shape of the original: buffered and one by one is slow, slaves help, direct I/O with 36
/// writers is several times as fast; every second of every session has a name.
#[test]
fn on_the_hp_ux_server_direct_io_with_many_writers_wins() {
    let report = report("hp-ux", Size::TINY);
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
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(report.json().contains("\"timesource\":\"TOTAL_TIME\""));
}

/// Where asynchronous I/O is asynchronous, one writer does most: 36 are 1.5 times as fast, which
/// with direct I/O are 18 times as fast. In the size that users get: the buffers are few, so a
/// writer has too few dirty ones for the batches that it may have on their way.
#[test]
fn where_a_writer_has_many_writes_in_flight_one_is_enough() {
    let report = report("eight-core", Size::MODELLED);
    let text = report.text();
    assert!(report.more_writers("asynch") < Some(1.6), "{text}");
    assert!(report.more_writers("directio") > Some(3.0), "{text}");
    assert!(text.contains("the case of dbwr-count"), "{text}");
}
