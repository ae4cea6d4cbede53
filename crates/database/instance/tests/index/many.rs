//! Entries that went in by one change, and lie in several leaves when they are taken back
//! (rules access/BT39 and access/BT40).

use std::ops::Bound;

use access::{Current, Index, Inserted};
use ids::BlockSize;
use instance::{Instance, Parameters, Transaction};
use os::Session;
use sim::Outside;
use sim::fs::crash::CrashStates;
use stop::RefusalKind;
use txn::LockWait;
use waits::{Nanos, Statistic, WaitEvent};

use crate::common::{
    Entry, all, check, check_instance, database, ended, index, insert_array, join, left, machine,
    open, open_as, parameters, racy, row, run, seen, shut, start, with_instance,
};

/// The entries of the one change: so far apart that many others have room between them.
const APART: u64 = 64;
const MANY: u64 = 18;

fn key(number: u64) -> Vec<u8> {
    let mut key = (number as u32).swap_bytes().to_le_bytes()[1..].to_vec();
    key.resize(60, b'k');
    key
}

/// A cache with fewer blocks than the index has leaves: so a rollback reads while it goes from leaf
/// to leaf.
fn small() -> Parameters {
    Parameters { db_cache_size: 32 * 2048, ..parameters() }
}

fn many() -> Vec<Entry> {
    (0..MANY).map(|number| (key(number * APART), row(number))).collect()
}

/// Entries between those of the change, with keys as numbers behind each of them.
fn between(numbers: std::ops::Range<u64>) -> Vec<Entry> {
    let each = |number| numbers.clone().map(move |at| (number * APART + at, number * APART + at));
    (0..MANY).flat_map(each).map(|(at, number)| (key(at), row(10_000 + number))).collect()
}

fn inserted(index: &Index, transaction: &mut Transaction, entries: Vec<Entry>, session: &Session) {
    let mut entries = entries;
    let inserted = insert_array(index, transaction, &mut entries, session).expect("inserted");
    assert_eq!(inserted, None);
}

/// A transaction that has inserted the entries by one change, whose leaf was split since.
fn spread(instance: &Instance, index: &Index, session: &Session) -> (Transaction, Vec<Entry>) {
    let mut own = Transaction::new();
    inserted(index, &mut own, many(), session);
    let (mut other, others) = (Transaction::new(), between(1..APART));
    inserted(index, &mut other, others.clone(), session);
    instance.commit(other, session).expect("committed");
    (own, others)
}

#[test]
fn entries_of_one_change_are_taken_back_from_all_leaves_that_have_them() {
    for unique in [false, true] {
        with_instance(machine(1, database(BlockSize::KIB_2, unique)), |instance, session| {
            let (index, transactions) = (index(instance, session), instance.transactions());
            let before = transactions.snapshot(None, session).expect("a snapshot");
            let mut own = Transaction::new();
            let savepoint = own.savepoint();
            inserted(&index, &mut own, many(), session);
            let (mut other, others) = (Transaction::new(), between(1..APART));
            inserted(&index, &mut other, others.clone(), session);
            instance.commit(other, session).expect("committed");
            let mut both = [many(), others.clone()].concat();
            both.sort();
            let applied = || session.account().totals().statistic(Statistic::UndoRecordsApplied);
            // To a savepoint and in again, and then as a whole.
            for _ in 0..3 {
                assert_eq!(seen(instance, &index, Some(&own), session), both);
                assert_eq!(seen(instance, &index, None, session), others);
                let was = applied();
                transactions.rollback_to(&mut own, savepoint, session).expect("taken back");
                assert!(applied() > was);
                assert_eq!(seen(instance, &index, Some(&own), session), others);
                inserted(&index, &mut own, many(), session);
            }
            assert_eq!(all(&index, transactions.view_of(&before, None), session), []);
            instance.rollback(own, session).expect("rolled back");
            let leaves = check(&index, &others, session).leaves;
            assert!(leaves > 8, "{leaves} leaves");
            check_instance(instance, session);
            drop(before);
            drop(index);
        });
    }
}

/// Takes the first key as soon as it is free, and reads until the rollback is over. Returns how
/// often it read while the last entry wasn't taken back yet.
fn takes_first_key(instance: &Instance, is_over: &Outside<bool>, session: &Session) -> u64 {
    let index = index(instance, session);
    let (first, last) = (key(0), key((MANY - 1) * APART));
    for turn in 0.. {
        let mut own = Transaction::new();
        own.set_lock_wait(LockWait::NoWait);
        match index.insert(&mut own, &first, row(9_999), session) {
            Ok(inserted) => {
                assert_eq!(inserted, Inserted::Done);
                instance.commit(own, session).expect("committed");
                break;
            }
            Err(stop) => {
                assert_eq!(stop.refusal(), Some(RefusalKind::Busy), "{stop}");
                instance.rollback(own, session).expect("rolled back");
                session.relax(turn);
            }
        }
    }
    let is_held = || {
        let range = (Bound::Included(&last[..]), Bound::Included(&last[..]));
        matches!(index.find_current(range, None, session).expect("read"), Current::Held(_))
    };
    // A change of the leaf that notes the commit: the key's new entry isn't locked any more.
    let mut later = Transaction::new();
    let behind = [&first[..], &[0]].concat();
    index.insert(&mut later, &behind, row(9_998), session).expect("inserted");
    let (mut reads, transactions) = (0, instance.transactions());
    while !is_over.with(|is_over| *is_over) {
        let view = transactions.view(None, session).expect("no halt");
        let found = index.find(view, &first, session).expect("read");
        assert_eq!(found, Some(row(9_999)));
        reads += u64::from(is_held());
    }
    instance.rollback(later, session).expect("rolled back");
    let entries = seen(instance, &index, None, session);
    assert_eq!(entries.first(), Some(&(first, row(9_999))));
    assert_eq!(entries.len() as u64, 1 + MANY * (APART - 1));
    reads
}

/// A reader takes the change back in its copy, and its undo record isn't applied yet: the key's new
/// entry stays there.
#[test]
fn a_key_that_is_free_again_is_anothers_before_the_whole_change_is_taken_back() {
    let base = database(BlockSize::KIB_2, true);
    let mut reads = 0;
    for seed in 0..20 {
        let report = racy(seed, base.clone()).run(move |world, session| {
            let instance = open_as(&small(), world, session);
            let own_index = index(&instance, session);
            let (own, _) = spread(&instance, &own_index, session);
            let (is_over, reads) = (Outside::new(false), Outside::new(0));
            let (told, counted) = (is_over.clone(), reads.clone());
            let taker = start("taker", &instance, session, move |instance, session| {
                let read = takes_first_key(instance, &told, session);
                counted.with(|counted| *counted = read);
            });
            // The reader needs time while the change is taken back.
            instance.rollback(own, session).expect("rolled back");
            is_over.with(|is_over| *is_over = true);
            join(vec![taker], session);
            drop(own_index);
            shut(instance, session);
            reads.take()
        });
        reads += ended(report, seed);
    }
    assert!(reads > 0, "the change was always taken back before a read");
}

/// A session whose commits make the redo of a rollback durable while it goes on.
fn commits(instance: &Instance, is_over: &Outside<bool>, session: &Session) {
    let index = index(instance, session);
    for number in 0..=u8::MAX {
        let mut own = Transaction::new();
        index.insert(&mut own, &[200, number], row(50_000), session).expect("inserted");
        instance.commit(own, session).expect("committed");
        if is_over.with(|is_over| *is_over) {
            return;
        }
    }
}

#[test]
fn a_rollback_that_a_crash_has_cut_off_between_two_leaves_goes_on() {
    let base = database(BlockSize::KIB_2, true);
    let (mut cuts, mut within) = (0, 0);
    for cut in (1..).step_by(2) {
        let mut content = base.clone();
        content.lose_power_at(content.crash_points() + cut);
        let (is_spread, is_over) = (Outside::new(false), Outside::new(false));
        let (told, over) = (is_spread.clone(), is_over.clone());
        let mut report = racy(cut, content).run(move |world, session| {
            let instance = open_as(&small(), world, session);
            let own_index = index(&instance, session);
            let (own, _) = spread(&instance, &own_index, session);
            told.with(|told| *told = true);
            let asked = over.clone();
            let committer = start("committer", &instance, session, move |instance, session| {
                commits(instance, &asked, session);
            });
            session.pause(Nanos::from_millis(1), session.waiting(WaitEvent::PlSqlLockTimer));
            instance.rollback(own, session).expect("rolled back");
            over.with(|is_over| *is_over = true);
            join(vec![committer], session);
            drop(own_index);
            shut(instance, session);
        });
        if !report.was_cut(cut) {
            break;
        }
        cuts += 1;
        let (disk, is_spread) = (left(&mut report), is_spread.take());
        within += u32::from(is_spread && !is_over.take());
        for draw in 0..2 {
            let mut again = CrashStates::of(&disk).sample(draw);
            again.lose_power_at(u64::MAX);
            run(machine(cut, again), move |world, session| {
                let instance = open(world, session);
                let index = index(&instance, session);
                instance.wait_for_dead(session);
                let mut entries = seen(&instance, &index, None, session);
                check(&index, &entries, session);
                entries.retain(|(key, _)| key[0] < 200);
                let others = between(1..APART);
                let is_whole = entries == others;
                assert!(is_whole || entries.is_empty() && !is_spread, "{}", entries.len());
                check_instance(&instance, session);
                drop(index);
                shut(instance, session);
            });
        }
    }
    assert!(cuts > 20, "{cuts} cuts");
    assert!(within > 5, "{within} cuts came while the rollback went from leaf to leaf");
}
