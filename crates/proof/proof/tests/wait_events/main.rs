//! Every wait event that the engine can raise is provoked by a test, with its count, its parameters
//! and its time.
//!
//! Here are those that a session of the whole engine meets on a disk that takes 100 us for any
//! request, alone and against another session. [`listed`] says which test provokes the others.
//! `processes` has those of the instance's own processes, `latches` those of latches, enqueues and
//! buffers; `listed` holds them all against the source: an event that is raised somewhere and
//! provoked nowhere is an error.
#![forbid(unsafe_code)]

mod latches;
mod listed;
mod processes;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use database::{
    BlockSize, ColumnSpec, Connection, Creation, Database, Options, Parameters, Row, RowChange,
    Table, TableSpec, Tx, Type, Value,
};
use instance::{DataFileSpec, TablespaceSpec};
use os::probe::DurableWrite;
use os::{FileOperation, Session, ThreadSpec};
use sim::fs::FileSystem;
use sim::{Outside, Perturbation, World};
use waits::{Level, Nanos, Timestamp, WaitEvent, WaitRecord, WaitSink};

const BLOCK: u64 = 2048;
/// Four rows to a block.
const FILLER: [u8; 400] = [0; 400];
/// What the disk takes for any request, in ns.
const REQUEST: u64 = 100_000;

fn directory() -> &'static Path {
    Path::new("/db")
}

fn creation() -> Creation {
    Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 32 * BLOCK,
        data_bytes_max: 1_000 * BLOCK,
        data_growth_bytes: 8 * BLOCK,
        undo_bytes: 32 * BLOCK,
        undo_bytes_max: 400 * BLOCK,
        undo_growth_bytes: 8 * BLOCK,
        extent_blocks: 4,
        log_file_bytes: u64::from(redo::LOG_BLOCKS_MIN) * 4096,
        log_groups: 3,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    }
}

fn parameters() -> Parameters {
    Parameters {
        db_cache_size: 64 * BLOCK,
        db_4k_cache_size: 16 * 4096,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectWriteThrough),
        ..Parameters::default()
    }
}

/// One wait: which, with what, and how long.
type Wait = (WaitEvent, [u64; 3], Nanos);

struct Sink(Outside<Vec<Wait>>);

impl WaitSink for Sink {
    fn wait_ended(&mut self, record: &WaitRecord) {
        self.0.with(|waits| waits.push((record.event, record.p, record.elapsed)));
    }
}

/// The session's waits while `act` runs, in order.
fn waits_of(session: &Session, act: impl FnOnce()) -> Vec<Wait> {
    let records = Outside::default();
    session.os().set_level(Level::Trace);
    session.set_wait_sink(Some(Box::new(Sink(records.clone()))));
    act();
    session.set_wait_sink(None);
    records.take()
}

fn run<R: Send + 'static>(
    content: FileSystem,
    body: impl FnOnce(&World, &Session) -> R + Send + 'static,
) -> (R, FileSystem) {
    let mut report = proof::machine(1, content, Perturbation::NONE).run(body);
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    (report.result.unwrap_or_else(|failure| panic!("{failure}")), disk)
}

fn open(world: &World, session: &Session) -> Database {
    open_as(parameters(), world, session)
}

fn open_as(parameters: Parameters, world: &World, session: &Session) -> Database {
    let options = Options { creation: creation(), parameters, ..Options::default() };
    Database::open_in(&world.disk(), directory(), &options, session).expect("opened")
}

fn shut(database: Database, session: &Session) {
    database.shutdown_by(session).expect("shut");
}

/// A connection, and the table.
fn connect<'s>(database: &Database, session: &'s Session) -> (Connection<'s>, Table) {
    let connection = database.connect_with(session);
    let table = connection.table("t").expect("there");
    (connection, table)
}

fn insert_one(tx: &mut Tx<'_, '_>, table: &Table, id: i64) {
    tx.insert(table, &[Value::Int(id), Value::Bytes(&FILLER)]).expect("inserted");
}

/// Inserts so many rows, with keys from `first` on, in a transaction.
fn insert(database: &Database, first: i64, rows: i64, session: &Session) {
    let (mut connection, table) = connect(database, session);
    let mut tx = connection.begin();
    (first..first + rows).for_each(|id| insert_one(&mut tx, &table, id));
    tx.commit().expect("committed");
}

/// Parameters of each of these waits, in order; each of which took one request of the disk.
fn requests(waits: &[Wait], event: WaitEvent) -> Vec<[u64; 3]> {
    let these = waits.iter().filter(|wait| wait.0 == event);
    these
        .map(|(_, p, length)| {
            // And what the call costs.
            let right = (REQUEST..REQUEST + 40_000).contains(&length.0);
            assert!(right, "{event:?} {p:?}: {length}");
            *p
        })
        .collect()
}

/// The only wait of this event: its parameters, and its length in ns.
fn only(waits: &[Wait], event: WaitEvent) -> ([u64; 3], u64) {
    let these: Vec<&Wait> = waits.iter().filter(|wait| wait.0 == event).collect();
    assert_eq!(these.len(), 1, "{event:?}: {these:?}");
    (these[0].1, these[0].2.0)
}

/// The name of an enqueue and mode 6, exclusive, as p1 has them.
fn name_mode(letters: [u8; 2]) -> u64 {
    u64::from(letters[0]) << 24 | u64::from(letters[1]) << 16 | 6
}

fn created() -> (Vec<Wait>, FileSystem) {
    run(FileSystem::new(1 << 30), |world, session| {
        waits_of(session, || {
            let options =
                Options { creation: creation(), parameters: parameters(), ..Options::default() };
            let created = Database::create_in(&world.disk(), directory(), &options, session);
            shut(created.expect("created"), session);
        })
    })
}

/// A database with a table of so many blocks of rows, about.
fn filled(blocks: i64) -> (Vec<Wait>, FileSystem) {
    run(created().1, move |world, session| {
        waits_of(session, || {
            let database = open(world, session);
            let spec = TableSpec::new("t")
                .column(ColumnSpec::new("id", Type::BigInt))
                .column(ColumnSpec::new("filler", Type::Bytea))
                .primary_key(["id"]);
            database.connect_with(session).create_table(&spec).expect("made");
            insert(&database, 0, 4 * blocks, session);
            database.instance().checkpoint(session).expect("written");
            shut(database, session);
        })
    })
}

/// Creating and opening: control file, logs, headers, first blocks, threads.
#[test]
fn creating_and_opening_wait_for_each_request() {
    let (waits, _) = created();
    // The data file's header, map and directory; the undo tablespace's file has no directory.
    assert_eq!(requests(&waits, WaitEvent::DataFileInitWrite), [[1, 256, 0]; 5]);
    assert_eq!(requests(&waits, WaitEvent::ControlFileSequentialRead), [[0, 0, 1]; 4]);
    let control = requests(&waits, WaitEvent::ControlFileParallelWrite);
    // Made, settled, recovered, opened (one copy), a checkpoint announced, shut: each two copies.
    // Then, for its user, recovered and opened, one copy each, and shut.
    assert_eq!(control, [[1, 1, 1]; 15]);
    assert_eq!(requests(&waits, WaitEvent::LogFileSingleWrite), [[1, 0, 1], [2, 0, 1]]);
    let reads = requests(&waits, WaitEvent::LogFileSequentialRead);
    assert_eq!(reads[..3], [[1, 0, 1], [2, 0, 1], [3, 0, 1]], "each log's header");
    let blocks: Vec<_> =
        waits.iter().filter(|wait| wait.0 == WaitEvent::DbFileSequentialRead).collect();
    assert_eq!(blocks[0].1, [1, 0, 1], "the data file's header");
    // Another process may come first, once.
    let right = |wait: &&Wait| (REQUEST..2 * REQUEST + 40_000).contains(&wait.2.0);
    assert!(blocks.iter().all(right), "{blocks:?}");
    let threads: Vec<_> =
        waits.iter().filter(|wait| wait.0 == WaitEvent::OsThreadCreation).collect();
    // fb_lgwr, fb_dbw0, fb_ckpt, fb_smco, fb_smon, fb_pmon; to create the database, and to open it.
    assert_eq!(threads.len(), 12, "{threads:?}");
    let began = waits.iter().filter(|wait| wait.0 == WaitEvent::ThreadBootstrap);
    assert_eq!(began.count(), 0, "fb_dbw0 sets itself up while the opening reads");
    let ended: BTreeSet<u64> = waits
        .iter()
        .filter(|wait| wait.0 == WaitEvent::ProcessExit)
        .map(|(_, p, _)| p[0])
        .collect();
    // But for the fifth, fb_smon, which had no dead to roll back and was done long before. Of those
    // that end together some have ended when they are asked for.
    let all = BTreeSet::from([1, 2, 3, 4, 6, 7, 8, 9, 10, 12]);
    assert!(ended.len() >= 4 && ended.is_subset(&all), "{ended:?}");
    let operations: BTreeSet<[u64; 3]> = waits
        .iter()
        .filter(|wait| wait.0 == WaitEvent::DiskFileOperations)
        .map(|(_, p, _)| *p)
        .collect();
    use FileOperation::{Create, CreateDirectory, Fill, List, LookUp, Open, Sync, SyncDirectory};
    let expected = [Create, Open, Sync, SyncDirectory, List, LookUp, Fill, CreateDirectory];
    assert_eq!(operations, expected.map(|operation| [operation as u64, 0, 0]).into());
}

/// Asked for: as long as was said, with no parameter that it hasn't.
#[test]
fn a_pause_takes_as_long_as_it_was_to_take() {
    let (waits, _) =
        run(FileSystem::new(1 << 20), |_, session| waits_of(session, || pause(1_234, session)));
    let (p, length) = only(&waits, WaitEvent::PlSqlLockTimer);
    assert_eq!(p, [0; 3]);
    assert!((1_234_000..1_244_000).contains(&length), "{length}");
}

/// Work: a commit waits for its redo, a checkpoint for the writer, growth for the space process.
#[test]
fn work_waits_for_commit_checkpoint_and_growth() {
    let (waits, disk) = filled(50);
    let syncs: Vec<_> = waits.iter().filter(|wait| wait.0 == WaitEvent::LogFileSync).collect();
    // The table's definition, and one commit: one of them may wait for another's write first.
    let mut commits: BTreeMap<[u64; 3], u64> = BTreeMap::new();
    syncs.iter().for_each(|(_, p, length)| *commits.entry(*p).or_default() += length.0);
    assert_eq!(commits.len(), 2, "{syncs:?}");
    assert!(commits.iter().all(|(p, length)| p[0] > 0 && p[1] > 0 && *length >= REQUEST));
    let growths: Vec<_> =
        waits.iter().filter(|wait| wait.0 == WaitEvent::EnqHwContention).collect();
    assert!(!growths.is_empty(), "the table never grew past what the space process made ready");
    for (_, p, length) in growths {
        assert_eq!(*p, [name_mode(*b"HW"), 1, 0]);
        assert!(length.0 > REQUEST, "another's growth: a write and a sync, less what was over");
    }
    let replies: Vec<_> = waits.iter().filter(|wait| wait.0 == WaitEvent::RdbmsIpcReply).collect();
    assert!(replies.len() >= 2 && replies.iter().all(|wait| wait.2.0 >= REQUEST), "{replies:?}");
    // Afterwards a scan reads around the cache, for the table is large beside it; and beside a
    // larger one in runs into it, each block once.
    let scan = |cache: u64| {
        move |world: &World, session: &Session| {
            let parameters = Parameters { db_cache_size: cache, ..parameters() };
            let database = open_as(parameters, world, session);
            let (mut connection, table) = connect(&database, session);
            let waits = waits_of(session, || connection.scan(&table, |_| {}).expect("read"));
            drop(connection);
            shut(database, session);
            waits
        }
    };
    let (waits, disk) = run(disk, scan(parameters().db_cache_size));
    // Pieces are read ahead: a wait is for what is left of a request.
    let direct = waits.iter().filter(|wait| wait.0 == WaitEvent::DirectPathRead);
    let direct: Vec<[u64; 3]> = direct.map(|(_, p, _)| *p).collect();
    assert!(!direct.is_empty() && direct.iter().all(|p| p[0] == 1 && p[2] > 1), "{direct:?}");
    let (waits, _) = run(disk, scan(16 << 20));
    let runs = requests(&waits, WaitEvent::DbFileScatteredRead);
    assert!(!runs.is_empty(), "the table isn't there");
    assert!(runs.iter().all(|p| p[0] == 1 && p[2] > 1), "{runs:?}");
    let follows = |pair: &[[u64; 3]]| pair[0][1] + pair[0][2] <= pair[1][1];
    assert!(runs.windows(2).all(follows), "no block twice: {runs:?}");
}

/// The waits of a second session, which does `second` while the first does `first`.
fn against(
    disk: FileSystem,
    first: impl FnOnce(&Database, &Session) + Send + 'static,
    second: impl FnOnce(&Database, &Session) + Send + 'static,
) -> (Vec<Wait>, BTreeMap<&'static str, u64>) {
    let result = run(disk, move |world, session| {
        let database = open(world, session);
        session.os().set_level(Level::Trace);
        let (found, inside) = (Outside::<Vec<Wait>>::default(), database.clone());
        let collected = found.clone();
        let body = move |session: &Session| {
            let waits = waits_of(session, || second(&inside, session));
            collected.with(|found| *found = waits);
        };
        let other = session.spawn(ThreadSpec::foreground("second"), body).expect("started");
        first(&database, session);
        other.join(session).expect("no panic");
        shut(database, session);
        let totals = world.os().totals();
        let count = |event: &WaitEvent| (event.info().name, totals.event(*event).count);
        (found.take(), WaitEvent::ALL.iter().map(count).collect())
    });
    result.0
}

/// When both sessions of a test have connected, in us.
const TOGETHER: u64 = 100_000;

/// Pauses until so many us after the machine's start.
fn until(us: u64, session: &Session) {
    let passed = session.now().since(Timestamp::default());
    let left = Nanos::from_micros(us).0.checked_sub(passed.0);
    pause(left.expect("both come before") / 1_000, session);
}

fn pause(us: u64, session: &Session) {
    session.pause(Nanos::from_micros(us), session.waiting(WaitEvent::PlSqlLockTimer));
}

/// Changes the first row, holds it for so long, and commits.
fn hold_first_row(database: &Database, us: u64, session: &Session) {
    let (mut connection, table) = connect(database, session);
    let mut tx = connection.begin();
    let change = |_: &Row<'_>, change: &mut RowChange<'_>| change.set(1, Value::Bytes(&[1; 400]));
    assert!(tx.update(&table, &[Value::Int(0)], change).expect("no deadlock"));
    pause(us, session);
    tx.commit().expect("committed");
}

/// A locked row: as long as the other's transaction.
#[test]
fn a_locked_row_is_row_lock_contention() {
    let second = |database: &Database, session: &Session| {
        pause(5_000, session);
        hold_first_row(database, 0, session);
    };
    let first = |database: &Database, session: &Session| hold_first_row(database, 50_000, session);
    let (waits, counts) = against(filled(4).1, first, second);
    let waited: Vec<_> = waits.iter().filter(|wait| wait.0 == WaitEvent::EnqTxRowLock).collect();
    assert!(!waited.is_empty(), "{waits:?}");
    assert_eq!(counts[WaitEvent::EnqTxRowLock.info().name], waited.len() as u64);
    assert!(waited.iter().all(|wait| wait.1[0] == name_mode(*b"TX")), "{waited:?}");
    assert!(waited.iter().all(|wait| wait.1[2] > 0), "the sequence of a slot in use: {waited:?}");
    let length: u64 = waited.iter().map(|wait| wait.2.0).sum();
    assert!((40_000_000..51_000_000).contains(&length), "{waited:?}");
    // What the background processes wait for, as far as it can be told from outside.
    for event in [WaitEvent::DbFileParallelWrite, WaitEvent::RdbmsIpcMessage] {
        assert!(counts[event.info().name] > 0, "{event:?}");
    }
}

/// A block that another session reads: no longer than that read.
#[test]
fn a_block_that_is_being_read_is_read_by_other_session() {
    let disk = filled(4).1;
    let look = |connection: &mut Connection<'_>, table: &Table| {
        connection.get(table, &[Value::Int(0)], |_| ()).expect("read").expect("there");
    };
    // In the midst of a read of the other's, wherever it begins.
    let mut found = Vec::new();
    for after in (900..1_400).step_by(20) {
        let reads = Outside::<Vec<Wait>>::default();
        let firsts = reads.clone();
        let first = move |database: &Database, session: &Session| {
            let waits = waits_of(session, || {
                let (mut connection, table) = connect(database, session);
                until(TOGETHER + 1_000, session);
                look(&mut connection, &table);
            });
            firsts.with(|reads| *reads = waits);
        };
        let second = move |database: &Database, session: &Session| {
            let (mut connection, table) = connect(database, session);
            until(TOGETHER + after, session);
            look(&mut connection, &table);
        };
        let (waits, _) = against(disk.clone(), first, second);
        let of_first: Vec<_> = requests(&reads.take(), WaitEvent::DbFileSequentialRead);
        let others = waits.iter().filter(|wait| wait.0 == WaitEvent::ReadByOtherSession);
        for (_, p, length) in others {
            assert!(of_first.iter().any(|read| read[..2] == p[..2]), "{p:?} of {of_first:?}");
            assert!(length.0 < REQUEST + 40_000, "{length}");
            found.push(*p);
        }
    }
    assert!(!found.is_empty());
}

/// Undo segments are made one after the other: the database has two, and needs more.
#[test]
fn an_undo_segment_in_the_making_is_us_contention() {
    let (_, disk) = filled(4);
    let begin = |database: &Database, ids: Range<i64>, session: &Session| {
        let mut all: Vec<_> = ids.clone().map(|_| database.connect_with(session)).collect();
        let table = all[0].table("t").expect("there");
        until(TOGETHER, session);
        let mut open: Vec<Tx<'_, '_>> = all.iter_mut().map(Connection::begin).collect();
        open.iter_mut().zip(ids).for_each(|(tx, id)| insert_one(tx, &table, id));
        pause(3_000, session);
        open.into_iter().for_each(|tx| tx.rollback().expect("rolled back"));
    };
    let mut found = Vec::new();
    for after in (0..2_000).step_by(50) {
        let first = move |database: &Database, session: &Session| {
            begin(database, 1_000..1_003, session);
        };
        let second = move |database: &Database, session: &Session| {
            pause(after, session);
            begin(database, 2_000..2_002, session);
        };
        let (waits, _) = against(disk.clone(), first, second);
        found.extend(waits.into_iter().filter(|wait| wait.0 == WaitEvent::EnqUsContention));
    }
    assert!(!found.is_empty());
    assert!(found.iter().all(|(_, p, _)| p[0] == name_mode(*b"US")), "{found:?}");
}

/// Tablespaces are made one after the other.
#[test]
fn a_tablespace_in_the_making_is_tt_contention() {
    let make = |name: &'static str| {
        move |database: &Database, session: &Session| {
            let path = format!("{name}01.dbf");
            let (bytes, growth_bytes) = (16 * 4096, 4096);
            let file = DataFileSpec { path, bytes, bytes_max: 0, growth_bytes };
            let spec = TablespaceSpec {
                name: name.to_string(),
                block_size: BlockSize::KIB_4,
                extent_blocks: 4,
                files: vec![file],
            };
            database.instance().create_tablespace(&spec, session).expect("made");
        }
    };
    let second = move |database: &Database, session: &Session| {
        pause(200, session);
        make("b")(database, session);
    };
    let (waits, _) = against(filled(4).1, make("a"), second);
    let (p, length) = only(&waits, WaitEvent::EnqTtContention);
    assert_eq!(p[0], name_mode(*b"TT"));
    assert!(length > 5 * REQUEST, "a file is made, synced, listed, renamed: {length}");
    assert!(!requests(&waits, WaitEvent::ControlFileParallelWrite).is_empty());
}
