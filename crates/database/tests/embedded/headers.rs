//! Files of different times put together: a copy of a data file or of the control file that is
//! older than the rest is refused, for what was committed since would be gone.

use std::path::Path;

use database::{Creation, Database, Options, Value};
use ids::{BlockNo, BlockSize, Dba, FileNo};

use crate::common::{Scratch, account, balance};

/// A database that is copied quickly.
fn options() -> Options {
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 400 * 2048,
        undo_bytes: 64 * 2048,
        extent_blocks: 4,
        log_file_bytes: 1 << 20,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 128,
        ..Creation::default()
    };
    Options { creation, ..crate::common::options() }
}

fn made(directory: &Path) {
    let parent = directory.parent().expect("it lies in a folder");
    std::fs::create_dir_all(parent).expect("made");
    let database = Database::create(directory, &options()).expect("created");
    database.connect("maker").create_table(&account()).expect("made");
    database.shutdown().expect("shut in good order");
}

/// Commits a row with this number.
fn insert(database: &Database, id: i64) {
    let mut connection = database.connect("user");
    let account = connection.table("account").expect("there");
    let mut tx = connection.begin();
    let row = [Value::Int(id), Value::Text("someone"), Value::Int(7)];
    tx.insert(&account, &row).expect("inserted");
    tx.commit().expect("committed");
}

fn copy(directory: &Path, names: &[&str], to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for name in names {
        std::fs::copy(directory.join(name), to.join(name)).expect("copied");
    }
}

fn refused(directory: &Path, says: &[&str]) {
    let stop = Database::open(directory, &options()).map(|_| ()).expect_err("it opens");
    let text = stop.to_string();
    for says in says {
        assert!(text.contains(says), "'{text}' doesn't say '{says}'");
    }
}

/// A data file is copied, a row is committed, and the copy is put back: that is said, and with the
/// right file the row is there. It makes no difference how the database came to its end, nor
/// whether it was shut or killed when the copy was made.
#[test]
fn an_older_copy_of_a_data_file_is_refused_however_the_database_ended() {
    for (killed_before, killed_after) in [(false, false), (false, true), (true, true)] {
        let scratch = Scratch::new("headers-older");
        let (directory, older, newer) =
            (scratch.0.join("db"), scratch.0.join("older"), scratch.0.join("newer"));
        made(&directory);
        let database = Database::open(&directory, &options()).expect("opened");
        insert(&database, 1);
        match killed_before {
            true => drop(database),
            false => database.shutdown().expect("shut in good order"),
        }
        let files = ["data01.dbf", "undo01.dbf"];
        copy(&directory, &files, &older);
        let database = Database::open(&directory, &options()).expect("opened");
        insert(&database, 2);
        match killed_after {
            true => drop(database),
            false => database.shutdown().expect("shut in good order"),
        }
        copy(&directory, &files, &newer);
        for file in files {
            copy(&older, &[file], &directory);
            refused(&directory, &[file, "is an older copy", "Put the file itself back"]);
            copy(&newer, &[file], &directory);
        }
        let database = Database::open(&directory, &options()).expect("the right files open");
        let mut connection = database.connect("reader");
        let account = connection.table("account").expect("there");
        assert_eq!(balance(&mut connection, &account, 2), Some(7));
    }
}

/// Both copies of the control file are older than the data files.
#[test]
fn a_control_file_older_than_its_data_files_is_refused() {
    let scratch = Scratch::new("headers-control");
    let (directory, older) = (scratch.0.join("db"), scratch.0.join("older"));
    made(&directory);
    let controls = ["control01.ctl", "control02.ctl"];
    copy(&directory, &controls, &older);
    let database = Database::open(&directory, &options()).expect("opened");
    insert(&database, 1);
    database.shutdown().expect("shut in good order");
    copy(&older, &controls, &directory);
    refused(&directory, &["data01.dbf", "is newer than the control file", "newest copy"]);
}

/// Format 4 was never released.
#[test]
fn a_control_file_of_format_4_is_refused() {
    let scratch = Scratch::new("headers-format");
    let directory = scratch.0.join("db");
    made(&directory);
    for name in ["control01.ctl", "control02.ctl"] {
        let path = directory.join(name);
        let mut bytes = std::fs::read(&path).expect("read");
        let address = Dba { file: FileNo::CONTROL, block: BlockNo::new(0) };
        bytes[5] = 4;
        format::seal(&mut bytes, address);
        std::fs::write(&path, bytes).expect("written");
    }
    refused(&directory, &["is of format 4, which was never released", "create the database again"]);
}
