//! Keys of which no two rows are alike.

use database::{ColumnSpec, Database, ErrorKind, LockWait, TableSpec, Type, Value};

use crate::common::{Folder, options};

/// The same as a primary key: the last leaf's list is full (two active transactions), its free
/// bytes are fewer than one more entry of the list (30) and enough for a fence with a row.
#[test]
fn a_primary_key_is_unique_while_two_others_are_active_in_the_last_leaf() {
    let scratch = Folder::absent("unique-twice");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let (mut one, mut two) = (database.connect("one"), database.connect("two"));
    let mut three = database.connect("three");
    let spec = TableSpec::new("t").column(ColumnSpec::new("id", Type::BigInt)).primary_key(["id"]);
    let table = one.create_table(&spec).expect("made");
    three.set_lock_wait(LockWait::NoWait);
    let (mut first, mut second, mut third) = (one.begin(), two.begin(), three.begin());
    second.insert(&table, &[Value::Int(1)]).expect("inserted");
    let mut twice = Vec::new();
    // Keys of three bytes: an entry takes 17, so each leaf comes to have 11 to 29 free bytes.
    for key in 1_000..2_200 {
        first.insert(&table, &[Value::Int(key)]).expect("inserted");
        match third.insert(&table, &[Value::Int(key)]) {
            Ok(_) => twice.push(key),
            Err(stop) => assert_eq!(stop.refusal(), Some(ErrorKind::Busy), "{stop}"),
        }
    }
    first.commit().expect("committed");
    second.commit().expect("committed");
    third.commit().expect("committed");
    assert!(twice.is_empty(), "keys that two rows have: {twice:?}");
    drop((one, two, three));
    database.shutdown().expect("in good order");
}
