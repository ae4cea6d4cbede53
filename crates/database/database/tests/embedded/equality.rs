//! What is equal is so for all: `=`, indexes, foreign keys, CHECKs; or the pair of types is
//! refused.

use std::ops::{Bound, ControlFlow};

use database::{
    Alteration, Bounds, ColumnSpec, Comparison, Condition, Connection, ConstraintSpec, Database,
    Date, Direction, ErrorKind, ForUpdate, IndexSpec, OnDelete, Operand, OwnedValue, Rule,
    Selection, Table, TableSpec, Timestamp, Type, Value,
};

use crate::common::{Folder, options};

fn char(count: u16) -> Type {
    Type::char(count).expect("may be declared")
}

fn varchar(count: u16) -> Type {
    Type::varchar(count).expect("may be declared")
}

fn parent(name: &str, kind: Type) -> TableSpec {
    TableSpec::new(name).column(ColumnSpec::new("k", kind)).primary_key(["k"])
}

fn child(name: &str, kind: Type, parent: &str, on_delete: OnDelete) -> TableSpec {
    TableSpec::new(name)
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("k", kind))
        .primary_key(["id"])
        .foreign_key(["k"], parent, on_delete)
}

fn compare(a: Operand, comparison: Comparison, b: Operand) -> Condition {
    Condition::Compare(a, comparison, b)
}

fn text(text: &str) -> Operand {
    Operand::Constant(Value::Text(text).to_owned())
}

fn insert(connection: &mut Connection<'_>, table: &Table, row: &[Value<'_>]) -> Option<ErrorKind> {
    let mut tx = connection.begin();
    match tx.insert(table, row) {
        Ok(_) => tx.commit().err().and_then(|stop| stop.refusal()),
        Err(stop) => stop.refusal(),
    }
}

/// 'a' and 'a ' are one CHAR and two VARCHARs: a row with 'a ' would refer to 'a' and would not.
#[test]
fn a_foreign_key_between_char_and_varchar_is_refused() {
    let scratch = Folder::absent("char-varchar");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    connection.create_table(&parent("fixed", char(5))).expect("made");
    connection.create_table(&parent("varying", varchar(5))).expect("made");
    connection.create_table(&parent("long", Type::Text)).expect("made");
    for (kind, refers) in [
        (char(5), "varying"),
        (varchar(5), "fixed"),
        (char(5), "long"),
        (Type::Text, "fixed"),
        (Type::Double, "long"),
    ] {
        let made = connection.create_table(&child("child", kind, refers, OnDelete::Cascade));
        let refused = made.err().expect("not one equality");
        assert_eq!(refused.refusal(), Some(ErrorKind::Invalid), "{refused}");
        assert!(refused.to_string().contains(refers), "{refused}");
    }
    let plain = TableSpec::new("plain").column(ColumnSpec::new("k", char(5)));
    connection.create_table(&plain).expect("made");
    let TableSpec { constraints, .. } = child("any", char(5), "varying", OnDelete::NoAction);
    let key = constraints.into_iter().next_back().expect("its foreign key");
    let added = connection.alter_table("plain", &Alteration::AddConstraint(key));
    assert_eq!(added.expect_err("refused").refusal(), Some(ErrorKind::Invalid));
    for (name, kind, refers) in [("one", char(9), "fixed"), ("two", Type::Text, "varying")] {
        let made = connection.create_table(&child(name, kind, refers, OnDelete::Cascade));
        assert!(made.is_ok(), "{:?}", made.err());
    }
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn a_row_whose_char_has_more_blanks_refers_to_its_parent_and_goes_with_it() {
    let scratch = Folder::absent("char-blanks");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let fixed = connection.create_table(&parent("fixed", char(3))).expect("made");
    let kept = child("kept", char(5), "fixed", OnDelete::NoAction);
    let kept = connection.create_table(&kept).expect("made");
    let going = child("going", char(1), "fixed", OnDelete::Cascade);
    let going = connection.create_table(&going).expect("made");
    assert_eq!(insert(&mut connection, &fixed, &[Value::Text("a")]), None);
    let twice = insert(&mut connection, &fixed, &[Value::Text("a  ")]);
    assert_eq!(twice, Some(ErrorKind::UniqueViolation));
    assert_eq!(insert(&mut connection, &kept, &[Value::Int(1), Value::Text("a    ")]), None);
    assert_eq!(insert(&mut connection, &going, &[Value::Int(1), Value::Text("a")]), None);
    let mut tx = connection.begin();
    let refused = tx.delete(&fixed, &[Value::Text("a ")]).expect_err("a row refers to it");
    assert_eq!(refused.refusal(), Some(ErrorKind::ForeignKeyViolation), "{refused}");
    tx.delete(&kept, &[Value::Int(1)]).expect("deleted");
    assert!(tx.delete(&fixed, &[Value::Text("a ")]).expect("deleted"));
    assert!(tx.get(&going, &[Value::Int(1)], |_| ()).expect("read").is_none(), "it went with it");
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn a_check_compares_a_char_without_its_trailing_blanks() {
    let scratch = Folder::absent("check-blanks");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let state = Operand::Column(1);
    let either = Condition::Or(vec![
        compare(state.clone(), Comparison::Equal, text("new  ")),
        compare(text("old "), Comparison::Equal, state),
    ]);
    let spec = TableSpec::new("task")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("state", char(5)))
        .primary_key(["id"])
        .check(either);
    let task = connection.create_table(&spec).expect("made");
    for (id, state) in [(1, "new"), (2, "new "), (3, "new  "), (4, "old"), (5, "old  ")] {
        let refused = insert(&mut connection, &task, &[Value::Int(id), Value::Text(state)]);
        assert_eq!(refused, None, "{state:?}");
    }
    let refused = insert(&mut connection, &task, &[Value::Int(6), Value::Text("odd")]);
    assert_eq!(refused, Some(ErrorKind::CheckViolation));
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn a_check_that_compares_what_cannot_be_compared_is_refused() {
    let scratch = Folder::absent("check-types");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let spec = TableSpec::new("mixed")
        .column(ColumnSpec::new("int", Type::Integer))
        .column(ColumnSpec::new("fixed", char(5)))
        .column(ColumnSpec::new("varying", varchar(5)))
        .column(ColumnSpec::new("day", Type::Date))
        .column(ColumnSpec::new("going", Type::Integer));
    connection.create_table(&spec).expect("made");
    connection.alter_table("mixed", &Alteration::DropColumn("going".into())).expect("dropped");
    let column = Operand::Column;
    let one = || Operand::Constant(Value::Int(1).to_owned());
    for (a, b, says) in [
        (column(0), text("1"), "can't be compared"),
        (column(1), column(2), "can't be compared"),
        (one(), column(3), "can't be compared"),
        (column(4), one(), "isn't there"),
        (column(9), one(), "isn't there"),
    ] {
        let rule = Rule::Check(compare(a, Comparison::Equal, b));
        let check = Alteration::AddConstraint(ConstraintSpec { name: None, rule });
        let refused = connection.alter_table("mixed", &check).expect_err("refused");
        assert_eq!(refused.refusal(), Some(ErrorKind::Invalid), "{refused}");
        assert!(refused.to_string().contains(says), "{refused}");
    }
    drop(connection);
    database.shutdown().expect("in good order");
}

/// Numbers about which kinds disagree: where doubles have gaps, and fractions that no double is.
fn numbers() -> Vec<OwnedValue> {
    let number = |text: &str| Value::Number(text.parse().expect("a number"));
    let gap = 1_i64 << 53;
    let mut all = vec![Value::Null, Value::Double(f64::NAN), Value::Double(f64::INFINITY)];
    all.extend([0.0, -0.0, 0.1, 0.5, -2.5, 1e23].map(Value::Double));
    all.extend(["0", "0.1", "0.10000000000000000555", "0.5", "-2.5", "1e23"].map(number));
    for int in gap - 1..=gap + 2 {
        all.extend([Value::Int(int), Value::Number(int.into()), Value::Double(int as f64)]);
    }
    all.into_iter().map(Value::to_owned).collect()
}

fn moments() -> Vec<OwnedValue> {
    let day = Date::parse("2026-11-22").expect("a day");
    let noon = Timestamp::parse("2026-11-22 12:00:00").expect("a moment");
    let all = [Value::Null, Value::Date(day), Value::Timestamp(Timestamp::midnight(day))];
    all.into_iter().chain([Value::Timestamp(noon)]).map(Value::to_owned).collect()
}

fn texts() -> Vec<OwnedValue> {
    ["", " ", "a", "a ", "a  ", "a\t", "b"].map(|text| Value::Text(text).to_owned()).into()
}

/// Ids of rows in a range of the index.
fn found(connection: &mut Connection<'_>, table: &Table, bounds: &Bounds<'_>) -> Vec<i64> {
    let index = table.index("by_v").expect("there");
    let mut ids = Vec::new();
    let read = connection.range(table, index, bounds, Direction::Ascending, |row| {
        ids.extend(row.get_i64(0));
        ControlFlow::Continue(())
    });
    read.expect("read");
    ids.sort_unstable();
    ids
}

/// Ids of rows for which the comparison is true, as a CHECK has it.
fn compared(
    connection: &mut Connection<'_>,
    table: &Table,
    (comparison, value): (Comparison, Value<'_>),
) -> Vec<i64> {
    let constant = Operand::Constant(value.to_owned());
    let kind = table.definition().columns[1].kind;
    let condition = compare(Operand::Column(1), comparison, constant);
    let condition = condition.for_types(&|_| Some(kind)).expect("they can be compared");
    let mut ids = Vec::new();
    let read = connection.scan(table, |row| {
        let truth = condition.evaluate(&|column| row.get(column).expect("sound"));
        if truth == database::Truth::True {
            ids.extend(row.get_i64(0));
        }
    });
    read.expect("read");
    ids.sort_unstable();
    ids
}

#[test]
fn an_index_and_a_check_agree_on_what_is_equal_and_what_is_less() {
    let scratch = Folder::absent("agree");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let number = Type::number(20, 3).expect("may be declared");
    let kinds = [
        (Type::BigInt, numbers()),
        (Type::Integer, numbers()),
        (Type::Number(None), numbers()),
        (number, numbers()),
        (Type::Double, numbers()),
        (Type::Date, moments()),
        (Type::Timestamp, moments()),
        (char(5), texts()),
        (varchar(5), texts()),
    ];
    for (place, (kind, values)) in kinds.into_iter().enumerate() {
        let name = format!("t{place}");
        let spec = TableSpec::new(&name)
            .column(ColumnSpec::new("id", Type::BigInt))
            .column(ColumnSpec::new("v", kind))
            .primary_key(["id"]);
        connection.create_table(&spec).expect("made");
        connection.create_index(&IndexSpec::new("by_v", &name, ["v"])).expect("made");
        let table = connection.table(&name).expect("there");
        for (id, value) in values.iter().enumerate() {
            // What doesn't fit isn't there.
            insert(&mut connection, &table, &[Value::Int(id as i64), value.get()]);
        }
        for value in values.iter().map(OwnedValue::get).filter(|value| !value.is_null()) {
            let exactly = [value];
            let bounds = Bounds::equal(&exactly);
            let here = compared(&mut connection, &table, (Comparison::Equal, value));
            assert_eq!(found(&mut connection, &table, &bounds), here, "{kind} = {value}");
            for (comparison, from, to) in [
                (Comparison::Less, Bound::Unbounded, Bound::Excluded(value)),
                (Comparison::LessOrEqual, Bound::Unbounded, Bound::Included(value)),
                (Comparison::Greater, Bound::Excluded(value), Bound::Unbounded),
                (Comparison::GreaterOrEqual, Bound::Included(value), Bound::Unbounded),
            ] {
                let bounds = Bounds { equal: &[], from, to };
                let here = compared(&mut connection, &table, (comparison, value));
                let there = found(&mut connection, &table, &bounds);
                assert_eq!(there, here, "{kind} {comparison:?} {value}");
            }
        }
        connection.drop_table(&name, false).expect("dropped");
    }
    drop(connection);
    database.shutdown().expect("in good order");
}

/// Tables that only learn by whom they are referred to keep what they knew.
#[test]
fn a_foreign_key_is_known_once_to_the_table_that_it_refers_to() {
    let scratch = Folder::absent("known-once");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    connection.create_table(&parent("first", Type::BigInt)).expect("made");
    connection.create_table(&parent("second", Type::BigInt)).expect("made");
    let TableSpec { constraints, .. } = child("any", Type::BigInt, "second", OnDelete::NoAction);
    let key = constraints.into_iter().next_back().expect("its foreign key");
    connection.alter_table("first", &Alteration::AddConstraint(key)).expect("added");
    let both = child("both", Type::BigInt, "first", OnDelete::Cascade).foreign_key(
        ["id"],
        "second",
        OnDelete::Cascade,
    );
    connection.create_table(&both).expect("made");
    let second = connection.table("second").expect("there");
    let known: Vec<_> = second.definition().referenced_by.iter().map(|key| &key.name).collect();
    assert_eq!(known.len(), 2, "{known:?}");
    assert_ne!(known[0], known[1]);
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn a_key_with_null_finds_its_row_in_a_unique_index_as_in_another() {
    let scratch = Folder::absent("null-key");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("a", Type::BigInt))
        .column(ColumnSpec::new("b", Type::BigInt));
    connection.create_table(&spec).expect("made");
    connection.create_index(&IndexSpec::new("unique_ab", "t", ["a", "b"]).unique()).expect("made");
    connection.create_index(&IndexSpec::new("plain_ab", "t", ["a", "b"])).expect("made");
    let table = connection.table("t").expect("there");
    let mut tx = connection.begin();
    let row = [Value::Int(1), Value::Null];
    tx.insert(&table, &row).expect("inserted");
    for name in ["plain_ab", "unique_ab"] {
        let index = table.index(name).expect("there");
        let mut count = 0;
        tx.range(&table, index, &Bounds::equal(&row), Direction::Ascending, |_| {
            count += 1;
            ControlFlow::Continue(())
        })
        .expect("read");
        assert_eq!(count, 1, "a range of {name}");
        let found = tx.get_by(&table, index, &row, |row| row.get_i64(0)).expect("read");
        assert_eq!(found.flatten(), Some(1), "the key in {name}");
    }
    // With a NULL the key isn't unique: a statement is about all rows that have it.
    tx.insert(&table, &row).expect("inserted");
    tx.insert(&table, &[Value::Int(1), Value::Int(0)]).expect("inserted");
    let unique = table.index("unique_ab").expect("there");
    let selection = Selection::Key(unique, &row);
    assert_eq!(
        tx.lock_where(&table, selection, None, ForUpdate::wait(), |_| ()).expect("locked"),
        2
    );
    let set = tx.update_where(&table, selection, None, |_, row| row.set(0, Value::Int(1)));
    assert_eq!(set.expect("changed"), 2);
    assert_eq!(tx.delete_where(&table, selection, None).expect("deleted"), 2);
    assert_eq!(tx.delete_where(&table, selection, None).expect("none is left"), 0);
    tx.rollback().expect("ended");
    drop(connection);
    database.shutdown().expect("in good order");
}
