//! Keys that pass from row to row within a statement, of more rows than memory has room for.

use std::ops::ControlFlow;

use database::{
    Bounds, ColumnSpec, Connection, Database, Direction, ErrorKind, Selection, Table, TableSpec,
    Type, Value,
};
use waits::Statistic;

use crate::common::{Folder, options};

const ROWS: i64 = 40_000;

/// The keys in the order of the index, each with the id of its row.
fn keys(connection: &mut Connection<'_>, table: &Table) -> Vec<(i64, i64)> {
    let index = table.index("t_k_key").expect("there");
    let mut found = Vec::new();
    let (all, upwards) = (Bounds::equal(&[]), Direction::Ascending);
    let read = connection.range(table, index, &all, upwards, |row| {
        found.extend(row.get_i64(1).zip(row.get_i64(0)));
        ControlFlow::Continue(())
    });
    read.expect("read");
    found
}

#[test]
fn an_update_of_more_keys_than_memory_has_room_for_sorts_them_on_disk() {
    let scratch = Folder::absent("late-keys");
    let mut options = options();
    options.parameters.sort_area_size = 512 << 10;
    let database = Database::create(&scratch.0, &options).expect("created");
    let mut connection = database.connect("one");
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("k", Type::BigInt).not_null())
        .primary_key(["id"])
        .unique(["k"]);
    let table = connection.create_table(&spec).expect("made");
    let mut tx = connection.begin();
    let row = |id: i64| [Value::Int(id), Value::Int(-id)];
    let loaded = tx.load(&table, |load| (0..ROWS).try_for_each(|id| load.push(&row(id))));
    assert_eq!(loaded.expect("loaded"), ROWS as u64);
    tx.commit().expect("committed");
    let before = connection.statistics().statistic(Statistic::SortsDisk);
    let mut tx = connection.begin();
    let up = tx.update_where(&table, Selection::All, None, |row, set| {
        set.set(1, Value::Int(row.get_i64(1).expect("not NULL") + 1))
    });
    assert_eq!(up.expect("at the end no key is twice"), ROWS as u64);
    tx.commit().expect("committed");
    assert_eq!(connection.statistics().statistic(Statistic::SortsDisk), before + 1);
    let expected: Vec<_> = (0..ROWS).rev().map(|id| (1 - id, id)).collect();
    assert_eq!(keys(&mut connection, &table), expected);
    // Two rows would have the key 0 then.
    let mut tx = connection.begin();
    let up = tx.update_where(&table, Selection::All, None, |row, set| {
        let (id, k) = (row.get_i64(0).expect("a key"), row.get_i64(1).expect("not NULL"));
        set.set(1, Value::Int(if id == 0 { 0 } else { k + 1 }))
    });
    let refused = up.expect_err("two rows with one key");
    assert_eq!(refused.refusal(), Some(ErrorKind::UniqueViolation), "{refused}");
    assert!(refused.to_string().contains("k = 0"), "{refused}");
    tx.commit().expect("committed");
    assert_eq!(keys(&mut connection, &table), expected);
    drop(connection);
    database.shutdown().expect("in good order");
}
