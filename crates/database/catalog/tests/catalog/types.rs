//! ALTER COLUMN TYPE: where values are stored alike rows stay, else they are rewritten.

use std::collections::BTreeMap;

use catalog::{
    Alteration, ColumnSpec, Convert, SequenceAlteration, SequenceBound, TableAlterations, TableSpec,
};
use instance::Transaction;
use os::Session;
use relation::{Comparison, Condition, OnDelete, Operand, Scratch, Work};
use stop::{RefusalKind, Stop};
use txn::LockWait;
use value::{OwnedValue, Type, Value};

use crate::common::{
    Db, WAIT, column, customer, database, fill, index, orders, refused, table, text, with,
};

fn set_type(db: &Db, table: &str, column: &str, kind: Type, session: &Session) -> Result<(), Stop> {
    let set = Alteration::SetType { column: column.into(), kind };
    db.catalog.alter_table(table, &set, WAIT, session)
}

/// Gives a column another type, and values that are made of the old ones.
fn convert_column(
    db: &Db,
    table: &str,
    column: &str,
    kind: Type,
    convert: &mut Convert<'_>,
    session: &Session,
) -> Result<(), Stop> {
    let all = vec![Alteration::SetType { column: column.into(), kind }];
    let convert: Box<Convert<'_>> = Box::new(convert);
    let conversions = BTreeMap::from([(column.to_string(), convert)]);
    let alterations = TableAlterations { all, conversions, seen_in: None };
    db.catalog.alter_together(table, alterations, WAIT, session)
}

fn kind_of(db: &Db, table: &str, place: usize, session: &Session) -> Type {
    db.catalog.table(table, session).expect("there").columns[place].kind
}

#[test]
fn a_text_gets_longer_or_shorter_without_its_rows_being_rewritten() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let by_name = index("by_name", "customer", &["name"], true);
        db.catalog.create_index(&by_name, WAIT, session).expect("created");
        fill(db, 0..40, session);
        let before = db.catalog.table("customer", session).expect("there");
        set_type(db, "customer", "name", text(50), session).expect("longer");
        set_type(db, "customer", "name", Type::Text, session).expect("longer still");
        let long = "x".repeat(100);
        let row = [Value::Int(99), Value::Text(&long), Value::Null];
        db.insert("customer", &row, session).expect("it has room now");
        let short = set_type(db, "customer", "name", text(60), session);
        refused(short, RefusalKind::Invalid, "VARCHAR(60) can't hold the value of column name");
        set_type(db, "customer", "name", text(100), session).expect("it fits");
        let after = db.catalog.table("customer", session).expect("there");
        assert_eq!(after.segment, before.segment, "rows are where they were");
        assert_eq!(after.indexes[1].segment, before.indexes[1].segment);
    });
    with(disk, |db, session| {
        assert_eq!(kind_of(db, "customer", 1, session), text(100));
        let rows = db.rows("customer", session);
        assert!(rows.len() == 41 && rows.contains("3, 'name 3', 'city 3'"), "{rows:?}");
        let long = "x".repeat(101);
        let row = [Value::Int(100), Value::Text(&long), Value::Null];
        let late = db.insert("customer", &row, session);
        refused(late, RefusalKind::Invalid, "VARCHAR(100)");
    });
}

#[test]
fn other_types_have_rows_and_indexes_made_anew() {
    let disk = database(|db, session| {
        let mut spec = customer();
        spec.columns.push(column("gone", Type::Integer));
        spec.columns.push(column("rank", Type::Integer));
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        let by_rank = index("by_rank", "customer", &["rank", "id"], false);
        db.catalog.create_index(&by_rank, WAIT, session).expect("created");
        for id in 0..60 {
            let name = "n".repeat(if id % 20 == 7 { 40 } else { 5 });
            let rank = if id % 4 == 1 { Value::Null } else { Value::Int(id % 9) };
            let row = [Value::Int(id), Value::Text(&name), Value::Null, Value::Int(1), rank];
            db.insert("customer", &row, session).expect("inserted");
        }
        let add = ColumnSpec::new("late", Type::Integer).default_value(Value::Int(7).to_owned());
        let add = Alteration::AddColumn(add);
        db.catalog.alter_table("customer", &add, WAIT, session).expect("added");
        let drop = Alteration::DropColumn("gone".into());
        db.catalog.alter_table("customer", &drop, WAIT, session).expect("dropped");
        let before = db.catalog.table("customer", session).expect("there");
        let old = db.relation("customer", session);
        set_type(db, "customer", "rank", Type::BigInt, session).expect("wider");
        set_type(db, "customer", "late", Type::Double, session).expect("another");
        let after = db.catalog.table("customer", session).expect("there");
        assert_eq!(after.object, before.object);
        assert_ne!(after.segment, before.segment);
        assert!(after.indexes.iter().zip(&before.indexes).all(|(one, other)| {
            (one.object, one.name.as_str()) == (other.object, other.name.as_str())
                && one.segment != other.segment
        }));
        assert!(old.is_stale(session));
        let row = [
            Value::Int(100),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Int(1 << 40),
            Value::Double(0.5),
        ];
        db.insert("customer", &row, session).expect("inserted");
        let narrow = set_type(db, "customer", "rank", Type::SmallInt, session);
        refused(narrow, RefusalKind::Invalid, "SMALLINT can't hold the value: 1099511627776");
        assert_eq!(kind_of(db, "customer", 4, session), Type::BigInt, "nothing is changed");
        db.check(session);
    });
    with(disk, |db, session| {
        let rows = db.rows("customer", session);
        assert_eq!(rows.len(), 61);
        let has_first = rows.iter().any(|row| row.starts_with("0, 'nnnnn', NULL, NULL, 0, 7"));
        assert!(has_first, "{rows:?}");
        assert!(rows.contains("100, NULL, NULL, NULL, 1099511627776, 0.5"), "{rows:?}");
        let table = db.catalog.table("customer", session).expect("there");
        let relation::Default::Constant(default) = &table.columns[5].default else { panic!() };
        assert_eq!(default.get(), Value::Double(7.0));
    });
}

#[test]
fn a_conversion_of_the_callers_is_asked_once_for_each_row() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..30, session);
        let mut asked = 0;
        let mut length = |value: Value<'_>| {
            asked += 1;
            let Value::Text(text) = value else { panic!("{value}") };
            Ok::<_, Stop>(Value::Int(text.len() as i64).to_owned())
        };
        let whole = Type::Integer;
        let done = convert_column(db, "customer", "name", whole, &mut length, session);
        done.expect("converted");
        assert_eq!(asked, 30);
        let before = db.describe(session);
        let mut fails = |value: Value<'_>| match value {
            Value::Int(6) => Err(Stop::refuse(RefusalKind::Invalid, "six is no length")),
            other => Ok(other.to_owned()),
        };
        let wider = Type::BigInt;
        let failed = convert_column(db, "customer", "name", wider, &mut fails, session);
        refused(failed, RefusalKind::Invalid, "six is no length");
        let mut null = |_: Value<'_>| Ok::<_, Stop>(OwnedValue::NULL);
        let set = Alteration::SetNotNull("name".into());
        db.catalog.alter_table("customer", &set, WAIT, session).expect("altered");
        let broken = convert_column(db, "customer", "name", wider, &mut null, session);
        refused(broken, RefusalKind::NotNullViolation, "column name");
        let drop = Alteration::DropNotNull("name".into());
        db.catalog.alter_table("customer", &drop, WAIT, session).expect("altered");
        assert_eq!(db.describe(session), before, "a refused one leaves nothing");
        db.check(session);
    });
    with(disk, |db, session| {
        assert!(db.rows("customer", session).contains("3, 6, 'city 3'"));
        let unique = index("by_name", "customer", &["name"], true);
        let made = db.catalog.create_index(&unique, WAIT, session);
        refused(made, RefusalKind::UniqueViolation, "have the same key: name = ");
    });
}

#[test]
fn rows_that_would_have_one_key_keep_the_type_as_it_is() {
    database(|db, session| {
        let number = |scale| Type::number(9, scale).expect("a type");
        let spec = TableSpec::new("t").column(ColumnSpec::new("n", number(1))).unique(["n"]).check(
            Condition::Compare(
                Operand::Column(0),
                Comparison::Less,
                Operand::Constant(Value::Int(100).to_owned()),
            ),
        );
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        for text in ["1.1", "1.2", "99.6"] {
            let row = [Value::Number(text.parse().expect("a number"))];
            db.insert("t", &row, session).expect("inserted");
        }
        // 99.6 becomes 100, which the CHECK forbids; then 1.1 and 1.2 are the same.
        let rounded = set_type(db, "t", "n", number(0), session);
        refused(rounded, RefusalKind::CheckViolation, "t_n_check");
        let name = "t_n_check".into();
        let drop = Alteration::DropConstraint { name, cascade: false };
        db.catalog.alter_table("t", &drop, WAIT, session).expect("dropped");
        let rounded = set_type(db, "t", "n", number(0), session);
        refused(rounded, RefusalKind::UniqueViolation, "t_n_key");
        set_type(db, "t", "n", number(3), session).expect("no value changes");
        assert!(db.rows("t", session).contains("1.2"));
    });
}

#[test]
fn keys_identities_defaults_and_checks_say_which_type_can_be() {
    database(|db, session| {
        let mut parent = customer();
        parent.columns.push(ColumnSpec::new("number", Type::Integer).identity(false));
        let rank = ColumnSpec::new("rank", Type::Integer);
        parent.columns.push(rank.default_value(Value::Int(70_000).to_owned()));
        parent = parent.check(Condition::Compare(
            Operand::Column(2),
            Comparison::NotEqual,
            Operand::Constant(Value::Text("x").to_owned()),
        ));
        db.catalog.create_table(&parent, WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        let ann = Value::Text("Ann");
        let row = [Value::Int(1), ann, Value::Null, Value::Int(1), Value::Int(2)];
        db.insert("customer", &row, session).expect("inserted");
        db.insert("orders", &[Value::Int(5), Value::Int(1)], session).expect("inserted");
        let set = |table, column, kind| set_type(db, table, column, kind, session);
        let invalid = RefusalKind::Invalid;
        // A foreign key's sides share keys: whole numbers do, decimals don't with them.
        let decimal = Type::number(9, 0).expect("a type");
        refused(set("orders", "customer", decimal), invalid, "no common keys");
        refused(set("customer", "id", Type::Text), invalid, "no common keys");
        set("orders", "customer", Type::BigInt).expect("wider");
        set("customer", "id", Type::Integer).expect("they fit");
        refused(set("customer", "number", Type::SmallInt), invalid, "is an identity column");
        refused(set("customer", "number", Type::Text), invalid, "is an identity column");
        set("customer", "number", Type::BigInt).expect("wider");
        refused(set("customer", "rank", Type::SmallInt), invalid, "this is its default");
        refused(set("customer", "city", Type::Integer), invalid, "of its CHECK");
        refused(set("customer", "town", Type::Text), RefusalKind::NotFound, "in table customer");
        refused(
            set("customer", "name", Type::Boolean),
            invalid,
            "BOOLEAN can't hold the value: 'Ann'",
        );
        let orphan = db.insert("orders", &[Value::Int(6), Value::Int(3)], session);
        refused(orphan, RefusalKind::ForeignKeyViolation, "orders");
        db.insert("orders", &[Value::Int(6), Value::Int(1)], session).expect("inserted");
        db.check(session);
    });
}

/// A value of a key that a conversion would change would leave others without what they refer to.
#[test]
fn a_conversion_keeps_the_values_of_foreign_keys() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        fill(db, 0..5, session);
        let mut more = |value: Value<'_>| match value {
            Value::Int(id) => Ok::<_, Stop>(Value::Int(id + 1).to_owned()),
            other => Ok(other.to_owned()),
        };
        let kind = Type::Integer;
        let moved = convert_column(db, "customer", "id", kind, &mut more, session);
        refused(moved, RefusalKind::WrongState, "is in a foreign key");
        let mut same = |value: Value<'_>| Ok::<_, Stop>(value.to_owned());
        let kept = convert_column(db, "customer", "id", kind, &mut same, session);
        kept.expect("values stay");
    });
}

/// Its sequence has no lock: it is looked at again once all rows are rewritten.
#[test]
fn an_identity_that_is_widened_meanwhile_gets_no_narrower_type() {
    database(|db, session| {
        let spec = table("t", vec![ColumnSpec::new("id", Type::BigInt).identity(false)], vec![]);
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        db.insert("t", &[Value::Int(7)], session).expect("inserted");
        let set_max = |max| {
            let max = Some(SequenceBound::At(max));
            let what = SequenceAlteration { max, ..SequenceAlteration::default() };
            db.catalog.alter_sequence("t_id_seq", &what, session).expect("altered");
        };
        set_max(1_000);
        let mut widens = |value: Value<'_>| {
            set_max(1 << 40);
            Ok::<_, Stop>(value.to_owned())
        };
        let kind = Type::Integer;
        let narrow = convert_column(db, "t", "id", kind, &mut widens, session);
        refused(narrow, RefusalKind::Invalid, "is an identity column");
        assert_eq!(kind_of(db, "t", 0, session), Type::BigInt);
        set_max(1_000);
        set_type(db, "t", "id", kind, session).expect("it has these numbers");
    });
}

#[test]
fn a_snapshot_from_before_is_too_old_for_rewritten_rows() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..5, session);
        let transactions = db.instance.transactions();
        let before = transactions.snapshot(None, session).expect("a snapshot");
        let view = transactions.view_of(&before, None);
        set_type(db, "customer", "id", Type::Integer, session).expect("altered");
        let relation = db.relation("customer", session);
        let read = relation.scan(view, |_, _| (), session);
        refused(read, RefusalKind::SnapshotTooOld, "was truncated or rewritten");
        drop(before);
        // Who changes rows keeps the type as it is until the end.
        let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
        let mut work = Work {
            transaction: &mut transaction,
            scratch: &mut scratch,
            relations: &*db.catalog,
            session,
        };
        relation.insert(&mut work, &[Value::Int(9), Value::Null, Value::Null]).expect("inserted");
        let set = Alteration::SetType { column: "id".into(), kind: Type::BigInt };
        let set = db.catalog.alter_table("customer", &set, LockWait::NoWait, session);
        refused(set, RefusalKind::Busy, "");
        db.instance.commit(transaction, session).expect("committed");
    });
}
