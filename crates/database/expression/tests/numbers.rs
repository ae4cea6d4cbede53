//! Functions and operators of numbers: what they are worth, mostly as PostgreSQL's documentation
//! says.

#![forbid(unsafe_code)]

mod common;

use common::{dbl, int, lit, null, num, said, text, truth};
use expression::{Operator, Typed, build};

fn of(left: Typed, operator: Operator, right: Typed) -> String {
    said(build::arithmetic(left, operator, right))
}

#[test]
fn operators_of_numbers() {
    use Operator::{Add, Divide, Modulo, Multiply, Power, Subtract};
    let all = [
        (of(int(2), Add, int(3)), "5"),
        (of(int(5), Divide, int(2)), "2"),
        (of(int(-5), Divide, int(2)), "-2"),
        (of(num("5.0"), Divide, int(2)), "2.5"),
        (of(int(1), Divide, num("3")), "0.33333333333333333333333333333333333333"),
        (of(int(5), Modulo, int(4)), "1"),
        (of(num("-5.5"), Modulo, int(2)), "-1.5"),
        (of(int(2), Power, int(3)), "8"),
        (of(num("2"), Power, num("0.5")), "1.4142135623730950488016887242097"),
        (of(num("0.1"), Add, num("0.2")), "0.3"),
        (of(dbl(0.1), Add, dbl(0.2)), "0.30000000000000004"),
        (of(num("20.50"), Multiply, int(1)), "20.5"),
        (of(int(i64::MAX), Add, int(1)), "22003"),
        (of(num("9223372036854775807"), Add, int(1)), "9223372036854775808"),
        (of(int(1), Divide, int(0)), "22012"),
        (of(num("1"), Divide, num("0.0")), "22012"),
        (of(dbl(1.0), Divide, dbl(0.0)), "22012"),
        (of(dbl(1e300), Multiply, dbl(1e300)), "22003"),
        (of(num("1e121"), Multiply, int(10)), "22003"),
        (of(int(1), Add, lit("2")), "3"),
        (of(lit("2"), Subtract, int(1)), "1"),
        (of(int(1), Add, lit("x")), "22P02"),
        (of(int(1), Add, null()), "NULL"),
        (of(null(), Add, null()), "42725"),
        (of(int(1), Add, text("2")), "42883"),
        (of(int(1), Add, truth(true)), "42883"),
    ];
    for (at, (found, expected)) in all.iter().enumerate() {
        assert_eq!(found, expected, "case {at}");
    }
}

#[test]
fn operators_of_bits() {
    let all = [
        (of(int(91), Operator::BitAnd, int(15)), "11"),
        (of(int(32), Operator::BitOr, int(3)), "35"),
        (of(int(17), Operator::BitXor, int(5)), "20"),
        (of(int(1), Operator::ShiftLeft, int(4)), "16"),
        (of(int(8), Operator::ShiftRight, int(2)), "2"),
        (of(num("1"), Operator::BitAnd, int(1)), "42883"),
        (said(build::complement(int(1))), "-2"),
        (said(build::negate(int(5))), "-5"),
        (said(build::negate(num("-1.5"))), "1.5"),
        (said(build::negate(truth(true))), "42883"),
    ];
    for (at, (found, expected)) in all.iter().enumerate() {
        assert_eq!(found, expected, "case {at}");
    }
}

#[test]
fn rounding_and_signs() {
    calls! {
        abs(int(-17)) => "17";
        abs(num("-17.4")) => "17.4";
        abs(int(i64::MIN)) => "22003";
        width_bucket(num("5.35"), num("0.024"), num("10.06"), int(5)) => "3";
        width_bucket(num("10"), int(0), int(10), int(5)) => "6";
        width_bucket(num("-0.1"), int(0), int(10), int(5)) => "0";
        width_bucket(num("1.99999999999999"), int(0), int(10), int(5)) => "1";
        width_bucket(num("2"), int(0), int(10), int(5)) => "2";
        width_bucket(num("10"), int(10), int(0), int(5)) => "1";
        width_bucket(num("8"), int(10), int(0), int(5)) => "2";
        width_bucket(num("0"), int(10), int(0), int(5)) => "6";
        width_bucket(num("5"), int(3), int(4), int(0)) => "2201G";
        width_bucket(num("3"), int(3), int(3), int(888)) => "2201G";
        width_bucket(dbl(5.5), dbl(5.0), dbl(6.0), int(4)) => "3";
        width_bucket(dbl(f64::INFINITY), dbl(0.0), dbl(6.0), int(4)) => "5";
        width_bucket(dbl(0.0), dbl(f64::MIN), dbl(f64::MAX), int(2)) => "2";
        width_bucket(dbl(f64::NAN), dbl(0.0), dbl(6.0), int(4)) => "2201G";
        width_bucket(dbl(1.0), dbl(0.0), dbl(f64::INFINITY), int(4)) => "2201G";
        scale(num("20.50")) => "1";
        min_scale(num("1e3")) => "0";
        trim_scale(num("8.4100")) => "8.41";
        gcd(int(1071), int(-462)) => "21";
        gcd(int(0), int(0)) => "0";
        gcd(int(i64::MIN), int(0)) => "22003";
        gcd(num("13.5"), num("4.05")) => "1.35";
        lcm(int(1071), int(-462)) => "23562";
        lcm(int(0), int(5)) => "0";
        lcm(int(i64::MAX), int(2)) => "22003";
        lcm(num("2.5"), num("1")) => "5";
        factorial(int(0)) => "1";
        factorial(int(20)) => "2432902008176640000";
        factorial(int(-1)) => "22003";
        factorial(int(100)) => "22003";
        sign(num("-8.4")) => "-1";
        sign(int(0)) => "0";
        sign(dbl(2.5)) => "1";
        ceil(num("42.2")) => "43";
        ceil(num("-42.8")) => "-42";
        ceiling(dbl(-42.8)) => "-42";
        floor(num("42.8")) => "42";
        floor(num("-42.8")) => "-43";
        floor(int(9007199254740993)) => "9007199254740993";
        round(num("42.4")) => "42";
        round(num("42.5")) => "43";
        round(num("-42.5")) => "-43";
        round(dbl(42.5)) => "42";
        round(num("42.4382"), int(2)) => "42.44";
        round(num("1234.56"), int(-1)) => "1230";
        round(int(25), int(-1)) => "30";
        round(dbl(1.25), int(1)) => "42883";
        trunc(num("42.8")) => "42";
        trunc(num("-42.4382"), int(2)) => "-42.43";
        trunc(dbl(-42.8)) => "-42";
        modulo(int(1)) => "42883";
        div(int(9), int(4)) => "2";
        div(num("-9"), num("4")) => "-2";
        bitand(int(6), int(3)) => "2";
    }
    calls! {
        greatest(int(1), num("2.5"), null()) => "2.5";
        least(int(1), int(2), int(-3)) => "-3";
        greatest(null(), null()) => "NULL";
        least(lit("b"), lit("a")) => "a";
        nullif(int(1), int(1)) => "NULL";
        nullif(int(1), num("1.0")) => "NULL";
        nullif(int(1), int(2)) => "1";
        nullif(int(1), null()) => "1";
        coalesce(null(), int(2), int(3)) => "2";
        coalesce(int(1), num("1.5")) => "1";
        coalesce(null(), null()) => "NULL";
        nvl(null(), lit("x")) => "x";
        nvl2(null(), int(1), int(2)) => "2";
        nvl2(int(0), int(1), int(2)) => "1";
        decode(int(2), int(1), lit("one"), int(2), lit("two")) => "two";
        decode(int(3), int(1), lit("one"), lit("other")) => "other";
        decode(null(), null(), lit("none"), lit("other")) => "none";
        decode(int(3), int(1), lit("one")) => "NULL";
    }
}

#[test]
fn powers_logarithms_and_angles() {
    calls! {
        power(int(9), int(3)) => "729";
        power(num("1.05"), int(10)) => "1.62889462677744140625";
        power(int(0), int(-1)) => "2201F";
        power(num("-8"), num("0.5")) => "2201F";
        sqrt(int(2)) => "1.4142135623730951";
        sqrt(num("2.25")) => "1.5";
        sqrt(int(-1)) => "2201F";
        cbrt(dbl(64.0)) => "4";
        exp(dbl(1.0)) => "2.718281828459045";
        exp(num("0")) => "1";
        exp(dbl(1000.0)) => "22003";
        ln(dbl(2.0)) => "0.6931471805599453";
        ln(num("0")) => "2201E";
        ln(dbl(-1.0)) => "2201E";
        log(num("100")) => "2";
        log(dbl(1000.0)) => "3";
        log(num("2.0"), num("64.0")) => "6";
        log(num("1"), num("64.0")) => "22012";
        sin(dbl(0.0)) => "0";
        sinh(dbl(0.0)) => "0";
        cosh(dbl(0.0)) => "1";
        cosh(dbl(1e3)) => "Infinity";
        tanh(dbl(f64::INFINITY)) => "1";
        asinh(dbl(0.0)) => "0";
        acosh(dbl(1.0)) => "0";
        acosh(dbl(0.5)) => "22003";
        atanh(dbl(1.0)) => "Infinity";
        atanh(dbl(-1.5)) => "22003";
        cos(int(0)) => "1";
        tan(dbl(f64::INFINITY)) => "22003";
        asin(dbl(1.0)) => "1.5707963267948966";
        acos(dbl(2.0)) => "22003";
        atan(dbl(1.0)) => "0.7853981633974483";
        atan2(dbl(1.0), dbl(0.0)) => "1.5707963267948966";
        pi() => "3.141592653589793";
        degrees(dbl(0.5)) => "28.64788975654116";
        radians(dbl(45.0)) => "0.7853981633974483";
    }
    calls! {
        sqrt(null()) => "NULL";
        sqrt(lit("4")) => "2";
        sqrt(lit("x")) => "22P02";
        pow(int(2), int(10)) => "1024";
    }
}

#[test]
fn random_numbers_differ_and_lie_between_0_and_1() {
    use std::cell::Cell;

    use expression::{Arena, Evaluation, NoRow};
    use value::{Timestamp, Value};

    let random = build::call("random", Vec::new()).expect("a function").expression;
    assert!(random.is_volatile() && !random.is_constant());
    let draw = |seed: u64| -> Vec<f64> {
        let (arena, dice) = (Arena::new(), Cell::new(seed));
        let with = Evaluation {
            slots: &[],
            arena: &arena,
            moment: Timestamp::MIN,
            user: "",
            dice: &dice,
            subqueries: None,
        };
        let one = |_| match random.evaluate(&NoRow, &with) {
            Ok(Value::Double(one)) => one,
            other => panic!("{other:?}"),
        };
        (0..100).map(one).collect()
    };
    let drawn = draw(1);
    for (at, one) in drawn.iter().enumerate() {
        assert!((0.0..1.0).contains(one));
        assert!(!drawn[at + 1..].contains(one));
    }
    assert_eq!(drawn, draw(1));
    assert_ne!(drawn, draw(2));
}
