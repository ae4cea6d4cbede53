//! Places of the medium that can't be read: what nobody needs stands in nobody's way, and what the
//! power may have cut off is no worse where the device tells it by an error.

use std::path::{Path, PathBuf};

use database::{Connection, Database, FilesystemIo, Options, Value};
use os::Session;
use sim::BadPlaces;
use waits::SessionKind;

use crate::common::{Scratch, filled_by, options};

fn small() -> Options {
    let mut options = options();
    options.parameters.filesystemio_options = FilesystemIo::DirectIo;
    options.creation.data_bytes = 8 << 20;
    options.creation.undo_bytes = 4 << 20;
    options.creation.log_file_bytes = 1 << 20;
    options
}

/// How it ended.
#[derive(Clone, Copy)]
enum End {
    Shut,
    Killed,
}

/// A database that has written its blocks, and has changed since; it ended in this way. Then
/// `spoil` says which byte of which file can't be read, and it is opened again. What it is refused
/// with, if it is; else all is there.
fn opened_with(
    name: &str,
    how: End,
    spoil: impl Fn(&Path, &str) -> (PathBuf, u64),
) -> Result<(), String> {
    let scratch = Scratch::new(name);
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let bad = BadPlaces::default();
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in((&disk, &scratch.0), &small(), &session).expect("created");
    let mut connection = database.connect_with(&session);
    let account = filled_by(&mut connection);
    database.instance().checkpoint(&session).expect("written");
    let mut tx = connection.begin();
    tx.insert(&account, &[Value::Int(100), Value::Null, Value::Int(1)]).expect("inserted");
    tx.commit().expect("committed");
    drop(connection);
    let current = current_log(&database, &session);
    match how {
        End::Shut => database.shutdown_by(&session).expect("in good order"),
        End::Killed => database.abort_by(&session),
    }
    let (path, at) = spoil(&scratch.0, &current);
    bad.add(&path, at..at + 1);
    let database = Database::open_in((&disk, &scratch.0), &small(), &session);
    let database = database.map_err(|stop| stop.to_string())?;
    assert_eq!(accounts(&mut database.connect_with(&session)), 101);
    database.shutdown_by(&session).expect("in good order");
    Ok(())
}

fn current_log(database: &Database, session: &Session) -> String {
    let views = database.instance().log_groups(session);
    let current = views.iter().max_by_key(|view| view.sequence).expect("a database has logs");
    let name = current.members[0].0.file_name().expect("a file");
    name.to_string_lossy().into_owned()
}

fn accounts(connection: &mut Connection<'_>) -> u64 {
    let (table, mut count) = (connection.table("account").expect("there"), 0);
    connection.scan(&table, |_| count += 1).expect("scanned");
    count
}

/// The place `behind` blocks behind the last block of redo that was ever written to this log.
fn at_end(directory: &Path, log: &str, behind: i64) -> (PathBuf, u64) {
    let path = directory.join(log);
    let bytes = std::fs::read(&path).expect("there");
    let is_written = |block: &[u8]| block.iter().any(|byte| *byte != 0);
    let last = bytes.chunks(4096).rposition(is_written).expect("redo") as i64;
    (path, (last + behind) as u64 * 4096)
}

/// Rule cache/CB14: the power may have cut off the write of a copy, and a device may say so by an
/// error. No later opening could read it either.
#[test]
fn a_doublewrite_copy_that_can_not_be_read_is_no_copy() {
    let opened = opened_with("bad-copy", End::Killed, |directory, _| {
        (instance::doublewrite_path(directory), 4096)
    });
    assert_eq!(opened, Ok(()));
}

#[test]
fn an_unused_place_of_the_doublewrite_file_need_not_be_readable() {
    let opened = opened_with("bad-unused-copy", End::Killed, |directory, _| {
        let path = instance::doublewrite_path(directory);
        let length = std::fs::metadata(&path).expect("there").len();
        (path, length - 1)
    });
    assert_eq!(opened, Ok(()));
}

/// Rule redo/RD26.
#[test]
fn redo_before_the_checkpoint_that_can_not_be_read_is_not_needed() {
    let last = opened_with("bad-redo-last", End::Shut, |path, log| at_end(path, log, 0));
    let before = opened_with("bad-redo-before", End::Shut, |path, log| at_end(path, log, -1));
    assert_eq!((last, before), (Ok(()), Ok(())));
}

#[test]
fn the_block_behind_the_redo_need_not_be_readable_after_a_shutdown() {
    let opened = opened_with("bad-behind-shut", End::Shut, |path, log| at_end(path, log, 1));
    assert_eq!(opened, Ok(()));
}

/// It may be one that the power cut off.
#[test]
fn the_block_behind_the_redo_need_not_be_readable_after_a_crash() {
    let opened = opened_with("bad-behind-killed", End::Killed, |path, log| at_end(path, log, 1));
    assert_eq!(opened, Ok(()));
}

#[test]
fn a_log_that_nobody_needs_may_begin_with_a_bad_block() {
    let opened = opened_with("bad-free-log", End::Shut, |directory, log| {
        let other = ["redo01.log", "redo02.log"].into_iter().find(|other| *other != log);
        (directory.join(other.expect("one of two")), 4096)
    });
    assert_eq!(opened, Ok(()));
}
