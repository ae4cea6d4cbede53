//! Storms on a heap with a unique and another index: sessions insert, change keys, delete, go back
//! to savepoints, roll back, and are cut off. At any moment, and as of any, every row has its
//! entries and every entry its row.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use access::{Changed, Direction, Heap, HeapInserter, Index, Inserted, RowAddress};
use ids::{BlockSize, Dba};
use instance::{Instance, Transaction};
use os::Session;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use space::Holds;
use stop::{RefusalKind, Stop};
use txn::View;

use crate::common::{
    Dice, Entry, between, check_instance, creation, directory, ended, insert_array, join, left,
    machine, make, open_as, racy, run, run_kept, shut, sized, start,
};

/// A row: its own key, and one that it shares; then bytes that don't matter.
type Keys = (Vec<u8>, Vec<u8>);

/// Bytes of a row's own key.
const OWN_BYTES: usize = 12;
/// There are so many own keys.
const OWN_KEYS: u64 = 400;
/// So many of them are deleted at once by who deletes much.
const PURGED: u64 = 120;

fn database(size: BlockSize) -> FileSystem {
    let ((), disk) = run_kept(machine(1, FileSystem::new(1 << 30)), move |world, session| {
        let (disk, parameters, creation) = (world.disk(), sized(size), creation(size));
        Instance::create(&disk, directory(), &creation, &parameters, session).expect("created");
        let instance = Instance::open(&disk, directory(), &parameters, session).expect("opened");
        instance.space().create("h", Holds::Table, session).expect("made");
        make("own", true, &instance, session);
        make("shared", false, &instance, session);
        instance.shutdown(session).expect("shut in good order");
    });
    disk
}

/// The table and its indexes.
struct Table {
    heap: Heap,
    own: Index,
    shared: Index,
}

impl Table {
    fn of(instance: &Instance, session: &Session) -> Table {
        let (space, transactions) = (instance.space(), instance.transactions());
        let segment = space.find("h", session).expect("read").expect("there");
        let open = |name| Index::open(name, space, transactions, session).expect("there");
        let heap = Heap::new(&segment, space, transactions, session);
        Table { heap, own: open("own"), shared: open("shared") }
    }

    /// Every row has its entries as the view sees them, and every entry its row; how many rows.
    fn agrees(&self, view: View, session: &Session) -> usize {
        let mut rows: BTreeMap<RowAddress, Keys> = BTreeMap::new();
        for run in self.heap.runs(session).expect("read") {
            for number in 0..run.count {
                let block = Dba::new(run.first.file.get(), run.first.block.get() + number);
                let mut visit = |at, row: &[u8]| assert!(rows.insert(at, keys(row)).is_none());
                self.heap.visit_block(view, block, &mut visit, session).expect("read");
            }
        }
        for (index, which) in [(&self.own, 0), (&self.shared, 1)] {
            let key = |keys: &Keys| if which == 0 { keys.0.clone() } else { keys.1.clone() };
            let expected: BTreeSet<Entry> = rows.iter().map(|(at, row)| (key(row), *at)).collect();
            for direction in [Direction::Ascending, Direction::Descending] {
                let all = (Bound::Unbounded, Bound::Unbounded);
                let found = between(index, all, direction, view, session);
                assert_eq!(found.len(), rows.len(), "{} as of {view:?}", index.name());
                assert_eq!(BTreeSet::from_iter(found), expected, "{}", index.name());
            }
        }
        rows.len()
    }

    fn agrees_now(&self, session: &Session) -> usize {
        let snapshot = self.heap.transactions().snapshot(None, session).expect("a snapshot");
        self.agrees(self.heap.transactions().view_of(&snapshot, None), session)
    }
}

fn row(dice: &mut Dice) -> Vec<u8> {
    let mut row = format!("{:012}", dice.below(OWN_KEYS) * 7 % OWN_KEYS).into_bytes();
    // Of any length, and many the same.
    let shared = dice.below(120) as usize;
    row.push(shared as u8);
    row.resize(row.len() + shared, dice.below(3) as u8);
    row.resize(row.len() + dice.below(300) as usize, b'.');
    row
}

fn keys(row: &[u8]) -> Keys {
    let (own, rest) = row.split_at(OWN_BYTES);
    let shared = usize::from(rest[0]);
    (own.to_vec(), rest[1..1 + shared].to_vec())
}

struct Client<'a> {
    instance: &'a Instance,
    table: Table,
    inserter: HeapInserter,
    dice: Dice,
    /// Whether it deletes whole ranges of keys, so that leaves become empty.
    purges: bool,
    session: &'a Session,
}

impl Client<'_> {
    fn insert(&mut self, transaction: &mut Transaction) -> Result<(), Stop> {
        let (row, savepoint) = (row(&mut self.dice), transaction.savepoint());
        let table = &self.table;
        let at = table.heap.insert(transaction, &mut self.inserter, &row, self.session)?;
        let (own, shared) = keys(&row);
        if let Inserted::Duplicate(_) = table.own.insert(transaction, &own, at, self.session)? {
            let transactions = self.instance.transactions();
            return transactions.rollback_to(transaction, savepoint, self.session);
        }
        let inserted = table.shared.insert(transaction, &shared, at, self.session)?;
        assert_eq!(inserted, Inserted::Done);
        Ok(())
    }

    /// Inserts rows together, and then their entries.
    fn insert_array(&mut self, transaction: &mut Transaction) -> Result<(), Stop> {
        let new: Vec<_> = (0..1 + self.dice.below(12)).map(|_| row(&mut self.dice)).collect();
        let (savepoint, mut placed) = (transaction.savepoint(), Vec::new());
        let bytes: Vec<&[u8]> = new.iter().map(Vec::as_slice).collect();
        let (table, session) = (&self.table, self.session);
        let inserter = &mut self.inserter;
        table.heap.insert_together(transaction, inserter, &bytes, &mut placed, session)?;
        let entries = |key: fn(Keys) -> Vec<u8>| -> Vec<Entry> {
            new.iter().zip(&placed).map(|(row, at)| (key(keys(row)), *at)).collect()
        };
        let (mut own, mut shared) = (entries(|keys| keys.0), entries(|keys| keys.1));
        if insert_array(&table.own, transaction, &mut own, session)?.is_some() {
            let transactions = self.instance.transactions();
            return transactions.rollback_to(transaction, savepoint, session);
        }
        let inserted = insert_array(&table.shared, transaction, &mut shared, session)?;
        assert_eq!(inserted, None);
        Ok(())
    }

    /// The row with this key as the statement sees it, if there is one.
    fn row_of(&mut self, number: u64, view: View) -> Result<Option<(RowAddress, Vec<u8>)>, Stop> {
        let key = format!("{number:012}").into_bytes();
        let Some(at) = self.table.own.find(view, &key, self.session)? else { return Ok(None) };
        let row = self.table.heap.fetch(view, at, &mut <[u8]>::to_vec, self.session)?;
        let row = row.expect("an entry has its row");
        assert_eq!(keys(&row).0, key);
        Ok(Some((at, row)))
    }

    /// Deletes a row, or gives it other keys and another length.
    fn change(
        &mut self,
        transaction: &mut Transaction,
        (number, deletes): (u64, bool),
    ) -> Result<(), Stop> {
        transaction.begin_statement();
        let transactions = self.instance.transactions();
        let snapshot = transactions.snapshot(Some(transaction), self.session)?;
        let view = transactions.view_of(&snapshot, Some(transaction));
        let found = self.row_of(number, view)?;
        let Some((at, old)) = found else { return Ok(()) };
        let (new, savepoint) = (row(&mut self.dice), transaction.savepoint());
        let (table, inserter, session) = (&self.table, &mut self.inserter, self.session);
        let changed = match deletes {
            true => table.heap.delete(transaction, at, Some(view), &mut |_| {}, session)?,
            false => {
                let mut to = |_: &[u8], into: &mut Vec<u8>| into.extend_from_slice(&new);
                table.heap.update(transaction, inserter, at, Some(view), &mut to, session)?
            }
        };
        transaction.end_statement();
        if changed != Changed::Yes {
            return Ok(());
        }
        let ((own, shared), (new_own, new_shared)) = (keys(&old), keys(&new));
        assert!(table.own.delete(transaction, &own, at, session)?, "a row has its entry");
        assert!(table.shared.delete(transaction, &shared, at, session)?, "a row has its entry");
        if deletes {
            return Ok(());
        }
        if let Inserted::Duplicate(_) = table.own.insert(transaction, &new_own, at, session)? {
            return transactions.rollback_to(transaction, savepoint, session);
        }
        let inserted = table.shared.insert(transaction, &new_shared, at, session)?;
        assert_eq!(inserted, Inserted::Done);
        Ok(())
    }

    /// Deletes whatever has one of the next so many keys.
    fn purge(&mut self, transaction: &mut Transaction, from: u64) -> Result<(), Stop> {
        for number in from..OWN_KEYS.min(from + PURGED) {
            self.change(transaction, (number, true))?;
        }
        Ok(())
    }

    fn work(&mut self, transaction: &mut Transaction) -> Result<(), Stop> {
        for _ in 0..1 + self.dice.below(3) {
            let savepoint = transaction.savepoint();
            for _ in 0..1 + self.dice.below(8) {
                let (what, number) = (self.dice.below(8), self.dice.below(OWN_KEYS));
                match what {
                    0..3 => self.insert(transaction)?,
                    3 => self.insert_array(transaction)?,
                    4..6 => self.change(transaction, (number, false))?,
                    6 if self.purges => self.purge(transaction, number)?,
                    _ => self.change(transaction, (number, true))?,
                }
                transaction.end_statement();
            }
            if self.dice.below(4) == 0 {
                let transactions = self.instance.transactions();
                transactions.rollback_to(transaction, savepoint, self.session)?;
            }
        }
        Ok(())
    }

    fn run(&mut self, count: u32) {
        for _ in 0..count {
            let mut transaction = Transaction::new();
            let worked = self.work(&mut transaction);
            if let Err(stop) = &worked {
                assert_eq!(stop.refusal(), Some(RefusalKind::Deadlock), "{stop}");
            }
            let ended = match worked.is_ok() && self.dice.below(4) > 0 {
                true => self.instance.commit(transaction, self.session),
                false => self.instance.rollback(transaction, self.session),
            };
            ended.expect("ended");
        }
    }
}

fn client<'a>(
    instance: &'a Instance,
    (seed, purges): (u64, bool),
    session: &'a Session,
) -> Client<'a> {
    let (table, inserter) = (Table::of(instance, session), HeapInserter::default());
    Client { instance, table, inserter, dice: Dice(seed), purges, session }
}

/// A storm; the instance is left as it is, with a transaction that nobody has ended.
fn storm(instance: &std::sync::Arc<Instance>, (seed, purges): (u64, bool), session: &Session) {
    let table = Table::of(instance, session);
    let transactions = instance.transactions();
    let snapshot = transactions.snapshot(None, session).expect("a snapshot");
    let view = transactions.view_of(&snapshot, None);
    let before = table.agrees(view, session);
    let mut sessions: Vec<_> = (0..3)
        .map(|number| {
            start("writer", instance, session, move |instance, session| {
                client(instance, (seed * 10 + number, purges), session).run(12);
            })
        })
        .collect();
    sessions.push(start("reader", instance, session, |instance, session| {
        let table = Table::of(instance, session);
        for _ in 0..4 {
            table.agrees_now(session);
        }
    }));
    join(sessions, session);
    assert_eq!(table.agrees(view, session), before, "the old snapshot stays as it is");
    drop(snapshot);
    table.agrees_now(session);
    // One that is rolled back by the next life.
    let mut transaction = Transaction::new();
    client(instance, (seed * 10 + 9, false), session).work(&mut transaction).expect("alone");
    table.agrees_now(session);
    std::mem::forget(transaction);
}

fn storms(size: BlockSize, seeds: std::ops::Range<u64>, purges: bool) {
    let base = database(size);
    let (mut rows, mut cuts) = (0, 0);
    for seed in seeds {
        let mut disk = base.clone();
        for life in 0..4 {
            let number = seed * 100 + life;
            // Every other life ends by a power cut somewhere.
            if life % 2 == 1 {
                let cut = disk.crash_points() + 20 + Dice(number).below(400);
                disk.lose_power_at(cut);
            }
            let mut report = racy(number, disk).run(move |world, session| {
                let instance = open_as(&sized(size), world, session);
                storm(&instance, (number, purges), session);
                instance.abort(session);
            });
            disk = left(&mut report);
            if life % 2 == 0 {
                ended(report, number);
            } else if report.was_cut(number) {
                cuts += 1;
                disk = CrashStates::of(&disk).sample(number);
            }
            disk.lose_power_at(u64::MAX);
        }
        rows += run(machine(seed, disk), move |world, session| {
            let instance = open_as(&sized(size), world, session);
            instance.wait_for_dead(session);
            let table = Table::of(&instance, session);
            let rows = table.agrees_now(session);
            for index in [&table.own, &table.shared] {
                let checked = index.check(&mut |_, _| (), session).expect("in order");
                assert_eq!(checked.entries, rows as u64, "{}", index.name());
            }
            check_instance(&instance, session);
            drop(table);
            shut(instance, session);
            rows
        });
    }
    assert!(rows > 0, "all rows are gone");
    assert!(cuts > 0, "no power cut came in a life");
}

#[test]
fn rows_and_entries_agree_through_storms_in_blocks_of_2_kib() {
    storms(BlockSize::KIB_2, 0..4, false);
}

#[test]
fn rows_and_entries_agree_through_storms_in_blocks_of_4_kib() {
    storms(BlockSize::KIB_4, 4..6, false);
}

#[test]
fn rows_and_entries_agree_through_storms_in_blocks_of_8_kib() {
    storms(BlockSize::KIB_8, 6..8, false);
}

#[test]
fn rows_and_entries_agree_through_storms_that_empty_leaves() {
    storms(BlockSize::KIB_2, 20..26, true);
}
