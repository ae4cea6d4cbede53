//! Reads around the cache: what was changed before is in them, they keep several I/Os in flight,
//! and the waits say what was read.
#![forbid(unsafe_code)]

mod common;

use std::collections::BTreeMap;

use cache::{Blocks, CacheConfig, DirectBlock, ReadAhead};
use common::{Bed, DATA, Seen, Toy, dba, disk, racy, small, version};
use ids::{BlockSize, Dba};
use os::{FilesystemIo, Session};
use sim::Simulation;
use sim::fs::Operation;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use stop::{RefusalKind, Stop};
use testbed::{Dice, run};
use waits::{Nanos, Statistic, WaitEvent};

const BLOCKS: u32 = 40;

fn span(first: u32, count: u32) -> Blocks {
    Blocks { first: dba(first), count }
}

/// The version of each block as a direct read of all has it.
fn read_all(bed: &Bed, blocks: u32, session: &Session) -> Result<BTreeMap<Dba, u64>, Stop> {
    read_in_calls(bed, blocks, ReadAhead::Far, session)
}

/// The same with a reader that goes after each run, if it reads ahead but a little.
fn read_in_calls(
    bed: &Bed,
    blocks: u32,
    ahead: ReadAhead,
    session: &Session,
) -> Result<BTreeMap<Dba, u64>, Stop> {
    let mut scan = bed.cache.direct_scan(&[span(0, blocks)], ahead, session)?;
    let (mut found, mut is_over) = (BTreeMap::new(), false);
    while !is_over {
        let mut reader = bed.cache.resume(&mut scan, session);
        while let Some(mut run) = reader.next_run()? {
            while let Some(DirectBlock { address, bytes }) = run.next_block()? {
                let Some(block) = bytes else {
                    let missed = bed.cache.pin(address, session).map(drop);
                    return Err(missed.expect_err("it is missed"));
                };
                let before = found.insert(address, version(address, block));
                assert_eq!(before, None, "{address} comes twice");
            }
            if ahead == ReadAhead::Near {
                break;
            }
        }
        is_over = found.len() == blocks as usize || ahead == ReadAhead::Far;
        drop(reader);
        assert_eq!(scan.in_flight(), 0, "nothing is in flight between two readers");
        session.charge_nanos(Nanos(10_000));
    }
    bed.cache.end_direct(scan, session);
    assert!(found.keys().copied().eq((0..blocks).map(dba)), "all of them in order");
    Ok(found)
}

/// Among sessions that change the same blocks, with few buffers: every change that was made before
/// the read began is in it, each block is what one change made of it, and the read ends though the
/// blocks are changed all the time.
#[test]
fn a_direct_read_has_every_change_made_before_it() {
    let (mut waited, mut newer) = (0, 0);
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut config = CacheConfig { frames: dice.one_of(&[16, 32, 64]), ..small() };
        config.working_sets = 1 + dice.below(3) as u32;
        config.writers = 1 + dice.below(3) as u32;
        config.filesystem_io = dice.one_of(&FilesystemIo::ALL);
        let flush = Nanos(dice.one_of(&[0, 50_000]));
        let toy = Toy { flush, step: dice.one_of(&[1, 1, 5]), ..Toy::default() };
        let seen = run(racy(seed, &config, BLOCKS), move |world, session| {
            let bed = Bed::open(world, config, &toy, session);
            let users = (0..3).map(|user| {
                let mut dice = Dice(seed << 8 | user);
                bed.session("user", session, move |bed, session| {
                    for _ in 0..40 {
                        bed.change(dice.below(12) as u32, session).expect("no fault");
                        session.charge_nanos(Nanos(dice.below(100_000)));
                    }
                })
            });
            let users: Vec<_> = users.collect();
            let mut newer = 0;
            for round in 0..4 {
                session.charge_nanos(Nanos(dice.below(400_000)));
                let before = bed.toy.log().newest(u64::MAX);
                // A change has its number just before the block has it.
                let complete = |address: Dba| {
                    let pin = bed.cache.pin_or_unwritten(address, session).expect("no fault");
                    drop(pin.shared(latch::FrameOrder::Heap, session));
                };
                before.keys().copied().for_each(complete);
                let ahead = [ReadAhead::Far, ReadAhead::Near][round % 2];
                let found = read_in_calls(&bed, BLOCKS, ahead, session).expect("no fault");
                for (address, least) in before {
                    assert!(found[&address] >= least, "{address}: {} < {least}", found[&address]);
                    newer += u64::from(found[&address] > least);
                }
            }
            users.iter().for_each(|user| user.join(session).expect("no panic"));
            bed.close(session);
            let totals = world.os().totals();
            let ko = totals.event(WaitEvent::EnqKoFastObjectCheckpoint);
            assert_eq!(ko.timeouts, 0, "a wake-up was lost");
            (ko.count, newer)
        });
        (waited, newer) = (waited + seen.0, newer + seen.1);
    }
    assert!(waited > 300 && newer > 300, "{waited} waits, {newer} newer blocks");
}

/// The checkpoint writes the blocks of its span and no others, and nobody waits without need.
#[test]
fn a_checkpoint_of_blocks_writes_these_and_no_others() {
    let config = CacheConfig { frames: 64, ..small() };
    let mut simulation = Simulation::new(1);
    simulation.disks = vec![disk(&config, BLOCKS)];
    let report = simulation.run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        for block in 0..30 {
            bed.change(block, session).expect("no fault");
        }
        let seen = Seen::of(session);
        bed.cache.checkpoint_blocks(&[span(5, 10)], session).expect("no halt");
        let waits = seen.take(WaitEvent::EnqKoFastObjectCheckpoint);
        assert!(!waits.is_empty());
        assert!(waits.iter().all(|(p, took)| *p == [0x4b4f_0006, 2, 0] && *took > Nanos::ZERO));
        let written = world.os().totals().statistic(Statistic::PhysicalWrites);
        bed.cache.checkpoint_blocks(&[span(5, 10)], session).expect("no halt");
        assert!(seen.take(WaitEvent::EnqKoFastObjectCheckpoint).is_empty(), "nothing to wait for");
        bed.close(session);
        written
    });
    assert_eq!(report.result, Ok(10));
    let versions = common::versions(&report.disks["disk"]);
    for block in 0..30_u32 {
        let expected = if (5..15).contains(&block) { u64::from(block) + 1 } else { 0 };
        assert_eq!(versions[&dba(block)], Some(expected), "block {block}");
    }
}

/// Pieces of a MiB, several in flight; asynchronous reads are over sooner than one after the other;
/// each wait names the piece that is waited for.
#[test]
fn pieces_of_a_mebibyte_are_in_flight_together() {
    let read = |io: FilesystemIo| {
        let config = CacheConfig { filesystem_io: io, multiblock_read_count: 512, ..small() };
        let blocks = 8 * 512 + 3;
        let mut simulation = Simulation::new(1);
        simulation.disks = vec![disk(&config, blocks)];
        run(simulation, move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let (seen, before) = (Seen::of(session), session.now());
            let mut scan = bed
                .cache
                .direct_scan(&[span(0, blocks)], ReadAhead::Far, session)
                .expect("no fault");
            let mut reader = bed.cache.resume(&mut scan, session);
            let mut lengths = Vec::new();
            while let Some(mut run) = reader.next_run().expect("no fault") {
                let next = || run.next_block().expect("no fault");
                lengths.push(std::iter::from_fn(next).count());
            }
            let took = session.now().since(before);
            assert_eq!(lengths, [512, 512, 512, 512, 512, 512, 512, 512, 3]);
            drop(reader);
            drop(scan);
            bed.close(session);
            let totals = world.os().totals();
            assert_eq!(totals.statistic(Statistic::PhysicalReadRequests), 9);
            (seen.take(WaitEvent::DirectPathRead), took)
        })
    };
    let (waits, apart) = read(FilesystemIo::DirectIo);
    let expected = (0..9_u64).map(|at| [1, at * 512, if at < 8 { 512 } else { 3 }]);
    assert!(waits.iter().map(|(p, _)| *p).eq(expected), "{waits:?}");
    let (waits, together) = read(FilesystemIo::SetAll);
    assert!(!waits.is_empty() && waits.len() <= 9, "{waits:?}");
    assert!(waits.iter().all(|(p, _)| p[0] == 1 && p[1] % 512 == 0), "{waits:?}");
    assert!(together < apart, "{together} together, {apart} one after the other");
}

/// A MiB at once where nothing is asked for, and up to four where more is; every block is counted.
#[test]
fn pieces_are_as_long_as_was_asked_for_up_to_four_mebibytes() {
    let lengths = |count: u32, ahead: ReadAhead| {
        // So many frames that a session's share of them is more than a MiB.
        let config = CacheConfig { multiblock_read_count: count, frames: 1_024, ..small() };
        let blocks = 2 * 2_048 + 3;
        let mut simulation = Simulation::new(1);
        simulation.disks = vec![disk(&config, blocks)];
        run(simulation, move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let spans = [span(0, blocks)];
            let mut scan = bed.cache.direct_scan(&spans, ahead, session).expect("no fault");
            let mut lengths = Vec::new();
            let mut reader = bed.cache.resume(&mut scan, session);
            while let Some(mut run) = reader.next_run().expect("no fault") {
                let next = || run.next_block().expect("no fault");
                lengths.push(std::iter::from_fn(next).count());
            }
            drop(reader);
            bed.cache.end_direct(scan, session);
            bed.close(session);
            let totals = world.os().totals();
            for statistic in [Statistic::PhysicalReads, Statistic::PhysicalReadsDirect] {
                assert_eq!(totals.statistic(statistic), u64::from(blocks));
            }
            assert_eq!(totals.statistic(Statistic::ConsistentGets), u64::from(blocks));
            lengths
        })
    };
    for ahead in [ReadAhead::Far, ReadAhead::Near] {
        assert_eq!(lengths(0, ahead), [512, 512, 512, 512, 512, 512, 512, 512, 3]);
        assert_eq!(lengths(1_024, ahead), [1_024, 1_024, 1_024, 1_024, 3]);
        for count in [2_048, 100_000] {
            assert_eq!(lengths(count, ahead), [2_048, 2_048, 3]);
        }
    }
}

/// A scan that ends early has read more blocks than it has looked at: those that came are physical
/// reads, and those that were asked for consistent gets (CB24).
#[test]
fn blocks_that_nobody_asks_for_are_read_and_not_got() {
    for ahead in [ReadAhead::Far, ReadAhead::Near] {
        let config = CacheConfig { multiblock_read_count: 512, ..small() };
        let blocks = 3 * 512;
        let mut simulation = Simulation::new(1);
        simulation.disks = vec![disk(&config, blocks)];
        run(simulation, move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let spans = [span(0, blocks)];
            let mut scan = bed.cache.direct_scan(&spans, ahead, session).expect("no fault");
            let mut reader = bed.cache.resume(&mut scan, session);
            let mut run = reader.next_run().expect("no fault").expect("there is a run");
            let block = run.next_block().expect("no fault").expect("a run has a block");
            assert_eq!(block.address, dba(0));
            drop(reader);
            bed.cache.end_direct(scan, session);
            bed.close(session);
            let totals = world.os().totals();
            let pieces = totals.statistic(Statistic::PhysicalReadRequests);
            assert!(pieces > 1, "it reads ahead");
            for statistic in [Statistic::PhysicalReads, Statistic::PhysicalReadsDirect] {
                assert_eq!(totals.statistic(statistic), pieces * 512, "{ahead:?}");
            }
            assert_eq!(totals.statistic(Statistic::ConsistentGets), 1, "{ahead:?}");
        });
    }
}

/// A session's share of few buffers is a power of two: others are no lengths for reads.
#[test]
fn the_share_of_few_buffers_is_a_power_of_two() {
    for (frames, expected) in [(16, 16), (48, 32), (1_000, 512)] {
        let config = CacheConfig { frames, ..small() };
        let mut simulation = Simulation::new(1);
        simulation.disks = vec![disk(&config, BLOCKS)];
        let count = run(simulation, move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let count = bed.cache.multiblock_read_count(BlockSize::KIB_2, session);
            bed.close(session);
            count
        });
        assert_eq!(count, expected, "{frames} buffers");
    }
}

/// A reader may be dropped with reads on their way: their wait has its name, and the next reader
/// goes on with what has come.
#[test]
fn a_reader_may_be_dropped_early_and_the_next_goes_on() {
    let config = small();
    let mut simulation = racy(1, &config, 4 * 512);
    simulation.disks = vec![disk(&config, 4 * 512)];
    run(simulation, move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        let spans = [span(0, 4 * 512)];
        for ahead in [ReadAhead::Far, ReadAhead::Near] {
            let mut scan = bed.cache.direct_scan(&spans, ahead, session).expect("no fault");
            let mut firsts = Vec::new();
            for _ in 0..2 {
                let mut reader = bed.cache.resume(&mut scan, session);
                let mut run = reader.next_run().expect("no fault").expect("there is more");
                let block = run.next_block().expect("no fault").expect("a run has a block");
                firsts.push((block.address, 1 + run.bytes_left() / 2048));
                drop(reader);
                assert_eq!(scan.in_flight(), 0);
            }
            let [(first, length), (second, _)] = firsts[..] else { panic!("two runs") };
            assert_eq!((first, second), (dba(0), dba(length as u32)));
        }
        bed.close(session);
        let size = bed.cache.block_size();
        assert_eq!(size, BlockSize::KIB_2);
    });
}

/// A block that comes damaged is read once more through the cache, and named if it is so there too;
/// a lost write is found here too.
#[test]
fn a_damaged_block_and_a_lost_write_are_missed() {
    let run = |prepare: fn(&mut Simulation)| {
        let config = small();
        let mut simulation = Simulation::new(1);
        simulation.disks = vec![disk(&config, BLOCKS)];
        prepare(&mut simulation);
        run(simulation, move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            bed.change(7, session).expect("no fault");
            bed.checkpoint(session);
            for block in 20..BLOCKS {
                bed.read(block, session).expect("no fault");
            }
            let read = read_all(&bed, BLOCKS, session);
            bed.close(session);
            read.map(drop).map_err(|stop| (stop.refusal(), stop.to_string()))
        })
    };
    assert_eq!(run(|_| {}), Ok(()));
    let (kind, said) = run(|simulation| {
        let scope = Scope::of(&[Operation::Write]).under(DATA);
        let plan = FaultPlan::new(1).nth(1, Fault::LostWrite, scope);
        simulation.disks[0].content.plan_faults(plan);
    })
    .expect_err("a lost write");
    assert_eq!(kind, Some(RefusalKind::Corrupt));
    assert!(said.contains("a write to file 1 block 7"), "{said}");
    let (kind, said) = run(|simulation| {
        let fs = &mut simulation.disks[0].content;
        let file = fs.open(DATA).expect("it exists");
        fs.write(file, 9 * 2048, &[7; 2048], true).expect("room");
        fs.close(file).expect("it is open");
    })
    .expect_err("a damaged block");
    assert_eq!(kind, Some(RefusalKind::Corrupt));
    assert!(said.contains("1/9") || said.contains("block 9"), "{said}");
}

/// A piece that came as it isn't on disk, as one that was read while it was written may: each of
/// its blocks is got through the cache, and so comes as it is. It is one consistent get all the
/// same, and no current one.
#[test]
fn what_came_torn_is_got_through_the_cache() {
    const ALL: u32 = 4 * 512;
    let config = CacheConfig { frames: 64, ..small() };
    let mut simulation = Simulation::new(1);
    simulation.disks = vec![disk(&config, ALL)];
    let written = config.clone();
    let report = simulation.run(move |world, session| {
        let bed = Bed::open(world, written, &Toy::default(), session);
        for block in 0..ALL {
            bed.change(block, session).expect("no fault");
        }
        bed.checkpoint(session);
        bed.close(session);
    });
    report.result.expect("no failure");
    let mut content = report.disks["disk"].clone();
    content.close_all();
    for nth in 1..=4 {
        let mut simulation = Simulation::new(nth);
        simulation.disks[0].content = content.clone();
        let scope = Scope::of(&[Operation::Read]).under(DATA);
        let plan = FaultPlan::new(nth).nth(nth, Fault::MisdirectedRead, scope);
        simulation.disks[0].content.plan_faults(plan);
        let config = config.clone();
        let report = simulation.run(move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let gets = [Statistic::ConsistentGets, Statistic::CurrentGets];
            let before = gets.map(|get| world.os().totals().statistic(get));
            let read = read_all(&bed, ALL, session).expect("whole in the cache");
            let totals = world.os().totals();
            let [consistent, current] = gets.map(|get| totals.statistic(get));
            bed.close(session);
            let right = (0..ALL).all(|block| read[&dba(block)] == u64::from(block) + 1);
            let again = totals.event(WaitEvent::DbFileSequentialRead).count >= 64;
            (right, again, [consistent - before[0], current - before[1]])
        });
        assert_eq!(report.result, Ok((true, true, [u64::from(ALL), 0])), "the {nth}th read");
    }
}
