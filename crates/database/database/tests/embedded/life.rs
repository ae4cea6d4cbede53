//! From creation to shutdown: what stays, what is taken back, what is refused.

use std::ops::ControlFlow;

use database::{Bounds, Database, Direction, ErrorKind, IndexSpec, Value};

use crate::common::{Folder, balance, filled, options};

#[test]
fn what_was_committed_is_there_after_a_shutdown_and_after_none() {
    let scratch = Folder::absent("reopened");
    let database = Database::create(&scratch.0, &options()).expect("created");
    filled(&database);
    database.shutdown().expect("in good order");

    let database = Database::open(&scratch.0, &options()).expect("opened");
    let mut connection = database.connect("app");
    let account = connection.table("account").expect("there");
    let mut tx = connection.begin();
    let changed = tx.update(&account, &[Value::Int(7)], |_, set| set.set(2, Value::Int(7)));
    assert!(changed.expect("changed"));
    tx.commit().expect("committed");
    let mut lost = connection.begin();
    lost.delete(&account, &[Value::Int(8)]).expect("deleted");
    std::mem::forget(lost);
    // Dropped, and not shut.
    drop((connection, database));

    let database = Database::open(&scratch.0, &options()).expect("recovered");
    let mut connection = database.connect("app");
    let account = connection.table("account").expect("there");
    assert_eq!(balance(&mut connection, &account, 7), Some(7));
    assert_eq!(balance(&mut connection, &account, 8), Some(100));
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn a_transaction_that_is_dropped_or_taken_back_leaves_nothing() {
    let scratch = Folder::absent("dropped");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let mut connection = database.connect("app");
    let mut tx = connection.begin();
    tx.delete(&account, &[Value::Int(1)]).expect("deleted");
    let savepoint = tx.savepoint();
    tx.delete(&account, &[Value::Int(2)]).expect("deleted");
    tx.rollback_to(savepoint).expect("back");
    let found = tx.get(&account, &[Value::Int(2)], |_| ()).expect("read");
    assert!(found.is_some(), "it was taken back");
    let twice = tx.insert(&account, &[Value::Int(3), Value::Null, Value::Int(0)]);
    let refused = twice.expect_err("there is one already");
    assert_eq!(refused.refusal(), Some(ErrorKind::UniqueViolation), "{refused}");
    drop(tx);
    assert_eq!(balance(&mut connection, &account, 1), Some(100));
    let moved = connection.transact(|tx| {
        for (id, amount) in [(4, -30), (5, 30)] {
            tx.update(&account, &[Value::Int(id)], |row, change| {
                change.set(2, Value::Int(row.get_i64(2).unwrap_or(0) + amount))
            })?;
        }
        Ok(30)
    });
    assert_eq!(moved.expect("committed"), 30);
    assert_eq!(balance(&mut connection, &account, 4), Some(70));
    assert_eq!(balance(&mut connection, &account, 5), Some(130));
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn one_snapshot_sees_one_moment_and_the_second_updater_is_refused() {
    let scratch = Folder::absent("snapshot");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    let mut tx = one.begin_serializable().expect("begun");
    let key = [Value::Int(9)];
    let mut second = other.begin();
    second.update(&account, &key, |_, set| set.set(2, Value::Int(1))).expect("changed");
    second.commit().expect("committed");
    let seen = tx.get(&account, &key, |row| row.get_i64(2)).expect("read").flatten();
    assert_eq!(seen, Some(100), "as it was when the transaction began");
    let late = tx.update(&account, &key, |_, set| set.set(2, Value::Int(2)));
    let refused = late.expect_err("it was changed since");
    assert!(database::is_worth_repeating(&refused), "{refused}");
    tx.rollback().expect("ended");
    drop((one, other));
    database.shutdown().expect("in good order");
}

#[test]
fn ranges_go_both_ways_and_tables_outlive_new_definitions() {
    let scratch = Folder::absent("ranges");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let mut connection = database.connect("app");
    let index = IndexSpec::new("by_owner", "account", ["owner", "id"]);
    connection.create_index(&index).expect("made");
    // The old handle goes on, and the new one knows the index.
    assert_eq!(balance(&mut connection, &account, 3), Some(100));
    let account = connection.table("account").expect("there");
    let by_owner = account.index("by_owner").expect("there");
    let owner = [Value::Text("owner 4")];
    for (direction, expected) in
        [(Direction::Ascending, [4, 14, 24]), (Direction::Descending, [94, 84, 74])]
    {
        let mut found = Vec::new();
        let read = connection.range(&account, by_owner, &Bounds::equal(&owner), direction, |row| {
            found.extend(row.get_i64(0));
            if found.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        read.expect("read");
        assert_eq!(found, expected);
    }
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn what_cannot_be_done_says_what_and_why() {
    let scratch = Folder::absent("refused");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let again = Database::create(&scratch.0, &options()).err().expect("there is one");
    assert_eq!(again.refusal(), Some(ErrorKind::AlreadyExists), "{again}");
    let mut connection = database.connect("app");
    let missing = connection.table("acount").err().expect("there is none");
    assert_eq!(missing.refusal(), Some(ErrorKind::NotFound), "{missing}");
    assert!(missing.to_string().contains("acount"), "{missing}");
    let mut tx = connection.begin();
    let null = tx.insert(&account, &[Value::Null, Value::Null, Value::Int(0)]);
    let null = null.expect_err("a key isn't NULL");
    assert_eq!(null.refusal(), Some(ErrorKind::NotNullViolation), "{null}");
    assert!(null.to_string().contains("id"), "{null}");
    tx.rollback().expect("ended");
    let busy = database.clone().shutdown().expect_err("there is a connection");
    assert_eq!(busy.refusal(), Some(ErrorKind::WrongState), "{busy}");
    assert!(busy.to_string().contains("1 connections"), "{busy}");
    connection.drop_table("account", false).expect("dropped");
    let gone = connection.get(&account, &[Value::Int(1)], |_| ()).expect_err("it is gone");
    assert!(gone.to_string().contains("account"), "{gone}");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// The files are there, and the dictionary doesn't fit into them: nothing of the attempt is left,
/// and what was there before is.
#[test]
fn a_creation_that_fails_while_the_dictionary_is_made_leaves_nothing() {
    let scratch = Folder::absent("no-dictionary");
    let mut small = options();
    small.creation.data_bytes = 2 << 20;
    small.creation.data_bytes_max = 0;
    small.creation.log_file_bytes = 1 << 20;
    let refused = Database::create(&scratch.0, &small).err().expect("the dictionary has no room");
    assert_eq!(refused.refusal(), Some(ErrorKind::NoSpace), "{refused}");
    assert!(!scratch.0.exists(), "the directory was made by the creation");

    std::fs::create_dir_all(&scratch.0).expect("a folder");
    assert!(Database::create(&scratch.0, &small).is_err(), "it has no room still");
    assert_eq!(std::fs::read_dir(&scratch.0).expect("it is there").count(), 0);
    let database = Database::create(&scratch.0, &options()).expect("nothing is in the way");
    database.shutdown().expect("in good order");
}
