//! Expressions as a person writes them, and what they are worth.
//!
//! Callers: the tests of functions, operators and casts.

#![allow(dead_code, reason = "not every test program uses all of it")]

use std::cell::Cell;

use expression::{
    Arena, CastTo, Evaluation, Expression, Fault, Kind, NoRow, Typed, build, write_text,
};
use value::{Date, Interval, Timestamp, Type, Value};

/// The moment of all evaluations.
pub(crate) const NOW: &str = "2026-11-27 15:04:05.678901";

pub(crate) fn int(value: i64) -> Typed {
    Typed::value(Value::Int(value))
}

pub(crate) fn num(text: &str) -> Typed {
    Typed::value(Value::Number(text.parse().expect("a number")))
}

pub(crate) fn dbl(value: f64) -> Typed {
    Typed::value(Value::Double(value))
}

/// A text whose kind is known, unlike a literal's.
pub(crate) fn text(text: &str) -> Typed {
    Typed::value(Value::Text(text))
}

pub(crate) fn lit(text: &str) -> Typed {
    Typed::literal(text)
}

pub(crate) fn null() -> Typed {
    Typed::null()
}

/// NULL of a kind that is known.
pub(crate) fn null_of(kind: Kind) -> Typed {
    Typed::null().implicit(kind).expect("NULL is of all kinds")
}

pub(crate) fn truth(is: bool) -> Typed {
    Typed::value(Value::Boolean(is))
}

pub(crate) fn bytes(bytes: &[u8]) -> Typed {
    Typed::value(Value::Bytes(bytes))
}

pub(crate) fn day(text: &str) -> Typed {
    Typed::value(Value::Date(Date::parse(text).expect("a day")))
}

pub(crate) fn moment(text: &str) -> Typed {
    Typed::value(Value::Timestamp(Timestamp::parse(text).expect("a moment")))
}

pub(crate) fn span(text: &str) -> Typed {
    Typed::value(Value::Interval(Interval::parse(text).expect("a span")))
}

pub(crate) fn cast(value: Typed, to: Type) -> Result<Typed, Fault> {
    value.cast(CastTo::Type(to))
}

pub(crate) fn call(name: &str, arguments: Vec<Typed>) -> Result<Typed, Fault> {
    build::call(name, arguments)
}

/// What an expression is worth: its value as a text, `NULL`, or the SQLSTATE of its refusal. It is
/// evaluated as it is and folded, and a value has to be of the kind that was foretold.
pub(crate) fn said(made: Result<Typed, Fault>) -> String {
    let typed = match made {
        Ok(typed) => typed.settled(),
        Err(fault) => return fault.state().to_string(),
    };
    let plain = worth(&typed.expression, typed.kind);
    let mut folded = typed.expression.clone();
    folded.fold();
    assert_eq!(worth(&folded, typed.kind), plain, "folded: {folded:?}");
    plain
}

fn worth(expression: &Expression, kind: Kind) -> String {
    let (arena, dice) = (Arena::new(), Cell::new(7));
    let with = Evaluation {
        slots: &[],
        arena: &arena,
        moment: Timestamp::parse(NOW).expect("a moment"),
        user: "ann",
        dice: &dice,
        subqueries: None,
    };
    match expression.evaluate(&NoRow, &with) {
        Ok(Value::Null) => "NULL".to_string(),
        Ok(value) => {
            let is_foretold =
                Kind::of(value) == kind || (kind == Kind::Char && Kind::of(value) == Kind::Text);
            assert!(is_foretold, "{expression:?} is {value}, no {kind}");
            let mut text = String::new();
            write_text(value, &mut text).expect("a text takes it");
            text
        }
        Err(fault) => fault.state().to_string(),
    }
}

/// Calls of functions, and what they are worth.
#[macro_export]
macro_rules! calls {
    ($($name:ident($($argument:expr),* $(,)?) => $expected:expr;)+) => {
        $(
            assert_eq!(
                $crate::common::said($crate::common::call(stringify!($name), vec![$($argument),*])),
                $expected,
                "{}",
                stringify!($name($($argument),*)),
            );
        )+
    };
}
