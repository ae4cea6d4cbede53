//! Undo: transactions larger than the cache and than a block, cut off anywhere; rolling back with
//! nothing left of the data file.

use std::collections::BTreeSet;

use access::HeapInserter;
use instance::{Instance, Parameters, Transaction};
use os::Session;
use sim::fs::crash::CrashStates;
use stop::RefusalKind;
use waits::Nanos;

use crate::common::{
    self, TABLE, add, bed, check, creation, database, database_with, ended, join, left, machine,
    number, open, open_as, pause, racy, rows, run, shut, start, with_instance,
};
use crate::rows::{Row, Rows};

const ROWS: u64 = 16 * 20;

fn smallest() -> Parameters {
    Parameters { db_cache_size: 16 * 2048, ..common::parameters() }
}

/// A transaction larger than the cache, its undo in many blocks: rolled back nothing of it is left,
/// and its blocks serve the next one in the slot.
#[test]
fn a_transaction_larger_than_the_cache_is_rolled_back_row_by_row() {
    let base = database(ROWS);
    for seed in 0..6 {
        bed::with_instance(racy(seed, base.clone()), smallest(), move |instance, session| {
            let table = Rows::open(instance, TABLE, session).expect("there");
            let all = rows(&table, session);
            for round in 0..3 {
                let mut large = Transaction::new();
                let mut inserter = HeapInserter::default();
                for row in &all {
                    let change = |row: &mut Row| {
                        row.number = 7;
                        row.filler = round;
                    };
                    assert!(table.update(&mut large, *row, change, session).expect("changed"));
                }
                for _ in 0..40 {
                    table.insert(&mut large, &mut inserter, |_| {}, session).expect("inserted");
                }
                instance.rollback(large, session).expect("rolled back");
                assert_eq!(rows(&table, session), all, "what was inserted is gone");
                let mut sum = 0;
                table
                    .scan(|_, row| sum += row.number + i64::from(row.filler), session)
                    .expect("read");
                assert_eq!(sum, 0);
                check(instance, session);
            }
            drop(table);
        });
    }
}

/// The power goes at some point of a long rollback, and again while the next opening goes on with
/// it: in the end nothing of the transaction is left.
#[test]
fn a_rollback_that_is_cut_off_goes_on_where_it_stopped() {
    let base = database(16 * 6);
    let work = |world: &sim::World, session: &os::Session| {
        let instance = open_as(&smallest(), world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        let mut large = Transaction::new();
        for row in &all {
            let change = |row: &mut Row| row.filler = 3;
            assert!(table.update(&mut large, *row, change, session).expect("changed"));
        }
        let mut witness = Transaction::new();
        let mut inserter = HeapInserter::default();
        table.insert(&mut witness, &mut inserter, |_| {}, session).expect("inserted");
        // Makes all before it durable.
        instance.commit(witness, session).expect("committed");
        instance.rollback(large, session).expect("rolled back");
        drop(table);
        shut(instance, session);
    };
    let looks_right = |world: &sim::World, session: &os::Session| {
        let instance = open(world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        table.scan(|_, row| assert_eq!(row.filler, 0, "rolled back"), session).expect("read");
        check(&instance, session);
        drop(table);
        shut(instance, session);
    };
    let mut cuts = 0;
    for cut in (1..).step_by(2) {
        let mut content = base.clone();
        content.lose_power_at(content.crash_points() + cut);
        let mut report = machine(cut, content).run(work);
        if !report.was_cut(format_args!("cut {cut}")) {
            break;
        }
        cuts += 1;
        let first = left(&mut report);
        for draw in 0..2 {
            let mut again = CrashStates::of(&first).sample(draw);
            again.lose_power_at(again.crash_points() + 1 + cut % 40);
            let mut report = machine(cut, again).run(looks_right);
            let lost = report.was_cut(format_args!("cut {cut}, draw {draw}"));
            let second = left(&mut report);
            if !lost {
                continue;
            }
            let mut last = CrashStates::of(&second).sample(draw);
            last.lose_power_at(u64::MAX);
            ended(machine(cut, last).run(looks_right), format!("cut {cut}, draw {draw}"));
        }
    }
    assert!(cuts > 30, "{cuts} cuts");
}

/// The data file is full: the statement is refused, the transaction can go on with what needs no
/// space, and be rolled back or committed (rule txn/UN5).
#[test]
fn a_full_data_file_refuses_statements_and_stops_no_rollback() {
    let creation = instance::Creation { data_bytes: 64 * 2048, ..creation() };
    let base = database_with(creation, common::parameters(), |instance, session| {
        Rows::create(instance, TABLE, session).expect("made");
    });
    for seed in 0..30 {
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let sessions = (0..3).map(|user| {
                start("user", instance, session, move |instance, session| {
                    let table = Rows::open(instance, TABLE, session).expect("there");
                    let (mut large, mut inserter) = (Transaction::new(), HeapInserter::default());
                    let mut last = None;
                    let stop = loop {
                        match table.insert(&mut large, &mut inserter, |_| {}, session) {
                            Ok(row) => last = Some(row),
                            Err(stop) => break stop,
                        }
                    };
                    assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
                    assert!(stop.to_string().contains("full"), "{stop}");
                    if let Some(row) = last {
                        // Undo needs room too, so this may be refused, and nothing else.
                        for _ in 0..3 {
                            if let Err(stop) = add(&table, &mut large, row, 1, session) {
                                assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
                            }
                        }
                    }
                    match user {
                        0 => instance.commit(large, session).expect("committed"),
                        _ => instance.rollback(large, session).expect("rolled back"),
                    }
                })
            });
            join(sessions.collect(), session);
            check(instance, session);
        });
    }
}

/// The database has two undo segments; more are made when more transactions are active at once,
/// and they are there after a restart.
#[test]
fn an_undo_segment_is_made_for_each_transaction_that_is_active_beside_the_others() {
    run(machine(1, database(16 * 20)), |world, session| {
        let large = Parameters { db_cache_size: 128 * 2048, ..common::parameters() };
        let instance = open_as(&large, world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        // Each in a block of its own: a block names only so many transactions.
        let all: Vec<_> = rows(&table, session).into_iter().step_by(16).collect();
        for _ in 0..2 {
            let mut open: Vec<Transaction> = Vec::new();
            for row in &all[..16] {
                let mut transaction = Transaction::new();
                add(&table, &mut transaction, *row, 1, session).expect("a segment is there");
                open.push(transaction);
            }
            let segments: BTreeSet<u16> =
                open.iter().map(|t| t.id().expect("it has begun").segment).collect();
            assert_eq!(segments, (0..16).collect(), "each has one, and none is made in vain");
            instance.commit(open.pop().expect("16 of them"), session).expect("committed");
            for transaction in open {
                instance.rollback(transaction, session).expect("rolled back");
            }
        }
        assert_eq!(number(&table, all[15], session), 2);
        assert_eq!(number(&table, all[14], session), 0);
        drop(table);
        shut(instance, session);
        let instance = open_as(&large, world, session);
        check(&instance, session);
        shut(instance, session);
    });
}

/// With no room for more undo, what only an old snapshot needs is overwritten: its reader is told
/// so, and everybody else works on.
#[test]
fn a_snapshot_whose_undo_had_to_be_overwritten_is_too_old_and_says_so() {
    let creation = common::creation();
    let undo_bytes = 40 * 2_048;
    let creation = instance::Creation { undo_bytes, undo_bytes_max: undo_bytes, ..creation };
    let disk = database_with(creation, common::parameters(), |instance, session| {
        let table = Rows::create(instance, TABLE, session).expect("made");
        common::fill(instance, &table, 32, session);
    });
    with_instance(machine(1, disk), |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        let old = instance.transactions().begin_serializable(session).expect("begun");
        let read = |old: &Transaction| {
            let mut sum = 0;
            table.scan_within(Some(old), |_, row| sum += row.number, session).map(|()| sum)
        };
        assert_eq!(read(&old).expect("it is new"), 0);
        let mut too_old = None;
        for round in 0..40 {
            for row in &all {
                let mut transaction = Transaction::new();
                add(&table, &mut transaction, *row, 1, session).expect("there is always room");
                instance.commit(transaction, session).expect("committed");
            }
            match read(&old) {
                Ok(sum) => assert_eq!(sum, 0, "round {round}"),
                Err(stop) => {
                    too_old.get_or_insert((round, stop.to_string()));
                    assert_eq!(stop.refusal(), Some(RefusalKind::SnapshotTooOld), "{stop}");
                }
            }
        }
        let (round, message) = too_old.expect("the undo of 40 rounds has no room");
        assert!(round > 0, "not while there is room");
        assert!(message.contains("snapshot too old"), "{message}");
        instance.rollback(old, session).expect("ended");
        assert!(all.iter().all(|row| number(&table, *row, session) == 40));
        drop(table);
        check(instance, session);
    });
}

/// Blocks that the undo segment has been handed.
fn undo_blocks(instance: &Instance, session: &Session) -> u32 {
    let undo = instance.space().find("_undo", session).expect("read").expect("there");
    let runs = instance.space().blocks(undo.header, session).expect("read");
    runs.iter().map(|run| run.count).sum()
}

/// While there is room undo is kept for as long as a snapshot needs it, and not longer.
#[test]
fn undo_is_kept_for_a_snapshot_and_used_again_after_it() {
    with_instance(machine(1, database(8)), |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        let handed_out = || undo_blocks(instance, session);
        let rounds = |count: usize| {
            for row in (0..count).flat_map(|_| &all) {
                let mut transaction = Transaction::new();
                add(&table, &mut transaction, *row, 1, session).expect("changed");
                instance.commit(transaction, session).expect("committed");
            }
        };
        rounds(40);
        let before = handed_out();
        rounds(40);
        assert_eq!(handed_out(), before, "nobody needs the undo of the first rounds");
        let old = instance.transactions().begin_serializable(session).expect("begun");
        rounds(40);
        let with_snapshot = handed_out();
        assert!(with_snapshot > before, "{with_snapshot} {before}");
        let seen = table.fetch(Some(&old), all[0], |row| row.number, session).expect("read");
        assert_eq!(seen, Some(80));
        instance.rollback(old, session).expect("ended");
        rounds(40);
        assert_eq!(handed_out(), with_snapshot, "it is used again");
        drop(table);
        check(instance, session);
    });
}

/// With a retention, undo that is older is overwritten though a snapshot needs it, and the undo
/// tablespace doesn't grow for it; what is younger is kept. Without one it is kept again.
#[test]
fn undo_older_than_the_retention_is_overwritten_before_the_tablespace_grows() {
    with_instance(machine(1, database(64)), |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        let handed_out = || undo_blocks(instance, session);
        // As many as nobody's snapshot would have undo grow for.
        let round = |length: Nanos| {
            for row in (0..4).flat_map(|_| &all[..8]) {
                let mut transaction = Transaction::new();
                add(&table, &mut transaction, *row, 1, session).expect("changed");
                instance.commit(transaction, session).expect("committed");
            }
            pause(length, session);
        };
        let read = |old: &Transaction| table.fetch(Some(old), all[0], |row| row.number, session);
        // In a block that nobody changes after this.
        let (mut early, quiet) = (Transaction::new(), all[63]);
        add(&table, &mut early, quiet, 7, session).expect("changed");
        instance.commit(early, session).expect("committed");
        (0..10).for_each(|_| round(Nanos::ZERO));
        let set = |value: &str| instance.set_parameter("undo_retention", value, session);
        set("20").expect("allowed");
        let old = instance.transactions().begin_serializable(session).expect("begun");
        (0..12).for_each(|_| round(Nanos::from_secs(1)));
        assert_eq!(read(&old).expect("12 s old"), Some(40));
        (0..40).for_each(|_| round(Nanos::from_secs(1)));
        let grown = handed_out();
        let stop = read(&old).expect_err("52 s old");
        assert_eq!(stop.refusal(), Some(RefusalKind::SnapshotTooOld), "{stop}");
        assert!(stop.to_string().contains("undo_retention"), "{stop}");
        for _ in 0..16 {
            let young = instance.transactions().begin_serializable(session).expect("begun");
            let seen = read(&young).expect("new");
            (0..5).for_each(|_| round(Nanos::from_secs(1)));
            assert_eq!(read(&young).expect("5 s old, whatever older ones miss"), seen);
            let look = table.fetch(Some(&young), quiet, |row| row.number, session);
            assert_eq!(look.expect("its undo is gone, but it ended long ago"), Some(7));
            instance.rollback(young, session).expect("ended");
        }
        assert_eq!(handed_out(), grown, "it goes round in what 20 s need");
        instance.rollback(old, session).expect("ended");

        set("0").expect("allowed");
        round(Nanos::from_secs(2));
        let old = instance.transactions().begin_serializable(session).expect("begun");
        let seen = read(&old).expect("new");
        (0..60).for_each(|_| round(Nanos::from_secs(1)));
        assert_eq!(read(&old).expect("kept"), seen);
        assert!(handed_out() > grown, "for that it had to grow");
        instance.rollback(old, session).expect("ended");
        drop(table);
        check(instance, session);
    });
}

/// A transaction that is taken back to a savepoint again and again, and others that are rolled
/// back, leave undo blocks empty: these are used again, though their transactions have only just
/// ended, or not yet. (Statements that begin again for rows that others had locked let undo grow
/// for ever.)
#[test]
fn blocks_that_a_rollback_has_emptied_are_used_again_at_once() {
    with_instance(machine(1, database(8)), |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        let handed_out = || undo_blocks(instance, session);
        // It keeps whatever is committed from here on.
        let old = instance.transactions().begin_serializable(session).expect("begun");
        let mut transaction = Transaction::new();
        let (mut first, mut before) = (true, 0);
        for round in 0..120 {
            // Each round begins at another place of the first block.
            let savepoint = transaction.savepoint();
            for row in &all {
                add(&table, &mut transaction, *row, 1, session).expect("changed");
            }
            instance
                .transactions()
                .rollback_to(&mut transaction, savepoint, session)
                .expect("back");
            if std::mem::take(&mut first) {
                before = handed_out();
            }
            if round % 30 == 29 {
                instance.rollback(transaction, session).expect("ended");
                transaction = Transaction::new();
            }
        }
        let after = handed_out();
        assert!(after <= before + 16, "{before} undo blocks, and then {after}");
        instance.rollback(transaction, session).expect("ended");
        instance.rollback(old, session).expect("ended");
        drop(table);
        check(instance, session);
    });
}
