//! Places of the medium that can't be read: what nobody needs stands in nobody's way, and what the
//! power may have cut off is no worse where the device tells it by an error.

use std::path::{Path, PathBuf};

use database::{
    BlockSize, ColumnSpec, Connection, DataFileSpec, Database, FilesystemIo, Options, TableSpec,
    TablespaceSpec, Type, Value,
};
use format::ExtentMap;
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

/// Rule redo/RD28.
#[test]
fn a_log_that_nobody_needs_may_have_a_header_that_can_not_be_read() {
    for (name, how) in [("bad-header-shut", End::Shut), ("bad-header-killed", End::Killed)] {
        let opened = opened_with(name, how, |directory, log| {
            let other = ["redo01.log", "redo02.log"].into_iter().find(|other| *other != log);
            (directory.join(other.expect("one of two")), 0)
        });
        assert_eq!(opened, Ok(()));
    }
}

/// No block lies behind it that could be read.
#[test]
fn the_last_block_of_a_log_need_not_be_readable_if_it_has_no_redo() {
    let (scratch, bad) = (Scratch::new("bad-last-block"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in((&disk, &scratch.0), &small(), &session).expect("created");
    let mut connection = database.connect_with(&session);
    let account = filled_by(&mut connection);
    let redo = database.instance().redo();
    let (last, mut rows) = (redo.log_blocks_max(&session) - 1, 100);
    while redo.position(&session).block != last {
        let mut tx = connection.begin();
        tx.insert(&account, &[Value::Int(rows), Value::Null, Value::Int(1)]).expect("inserted");
        tx.commit().expect("committed");
        rows += 1;
    }
    let path = scratch.0.join(current_log(&database, &session));
    drop(connection);
    database.abort_by(&session);
    bad.add(&path, u64::from(last) * 4096..u64::from(last) * 4096 + 1);
    let database = Database::open_in((&disk, &scratch.0), &small(), &session).expect("it opens");
    assert_eq!(accounts(&mut database.connect_with(&session)), rows as u64);
    database.shutdown_by(&session).expect("in good order");
}

/// Every opening needs it; what to do is said.
#[test]
fn a_data_file_whose_header_can_not_be_read_is_refused_with_what_to_do() {
    let opened = opened_with("bad-data-header", End::Shut, |path, _| (path.join("data01.dbf"), 0));
    let said = opened.expect_err("it can't be told which file it is");
    assert!(said.contains("data01.dbf") && said.contains("if it stays so, restore"), "{said}");
}

/// A write of its header would mend it, so it is tried when its group's next log begins.
#[test]
fn a_member_whose_header_can_not_be_read_becomes_good_again() {
    let (scratch, bad) = (Scratch::new("bad-member"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let (disk, mut options) = (bad.over(&os::linux::disk()), small());
    options.creation.log_members = 2;
    let database = Database::create_in((&disk, &scratch.0), &options, &session).expect("created");
    database.abort_by(&session);
    for name in ["redo01b.log", "redo02b.log"] {
        bad.add(&scratch.0.join(name), 0..1);
    }
    let database = Database::open_in((&disk, &scratch.0), &options, &session).expect("it opens");
    for _ in 0..3 {
        let account = format!("t{}", database.instance().redo().position(&session).sequence);
        let mut connection = database.connect_with(&session);
        connection.create_table(&one_column(&account)).expect("made");
        database.instance().redo().switch(&session).expect("switched");
    }
    let views = database.instance().log_groups(&session);
    assert!(views.iter().flat_map(|view| &view.members).all(|(_, good)| *good), "{views:?}");
    database.shutdown_by(&session).expect("in good order");
}

fn one_column(name: &str) -> TableSpec {
    TableSpec::new(name).column(ColumnSpec::new("id", Type::BigInt)).primary_key(["id"])
}

/// The power may have cut off the write of its first block.
#[test]
fn a_leftover_that_can_not_be_read_is_in_nobodys_way() {
    let (scratch, bad) = (Scratch::new("bad-leftover"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in((&disk, &scratch.0), &small(), &session).expect("created");
    let left = scratch.0.join("more.dbf.forebay-new");
    std::fs::write(&left, vec![0; 2 << 20]).expect("written");
    bad.add(&left, 0..1);
    let (path, bytes) = ("more.dbf".to_string(), 2 << 20);
    let spec = TablespaceSpec {
        name: "more".into(),
        block_size: BlockSize::KIB_8,
        extent_blocks: 8,
        files: vec![DataFileSpec { path, bytes, bytes_max: 0, growth_bytes: 0 }],
    };
    let made = database.instance().create_tablespace(&spec, &session);
    assert_eq!((made.map_err(|stop| stop.to_string()), left.exists()), (Ok(()), false));
    database.shutdown_by(&session).expect("in good order");
}

/// One index can't be used, and all else can.
#[test]
fn a_header_of_an_index_that_can_not_be_read_keeps_no_database_shut() {
    let (scratch, bad) = (Scratch::new("bad-index"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in((&disk, &scratch.0), &small(), &session).expect("created");
    let mut connection = database.connect_with(&session);
    filled_by(&mut connection);
    let other = connection.create_table(&one_column("other")).expect("made");
    let segment = other.definition().indexes[0].segment;
    let space = database.instance().space();
    let header = space.segment(segment, &session).expect("read").expect("there").header;
    drop(connection);
    database.shutdown_by(&session).expect("in good order");
    let at = u64::from(header.block.get()) * 8_192;
    bad.add(&scratch.0.join("data01.dbf"), at..at + 1);
    let database = Database::open_in((&disk, &scratch.0), &small(), &session).expect("it opens");
    assert_eq!(accounts(&mut database.connect_with(&session)), 100);
    database.abort_by(&session);
}

/// Where the header of the next segment would lie.
#[test]
fn a_free_block_that_can_not_be_read_keeps_no_table_from_being_made() {
    let (scratch, bad) = (Scratch::new("bad-free"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in((&disk, &scratch.0), &small(), &session).expect("created");
    database.shutdown_by(&session).expect("in good order");
    let path = scratch.0.join("data01.dbf");
    let bytes = std::fs::read(&path).expect("there");
    let map = &bytes[8_192..2 * 8_192];
    let is_free = |at: &u32| map[ExtentMap::BITS + *at as usize / 8] & (1 << (at % 8)) == 0;
    let free = (0..).find(is_free).expect("there is one");
    let first = ExtentMap::at(map, ExtentMap::START).first_block.get();
    let at = u64::from(first + free * small().creation.extent_blocks) * 8_192;
    bad.add(&path, at..at + 1);
    let database = Database::open_in((&disk, &scratch.0), &small(), &session).expect("it opens");
    let mut connection = database.connect_with(&session);
    for name in ["one", "two", "three"] {
        connection.create_table(&one_column(name)).expect("made elsewhere");
    }
    drop(connection);
    database.shutdown_by(&session).expect("in good order");
}
