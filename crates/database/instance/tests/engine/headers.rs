//! Checkpoints of data files (rules space/SP19, space/SP51): when their headers are written. And
//! how few durable writes open and shut a database at rest (IN54).

use instance::{Instance, LogGroupSpec};
use os::Session;
use sim::World;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use space::ControlFile;
use waits::{Nanos, Statistic, WaitEvent};

use crate::common::{
    TABLE, abort, bytes_of, check, database, directory, fill, left, machine, open, parameters,
    pause, put, rows, run, run_kept, shut,
};
use crate::rows::Rows;

const ROWS: u64 = 20;

/// How many headers were written; each write is a *db file single write*.
fn headers(world: &World) -> u64 {
    world.os().totals().event(WaitEvent::DbFileSingleWrite).count
}

/// How often a device was to make something durable: by a sync, or by a write of the control file,
/// which is write-through. Redo is written, then synced.
fn flushes(world: &World) -> u64 {
    let totals = world.os().totals();
    let control = totals.event(WaitEvent::ControlFileParallelWrite).count;
    totals.statistic(Statistic::FileSyncRequests) + control
}

/// The header of each data file is written before the checkpoint first moves, at each log switch,
/// at a shutdown with changes, and at the opening after a crash.
#[test]
fn headers_are_written_before_a_checkpoint_passes_them() {
    run(machine(3, database(1)), |world, session| {
        let before = headers(world);
        let instance = open(world, session);
        let files = instance.cache().data_files(session).len() as u64;
        assert!(files >= 2);
        pause(Nanos::from_secs(4), session);
        assert_eq!(headers(world) - before, 0, "nothing has changed");
        let table = Rows::open(&instance, TABLE, session).expect("there");
        fill(&instance, &table, 1, session);
        instance.checkpoint(session).expect("written");
        pause(Nanos::from_secs(4), session);
        assert_eq!(headers(world) - before, files, "the checkpoint has moved");
        let log = instance.redo().position(session).sequence;
        while instance.redo().position(session).sequence < log + 2 {
            fill(&instance, &table, 50, session);
        }
        pause(Nanos::from_secs(4), session);
        check(&instance, session);
        assert!(headers(world) - before >= 2 * files, "at a log switch");
        let opened = headers(world);
        drop(table);
        shut(instance, session);
        assert_eq!(headers(world) - opened, files, "at shutdown");
        for (written, how) in [(0, "after a shutdown in good order"), (files, "after a crash")] {
            let before = headers(world);
            abort(open(world, session), session);
            assert_eq!(headers(world) - before, written, "at opening, {how}");
        }
    });
}

/// IN54: two copies of the control file and a log's header open a database that was shut in good
/// order, and the control file's two copies shut it, if nothing was changed. So it is whether the
/// log before has redo or not.
#[test]
fn a_database_at_rest_is_opened_by_three_flushes_and_shut_by_two() {
    run(machine(3, database(1)), |world, session| {
        for round in 0..5 {
            let (before, written) = (flushes(world), headers(world));
            let instance = open(world, session);
            let opened = flushes(world);
            assert_eq!(opened - before, 3, "round {round}: opened");
            shut(instance, session);
            assert_eq!(flushes(world) - opened, 2, "round {round}: shut");
            assert_eq!(headers(world), written, "round {round}");
        }
    });
}

/// The copies of the control file differ after an opening, and no more after a heartbeat (IN54).
#[test]
fn both_copies_of_the_control_file_say_the_same_after_a_heartbeat() {
    for (seconds, differ) in [(1, true), (4, false)] {
        let ((), disk) = run_kept(machine(3, database(1)), move |world, session| {
            let instance = open(world, session);
            pause(Nanos::from_secs(seconds), session);
            abort(instance, session);
        });
        let [one, other] = run(machine(3, disk), versions);
        assert_eq!(one != other, differ, "{one} and {other} after {seconds} s");
    }
}

/// The versions of the copies of the control file.
fn versions(world: &World, session: &Session) -> [u64; 2] {
    let copies = ControlFile::look(&world.disk(), directory(), false, session).expect("there");
    copies.map(|copy| copy.said.expect("whole").0)
}

/// Rule space/SP1: a step writes the older copy alone, and the next write begins with the other.
#[test]
fn a_step_writes_the_older_copy_of_the_control_file() {
    run(machine(1, database(1)), |world, session| {
        let [first, same] = versions(world, session);
        assert_eq!(first, same, "it was shut");
        let control = || {
            let control = ControlFile::open(&world.disk(), directory(), false, session);
            control.expect("there")
        };
        control().step(|_| (), session).expect("written");
        assert_eq!(versions(world, session), [first + 1, first]);
        control().step(|_| (), session).expect("written");
        assert_eq!(versions(world, session), [first + 1, first + 2]);
        control().update(|_| (), session).expect("written");
        assert_eq!(versions(world, session), [first + 3, first + 3]);
    });
}

/// Rule space/SP51: a copy of a data file that was made while the database was shut is as good as
/// the file until the checkpoint moves, for the redo has what it lacks. Afterwards it is refused.
#[test]
fn a_copy_made_while_the_database_was_shut_counts_until_the_checkpoint_moves() {
    for moves in [false, true] {
        let mut base = database(ROWS);
        let copy = bytes_of(&mut base, "/db/data01.dbf");
        let ((), mut disk) = run_kept(machine(4, base), move |world, session| {
            let instance = open(world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            fill(&instance, &table, ROWS, session);
            if moves {
                instance.checkpoint(session).expect("written");
                pause(Nanos::from_secs(4), session);
            }
            drop(table);
            abort(instance, session);
        });
        put(&mut disk, "/db/data01.dbf", &copy);
        match (moves, found(disk)) {
            (false, Ok(rows)) => assert_eq!(rows as u64, 2 * ROWS),
            (true, Err(said)) => assert!(said.contains("is an older copy"), "{said}"),
            (_, other) => panic!("moves: {moves}, {other:?}"),
        }
    }
}

/// Rule space/SP51: a control file from before an opening is refused, also if no block has changed
/// since, once the newer one lists other files: redo may lie there that the older one doesn't know.
#[test]
fn an_older_control_file_is_refused_when_other_files_are_listed() {
    for (seconds, shuts) in [(1, true), (4, false)] {
        let mut base = database(ROWS);
        let controls = ["/db/control01.ctl", "/db/control02.ctl"];
        let older = controls.map(|path| bytes_of(&mut base, path));
        let ((), mut disk) = run_kept(machine(4, base), move |world, session| {
            let instance = open(world, session);
            let bytes = u64::from(redo::LOG_BLOCKS_MIN) * 4096;
            let spec = LogGroupSpec { bytes, members: vec!["x.log".to_string()] };
            instance.add_log_group(&spec, session).expect("added");
            pause(Nanos::from_secs(seconds), session);
            if shuts { shut(instance, session) } else { abort(instance, session) }
        });
        assert_eq!(found(disk.clone()), Ok(ROWS as usize), "with its own control file");
        for (path, bytes) in controls.into_iter().zip(&older) {
            put(&mut disk, path, bytes);
        }
        let said = found(disk).expect_err("it doesn't list the new log");
        assert!(said.contains("is newer than the control file"), "shut: {shuts}, {said}");
    }
}

/// The number of rows in the database on this disk; why it doesn't open if it doesn't.
fn found(disk: FileSystem) -> Result<usize, String> {
    run(machine(5, disk), |world, session| {
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        let instance = opened.map_err(|stop| stop.to_string())?;
        check(&instance, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let rows = rows(&table, session).len();
        drop(table);
        instance.shutdown(session).expect("shut in good order");
        Ok(rows)
    })
}

/// What is left if the power goes at this operation of an opening; none if that has fewer.
fn cut_opening(disk: &FileSystem, cut: u64) -> Option<CrashStates> {
    let mut dying = disk.clone();
    dying.lose_power_at(dying.crash_points() + cut);
    let mut report = machine(cut, dying).run(|world, session| {
        abort(open(world, session), session);
    });
    report.was_cut(format_args!("cut {cut}")).then(|| CrashStates::of(&left(&mut report)))
}

/// IN54: the power goes at each operation of an opening after a shutdown in good order, and in the
/// opening of what that leaves. Nothing is missing then.
#[test]
fn an_opening_that_is_cut_off_anywhere_and_again_loses_nothing() {
    // As it was shut with changes, and without any.
    let changed = database(ROWS);
    let ((), unchanged) = run_kept(machine(2, changed.clone()), |world, session| {
        shut(open(world, session), session);
    });
    for base in [changed, unchanged] {
        let mut cuts = 0;
        while let Some(states) = cut_opening(&base, cuts + 1) {
            cuts += 1;
            for draw in 0..2 {
                let state = states.sample(draw);
                for again in (1 + draw..).step_by(2) {
                    let Some(nested) = cut_opening(&state, again) else { break };
                    let what = nested.describe_sample(draw);
                    assert_eq!(found(nested.sample(draw)), Ok(ROWS as usize), "{cuts}: {what}");
                }
                let what = states.describe_sample(draw);
                assert_eq!(found(state), Ok(ROWS as usize), "{cuts}: {what}");
            }
        }
        assert!(cuts >= 3, "{cuts} cuts");
    }
}
