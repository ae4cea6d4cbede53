//! Suspicions of a hostile reader.
#![expect(clippy::disallowed_methods, reason = "the test looks at the real directory")]
#![allow(clippy::unwrap_used, reason = "a probe")]

use std::path::PathBuf;
use std::sync::Arc;

use experiment::{Level, Measure, Rule, Run, decide};
use lab::{Before, Design, Ending, Experiment, Follower, Form, Request, RunOn, Setting, run};
use waits::{Nanos, SessionKind};
use workload::Latencies;

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

#[derive(Default)]
struct Told {
    rule: Option<Rule>,
    rows: Vec<Run>,
    audits: Vec<experiment::Audit>,
    lines: Vec<String>,
}

impl Follower for Told {
    fn tell(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }
    fn begins(&mut self, rule: &Rule, _: &str, _: &[String]) {
        self.rule = Some(*rule);
    }
    fn row(&mut self, run: &Run) {
        self.rows.push(run.clone());
    }
    fn audited(&mut self, audit: experiment::Audit) {
        self.audits.push(audit);
    }
}

fn setting(name: &str, value: &str) -> Setting {
    Setting::of([(name.to_owned(), value.to_owned())]).expect("a setting")
}

fn comparing(a: Setting, b: Setting, parent: PathBuf) -> Request {
    let mut experiment = Experiment::comparing(a, b, "debit-credit").expect("one");
    experiment.design = Some(Design::Restarts);
    experiment.rounds = [2, 1];
    Request {
        experiment,
        form: Form::tiny().lasting(Nanos::from_millis(200)),
        run_on: RunOn::ThisMachine(parent),
        seed: 3,
        equals: false,
        commit: "of a test".into(),
        command: "a test".into(),
        before: Before::default(),
    }
}

#[test]
fn an_ended_comparison_of_log_writes_is_resumed() {
    let parent = folder("hostile-log-writes");
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let (a, b) = (setting("log_writes_in_flight", "1"), setting("log_writes_in_flight", "2"));
    let mut request = comparing(a, b, parent.clone());
    request.form.set(|_, parameters| parameters.set("log_buffer", "1m")).expect("a size");
    let mut told = Told::default();
    let rows = match run(&request, &|| false, &mut told, &session) {
        Ok(Ending::Answered(_, rows)) => rows,
        Ok(_) => panic!("no answer"),
        Err(stop) => panic!("first: {stop}"),
    };
    println!("row bytes {}", rows[0].to_json_line().len());
    request.before = Before { rule: told.rule, runs: rows, audits: told.audits };
    let mut again = Told::default();
    match run(&request, &|| false, &mut again, &session) {
        Ok(Ending::Answered(..)) => {}
        Ok(Ending::Stopped(..)) => panic!("stopped"),
        Err(stop) => panic!("refused: {stop}; told {:?}", again.lines),
    }
    let _ = std::fs::remove_dir_all(&parent);
}

#[test]
fn a_full_data_file_costs_no_rows() {
    let parent = folder("hostile-full");
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let (a, b) = (setting("commit_leader", "session"), setting("commit_leader", "lgwr"));
    let mut request = comparing(a, b, parent.clone());
    request.experiment.design = Some(Design::Alternate);
    request.experiment.budget = Some(Nanos::from_secs(300));
    request.experiment.block = Some(Nanos::from_millis(50));
    request.experiment.matters = 1e-4;
    request
        .form
        .set(|creation, _| {
            creation.set("data_bytes", "40m")?;
            creation.set("data_bytes_max", "40m")
        })
        .expect("sizes");
    let mut told = Told::default();
    let began = std::time::Instant::now();
    let ended = run(&request, &|| false, &mut told, &session);
    println!("{} rows after {:?}, {} commits in windows", told.rows.len(), began.elapsed(), told.rows.iter().map(|r| r.block.as_ref().map_or(0, |b| b.transactions)).sum::<u64>());
    if let Some(row) = told.rows.first() {
        println!("row bytes {}", row.to_json_line().len());
    }
    match ended {
        Ok(_) => println!("fine"),
        Err(stop) => panic!("all is lost: {stop}"),
    }
    let _ = std::fs::remove_dir_all(&parent);
}

/// Per-run medians of so many transactions around this median, as the lab would record them.
fn median_us(center_us: f64, shift: f64) -> f64 {
    let mut latencies = Latencies::default();
    for at in 0..2_001 {
        let spread = 0.5 + f64::from(at) / 2_000.0;
        latencies.record(Nanos((center_us * (1.0 + shift) * spread * 1e3) as u64));
    }
    latencies.percentile(50.0).0 as f64 / 1e3
}

fn verdict_on(a_us: f64, b_us: f64) -> experiment::Decision {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let (a, b) = (setting("commit_leader", "session"), setting("commit_leader", "lgwr"));
    let mut request = comparing(a, b, PathBuf::from("."));
    request.experiment.rounds = [12, 1];
    request.experiment.matters = 1e-4;
    request.form = Form::tiny();
    request.run_on = RunOn::Model { machine: "two-core".into(), disk: "nvme".into() };
    request.equals = true;
    let mut told = Told::default();
    let Ok(Ending::Answered(_, mut rows)) = run(&request, &|| false, &mut told, &session) else {
        panic!("no answer")
    };
    for (at, row) in rows.iter_mut().enumerate() {
        let center = if row.identity.level == Level::A { a_us } else { b_us };
        // Runs of a level differ by 0.1 % either way.
        let noise = 0.001 * ((at * 7 % 5) as f64 / 2.0 - 1.0);
        row.latency = row.latency.map(|of| experiment::Latency {
            p50_us: median_us(center, noise),
            ..of
        });
    }
    let rule = Rule {
        threshold: 0.02,
        error: 0.025,
        rounds: 12,
        is_device_neutral: false,
        measure: Measure::Median,
        is_open_ended: false,
    };
    decide(&rows, Level::B, Measure::Median.figure(), &rule).expect("a decision")
}

#[test]
fn medians_2_9_per_cent_apart_matter() {
    let of = verdict_on(1_050.0, 1_080.0);
    println!("true +2.86 %: {} {:?} {:?}", of.ratio, of.interval, of.answer);
    assert_ne!(of.answer.matters, stats::Matters::No, "{of:?}");
}

#[test]
fn medians_0_4_per_cent_apart_do_not_matter() {
    let of = verdict_on(1_079.0, 1_083.5);
    println!("true +0.42 %: {} {:?} {:?}", of.ratio, of.interval, of.answer);
    assert_ne!(of.answer.matters, stats::Matters::Yes, "{of:?}");
}
