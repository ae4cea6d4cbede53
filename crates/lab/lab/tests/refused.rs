//! Requests that can't be carried out are refused before anything is loaded or made (LB23).
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "the test looks at the real directory")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lab::block_size_scan::{self, Scans};
use lab::free_buffer_waits::{self, Matrix, Setting, Size};
use lab::redo_size::{self, Curve, Sizes};
use lab::{
    Before, Design, Ending, Experiment, Form, Machine, Request, RunOn, repeat_modelled, run,
};
use os::Session;
use sim::model::{CostList, DiskParameters, MachineParameters};
use stop::{RefusalKind, Stop};
use waits::{Nanos, SessionKind};

fn here(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    path
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).expect("it is there").next().is_none()
}

/// Nothing is told of an experiment that doesn't begin.
fn began(line: &str) {
    panic!("it began: {line}");
}

fn on_a_model() -> RunOn {
    RunOn::Model { machine: "eight-core".into(), disk: "nvme".into() }
}

fn curve(run_on: RunOn, rounds: u32, session: &Session) -> Result<(), Stop> {
    let curve = Curve {
        sizes: Sizes { rounds, ..Sizes::TINY },
        run_on,
        seed: 5,
        commit: "of a test".into(),
        command: "a test".into(),
    };
    redo_size::run(&curve, &|| false, &mut began, session).map(|_| ())
}

fn matrix(run_on: RunOn, rounds: u32, paced: Option<&str>, session: &Session) -> Result<(), Stop> {
    let matrix = Matrix {
        size: Size { rounds, ..Size::TINY },
        settings: Setting::all(),
        run_on,
        paced: paced.map(str::to_owned),
        seed: 5,
        commit: "of a test".into(),
        command: "a test".into(),
    };
    free_buffer_waits::run(&matrix, &|| false, &mut began, session).map(|_| ())
}

fn scans(run_on: RunOn, rows: u64, rounds: u32, session: &Session) -> Result<(), Stop> {
    let scans = Scans {
        size: block_size_scan::Size { rows, rounds, ..block_size_scan::Size::TINY },
        settings: block_size_scan::Setting::all(),
        matters: 1.05,
        run_on,
        seed: 5,
        commit: "of a test".into(),
        command: "a test".into(),
    };
    block_size_scan::run(&scans, &|| false, &mut began, session).map(|_| ())
}

fn request(experiment: Experiment, form: Form, run_on: RunOn) -> Request {
    Request {
        experiment,
        form,
        run_on,
        seed: 7,
        equals: false,
        commit: "of a test".into(),
        command: "a test".into(),
        before: Before::default(),
    }
}

#[track_caller]
fn assert_invalid(result: Result<(), Stop>, says: &str) {
    let stop = result.expect_err("it is refused");
    assert_eq!(stop.refusal(), Some(RefusalKind::Invalid), "{stop}");
    assert!(stop.to_string().contains(says), "{stop}");
}

#[test]
fn no_rounds_are_refused_in_all_shapes_and_both_worlds() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let folder = here("lab-no-rounds");
    for run_on in [RunOn::ThisMachine(folder.clone()), on_a_model()] {
        assert_invalid(curve(run_on.clone(), 0, &session), "0 rounds");
        assert_invalid(matrix(run_on.clone(), 0, None, &session), "0 rounds");
        assert_invalid(scans(run_on.clone(), 1_000, 0, &session), "0 rounds");
        assert_invalid(scans(run_on, 0, 1, &session), "0 rows");
    }
    assert!(is_empty(&folder));
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_modelled_disk_is_not_slowed_down() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    assert_invalid(matrix(on_a_model(), 1, Some("array"), &session), "slow a modelled disk");
}

/// A model's runs, with warm-up, opening and audit, end within an hour of its time.
#[test]
fn modelled_runs_of_an_hour_are_refused_before_the_first() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let mut experiment = Experiment::named("dbwr-count").expect("it is built in");
    experiment.design = Some(Design::Restarts);
    for length in [Nanos::from_secs(3_000), Nanos(u64::MAX)] {
        let form = Form::tiny().lasting(length);
        let request = request(experiment.clone(), form.clone(), on_a_model());
        match run(&request, &|| false, &mut began, &session) {
            Err(stop) => assert_invalid(Err(stop), "a simulation ends at 3600 s"),
            Ok(Ending::Answered(..) | Ending::Stopped(..)) => panic!("it ran"),
        }
        let machine = Machine {
            machine: MachineParameters::builtin("eight-core").expect("it is built in"),
            costs: CostList::builtin("default").expect("it is built in"),
            disk: DiskParameters::builtin("nvme").expect("it is built in"),
        };
        let repeated = repeat_modelled(&experiment, &form, &machine, 1);
        assert_invalid(repeated.map(|_| ()), "a simulation ends at 3600 s");
    }
}

/// LB43: else who does as a refusal says is refused next.
#[test]
fn a_model_advises_no_budget_beyond_its_hour() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let text = "question = \"?\"\n[factor]\ncommit_leader = [\"session\", \"lgwr\"]";
    let mut experiment = Experiment::parse("mine", text).expect("it is one");
    experiment.design = Some(Design::Alternate);
    experiment.block = Some(Nanos::from_secs(1_200));
    for (budget, says) in [(1_800, "choose --block 2"), (3_600, "a simulation ends at 3600 s")] {
        experiment.budget = Some(Nanos::from_secs(budget));
        let request = request(experiment.clone(), Form::tiny(), on_a_model());
        match run(&request, &|| false, &mut began, &session) {
            Err(stop) => {
                assert!(!stop.to_string().contains("--budget"), "{stop}");
                assert_invalid(Err(stop), says);
            }
            Ok(Ending::Answered(..) | Ending::Stopped(..)) => panic!("it ran"),
        }
    }
}

/// What a file says of the other load would be passed over, and a plan by restarts that can't be
/// would end an experiment behind its last block, if carry-over is found.
#[test]
fn what_would_count_for_nothing_or_fail_at_the_end_is_refused() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let folder = here("lab-refused-files");
    for (more, says) in [
        ("[load]\nwarehouses = 2\n", "debit-credit has no warehouses"),
        ("[load]\nkind = \"order-entry\"\ndata = \"64m\"\n", "order-entry has no data"),
        ("[runs]\nrounds = 1\n", "rounds"),
    ] {
        let factor = "[factor]\ncommit_leader = [\"session\", \"lgwr\"]\n";
        let experiment = Experiment::parse("mine", &format!("question = \"?\"\n{factor}{more}"));
        let here = RunOn::ThisMachine(folder.clone());
        let request = request(experiment.expect("it is one"), Form::tiny(), here);
        match run(&request, &|| false, &mut began, &session) {
            Err(stop) => assert_invalid(Err(stop), says),
            Ok(Ending::Answered(..) | Ending::Stopped(..)) => panic!("it ran"),
        }
    }
    assert!(is_empty(&folder));
    let _ = std::fs::remove_dir_all(&folder);
}

/// LB33: what no instance can have is known before an hour of loading. It says which setting it is.
#[test]
fn a_setting_that_no_instance_can_have_is_refused_before_the_load() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let folder = here("lab-refused-settings");
    for (factor, says) in [
        ("db_writer_processes = [1, 9]", "9 writers can't share 8 working sets"),
        ("log_writes_in_flight = [1, 8]", "log_buffer is 256k, and with 8 redo writes"),
        ("process_affinity = [\"\", \"lgwr:127\"]", "set process_affinity for fb_lgwr: this"),
        ("db_cache_size = [\"1m\", \"1t\"]", "choose 256k to 256g"),
    ] {
        let value = factor.rsplit(", ").next().unwrap_or_default();
        let name = factor.split(' ').next().unwrap_or_default();
        let lead = format!("setting B ({name} = {}): ", value.trim_matches(['"', ']']));
        for design in [Design::Alternate, Design::Restarts] {
            let text = format!("question = \"?\"\n[factor]\n{factor}");
            let mut experiment = Experiment::parse("mine", &text).expect("it is one");
            experiment.design = Some(design);
            let mut form = Form::tiny();
            let sized = form.set(|_, parameters| parameters.set("log_buffer", "256k"));
            sized.expect("a size");
            for run_on in [RunOn::ThisMachine(folder.clone()), on_a_model()] {
                let request = request(experiment.clone(), form.clone(), run_on);
                let ended = run(&request, &|| false, &mut began, &session);
                let Err(stop) = ended else { panic!("{factor}: it ran") };
                let words = stop.to_string();
                assert!(words.starts_with(&lead) && words.contains(says), "{words}");
            }
        }
    }
    assert!(is_empty(&folder));
    let _ = std::fs::remove_dir_all(&folder);
}

/// LB33: one instance for both needs the caches of both.
#[test]
fn settings_that_have_no_room_in_one_instance_are_refused_before_the_load() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let folder = here("lab-refused-room");
    let half = format!("{}m", (os.memory_bytes() >> 20) * 6 / 10);
    let text = format!(
        "question = \"?\"\ndesign = \"alternate\"\n[[setting]]\ndb_cache_size = \"{half}\"\n\
         [[setting]]\ndb_16k_cache_size = \"{half}\""
    );
    let experiment = Experiment::parse("mine", &text).expect("it is one");
    let request = request(experiment, Form::tiny(), RunOn::ThisMachine(folder.clone()));
    match run(&request, &|| false, &mut began, &session) {
        Err(stop) => assert_invalid(Err(stop), "one instance with room for all settings"),
        Ok(Ending::Answered(..) | Ending::Stopped(..)) => panic!("it ran"),
    }
    assert!(is_empty(&folder));
    let _ = std::fs::remove_dir_all(&folder);
}

/// Else an experiment finds no difference of settings that have none.
#[test]
fn values_that_are_only_written_differently_are_the_same_setting() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    for (values, says) in [
        ("\"8m\", \"8192k\"", "settings A and B are the same (db_cache_size = 8192k)"),
        ("\"8m\", \"8M\", \"8388608\"", "settings A and B are the same"),
        ("\"4m\", \"8m\", \"8192k\"", "settings B and C are the same"),
    ] {
        let text = format!("question = \"?\"\n[factor]\ndb_cache_size = [{values}]");
        let experiment = Experiment::parse("mine", &text).expect("it is one");
        let request = request(experiment, Form::tiny(), on_a_model());
        match run(&request, &|| false, &mut began, &session) {
            Err(stop) => assert_invalid(Err(stop), says),
            Ok(Ending::Answered(..) | Ending::Stopped(..)) => panic!("it ran"),
        }
    }
}

/// LB68: figures of two machines make no comparison. (These rows are a model's: no other machine is
/// at hand.)
#[test]
fn rows_of_another_machine_do_not_go_on() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let mut experiment = Experiment::named("dbwr-count").expect("it is built in");
    experiment.design = Some(Design::Restarts);
    experiment.rounds = [2, 1];
    let modelled = request(experiment.clone(), Form::tiny(), on_a_model());
    let asked = std::cell::Cell::new(0);
    // Before each run the driver asks, and the model.
    let told_to_stop = || asked.replace(asked.get() + 1) >= 4;
    let ended = run(&modelled, &told_to_stop, &mut |_: &str| {}, &session);
    let Ok(Ending::Stopped(_, runs)) = ended else { panic!("it wasn't stopped") };
    assert_eq!(runs.len(), 2);
    let folder = here("lab-other-machine");
    let mut again = request(experiment, Form::tiny(), RunOn::ThisMachine(folder.clone()));
    again.before = Before { runs, ..Before::default() };
    match run(&again, &|| false, &mut began, &session) {
        Err(stop) => assert_invalid(Err(stop), "of another machine"),
        Ok(Ending::Answered(..) | Ending::Stopped(..)) => panic!("it ran"),
    }
    assert!(is_empty(&folder));
    let _ = std::fs::remove_dir_all(&folder);
}
