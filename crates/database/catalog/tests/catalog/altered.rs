//! ALTER TABLE by several alterations: all of them are done or none, and each begins with what the
//! one before leaves (DC46).

use std::cell::Cell;
use std::collections::BTreeMap;

use catalog::{
    Alteration, ColumnSpec, ConstraintSpec, Convert, DefaultSpec, Rule, SequenceOptions,
    TableAlterations, TableSpec, ViewSpec,
};
use instance::Transaction;
use os::Session;
use relation::{Comparison, Condition, OnDelete, Operand, Scratch, Work};
use stop::{RefusalKind, SqlState, Stop};
use txn::LockWait;
use value::{OwnedValue, Type, Value};

use crate::common::{
    Db, WAIT, alter_together, column, customer, database, fill, foreign, index, join, orders, racy,
    refused, unique, with, with_db,
};

fn drop_constraint(name: &str, cascade: bool) -> Alteration {
    Alteration::DropConstraint { name: name.into(), cascade }
}

fn drop_column(name: &str) -> Alteration {
    Alteration::DropColumn(name.into())
}

fn set_type(column: &str, kind: Type) -> Alteration {
    Alteration::SetType { column: column.into(), kind }
}

fn add_column(name: &str, default: Value<'_>) -> Alteration {
    let default = DefaultSpec::Constant(default.to_owned());
    Alteration::AddColumn(ColumnSpec { default, ..column(name, Type::BigInt) })
}

fn add(name: &str, constraint: ConstraintSpec) -> Alteration {
    Alteration::AddConstraint(ConstraintSpec { name: Some(name.into()), ..constraint })
}

/// A CHECK that the column at this place is less than a number.
fn below(place: usize, most: i64) -> ConstraintSpec {
    let most = Operand::Constant(Value::Int(most).to_owned());
    let condition = Condition::Compare(Operand::Column(place), Comparison::Less, most);
    ConstraintSpec { name: None, rule: Rule::Check(condition) }
}

fn alter(db: &Db, table: &str, all: Vec<Alteration>, session: &Session) -> Result<(), Stop> {
    alter_together(db, table, all, None, session)
}

/// Customers, and orders of some of them.
fn make(db: &Db, session: &Session) {
    db.catalog.create_table(&customer(), WAIT, session).expect("created");
    db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
    fill(db, 0..20, session);
    db.insert("orders", &[Value::Int(1), Value::Int(3)], session).expect("inserted");
}

/// A column in another one's place, another type, and constraints on what is new.
fn migration() -> Vec<Alteration> {
    vec![
        drop_column("city"),
        set_type("id", Type::Integer),
        add_column("city", Value::Int(3)),
        add_column("best", Value::Null),
        Alteration::SetNotNull("city".into()),
        Alteration::SetNotNull("name".into()),
        Alteration::SetDefault { column: "best".into(), value: Value::Int(7).to_owned() },
        Alteration::AddConstraint(unique(&["name"])),
        add("city_small", below(3, 10)),
        Alteration::AddConstraint(foreign(&["best"], "customer", OnDelete::NoAction)),
    ]
}

#[test]
fn alterations_of_a_table_are_all_done_or_none_is() {
    let disk = database(|db, session| {
        make(db, session);
        let before = db.describe(session);
        for place in 0..=migration().len() {
            let mut all = migration();
            all.insert(place, Alteration::SetNotNull("nothing".into()));
            let refusal = alter(db, "customer", all, session);
            refused(refusal, RefusalKind::NotFound, "nothing");
            assert_eq!(db.describe(session), before, "refused at place {place}");
            db.check(session);
        }
        let mut all = migration();
        all.push(add("best_small", below(0, 15)));
        refused(alter(db, "customer", all, session), RefusalKind::CheckViolation, "best_small");
        assert_eq!(db.describe(session), before, "a row has refused the last one");
        let old = db.relation("customer", session);
        alter(db, "customer", migration(), session).expect("altered");
        assert!(old.is_stale(session));
        db.check(session);
    });
    with(disk, |db, session| {
        let rows = db.rows("customer", session);
        assert_eq!(rows.len(), 20);
        assert!(rows.contains("4, 'name 4', NULL, 3, NULL"), "{rows:?}");
        let insert = |id: i64, name: &str, city: i64, best: i64| {
            let name = Value::Text(name);
            let row = [Value::Int(id), name, Value::Null, Value::Int(city), Value::Int(best)];
            db.insert("customer", &row, session)
        };
        let foreign_key = RefusalKind::ForeignKeyViolation;
        refused(insert(30, "a", 1, 99), foreign_key, "customer_best_fkey");
        refused(insert(30, "a", 10, 1), RefusalKind::CheckViolation, "city_small");
        refused(insert(30, "name 1", 1, 1), RefusalKind::UniqueViolation, "customer");
        insert(30, "a", 1, 1).expect("inserted");
        let late = db.insert("orders", &[Value::Int(2), Value::Int(77)], session);
        refused(late, foreign_key, "orders_customer_fkey");
    });
}

#[test]
fn what_goes_makes_room_for_what_comes() {
    database(|db, session| {
        make(db, session);
        let first = vec![add("few", below(0, 100)), Alteration::AddConstraint(unique(&["name"]))];
        alter(db, "customer", first, session).expect("altered");
        let transactions = db.instance.transactions();
        let before = transactions.snapshot(None, session).expect("a snapshot");
        let view = transactions.view_of(&before, None);
        let again = vec![
            drop_constraint("few", false),
            drop_constraint("customer_name_key", false),
            add("few", below(0, 50)),
            Alteration::AddConstraint(unique(&["name"])),
        ];
        alter(db, "customer", again, session).expect("altered");
        let relation = db.relation("customer", session);
        assert_eq!(relation.definition().indexes[1].name, "customer_name_key", "the name is free");
        let row = [Value::Int(60), Value::Null, Value::Null];
        refused(db.insert("customer", &row, session), RefusalKind::CheckViolation, "few");
        // As many CHECKs as before, and an older snapshot may see rows that break the other one.
        let read = relation.scan(view, |_, _| (), session);
        refused(read, RefusalKind::SnapshotTooOld, "a CHECK");
        drop(before);
        let key = foreign(&["customer"], "customer", OnDelete::Cascade);
        let name = "orders_customer_fkey";
        let other = vec![drop_constraint(name, false), add(name, key)];
        alter(db, "orders", other, session).expect("altered");
        let customer = db.relation("customer", session);
        let key = &customer.definition().referenced_by[0];
        assert_eq!((&key.name[..], key.on_delete), (name, OnDelete::Cascade));
        // Nothing refers to the column any more, so its keys needn't be those of another one.
        let decimal = || set_type("id", Type::number(9, 0).expect("a type"));
        let alone = alter(db, "customer", vec![decimal()], session);
        refused(alone, RefusalKind::Invalid, "no common keys");
        let all = vec![drop_constraint("customer_pkey", true), decimal()];
        alter(db, "customer", all, session).expect("altered");
        assert!(db.relation("orders", session).definition().foreign_keys.is_empty());
        db.check(session);
    });
}

#[test]
fn types_that_change_side_by_side_take_one_rewrite() {
    let disk = database(|db, session| {
        make(db, session);
        let asked = Cell::new(0);
        let length = |value: Value<'_>| {
            asked.set(asked.get() + 1);
            let Value::Text(text) = value else { panic!("{value}") };
            Ok::<_, Stop>(Value::Int(text.len() as i64).to_owned())
        };
        let names = ["name", "city"];
        let convert = |name: &str| {
            let convert: Box<Convert<'_>> = Box::new(length);
            (name.to_string(), convert)
        };
        let types = names.map(|name| set_type(name, Type::Integer));
        let all = [vec![set_type("id", Type::Integer)], types.to_vec()].concat();
        let conversions = BTreeMap::from(names.map(convert));
        let alterations = TableAlterations { all, conversions, seen_in: None };
        db.catalog.alter_together("customer", alterations, WAIT, session).expect("altered");
        assert_eq!(asked.get(), 40);
        assert!(db.rows("customer", session).contains("12, 7, 6"));
        db.check(session);
        let twice = vec![set_type("name", Type::BigInt), set_type("name", Type::Double)];
        let stop = alter(db, "customer", twice, session).expect_err("two types");
        assert_eq!(stop.state(), SqlState::FEATURE_NOT_SUPPORTED, "{stop}");
        // Not side by side: the rows are rewritten twice.
        let apart = vec![
            set_type("name", Type::BigInt),
            Alteration::SetNotNull("name".into()),
            add_column("rank", Value::Int(1)),
            set_type("city", Type::Double),
        ];
        alter(db, "customer", apart, session).expect("altered");
        db.check(session);
    });
    with(disk, |db, session| {
        let rows = db.rows("customer", session);
        assert_eq!(rows.len(), 20);
        let table = db.catalog.table("customer", session).expect("there");
        let kinds: Vec<Type> = table.columns.iter().map(|column| column.kind).collect();
        assert_eq!(kinds, [Type::Integer, Type::BigInt, Type::Double, Type::BigInt]);
        assert!(rows.iter().any(|row| row.starts_with("12, 7, 6") && row.ends_with(", 1")));
    });
}

/// A view, an identity and a table that would be left without columns are in the way of the whole.
#[test]
fn what_is_in_the_way_of_one_alteration_is_in_the_way_of_all() {
    database(|db, session| {
        make(db, session);
        let default = DefaultSpec::Identity { always: true, options: SequenceOptions::default() };
        let number = ColumnSpec { default, ..column("number", Type::BigInt) };
        let spec = TableSpec::new("t").column(number).column(column("a", Type::Integer));
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        let spec = db.view_of("names", "customer", &[1], session);
        db.catalog.create_view(&spec, session).expect("created");
        let spec = db.view_of("numbers", "t_number_seq", &[], session);
        let columns = vec!["n".to_string()];
        db.catalog.create_view(&ViewSpec { columns, ..spec }, session).expect("created");
        let before = db.describe(session);
        let wrong = RefusalKind::WrongState;
        for change in [drop_column("name"), set_type("name", Type::Text)] {
            let all = vec![add_column("rank", Value::Null), change, drop_column("city")];
            refused(alter(db, "customer", all, session), wrong, "view names depends on it");
        }
        let both = || vec![drop_column("a"), drop_column("number")];
        refused(alter(db, "t", both(), session), wrong, "view numbers depends on it");
        assert_eq!(db.describe(session), before);
        db.catalog.drop_view("numbers", false, session).expect("dropped");
        let before = db.describe(session);
        refused(alter(db, "t", both(), session), wrong, "no column left");
        assert_eq!(db.describe(session), before);
        let all = [both(), vec![add_column("b", Value::Null)]].concat();
        alter(db, "t", all, session).expect("it has a column");
        assert!(db.catalog.sequences(session).is_empty());
        db.check(session);
    });
}

/// DC44: whoever has looked at the table is refused once it is another one.
#[test]
fn a_table_that_has_changed_since_it_was_looked_at_stays_as_it_is() {
    database(|db, session| {
        make(db, session);
        let seen_in = db.catalog.generation(session);
        let add = |name: &str| vec![add_column(name, Value::Null)];
        alter(db, "orders", add("a"), session).expect("altered");
        alter_together(db, "customer", add("a"), Some(seen_in), session).expect("it is the same");
        let late = alter_together(db, "customer", add("b"), Some(seen_in), session);
        refused(late, RefusalKind::DefinitionChanged, "it was changed meanwhile");
        let seen_in = Some(db.catalog.generation(session));
        alter_together(db, "customer", add("b"), seen_in, session).expect("altered");
    });
}

/// The table that a new foreign key refers to is locked before rows are worked with.
#[test]
fn a_table_whose_parent_is_in_use_is_not_altered_in_part() {
    database(|db, session| {
        make(db, session);
        let customer = db.relation("customer", session);
        let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
        let mut work = Work {
            transaction: &mut transaction,
            scratch: &mut scratch,
            relations: &*db.catalog,
            session,
        };
        let row = [Value::Int(50), Value::Null, Value::Null];
        customer.insert(&mut work, &row).expect("inserted");
        let before = db.describe(session);
        let (conversions, seen_in) = (BTreeMap::new(), None);
        let all = vec![
            set_type("id", Type::Integer),
            add_column("best", Value::Null),
            Alteration::AddConstraint(foreign(&["best"], "customer", OnDelete::NoAction)),
        ];
        let alterations = TableAlterations { all, conversions, seen_in };
        let lock_wait = LockWait::NoWait;
        let altered = db.catalog.alter_together("orders", alterations, lock_wait, session);
        refused(altered, RefusalKind::Busy, "");
        assert_eq!(db.describe(session), before);
        db.instance.commit(transaction, session).expect("committed");
    });
}

/// A session that asks meanwhile has the table as it was, or with all that was done to it.
#[test]
fn nobody_sees_a_part_of_what_is_done_to_a_table() {
    let disk = database(make);
    for seed in 0..16 {
        with_db(racy(seed, disk.clone()), |db, session| {
            let alters = db.start("alters", session, |db, session| {
                let by_name = index("by_name", "customer", &["name"], false);
                db.catalog.create_index(&by_name, WAIT, session).expect("created");
                alter(db, "customer", migration(), session).expect("altered");
            });
            let asks = db.start("asks", session, |db, session| {
                for _ in 0..40 {
                    let table = db.relation("customer", session);
                    let table = table.definition();
                    let is_new = table.columns.len() == 5;
                    assert!(is_new || table.columns.len() == 3, "{:?}", table.columns);
                    assert_eq!(table.checks.len(), usize::from(is_new));
                    assert_eq!(table.foreign_keys.len(), usize::from(is_new));
                    assert_eq!(table.columns[2].is_dropped(), is_new);
                    assert_eq!(table.columns[0].kind == Type::Integer, is_new);
                }
            });
            let changes = db.start("changes", session, |db, session| {
                for number in 100..112 {
                    let name = format!("name {number}");
                    loop {
                        let relation = db.relation("customer", session);
                        let columns = relation.definition().columns.len();
                        let mut row = vec![Value::Int(number), Value::Text(&name), Value::Null];
                        row.resize(columns, Value::Int(0));
                        let row = &row;
                        match db.transact(session, |work| relation.insert(work, row)) {
                            Ok(_) => break,
                            Err(stop) => {
                                let kind = stop.refusal();
                                assert_eq!(kind, Some(RefusalKind::DefinitionChanged), "{stop}");
                            }
                        }
                    }
                }
            });
            join(vec![alters, asks, changes], session);
            assert_eq!(db.rows("customer", session).len(), 32);
            db.check(session);
        });
    }
}

/// What an alteration says of rows is asked of those that one before it has written.
#[test]
fn rows_that_were_rewritten_are_looked_at_as_they_are_now() {
    let disk = database(|db, session| {
        make(db, session);
        let before = db.describe(session);
        let convert: Box<Convert<'_>> = Box::new(|value: Value<'_>| match value {
            Value::Text("city 5") => Ok(OwnedValue::NULL),
            other => Ok::<_, Stop>(other.to_owned()),
        });
        let all = vec![
            set_type("city", Type::Text),
            Alteration::AddConstraint(unique(&["name"])),
            Alteration::SetNotNull("city".into()),
        ];
        let conversions = BTreeMap::from([("city".to_string(), convert)]);
        let alterations = TableAlterations { all, conversions, seen_in: None };
        let altered = db.catalog.alter_together("customer", alterations, WAIT, session);
        refused(altered, RefusalKind::NotNullViolation, "column city");
        assert_eq!(db.describe(session), before);
        db.check(session);
    });
    with(disk, |db, session| {
        let rows = db.rows("customer", session);
        assert!(rows.contains("5, 'name 5', 'city 5'"), "{rows:?}");
    });
}
