//! How long statements wait for locks, and what they say when they don't get them.

use database::{Connection, Database, Error, ErrorKind, Nanos, Patience, Table, Tx, Value, Which};

use crate::common::{Scratch, filled, options};

fn statements(tx: &mut Tx<'_, '_>, account: &Table) -> Vec<(&'static str, Result<(), Error>)> {
    let (five, row) = ([Value::Int(5)], [Value::Int(500), Value::Null, Value::Int(0)]);
    let wait = database::ForUpdate::wait();
    vec![
        ("insert", tx.insert(account, &row).map(drop)),
        ("update", tx.update(account, &five, |_, set| set.set(2, Value::Int(1))).map(drop)),
        (
            "update all",
            tx.update_where(account, Which::All, None, |_, set| set.set(2, Value::Int(1)))
                .map(drop),
        ),
        ("delete", tx.delete(account, &five).map(drop)),
        ("lock", tx.get_for_update(account, &five, wait, |_| ()).map(drop)),
    ]
}

fn refused_within(
    other: &mut Connection<'_>,
    account: &Table,
    patience: Patience,
    kind: ErrorKind,
) {
    other.set_lock_patience(patience);
    let mut tx = other.begin();
    for (what, done) in statements(&mut tx, account) {
        let stop = done.expect_err(what);
        assert_eq!(stop.refusal(), Some(kind), "{what}: {stop}");
        assert!(!database::is_worth_repeating(&stop), "{what}: {stop}");
    }
    tx.rollback().expect("ended");
}

/// On one thread the other one can't go on, so nobody else would end the wait.
#[test]
fn two_connections_of_one_thread_do_not_wait_for_each_other_for_ever() {
    let scratch = Scratch::new("one-thread");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    let mut holder = one.begin();
    holder.update(&account, &[Value::Int(5)], |_, set| set.set(2, Value::Int(7))).expect("changed");
    let row = [Value::Int(500), Value::Null, Value::Int(0)];
    holder.insert(&account, &row).expect("inserted");
    let short = Patience::For(Nanos::from_millis(20));
    refused_within(&mut other, &account, short, ErrorKind::LockTimeout);
    refused_within(&mut other, &account, Patience::NoWait, ErrorKind::Busy);
    holder.rollback().expect("ended");
    other.set_lock_patience(Patience::Forever);
    let mut tx = other.begin();
    for (what, done) in statements(&mut tx, &account) {
        done.expect(what);
    }
    tx.rollback().expect("ended");
    drop((one, other));
    database.shutdown().expect("in good order");
}
