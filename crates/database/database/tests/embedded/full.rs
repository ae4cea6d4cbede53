//! What statements can do in a tablespace that is full and doesn't grow.

use database::{
    BlockSize, Bounds, ColumnSpec, Comparison, Condition, Connection, Creation, Database,
    ErrorKind, IndexSpec, LockWait, Operand, Options, Parameters, RowChange, Selection, TableSpec,
    Tx, Type, Value,
};

use crate::common::Folder;

/// So many blocks of 2 KiB, and no more.
fn tight(blocks: u64) -> Options {
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: blocks * 2_048,
        data_bytes_max: 0,
        undo_bytes: 8 << 20,
        extent_blocks: 4,
        log_file_bytes: 1 << 20,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    };
    let parameters =
        Parameters { db_cache_size: 4 << 20, db_writer_batch: 4, ..Parameters::default() };
    Options { creation, parameters, ..Options::default() }
}

/// Another table takes all extents that are left.
fn fill_up(connection: &mut Connection<'_>) {
    let spec = TableSpec::new("filler").column(ColumnSpec::new("body", Type::Text));
    let table = connection.create_table(&spec).expect("made");
    let body = "x".repeat(1_500);
    let mut tx = connection.begin();
    let refused = (0..1_000_000).find_map(|_| tx.insert(&table, &[Value::Text(&body)]).err());
    let refused = refused.expect("it is full sometime");
    assert_eq!(refused.refusal(), Some(ErrorKind::NoSpace), "{refused}");
    tx.commit().expect("committed");
}

#[test]
fn a_delete_in_a_leaf_whose_list_is_full_needs_no_block() {
    const ROWS: i64 = 2_000;
    let scratch = Folder::absent("full-delete");
    let database = Database::create(&scratch.0, &tight(1_500)).expect("created");
    let mut connection = database.connect("filler");
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("tag", Type::BigInt))
        .primary_key(["id"]);
    connection.create_table(&spec).expect("made");
    connection.create_index(&IndexSpec::new("by_tag", "t", ["tag"])).expect("made");
    let table = connection.table("t").expect("there");
    let mut tx = connection.begin();
    for id in 0..ROWS {
        tx.insert(&table, &[Value::Int(id), Value::Int(id)]).expect("inserted");
    }
    tx.commit().expect("committed");
    fill_up(&mut connection);

    // Ascending tags fill leaf after leaf, until the index has no block any more.
    let (mut tag, mut refused) = (1_000_000, None);
    'all: for part in 0..7 {
        let mut tx = connection.begin();
        for id in (part..ROWS).step_by(8) {
            let to = Value::Int(tag);
            match tx.update(&table, &[Value::Int(id)], |_, set| set.set(1, to)) {
                Ok(_) => tag += 1,
                Err(stop) => {
                    refused = Some(stop);
                    tx.commit().expect("committed");
                    break 'all;
                }
            }
        }
        tx.commit().expect("committed");
    }
    let refused = refused.expect("the index is full sometime: more rounds are needed");
    assert_eq!(refused.refusal(), Some(ErrorKind::NoSpace), "{refused}");
    drop(connection);

    let by_tag = table.index("by_tag").expect("there");
    let delete = |tx: &mut Tx<'_, '_>, tag: i64| {
        let key = [Value::Int(tag)];
        tx.delete_where(&table, Selection::Range(by_tag, Bounds::equal(&key)), None)
    };
    let (mut one, mut two) = (database.connect("one"), database.connect("two"));
    let mut three = database.connect("three");
    three.set_lock_wait(LockWait::NoWait);
    let mut waits = 0;
    for first in [tag - 500, tag - 390, tag - 280, tag - 170] {
        let (mut t1, mut t2, mut t3) = (one.begin(), two.begin(), three.begin());
        assert_eq!(delete(&mut t1, first).expect("deleted"), 1);
        assert_eq!(delete(&mut t2, first + 1).expect("deleted"), 1);
        if let Err(stop) = delete(&mut t3, first + 2) {
            assert_eq!(stop.refusal(), Some(ErrorKind::Busy), "{stop}");
            waits += 1;
        }
        t3.rollback().expect("ended");
        t2.rollback().expect("ended");
        t1.rollback().expect("ended");
    }
    assert!(waits > 0, "each leaf had room for a longer list");
    drop((one, two, three));
    database.shutdown().expect("in good order");
}

#[test]
fn an_insert_into_a_full_tablespace_finds_the_free_blocks_of_its_table() {
    let scratch = Folder::absent("full-insert");
    let database = Database::create(&scratch.0, &tight(6_500)).expect("created");
    let mut connection = database.connect("filler");
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("body", Type::Text));
    connection.create_table(&spec).expect("made");
    let table = connection.table("t").expect("there");
    let body = "x".repeat(1_500);
    // One row in a block.
    let (mut rows, mut tx) = (0, connection.begin());
    let refused = loop {
        match tx.insert(&table, &[Value::Int(rows), Value::Text(&body)]) {
            Ok(_) => rows += 1,
            Err(stop) => break stop,
        }
    };
    assert_eq!(refused.refusal(), Some(ErrorKind::NoSpace), "{refused}");
    tx.commit().expect("committed");
    assert!(rows > 5_000, "{rows} rows need fewer than three maps");
    let mut tx = connection.begin();
    let mut is_late = |row: &database::Row<'_>| row.get_i64(0).is_some_and(|id| id >= 4_400);
    let deleted = tx.delete_where(&table, Selection::All, Some(&mut is_late)).expect("deleted");
    assert!(deleted > 600, "{deleted} rows are deleted");
    tx.commit().expect("committed");
    drop(connection);

    let mut other = database.connect("other");
    let mut tx = other.begin();
    let first = tx.insert(&table, &[Value::Int(-1), Value::Text(&body)]).map(drop);
    let again = tx.insert(&table, &[Value::Int(-2), Value::Text(&body)]).map(drop);
    tx.rollback().expect("ended");
    drop(other);
    database.shutdown().expect("in good order");
    let told = format!("first: {first:?}; tried again: {again:?}; {deleted} blocks are free");
    assert!(first.is_ok(), "{told}");
}

/// Keys that differ in their last bytes only, in no order: branches are small, leaves are split in
/// the middle.
fn spread(prefix: usize, number: u64) -> String {
    let spread = number.wrapping_mul(2_654_435_761) % 100_000_000;
    format!("{}{spread:08}", "k".repeat(prefix))
}

#[test]
fn each_row_can_be_deleted_where_a_split_was_cut_off_by_a_full_tablespace() {
    const TABLES: u64 = 16;
    const ROWS: i64 = 120;
    let scratch = Folder::absent("full-split");
    let database = Database::create(&scratch.0, &tight(5_000)).expect("created");
    let mut connection = database.connect("app");
    let prefix = |number: u64| 100 + 2 * number as usize;
    let mut tables = Vec::new();
    for number in 0..TABLES {
        let name = format!("t{number}");
        let spec = TableSpec::new(&name)
            .column(ColumnSpec::new("id", Type::BigInt))
            .column(ColumnSpec::new("tag", Type::Text))
            .primary_key(["id"]);
        connection.create_table(&spec).expect("made");
        let index = format!("by_tag{number}");
        connection.create_index(&IndexSpec::new(&index, &name, ["tag"])).expect("made");
        let table = connection.table(&name).expect("there");
        let mut tx = connection.begin();
        for id in 0..ROWS {
            let tag = spread(prefix(number), number * 100_000 + id as u64);
            tx.insert(&table, &[Value::Int(id), Value::Text(&tag)]).expect("inserted");
        }
        tx.commit().expect("committed");
        tables.push(table);
    }
    fill_up(&mut connection);

    let mut undeletable = Vec::new();
    for (number, table) in (0..TABLES).zip(&tables) {
        let mut tx = connection.begin();
        // Old entries stay until the end: nothing of this is purged.
        let refused = (0..8 * ROWS).find_map(|turn| {
            let tag = spread(prefix(number), number * 100_000 + (ROWS + turn) as u64);
            let set = tx
                .update(table, &[Value::Int(turn % ROWS)], |_, set| set.set(1, Value::Text(&tag)));
            set.err()
        });
        let refused = refused.expect("its index is full sometime");
        assert_eq!(refused.refusal(), Some(ErrorKind::NoSpace), "{refused}");
        tx.commit().expect("committed");
        let mut tx = connection.begin();
        for id in 0..ROWS {
            match tx.delete(table, &[Value::Int(id)]) {
                Ok(is_there) => assert!(is_there, "row {id} of table {number}"),
                Err(stop) => undeletable.push(format!("table {number}, row {id}: {stop}")),
            }
        }
        tx.commit().expect("committed");
    }
    assert!(undeletable.is_empty(), "{} rows: {}", undeletable.len(), undeletable[0]);
    drop(connection);
    database.shutdown().expect("in good order");
}

/// What a CHECK forbids is told so, also of a row in pieces that could not be written again.
#[test]
fn a_long_row_that_a_check_forbids_is_told_so_where_there_is_no_room() {
    let scratch = Folder::absent("full-check");
    let database = Database::create(&scratch.0, &tight(1_000)).expect("created");
    let mut connection = database.connect("app");
    let zero = Operand::Constant(Value::Int(0).to_owned());
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("n", Type::BigInt))
        .column(ColumnSpec::new("body", Type::Text))
        .check(Condition::Compare(Operand::Column(1), Comparison::GreaterOrEqual, zero));
    let table = connection.create_table(&spec).expect("made");
    let long = "x".repeat(3_000);
    let row = |id, length: usize| [Value::Int(id), Value::Int(0), Value::Text(&long[..length])];
    let mut tx = connection.begin();
    tx.insert(&table, &row(1, 3_000)).expect("inserted");
    tx.commit().expect("committed");
    fill_up(&mut connection);
    let mut tx = connection.begin();
    // The table's own blocks too.
    for length in [3_000, 1_500, 700, 300, 100] {
        while tx.insert(&table, &row(2, length)).is_ok() {}
    }
    tx.commit().expect("committed");
    let mut tx = connection.begin();
    let mut is_first = |row: &database::Row<'_>| row.get_i64(0) == Some(1);
    let negative = |_: &database::Row<'_>, set: &mut RowChange<'_>| set.set(1, Value::Int(-1));
    let refused = tx.update_where(&table, Selection::All, Some(&mut is_first), negative);
    assert_eq!(refused.expect_err("forbidden").refusal(), Some(ErrorKind::CheckViolation));
    let nothing = |_: &database::Row<'_>, _: &mut RowChange<'_>| Ok(());
    let mut is_first = |row: &database::Row<'_>| row.get_i64(0) == Some(1);
    tx.update_where(&table, Selection::All, Some(&mut is_first), nothing)
        .expect("nothing to write");
    tx.commit().expect("committed");
}
