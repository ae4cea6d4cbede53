//! Scans: through the cache or around it, what their waits say, and what they see while others
//! change the table.

#![expect(clippy::disallowed_types, reason = "what was seen lives outside the simulated world")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use access::HeapInserter;
use instance::{Instance, Parameters, Transaction};
use latch::{Latch, LatchKind};
use os::Session;
use waits::{Nanos, WaitEvent, WaitRecord, WaitSink};

use crate::common::{
    self, Dice, TABLE, bed, creation, database, join, machine, parameters, racy, rows, start,
    with_instance,
};
use crate::rows::{Row, Rows};

/// The waits of one session.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<WaitRecord>>>);

impl WaitSink for Seen {
    fn wait_ended(&mut self, wait: &WaitRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(*wait);
    }
}

impl Seen {
    /// What `body` waits for in this session.
    fn during(session: &Session, body: impl FnOnce()) -> Vec<WaitRecord> {
        session.os().set_level(waits::Level::Trace);
        let seen = Seen::default();
        session.set_wait_sink(Some(Box::new(seen.clone())));
        body();
        session.set_wait_sink(None);
        std::mem::take(&mut *seen.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn of(waits: &[WaitRecord], event: WaitEvent) -> Vec<[u64; 3]> {
    waits.iter().filter(|wait| wait.event == event).map(|wait| wait.p).collect()
}

const ROWS: u64 = 400;

/// What a cold scan of the table waits for under these parameters.
fn scan_waits(parameters: Parameters) -> Vec<WaitRecord> {
    bed::with_instance(machine(1, database(ROWS)), parameters.clone(), move |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let mut count = 0;
        let waits = Seen::during(session, || count = rows(&table, session).len());
        assert_eq!(count as u64, ROWS);
        drop(table);
        waits
    })
    .0
}

/// A table that the cache has room for is brought into it, run by run.
#[test]
fn a_small_table_is_scanned_through_the_cache() {
    let waits = scan_waits(Parameters { db_cache_size: 1_024 * 2_048, ..parameters() });
    let runs = of(&waits, WaitEvent::DbFileScatteredRead);
    assert!(!runs.is_empty() && runs.iter().all(|p| p[0] == 1 && p[1] > 0 && p[2] > 1), "{runs:?}");
    assert!(of(&waits, WaitEvent::DirectPathRead).is_empty());
}

/// One that is larger than a tenth of the cache is read around it, with file, first block and
/// number of blocks; `db_file_multiblock_read_count` says how many, and 0 is the same as nothing.
#[test]
fn a_large_table_is_scanned_around_the_cache() {
    let count = |count: u32| {
        let parameters = Parameters { db_file_multiblock_read_count: count, ..parameters() };
        let waits = scan_waits(parameters);
        assert!(of(&waits, WaitEvent::DbFileScatteredRead).is_empty());
        of(&waits, WaitEvent::DirectPathRead)
    };
    let unset = of(&scan_waits(parameters()), WaitEvent::DirectPathRead);
    assert!(!unset.is_empty() && unset.iter().all(|p| p[0] == 1 && p[1] > 0), "{unset:?}");
    assert_eq!(count(0), unset);
    // All that one session has a share of: 32 buffers.
    assert!(unset.iter().any(|p| p[2] > 4) && unset.iter().all(|p| p[2] <= 32), "{unset:?}");
    let four = count(4);
    assert!(four.iter().any(|p| p[2] == 4) && four.iter().all(|p| p[2] <= 4), "{four:?}");
}

/// It can be changed while the instance runs.
#[test]
fn the_multiblock_read_count_is_changed_while_the_instance_runs() {
    with_instance(machine(1, database(ROWS)), move |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let longest = |value: &str| {
            let name = "db_file_multiblock_read_count";
            instance.set_parameter(name, value, session).expect("allowed");
            let waits = Seen::during(session, || drop(rows(&table, session)));
            of(&waits, WaitEvent::DirectPathRead).iter().map(|p| p[2]).max()
        };
        let automatic = longest("0");
        assert_eq!(longest("2"), Some(2));
        assert_eq!(longest("0"), automatic);
        drop(table);
    });
}

/// Sets the row's number in a transaction of its own: first to an odd one, then to an even one that
/// is committed, or all is rolled back.
fn work(
    instance: &Instance,
    table: &Rows,
    own: u64,
    committed: &Latch<Vec<i64>>,
    dice: &mut Dice,
    session: &Session,
) {
    let all = rows(table, session);
    for _ in 0..12 {
        let place = (dice.below(ROWS / 4) * 4 + own) as usize;
        let value = committed.shared(session)[place] + 2;
        let mut transaction = Transaction::new();
        let set = |transaction: &mut Transaction, value| {
            let change = |row: &mut Row| row.number = value;
            let found = table.update(transaction, all[place], change, session);
            assert!(found.expect("changed"), "the row is there");
        };
        set(&mut transaction, value - 1);
        session.charge_nanos(Nanos(dice.below(300_000)));
        if dice.below(3) == 0 {
            instance.rollback(transaction, session).expect("rolled back");
            continue;
        }
        set(&mut transaction, value);
        instance.commit(transaction, session).expect("committed");
        committed.exclusive(session)[place] = value;
    }
}

/// While sessions change rows, commit and roll back, and writers write blocks with changes that are
/// taken back later: a scan around the cache sees nothing that wasn't committed, and nothing older
/// than what was committed when it began.
#[test]
fn a_scan_among_changes_sees_what_was_committed_and_nothing_older() {
    let base = database(ROWS);
    for seed in 0..60 {
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let committed = vec![0_i64; ROWS as usize];
            let committed = Arc::new(Latch::new(session.os(), LatchKind::Innermost, committed));
            let users = (0..3).map(|own| {
                let committed = Arc::clone(&committed);
                start("user", instance, session, move |instance, session| {
                    let table = Rows::open(instance, TABLE, session).expect("there");
                    let mut dice = Dice(seed << 8 | own);
                    work(instance, &table, own, &committed, &mut dice, session);
                })
            });
            let users: Vec<_> = users.collect();
            let table = Rows::open(instance, TABLE, session).expect("there");
            let mut dice = Dice(seed);
            for _ in 0..6 {
                session.charge_nanos(Nanos(dice.below(400_000)));
                let least = committed.shared(session).clone();
                let mut found = Vec::new();
                table.scan(|_, row| found.push(row.number), session).expect("read");
                assert_eq!(found.len(), least.len());
                for (place, (found, least)) in found.iter().zip(&least).enumerate() {
                    assert!(found % 2 == 0, "row {place}: {found} was never committed");
                    assert!(found >= least, "row {place}: {found} is older than {least}");
                }
            }
            join(users, session);
            drop(table);
        });
    }
}

/// While others insert, a scan sees every row that was committed before it, each once.
#[test]
fn a_scan_of_a_growing_table_sees_every_row_once() {
    let creation = instance::Creation { data_bytes: 1_000 * 2_048, ..creation() };
    let base = common::database_with(creation, parameters(), |instance, session| {
        let table = Rows::create(instance, TABLE, session).expect("made");
        common::fill(instance, &table, 100, session);
    });
    for seed in 0..40 {
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let count = Arc::new(Latch::new(session.os(), LatchKind::Innermost, 100_usize));
            let users = (0..2).map(|_| {
                let count = Arc::clone(&count);
                start("user", instance, session, move |instance, session| {
                    let table = Rows::open(instance, TABLE, session).expect("there");
                    let mut inserter = HeapInserter::default();
                    for _ in 0..10 {
                        let mut transaction = Transaction::new();
                        for _ in 0..12 {
                            let row =
                                table.insert(&mut transaction, &mut inserter, |_| {}, session);
                            row.expect("inserted");
                        }
                        instance.commit(transaction, session).expect("committed");
                        *count.exclusive(session) += 12;
                    }
                })
            });
            let users: Vec<_> = users.collect();
            let table = Rows::open(instance, TABLE, session).expect("there");
            for _ in 0..6 {
                let least = *count.shared(session);
                let mut found = BTreeSet::new();
                let each = |row, _: Row| assert!(found.insert(row), "{row} twice");
                table.scan(each, session).expect("read");
                assert!(found.len() >= least, "{} of {least} rows", found.len());
            }
            join(users, session);
            assert_eq!(rows(&table, session).len(), *count.shared(session));
            drop(table);
        });
    }
}
