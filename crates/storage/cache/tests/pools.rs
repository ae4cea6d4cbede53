//! Blocks of several sizes in one cache: each size has buffers of its own, files and pools come
//! while others are at work, and writers serve them all.
#![forbid(unsafe_code)]

mod common;

use std::path::Path;

use cache::doublewrite::restore;
use cache::{CacheConfig, DataFile, PoolSize};
use common::{
    Bed, DATA, DOUBLEWRITE, FILE, LONG_DATA, LONG_FILE, LONG_SIZE, SIZE, Seen, Toy, content, dba,
    disk, long, racy, slow, small, versions, with_long,
};
use ids::{BlockSize, Scn};
use latch::FrameOrder;
use os::Session;
use sim::{Simulation, World};
use stop::RefusalKind;
use testbed::{Dice, run};
use waits::{Nanos, Statistic, WaitEvent};

const BLOCKS: u32 = 40;

/// A block has a buffer of its size, and blocks of one size don't drive out those of another.
#[test]
fn each_size_has_buffers_of_its_own() {
    let config = with_long();
    let report = racy(1, &config, BLOCKS).run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        let sizes = [FILE, LONG_FILE].map(|file| bed.cache.block_size_of(file, session));
        assert_eq!(sizes, [Some(SIZE), Some(LONG_SIZE)]);
        let buffers = [SIZE, LONG_SIZE].map(|size| bed.cache.buffers(size, session));
        assert_eq!(buffers, [16, 8]);
        let pins =
            [dba(3), long(3)].map(|at| bed.cache.pin_or_unwritten(at, session).expect("no fault"));
        let bytes = pins.each_ref().map(|pin| pin.shared(FrameOrder::Heap, session).len());
        assert_eq!(bytes, [SIZE.bytes(), LONG_SIZE.bytes()]);
        drop(pins);
        for block in 0..8 {
            bed.read_at(long(block), session).expect("no fault");
        }
        for block in 0..BLOCKS {
            bed.read(block, session).expect("no fault");
        }
        let before = world.os().totals().statistic(Statistic::PhysicalReads);
        for block in 0..8 {
            bed.read_at(long(block), session).expect("no fault");
        }
        bed.close(session);
        world.os().totals().statistic(Statistic::PhysicalReads) - before
    });
    assert_eq!(report.result, Ok(0), "long blocks were driven out by short ones");
}

/// A session uses all frames that no block lives in, of whichever set, before a block has to go
/// (CB33).
#[test]
fn no_block_goes_while_there_are_free_frames() {
    let config = CacheConfig { frames: 32, working_sets: 4, ..small() };
    let report = racy(1, &config, BLOCKS).run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        for block in (0..32).chain(0..32) {
            bed.read(block, session).expect("no fault");
        }
        bed.close(session);
        world.os().totals().statistic(Statistic::PhysicalReads)
    });
    assert_eq!(report.result, Ok(32), "blocks went though there were free frames");
}

/// Memory of buffers can be touched before it is taken, and a block that has come there meanwhile
/// isn't.
#[test]
fn a_block_is_not_touched_with_its_memory() {
    let config = CacheConfig { frames: 32, working_sets: 4, ..small() };
    let report = racy(1, &config, BLOCKS).run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        let free = bed.cache.untouched(session.thread(), session);
        // One for each set: they are smaller than a huge page.
        assert_eq!(free.len(), 4);
        free.iter().for_each(|frame| bed.cache.touch(*frame, session));
        let bytes = |block| {
            let pin = bed.cache.pin_or_unwritten(dba(block), session).expect("no fault");
            pin.shared(FrameOrder::Heap, session).to_vec()
        };
        let before: Vec<_> = (0..32).map(bytes).collect();
        free.iter().for_each(|frame| bed.cache.touch(*frame, session));
        assert!((0..32).map(bytes).eq(before), "a block has changed");
        assert_eq!(bed.cache.untouched(session.thread(), session), []);
        bed.close(session);
    });
    assert_eq!(report.result, Ok(()));
}

/// Opens the file of longer blocks while the cache is in use, with a pool for it.
fn add_long(bed: &Bed, world: &World, frames: u32, session: &Session) {
    bed.cache.grow_pool(LONG_SIZE, frames, session).expect("there is room");
    let options = bed.cache.config().filesystem_io.file_options();
    let file = world.disk().open(Path::new(LONG_DATA), options, session).expect("it exists");
    bed.cache
        .add_file(DataFile::new(LONG_FILE, file, LONG_SIZE), session)
        .expect("there are buffers");
}

/// A file, its pool, and more buffers come, and buffers go, while sessions and writers are at work:
/// no change is lost, nobody waits for ever, and after a checkpoint every block of both files is at
/// home.
#[test]
fn files_and_pools_come_and_go_while_others_are_at_work() {
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut config = CacheConfig { frames_max: 40, ..small() };
        config.working_sets = 1 + dice.below(4) as u32;
        config.writers = 1 + dice.below(3) as u32;
        let simulation = racy(seed, &with_long(), BLOCKS);
        let toy = Toy { flush: Nanos(dice.one_of(&[0, 100_000])), ..Toy::default() };
        let outside = toy.clone();
        let report = simulation.run(move |world, session| {
            let bed = Bed::open(world, config, &toy, session);
            let short = (0..2).map(|user| {
                let mut dice = Dice(seed << 8 | user);
                bed.session("short", session, move |bed, session| {
                    for _ in 0..30 {
                        bed.change(dice.below(BLOCKS.into()) as u32, session).expect("no fault");
                    }
                })
            });
            let mut users: Vec<_> = short.collect();
            session.charge_nanos(Nanos(dice.below(300_000)));
            add_long(&bed, world, 8, session);
            users.extend((2..4).map(|user| {
                let mut dice = Dice(seed << 8 | user);
                bed.session("long", session, move |bed, session| {
                    for _ in 0..30 {
                        let address = long(dice.below(BLOCKS.into()) as u32);
                        bed.change_at(address, session).expect("no fault");
                    }
                })
            }));
            session.charge_nanos(Nanos(dice.below(300_000)));
            bed.cache.grow_pool(LONG_SIZE, 4 + dice.below(5) as u32, session).expect("room");
            bed.cache.grow_pool(SIZE, 5, session).expect("room");
            for (size, fewer) in [(SIZE, 5 + dice.below(2)), (LONG_SIZE, dice.below(6))] {
                session.charge_nanos(Nanos(dice.below(300_000)));
                let before = bed.cache.buffers(size, session);
                bed.cache.shrink_pool(size, fewer as u32, session).expect("enough");
                assert_eq!(bed.cache.buffers(size, session), before - fewer as u32);
            }
            bed.cache.grow_pool(SIZE, 4, session).expect("what has gone is there again");
            users.iter().for_each(|user| user.join(session).expect("no panic"));
            bed.checkpoint(session);
            bed.close(session);
            let totals = world.os().totals();
            assert_eq!(totals.event(WaitEvent::FreeBufferWaits).timeouts, 0, "a lost wake-up");
        });
        report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        let newest = outside.log().newest(u64::MAX);
        for (address, version) in versions(&report.disks["disk"]) {
            let expected = newest.get(&address).copied().unwrap_or(0);
            assert_eq!(version, Some(expected), "seed {seed}: block {address}");
        }
    }
}

/// A pool that becomes smaller gives away what is used least. Where all is dirty it waits for the
/// writer, for no block in particular.
#[test]
fn a_pool_that_becomes_smaller_keeps_what_is_used() {
    let mut simulation = Simulation::new(1);
    simulation.disks = vec![disk(&small(), BLOCKS)];
    let (read_again, waits) = run(simulation, |world, session| {
        let bed = Bed::open(world, small(), &Toy::default(), session);
        let has = bed.cache.buffers(SIZE, session);
        for block in 0..has {
            bed.change(block, session).expect("no fault");
        }
        bed.checkpoint(session);
        for block in (0..3).cycle().take(30) {
            bed.read(block, session).expect("no fault");
        }
        bed.cache.shrink_pool(SIZE, has - 6, session).expect("enough are left");
        let before = world.os().totals().statistic(Statistic::PhysicalReads);
        for block in 0..3 {
            bed.read(block, session).expect("no fault");
        }
        let read_again = world.os().totals().statistic(Statistic::PhysicalReads) - before;
        for block in 0..6 {
            bed.change(block, session).expect("no fault");
        }
        let seen = Seen::of(session);
        bed.cache.shrink_pool(SIZE, 2, session).expect("enough are left");
        let waits = seen.take(WaitEvent::FreeBufferWaits);
        bed.close(session);
        (read_again, waits.iter().map(|(p, _)| *p).collect::<Vec<_>>())
    });
    assert_eq!(read_again, 0);
    assert!(!waits.is_empty() && waits.iter().all(|p| p[..2] == [0, 0]), "{waits:?}");
}

/// What can't be served is refused by name: a file without buffers, one that is there, more
/// buffers than there is room for, and blocks too long for a batch.
#[test]
fn what_can_not_be_served_is_refused() {
    let config = CacheConfig { frames_max: 20, ..small() };
    let report = racy(1, &with_long(), BLOCKS).run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        let options = bed.cache.config().filesystem_io.file_options();
        let open = || world.disk().open(Path::new(LONG_DATA), options, session).expect("it exists");
        let cache = &bed.cache;
        let refused = [
            cache.add_file(DataFile::new(LONG_FILE, open(), LONG_SIZE), session),
            cache.add_file(DataFile::new(FILE, open(), SIZE), session),
            cache.grow_pool(LONG_SIZE, 5, session),
            cache.grow_pool(BlockSize::KIB_32, 4, session),
            cache.shrink_pool(SIZE, cache.buffers(SIZE, session), session),
            cache.shrink_pool(LONG_SIZE, 1, session),
        ];
        bed.close(session);
        refused.map(|refused| refused.expect_err("refused").refusal().expect("not a halt"))
    });
    let kinds = [RefusalKind::Invalid, RefusalKind::AlreadyExists];
    assert_eq!(report.result, Ok([0, 1, 0, 0, 0, 0].map(|kind| kinds[kind])));
}

/// A batch covers what is left of the middle of a longer block of the batch before: else what
/// somebody has stored there, which looks like a block, would be taken for a copy.
#[test]
fn what_is_stored_inside_a_block_is_never_taken_for_a_copy() {
    let config =
        CacheConfig { pools: vec![PoolSize { block_size: LONG_SIZE, frames: 8 }], ..small() };
    let mut simulation = Simulation::new(1);
    simulation.disks = vec![disk(&config, BLOCKS)];
    let report = simulation.run(move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        bed.change_at(long(0), session).expect("no fault");
        {
            let pin = bed.cache.pin_or_unwritten(long(0), session).expect("no fault");
            let mut block = pin.exclusive(FrameOrder::Heap, session);
            block.will_change();
            let mut forged = content(dba(1), 100);
            format::seal(&mut forged, dba(1));
            block.bytes_for_apply()[SIZE.bytes()..].copy_from_slice(&forged);
        }
        bed.checkpoint(session);
        bed.change(0, session).expect("no fault");
        bed.checkpoint(session);
        bed.close(session);
    });
    report.result.expect("no failure");
    let mut fs = report.disks["disk"].clone();
    fs.close_all();
    let file = fs.open(DATA).expect("it exists");
    fs.write(file, SIZE.bytes() as u64, &vec![1; SIZE.bytes()], true).expect("room");
    fs.close(file).expect("it is open");
    let mut simulation = Simulation::new(1);
    simulation.disks[0].content = fs;
    let report = simulation.run(move |world, session| {
        let options = os::FilesystemIo::SetAll.file_options();
        let open = |path| world.disk().open(Path::new(path), options, session).expect("it exists");
        let files = [
            DataFile::new(FILE, open(DATA), SIZE),
            DataFile::new(LONG_FILE, open(LONG_DATA), LONG_SIZE),
        ];
        restore(&files, &open(DOUBLEWRITE), Scn::new(0), Scn::new(200), session).expect("no fault")
    });
    assert_eq!(report.result.expect("no failure").restored, []);
}

/// The doublewrite file is read in pieces of 8 MiB. A copy that lies across two of them is found.
#[test]
fn a_copy_across_two_pieces_is_found() {
    const PIECE: u64 = 8 << 20;
    for pieces in [1, 2] {
        let mut fs = disk(&with_long(), BLOCKS).content;
        let file = fs.open(DOUBLEWRITE).expect("it exists");
        fs.set_len(file, (pieces + 1) * PIECE).expect("room");
        let mut copy = vec![0; LONG_SIZE.bytes()];
        copy.copy_from_slice(&content(long(3), 7));
        format::seal(&mut copy, long(3));
        fs.write(file, pieces * PIECE - SIZE.bytes() as u64, &copy, true).expect("room");
        fs.close(file).expect("it is open");
        let mut simulation = Simulation::new(1);
        simulation.disks = vec![disk(&with_long(), BLOCKS)];
        simulation.disks[0].content = fs;
        let report = simulation.run(move |world, session| {
            let options = os::FilesystemIo::SetAll.file_options();
            let open = |path| world.disk().open(Path::new(path), options, session).expect("there");
            let files = [
                DataFile::new(FILE, open(DATA), SIZE),
                DataFile::new(LONG_FILE, open(LONG_DATA), LONG_SIZE),
            ];
            restore(&files, &open(DOUBLEWRITE), Scn::new(0), Scn::new(200), session)
                .expect("no fault")
        });
        assert_eq!(report.result.expect("no failure").restored, [long(3)]);
    }
}

/// A file can be added and used at the moment when its size gets its first buffers.
#[test]
fn a_pool_that_has_buffers_can_be_used() {
    for seed in 0..100 {
        let config = CacheConfig { frames_max: 40, ..small() };
        let report = slow(seed, &with_long(), BLOCKS).run(move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let options = bed.cache.config().filesystem_io.file_options();
            let file = world.disk().open(Path::new(LONG_DATA), options, session).expect("there");
            let grower = bed.session("grower", session, |bed, session| {
                bed.cache.grow_pool(LONG_SIZE, 8, session).expect("there is room");
            });
            let user = bed.session("user", session, move |bed, session| {
                while bed.cache.buffers(LONG_SIZE, session) == 0 {
                    session.relax(u32::MAX);
                }
                bed.cache
                    .add_file(DataFile::new(LONG_FILE, file, LONG_SIZE), session)
                    .expect("buffers");
                drop(bed.cache.pin_or_unwritten(long(3), session).expect("no fault"));
            });
            let ok = [grower.join(session).is_ok(), user.join(session).is_ok()];
            bed.close(session);
            ok
        });
        assert_eq!(report.result, Ok([true, true]), "seed {seed}");
    }
}
