//! `forebay verify` as a person meets it: what is found, a line each, and the exit status.

use std::io::BufReader;
use std::process::{Command, Stdio};

use crate::folder::{Folder, heard, text};

#[test]
fn a_database_in_order_is_said_to_be_so_and_is_as_it_was() {
    let folder = Folder::with_database("verify-clean");
    let before = folder.contents("db");
    let output = folder.forebay(&["verify", "db"]);
    let said = text(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty(), "{said}");
    assert!(said.ends_with("nothing found\n"), "{said}");
    assert!(said.lines().all(|line| line.len() <= 80), "{said}");
    let output = folder.forebay(&["verify", "db", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(json["clean"], true);
    assert!(json["rows"].as_u64() > Some(100), "{json}");
    assert!(folder.contents("db") == before, "nothing is written");
}

#[test]
fn tables_of_the_dictionary_are_held_against_their_indexes() {
    let filling = ["--order-entry", "1", "--customers", "30", "--items", "100"];
    let folder = Folder::filled("verify-order-entry", &filling);
    let before = folder.contents("db");
    let output = folder.forebay(&["verify", "db", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(json["clean"], true, "{json}");
    // Seven of the dictionary itself, and one at least of each of nine tables but one.
    assert!(json["indexes_compared"].as_u64() >= Some(7 + 8), "{json}");
    assert!(folder.contents("db") == before, "nothing is written");
}

/// What this process may not open isn't damaged: it is refused, and nobody is told to restore.
#[test]
fn a_process_without_descriptors_finds_no_damage() {
    let small = ["--megabytes", "1", "--set", "undo_bytes=8m", "--set", "doublewrite_slots=128"];
    let folder = Folder::filled("verify-limited", &small);
    let mut refused = 0;
    for limit in 4..24 {
        let limit = format!("--nofile={limit}");
        let forebay = env!("CARGO_BIN_EXE_forebay");
        let mut command = Command::new("prlimit");
        command.current_dir(&folder.0).args([&limit, forebay, "verify", "db"]);
        let output = command.output().expect("prlimit is installed");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains("restore"), "{limit}: {said}");
        refused += u32::from(said.contains("too many open files"));
    }
    assert!(refused > 0, "no limit was too low");
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
        let place = format!(": data01.dbf block {block} ");
        let is_it = |line: &&str| line.contains(&place) && line.contains("is damaged: ");
        assert_eq!(said.lines().filter(is_it).count(), 1, "{said}");
    }
    let output = folder.forebay(&["verify", "db", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((output.status.code(), &json["clean"]), (Some(1), &false.into()));
    let found = json["findings"].as_array().expect("a list");
    for block in [5, 9] {
        assert!(found.iter().any(|finding| finding["block"] == block), "{json}");
    }
}

#[test]
fn what_is_no_database_is_refused_in_one_line() {
    let folder = Folder::with_database("verify-none");
    let output = folder.forebay(&["verify", "elsewhere"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(output.stdout.is_empty() && said.contains("no directory elsewhere"), "{said}");
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

/// What opening refuses is a finding, for who verifies wants to know whether it can be opened.
#[test]
fn files_of_another_time_and_a_missing_doublewrite_file_are_found() {
    let folder = Folder::with_database("verify-times");
    let db = |name: &str| folder.0.join("db").join(name);
    let keep = |names: &[&str], place: &str| {
        std::fs::create_dir_all(folder.0.join(place)).expect("a folder");
        for name in names {
            std::fs::copy(db(name), folder.0.join(place).join(name)).expect("it is copied");
        }
    };
    let put_back = |names: &[&str], place: &str| {
        for name in names {
            std::fs::copy(folder.0.join(place).join(name), db(name)).expect("it is copied");
        }
    };
    let [control, logs, data, undo, double] = [
        &["control01.ctl", "control02.ctl"][..],
        &["redo01.log", "redo02.log", "redo03.log"],
        &["data01.dbf"],
        &["undo01.dbf"],
        &["doublewrite01.dbl"],
    ];
    let all = [control, logs, data, undo, double].concat();
    keep(&all, "old");
    let ran = folder.forebay(&["load", "run", "db", "--seconds", "2"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    keep(&all, "new");

    for (old, kind) in [(control, "redo"), (logs, "redo"), (data, "file"), (undo, "file")] {
        put_back(old, "old");
        let output = folder.forebay(&["verify", "db", "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        assert_eq!((output.status.code(), &json["clean"]), (Some(1), &false.into()), "{old:?}");
        assert!(json["counts"][kind].as_u64() >= Some(1), "{old:?}: {json}");
        let opened = folder.forebay(&["recover", "db"]);
        assert_eq!(opened.status.code(), Some(1), "{old:?}: what is found keeps it from opening");
        put_back(&all, "new");
    }
    std::fs::remove_file(db("doublewrite01.dbl")).expect("it is there");
    let output = folder.forebay(&["verify", "db"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("doublewrite: db/doublewrite01.dbl can't be used: "), "{said}");
    put_back(double, "new");
    let output = folder.forebay(&["verify", "db"]);
    assert!(output.status.success(), "{}", text(&output.stdout));
}

/// Of control files of two databases that is right to which the data files belong, whichever is
/// newer.
#[test]
fn a_control_file_of_another_database_is_the_one_to_be_replaced() {
    let folder = Folder::with_database("verify-foreign");
    folder.forebay(&["load", "run", "db", "--seconds", "1"]);
    let other = Folder::with_database("verify-foreign-other");
    for name in ["control01.ctl", "control02.ctl"] {
        let place = folder.0.join("db").join(name);
        let own = std::fs::read(&place).expect("it is read");
        std::fs::copy(other.0.join("db").join(name), &place).expect("it is copied");
        let output = folder.forebay(&["verify", "db"]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(name) && said.contains("is of another database"), "{said}");
        assert_eq!(said.matches("another database").count(), 1, "{said}");
        std::fs::write(&place, own).expect("it is put back");
    }
}

/// Nobody is to believe that there are two, or to copy an old one over the other.
#[test]
fn an_older_control_file_and_an_invalid_member_are_told() {
    let folder = Folder::filled("verify-older", &["--megabytes", "1", "--set", "log_members=2"]);
    let db = |name: &str| folder.0.join("db").join(name);
    let old = std::fs::read(db("control01.ctl")).expect("it is read");
    std::fs::remove_file(db("redo01b.log")).expect("it is there");
    let ran = folder.forebay(&["recover", "db"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let output = folder.forebay(&["verify", "db"]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    let said = text(&output.stderr);
    assert!(said.contains("redo01b.log of redo log group 1 is invalid"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");

    std::fs::write(db("control01.ctl"), old).expect("it is put back");
    let output = folder.forebay(&["verify", "db"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let begin = "control: db/control01.ctl is of another time";
    assert!(
        said.starts_with(begin) && said.contains("copy the good control file over it"),
        "{said}"
    );
}

/// A block that no table has may be the damaged one.
#[test]
fn what_is_damaged_is_not_said_to_have_had_rows() {
    let folder = Folder::with_database("verify-unused");
    for (name, from_end) in [("data01.dbf", true), ("undo01.dbf", false)] {
        let path = folder.0.join("db").join(name);
        let whole = std::fs::read(&path).expect("it can be read");
        let mut content = whole.clone();
        let at = if from_end { content.len() - 8192 } else { 8192 };
        content[at..at + 8192].fill(0x5a);
        std::fs::write(&path, &content).expect("it can be written");
        let output = folder.forebay(&["verify", "db"]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let (begin, advice) = match from_end {
            true => ("unused block: ", "nothing is lost"),
            false => ("block: ", "what it held is lost"),
        };
        let line = said.lines().find(|line| line.starts_with(begin)).expect("a finding");
        assert!(line.contains(advice) && !line.contains("rows"), "{line}");
        assert!(from_end || line.contains("belongs"), "{line}");
        std::fs::write(&path, &whole).expect("it is put back");
    }
}

/// Of many like findings ten are shown, and how many more there are; --all shows them.
#[test]
fn like_findings_are_summed_up() {
    let folder = Folder::with_database("verify-many");
    let path = folder.0.join("db/data01.dbf");
    let mut content = std::fs::read(&path).expect("it can be read");
    let end = content.len() / 8192;
    let blocks: Vec<usize> = (end - 25..end).collect();
    for block in &blocks {
        content[block * 8192 + 100] ^= 1;
    }
    std::fs::write(&path, &content).expect("it can be written");
    let shown = |option: &[&str]| {
        let said = text(&folder.forebay(&[&["verify", "db"], option].concat()).stdout);
        let lines = said.lines().filter(|line| line.starts_with("unused block: ")).count();
        (lines, said)
    };
    let (lines, said) = shown(&[]);
    let more = format!("{} more than are shown are of data01.dbf", blocks.len() - 10);
    assert!(lines == 10 && said.contains(&more) && said.contains("--all"), "{said}");
    let (lines, said) = shown(&["--all"]);
    assert!(lines == blocks.len() && !said.contains("more than are shown"), "{said}");
}

/// The control file of a copy lists a log on another disk, which the original has open.
#[test]
fn a_log_that_the_original_of_a_copy_has_open_is_not_to_be_written_over() {
    let folder = Folder::new("verify-copy");
    std::fs::create_dir_all(folder.0.join("disk2")).expect("a folder for the test");
    let outside = |name: &str| format!("1m:{}", folder.0.join("disk2").join(name).display());
    let (one, two) = (outside("one.log"), outside("two.log"));
    folder.create(&["--megabytes", "1", "--log-group", &one, "--log-group", &two]);
    let copied = Command::new("cp").args(["-r", "db", "copy"]).current_dir(&folder.0).status();
    assert!(copied.expect("it starts").success());
    let mut run = folder.command(&["load", "run", "db", "--seconds", "600", "--acknowledge"]);
    let mut running = run.stdout(Stdio::piped()).spawn().expect("it starts");
    heard(&mut BufReader::new(running.stdout.as_mut().expect("a pipe")), " ");
    let output = folder.forebay(&["verify", "copy"]);
    running.kill().expect("it runs");
    running.wait().expect("it ends");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for name in ["one.log", "two.log"] {
        let line = said.lines().find(|line| line.contains(name)).expect("it is told");
        assert!(
            line.starts_with("in use: ") && line.contains("leave this file as it is"),
            "{line}"
        );
    }
    assert!(!said.contains("copy a good member") && !said.contains("restore"), "{said}");
}
