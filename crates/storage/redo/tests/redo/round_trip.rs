//! What is appended and written is read back, across blocks, batches and logs.

use ids::{Rba, Scn};
use os::ThreadSpec;
use redo::{EndReason, LOG_BLOCKS_MIN, LogStart, RECORD_BYTES_MAX};
use stop::RefusalKind;
use testbed::{racing, run};
use waits::{Nanos, Statistic, WaitEvent};

use crate::common::{
    Checkpoints, commit, commit_all, fresh, hooks, open, open_at, put, read, record, small,
};

/// Records of every size, each written at once or not, come back in order and unchanged.
#[test]
fn records_of_all_sizes_come_back() {
    for seed in 0..60 {
        let config = small();
        run(fresh(&config, seed), move |world, session| {
            let redo = open(world, &config, session);
            let mut placed = Vec::new();
            for tag in 0..40 {
                let random = world.os().random();
                let length = match random % 4 {
                    0 => 0,
                    1 => (random >> 8) % 200,
                    2 => (random >> 8) % 5_000,
                    // Ends at, or next to, the end of a block.
                    _ => 4_048 - 48 - 3 + (random >> 8) % 6,
                };
                let put = match random >> 60 {
                    0..4 => commit(&redo, tag, length as usize, session),
                    _ => put(&redo, tag, length as usize, session),
                };
                placed.push((put.scn, put.rba, tag));
            }
            let last = redo.last_scn(session);
            redo.make_durable(last, session, WaitEvent::LogFileSync).expect("no halt");
            let found = read(world, &config, Rba::block(1, 1), Scn::new(1), session);
            let found = found.expect("nothing is damaged");
            assert_eq!(found.records, placed);
            assert_eq!(found.end.block, redo.position(session).block);
            // From any record on, and from any block on.
            for (at, (scn, rba, _)) in placed.iter().enumerate() {
                let rest = read(world, &config, *rba, *scn, session).expect("it begins there");
                assert_eq!(rest.records, placed[at..]);
                let block = Rba::block(rba.sequence, rba.block);
                let rest = read(world, &config, block, *scn, session).expect("it begins there");
                assert_eq!(rest.records[..], placed[placed.len() - rest.records.len()..]);
                assert!(rest.records.iter().all(|record| record.1 >= block));
            }
        });
    }
}

/// Logs follow each other, by force and because they are full, and are written over when they may
/// be.
#[test]
fn redo_goes_on_from_log_to_log() {
    for seed in 0..40 {
        let config = small();
        run(racing(fresh(&config, seed)), move |world, session| {
            let checkpoints = Checkpoints::new();
            let slow = Nanos::from_micros(300);
            let (redo, signal, ckpt) = checkpoints.open(world, &config, slow, session);
            let mut placed = Vec::new();
            for tag in 0..120 {
                let length = world.os().random() % 12_000;
                let put = commit(&redo, tag, length as usize, session);
                placed.push((put.scn, put.rba, tag));
                if tag % 31 == 30 {
                    redo.switch(session).expect("a log becomes free");
                }
            }
            checkpoints.stop(&signal, session);
            ckpt.join(session).expect("no panic");
            assert!(redo.position(session).sequence > 5, "{}", redo.position(session));
            let (from, first) = checkpoints.from();
            let found = read(world, &config, from, first, session).expect("nothing is damaged");
            let needed = placed.iter().filter(|record| record.1 >= from);
            assert!(found.records.iter().eq(needed), "{found:?}");
            // The session that makes room for a waiting switch counts it.
            assert!(world.os().totals().statistic(Statistic::RedoLogSwitches) > 4);
        });
    }
}

/// A batch that is larger than what is left of the log goes into two logs, in order.
#[test]
fn one_batch_may_reach_into_the_next_log() {
    let config = small();
    let found = run(fresh(&config, 3), move |world, session| {
        let redo = open(world, &config, session);
        for tag in 0..44 {
            commit(&redo, tag, 10, session);
        }
        for tag in 44..60 {
            put(&redo, tag, 4_000, session);
        }
        assert_eq!(redo.position(session).sequence, 2);
        let last = redo.last_scn(session);
        let before = session.account().totals().statistic(Statistic::RedoWrites);
        redo.make_durable(last, session, WaitEvent::LogFileSync).expect("no halt");
        let writes = session.account().totals().statistic(Statistic::RedoWrites) - before;
        assert_eq!(writes, 2, "one for each log");
        read(world, &config, Rba::block(1, 1), Scn::new(1), session)
    })
    .expect("nothing is damaged");
    assert_eq!(found.records.len(), 60);
    assert_eq!(found.end.sequence, 2);
}

/// The way of recovery: read to the end, begin the next log, read again from there.
#[test]
fn an_open_after_the_end_begins_the_next_log() {
    let config = small();
    run(fresh(&config, 4), move |world, session| {
        let redo = open(world, &config, session);
        commit_all(&redo, 0..5, session);
        drop(redo);
        let first = read(world, &config, Rba::block(1, 1), Scn::new(1), session).expect("whole");
        assert_eq!(first.records.len(), 5);
        let (sequence, next_scn) = (first.end.next_sequence(), first.end.last_scn.next());
        let checkpoint = Rba::block(sequence, 1);
        // A crash before the new log begins: its checkpoint points to nothing yet.
        let nothing = read(world, &config, checkpoint, next_scn, session).expect("it's all right");
        assert_eq!(nothing.end.reason, EndReason::NotBegun);
        assert_eq!((nothing.end.next_sequence(), nothing.end.last_scn), (2, Scn::new(5)));
        let previous_end = first.end.previous_end();
        let start = LogStart { sequence, next_scn, checkpoint, previous_end };
        let redo = open_at(world, &config, start, session);
        commit_all(&redo, 5..8, session);
        let all = read(world, &config, Rba::block(1, 1), Scn::new(1), session).expect("whole");
        assert_eq!(all.records.len(), 8);
        let rest = read(world, &config, checkpoint, next_scn, session).expect("whole");
        assert_eq!(rest.records.len(), 3);
    });
}

/// A size that can't work is refused with its limit, and nothing has changed.
#[test]
fn what_does_not_fit_is_refused() {
    let config = small();
    run(fresh(&config, 5), move |world, session| {
        let redo = open(world, &config, session);
        let stop = redo.reserve(RECORD_BYTES_MAX, session).expect_err("with its head too large");
        assert_eq!(stop.refusal(), Some(RefusalKind::Invalid), "{stop}");
        let largest = redo.reserve(RECORD_BYTES_MAX - 16, session).expect("just fits");
        drop(largest);
        let halt = stop::Halt::new(world.os());
        let open = |config: &redo::RedoConfig, start| {
            redo::Redo::open(&world.disk(), config, start, &halt, hooks(Box::new(|_| ())), session)
                .expect_err("it can't work")
                .refusal()
        };
        let first = crate::common::FIRST;
        let mut tiny = config.clone();
        tiny.groups[1].blocks = LOG_BLOCKS_MIN - 1;
        assert_eq!(open(&tiny, first), Some(RefusalKind::Invalid));
        let mut tiny = config.clone();
        tiny.log_buffer_bytes = 4_096;
        assert_eq!(open(&tiny, first), Some(RefusalKind::Invalid));
        let mut other = config.clone();
        other.groups[2].blocks += 1;
        assert_eq!(open(&other, first), Some(RefusalKind::Corrupt), "the files are shorter");
        let start = LogStart { sequence: 4, ..first };
        assert_eq!(open(&config, start), Some(RefusalKind::WrongState), "log 1 is needed");
    });
}

/// The log writer alone: what no session waits for is durable after its 3 seconds, or when it
/// stops.
#[test]
fn the_log_writer_writes_what_nobody_waits_for() {
    let config = small();
    run(fresh(&config, 6), move |world, session| {
        let redo = open(world, &config, session);
        let inside = redo.clone();
        let lgwr = session
            .spawn(ThreadSpec::background("fb_lgwr"), move |s| inside.run_lgwr(s).expect("no halt"))
            .expect("a thread");
        let first = put(&redo, 1, 100, session);
        assert!(redo.durable_scn(session) < first.scn);
        let waiting = session.waiting(WaitEvent::PlSqlLockTimer);
        session.pause(Nanos::from_millis(3_100), waiting);
        assert_eq!(redo.durable_scn(session), first.scn);
        // A third of the log buffer posts it.
        let mut last = first;
        (0..20).for_each(|tag| last = put(&redo, tag, 4_000, session));
        session.pause(Nanos::from_millis(2), session.waiting(WaitEvent::PlSqlLockTimer));
        assert!(redo.durable_scn(session) > first.scn);
        redo.stop(session);
        lgwr.join(session).expect("no panic");
        assert_eq!(redo.durable_scn(session), last.scn);
        let totals = world.os().totals();
        assert!(totals.event(WaitEvent::LogFileParallelWrite).count >= 3);
        assert_eq!(totals.event(WaitEvent::LogFileSync).count, 0);
    });
}

/// A record that recovery could not read never gets into the log.
#[test]
fn a_record_that_is_none_is_not_appended() {
    let config = small();
    let report = fresh(&config, 7).run(move |world, session| {
        let redo = open(world, &config, session);
        let credits = redo.reserve(100, session).expect("room");
        let mut wrong = record(1, 20);
        wrong.pop();
        redo.append(credits, &mut wrong, session);
    });
    let failure = report.result.expect_err("it panics").to_string();
    assert!(failure.contains("recovery could not read"), "{failure}");
}
