//! How a database ends while others still have it, and how an opening that fails ends.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use database::{
    ColumnSpec, Database, Error, ErrorKind, Nanos, Progress, SequenceOptions, Table, TableSpec,
    Type, Value,
};
use latch::{Latch, LatchKind};
use os::{Session, ThreadHandle};
use sim::Outside;
use sim::fs::FileSystem;
use testbed::{ended, left, machine};
use waits::{SessionKind, WaitEvent};

use crate::common::{Folder, account, filled, options};
use crate::simulated::{self, join, made, racing, racing_to_open, start};

/// Every kind of call on a database that was shut, by a handle that was there before.
fn calls(database: &Database, account: &Table, session: &Session) -> Vec<(&'static str, Error)> {
    let key = [Value::Int(1)];
    let row = [Value::Int(1_000), Value::Null, Value::Int(0)];
    let mut found = Vec::new();
    let mut told = |what, result: Result<(), Error>| {
        found.push((what, result.expect_err(what)));
    };
    let mut connection = database.connect_with(session);
    told("table", connection.table("account").map(drop));
    told("get", connection.get(account, &key, |_| ()).map(drop));
    told("scan", connection.scan(account, |_| ()));
    told("next value", connection.next_value("ticket").map(drop));
    told("define", connection.create_table(&account_copy()).map(drop));
    told("serializable", connection.begin_serializable().map(drop));
    let mut tx = connection.begin();
    told("insert", tx.insert(account, &row).map(drop));
    told("update", tx.update(account, &key, |_, set| set.set(2, Value::Int(7))).map(drop));
    told("delete", tx.delete(account, &key).map(drop));
    told("get within", tx.get(account, &key, |_| ()).map(drop));
    drop(tx);
    drop(connection);
    let instance = database.instance();
    told("parameter", instance.set_parameter("db_writer_processes", "2", session));
    told("checkpoint", instance.checkpoint(session));
    told("shutdown", database.clone().shutdown_by(session));
    found
}

fn account_copy() -> database::TableSpec {
    database::TableSpec { name: "copy".into(), ..account() }
}

#[test]
fn a_database_that_was_shut_refuses_every_later_call() {
    let (disk, ()) = racing_to_open(1, made(|_, _| ()), |opened, session| {
        let database = &opened.expect("opened");
        let account = filled(database);
        let mut connection = database.connect_with(session);
        let ticket = SequenceOptions::default();
        connection.create_sequence("ticket", &ticket).expect("made");
        connection.next_value("ticket").expect("there is one");
        drop(connection);
        database.clone().shutdown_by(session).expect("in good order");
        for (what, stop) in calls(database, &account, session) {
            assert_eq!(stop.refusal(), Some(ErrorKind::WrongState), "{what}: {stop}");
            assert!(stop.to_string().contains("the database is shut"), "{what}: {stop}");
        }
        // It has ended, so there is nothing to stop.
        database.clone().abort_by(session);
    });
    racing(1, disk, |database, session| {
        assert_eq!(database.instance().opened().recovered.records, 0, "it was in good order");
        let mut connection = database.connect_with(session);
        let account = connection.table("account").expect("there");
        let mut rows = 0;
        connection.scan(&account, |_| rows += 1).expect("read");
        assert_eq!(rows, 100);
    });
}

/// Works until it is told that the database has ended, and notes what was acknowledged.
fn worker(
    number: i64,
    (database, session): (&Database, &Session),
    (acknowledged, midway): (&Arc<Latch<BTreeSet<i64>>>, &Outside<u32>),
) -> ThreadHandle {
    let (acknowledged, midway) = (Arc::clone(acknowledged), midway.clone());
    start("worker", (database, session), move |database, session| {
        for id in (number * 10_000).. {
            let mut has_begun = false;
            if let Err(stop) = work(database, (id, &mut has_begun), session) {
                midway.with(|all| *all += u32::from(has_begun));
                let is_end = match stop.refusal() {
                    Some(ErrorKind::WrongState) => stop.to_string().contains("shut"),
                    Some(_) => false,
                    None => true,
                };
                assert!(is_end, "{stop}");
                break;
            }
            acknowledged.exclusive(session).insert(id);
            // Now and then nobody has a connection.
            let length = Nanos::from_micros(400 + id.unsigned_abs() * 37 % 300);
            session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
        }
    })
}

/// A statement that reads and a transaction that changes.
fn work(
    database: &Database,
    (id, has_begun): (i64, &mut bool),
    session: &Session,
) -> Result<(), Error> {
    let mut connection = database.connect_with(session);
    let account = connection.table("account")?;
    connection.get(&account, &[Value::Int(id % 100)], |_| ())?;
    let mut tx = connection.begin();
    tx.insert(&account, &[Value::Int(id), Value::Null, Value::Int(0)])?;
    *has_begun = true;
    tx.commit()
}

/// Runs workers until `end` has ended the database; then holds what is there against what was
/// acknowledged. Returns how many workers had changed something in the transaction in which they
/// were told of the end.
fn ended_while_sessions_work(end: fn(&Database, &Session)) -> u32 {
    let base = made(|database, _| drop(filled(database)));
    let (midway, mut with_commits) = (Outside::new(0), 0);
    for seed in 0..40 {
        let inside = midway.clone();
        let worked = racing_to_open(seed, base.clone(), move |opened, session| {
            let database = &opened.expect("opened");
            let found = Latch::new(session.os(), LatchKind::Innermost, BTreeSet::new());
            let acknowledged = Arc::new(found);
            let told = (&acknowledged, &inside);
            let workers = (1..=3).map(|n| worker(n, (database, session), told)).collect();
            let length = Nanos::from_micros(300 + seed * 97);
            session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
            end(database, session);
            join(workers, session);
            std::mem::take(&mut *acknowledged.exclusive(session))
        });
        let (disk, acknowledged) = worked;
        with_commits += u32::from(!acknowledged.is_empty());
        racing(seed, disk, move |database, session| {
            let mut connection = database.connect_with(session);
            let account = connection.table("account").expect("there");
            let mut there = BTreeSet::new();
            connection.scan(&account, |row| there.extend(row.get_i64(0))).expect("read");
            let lost: Vec<_> = acknowledged.difference(&there).collect();
            assert!(lost.is_empty(), "seed {seed}: acknowledged and lost: {lost:?}");
        });
    }
    let midway = midway.take();
    println!("{with_commits} of 40 runs have commits, {midway} workers were stopped in one");
    assert!(with_commits > 20, "only {with_commits} of 40 runs have commits");
    midway
}

#[test]
fn sessions_that_work_while_the_database_is_shut_are_refused_and_none_waits_for_ever() {
    ended_while_sessions_work(|database, session| {
        // It is refused while there is a connection, and goes on.
        while let Err(stop) = database.clone().shutdown_by(session) {
            assert_eq!(stop.refusal(), Some(ErrorKind::WrongState), "{stop}");
            session.pause(Nanos::from_micros(13), session.waiting(WaitEvent::PlSqlLockTimer));
        }
    });
}

#[test]
fn sessions_that_work_while_the_database_is_aborted_are_told_and_none_waits_for_ever() {
    let midway = ended_while_sessions_work(|database, session| database.clone().abort_by(session));
    assert!(midway > 0, "nobody was in a transaction when the database was aborted");
}

#[test]
fn an_opening_that_finds_no_dictionary_stops_what_it_had_opened() {
    let disk = made(|database, session| {
        let account = filled(database);
        // Behind the dictionary's back.
        let segment = account.definition().segment;
        database.instance().space().drop_segment(segment, session).expect("dropped");
    });
    racing_to_open(1, disk, |opened, session| {
        let told = opened.err().expect("a table has no segment").to_string();
        assert!(told.contains("isn't there"), "{told}");
        let running = session.os().running().len();
        assert_eq!(running, 1, "only the session that has tried");
        told
    });
}

/// An opening whose `tell` panics lets go of all that it has: the next one finds nobody there. It
/// makes no difference whether the redo is read for the first time or, for lack of buffers, for the
/// second, when there are writers.
#[test]
fn an_opening_whose_teller_panics_leaves_the_files_to_the_next() {
    for (is_second, cache_bytes) in [(false, 8 << 20), (true, 2 << 20)] {
        let scratch = Folder::absent("teller-panics");
        let mut options = options();
        let database = Database::create(&scratch.0, &options).expect("created");
        let mut connection = database.connect("app");
        let spec = TableSpec::new("t")
            .column(ColumnSpec::new("id", Type::BigInt))
            .column(ColumnSpec::new("body", Type::Text))
            .primary_key(["id"]);
        let table = connection.create_table(&spec).expect("made");
        // A block for each row. A batch of recovery brings an eighth of the buffers: so there are
        // more than the four that are on their way at once.
        let body = "x".repeat(5_000);
        let mut tx = connection.begin();
        for id in 0..800 {
            tx.insert(&table, &[Value::Int(id), Value::Text(&body)]).expect("inserted");
        }
        tx.commit().expect("committed");
        // As if killed.
        drop((connection, database));
        options.parameters.db_cache_size = cache_bytes;
        let (os, disk) = (os::linux::start(), os::linux::disk());
        let session = os.adopt("opener", SessionKind::Foreground);
        let tell = |progress: Progress| assert!(is_second && progress.of.is_none(), "the teller");
        let open = || Database::open_telling(&disk, scratch.0.as_path(), &options, &tell, &session);
        let opened = catch_unwind(AssertUnwindSafe(|| open().map(drop)));
        assert!(opened.is_err(), "it was never told anything");
        let database = Database::open(&scratch.0, &options).expect("nobody has the files any more");
        let mut rows = 0;
        let mut connection = database.connect("reader");
        let table = connection.table("t").expect("there");
        connection.scan(&table, |_| rows += 1).expect("read");
        assert_eq!(rows, 800);
        drop(connection);
        database.shutdown().expect("in good order");
    }
}

/// A database that a power cut left with 12 MB of redo to be recovered.
fn with_much_redo() -> FileSystem {
    let mut options = simulated::options();
    options.creation.log_file_bytes = 16 << 20;
    options.creation.data_bytes = 12_000 * 2048;
    options.parameters.db_cache_size = 12_000 * 2048;
    let base = simulated::made_with(options.creation.clone(), |database, session| {
        let spec = TableSpec::new("t")
            .column(ColumnSpec::new("id", Type::BigInt))
            .column(ColumnSpec::new("body", Type::Text))
            .primary_key(["id"]);
        database.connect_with(session).create_table(&spec).expect("made");
    });
    let mut report = machine(2, base).run(move |world, session| {
        let opened = Database::open_in(&world.disk(), Path::new("/db"), &options, session);
        let database = opened.expect("opened");
        let mut connection = database.connect_with(session);
        let table = connection.table("t").expect("there");
        let body = "x".repeat(1_500);
        let mut tx = connection.begin();
        for id in 0..7_000 {
            tx.insert(&table, &[Value::Int(id), Value::Text(&body)]).expect("inserted");
        }
        tx.commit().expect("committed");
        drop(connection);
        database.abort_by(session);
    });
    let disk = left(&mut report);
    ended(report, "filled");
    disk
}

/// An opening that fails at the last changes that fit the buffers, while the redo is read to its
/// end, doesn't read on (rule recovery/RC8).
#[test]
fn an_opening_that_has_failed_reads_no_more_redo() {
    let disk = with_much_redo();
    let open = |fails_at: u64| {
        let report = machine(3, disk.clone()).run(move |world, session| {
            let surveyed = Cell::new(0);
            let tell = |progress: Progress| {
                assert!(progress.applied != fails_at, "the teller");
                if progress.of.is_none() {
                    surveyed.set(progress.applied);
                }
            };
            let (disk, options) = (world.disk(), simulated::options());
            let open = || Database::open_telling(&disk, Path::new("/db"), &options, &tell, session);
            let opened = catch_unwind(AssertUnwindSafe(|| open().map(drop)));
            assert_eq!(opened.is_err(), fails_at > 0);
            while session.os().running().len() > 1 {
                testbed::pause(Nanos::from_millis(1), session);
            }
            let waits = session.os().totals().event(WaitEvent::LogFileSequentialRead).count;
            (waits, surveyed.get())
        });
        ended(report, fails_at)
    };
    let (twice, last) = open(0);
    let (until_failed, _) = open(last);
    assert!(until_failed < twice / 2, "{until_failed} waits for redo, {twice} for all of it twice");
}
