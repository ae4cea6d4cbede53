//! What a closure of a statement may not do: it runs under a block's latch, so it ends no
//! transaction, of whatever connection.

use std::panic::{AssertUnwindSafe, catch_unwind};

use database::{Connection, Database, ErrorKind, LockWait, Nanos, Row, Table, Tx, Value};

use crate::common::{Folder, balance, filled, options};

/// Has changed account 2, which lies in the block of account 1.
fn changed<'c, 's>(connection: &'c mut Connection<'s>, account: &Table) -> Tx<'c, 's> {
    let mut tx = connection.begin();
    let set = tx.update(account, &[Value::Int(2)], |_, set| set.set(2, Value::Int(7)));
    assert!(set.expect("changed"));
    tx
}

#[test]
fn a_commit_within_a_closure_of_another_statement_is_refused() {
    let scratch = Folder::absent("commit-within");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    let mut inner = Some(changed(&mut other, &account));
    let mut tx = one.begin();
    let done = tx.update(&account, &[Value::Int(1)], |_, _| match inner.take() {
        Some(inner) => inner.commit(),
        None => Ok(()),
    });
    let refused = done.expect_err("it is within another statement");
    assert_eq!(refused.refusal(), Some(ErrorKind::Invalid), "{refused}");
    tx.rollback().expect("ended");
    drop(inner);
    let mut reader = database.connect("reader");
    assert_eq!(balance(&mut reader, &account, 2), Some(100), "it wasn't committed");
    // The next use of its connection ends it: then others may change the row.
    assert_eq!(balance(&mut other, &account, 2), Some(100), "it was rolled back");
    drop(changed(&mut one, &account));
    drop((one, other, reader));
    database.shutdown().expect("in good order");
}

#[test]
fn a_transaction_that_is_dropped_within_a_closure_is_rolled_back_when_its_connection_is_used_again()
{
    let scratch = Folder::absent("dropped-within");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    let mut inner = Some(changed(&mut other, &account));
    let mut tx = one.begin();
    let seen = tx.get(&account, &[Value::Int(1)], |_| drop(inner.take()));
    seen.expect("read").expect("there");
    tx.rollback().expect("ended");
    drop(inner);
    // A transaction that begins within a closure leaves alone what it can't end.
    let begun = one.scan(&account, |_| drop(other.begin()));
    begun.expect("read");
    assert_eq!(balance(&mut other, &account, 2), Some(100), "it was rolled back");
    drop(changed(&mut one, &account));
    drop((one, other));
    database.shutdown().expect("in good order");
}

/// The connection's session goes with it, and nobody could roll the transaction back later.
#[test]
fn a_connection_with_a_forgotten_transaction_is_not_dropped_within_a_closure() {
    let scratch = Folder::absent("connection-within");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    std::mem::forget(changed(&mut other, &account));
    let (mut tx, mut inner) = (one.begin(), Some(other));
    let get = || tx.get(&account, &[Value::Int(1)], |_| drop(inner.take()));
    let told = catch_unwind(AssertUnwindSafe(get)).expect_err("it panics");
    let told = told.downcast_ref::<&str>().expect("a text");
    assert!(told.contains("isn't dropped within a closure"), "{told}");
}

#[test]
fn a_forgotten_transaction_is_not_rolled_back_within_a_closure_of_another_statement() {
    let scratch = Folder::absent("forgotten-within");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    std::mem::forget(changed(&mut other, &account));
    let mut tx = one.begin();
    let done = tx.update(&account, &[Value::Int(1)], |_, _| {
        other.get(&account, &[Value::Int(3)], |_| ()).map(drop)
    });
    let refused = done.expect_err("it is within another statement");
    assert_eq!(refused.refusal(), Some(ErrorKind::Invalid), "{refused}");
    tx.rollback().expect("ended");
    drop((one, other));
    database.shutdown().expect("in good order");
}

/// A `begin` within a closure can't end what was forgotten. The first statement of its own does.
#[test]
fn a_forgotten_transaction_ends_though_another_was_begun_within_a_closure() {
    let scratch = Folder::absent("begun-within");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    other.set_lock_wait(LockWait::For(Nanos::from_millis(300)));
    std::mem::forget(changed(&mut other, &account));
    let (mut of, mut begun) = (Some(&mut other), None);
    let look = |_: Row<'_>| {
        if let Some(of) = of.take() {
            begun = Some(of.begin());
        }
    };
    one.scan(&account, look).expect("read");
    let mut tx = begun.expect("begun");
    let done = tx.update(&account, &[Value::Int(2)], |_, set| set.set(2, Value::Int(8)));
    assert!(done.expect("the forgotten transaction has ended"));
    tx.commit().expect("committed");
    assert_eq!(balance(&mut one, &account, 2), Some(8));
    drop((one, other));
    database.shutdown().expect("in good order");
}
