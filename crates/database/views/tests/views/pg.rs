//! PostgreSQL's catalogue: what its clients join.

use std::collections::BTreeSet;

use catalog::Alteration;
use os::Session;
use testbed::bed;
use value::Value;
use views::lookup;

use crate::common::{Db, Row, WAIT, database};

fn class(db: &Db, name: &str, session: &Session) -> Row {
    db.row("pg_class", "relname", name, session)
}

/// The rows of which a column has this number.
fn with(db: &Db, view: &str, column: &str, number: i64, session: &Session) -> Vec<Row> {
    let mut rows = db.rows(view, session);
    rows.retain(|row| row.int(column) == number);
    rows
}

/// What `\d customer` of PostgreSQL's shell asks: columns with their types, indexes and constraints
/// with their definitions.
#[test]
fn a_table_is_described_as_the_shell_asks() {
    database(|db, session| {
        let engine = db.engine(session);
        let table = class(db, "customer", session);
        assert_eq!(
            (table.text("relkind"), table.int("relnatts"), table.int("relchecks")),
            ("r", 5, 1)
        );
        let oid = table.int("oid");
        let columns = with(db, "pg_attribute", "attrelid", oid, session);
        let described: Vec<String> = columns
            .iter()
            .filter(|row| row.get("attisdropped") == Value::Boolean(false))
            .map(|row| {
                let kind = lookup::type_definition(row.int("atttypid"), row.int("atttypmod"));
                let not_null = row.get("attnotnull");
                let kind = kind.expect("a type");
                format!("{} {} {kind} {not_null}", row.int("attnum"), row.text("attname"))
            })
            .collect();
        let expected = [
            "1 id bigint TRUE",
            "2 name character varying(40) TRUE",
            "4 balance numeric(10,2) FALSE",
            "5 Big city text FALSE",
        ];
        assert_eq!(described.len(), expected.len());
        for (described, expected) in described.iter().zip(expected) {
            assert_eq!(described.to_uppercase(), expected.to_uppercase());
        }
        assert_eq!(columns[0].text("attidentity"), "d");
        let default = with(db, "pg_attrdef", "adrelid", oid, session);
        assert_eq!(
            (default[0].int("adnum"), columns[3].get("atthasdef")),
            (4, Value::Boolean(true))
        );

        let by_city = class(db, "by_city", session).int("oid");
        let index = with(db, "pg_index", "indexrelid", by_city, session);
        assert_eq!((index[0].int("indrelid"), index[0].text("indkey")), (oid, "5 1"));
        let definition = lookup::index_definition(by_city, &engine);
        let expected =
            "CREATE INDEX by_city ON public.customer USING btree (\"Big city\" DESC, id)";
        assert_eq!(definition.as_deref(), Some(expected));
        assert_eq!(lookup::index_definition(oid, &engine), None);

        let mut constraints: Vec<String> = with(db, "pg_constraint", "conrelid", oid, session)
            .iter()
            .map(|row| lookup::constraint_definition(row.int("oid"), &engine).expect("one"))
            .collect();
        constraints.sort();
        let expected = ["CHECK (balance >= 0)", "PRIMARY KEY (id)", "UNIQUE (name)"];
        assert_eq!(constraints, expected);
    });
}

/// A foreign key is found from both of its tables.
#[test]
fn a_foreign_key_names_both_tables() {
    database(|db, session| {
        let [customer, orders] =
            ["customer", "orders"].map(|name| class(db, name, session).int("oid"));
        let key = db.row("pg_constraint", "conname", "of_customer", session);
        assert_eq!((key.int("conrelid"), key.int("confrelid")), (orders, customer));
        assert_eq!((key.text("conkey"), key.text("confkey")), ("{3}", "{1}"));
        assert_eq!((key.text("contype"), key.text("confdeltype")), ("f", "c"));
        let definition = lookup::constraint_definition(key.int("oid"), &db.engine(session));
        let expected = "FOREIGN KEY (customer) REFERENCES customer(id) ON DELETE CASCADE";
        assert_eq!(definition.as_deref(), Some(expected));
    });
}

/// Every oid that a row names is one of a row, and no two rows of a view have one.
#[test]
fn oids_lead_to_rows() {
    database(|db, session| {
        let oids = |view: &str| -> BTreeSet<i64> {
            let rows = db.rows(view, session);
            let oids: BTreeSet<i64> = rows.iter().map(|row| row.int("oid")).collect();
            assert_eq!(oids.len(), rows.len(), "oids of {view} are different");
            oids
        };
        let references = [
            ("pg_class", "relnamespace", "pg_namespace"),
            ("pg_class", "relam", "pg_am"),
            ("pg_class", "reltablespace", "pg_tablespace"),
            ("pg_class", "relowner", "pg_roles"),
            ("pg_attribute", "attrelid", "pg_class"),
            ("pg_attribute", "atttypid", "pg_type"),
            ("pg_attribute", "attcollation", "pg_collation"),
            ("pg_attrdef", "adrelid", "pg_class"),
            ("pg_index", "indexrelid", "pg_class"),
            ("pg_index", "indrelid", "pg_class"),
            ("pg_constraint", "conrelid", "pg_class"),
            ("pg_constraint", "conindid", "pg_class"),
            ("pg_constraint", "confrelid", "pg_class"),
            ("pg_description", "objoid", "pg_class"),
            ("pg_description", "classoid", "pg_class"),
            ("pg_type", "typnamespace", "pg_namespace"),
            ("pg_database", "dattablespace", "pg_tablespace"),
            ("pg_database", "datdba", "pg_roles"),
        ];
        for (from, column, to) in references {
            let there = oids(to);
            for row in db.rows(from, session) {
                let oid = row.int(column);
                assert!(oid == 0 || there.contains(&oid), "{from}.{column} {oid} isn't in {to}");
            }
        }
        oids("pg_constraint");
        oids("pg_attrdef");
    });
}

/// A name leads to its oid and back.
#[test]
fn names_lead_to_oids() {
    database(|db, session| {
        let engine = db.engine(session);
        for row in db.rows("pg_class", session) {
            let (oid, name) = (row.int("oid"), row.text("relname"));
            let schema = with(db, "pg_namespace", "oid", row.int("relnamespace"), session);
            let schema = schema[0].text("nspname");
            assert_eq!(lookup::relation_oid(Some(schema), name, &engine), Some(oid), "{name}");
            assert_eq!(lookup::relation_name(oid, &engine).as_deref(), Some(name));
        }
        let of_user = lookup::relation_oid(None, "customer", &engine);
        assert_eq!(of_user, Some(class(db, "customer", session).int("oid")));
        assert!(lookup::relation_oid(None, "pg_class", &engine).is_some_and(|oid| oid == 1259));
        assert_eq!(lookup::relation_oid(None, "tables", &engine), None);
        assert_eq!(lookup::relation_oid(Some("public"), "pg_class", &engine), None);
    });
}

/// VW8: an oid stays while its object is renamed, emptied, and others are made and dropped.
#[test]
fn an_oid_stays_with_its_object() {
    database(|db, session| {
        let oids = |table: &str| {
            let row = class(db, table, session);
            let key = db.row("pg_constraint", "conname", "one_name", session).int("oid");
            let by_city = class(db, "by_city", session).int("oid");
            ([row.int("oid"), key, by_city], row.int("relfilenode"))
        };
        let (before, segment) = oids("customer");
        let drop = |name| db.catalog.drop_table(name, true, WAIT, session).expect("dropped");
        drop("orders");
        let to = Alteration::RenameTable("a_client".into());
        db.catalog.alter_table("customer", &to, WAIT, session).expect("renamed");
        db.catalog.truncate_table("a_client", WAIT, session).expect("truncated");
        let other =
            catalog::TableSpec::new("b").column(catalog::ColumnSpec::new("a", value::Type::Text));
        db.catalog.create_table(&other, WAIT, session).expect("created");
        let (after, emptied) = oids("a_client");
        assert_eq!(after, before);
        assert_ne!(emptied, segment, "a truncate gives it another segment");
        bed::check(&db.instance, session);
    });
}
