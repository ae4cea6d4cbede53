//! How long a statement waits for what others hand around among themselves.

use std::ops::Bound;

use database::{
    Bounds, Connection, Database, Error, ErrorKind, ForUpdate, LockWait, Nanos, Selection, Table,
    Tx, Value, WaitEvent,
};
use os::Session;
use sim::Outside;

use crate::common::filled_by;
use crate::simulated::{join, made, racing, start};

const LOCK_WAIT: Nanos = Nanos::from_secs(1);

fn pause(session: &Session, millis: u64) {
    session.pause(Nanos::from_millis(millis), session.waiting(WaitEvent::PlSqlLockTimer));
}

/// What each of ten sessions does five times, in a transaction that it keeps for 200 ms.
type Relay = fn(&mut Tx<'_, '_>, &Table, u64) -> Result<(), Error>;

/// The statement of the one that waits; it has to be done or refused within so many milliseconds.
type Waits = fn(&mut Connection<'_>, &Table) -> Result<(), Error>;

fn set(tx: &mut Tx<'_, '_>, account: &Table, id: i64) -> Result<(), Error> {
    tx.update(account, &[Value::Int(id)], |_, set| set.set(2, Value::Int(1))).map(drop)
}

/// How long, in milliseconds, the statement took in each of ten schedules.
fn waited(relay: Relay, commits: bool, waits: Waits) -> Vec<u64> {
    let base = made(|database, session| {
        filled_by(&mut database.connect_with(session));
    });
    let all = Outside::new(Vec::new());
    for seed in 0..10 {
        let took = all.clone();
        racing(seed, base.clone(), move |database: &Database, session| {
            let relays = (0..10).map(|number| {
                start("relay", (database, session), move |database, session| {
                    let mut connection = database.connect_with(session);
                    let account = connection.table("account").expect("there");
                    for _ in 0..5 {
                        let mut tx = connection.begin();
                        relay(&mut tx, &account, number).expect("it waits as long as it takes");
                        pause(session, 200);
                        match commits {
                            true => tx.commit().expect("committed"),
                            false => tx.rollback().expect("ended"),
                        };
                    }
                })
            });
            let mut threads: Vec<_> = relays.collect();
            threads.push(start("waiter", (database, session), move |database, session| {
                pause(session, 100);
                let mut connection = database.connect_with(session);
                let account = connection.table("account").expect("there");
                connection.set_lock_wait(LockWait::For(LOCK_WAIT));
                let began = session.now();
                let done = waits(&mut connection, &account);
                took.with(|all| all.push(session.now().since(began).0 / 1_000_000));
                if let Err(stop) = &done {
                    assert_eq!(stop.refusal(), Some(ErrorKind::LockTimeout), "{stop}");
                }
            }));
            join(threads, session);
        });
    }
    all.take()
}

/// Each has row 5 for 200 ms.
fn five(tx: &mut Tx<'_, '_>, account: &Table, _: u64) -> Result<(), Error> {
    set(tx, account, 5)
}

fn assert_within(waited: &[u64], most: u64) {
    assert!(waited.iter().all(|one| *one < most), "ms of {most}: {waited:?}");
    assert!(waited.iter().any(|one| *one >= 1_000), "none was held up for long: {waited:?}");
}

#[test]
fn for_update_waits_for_a_row_as_long_as_it_says_whoever_has_it_in_turn() {
    let locks: Waits = |connection, account| {
        let mut tx = connection.begin();
        let how = ForUpdate::wait_for(LOCK_WAIT);
        let done = tx.get_for_update(account, &[Value::Int(5)], how, |_| ()).map(drop);
        tx.rollback().and(done)
    };
    assert_within(&waited(five, true, locks), 1_200);
}

#[test]
fn an_update_waits_for_a_row_as_long_as_the_connection_says_whoever_has_it_in_turn() {
    let updates: Waits = |connection, account| {
        let mut tx = connection.begin();
        let done = set(&mut tx, account, 5);
        tx.rollback().and(done)
    };
    assert_within(&waited(five, true, updates), 1_200);
}

/// Half of the sessions have one row, and half the other. Whenever one row was changed since, the
/// statement lets go of both and begins again.
#[test]
fn a_statement_that_begins_again_waits_for_each_of_two_rows_so_long_in_all() {
    let relay: Relay = |tx, account, number| set(tx, account, [5, 6][number as usize % 2]);
    let locks: Waits = |connection, account| {
        let primary = account.primary().expect("there");
        let (from, to) = (Bound::Included(Value::Int(5)), Bound::Included(Value::Int(6)));
        let selection = Selection::Range(primary, Bounds { equal: &[], from, to });
        let mut tx = connection.begin();
        let how = ForUpdate::wait_for(LOCK_WAIT);
        let done = tx.lock_where(account, selection, None, how, |_| ()).map(drop);
        tx.rollback().and(done)
    };
    assert_within(&waited(relay, true, locks), 2_300);
}

/// Each inserts the same key, and takes that back.
#[test]
fn an_insert_waits_for_a_key_as_long_as_the_connection_says_whoever_has_it_in_turn() {
    fn insert(tx: &mut Tx<'_, '_>, account: &Table, _: u64) -> Result<(), Error> {
        tx.insert(account, &[Value::Int(500), Value::Null, Value::Int(0)]).map(drop)
    }
    let inserts: Waits = |connection, account| {
        let mut tx = connection.begin();
        let done = insert(&mut tx, account, 0);
        tx.rollback().and(done)
    };
    assert_within(&waited(insert, false, inserts), 1_200);
}
