//! Places of the medium that can't be read: what nobody needs stands in nobody's way, and what the
//! power may have cut off is no worse where the device tells it by an error.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use database::{
    BlockSize, ColumnSpec, Connection, DataFileSpec, Database, FilesystemIo, Options, TableSpec,
    TablespaceSpec, Type, Value,
};
use os::Session;
use sim::BadPlaces;
use space::{Holds, NAMED_BY_NUMBER};
use stop::RefusalKind;
use waits::SessionKind;

use crate::bad_growth::free_extents;
use crate::common::{Folder, filled_by, options};

fn small() -> Options {
    let mut options = options();
    options.parameters.filesystemio_options = FilesystemIo::DirectIo;
    options.creation.data_bytes = 8 << 20;
    options.creation.undo_bytes = 4 << 20;
    options.creation.log_file_bytes = 1 << 20;
    options.creation.extent_blocks = 8;
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
    let scratch = Folder::absent(name);
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let bad = BadPlaces::default();
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in(&disk, &scratch.0, &small(), &session).expect("created");
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
    let database = Database::open_in(&disk, &scratch.0, &small(), &session);
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

/// Rule redo/RD28: recovery is done with the newest log, and the next has not begun.
#[test]
fn a_log_that_recovery_is_done_with_may_have_a_header_that_can_not_be_read() {
    let scratch = Folder::absent("bad-recovered");
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let bad = BadPlaces::default();
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in(&disk, &scratch.0, &small(), &session).expect("created");
    filled_by(&mut database.connect_with(&session));
    let newest = scratch.0.join(current_log(&database, &session));
    database.abort_by(&session);
    // Recovered, and left shut.
    let parameters = small().parameters;
    instance::recover_database(&disk, &scratch.0, &parameters, &|_| (), &session).expect("done");
    bad.add(&newest, 0..1);
    let database = Database::open_in(&disk, &scratch.0, &small(), &session).expect("it opens");
    assert_eq!(accounts(&mut database.connect_with(&session)), 100);
    database.shutdown_by(&session).expect("in good order");
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

/// Rules redo/RD24 and redo/RD28: whichever group of the other the log was of.
#[test]
fn another_databases_log_is_not_written_over_where_its_header_can_not_be_read() {
    for name in ["redo01.log", "redo02.log"] {
        let (scratch, bad) = (Folder::absent("bad-foreign"), BadPlaces::default());
        let session = os::linux::start().adopt("app", SessionKind::Foreground);
        let disk = bad.over(&os::linux::disk());
        std::fs::create_dir_all(&scratch.0).expect("made");
        let (one, two) = (scratch.0.join("one"), scratch.0.join("two"));
        for directory in [&one, &two] {
            let made = Database::create_in(&disk, directory, &small(), &session);
            let database = made.expect("created");
            filled_by(&mut database.connect_with(&session));
            database.shutdown_by(&session).expect("in good order");
        }
        // The current log is the second.
        let (ours, theirs) = (one.join("redo01.log"), std::fs::read(two.join(name)));
        let theirs = theirs.expect("there");
        assert!(theirs[4_096..8_192].iter().any(|byte| *byte != 0), "{name} has no redo");
        std::fs::write(&ours, &theirs).expect("written");
        bad.add(&ours, 0..1);
        let opened = Database::open_in(&disk, &one, &small(), &session).map(drop);
        let said = opened.expect_err("it is another's").to_string();
        assert!(said.contains("redo01.log is a log of database"), "{said}");
        assert!(std::fs::read(&ours).expect("there") == theirs, "{name} was written over");
    }
}

/// Rule redo/RD28: the power may have cut off the first redo of a log, and later the header of the
/// next log of its group. That is used again then.
#[test]
fn a_log_that_nobody_needs_may_begin_with_blocks_that_can_not_be_read() {
    for how in [End::Shut, End::Killed] {
        let (scratch, bad) = (Folder::absent("bad-begin"), BadPlaces::default());
        let session = os::linux::start().adopt("app", SessionKind::Foreground);
        let disk = bad.over(&os::linux::disk());
        let made = Database::create_in(&disk, &scratch.0, &small(), &session);
        let database = made.expect("created");
        filled_by(&mut database.connect_with(&session));
        let current = current_log(&database, &session);
        let other = ["redo01.log", "redo02.log"].into_iter().find(|other| *other != current);
        match how {
            End::Shut => database.shutdown_by(&session).expect("in good order"),
            End::Killed => database.abort_by(&session),
        }
        bad.add(&scratch.0.join(other.expect("one of two")), 0..5 * 4096);
        for _ in 0..2 {
            let opened = Database::open_in(&disk, &scratch.0, &small(), &session);
            let database = opened.expect("it opens");
            assert_eq!(accounts(&mut database.connect_with(&session)), 100);
            database.instance().redo().switch(&session).expect("switched");
            database.shutdown_by(&session).expect("in good order");
        }
    }
}

/// Rule redo/RD26: no block lies behind the last write of a full log that could be read.
#[test]
fn the_last_blocks_of_a_log_need_not_be_readable_if_they_have_no_redo() {
    [1, 2, 9].into_iter().for_each(without_the_last);
}

/// The power has cut off a write of so many blocks.
fn without_the_last(count: u32) {
    let (scratch, bad) = (Folder::absent("bad-last-blocks"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in(&disk, &scratch.0, &small(), &session).expect("created");
    let mut connection = database.connect_with(&session);
    let account = filled_by(&mut connection);
    let redo = database.instance().redo();
    let (all, mut rows) = (redo.log_blocks_max(&session), 100);
    while redo.position(&session).block != all - count {
        let mut tx = connection.begin();
        tx.insert(&account, &[Value::Int(rows), Value::Null, Value::Int(1)]).expect("inserted");
        tx.commit().expect("committed");
        rows += 1;
    }
    let path = scratch.0.join(current_log(&database, &session));
    drop(connection);
    database.abort_by(&session);
    bad.add(&path, u64::from(all - count) * 4096..u64::from(all) * 4096);
    let database = Database::open_in(&disk, &scratch.0, &small(), &session).expect("it opens");
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
    let (scratch, bad) = (Folder::absent("bad-member"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let (disk, mut options) = (bad.over(&os::linux::disk()), small());
    options.creation.log_members = 2;
    let database = Database::create_in(&disk, &scratch.0, &options, &session).expect("created");
    database.abort_by(&session);
    for name in ["redo01b.log", "redo02b.log"] {
        bad.add(&scratch.0.join(name), 0..1);
    }
    let database = Database::open_in(&disk, &scratch.0, &options, &session).expect("it opens");
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
    let (scratch, bad) = (Folder::absent("bad-leftover"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in(&disk, &scratch.0, &small(), &session).expect("created");
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
    let (scratch, bad) = (Folder::absent("bad-index"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in(&disk, &scratch.0, &small(), &session).expect("created");
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
    let database = Database::open_in(&disk, &scratch.0, &small(), &session).expect("it opens");
    assert_eq!(accounts(&mut database.connect_with(&session)), 100);
    database.abort_by(&session);
}

/// Rule sql/SQ36: what finds its row by an index needs no header of the table.
#[test]
fn a_plan_that_is_kept_runs_while_the_header_of_its_table_can_not_be_read() {
    let (scratch, bad) = (Folder::absent("bad-kept-plan"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let (disk, mut options) = (bad.over(&os::linux::disk()), small());
    options.parameters.db_cache_size = 1 << 20;
    let database = Database::create_in(&disk, &scratch.0, &options, &session).expect("created");
    let mut connection = database.connect_with(&session);
    let account = filled_by(&mut connection);
    // More blocks than the cache has.
    connection.execute("create table other (id bigint primary key, text text)", &[]).expect("made");
    let fill = "insert into other select g, repeat('x', 1500) from generate_series(1, 1500) g";
    connection.execute(fill, &[]).expect("filled");
    let other = connection.table("other").expect("there");
    let kept = connection.prepare("select owner from account where id = $1").expect("prepared");
    let by_key = |connection: &mut Connection<'_>| {
        let done = connection.execute_prepared(&kept, &[Value::Int(7)]);
        done.map(|done| done.rows()).map_err(|stop| stop.to_string())
    };
    assert_eq!(by_key(&mut connection), Ok(1));
    database.instance().checkpoint(&session).expect("written");
    let space = database.instance().space();
    let segment = account.definition().segment;
    let header = space.segment(segment, &session).expect("read").expect("there").header;
    let at = u64::from(header.block.get()) * 8_192;
    bad.add(&scratch.0.join("data01.dbf"), at..at + 1);
    let mut rounds = 0;
    while space.handed_out(header, &session).is_ok() {
        for id in 1..=1_500 {
            connection.get(&other, &[Value::Int(id)], |_| ()).expect("read");
        }
        rounds += 1;
        assert!(rounds < 50, "the header stays in the cache");
    }
    // Longer than sizes hold.
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(by_key(&mut connection), Ok(1));
    let needed = connection.execute("select count(*) from account", &[]).expect_err("it is needed");
    assert_eq!(needed.refusal(), Some(RefusalKind::Io), "{needed}");
    drop(connection);
    database.abort_by(&session);
}

/// Where the header of the next segment would lie.
#[test]
fn a_free_block_that_can_not_be_read_keeps_no_table_from_being_made() {
    let (scratch, bad) = (Folder::absent("bad-free"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in(&disk, &scratch.0, &small(), &session).expect("created");
    database.shutdown_by(&session).expect("in good order");
    let path = scratch.0.join("data01.dbf");
    let at = free_extents(&path)[0];
    bad.add(&path, at..at + 1);
    let database = Database::open_in(&disk, &scratch.0, &small(), &session).expect("it opens");
    let mut connection = database.connect_with(&session);
    for name in ["one", "two", "three"] {
        connection.create_table(&one_column(name)).expect("made elsewhere");
    }
    drop(connection);
    database.shutdown_by(&session).expect("in good order");
}

/// The file may grow, but first there are more of these than a statement tries: each statement goes
/// on where the one before has stopped. What can be read again is used again.
#[test]
fn a_table_is_made_where_all_free_extents_can_not_be_read_and_the_file_may_grow() {
    let (scratch, bad) = (Folder::absent("bad-all-free"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let (disk, mut options) = (bad.over(&os::linux::disk()), small());
    options.creation.data_bytes = 4 << 20;
    options.creation.data_growth_bytes = 1 << 20;
    options.creation.data_bytes_max = 16 << 20;
    let database = Database::create_in(&disk, &scratch.0, &options, &session).expect("created");
    database.shutdown_by(&session).expect("in good order");
    let path = scratch.0.join("data01.dbf");
    let free = free_extents(&path);
    free.iter().for_each(|at| bad.add(&path, *at..*at + 1));
    let database = Database::open_in(&disk, &scratch.0, &options, &session).expect("it opens");
    let mut connection = database.connect_with(&session);
    let mut refused = 0;
    while let Err(stop) = connection.create_table(&one_column("made")) {
        assert_eq!(stop.refusal(), Some(RefusalKind::Io), "{stop}");
        refused += 1;
        assert!(refused <= free.len() / 8, "refused {refused} times for {} extents", free.len());
    }
    println!("refused {refused} times, {} extents that can't be read", free.len());
    drop(connection);
    database.shutdown_by(&session).expect("in good order");
}

/// A device that is gone is asked a few times, and not for each extent that it had.
#[test]
fn a_statement_tries_few_extents_that_can_not_be_read() {
    let (scratch, bad) = (Folder::absent("bad-few"), BadPlaces::default());
    let lines = Arc::new(Mutex::new(Vec::<String>::new()));
    let notices = Arc::clone(&lines);
    let os = os::linux::start_with(Arc::new(move |line: &str| {
        notices.lock().expect("whole").push(line.to_string());
    }));
    let session = os.adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let database = Database::create_in(&disk, &scratch.0, &small(), &session).expect("created");
    let mut connection = database.connect_with(&session);
    let path = scratch.0.join("data01.dbf");
    database.instance().checkpoint(&session).expect("written");
    let free = free_extents(&path);
    let spoil = |reads| free.iter().for_each(|at| bad.add_for(&path, *at..*at + 1, reads));
    assert!(free.len() > 20, "{} extents are free", free.len());
    spoil(1);
    let made = connection.create_table(&one_column("made")).map(drop).expect_err("not to be read");
    assert_eq!(made.refusal(), Some(RefusalKind::Io), "{made}");
    let passed = lines.lock().expect("whole").iter().filter(|l| l.contains("passed over")).count();
    assert_eq!(passed, 8, "{lines:?}");
    drop(connection);
    database.abort_by(&session);
}

/// What is nobody's any more needs no header: what a killed statement was making, and what one was
/// dropping.
#[test]
fn a_header_of_a_leftover_that_can_not_be_used_keeps_no_database_shut() {
    for is_dropped in [false, true] {
        for is_zero in [false, true] {
            leftover(is_dropped, is_zero);
        }
    }
}

fn leftover(is_dropped: bool, is_zero: bool) {
    let (scratch, bad) = (Folder::absent("bad-segment"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    // The doublewrite file would have a copy of the header.
    let mut options = small();
    options.parameters.doublewrite = false;
    let database = Database::create_in(&disk, &scratch.0, &options, &session).expect("created");
    filled_by(&mut database.connect_with(&session));
    let space = database.instance().space();
    let segment =
        space.create_temporary("system", NAMED_BY_NUMBER, Holds::Table, &session).expect("made");
    if is_dropped {
        // Permanent, and no row names it.
        space.keep(segment.object, &session).expect("kept");
    }
    database.shutdown_by(&session).expect("in good order");
    let (path, at) = (scratch.0.join("data01.dbf"), u64::from(segment.header.block.get()) * 8_192);
    if is_zero {
        // Zeros, where a header was.
        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("there");
        file.write_all_at(&[0; 8_192], at).expect("written");
    } else {
        bad.add(&path, at..at + 1);
    }
    for _ in 0..2 {
        let opened = Database::open_in(&disk, &scratch.0, &options, &session);
        let database = opened.unwrap_or_else(|stop| panic!("{is_dropped}, {is_zero}: {stop}"));
        assert_eq!(accounts(&mut database.connect_with(&session)), 100);
        database.shutdown_by(&session).expect("in good order");
    }
}
