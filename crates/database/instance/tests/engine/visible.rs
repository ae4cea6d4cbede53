//! What is seen of others' changes, and what a statement is told of rows that were changed since it
//! began, by others or by itself.

#![expect(clippy::disallowed_types, reason = "what is known outside the simulated world")]

use std::sync::{Arc, Mutex};

use access::{Changed, Heap, HeapInserter, RowAddress};
use ids::Scn;
use instance::{CommitMode, CommitWait, Creation, Instance, Transaction};
use latch::FrameOrder;
use os::Session;
use sim::fs::FileSystem;
use space::Holds;
use txn::{CrCopy, LockWait, Snapshot, View};
use waits::Nanos;

use crate::common::{
    check, creation, database_with, join, machine, parameters, pause, racy, start, with_instance,
};

const NAME: &str = "h";
/// Bytes of a row.
const LENGTH: usize = 100;

/// A database with a heap without rows; one undo segment with two slots, so that these are soon
/// used again.
fn empty() -> FileSystem {
    let creation = Creation { undo_segments: 1, undo_slots: 2, ..creation() };
    database_with(creation, parameters(), |instance, session| {
        instance.space().create(NAME, Holds::Table, session).expect("made");
    })
}

/// What a test was told of numbers in rows.
type Told = Arc<Mutex<Vec<(u8, Scn)>>>;

/// A session with a heap.
struct Desk<'a> {
    instance: &'a Instance,
    session: &'a Session,
    heap: Heap,
}

impl<'a> Desk<'a> {
    fn at(instance: &'a Instance, session: &'a Session) -> Desk<'a> {
        let segment = instance.space().find(NAME, session).expect("read").expect("there");
        let heap = Heap::new(&segment, instance.space(), instance.transactions(), session);
        Desk { instance, session, heap }
    }

    /// Rows of these bytes, committed; where they are.
    fn rows<const N: usize>(&self, rows: [Vec<u8>; N]) -> [RowAddress; N] {
        let (mut transaction, mut inserter) = (Transaction::new(), HeapInserter::default());
        let made = rows.map(|row| self.insert(&mut transaction, &mut inserter, &row));
        self.commit(transaction);
        made
    }

    fn insert(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        row: &[u8],
    ) -> RowAddress {
        self.heap.insert(transaction, inserter, row, self.session).expect("inserted")
    }

    fn commit(&self, transaction: Transaction) -> Scn {
        let committed = self.commit_as(transaction, CommitMode::DURABLE);
        committed.expect("it had changed something")
    }

    fn commit_as(&self, transaction: Transaction, mode: CommitMode) -> Option<Scn> {
        self.instance.commit_with(transaction, mode, self.session).expect("committed")
    }

    fn rollback(&self, transaction: Transaction) {
        self.instance.rollback(transaction, self.session).expect("rolled back");
    }

    fn snapshot(&self, transaction: Option<&Transaction>) -> Snapshot<'_> {
        self.instance.transactions().snapshot(transaction, self.session).expect("taken")
    }

    fn view(&self, snapshot: &Snapshot<'_>, transaction: &Transaction) -> View {
        self.instance.transactions().view_of(snapshot, Some(transaction))
    }

    fn update(
        &self,
        transaction: &mut Transaction,
        (address, view): (RowAddress, Option<View>),
        to: &[u8],
    ) -> Changed {
        self.update_by(transaction, &mut HeapInserter::default(), (address, view), to)
    }

    fn update_by(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        (at, view): (RowAddress, Option<View>),
        to: &[u8],
    ) -> Changed {
        let mut change = |_: &[u8], new: &mut Vec<u8>| new.extend_from_slice(to);
        let updated = self.heap.update(transaction, inserter, at, view, &mut change, self.session);
        updated.expect("nobody has it for ever")
    }

    fn delete(
        &self,
        transaction: &mut Transaction,
        (at, view): (RowAddress, Option<View>),
    ) -> Changed {
        let deleted = self.heap.delete(transaction, at, view, &mut |_| {}, self.session);
        deleted.expect("nobody has it for ever")
    }

    fn lock(
        &self,
        transaction: &mut Transaction,
        (at, view): (RowAddress, Option<View>),
    ) -> Changed {
        let locked = self.heap.lock(transaction, at, view, Some(LockWait::Forever), self.session);
        locked.expect("nobody has it for ever")
    }

    /// The row, as a snapshot sees it.
    fn read(&self, snapshot: &Snapshot<'_>, address: RowAddress) -> Option<Vec<u8>> {
        let view = self.instance.transactions().view_of(snapshot, None);
        self.fetch(view, address)
    }

    fn fetch(&self, view: View, address: RowAddress) -> Option<Vec<u8>> {
        let found = self.heap.fetch(view, address, &mut |row| row.to_vec(), self.session);
        found.expect("there is room for undo")
    }

    /// Another transaction changes the row and is committed.
    fn changed_by_another(&self, address: RowAddress, to: &[u8]) -> Scn {
        let mut other = Transaction::new();
        assert_eq!(self.update(&mut other, (address, None), to), Changed::Yes);
        self.commit(other)
    }

    /// So many transactions of one undo segment, which are committed or not.
    fn others(&self, address: RowAddress, count: usize, commits: bool) {
        for number in 0..count {
            let mut other = Transaction::new();
            let to = row(number as u8);
            assert_eq!(self.update(&mut other, (address, None), &to), Changed::Yes);
            match commits {
                true => drop(self.commit(other)),
                false => self.rollback(other),
            }
        }
    }
}

fn row(byte: u8) -> Vec<u8> {
    vec![byte; LENGTH]
}

/// Works on a database with an empty heap.
fn alone(body: impl FnOnce(&Desk<'_>) + Send + 'static) {
    with_instance(machine(1, empty()), move |instance, session| {
        body(&Desk::at(instance, session));
        check(instance, session);
    });
}

/// The list of a block says of a transaction that it has changed something there after a
/// statement's snapshot. What the statement itself does there doesn't take this away.
#[test]
fn a_statement_does_not_forget_who_changed_a_block_after_its_snapshot() {
    alone(|desk| {
        let [a, b, c] = desk.rows([row(1), row(2), row(3)]);
        let mut own = Transaction::new();
        own.begin_statement();
        let snapshot = desk.snapshot(Some(&own));
        desk.changed_by_another(b, &row(20));
        let mut passing = Transaction::new();
        assert_eq!(desk.lock(&mut passing, (c, None)), Changed::Yes);
        // Both entries of the list are newer than the snapshot.
        let view = desk.view(&snapshot, &own);
        assert_eq!(desk.update(&mut own, (a, Some(view)), &row(10)), Changed::Yes);
        desk.rollback(passing);
        let view = desk.view(&snapshot, &own);
        assert_eq!(desk.update(&mut own, (b, Some(view)), &row(30)), Changed::Since);
        own.end_statement();
        drop(snapshot);
        desk.rollback(own);
    });
}

/// The same where the statement comes to the block because a row that it changes moves there.
#[test]
fn a_row_that_moves_does_not_hide_who_changed_the_block_that_it_moves_to() {
    alone(|desk| {
        let (mut first, mut inserter) = (Transaction::new(), HeapInserter::default());
        let [b, c] = [2, 3].map(|byte| desk.insert(&mut first, &mut inserter, &row(byte)));
        desk.commit(first);
        let [a, _] = desk.rows([vec![1; 700], vec![1; 1_000]]);
        assert_ne!(a.block, b.block);
        let mut own = Transaction::new();
        own.begin_statement();
        let snapshot = desk.snapshot(Some(&own));
        desk.changed_by_another(b, &row(20));
        let mut passing = Transaction::new();
        assert_eq!(desk.lock(&mut passing, (c, None)), Changed::Yes);
        let view = desk.view(&snapshot, &own);
        // Its block has no room for it any more, and that of the others has.
        let grown = desk.update_by(&mut own, &mut inserter, (a, Some(view)), &[10; 1_200]);
        assert_eq!(grown, Changed::Yes);
        desk.rollback(passing);
        let view = desk.view(&snapshot, &own);
        assert_eq!(desk.update(&mut own, (b, Some(view)), &row(30)), Changed::Since);
        own.end_statement();
        drop(snapshot);
        desk.rollback(own);
    });
}

/// A copy of a block was made while a transaction was active in it. That one is rolled back, and
/// others use its place in the transaction table, before the copy is made consistent.
#[test]
fn what_was_rolled_back_since_a_block_was_copied_is_not_seen_in_the_copy() {
    alone(|desk| {
        let transactions = desk.instance.transactions();
        let [a] = desk.rows([row(1)]);
        let [elsewhere] = desk.rows([row(2)]);
        let snapshot = desk.snapshot(None);
        let view = transactions.view_of(&snapshot, None);
        let mut passing = Transaction::new();
        assert_eq!(desk.update(&mut passing, (a, None), &row(10)), Changed::Yes);
        let mut copy = Vec::new();
        {
            let cache = desk.instance.cache();
            let block = cache.pin_shared(a.block, FrameOrder::Heap, desk.session).expect("read");
            assert!(!transactions.is_current(&block, view, desk.session));
            transactions.copy(&block, &mut copy, desk.session);
        }
        desk.rollback(passing);
        desk.others(elsewhere, 3, true);
        let made = transactions.make_consistent(a.block, &mut copy, view, desk.session);
        let is_gone = matches!(made.expect("read"), CrCopy::UndoGone(_));
        assert!(is_gone, "its undo is gone: the block is to be copied again");
        assert_eq!(desk.read(&snapshot, a), Some(row(1)));
    });
}

/// When a transaction ended is read from the undo of the next one, also where that came after one
/// whose session had vanished, and the table of transactions had forgotten the commit.
#[test]
fn a_session_that_vanishes_leaves_commits_where_they_were_in_time() {
    for changed in [true, false] {
        alone(move |desk| {
            let [a] = desk.rows([row(1)]);
            let [elsewhere] = desk.rows([row(2)]);
            let old = desk.snapshot(None);
            desk.changed_by_another(a, &row(10));
            let new = desk.snapshot(None);
            // Both slots of the table are of transactions that were rolled back.
            desk.others(elsewhere, 2, false);
            let mut vanishes = Transaction::new();
            match changed {
                true => drop(desk.update(&mut vanishes, (elsewhere, None), &row(9))),
                false => {
                    let transactions = desk.instance.transactions();
                    transactions.prepare(&mut vanishes, 100, desk.session).expect("named");
                }
            }
            drop(vanishes);
            while !desk.instance.transactions().active().all(desk.session).is_empty() {
                pause(Nanos::from_millis(100), desk.session);
            }
            desk.others(elsewhere, 3, true);
            assert_eq!(desk.read(&old, a), Some(row(1)));
            assert_eq!(desk.read(&new, a), Some(row(10)));
        });
    }
}

/// A commit that waits isn't seen before it is durable, though others that don't wait come after
/// it in the redo and are seen at once.
#[test]
fn what_waits_to_be_durable_is_not_seen_before_though_what_does_not_wait_came_later() {
    let base = empty();
    for seed in 0..60 {
        // The SCN of each commit that waited, by the number that it wrote; and what was seen, with
        // the SCN through which redo was durable then.
        let (commits, seen) = (Told::default(), Told::default());
        let (into_commits, into_seen) = (commits.clone(), seen.clone());
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let desk = Desk::at(instance, session);
            let [a] = desk.rows([row(0)]);
            let [b] = desk.rows([row(0)]);
            let waits = start("waits", instance, session, move |instance, session| {
                let desk = Desk::at(instance, session);
                for number in 1..8 {
                    let scn = desk.changed_by_another(a, &row(number));
                    into_commits.lock().expect("alone").push((number, scn));
                }
            });
            let goes_on = start("doesn't wait", instance, session, move |instance, session| {
                let desk = Desk::at(instance, session);
                for number in 1..40 {
                    let mut own = Transaction::new();
                    assert_eq!(desk.update(&mut own, (b, None), &row(number)), Changed::Yes);
                    let modes = CommitMode::ALL.into_iter();
                    let mut modes = modes.filter(|mode| mode.wait == CommitWait::Nowait);
                    let mode = modes.nth(usize::from(number) % 2).expect("there are two");
                    desk.commit_as(own, mode);
                    let snapshot = desk.snapshot(None);
                    assert_eq!(desk.read(&snapshot, b), Some(row(number)), "it sees its own");
                }
            });
            let reads = start("reads", instance, session, move |instance, session| {
                let desk = Desk::at(instance, session);
                for _ in 0..100 {
                    let snapshot = desk.snapshot(None);
                    let durable = instance.redo().durable_scn(session);
                    let found = desk.read(&snapshot, a).expect("there");
                    into_seen.lock().expect("alone").push((found[0], durable));
                }
            });
            join(vec![waits, goes_on, reads], session);
            check(instance, session);
        });
        let commits = commits.lock().expect("alone");
        for (number, durable) in seen.lock().expect("alone").iter() {
            let commit = commits.iter().find(|(of, _)| of == number);
            let early = commit.filter(|(_, scn)| scn > durable);
            assert_eq!(early, None, "seed {seed}: seen with redo durable through {durable}");
        }
    }
}

/// A row that was there as of the view, and was deleted since: the statement begins again.
#[test]
fn a_row_that_was_deleted_since_the_view_was_changed_since() {
    alone(|desk| {
        for in_pieces in [false, true] {
            let bytes = if in_pieces { vec![1; 5_000] } else { row(1) };
            let [a, b, c] = desk.rows([bytes.clone(), bytes.clone(), bytes]);
            let mut own = Transaction::new();
            own.begin_statement();
            let snapshot = desk.snapshot(None);
            let mut other = Transaction::new();
            for at in [a, b, c] {
                assert_eq!(desk.delete(&mut other, (at, None)), Changed::Yes);
            }
            desk.commit(other);
            // And the slot of one has another row by now.
            desk.rows([row(7)]);
            let view = Some(desk.view(&snapshot, &own));
            assert_eq!(desk.update(&mut own, (a, view), &row(9)), Changed::Since);
            assert_eq!(desk.delete(&mut own, (b, view)), Changed::Since);
            assert_eq!(desk.lock(&mut own, (c, view)), Changed::Since);
            drop(snapshot);
            // Begun again, it finds none; nor does who has no view.
            let snapshot = desk.snapshot(None);
            let view = Some(desk.view(&snapshot, &own));
            for view in [view, None] {
                assert_eq!(desk.delete(&mut own, (b, view)), Changed::NotThere);
            }
            own.end_statement();
            drop(snapshot);
            desk.rollback(own);
        }
    });
}

/// A row that came after the view isn't there for its statement.
#[test]
fn a_row_that_came_after_the_view_is_not_there() {
    alone(|desk| {
        desk.rows([row(1)]);
        let mut own = Transaction::new();
        own.begin_statement();
        let snapshot = desk.snapshot(None);
        let [new] = desk.rows([row(2)]);
        let view = Some(desk.view(&snapshot, &own));
        assert_eq!(desk.update(&mut own, (new, view), &row(9)), Changed::NotThere);
        assert_eq!(desk.delete(&mut own, (new, view)), Changed::NotThere);
        assert_eq!(desk.lock(&mut own, (new, view)), Changed::NotThere);
        own.end_statement();
        drop(snapshot);
        desk.rollback(own);
    });
}

/// A statement that meets a row a second time is told that it has changed it already, whoever else
/// has changed the block meanwhile: it leaves it as it is, and doesn't begin again for ever.
#[test]
fn a_statement_that_meets_a_row_twice_is_told_so() {
    alone(|desk| {
        for (in_pieces, others) in [(false, false), (false, true), (true, false), (true, true)] {
            let bytes = if in_pieces { vec![1; 5_000] } else { row(1) };
            let [a, b, c] = desk.rows([bytes.clone(), bytes.clone(), bytes]);
            let mut own = Transaction::new();
            // An earlier statement has changed two of them.
            assert_eq!(desk.update(&mut own, (a, None), &row(2)), Changed::Yes);
            assert_eq!(desk.lock(&mut own, (c, None)), Changed::Yes);
            own.begin_statement();
            let snapshot = desk.snapshot(None);
            if others {
                desk.rows([row(7)]);
            }
            let view = |own: &Transaction| Some(desk.view(&snapshot, own));
            for at in [a, b, c] {
                let target = (at, view(&own));
                assert_eq!(desk.lock(&mut own, target), Changed::Yes, "it locks it");
                let target = (at, view(&own));
                assert_eq!(desk.lock(&mut own, target), Changed::Yes, "it has locked it");
                let target = (at, view(&own));
                assert_eq!(desk.update(&mut own, target, &row(3)), Changed::Yes);
                let target = (at, view(&own));
                assert_eq!(desk.update(&mut own, target, &row(4)), Changed::Already);
                let target = (at, view(&own));
                assert_eq!(desk.lock(&mut own, target), Changed::Already);
                let target = (at, view(&own));
                assert_eq!(desk.delete(&mut own, target), Changed::Already);
            }
            own.end_statement();
            drop(snapshot);
            own.begin_statement();
            let snapshot = desk.snapshot(None);
            for at in [a, b, c] {
                let target = (at, Some(desk.view(&snapshot, &own)));
                assert_eq!(desk.fetch(desk.view(&snapshot, &own), at), Some(row(3)));
                assert_eq!(desk.delete(&mut own, target), Changed::Yes);
                let target = (at, Some(desk.view(&snapshot, &own)));
                assert_eq!(desk.delete(&mut own, target), Changed::Already);
                assert_eq!(desk.fetch(desk.view(&snapshot, &own), at), Some(row(3)));
            }
            own.end_statement();
            drop(snapshot);
            desk.rollback(own);
        }
    });
}
