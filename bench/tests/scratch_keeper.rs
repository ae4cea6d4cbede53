//! However a race is ended, its scratch folder and the rival it was running are gone.
//!
//! The race is `examples/long_race.rs`, which makes a scratch folder and runs fio in it.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it starts, kills and watches processes"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bench::fio::Fio;
use rustix::process::{Pid, Signal, kill_process};

/// The processes that have `text` in their command line.
fn processes_with(text: &str) -> usize {
    let holds = |folder: PathBuf| {
        std::fs::read(folder.join("cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(text))
    };
    let processes = std::fs::read_dir("/proc").expect("/proc can be read");
    processes.flatten().filter(|entry| holds(entry.path())).count()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited 30 s until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Cargo builds a package's examples with its tests, in a folder beside theirs.
fn long_race() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its program");
    let folders = test.parent().and_then(Path::parent).expect("target/debug/deps/test");
    folders.join("examples/long_race")
}

fn nothing_is_left_after(signal: Signal) {
    Fio::find().unwrap_or_else(|missing| panic!("{missing}"));
    // Who runs tests in the background may have had SIGINT ignored, and that is inherited.
    let mut race = Command::new("env")
        .arg("--default-signal=INT")
        .arg(long_race())
        .arg(env!("CARGO_TARGET_TMPDIR"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("this very program can be started");
    let lines = BufReader::new(race.stdout.take().expect("stdout is piped")).lines();
    let folder = lines
        .map_while(std::io::Result::ok)
        .find_map(|line| line.strip_prefix("scratch ").map(PathBuf::from))
        .expect("the race prints its folder");
    let data = format!("--filename={}", folder.join("data").display());
    wait_until("fio runs", || processes_with(&data) == 1);
    assert!(folder.join("data").exists());

    kill_process(Pid::from_child(&race), signal).expect("our child can be killed");
    race.wait().expect("our child can be waited for");
    wait_until("the folder is gone", || !folder.exists());
    wait_until("fio is gone", || processes_with(&data) == 0);
}

#[test]
fn a_race_that_is_interrupted_leaves_no_file_and_no_rival() {
    nothing_is_left_after(Signal::INT);
}

#[test]
fn a_race_that_is_killed_leaves_no_file_and_no_rival() {
    nothing_is_left_after(Signal::KILL);
}
