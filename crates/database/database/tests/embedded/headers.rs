//! Files of different times put together: a copy of a data file or of the control file that is
//! older than the rest is refused, for what was committed since would be gone. And a block of a
//! file that is older than the rest.

use std::os::unix::fs::FileExt;
use std::path::Path;

use database::{Creation, DataFileSpec, Database, ErrorKind, Options, Value};
use format::{BlockHeader, BlockKind, LogHeader, REDO_BLOCK, ScnLe, U32Le};
use ids::{BlockNo, BlockSize, Dba, FileNo, Scn};
use sim::BadPlaces;
use space::{Holds, SegmentState};
use waits::SessionKind;

use crate::common::{Folder, account, balance};

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
/// whether it was shut or killed when the copy was made (but see the next test).
#[test]
fn an_older_copy_of_a_data_file_is_refused_however_the_database_ended() {
    for (killed_before, killed_after) in [(false, false), (true, true)] {
        let scratch = Folder::absent("headers-older");
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
        assert!(has_second_row(&database));
    }
}

fn has_second_row(database: &Database) -> bool {
    let mut connection = database.connect("reader");
    let account = connection.table("account").expect("there");
    balance(&mut connection, &account, 2) == Some(7)
}

/// Rule space/SP51: a copy that was made while the database was shut, of one that was killed soon
/// after it was opened. The redo has what the copy lacks, unless the checkpoint has moved since:
/// then it is refused.
#[test]
fn a_copy_made_while_shut_loses_nothing_where_the_database_was_killed() {
    for file in ["data01.dbf", "undo01.dbf"] {
        let scratch = Folder::absent("headers-shut");
        let (directory, older) = (scratch.0.join("db"), scratch.0.join("older"));
        made(&directory);
        copy(&directory, &[file], &older);
        let database = Database::open(&directory, &options()).expect("opened");
        insert(&database, 2);
        drop(database);
        copy(&older, &[file], &directory);
        match Database::open(&directory, &options()) {
            Ok(database) => assert!(has_second_row(&database), "{file}"),
            Err(stop) => assert!(stop.to_string().contains("is an older copy"), "{file}: {stop}"),
        }
    }
}

/// Both copies of the control file are older than the data files.
#[test]
fn a_control_file_older_than_its_data_files_is_refused() {
    let scratch = Folder::absent("headers-control");
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

/// A database whose three logs have all begun; it has rows 1 to 3.
fn with_three_logs(directory: &Path, log_members: u16, is_killed: bool) {
    let mut options = options();
    options.creation.log_members = log_members;
    let parent = directory.parent().expect("it lies in a folder");
    std::fs::create_dir_all(parent).expect("made");
    let database = Database::create(directory, &options).expect("created");
    database.connect("maker").create_table(&account()).expect("made");
    database.shutdown().expect("shut in good order");
    for id in 1..=3 {
        let database = Database::open(directory, &options).expect("opened");
        insert(&database, id);
        match is_killed && id == 3 {
            true => drop(database),
            false => database.shutdown().expect("shut in good order"),
        }
    }
}

/// The rows of `with_three_logs` are there.
fn has_its_rows(directory: &Path) {
    let database = Database::open(directory, &options()).expect("it opens");
    let mut connection = database.connect("reader");
    let account = connection.table("account").expect("there");
    for id in 1..=3 {
        assert_eq!(balance(&mut connection, &account, id), Some(7));
    }
    drop(connection);
    database.shutdown().expect("shut in good order");
}

/// A log of this group whose header says something else, and is whole.
fn with_header(log: &[u8], group: u16, change: impl Fn(&mut LogHeader)) -> Vec<u8> {
    let mut log = log.to_vec();
    let header = &mut log[..REDO_BLOCK.bytes()];
    let address = Dba { file: FileNo::redo(group), block: BlockNo::new(0) };
    format::check(header, address).expect("a log has begun there");
    change(LogHeader::at_mut(header, LogHeader::START));
    format::seal(header, address);
    log
}

/// Logs that can't be this database's, in place of its log of this group; and what is said of each.
fn foreign_logs(directory: &Path, group: u16, other: &Path) -> Vec<(Vec<u8>, &'static str)> {
    let log = |directory: &Path, group: u16| {
        std::fs::read(directory.join(format!("redo0{group}.log"))).expect("read")
    };
    let (own, others) = (&log(directory, group), |group| log(other, group));
    let mut no_header = own.clone();
    let first = &mut no_header[..REDO_BLOCK.bytes()];
    let address = Dba { file: FileNo::redo(group), block: BlockNo::new(0) };
    *BlockHeader::of_mut(first) = BlockHeader::new(BlockKind::Redo, address);
    format::seal(first, address);
    vec![
        // Its own logs, one copied over the other.
        (log(directory, group % 3 + 1), "has another block where its header belongs"),
        (log(directory, (group + 1) % 3 + 1), "has another block where its header belongs"),
        (no_header, "has another block where its header belongs"),
        (others(group), "is a log of database"),
        (others(group % 3 + 1), "is a log of database"),
        (with_header(own, group, |header| header.incarnation = U32Le::new(2)), "of incarnation 2"),
        (
            with_header(own, group, |header| header.incarnation_scn = ScnLe::new(Scn::new(77))),
            "which began at SCN 77",
        ),
    ]
}

/// Rule redo/RD24: whether the log is needed or not, and however the database ended, nothing is
/// opened on a log that isn't its own, and the file stays as it is.
#[test]
fn a_log_of_another_incarnation_or_database_is_refused() {
    for is_killed in [false, true] {
        let scratch = Folder::absent("headers-foreign-log");
        let (directory, other) = (scratch.0.join("db"), scratch.0.join("other"));
        with_three_logs(&directory, 1, is_killed);
        with_three_logs(&other, 1, false);
        for group in 1..=3 {
            let name = format!("redo0{group}.log");
            let path = directory.join(&name);
            let own = std::fs::read(&path).expect("read");
            for (foreign, says) in foreign_logs(&directory, group, &other) {
                std::fs::write(&path, &foreign).expect("written");
                let opened = Database::open(&directory, &options()).map(|_| ());
                let Err(stop) = opened else { panic!("it opens with {name}, which {says}") };
                assert_eq!(stop.refusal(), Some(ErrorKind::Corrupt), "{stop}");
                let text = stop.to_string();
                for says in [&name, says, "put the right file back", "from one copy"] {
                    assert!(text.contains(says), "'{text}' doesn't say '{says}'");
                }
                assert!(std::fs::read(&path).expect("read") == foreign, "{name} was written");
            }
            std::fs::write(&path, &own).expect("written");
        }
        has_its_rows(&directory);
    }
}

/// A member that isn't the database's own is left out where its group has another, as one that is
/// lost; it is never written over.
#[test]
fn a_foreign_member_of_a_log_is_left_out_and_not_written_over() {
    let scratch = Folder::absent("headers-foreign-member");
    let (directory, other) = (scratch.0.join("db"), scratch.0.join("other"));
    with_three_logs(&directory, 2, true);
    with_three_logs(&other, 1, false);
    let copies = ["redo02.log", "redo02b.log"];
    let own = std::fs::read(directory.join(copies[0])).expect("read");
    for (foreign, says) in foreign_logs(&directory, 2, &other) {
        // Where neither member is its own there is nothing to go on with.
        copies.iter().for_each(|name| std::fs::write(directory.join(name), &foreign).expect("w"));
        refused(&directory, &["redo02", says, "put the right file back"]);
        copies.iter().for_each(|name| std::fs::write(directory.join(name), &own).expect("w"));
    }
    for (round, (foreign, _)) in foreign_logs(&directory, 2, &other).into_iter().enumerate() {
        let scratch = Folder::absent(&format!("headers-foreign-member-{round}"));
        std::fs::create_dir_all(&scratch.0).expect("made");
        for entry in std::fs::read_dir(&directory).expect("read") {
            let entry = entry.expect("read");
            std::fs::copy(entry.path(), scratch.0.join(entry.file_name())).expect("copied");
        }
        let path = scratch.0.join(copies[round % 2]);
        std::fs::write(&path, &foreign).expect("written");
        // All groups get their turn.
        (0..4).for_each(|_| has_its_rows(&scratch.0));
        assert!(std::fs::read(&path).expect("read") == foreign, "it was written over");
    }
}

/// Format 4 was never released.
#[test]
fn a_control_file_of_format_4_is_refused() {
    let scratch = Folder::absent("headers-format");
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

/// Rule space/SP14: what a drop that was cut off has left has an older header, as if a write of it
/// had been lost: from before the drop, or from before an extent was given back. It stays as it is,
/// the database opens, and with the right header the drop goes on.
#[test]
fn an_older_header_of_a_leftover_keeps_no_database_shut() {
    let (scratch, bad) = (Folder::absent("headers-leftover"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let (disk, mut options, bytes) = (bad.over(&os::linux::disk()), options(), 400 * 2048);
    let more = DataFileSpec { path: "data02.dbf".into(), bytes, bytes_max: 0, growth_bytes: 0 };
    options.creation.data_files = vec![more];
    let open = || Database::open_in(&disk, &scratch.0, &options, &session).expect("it opens");
    let shut = |database: Database| database.shutdown_by(&session).expect("in good order");
    let database = Database::create_in(&disk, &scratch.0, &options, &session).expect("created");
    let space = database.instance().space();
    let segment = space.create("left", Holds::Table, &session).expect("made");
    // Extents in its own file, the other, its own, and the other.
    for _ in 0..20 {
        space.hand_out(segment.header, 1, &session).expect("there is one");
    }
    shut(database);
    let own = scratch.0.join(format!("data{:02}.dbf", segment.header.file.get()));
    let other = scratch.0.join(format!("data{:02}.dbf", 3 - segment.header.file.get()));
    let (file, at) = (
        std::fs::OpenOptions::new().read(true).write(true).open(&own).expect("there"),
        u64::from(segment.header.block.get()) * 2048,
    );
    let header = || {
        let mut header = [0; 2048];
        file.read_exact_at(&mut header, at).expect("read");
        header
    };
    let live = header();
    let database = open();
    bad.add_for(&other, 2048..2049, 1);
    let space = database.instance().space();
    space.drop_segment(segment.object, &session).expect_err("a map can't be read");
    shut(database);
    let begun = header();
    bad.add_for(&own, 2048..2049, 1);
    shut(open());
    let newest = header();
    assert!(live != begun && begun != newest, "the second cut comes when an extent has gone");
    for older in [live, begun] {
        file.write_all_at(&older, at).expect("written");
        let database = open();
        let state = database.instance().space().state(segment.object, &session);
        assert_eq!(state, Some(SegmentState::Dropping));
        shut(database);
        assert!(header() == older, "it was written");
    }
    file.write_all_at(&newest, at).expect("written");
    let database = open();
    assert_eq!(database.instance().space().state(segment.object, &session), None);
    database.instance().space().check(&session).expect("all is in order");
    shut(database);
}
