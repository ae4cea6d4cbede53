//! The saw-tooth of `redo-size`, on a model: its period is a megabyte.
#![forbid(unsafe_code)]

use std::sync::Arc;

use experiment::Commits;
use lab::RunOn;
use lab::redo_size::{Curve, Report, Sizes, run};
use waits::SessionKind;

fn report(disk: &str) -> Report {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let curve = Curve {
        sizes: Sizes::TINY,
        run_on: RunOn::Model { machine: "eight-core".into(), disk: disk.into() },
        seed: 5,
        commit: "of a test".into(),
        command: "a test".into(),
    };
    match run(&curve, &|| false, &mut |_: &str| {}, &session) {
        Ok(Some(report)) => report,
        Ok(None) => panic!("nobody told it to stop"),
        Err(stop) => panic!("{stop}"),
    }
}

/// The whole engine on a model of an SSD: commits fall back at each megabyte of redo, by fit.
#[test]
fn the_teeth_are_a_megabyte_apart() {
    let report = report("nvme");
    let text = report.text();
    let (period, _) = report.period_mib().unwrap_or_else(|| panic!("no teeth: {text}"));
    // A flush begins at a megabyte, and takes with it what came since. Sizes lie a thirteenth of a
    // mebibyte apart, over four teeth: a fall that is met half way leaves half of that to each
    // tooth.
    assert!((period - 1.0).abs() < 0.04, "{text}");
    assert!(text.contains("A saw-tooth"), "{text}");
    assert!(report.json().contains("\"period_mib\":"));
    // One commit for each size, and the calibration.
    let all = 53 + 1;
    assert_eq!(report.commits(), Commits { acknowledged: all, found: all }, "{text}");
    assert!(text.contains("Commits lost: none, of 54 acknowledged"), "{text}");
    assert!(text.contains("Redo is written with"), "{text}");
}
