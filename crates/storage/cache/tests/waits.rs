//! What sessions wait for in the cache, that each of these waits ends, and what faults come to.
#![forbid(unsafe_code)]

mod common;

use std::sync::Arc;

use cache::CacheConfig;
use common::{Bed, DATA, Toy, dba, disk, racy, small, version, versions};
use format::BlockFault;
use latch::{FrameOrder, Latch, LatchKind, Shared32, SharedFlag};
use os::{CancelHandle, Session, ThreadHandle};
use sim::fs::Operation;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::{Perturbation, Simulation};
use stop::{RefusalKind, Stop};
use testbed::{Dice, run};
use waits::{Nanos, Statistic, WaitEvent};

const BLOCKS: u32 = 64;

fn join_all(threads: Vec<ThreadHandle>, session: &Session) {
    for thread in threads {
        thread.join(session).expect("no panic");
    }
}

fn pause(us: u64, session: &Session) {
    session.pause(Nanos::from_micros(us), session.waiting(WaitEvent::PlSqlLockTimer));
}

/// With every buffer dirty and a slow redo, sessions wait for free buffers, and go on.
#[test]
fn free_buffer_waits_happen_and_end_when_all_is_dirty() {
    let mut waited = 0;
    for seed in 0..50 {
        let config = small();
        let toy = Toy { flush: Nanos::from_millis(2), ..Toy::default() };
        let (waits, dirty) = run(racy(seed, &config, BLOCKS), move |world, session| {
            let bed = Bed::open(world, config, &toy, session);
            let users = (0..4).map(|user| {
                bed.session("user", session, move |bed, session| {
                    for step in 0..16 {
                        bed.change(user * 16 + step, session).expect("no fault");
                    }
                })
            });
            join_all(users.collect(), session);
            bed.close(session);
            let totals = world.os().totals();
            (
                totals.event(WaitEvent::FreeBufferWaits).count,
                totals.statistic(Statistic::DirtyBuffersInspected),
            )
        });
        assert!(dirty > 0, "seed {seed}");
        waited += waits;
    }
    assert!(waited > 50, "{waited} free buffer waits");
}

/// With a writer that keeps up there is a reserve: reads of a cache half full of dirty buffers find
/// clean ones and wait for no write.
#[test]
fn a_read_does_not_wait_for_a_dirty_write_while_the_writer_keeps_up() {
    let config = CacheConfig { frames: 64, ..small() };
    let mut simulation = Simulation::new(1);
    simulation.disks = vec![disk(&config, 256)];
    let report = simulation.run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        for round in 0..4 {
            for block in 0..64 {
                if block % 8 == 0 {
                    bed.change(round * 64 + block, session).expect("no fault");
                } else {
                    bed.read(round * 64 + block, session).expect("no fault");
                }
            }
        }
        bed.close(session);
        world.os().totals().event(WaitEvent::FreeBufferWaits).count
    });
    assert_eq!(report.result, Ok(0));
}

/// Many sessions that need one block: one reads it, the others wait for that read.
#[test]
fn one_session_reads_a_block_and_the_others_wait_for_it() {
    for seed in 0..100 {
        let config = small();
        let report = racy(seed, &config, BLOCKS).run(move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let read = |bed: &Bed, session: &Session| {
                bed.read(7, session).expect("no fault");
            };
            let users = (0..5).map(|_| bed.session("user", session, read)).collect();
            join_all(users, session);
            bed.close(session);
            let totals = world.os().totals();
            let waits = totals.event(WaitEvent::ReadByOtherSession).count;
            (totals.statistic(Statistic::PhysicalReads), waits)
        });
        let (reads, waits) = report.result.unwrap_or_else(|failure| panic!("{seed}: {failure}"));
        assert_eq!(reads, 1, "seed {seed}");
        assert!(waits > 0, "seed {seed}");
    }
}

/// A read that fails is refused to all who wanted it; the block can be read when the disk is well
/// again, and no buffer is lost.
#[test]
fn a_failed_read_is_an_error_to_all_and_the_block_can_be_read_later() {
    for seed in 0..100 {
        let config = small();
        let mut simulation = racy(seed, &config, BLOCKS);
        let scope = Scope::of(&[Operation::Read]).under(DATA);
        simulation.disks[0].content.plan_faults(FaultPlan::new(seed).nth(1, Fault::Eio, scope));
        let refused = run(simulation, move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let refused = Arc::new(latch::Shared32::new(0));
            let users = (0..5).map(|_| {
                let refused = Arc::clone(&refused);
                bed.session("user", session, move |bed, session| match bed.read(7, session) {
                    Ok(_) => {}
                    Err(stop) => {
                        assert_eq!(stop.refusal(), Some(RefusalKind::Io), "{stop}");
                        refused.fetch_add(1, session);
                    }
                })
            });
            join_all(users.collect(), session);
            bed.change(7, session).expect("the disk is well again");
            // Every buffer can still be pinned at once.
            let pins = (0..16)
                .map(|block| bed.cache.pin_or_unwritten(dba(block), session).expect("no fault"));
            assert_eq!(pins.collect::<Vec<_>>().len(), 16);
            bed.checkpoint(session);
            bed.close(session);
            refused.load(session)
        });
        assert!((1..=5).contains(&refused), "seed {seed}: {refused} refusals");
    }
}

/// A damaged block is refused by name, to everybody, and can be formatted anew.
#[test]
fn a_damaged_block_is_refused_by_name_and_can_be_formatted() {
    let config = small();
    let mut simulation = racy(1, &config, BLOCKS);
    let content = &mut simulation.disks[0].content;
    let file = content.open(DATA).expect("it exists");
    content.write(file, 3 * 2048 + 100, b"rot", true).expect("room");
    content.close(file).expect("it is open");
    let report = simulation.run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        let refused = bed.read(3, session).expect_err("it is damaged");
        assert_eq!(refused.refusal(), Some(RefusalKind::Corrupt));
        let pin = bed.cache.pin_new(dba(3), session).expect("no read");
        assert!(pin.shared(FrameOrder::Heap, session).is_unwritten());
        bed.change_pinned(&pin, session);
        bed.checkpoint(session);
        bed.close(session);
        refused.to_string()
    });
    let said = report.result.expect("no failure");
    let fault = BlockFault::BadChecksum { address: dba(3), expected: 0, found: 0 }.to_string();
    assert!(said.contains(&fault[..30]) && said.contains(DATA), "{said}");
    assert_eq!(versions(&report.disks["disk"])[&dba(3)], Some(1));
}

/// A block of a file that the database doesn't have is refused, and its buffer isn't lost.
#[test]
fn a_block_of_no_file_is_refused() {
    let config = small();
    run(racy(1, &config, BLOCKS), move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        let refused = (0..40).map(|block| {
            let pinned = bed.cache.pin_or_unwritten(ids::Dba::new(9, block), session);
            pinned.map(|_| ()).expect_err("no such file").refusal()
        });
        assert!(
            refused.collect::<Vec<_>>().iter().all(|kind| *kind == Some(RefusalKind::NotFound))
        );
        bed.close(session);
    });
}

/// A write or a sync that fails halts the instance, and every session that waits hears of it.
#[test]
fn a_failing_write_halts_and_nobody_is_left_waiting() {
    for seed in 0..150 {
        let config = small();
        let mut simulation = racy(seed, &config, BLOCKS);
        let mut dice = Dice(seed);
        let operation = dice.one_of(&[Operation::Write, Operation::Sync]);
        let scope = Scope::of(&[operation]).under(dice.one_of(&[DATA, common::DOUBLEWRITE]));
        let plan = FaultPlan::new(seed).nth(1 + dice.below(4), Fault::Eio, scope);
        simulation.disks[0].content.plan_faults(plan);
        let said = run(simulation, move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let users = (0..4).map(|user| {
                bed.session("user", session, move |bed, session| {
                    let changes =
                        (0..200).map(|step| bed.change((user * 16 + step) % BLOCKS, session));
                    let halted = changes.filter_map(Result::err).next().expect("it halts");
                    assert!(matches!(halted, Stop::Halted(_)), "{halted}");
                })
            });
            join_all(users.collect(), session);
            let target = common::rba(1);
            assert!(bed.cache.checkpoint(target, session).is_ok(), "this far it always is");
            let ahead = cache::RedoGate::position(&bed.toy, session);
            assert!(bed.cache.checkpoint(ahead, session).is_err());
            bed.close(session);
            bed.halt.check(session).map_err(|stop| stop.to_string())
        });
        let said = said.expect_err("the instance has halted");
        assert!(said.contains("a database writer cannot"), "{said}");
    }
}

/// With every buffer pinned a get waits, and goes on as soon as one is let go: not a second later.
#[test]
fn a_get_goes_on_when_one_of_the_pinned_buffers_is_let_go() {
    for seed in 0..200 {
        let dirty = seed % 2 == 0;
        let config = CacheConfig { working_sets: 1, ..small() };
        let took = run(racy(seed, &config, BLOCKS), move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let pins = (0..16)
                .map(|block| bed.cache.pin_or_unwritten(dba(block), session).expect("no fault"));
            let mut pins: Vec<_> = pins.collect();
            if dirty {
                pins.iter().for_each(|pin| _ = bed.change_pinned(pin, session));
            }
            let users = (20..23).map(|block| {
                bed.session("user", session, move |bed, session| {
                    bed.read(block, session).expect("no fault");
                })
            });
            let users: Vec<_> = users.collect();
            pause(Dice(seed).below(3_000), session);
            let before = session.now();
            drop(pins.remove(Dice(seed).below(16) as usize));
            join_all(users, session);
            let took = session.now().since(before);
            drop(pins);
            bed.close(session);
            took
        });
        assert!(took < Nanos::from_millis(100), "seed {seed}: {took}");
    }
}

/// Three sessions that read a block in a call each; how many of them were refused. `cancels` is
/// given the handles on their calls.
fn read_in_calls(bed: &Bed, cancels: impl FnOnce(&[CancelHandle]), session: &Session) -> u32 {
    let os = session.os();
    let handles = Arc::new(Latch::new(os, LatchKind::Innermost, Vec::new()));
    let refused = Arc::new(Shared32::new(0));
    let users = (0..3).map(|_| {
        let (handles, refused) = (Arc::clone(&handles), Arc::clone(&refused));
        bed.session("user", session, move |bed, session| {
            let _call = session.begin_call(None);
            handles.exclusive(session).push(session.cancel_handle());
            if let Err(stop) = bed.read(20, session) {
                assert!(stop.is_cancelled(), "{stop}");
                refused.fetch_add(1, session);
            }
        })
    });
    let users = users.collect();
    while handles.exclusive(session).len() < 3 {
        pause(1, session);
    }
    let handles = handles.exclusive(session).clone();
    cancels(&handles);
    join_all(users, session);
    refused.load(session)
}

/// Reads a block, and pins every buffer at once: none is lost.
fn assert_none_is_lost(bed: &Bed, session: &Session) {
    bed.read(20, session).expect("no fault");
    let pin = |block| bed.cache.pin_or_unwritten(dba(block), session).expect("no fault");
    assert_eq!((0..16).map(pin).collect::<Vec<_>>().len(), 16);
}

/// With every buffer pinned a get waits, and ends with its call: not a second later.
#[test]
fn a_get_that_waits_for_a_buffer_ends_with_its_call() {
    for seed in 0..100 {
        let config = CacheConfig { working_sets: 1, ..small() };
        let (refused, took) = run(racy(seed, &config, BLOCKS), move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let pin = |block| bed.cache.pin_or_unwritten(dba(block), session).expect("no fault");
            let pins: Vec<_> = (0..16).map(pin).collect();
            let mut began = session.now();
            let cancels = |handles: &[CancelHandle]| {
                pause(Dice(seed).below(3_000), session);
                began = session.now();
                handles.iter().for_each(|handle| _ = handle.cancel_running());
            };
            let refused = read_in_calls(&bed, cancels, session);
            let took = session.now().since(began);
            drop(pins);
            assert_none_is_lost(&bed, session);
            bed.close(session);
            (refused, took)
        });
        assert_eq!(refused, 3, "seed {seed}");
        assert!(took < Nanos::from_millis(50), "seed {seed}: {took}");
    }
}

/// A get that waits for another session's read ends with its call. The read goes on, and a session
/// that isn't cancelled gets the block.
#[test]
fn a_get_that_waits_for_a_read_ends_with_its_call() {
    for seed in 0..200 {
        let config = small();
        let refused = run(racy(seed, &config, BLOCKS), move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            // The third session isn't cancelled, whether it reads or waits.
            let cancels = |handles: &[CancelHandle]| {
                handles[..2].iter().for_each(|handle| _ = handle.cancel_running());
            };
            let refused = read_in_calls(&bed, cancels, session);
            assert_none_is_lost(&bed, session);
            bed.close(session);
            refused
        });
        assert!(refused <= 2, "seed {seed}: {refused} were refused");
    }
}

/// A buffer whose read has failed is free at once for who waits for one.
#[test]
fn a_get_goes_on_when_the_read_into_the_last_buffer_fails() {
    for seed in 0..100 {
        let config = small();
        let mut simulation = racy(seed, &config, BLOCKS);
        let scope = Scope::of(&[Operation::Read]).under(DATA);
        simulation.disks[0].content.plan_faults(FaultPlan::new(seed).nth(16, Fault::Eio, scope));
        let took = run(simulation, move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let pins = (0..15)
                .map(|block| bed.cache.pin_or_unwritten(dba(block), session).expect("no fault"));
            let pins: Vec<_> = pins.collect();
            let reader = bed.session("reader", session, |bed, session| {
                assert!(bed.read(20, session).is_err());
            });
            pause(40, session);
            let before = session.now();
            let pin = bed.cache.pin_or_unwritten(dba(21), session);
            let took = session.now().since(before);
            reader.join(session).expect("no panic");
            drop((pin, pins));
            bed.close(session);
            took
        });
        assert!(took < Nanos::from_millis(100), "seed {seed}: {took}");
    }
}

/// The reason why there are no write complete waits: what is written is a copy. A block can be
/// changed while it is being written, and that change is neither lost nor taken for written.
#[test]
fn a_block_can_be_changed_while_it_is_being_written() {
    for seed in 0..100 {
        let config = small();
        let toy = Toy { flush: Nanos::from_millis(5), ..Toy::default() };
        let outside = toy.clone();
        let report = racy(seed, &config, BLOCKS).run(move |world, session| {
            let bed = Bed::open(world, config, &toy, session);
            let first = bed.change(1, session).expect("no fault");
            bed.cache.request_checkpoint(cache::RedoGate::position(&bed.toy, session), session);
            while bed.toy.log().asked == 0 {
                pause(50, session);
            }
            // The writer waits for the redo of the copy that it has taken.
            let before = session.now();
            bed.change(1, session).expect("no fault");
            assert!(session.now().since(before) < Nanos::from_millis(2), "it waited for the write");
            let low = bed.cache.checkpoint_position(session);
            assert_eq!(low, common::rba(first), "nothing is on disk yet");
            bed.checkpoint(session);
            bed.close(session);
        });
        report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        assert_eq!(versions(&report.disks["disk"])[&dba(1)], Some(2));
        assert_eq!(outside.log().durable, 2);
    }
}

/// A writer meets a latched block: it writes the others, doesn't spin, and comes back to it.
#[test]
fn a_writer_passes_a_latched_block_and_comes_back() {
    let config = small();
    let mut simulation = Simulation::new(1);
    simulation.perturbation = Perturbation::NONE;
    simulation.disks = vec![disk(&config, BLOCKS)];
    let report = simulation.run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        for block in 0..4 {
            bed.change(block, session).expect("no fault");
        }
        let ahead = cache::RedoGate::position(&bed.toy, session);
        let held = Arc::new(SharedFlag::new(false));
        let inside = Arc::clone(&held);
        let holder = bed.session("holder", session, move |bed, session| {
            let pin = bed.cache.pin_or_unwritten(dba(0), session).expect("no fault");
            let block = pin.exclusive(FrameOrder::Heap, session);
            inside.raise(session);
            pause(50_000, session);
            drop(block);
        });
        while !held.is_raised(session) {
            pause(10, session);
        }
        bed.cache.request_checkpoint(ahead, session);
        pause(20_000, session);
        let while_held = bed.cache.checkpoint_position(session);
        holder.join(session).expect("no panic");
        let let_go = session.now();
        bed.cache.checkpoint(ahead, session).expect("no halt");
        assert!(session.now().since(let_go) < Nanos::from_millis(10), "it comes back late");
        bed.close(session);
        (while_held, bed.cache.checkpoint_position(session))
    });
    let writer = report.threads.iter().find(|thread| thread.name == "fb_dbw0").expect("it ran");
    assert!(writer.cpu_ns < 2_000_000, "{} ns of CPU: it spins", writer.cpu_ns);
    assert_eq!(report.result, Ok((common::rba(1), common::rba(5))));
}

/// A block that was only going to be formatted isn't written, and holds up no checkpoint.
#[test]
fn a_block_that_was_never_formatted_holds_up_no_checkpoint() {
    let config = small();
    let report = racy(1, &config, BLOCKS).run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        let pin = bed.cache.pin_new(dba(5), session).expect("no read");
        pin.exclusive(FrameOrder::Heap, session).will_change();
        bed.change(6, session).expect("no fault");
        bed.checkpoint(session);
        drop(pin);
        bed.close(session);
        world.os().totals().statistic(Statistic::PhysicalWrites)
    });
    assert_eq!(report.result, Ok(1));
    assert_eq!(versions(&report.disks["disk"])[&dba(5)], Some(0));
}

/// Bytes can't be changed by who hasn't said so: the checkpoint would pass the change.
#[test]
fn bytes_change_only_after_will_change() {
    let config = small();
    let report = racy(1, &config, BLOCKS).run(move |world, session| {
        let bed = Bed::without_writers(world, config, &Toy::default(), session);
        let pin = bed.cache.pin_or_unwritten(dba(1), session).expect("no fault");
        let mut block = pin.exclusive(FrameOrder::Heap, session);
        assert_eq!(version(dba(1), &block), 0);
        block.bytes_for_apply()[0] = 1;
    });
    let failure = report.result.expect_err("it panics").to_string();
    assert!(failure.contains("nobody said would change"), "{failure}");
}

/// A hot block outlives a scan of many that are read once.
#[test]
fn a_hot_block_survives_a_scan() {
    let config = CacheConfig { frames: 32, ..small() };
    let mut simulation = Simulation::new(1);
    simulation.disks = vec![disk(&config, 512)];
    let report = simulation.run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        for block in 0..500 {
            bed.read(block % 3, session).expect("no fault");
            bed.read(10 + block, session).expect("no fault");
        }
        bed.close(session);
        world.os().totals().statistic(Statistic::PhysicalReads)
    });
    assert_eq!(report.result, Ok(503), "three hot blocks and 500 others, each read once");
}
