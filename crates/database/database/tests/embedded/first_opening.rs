//! What a program meets first: how large a new database is, whether one is there already, and what
//! the library has to say.

use std::path::Path;
use std::sync::{Arc, Mutex};

use database::{ColumnSpec, Database, ErrorKind, Notices, Options, TableSpec, Type, Value};

use crate::common::Folder;

fn bytes(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).expect("there");
    files.map(|file| file.expect("a file").metadata().expect("of it").len()).sum()
}

fn note() -> TableSpec {
    TableSpec::new("note")
        .column(ColumnSpec::new("id", Type::BigInt).not_null())
        .column(ColumnSpec::new("text", Type::Text))
        .primary_key(["id"])
}

/// By default a new database takes at most 32 MB, and takes in more than that: data and undo grow
/// by themselves, and the redo logs are written in turn (DB35).
#[test]
fn a_new_database_is_small_and_grows() {
    let scratch = Folder::absent("first-small");
    let database = Database::create(&scratch.0, &Options::default()).expect("created");
    let mut connection = database.connect("app");
    let table = connection.create_table(&note()).expect("a table");
    assert!(bytes(&scratch.0) <= 32_000_000, "{} bytes", bytes(&scratch.0));
    let text = "x".repeat(1_000);
    let rows: Vec<_> = (0..20_000).map(|id| [Value::Int(id), Value::Text(&text)]).collect();
    let mut tx = connection.begin();
    let count = tx.insert_many(&table, rows.iter().map(|row| &row[..])).expect("inserted");
    assert_eq!(count, 20_000);
    tx.commit().expect("committed");
    assert!(bytes(&scratch.0) > 32_000_000, "the data file has grown");
    drop(connection);
    database.shutdown().expect("shut");
}

/// The first opening makes the database, the next one finds it; a directory that has something
/// else is left alone (DB33).
#[test]
fn a_database_is_opened_or_made() {
    let scratch = Folder::absent("first-or");
    let options = Options::default();
    let database = Database::open_or_create(&scratch.0, &options).expect("made");
    database.connect("app").create_table(&note()).expect("a table");
    database.shutdown().expect("shut");
    let database = Database::open_or_create(&scratch.0, &options).expect("opened");
    database.connect("app").table("note").expect("it is there");
    database.shutdown().expect("shut");

    let other = Folder::absent("first-other");
    std::fs::create_dir(&other.0).expect("made");
    drop(Database::open_or_create(&other.0, &options).expect("an empty directory will do"));
    let taken = Folder::absent("first-taken");
    std::fs::create_dir(&taken.0).expect("made");
    std::fs::write(taken.0.join("letter.txt"), "Dear Ann").expect("written");
    let refused = Database::open_or_create(&taken.0, &options).err().expect("it is no database");
    assert_eq!(refused.refusal(), Some(ErrorKind::NotFound), "{refused}");
    assert_eq!(std::fs::read_dir(&taken.0).expect("there").count(), 1, "nothing was made");
}

/// Somebody who listens hears of a redo log member that is lost, and of a halt (DB37).
#[test]
fn a_listener_hears_what_nobody_has_asked_for() {
    let scratch = Folder::absent("first-notices");
    let mut options = Options::default();
    options.creation.log_members = 2;
    Database::create(&scratch.0, &options).expect("created").shutdown().expect("shut");
    std::fs::write(scratch.0.join("redo02b.log"), "not redo").expect("written");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let lines = move |line: &str| ear.lock().expect("no panic").push(line.to_string());
    options.notices = Notices::to(lines);
    let database = Database::open(&scratch.0, &options).expect("there is a good member");
    let connection = database.connect("app");
    database.abort_by(connection.session());
    let heard = heard.lock().expect("no panic");
    let has = |words: &str| heard.iter().any(|line| line.contains(words));
    assert!(has("redo02b.log"), "{heard:?}");
    assert!(has("the instance halts: it was aborted"), "{heard:?}");
}
