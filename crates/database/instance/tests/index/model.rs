//! One session against a map: inserts, deletes, savepoints, rollbacks, commits, ranges.

use std::collections::BTreeSet;
use std::ops::Bound;

use access::{Direction, Index, Inserted, RowAddress};
use ids::BlockSize;
use instance::{Instance, Transaction};
use os::Session;

use crate::common::{
    Dice, Entry, bed, between, check, check_instance, database, ended, index, insert_array, left,
    machine, open_as, row, seen, shut, sized,
};

type Model = BTreeSet<Entry>;

/// Keys that share beginnings, of any length, many of them equal.
fn key(dice: &mut Dice, longest: usize) -> Vec<u8> {
    let length = match dice.below(8) {
        0 => longest,
        1 => dice.below(longest as u64 + 1) as usize,
        _ => dice.below(6) as usize,
    };
    let fill = dice.below(3) as u8;
    let mut key = vec![fill; length];
    for at in [0, 1, length / 2, length.saturating_sub(1)] {
        if at < length {
            key[at] = dice.below(4) as u8;
        }
    }
    key
}

fn has_key(model: &Model, key: &[u8]) -> Option<RowAddress> {
    let from = (key.to_vec(), row(0));
    model.range(from..).next().filter(|(found, _)| found == key).map(|(_, row)| *row)
}

/// Inserts up to 40 entries together, most of them side by side. If one is a duplicate, none stays.
fn array(
    (instance, index): (&Instance, &Index),
    transaction: &mut Transaction,
    model: &mut Model,
    dice: &mut Dice,
    session: &Session,
) {
    let mut beginning = key(dice, 5);
    let mut new = |dice: &mut Dice| {
        if dice.below(8) == 0 {
            beginning = key(dice, index.key_max() - 4);
        }
        let mut key = beginning.clone();
        key.extend_from_slice(&(dice.below(4_000) as u32).to_le_bytes()[..2]);
        (key, row(dice.below(40)))
    };
    let mut entries: Vec<Entry> = (0..dice.below(40)).map(|_| new(dice)).collect();
    let savepoint = transaction.savepoint();
    let inserted = insert_array(index, transaction, &mut entries, session).expect("inserted");
    let mut tried = model.clone();
    let expected = entries.iter().find_map(|(key, row)| {
        let there = match index.is_unique() {
            true => has_key(&tried, key),
            false => tried.contains(&(key.clone(), *row)).then_some(*row),
        };
        tried.insert((key.clone(), *row));
        there.map(|there| ((key.clone(), *row), there))
    });
    assert_eq!(inserted, expected);
    match expected {
        None => *model = tried,
        Some(_) => {
            let transactions = instance.transactions();
            transactions.rollback_to(transaction, savepoint, session).expect("taken back");
        }
    }
}

fn step(
    index: &Index,
    transaction: &mut Transaction,
    model: &mut Model,
    dice: &mut Dice,
    session: &Session,
) {
    let any = dice.below(1 + model.len() as u64) as usize;
    let known = model.iter().nth(any).cloned();
    match known {
        Some((key, row)) if dice.below(5) < 2 => {
            assert!(index.delete(transaction, &key, row, session).expect("deleted"));
            assert!(!index.delete(transaction, &key, row, session).expect("looked for"));
            model.remove(&(key, row));
        }
        _ => {
            let (key, row) = (key(dice, index.key_max()), row(dice.below(40)));
            let there = match index.is_unique() {
                true => has_key(model, &key),
                false => model.contains(&(key.clone(), row)).then_some(row),
            };
            let inserted = index.insert(transaction, &key, row, session).expect("inserted");
            match there {
                Some(there) => assert_eq!(inserted, Inserted::Duplicate(there)),
                None => {
                    assert_eq!(inserted, Inserted::Done);
                    model.insert((key, row));
                }
            }
        }
    }
}

fn compare(
    (instance, index): (&Instance, &Index),
    transaction: Option<&Transaction>,
    (model, dice): (&Model, &mut Dice),
    session: &Session,
) {
    let entries: Vec<Entry> = model.iter().cloned().collect();
    assert_eq!(seen(instance, index, transaction, session), entries);
    let transactions = instance.transactions();
    let snapshot = transactions.snapshot(transaction, session).expect("a snapshot");
    let view = transactions.view_of(&snapshot, transaction);
    for _ in 0..3 {
        let (from, to) = (key(dice, 4), key(dice, index.key_max()));
        let range = match dice.below(4) {
            0 => (Bound::Included(&from[..]), Bound::Included(&to[..])),
            1 => (Bound::Excluded(&from[..]), Bound::Excluded(&to[..])),
            2 => (Bound::Excluded(&from[..]), Bound::Unbounded),
            _ => (Bound::Unbounded, Bound::Included(&to[..])),
        };
        let is_in = |key: &[u8]| {
            let after = match range.0 {
                Bound::Included(from) => key >= from,
                Bound::Excluded(from) => key > from,
                Bound::Unbounded => true,
            };
            after
                && match range.1 {
                    Bound::Included(to) => key <= to,
                    Bound::Excluded(to) => key < to,
                    Bound::Unbounded => true,
                }
        };
        let mut expected: Vec<Entry> =
            entries.iter().filter(|(key, _)| is_in(key)).cloned().collect();
        let up = between(index, range, Direction::Ascending, view, session);
        assert_eq!(up, expected, "{range:?}");
        expected.reverse();
        assert_eq!(between(index, range, Direction::Descending, view, session), expected);
        let found = index.find(view, &from, session).expect("read");
        assert_eq!(found, has_key(model, &from));
    }
}

fn life(instance: &Instance, index: &Index, seed: u64, session: &Session) -> Model {
    let (mut dice, mut model) = (Dice(seed), Model::new());
    for _ in 0..25 {
        let (mut tried, mut transaction) = (model.clone(), Transaction::new());
        for _ in 0..1 + dice.below(3) {
            let (savepoint, before) = (transaction.savepoint(), tried.clone());
            for _ in 0..dice.below(30) {
                match dice.below(10) {
                    0 => array((instance, index), &mut transaction, &mut tried, &mut dice, session),
                    _ => step(index, &mut transaction, &mut tried, &mut dice, session),
                }
            }
            if dice.below(3) == 0 {
                let transactions = instance.transactions();
                let back = transactions.rollback_to(&mut transaction, savepoint, session);
                back.expect("taken back");
                tried = before;
            }
            compare((instance, index), Some(&transaction), (&tried, &mut dice), session);
            // Others see what was committed.
            compare((instance, index), None, (&model, &mut dice), session);
        }
        match dice.below(3) {
            0 => instance.rollback(transaction, session).expect("rolled back"),
            _ => {
                instance.commit(transaction, session).expect("committed");
                model = tried;
            }
        }
        compare((instance, index), None, (&model, &mut dice), session);
    }
    let entries: Vec<Entry> = model.iter().cloned().collect();
    check(index, &entries, session);
    check_instance(instance, session);
    model
}

fn does_what_a_set_does(size: BlockSize, unique: bool, seeds: u64) {
    let base = database(size, unique);
    for seed in 0..seeds {
        let mut report = machine(seed, base.clone()).run(move |world, session| {
            let instance = open_as(&sized(size), world, session);
            let index = index(&instance, session);
            let model = life(&instance, &index, seed, session);
            drop(index);
            shut(instance, session);
            model
        });
        let disk = left(&mut report);
        let model: Vec<Entry> = ended(report, seed).into_iter().collect();
        bed::with_instance(machine(seed, disk), sized(size), move |instance, session| {
            check(&index(instance, session), &model, session);
        });
    }
}

#[test]
fn an_index_does_what_a_set_does() {
    does_what_a_set_does(BlockSize::KIB_2, false, 40);
}

#[test]
fn a_unique_index_does_what_a_map_does() {
    does_what_a_set_does(BlockSize::KIB_2, true, 40);
}

#[test]
fn large_blocks_do_the_same() {
    does_what_a_set_does(BlockSize::KIB_8, false, 4);
    does_what_a_set_does(BlockSize::KIB_32, true, 2);
}
