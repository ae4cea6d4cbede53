//! What it costs to read an index as of a snapshot that is older than many of its entries: blocks
//! that are looked at, of the index and of undo.

use std::ops::{ControlFlow, Range};

use database::{
    Bounds, ColumnSpec, CommitLogging, CommitMode, CommitWait, Connection, Database, Direction,
    Statistic, Table, TableSpec, Tx, Type, Value,
};

use crate::common::{Folder, options};

const ROWS: u64 = 6_000;
/// A leaf of 8 KiB has room for fewer of these keys.
const LEAF: u64 = 80;

fn on_new(name: &str, test: impl FnOnce(&Database, &mut Connection<'_>, &Table)) {
    let scratch = Folder::absent(name);
    let mut options = options();
    options.parameters.db_cache_size = 32 << 20;
    options.creation.log_file_bytes = 16 << 20;
    let database = Database::create(&scratch.0, &options).expect("made");
    let mut connection = database.connect("loads");
    let code = ColumnSpec::new("code", Type::Text);
    let table = connection.create_table(&TableSpec::new("t").column(code).primary_key(["code"]));
    test(&database, &mut connection, &table.expect("made"));
    drop(connection);
    database.shutdown().expect("shut");
}

fn code(number: u64) -> String {
    format!("{number:010}{}", "k".repeat(100))
}

fn load(tx: &mut Tx<'_, '_>, table: &Table, numbers: Range<u64>) {
    let codes: Vec<String> = numbers.map(code).collect();
    let rows: Vec<[Value<'_>; 1]> = codes.iter().map(|code| [Value::Text(code)]).collect();
    tx.insert_many(table, rows.iter().map(|row| &row[..])).expect("inserted");
}

/// Each is a transaction of its own.
fn load_one_by_one(connection: &mut Connection<'_>, table: &Table, numbers: Range<u64>) {
    let mode = CommitMode { wait: CommitWait::Nowait, logging: CommitLogging::Batch };
    for number in numbers {
        let mut tx = connection.begin();
        load(&mut tx, table, number..number + 1);
        tx.commit_with(mode).expect("committed");
    }
}

/// The report sees these rows and no others. To look for one that was loaded last costs what its
/// leaf does, and to go through all costs so much for each row that was loaded.
fn assert_cheap(report: &mut Tx<'_, '_>, table: &Table, sees: &[u64]) {
    let before = report.statistics();
    let found = report.get(table, &[Value::Text(&code(ROWS - 1))], |_| ()).expect("read");
    assert_eq!(found, None, "it was loaded since");
    let one = report.statistics().since(&before).statistic(Statistic::ConsistentGets);
    let before = report.statistics();
    let mut seen: Vec<u64> = Vec::new();
    let key = table.primary().expect("it has a key");
    let read = report.range(table, key, &Bounds::equal(&[]), Direction::Ascending, |row| {
        let code = row.get_text(0).expect("a text").expect("not null");
        seen.push(code[..10].parse().expect("a number"));
        ControlFlow::Continue(())
    });
    read.expect("read");
    assert_eq!(seen, sees);
    let all = report.statistics().since(&before).statistic(Statistic::ConsistentGets);
    assert!(one < 4 * LEAF, "one key takes {one} gets");
    assert!(all < 4 * ROWS, "all keys take {all} gets");
}

#[test]
fn keys_of_an_open_load_are_passed_at_the_cost_of_their_leaves() {
    on_new("older-open", |database, connection, table| {
        let mut other = database.connect("reads");
        let mut report = other.begin_serializable().expect("begun");
        let mut tx = connection.begin();
        load(&mut tx, table, 0..ROWS);
        assert_cheap(&mut report, table, &[]);
        tx.rollback().expect("rolled back");
        report.commit().expect("over");
    });
}

#[test]
fn keys_that_came_one_by_one_are_passed_at_the_cost_of_their_leaves() {
    on_new("older-single", |database, connection, table| {
        load_one_by_one(connection, table, 0..10);
        let mut other = database.connect("reads");
        let mut report = other.begin_serializable().expect("begun");
        load_one_by_one(connection, table, 10..ROWS);
        assert_cheap(&mut report, table, &Vec::from_iter(0..10));
        report.commit().expect("over");
    });
}
