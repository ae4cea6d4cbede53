//! What a hostile reader of expressions, types and literals tried: values that were wrong once.
#![forbid(unsafe_code)]

mod sql_common;

use database::{Connection, SqlState, Value};
use sql_common::{Small, refused, rows, rows_with, run, value};

/// An expression has this text as its value.
fn is(connection: &mut Connection<'_>, expression: &str, expected: &str) {
    let text = format!("select ({expression})::text");
    assert_eq!(value(connection, &text), expected, "{expression}");
}

/// A literal is a NUMBER first, and these have no place in one: 1e-300 was stored as 0.
#[test]
fn a_double_has_the_value_that_was_written() {
    let small = Small::new("hostile-doubles");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (a integer primary key, d double precision)");
    run(&mut connection, "create index t_d on t (d)");
    let text = "insert into t values (1, 1e-300), (2, -1.5e300), (3, 1.23456789e-125), (4, 0)";
    assert_eq!(run(&mut connection, text), 4);
    let written = ["1e-300", "-1.5e+300", "1.23456789e-125", "0"];
    assert_eq!(rows(&mut connection, "select d::text from t order by a"), written);
    for (condition, found) in [
        ("d = 1e-300", &["1"][..]),
        ("d < 1e-299 and d > 0", &["1"]),
        ("d < -1e300", &["2"]),
        ("d between 1e-130 and 1e200", &["3"]),
        ("d in (1e-301, 1.23456789e-125)", &["3"]),
    ] {
        let text = format!("select a from t where {condition} order by a");
        assert_eq!(rows(&mut connection, &text), found, "{condition}");
    }
    is(&mut connection, "1e121 * 9", &format!("9{}", "0".repeat(121)));
    run(&mut connection, "create table n (n number)");
    let range = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
    assert_eq!(refused(&mut connection, "insert into n values (1e300)"), range);
    assert_eq!(refused(&mut connection, "select 1e400"), range);
}

/// `a IS DISTINCT FROM b AND c` was `a IS DISTINCT FROM (b AND c)`; the signs are PostgreSQL's.
#[test]
fn operators_take_the_operands_that_are_theirs() {
    let small = Small::new("hostile-operands");
    let mut connection = small.connect("app");
    for (expression, expected) in [
        ("true is distinct from true and false", "false"),
        ("1 is not distinct from 1 and false", "false"),
        ("1 is distinct from 1 or true", "true"),
        ("1 is distinct from 1 + 1", "true"),
        ("true is distinct from 1 = 1", "false"),
        ("case when true is distinct from true or true then 1 else 2 end", "1"),
        ("-2 ^ 2", "4"),
        ("2 ^ -2", "0.25"),
        ("- 2 * 3", "-6"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("~5 + 3", "-9"),
        ("~5 & 3", "2"),
    ] {
        is(&mut connection, expression, expected);
    }
    let chain = "select 1 is distinct from 2 is distinct from 3";
    assert_eq!(refused(&mut connection, chain), SqlState::SYNTAX_ERROR);
}

/// The elements of an array are values of the kind of what they are compared with.
#[test]
fn elements_of_an_array_are_compared_as_values() {
    let small = Small::new("hostile-arrays");
    let mut connection = small.connect("app");
    for (expression, expected) in [
        ("2.0 = any ('{2}')", "true"),
        ("2 = any ('{1,2}')", "true"),
        ("true = any ('{t,f}')", "true"),
        ("date '2026-01-31' = any ('{20260131}')", "true"),
        ("3 = any ('{1,NULL}')", "NULL"),
        ("null::integer = any ('{1}')", "NULL"),
        ("null::integer = any ('{}')", "false"),
        ("1 = any (null)", "NULL"),
        ("'a' = any ('{b,\"a\"}')", "true"),
        ("3 <> all ('{1,2}')", "true"),
        ("1 <> all ('{1,NULL}')", "false"),
        ("3 <> all ('{1,NULL}')", "NULL"),
        ("3 <> all ('{}')", "true"),
    ] {
        is(&mut connection, expression, expected);
    }
    let state = SqlState::INVALID_TEXT_REPRESENTATION;
    assert_eq!(refused(&mut connection, "select 2 = any ('{2.0}')"), state);
}

/// Escapes of an E literal are bytes, and halves of UTF-16 are a character.
#[test]
fn texts_are_what_their_literals_say() {
    let small = Small::new("hostile-texts");
    let mut connection = small.connect("app");
    for (expression, expected) in [
        (r"E'\xc3\xa9' = 'é'", "true"),
        (r"length(E'\ud83d\ude00')", "1"),
        ("'|' || trim(trailing from ' a ') || trim(from ' b ') || '|'", "| ab|"),
        ("overlay('abcdef' placing 'X' from 3 for -1)", "abXbcdef"),
        (r#"to_char(date '2026-01-31', '\"YYYY\"')"#, "\"2026\""),
        ("extract('Year' from date '2026-01-31')", "2026"),
        ("timestamp '2026-01-31 10:00:00.123456789'", "2026-01-31 10:00:00.123457"),
        ("timestamp '2026-01-31 23:59:59.9999999'", "2026-02-01 00:00:00"),
    ] {
        is(&mut connection, expression, expected);
    }
    let refusal = refused(&mut connection, r"select E'\xe9'");
    assert_eq!(refusal.to_string(), "22025");
}

/// The squares of such values have more digits than a NUMBER.
#[test]
fn large_values_have_their_variance() {
    let small = Small::new("hostile-variance");
    let mut connection = small.connect("app");
    let of = |aggregate: &str, values: &str| {
        format!("select {aggregate}(x)::text from (values {values}) v(x)")
    };
    let large = "(9223372036854775806), (9223372036854775807), (9223372036854775805)";
    assert_eq!(value(&mut connection, &of("var_samp", large)), "1");
    assert_eq!(value(&mut connection, &of("stddev", large)), "1");
    let numbers = "(100000000000000000001), (100000000000000000002), (100000000000000000003)";
    assert_eq!(value(&mut connection, &of("variance", numbers)), "1");
    assert_eq!(value(&mut connection, &of("var_pop", "(1e80), (1e80)")), "0");
}

/// SUBSTRING takes a place or a regular expression, and what it isn't sure of is refused.
#[test]
fn a_text_is_cut_by_what_a_pattern_matches() {
    let small = Small::new("hostile-substring");
    let mut connection = small.connect("app");
    for (expression, expected) in [
        ("substring('foobar' from 'o.b')", "oob"),
        ("substring('foobar' from 'o(.)b')", "o"),
        (r"substring('order 4711 of 2026', '\d+')", "4711"),
        (r"substring(upper('a') || 'b=12' from 'b=(\d+)')", "12"),
        ("substring('foobar' from 'x')", "NULL"),
        ("substring('foobar' from null)", "NULL"),
        ("substring('foobar' from 4)", "bar"),
        ("substring('foobar' from '4')", "NULL"),
    ] {
        is(&mut connection, expression, expected);
    }
    let place = "select substring('foobar' from $1)";
    assert_eq!(rows_with(&mut connection, place, &[Value::Int(4)]), ["bar"]);
    let unsupported = SqlState::FEATURE_NOT_SUPPORTED;
    for pattern in ["'a+?'", "'(a)*'", "'a' for '#'"] {
        let text = format!("select substring('aa' from {pattern})");
        assert_eq!(refused(&mut connection, &text), unsupported, "{text}");
    }
}

/// A span ends at its last field, a number has the digits of its pattern, and a literal goes on.
#[test]
fn spans_numbers_and_literals_are_what_is_written() {
    let small = Small::new("hostile-spans");
    let mut connection = small.connect("app");
    for (expression, expected) in [
        ("interval '2 days 10:20:30' day to second", "2 days 10:20:30"),
        ("interval '1 day 2 hours 3 minutes' day to hour", "1 day 02:00:00"),
        ("interval '1 2' day to hour", "1 day 02:00:00"),
        ("interval '1.2345' second(2)", "00:00:01.23"),
        ("interval '5' day", "5 days"),
        ("to_number('1234', '99')", "12"),
        ("E'a'\n'\\tb' = E'a\\tb'", "true"),
    ] {
        is(&mut connection, expression, expected);
    }
    let state = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
    assert_eq!(refused(&mut connection, "select to_number('123.4', '99.9')"), state);
    let state = SqlState::INVALID_DATETIME_FORMAT;
    assert_eq!(refused(&mut connection, "select interval '1' month to day"), state);
}
