//! What an instance tells views: who is connected, what transactions do, what a recovery would have
//! to do, and all of it without waiting for a change that is under way.

use std::sync::Arc;

use instance::{Connected, Parameters, Transaction};
use txn::TransactionState;
use waits::{Nanos, SessionKind};

use crate::common::{
    TABLE, abort, add, bed, database, machine, open, parameters, pause, rows, run_kept, shut,
    start, with_instance,
};
use crate::rows::Rows;

/// A session is listed while it is connected, once however often (IN50).
#[test]
fn a_session_is_listed_while_it_is_connected() {
    with_instance(machine(1, database(1)), |instance, session| {
        let names = |all: &[Arc<Connected>]| -> Vec<String> {
            all.iter().map(|one| one.session.account.name().to_string()).collect()
        };
        assert!(instance.connected(session).is_empty());
        let mine = instance.connect(session);
        let again = instance.connect(session);
        assert!(mine.since_us > 0 && mine.session.number == session.number());
        let other = start("other", instance, session, |instance, session| {
            let _connected = instance.connect(session);
            pause(Nanos::from_secs(2), session);
        });
        pause(Nanos::from_secs(1), session);
        assert_eq!(names(&instance.connected(session)), ["main", "other"]);
        other.join(session).expect("no panic");
        assert_eq!(names(&instance.connected(session)), ["main"]);
        drop(mine);
        assert_eq!(instance.connected(session).len(), 1, "the session is connected twice");
        drop(again);
        assert!(instance.connected(session).is_empty());
    });
}

/// Rule txn/TX60: a transaction is shown with its session, since when, and how many undo records it
/// has, until it has ended.
#[test]
fn a_transaction_is_shown_with_its_session() {
    with_instance(machine(1, database(40)), |instance, session| {
        let (transactions, began) = (instance.transactions(), session.now());
        let table = Rows::open(instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        assert_eq!(transactions.all_seen(session), []);
        let mut transaction = Transaction::new();
        for (count, row) in (1..).zip(&all) {
            add(&table, &mut transaction, *row, 1, session).expect("changed");
            let seen = transactions.all_seen(session);
            let [one] = seen[..] else { panic!("{seen:?}") };
            assert_eq!((Some(one.id), one.state), (transaction.id(), TransactionState::Active));
            assert_eq!((one.session, one.records), (Some(session.number()), Some(count)));
            assert!(one.since.is_some_and(|since| since >= began && since <= session.now()));
        }
        let other = start("other", instance, session, |instance, session| {
            let table = Rows::open(instance, TABLE, session).expect("there");
            let mut transaction = Transaction::new();
            let mut inserter = access::HeapInserter::default();
            table.insert(&mut transaction, &mut inserter, |_| {}, session).expect("inserted");
            pause(Nanos::from_secs(2), session);
            instance.rollback(transaction, session).expect("rolled back");
        });
        pause(Nanos::from_secs(1), session);
        assert_eq!(
            (transactions.all_seen(session).len(), transactions.active().count(session)),
            (2, 2)
        );
        other.join(session).expect("no panic");
        instance.commit(transaction, session).expect("committed");
        assert_eq!(transactions.all_seen(session), []);
    });
}

/// A transaction that was active at a crash is shown as dead until it is rolled back, and has no
/// session.
#[test]
fn what_a_crash_left_is_shown_as_dead() {
    let (_, disk) = run_kept(machine(1, database(30)), |world, session| {
        let instance = open(world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let mut transaction = Transaction::new();
        for row in rows(&table, session) {
            add(&table, &mut transaction, row, 1, session).expect("changed");
        }
        instance.checkpoint(session).expect("done");
        std::mem::forget(transaction);
        abort(instance, session);
    });
    run_kept(machine(1, disk), |world, session| {
        let instance = open(world, session);
        for one in instance.transactions().all_seen(session) {
            assert_eq!((one.state, one.session), (TransactionState::Dead, None));
            assert_eq!(one.since, None);
        }
        instance.wait_for_dead(session);
        assert_eq!(instance.transactions().all_seen(session), []);
        shut(instance, session);
    });
}

/// IN51: the parameters are shown as they were while another session changes one and waits.
#[test]
fn parameters_are_shown_while_they_are_changed() {
    let fewer = Parameters { db_writer_processes: 2, ..parameters() };
    let content = database(1);
    bed::with_instance(machine(1, content), fewer, |instance, session| {
        let shown = || instance.parameters_shown(session).db_writer_processes;
        assert_eq!(shown(), 2);
        let before = session.account().waited();
        instance.set_parameter("db_writer_processes", "1", session).expect("changed");
        assert_eq!((shown(), instance.parameters(session).db_writer_processes), (1, 1));
        let _ = instance.set_parameter("db_writer_processes", "0", session).expect_err("refused");
        assert_eq!(shown(), 1);
        let waited = session.account().waited();
        let _ = (instance.recovery_ahead(session), instance.undo_intervals(session), shown());
        assert!(waited >= before && session.account().waited() == waited, "a reader has waited");
    });
}

/// What a recovery would have to do grows with changes and is nothing after a checkpoint, but for
/// what the control file doesn't say yet.
#[test]
fn a_recovery_has_what_was_changed_since_the_checkpoint() {
    with_instance(machine(1, database(40)), |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        instance.checkpoint(session).expect("done");
        pause(Nanos::from_secs(10), session);
        let before = instance.recovery_ahead(session);
        assert_eq!(before.dirty_blocks, 0);
        let mut transaction = Transaction::new();
        for row in &all {
            add(&table, &mut transaction, *row, 1, session).expect("changed");
        }
        instance.commit(transaction, session).expect("committed");
        let after = instance.recovery_ahead(session);
        assert!(after.dirty_blocks > 0 && after.redo_blocks > before.redo_blocks, "{after:?}");
        assert!(after.estimate > before.estimate);
        let [now] = instance.undo_intervals(session)[..] else { panic!("one is under way") };
        assert!(now.transactions >= 1 && now.blocks >= 1, "{now:?}");
        assert_eq!(session.account().kind(), SessionKind::Foreground);
    });
}
