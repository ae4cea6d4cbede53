//! The shape of a tree: built from the bottom up, grown at its end, and keys that are too long.

use access::{Index, IndexBuilder, Inserted};
use ids::BlockSize;
use instance::{Instance, Transaction};
use os::Session;
use stop::RefusalKind;
use waits::Statistic;

use crate::common::{
    Dice, Entry, check, check_instance, database, index, machine, make, row, seen, with_instance,
};

fn entries(count: u64, unique: bool, seed: u64, longest: usize) -> Vec<Entry> {
    let mut dice = Dice(seed);
    let mut entries: Vec<Entry> = (0..count)
        .map(|number| {
            let most = if dice.below(9) == 0 { longest as u64 } else { 20 };
            let length = dice.below(most);
            let mut key = vec![7; length as usize];
            key.extend_from_slice(&(dice.below(1 << 20) as u32).to_le_bytes());
            key.truncate(longest);
            (key, row(number))
        })
        .collect();
    entries.sort();
    if unique {
        entries.dedup_by(|a, b| a.0 == b.0);
    }
    entries
}

fn build(index: &Index, entries: &[Entry], session: &Session) {
    let mut builder = IndexBuilder::new(index, session);
    for (key, row) in entries {
        builder.add(key, *row).expect("added");
    }
    assert_eq!(builder.finish().expect("built"), entries.len() as u64);
}

#[test]
fn what_is_built_from_the_bottom_up_is_in_order_and_can_be_changed() {
    for (unique, count) in [(false, 0), (true, 1), (false, 60), (true, 500), (false, 4_000)] {
        let base = database(BlockSize::KIB_2, unique);
        let (entries, disk) = with_instance(machine(count, base), move |instance, session| {
            let index = index(instance, session);
            let entries = entries(count, unique, count, index.key_max());
            build(&index, &entries, session);
            let built = check(&index, &entries, session);
            assert!(count < 4_000 || built.levels > 2, "{built:?}");
            assert_eq!(built.unposted, 0);
            let mut own = Transaction::new();
            for (key, row) in entries.iter().step_by(2) {
                assert!(index.delete(&mut own, key, *row, session).expect("deleted"));
            }
            for (key, row) in entries.iter().step_by(2) {
                let inserted = index.insert(&mut own, key, *row, session).expect("inserted");
                assert_eq!(inserted, Inserted::Done);
            }
            let inserted = index.insert(&mut own, b"another", row(9), session).expect("inserted");
            assert_eq!(inserted, Inserted::Done);
            assert_eq!(seen(instance, &index, None, session), entries);
            instance.rollback(own, session).expect("rolled back");
            check(&index, &entries, session);
            check_instance(instance, session);
            drop(index);
            entries
        });
        with_instance(machine(count, disk), move |instance, session| {
            check(&index(instance, session), &entries, session);
        });
    }
}

#[test]
fn a_builder_refuses_what_a_unique_index_cannot_have() {
    with_instance(machine(1, database(BlockSize::KIB_2, true)), |instance, session| {
        let index = index(instance, session);
        let mut builder = IndexBuilder::new(&index, session);
        builder.add(b"a", row(1)).expect("added");
        let stop = builder.add(b"a", row(2)).expect_err("a duplicate");
        assert_eq!(stop.refusal(), Some(RefusalKind::AlreadyExists), "{stop}");
        drop(builder);
        drop(index);
    });
}

/// Leaves of an index that grows at its end are full, not half full.
#[test]
fn an_index_that_grows_at_its_end_fills_its_leaves() {
    with_instance(machine(1, database(BlockSize::KIB_2, false)), |instance, session| {
        let index = index(instance, session);
        let mut own = Transaction::new();
        let mut expected = Vec::new();
        for number in 0..3_000_u32 {
            let key = [number / 65_536, number / 256 % 256, number % 256].map(|n| n as u8);
            index.insert(&mut own, &key, row(1), session).expect("inserted");
            expected.push((key.to_vec(), row(1)));
        }
        instance.commit(own, session).expect("committed");
        let checked = check(&index, &expected, session);
        // An entry takes 17 bytes, and a leaf has room for 113 of them.
        assert!(checked.leaves < 3_000 / 100, "{checked:?}");
        drop(index);
    });
}

/// A new leaf isn't read before it is written, and an entry behind all others is put into the last
/// leaf without a descent (rules cache/CB64 and access/BT41).
#[test]
fn an_index_that_grows_at_its_end_reads_no_new_block_and_descends_seldom() {
    with_instance(machine(1, database(BlockSize::KIB_2, true)), |instance, session| {
        let index = index(instance, session);
        let mut own = Transaction::new();
        let mut insert = |number: u32| {
            let bytes: Vec<u8> = number.to_le_bytes().into_iter().rev().collect();
            index.insert(&mut own, &bytes, row(1), session).expect("inserted");
        };
        insert(0);
        let count = |statistic| session.account().totals().statistic(statistic);
        let before = [Statistic::PhysicalReads, Statistic::CurrentGets].map(count);
        (1..3_000).for_each(&mut insert);
        let after = [Statistic::PhysicalReads, Statistic::CurrentGets].map(count);
        let (reads, gets) = (after[0] - before[0], after[1] - before[1]);
        assert!(reads < 10, "{reads} blocks were read for more than 25 new leaves");
        assert!(gets < 3 * 3_000, "{gets} gets for 3,000 entries");
        instance.commit(own, session).expect("committed");
        drop(index);
    });
}

/// Deleted and inserted again and again, by transactions one after the other: the leaves' space is
/// used again.
#[test]
fn space_of_committed_deletions_is_used_again() {
    with_instance(machine(1, database(BlockSize::KIB_2, false)), |instance, session| {
        let index = index(instance, session);
        for round in 0..60_u64 {
            let mut own = Transaction::new();
            for number in 0..20_u64 {
                let key = |round: u64| [number as u8, (round * 37 % 251) as u8];
                if round > 0 {
                    assert!(
                        index
                            .delete(&mut own, &key(round - 1), row(number), session)
                            .expect("deleted")
                    );
                }
                index.insert(&mut own, &key(round), row(number), session).expect("inserted");
            }
            instance.commit(own, session).expect("committed");
        }
        let entries = seen(instance, &index, None, session);
        let checked = check(&index, &entries, session);
        assert_eq!(checked.entries, 20);
        assert!(checked.leaves <= 2, "{checked:?}");
        drop(index);
    });
}

#[test]
fn keys_up_to_the_longest_are_taken_and_longer_ones_refused() {
    with_instance(machine(1, database(BlockSize::KIB_2, true)), |instance, session| {
        let (unique, other) = (index(instance, session), make("j", false, instance, session));
        for index in [&unique, &other] {
            longest_keys(instance, index, session);
        }
        drop((unique, other));
    });
}

fn longest_keys(instance: &Instance, index: &Index, session: &Session) {
    let mut own = Transaction::new();
    let too_long = vec![1; index.key_max() + 1];
    let stop = index.insert(&mut own, &too_long, row(1), session).expect_err("too long");
    assert!(stop.to_string().contains("it takes keys of up to"), "{stop}");
    // They differ in their last byte only: so separators are as long.
    for number in 0..200_u8 {
        let mut key = vec![1; index.key_max()];
        key[index.key_max() - 1] = number.wrapping_mul(77);
        let inserted = index.insert(&mut own, &key, row(number.into()), session);
        assert_eq!(inserted.expect("inserted"), Inserted::Done);
    }
    instance.commit(own, session).expect("committed");
    let entries = seen(instance, index, None, session);
    assert_eq!(entries.len(), 200);
    let checked = check(index, &entries, session);
    assert!(checked.levels > 3, "{checked:?}");
}
