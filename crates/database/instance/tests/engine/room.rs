//! Space of tables is used again (rules access/AC10 to AC12): storms of steady size don't make a
//! segment grow, whoever deletes, rolls back or crashes.

use std::collections::BTreeMap;

use access::{Changed, Heap, HeapInserter, RowAddress};
use ids::BlockSize;
use instance::{Creation, Instance, Parameters, Transaction};
use os::Session;
use sim::Outside;
use sim::fs::FileSystem;
use space::Holds;

use crate::common::{
    self, Dice, abort, bed, check, creation, database_with, ended, join, left, machine, open_as,
    racy, shut, start,
};

const NAME: &str = "h";

/// Rows by address.
type Rows = BTreeMap<RowAddress, Vec<u8>>;

fn heap(instance: &Instance, session: &Session) -> Heap {
    let segment = instance.space().find(NAME, session).expect("read").expect("there");
    Heap::new(&segment, instance.space(), instance.transactions(), session)
}

fn parameters(size: BlockSize) -> Parameters {
    Parameters { db_cache_size: 160 * size.bytes() as u64, ..common::parameters() }
}

fn database(size: BlockSize) -> FileSystem {
    let creation = Creation {
        db_block_size: size,
        data_bytes: 1_500 * size.bytes() as u64,
        undo_bytes: 100 * size.bytes() as u64,
        undo_bytes_max: 4_000 * size.bytes() as u64,
        undo_growth_bytes: 100 * size.bytes() as u64,
        ..creation()
    };
    database_with(creation, parameters(size), |instance, session| {
        instance.space().create(NAME, Holds::Table, session).expect("made");
    })
}

/// How many blocks the heap has had handed out.
fn blocks(heap: &Heap, session: &Session) -> u32 {
    heap.runs(session).expect("read").iter().map(|run| run.count).sum()
}

/// Blocks that rows of these bytes need, with what inserts leave free in each.
fn needed(bytes: usize, size: BlockSize) -> u32 {
    (bytes / ((size.bytes() - 120) * 9 / 10)) as u32 + 1
}

fn bytes_of(rows: &Rows) -> usize {
    rows.values().map(|row| row.len().max(8) + 6).sum()
}

/// A row that can be told from others.
fn row(dice: &mut Dice, longest: u64) -> Vec<u8> {
    let length = 10 + dice.below(longest - 10) as usize;
    let byte = dice.below(256) as u8;
    vec![byte; length]
}

struct Client<'a> {
    instance: &'a Instance,
    heap: Heap,
    inserter: HeapInserter,
    dice: Dice,
    rows: Rows,
    /// Bytes of its rows, old and new ones, when they were most.
    most: usize,
    session: &'a Session,
}

impl<'a> Client<'a> {
    fn new(instance: &'a Instance, (rows, seed): (Rows, u64), session: &'a Session) -> Client<'a> {
        let (heap, inserter, dice) = (heap(instance, session), HeapInserter::default(), Dice(seed));
        Client { instance, heap, inserter, dice, rows, most: 0, session }
    }

    fn insert(&mut self, transaction: &mut Transaction, count: u64, longest: u64) {
        for _ in 0..count {
            let row = row(&mut self.dice, longest);
            let at = self.heap.insert(transaction, &mut self.inserter, &row, self.session);
            let before = self.rows.insert(at.expect("inserted"), row);
            assert_eq!(before, None, "an address is given twice");
        }
    }

    fn delete_half(&mut self, transaction: &mut Transaction) {
        let dice = &mut self.dice;
        let going: Vec<RowAddress> =
            self.rows.keys().copied().filter(|_| dice.below(2) == 0).collect();
        for at in going {
            let deleted = self.heap.delete(transaction, at, None, &mut |_| {}, self.session);
            assert_eq!(deleted.expect("deleted"), Changed::Yes);
            self.rows.remove(&at);
        }
    }

    /// Gives every row another length.
    fn resize(&mut self, transaction: &mut Transaction, longest: u64) {
        for (at, row) in &mut self.rows {
            let new = self::row(&mut self.dice, longest);
            let mut change = |_: &[u8], into: &mut Vec<u8>| into.extend_from_slice(&new);
            let inserter = &mut self.inserter;
            let updated =
                self.heap.update(transaction, inserter, *at, None, &mut change, self.session);
            assert_eq!(updated.expect("changed"), Changed::Yes);
            *row = new;
        }
    }

    fn commit(&self, transaction: Transaction) {
        self.instance.commit(transaction, self.session).expect("committed");
    }
}

/// The heap has these rows and no others.
fn holds(heap: &Heap, rows: &Rows, session: &Session) {
    let snapshot = heap.transactions().snapshot(None, session).expect("a snapshot");
    let view = heap.transactions().view_of(&snapshot, None);
    let mut found = Rows::new();
    for run in heap.runs(session).expect("read") {
        for number in 0..run.count {
            let block = ids::Dba::new(run.first.file.get(), run.first.block.get() + number);
            let mut visit = |at, row: &[u8]| assert!(found.insert(at, row.to_vec()).is_none());
            heap.visit_block(view, block, &mut visit, session).expect("read");
        }
    }
    assert!(found == *rows, "{} rows, and {} expected", found.len(), rows.len());
}

/// Twenty rounds of inserts, after each of which a random half goes.
#[test]
fn a_storm_of_steady_size_does_not_make_a_table_grow() {
    for (size, count, longest) in [
        (BlockSize::KIB_2, 1_200, 300),
        (BlockSize::KIB_8, 3_000, 500),
        (BlockSize::KIB_4, 900, 1_000),
    ] {
        let report = machine(1, database(size)).run(move |world, session| {
            let instance = open_as(&parameters(size), world, session);
            let mut client = Client::new(&instance, (Rows::new(), 1), session);
            let mut most = 0;
            for _ in 0..20 {
                let mut transaction = Transaction::new();
                client.insert(&mut transaction, count, longest);
                client.commit(transaction);
                most = most.max(bytes_of(&client.rows));
                let mut transaction = Transaction::new();
                client.delete_half(&mut transaction);
                client.commit(transaction);
            }
            holds(&client.heap, &client.rows, session);
            let (has, needs) = (blocks(&client.heap, session), needed(most, size));
            println!("{size}: {has} blocks, {needs} needed");
            assert!(has < needs * 5 / 4 + 16, "{size}: {has} blocks, {needs} needed");
            drop(client);
            check(&instance, session);
            shut(instance, session);
        });
        ended(report, size);
    }
}

/// One session's rounds; some of what it does it takes back.
fn rounds(client: &mut Client<'_>, count: u32) {
    for round in 0..count {
        let mut transaction = Transaction::new();
        client.insert(&mut transaction, 60, 200);
        client.commit(transaction);
        // All of it comes and goes.
        let (before, mut transaction) = (client.rows.clone(), Transaction::new());
        match round % 4 {
            0 => client.insert(&mut transaction, 60, 400),
            1 => client.resize(&mut transaction, 300),
            2 => client.delete_half(&mut transaction),
            _ => client.insert(&mut transaction, 3, 6_000),
        }
        client.most = client.most.max(bytes_of(&before) + bytes_of(&client.rows));
        let savepoint = transaction.savepoint();
        client.delete_half(&mut transaction);
        let transactions = client.instance.transactions();
        let back = transactions.rollback_to(&mut transaction, savepoint, client.session);
        back.expect("taken back");
        client.instance.rollback(transaction, client.session).expect("rolled back");
        client.rows = before;
        let mut transaction = Transaction::new();
        if round % 3 == 0 {
            client.resize(&mut transaction, 250);
        }
        client.delete_half(&mut transaction);
        client.commit(transaction);
    }
}

/// Rows of each session, as they were committed last, and its bytes when they were most.
type Told = Outside<BTreeMap<u64, (Rows, usize)>>;

/// Three sessions; then the instance is aborted, or the power goes, and they go on where they
/// were.
#[test]
fn a_table_does_not_grow_by_what_sessions_take_back_or_a_crash_cuts_off() {
    let size = BlockSize::KIB_2;
    for seed in 0..2 {
        let mut disk = database(size);
        let told = Told::new(BTreeMap::new());
        let mut had = Vec::new();
        for life in 0..6 {
            let inside = told.clone();
            let mut report = racy(seed * 10 + life, disk).run(move |world, session| {
                let instance = open_as(&parameters(size), world, session);
                instance.wait_for_dead(session);
                let clients = (0..3).map(|user| {
                    let told = inside.clone();
                    start("client", &instance, session, move |instance, session| {
                        let had = told.with(|told| told.get(&user).cloned());
                        let (rows, most) = had.unwrap_or_default();
                        let with = (rows, seed * 1_000 + life * 10 + user);
                        let mut client = Client::new(instance, with, session);
                        rounds(&mut client, 8);
                        let most = most.max(client.most);
                        told.with(|told| told.insert(user, (client.rows.clone(), most)));
                        // What nobody has ended when it stops.
                        let mut transaction = Transaction::new();
                        client.insert(&mut transaction, 40, 200);
                        client.delete_half(&mut transaction);
                        std::mem::forget(transaction);
                    })
                });
                join(clients.collect(), session);
                let heap = heap(&instance, session);
                let blocks = blocks(&heap, session);
                drop(heap);
                abort(instance, session);
                blocks
            });
            disk = left(&mut report);
            had.push(ended(report, seed));
        }
        let told = told.take();
        let needs = needed(told.values().map(|(_, most)| most).sum(), size);
        let all: Rows = told.into_values().flat_map(|(rows, _)| rows).collect();
        bed::with_instance(machine(seed, disk), parameters(size), move |instance, session| {
            instance.wait_for_dead(session);
            let heap = heap(instance, session);
            holds(&heap, &all, session);
            drop(heap);
            check(instance, session);
        });
        println!("{had:?} blocks, {needs} needed");
        assert!(had.iter().all(|has| *has <= needs * 5 / 4), "{had:?} blocks, {needs} needed");
    }
}
