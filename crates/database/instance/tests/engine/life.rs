//! The life of an instance: created, opened, shut, aborted; what is refused on the way, each in one
//! line that says what to do; and that its time is accounted for.

use std::sync::Arc;

use access::{Changed, HeapInserter};
use format::BlockKind;
use ids::{BlockSize, Dba};
use instance::{CommitMode, Creation, Instance, Parameters, Transaction};
use latch::{FrameOrder, Latch, LatchKind};
use os::{FilesystemIo, Session};
use sim::ThreadReport;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use stop::{RefusalKind, Stop};
use waits::{Nanos, Statistic, ThreadTimes, TimeAccount, WaitEvent};

use crate::common::{
    self, CAPACITY, TABLE, add, bytes_of, check, creation, database, directory, ended, join, left,
    machine, number, open, parameters, racy, rows, run, run_kept, shut, start, with_instance,
};
use crate::rows::Rows;

/// Why the database on this disk doesn't open; none if it does, and agrees with itself.
fn refusal(content: FileSystem, parameters: Parameters) -> Option<Stop> {
    run(machine(1, content), move |world, session| {
        match Instance::open(&world.disk(), directory(), &parameters, session) {
            Ok(instance) => {
                check(&instance, session);
                instance.shutdown(session).expect("shut");
                None
            }
            Err(stop) => Some(stop),
        }
    })
}

fn refused(content: FileSystem, parameters: Parameters, says: &str) {
    let stop = refusal(content, parameters).unwrap_or_else(|| panic!("it opens: {says}"));
    let text = stop.to_string();
    assert!(text.contains(says) && !text.contains('\n'), "'{text}' doesn't say '{says}'");
}

fn put(disk: &mut FileSystem, path: &str, bytes: &[u8]) {
    let _ = disk.remove(path);
    let file = disk.create(path).expect("made");
    disk.write(file, 0, bytes, false).expect("written");
    disk.sync(file).expect("synced");
    disk.sync_dir("/db").expect("synced");
    disk.close(file).expect("closed");
}

fn other_database() -> FileSystem {
    let mut report = machine(99, FileSystem::new(CAPACITY)).run(|world, session| {
        let (creation, parameters) = (creation(), parameters());
        Instance::create(&world.disk(), directory(), &creation, &parameters, session)
    });
    let disk = left(&mut report);
    ended(report, "creating").expect("created");
    disk
}

#[test]
fn parts_that_are_missing_damaged_or_of_another_database_are_named() {
    let mut base = database(1);
    let mut other = other_database();
    let logs = base.list("/db").expect("there");
    let with = |path: &str, bytes: Option<&[u8]>| {
        let mut disk = base.clone();
        match bytes {
            Some(bytes) => put(&mut disk, path, bytes),
            None => disk.remove(path).expect("removed"),
        }
        disk
    };
    let foreign = bytes_of(&mut other, "/db/data01.dbf");
    refused(with("/db/data01.dbf", Some(&foreign)), parameters(), "another database");
    refused(with("/db/data01.dbf", Some(&[0; 2048])), parameters(), "data01.dbf");
    refused(with("/db/data01.dbf", None), parameters(), "data01.dbf");
    refused(with("/db/control01.ctl", None), parameters(), "control01.ctl");
    refused(with("/db/control02.ctl", None), parameters(), "control02.ctl");
    let foreign = bytes_of(&mut other, "/db/control01.ctl");
    refused(with("/db/control01.ctl", Some(&foreign)), parameters(), "another database");
    refused(with("/db/control02.ctl", Some(&foreign)), parameters(), "another database");
    refused(with("/db/doublewrite01.dbl", None), parameters(), "doublewrite01.dbl");
    refused(with("/db/doublewrite01.dbl", Some(&[0; 2048])), parameters(), "doublewrite01.dbl");
    let mut foreign_logs = 0;
    for log in logs.iter().filter(|name| name.contains("redo")) {
        let path = format!("/db/{log}");
        refused(with(&path, None), parameters(), log);
        let foreign = bytes_of(&mut other, &path);
        // One that isn't needed is begun anew.
        foreign_logs += u32::from(refusal(with(&path, Some(&foreign)), parameters()).is_some());
    }
    assert!(foreign_logs > 0, "the log that is needed isn't looked at");
}

/// One damaged copy of the control file is mended from the other. While it is mended the power may
/// go: at any moment one is whole, whichever was damaged.
#[test]
fn a_damaged_control_copy_is_mended_and_a_crash_meanwhile_leaves_one_whole() {
    let base = database(1);
    for damaged in ["/db/control01.ctl", "/db/control02.ctl"] {
        let mut content = base.clone();
        put(&mut content, damaged, &[0x5A; 4096]);
        for cut in 1.. {
            let mut dying = content.clone();
            dying.lose_power_at(dying.crash_points() + cut);
            let mut report = machine(cut, dying).run(|world, session| {
                let instance = open(world, session);
                shut(instance, session);
            });
            if !report.was_cut(format_args!("{damaged}, cut {cut}")) {
                break;
            }
            let disk = left(&mut report);
            let states = CrashStates::of(&disk);
            for state in 0..20 {
                if let Some(stop) = refusal(states.sample(state), parameters()) {
                    panic!("{damaged}, cut {cut}, state {state}: {stop}");
                }
            }
        }
    }
}

#[test]
fn what_is_no_database_or_half_of_one_is_refused() {
    refused(FileSystem::new(CAPACITY), parameters(), "there is no directory /db");
    let base = database(0);
    let report = machine(1, base).run(|world, session| {
        let (creation, parameters) = (creation(), parameters());
        let made = Instance::create(&world.disk(), directory(), &creation, &parameters, session);
        made.expect_err("there is one").to_string()
    });
    assert!(ended(report, "creating").contains("isn't empty"));
    let mut content = FileSystem::new(CAPACITY);
    content.lose_power_at(40);
    let mut report = machine(1, content).run(|world, session| {
        let (creation, parameters) = (creation(), parameters());
        let _ = Instance::create(&world.disk(), directory(), &creation, &parameters, session);
    });
    assert!(report.was_cut("creating"), "the power goes while it is made");
    let states = left(&mut report);
    let half = CrashStates::of(&states).sample(1);
    assert!(refusal(half, parameters()).is_some());
}

/// Values out of range are refused, whatever they are; never a panic, never a hang.
#[test]
fn parameters_out_of_range_are_refused_in_one_line() {
    let base = database(1);
    let with = |change: &dyn Fn(&mut Parameters)| {
        let mut changed = parameters();
        change(&mut changed);
        changed
    };
    let cases = [
        ("db_cache_size", with(&|p| p.db_cache_size = 0)),
        ("db_cache_size", with(&|p| p.db_cache_size = u64::MAX)),
        ("db_working_sets", with(&|p| p.db_working_sets = 0)),
        ("db_working_sets", with(&|p| p.db_working_sets = u32::MAX)),
        (
            "db_working_sets",
            with(&|p| {
                (p.db_working_sets, p.db_cache_size) = (300, 4 << 20);
            }),
        ),
        ("db_writer_processes", with(&|p| p.db_writer_processes = 0)),
        ("db_writer_processes", with(&|p| p.db_writer_processes = 3)),
        ("db_writer_processes", with(&|p| p.db_writer_processes = u32::MAX)),
        (
            "db_writer_processes",
            with(&|p| {
                (p.db_writer_processes, p.db_working_sets) = (101, 128);
                (p.db_cache_size, p.doublewrite) = (4 << 20, false);
            }),
        ),
        ("db_writer_batch", with(&|p| p.db_writer_batch = 0)),
        ("db_writer_batch", with(&|p| p.db_writer_batch = u32::MAX)),
        ("db_writer_batch", with(&|p| (p.db_writer_batch, p.doublewrite) = (0, false))),
        ("db_writer_batch", with(&|p| (p.db_writer_batch, p.doublewrite) = (5_000, false))),
        ("doublewrite", with(&|p| p.db_writer_batch = 17)),
        ("log_buffer", with(&|p| p.log_buffer = 0)),
        ("log_buffer", with(&|p| p.log_buffer = u64::MAX)),
    ];
    for (says, parameters) in cases {
        refused(base.clone(), parameters, says);
    }
}

#[test]
fn creations_out_of_range_are_refused_in_one_line_and_leave_nothing() {
    let with = |change: &dyn Fn(&mut Creation)| {
        let mut changed = creation();
        change(&mut changed);
        changed
    };
    let cases = [
        with(&|c| c.data_bytes = 0),
        with(&|c| c.data_bytes = u64::MAX),
        with(&|c| c.data_bytes = 2048 * 17),
        with(&|c| c.extent_blocks = 0),
        with(&|c| c.extent_blocks = 1),
        with(&|c| c.extent_blocks = u32::MAX),
        with(&|c| (c.data_bytes, c.extent_blocks) = (256 << 20, 2)),
        with(&|c| c.log_file_bytes = 0),
        with(&|c| c.log_file_bytes = u64::MAX),
        with(&|c| c.log_groups = 0),
        with(&|c| c.log_groups = 1),
        with(&|c| c.log_groups = u16::MAX),
        with(&|c| c.undo_segments = u16::MAX),
        with(&|c| c.doublewrite_slots = 0),
        with(&|c| c.doublewrite_slots = u32::MAX),
    ];
    for (number, creation) in cases.into_iter().enumerate() {
        let report = machine(1, FileSystem::new(CAPACITY)).run(move |world, session| {
            let parameters = parameters();
            let disk = world.disk();
            let made = Instance::create(&disk, directory(), &creation, &parameters, session);
            let stop = made.expect_err("refused").to_string();
            assert!(!stop.contains('\n'), "{stop}");
            let names = disk.list(directory(), session).unwrap_or_default();
            assert!(names.is_empty(), "{names:?} are left");
        });
        ended(report, format!("case {number}"));
    }
}

/// By the size of blocks: the longest row that is whole, in one slot. The rest of a block is its
/// heads, a slot, and one part in 32 for lists of transactions that have grown.
const LONGEST: [(usize, usize); 5] =
    [(2_048, 1_862), (4_096, 3_846), (8_192, 7_814), (16_384, 15_750), (32_768, 31_622)];

/// Blocks of every size, and rows as long as their blocks allow.
#[test]
fn databases_with_blocks_of_every_size_work() {
    for size in
        [BlockSize::KIB_2, BlockSize::KIB_4, BlockSize::KIB_8, BlockSize::KIB_16, BlockSize::KIB_32]
    {
        let bytes = size.bytes() as u64;
        let creation = Creation {
            db_block_size: size,
            data_bytes: 200 * bytes,
            undo_bytes: 32 * bytes,
            undo_bytes_max: 0,
            ..creation()
        };
        let parameters = Parameters { db_cache_size: 32 * bytes, ..parameters() };
        common::database_with(creation, parameters, move |instance, session| {
            rows_of_every_length(instance, bytes as usize, session);
            check(instance, session);
        });
    }
}

/// The file of an odd number of blocks of 2 KiB is no multiple of what direct I/O wants.
#[test]
fn any_number_of_doublewrite_slots_will_do() {
    for doublewrite_slots in [16, 17] {
        for filesystemio_options in FilesystemIo::ALL {
            let creation = Creation { doublewrite_slots, ..creation() };
            let parameters = Parameters { filesystemio_options, ..parameters() };
            common::database_with(creation, parameters, |instance, session| {
                rows_of_every_length(instance, 2048, session);
                check(instance, session);
            });
        }
    }
}

/// Rows as long as a block allows are whole, longer ones in pieces; all are changed and
/// rolled back.
fn rows_of_every_length(instance: &Instance, block_bytes: usize, session: &Session) {
    let table = Rows::create(instance, "lengths", session).expect("made");
    let (heap, transactions) = (table.heap(), instance.transactions());
    let pieces_of = |length: usize| {
        let row = |byte: u8| vec![byte; length];
        let (mut first, mut inserter) = (Transaction::new(), HeapInserter::default());
        let before = pieces(&table, instance, session);
        let address = heap.insert(&mut first, &mut inserter, &row(7), session).expect("inserted");
        instance.commit(first, session).expect("committed");
        let pieces = pieces(&table, instance, session) - before;
        let mut second = Transaction::new();
        for byte in 8..12 {
            let mut change = |_: &[u8], new: &mut Vec<u8>| new.extend_from_slice(&row(byte));
            let changed =
                heap.update(&mut second, &mut inserter, address, None, &mut change, session);
            assert_eq!(changed.expect("updated"), Changed::Yes);
        }
        instance.rollback(second, session).expect("rolled back");
        let snapshot = transactions.snapshot(None, session).expect("a snapshot");
        let view = transactions.view_of(&snapshot, None);
        let found = heap.fetch(view, address, &mut <[u8]>::to_vec, session).expect("read");
        assert_eq!(found, Some(row(7)), "{length} bytes");
        pieces
    };
    let longest = LONGEST.iter().find(|(block, _)| *block == block_bytes).expect("a size").1;
    assert_eq!([longest, longest + 1, 3 * block_bytes].map(pieces_of), [1, 2, 4]);
}

/// How many rows and pieces a heap has.
fn pieces(table: &Rows, instance: &Instance, session: &Session) -> usize {
    let runs = table.heap().runs(session).expect("read");
    let blocks = runs.iter().flat_map(|run| {
        let first = run.first.block.get();
        (first..first + run.count).map(|block| Dba::new(run.first.file.get(), block))
    });
    let object = table.segment().object.get();
    let count = |block| {
        let pin = instance.cache().pin_or_unwritten(block, session).expect("read");
        let bytes = pin.shared(FrameOrder::Heap, session);
        match access::is_of(&bytes, &[BlockKind::Heap], object) {
            true => access::heap_slots(&bytes).count(),
            false => 0,
        }
    };
    blocks.map(count).sum()
}

/// Nobody waits for the next heartbeat of a process when the instance is aborted.
#[test]
fn an_abort_ends_every_process_at_once() {
    let base = database(1);
    for seed in 0..20 {
        let took = run(racy(seed, base.clone()), move |world, session| {
            let instance = open(world, session);
            common::pause(Nanos::from_millis(seed * 7), session);
            let before = session.now();
            common::abort(instance, session);
            session.now().since(before)
        });
        assert!(took < Nanos::from_millis(100), "seed {seed}: it took {took:?}");
    }
}

/// A shutdown with active transactions is refused, and the instance goes on: they can go on, and
/// when they have ended it is shut.
#[test]
fn a_shutdown_with_active_transactions_is_refused_and_changes_nothing() {
    let base = database(2);
    let ((), disk) = run_kept(machine(1, base), |world, session| {
        let instance = open(world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        let mut active = Transaction::new();
        add(&table, &mut active, all[0], 5, session).expect("changed");
        let stop = instance.shutdown(session).expect_err("one is active");
        assert_eq!(stop.refusal(), Some(stop::RefusalKind::WrongState), "{stop}");
        assert!(stop.to_string().contains("1 transactions are active"), "{stop}");
        add(&table, &mut active, all[0], 5, session).expect("it goes on");
        let mut another = Transaction::new();
        add(&table, &mut another, all[1], 3, session).expect("others begin");
        instance.commit(another, session).expect("committed");
        instance.commit(active, session).expect("committed");
        shut(Arc::clone(&instance), session);
        let stop = instance.shutdown(session).expect_err("it is shut");
        assert!(stop.to_string().contains("the database is shut"), "{stop}");
        let late = add(&table, &mut Transaction::new(), all[1], 5, session);
        let late = late.expect_err("it is shut");
        assert_eq!(late.refusal(), Some(stop::RefusalKind::WrongState), "{late}");
    });
    with_instance(machine(2, disk), |instance, session| {
        assert_eq!(instance.opened().rolled_back, 0);
        let table = Rows::open(instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        assert_eq!((number(&table, all[0], session), number(&table, all[1], session)), (10, 3));
    });
}

/// A session that still has a table when the instance is shut: what it was told is committed is
/// there afterwards, and it can't go on for ever.
#[test]
fn what_is_committed_while_the_instance_is_shut_is_kept() {
    let base = database(4);
    let (mut commits, mut met) = (0, 0);
    for seed in 0..200 {
        let told = Arc::new(std::sync::atomic::AtomicI64::new(0));
        let inside = Arc::clone(&told);
        let ((), disk) = run_kept(racy(seed, base.clone()), move |world, session| {
            let instance = open(world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            let transactions = instance.transactions().clone();
            let row = rows(&table, session)[0];
            let spec = os::ThreadSpec::foreground("late");
            let late = session.spawn(spec, move |session| {
                for _ in 0..30 {
                    let mut transaction = Transaction::new();
                    if add(&table, &mut transaction, row, 1, session).is_err() {
                        let _ = transactions.rollback(transaction, session);
                        return;
                    }
                    if transactions.commit(transaction, CommitMode::DURABLE, session).is_err() {
                        return;
                    }
                    inside.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            });
            common::pause(Nanos::from_micros(100 + seed * 23), session);
            while instance.shutdown(session).is_err() {
                common::pause(Nanos::from_micros(7), session);
            }
            join(vec![late.expect("started")], session);
        });
        let told = told.load(std::sync::atomic::Ordering::Relaxed);
        commits += told;
        met += u32::from(told > 0 && told < 30);
        with_instance(machine(seed, disk), move |instance, session| {
            let table = Rows::open(instance, TABLE, session).expect("there");
            let found = number(&table, rows(&table, session)[0], session);
            assert!(found >= told, "{told} were acknowledged, {found} are there");
            drop(table);
        });
    }
    println!("{commits} commits, {met} sessions were stopped in the middle");
    assert!(commits > 1_000 && met > 50, "{commits} commits, {met} sessions were stopped midway");
}

/// The smallest logs, and as few as there can be: they run out again and again, and each time the
/// checkpoint makes room at once, not at its next heartbeat.
#[test]
fn logs_that_run_out_are_freed_without_waiting_for_a_heartbeat() {
    let creation = Creation { log_groups: 2, ..creation() };
    let base = common::database_with(creation, parameters(), |instance, session| {
        let table = Rows::create(instance, TABLE, session).expect("made");
        common::fill(instance, &table, 16 * 20, session);
    });
    for seed in 0..10 {
        let (switches, checkpoints, waits) =
            run(racy(seed, base.clone()), move |world, session| {
                let instance = open(world, session);
                let users = (0..3).map(|user| {
                    start("user", &instance, session, move |instance, session| {
                        let table = Rows::open(instance, TABLE, session).expect("there");
                        let all = rows(&table, session);
                        for step in 0..150 {
                            let mut transaction = Transaction::new();
                            let row = all[(step * 3 + user) % all.len()];
                            add(&table, &mut transaction, row, 1, session).expect("no deadlock");
                            instance.commit(transaction, session).expect("committed");
                        }
                    })
                });
                join(users.collect(), session);
                check(&instance, session);
                shut(instance, session);
                let totals = world.os().totals();
                let waits = *totals.event(WaitEvent::LogFileSwitchCheckpointIncomplete);
                let asked = totals.statistic(Statistic::DbwrCheckpoints);
                (totals.statistic(Statistic::RedoLogSwitches), asked, waits)
            });
        // One for each log, and the shutdown's.
        assert!(checkpoints <= switches + 1, "seed {seed}: {checkpoints} for {switches} switches");
        assert!(switches > 3, "seed {seed}: {switches} switches");
        assert!(waits.max < Nanos::from_millis(500), "seed {seed}: {waits:?}");
    }
}

/// T2: every session's time is accounted for, to the nanosecond.
#[test]
fn every_nanosecond_of_a_session_has_a_name() {
    let base = database(16 * 10);
    for seed in 0..20 {
        let report = racy(seed, base.clone()).run(move |world, session| {
            let started = session.reading();
            let instance = open(world, session);
            let closed = Arc::new(Latch::new(world.os(), LatchKind::Innermost, Vec::new()));
            let users = (0..3).map(|user| {
                let closed = Arc::clone(&closed);
                start("user", &instance, session, move |instance, session| {
                    let start = session.reading();
                    let table = Rows::open(instance, TABLE, session).expect("there");
                    let all = rows(&table, session);
                    for step in 0..8 {
                        let mut transaction = Transaction::new();
                        let row = all[(step * 16 + user) as usize];
                        add(&table, &mut transaction, row, 1, session).expect("no deadlock");
                        add(&table, &mut transaction, all[159], 1, session).expect("no deadlock");
                        instance.commit(transaction, session).expect("committed");
                    }
                    closed.exclusive(session).push(session.time_account_since(&start));
                })
            });
            join(users.collect(), session);
            let mut open: Vec<_> = std::mem::take(&mut *closed.exclusive(session));
            shut(instance, session);
            open.push(session.time_account_since(&started));
            open
        });
        for account in ended(report, seed) {
            assert_eq!(account.unaccounted_ns, 0, "seed {seed}: {account:?}");
        }
    }
}

/// The same of all threads together, from the first to the last moment of each: what the scheduler
/// knows of them, against what they were told to write into their books.
#[test]
fn the_books_of_all_threads_close_with_what_the_scheduler_knows() {
    let base = database(16 * 10);
    for seed in 0..20 {
        let mut report = racy(seed, base.clone()).run(move |world, session| {
            let instance = open(world, session);
            let users = (0..3).map(|user| {
                start("user", &instance, session, move |instance, session| {
                    let table = Rows::open(instance, TABLE, session).expect("there");
                    let all = rows(&table, session);
                    for step in 0..8 {
                        let mut transaction = Transaction::new();
                        let row = all[step * 16 + user];
                        add(&table, &mut transaction, row, 1, session).expect("no deadlock");
                        instance.commit(transaction, session).expect("committed");
                    }
                })
            });
            join(users.collect(), session);
            shut(instance, session);
            world.os().totals()
        });
        let threads = std::mem::take(&mut report.threads);
        let totals = ended(report, seed);
        let sum = |of: fn(&ThreadReport) -> u64| Nanos(threads.iter().map(of).sum());
        let times = ThreadTimes {
            cpu: sum(|thread| thread.cpu_ns),
            run_queue: sum(|thread| thread.run_queue_ns),
            ..ThreadTimes::default()
        };
        let account = TimeAccount::close(sum(|thread| thread.age_ns), times, &totals);
        assert!(threads.iter().any(|thread| thread.name == "fb_dbw0"));
        assert_eq!(account.unaccounted_ns, 0, "seed {seed}: {account:?}");
    }
}

/// Whatever the order in which they meet, one of two creators of a directory makes the database,
/// and the other takes nothing of it away.
#[test]
fn of_two_creators_of_one_directory_one_makes_a_database_that_opens() {
    for seed in 0..40 {
        let mut content = FileSystem::new(CAPACITY);
        content.create_dir("/db").expect("made");
        run(racy(seed, content), move |world, session| {
            let create = |world: &sim::World, session: &os::Session| {
                let (creation, parameters) = (creation(), parameters());
                Instance::create(&world.disk(), directory(), &creation, &parameters, session)
            };
            let outcome = Arc::new(Latch::new(world.os(), LatchKind::Innermost, None));
            let elsewhere = world.clone();
            let told = Arc::clone(&outcome);
            let body = move |session: &os::Session| {
                let made = create(&elsewhere, session);
                *told.exclusive(session) = Some(made);
            };
            let other = session.spawn(os::ThreadSpec::foreground("other"), body).expect("started");
            let one = create(world, session);
            join(vec![other], session);
            let other = outcome.exclusive(session).take().expect("it has ended");
            assert!(one.is_ok() != other.is_ok(), "seed {seed}: {one:?}, {other:?}");
            shut(open(world, session), session);
        });
    }
}

/// The simulated world has locks too: what is open is nobody else's until it ends, however it ends.
#[test]
fn a_database_that_is_open_is_not_opened_again() {
    run(machine(1, database(1)), |world, session| {
        for ends_well in [true, false, true] {
            let instance = open(world, session);
            let again = Instance::open(&world.disk(), directory(), &parameters(), session);
            let stop = again.err().expect("it is open");
            assert_eq!(stop.refusal(), Some(RefusalKind::WrongState), "{stop}");
            assert!(stop.to_string().contains("another program has it open"), "{stop}");
            match ends_well {
                true => shut(instance, session),
                false => common::abort(instance, session),
            }
        }
    });
}
