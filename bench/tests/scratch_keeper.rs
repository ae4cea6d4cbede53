//! However a race is ended, its scratch folder and the rival it was running are gone.
//!
//! The race is `examples/long_race.rs`, which makes a scratch folder and runs fio or PostgreSQL in
//! it.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it starts, kills and watches processes"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bench::fio::Fio;
use rustix::process::{Pid, Signal, geteuid, kill_process};

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

/// The processes that work in this folder.
fn processes_in(folder: &Path) -> usize {
    let is_in = |process: PathBuf| {
        std::fs::read_link(process.join("cwd")).is_ok_and(|place| place.starts_with(folder))
    };
    let processes = std::fs::read_dir("/proc").expect("/proc can be read");
    processes.flatten().filter(|entry| is_in(entry.path())).count()
}

/// Starts a race, by way of a command; its process and its scratch folder, once that is there.
fn start_race(rival: &str, by: &[&str]) -> (Child, PathBuf) {
    // Who runs tests in the background may have had SIGINT ignored, and that is inherited.
    let command = [by, &["env", "--default-signal=INT"]].concat();
    let mut race = Command::new(command[0])
        .args(&command[1..])
        .arg(long_race())
        .args([parent_folder(rival), rival])
        .stdout(Stdio::piped())
        .spawn()
        .expect("this very program can be started");
    let lines = BufReader::new(race.stdout.take().expect("stdout is piped")).lines();
    let folder = lines
        .map_while(std::io::Result::ok)
        .find_map(|line| line.strip_prefix("scratch ").map(PathBuf::from))
        .expect("the race prints its folder");
    (race, folder)
}

/// PostgreSQL's path of a socket has to be short, and its user has to reach the folder.
fn parent_folder(rival: &str) -> &'static str {
    if rival == "postgres" { "/tmp" } else { env!("CARGO_TARGET_TMPDIR") }
}

fn end(race: &mut Child, signal: Signal) {
    kill_process(Pid::from_child(race), signal).expect("our child can be killed");
    race.wait().expect("our child can be waited for");
}

fn nothing_of_fio_is_left_after(signal: Signal) {
    Fio::find().unwrap_or_else(|missing| panic!("{missing}"));
    let (mut race, folder) = start_race("fio", &[]);
    let data = format!("--filename={}", folder.join("data").display());
    wait_until("fio runs", || processes_with(&data) == 1);
    assert!(folder.join("data").exists());

    end(&mut race, signal);
    wait_until("the folder is gone", || !folder.exists());
    wait_until("fio is gone", || processes_with(&data) == 0);
}

#[test]
fn a_race_against_fio_that_is_interrupted_leaves_no_file_and_no_rival() {
    nothing_of_fio_is_left_after(Signal::INT);
}

#[test]
fn a_race_against_fio_that_is_killed_leaves_no_file_and_no_rival() {
    nothing_of_fio_is_left_after(Signal::KILL);
}

/// The server has sessions of its own, each in the middle of a statement that takes minutes.
fn nothing_of_postgres_is_left_after(signal: Signal, by: &[&str]) {
    let (mut race, folder) = start_race("postgres", by);
    let server = folder.join("postgres");
    // The server with its own processes, and three sessions.
    wait_until("the sessions run", || processes_in(&server) > 6);

    end(&mut race, signal);
    wait_until("the folder is gone", || !folder.exists());
    wait_until("the server and its sessions are gone", || processes_in(&folder) == 0);
    wait_until("nobody has its socket", || processes_with(&server.display().to_string()) == 0);
}

#[test]
fn a_race_against_postgres_that_is_interrupted_leaves_no_server() {
    nothing_of_postgres_is_left_after(Signal::INT, &[]);
}

#[test]
fn a_race_against_postgres_that_is_killed_leaves_no_server() {
    nothing_of_postgres_is_left_after(Signal::KILL, &[]);
}

/// As root in a container: PostgreSQL runs as another user, and where its processes work can't be
/// seen.
#[test]
fn a_server_that_cannot_be_looked_into_ends_too() {
    if geteuid().is_root() {
        let by = ["setpriv", "--bounding-set=-sys_ptrace"];
        nothing_of_postgres_is_left_after(Signal::INT, &by);
    }
}
