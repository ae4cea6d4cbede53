//! The dictionary as Oracle's views and those of `information_schema` show it.

use os::Session;
use value::Value;

use crate::common::{Db, Row, database};

/// The texts of these columns, row by row; `-` is NULL.
fn texts<const N: usize>(rows: &[Row], columns: [&str; N]) -> Vec<[String; N]> {
    let text = |row: &Row, column: &str| match row.get(column) {
        Value::Null => "-".to_owned(),
        Value::Text(text) => text.to_owned(),
        value => value.to_string(),
    };
    rows.iter().map(|row| columns.map(|column| text(row, column))).collect()
}

/// The same of the rows that are about this table.
fn of_table<const N: usize>(
    db: &Db,
    view: &str,
    table: &str,
    columns: [&str; N],
    session: &Session,
) -> Vec<[String; N]> {
    texts(&db.rows_with(view, "table_name", table, session), columns)
}

#[test]
fn tables_and_their_columns_are_shown() {
    database(|db, session| {
        let tables = texts(
            &db.rows("user_tables", session),
            ["table_name", "tablespace_name", "column_count", "index_count"],
        );
        assert_eq!(tables[0], ["customer", "system", "4", "3"]);
        assert_eq!((tables.len(), tables[1][0].as_str()), (2, "orders"));
        let columns = ["column_name", "data_type", "nullable", "column_id", "identity_column"];
        let shown = of_table(db, "user_tab_columns", "customer", columns, session);
        let expected = [
            ["id", "BIGINT", "N", "1", "YES"],
            ["name", "VARCHAR", "N", "2", "NO"],
            ["balance", "NUMBER", "Y", "3", "NO"],
            ["Big city", "TEXT", "Y", "4", "NO"],
        ];
        assert_eq!(shown, expected);
        let sizes = ["data_length", "data_precision", "data_scale", "char_length", "data_default"];
        let shown = of_table(db, "user_tab_columns", "customer", sizes, session);
        assert_eq!(shown[1], ["160", "-", "-", "40", "-"]);
        assert_eq!(shown[2][1..3], ["10", "2"]);
        assert_eq!(shown[3], ["-", "-", "-", "-", "-"]);
        let standard = ["column_name", "data_type", "is_nullable", "udt_name", "ordinal_position"];
        let shown = of_table(db, "information_schema.columns", "customer", standard, session);
        let expected = [
            ["id", "bigint", "NO", "int8", "1"],
            ["name", "character varying", "NO", "varchar", "2"],
            ["balance", "numeric", "YES", "numeric", "3"],
            ["Big city", "text", "YES", "text", "4"],
        ];
        assert_eq!(shown, expected);
    });
}

/// VW7: `dba_` and `all_` have the same rows, `user_` those that users have made, without the
/// columns that name owners.
#[test]
fn the_views_of_one_kind_agree() {
    database(|db, session| {
        let mut kinds = 0;
        for dba in views::all().filter(|view| view.name.starts_with("dba_")) {
            let kind = &dba.name["dba_".len()..];
            let (all, user) = (format!("all_{kind}"), format!("user_{kind}"));
            let Some(all) = views::view(&all) else { continue };
            let user = views::view(&user).expect("there are three");
            kinds += 1;
            let of = |name: &str| db.rows(name, session);
            let columns: Vec<&str> = user.columns.iter().map(|column| column.name).collect();
            let text = |row: &Row| -> String {
                columns.iter().map(|column| format!("{}|", row.get(column))).collect()
            };
            let texts = |rows: Vec<Row>| -> Vec<String> { rows.iter().map(text).collect() };
            let (everyones, dbas) = (texts(of(all.name)), texts(of(dba.name)));
            assert_eq!(everyones, dbas, "{kind}");
            let own = texts(of(user.name));
            assert!(own.iter().all(|row| dbas.contains(row)), "{kind}");
            let lacked = dba.columns.len() - user.columns.len();
            assert!(dba.columns[..lacked].iter().all(|column| column.name.ends_with("owner")));
        }
        assert_eq!(kinds, 11);
        let segments = db.rows("user_segments", session);
        assert!(segments.len() < db.rows("dba_segments", session).len(), "sys has some");
    });
}

#[test]
fn indexes_and_constraints_are_shown() {
    database(|db, session| {
        let columns = ["column_name", "column_position", "descend", "nulls"];
        let by_city = db.rows_with("user_ind_columns", "index_name", "by_city", session);
        let expected = [["Big city", "1", "DESC", "FIRST"], ["id", "2", "ASC", "LAST"]];
        assert_eq!(texts(&by_city, columns), expected);
        let unique = db.row("user_indexes", "index_name", "one_name", session);
        assert_eq!((unique.text("uniqueness"), unique.text("constraint_index")), ("UNIQUE", "YES"));

        let mut kinds: Vec<_> = db
            .rows("user_constraints", session)
            .iter()
            .map(|row| format!("{} {}", row.text("table_name"), row.text("constraint_type")))
            .collect();
        kinds.sort();
        let expected = ["customer C", "customer P", "customer U", "orders P", "orders R"];
        assert_eq!(kinds, expected);
        let check = db.row("user_constraints", "constraint_name", "not_negative", session);
        assert_eq!(check.text("search_condition"), "balance >= 0");
        let foreign = db.row("user_constraints", "constraint_name", "of_customer", session);
        assert_eq!(foreign.text("delete_rule"), "CASCADE");
        let referred = foreign.text("r_constraint_name");
        let referred = db.row("user_constraints", "constraint_name", referred, session);
        assert_eq!(
            (referred.text("constraint_type"), referred.text("table_name")),
            ("P", "customer")
        );
        let name = referred.text("constraint_name");
        let columns = db.rows_with("user_cons_columns", "constraint_name", name, session);
        assert_eq!(texts(&columns, ["column_name", "position"]), [["id", "1"]]);
    });
}

#[test]
fn constraints_are_shown_as_the_standard_says() {
    database(|db, session| {
        let of = |view: &str, name: &str| db.row(view, "constraint_name", name, session);
        let rule = of("information_schema.referential_constraints", "of_customer");
        assert_eq!((rule.text("update_rule"), rule.text("delete_rule")), ("NO ACTION", "CASCADE"));
        let clause = of("information_schema.check_constraints", "not_negative");
        assert_eq!(clause.text("check_clause"), "balance >= 0");
        let usage = "information_schema.key_column_usage";
        let columns = ["column_name", "ordinal_position", "position_in_unique_constraint"];
        let mut orders = of_table(db, usage, "orders", columns, session);
        orders.sort();
        let expected = [["customer", "1", "1"], ["id", "1", "-"], ["line", "2", "-"]];
        assert_eq!(orders, expected);
        let foreign = of("information_schema.constraint_column_usage", "of_customer");
        assert_eq!((foreign.text("table_name"), foreign.text("column_name")), ("customer", "id"));
        let kinds = of("information_schema.table_constraints", "one_name");
        assert_eq!(kinds.text("constraint_type"), "UNIQUE");
        let schemata = db.rows("information_schema.schemata", session);
        let mut names = texts(&schemata, ["schema_name"]);
        names.sort();
        assert_eq!(names, [["information_schema"], ["pg_catalog"], ["public"]]);
    });
}

/// Sizes are those of the segments, and a segment's is that of its extents.
#[test]
fn segments_are_as_large_as_their_extents() {
    database(|db, session| {
        let size = || {
            let of = |view| db.rows_with(view, "segment_name", "customer", session);
            let [segment] = &of("user_segments")[..] else { panic!("one segment") };
            let extents = of("user_extents");
            let sum = |column: &str| extents.iter().map(|row| row.int(column)).sum::<i64>();
            assert_eq!(segment.int("extents"), extents.len() as i64);
            assert_eq!(
                (segment.int("blocks"), segment.int("bytes")),
                (sum("blocks"), sum("bytes"))
            );
            assert_eq!(segment.int("bytes"), segment.int("blocks") * 2048);
            assert!(segment.int("used_blocks") <= segment.int("blocks"));
            assert_eq!(
                (segment.text("segment_type"), segment.text("tablespace_name")),
                ("TABLE", "system")
            );
            segment.int("blocks")
        };
        let before = size();
        let long = "x".repeat(200);
        for id in 100..260 {
            let name = format!("name {id}");
            let row = [
                Value::Int(id),
                Value::Text(&name),
                Value::Null,
                Value::Int(0),
                Value::Text(&long),
            ];
            db.insert("customer", &row, session).expect("inserted");
        }
        assert!(size() > before);
    });
}

/// A sequence is shown with its next value; those of identity columns are sequences as well.
#[test]
fn sequences_are_shown_with_their_next_values() {
    database(|db, session| {
        let next =
            || db.row("user_sequences", "sequence_name", "tickets", session).int("last_number");
        assert_eq!(next(), 1);
        let sequence = db.catalog.sequence("tickets", session).expect("there");
        db.catalog.next_value(&sequence, session).expect("a value");
        assert_eq!(next(), 2);
        let standard = db.rows("information_schema.sequences", session);
        assert_eq!(standard.len(), db.rows("user_sequences", session).len());
        assert!(standard.len() > 1, "the identity column has one");
        let kinds = texts(&db.rows("user_objects", session), ["object_type"]);
        let count = |kind: &str| kinds.iter().filter(|[one]| one == kind).count();
        let counts = ["TABLE", "INDEX", "SEQUENCE", "VIEW"].map(count);
        assert_eq!(counts, [2, db.rows("user_indexes", session).len(), standard.len(), 0]);
    });
}
