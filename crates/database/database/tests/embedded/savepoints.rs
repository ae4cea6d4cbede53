//! What a statement, a savepoint and a transaction take back: also where the caller panics,
//! mistakes one savepoint for another, or forgets a transaction.

use std::panic::{AssertUnwindSafe, catch_unwind};

use database::{
    Connection, Database, Error, ErrorKind, ForUpdate, IndexSpec, Row, Savepoint, Selection, Table,
    Tx, Value,
};

use crate::common::{Folder, balance, filled, options};

/// A database with accounts, and one for its test.
fn opened(name: &str) -> (Folder, Database, Table) {
    let scratch = Folder::absent(name);
    let database = Database::create(&scratch.0, &options()).expect("created");
    filled(&database);
    let mut connection = database.connect("definer");
    let by_owner = IndexSpec::new("by_owner", "account", ["owner", "id"]);
    connection.create_index(&by_owner).expect("made");
    let account = connection.table("account").expect("there");
    drop(connection);
    (scratch, database, account)
}

fn insert(tx: &mut Tx<'_, '_>, account: &Table, id: i64) {
    let row = [Value::Int(id), Value::Text("new"), Value::Int(1)];
    tx.insert(account, &row).expect("inserted");
}

/// Keys of 1,000 and above, by a scan and by each index, which have to agree.
fn new_keys(connection: &mut Connection<'_>, account: &Table) -> Vec<i64> {
    let mut found = Vec::new();
    connection.scan(account, |row| found.extend(row.get_i64(0))).expect("read");
    found.sort_unstable();
    let by_owner = account.index("by_owner").expect("there");
    for index in [account.primary().expect("it has one"), by_owner] {
        let mut through = Vec::new();
        let all = database::Bounds::equal(&[]);
        let read = connection.range(account, index, &all, database::Direction::Ascending, |row| {
            through.extend(row.get_i64(0));
            std::ops::ControlFlow::Continue(())
        });
        read.expect("read");
        through.sort_unstable();
        assert_eq!(through, found, "index {index:?} leads to other rows");
    }
    found.into_iter().filter(|id| *id >= 1_000).collect()
}

fn is_refused(back: Result<(), Error>) {
    let refused = back.expect_err("it isn't a savepoint of the transaction any more");
    assert_eq!(refused.refusal(), Some(ErrorKind::Invalid), "{refused}");
}

#[test]
fn a_savepoint_of_another_transaction_is_refused_and_changes_nothing() {
    let (_scratch, database, account) = opened("savepoint-other");
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    let mut tx = one.begin();
    // Before anything was changed, and in the middle of what will be a statement of another.
    let early = tx.savepoint();
    insert(&mut tx, &account, 1_000);
    let late = tx.savepoint();
    let mut others = other.begin();
    insert(&mut others, &account, 1_001);
    insert(&mut others, &account, 1_002);
    for savepoint in [early, late] {
        is_refused(others.rollback_to(savepoint));
    }
    others.commit().expect("committed");
    tx.commit().expect("committed");
    let mut next = one.begin();
    insert(&mut next, &account, 1_003);
    for savepoint in [early, late] {
        is_refused(next.rollback_to(savepoint));
    }
    next.commit().expect("committed");
    assert_eq!(new_keys(&mut other, &account), [1_000, 1_001, 1_002, 1_003]);
    drop((one, other));
    database.shutdown().expect("in good order");
}

#[test]
fn a_savepoint_is_gone_once_its_transaction_went_back_to_an_earlier_one() {
    let (_scratch, database, account) = opened("savepoint-earlier");
    let mut connection = database.connect("app");
    let mut tx = connection.begin();
    insert(&mut tx, &account, 1_000);
    let first = tx.savepoint();
    insert(&mut tx, &account, 1_001);
    let second: Savepoint = tx.savepoint();
    tx.rollback_to(first).expect("back");
    for id in 1_002..1_005 {
        insert(&mut tx, &account, id);
    }
    // It would cut through the statements since.
    is_refused(tx.rollback_to(second));
    let third = tx.savepoint();
    insert(&mut tx, &account, 1_005);
    tx.rollback_to(third).expect("back");
    tx.rollback_to(third).expect("it stays");
    tx.commit().expect("committed");
    assert_eq!(new_keys(&mut connection, &account), [1_000, 1_002, 1_003, 1_004]);
    drop(connection);
    database.shutdown().expect("in good order");
}

/// The undo of an index entry is marked as applied, not popped (rule txn/UN8): so the transaction's
/// number of changes doesn't say that it has gone back.
#[test]
fn the_slot_of_a_row_that_was_taken_back_with_its_entries_is_used_again() {
    let (_scratch, database, account) = opened("savepoint-slot");
    let mut connection = database.connect("app");
    let mut tx = connection.begin();
    let insert = |tx: &mut Tx<'_, '_>, id| {
        let row = [Value::Int(id), Value::Text("new"), Value::Int(1)];
        tx.insert(&account, &row).expect("inserted")
    };
    let first = insert(&mut tx, 1_000);
    for id in 1_001..1_011 {
        let savepoint = tx.savepoint();
        assert_eq!(insert(&mut tx, id).slot, first.slot + 1, "row {id}");
        tx.rollback_to(savepoint).expect("back");
    }
    assert_eq!(insert(&mut tx, 1_011).slot, first.slot + 1);
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// Panics, which is caught here and not told to the tests' output.
fn panics(statement: impl FnOnce()) {
    let caught = catch_unwind(AssertUnwindSafe(statement));
    assert!(caught.is_err(), "the closure panics");
}

#[test]
fn a_statement_whose_closure_panics_is_taken_back_and_the_transaction_goes_on() {
    let (_scratch, database, account) = opened("panics");
    let mut connection = database.connect("app");
    let mut tx = connection.begin();
    insert(&mut tx, &account, 1_000);
    let at = |row: &Row<'_>| row.get_i64(0).expect("a key");
    panics(|| {
        let mut filter = |row: &Row<'_>| at(row) < 70 || panic!("at {}", at(row));
        _ = tx.delete_where(&account, Selection::All, Some(&mut filter));
    });
    let by_key = Selection::Range(account.primary().expect("one"), database::Bounds::equal(&[]));
    panics(|| {
        _ = tx.update_where(&account, by_key, None, |row, set| {
            assert!(at(row) < 50, "at {}", at(row));
            set.set(1, Value::Text("another"))
        });
    });
    panics(|| {
        let rows = (1_001..).map(|id| match id {
            1_300 => panic!("at {id}"),
            _ => [Value::Int(id), Value::Null, Value::Int(0)],
        });
        let rows: Vec<_> = rows.take(200).collect();
        let given = rows.iter().enumerate().map(|(number, row)| {
            assert!(number < 150, "at {number}");
            &row[..]
        });
        _ = tx.insert_many(&account, given);
    });
    panics(|| {
        let look = |_: Row<'_>| panic!("looked at");
        _ = tx.lock_where(&account, Selection::All, None, ForUpdate::wait(), look);
    });
    // Own changes are seen as before, and rows that were locked only by what panicked are free.
    assert!(tx.get(&account, &[Value::Int(1_000)], |_| ()).expect("read").is_some());
    let mut other = database.connect("other");
    let mut others = other.begin();
    let key = [Value::Int(5)];
    let free = others.get_for_update(&account, &key, ForUpdate::nowait(), |row| row.get_i64(2));
    assert_eq!(free.expect("nobody has it").flatten(), Some(100));
    others.rollback().expect("ended");
    insert(&mut tx, &account, 1_001);
    tx.commit().expect("committed");
    assert_eq!(new_keys(&mut other, &account), [1_000, 1_001]);
    let mut rows = 0;
    let owners = |row: Row<'_>| {
        rows += 1;
        let owner = row.get_text(1).expect("text").unwrap_or_default().to_string();
        assert_ne!(owner, "another");
    };
    other.scan(&account, owners).expect("read");
    assert_eq!(rows, 102);
    drop((connection, other));
    database.shutdown().expect("in good order");
}

#[test]
fn a_forgotten_transaction_ends_when_its_connection_is_used_again_or_dropped() {
    let (_scratch, database, account) = opened("forgotten");
    let mut other = database.connect("other");
    let forget = |connection: &mut Connection<'_>| {
        let mut tx = connection.begin();
        insert(&mut tx, &account, 1_000);
        let gone = tx.delete(&account, &[Value::Int(5)]).expect("deleted");
        assert!(gone);
        std::mem::forget(tx);
    };
    let mut is_free = || {
        let mut tx = other.begin();
        let key = [Value::Int(5)];
        let locked = tx.get_for_update(&account, &key, ForUpdate::nowait(), |_| ());
        assert!(locked.expect("nobody has it").is_some());
        tx.rollback().expect("ended");
    };
    let mut connection = database.connect("app");
    forget(&mut connection);
    connection.begin().rollback().expect("ended");
    is_free();
    forget(&mut connection);
    drop(connection.begin_serializable().expect("begun"));
    is_free();
    forget(&mut connection);
    // A definition doesn't wait for locks of its own session.
    connection.drop_index("by_owner").expect("dropped");
    is_free();
    forget(&mut connection);
    assert_eq!(balance(&mut connection, &account, 5), Some(100), "outside of a transaction");
    is_free();
    forget(&mut connection);
    drop(connection);
    is_free();
    drop(other);
    database.shutdown().expect("in good order");
}
