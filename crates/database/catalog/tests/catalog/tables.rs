//! CREATE, DROP and TRUNCATE of tables and indexes.

use catalog::{ColumnSpec, DefaultSpec, SequenceOptions, Truncation};
use relation::{Comparison, Condition, OnDelete, Operand};
use stop::{RefusalKind, SqlState, Stop};
use value::{Type, Value};

use crate::common::{
    WAIT, column, customer, database, fill, foreign, index, orders, primary, refused, table, text,
    unique, with,
};

#[test]
fn what_is_created_is_there_after_a_restart() {
    let disk = database(|db, session| {
        assert!(db.catalog.opened().is_new);
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::Cascade), WAIT, session).expect("created");
        fill(db, 0..50, session);
        let by_city = index("by_city", "customer", &["city", "id"], false);
        db.catalog.create_index(&by_city, WAIT, session).expect("created");
        db.insert("orders", &[Value::Int(1), Value::Int(7)], session).expect("inserted");
    });
    let disk = with(disk, |db, session| {
        let opened = db.catalog.opened();
        assert_eq!((opened.is_new, opened.tables, opened.orphans), (false, 2, 0));
        assert_eq!(db.rows("customer", session).len(), 50);
        assert_eq!(db.rows("orders", session).len(), 1);
        let all = db.catalog.tables(session).expect("listed");
        let names: Vec<_> = all.iter().map(|table| table.definition.name.as_str()).collect();
        assert_eq!(names, ["customer", "orders"]);
        assert_eq!(all[0].indexes[1].name, "by_city");
        assert_eq!(all[0].indexes[1].columns, ["city", "id"]);
        assert!(all[0].blocks > 1 && all[0].indexes[1].blocks > 1, "{all:?}");
        assert_eq!(all[0].definition.referenced_by.len(), 1);
        let primary = &all[0].definition.indexes[0];
        assert_eq!((&*primary.name, primary.primary), ("customer_pkey", true));
        let key = &all[1].definition.foreign_keys[0];
        assert_eq!((&*key.name, key.on_delete), ("orders_customer_fkey", OnDelete::Cascade));
        assert_eq!(key.references, all[0].definition.object);
        assert_eq!(key.referenced_columns, [0]);
        db.catalog.drop_table("orders", false, WAIT, session).expect("dropped");
        db.catalog.drop_index("by_city", WAIT, session).expect("dropped");
        refused(db.catalog.relation("orders", session), RefusalKind::NotFound, "no table");
    });
    with(disk, |db, session| {
        assert_eq!(db.catalog.opened().tables, 1);
        assert_eq!(db.catalog.table("customer", session).expect("there").indexes.len(), 1);
        db.catalog.drop_table("customer", false, WAIT, session).expect("dropped");
        assert_eq!(db.catalog.tables(session).expect("listed").len(), 0);
    });
}

#[test]
fn what_cannot_be_created_says_why() {
    database(|db, session| {
        let create = |spec| db.catalog.create_table(&spec, WAIT, session);
        create(customer()).expect("created");
        let id = || column("id", Type::BigInt);
        let with = |constraint| table("t", vec![id(), column("n", text(9))], vec![constraint]);
        let (invalid, missing) = (RefusalKind::Invalid, RefusalKind::NotFound);
        refused(create(customer()), RefusalKind::AlreadyExists, "customer exists already");
        refused(create(table("t", vec![], vec![])), invalid, "no column");
        refused(create(table("t", vec![id(), id()], vec![])), invalid, "two columns id");
        refused(create(table("", vec![id()], vec![])), invalid, "is empty");
        refused(create(table(&"t".repeat(129), vec![id()], vec![])), invalid, "the most is 128");
        refused(create(with(primary(&["ID"]))), missing, "did you mean id?");
        refused(create(with(primary(&["id", "id"]))), invalid, "column id twice");
        refused(create(with(unique(&[]))), invalid, "0 columns");
        let to = |table| foreign(&["id"], table, OnDelete::NoAction);
        refused(create(with(to("custmer"))), missing, "did you mean customer?");
        let key = foreign(&["n"], "customer", OnDelete::NoAction);
        refused(create(with(key)), invalid, "column n is VARCHAR(9) and can't refer to id");
        refused(create(with(to("t"))), invalid, "no primary key");
        let default = DefaultSpec::Constant(Value::Text("too long for that").to_owned());
        let bad = ColumnSpec { default, ..column("n", text(9)) };
        let made = create(table("t", vec![bad], vec![]));
        let state = made.as_ref().err().map(Stop::state);
        assert_eq!(state, Some(SqlState::STRING_DATA_RIGHT_TRUNCATION));
        refused(made, invalid, "its default");
        let default = DefaultSpec::Identity { always: true, options: SequenceOptions::default() };
        let bad = ColumnSpec { default, ..column("n", text(9)) };
        refused(create(table("t", vec![bad], vec![])), invalid, "identity column n is VARCHAR(9)");
        let mut elsewhere = table("t", vec![id()], vec![]);
        elsewhere.tablespace = Some("users".into());
        refused(create(elsewhere), missing, "users");
        let check = Condition::IsNull(Operand::Column(2));
        let rule = catalog::Rule::Check(check);
        refused(create(with(catalog::ConstraintSpec { name: None, rule })), invalid, "column 2");
        assert_eq!(db.catalog.definitions(session).len(), 1);
    });
}

#[test]
fn a_table_may_refer_to_itself_and_count_by_itself() {
    let disk = database(|db, session| {
        let identity = DefaultSpec::Identity { always: false, options: SequenceOptions::default() };
        let id = ColumnSpec { default: identity, ..column("id", Type::Integer) };
        let columns = vec![id, column("parent", Type::BigInt)];
        let parent = foreign(&["parent"], "tree", OnDelete::NoAction);
        let spec = table("tree", columns, vec![parent, primary(&["id"])]);
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        let tree = db.catalog.table("tree", session).expect("there");
        assert_eq!(tree.referenced_by.len(), 1);
        assert_eq!(tree.referenced_by[0].references, tree.object);
        let names: Vec<_> = tree.indexes.iter().map(|index| index.name.as_str()).collect();
        assert_eq!(names, ["tree_pkey", "tree_parent_fkey_idx"]);
        let sequence = db.catalog.sequence("tree_id_seq", session).expect("there");
        assert_eq!(sequence.definition().max, i32::MAX.into());
        assert_eq!(db.catalog.next_value(&sequence, session).expect("a value"), 1);
        refused(
            db.catalog.drop_sequence("tree_id_seq", session),
            RefusalKind::WrongState,
            "identity column of table tree",
        );
    });
    with(disk, |db, session| {
        let tree = db.catalog.table("tree", session).expect("there");
        let relation::Default::Identity { sequence, .. } = tree.columns[0].default else {
            panic!("{tree:?}")
        };
        let sequence = db.catalog.sequence_of(sequence, session).expect("there");
        assert_eq!(db.catalog.next_value(&sequence, session).expect("a value"), 21);
        db.catalog.drop_table("tree", false, WAIT, session).expect("dropped");
        refused(db.catalog.sequence("tree_id_seq", session), RefusalKind::NotFound, "no sequence");
        refused(db.catalog.next_value(&sequence, session), RefusalKind::NotFound, "any more");
    });
}

/// The index's name is cut off behind the key's name.
#[test]
fn a_foreign_key_of_the_longest_name_gets_an_index_of_another_name() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let create = |name: &str, key: Option<String>| {
            let to_customer = foreign(&["customer"], "customer", OnDelete::NoAction);
            let to_customer = catalog::ConstraintSpec { name: key, ..to_customer };
            let spec = table(name, vec![column("customer", Type::BigInt)], vec![to_customer]);
            db.catalog.create_table(&spec, WAIT, session).expect("a name of 128 bytes is a name");
            let made = db.catalog.table(name, session).expect("there");
            (made.foreign_keys[0].name.clone(), made.indexes[0].name.clone())
        };
        let longest = "k".repeat(128);
        let (key, index) = create("given", Some(longest.clone()));
        assert_eq!((key, index), (longest.clone(), format!("{}1", &longest[..127])));
        let (key, index) = create(&"t".repeat(118), None);
        assert_eq!((key.len(), index.len()), (128, 128), "{key}, {index}");
    });
}

#[test]
fn a_unique_index_of_rows_that_are_alike_is_refused_and_leaves_nothing() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..20, session);
        let before = db.describe(session);
        let by_city = index("by_city", "customer", &["city"], true);
        let made = db.catalog.create_index(&by_city, WAIT, session);
        refused(made, RefusalKind::UniqueViolation, "have the same key: city = 'city");
        assert_eq!(db.describe(session), before);
        // NULLs are like nothing.
        for number in 100..103 {
            let row = [Value::Int(number), Value::Null, Value::Text("x")];
            db.insert("customer", &row, session).expect("inserted");
        }
        let by_name = index("by_name", "customer", &["name"], true);
        db.catalog.create_index(&by_name, WAIT, session).expect("created");
        db.check(session);
        let again = index("other", "customer", &["name"], true);
        let made = db.catalog.create_index(&again, WAIT, session);
        refused(made, RefusalKind::Invalid, "same columns");
        let row = [Value::Int(200), Value::Text("name 3"), Value::Null];
        let twice = db.insert("customer", &row, session);
        refused(twice, RefusalKind::UniqueViolation, "by_name");
        let pk = db.catalog.drop_index("customer_pkey", WAIT, session);
        refused(pk, RefusalKind::WrongState, "primary key");
    });
}

#[test]
fn a_table_that_others_refer_to_is_dropped_only_with_their_constraints() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        fill(db, 0..5, session);
        let drop = |cascade| db.catalog.drop_table("customer", cascade, WAIT, session);
        refused(drop(false), RefusalKind::WrongState, "orders_customer_fkey of table orders");
        drop(true).expect("dropped");
        let orders = db.catalog.table("orders", session).expect("there");
        assert_eq!((orders.foreign_keys.len(), orders.indexes.len()), (0, 2));
        db.insert("orders", &[Value::Int(1), Value::Int(99)], session).expect("inserted");
    });
}

#[test]
fn a_truncated_table_is_empty_and_goes_on() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        fill(db, 0..60, session);
        db.insert("orders", &[Value::Int(1), Value::Int(7)], session).expect("inserted");
        let truncate = |name| db.catalog.truncate_table(name, WAIT, session);
        refused(truncate("customer"), RefusalKind::ForeignKeyViolation, "orders refers to it");
        truncate("orders").expect("truncated");
        let object = db.catalog.object("customer", session).expect("there");
        truncate("customer").expect("truncated");
        assert_eq!(db.catalog.object("customer", session).expect("there"), object);
        assert_eq!(db.rows("customer", session).len(), 0);
        fill(db, 5..15, session);
        let orphan = db.insert("orders", &[Value::Int(1), Value::Int(3)], session);
        refused(orphan, RefusalKind::ForeignKeyViolation, "orders");
        db.insert("orders", &[Value::Int(1), Value::Int(7)], session).expect("inserted");
    });
    with(disk, |db, session| {
        assert_eq!(db.rows("customer", session).len(), 10);
        assert_eq!(db.rows("orders", session).len(), 1);
    });
}

#[test]
fn tables_that_refer_to_each_other_are_truncated_together() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        let both = |names: &[&str], cascade: bool| {
            fill(db, 0..60, session);
            db.insert("orders", &[Value::Int(1), Value::Int(7)], session).expect("inserted");
            let how = Truncation { cascade, ..Truncation::default() };
            db.catalog.truncate_tables(names, how, WAIT, session).expect("truncated");
            assert_eq!(db.rows("customer", session).len(), 0, "{names:?}");
            assert_eq!(db.rows("orders", session).len(), 0, "{names:?}");
        };
        both(&["customer", "orders"], false);
        both(&["customer"], true);
        both(&["orders", "customer", "customer"], true);
        let orphan = db.insert("orders", &[Value::Int(1), Value::Int(3)], session);
        refused(orphan, RefusalKind::ForeignKeyViolation, "orders");
        fill(db, 0..60, session);
        db.insert("orders", &[Value::Int(1), Value::Int(7)], session).expect("inserted");
        let how = Truncation { cascade: true, ..Truncation::default() };
        db.catalog.truncate_tables(&["orders"], how, WAIT, session).expect("truncated");
    });
    with(disk, |db, session| {
        assert_eq!(db.rows("customer", session).len(), 60, "nothing refers to orders");
        assert_eq!(db.rows("orders", session).len(), 0);
    });
}

#[test]
fn a_check_goes_with_its_table() {
    let disk = database(|db, session| {
        let condition = Condition::Compare(
            Operand::Column(0),
            Comparison::Greater,
            Operand::Constant(Value::Int(10).to_owned()),
        );
        let name = Some("above_ten".to_string());
        let check = catalog::ConstraintSpec { name, rule: catalog::Rule::Check(condition) };
        let spec = table("t", vec![column("n", Type::BigInt)], vec![check]);
        db.catalog.create_table(&spec, WAIT, session).expect("created");
    });
    with(disk, |db, session| {
        let table = db.catalog.table("t", session).expect("there");
        assert_eq!(table.checks[0].name, "above_ten");
        db.insert("t", &[Value::Int(11)], session).expect("inserted");
        db.insert("t", &[Value::Null], session).expect("unknown is no reason");
        let low = db.insert("t", &[Value::Int(10)], session);
        refused(low, RefusalKind::CheckViolation, "above_ten");
    });
}
