//! Transactions with one snapshot among others that commit meanwhile: what they see, and what they
//! may change.

use std::ops::ControlFlow;

use database::{
    Alteration, Bounds, ColumnSpec, Comparison, Condition, Connection, ConstraintSpec, Database,
    Direction, Error, ErrorKind, ForUpdate, IndexSpec, Operand, Row, Rule, Selection, Statistic,
    Table, TableSpec, Tx, Type, Value,
};

use crate::common::{Folder, options};

/// A database in a folder of its own, with the table of [`spec`].
struct Place {
    _scratch: Folder,
    database: Database,
    table: Table,
}

/// `item (id, kind, size, note)`, with an index by kind and one by kind and size.
fn spec() -> TableSpec {
    TableSpec::new("item")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("kind", Type::BigInt))
        .column(ColumnSpec::new("size", Type::BigInt))
        .column(ColumnSpec::new("note", Type::Text))
        .primary_key(["id"])
}

impl Place {
    fn new(name: &str) -> Place {
        let scratch = Folder::absent(name);
        let database = Database::create(&scratch.0, &options()).expect("created");
        let mut connection = database.connect("filler");
        connection.create_table(&spec()).expect("made");
        connection.create_index(&IndexSpec::new("by_kind", "item", ["kind"])).expect("made");
        let both = IndexSpec::new("by_size", "item", ["kind", "size"]);
        connection.create_index(&both).expect("made");
        let table = connection.table("item").expect("there");
        drop(connection);
        Place { _scratch: scratch, database, table }
    }

    /// Does `work` in a transaction of another session, which is committed.
    fn meanwhile<T>(&self, work: impl FnOnce(&mut Tx<'_, '_>, &Table) -> T) -> T {
        let mut connection = self.database.connect("other");
        let mut tx = connection.begin();
        let done = work(&mut tx, &self.table);
        tx.commit().expect("committed");
        done
    }

    fn connect(&self) -> Connection<'static> {
        self.database.connect("one")
    }
}

fn insert(tx: &mut Tx<'_, '_>, table: &Table, id: i64, size: i64) -> Result<(), Error> {
    insert_with(tx, table, (id, size), "")
}

fn insert_with(
    tx: &mut Tx<'_, '_>,
    table: &Table,
    (id, size): (i64, i64),
    note: &str,
) -> Result<(), Error> {
    let row = [Value::Int(id), Value::Int(1), Value::Int(size), Value::Text(note)];
    tx.insert(table, &row).map(drop)
}

fn set_size(tx: &mut Tx<'_, '_>, table: &Table, id: i64, size: i64) -> Result<bool, Error> {
    tx.update(table, &[Value::Int(id)], |_, set| set.set(2, Value::Int(size)))
}

fn set_note(tx: &mut Tx<'_, '_>, table: &Table, id: i64, note: &str) -> Result<bool, Error> {
    tx.update(table, &[Value::Int(id)], |_, set| set.set(3, Value::Text(note)))
}

/// Number and size.
fn pair(row: Row<'_>) -> (i64, i64) {
    (row.get_i64(0).expect("a number"), row.get_i64(2).expect("a number"))
}

fn get(tx: &mut Tx<'_, '_>, table: &Table, id: i64) -> Option<(i64, i64)> {
    tx.get(table, &[Value::Int(id)], pair).expect("read")
}

/// All rows, as every way to read them finds them: a scan, and a range of each index.
fn rows(tx: &mut Tx<'_, '_>, table: &Table) -> Vec<(i64, i64)> {
    let mut scanned = Vec::new();
    tx.scan(table, |row| scanned.push(pair(row))).expect("read");
    scanned.sort_unstable();
    for index in table.definition().indexes.iter().map(|index| index.id()) {
        for direction in [Direction::Ascending, Direction::Descending] {
            let mut found = Vec::new();
            let look = |row: Row<'_>| {
                found.push(pair(row));
                ControlFlow::Continue(())
            };
            tx.range(table, index, &Bounds::equal(&[]), direction, look).expect("read");
            found.sort_unstable();
            assert_eq!(found, scanned, "by index {index:?}, {direction:?}");
        }
    }
    for (id, size) in &scanned {
        assert_eq!(get(tx, table, *id), Some((*id, *size)));
    }
    scanned
}

fn is_refused<T>(done: Result<T, Error>) {
    let Err(stop) = done else { panic!("it is let through") };
    assert_eq!(stop.refusal(), Some(ErrorKind::Serialization), "{stop}");
}

#[test]
fn an_insert_over_a_key_that_came_and_went_is_found_by_its_unique_index() {
    let place = Place::new("came-and-went");
    let table = &place.table;
    let mut one = place.connect();
    let mut tx = one.begin_serializable().expect("begun");
    place.meanwhile(|other, table| insert(other, table, 1, 10).expect("inserted"));
    place.meanwhile(|other, table| other.delete(table, &[Value::Int(1)]).expect("deleted"));
    insert(&mut tx, table, 1, 20).expect("nobody has the key");
    assert_eq!(rows(&mut tx, table), [(1, 20)]);
    let again = insert(&mut tx, table, 1, 30).expect_err("it is there");
    assert_eq!(again.refusal(), Some(ErrorKind::UniqueViolation), "{again}");
    assert!(set_size(&mut tx, table, 1, 40).expect("changed"));
    assert_eq!(rows(&mut tx, table), [(1, 40)]);
    assert!(tx.delete(table, &[Value::Int(1)]).expect("deleted"));
    assert_eq!(rows(&mut tx, table), []);
    insert(&mut tx, table, 1, 50).expect("it is free again");
    tx.commit().expect("committed");
    assert_eq!(rows(&mut one.begin(), table), [(1, 50)]);
}

/// The entry of the others is purged in between, so that the own one is an entry of its own.
#[test]
fn an_insert_over_a_key_that_came_and_was_purged_is_found_by_its_unique_index() {
    let place = Place::new("came-and-was-purged");
    let table = &place.table;
    place.meanwhile(|other, table| {
        (100..400).for_each(|id| insert(other, table, id, 0).expect("inserted"));
    });
    let mut one = place.connect();
    let mut tx = one.begin_serializable().expect("begun");
    let before = rows(&mut tx, table);
    for round in 0..40 {
        place.meanwhile(|other, table| {
            (0..100).for_each(|id| insert(other, table, id, round).expect("inserted"));
        });
        place.meanwhile(|other, table| {
            (0..100).for_each(|id| assert!(other.delete(table, &[Value::Int(id)]).expect("gone")));
        });
    }
    insert(&mut tx, table, 1, 20).expect("nobody has the key");
    insert(&mut tx, table, 99, 20).expect("nobody has the key");
    let mut expected = [&[(1, 20), (99, 20)][..], &before].concat();
    expected.sort_unstable();
    assert_eq!(rows(&mut tx, table), expected);
    tx.commit().expect("committed");
}

#[test]
fn an_insert_of_a_key_that_others_have_deleted_since_the_snapshot_is_refused() {
    let place = Place::new("deleted-since");
    let table = &place.table;
    place.meanwhile(|other, table| {
        insert(other, table, 1, 10).expect("inserted");
        insert(other, table, 2, 10).expect("inserted");
    });
    let mut one = place.connect();
    let mut tx = one.begin_serializable().expect("begun");
    place.meanwhile(|other, table| other.delete(table, &[Value::Int(1)]).expect("deleted"));
    is_refused(insert(&mut tx, table, 1, 20));
    assert_eq!(rows(&mut tx, table), [(1, 10), (2, 10)]);
    // An update that makes the key is one more way to insert it.
    let moved = tx.update(table, &[Value::Int(2)], |_, set| set.set(0, Value::Int(1)));
    is_refused(moved);
    let many = [
        [Value::Int(3), Value::Int(1), Value::Int(0), Value::Null],
        [Value::Int(1), Value::Int(1), Value::Int(0), Value::Null],
    ];
    is_refused(tx.insert_many(table, many.iter().map(|row| &row[..])));
    assert_eq!(rows(&mut tx, table), [(1, 10), (2, 10)]);
    tx.rollback().expect("ended");
    let mut tx = one.begin_serializable().expect("begun");
    insert(&mut tx, table, 1, 20).expect("nobody has the key");
    assert_eq!(rows(&mut tx, table), [(1, 20), (2, 10)]);
    tx.commit().expect("committed");
}

/// What the transaction has deleted itself is its own to insert again.
#[test]
fn an_insert_of_a_key_that_the_transaction_has_deleted_itself_is_let_through() {
    let place = Place::new("deleted-itself");
    let table = &place.table;
    place.meanwhile(|other, table| insert(other, table, 1, 10).expect("inserted"));
    let mut one = place.connect();
    let mut tx = one.begin_serializable().expect("begun");
    // So that the leaf isn't as the snapshot sees it.
    place.meanwhile(|other, table| insert(other, table, 2, 10).expect("inserted"));
    assert!(tx.delete(table, &[Value::Int(1)]).expect("deleted"));
    insert(&mut tx, table, 1, 20).expect("it was its own to delete");
    assert_eq!(rows(&mut tx, table), [(1, 20)]);
    let taken = insert(&mut tx, table, 2, 20).expect_err("another has it");
    assert_eq!(taken.refusal(), Some(ErrorKind::UniqueViolation), "{taken}");
    tx.commit().expect("committed");
}

/// Each way to change a row that others have changed, and changed back, since the snapshot.
#[test]
fn a_row_that_was_changed_and_changed_back_since_the_snapshot_is_refused() {
    let place = Place::new("changed-back");
    let table = &place.table;
    let long = "long ".repeat(3_000);
    place.meanwhile(|other, table| {
        insert(other, table, 1, 10).expect("inserted");
        insert(other, table, 2, 10).expect("inserted");
        insert_with(other, table, (3, 10), &long).expect("inserted");
    });
    let mut one = place.connect();
    let mut tx = one.begin_serializable().expect("begun");
    for id in [1, 3] {
        place.meanwhile(|other, table| set_size(other, table, id, 11).expect("changed"));
        place.meanwhile(|other, table| set_size(other, table, id, 10).expect("changed"));
    }
    let before = rows(&mut tx, table);
    for id in [1, 3] {
        let key = [Value::Int(id)];
        is_refused(set_size(&mut tx, table, id, 12));
        is_refused(set_note(&mut tx, table, id, "other"));
        is_refused(tx.delete(table, &key));
        is_refused(tx.get_for_update(table, &key, ForUpdate::nowait(), |_| ()));
        is_refused(tx.get_for_update(table, &key, ForUpdate::skip_locked(), |_| ()));
    }
    let all = tx.update_where(table, Selection::All, None, |_, set| set.set(3, Value::Text("n")));
    is_refused(all);
    is_refused(tx.delete_where(
        table,
        Selection::Range(table.definition().indexes[1].id(), Bounds::equal(&[])),
        None,
    ));
    assert_eq!(rows(&mut tx, table), before);
    // Others in the same block are nobody's business.
    assert!(set_size(&mut tx, table, 2, 12).expect("changed"));
    assert_eq!(rows(&mut tx, table), [(1, 10), (2, 12), (3, 10)]);
    tx.commit().expect("committed");
}

/// One that was deleted and inserted again is another row, wherever it lies.
#[test]
fn a_row_that_was_deleted_and_inserted_again_since_the_snapshot_is_refused() {
    let place = Place::new("inserted-again");
    let table = &place.table;
    place.meanwhile(|other, table| {
        insert(other, table, 1, 10).expect("inserted");
        insert(other, table, 2, 10).expect("inserted");
    });
    let mut one = place.connect();
    let mut tx = one.begin_serializable().expect("begun");
    place.meanwhile(|other, table| other.delete(table, &[Value::Int(1)]).expect("deleted"));
    place.meanwhile(|other, table| insert(other, table, 1, 10).expect("inserted"));
    is_refused(set_size(&mut tx, table, 1, 12));
    is_refused(tx.delete(table, &[Value::Int(1)]));
    // Its key is another's again.
    let taken = insert(&mut tx, table, 1, 20).expect_err("another has it");
    assert_eq!(taken.refusal(), Some(ErrorKind::UniqueViolation), "{taken}");
    assert_eq!(rows(&mut tx, table), [(1, 10), (2, 10)]);
    tx.commit().expect("committed");
}

/// Neither a lock nor a change that was taken back makes a new version.
#[test]
fn a_row_that_others_have_only_locked_or_rolled_back_since_the_snapshot_may_be_changed() {
    let place = Place::new("only-locked");
    let table = &place.table;
    place.meanwhile(|other, table| {
        (1..=4).for_each(|id| insert(other, table, id, 10).expect("inserted"));
    });
    let mut one = place.connect();
    let mut tx = one.begin_serializable().expect("begun");
    let how = ForUpdate::nowait();
    place.meanwhile(|other, table| {
        other.get_for_update(table, &[Value::Int(1)], how, |_| ()).expect("locked");
        // One more, so that something was committed in the block.
        set_size(other, table, 4, 11).expect("changed")
    });
    let mut other = place.database.connect("other");
    let mut undone = other.begin();
    assert!(set_size(&mut undone, table, 2, 11).expect("changed"));
    assert!(undone.delete(table, &[Value::Int(3)]).expect("deleted"));
    undone.rollback().expect("taken back");
    assert!(set_size(&mut tx, table, 1, 12).expect("changed"));
    assert!(set_size(&mut tx, table, 2, 12).expect("changed"));
    assert!(tx.delete(table, &[Value::Int(3)]).expect("deleted"));
    assert_eq!(rows(&mut tx, table), [(1, 12), (2, 12), (4, 10)]);
    insert(&mut tx, table, 3, 13).expect("it was its own to delete");
    // What it has changed it may change again.
    assert!(set_size(&mut tx, table, 1, 14).expect("changed"));
    assert!(set_size(&mut tx, table, 1, 10).expect("changed"));
    assert_eq!(rows(&mut tx, table), [(1, 10), (2, 12), (3, 13), (4, 10)]);
    tx.commit().expect("committed");
}

/// A block whose ITL can't grow: one entry is of a transaction that
/// ended after the snapshot, the other of one that is active.
#[test]
fn nobody_waits_for_a_list_entry_that_its_snapshot_could_not_take_over() {
    let place = Place::new("list-entry");
    let table = &place.table;
    place.meanwhile(|other, table| {
        (0..8).for_each(|id| insert(other, table, id, 10).expect("inserted"));
    });
    // A row grows until it would leave the block: then this has no room for a longer list.
    let mut filler = place.database.connect("filler");
    for length in (0..9_000).step_by(8) {
        let mut tx = filler.begin();
        set_note(&mut tx, table, 0, &"x".repeat(length)).expect("changed");
        let before = tx.statistics();
        get(&mut tx, table, 0).expect("there");
        let gets = tx.statistics().since(&before).statistic(Statistic::ConsistentGets);
        // One of the index, and one of the row's only piece.
        if gets > 2 {
            tx.rollback().expect("taken back");
            break;
        }
        tx.commit().expect("committed");
    }
    let mut one = place.connect();
    let mut two = place.database.connect("two");
    let mut tx = one.begin_serializable().expect("begun");
    let mut active = two.begin();
    assert!(set_size(&mut active, table, 1, 11).expect("changed"));
    place.meanwhile(|other, table| set_size(other, table, 2, 11).expect("changed"));
    is_refused(set_size(&mut tx, table, 3, 11));
    active.rollback().expect("ended");
    tx.rollback().expect("ended");
}

#[test]
fn a_key_that_the_snapshot_sees_is_not_inserted_into_a_younger_unique_index() {
    for is_younger in [false, true] {
        let scratch = Folder::absent(&format!("younger-{is_younger}"));
        let database = Database::create(&scratch.0, &options()).expect("created");
        let (mut one, mut two) = (database.connect("one"), database.connect("two"));
        let spec = TableSpec::new("t")
            .column(ColumnSpec::new("id", Type::BigInt))
            .column(ColumnSpec::new("tag", Type::BigInt))
            .primary_key(["id"]);
        two.create_table(&spec).expect("made");
        let unique = IndexSpec::new("u", "t", ["tag"]).unique();
        if !is_younger {
            two.create_index(&unique).expect("made");
        }
        let table = two.table("t").expect("there");
        let mut other = two.begin();
        other.insert(&table, &[Value::Int(1), Value::Int(7)]).expect("inserted");
        other.commit().expect("committed");

        let mut tx = one.begin_serializable().expect("begun");
        let mut other = two.begin();
        assert!(other.delete(&table, &[Value::Int(1)]).expect("deleted"));
        other.commit().expect("committed");
        if is_younger {
            two.create_index(&unique).expect("made");
        }
        let inserted = tx.insert(&table, &[Value::Int(2), Value::Int(7)]);
        let mut sevens = 0;
        tx.scan(&table, |row| sevens += usize::from(row.get_i64(1) == Some(7))).expect("read");
        assert_eq!(sevens, 1, "younger: {is_younger}; of a unique key");
        let refused = inserted.map_err(|stop| stop.refusal());
        let kinds = [ErrorKind::Serialization, ErrorKind::SnapshotTooOld];
        let is_refused = matches!(refused, Err(Some(kind)) if kinds.contains(&kind));
        assert!(is_refused, "younger: {is_younger}: {refused:?}");
        tx.rollback().expect("ended");
        drop((one, two));
        database.shutdown().expect("in good order");
    }
}

/// Has a transaction with one snapshot read the table when `define` has defined something since,
/// after all rows were deleted.
fn reads_after(name: &str, define: impl FnOnce(&mut Connection<'_>)) -> Result<usize, Error> {
    let place = Place::new(name);
    place.meanwhile(|tx, table| insert(tx, table, 1, 10).expect("inserted"));
    let (mut one, mut ddl) = (place.connect(), place.connect());
    let mut tx = one.begin_serializable().expect("begun");
    place.meanwhile(|tx, table| tx.delete_where(table, Selection::All, None).expect("deleted"));
    define(&mut ddl);
    let table = ddl.table("item").expect("there");
    let mut count = 0;
    let read = tx.scan(&table, |_| count += 1);
    drop(tx);
    drop((one, ddl));
    place.database.shutdown().expect("in good order");
    read.map(|()| count)
}

/// Rows that the snapshot sees may break them, and who reads goes by them.
#[test]
fn a_snapshot_is_too_old_for_what_the_definition_says_of_rows_since() {
    let new = || ColumnSpec::new("must", Type::BigInt).not_null();
    let above = Condition::Compare(
        Operand::Column(2),
        Comparison::Greater,
        Operand::Constant(Value::Int(100).to_owned()),
    );
    let check = ConstraintSpec { name: None, rule: Rule::Check(above) };
    let alterations = [
        (Alteration::AddColumn(new()), "must", true),
        (Alteration::SetNotNull("note".into()), "note", true),
        (Alteration::AddConstraint(check), "CHECK", true),
        (Alteration::AddColumn(new().default_value(Value::Int(1).to_owned())), "", false),
        (Alteration::AddColumn(ColumnSpec::new("may", Type::BigInt)), "", false),
        (Alteration::RenameTable("items".into()), "", false),
    ];
    for (number, (alteration, what, is_refused)) in alterations.into_iter().enumerate() {
        let (name, is_renamed) = (format!("promise-{number}"), number == 5);
        let read = reads_after(&name, |ddl| {
            ddl.alter_table("item", &alteration).expect("no rows are there");
            if is_renamed {
                let back = Alteration::RenameTable("item".into());
                ddl.alter_table("items", &back).expect("renamed");
            }
        });
        match read {
            Ok(count) => assert!(!is_refused && count == 1, "{alteration:?}: {count}"),
            Err(stop) => {
                assert!(is_refused, "{alteration:?}: {stop}");
                assert_eq!(stop.refusal(), Some(ErrorKind::SnapshotTooOld), "{stop}");
                assert!(!what.is_empty() && stop.to_string().contains("item"), "{stop}");
            }
        }
    }
}

#[test]
fn a_snapshot_that_is_too_old_for_an_index_is_told_its_name() {
    let place = Place::new("too-old");
    let (mut one, mut ddl) = (place.connect(), place.connect());
    let mut tx = one.begin_serializable().expect("begun");
    place.meanwhile(|tx, table| insert(tx, table, 1, 10).expect("inserted"));
    ddl.create_index(&IndexSpec::new("by_note", "item", ["note"])).expect("made");
    let table = ddl.table("item").expect("there");
    let index = table.index("by_note").expect("there");
    let refused = tx.get_by(&table, index, &[Value::Text("")], |_| ()).expect_err("too old");
    assert_eq!(refused.refusal(), Some(ErrorKind::SnapshotTooOld), "{refused}");
    assert!(refused.to_string().contains("by_note"), "{refused}");
    tx.rollback().expect("ended");
    drop((one, ddl));
    place.database.shutdown().expect("in good order");
}
