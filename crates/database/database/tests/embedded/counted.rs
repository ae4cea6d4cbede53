//! What statements cost, as a session counts it.

use database::{
    ColumnSpec, Database, OnDelete, Selection, Statistic, Statistics, TableSpec, Type, Value,
};

use crate::common::{Folder, filled, options};

fn counted(cost: &Statistics) -> [u64; 4] {
    [
        Statistic::ConsistentGets,
        Statistic::CurrentGets,
        Statistic::CrBlocksCreated,
        Statistic::CrUndoRecordsApplied,
    ]
    .map(|statistic| cost.statistic(statistic))
}

/// A read beside an active transaction clones the row's block, and takes back in it what that one
/// has changed there; each record is one more consistent get, of undo.
#[test]
fn a_read_beside_a_writer_counts_its_clone_and_the_undo_that_it_applies() {
    let scratch = Folder::absent("counted");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut reader, mut writer) = (database.connect("reader"), database.connect("writer"));
    let key = [Value::Int(7)];
    let read = |reader: &mut database::Connection<'_>| {
        let before = reader.statistics();
        let seen = reader.get(&account, &key, |row| row.get_i64(2)).expect("read").flatten();
        assert_eq!(seen, Some(100));
        reader.statistics().since(&before)
    };
    assert_eq!(counted(&read(&mut reader)), [2, 0, 0, 0]);

    let mut tx = writer.begin();
    for balance in 1..=3 {
        let set = tx.update(&account, &key, |_, set| set.set(2, Value::Int(balance)));
        assert!(set.expect("changed"));
    }
    let written = tx.statistics();
    assert!(written.statistic(Statistic::CurrentGets) >= 3, "changes want blocks as they are now");
    let cost = read(&mut reader);
    assert_eq!(counted(&cost), [2 + 3, 0, 1, 3]);
    assert_eq!(cost.logical_reads(), 5);
    tx.commit().expect("committed");
    assert_eq!(counted(&tx_cost(&mut reader, &account)), [2, 0, 0, 0]);
    drop((reader, writer));
    database.shutdown().expect("in good order");
}

fn tx_cost(reader: &mut database::Connection<'_>, account: &database::Table) -> Statistics {
    let mut tx = reader.begin();
    let before = tx.statistics();
    let seen = tx.get(account, &[Value::Int(7)], |row| row.get_i64(2)).expect("read").flatten();
    assert_eq!(seen, Some(3));
    let cost = tx.statistics().since(&before);
    tx.rollback().expect("ended");
    cost
}

/// Those that are done already aren't gone through again for each one that follows.
#[test]
fn a_cascade_takes_as_much_for_each_row_of_many_as_of_few() {
    let scratch = Folder::absent("counted-cascade");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let parent =
        TableSpec::new("parent").column(ColumnSpec::new("id", Type::BigInt)).primary_key(["id"]);
    let child = TableSpec::new("child")
        .column(ColumnSpec::new("parent", Type::BigInt))
        .foreign_key(["parent"], "parent", OnDelete::Cascade);
    let parent = connection.create_table(&parent).expect("made");
    let child = connection.create_table(&child).expect("made");
    let mut gets_each = Vec::new();
    for (id, children) in [(1, 1_000_u64), (2, 8_000)] {
        let row = [Value::Int(id)];
        let mut tx = connection.begin();
        tx.insert(&parent, &row).expect("inserted");
        let rows = (0..children).map(|_| &row[..]);
        assert_eq!(tx.insert_many(&child, rows).expect("inserted"), children);
        tx.commit().expect("committed");
        let mut tx = connection.begin();
        let before = tx.statistics();
        assert!(tx.delete(&parent, &row).expect("deleted"));
        let gets = tx.statistics().since(&before).statistic(Statistic::CurrentGets);
        tx.commit().expect("committed");
        gets_each.push(gets as f64 / children as f64);
    }
    assert!(gets_each[1] < gets_each[0] * 1.5, "db block gets for each child: {gets_each:?}");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// What was taken back before and is applied isn't gone through again.
#[test]
fn going_back_to_a_savepoint_takes_as_much_after_many_times_as_after_few() {
    let scratch = Folder::absent("counted-savepoint");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let mut connection = database.connect("app");
    let mut tx = connection.begin();
    let row = |id| [Value::Int(id), Value::Text("new"), Value::Int(1)];
    tx.insert(&account, &row(1_000)).expect("inserted");
    let savepoint = tx.savepoint();
    let mut costs = Vec::new();
    for id in 0..400 {
        tx.insert(&account, &row(1_001)).expect("inserted");
        // A savepoint of its own, and a change that stays until the one before it is gone back to.
        let inner = tx.savepoint();
        tx.insert(&account, &row(2_000 + id)).expect("inserted");
        tx.rollback_to(inner).expect("taken back");
        let before = tx.statistics();
        tx.rollback_to(savepoint).expect("taken back");
        costs.push(tx.statistics().since(&before).statistic(Statistic::CurrentGets));
    }
    assert!(costs[399] <= costs[9] + 10, "10th: {}, 400th: {}", costs[9], costs[399]);
    tx.commit().expect("committed");
    let mut ids = Vec::new();
    connection.scan(&account, |row| ids.extend(row.get_i64(0))).expect("read");
    ids.sort_unstable();
    assert_eq!(ids, (0..100).chain([1_000]).collect::<Vec<_>>());
    drop(connection);
    database.shutdown().expect("in good order");
}

/// When a transaction ended whose name was forgotten is looked for in its undo once, and not again
/// for each block that it has changed.
#[test]
fn an_old_snapshot_looks_once_for_the_end_of_what_changed_many_blocks() {
    let scratch = Folder::absent("counted-ends");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut reader, mut writer) = (database.connect("reader"), database.connect("writer"));
    let spec = TableSpec::new("large")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("body", Type::Text));
    let large = writer.create_table(&spec).expect("made");
    let (old_body, new_body) = ("x".repeat(100), "y".repeat(100));
    let rows: Vec<_> = (0..20_000).map(|id| [Value::Int(id), Value::Text(&old_body)]).collect();
    let mut tx = writer.begin();
    tx.insert_many(&large, rows.iter().map(|row| &row[..])).expect("inserted");
    tx.commit().expect("committed");
    let mut tx = writer.begin();
    let changed =
        tx.update_where(&large, Selection::All, None, |_, set| set.set(1, Value::Text(&new_body)));
    assert_eq!(changed.expect("changed"), 20_000);
    tx.commit().expect("committed");
    let mut old = reader.begin_serializable().expect("begun");
    for balance in 0..120 {
        let mut tx = writer.begin();
        let key = [Value::Int(7)];
        let set = tx.update(&account, &key, |_, set| set.set(2, Value::Int(balance)));
        assert!(set.expect("changed"));
        tx.commit().expect("committed");
    }
    for round in 0..2 {
        let (before, mut seen) = (old.statistics(), 0);
        let read =
            old.scan(&large, |row| seen += i64::from(row.get_text(1) == Ok(Some(&new_body))));
        read.expect("read");
        assert_eq!(seen, 20_000);
        let gets = old.statistics().since(&before).statistic(Statistic::CurrentGets);
        // It has some 320 blocks, and its undo about as many.
        assert!(gets < 320 * 10, "{gets} current gets in round {round}");
    }
    old.rollback().expect("ended");
    drop((reader, writer));
    database.shutdown().expect("in good order");
}
