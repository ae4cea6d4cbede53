//! What concerns the whole process: each of these runs in a child of its own.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "as an application it has threads, files and children of its own"
)]

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;

use database::{ColumnSpec, Connection, Database, Options, TableSpec, Type, Value};

const CASE: &str = "FOREBAY_TEST_CASE";
const MIB: u64 = 1 << 20;

fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("process_{name}"));
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// Runs a test of this program in a child, which is to end well.
fn run(test: &str, case: &str) {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.args(["--exact", test, "--nocapture"]).env(CASE, case);
    let out = child.output().expect("a child");
    let told = [out.stdout, out.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(out.status.success(), "{}: {told}", out.status);
    assert!(!told.contains("notice"), "{told}");
}

/// A program that doesn't ask for notices gets none on its standard error (rule DB37).
#[test]
fn the_library_says_nothing_by_itself() {
    run("child_that_loses_a_redo_log_member", "member");
}

/// The child of the one above; by itself it does nothing.
#[test]
fn child_that_loses_a_redo_log_member() {
    let Some(_) = case() else { return };
    let path = scratch("silent");
    let mut options = Options::default();
    options.creation.log_members = 2;
    Database::create(&path, &options).expect("created").shutdown().expect("shut");
    std::fs::write(path.join("redo02b.log"), "not redo").expect("written");
    let database = Database::open(&path, &options).expect("there is a good member");
    let connection = database.connect("app");
    database.abort_by(connection.session());
}

fn case() -> Option<String> {
    std::env::var(CASE).ok()
}

fn numbers() -> TableSpec {
    TableSpec::new("t").column(ColumnSpec::new("id", Type::BigInt).not_null())
}

thread_local! {
    static KEPT: RefCell<Option<Connection<'static>>> = const { RefCell::new(None) };
}

/// The thread's destructors drop the last handle.
#[test]
fn a_connection_kept_by_a_thread_can_be_the_last() {
    run("child_whose_thread_keeps_a_connection", "last");
}

/// They roll back what a forgotten transaction has changed.
#[test]
fn a_connection_kept_by_a_thread_rolls_back() {
    run("child_whose_thread_keeps_a_connection", "forgotten");
}

/// The child of the two above; by itself it does nothing.
#[test]
fn child_whose_thread_keeps_a_connection() {
    let Some(case) = case() else { return };
    let path = scratch(&format!("kept_{case}"));
    let database = Database::create(&path, &Options::default()).expect("created");
    let other = database.clone();
    let (end, ended) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        // Before the engine's own, so that it goes after them.
        KEPT.set(None);
        let mut connection = other.connect("kept");
        drop(other);
        if case == "forgotten" {
            let table = connection.create_table(&numbers()).expect("a table");
            let mut tx = connection.begin();
            tx.insert(&table, &[Value::Int(1)]).expect("a row");
            std::mem::forget(tx);
        }
        KEPT.set(Some(connection));
        tell.send(()).expect("it is waited for");
        let _ = ended.recv();
    });
    told.recv().expect("the thread tells");
    drop((database, end));
    worker.join().expect("it ends well");
    let database = Database::open(&path, &Options::default()).expect("opens again");
    database.shutdown().expect("in good order");
    let _ = std::fs::remove_dir_all(&path);
}

/// Rule cache/CB41: there are no threads for its I/O slaves.
#[test]
fn a_writer_that_cannot_be_had_is_refused() {
    run("child_with_little_room", "slaves");
}

/// Rule cache/CB41: there is no memory for its batches.
#[test]
fn a_writer_without_memory_is_refused() {
    run("child_with_little_room", "batches");
}

/// The child of the two above; by itself it does nothing.
#[test]
fn child_with_little_room() {
    let Some(case) = case() else { return };
    let path = scratch(&format!("room_{case}"));
    let mut options = Options::default();
    match case.as_str() {
        "batches" => {
            options.creation.doublewrite_slots = 2 * 1024;
            options.parameters.db_writer_batch = 1024;
        }
        _ => options.parameters.dbwr_io_slaves = 32,
    }
    let database = Database::create(&path, &options).expect("created");
    let mut connection = database.connect("work");
    let table = connection.create_table(&numbers()).expect("a table");
    let limit = format!("--as={}", virtual_bytes() + 24 * MIB);
    let pid = format!("--pid={}", std::process::id());
    let limited = Command::new("prlimit").args([pid, limit]).status().expect("prlimit runs");
    assert!(limited.success());
    let (instance, session) = (database.instance(), connection.session());
    let set = instance.set_parameter("db_writer_processes", "2", session);
    let told = set.expect_err("there is no room").to_string();
    assert!(told.starts_with("cannot start database writer 1: cannot "), "{told}");
    assert_eq!(instance.parameters(session).db_writer_processes, 1);
    assert_eq!(instance.cache().writers(session), 1);
    let mut tx = connection.begin();
    tx.insert(&table, &[Value::Int(1)]).expect("the database goes on");
    tx.commit().expect("committed");
    instance.checkpoint(connection.session()).expect("the other writer writes");
    drop(connection);
    database.shutdown().expect("in good order");
    let _ = std::fs::remove_dir_all(&path);
}

fn virtual_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("the process's own");
    let pages = text.split_whitespace().next().expect("its size").parse::<u64>();
    pages.expect("a number") * 4096
}
