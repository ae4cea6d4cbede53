//! Tablespaces: files that grow, files made while the database is open, files in turn; each crashed
//! at every operation, and with a disk that is full.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use access::HeapInserter;
use ids::{BlockSize, FileNo};
use instance::{Creation, DataFileSpec, Instance, Parameters, TablespaceSpec, Transaction};
use os::{FilesystemIo, Session};
use sim::fs::FileSystem;
use sim::fs::Operation;
use sim::fs::crash::CrashStates;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::{CrashPoints, Outside, Simulation};
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

use crate::common::{
    self, TABLE, bed, bytes_of, check, creation, database_with, directory, ended, join, left,
    machine, open_as, put, racy, rows, run, run_kept, shut, start,
};
use crate::rows::Rows;

const BLOCK: u64 = 2048;
/// Rows of one transaction: about a block.
const ROWS: u64 = 15;

/// A first file that is almost full when it is made, and grows by two extents at a time.
fn growing(blocks_max: u64) -> Creation {
    let (data_bytes, data_growth_bytes) = (24 * BLOCK, 8 * BLOCK);
    // Undo has a file that never grows.
    let undo_bytes = 600 * BLOCK;
    Creation {
        data_bytes,
        data_bytes_max: blocks_max * BLOCK,
        data_growth_bytes,
        undo_bytes,
        undo_bytes_max: undo_bytes,
        ..creation()
    }
}

/// With buffers for blocks of 4 KiB too.
fn parameters() -> Parameters {
    Parameters { db_4k_cache_size: 32 * 4096, ..common::parameters() }
}

fn file(path: &str, blocks: u64, block: u64) -> DataFileSpec {
    let (bytes, growth_bytes) = (blocks * block, 8 * block);
    DataFileSpec { path: path.to_string(), bytes, bytes_max: 4 * bytes, growth_bytes }
}

/// Two files of 4 KiB blocks, one of them in another directory.
fn users() -> TablespaceSpec {
    TablespaceSpec {
        name: "users".to_string(),
        block_size: BlockSize::KIB_4,
        extent_blocks: 4,
        files: vec![file("users01.dbf", 16, 4096), file("/other/users02.dbf", 16, 4096)],
    }
}

fn insert(
    instance: &Instance,
    table: &Rows,
    inserter: &mut HeapInserter,
    session: &Session,
) -> Result<(), Stop> {
    let mut transaction = Transaction::new();
    for _ in 0..ROWS {
        if let Err(stop) = table.insert(&mut transaction, inserter, |_| {}, session) {
            instance.rollback(transaction, session)?;
            return Err(stop);
        }
    }
    instance.commit(transaction, session)
}

fn base(creation: Creation) -> FileSystem {
    let mut disk = database_with(creation, parameters(), |instance, session| {
        Rows::create(instance, TABLE, session).expect("made");
    });
    disk.create_dir("/other").expect("made");
    disk.sync_dir("/").expect("synced");
    disk
}

/// What each crash of `body` can leave, and what `body` had told when the power went.
pub(crate) fn crashes(
    base: &FileSystem,
    seed: u64,
    body: impl FnOnce(&Instance, &AtomicU64, &Session) + Send + 'static,
) -> Vec<(u64, FileSystem, u64)> {
    let body = |instance: &Arc<Instance>, told: &AtomicU64, session: &Session| {
        body(instance, told, session);
    };
    crashes_in(machine(seed, base.clone()), body)
}

/// The same on this machine, for a body that starts sessions.
pub(crate) fn crashes_in(
    mut machine: Simulation,
    body: impl FnOnce(&Arc<Instance>, &AtomicU64, &Session) + Send + 'static,
) -> Vec<(u64, FileSystem, u64)> {
    let told = Arc::new(AtomicU64::new(0));
    let shots = Outside::<Vec<(u64, FileSystem, u64)>>::default();
    let (known, collected) = (Arc::clone(&told), shots.clone());
    machine.crash_points = Some(CrashPoints::new(move |_, number, cut| {
        let mut disk = cut().pop().expect("the machine has one disk");
        disk.close_all();
        collected.with(|shots| shots.push((number, disk, known.load(SeqCst))));
    }));
    bed::with_instance(machine, parameters(), move |instance, session| {
        body(instance, &told, session);
    });
    shots.take()
}

/// Opens what `crashes` left, a few states of each, and looks at it with `verify`.
pub(crate) fn verified(
    shots: Vec<(u64, FileSystem, u64)>,
    states: u64,
    verify: impl Fn(&Instance, u64, &Session) + Copy + Send + 'static,
) -> usize {
    let mut opened = std::collections::BTreeSet::new();
    for (number, disk, told) in shots {
        let all = CrashStates::of(&disk);
        for draw in 0..states {
            let state = all.sample(draw);
            if !opened.insert((state.image_hash().0, told)) {
                continue;
            }
            let report = machine(number, state).run(move |world, session| {
                let instance = open_as(&parameters(), world, session);
                check(&instance, session);
                verify(&instance, told, session);
                check(&instance, session);
                shut(instance, session);
                let names = world.disk().list(directory(), session).expect("read");
                assert!(!names.iter().any(|name| name.ends_with("-new")), "{names:?}");
            });
            ended(report, format!("cut {number}, draw {draw}, told {told}"));
        }
    }
    opened.len()
}

/// Rule space/SP8: wherever the power goes while the file grows, what was committed is there, space
/// agrees with itself, and the file goes on growing.
#[test]
fn growth_survives_a_crash_at_every_operation() {
    let base = base(growing(400));
    let mut states = 0;
    for seed in 0..2 {
        let shots = crashes(&base, seed, move |instance, told, session| {
            let table = Rows::open(instance, TABLE, session).expect("there");
            let mut inserter = HeapInserter::default();
            for round in 0..24 + seed {
                insert(instance, &table, &mut inserter, session).expect("it grows");
                told.fetch_add(ROWS, SeqCst);
                if round % 4 == seed {
                    instance.checkpoint(session).expect("written");
                }
            }
            let blocks = instance.space().file_blocks(session)[0].1;
            assert!(blocks >= 40, "it has grown to {blocks} blocks only");
        });
        states += verified(shots, 8, |instance, told, session| {
            let table = Rows::open(instance, TABLE, session).expect("there");
            let found = rows(&table, session).len() as u64;
            assert!(found == told || found == told + ROWS, "{told} were told, {found} are there");
            let mut inserter = HeapInserter::default();
            let before = instance.space().file_blocks(session)[0].1;
            let grown = (0..150).any(|_| {
                insert(instance, &table, &mut inserter, session).expect("it grows");
                instance.space().file_blocks(session)[0].1 > before
            });
            assert!(grown, "it doesn't grow beyond {before} blocks");
        });
    }
    assert!(states > 250, "{states} states");
}

/// Rule space/SP10: wherever the power goes while a tablespace and then a file are made and used,
/// they are there wholly or not at all, and what isn't there can be made.
#[test]
fn making_tablespaces_and_files_survives_a_crash_at_every_operation() {
    let base = base(growing(400));
    let make = |instance: &Instance, session: &Session| {
        instance.create_tablespace(&users(), session)?;
        Rows::create_within(instance, ("users", "u"), session).map(|_| ())
    };
    let more = |instance: &Instance, session: &Session| {
        instance.add_data_file("users", &file("users03.dbf", 16, 4096), session)
    };
    let shots = crashes(&base, 1, move |instance, told, session| {
        make(instance, session).expect("made");
        told.store(1, SeqCst);
        let table = Rows::open(instance, "u", session).expect("there");
        let mut inserter = HeapInserter::default();
        insert(instance, &table, &mut inserter, session).expect("inserted");
        told.store(2, SeqCst);
        more(instance, session).expect("made");
        told.store(3, SeqCst);
        for _ in 0..30 {
            insert(instance, &table, &mut inserter, session).expect("inserted");
        }
        instance.checkpoint(session).expect("written");
    });
    let states = verified(shots, 12, move |instance, told, session| {
        let space = instance.space();
        let names = space.tablespaces(session);
        let there = names.iter().any(|tablespace| tablespace.name == "users");
        match instance.create_tablespace(&users(), session) {
            Ok(()) => assert!(told < 1 && !there, "{told} was told"),
            Err(stop) => assert!(there, "{stop}"),
        }
        if told < 2
            && let Err(stop) = Rows::create_within(instance, ("users", "u"), session)
        {
            assert_eq!(stop.refusal(), Some(RefusalKind::AlreadyExists), "{stop}");
        }
        let table = Rows::open(instance, "u", session).expect("there");
        assert!(told < 2 || rows(&table, session).len() as u64 >= ROWS);
        if told < 3
            && let Err(stop) = more(instance, session)
        {
            assert_eq!(stop.refusal(), Some(RefusalKind::AlreadyExists), "{stop}");
        }
        assert_eq!(space.file_blocks(session).len(), 5);
        let mut inserter = HeapInserter::default();
        for _ in 0..30 {
            insert(instance, &table, &mut inserter, session).expect("inserted");
        }
        let used = space.blocks(table.segment().header, session).expect("read");
        for number in 3..6 {
            assert!(used.iter().any(|run| run.first.file == FileNo::new(number)), "{used:?}");
        }
    });
    assert!(states > 150, "{states} states");
}

/// Inserts until that is refused; why it was.
fn fill_up(instance: &Instance, table: &Rows, session: &Session) -> Stop {
    let mut inserter = HeapInserter::default();
    loop {
        if let Err(stop) = insert(instance, table, &mut inserter, session) {
            return stop;
        }
    }
}

/// Sessions that run out of space together make the file grow once for all of them, to its end and
/// not beyond; then they are refused, and nobody hangs.
#[test]
fn sessions_that_need_space_at_once_grow_the_file_once() {
    let base = base(growing(96));
    let (mut waited, seeds) = (0, 60);
    for seed in 0..seeds {
        let mut report = racy(seed, base.clone()).run(move |world, session| {
            let instance = open_as(&parameters(), world, session);
            let sessions = (0..4).map(|_| {
                start("user", &instance, session, move |instance, session| {
                    let table = Rows::open(instance, TABLE, session).expect("there");
                    let stop = fill_up(instance, &table, session);
                    assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
                    assert!(stop.to_string().contains("tablespace system is full"), "{stop}");
                })
            });
            join(sessions.collect(), session);
            assert_eq!(instance.space().file_blocks(session)[0], (FileNo::new(1), 96));
            check(&instance, session);
            shut(instance, session);
            let totals = world.os().totals();
            let waits = |event| totals.event(event).count;
            (waits(WaitEvent::DataFileInitWrite), waits(WaitEvent::EnqHwContention))
        });
        let disk = &mut left(&mut report);
        let (writes, waits) = ended(report, seed);
        // From 24 to 96 blocks by 8: a write and a sync each time.
        assert_eq!(writes, 2 * (96 - 24) / 8, "seed {seed}");
        waited += waits;
        let data = disk.open("/db/data01.dbf").expect("there");
        assert_eq!(disk.len(data).expect("there"), 96 * BLOCK);
    }
    assert!(waited > seeds / 60, "{waited} waits for another's growth");
}

/// The disk is full: who needs space is refused by that reason, what was half made is given back,
/// and the rest goes on; when there is room the file grows.
#[test]
fn a_full_disk_refuses_growth_and_stops_nobody() {
    let seeds = (0..60).map(|seed| (seed, FilesystemIo::SetAll));
    for (seed, filesystemio_options) in seeds.chain((0..20).map(|n| (n, FilesystemIo::Asynch))) {
        let parameters = move || Parameters { filesystemio_options, ..parameters() };
        let mut content = base(growing(400));
        let (used, _) = content.space();
        // Room for two growths and a half.
        content.set_capacity(used + 20 * BLOCK);
        let mut report = racy(seed, content).run(move |world, session| {
            let instance = open_as(&parameters(), world, session);
            let sessions = (0..3).map(|_| {
                start("user", &instance, session, move |instance, session| {
                    let table = Rows::open(instance, TABLE, session).expect("there");
                    let stop = fill_up(instance, &table, session);
                    assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
                    assert!(stop.to_string().contains("/db/data01.dbf grow by"), "{stop}");
                    let row = rows(&table, session)[0];
                    let mut transaction = Transaction::new();
                    common::add(&table, &mut transaction, row, 1, session)
                        .expect("no space needed");
                    instance.commit(transaction, session).expect("committed");
                })
            });
            join(sessions.collect(), session);
            assert_eq!(instance.space().file_blocks(session)[0].1, 24 + 16);
            check(&instance, session);
            shut(instance, session);
        });
        let mut disk = left(&mut report);
        ended(report, format!("{filesystemio_options} {seed}"));
        let data = disk.open("/db/data01.dbf").expect("there");
        assert_eq!(disk.len(data).expect("there"), 40 * BLOCK, "what was half made is given back");
        disk.close_all();
        disk.set_capacity(1 << 30);
        let report = machine(seed, disk).run(move |world, session| {
            let instance = open_as(&parameters(), world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            for _ in 0..20 {
                insert(&instance, &table, &mut HeapInserter::default(), session)
                    .expect("there is room");
            }
            check(&instance, session);
            drop(table);
            shut(instance, session);
        });
        ended(report, format!("{filesystemio_options} {seed}"));
    }
}

/// Each operation on the files fails in turn while they grow and are made: refused or halted, and
/// afterwards the database opens and agrees with itself.
#[test]
fn faults_while_files_grow_and_are_made_lose_nothing() {
    let base = base(growing(400));
    for fault in [Fault::Eio, Fault::Enospc] {
        let [mut opened, mut refused, mut rows_told] = [0; 3];
        for n in 1.. {
            let mut content = base.clone();
            let operations =
                [Operation::Write, Operation::Sync, Operation::Rename, Operation::SyncDir];
            content.plan_faults(FaultPlan::new(n).nth(n, fault, Scope::of(&operations)));
            let told = Arc::new(AtomicU64::new(0));
            let inside = Arc::clone(&told);
            let mut report = machine(n, content).run(move |world, session| {
                let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
                let Ok(instance) = opened else { return (false, false) };
                let table = Rows::open(&instance, TABLE, session).expect("there");
                let mut inserter = HeapInserter::default();
                let made = instance.create_tablespace(&users(), session);
                let there = Rows::create_within(&instance, ("users", "u"), session);
                assert!(made.is_ok() || there.is_err(), "refused, and it is there");
                for _ in 0..8 {
                    match insert(&instance, &table, &mut inserter, session) {
                        Ok(()) => _ = inside.fetch_add(ROWS, SeqCst),
                        Err(stop) => assert!(!stop.to_string().contains('\n'), "{stop}"),
                    }
                }
                drop((table, there));
                let _ = instance.shutdown(session);
                (true, made.is_err())
            });
            let done = report.disks["disk"].injected().is_empty();
            let mut disk = left(&mut report);
            let (was_open, was_refused) = ended(report, format!("{fault:?} {n}"));
            disk.plan_faults(FaultPlan::new(0));
            let told = told.load(SeqCst);
            opened += u64::from(was_open && !done);
            refused += u64::from(was_refused);
            rows_told += told;
            let report = machine(n, disk).run(move |world, session| {
                let instance = open_as(&parameters(), world, session);
                check(&instance, session);
                let table = Rows::open(&instance, TABLE, session).expect("there");
                let found = rows(&table, session).len() as u64;
                assert!(found >= told, "{told} were told, {found} are there");
                drop(table);
                shut(instance, session);
            });
            ended(report, format!("after {fault:?} {n}"));
            if done {
                assert!(n > 40, "{n} operations");
                break;
            }
        }
        println!("{fault:?}: {opened} open, {refused} tablespaces refused, {rows_told} rows");
        assert!(opened > 30, "a fault came in {opened} open databases");
        assert!(refused > 10, "{refused} tablespaces were refused");
        assert!(rows_told > 10 * ROWS, "{rows_told} rows were acknowledged");
    }
}

/// Rule space/SP8: a segment's extents lie in the files of its tablespace in turn.
#[test]
fn extents_are_taken_from_the_files_in_turn() {
    let mut creation = creation();
    let fixed = |path: &str| DataFileSpec { bytes_max: 0, ..file(path, 100, BLOCK) };
    creation.tablespaces.push(TablespaceSpec {
        name: "striped".to_string(),
        block_size: BlockSize::KIB_2,
        extent_blocks: 4,
        files: ["a.dbf", "b.dbf", "c.dbf"].map(fixed).into(),
    });
    database_with(creation, parameters(), |instance, session| {
        let table = Rows::create_within(instance, ("striped", TABLE), session);
        let table = table.expect("made");
        let mut inserter = HeapInserter::default();
        let stop = loop {
            if let Err(stop) = insert(instance, &table, &mut inserter, session) {
                break stop;
            }
        };
        assert!(stop.to_string().contains("tablespace striped is full"), "{stop}");
        let runs = instance.space().blocks(table.segment().header, session).expect("read");
        for pair in runs[..7].windows(2) {
            let next = (pair[0].first.file.get() - 3 + 1) % 3 + 3;
            assert_eq!(pair[1].first.file, FileNo::new(next), "{runs:?}");
        }
        let blocks: u32 = runs.iter().map(|run| run.count).sum();
        assert_eq!(blocks, 3 * 96, "every extent of every file is used");
        check(instance, session);
    });
}

/// What can't be is refused in one line, and nothing is left of it.
#[test]
fn what_cannot_be_made_is_refused_and_leaves_nothing() {
    let with = |change: fn(&mut TablespaceSpec)| {
        let mut spec = users();
        change(&mut spec);
        spec
    };
    let cases = [
        ("there is a tablespace system already", with(|s| s.name = "system".into())),
        ("name has 1 to 32 bytes", with(|s| s.name = "x".repeat(33))),
        ("has no data file", with(|s| s.files.clear())),
        (
            "db_8k_cache_size",
            with(|s| {
                (
                    s.block_size,
                    s.files[0].bytes,
                    s.files[1].bytes,
                    s.files[0].bytes_max,
                    s.files[1].bytes_max,
                ) = (BlockSize::KIB_8, 1 << 20, 1 << 20, 0, 0)
            }),
        ),
        ("is a data file of the database already", with(|s| s.files[0].path = "data01.dbf".into())),
        ("is a file of the database already", with(|s| s.files[1].path = "redo01.log".into())),
        ("is a file of the database already", with(|s| s.files[1].path = "./data01.dbf".into())),
        ("no space left", with(|s| (s.files[1].bytes, s.files[1].bytes_max) = (1 << 28, 0))),
        ("has 16 to", with(|s| s.files[1].bytes = 4096)),
        ("can't grow", with(|s| s.files[1].growth_bytes = 4096)),
        ("/nowhere/", with(|s| s.files[1].path = "/nowhere/a.dbf".into())),
        ("extents of 1 blocks", with(|s| s.extent_blocks = 1)),
    ];
    let mut content = base(growing(400));
    let (used, _) = content.space();
    content.set_capacity(used + (1 << 27));
    run(machine(1, content), move |world, session| {
        let instance = open_as(&parameters(), world, session);
        let names = || world.disk().list(directory(), session).expect("read");
        let before = names();
        for (says, spec) in cases {
            let stop = instance.create_tablespace(&spec, session).expect_err(says).to_string();
            assert!(stop.contains(says) && !stop.contains('\n'), "'{stop}' doesn't say '{says}'");
            assert_eq!(names(), before, "{says}");
            assert_eq!(instance.space().tablespaces(session).len(), 2);
        }
        let stop = instance.add_data_file("none", &file("n.dbf", 16, 4096), session);
        assert!(stop.expect_err("there is none").to_string().contains("no tablespace none"));
        instance.create_tablespace(&users(), session).expect("made");
        check(&instance, session);
        shut(instance, session);
    });
    // A database with blocks of which the cache has none isn't opened.
    let base = database_with(creation(), parameters(), |instance, session| {
        let files = vec![file("u.dbf", 16, 4096)];
        instance.create_tablespace(&TablespaceSpec { files, ..users() }, session).expect("made");
    });
    run(machine(1, base), |world, session| {
        let parameters = common::parameters();
        let opened = Instance::open(&world.disk(), directory(), &parameters, session);
        let stop = opened.err().expect("refused").to_string();
        assert!(stop.contains("db_4k_cache_size"), "{stop}");
    });
}

/// Sessions make tablespaces and add files at once: each gets numbers and files of its own.
#[test]
fn tablespaces_made_at_once_come_one_after_the_other() {
    let base = base(growing(400));
    for seed in 0..40 {
        let ((), disk) =
            bed::with_instance(racy(seed, base.clone()), parameters(), move |instance, session| {
                let sessions = (0..3).map(|user| {
                    start("user", instance, session, move |instance, session| {
                        let name = format!("ts{user}");
                        let path = |n| file(&format!("{name}_{n}.dbf"), 16, 4096);
                        let spec =
                            TablespaceSpec { name: name.clone(), files: vec![path(1)], ..users() };
                        instance.create_tablespace(&spec, session).expect("made");
                        instance.add_data_file(&name, &path(2), session).expect("added");
                        let place = (&*name, &*format!("t{user}"));
                        let table = Rows::create_within(instance, place, session).expect("made");
                        for _ in 0..4 {
                            insert(instance, &table, &mut HeapInserter::default(), session)
                                .expect("inserted");
                        }
                    })
                });
                join(sessions.collect(), session);
                check(instance, session);
            });
        bed::with_instance(machine(seed, disk), parameters(), |instance, session| {
            assert_eq!(instance.space().tablespaces(session).len(), 5);
            assert_eq!(instance.space().file_blocks(session).len(), 8);
            for user in 0..3 {
                let table = Rows::open(instance, &format!("t{user}"), session).expect("there");
                assert_eq!(rows(&table, session).len() as u64, 4 * ROWS);
            }
            check(instance, session);
        });
    }
}

/// The first block of a file as a later program would have written it: its checksum is right, and
/// its format is one that this program doesn't know.
fn of_a_later_program(mut bytes: Vec<u8>, block: usize) -> Vec<u8> {
    bytes[5] = 9;
    bytes[..4].fill(0);
    let mut remainder = !0_u32;
    for byte in &bytes[..block] {
        remainder ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = if remainder & 1 == 1 { 0x82f6_3b78 } else { 0 };
            remainder = (remainder >> 1) ^ carry;
        }
    }
    bytes[..4].copy_from_slice(&(!remainder).to_le_bytes());
    bytes
}

const FILES: [&str; 6] = [
    "/db/control01.ctl",
    "/db/control02.ctl",
    "/db/data01.dbf",
    "/db/data02.dbf",
    "/db/users01.dbf",
    "/other/users02.dbf",
];

/// A database with two files of the system tablespace, equally long, and another tablespace.
fn several_files(seed: u64) -> FileSystem {
    let fixed = |path: &str| DataFileSpec { bytes_max: 0, ..file(path, 400, BLOCK) };
    let creation = Creation { data_files: vec![fixed("data02.dbf")], ..creation() };
    let mut content = FileSystem::new(common::CAPACITY);
    content.create_dir("/other").expect("made");
    content.sync_dir("/").expect("synced");
    let ((), disk) = run_kept(machine(seed, content), move |world, session| {
        let disk = world.disk();
        Instance::create(&disk, directory(), &creation, &parameters(), session).expect("created");
        let instance = open_as(&parameters(), world, session);
        instance.create_tablespace(&users(), session).expect("made");
        shut(instance, session);
    });
    disk
}

/// A control file or data file that is cut off, exchanged, of another database or of a later
/// program is refused with one line that names it, and nothing is changed.
#[test]
fn wrong_files_are_named_and_nothing_is_changed() {
    let mut base = several_files(1);
    let mut other = several_files(2);
    let good = FILES.map(|path| bytes_of(&mut base, path));
    let foreign = FILES.map(|path| bytes_of(&mut other, path));
    let cut = |n: usize, bytes: usize| good[n][..bytes].to_vec();
    let longer = [&good[3][..], &[0; 4096]].concat();
    let later = |n: usize, block| of_a_later_program(good[n].clone(), block);
    type Change = Vec<(usize, Vec<u8>)>;
    let cases: Vec<(&str, &str, Change)> = vec![
        ("control01.ctl", "has 0 bytes", vec![(0, cut(0, 0)), (1, cut(1, 0))]),
        ("control02.ctl", "was cut off", vec![(0, cut(0, 512)), (1, cut(1, 20_480))]),
        ("control01.ctl", "format 1", vec![(0, cut(0, 4096)), (1, cut(1, 4096))]),
        ("control01.ctl", "newer than 5", vec![(0, later(0, 32_768))]),
        ("control02.ctl", "newer than 5", vec![(1, later(1, 32_768))]),
        ("control01.ctl", "another", vec![(0, foreign[0].clone())]),
        ("data01.dbf", "another", vec![(0, foreign[0].clone()), (1, foreign[1].clone())]),
        ("control02.ctl", "bytes", vec![(0, good[2].clone()), (1, good[2].clone())]),
        ("data01.dbf", "exchanged", vec![(2, good[3].clone()), (3, good[2].clone())]),
        ("data02.dbf", "file 1", vec![(3, good[2].clone())]),
        ("users01.dbf", "exchanged", vec![(4, good[5].clone()), (5, good[4].clone())]),
        ("data01.dbf", "was cut off", vec![(2, cut(2, 20_480))]),
        ("data02.dbf", "was cut off", vec![(3, cut(3, good[3].len() - 1))]),
        ("data02.dbf", "bytes", vec![(3, longer)]),
        ("users02.dbf", "was cut off", vec![(5, Vec::new())]),
        ("data02.dbf", "another database", vec![(3, foreign[3].clone())]),
        ("users01.dbf", "another database", vec![(4, foreign[4].clone())]),
        ("data02.dbf", "newer than 5", vec![(3, later(3, 2048))]),
        ("data02.dbf", "damaged", vec![(3, vec![0x5A; good[3].len()])]),
        ("data02.dbf", "never written", vec![(3, vec![0; good[3].len()])]),
        ("users01.dbf", "damaged", vec![(4, good[3][..good[4].len()].to_vec())]),
    ];
    for (names, says, changes) in cases {
        let mut content = base.clone();
        for (n, bytes) in &changes {
            put(&mut content, FILES[*n], bytes);
        }
        let before = content.image_hash();
        let mut report = machine(1, content).run(move |world, session| {
            let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
            let stop = opened.err().unwrap_or_else(|| panic!("it opens: {names} {says}"));
            let text = stop.to_string();
            let is_said = text.contains(names) && text.contains(says) && !text.contains('\n');
            assert!(is_said, "'{text}' doesn't say '{names}' and '{says}'");
        });
        let after = left(&mut report).image_hash();
        ended(report, says);
        assert_eq!(before, after, "{names}, {says}: something was changed");
    }
    let mut content = base.clone();
    content.remove("/db/users01.dbf").expect("removed");
    run(machine(1, content), |world, session| {
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        let text = opened.err().expect("refused").to_string();
        assert!(text.contains("users01.dbf isn't there"), "{text}");
    });
}

/// Files grow before a session needs it: who takes extents one at a time never writes zeros.
#[test]
fn files_grow_ahead_of_a_session_that_is_not_too_fast() {
    for seed in 0..20 {
        let report = machine(seed, base(growing(400))).run(|world, session| {
            let instance = open_as(&parameters(), world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            let mut inserter = HeapInserter::default();
            let begin = session.reading();
            for _ in 0..60 {
                insert(&instance, &table, &mut inserter, session).expect("it grows");
                common::pause(waits::Nanos::from_millis(20), session);
            }
            let account = session.time_account_since(&begin);
            let grew = |event| account.waits.iter().any(|line| line.event == event);
            assert!(!grew(WaitEvent::DataFileInitWrite) && !grew(WaitEvent::EnqHwContention));
            let blocks = instance.space().file_blocks(session)[0].1;
            assert!(blocks > 60, "{blocks} blocks");
            check(&instance, session);
            drop(table);
            shut(instance, session);
            world.os().totals().event(WaitEvent::DataFileInitWrite).count
        });
        assert!(ended(report, seed) > 8);
    }
}

/// A checkpoint of a table brings the changed blocks of that table to disk, and no others.
#[test]
fn a_checkpoint_of_a_part_writes_that_part() {
    bed::with_instance(machine(1, base(growing(64))), parameters(), |instance, session| {
        instance.create_tablespace(&users(), session).expect("made");
        let tables = [("a", "users"), ("b", "system")].map(|(name, within)| {
            Rows::create_within(instance, (within, name), session).expect("made")
        });
        instance.checkpoint(session).expect("written");
        let (cache, mut inserter) = (instance.cache(), HeapInserter::default());
        let mut fill = || {
            for table in &tables {
                insert(instance, table, &mut inserter, session).expect("room");
            }
            cache.dirty(session)
        };
        let all = fill();
        tables[0].heap().checkpoint(session).expect("written");
        let without_a = cache.dirty(session);
        assert!(all > without_a && without_a > 0, "{all} {without_a}");
        drop(tables);
    });
}
