//! Writers share the work.

use instance::{Creation, Parameters, Transaction};
use os::Session;
use waits::Statistic;

use crate::common::{
    Dice, TABLE, add, bed, creation, database_with, fill, join, machine, parameters, rows, start,
};
use crate::rows::Rows;

const WRITERS: u32 = 8;

/// What each writer has written, when four sessions have changed rows all over a table that is
/// several times as large as the cache.
fn blocks_written(seed: u64) -> Vec<u64> {
    let blocks = |count: u64| count * 2048;
    let creation = Creation {
        data_bytes: blocks(1_200),
        undo_bytes_max: blocks(1_600),
        doublewrite_slots: 4 * WRITERS,
        ..creation()
    };
    let content = database_with(creation, parameters(), |instance, session| {
        let table = Rows::create(instance, TABLE, session).expect("made");
        fill(instance, &table, 8_000, session);
    });
    let parameters = Parameters {
        db_cache_size: 128 * 2048,
        db_working_sets: WRITERS,
        db_writer_processes: WRITERS,
        ..parameters()
    };
    bed::with_instance(machine(seed, content), parameters.clone(), move |instance, session| {
        let addresses = rows(&Rows::open(instance, TABLE, session).expect("there"), session);
        let users = (0..4).map(|user| {
            let (addresses, mut dice) = (addresses.clone(), Dice(seed << 8 | user));
            start("user", instance, session, move |instance, session: &Session| {
                let table = Rows::open(instance, TABLE, session).expect("there");
                for _ in 0..1_000 {
                    let row = addresses[dice.below(addresses.len() as u64) as usize];
                    let mut transaction = Transaction::new();
                    add(&table, &mut transaction, row, 1, session).expect("changed");
                    instance.commit(transaction, session).expect("committed");
                }
            })
        });
        join(users.collect(), session);
        let running = session.os().running();
        let writers = running.iter().filter(|one| one.account.name().starts_with("fb_dbw"));
        writers.map(|one| one.account.statistic(Statistic::PhysicalWrites)).collect::<Vec<_>>()
    })
    .0
}

/// Rule cache/CB37: sessions take buffers from all working sets in turn, so no writer has most of
/// the work. (When each went on where it had found a buffer last, all of them stayed in the sets
/// of two writers, which wrote 8,815 blocks of 9,747.)
#[test]
fn eight_writers_write_equal_shares() {
    for seed in 0..4 {
        let written = blocks_written(seed);
        assert_eq!(written.len(), WRITERS as usize);
        let [least, most] = [written.iter().min(), written.iter().max()].map(|of| of.copied());
        assert!(least > Some(100) && most < least.map(|least| least * 3 / 2), "{written:?}");
    }
}
