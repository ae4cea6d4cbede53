//! What is asked wrongly is refused with the names of table and column, and never panics.

use std::ops::{Bound, ControlFlow};

use database::{
    Alteration, Bounds, ColumnSpec, Comparison, Condition, Connection, ConstraintSpec, Database,
    Direction, Error, ErrorKind, ForUpdate, IndexSpec, OnDelete, Operand, Rule, Selection,
    SequenceOptions, Table, TableSpec, Type, Value,
};

use crate::common::{Folder, filled as accounts, options};

fn goods() -> TableSpec {
    TableSpec::new("goods")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("price", Type::number(9, 2).expect("may be declared")))
        .column(ColumnSpec::new("name", Type::Text))
        .column(ColumnSpec::new("kind", Type::Integer))
        .primary_key(["id"])
}

fn filled(connection: &mut Connection<'_>) -> Table {
    connection.create_table(&goods()).expect("made");
    connection.create_index(&IndexSpec::new("by_kind", "goods", ["kind", "name"])).expect("made");
    let table = connection.table("goods").expect("there");
    let mut tx = connection.begin();
    for id in 1..=3 {
        let row = [Value::Int(id), Value::Int(10), Value::Text("thing"), Value::Int(id % 2)];
        tx.insert(&table, &row).expect("inserted");
    }
    tx.commit().expect("committed");
    table
}

#[track_caller]
fn refused<T>(done: Result<T, Error>, says: &[&str]) {
    let stop = done.err().expect("refused");
    assert_eq!(stop.refusal(), Some(ErrorKind::Invalid), "{stop}");
    for part in says {
        assert!(stop.to_string().contains(part), "{part}: {stop}");
    }
}

fn with_goods(name: &str, test: impl FnOnce(&Database, &mut Connection<'_>, &Table)) {
    let scratch = Folder::absent(name);
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let table = filled(&mut connection);
    test(&database, &mut connection, &table);
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn a_key_or_bound_of_the_wrong_length_is_refused() {
    with_goods("wrong-keys", |_, connection, goods| {
        let (one, by_kind) = (Value::Int(1), goods.index("by_kind").expect("there"));
        for key in [&[][..], &[one, one]] {
            refused(connection.get(goods, key, |_| ()), &["goods", "goods_pkey", "id"]);
            let mut tx = connection.begin();
            refused(tx.update(goods, key, |_, _| Ok(())), &["goods", "id"]);
            refused(tx.delete(goods, key), &["goods", "id"]);
            refused(tx.get_for_update(goods, key, ForUpdate::wait(), |_| ()), &["goods", "id"]);
        }
        let mut tx = connection.begin();
        refused(tx.get_by(goods, by_kind, &[one], |_| ()), &["by_kind", "kind, name"]);
        let both = [one, one];
        let bounded = Bounds { to: Bound::Included(one), ..Bounds::equal(&both) };
        for bounds in [Bounds::equal(&[one, one, one]), bounded] {
            refused(
                tx.range(goods, by_kind, &bounds, Direction::Ascending, |_| {
                    ControlFlow::Continue(())
                }),
                &["by_kind", "goods"],
            );
            let selection = Selection::Range(by_kind, bounds);
            refused(tx.delete_where(goods, selection, None), &["by_kind", "goods"]);
        }
        let thing = [one, Value::Text("thing")];
        refused(
            tx.delete_where(goods, Selection::Key(by_kind, &thing), None),
            &["by_kind", "unique"],
        );
        let text = [Value::Text("1")];
        refused(tx.get(goods, &text, |_| ()), &["goods", "id", "BIGINT"]);
        tx.commit().expect("the transaction went on");
    });
}

#[test]
fn a_column_that_is_not_there_or_of_another_type_is_refused_wherever_it_is_asked_for() {
    with_goods("wrong-columns", |_, connection, goods| {
        let key = [Value::Int(1)];
        refused(connection.get(goods, &key, |row| row.get_i64(1)), &["goods", "price", "NUMBER"]);
        refused(connection.get(goods, &key, |row| row.get_i64(9)), &["goods", "column 9"]);
        refused(connection.get(goods, &key, |row| row.get(4).is_ok()), &["goods", "column 4"]);
        refused(connection.get(goods, &key, |row| row.is_null(4)), &["goods", "column 4"]);
        let text = connection.get(goods, &key, |row| row.get_text(3).is_ok());
        refused(text, &["goods", "kind", "INTEGER"]);
        refused(
            connection.scan(goods, |row| {
                row.get_i64(2);
            }),
            &["goods", "name", "TEXT"],
        );
        let by_kind = goods.index("by_kind").expect("there");
        let look = |row: database::Row<'_>| match row.get_i64(2) {
            None => ControlFlow::Break(()),
            Some(_) => ControlFlow::Continue(()),
        };
        refused(
            connection.range(goods, by_kind, &Bounds::equal(&[]), Direction::Ascending, look),
            &["goods", "name"],
        );

        let mut tx = connection.begin();
        let set = |tx: &mut database::Tx<'_, '_>, column| {
            tx.update(goods, &key, |_, change| change.set(column, Value::Int(1)))
        };
        refused(set(&mut tx, 4), &["goods", "column 4"]);
        refused(set(&mut tx, usize::MAX), &["goods"]);
        refused(set(&mut tx, 2), &["goods", "name", "TEXT"]);
        // What was read wrongly isn't written, though the closure goes on.
        let doubled = tx.update_where(goods, Selection::All, None, |row, change| {
            change.set(3, Value::Int(row.get_i64(1).unwrap_or(-1)))
        });
        refused(doubled, &["goods", "price"]);
        let mut is_cheap = |row: &database::Row<'_>| row.get_i64(1).is_none();
        let all = Selection::All;
        refused(tx.delete_where(goods, all, Some(&mut is_cheap)), &["goods", "price"]);
        let few = ForUpdate::wait();
        refused(tx.lock_where(goods, all, Some(&mut is_cheap), few, |_| ()), &["goods", "price"]);
        refused(
            tx.lock_where(goods, all, None, few, |row| {
                row.get_i64(7);
            }),
            &["goods"],
        );
        let row = [Value::Int(9)];
        refused(tx.insert(goods, &row), &["goods", "4 columns"]);
        refused(tx.insert_many(goods, [&row[..]]), &["goods", "4 columns"]);
        let wrong = [Value::Int(9), Value::Text("x"), Value::Null, Value::Null];
        refused(tx.insert(goods, &wrong), &["goods", "price"]);
        let mut kinds = Vec::new();
        tx.scan(goods, |row| kinds.extend(row.get_i64(3))).expect("read");
        assert_eq!(kinds, [1, 0, 1], "nothing was changed");
        tx.commit().expect("the transaction went on");
    });
}

#[test]
fn a_column_that_was_dropped_is_refused() {
    with_goods("dropped-column", |_, connection, goods| {
        let name = goods.column("name").expect("there");
        connection.drop_index("by_kind").expect("dropped");
        connection.alter_table("goods", &Alteration::DropColumn("name".into())).expect("dropped");
        let key = [Value::Int(1)];
        refused(connection.get(goods, &key, |row| row.get(name).is_ok()), &["goods", "dropped"]);
        let mut tx = connection.begin();
        let set = tx.update(goods, &key, |_, change| change.set(name, Value::Null));
        refused(set, &["goods", "dropped"]);
        let row = |name| [Value::Int(9), Value::Null, name, Value::Null];
        refused(tx.insert(goods, &row(Value::Text("x"))), &["goods", "dropped"]);
        tx.insert(goods, &row(Value::Null)).expect("nothing is put there");
        tx.commit().expect("committed");
    });
}

#[test]
fn specs_without_what_they_need_are_refused() {
    with_goods("wrong-specs", |_, connection, _| {
        let id = || ColumnSpec::new("id", Type::BigInt);
        let table = |name: &str| TableSpec::new(name).column(id());
        for (spec, says) in [
            (TableSpec::new("t"), "column"),
            (table(""), "empty"),
            (table(&"é".repeat(65)), "130 bytes"),
            (table("a\0b"), "control"),
            (table("t").named("nothing"), "nothing"),
            (table("t").primary_key([]), "0 columns"),
            (table("t").column(ColumnSpec::new("", Type::Text)), "empty"),
            (table("t").foreign_key([], "goods", OnDelete::Cascade), "0 columns"),
        ] {
            refused(connection.create_table(&spec), &[says]);
        }
        let many = (0..1_001).fold(TableSpec::new("t"), |spec, n| {
            spec.column(ColumnSpec::new(&format!("c{n}"), Type::Text))
        });
        refused(connection.create_table(&many), &["1000"]);
        refused(connection.create_index(&IndexSpec::new("i", "goods", [])), &["0 columns"]);
        let none = connection.create_index(&IndexSpec::new("i", "goods", ["id"]).descending(1));
        assert_eq!(none.expect_err("no column").refusal(), Some(ErrorKind::NotFound));
        let all = || SequenceOptions::default();
        for options in [
            SequenceOptions { increment: Some(0), ..all() },
            SequenceOptions { increment: Some(i64::MIN), min: Some(1), max: Some(0), ..all() },
            SequenceOptions { start: Some(i64::MAX), max: Some(1), ..all() },
        ] {
            refused(connection.create_sequence("s", &options), &[]);
        }
        let far = SequenceOptions { increment: Some(i64::MAX - 1), ..all() };
        connection.create_sequence("far", &far).expect("made");
        assert!((0..3).map(|_| connection.next_value("far")).any(|value| value.is_err()));
    });
}

/// A closure may run under a block's latch.
#[test]
fn a_statement_within_a_closure_of_another_is_refused() {
    with_goods("calling-back", |database, connection, goods| {
        let mut other = database.connect("other");
        let key = [Value::Int(1)];
        let inner = connection.get(goods, &key, |_| other.get(goods, &key, |_| ()).map(drop));
        refused(inner.expect("read").expect("there"), &["closure"]);
        let inner = connection.get(goods, &key, |_| other.table("goods").map(drop));
        refused(inner.expect("read").expect("there"), &["closure"]);
        let mut tx = connection.begin();
        let changed =
            tx.update(goods, &key, |_, _| other.begin().delete(goods, &[Value::Int(2)]).map(drop));
        refused(changed, &["closure"]);
        tx.commit().expect("the transaction went on");
        other.get(goods, &key, |_| ()).expect("it is over");
    });
}

#[test]
fn a_table_of_another_database_is_refused() {
    with_goods("one-database", |_, connection, goods| {
        with_goods("other-database", |_, other, others| {
            refused(other.get(goods, &[Value::Int(1)], |_| ()), &["goods", "another database"]);
            refused(connection.begin().delete(others, &[Value::Int(1)]), &["another database"]);
            other.get(others, &[Value::Int(1)], |_| ()).expect("its own");
        });
    });
}

#[test]
fn a_table_of_a_database_that_was_shut_is_refused_when_it_is_opened_again() {
    let scratch = Folder::absent("handle-reopened");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let goods = filled(&mut database.connect("app"));
    database.shutdown().expect("in good order");
    let database = Database::open(&scratch.0, &options()).expect("opened");
    let mut connection = database.connect("app");
    refused(connection.get(&goods, &[Value::Int(1)], |_| ()), &["goods", "opened again"]);
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn a_key_that_is_too_long_is_refused_with_the_names_of_its_index_and_table() {
    with_goods("long-key", |_, connection, goods| {
        let long = "x".repeat(5_000);
        let mut tx = connection.begin();
        let row = [Value::Int(9), Value::Null, Value::Text(&long), Value::Null];
        refused(tx.insert(goods, &row), &["by_kind", "goods"]);
        tx.rollback().expect("ended");
    });
}

fn compared(column: usize, value: Value<'_>) -> Condition {
    let constant = Operand::Constant(value.to_owned());
    Condition::Compare(Operand::Column(column), Comparison::NotEqual, constant)
}

#[test]
fn a_check_that_cannot_be_kept_is_refused_for_what_is_wrong_with_it() {
    with_goods("wrong-checks", |_, connection, _| {
        let id = || TableSpec::new("t").column(ColumnSpec::new("id", Type::BigInt));
        let mut deep = compared(0, Value::Int(1));
        for _ in 0..100 {
            deep = Condition::Not(Box::new(deep));
        }
        let long = (0..70_000).map(|n| compared(0, Value::Int(n))).collect();
        for (check, says) in [
            (deep, "100 deep"),
            (Condition::And(long), "70000 parts"),
            (compared(7, Value::Int(1)), "column 7"),
            (compared(70_000, Value::Int(1)), "column 70000"),
        ] {
            refused(connection.create_table(&id().check(check)), &["table t", says]);
        }
    });
}

/// Whatever the values are, and as few of them as anybody reads.
#[test]
fn a_constraint_that_forbids_a_row_shows_its_values_in_one_short_line() {
    let scratch = Folder::absent("shown-values");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let key = || ColumnSpec::new("k", Type::Text);
    let spec = TableSpec::new("parent").column(key()).primary_key(["k"]);
    let parent = connection.create_table(&spec).expect("made");
    let spec = TableSpec::new("child").column(key()).check(compared(0, Value::Text("no\n")));
    let spec = spec.foreign_key(["k"], "parent", OnDelete::NoAction);
    let child = connection.create_table(&spec).expect("made");
    let (there, none) = ([Value::Text("a\nb")], [Value::Text("x\u{1b}[2J")]);
    let long = format!("\n{}", "long ".repeat(100));
    let mut tx = connection.begin();
    tx.insert(&parent, &there).expect("inserted");
    tx.insert(&child, &there).expect("inserted");
    for (done, says) in [
        (tx.insert(&parent, &there).map(drop), r"k = 'a\nb'"),
        (tx.insert(&child, &none).map(drop), r"k = 'x\u{1b}[2J'"),
        (tx.insert(&child, &[Value::Text(&long)]).map(drop), r"k = '\nlong long"),
        (tx.delete(&parent, &there).map(drop), r"k = 'a\nb'"),
        (tx.insert(&child, &[Value::Text("no\n")]).map(drop), r"k = 'no\n'"),
    ] {
        let told = done.expect_err("forbidden").to_string();
        assert!(told.contains(says) && !told.contains(char::is_control), "{told:?}");
        assert!(told.len() < 300, "{told}");
    }
    tx.rollback().expect("ended");
    let spec = TableSpec::new("t").column(ColumnSpec::new("id", Type::BigInt));
    let told = connection.create_table(&spec.check(compared(0, Value::Text(&long))));
    let told = told.err().expect("a number and a text").to_string();
    assert!(told.len() < 300 && !told.contains(char::is_control), "{told:?}");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// What rows have in a column that was dropped is shown to nobody (rule catalog/DC9).
#[test]
fn a_row_in_the_way_of_a_check_is_shown_without_columns_that_were_dropped() {
    let scratch = Folder::absent("dropped-shown");
    let database = Database::create(&scratch.0, &options()).expect("created");
    accounts(&database);
    let mut connection = database.connect("app");
    connection.alter_table("account", &Alteration::DropColumn("owner".into())).expect("dropped");
    let above = Condition::Compare(
        Operand::Column(2),
        Comparison::Greater,
        Operand::Constant(Value::Int(1_000).to_owned()),
    );
    let check = ConstraintSpec { name: None, rule: Rule::Check(above) };
    let added = connection.alter_table("account", &Alteration::AddConstraint(check));
    let told = added.expect_err("all have 100").to_string();
    assert!(!told.contains("owner 0") && told.contains("balance = 100"), "{told}");
    drop(connection);
    database.shutdown().expect("in good order");
}
