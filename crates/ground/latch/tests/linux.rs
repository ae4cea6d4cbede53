//! Latches on real threads: they count right, wait under the right names, and leave no thread
//! behind.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use latch::{
    Condition, FrameBlock, FrameLatch, FrameOrder, Latch, LatchKind, Pinned, ReaderCounts,
    Shared64, SharedFlag, Signal,
};
use os::{Os, Session, ThreadHandle, ThreadSpec, Woken};
use waits::{CurrentWait, Nanos, SessionKind, Totals, WaitClass, WaitEvent};

fn world() -> (Os, Session) {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("main", SessionKind::Foreground);
    (os, session)
}

fn start(
    session: &Session,
    name: &str,
    body: impl FnOnce(&Session) + Send + 'static,
) -> ThreadHandle {
    session.spawn(ThreadSpec::foreground(name), body).expect("a thread can be had")
}

fn finish(session: &Session, threads: impl IntoIterator<Item = ThreadHandle>) {
    for thread in threads {
        thread.join(session).expect("no thread panics");
    }
}

fn pause(session: &Session) {
    session.pause(Nanos(100_000), session.waiting(WaitEvent::PlSqlLockTimer));
}

/// The wait of the session called `name`, as soon as it waits.
fn wait_of(name: &str, session: &Session) -> CurrentWait {
    loop {
        let running = session.os().running();
        let found = running.iter().find(|running| running.account.name() == name);
        if let Some(wait) = found.and_then(|running| running.account.current_wait()) {
            return wait;
        }
        pause(session);
    }
}

fn waits_for_latches(totals: &Totals) -> Vec<WaitEvent> {
    let is_latch = |event: &WaitEvent| {
        event.name().starts_with("latch") || event.class() == WaitClass::Concurrency
    };
    totals.events().map(|(event, _)| event).filter(is_latch).collect()
}

/// Four threads and one counter: no increment is lost, whichever way the latch is got.
#[test]
fn no_increment_under_an_exclusive_latch_is_lost() {
    const TURNS: u64 = 20_000;
    let (os, session) = world();
    let counter = Arc::new(Latch::new(&os, LatchKind::WorkingSet, 0_u64));
    let threads = (0..4).map(|number| {
        let counter = Arc::clone(&counter);
        start(&session, &format!("w{number}"), move |session| {
            for turn in 0..TURNS {
                match counter.try_exclusive(session) {
                    Some(mut count) if turn % 2 == 0 => *count += 1,
                    other => {
                        drop(other);
                        *counter.exclusive(session) += 1;
                    }
                }
            }
        })
    });
    finish(&session, threads.collect::<Vec<_>>());
    assert_eq!(*counter.shared(&session), 4 * TURNS);
    let waits = waits_for_latches(&os.totals());
    assert!(waits.iter().all(|event| *event == WaitEvent::LatchCacheBuffersLruChain), "{waits:?}");
    let latch = Arc::into_inner(counter).expect("every thread has ended");
    assert_eq!(latch.into_inner(), 4 * TURNS);
}

/// Readers beside writers see pairs that belong together, and each side gets all its turns.
#[test]
fn readers_see_whole_changes_and_neither_side_starves() {
    const TURNS: u64 = 10_000;
    let (os, session) = world();
    let pair = Arc::new(Latch::new(&os, LatchKind::Bucket, (0_u64, 0_u64)));
    let writers = (0..2).map(|number| {
        let pair = Arc::clone(&pair);
        start(&session, &format!("w{number}"), move |session| {
            for _ in 0..TURNS {
                let mut pair = pair.exclusive(session);
                pair.0 += 1;
                pair.1 += 2;
            }
        })
    });
    let readers = (0..2).map(|number| {
        let pair = Arc::clone(&pair);
        start(&session, &format!("r{number}"), move |session| {
            for _ in 0..TURNS {
                let pair = pair.shared(session);
                assert_eq!(pair.0 * 2, pair.1);
            }
        })
    });
    let threads: Vec<_> = writers.chain(readers).collect();
    finish(&session, threads);
    assert_eq!(*pair.shared(&session), (2 * TURNS, 4 * TURNS));
    assert_eq!(format!("{pair:?}"), {
        let id = pair.id();
        format!("Latch {id} (cache buffers chains, rank 20): free, 0 readers and 0 writers wait")
    });
}

/// A stream of readers that never leaves the latch free doesn't keep a writer out.
#[test]
fn a_stream_of_readers_lets_a_writer_in() {
    let (os, session) = world();
    let written = Arc::new(Latch::new(&os, LatchKind::Bucket, false));
    let readers: Vec<_> = (0..3)
        .map(|number| {
            let written = Arc::clone(&written);
            start(&session, &format!("r{number}"), move |session| {
                while !*written.shared(session) {
                    let held = written.shared(session);
                    (0..20).for_each(|turn| session.relax(turn));
                    drop(held);
                }
            })
        })
        .collect();
    *written.exclusive(&session) = true;
    finish(&session, readers);
}

/// A wait for a latch shows id, number and tries while it lasts, and is counted when it ends.
#[test]
fn a_wait_for_a_latch_has_the_event_of_its_kind() {
    for kind in LatchKind::ALL.iter().copied().filter(|kind| *kind != LatchKind::Frame) {
        let (os, session) = world();
        let latch = Arc::new(Latch::new(&os, kind, 0));
        let held = latch.exclusive(&session);
        let other = {
            let latch = Arc::clone(&latch);
            start(&session, "other", move |session| *latch.exclusive(session) += 1)
        };
        let seen = wait_of("other", &session);
        assert_eq!(seen.event, kind.info().event);
        assert_eq!(seen.p, [latch.id(), u64::from(kind.info().number), 1]);
        drop(held);
        finish(&session, [other]);
        assert_eq!(*latch.shared(&session), 1);
        let totals = os.totals();
        assert_eq!(waits_for_latches(&totals), [kind.info().event]);
        assert_eq!(totals.event(seen.event).count, 1);
    }
}

/// A wait for a frame names the block, as `buffer busy waits` declares it. A no-wait get doesn't
/// wait.
#[test]
fn a_wait_for_a_frame_names_its_block() {
    let (os, session) = world();
    let counts = ReaderCounts::new(&os, 1);
    let frame = Arc::new(FrameLatch::new(&os, &counts, 0, [0_u8; 64]));
    let block = FrameBlock { order: FrameOrder::Heap, file: 4, block: 711, class: 1 };
    let held = frame.shared(block, &session);
    let other = {
        let frame = Arc::clone(&frame);
        start(&session, "other", move |session| {
            assert!(frame.try_exclusive(FrameOrder::Heap, session).is_none());
            assert!(frame.try_shared(FrameOrder::Heap, session).is_some());
            frame.exclusive(block, session).fill(7);
        })
    };
    let seen = wait_of("other", &session);
    assert_eq!((seen.event, seen.p), (WaitEvent::BufferBusyWaits, [4, 711, 1]));
    assert_eq!(held[0], 0);
    drop(held);
    finish(&session, [other]);
    assert_eq!(frame.shared(block, &session)[63], 7);
    assert_eq!(waits_for_latches(&os.totals()), [WaitEvent::BufferBusyWaits]);
}

/// Without contention no get waits, and so nothing is recorded.
#[test]
fn an_uncontended_get_is_no_wait() {
    let (os, session) = world();
    let mut latch = Latch::new(&os, LatchKind::RedoCopy, 0);
    for _ in 0..1_000 {
        *latch.exclusive(&session) += 1;
        let _ = *latch.shared(&session);
    }
    *latch.get_mut() += 1;
    assert_eq!(*latch.try_shared(&session).expect("free"), 1_001);
    assert_eq!(os.totals().events().count(), 0);
}

/// A rank out of order is caught at the get, with both names, before anything deadlocks. A no-wait
/// get may be out of order.
#[test]
#[cfg(any(debug_assertions, feature = "verify"))]
#[should_panic(expected = "(cache buffers chains, rank 20) is asked for while latch 2 \
                           (redo allocation, rank 50) is held")]
fn a_get_out_of_order_panics_with_both_names() {
    let (os, session) = world();
    let allocation = Latch::new(&os, LatchKind::RedoAllocation, ());
    let bucket = Latch::new(&os, LatchKind::Bucket, ());
    let _held = allocation.exclusive(&session);
    assert!(bucket.try_exclusive(&session).is_some());
    drop(bucket.shared(&session));
}

/// Two sessions pass a number to and fro; each waits under the event that it named.
#[test]
fn a_condition_hands_over_every_turn() {
    const TURNS: u64 = 2_000;
    let (os, session) = world();
    let shared = Arc::new((Latch::new(&os, LatchKind::Innermost, 0_u64), Condition::new(&os)));
    let play = |parity: u64| {
        let shared = Arc::clone(&shared);
        start(&session, &format!("p{parity}"), move |session| {
            let (latch, condition) = &*shared;
            let mut ball = latch.exclusive(session);
            while *ball < TURNS {
                if *ball % 2 == parity {
                    *ball += 1;
                    condition.notify_one(session);
                } else {
                    let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
                    ball = condition.wait(ball, waiting, None).0;
                }
            }
            condition.notify_all(session);
        })
    };
    let players = [play(0), play(1)];
    finish(&session, players);
    assert_eq!(*shared.0.shared(&session), TURNS);
    let totals = os.totals();
    assert!(totals.event(WaitEvent::RdbmsIpcReply).count > 0);
    assert!(waits_for_latches(&totals).iter().all(|event| *event == WaitEvent::LatchFree));
}

/// A wait for a condition without a notification ends with its time, the latch held again.
#[test]
fn a_condition_that_nobody_notifies_times_out() {
    let (os, session) = world();
    let (latch, condition) = (Latch::new(&os, LatchKind::Innermost, 5), Condition::new(&os));
    let before = session.now();
    let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
    let guard = latch.exclusive(&session);
    let (guard, woken) = condition.wait(guard, waiting, Some(Nanos(2_000_000)));
    assert_eq!((*guard, woken), (5, Woken::TimedOut));
    assert!(session.now().since(before) >= Nanos(2_000_000));
    assert!(latch.try_shared(&session).is_none(), "the guard still holds the latch");
    assert_eq!(os.totals().event(WaitEvent::RdbmsIpcReply).timeouts, 1);
}

/// A latch held across a wait for a condition would be held as long as the wait.
#[test]
#[cfg(any(debug_assertions, feature = "verify"))]
#[should_panic(expected = "(buffer frame (undo), rank 10.5) is held across a wait for a condition")]
fn no_other_latch_is_held_across_a_wait_for_a_condition() {
    let (os, session) = world();
    let counts = ReaderCounts::new(&os, 1);
    let frame = FrameLatch::new(&os, &counts, 0, ());
    let _held = frame.try_shared(FrameOrder::Undo, &session);
    let (latch, condition) = (Latch::new(&os, LatchKind::Innermost, ()), Condition::new(&os));
    let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
    let _ = condition.wait(latch.exclusive(&session), waiting, Some(Nanos(1)));
}

/// A process that is posted for each piece of work does all of it.
#[test]
fn a_posted_process_finds_all_work() {
    const PIECES: u64 = 5_000;
    let (os, session) = world();
    let shared = Arc::new((Signal::new(&os), Shared64::new(0), SharedFlag::new(false)));
    let process = {
        let shared = Arc::clone(&shared);
        start(&session, "process", move |session| {
            let (signal, work, stop) = &*shared;
            let mut done = 0;
            while !stop.is_raised(session) || work.load(session) > 0 {
                assert!(signal.wait(session.waiting(WaitEvent::RdbmsIpcMessage), None));
                done += work.swap(0, session);
            }
            assert_eq!(done, PIECES);
        })
    };
    let (signal, work, stop) = &*shared;
    for _ in 0..PIECES {
        work.fetch_add(1, &session);
        signal.post(&session);
    }
    stop.raise(&session);
    signal.post(&session);
    finish(&session, [process]);
    assert_eq!(work.load(&session), 0);
}

/// Posts before the wait end it at once and count as one; without a post it doesn't end.
#[test]
fn posts_before_the_wait_are_one_post() {
    let (os, session) = world();
    let signal = Signal::new(&os);
    let waiting = session.waiting(WaitEvent::RdbmsIpcMessage);
    signal.post(&session);
    signal.post(&session);
    assert!(signal.wait(waiting, None), "the post was kept");
    assert_eq!(os.totals().events().count(), 0, "and nothing was waited for");
    assert!(!signal.wait(waiting, Some(Nanos(1_000_000))), "two posts are one");
    assert_eq!(os.totals().event(WaitEvent::RdbmsIpcMessage).timeouts, 1);
    signal.post(&session);
    assert!(signal.take(&session) && !signal.take(&session));
}

/// Counts the calls which say that a stripe has no pin any more.
#[derive(Clone, Copy)]
struct Told<'a>(&'a Shared64);

impl Pinned for Told<'_> {
    fn stripe_unpinned(&self, session: &Session) {
        self.0.fetch_add(1, session);
    }
}

/// A pin and a latch got in one step keep a writer out, are counted as pins, and go together. The
/// owner of the pins is told when the last one goes, and not before.
#[test]
fn a_pin_and_a_latch_got_in_one_step_go_in_one_step() {
    let (os, session) = world();
    let frame = FrameLatch::new(&os, &ReaderCounts::new(&os, 1), 0, 7);
    let told = Shared64::new(0);
    let pin_if =
        |is_wanted| frame.pin_shared(FrameOrder::Heap, Told(&told), || is_wanted, &session);
    let both = pin_if(true).expect("no writer");
    assert!(frame.has_pins(&session) && frame.try_exclusive(FrameOrder::Heap, &session).is_none());
    frame.pin(&session);
    assert_eq!(*both, 7);
    drop(both);
    assert!(frame.try_exclusive(FrameOrder::Heap, &session).is_some());
    assert_eq!((frame.has_pins(&session), told.load(&session)), (true, 0), "one pin is left");
    assert!(frame.unpin(&session));
    let guard = frame.try_shared(FrameOrder::Heap, &session).expect("no writer");
    frame.pin(&session);
    drop(guard.with_pin(Told(&told)));
    assert_eq!((frame.has_pins(&session), told.load(&session)), (false, 1));
    assert!(pin_if(false).is_none(), "the frame wasn't wanted");
    assert_eq!((frame.has_pins(&session), told.load(&session)), (false, 2));
    assert!(frame.try_exclusive(FrameOrder::Heap, &session).is_some());
}

/// While a writer has the latch, neither latch nor pin is left, and the owner of the pins is told.
#[test]
fn no_pin_is_left_where_the_latch_cannot_be_had() {
    let (os, session) = world();
    let frame = FrameLatch::new(&os, &ReaderCounts::new(&os, 1), 0, ());
    let (told, writer) = (Shared64::new(0), frame.try_exclusive(FrameOrder::Heap, &session));
    let pinned = frame.pin_shared(FrameOrder::Heap, Told(&told), || true, &session);
    assert!(pinned.is_none() && writer.is_some());
    assert_eq!((frame.has_pins(&session), told.load(&session)), (false, 1));
}

/// Frames don't share their counts, and a pin that doesn't exist can't be removed.
#[test]
#[should_panic(expected = "a block is let go that isn't held")]
fn a_pin_that_is_not_there_cannot_go() {
    let (os, session) = world();
    let counts = ReaderCounts::new(&os, 2);
    let frames = [0, 1].map(|number| FrameLatch::new(&os, &counts, number, ()));
    frames[0].pin(&session);
    frames[1].unpin(&session);
}

/// The guarded data is checked when a writer releases, at the rate of the world: a value of eight
/// parts with an effort of two at every fifth hold.
#[test]
fn a_latch_checks_what_it_guards_as_often_as_the_world_says() {
    let (os, session) = world();
    for (effort, expected) in [(0, 0), (2, 4), (100, 20)] {
        os.set_check_effort(effort);
        let looks = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&looks);
        let latch = Latch::new(&os, LatchKind::Innermost, 0_u64).checked(&os, move |_| {
            counted.fetch_add(1, Relaxed);
            8
        });
        for _ in 0..20 {
            *latch.exclusive(&session) += 1;
            drop(latch.shared(&session));
        }
        assert_eq!(looks.load(Relaxed), expected, "effort {effort}");
    }
}

/// A check that panics releases the latch, so that other threads see the halt and don't hang.
#[test]
fn a_check_that_fails_lets_go_of_the_latch() {
    let (os, session) = world();
    os.set_check_effort(1);
    let latch = Arc::new(Latch::new(&os, LatchKind::Innermost, 0_u64).checked(&os, |value| {
        assert!(*value < 3, "the value {value} is broken");
        1
    }));
    let broken = Arc::clone(&latch);
    let breaker = start(&session, "breaker", move |session| {
        for _ in 0..10 {
            *broken.exclusive(session) += 1;
        }
    });
    assert!(breaker.join(&session).is_err(), "the check panics");
    assert!(latch.try_shared(&session).is_some_and(|value| (3..5).contains(&*value)));
}
