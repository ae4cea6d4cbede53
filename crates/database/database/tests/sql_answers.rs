//! Answers of queries as PostgreSQL gives them: conditions in the order in which they stand, rows
//! that are compared with those of subqueries, groups and first rows by what isn't selected.
#![forbid(unsafe_code)]

mod sql_common;

use database::{Connection, SqlState};
use sql_common::{Small, refused, rows, run, value};

/// A table `d` of `a`: 1 to 4, and `b`: 10, 20, 0 and NULL.
fn four(small: &Small) -> Connection<'static> {
    let mut connection = small.connect("app");
    run(&mut connection, "create table d (a integer primary key, b integer)");
    run(&mut connection, "insert into d values (1, 10), (2, 20), (3, 0), (4, null)");
    connection
}

/// A condition within a subquery or a join keeps rows out for which one above it can't be computed.
#[test]
fn what_stands_below_is_tested_first() {
    let small = Small::new("answers-guards");
    let mut connection = four(&small);
    for (text, expected) in [
        ("select a from (select a + 0 as a, b from d where b <> 0) s where 100 / b > 5", ["1"]),
        ("select x.a from d x join d y on x.b <> 0 and x.a = y.a where 10 / x.b = 1", ["1"]),
        (
            "select x.a from d x join lateral (select x.b as v) l on l.v <> 0 where 10 / l.v = 1",
            ["1"],
        ),
        (
            "select a from d where a in (select 20 / c from \
             (select b as c from d where b <> 0) s where 20 / c > 1)",
            ["2"],
        ),
    ] {
        assert_eq!(rows(&mut connection, text), expected, "{text}");
    }
    run(&mut connection, "create view w as select b + 0 as b, a from d where b <> 0");
    assert_eq!(rows(&mut connection, "select a from w where 100 / b > 5"), ["1"]);
    let above = "select a from (select a + 0 as a, b from d where 100 / b > 5) s where b <> 0";
    assert_eq!(refused(&mut connection, above), SqlState::DIVISION_BY_ZERO);
}

/// A subquery that a row is compared with gives one row: none is NULLs, and two are refused.
#[test]
fn a_row_is_compared_with_the_one_row_of_a_subquery() {
    let small = Small::new("answers-rows");
    let mut connection = four(&small);
    for (condition, expected) in [
        ("(a, b) = (select 1, 10)", &["1"][..]),
        ("not ((a, b) = (select 1, 2 where false))", &[]),
        ("((a, b) = (select 1, 2 where false)) is null", &["1", "2", "3", "4"]),
        ("(a, b) <> (select 2, 20)", &["1", "3", "4"]),
        ("(a, b) >= (select 2, 20)", &["2", "3", "4"]),
        ("(select 2, 20) < (a, b)", &["3", "4"]),
        ("(a, b) = (select max(e.a), max(e.b) from d e where e.a <= d.a)", &["1", "2"]),
    ] {
        let text = format!("select a from d where {condition} order by a");
        assert_eq!(rows(&mut connection, &text), expected, "{text}");
    }
    let unknown = "select (1, 2) = (select 1, null), (1, 2) = (select 3, null)";
    assert_eq!(value(&mut connection, unknown), "NULL|FALSE");
    let several = "select a from d where (a, b) = (select a, b from d)";
    assert_eq!(refused(&mut connection, several), SqlState::CARDINALITY_VIOLATION);
    let narrow = "select a from d where (a, b) = (select 1)";
    assert_eq!(refused(&mut connection, narrow), SqlState::SYNTAX_ERROR);
}

/// IN looks for a CHAR among texts as `=` does, and the other way round.
#[test]
fn a_char_is_looked_for_among_texts() {
    let small = Small::new("answers-chars");
    let mut connection = small.connect("app");
    run(&mut connection, "create table c (k char(4) primary key)");
    run(&mut connection, "insert into c values ('ab'), ('abc')");
    run(&mut connection, "create table w (w varchar(6))");
    run(&mut connection, "insert into w values ('ab'), ('ab  '), ('abc ')");
    for (text, expected) in [
        ("select k from c where k in (select w from w)", "ab"),
        ("select k from c where k not in (select w from w)", "abc"),
        ("select w from w where w in (select k from c)", "ab"),
        ("select count(*) from c where (k in (select w from w)) is not null", "2"),
        ("select count(*) from c where (k = any (select w from w)) or k < all (select 'abd')", "2"),
    ] {
        assert_eq!(value(&mut connection, text), expected, "{text}");
    }
}

/// A part of GROUP BY in brackets names several columns, or none: then all rows are one group.
#[test]
fn groups_by_columns_in_brackets() {
    let small = Small::new("answers-groups");
    let mut connection = four(&small);
    let both = "select b, a, count(*) from d group by (b, a) having a < 3 order by a";
    assert_eq!(rows(&mut connection, both), ["10|1|1", "20|2|1"]);
    let by_number = "select b is null, count(*) from d group by (1), () order by 1";
    assert_eq!(rows(&mut connection, by_number), ["FALSE|3", "TRUE|1"]);
    assert_eq!(value(&mut connection, "select count(*) from d where false group by ()"), "0");
    let loose = "select a from d group by ()";
    assert_eq!(refused(&mut connection, loose), SqlState::GROUPING_ERROR);
}

/// DISTINCT ON may name what isn't selected, as ORDER BY may.
#[test]
fn the_first_row_of_each_value_that_is_not_selected() {
    let small = Small::new("answers-first");
    let mut connection = four(&small);
    let text = "select distinct on (b % 20) a from d where b is not null order by b % 20, a desc";
    assert_eq!(rows(&mut connection, text), ["3", "1"]);
    let text = "select count(*) from (select distinct on (b % 20) a from d) s";
    assert_eq!(value(&mut connection, text), "3");
    let text = "select distinct on (count(*)) sum(a) from d group by b % 20 order by count(*)";
    assert_eq!(rows(&mut connection, text).len(), 2);
    let text = "select distinct on (b) a from d order by a";
    assert_eq!(refused(&mut connection, text), SqlState::INVALID_COLUMN_REFERENCE);
}

/// More names than there are columns are refused with the number of columns.
#[test]
fn names_beyond_the_columns_are_counted() {
    let small = Small::new("answers-names");
    let mut connection = four(&small);
    let found = connection.query("select * from d as q (x, y, z)", &[]).err();
    let said = found.expect("there are two columns").to_string();
    assert!(said.contains("q has 2 columns, and 3 names"), "{said}");
}

/// Aggregates of one query take the rows of a group each in its own order.
#[test]
fn each_aggregate_takes_the_rows_of_a_group_in_its_own_order() {
    let small = Small::new("answers-orders");
    let mut connection = small.connect("app");
    let text = "select b, string_agg(a::text, ',' order by a), \
                string_agg(a::text, ',' order by a % 3, a desc), \
                string_agg(distinct (a % 3)::text, '' order by (a % 3)::text desc), \
                string_agg(a::text, ',' order by nullif(a, 4) desc nulls last) \
                filter (where a > 3), count(*) \
                from (select g as a, g % 2 as b from generate_series(1, 7) g) s \
                group by b order by b";
    let expected = ["0|2,4,6|6,4,2|210|6,4|3", "1|1,3,5,7|3,7,1,5|210|7,5|4"];
    for is_on in ["on", "off"] {
        run(&mut connection, &format!("set enable_hashagg = {is_on}"));
        assert_eq!(rows(&mut connection, text), expected);
    }
    let none = "select string_agg(a::text, ',' order by a), \
                string_agg(a::text, ',' order by a desc) from (select 1 as a) s where a > 1";
    assert_eq!(value(&mut connection, none), "NULL|NULL");
    run(&mut connection, "alter system set pga_aggregate_target = 1048576");
    let text = "create table v as select g, (g * 7919 % 5000)::text || repeat('x', 40) as v \
                from generate_series(1, 20000) g";
    run(&mut connection, text);
    let many = "select md5(string_agg(v, ',' order by g)) = \
                (select md5(string_agg(v, ',' order by g)) from v), \
                md5(string_agg(distinct v, ',' order by v)) = \
                (select md5(string_agg(v, ',' order by v)) from (select distinct v from v) d), \
                md5(string_agg(v, ',' order by v desc, g)) = \
                (select md5(string_agg(v, ',' order by v desc, g)) from v) from v";
    assert_eq!(value(&mut connection, many), "TRUE|TRUE|TRUE");
}
