//! Arithmetic: numbers of all kinds, days, moments and spans of time.
//!
//! | operands | result |
//! |---|---|
//! | two whole numbers | a whole number of 64 bits; `/` cuts off; `^` is a double |
//! | two exact numbers | NUMBER: exact, then rounded once to 38 digits |
//! | a double and a number | a double |
//! | a day and a whole number | a day; two days: a whole number |
//! | a day or moment, and a span | a moment |
//! | a moment and a number | a moment so many days later, as in Oracle |
//! | two moments, or a day and a moment | a span |
//! | two spans; a span and a number (`*`, `/`) | a span |
//!
//! Invariants
//!   * nothing wraps: what is out of range is refused (22003, 22008), and so is a division by zero
//!   * `result` gives a kind exactly where `apply` gives a value
//!
//! Callers: `evaluate`; `build`, which asks for the kind of the result.
//! Sources: PostgreSQL's operators and its refusals, also for doubles that overflow or underflow.

use stop::SqlState;
use value::{Date, Interval, Number, Timestamp, Value};

use crate::{Fault, Kind, Operator, number_math};

/// The microseconds of a day.
const DAY_US: i64 = 86_400_000_000;

/// The kind of the result; none if the operator isn't defined for these kinds.
pub(crate) fn result(operator: Operator, left: Kind, right: Kind) -> Option<Kind> {
    use Operator::{Add, Divide, Modulo, Multiply, Power, Subtract};
    if left.is_number() && right.is_number() {
        let is_whole = left == Kind::Whole && right == Kind::Whole;
        let has_double = left == Kind::Double || right == Kind::Double;
        return match operator {
            Power if is_whole || has_double => Some(Kind::Double),
            Modulo if has_double => None,
            Add | Subtract | Multiply | Divide | Modulo | Power => Some(left.max(right)),
            // Bits are of whole numbers.
            _ => is_whole.then_some(Kind::Whole),
        };
    }
    let exact = |kind: Kind| matches!(kind, Kind::Whole | Kind::Number);
    match (operator, left, right) {
        (Add, Kind::Date, Kind::Whole) | (Add, Kind::Whole, Kind::Date) => Some(Kind::Date),
        (Subtract, Kind::Date, Kind::Whole) => Some(Kind::Date),
        (Subtract, Kind::Date, Kind::Date) => Some(Kind::Whole),
        (Add | Subtract, Kind::Timestamp, kind) if exact(kind) => Some(Kind::Timestamp),
        (Add, kind, Kind::Timestamp) if exact(kind) => Some(Kind::Timestamp),
        (Add | Subtract, kind, Kind::Interval) if kind.is_moment() => Some(Kind::Timestamp),
        (Add, Kind::Interval, kind) if kind.is_moment() => Some(Kind::Timestamp),
        (Subtract, a, b) if a.is_moment() && b.is_moment() => Some(Kind::Interval),
        (Add | Subtract, Kind::Interval, Kind::Interval) => Some(Kind::Interval),
        (Multiply | Divide, Kind::Interval, kind) if kind.is_number() => Some(Kind::Interval),
        (Multiply, kind, Kind::Interval) if kind.is_number() => Some(Kind::Interval),
        _ => None,
    }
}

/// The result; NULL if an operand is.
#[inline]
pub(crate) fn apply<'a>(
    operator: Operator,
    left: Value<'_>,
    right: Value<'_>,
) -> Result<Value<'a>, Fault> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => of_ints(operator, a, b),
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Number(a), Value::Number(b)) => of_numbers(operator, a, b),
        (Value::Int(a), Value::Number(b)) => of_numbers(operator, a.into(), b),
        (Value::Number(a), Value::Int(b)) => of_numbers(operator, a, b.into()),
        _ => match (double_of(left), double_of(right)) {
            (Some(a), Some(b)) => of_doubles(operator, a, b).map(Value::Double),
            _ => of_moments(operator, left, right),
        },
    }
}

/// The value with its sign turned.
pub(crate) fn negate<'a>(value: Value<'_>) -> Result<Value<'a>, Fault> {
    Ok(match value {
        Value::Null => Value::Null,
        Value::Int(int) => {
            Value::Int(int.checked_neg().ok_or_else(|| Fault::out_of_range("bigint"))?)
        }
        Value::Number(number) => Value::Number(-number),
        Value::Double(double) => Value::Double(-double),
        Value::Interval(span) => Value::Interval(span.checked_neg().ok_or_else(span_too_long)?),
        other => return Err(undefined("-", other)),
    })
}

#[inline]
fn of_ints<'a>(operator: Operator, a: i64, b: i64) -> Result<Value<'a>, Fault> {
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide | Operator::Modulo if b == 0 => return Err(Fault::division_by_zero()),
        Operator::Divide => a.checked_div(b),
        // The smallest number has no remainder by -1, though its quotient overflows.
        Operator::Modulo => Some(a.wrapping_rem(b)),
        Operator::Power => return power(a as f64, b as f64).map(Value::Double),
        Operator::BitAnd => Some(a & b),
        Operator::BitOr => Some(a | b),
        Operator::BitXor => Some(a ^ b),
        // A shift is by the lowest six bits, as in PostgreSQL.
        Operator::ShiftLeft => Some(a.wrapping_shl(b as u32)),
        Operator::ShiftRight => Some(a.wrapping_shr(b as u32)),
    };
    result.map(Value::Int).ok_or_else(|| Fault::out_of_range("bigint"))
}

fn of_numbers<'a>(operator: Operator, a: Number, b: Number) -> Result<Value<'a>, Fault> {
    let result = match operator {
        Operator::Add => a.checked_add(b)?,
        Operator::Subtract => a.checked_sub(b)?,
        Operator::Multiply => a.checked_mul(b)?,
        Operator::Divide => a.checked_div(b)?,
        Operator::Modulo => a.checked_rem(b)?,
        Operator::Power => number_math::power(a, b)?,
        _ => return Err(undefined(operator.symbol(), Value::Number(a))),
    };
    Ok(Value::Number(result))
}

/// A number of any kind as a double.
pub(crate) fn double_of(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(int) => Some(int as f64),
        Value::Number(number) => Some(number.to_f64()),
        Value::Double(double) => Some(double),
        _ => None,
    }
}

fn of_doubles(operator: Operator, a: f64, b: f64) -> Result<f64, Fault> {
    match operator {
        Operator::Add => finite(a + b, a.is_finite() && b.is_finite()),
        Operator::Subtract => finite(a - b, a.is_finite() && b.is_finite()),
        Operator::Multiply => {
            let product = finite(a * b, a.is_finite() && b.is_finite())?;
            not_underflown(product, a != 0.0 && b != 0.0)
        }
        Operator::Divide => {
            if b == 0.0 && !a.is_nan() {
                return Err(Fault::division_by_zero());
            }
            let quotient = finite(a / b, a.is_finite())?;
            not_underflown(quotient, a != 0.0 && b.is_finite())
        }
        Operator::Power => power(a, b),
        _ => Err(undefined(operator.symbol(), Value::Double(a))),
    }
}

/// Refuses an infinite result of finite operands.
pub(crate) fn finite(result: f64, of_finite: bool) -> Result<f64, Fault> {
    if result.is_infinite() && of_finite {
        return Err(Fault::out_of_range("double precision"));
    }
    Ok(result)
}

/// Refuses a zero where the exact result is another number.
pub(crate) fn not_underflown(result: f64, of_others: bool) -> Result<f64, Fault> {
    if result == 0.0 && of_others {
        return Err(Fault::out_of_range("double precision"));
    }
    Ok(result)
}

/// The power of two doubles.
pub(crate) fn power(base: f64, exponent: f64) -> Result<f64, Fault> {
    if base == 0.0 && exponent < 0.0 {
        return Err(zero_to_negative());
    }
    if base < 0.0 && base.is_finite() && exponent.is_finite() && exponent.fract() != 0.0 {
        return Err(negative_to_fraction());
    }
    let result = finite(base.powf(exponent), base.is_finite() && exponent.is_finite())?;
    not_underflown(result, base != 0.0 && base.is_finite() && exponent.is_finite())
}

/// Zero has no negative power.
#[cold]
pub(crate) fn zero_to_negative() -> Fault {
    let say = "zero raised to a negative power is undefined";
    Fault::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, say)
}

/// A number below zero has no power with a fraction.
#[cold]
pub(crate) fn negative_to_fraction() -> Fault {
    let say = "a negative number raised to a power that isn't whole is no real number";
    Fault::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, say)
}

/// Days, moments and spans.
fn of_moments<'a>(
    operator: Operator,
    left: Value<'_>,
    right: Value<'_>,
) -> Result<Value<'a>, Fault> {
    use Operator::{Add, Divide, Multiply, Subtract};
    match (operator, left, right) {
        (Add, Value::Date(day), Value::Int(by)) | (Add, Value::Int(by), Value::Date(day)) => {
            later_day(day, Some(by))
        }
        (Subtract, Value::Date(day), Value::Int(by)) => later_day(day, by.checked_neg()),
        (Subtract, Value::Date(a), Value::Date(b)) => {
            Ok(Value::Int(i64::from(a.days()) - i64::from(b.days())))
        }
        (Subtract, Value::Interval(a), Value::Interval(b)) => span(a.checked_sub(b)),
        (Add, Value::Interval(a), Value::Interval(b)) => span(a.checked_add(b)),
        (Add, moment, Value::Interval(by)) | (Add, Value::Interval(by), moment) => {
            moved(operator, moment, Some(by))
        }
        (Subtract, moment, Value::Interval(by)) => moved(operator, moment, by.checked_neg()),
        (Multiply, Value::Interval(a), by) | (Multiply, by, Value::Interval(a)) => {
            match double_of(by) {
                Some(by) => span(a.checked_mul(by)),
                None => Err(undefined(operator.symbol(), by)),
            }
        }
        (Divide, Value::Interval(a), by) => match double_of(by) {
            Some(0.0) => Err(Fault::division_by_zero()),
            Some(by) => span(a.checked_div(by)),
            None => Err(undefined(operator.symbol(), by)),
        },
        (Add, Value::Timestamp(at), Value::Int(_) | Value::Number(_)) => days_later(at, right, 1),
        (Add, Value::Int(_) | Value::Number(_), Value::Timestamp(at)) => days_later(at, left, 1),
        (Subtract, Value::Timestamp(at), Value::Int(_) | Value::Number(_)) => {
            days_later(at, right, -1)
        }
        (Subtract, a, b) => match (moment_of(a), moment_of(b)) {
            (Some(a), Some(b)) => Ok(Value::Interval(a.since(b))),
            _ => Err(undefined(operator.symbol(), left)),
        },
        _ => Err(undefined(operator.symbol(), left)),
    }
}

/// The moment that a day or a moment is.
pub(crate) fn moment_of(value: Value<'_>) -> Option<Timestamp> {
    match value {
        Value::Date(day) => Some(Timestamp::midnight(day)),
        Value::Timestamp(moment) => Some(moment),
        _ => None,
    }
}

fn later_day<'a>(day: Date, by: Option<i64>) -> Result<Value<'a>, Fault> {
    let later = by.and_then(|by| day.checked_add_days(by));
    later.map(Value::Date).ok_or_else(|| Fault::outside_calendar("date"))
}

fn moved<'a>(
    operator: Operator,
    moment: Value<'_>,
    by: Option<Interval>,
) -> Result<Value<'a>, Fault> {
    let at = moment_of(moment).ok_or_else(|| undefined(operator.symbol(), moment))?;
    let later = by.and_then(|by| at.checked_add(by));
    later.map(Value::Timestamp).ok_or_else(|| Fault::outside_calendar("timestamp"))
}

/// The moment so many days later; `sign` says in which direction.
fn days_later<'a>(at: Timestamp, days: Value<'_>, sign: i64) -> Result<Value<'a>, Fault> {
    let days = match days {
        Value::Int(int) => Number::from(int),
        Value::Number(number) => number,
        other => return Err(undefined("+", other)),
    };
    let us = days.checked_mul(Number::from(sign * DAY_US))?.to_i64();
    let later = us.and_then(|us| at.us().checked_add(us)).and_then(Timestamp::from_us);
    later.map(Value::Timestamp).ok_or_else(|| Fault::outside_calendar("timestamp"))
}

fn span<'a>(found: Option<Interval>) -> Result<Value<'a>, Fault> {
    found.map(Value::Interval).ok_or_else(span_too_long)
}

/// A span with a part that is too large.
#[cold]
pub(crate) fn span_too_long() -> Fault {
    Fault::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

/// An operator that isn't defined for a value; `build` refuses it before a row is read.
#[cold]
fn undefined(symbol: &str, value: Value<'_>) -> Fault {
    let say = format!("the operator {symbol} isn't defined for the kind {}", Kind::of(value));
    Fault::new(SqlState::UNDEFINED_FUNCTION, say)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATORS: [Operator; 11] = [
        Operator::Add,
        Operator::Subtract,
        Operator::Multiply,
        Operator::Divide,
        Operator::Modulo,
        Operator::Power,
        Operator::BitAnd,
        Operator::BitOr,
        Operator::BitXor,
        Operator::ShiftLeft,
        Operator::ShiftRight,
    ];

    /// The kind that is foretold is the kind of the value, for every pair of kinds.
    #[test]
    fn a_result_is_of_the_kind_that_was_foretold() {
        let day = Date::parse("2026-11-27").expect("a day");
        let values = [
            Value::Boolean(true),
            Value::Int(2),
            Value::Number(Number::from(2)),
            Value::Double(2.0),
            Value::Text("2"),
            Value::Bytes(b"2"),
            Value::Date(day),
            Value::Timestamp(Timestamp::midnight(day)),
            Value::Interval(Interval::new(0, 2, 0)),
        ];
        for operator in OPERATORS {
            for left in values {
                for right in values {
                    let kind = result(operator, Kind::of(left), Kind::of(right));
                    let found = apply(operator, left, right).map(Kind::of).ok();
                    assert_eq!(found, kind, "{left} {} {right}", operator.symbol());
                }
                let null = apply(operator, left, Value::Null).map(Value::is_null);
                assert!(null.is_ok_and(|is| is), "{left} {}", operator.symbol());
            }
        }
    }

    #[test]
    fn whole_numbers_never_wrap() {
        let state = |operator, a, b| of_ints(operator, a, b).map_err(|fault| fault.state());
        let range = Err(SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
        assert_eq!(state(Operator::Add, i64::MAX, 1), range);
        assert_eq!(state(Operator::Subtract, i64::MIN, 1), range);
        assert_eq!(state(Operator::Multiply, i64::MAX, 2), range);
        assert_eq!(state(Operator::Divide, i64::MIN, -1), range);
        assert_eq!(state(Operator::Modulo, i64::MIN, -1), Ok(Value::Int(0)));
        assert_eq!(state(Operator::Divide, 1, 0), Err(SqlState::DIVISION_BY_ZERO));
        assert_eq!(state(Operator::Divide, -7, 2), Ok(Value::Int(-3)));
        assert_eq!(state(Operator::Modulo, -7, 2), Ok(Value::Int(-1)));
        assert_eq!(negate(Value::Int(i64::MIN)).map_err(|fault| fault.state()), range);
    }

    #[test]
    fn doubles_that_overflow_or_underflow_are_refused() {
        let state = |operator, a, b| of_doubles(operator, a, b).map_err(|fault| fault.state());
        let range = Err(SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
        assert_eq!(state(Operator::Multiply, 1e200, 1e200), range);
        assert_eq!(state(Operator::Multiply, 1e-200, 1e-200), range);
        assert_eq!(state(Operator::Divide, 1.0, 0.0), Err(SqlState::DIVISION_BY_ZERO));
        assert_eq!(state(Operator::Add, f64::INFINITY, 1.0), Ok(f64::INFINITY));
        assert!(state(Operator::Divide, f64::NAN, 0.0).is_ok_and(f64::is_nan));
        let power = Err(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION);
        assert_eq!(state(Operator::Power, 0.0, -1.0), power);
        assert_eq!(state(Operator::Power, -8.0, 0.5), power);
        assert_eq!(state(Operator::Power, -2.0, 3.0), Ok(-8.0));
    }
}
