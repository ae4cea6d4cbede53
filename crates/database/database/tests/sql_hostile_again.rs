//! What a hostile reader of changes to SQL found: each of these was wrong for a while.
#![forbid(unsafe_code)]

mod sql_common;

use database::SqlState;
use sql_common::{Small, refused, rows, run, value};

/// Seconds keep their fraction where they are the last field.
#[test]
fn a_span_of_seconds_keeps_its_fraction() {
    let small = Small::new("hostile-again-spans");
    let mut connection = small.connect("app");
    for (span, expected) in [
        ("interval '1.5' second", "00:00:01.5"),
        ("interval '3 04:05:06.5' day to second", "3 days 04:05:06.5"),
        ("interval '10:30.25' minute to second", "00:10:30.25"),
        ("interval '1.2345' second(2)", "00:00:01.23"),
        ("interval '1:02:03.5' hour to minute", "01:02:00"),
    ] {
        assert_eq!(value(&mut connection, &format!("select ({span})::text")), expected, "{span}");
    }
}

/// SUBSTR has no patterns, and bytes match none: a literal in quotes is a place there.
#[test]
fn a_place_in_quotes_is_a_place_where_nothing_else_is_meant() {
    let small = Small::new("hostile-again-substr");
    let mut connection = small.connect("app");
    assert_eq!(value(&mut connection, "select substr('foobar', '4')"), "bar");
    assert_eq!(value(&mut connection, "select substr('foobar', '4', '2')"), "ba");
    let bytes = "select substring(X'616263' from '2') = X'6263'";
    assert_eq!(value(&mut connection, bytes), "TRUE");
    let undefined = SqlState::UNDEFINED_FUNCTION;
    assert_eq!(refused(&mut connection, "select substr('foobar', 'o' || 'b')"), undefined);
    assert_eq!(value(&mut connection, "select substring('foobar', 'o.b')"), "oob");
}

/// SQ66: what a view reads of another one is known also where its kind is no column's.
#[test]
fn a_view_that_reads_a_span_of_another_view_keeps_it() {
    let small = Small::new("hostile-again-views");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (id bigint)");
    run(&mut connection, "insert into t values (1)");
    run(&mut connection, "create view v as select id, interval '1 day' * id as span from t");
    run(&mut connection, "create view above as select span * 2 as twice from v");
    let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
    for text in [
        "create or replace view v as select id, id as span from t",
        "create or replace view v as select id, interval '1 day' * id as other from t",
    ] {
        assert_eq!(refused(&mut connection, text), state, "{text}");
    }
    // What nobody reads may be another thing, and more may come.
    let text =
        "create or replace view v as select 'x' as id, interval '1 hour' * id as span, 5 as n
                from t";
    run(&mut connection, text);
    assert_eq!(rows(&mut connection, "select twice::text from above"), ["02:00:00"]);
}

/// The text of a view, or of a named statement, may end with the bracket behind ONLY.
#[test]
fn what_ends_with_only_and_a_table_in_brackets_is_kept_whole() {
    let small = Small::new("hostile-again-only");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (id bigint)");
    run(&mut connection, "insert into t values (1), (2)");
    run(&mut connection, "create view v as select id from only (t)");
    run(&mut connection, "create view w as select id from only (public.t) where id > 1");
    assert_eq!(value(&mut connection, "select count(*) from v"), "2");
    assert_eq!(value(&mut connection, "select count(*) from only (w)"), "1");
    run(&mut connection, "prepare p as select count(*) from only (t)");
    assert_eq!(rows(&mut connection, "execute p"), ["2"]);
}

/// A column that is added as the primary key isn't NULL, as in CREATE TABLE.
#[test]
fn a_primary_key_is_added_with_its_column() {
    let small = Small::new("hostile-again-key");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (a integer)");
    run(&mut connection, "alter table t add column id bigint primary key");
    run(&mut connection, "insert into t values (1, 7)");
    let not_null = SqlState::NOT_NULL_VIOLATION;
    assert_eq!(refused(&mut connection, "insert into t values (2, null)"), not_null);
    assert_eq!(refused(&mut connection, "insert into t values (2, 7)"), SqlState::UNIQUE_VIOLATION);
    run(&mut connection, "create table u (a integer)");
    run(&mut connection, "insert into u values (1)");
    let text = "alter table u add column id bigint primary key";
    assert!(connection.execute(text, &[]).is_err(), "its row has no value for it");
    assert_eq!(rows(&mut connection, "select * from u"), ["1"]);
    run(&mut connection, "alter table u add column id bigint default 5 primary key");
    assert_eq!(rows(&mut connection, "select * from u"), ["1|5"]);
}
