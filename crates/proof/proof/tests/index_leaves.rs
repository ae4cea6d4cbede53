//! Leaves of an index that a snapshot sees entries in stay; and the engine broken on purpose, to
//! see that this is noticed.
#![forbid(unsafe_code)]

use std::ops::Bound;
use std::path::Path;

use access::{Direction, Index, RowAddress};
use ids::{BlockSize, Dba};
use instance::{Creation, Instance, Parameters, Transaction};
use os::Session;
use os::probe::DurableWrite;
use sim::fs::FileSystem;
use sim::{Perturbation, World};
use stop::{Failpoint, Failpoints};
use txn::View;

const BLOCK: u64 = 2048;

fn open(world: &World, failpoints: Failpoints, session: &Session) -> Instance {
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 1_000 * BLOCK,
        extent_blocks: 4,
        log_file_bytes: 2 * u64::from(redo::LOG_BLOCKS_MIN) * 4096,
        ..Creation::default()
    };
    let parameters = Parameters {
        db_cache_size: 96 * BLOCK,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        failpoints,
        ..Parameters::default()
    };
    let (disk, directory) = (world.disk(), Path::new("/db"));
    Instance::create(&disk, directory, &creation, &parameters, session).expect("created");
    Instance::open(&disk, directory, &parameters, session).expect("opened")
}

/// An entry with a key of which a leaf has few.
fn entry(number: u32) -> (Vec<u8>, RowAddress) {
    let mut key = vec![b'k'; 150];
    key.extend_from_slice(&number.swap_bytes().to_le_bytes());
    (key, RowAddress { block: Dba::new(1, number), slot: 0 })
}

fn change(
    (instance, index): (&Instance, &Index),
    (inserted, deleted): (std::ops::Range<u32>, std::ops::Range<u32>),
    session: &Session,
) {
    let mut transaction = Transaction::new();
    for (key, row) in inserted.map(entry) {
        index.insert(&mut transaction, &key, row, session).expect("inserted");
    }
    for (key, row) in deleted.map(entry) {
        assert!(index.delete(&mut transaction, &key, row, session).expect("deleted"));
    }
    instance.commit(transaction, session).expect("committed");
}

fn count(index: &Index, view: View, session: &Session) -> usize {
    let everything = (Bound::Unbounded, Bound::Unbounded);
    let mut cursor = index.cursor(everything, Direction::Ascending, view);
    (0..).take_while(|_| cursor.next(session).expect("read").is_some()).count()
}

/// How many of 200 entries a snapshot sees after most were deleted, and the index has grown; and
/// how many blocks are free then, and when it has grown again without the snapshot.
fn seen(failpoints: Failpoints) -> (usize, [usize; 2]) {
    let disk = FileSystem::new(1 << 30);
    let simulation = proof::machine_for(failpoints, 1, disk, Perturbation::NONE);
    let report = simulation.run(move |world, session| {
        let instance = open(world, failpoints, session);
        let (space, transactions) = (instance.space(), instance.transactions());
        let system = space.tablespaces(session)[0].name.clone();
        let made = Index::create(&system, "i", false, space, transactions, session);
        let (index, free) = (made.expect("made"), |index: &Index| {
            let listed = space.free_blocks(index.segment().header, session).expect("read");
            listed.sound().expect("in order").len()
        });
        let both = (&instance, &index);
        change(both, (0..200, 0..0), session);
        let snapshot = transactions.snapshot(None, session).expect("a snapshot");
        let view = transactions.view_of(&snapshot, None);
        change(both, (0..0, 0..150), session);
        change(both, (200..260, 0..0), session);
        let (seen, free_before) = (count(&index, view, session), free(&index));
        drop(snapshot);
        change(both, (260..300, 0..0), session);
        let free = [free_before, free(&index)];
        index.check(&mut |_, _| (), session).expect("in order");
        drop(index);
        instance.shutdown(session).expect("shut in good order");
        (seen, free)
    });
    report.result.unwrap_or_else(|failure| panic!("{failpoints:?}: {failure}"))
}

#[test]
fn a_leaf_stays_as_long_as_a_snapshot_sees_entries_in_it() {
    let (seen, [free_before, free]) = seen(Failpoints::NONE);
    assert_eq!((seen, free_before), (200, 0));
    assert!(free > 0, "and then it goes");
}

#[test]
fn leaves_that_are_taken_out_early_are_noticed() {
    let (seen, _) = seen(Failpoints::only(Failpoint::TakeOutEarly));
    assert!(seen < 200, "the snapshot sees all");
}
