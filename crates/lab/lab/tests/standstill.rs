//! Experiments on this machine whose process stands still (LB79). It is this process, with all of
//! its tests: so they are one test, in a program of its own.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "the test looks at the real directory")]
#![expect(clippy::disallowed_types, reason = "another program stops this one")]

use std::cell::Cell;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use experiment::Run;
use lab::{Before, Design, Ending, Experiment, Follower, Form, Request, RunOn, run};
use waits::{Nanos, SessionKind};

/// How long the process stands still.
const STANDSTILL: Nanos = Nanos::from_secs(2);
/// It stands still behind so many blocks: there are more than there are equals.
const BLOCKS_BEFORE: usize = 14;

/// A program that stops this one when it is told to.
struct Stopper(Child);

impl Stopper {
    fn ready() -> Stopper {
        let seconds = STANDSTILL.as_secs_f64();
        // Without a line, as where the test has failed, it stops nothing.
        let stops = format!("kill -STOP $PPID; sleep {seconds}; kill -CONT $PPID");
        let script = format!("if read line; then {stops}; fi");
        let mut command = Command::new("sh");
        let started = command.args(["-c", &script]).stdin(Stdio::piped()).spawn();
        Stopper(started.expect("a shell"))
    }

    /// Stops this process. Returns when it goes on.
    fn stop(mut self) {
        let mut input = self.0.stdin.take().expect("it has one");
        input.write_all(b"now\n").expect("it waits for that");
        assert!(self.0.wait().expect("it ended").success());
    }
}

/// Where the process stands still.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    InBlock,
    BehindBlock,
}

/// Counts the rows that it is told of, and does something behind the last one before the
/// standstill.
struct Counting<'a> {
    rows: &'a Cell<usize>,
    behind: &'a dyn Fn(),
}

impl Follower for Counting<'_> {
    fn tell(&mut self, _: &str) {}
    fn row(&mut self, _: &Run) {
        self.rows.set(self.rows.get() + 1);
        if self.rows.get() == BLOCKS_BEFORE {
            (self.behind)();
        }
    }
}

/// The words and the rows of an experiment of 5 s in one instance, whose process stands still.
fn standing_still(place: Place, rate: Option<u32>) -> (String, Vec<Run>) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lab-stands-still");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let mut experiment = Experiment::named("dbwr-count").expect("it is built in");
    experiment.design = Some(Design::Alternate);
    experiment.budget = Some(Nanos::from_secs(5));
    experiment.block = Some(Nanos::from_millis(100));
    experiment.washout = Some(Nanos::from_millis(10));
    rate.into_iter().for_each(|rate| experiment.arriving(rate));
    let request = Request {
        experiment,
        form: Form::tiny(),
        run_on: RunOn::ThisMachine(folder.clone()),
        seed: 3,
        equals: true,
        commit: "of a test".into(),
        command: "a test".into(),
        before: Before::default(),
    };
    let (rows, asked) = (Cell::new(0), Cell::new(0));
    let stopper = Cell::new(Some(Stopper::ready()));
    let stop = || stopper.take().expect("it stands still once").stop();
    let told_to_stop = || {
        if rows.get() == BLOCKS_BEFORE {
            asked.set(asked.get() + 1);
            // It is asked once before the block, and some forty times in it.
            if place == Place::InBlock && asked.get() == 10 {
                stop();
            }
        }
        false
    };
    let behind = || {
        if place == Place::BehindBlock {
            stop();
        }
    };
    let mut follower = Counting { rows: &rows, behind: &behind };
    let ended = run(&request, &told_to_stop, &mut follower, &session);
    let _ = std::fs::remove_dir_all(&folder);
    let (report, rows) = match ended {
        Ok(Ending::Answered(report, rows)) => (report, rows),
        Ok(Ending::Stopped(..)) => panic!("nobody told it to stop"),
        Err(stop) => panic!("all is lost: {stop}"),
    };
    assert!(stopper.take().is_none(), "it didn't stand still");
    let words: Vec<String> = report.text().split_whitespace().map(str::to_owned).collect();
    (words.join(" "), rows)
}

#[test]
fn a_standstill_is_in_no_row_and_ends_an_experiment_with_arrivals() {
    // Else a setting has an hour more than the other, which no later round mends.
    let (text, rows) = standing_still(Place::InBlock, None);
    assert!(rows.len() > BLOCKS_BEFORE, "{} rows", rows.len());
    assert!(text.contains("dropped and made again: 1 block, 1 of "), "{text}");
    let mut end = None;
    for row in &rows {
        let block = row.block.as_ref().expect("a block");
        let since_last = block.at_ns - end.unwrap_or(block.at_ns);
        end = Some(block.at_ns + block.washout_ns + block.window_ns);
        for ns in [since_last, block.washout_ns, block.window_ns] {
            assert!(ns < STANDSTILL.0, "{since_last} {block:?}");
        }
    }
    // What arrived meanwhile is in the latencies of all that come.
    for place in [Place::InBlock, Place::BehindBlock] {
        let (text, rows) = standing_still(place, Some(500));
        assert_eq!(rows.len(), BLOCKS_BEFORE);
        assert!(text.contains("after 14 blocks: the process stood still."), "{text}");
        assert!(text.contains("commits lost none"), "{text}");
    }
}
