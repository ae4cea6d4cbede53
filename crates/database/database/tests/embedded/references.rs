//! Foreign keys that hold when a statement has ended, or refuse it.

use std::sync::mpsc;
use std::time::Duration;

use database::{
    Bounds, ColumnSpec, Connection, Database, ErrorKind, OnDelete, Row, RowChange, Selection,
    Statistic, Table, TableSpec, Tx, Type, Value,
};

use crate::common::{Folder, options};

fn in_tx<T>(connection: &mut Connection<'_>, work: impl FnOnce(&mut Tx<'_, '_>) -> T) -> T {
    let mut tx = connection.begin();
    let done = work(&mut tx);
    tx.commit().expect("committed");
    done
}

fn insert(tx: &mut Tx<'_, '_>, child: &Table, id: i64, parent: Value<'_>) {
    let row = [Value::Int(id), parent, Value::Int(0), Value::Text("")];
    tx.insert(child, &row).expect("inserted");
}

fn set_note(tx: &mut Tx<'_, '_>, child: &Table, id: i64, length: usize) {
    let note = "x".repeat(length);
    let set = tx.update(child, &[Value::Int(id)], |_, set| set.set(3, Value::Text(&note)));
    assert!(set.expect("changed"));
}

/// How many blocks it takes to find and read a row. One of two reads may also learn shortcuts of
/// the index.
fn gets(tx: &mut Tx<'_, '_>, child: &Table, id: i64) -> u64 {
    let mut read = || {
        let before = tx.statistics();
        tx.get(child, &[Value::Int(id)], |_| ()).expect("read").expect("there");
        tx.statistics().since(&before).statistic(Statistic::ConsistentGets)
    };
    read().min(read())
}

fn tables(connection: &mut Connection<'_>) -> (Table, Table) {
    let parent =
        TableSpec::new("parent").column(ColumnSpec::new("id", Type::BigInt)).primary_key(["id"]);
    let child = TableSpec::new("child")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("parent", Type::BigInt))
        .column(ColumnSpec::new("size", Type::BigInt))
        .column(ColumnSpec::new("note", Type::Text))
        .primary_key(["id"])
        .foreign_key(["parent"], "parent", OnDelete::Cascade);
    let parent = connection.create_table(&parent).expect("made");
    (parent, connection.create_table(&child).expect("made"))
}

/// Row 7 lies in one block and has moved to another, which is full and whose ITL has two entries.
/// Both are taken by transactions that end after the snapshot of the one that deletes the parent.
/// That a delete of row 7 itself is refused shows that the blocks are so.
#[test]
fn a_cascade_over_a_row_in_pieces_that_cannot_be_changed_is_refused_and_ends() {
    let scratch = Folder::absent("cascade-pieces");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut filler = database.connect("filler");
    let (parent, child) = tables(&mut filler);
    in_tx(&mut filler, |tx| tx.insert(&parent, &[Value::Int(1)]).expect("inserted"));
    in_tx(&mut filler, |tx| {
        (0..4).for_each(|id| insert(tx, &child, id, Value::Null));
        insert(tx, &child, 7, Value::Int(1));
    });
    // Row 7 moves out of the first block into the next one, where others lie.
    in_tx(&mut filler, |tx| set_note(tx, &child, 0, 5_000));
    in_tx(&mut filler, |tx| (10..17).for_each(|id| insert(tx, &child, id, Value::Null)));
    in_tx(&mut filler, |tx| set_note(tx, &child, 7, 3_100));
    assert_eq!(in_tx(&mut filler, |tx| gets(tx, &child, 7)), 3, "an index, and two pieces");
    // Row 10 grows until it would leave the block: then this has no room for a longer list.
    for length in (2_000..8_000).step_by(8) {
        let mut tx = filler.begin();
        set_note(&mut tx, &child, 10, length);
        if gets(&mut tx, &child, 10) > 2 {
            tx.rollback().expect("taken back");
            break;
        }
        tx.commit().expect("committed");
    }

    let (begun, has_begun) = mpsc::channel();
    let (go, goes) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    let (shared, of) = (database.clone(), parent.clone());
    let thread = std::thread::spawn(move || {
        let mut connection = shared.connect("cascade");
        let mut tx = connection.begin_serializable().expect("begun");
        begun.send(()).expect("somebody waits");
        goes.recv().expect("told");
        let deleted = tx.delete(&of, &[Value::Int(1)]);
        let _ = done.send(deleted.map_err(|stop| stop.refusal()));
    });
    has_begun.recv().expect("begun");
    let mut one = database.connect("control");
    let mut control = one.begin_serializable().expect("begun");
    for id in 11..=14 {
        let set = |tx: &mut Tx<'_, '_>| {
            tx.update(&child, &[Value::Int(id)], |_, set| set.set(2, Value::Int(1)))
        };
        assert!(in_tx(&mut filler, set).expect("changed"));
    }
    let direct = control.delete(&child, &[Value::Int(7)]).expect_err("the list is too new");
    assert_eq!(direct.refusal(), Some(ErrorKind::Serialization), "{direct}");
    control.rollback().expect("ended");

    go.send(()).expect("it waits");
    let deleted = is_done.recv_timeout(Duration::from_secs(60)).expect("the cascade never ends");
    assert_eq!(deleted, Err(Some(ErrorKind::Serialization)));
    thread.join().expect("it didn't panic");
    drop((filler, one));
    database.shutdown().expect("in good order");
}

/// Subtracts one from each key of the parent, by one statement.
fn move_down(tx: &mut Tx<'_, '_>, parent: &Table) -> Result<u64, database::Error> {
    let selection = Selection::Range(parent.primary().expect("it has one"), Bounds::equal(&[]));
    let less = |row: &Row<'_>, change: &mut RowChange<'_>| {
        change.set(0, Value::Int(row.get_i64(0).unwrap_or(0) - 1))
    };
    tx.update_where(parent, selection, None, less)
}

/// A parent with these keys, and a child that refers to one of them.
fn referred(connection: &mut Connection<'_>, keys: impl Iterator<Item = i64>, to: i64) -> Table {
    let parent =
        TableSpec::new("parent").column(ColumnSpec::new("id", Type::BigInt)).primary_key(["id"]);
    let child = TableSpec::new("child")
        .column(ColumnSpec::new("parent", Type::BigInt))
        .foreign_key(["parent"], "parent", OnDelete::NoAction);
    let parent = connection.create_table(&parent).expect("made");
    let child = connection.create_table(&child).expect("made");
    in_tx(connection, |tx| {
        for id in keys {
            tx.insert(&parent, &[Value::Int(id)]).expect("inserted");
        }
        tx.insert(&child, &[Value::Int(to)]).expect("inserted");
    });
    parent
}

/// The child refers to 2. First 3 becomes 2 in the statement in which 2 becomes 1; then no row
/// becomes 2.
#[test]
fn keys_move_by_one_statement_if_each_that_is_referred_to_is_there_at_its_end() {
    let scratch = Folder::absent("keys-shift");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let parent = referred(&mut connection, 2..=3, 2);
    let mut tx = connection.begin();
    assert_eq!(move_down(&mut tx, &parent).expect("2 is there before and after"), 2);
    let refused = move_down(&mut tx, &parent).expect_err("2 would have gone");
    assert_eq!(refused.refusal(), Some(ErrorKind::ForeignKeyViolation), "{refused}");
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// So many rows lose a key that the statement would look before its end, if it might.
#[test]
fn a_key_may_come_back_by_the_last_row_of_a_long_statement() {
    const LAST: i64 = 6_000;
    let scratch = Folder::absent("keys-back");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let parent = referred(&mut connection, 1..=LAST, 1);
    let mut tx = connection.begin();
    let selection = Selection::Range(parent.primary().expect("it has one"), Bounds::equal(&[]));
    let moved = tx.update_where(&parent, selection, None, |row, change| {
        let id = row.get_i64(0).unwrap_or(0);
        change.set(0, Value::Int(if id == LAST { 1 } else { id + LAST }))
    });
    assert_eq!(moved.expect("1 is there before and after"), LAST.unsigned_abs());
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
}
