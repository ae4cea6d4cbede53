//! What sessions wait for because of each other, in memory: latches, buffers, enqueues. The first
//! holds it for a known time, and the second's wait is what is left of that.

use latch::{Latch, LatchKind};

use super::*;

/// From half of `LATER` until then the first session holds what the second wants, in us.
const HELD: u64 = 2_000;
/// Then the second one comes, in us.
const LATER: u64 = 500;

/// The wait is what was left when the second came, but for what it spun before it slept, and for
/// being called.
fn is_the_rest((_, length): ([u64; 3], u64)) -> bool {
    let rest = (HELD - LATER) * 1_000;
    (rest - 100_000..rest + 60_000).contains(&length)
}

/// The second's only wait for a latch of this kind, which the first holds meanwhile.
fn wait_for(kind: LatchKind, event: WaitEvent) -> ([u64; 3], u64, u64) {
    let machine = proof::machine(1, FileSystem::new(1 << 30), Perturbation::NONE);
    let report = machine.run(move |_, session| {
        let latch = Arc::new(Latch::new(session.os(), kind, 0_u32));
        let (found, inside) = (Outside::<Vec<Wait>>::default(), Arc::clone(&latch));
        let collected = found.clone();
        let second = move |session: &Session| {
            pause(LATER, session);
            let waits = waits_of(session, || *inside.exclusive(session) += 1);
            collected.with(|found| *found = waits);
        };
        session.os().set_level(Level::Trace);
        let other = session.spawn(ThreadSpec::foreground("second"), second).expect("started");
        pause(LATER / 2, session);
        let held = latch.exclusive(session);
        pause(HELD - LATER / 2, session);
        drop(held);
        other.join(session).expect("no panic");
        (found.take(), latch.id())
    });
    let (waits, id) = report.result.unwrap_or_else(|failure| panic!("{failure}"));
    let (p, length) = only(&waits, event);
    (p, length, id)
}

/// Each kind of latch has its event; the wait says which latch, of which kind, and which try.
#[test]
fn a_latch_that_is_held_is_its_own_event() {
    let kinds = [
        (LatchKind::Bucket, WaitEvent::LatchCacheBuffersChains),
        (LatchKind::WorkingSet, WaitEvent::LatchCacheBuffersLruChain),
        (LatchKind::RedoAllocation, WaitEvent::LatchRedoAllocation),
        (LatchKind::Innermost, WaitEvent::LatchFree),
    ];
    for (kind, event) in kinds {
        let (p, length, id) = wait_for(kind, event);
        assert_eq!(p, [id, u64::from(kind.info().number), 1], "{event:?}");
        assert!(is_the_rest((p, length)), "{event:?}: {length}");
    }
}

/// A buffer that another session has exclusively, for what it makes of a row takes it long.
#[test]
fn a_buffer_that_is_held_is_buffer_busy() {
    let first = move |database: &Database, session: &Session| {
        let (mut connection, table) = connect(database, session);
        connection.get(&table, &[Value::Int(0)], |_| ()).expect("read").expect("there");
        let mut tx = connection.begin();
        until(TOGETHER, session);
        let change = |_: &Row<'_>, change: &mut RowChange<'_>| {
            pause(HELD, session);
            change.set(1, Value::Null)
        };
        assert!(tx.update(&table, &[Value::Int(0)], change).expect("changed"));
        tx.commit().expect("committed");
    };
    let second = move |database: &Database, session: &Session| {
        let (mut connection, table) = connect(database, session);
        until(TOGETHER + LATER, session);
        connection.get(&table, &[Value::Int(0)], |_| ()).expect("read").expect("there");
    };
    let (waits, counts) = against(filled(4).1, first, second);
    let wait = only(&waits, WaitEvent::BufferBusyWaits);
    assert_eq!(wait.0[0], 1);
    assert!((1..20).contains(&wait.0[2]), "a class: {wait:?}");
    assert!(is_the_rest(wait), "{wait:?}");
    assert_eq!(counts[WaitEvent::BufferBusyWaits.info().name], 1);
}

/// All buffers are dirty, and the writer can't write them, for their redo isn't there yet: it is
/// waited for with the block that is wanted and the set in which a buffer was looked for.
#[test]
fn a_cache_full_of_dirty_blocks_is_free_buffer_waits() {
    let work = |first: i64| {
        move |database: &Database, session: &Session| insert(database, first, 600, session)
    };
    let (waits, counts) = against(filled(4).1, work(1_000), work(2_000));
    let waited: Vec<_> = waits.iter().filter(|wait| wait.0 == WaitEvent::FreeBufferWaits).collect();
    assert!(!waited.is_empty(), "{counts:?}");
    for (_, [file, block, set], length) in waited {
        // A block of the table, or of its undo.
        assert!((1..=2).contains(file) && *block > 0 && *set < 2 * 8, "{file} {block} {set}");
        // Some batches of four blocks (copies, sync, blocks, sync), in turn with the other's reads.
        assert!((1..80 * REQUEST).contains(&length.0), "{length}");
    }
}

/// Two who change how the instance runs: the second waits until the first has its writers.
#[test]
fn a_parameter_is_set_by_one_at_a_time() {
    let first = |database: &Database, session: &Session| {
        pause(100, session);
        database.instance().set_parameter("db_writer_processes", "2", session).expect("set");
    };
    let second = |database: &Database, session: &Session| {
        pause(100, session);
        database.instance().set_parameter("log_checkpoint_timeout", "100", session).expect("set");
    };
    let (waits, counts) = against(filled(4).1, first, second);
    let (p, length) = only(&waits, WaitEvent::EnqPrContention);
    assert_eq!(p, [name_mode(*b"PR"), 0, 0]);
    // A thread is made, and the sets handed over.
    assert!((5_000..200_000).contains(&length), "{length}");
    assert_eq!(counts[WaitEvent::EnqPrContention.info().name], 1);
    assert_eq!(counts[WaitEvent::ThreadBootstrap.info().name], 1, "fb_dbw1 is waited for at once");
}

/// Two who write the control file: the second waits for both copies at most.
#[test]
fn the_control_file_is_written_by_one_at_a_time() {
    let tablespace = |database: &Database, session: &Session| {
        let path = "c01.dbf".to_string();
        let file = DataFileSpec { path, bytes: 65_536, bytes_max: 0, growth_bytes: 4096 };
        let (name, files) = ("c".to_string(), vec![file]);
        let spec = TablespaceSpec { name, block_size: BlockSize::KIB_4, extent_blocks: 4, files };
        database.instance().create_tablespace(&spec, session).expect("made");
    };
    // So that the checkpoint's process has something to write at its heartbeat.
    let first = |database: &Database, session: &Session| {
        insert(database, 1_000, 10, session);
        database.instance().checkpoint(session).expect("written");
        pause(3_100_000, session);
    };
    let disk = filled(4).1;
    let mut found = Vec::new();
    for before in (0..40_000).step_by(100) {
        let second = move |database: &Database, session: &Session| {
            pause(3_000_000 - before, session);
            tablespace(database, session);
        };
        let (waits, _) = against(disk.clone(), first, second);
        let these = waits.into_iter().filter(|wait| wait.0 == WaitEvent::EnqCfContention);
        found.extend(these.map(|(_, p, length)| (p, length.0)));
    }
    assert!(!found.is_empty(), "they never meet");
    for (p, length) in found {
        assert_eq!(p[..2], [name_mode(*b"CF"), 0]);
        assert!(length < 4 * REQUEST, "two copies of the control file: {length}");
    }
}
