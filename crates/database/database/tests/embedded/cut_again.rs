//! The power is cut while an opening writes again what was there before, and the device can't read
//! what it was writing then (rules redo/RD17, cache/CB28). The next opening has every row.

use std::path::Path;

use database::{ColumnSpec, Creation, Database, Options, TableSpec, Type, Value};
use os::Session;
use os::probe::DurableWrite;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{BadPlaces, Simulation};

use crate::simulated;

/// A write that was under way: file, offset, length.
type Write = (String, u64, u64);

const ROWS: i64 = 5;

fn options(log_members: u16) -> Options {
    let mut options = simulated::options();
    options.creation = Creation { log_members, ..options.creation };
    options.parameters.redo_write = Some(DurableWrite::DirectThenSync);
    options
}

fn made(log_members: u16) -> FileSystem {
    simulated::made_with(options(log_members).creation, |database, session| {
        let id = ColumnSpec::new("id", Type::BigInt).not_null();
        let spec = TableSpec::new("t").column(id).primary_key(["id"]);
        database.connect_with(session).create_table(&spec).expect("made");
    })
}

/// Opens the database on a disk with bad places and does some work. What it says, and the disk.
fn open<T: Send + 'static>(
    content: FileSystem,
    bad: &BadPlaces,
    work: impl FnOnce(Database, &Session) -> T + Send + 'static,
) -> sim::Report<Result<T, String>> {
    let mut machine = Simulation::new(3);
    machine.disks[0].content = content;
    let places = bad.clone();
    machine.run(move |world, session| {
        let disk = places.over(&world.disk());
        let opened = Database::open_in(&disk, Path::new("/db"), &options(1), session);
        opened.map(|database| work(database, session)).map_err(|stop| stop.to_string())
    })
}

/// Does some work on a database, and closes all files of the disk.
fn after(content: FileSystem, work: fn(Database, &Session)) -> FileSystem {
    let mut report = open(content, &BadPlaces::default(), work);
    assert_eq!(report.result.expect("it ends"), Ok(()));
    let mut disk = report.disks.remove("disk").expect("there");
    disk.close_all();
    disk
}

fn insert(database: &Database, session: &Session) {
    let mut connection = database.connect_with(session);
    let table = connection.table("t").expect("there");
    for id in 0..ROWS {
        let mut tx = connection.begin();
        tx.insert(&table, &[Value::Int(id)]).expect("inserted");
        tx.commit().expect("committed");
    }
}

fn count(database: Database, session: &Session) -> i64 {
    let mut connection = database.connect_with(session);
    let table = connection.table("t").expect("there");
    let mut rows = 0;
    connection.scan(&table, |_| rows += 1).expect("read");
    drop(connection);
    database.abort_by(session);
    rows
}

/// What a cut left.
struct Cut {
    disk: FileSystem,
    /// What still can't be read, of what couldn't be before.
    bad: BadPlaces,
    /// What was being written.
    writes: Vec<Write>,
}

/// The power is cut at each operation of `work` in turn.
fn cuts(content: &FileSystem, bad: &BadPlaces, work: fn(Database, &Session)) -> Vec<Cut> {
    let mut found = Vec::new();
    for at in 1.. {
        let mut disk = content.clone();
        disk.lose_power_at(disk.crash_points() + at);
        let bad = bad.copy();
        let report = open(disk, &bad, work);
        if !report.was_cut(at) {
            break;
        }
        let states = CrashStates::of(&report.disks["disk"]);
        let mut disk = states.sample(0);
        disk.close_all();
        found.push(Cut { disk, bad, writes: simulated::pending(&states, 0) });
    }
    found
}

/// After each cut of an opening in a write to `within` the next opening has so many rows. How many
/// cuts that were.
fn outlives(content: &FileSystem, bad: &BadPlaces, within: &str, rows: i64) -> usize {
    let mut tried = 0;
    for Cut { disk, bad, writes } in cuts(content, bad, |db, session| db.abort_by(session)) {
        let within: Vec<&Write> = writes.iter().filter(|write| write.0.contains(within)).collect();
        for (name, offset, length) in &within {
            bad.add(Path::new(name), *offset..offset + length);
        }
        if !within.is_empty() {
            tried += 1;
            let found = open(disk, &bad, count).result.expect("it ends");
            assert_eq!(found, Ok(rows), "cut off: {within:?}");
        }
    }
    tried
}

#[test]
fn a_log_without_redo_need_not_get_its_header_again() {
    let killed = after(made(1), |database, session| database.abort_by(session));
    outlives(&killed, &BadPlaces::default(), "redo", 0);
    let shut = after(made(1), |database, session| database.shutdown_by(session).expect("shut"));
    outlives(&shut, &BadPlaces::default(), "redo", 0);
}

#[test]
fn commits_are_always_in_a_member_that_is_not_being_written() {
    let killed = after(made(2), |database, session| {
        insert(&database, session);
        database.abort_by(session);
    });
    assert!(outlives(&killed, &BadPlaces::default(), "redo", ROWS) > 0, "no cut");
}

#[test]
fn a_copy_of_a_broken_block_is_not_written_again() {
    let killed = after(made(1), |database, session| {
        insert(&database, session);
        database.abort_by(session);
    });
    let writes_home = |database: Database, session: &Session| {
        database.instance().checkpoint(session).expect("written");
        database.abort_by(session);
    };
    let mut broken = 0;
    for Cut { disk, writes, .. } in cuts(&killed, &BadPlaces::default(), writes_home) {
        let home = writes.iter().find(|write| write.0.contains("data01") && write.1 > 0);
        let Some((name, offset, length)) = home else { continue };
        let bad = BadPlaces::default();
        bad.add(Path::new(name), *offset..offset + length);
        outlives(&disk, &bad, "doublewrite", ROWS);
        broken += 1;
    }
    assert!(broken > 0, "no home write was cut off");
}
