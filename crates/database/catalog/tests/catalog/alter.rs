//! ALTER TABLE.

use catalog::{Alteration, ColumnSpec, ConstraintSpec, DefaultSpec, Rule};
use relation::{Comparison, Condition, OnDelete, Operand};
use stop::RefusalKind;
use value::{OwnedValue, Type, Value};

use crate::common::{
    Db, WAIT, alter_together, column, customer, database, fill, foreign, orders, primary, refused,
    unique, with,
};

fn alter(
    db: &Db,
    table: &str,
    alteration: &Alteration,
    session: &os::Session,
) -> Result<(), stop::Stop> {
    db.catalog.alter_table(table, alteration, WAIT, session)
}

#[test]
fn a_column_is_added_without_rows_being_rewritten() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..30, session);
        let old = db.relation("customer", session);
        let spec = |name: &str, not_null, value: OwnedValue| ColumnSpec {
            not_null,
            default: DefaultSpec::Constant(value),
            ..column(name, Type::Integer)
        };
        let add = |spec| alter(db, "customer", &Alteration::AddColumn(spec), session);
        refused(add(spec("rank", true, OwnedValue::NULL)), RefusalKind::Invalid, "no default");
        add(spec("rank", true, Value::Int(5).to_owned())).expect("added");
        add(spec("age", false, OwnedValue::NULL)).expect("added");
        refused(add(spec("age", false, OwnedValue::NULL)), RefusalKind::Invalid, "two columns");
        let row = [Value::Int(100), Value::Null, Value::Null];
        let late = db.transact(session, |work| old.insert(work, &row));
        refused(late, RefusalKind::DefinitionChanged, "customer");
        let set = Alteration::SetDefault { column: "rank".into(), value: Value::Int(6).to_owned() };
        alter(db, "customer", &set, session).expect("altered");
        let row = [Value::Int(100), Value::Null, Value::Null, Value::Int(7), Value::Int(8)];
        db.insert("customer", &row, session).expect("inserted");
    });
    with(disk, |db, session| {
        let rows = db.rows("customer", session);
        assert_eq!(rows.len(), 31);
        assert!(rows.contains("3, 'name 3', 'city 3', 5, NULL"), "{rows:?}");
        assert!(rows.contains("100, NULL, NULL, 7, 8"), "{rows:?}");
        let table = db.catalog.table("customer", session).expect("there");
        let relation::Default::Constant(default) = &table.columns[3].default else { panic!() };
        assert_eq!(default.get(), Value::Int(6));
    });
}

/// A column that is refused because of a constraint leaves nothing, also no place.
#[test]
fn a_column_is_added_with_all_its_constraints_or_not_at_all() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..1, session);
        let default = DefaultSpec::Constant(Value::Int(0).to_owned());
        let spec = ColumnSpec { default, ..column("best", Type::BigInt) };
        let more = |than: i64| {
            let of = Operand::Column(3);
            let than = Operand::Constant(Value::Int(than).to_owned());
            let check = Rule::Check(Condition::Compare(of, Comparison::Greater, than));
            let more = ConstraintSpec { name: Some("more".into()), rule: check };
            vec![unique(&["best"]), foreign(&["best"], "customer", OnDelete::NoAction), more]
        };
        let add = |constraints: Vec<ConstraintSpec>| {
            let mut all = vec![Alteration::AddColumn(spec.clone())];
            all.extend(constraints.into_iter().map(Alteration::AddConstraint));
            alter_together(db, "customer", all, None, session)
        };
        for _ in 0..3 {
            refused(add(more(5)), RefusalKind::CheckViolation, "more");
            let table = db.catalog.table("customer", session).expect("there");
            assert_eq!((table.columns.len(), table.indexes.len()), (3, 1));
            assert_eq!(table.foreign_keys.len() + table.checks.len(), 0);
        }
        add(more(-1)).expect("added");
        refused(add(more(-1)), RefusalKind::Invalid, "two columns best");
        let row = [Value::Int(7), Value::Null, Value::Null, Value::Int(0)];
        refused(db.insert("customer", &row, session), RefusalKind::UniqueViolation, "best");
        let row = [Value::Int(7), Value::Null, Value::Null, Value::Int(9)];
        refused(db.insert("customer", &row, session), RefusalKind::ForeignKeyViolation, "customer");
    });
    with(disk, |db, session| {
        let table = db.catalog.table("customer", session).expect("there");
        let counts = (table.indexes.len(), table.foreign_keys.len(), table.checks.len());
        assert_eq!(counts, (2, 1, 1));
    });
}

#[test]
fn names_change_and_old_ones_are_free() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        fill(db, 0..3, session);
        let rename = Alteration::RenameTable("client".into());
        alter(db, "customer", &rename, session).expect("renamed");
        let rename = Alteration::RenameTable("client".into());
        refused(alter(db, "orders", &rename, session), RefusalKind::AlreadyExists, "client");
        let rename = Alteration::RenameColumn { from: "city".into(), to: "town".into() };
        alter(db, "client", &rename, session).expect("renamed");
        refused(alter(db, "client", &rename, session), RefusalKind::NotFound, "city");
        refused(db.catalog.relation("customer", session), RefusalKind::NotFound, "no table");
        db.insert("orders", &[Value::Int(1), Value::Int(2)], session).expect("inserted");
        let mut again = customer();
        again.constraints.clear();
        db.catalog.create_table(&again, WAIT, session).expect("created");
    });
    with(disk, |db, session| {
        assert_eq!(db.rows("client", session).len(), 3);
        assert_eq!(db.rows("customer", session).len(), 0);
        let client = db.catalog.table("client", session).expect("there");
        assert_eq!(client.columns[2].name, "town");
    });
}

#[test]
fn a_dropped_column_loses_its_name_and_its_sequence_and_others_keep_their_places() {
    let disk = database(|db, session| {
        let mut spec = customer();
        let default = DefaultSpec::Identity { always: false, options: Default::default() };
        spec.columns.push(ColumnSpec { default, ..column("number", Type::BigInt) });
        spec.constraints.push(unique(&["city"]));
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        let row = [Value::Int(1), Value::Text("Ann"), Value::Text("Bern"), Value::Int(7)];
        db.insert("customer", &row, session).expect("inserted");
        let drop =
            |column: &str| alter(db, "customer", &Alteration::DropColumn(column.into()), session);
        refused(drop("id"), RefusalKind::WrongState, "its primary key customer_pkey has column id");
        refused(drop("city"), RefusalKind::WrongState, "index customer_city_key has column city");
        drop("name").expect("dropped");
        refused(drop("name"), RefusalKind::NotFound, "in table customer");
        refused(drop("#1"), RefusalKind::NotFound, "in table customer");
        assert_eq!(db.catalog.sequences(session).len(), 1);
        drop("number").expect("dropped");
        assert_eq!(db.catalog.sequences(session).len(), 0);
        // The name is free, and the new column is behind the others.
        let again = ColumnSpec {
            default: DefaultSpec::Constant(Value::Text("?").to_owned()),
            ..column("name", Type::Text)
        };
        alter(db, "customer", &Alteration::AddColumn(again), session).expect("added");
        let table = db.catalog.table("customer", session).expect("there");
        let given = [(0, Value::Int(2)), (2, Value::Text("Basel"))];
        let row = db.catalog.fill_row(&table, &given, session).expect("filled").values;
        db.insert("customer", &row, session).expect("inserted");
    });
    with(disk, |db, session| {
        let table = db.catalog.table("customer", session).expect("there");
        let dropped: Vec<bool> = table.columns.iter().map(|column| column.is_dropped()).collect();
        assert_eq!(dropped, [false, true, false, true, false]);
        assert_eq!(catalog::place_of(&table, "name").expect("there"), 4);
        let rows = db.rows("customer", session);
        assert!(rows.contains("1, 'Ann', 'Bern', 7, '?'"), "{rows:?}");
        assert!(rows.contains("2, NULL, 'Basel', NULL, '?'"), "{rows:?}");
        let drop = Alteration::DropColumn("id".into());
        let primary = Alteration::DropConstraint { name: "customer_pkey".into(), cascade: false };
        alter(db, "customer", &primary, session).expect("dropped");
        alter(db, "customer", &drop, session).expect("dropped");
        let drop = Alteration::DropColumn("name".into());
        alter(db, "customer", &drop, session).expect("dropped");
        let unique =
            Alteration::DropConstraint { name: "customer_city_key".into(), cascade: false };
        alter(db, "customer", &unique, session).expect("dropped");
        let last = alter(db, "customer", &Alteration::DropColumn("city".into()), session);
        refused(last, RefusalKind::WrongState, "no column left");
    });
}

#[test]
fn constraints_and_indexes_are_renamed_and_old_names_are_free() {
    let disk = database(|db, session| {
        let mut parent = customer();
        let below = Condition::IsNull(Operand::Column(1));
        parent.constraints.push(ConstraintSpec { name: None, rule: Rule::Check(below) });
        db.catalog.create_table(&parent, WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        let rename = |table, from: &str, to: &str| {
            let (from, to) = (from.into(), to.into());
            alter(db, table, &Alteration::RenameConstraint { from, to }, session)
        };
        rename("customer", "customer_pkey", "by_id").expect("renamed");
        rename("customer", "customer_name_check", "nameless").expect("renamed");
        rename("orders", "orders_customer_fkey", "of_customer").expect("renamed");
        rename("orders", "orders_customer_fkey_idx", "by_customer").expect("renamed");
        let taken = rename("orders", "of_customer", "by_id");
        refused(taken, RefusalKind::AlreadyExists, "by_id");
        let gone = rename("customer", "customer_pkey", "x");
        refused(gone, RefusalKind::NotFound, "of table customer");
        refused(rename("orders", "of_customer", "_x"), RefusalKind::Invalid, "first letter");
        rename("orders", "orders_pkey", "customer_pkey").expect("the name is free");
    });
    with(disk, |db, session| {
        let customer = db.catalog.table("customer", session).expect("there");
        assert_eq!(
            (&customer.indexes[0].name[..], &customer.checks[0].name[..]),
            ("by_id", "nameless")
        );
        assert_eq!(customer.referenced_by[0].name, "of_customer");
        let late = db.insert("orders", &[Value::Int(1), Value::Int(5)], session);
        refused(late, RefusalKind::ForeignKeyViolation, "of_customer");
        let row = [Value::Int(1), Value::Text("Ann"), Value::Null];
        refused(db.insert("customer", &row, session), RefusalKind::CheckViolation, "nameless");
        let used = db.catalog.drop_index("by_customer", WAIT, session);
        refused(used, RefusalKind::WrongState, "of_customer needs it");
    });
}

#[test]
fn not_null_is_looked_for_before_it_is_said() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..9, session);
        let row = [Value::Int(100), Value::Null, Value::Null];
        db.insert("customer", &row, session).expect("inserted");
        let set = Alteration::SetNotNull("name".into());
        let done = alter(db, "customer", &set, session);
        refused(done, RefusalKind::NotNullViolation, "column name");
        let relation = db.relation("customer", session);
        let key = [Value::Int(100)];
        let selection = relation::Selection::Key(0, &key);
        db.transact(session, |work| relation.delete_where(work, selection, None)).expect("deleted");
        alter(db, "customer", &set, session).expect("altered");
        refused(db.insert("customer", &row, session), RefusalKind::NotNullViolation, "name");
        let drop = Alteration::DropNotNull("name".into());
        alter(db, "customer", &drop, session).expect("altered");
        db.insert("customer", &row, session).expect("inserted");
        let drop = Alteration::DropNotNull("id".into());
        refused(alter(db, "customer", &drop, session), RefusalKind::Invalid, "primary key");
    });
}

#[test]
fn constraints_are_added_to_rows_that_keep_them_and_dropped() {
    let disk = database(|db, session| {
        let mut spec = customer();
        spec.constraints.clear();
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        let mut spec = orders(OnDelete::SetNull);
        let keys = spec.constraints.split_off(0);
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        fill(db, 0..20, session);
        for (id, of) in [(1, Some(7)), (2, None), (3, Some(44))] {
            let row = [Value::Int(id), of.map_or(Value::Null, Value::Int)];
            db.insert("orders", &row, session).expect("inserted");
        }
        let add = |table, one| alter(db, table, &Alteration::AddConstraint(one), session);
        let (invalid, violated) = (RefusalKind::Invalid, RefusalKind::ForeignKeyViolation);
        refused(add("customer", primary(&["id"])), invalid, "SET NOT NULL first");
        let twice = add("customer", unique(&["city"]));
        refused(twice, RefusalKind::UniqueViolation, "customer_city_key");
        refused(add("orders", keys[1].clone()), invalid, "no primary key");
        alter(db, "customer", &Alteration::SetNotNull("id".into()), session).expect("altered");
        add("customer", primary(&["id"])).expect("added");
        refused(add("customer", primary(&["name"])), invalid, "a primary key already");
        refused(add("orders", keys[1].clone()), violated, "refers to (44)");
        fill(db, 44..45, session);
        add("orders", keys[1].clone()).expect("added");
        let key = foreign(&["customer"], "customer", OnDelete::NoAction);
        add("orders", key).expect("another of the same columns");
        let late = db.insert("orders", &[Value::Int(4), Value::Int(55)], session);
        refused(late, violated, "orders");
    });
    with(disk, |db, session| {
        let orders = db.catalog.table("orders", session).expect("there");
        assert_eq!((orders.foreign_keys.len(), orders.indexes.len()), (2, 1));
        let drop = |table, name: &str, cascade| {
            let drop = Alteration::DropConstraint { name: name.into(), cascade };
            alter(db, table, &drop, session)
        };
        let none = drop("orders", "orders_customer_fky", false);
        refused(none, RefusalKind::NotFound, "did you mean orders_customer_fkey?");
        refused(drop("customer", "customer_pkey", false), RefusalKind::WrongState, "CASCADE");
        let needed = db.catalog.drop_index("orders_customer_fkey_idx", WAIT, session);
        refused(needed, RefusalKind::WrongState, "needs it");
        drop("orders", "orders_customer_fkey", false).expect("dropped");
        drop("customer", "customer_pkey", true).expect("dropped");
        let orders = db.catalog.table("orders", session).expect("there");
        assert_eq!(orders.foreign_keys.len(), 0);
        db.catalog.drop_index("orders_customer_fkey_idx", WAIT, session).expect("dropped");
        assert_eq!(db.catalog.table("customer", session).expect("there").indexes.len(), 0);
    });
}

#[test]
fn a_check_is_added_to_rows_that_keep_it() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..12, session);
        let below = |most| {
            let (id, most) = (Operand::Column(0), Value::Int(most).to_owned());
            let condition = Condition::Compare(id, Comparison::Less, Operand::Constant(most));
            let name = Some(format!("below_{}", most_of(&condition)));
            Alteration::AddConstraint(ConstraintSpec { name, rule: Rule::Check(condition) })
        };
        let broken = alter(db, "customer", &below(11), session);
        refused(broken, RefusalKind::CheckViolation, "11");
        alter(db, "customer", &below(12), session).expect("added");
        let row = [Value::Int(12), Value::Null, Value::Null];
        refused(db.insert("customer", &row, session), RefusalKind::CheckViolation, "below_12");
    });
}

fn most_of(condition: &Condition) -> String {
    match condition {
        Condition::Compare(_, _, Operand::Constant(value)) => value.get().to_string(),
        other => panic!("{other:?}"),
    }
}
