//! A whole experiment in the simulated world: an answer, every account closed, the same again.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::Arc;

use experiment::Block;
use lab::{Before, Design, Ending, Experiment, Form, Request, RunOn, run};
use waits::{Nanos, SessionKind};

/// By restarts, in few rounds.
fn by_restarts(name: &str, text: &str, rounds: [u32; 2]) -> Experiment {
    let mut experiment = Experiment::parse(name, text).expect("it is one");
    experiment.design = Some(Design::Restarts);
    experiment.rounds = rounds;
    experiment
}

const DBWR_COUNT: &str = "question = \"one or eight?\"\n[factor]\ndb_writer_processes = [1, 8]";

fn request() -> Request {
    Request {
        experiment: by_restarts("dbwr-count", DBWR_COUNT, [2, 1]),
        form: Form::tiny(),
        run_on: RunOn::Model { machine: "eight-core".into(), disk: "nvme".into() },
        seed: 7,
        equals: false,
        commit: "of a test".into(),
        command: "a test".into(),
        before: Before::default(),
    }
}

fn answer(request: &Request) -> (experiment::Verdict, Vec<experiment::Run>) {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    match run(request, &|| false, &mut |_: &str| {}, &session) {
        Ok(Ending::Answered(report, rows)) => (*report, rows),
        Ok(Ending::Stopped(..)) => panic!("nobody told it to stop"),
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
    let ended = run(&request(), &|| true, &mut |_: &str| {}, &session);
    assert!(matches!(ended, Ok(Ending::Stopped(..))));
}

/// What a follower was told.
struct Told<'a> {
    /// The plan is carried out once more, with other costs.
    once_more: &'a Cell<bool>,
    rows: usize,
    audits: usize,
}

impl lab::Follower for Told<'_> {
    fn tell(&mut self, line: &str) {
        self.once_more.set(self.once_more.get() || line.starts_with("once more with"));
    }
    fn row(&mut self, _: &experiment::Run) {
        self.rows += 1;
    }
    fn audited(&mut self, _: experiment::Audit) {
        self.audits += 1;
    }
}

/// Runs it, and stops it when the first of three simulations has ended. Its text, its rows, and how
/// many rows and audits were handed on.
fn first_of_three(request: &Request) -> (String, Vec<experiment::Run>, [usize; 2]) {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let once_more = Cell::new(false);
    let mut told = Told { once_more: &once_more, rows: 0, audits: 0 };
    match run(request, &|| once_more.get(), &mut told, &session) {
        Ok(Ending::Stopped(Some(verdict), rows)) => {
            let words: Vec<String> = verdict.text().split_whitespace().map(str::to_owned).collect();
            (words.join(" "), rows, [told.rows, told.audits])
        }
        Ok(Ending::Stopped(None, _)) => panic!("no verdict"),
        Ok(Ending::Answered(..)) => panic!("it wasn't stopped"),
        Err(stop) => panic!("{stop}"),
    }
}

/// LB15: sessions work on through blocks, so what one of them is refused with names the last block
/// that began. Two sessions soon want one branch.
#[test]
fn what_a_load_is_refused_with_says_under_which_setting_it_was() {
    let text = "question = \"?\"\n[factor]\ncommit_leader = [\"session\", \"lgwr\"]\n\
                [both]\nlock_timeout = 0";
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    for design in [Design::Alternate, Design::Restarts] {
        let mut experiment = by_restarts("impatient", text, [2, 1]);
        experiment.design = Some(design);
        experiment.budget = Some(Nanos::from_secs(1));
        experiment.block = Some(Nanos::from_millis(20));
        let asked = Request { experiment, ..request() };
        let stop = run(&asked, &|| false, &mut |_: &str| {}, &session).err().expect("no wait");
        let words = stop.to_string();
        assert!(words.starts_with("setting "), "{design:?}: {words}");
        assert!(words.contains(" (commit_leader = "), "{design:?}: {words}");
        assert!(words.contains("without waiting"), "{design:?}: {words}");
    }
}

/// LB80: by restarts rounds end an experiment, and a budget doesn't.
#[test]
fn a_budget_that_bounds_nothing_is_told_of() {
    let told = |budget| {
        let mut asked = request();
        asked.experiment.budget = budget;
        let os = os::linux::start_with(Arc::new(|_| {}));
        let session = os.adopt("test", SessionKind::Foreground);
        let mut lines = Vec::new();
        let mut tell = |line: &str| lines.push(line.to_owned());
        assert!(run(&asked, &|| true, &mut tell, &session).is_ok());
        let says = "notice: by restarts the budget bounds nothing: 6 runs";
        lines.iter().any(|line| line.starts_with(says))
    };
    assert!(told(Some(Nanos::from_secs(5))) && !told(None));
}

/// LB80: all of their time would be spent for nothing.
#[test]
fn rounds_that_never_have_an_answer_are_told_of() {
    let told = |rounds| {
        let mut asked = request();
        asked.experiment.rounds = [rounds, 1];
        let os = os::linux::start_with(Arc::new(|_| {}));
        let session = os.adopt("test", SessionKind::Foreground);
        let mut lines = Vec::new();
        let mut tell = |line: &str| lines.push(line.to_owned());
        assert!(run(&asked, &|| true, &mut tell, &session).is_ok());
        lines.iter().any(|line| line.starts_with("notice: fewer than 6 rounds never"))
    };
    assert!(told(5) && !told(6));
}

/// LB75: who asked for so many rounds waits for their end.
#[test]
fn rounds_that_an_experiment_goes_on_beyond_are_told_of() {
    let told = |until_decided| {
        let mut asked = request();
        asked.experiment.until_decided = until_decided;
        let os = os::linux::start_with(Arc::new(|_| {}));
        let session = os.adopt("test", SessionKind::Foreground);
        let mut lines = Vec::new();
        let mut tell = |line: &str| lines.push(line.to_owned());
        assert!(run(&asked, &|| true, &mut tell, &session).is_ok());
        let says = "notice: until it knows it goes on beyond 2 rounds";
        lines.iter().any(|line| line.starts_with(says))
    };
    assert!(told(true) && !told(false));
}

/// V12: of a simulation that was broken off nobody knows what it would have said.
#[test]
fn a_verdict_does_not_depend_on_what_was_broken_off() {
    let (text, ..) = first_of_three(&request());
    assert!(!text.contains("DEPENDS"), "{text}");
    assert!(text.contains("depends on the model's costs was not tried."), "{text}");
}

fn comparison(report: &experiment::Verdict) -> serde_json::Value {
    let found: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
    found["headline"]["comparison"].clone()
}

/// Three settings by restarts: all runs of a round, one table, and the error shared by two.
#[test]
fn three_settings_are_compared_with_the_first() {
    let text = "question = \"how many writers?\"\n[factor]\ndb_writer_processes = [1, 4, 8]";
    let experiment = by_restarts("counts", text, [6, 1]);
    let (report, rows) = answer(&Request { experiment, ..request() });
    assert_eq!(rows.len(), 6 * 3 + 2);
    let found: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
    let lines = found["levels"]["lines"].as_array().expect("three settings");
    let settings = lines.iter().map(|line| line["setting"].as_str().unwrap_or_default());
    let asked = [1, 4, 8].map(|count| format!("db_writer_processes = {count}"));
    assert_eq!(settings.collect::<Vec<_>>(), asked);
    assert_eq!(found["levels"]["error_of_each"], 0.025 / 2.0);
    assert_eq!(found["headline"]["comparison"]["error"], 0.025 / 2.0);
    for line in &lines[1..] {
        assert!(line["against_a"]["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{line}");
        assert!(line["cpu_ns"].as_f64().is_some_and(|ns| ns > 0.0), "{line}");
    }
    let text = report.text();
    assert!(text.contains("is shared by 2 comparisons with A"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

/// Sixteen times as many buffers: rows are read from the disk, or they aren't.
const CONTROL: &str = "question = \"does the lab see what can't be missed?\"\n\
                       [factor]\ndb_cache_size = [\"512k\", \"8m\"]";

/// What can't be missed is real, and equals aren't told apart, by as many rounds of the same form.
#[test]
fn a_real_difference_is_claimed_and_none_between_equals() {
    let [equals, different] = [true, false].map(|equals| {
        let experiment = by_restarts("control", CONTROL, [8, 4]);
        comparison(&answer(&Request { experiment, equals, ..request() }).0)
    });
    assert_eq!(different["real"], "yes", "{different}");
    assert!(different["ratio"].as_f64().expect("a number") > 1.0, "{different}");
    assert_eq!(equals["real"], "not seen", "{equals}");
}

/// In one instance, in blocks of 20 ms: a planted difference, which may come slowly.
fn alternating(delay_ns: u32, lag_s: u32) -> Request {
    let text = format!(
        "question = \"is a planted delay found?\"\n\
         [factor]\ntest_commit_delay = [0, {delay_ns}]\n\
         [both]\ntest_commit_delay_lag = {lag_s}"
    );
    let mut experiment = Experiment::parse("planted", &text).expect("it is one");
    experiment.design = Some(Design::Alternate);
    experiment.budget = Some(Nanos::from_secs(3));
    experiment.block = Some(Nanos::from_millis(20));
    experiment.washout = Some(Nanos::from_millis(2));
    Request { experiment, ..request() }
}

#[test]
fn settings_that_alternate_in_one_instance_are_told_apart_and_equals_are_not() {
    let (report, rows) = answer(&alternating(2_000_000, 0));
    let found = comparison(&report);
    assert_eq!((&found["real"], &found["matters"]), (&"yes".into(), &"yes".into()), "{found}");
    assert!(found["ratio"].as_f64().expect("a number") < 0.9, "{found}");
    assert!(report.text().contains("looked for after the"), "{}", report.text());
    for row in &rows {
        assert_eq!(row.foreground.profile.unaccounted_ns, 0, "{:?}", row.foreground.worst);
        assert!(row.processes.iter().all(|process| process.name != "lab_probe"));
        let block = row.block.as_ref().expect("each row is a block");
        assert_eq!(block.curve.len(), 20);
    }
    let equals = Request { equals: true, ..alternating(2_000_000, 0) };
    assert_eq!(comparison(&answer(&equals).0)["real"], "not seen");
}

/// A delay that takes a second to come, and to go, is about the same in all blocks: the verdict
/// says that settings which are so slow can't alternate.
#[test]
fn a_slow_effect_is_found_where_blocks_hide_it() {
    let (report, _) = answer(&alternating(8_000_000, 1));
    let found: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
    let slow = &found["carry_over"]["slow"];
    let figure = |name: &str| slow[name].as_f64().unwrap_or_else(|| panic!("{slow}"));
    assert!(figure("p") <= 0.005 && figure("effect") < -0.1, "{slow}");
    let text = report.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("alternating in one instance isn't valid here"), "{text}");
}

/// Rows of a simulation reach who follows it, and the audit does.
#[test]
fn rows_of_a_simulated_instance_are_handed_on() {
    #[derive(Default)]
    struct Told(usize, usize, usize);
    impl lab::Follower for Told {
        fn tell(&mut self, _: &str) {}
        fn begins(&mut self, _: &experiment::Rule, _: &str, _: &[String]) {
            self.0 += 1;
        }
        fn row(&mut self, _: &experiment::Run) {
            self.1 += 1;
        }
        fn audited(&mut self, audit: experiment::Audit) {
            self.2 += 1;
            assert_eq!(audit.instance_ns, Some(0));
        }
    }
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let request = Request { equals: true, ..alternating(0, 0) };
    let mut told = Told::default();
    let ended = run(&request, &|| false, &mut told, &session);
    let Ok(Ending::Answered(_, rows)) = ended else { panic!("no answer") };
    assert_eq!((told.0, told.1, told.2), (1, rows.len(), 1));
}

/// LB68: rows that were enough are in the follower's file already.
#[test]
fn rows_of_a_simulation_that_were_enough_are_not_handed_on_again() {
    let mut asked = alternating(2_000_000, 0);
    asked.experiment.budget = Some(Nanos::from_millis(400));
    let (_, runs, [rows, audits]) = first_of_three(&asked);
    assert_eq!((runs.len(), audits), (rows, 1));
    asked.before = Before { runs, ..Before::default() };
    let (_, runs, told) = first_of_three(&asked);
    assert_eq!((runs.len(), told), (rows, [0, 0]));
}

/// What only takes effect at opening is compared by restarts, and the verdict says so.
#[test]
fn what_is_chosen_at_opening_does_not_alternate() {
    let text = "question = \"how many working sets?\"\n[factor]\ndb_working_sets = [8, 16]";
    let mut experiment = Experiment::parse("sets", text).expect("it is one");
    experiment.rounds = [2, 1];
    let (report, rows) = answer(&Request { experiment: experiment.clone(), ..request() });
    assert!(rows.iter().all(|row| row.block.is_none()));
    let (design, notes) = experiment.way(false).expect("by restarts");
    assert_eq!(design, Design::Restarts);
    assert!(notes[0].contains("db_working_sets is chosen when an instance opens"), "{notes:?}");
    assert!(report.text().contains("Is it real?"));
    let connections = "question = \"do they wait?\"\n[factor]\nlock_timeout = [5, 50]";
    let connections = Experiment::parse("waits", connections).expect("it is one");
    assert_eq!(connections.way(false).expect("by restarts").0, Design::Restarts);
    experiment.design = Some(Design::Alternate);
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let asked = Request { experiment, ..request() };
    match run(&asked, &|| false, &mut |_: &str| {}, &session) {
        Err(stop) => assert!(stop.to_string().contains("can't alternate"), "{stop}"),
        Ok(_) => panic!("it ran"),
    }
}

/// A turn that is longer than a block counts as time of the setting under which it began.
#[test]
fn no_time_lies_between_blocks() {
    let text = "question = \"?\"\n[factor]\ntest_commit_delay = [0, 1]\n\
                [load]\nmass_update_every = 50\nmass_update_rows = 400";
    let mut experiment = Experiment::parse("mass", text).expect("it is one");
    experiment.budget = Some(Nanos::from_millis(600));
    experiment.block = Some(Nanos::from_millis(20));
    experiment.design = Some(Design::Alternate);
    let (_, rows) = answer(&Request { experiment, equals: true, ..request() });
    let blocks: Vec<&Block> = rows.iter().map(|run| run.block.as_ref().expect("one")).collect();
    let all = blocks.last().expect("some").at_ns - blocks[0].at_ns;
    let end = |block: &Block| block.at_ns + block.washout_ns + block.window_ns;
    let between: u64 = blocks.windows(2).map(|pair| pair[1].at_ns - end(pair[0])).sum();
    assert!(between * 100 < all, "{between} of {all} ns");
    let longest = blocks.iter().map(|block| block.window_ns).max().expect("some");
    assert!(longest > 22_000_000, "no turn was long: {longest}");
}

/// Rows with and without what comes just after a switch don't belong together.
#[test]
fn rows_of_another_washout_do_not_go_on() {
    let text = "question = \"?\"\n[factor]\ntest_commit_delay = [0, 1]";
    let mut experiment = Experiment::parse("washout", text).expect("it is one");
    experiment.budget = Some(Nanos::from_secs(1));
    experiment.block = Some(Nanos::from_millis(20));
    experiment.washout = Some(Nanos::from_millis(2));
    experiment.design = Some(Design::Alternate);
    let (_, runs) = answer(&Request { experiment: experiment.clone(), ..request() });
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let go_on = |washout| {
        let mut experiment = experiment.clone();
        experiment.washout = Some(washout);
        let before = Before { runs: runs.clone(), ..Before::default() };
        let asked = Request { experiment, before, ..request() };
        run(&asked, &|| false, &mut |_: &str| {}, &session).err().map(|stop| stop.to_string())
    };
    assert_eq!(go_on(Nanos::from_millis(2)), None);
    let refused = go_on(Nanos::from_millis(5)).expect("of another washout");
    assert!(refused.contains("length of blocks"), "{refused}");
}

/// An open instance can't get more than it was opened for, so it is opened with room for both.
#[test]
fn a_setting_may_have_more_than_the_first_one() {
    for factor in ["log_writes_in_flight = [1, 4]", "db_cache_size = [\"1m\", \"2m\"]"] {
        let text = format!(
            "question = \"is there room?\"\ndesign = \"alternate\"\nbudget = 1\n\
             [factor]\n{factor}\n[both]\nlog_buffer = \"600k\"\n\
             [blocks]\nlength = 0.02\nwashout = 0.002"
        );
        let experiment = Experiment::parse("room", &text).expect("it is one");
        let (_, rows) = answer(&Request { experiment, ..request() });
        assert!(rows.iter().all(|row| row.block.is_some()), "{factor}");
    }
}

/// What one setting gives and the other doesn't is taken back, in one instance too.
#[test]
fn a_setting_takes_back_what_the_other_gave() {
    let text = "question = \"what stays?\"\n[[setting]]\ntest_commit_delay = 2000000\n\
                [[setting]]\nundo_retention = 77";
    let mut experiment = Experiment::parse("two", text).expect("it is one");
    experiment.budget = Some(Nanos::from_secs(2));
    experiment.block = Some(Nanos::from_millis(20));
    experiment.design = Some(Design::Alternate);
    let (report, rows) = answer(&Request { experiment, ..request() });
    let found = comparison(&report);
    assert_eq!(found["real"], "yes", "{found}");
    assert!(found["ratio"].as_f64().expect("a number") > 1.1, "B has no delay: {found}");
    let of = |row: &experiment::Run| {
        let named = &row.identity.parameters;
        (named["test_commit_delay"].clone(), named["undo_retention"].clone())
    };
    for row in &rows {
        let expected = match row.identity.level {
            experiment::Level::A => ("2000000", "0"),
            _ => ("0", "77"),
        };
        let (delay, timeout) = of(row);
        assert_eq!((&*delay, &*timeout), expected);
    }
}
