//! Names that links, pipes and directories have: taken, and nobody's leftovers (rules space/SP10
//! and space/SP21).

use std::os::unix::fs::symlink;

use crate::folder::{Folder, text};

/// A link that leads to nothing has a name: SP21, it is refused before anything is made.
#[test]
fn a_link_to_nothing_is_a_taken_name() {
    let folder = Folder::with_database("names-link");
    symlink("/nonexistent/redo04.log", folder.0.join("db/redo04.log")).expect("made");
    let output = folder.forebay(&["logs", "db", "--change", "add_log_group=1m:redo04.log"]);
    let first = text(&output.stderr);
    let output = folder.forebay(&["recover", "db"]);
    let second = text(&output.stderr);
    assert!(first.contains("there is a file of this name"), "{first}");
    assert!(output.status.success(), "{second}");
}

/// A directory with a leftover's name is nobody's leftover.
#[test]
fn a_directory_with_a_leftovers_name_keeps_nobody_out() {
    let folder = Folder::with_database("names-dir");
    std::fs::create_dir(folder.0.join("db/old.forebay-temp")).expect("made");
    let output = folder.forebay(&["recover", "db"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// What isn't a file has a name all the same: refused, and nobody waits for ever.
#[test]
fn a_pipe_is_a_taken_name_and_nobodys_leftover() {
    let folder = Folder::with_database("names-pipe");
    let make = |name: &str| {
        let made = std::process::Command::new("mkfifo").arg(folder.0.join(name)).status();
        assert!(made.expect("mkfifo is there").success());
    };
    let ends = |arguments: &[&str]| {
        let mut child = folder.command(arguments).spawn().expect("started");
        for _ in 0..150 {
            if let Some(status) = child.try_wait().expect("asked") {
                return status.code();
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        None
    };
    make("db/x.log");
    let first = ends(&["logs", "db", "--change", "add_log_member=1:x.log"]);
    make("db/y.forebay-temp");
    let second = ends(&["recover", "db"]);
    assert!(first.is_some() && second.is_some(), "it waits for ever: {first:?} {second:?}");
}
