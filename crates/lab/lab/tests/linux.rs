//! A whole experiment on this machine, small: it leaves nothing behind, whatever happens.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "the test looks at the real directory")]

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use experiment::{Asked, Audit, Call, Level, Rows, Rule, Run, Verdict, note_line, parse_rows};
use lab::{Before, Design, Ending, Experiment, Form, Request, RunOn, Setting, report_again, run};
use waits::{Nanos, SessionKind};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("it is there");
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn request(folder: &Folder) -> Request {
    let mut experiment = Experiment::named("dbwr-count").expect("it is built in");
    experiment.design = Some(Design::Restarts);
    experiment.rounds = [2, 1];
    Request {
        experiment,
        form: Form::tiny(),
        run_on: RunOn::ThisMachine(folder.0.clone()),
        seed: 3,
        equals: false,
        commit: "of a test".into(),
        command: "a test".into(),
        before: Before::default(),
    }
}

/// LB2, LB4: commits are looked for after each run, and the folder is empty again.
#[test]
fn an_experiment_answers_and_leaves_nothing_behind() {
    let folder = Folder::new("lab-answers");
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let mut request = request(&folder);
    // Long enough for a commit also where much else runs.
    request.form = request.form.lasting(Nanos::from_millis(500));
    let ended = run(&request, &|| false, &mut |_: &str| {}, &session);
    let Ok(Ending::Answered(report, rows)) = ended else { panic!("no answer") };
    assert!(report.text().contains("commits lost      none"), "{}", report.text());
    assert_eq!(rows.len(), 6);
    assert_eq!(folder.names(), Vec::<String>::new());
}

/// The same in one instance, where the settings alternate.
#[test]
fn an_experiment_in_one_instance_answers_and_leaves_nothing_behind() {
    let folder = Folder::new("lab-alternates");
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let mut request = request(&folder);
    request.experiment.design = Some(Design::Alternate);
    request.experiment.budget = Some(Nanos::from_secs(4));
    request.experiment.block = Some(Nanos::from_millis(100));
    request.experiment.washout = Some(Nanos::from_millis(10));
    let ended = run(&request, &|| false, &mut |_: &str| {}, &session);
    let Ok(Ending::Answered(report, rows)) = ended else { panic!("no answer") };
    assert!(report.text().contains("commits lost      none"), "{}", report.text());
    assert!(rows.iter().all(|row| row.block.is_some() && row.surroundings.is_some()));
    // LB64: the washout is as long as it says, and a block as it was asked for.
    for row in &rows {
        let block = row.block.as_ref().expect("a block");
        assert_eq!(block.curve.len(), 20, "{block:?}");
        let whole = block.washout_ns + block.window_ns;
        assert!(whole >= 99_000_000 && block.washout_ns >= 10_000_000, "{block:?}");
    }
    // LB61: what a probe chose is the same in all runs, and named.
    let redo_write = |row: &experiment::Run| row.identity.parameters["redo_write"].clone();
    assert!(rows.iter().all(|row| redo_write(row) == redo_write(&rows[0])));
    assert_ne!(redo_write(&rows[0]), "probed");
    assert_eq!(folder.names(), Vec::<String>::new());
}

/// Has the lines of the file of rows.
#[derive(Default)]
struct Lines(String);

impl lab::Follower for Lines {
    fn tell(&mut self, _: &str) {}
    fn begins(&mut self, rule: &Rule, model: &str, notes: &[String]) {
        let (rule, call, model, notes) = (*rule, Call::default(), model.into(), notes.to_vec());
        self.0 += &(Asked { rule, call, model, notes }.to_json_line() + "\n");
    }
    fn row(&mut self, run: &Run) {
        self.0 += &(run.to_json_line() + "\n");
    }
    fn noted(&mut self, note: &str) {
        self.0 += &(note_line(note) + "\n");
    }
    fn audited(&mut self, audit: Audit) {
        self.0 += &(audit.to_json_line() + "\n");
    }
}

/// LB78: history fills the data file, and what was measured until then is worth a verdict. Each
/// later verdict on the rows says it too.
#[test]
fn a_full_data_file_ends_an_experiment_with_its_verdict() {
    let folder = Folder::new("lab-full");
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let leader = |name: &str| {
        Setting::of([("commit_leader".to_owned(), name.to_owned())]).expect("a setting")
    };
    let (a, b) = (leader("session"), leader("lgwr"));
    let mut request = request(&folder);
    request.experiment = Experiment::comparing(a, b, "debit-credit").expect("it is one");
    request.experiment.design = Some(Design::Alternate);
    request.experiment.budget = Some(Nanos::from_secs(600));
    request.experiment.block = Some(Nanos::from_millis(50));
    request.experiment.matters = 1e-4;
    let sized = request.form.set(|creation, _| {
        creation.set("data_bytes", "20m")?;
        creation.set("data_bytes_max", "20m")
    });
    sized.expect("sizes");
    let mut lines = Lines::default();
    let ended = run(&request, &|| false, &mut lines, &session);
    let (report, rows) = match ended {
        Ok(Ending::Answered(report, rows)) => (report, rows),
        Ok(Ending::Stopped(..)) => panic!("nobody told it to stop"),
        Err(stop) => panic!("all is lost: {stop}"),
    };
    assert!(rows.len() > 20, "{} rows", rows.len());
    let says = |report: &Verdict| {
        let words: Vec<String> = report.text().split_whitespace().map(str::to_owned).collect();
        words.join(" ").contains("no more room for rows of history")
    };
    assert!(says(&report), "{}", report.text());
    assert!(report.text().contains("commits lost      none"), "{}", report.text());
    let read = parse_rows(&lines.0).expect("rows");
    let again = report_again(&read, None, String::new()).expect("a verdict");
    assert!(says(&again), "{}", again.text());
    let Rows { runs, notes, audits, .. } = read;
    request.before = Before { rule: None, runs, notes, audits };
    match run(&request, &|| true, &mut |_: &str| {}, &session) {
        Ok(Ending::Stopped(Some(resumed), _)) => assert!(says(&resumed), "{}", resumed.text()),
        ended => panic!("no verdict: {:?}", ended.err()),
    }
}

/// Counts the rows that it is told of.
struct Counting<'a>(&'a Cell<usize>);

impl lab::Follower for Counting<'_> {
    fn tell(&mut self, _: &str) {}
    fn row(&mut self, _: &Run) {
        self.0.set(self.0.get() + 1);
    }
}

/// LB79: a setting may hold up the thread that makes blocks, by the memory or the CPU that it
/// takes. What sessions do meanwhile counts. (A whole process stands still in `standstill.rs`.)
#[test]
fn a_thread_that_is_held_up_while_sessions_commit_drops_no_block() {
    let folder = Folder::new("lab-held-up");
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let mut request = request(&folder);
    request.equals = true;
    request.experiment.design = Some(Design::Alternate);
    request.experiment.budget = Some(Nanos::from_secs(4));
    request.experiment.block = Some(Nanos::from_millis(100));
    request.experiment.washout = Some(Nanos::from_millis(10));
    let (rows, asked) = (Cell::new(0), Cell::new(0));
    let told_to_stop = || {
        if rows.get() == 10 {
            asked.set(asked.get() + 1);
            // It is asked once before the block, and some forty times in it.
            if asked.get() == 10 {
                std::thread::sleep(Duration::from_millis(1_500));
            }
        }
        false
    };
    let ended = run(&request, &told_to_stop, &mut Counting(&rows), &session);
    let Ok(Ending::Answered(report, _)) = ended else { panic!("no answer") };
    assert!(asked.get() >= 10, "it was held up in no block");
    let text: Vec<String> = report.text().split_whitespace().map(str::to_owned).collect();
    assert!(!text.join(" ").contains("stood still"), "{}", report.text());
}

/// LB4: stopped in the middle of loading or of a run, it leaves nothing either.
#[test]
fn stopped_anywhere_it_leaves_nothing_behind() {
    for asked_at_most in [3, 8, 40, 200, u32::MAX] {
        let folder = Folder::new(&format!("lab-stopped-{asked_at_most}"));
        let os = os::linux::start_with(Arc::new(|_| {}));
        let session = os.adopt("test", SessionKind::Foreground);
        let asked = Cell::new(0);
        let told_to_stop = || {
            asked.set(asked.get() + 1);
            asked.get() > asked_at_most
        };
        let ended = run(&request(&folder), &told_to_stop, &mut |_: &str| {}, &session);
        match ended {
            Ok(Ending::Stopped(..)) => {
                assert!(asked.get() > asked_at_most, "nobody told it to stop")
            }
            // It may have ended before it was told.
            Ok(Ending::Answered(..)) => assert!(asked_at_most > 40, "{asked_at_most}: it goes on"),
            Err(stop) => panic!("after {asked_at_most}: {stop}"),
        }
        assert_eq!(folder.names(), Vec::<String>::new(), "stopped after {asked_at_most}");
    }
}

/// LB4: one that was killed behind its last row is resumed by its verdict alone, and takes away
/// what it had left. (Its rows are a model's, which are soon made.)
#[test]
fn an_experiment_that_has_ended_takes_away_what_it_had_left() {
    let folder = Folder::new("lab-ended");
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let mut request = request(&folder);
    request.equals = true;
    let here = request.run_on.clone();
    request.run_on = RunOn::Model { machine: "eight-core".into(), disk: "nvme".into() };
    let ended = run(&request, &|| false, &mut |_: &str| {}, &session);
    let Ok(Ending::Answered(_, runs)) = ended else { panic!("no answer") };
    std::fs::create_dir(folder.0.join("forebay-lab-7")).expect("made");
    std::fs::write(folder.0.join("forebay-lab-7/owner"), "").expect("made");
    request.run_on = here;
    request.before = Before { runs, ..Before::default() };
    let again = run(&request, &|| false, &mut |_: &str| {}, &session);
    assert!(matches!(again, Ok(Ending::Answered(..))), "{:?}", again.err());
    assert_eq!(folder.names(), Vec::<String>::new());
}

/// Is told how often it begins, and whether the first row is a block.
struct Anew<'a> {
    begun: &'a Cell<u32>,
    first_is_block: &'a Cell<Option<bool>>,
}

impl lab::Follower for Anew<'_> {
    fn tell(&mut self, line: &str) {
        assert!(!line.contains("nothing is run"), "it runs by restarts: {line}");
    }
    fn begins(&mut self, _: &Rule, _: &str, _: &[String]) {
        self.begun.set(self.begun.get() + 1);
    }
    fn row(&mut self, run: &Run) {
        let first = self.first_is_block.get().unwrap_or(run.block.is_some());
        self.first_is_block.set(Some(first));
    }
}

/// LB62: stopped when it had just begun anew, it doesn't alternate for another budget.
#[test]
fn what_had_begun_anew_by_restarts_does_not_alternate_again() {
    let folder = Folder::new("lab-anew");
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let mut request = request(&folder);
    request.equals = true;
    request.experiment.design = Some(Design::Alternate);
    // On a crowded machine too there are rounds enough to tell a carry-over.
    request.experiment.budget = Some(Nanos::from_secs(10));
    request.experiment.block = Some(Nanos::from_millis(50));
    request.experiment.washout = Some(Nanos::from_millis(5));
    // So it doesn't end before its budget does.
    (request.experiment.matters, request.experiment.error) = (1e-4, 1e-4);
    let ended = run(&request, &|| false, &mut |_: &str| {}, &session);
    let Ok(Ending::Answered(_, mut runs)) = ended else { panic!("no answer") };
    // Half as many transactions again in the late half of blocks of B.
    for (index, run) in runs.iter_mut().enumerate() {
        let late = index as u32 % 3 + if run.identity.level == Level::B { 50 } else { 0 };
        let curve = &mut run.block.as_mut().expect("a block").curve;
        for (step, count) in curve.iter_mut().enumerate() {
            *count = if step > 10 { 100 + late } else { 100 };
        }
    }
    request.experiment.design = None;
    request.before = Before { runs, ..Before::default() };
    let (begun, first_is_block) = (Cell::new(0), Cell::new(None));
    let has_row = || first_is_block.get().is_some();
    let mut told = Anew { begun: &begun, first_is_block: &first_is_block };
    let ended = run(&request, &has_row, &mut told, &session);
    assert!(matches!(ended, Ok(Ending::Stopped(..))), "{:?}", ended.err());
    assert_eq!((begun.get(), first_is_block.get()), (2, Some(false)));
}

/// Is told when it begins, and whether it had begun when the loading was told of.
struct Loading<'a> {
    has_begun: bool,
    when_loading: &'a Cell<Option<bool>>,
}

impl lab::Follower for Loading<'_> {
    fn tell(&mut self, line: &str) {
        if line.starts_with("loading") && self.when_loading.get().is_none() {
            self.when_loading.set(Some(self.has_begun));
        }
    }
    fn begins(&mut self, _: &Rule, _: &str, _: &[String]) {
        self.has_begun = true;
    }
}

/// LB32: a program that is killed while it loads leaves what was asked, and the experiment can go
/// on.
#[test]
fn what_was_asked_is_told_before_anything_is_loaded() {
    let folder = Folder::new("lab-asked-first");
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let mut request = request(&folder);
    let model = RunOn::Model { machine: "eight-core".into(), disk: "nvme".into() };
    for run_on in [request.run_on.clone(), model] {
        request.run_on = run_on;
        let when_loading = Cell::new(None);
        let mut told = Loading { has_begun: false, when_loading: &when_loading };
        let ended = run(&request, &|| when_loading.get().is_some(), &mut told, &session);
        assert!(matches!(ended, Ok(Ending::Stopped(None, _))), "{:?}", ended.err());
        assert_eq!(when_loading.get(), Some(true));
    }
}

/// A place that isn't there is one line, and nothing is made.
#[test]
fn a_place_that_is_not_there_is_refused() {
    let folder = Folder::new("lab-nowhere");
    let mut request = request(&folder);
    request.run_on = RunOn::ThisMachine(folder.0.join("not-there"));
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let Err(stop) = run(&request, &|| false, &mut |_: &str| {}, &session) else { panic!("it ran") };
    assert!(stop.to_string().contains("not-there"), "{stop}");
}
