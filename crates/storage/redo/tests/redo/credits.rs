//! Credits: no append ever waits, no session starves, and no circle closes through the checkpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use latch::{Latch, LatchKind};
use os::{Session, ThreadSpec};
use redo::{RECORD_BYTES_MAX, Redo};
use testbed::{racing, run};
use waits::{Nanos, WaitEvent};

use crate::common::{Checkpoints, fresh, groups, hooks, open, put, record, small};

fn lgwr(redo: &Redo, session: &Session) -> os::ThreadHandle {
    let redo = redo.clone();
    let body = move |s: &Session| redo.run_lgwr(s).expect("no halt");
    session.spawn(ThreadSpec::background("fb_lgwr"), body).expect("a thread")
}

/// Tiny logs, a tiny buffer, a slow checkpoint, records up to the largest: an append that found no
/// room would panic, and it never does. Large records wait for their turn and get it. (Seed 63: the
/// first in the room queue wrote, and went to sleep though others had appended meanwhile.)
#[test]
fn no_append_ever_finds_the_buffer_or_the_logs_full() {
    let (mut space, mut checkpoint) = (0, 0);
    for seed in 0..250 {
        let config = small();
        let report = racing(fresh(&config, seed)).run(move |world, session| {
            let checkpoints = Checkpoints::new();
            let slow = Nanos::from_millis(3);
            let (redo, signal, ckpt) = checkpoints.open(world, &config, slow, session);
            // Without a log writer a session that waits for room writes by itself.
            let lgwr = (seed % 3 > 0).then(|| lgwr(&redo, session));
            let user = |number: u64| {
                let redo = redo.clone();
                let body = move |session: &Session| {
                    for turn in 0..12 {
                        let random = session.os().random();
                        let largest = if number == 0 { 65_000 } else { 20_000 };
                        let length = (random >> 8) as usize % largest;
                        // More is reserved than is used, and some of it is given back.
                        let mut record = record(number * 100 + turn, length);
                        let asked =
                            (record.len() + random as usize % 9_000).min(RECORD_BYTES_MAX - 16);
                        let credits = redo.reserve(asked, session).expect("no halt");
                        let waiting = session.waiting(WaitEvent::PlSqlLockTimer);
                        match random % 8 {
                            0 => continue,
                            1 => session.pause(Nanos::from_micros(40), waiting),
                            _ => {}
                        }
                        redo.append(credits, &mut record, session);
                    }
                };
                session.spawn(ThreadSpec::foreground(format!("user{number}")), body)
            };
            let users: Vec<_> = (0..6).map(|number| user(number).expect("a thread")).collect();
            users.iter().for_each(|user| user.join(session).expect("no panic"));
            let last = redo.last_scn(session);
            redo.make_durable(last, session, WaitEvent::LogFileSync).expect("no halt");
            checkpoints.stop(&signal, session);
            ckpt.join(session).expect("no panic");
            redo.stop(session);
            lgwr.iter().for_each(|lgwr| lgwr.join(session).expect("no panic"));
            let totals = world.os().totals();
            let waits = |event| totals.event(event).count;
            (waits(WaitEvent::LogBufferSpace), waits(WaitEvent::LogFileSwitchCheckpointIncomplete))
        });
        let (buffer, logs) =
            report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        let took = report.elapsed_ns;
        assert!(took < 2_000_000_000, "seed {seed}: only the clock helped: {took} ns");
        (space, checkpoint) = (space + buffer, checkpoint + logs);
    }
    assert!(space > 100 && checkpoint > 100, "{space} waits for space, {checkpoint} for logs");
}

/// The circle that credits break: a session holds a latch and appends, the checkpoint that would
/// free a log waits for that latch. The wait for the log comes before the latch, so it can't close.
#[test]
fn a_checkpoint_that_waits_for_a_latch_of_ours_is_no_deadlock() {
    for seed in 0..60 {
        let config = small();
        let logs = run(racing(fresh(&config, seed)), move |world, session| {
            let os = world.os();
            let block = Arc::new(latch::Latch::new(os, latch::LatchKind::Bucket, 0_u64));
            let wanted = Arc::new(latch::Signal::new(os));
            let asked = Arc::clone(&wanted);
            let hook = Box::new(move |session: &Session| asked.post(session));
            let halt = stop::Halt::new(os);
            let first = crate::common::FIRST;
            let redo = Redo::open(&world.disk(), &config, first, &halt, hooks(hook), session);
            let redo = redo.expect("it opens");
            let lgwr = lgwr(&redo, session);
            let done = Arc::new(AtomicU64::new(0));
            let (writer, dirty, end) = (redo.clone(), Arc::clone(&block), Arc::clone(&done));
            let posted = Arc::clone(&wanted);
            let body = move |session: &Session| {
                while end.load(SeqCst) == 0 {
                    let _ = posted.wait(session.waiting(WaitEvent::RdbmsIpcMessage), None);
                    let rba = writer.position(session);
                    let scn = *dirty.exclusive(session);
                    let event = WaitEvent::RdbmsIpcReply;
                    writer.make_durable(ids::Scn::new(scn), session, event).expect("no halt");
                    writer.checkpoint_advanced(rba, session);
                }
            };
            let dbwr = session.spawn(ThreadSpec::background("fb_dbw0"), body).expect("a thread");
            let user = |number: u64| {
                let (redo, block) = (redo.clone(), Arc::clone(&block));
                let body = move |session: &Session| {
                    for turn in 0..25 {
                        let mut record = record(number * 100 + turn, 9_000);
                        let credits = redo.reserve(record.len(), session).expect("no halt");
                        let mut block = block.exclusive(session);
                        *block = redo.append(credits, &mut record, session).scn.get();
                    }
                };
                session.spawn(ThreadSpec::foreground(format!("user{number}")), body)
            };
            let users: Vec<_> = (0..5).map(|number| user(number).expect("a thread")).collect();
            users.iter().for_each(|user| user.join(session).expect("no panic"));
            done.store(1, SeqCst);
            wanted.post(session);
            dbwr.join(session).expect("no panic");
            redo.stop(session);
            lgwr.join(session).expect("no panic");
            redo.position(session).sequence
        });
        assert!(logs > 3, "seed {seed}: {logs} logs are no reason to wait");
    }
}

/// Credits that are dropped are room again, and a session in the room queue gets it.
#[test]
fn dropped_credits_come_back() {
    let config = small();
    let report = fresh(&config, 1).run(move |world, session| {
        let redo = open(world, &config, session);
        let all = redo.reserve(RECORD_BYTES_MAX - 16, session).expect("room");
        let inside = redo.clone();
        let body = move |s: &Session| drop(inside.reserve(4_100, s).expect("no halt"));
        let other = session.spawn(ThreadSpec::foreground("waiter"), body).expect("a thread");
        session.pause(Nanos::from_millis(1), session.waiting(WaitEvent::PlSqlLockTimer));
        assert!(!other.has_ended());
        drop(all);
        other.join(session).expect("no panic");
        drop(redo.reserve(RECORD_BYTES_MAX - 16, session).expect("all of it is room again"));
        put(&redo, 1, 10, session);
        world.os().totals().event(WaitEvent::LogBufferSpace).count
    });
    assert_eq!(report.result.expect("it runs"), 1);
}

/// A session whose call is cancelled leaves the room queue, wherever it is there, and those behind
/// it go on with the room that there is (RD60).
#[test]
fn a_session_that_is_cancelled_leaves_the_room_queue() {
    for leaves in 0..3 {
        let config = small();
        let refusals = run(fresh(&config, 1), move |world, session| {
            let redo = open(world, &config, session);
            let pause = || {
                session.pause(Nanos::from_millis(1), session.waiting(WaitEvent::PlSqlLockTimer));
            };
            let most = redo.reserve(64_000, session).expect("room");
            let handles = Arc::new(Latch::new(world.os(), LatchKind::Innermost, Vec::new()));
            let refused = Arc::new(AtomicU64::new(0));
            // The first asks for more than there is, and the others wait behind it.
            let waiters = [RECORD_BYTES_MAX - 16, 4_000, 4_000].map(|bytes| {
                let (redo, refused) = (redo.clone(), Arc::clone(&refused));
                let handles = Arc::clone(&handles);
                let body = move |session: &Session| {
                    let _call = session.begin_call(None);
                    handles.exclusive(session).push(session.cancel_handle());
                    if let Err(stop) = redo.reserve(bytes, session).map(drop) {
                        assert!(stop.is_cancelled(), "{stop}");
                        refused.fetch_add(1, SeqCst);
                    }
                };
                let waiter = session.spawn(ThreadSpec::foreground("waiter"), body);
                pause();
                waiter.expect("a thread")
            });
            assert!(waiters.iter().all(|waiter| !waiter.has_ended()), "all of them wait");
            let handle = handles.exclusive(session)[leaves].clone();
            assert!(handle.cancel_running());
            pause();
            assert!(waiters[leaves].has_ended());
            let others = waiters.iter().filter(|waiter| waiter.has_ended()).count();
            assert_eq!(others, if leaves == 0 { 3 } else { 1 }, "who is behind the first waits");
            drop(most);
            waiters.iter().for_each(|waiter| waiter.join(session).expect("no panic"));
            drop(redo.reserve(RECORD_BYTES_MAX - 16, session).expect("all of it is room again"));
            put(&redo, 1, 10, session);
            refused.load(SeqCst)
        });
        assert_eq!(refusals, 1, "{leaves}");
    }
}

/// A room queue that has formed once dissolves when there is room again, because the session that
/// makes room hands it out. If each session in the queue took its own and woke the next, sessions
/// that reserve again at once would keep the queue up, and each record would wait for a wake-up
/// (RD16).
#[test]
fn a_line_for_room_goes_away_with_its_reason() {
    const SESSIONS: u64 = 12;
    const RECORDS: u64 = 400;
    let config = redo::RedoConfig { groups: groups(4_000), ..small() };
    let waits = run(fresh(&config, 7), move |world, session| {
        let redo = open(world, &config, session);
        let lgwr = lgwr(&redo, session);
        let user = |number: u64| {
            let redo = redo.clone();
            let body = move |session: &Session| {
                for turn in 0..RECORDS {
                    put(&redo, number * 1_000 + turn, 400, session);
                    session.charge_nanos(Nanos::from_micros(3));
                }
            };
            session.spawn(ThreadSpec::foreground(format!("user{number}")), body).expect("a thread")
        };
        let users: Vec<_> = (0..SESSIONS).map(user).collect();
        users.iter().for_each(|user| user.join(session).expect("no panic"));
        redo.stop(session);
        lgwr.join(session).expect("no panic");
        world.os().totals().event(WaitEvent::LogBufferSpace).count
    });
    assert!(waits > SESSIONS, "the buffer was never full");
    let records = SESSIONS * RECORDS;
    assert!(waits < records / 4, "{waits} waits for room in {records} records");
}
