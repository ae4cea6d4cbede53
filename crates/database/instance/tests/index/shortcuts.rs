//! Finds that follow shortcuts: they take fewer gets, and find the same when the index has changed
//! since the shortcuts were learned.

use access::Index;
use ids::BlockSize;
use instance::{Instance, Transaction};
use os::Session;
use waits::Statistic;

use crate::common::{
    Dice, all, check, database, index, join, machine, racy, row, start, with_instance,
};

/// Keys that are always there: each number that is a multiple of this.
const STAYS: u64 = 64;
/// Numbers of keys are below this.
const NUMBERS: u64 = 4_096;
/// The numbers of a piece, which a transaction fills or empties.
const PIECE: u64 = 512;

/// How keys are made: with so many bytes that all have in common, and so many behind the number.
type Shape = (usize, usize);

/// The number alone; a number behind what tells nothing; and one that begins to differ in its
/// eighth byte.
const SHAPES: [Shape; 3] = [(0, 30), (12, 20), (5, 20)];

fn key((before, behind): Shape, number: u64) -> Vec<u8> {
    let mut key = vec![b'q'; before];
    key.extend_from_slice(&(number as u32).swap_bytes().to_le_bytes());
    key.resize(key.len() + behind, b'q');
    key
}

fn insert(
    instance: &Instance,
    index: &Index,
    shape: Shape,
    numbers: impl Iterator<Item = u64>,
    session: &Session,
) {
    let mut transaction = Transaction::new();
    for number in numbers {
        let inserted = index.insert(&mut transaction, &key(shape, number), row(number), session);
        inserted.expect("inserted");
    }
    instance.commit(transaction, session).expect("committed");
}

/// Finds the key of a number as of now.
fn find(
    instance: &Instance,
    index: &Index,
    shape: Shape,
    number: u64,
    session: &Session,
) -> Option<access::RowAddress> {
    let transactions = instance.transactions();
    let snapshot = transactions.snapshot(None, session).expect("a snapshot");
    let view = transactions.view_of(&snapshot, None);
    index.find(view, &key(shape, number), session).expect("read")
}

/// An index of three levels: each find comes from the root, until shortcuts are learned.
#[test]
fn a_find_reads_one_block_once_shortcuts_are_learned() {
    with_instance(machine(1, database(BlockSize::KIB_2, true)), |instance, session| {
        let (index, shape) = (index(instance, session), SHAPES[0]);
        let is_there: fn(&u64) -> bool = |number| number % 2 == 0;
        insert(instance, &index, shape, (0..NUMBERS).filter(is_there), session);
        let gets = |is_there: fn(&u64) -> bool| {
            let count = || session.account().totals().statistic(Statistic::ConsistentGets);
            let before = count();
            for number in 0..NUMBERS {
                let found = find(instance, &index, shape, number, session);
                assert_eq!(found, is_there(&number).then(|| row(number)));
            }
            count() - before
        };
        let few = NUMBERS + NUMBERS / 8;
        gets(is_there);
        let all = gets(is_there);
        assert!(all < few, "{all} gets: all but the last leaf have shortcuts");
        // Each leaf is split, and its shortcut leads to the left half.
        insert(instance, &index, shape, (0..NUMBERS).filter(|number| number % 2 > 0), session);
        gets(|_| true);
        let all = gets(|_| true);
        assert!(all < few, "{all} gets: they were learned again");
    });
}

/// Sessions find keys that stay, and others that come and go with their leaves.
#[test]
fn old_shortcuts_lead_to_what_is_there() {
    for seed in 0..24 {
        let shape = SHAPES[seed as usize % SHAPES.len()];
        with_instance(racy(seed, database(BlockSize::KIB_2, true)), move |instance, session| {
            let index = index(instance, session);
            insert(instance, &index, shape, (0..NUMBERS).step_by(STAYS as usize), session);
            let readers = (0..2).map(|reader| {
                let index = index.clone();
                start("reader", instance, session, move |instance, session| {
                    let mut dice = Dice(seed * 10 + reader);
                    for _ in 0..400 {
                        let number = dice.below(NUMBERS);
                        let found = find(instance, &index, shape, number, session);
                        let is_right =
                            found.map_or(!number.is_multiple_of(STAYS), |at| at == row(number));
                        assert!(is_right, "{number} is at {found:?}");
                    }
                })
            });
            let readers = readers.collect();
            let mut dice = Dice(seed);
            for _ in 0..6 {
                let first = dice.below(NUMBERS / PIECE) * PIECE;
                let numbers = || (first..first + PIECE).filter(|number| number % STAYS != 0);
                insert(instance, &index, shape, numbers(), session);
                let mut transaction = Transaction::new();
                for number in numbers() {
                    let key = key(shape, number);
                    let deleted = index.delete(&mut transaction, &key, row(number), session);
                    assert!(deleted.expect("deleted"), "{number} is there");
                }
                instance.commit(transaction, session).expect("committed");
            }
            join(readers, session);
            let stays = (0..NUMBERS).step_by(STAYS as usize);
            let stays: Vec<_> = stays.map(|number| (key(shape, number), row(number))).collect();
            check(&index, &stays, session);
            let transactions = instance.transactions();
            let snapshot = transactions.snapshot(None, session).expect("a snapshot");
            assert_eq!(all(&index, transactions.view_of(&snapshot, None), session), stays);
        });
    }
}
