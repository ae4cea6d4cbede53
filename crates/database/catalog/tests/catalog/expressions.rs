//! DEFAULTs and CHECKs that are expressions: kept as texts, evaluated by whoever knows them.

use catalog::{Alteration, Catalog, CatalogConfig, ColumnSpec, ConstraintSpec, Rule, TableSpec};
use ids::FileNo;
use instance::Instance;
use os::{FilesystemIo, Session};
use relation::{Default, RowChange, Selection};
use sim::fs::FileSystem;
use sort::SortConfig;
use stop::{RefusalKind, Stop};
use value::{OwnedValue, RowView, Type, Value};

use crate::common::{
    Db, WAIT, column, customer, database, directory, fill, machine, parameters, refused, run, with,
};

fn alter(db: &Db, table: &str, what: Alteration, session: &Session) -> Result<(), Stop> {
    db.catalog.alter_table(table, &what, WAIT, session)
}

fn below(text: &str, columns: &[&str]) -> Alteration {
    let columns = columns.iter().map(ToString::to_string).collect();
    let rule = Rule::CheckExpression { text: text.into(), columns };
    Alteration::AddConstraint(ConstraintSpec { name: None, rule })
}

/// A table `priced (id, price)` whose price is an expression by default.
fn priced() -> TableSpec {
    TableSpec::new("priced")
        .column(ColumnSpec::new("id", Type::BigInt).not_null())
        .column(
            ColumnSpec::new("price", Type::Integer)
                .default_expression("2 * 21", Value::Int(42).to_owned()),
        )
        .primary_key(["id"])
        .check_expression("price < 100", ["price"])
}

#[test]
fn a_default_that_is_an_expression_is_kept_and_evaluated_by_the_caller() {
    let disk = database(|db, session| {
        db.catalog.create_table(&priced(), WAIT, session).expect("created");
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..3, session);
        let rank = ColumnSpec::new("rank", Type::Integer)
            .not_null()
            .default_expression("1 + 4", Value::Int(5).to_owned());
        alter(db, "customer", Alteration::AddColumn(rank), session).expect("added");
        let set = Alteration::SetDefaultExpression { column: "city".into(), text: "here()".into() };
        alter(db, "customer", set, session).expect("set");
        let bad = ColumnSpec::new("bad", Type::Integer);
        let bad = bad.default_expression("", OwnedValue::NULL);
        let empty = alter(db, "customer", Alteration::AddColumn(bad), session);
        refused(empty, RefusalKind::Invalid, "is empty");
    });
    let disk = with(disk, |db, session| {
        let table = db.catalog.table("priced", session).expect("there");
        assert!(matches!(&table.columns[1].default, Default::Expression(text) if text == "2 * 21"));
        let given = [(0, Value::Int(1))];
        let alone = db.catalog.fill_row(&table, &given, session);
        refused(alone, RefusalKind::Invalid, "which only SQL evaluates");
        let mut asked = Vec::new();
        let mut evaluate = |place: usize, text: &str| {
            asked.push((place, text.to_string()));
            Ok::<_, Stop>(Value::Int(42))
        };
        let row = db.catalog.fill_row_with(&table, &given, &mut evaluate, session);
        let row = row.expect("filled");
        assert_eq!(row.values, [Value::Int(1), Value::Int(42)]);
        db.insert("priced", &row.values, session).expect("inserted");
        assert_eq!(asked, [(1, "2 * 21".to_string())], "once, for the column without a value");
        let both = [(0, Value::Int(2)), (1, Value::Int(7))];
        let row = db.catalog.fill_row(&table, &both, session).expect("nothing to evaluate");
        db.insert("priced", &row.values, session).expect("inserted");
        // Rows that were there have the value that the expression had then.
        let rows = db.rows("customer", session);
        assert!(rows.contains("2, 'name 2', 'city 2', 5"), "{rows:?}");
        let customer = db.catalog.table("customer", session).expect("there");
        assert!(
            matches!(&customer.columns[2].default, Default::Expression(text) if text == "here()")
        );
        // Who knows only the columns of before doesn't get it.
        let relation = db.relation("customer", session);
        let values = [Value::Int(9), Value::Null, Value::Null];
        let late = db.transact(session, |work| relation.insert_known(work, 3, &values));
        refused(late, RefusalKind::Invalid, "column rank");
        let value = Value::Text("Bern").to_owned();
        let constant = Alteration::SetDefault { column: "city".into(), value };
        alter(db, "customer", constant, session).expect("a constant again");
    });
    with(disk, |db, session| {
        let customer = db.catalog.table("customer", session).expect("there");
        let Default::Constant(value) = &customer.columns[2].default else { panic!("{customer:?}") };
        assert_eq!(value.get(), Value::Text("Bern"));
        alter(db, "customer", Alteration::DropColumn("rank".into()), session).expect("dropped");
        db.catalog.drop_table("priced", false, WAIT, session).expect("dropped");
    });
}

#[test]
fn a_check_that_is_an_expression_holds_for_rows_that_are_there_and_that_come() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..12, session);
        let broken = alter(db, "customer", below("id < 11", &["id"]), session);
        refused(broken, RefusalKind::CheckViolation, "id = 11");
        let nonsense = alter(db, "customer", below("whatever", &["id"]), session);
        refused(nonsense, RefusalKind::Invalid, "no expression: whatever");
        let missing = alter(db, "customer", below("id < 5", &["ID"]), session);
        refused(missing, RefusalKind::NotFound, "did you mean id?");
        alter(db, "customer", below("id < 12", &["id"]), session).expect("added");
        let row = [Value::Int(12), Value::Null, Value::Null];
        refused(
            db.insert("customer", &row, session),
            RefusalKind::CheckViolation,
            "customer_id_check",
        );
    });
    let disk = with(disk, |db, session| {
        let customer = db.relation("customer", session);
        let check = &customer.definition().expressions[0];
        assert_eq!((&check.name[..], &check.text[..]), ("customer_id_check", "id < 12"));
        let key = [Value::Int(3)];
        let mut change = |_: &RowView<'_>, row: &mut RowChange<'_>| row.set(0, Value::Int(30));
        let changed = db.transact(session, |work| {
            customer.update_where(work, Selection::Key(0, &key), None, &mut change)
        });
        refused(changed, RefusalKind::CheckViolation, "id = 30");
        assert!(db.rows("customer", session).contains("3, 'name 3', 'city 3'"));
        let (from, to) = ("id".into(), "number".into());
        let rename = Alteration::RenameColumn { from, to };
        let used = RefusalKind::WrongState;
        refused(alter(db, "customer", rename, session), used, "may say");
        let (from, to) = ("customer_id_check".into(), "low".into());
        alter(db, "customer", Alteration::RenameConstraint { from, to }, session).expect("renamed");
        let again = alter(db, "customer", below("id < 90", &["id"]), session);
        again.expect("the name is free");
    });
    with(disk, |db, session| {
        let customer = db.catalog.table("customer", session).expect("there");
        let names: Vec<_> = customer.expressions.iter().map(|check| check.name.as_str()).collect();
        assert_eq!(names, ["low", "customer_id_check"]);
        let (name, cascade) = ("low".into(), false);
        alter(db, "customer", Alteration::DropConstraint { name, cascade }, session).expect("gone");
        let row = [Value::Int(50), Value::Null, Value::Null];
        db.insert("customer", &row, session).expect("below 90");
        let drop = Alteration::DropConstraint { name: "customer_pkey".into(), cascade: false };
        alter(db, "customer", drop, session).expect("dropped");
        let drop = alter(db, "customer", Alteration::DropColumn("id".into()), session);
        refused(drop, RefusalKind::WrongState, "its check customer_id_check has column id");
    });
}

/// A program without SQL opens the database, reads the table, and can't change it.
#[test]
fn without_what_evaluates_a_check_its_table_is_read_and_not_changed() {
    let disk: FileSystem = database(|db, session| {
        db.catalog.create_table(&priced(), WAIT, session).expect("created");
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.insert("priced", &[Value::Int(1), Value::Int(7)], session).expect("inserted");
    });
    run(machine(2, disk), |world, session| {
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        let instance = std::sync::Arc::new(opened.expect("opened"));
        let sort = SortConfig {
            directory: directory().into(),
            area_bytes: sort::SORT_AREA_BYTES_MIN,
            filesystem_io: FilesystemIo::SetAll,
            file: FileNo::new(999),
            budget: None,
        };
        let config = CatalogConfig { tablespace: "system".into(), disk: world.disk(), sort };
        let (space, transactions) = (instance.space(), instance.transactions());
        let catalog = Catalog::open(space, transactions, config, session).expect("opened");
        let db = Db { instance, catalog: std::sync::Arc::new(catalog) };
        assert_eq!(db.rows("priced", session).len(), 1);
        let late = db.insert("priced", &[Value::Int(2), Value::Int(7)], session);
        refused(late, RefusalKind::WrongState, "its check priced_price_check is an expression");
        let row = [Value::Int(2), Value::Null, Value::Null];
        db.insert("customer", &row, session).expect("it has no such check");
        let more = TableSpec { name: "more".into(), ..priced() };
        let made = db.catalog.create_table(&more, WAIT, session);
        refused(made, RefusalKind::WrongState, "is an expression");
        let (name, cascade) = ("priced_price_check".into(), false);
        let drop = Alteration::DropConstraint { name, cascade };
        alter(&db, "priced", drop, session).expect("dropped");
        db.insert("priced", &[Value::Int(2), Value::Int(700)], session).expect("inserted");
        alter(&db, "priced", Alteration::AddColumn(column("n", Type::BigInt)), session)
            .expect("added");
        db.check(session);
        db.shut(session);
    });
}
