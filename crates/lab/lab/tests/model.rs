//! A whole experiment in the simulated world: an answer, every account closed, the same again.
#![forbid(unsafe_code)]

use std::sync::Arc;

use lab::{Ending, Experiment, Form, Request, RunOn, run};
use waits::SessionKind;

fn request() -> Request {
    Request {
        experiment: Experiment::named("dbwr-count").expect("it is built in"),
        form: Form::tiny(),
        run_on: RunOn::Model { machine: "eight-core".into(), disk: "nvme".into() },
        seed: 7,
        threshold: 0.02,
        equals: false,
        commit: "of a test".into(),
        command: "a test".into(),
    }
}

fn answer(request: &Request) -> (experiment::Verdict, Vec<experiment::Run>) {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    match run(request, &|| false, &mut |_| {}, &session) {
        Ok(Ending::Answered(report, rows)) => (*report, rows),
        Ok(Ending::Stopped) => panic!("nobody told it to stop"),
        Err(stop) => panic!("{stop}"),
    }
}

/// In the simulator nothing is left over, of any session and any process in any run; and no commit
/// is lost.
#[test]
fn every_account_closes_to_the_nanosecond_and_no_commit_is_lost() {
    let (report, rows) = answer(&request());
    assert!(report.text().contains("Is it real?"), "{}", report.text());
    for row in &rows {
        let commits = row.commits.expect("each run is audited");
        assert!(commits.acknowledged > 0 && commits.lost() == 0, "{commits:?}");
        assert_eq!(row.foreground.profile.unaccounted_ns, 0, "{:?}", row.foreground.worst);
        assert_eq!(row.foreground.count, 12);
        for process in &row.processes {
            assert_eq!(process.unaccounted_ns, 0, "{process:?}");
        }
        let writers = row.processes.iter().filter(|p| p.name.starts_with("fb_dbw")).count();
        assert!(writers == 1 || writers == 8, "{:?}", row.processes);
    }
}

/// The same request gives the same page, to the letter.
#[test]
fn the_same_seed_gives_the_same_answer() {
    assert_eq!(answer(&request()).0.text(), answer(&request()).0.text());
}

/// Who is told to stop stops, and says so.
#[test]
fn told_to_stop_it_stops() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let ended = run(&request(), &|| true, &mut |_| {}, &session);
    assert!(matches!(ended, Ok(Ending::Stopped)));
}

/// Equals are not told apart, by as many pairs as could claim a difference: of two pairs no
/// difference can be claimed, whatever the runs say. That the same form does claim a difference
/// where there is one is shown beside the list of experiments.
#[test]
fn setting_a_against_itself_is_no_difference_that_is_claimed() {
    for seed in [7, 8, 9] {
        let mut request = Request { equals: true, seed, ..request() };
        (request.form.pairs, request.form.aa_pairs) = (8, 4);
        let (report, rows) = answer(&request);
        assert!(rows.iter().all(|row| row.identity.setting == "db_writer_processes = 1"));
        let found: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        let comparison = &found["headline"]["comparison"];
        assert_eq!((&comparison["pairs"], &comparison["aa_pairs"]), (&8.into(), &4.into()));
        let finding = comparison["finding"].as_str().expect("there are pairs enough for one");
        assert!(["no difference", "can't tell"].contains(&finding), "seed {seed}: {comparison}");
    }
}
