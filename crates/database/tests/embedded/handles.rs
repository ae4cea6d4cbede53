//! What is held across calls, while definitions change: tables, indexes and columns keep their
//! meaning, or are refused clearly.

use std::ops::ControlFlow;

use database::{
    Alteration, Bounds, ColumnSpec, Connection, Database, Direction, Error, ErrorKind, IndexId,
    IndexSpec, Table, TableSpec, Type, Value, Which,
};

use crate::common::{Scratch, options};

fn triple() -> TableSpec {
    TableSpec::new("triple")
        .column(ColumnSpec::new("a", Type::BigInt))
        .column(ColumnSpec::new("b", Type::BigInt))
        .column(ColumnSpec::new("c", Type::BigInt))
        .primary_key(["a"])
}

/// A table with an index for each column, and rows (a, b, c) = (n, n + 10, n % 2).
fn filled(connection: &mut Connection<'_>) -> Table {
    connection.create_table(&triple()).expect("made");
    for column in ["a", "b", "c"] {
        let name = format!("by_{column}");
        let index = IndexSpec::new(&name, "triple", [column]);
        connection.create_index(&index).expect("made");
    }
    let table = connection.table("triple").expect("there");
    let mut tx = connection.begin();
    for n in 0..10 {
        tx.insert(&table, &[Value::Int(n), Value::Int(n + 10), Value::Int(n % 2)])
            .expect("inserted");
    }
    tx.commit().expect("committed");
    table
}

fn firsts(connection: &mut Connection<'_>, table: &Table) -> Vec<i64> {
    let mut found = Vec::new();
    connection.scan(table, |row| found.extend(row.get_i64(0))).expect("read");
    found.sort_unstable();
    found
}

fn count_in(
    connection: &mut Connection<'_>,
    table: &Table,
    (index, key): (IndexId, i64),
) -> Result<usize, Error> {
    let (mut count, key) = (0, [Value::Int(key)]);
    let range = (index, &Bounds::equal(&key), Direction::Ascending);
    connection.range(table, range, |_| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

/// An index is named by what it is, not by its place among others.
#[test]
fn an_index_that_is_held_means_itself_after_an_earlier_one_was_dropped() {
    let scratch = Scratch::new("held-index");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let table = filled(&mut connection);
    let by_b = table.index("by_b").expect("there");
    connection.drop_index("by_a").expect("dropped");

    assert_eq!(count_in(&mut connection, &table, (by_b, 11)).expect("read"), 1);
    let mut tx = connection.begin();
    let one = tx.get_by(&table, (by_b, &[Value::Int(13)]), |row| row.get_i64(0));
    assert_eq!(one.expect("read").flatten(), Some(3));
    let eleven = [Value::Int(11)];
    let which = Which::Range(by_b, Bounds::equal(&eleven));
    assert_eq!(tx.delete_where(&table, which, None).expect("deleted"), 1);
    let one = [Value::Int(1)];
    let which = Which::Range(by_b, Bounds::equal(&one));
    assert_eq!(tx.delete_where(&table, which, None).expect("no b is 1"), 0);
    tx.commit().expect("committed");
    assert_eq!(firsts(&mut connection, &table), [0, 2, 3, 4, 5, 6, 7, 8, 9]);
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn an_index_that_was_dropped_is_refused_and_not_another_taken_for_it() {
    let scratch = Scratch::new("dropped-index");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let table = filled(&mut connection);
    let by_b = table.index("by_b").expect("there");
    connection.drop_index("by_b").expect("dropped");
    // Of the same name, and another.
    connection.create_index(&IndexSpec::new("by_b", "triple", ["c", "a"])).expect("made");
    let gone = count_in(&mut connection, &table, (by_b, 1)).expect_err("it was dropped");
    assert_eq!(gone.refusal(), Some(ErrorKind::NotFound), "{gone}");
    assert!(gone.to_string().contains("triple"), "{gone}");
    assert!(!database::is_worth_repeating(&gone), "it stays away");
    let mut tx = connection.begin();
    let key = [Value::Int(1)];
    let refused = tx.delete_where(&table, Which::Range(by_b, Bounds::equal(&key)), None);
    assert_eq!(refused.expect_err("dropped").refusal(), Some(ErrorKind::NotFound));
    tx.rollback().expect("ended");
    // An index of another table isn't one of this one.
    let other = TableSpec::new("other").column(ColumnSpec::new("x", Type::BigInt));
    let other = connection.create_table(&other).expect("made");
    let by_c = table.index("by_c").expect("there");
    let refused = count_in(&mut connection, &other, (by_c, 1)).expect_err("not its own");
    assert!(refused.to_string().contains("other"), "{refused}");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// A column's number in its table is never another's, so it is what names a column across calls.
#[test]
fn a_column_that_is_held_means_itself_whatever_comes_and_goes_and_is_renamed() {
    let scratch = Scratch::new("held-column");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    connection.create_table(&triple()).expect("made");
    let table = connection.table("triple").expect("there");
    let c = table.column("c").expect("there");
    let mut tx = connection.begin();
    tx.insert(&table, &[Value::Int(1), Value::Int(2), Value::Int(3)]).expect("inserted");
    tx.commit().expect("committed");
    connection.alter_table("triple", &Alteration::DropColumn("b".into())).expect("dropped");
    let rename = Alteration::RenameColumn { from: "c".into(), to: "b".into() };
    connection.alter_table("triple", &rename).expect("renamed");
    let added = ColumnSpec::new("c", Type::BigInt).default_value(Value::Int(9).to_owned());
    connection.alter_table("triple", &Alteration::AddColumn(added)).expect("added");
    let key = [Value::Int(1)];
    let held = connection.get(&table, &key, |row| row.get_i64(c)).expect("read");
    assert_eq!(held.flatten(), Some(3), "the column that was called c");
    let now = connection.table("triple").expect("there");
    assert_eq!(now.column("b").expect("there"), c);
    assert_ne!(now.column("c").expect("there"), c);
    drop(connection);
    database.shutdown().expect("in good order");
}
