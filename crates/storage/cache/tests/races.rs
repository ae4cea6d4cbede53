//! Sessions and writers over caches of a few frames, in schedules bent by seeds: no change is lost,
//! nobody waits for ever, and what was checkpointed is on disk.
#![forbid(unsafe_code)]

mod common;

use cache::{CacheConfig, PoolSize};
use common::{Bed, LONG_SIZE, Toy, dba, racy, slow, small, versions};
use ids::Dba;
use latch::FrameOrder;
use os::{FilesystemIo, Session};
use testbed::{Dice, run};
use waits::{Nanos, WaitEvent};

const BLOCKS: u64 = 40;
const STEPS: u64 = 25;

/// A session's random work. It has two blocks pinned at most.
fn work(bed: &Bed, mut dice: Dice, session: &Session) {
    for _ in 0..STEPS {
        let files = 1 + bed.cache.config().pools.len() as u64;
        let [one, other] = [(); 2].map(|()| {
            let (file, block) = (1 + dice.below(files) as u16, dice.below(BLOCKS) as u32);
            Dba::new(file, block)
        });
        match dice.below(6) {
            0 => _ = bed.read_at(one, session).expect("no fault"),
            1 => _ = bed.read_at_once(one, session).expect("no fault"),
            2 | 3 => _ = bed.change_at(one, session).expect("no fault"),
            4 => {
                let first = bed.cache.pin_or_unwritten(one, session).expect("no fault");
                let second = bed.cache.pin_or_unwritten(other, session).expect("no fault");
                let again = first.clone();
                drop(first);
                bed.change_pinned(&second, session);
                bed.change_pinned(&again, session);
            }
            _ => {
                let position = bed.cache.checkpoint_position(session);
                bed.cache.request_checkpoint(position, session);
                session.charge_nanos(Nanos(dice.below(200_000)));
            }
        }
    }
}

/// Whatever the dimensions and the schedule: every read sees the newest version (checked in every
/// read and change), all sessions end, and after a checkpoint every block is at home as it was.
#[test]
fn no_change_is_lost_and_nobody_waits_for_ever() {
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let mut config = small();
        config.frames = dice.one_of(&[16, 17, 24]);
        config.working_sets = 1 + dice.below(4) as u32;
        config.writers = 1 + dice.below(3) as u32;
        config.batch_blocks = dice.one_of(&[1, 2, 4, 8]);
        if config.batch_blocks >= 4 && dice.below(2) == 0 {
            let frames = dice.one_of(&[16, 19]);
            config.pools.push(PoolSize { block_size: LONG_SIZE, frames });
        }
        config.ring_depth = dice.one_of(&[1, 3, 8]);
        config.io_slaves = dice.one_of(&[0, 0, 0, 2]);
        config.doublewrite = dice.below(4) > 0;
        config.filesystem_io = dice.one_of(&FilesystemIo::ALL);
        let sessions = 1 + dice.below(8);
        let toy = Toy { flush: Nanos(dice.one_of(&[0, 30_000, 300_000])), ..Toy::default() };
        let simulation = racy(seed, &config, BLOCKS as u32);
        let outside = toy.clone();
        let report = simulation.run(move |world, session| {
            let bed = Bed::open(world, config, &toy, session);
            let started = (0..sessions).map(|number| {
                let dice = Dice(seed << 8 | number);
                bed.session("user", session, move |bed, session| work(bed, dice, session))
            });
            for user in started.collect::<Vec<_>>() {
                user.join(session).expect("no panic");
            }
            bed.checkpoint(session);
            bed.close(session);
            let totals = world.os().totals();
            [WaitEvent::FreeBufferWaits, WaitEvent::RdbmsIpcReply].map(|event| {
                assert_eq!(totals.event(event).timeouts, 0, "a wake-up was lost: {event}");
            })
        });
        report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        let log = outside.log();
        let newest = log.newest(u64::MAX);
        for (address, version) in versions(&report.disks["disk"]) {
            let expected = newest.get(&address).copied().unwrap_or(0);
            assert_eq!(version, Some(expected), "seed {seed}: block {address}");
        }
        assert!(newest.values().all(|number| *number <= log.durable), "seed {seed}");
    }
}

/// The same seed gives the same run.
#[test]
fn a_seed_is_a_run() {
    let run = |seed| {
        let config = small();
        let toy = Toy::default();
        let report = racy(seed, &config, BLOCKS as u32).run(move |world, session| {
            let bed = Bed::open(world, config, &toy, session);
            let one = bed.session("user", session, |bed, session| work(bed, Dice(1), session));
            work(&bed, Dice(2), session);
            one.join(session).expect("no panic");
            bed.close(session);
        });
        (report.log_hash, report.log_lines)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

/// Most of the time all is clean, so that what a look at the queues misses isn't hidden by an older
/// change; what the checkpoint is said to have passed is on disk at that moment.
#[test]
fn the_checkpoint_never_passes_a_change_that_is_not_written() {
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut config = small();
        config.working_sets = 1 + dice.below(4) as u32;
        config.writers = 1 + dice.below(3) as u32;
        let (toy, users) = (Toy::default(), 1 + dice.below(3));
        run(racy(seed, &config, BLOCKS as u32), move |world, session| {
            let bed = Bed::open(world, config, &toy, session);
            let users = (0..users).map(|user| {
                let mut dice = Dice(seed << 8 | user);
                bed.session("user", session, move |bed, session| {
                    for _ in 0..15 {
                        for _ in 0..1 + dice.below(2) {
                            bed.change(dice.below(6) as u32, session).expect("no fault");
                        }
                        session.charge_nanos(Nanos(dice.below(300_000)));
                        bed.checkpoint(session);
                    }
                })
            });
            let users = users.collect::<Vec<_>>();
            let mut seen = 0;
            while !users.iter().all(|user| user.has_ended()) {
                seen = bed.check_checkpoint(seen, session);
                session.charge_nanos(Nanos(1_000));
            }
            users.iter().for_each(|user| user.join(session).expect("no panic"));
            bed.check_checkpoint(seen, session);
            bed.close(session);
        });
    }
}

/// Who only looks at blocks while others write them for the first time finds none damaged.
#[test]
fn a_block_that_is_written_while_one_looks_is_not_damaged() {
    for seed in 0..100 {
        let config = CacheConfig { doublewrite: false, frames: 32, ..small() };
        let report = slow(seed, &config, BLOCKS as u32).run(move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let changer = bed.session("changer", session, |bed, session| {
                for block in 0..BLOCKS as u32 {
                    let pin = bed.cache.pin_new(dba(block), session).expect("a frame");
                    bed.change_pinned(&pin, session);
                    drop(pin);
                    bed.checkpoint(session);
                }
            });
            let looker = bed.session("looker", session, |bed, session| {
                for block in (0..BLOCKS as u32).flat_map(|block| [block; 4]) {
                    let found = bed.cache.pin_if_written(dba(block), session);
                    found.map(drop).unwrap_or_else(|stop| panic!("said: {stop}"));
                }
            });
            let ok = [changer.join(session).is_ok(), looker.join(session).is_ok()];
            bed.close(session);
            ok
        });
        assert_eq!(report.result, Ok([true, true]), "seed {seed}");
    }
}

/// A panic in the middle of a change leaves a half-changed block, and raises the halt before the
/// block's latch goes: no writer writes the block then.
#[test]
fn a_block_whose_change_was_broken_off_is_not_written() {
    for seed in 0..400 {
        let config =
            CacheConfig { batch_blocks: 16, ring_depth: 16, doublewrite: false, ..small() };
        let simulation = racy(seed, &config, BLOCKS as u32);
        let report = simulation.run(move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            for block in 0..12 {
                bed.change(block, session).expect("no fault");
            }
            let pin = bed.cache.pin_or_unwritten(dba(11), session).expect("no fault");
            let mut block = pin.exclusive(FrameOrder::Heap, session);
            block.will_change();
            block.bytes_for_apply()[1_024..].fill(7);
            bed.cache.request_checkpoint(common::rba(100), session);
            session.charge_nanos(Nanos(Dice(seed).below(60_000)));
            bed.halt.raise("a change was broken off", session);
            drop(block);
            drop(pin);
            bed.close(session);
        });
        report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        // Every block at home is one that a whole change made.
        versions(&report.disks["disk"]);
    }
}
