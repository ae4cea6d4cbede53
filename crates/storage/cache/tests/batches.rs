//! What a writer does at once: batches beside one another, and syncs of several files.
#![forbid(unsafe_code)]

mod common;

use cache::{CacheConfig, RedoGate};
use common::{Bed, DOUBLEWRITE, Toy, dba, disk, long, small, with_long};
use ids::Dba;
use sim::model::DiskParameters;
use sim::{Perturbation, Simulation};
use testbed::run;
use waits::{Nanos, Statistic};

/// Every request takes 100 us, whatever else is asked.
const DEVICE: &str = r#"
name = "many at once"
kind = "fixed"
source = "by definition; stands for no device"
service_us = 100
servers = 64
"#;

/// How long the checkpoint of these blocks takes, and how many syncs it makes, with so many regions
/// of the doublewrite file for each writer.
fn checkpoint_of(blocks: &[Dba], config: CacheConfig, regions: u64) -> (Nanos, u64) {
    let mut simulation = Simulation::new(1);
    simulation.perturbation = Perturbation::NONE;
    let mut disk = disk(&config, 64);
    disk.model = DiskParameters::parse(DEVICE).expect("it is sound");
    let file = disk.content.open(DOUBLEWRITE).expect("it exists");
    let bytes = config.doublewrite_bytes() / u64::from(CacheConfig::FLYING_MAX) * regions;
    disk.content.set_len(file, bytes).expect("it has more");
    disk.content.sync(file).expect("no fault");
    disk.content.close(file).expect("it is open");
    simulation.disks = vec![disk];
    let blocks = blocks.to_vec();
    run(simulation, move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        for address in blocks {
            bed.change_at(address, session).expect("no fault");
        }
        let syncs = || world.os().totals().statistic(Statistic::FileSyncRequests);
        let (began, before) = (session.now(), syncs());
        bed.checkpoint(session);
        let took = session.now().since(began);
        bed.close(session);
        (took, syncs() - before)
    })
}

/// While a batch is synced the next is written (CB27); each has a region of the doublewrite file of
/// its own. Where a writer has only one region its batches wait for one another.
#[test]
fn a_batch_is_written_while_the_one_before_is_synced() {
    let blocks: Vec<Dba> = (0..48).map(dba).collect();
    let config = CacheConfig { frames: 64, ring_depth: 16, ..small() };
    let [one, two, three] =
        [1, 2, 3].map(|regions| checkpoint_of(&blocks, config.clone(), regions));
    assert_eq!([one.1, two.1, three.1], [24; 3], "two syncs a batch, for twelve batches");
    assert!(two.0.0 * 10 < one.0.0 * 6, "{two:?} with two regions, {one:?} with one");
    assert!(three.0.0 * 10 < one.0.0 * 5, "{three:?} with three regions, {one:?} with one");
    let without = CacheConfig { doublewrite: false, ..config };
    let (took, syncs) = checkpoint_of(&blocks, without, 1);
    assert_eq!(syncs, 12);
    assert!(took < three.0, "{took} without copies, {three:?} with");
}

/// The files of a batch are synced at once: it takes no longer with two files than with one.
#[test]
fn the_files_of_a_batch_are_synced_at_once() {
    let config = with_long();
    let (of_one, syncs_of_one) = checkpoint_of(&[dba(0)], config.clone(), 1);
    let (of_two, syncs_of_two) = checkpoint_of(&[dba(0), long(0)], config, 1);
    assert_eq!((syncs_of_one, syncs_of_two), (2, 3));
    assert!(of_two.0 < of_one.0 + 50_000, "{of_two} for two files, {of_one} for one");
}

/// What the checkpoint wants is taken from all sets in equal shares (CB34): the oldest block of
/// each set is written long before all that became dirty since.
#[test]
fn the_oldest_of_every_set_are_written_first() {
    const SETS: u32 = 4;
    const OF_EACH: u32 = 16;
    let config = CacheConfig { frames: SETS * OF_EACH, working_sets: SETS, ..small() };
    let mut simulation = Simulation::new(1);
    simulation.perturbation = Perturbation::NONE;
    simulation.disks = vec![disk(&config, SETS * OF_EACH)];
    let (when_the_oldest_were, in_all) = run(simulation, move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        // Each session has another set of which it takes buffers first.
        for first in (0..SETS).map(|set| set * OF_EACH) {
            let reader = bed.session("reader", session, move |bed, session| {
                for block in first..first + OF_EACH {
                    bed.read(block, session).expect("no fault");
                }
            });
            reader.join(session).expect("no panic");
        }
        let written = || world.os().totals().statistic(Statistic::PhysicalWrites);
        let first = |block: &u32| block.is_multiple_of(OF_EACH);
        for block in (0..SETS * OF_EACH).filter(first) {
            bed.change(block, session).expect("no fault");
        }
        let oldest = RedoGate::position(&bed.toy, session);
        for block in (0..SETS * OF_EACH).filter(|block| !first(block)) {
            bed.change(block, session).expect("no fault");
        }
        bed.cache.request_checkpoint(RedoGate::position(&bed.toy, session), session);
        bed.cache.checkpoint(oldest, session).expect("no halt");
        let when_the_oldest_were = written();
        bed.checkpoint(session);
        bed.close(session);
        (when_the_oldest_were, written())
    });
    assert_eq!(in_all, u64::from(SETS * OF_EACH));
    // Two batches; a batch of each set would be four.
    assert!(when_the_oldest_were <= in_all / 8, "{when_the_oldest_were} of {in_all}");
}

/// How many write requests a checkpoint of these blocks makes, changed in this order, all of them
/// in one batch.
fn writes_of(blocks: &'static [u32], config: CacheConfig) -> u64 {
    let mut simulation = Simulation::new(1);
    simulation.perturbation = Perturbation::NONE;
    simulation.disks = vec![disk(&config, 64)];
    run(simulation, move |world, session| {
        let bed = Bed::open(world, config, &Toy::default(), session);
        for block in blocks {
            bed.change(*block, session).expect("no fault");
        }
        let writes = || world.os().totals().statistic(Statistic::PhysicalWriteRequests);
        let before = writes();
        bed.checkpoint(session);
        bed.close(session);
        writes() - before
    })
}

/// Neighbours go home by one write, in whatever order they became dirty, if there is a copy of them
/// elsewhere (CB66).
#[test]
fn neighbours_are_written_home_together() {
    let config = CacheConfig { frames: 64, batch_blocks: 16, ring_depth: 16, ..small() };
    // A write of the copies, and 0 to 3, 7 and 8, 40.
    assert_eq!(writes_of(&[3, 8, 1, 40, 0, 7, 2], config.clone()), 1 + 3);
    let without = CacheConfig { doublewrite: false, ..config };
    assert_eq!(writes_of(&[3, 8, 1, 40, 0, 7, 2], without), 7);
}
