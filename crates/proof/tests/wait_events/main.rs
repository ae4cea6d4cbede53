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
use std::path::Path;
use std::sync::Arc;

use access::Inserter;
use ids::BlockSize;
use instance::{Creation, Instance, Parameters, Transaction};
use os::probe::DurableWrite;
use os::{FileOperation, Session, ThreadSpec};
use sim::fs::FileSystem;
use sim::{Outside, Simulation, World};
use space::Column;
use waits::{Level, Nanos, WaitEvent, WaitRecord, WaitSink};

const BLOCK: u64 = 2048;
const COLUMNS: [Column; 2] = [Column::Number, Column::Bytes(400)];
/// What the disk takes for any request, in ns.
const REQUEST: u64 = 100_000;

fn directory() -> &'static Path {
    Path::new("/db")
}

fn creation() -> Creation {
    Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 32 * BLOCK,
        data_bytes_max: 400 * BLOCK,
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
    let mut simulation = Simulation::new(1);
    simulation.disks[0].content = content;
    let mut report = simulation.run(body);
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    (report.result.unwrap_or_else(|failure| panic!("{failure}")), disk)
}

fn open(world: &World, session: &Session) -> Instance {
    Instance::open(&world.disk(), directory(), &parameters(), session).expect("opened")
}

fn insert(instance: &Instance, rows: u64, session: &Session) {
    let table = instance.table("t", session).expect("there");
    let (mut transaction, mut inserter) = (Transaction::new(), Inserter::default());
    for _ in 0..rows {
        table.insert(&mut transaction, &mut inserter, |_| {}, session).expect("inserted");
    }
    instance.commit(transaction, session).expect("committed");
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
            let (creation, parameters) = (creation(), parameters());
            Instance::create(&world.disk(), directory(), &creation, &parameters, session)
                .expect("created");
        })
    })
}

/// A database with a table of so many blocks of rows, about.
fn filled(blocks: u64) -> (Vec<Wait>, FileSystem) {
    run(created().1, move |world, session| {
        waits_of(session, || {
            let instance = open(world, session);
            instance.create_table("t", &COLUMNS, session).expect("made");
            insert(&instance, 4 * blocks, session);
            instance.checkpoint(session).expect("written");
            instance.shutdown(session).expect("shut");
        })
    })
}

/// Creating and opening: control file, logs, headers, first blocks, threads.
#[test]
fn creating_and_opening_wait_for_each_request() {
    let (waits, _) = created();
    // The data file's header, map and directory; the undo tablespace's file has no directory.
    assert_eq!(requests(&waits, WaitEvent::DataFileInitWrite), [[1, 256, 0]; 5]);
    assert_eq!(requests(&waits, WaitEvent::ControlFileSequentialRead), [[0, 0, 1]; 2]);
    let control = requests(&waits, WaitEvent::ControlFileParallelWrite);
    // Made, settled, recovered, opened, a checkpoint announced, shut: each two copies.
    assert_eq!(control, [[1, 1, 1]; 12]);
    assert_eq!(requests(&waits, WaitEvent::LogFileSingleWrite), [[1, 0, 1]]);
    let reads = requests(&waits, WaitEvent::LogFileSequentialRead);
    assert_eq!(reads[..3], [[1, 0, 1], [2, 0, 1], [3, 0, 1]], "each log's header");
    let blocks = requests(&waits, WaitEvent::DbFileSequentialRead);
    assert_eq!(blocks[0], [1, 0, 1], "the data file's header");
    let threads: Vec<_> =
        waits.iter().filter(|wait| wait.0 == WaitEvent::OsThreadCreation).collect();
    // fb_lgwr, fb_dbw0, fb_ckpt, fb_smco, fb_smon, fb_pmon.
    assert_eq!(threads.len(), 6, "{threads:?}");
    let ended: BTreeSet<u64> = waits
        .iter()
        .filter(|wait| wait.0 == WaitEvent::ProcessExit)
        .map(|(_, p, _)| p[0])
        .collect();
    // But for the fifth, fb_smon, which had no dead to roll back and was done long before.
    assert_eq!(ended, [1, 2, 3, 4, 6].into());
    let operations: BTreeSet<[u64; 3]> = waits
        .iter()
        .filter(|wait| wait.0 == WaitEvent::DiskFileOperations)
        .map(|(_, p, _)| *p)
        .collect();
    use FileOperation::{Create, CreateDirectory, Fill, List, Open, Sync, SyncDirectory};
    let expected = [Create, Open, Sync, SyncDirectory, List, Fill, CreateDirectory];
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
    // The table's definition, and one commit.
    assert_eq!(syncs.len(), 2, "{syncs:?}");
    assert!(syncs.iter().all(|(_, p, length)| p[0] > 0 && p[1] > 0 && length.0 >= REQUEST));
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
            let opened = Instance::open(&world.disk(), directory(), &parameters, session);
            let instance = opened.expect("opened");
            let table = instance.table("t", session).expect("there");
            let waits = waits_of(session, || table.scan(|_, _| {}, session).expect("read"));
            drop(table);
            instance.shutdown(session).expect("shut");
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
    first: impl FnOnce(&Instance, &Session) + Send + 'static,
    second: impl FnOnce(&Instance, &Session) + Send + 'static,
) -> (Vec<Wait>, BTreeMap<&'static str, u64>) {
    let result = run(disk, move |world, session| {
        let instance = Arc::new(open(world, session));
        session.os().set_level(Level::Trace);
        let (found, inside) = (Outside::<Vec<Wait>>::default(), Arc::clone(&instance));
        let collected = found.clone();
        let body = move |session: &Session| {
            let waits = waits_of(session, || second(&inside, session));
            collected.with(|found| *found = waits);
        };
        let other = session.spawn(ThreadSpec::foreground("second"), body).expect("started");
        first(&instance, session);
        other.join(session).expect("no panic");
        instance.shutdown(session).expect("shut");
        let totals = world.os().totals();
        let count = |event: &WaitEvent| (event.info().name, totals.event(*event).count);
        (found.take(), WaitEvent::ALL.iter().map(count).collect())
    });
    result.0
}

fn pause(us: u64, session: &Session) {
    session.pause(Nanos::from_micros(us), session.waiting(WaitEvent::PlSqlLockTimer));
}

/// Changes the first row, holds it for so long, and commits.
fn hold_first_row(instance: &Instance, us: u64, session: &Session) {
    let table = instance.table("t", session).expect("there");
    let mut first = None;
    table.scan(|at, _| _ = first.get_or_insert(at), session).expect("read");
    let (row, mut transaction) = (first.expect("a row"), Transaction::new());
    let change = |row: &mut access::RowMut<'_>| row.set_number(0, 1);
    assert!(table.update(&mut transaction, row, change, session).expect("no deadlock"));
    pause(us, session);
    instance.commit(transaction, session).expect("committed");
}

/// A locked row: as long as the other's transaction.
#[test]
fn a_locked_row_is_row_lock_contention() {
    let second = |instance: &Instance, session: &Session| {
        pause(5_000, session);
        hold_first_row(instance, 0, session);
    };
    let first = |instance: &Instance, session: &Session| hold_first_row(instance, 50_000, session);
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
    let look = |instance: &Instance, session: &Session| {
        instance.space().find("t", session).expect("read");
    };
    let disk = filled(4).1;
    let dba = ids::Dba::new(1, 12);
    let pin = move |instance: &Instance, session: &Session| {
        drop(instance.cache().pin(dba, session).expect("read"));
    };
    let first = move |instance: &Instance, session: &Session| {
        look(instance, session);
        pause(1_000, session);
        pin(instance, session);
    };
    // In the midst of that read, wherever it begins.
    let mut found = Vec::new();
    for after in (900..1_400).step_by(20) {
        let second = move |instance: &Instance, session: &Session| {
            pause(after, session);
            pin(instance, session);
        };
        let (waits, _) = against(disk.clone(), first, second);
        let reads = waits.iter().filter(|wait| wait.0 == WaitEvent::ReadByOtherSession);
        found.extend(reads.map(|(_, p, length)| (*p, length.0)));
    }
    assert!(!found.is_empty());
    for (p, length) in found {
        assert_eq!(p[..2], [1, 12]);
        assert!(length < REQUEST + 40_000, "{length}");
    }
}

/// Undo segments are made one after the other: the database has two, and needs more.
#[test]
fn an_undo_segment_in_the_making_is_us_contention() {
    let (_, disk) = filled(4);
    let begin = |instance: &Instance, count: usize, session: &Session| {
        let table = instance.table("t", session).expect("there");
        let mut open: Vec<Transaction> = (0..count).map(|_| Transaction::new()).collect();
        for transaction in &mut open {
            let mut inserter = Inserter::default();
            table.insert(transaction, &mut inserter, |_| {}, session).expect("inserted");
        }
        pause(3_000, session);
        for transaction in open {
            instance.rollback(transaction, session).expect("rolled back");
        }
    };
    let mut found = Vec::new();
    for after in (0..2_000).step_by(50) {
        let first = move |instance: &Instance, session: &Session| begin(instance, 3, session);
        let second = move |instance: &Instance, session: &Session| {
            pause(after, session);
            begin(instance, 2, session);
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
        move |instance: &Instance, session: &Session| {
            let path = format!("{name}01.dbf");
            let (bytes, growth_bytes) = (16 * 4096, 4096);
            let file = instance::DataFileSpec { path, bytes, bytes_max: 0, growth_bytes };
            let spec = instance::TablespaceSpec {
                name: name.to_string(),
                block_size: BlockSize::KIB_4,
                extent_blocks: 4,
                files: vec![file],
            };
            instance.create_tablespace(&spec, session).expect("made");
        }
    };
    let second = move |instance: &Instance, session: &Session| {
        pause(200, session);
        make("b")(instance, session);
    };
    let (waits, _) = against(filled(4).1, make("a"), second);
    let (p, length) = only(&waits, WaitEvent::EnqTtContention);
    assert_eq!(p[0], name_mode(*b"TT"));
    assert!(length > 5 * REQUEST, "a file is made, synced, listed, renamed: {length}");
    assert!(!requests(&waits, WaitEvent::ControlFileParallelWrite).is_empty());
}
