//! Conversions of values, comparisons and logic: what they are worth.

#![forbid(unsafe_code)]

mod common;

use common::{
    bytes, cast, day, dbl, int, lit, moment, null, null_of, num, said, span, text, truth,
};
use expression::build::{self, LikeOptions, TypedBranch};
use expression::{CastTo, Comparison, Fault, Kind, Typed};
use value::Type;

fn number(precision: u32, scale: i32) -> Type {
    Type::number(precision, scale).expect("may be declared")
}

fn interval(value: Typed) -> Result<Typed, Fault> {
    value.cast(CastTo::Kind(Kind::Interval))
}

/// The cases, each with what it is worth.
fn hold<const N: usize>(cases: [(Result<Typed, Fault>, &str); N]) {
    for (at, (made, expected)) in cases.into_iter().enumerate() {
        assert_eq!(said(made), expected, "case {at}");
    }
}

#[test]
fn casts_to_numbers() {
    hold([
        (cast(lit(" 42 "), Type::Integer), "42"),
        (cast(text("42"), Type::BigInt), "42"),
        (cast(text("4.2"), Type::BigInt), "22P02"),
        (cast(text("99999999999999999999"), Type::BigInt), "22003"),
        (cast(num("2.5"), Type::Integer), "3"),
        (cast(num("-2.5"), Type::Integer), "-3"),
        (cast(dbl(2.5), Type::Integer), "3"),
        (cast(dbl(f64::NAN), Type::Integer), "22003"),
        (cast(int(40000), Type::SmallInt), "22003"),
        (cast(num("9223372036854775808"), Type::BigInt), "22003"),
        (cast(truth(true), Type::Integer), "1"),
        (cast(num("123.456"), number(5, 2)), "123.46"),
        (cast(num("1234.5"), number(5, 2)), "22003"),
        (cast(dbl(0.1), Type::Number(None)), "0.1"),
        (cast(dbl(f64::INFINITY), Type::Number(None)), "22003"),
        (cast(text("1.50"), Type::Number(None)), "1.5"),
        (cast(text("1e200"), Type::Number(None)), "22003"),
        (cast(text("x"), Type::Number(None)), "22P02"),
        (cast(text("1e3"), Type::Double), "1000"),
        (cast(text("Infinity"), Type::Double), "Infinity"),
        (cast(text("1e400"), Type::Double), "22003"),
        (cast(text("1e-400"), Type::Double), "22003"),
        (cast(text("0e-400"), Type::Double), "0"),
        (cast(text(""), Type::Double), "22P02"),
        (cast(num("0.1"), Type::Double), "0.1"),
        (cast(null(), Type::Integer), "NULL"),
        (cast(day("2026-11-27"), Type::Integer), "42846"),
    ]);
}

#[test]
fn casts_to_texts() {
    let varchar = Type::varchar(3).expect("may be declared");
    let char = Type::char(3).expect("may be declared");
    hold([
        (cast(int(42), Type::Text), "42"),
        (cast(num("20.50"), Type::Text), "20.5"),
        (cast(dbl(1e15), Type::Text), "1e+15"),
        (cast(truth(true), Type::Text), "true"),
        (cast(moment("2026-11-27 15:04:05.500"), Type::Text), "2026-11-27 15:04:05.5"),
        (cast(span("1 day"), Type::Text), "1 day"),
        (cast(bytes(&[1, 255]), Type::Text), "\\x01ff"),
        (cast(text("abcdef"), varchar), "abc"),
        (cast(text("ñandú"), varchar), "ñan"),
        (cast(text("ab    "), char), "ab"),
        (cast(int(12345), varchar), "123"),
    ]);
}

#[test]
fn casts_to_other_kinds() {
    hold([
        (cast(lit("yes"), Type::Boolean), "true"),
        (cast(lit("F"), Type::Boolean), "false"),
        (cast(lit("o"), Type::Boolean), "22P02"),
        (cast(int(0), Type::Boolean), "false"),
        (cast(num("1"), Type::Boolean), "42846"),
        (cast(lit("2026-11-27"), Type::Date), "2026-11-27"),
        (cast(lit("2026-11-27 10:00"), Type::Date), "2026-11-27"),
        (cast(lit("2026-02-30"), Type::Date), "22008"),
        (cast(lit("tomorrow"), Type::Date), "2026-11-28"),
        (cast(lit(" YESTERDAY"), Type::Timestamp), "2026-11-26 00:00:00"),
        (cast(lit("now"), Type::Date), "2026-11-27"),
        (cast(lit("now"), Type::Timestamp), "2026-11-27 15:04:05.678901"),
        (cast(text("tomorrow"), Type::Date), "22007"),
        (cast(text("epoch"), Type::Date), "1970-01-01"),
        (cast(lit("January 8, 1999"), Type::Date), "1999-01-08"),
        (cast(lit("2026-11-27"), Type::Timestamp), "2026-11-27 00:00:00"),
        (cast(moment("2026-11-27 15:04"), Type::Date), "2026-11-27"),
        (cast(day("2026-11-27"), Type::Timestamp), "2026-11-27 00:00:00"),
        (cast(int(5), Type::Date), "42846"),
        (interval(lit("P1Y2M")), "1 year 2 mons"),
        (interval(lit("x")), "22007"),
        (cast(lit("\\x00ff"), Type::Bytea), "\\x00ff"),
        (cast(lit("ab"), Type::Bytea), "\\x6162"),
        (cast(lit("\\xzz"), Type::Bytea), "22P02"),
    ]);
}

/// Numbers of all kinds are compared without losing digits, days with moments, and texts with
/// nothing but texts.
#[test]
fn comparisons() {
    use Comparison::{Equal, Less, NotEqual};
    let of = build::compare;
    hold([
        (of(int(1), Equal, num("1.0")), "true"),
        (of(int(1), Equal, dbl(1.0)), "true"),
        (of(int(9007199254740993), Equal, dbl(9007199254740992.0)), "false"),
        (of(num("0.1"), Equal, dbl(0.1)), "true"),
        (of(dbl(f64::NAN), Equal, dbl(f64::NAN)), "true"),
        (of(dbl(f64::INFINITY), Less, dbl(f64::NAN)), "true"),
        (of(day("2026-11-27"), Equal, moment("2026-11-27 00:00")), "true"),
        (of(day("2026-11-27"), Less, lit("2026-11-28")), "true"),
        (of(day("2026-11-27"), Less, lit("x")), "22007"),
        (of(day("2026-11-27"), Equal, lit("today")), "true"),
        (of(lit("a"), Less, lit("b")), "true"),
        (of(text("10"), Less, text("9")), "true"),
        (of(int(10), Less, lit("9")), "false"),
        (of(int(10), Less, text("9")), "42883"),
        (of(int(1), Equal, null()), "NULL"),
        (of(null(), NotEqual, null()), "NULL"),
        (of(truth(true), Less, truth(false)), "false"),
        (of(span("1 mon"), Equal, span("30 days")), "true"),
        (of(Typed::new(text("a").expression, Kind::Char), Equal, lit("a  ")), "true"),
        (of(Typed::new(text("a").expression, Kind::Char), Equal, text("a  ")), "false"),
        (build::is_distinct(null(), null(), false), "false"),
        (build::is_distinct(int(1), null(), false), "true"),
        (build::is_distinct(int(1), num("1.0"), true), "true"),
        (build::between(int(2), int(1), int(3), false), "true"),
        (build::between(int(2), int(3), null(), true), "true"),
        (build::between(int(2), int(1), null(), false), "NULL"),
    ]);
}

/// Three-valued logic to the letter.
#[test]
fn logic() {
    let (yes, no) = (|| truth(true), || truth(false));
    let unknown = || null_of(Kind::Boolean);
    let and = |a, b| build::and(vec![a, b]);
    let or = |a, b| build::or(vec![a, b]);
    hold([
        (and(yes(), unknown()), "NULL"),
        (and(unknown(), no()), "false"),
        (and(no(), unknown()), "false"),
        (and(unknown(), unknown()), "NULL"),
        (or(no(), unknown()), "NULL"),
        (or(unknown(), yes()), "true"),
        (or(yes(), unknown()), "true"),
        (build::not(unknown()), "NULL"),
        (build::not(yes()), "false"),
        (build::is_truth(unknown(), Some(true), false), "false"),
        (build::is_truth(unknown(), Some(true), true), "true"),
        (build::is_truth(unknown(), None, false), "true"),
        (build::is_truth(no(), Some(false), false), "true"),
        (Ok(build::is_null(unknown(), false)), "true"),
        (Ok(build::is_null(yes(), true)), "true"),
        (and(yes(), lit("true")), "true"),
        (and(yes(), int(1)), "42804"),
        (build::not(text("true")), "42804"),
    ]);
}

#[test]
fn lists_and_patterns() {
    let is_in = |value, list, negated| build::in_list(value, list, negated);
    let like = |value: &str, pattern: &str| {
        build::like(text(value), lit(pattern), None, LikeOptions::default())
    };
    let ilike = LikeOptions { ignore_case: true, negated: false };
    let not_like = LikeOptions { ignore_case: false, negated: true };
    hold([
        (is_in(int(1), vec![int(2), int(1)], false), "true"),
        (is_in(int(3), vec![int(2), int(1)], false), "false"),
        (is_in(int(3), vec![int(2), null()], false), "NULL"),
        (is_in(int(2), vec![int(2), null()], false), "true"),
        (is_in(int(3), vec![int(2), null()], true), "NULL"),
        (is_in(int(2), vec![int(2), null()], true), "false"),
        (is_in(null(), vec![int(2)], false), "NULL"),
        (is_in(int(1), vec![num("1.0"), dbl(2.0)], false), "true"),
        (is_in(int(1), vec![lit("1")], false), "true"),
        (is_in(lit("1"), vec![int(1)], false), "true"),
        (is_in(int(1), vec![text("1")], false), "42883"),
        (like("abc", "a%"), "true"),
        (like("abc", "_b_"), "true"),
        (like("abc", "c"), "false"),
        (like("abc", "abc\\"), "22025"),
        (build::like(text("ABC"), lit("a%"), None, ilike), "true"),
        (build::like(text("abc"), lit("b%"), None, not_like), "true"),
        (build::like(text("10%"), lit("10!%"), Some(lit("!")), LikeOptions::default()), "true"),
        (build::like(null(), lit("a"), None, LikeOptions::default()), "NULL"),
        (build::like(int(1), lit("1"), None, LikeOptions::default()), "42883"),
        (build::concat(text("a"), int(5)), "a5"),
        (build::concat(truth(true), lit("x")), "truex"),
        (build::concat(text("a"), null()), "NULL"),
        (build::concat(lit("a"), lit("")), "a"),
        (build::concat(bytes(b"a"), bytes(b"b")), "\\x6162"),
        (build::concat(int(1), int(2)), "42883"),
    ]);
}

/// Parts that aren't taken aren't evaluated.
#[test]
fn choices() {
    let by_zero = || build::arithmetic(int(1), expression::Operator::Divide, int(0)).expect("made");
    let branch = |when, then| TypedBranch { when, then };
    let when = |value: i64| build::compare(int(value), Comparison::Equal, int(1)).expect("made");
    hold([
        (build::case(None, vec![branch(when(1), int(5))], Some(by_zero())), "5"),
        (build::case(None, vec![branch(when(2), by_zero())], Some(int(6))), "6"),
        (build::case(None, vec![branch(when(2), int(5))], None), "NULL"),
        (build::case(Some(int(2)), vec![branch(lit("2"), lit("two"))], None), "two"),
        (build::case(Some(null()), vec![branch(null(), lit("none"))], None), "NULL"),
        (build::call("coalesce", vec![int(1), by_zero()]), "1"),
        (build::and(vec![when(2), when_is(by_zero())]), "false"),
        (build::or(vec![when(1), when_is(by_zero())]), "true"),
        (build::case(None, vec![branch(when(1), by_zero())], None), "22012"),
    ]);
}

/// Whether a value is 1.
fn when_is(value: Typed) -> Typed {
    build::compare(value, Comparison::Equal, int(1)).expect("numbers")
}
