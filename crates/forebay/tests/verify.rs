//! `forebay verify` as a person meets it: what is found, a line each, and the exit status.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the test starts the program and looks at real files"
)]

use std::path::PathBuf;
use std::process::{Command, Output};

struct Folder(PathBuf);

impl Folder {
    /// One with a small database.
    fn with_database(name: &str) -> Folder {
        Folder::filled(name, &["--megabytes", "1"])
    }

    fn filled(name: &str, filling: &[&str]) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        let folder = Folder(path);
        let create = ["load", "create", "db", "--set", "log_file_bytes=1m"];
        let made = folder.forebay(&[&create, filling].concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        folder
    }

    fn forebay(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
        command.args(arguments).current_dir(&self.0).output().expect("the program starts")
    }

    /// Name, content and time of last change of every file.
    fn files(&self) -> Vec<(String, Vec<u8>, std::time::SystemTime)> {
        let entries = std::fs::read_dir(self.0.join("db")).expect("it is there");
        let mut files: Vec<_> = entries
            .map(|entry| {
                let path = entry.expect("it is there").path();
                let changed = std::fs::metadata(&path).and_then(|of| of.modified());
                let content = std::fs::read(&path).expect("it can be read");
                (path.display().to_string(), content, changed.expect("files have times"))
            })
            .collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_database_in_order_is_said_to_be_so_and_is_as_it_was() {
    let folder = Folder::with_database("verify-clean");
    let before = folder.files();
    let output = folder.forebay(&["verify", "db"]);
    let said = text(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty(), "{said}");
    assert!(said.ends_with("nothing found\n"), "{said}");
    assert!(said.lines().all(|line| line.len() <= 80), "{said}");
    let output = folder.forebay(&["verify", "db", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(json["clean"], true);
    assert!(json["rows"].as_u64() > Some(100), "{json}");
    assert!(folder.files() == before, "nothing is written");
}

#[test]
fn tables_of_the_dictionary_are_held_against_their_indexes() {
    let filling = ["--order-entry", "1", "--customers", "30", "--items", "100"];
    let folder = Folder::filled("verify-order-entry", &filling);
    let before = folder.files();
    let output = folder.forebay(&["verify", "db", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(json["clean"], true, "{json}");
    // Seven of the dictionary itself, and one at least of each of nine tables but one.
    assert!(json["indexes_compared"].as_u64() >= Some(7 + 8), "{json}");
    assert!(folder.files() == before, "nothing is written");
}

#[test]
fn what_is_damaged_is_a_line_each_and_the_status_says_so() {
    let folder = Folder::with_database("verify-damaged");
    let path = folder.0.join("db/data01.dbf");
    let mut content = std::fs::read(&path).expect("it can be read");
    for block in [5, 9] {
        content[block * 8192 + 100] ^= 1;
    }
    std::fs::write(&path, &content).expect("it can be written");
    let output = folder.forebay(&["verify", "db"]);
    let said = text(&output.stdout);
    assert_eq!((output.status.code(), output.stderr.is_empty()), (Some(1), true), "{said}");
    for block in [5, 9] {
        let begin = format!("block: data01.dbf block {block} is damaged");
        assert_eq!(said.lines().filter(|line| line.starts_with(&begin)).count(), 1, "{said}");
    }
    let output = folder.forebay(&["verify", "db", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((output.status.code(), &json["clean"]), (Some(1), &false.into()));
    assert_eq!(json["counts"]["block"], 2, "{json}");
}

#[test]
fn what_is_no_database_is_refused_in_one_line() {
    let folder = Folder::with_database("verify-none");
    let output = folder.forebay(&["verify", "elsewhere"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(output.stdout.is_empty() && said.contains("isn't there"), "{said}");
}

#[test]
fn a_database_that_somebody_has_open_is_refused() {
    let folder = Folder::with_database("verify-open");
    let file = std::fs::File::open(folder.0.join("db/control01.ctl")).expect("it is there");
    file.lock().expect("nobody else has it");
    let output = folder.forebay(&["verify", "db"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("another program has it open"), "{said}");
}
