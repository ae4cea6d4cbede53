//! A table grows into free blocks that can't be read, or are damaged. Nobody needs what was there:
//! rows are written over it, a scan passes over what has none yet, and recovery makes blocks anew.

use std::os::unix::fs::FileExt;
use std::path::Path;

use database::{Connection, Database, FilesystemIo, Options, Table, Value};
use format::ExtentMap;
use os::Session;
use sim::BadPlaces;
use waits::SessionKind;

use crate::common::{Folder, filled_by, options};

const BLOCK: u64 = 8_192;
const EXTENT_BLOCKS: u64 = 8;

fn small(db_cache_size: u64) -> Options {
    let mut options = options();
    options.parameters.filesystemio_options = FilesystemIo::DirectIo;
    options.parameters.db_cache_size = db_cache_size;
    options.creation.data_bytes = 8 << 20;
    options.creation.undo_bytes = 4 << 20;
    options.creation.log_file_bytes = 1 << 20;
    options.creation.extent_blocks = EXTENT_BLOCKS as u32;
    options
}

/// Where the free extents of a data file begin, in bytes.
pub(crate) fn free_extents(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).expect("there");
    let map = &bytes[BLOCK as usize..2 * BLOCK as usize];
    let head = ExtentMap::at(map, ExtentMap::START);
    let is_free = |at: &u32| map[ExtentMap::BITS + *at as usize / 8] & (1 << (at % 8)) == 0;
    let first = |extent| head.first_block.get() + extent * EXTENT_BLOCKS as u32;
    (0..head.extents.get()).filter(is_free).map(|at| u64::from(first(at)) * BLOCK).collect()
}

fn accounts(connection: &mut Connection<'_>) -> i64 {
    let (table, mut count) = (connection.table("account").expect("there"), 0);
    connection.scan(&table, |_| count += 1).expect("scanned");
    count
}

/// Commits long rows, one after the other, up to this number; each time all are there.
fn grow(connection: &mut Connection<'_>, account: &Table, rows: std::ops::Range<i64>) {
    let long = "x".repeat(900);
    for id in rows {
        let mut tx = connection.begin();
        tx.insert(account, &[Value::Int(id), Value::Text(&long), Value::Int(1)]).expect("inserted");
        tx.commit().expect("committed");
        assert_eq!(accounts(connection), id + 1);
    }
}

/// A table with 100 rows, on a disk that can read no free extent but its first block.
fn made(
    (disk, bad, directory): (&database::Disk, &BadPlaces, &Path),
    options: &Options,
    session: &Session,
) -> Database {
    let database = Database::create_in(disk, directory, options, session).expect("created");
    filled_by(&mut database.connect_with(session));
    database.instance().checkpoint(session).expect("written");
    let file = directory.join("data01.dbf");
    for at in free_extents(&file) {
        // A write mends a block.
        (1..EXTENT_BLOCKS).for_each(|n| bad.add(&file, at + n * BLOCK..at + (n + 1) * BLOCK));
    }
    database
}

/// Scans go through the cache, and around it.
#[test]
fn a_scan_needs_no_block_that_was_never_formatted() {
    for db_cache_size in [16 << 20, 1 << 20] {
        let (scratch, bad) = (Folder::absent("bad-scan"), BadPlaces::default());
        let session = os::linux::start().adopt("app", SessionKind::Foreground);
        let disk = bad.over(&os::linux::disk());
        let database = made((&disk, &bad, &scratch.0), &small(db_cache_size), &session);
        let mut connection = database.connect_with(&session);
        let account = connection.table("account").expect("there");
        grow(&mut connection, &account, 100..400);
        drop(connection);
        database.shutdown_by(&session).expect("in good order");
    }
}

/// The same where a damaged block can be read.
#[test]
fn a_scan_needs_no_block_that_was_damaged_before_it_was_handed_out() {
    for db_cache_size in [16 << 20, 1 << 20] {
        let scratch = Folder::absent("bad-rotten");
        let options = small(db_cache_size);
        let database = Database::create(&scratch.0, &options).expect("created");
        filled_by(&mut database.connect("maker"));
        database.shutdown().expect("in good order");
        let path = scratch.0.join("data01.dbf");
        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("there");
        for at in free_extents(&path) {
            for block in 0..EXTENT_BLOCKS {
                file.write_all_at(&[0xa5; 64], at + block * BLOCK + 4_000).expect("written");
            }
        }
        let database = Database::open(&scratch.0, &options).expect("opened");
        let mut connection = database.connect("app");
        let account = connection.table("account").expect("there");
        grow(&mut connection, &account, 100..400);
        drop(connection);
        database.shutdown().expect("in good order");
    }
}

/// What is committed there isn't written yet when the process is killed.
#[test]
fn redo_that_makes_a_block_anew_needs_no_home_that_can_be_read() {
    let (scratch, bad) = (Folder::absent("bad-anew"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let options = small(16 << 20);
    let database = made((&disk, &bad, &scratch.0), &options, &session);
    let mut connection = database.connect_with(&session);
    let account = connection.table("account").expect("there");
    grow(&mut connection, &account, 100..400);
    drop(connection);
    database.abort_by(&session);
    let database = Database::open_in(&disk, &scratch.0, &options, &session).expect("it opens");
    assert_eq!(accounts(&mut database.connect_with(&session)), 400);
    database.shutdown_by(&session).expect("in good order");
}

/// But one that has rows is missed by every scan, and by recovery.
#[test]
fn a_block_with_rows_that_can_not_be_read_is_not_passed_over() {
    for db_cache_size in [16 << 20, 1 << 20] {
        let (scratch, bad) = (Folder::absent("bad-rows"), BadPlaces::default());
        let session = os::linux::start().adopt("app", SessionKind::Foreground);
        let disk = bad.over(&os::linux::disk());
        let options = small(db_cache_size);
        let database = made((&disk, &bad, &scratch.0), &options, &session);
        let mut connection = database.connect_with(&session);
        let account = connection.table("account").expect("there");
        grow(&mut connection, &account, 100..400);
        let segment = account.definition().segment;
        let space = database.instance().space();
        let header = space.segment(segment, &session).expect("read").expect("there").header;
        let runs = space.blocks(header, &session).expect("read");
        drop(connection);
        database.shutdown_by(&session).expect("in good order");
        // Behind the header and the map.
        let block = u64::from(runs[0].first.block.get()) + 3;
        bad.add(&scratch.0.join("data01.dbf"), block * BLOCK..block * BLOCK + 1);
        let opened = Database::open_in(&disk, &scratch.0, &options, &session);
        let database = opened.expect("it opens");
        let mut connection = database.connect_with(&session);
        let account = connection.table("account").expect("there");
        let scanned = connection.scan(&account, |_| ()).expect_err("rows can't be read");
        assert!(scanned.is_of_medium(), "{scanned}");
        drop(connection);
        database.abort_by(&session);
    }
}
