//! `load create` that doesn't come to its end.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::folder::{Folder, text};

/// Ctrl-C while the tables are filled: what was made is removed, and what others have put into the
/// directory meanwhile is theirs.
#[test]
fn a_creation_that_is_interrupted_leaves_what_others_put_there() {
    let folder = Folder::new("create-interrupted");
    let database = folder.0.join("db");
    std::fs::create_dir(&database).expect("made");
    let mut create = Command::new("env");
    let program = env!("CARGO_BIN_EXE_forebay");
    // Who runs tests in the background may have had SIGINT ignored, and that is inherited.
    create.args(["--default-signal=INT", program, "load", "create", "db", "--megabytes", "1000"]);
    let creating = create.current_dir(&folder.0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut creating = creating.spawn().expect("it starts");
    // Filling has begun when there is redo in a log; its bytes are zeros before.
    let log = database.join("redo01.log");
    let is_filling = || {
        let written = |bytes: Vec<u8>| bytes[64 * 4096..].iter().any(|byte| *byte != 0);
        std::fs::read(&log).is_ok_and(|bytes| bytes.len() > 64 * 4096 && written(bytes))
    };
    while !is_filling() {
        assert!(creating.try_wait().expect("known").is_none(), "it ended before it filled");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::write(database.join("mine"), "mine").expect("written");
    send("-INT", &creating);
    let output = creating.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(130), 1), "{said}");
    assert!(said.starts_with("forebay: stopped; "), "{said}");
    let entries = std::fs::read_dir(&database).expect("it was there before");
    let left: Vec<_> = entries.map(|entry| entry.expect("read").file_name()).collect();
    assert_eq!(left, ["mine"], "{said}");
}

/// Waits for the last file that a creation makes; rows are filled in after it.
fn wait_for_its_files(creating: &mut Child, database: &Path) {
    while !database.join("control02.ctl").exists() {
        assert!(creating.try_wait().expect("known").is_none(), "it ended before it filled");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(signal: &str, to: &Child) {
    let sent = Command::new("kill").args([signal, &to.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

/// What stands still: what is done to its files meanwhile is one step for it.
fn stop(creating: &mut Child) {
    send("-STOP", creating);
    let stat = format!("/proc/{}/stat", creating.id());
    // The state follows the name, which is in brackets.
    while !std::fs::read_to_string(&stat).expect("it is there").contains(") T ") {
        assert!(creating.try_wait().expect("known").is_none(), "it ended before it stood still");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A creation of `db`, started by `env` with this option, which has made its files.
fn begun(folder: &Folder, signals: &str) -> Child {
    let mut create = Command::new("env");
    create.args([signals, env!("CARGO_BIN_EXE_forebay"), "load", "create", "db"]);
    create.args(["--megabytes", "8"]).current_dir(&folder.0).stderr(Stdio::piped());
    let mut creating = create.stdout(Stdio::null()).spawn().expect("it starts");
    wait_for_its_files(&mut creating, &folder.0.join("db"));
    creating
}

/// As nohup does.
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let folder = Folder::new("create-ignoring");
    let creating = begun(&folder, "--ignore-signal=HUP");
    send("-HUP", &creating);
    let output = creating.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// What has the name of a file that was made may be another's by then.
#[test]
fn a_creation_whose_directory_was_replaced_meanwhile_removes_nothing_of_it() {
    let folder = Folder::new("create-replaced");
    let mut creating = begun(&folder, "--default-signal=INT");
    let database = folder.0.join("db");
    stop(&mut creating);
    std::fs::rename(&database, folder.0.join("moved")).expect("renamed");
    std::fs::create_dir(&database).expect("made");
    let names = ["data01.dbf", "redo01.log", "doublewrite01.dbl", "control01.ctl"];
    for name in names {
        std::fs::write(database.join(name), "mine").expect("written");
    }
    send("-INT", &creating);
    send("-CONT", &creating);
    let said = text(&creating.wait_with_output().expect("it ends").stderr);
    let left = |name: &&str| database.join(name).exists();
    assert!(names.iter().all(left), "{said}");
    assert!(said.contains("another file has the name"), "{said}");
    assert!(!said.contains("the database is removed again"), "{said}");
}

/// As a full disk does: the signal that comes with the limit doesn't end the process.
#[test]
fn a_creation_that_meets_a_limit_on_the_size_of_files_is_refused_and_leaves_nothing() {
    let folder = Folder::new("create-limited");
    let line = "ulimit -f 40960; exec \"$0\" load create db --megabytes 100";
    let mut create = Command::new("bash");
    let output = create.args(["-c", line, env!("CARGO_BIN_EXE_forebay")]).current_dir(&folder.0);
    let output = output.output().expect("it runs");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{:?}: {said}", output.status);
    assert!(said.contains("file too large"), "{said}");
    assert!(!folder.0.join("db").exists(), "{said}");
}

/// A database that isn't where it was to be isn't one that was made.
#[test]
fn a_creation_whose_directory_was_renamed_meanwhile_does_not_succeed() {
    let folder = Folder::new("create-renamed");
    let create = ["load", "create", "db", "--megabytes", "8"];
    let mut creating = folder.command(&create).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_for_its_files(&mut creating, &folder.0.join("db"));
    stop(&mut creating);
    std::fs::rename(folder.0.join("db"), folder.0.join("moved")).expect("renamed");
    send("-CONT", &creating);
    let output = creating.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("db"), "{said}");
}

/// Such a limit isn't a full disk.
#[test]
fn a_limit_on_the_size_of_files_is_named() {
    let folder = Folder::new("create-limit-named");
    let line = "ulimit -f 2048; exec \"$0\" load create db --megabytes 1";
    let mut create = Command::new("bash");
    let output = create.args(["-c", line, env!("CARGO_BIN_EXE_forebay")]).current_dir(&folder.0);
    let said = text(&output.output().expect("it runs").stderr);
    assert!(said.contains("ulimit -f") && !said.contains("free space"), "{said}");
}

/// Whatever can't be opened, nothing is left, and what to do is said.
#[test]
fn a_creation_without_descriptors_leaves_nothing_that_it_does_not_tell_of() {
    let folder = Folder::new("create-descriptors");
    let line = |limit| {
        format!(
            "ulimit -n {limit}; exec \"$0\" load create db --megabytes 1 --set undo_bytes=1m --set \
             log_file_bytes=1m --set doublewrite_slots=128"
        )
    };
    for limit in [9, 11, 13, 16, 17, 18, 19] {
        let mut create = Command::new("bash");
        let create = create.args(["-c", &line(limit), env!("CARGO_BIN_EXE_forebay")]);
        let output = create.current_dir(&folder.0).output().expect("it runs");
        let said = text(&output.stderr);
        assert_eq!(output.status.success(), folder.0.join("db").exists(), "{limit}: {said}");
        if output.status.success() {
            assert!(limit > 16, "no limit was too low");
            break;
        }
        assert!(said.contains("ulimit -n") && !said.contains("by hand"), "{limit}: {said}");
    }
}

/// Who can't be told of the database is told that there is one.
#[test]
fn a_database_that_cannot_be_reported_is_said_to_be_there() {
    let folder = Folder::new("create-unreported");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
    let create = ["load", "create", "db", "--megabytes", "1"];
    let output = folder.command(&create).stdout(full).output().expect("it runs");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the database was created, and is whole"), "{said}");
    folder.said(&["verify", "db"]);
}
