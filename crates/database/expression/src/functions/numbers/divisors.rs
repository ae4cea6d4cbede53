//! Divisors and multiples of numbers, and factorials.
//!
//! Callers: the table of functions. Source: PostgreSQL's documentation, "Mathematical Functions and
//! Operators".

use value::{Number, NumberFault, Value};

use crate::functions::unexpected;
use crate::{Evaluation, Fault};

/// The first number whose factorial is no NUMBER.
const FACTORIAL_END: i64 = 82;

/// The largest number by which both can be divided; 0 of two zeros.
pub(super) fn gcd<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Int(a), Value::Int(b)] => {
            whole(of_whole(a.unsigned_abs(), b.unsigned_abs()).into())
        }
        [Value::Number(a), Value::Number(b)] => Ok(Value::Number(of_numbers(a, b)?)),
        _ => unexpected(arguments),
    }
}

/// The smallest number that is a multiple of both; 0 if one of them is.
pub(super) fn lcm<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Int(0), Value::Int(_)] | [Value::Int(_), Value::Int(0)] => Ok(Value::Int(0)),
        [Value::Int(a), Value::Int(b)] => {
            let (a, b) = (a.unsigned_abs(), b.unsigned_abs());
            whole(u128::from(a / of_whole(a, b)) * u128::from(b))
        }
        [Value::Number(a), Value::Number(b)] if a.is_zero() || b.is_zero() => {
            Ok(Value::Number(Number::ZERO))
        }
        [Value::Number(a), Value::Number(b)] => {
            let times = a.checked_div(of_numbers(a, b)?)?;
            Ok(Value::Number(times.checked_mul(b)?.abs()))
        }
        _ => unexpected(arguments),
    }
}

/// 1 * 2 * ... * n.
pub(super) fn factorial<'a>(
    arguments: &[Value<'a>],
    _: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Int(of)] = *arguments else { unexpected(arguments) };
    if !(0..FACTORIAL_END).contains(&of) {
        let say = format!("the factorial of a number from 0 to {}", FACTORIAL_END - 1);
        return Err(Fault::out_of_range(&say).showing(Value::Int(of)));
    }
    let mut product = Number::from(1);
    for factor in 2..=of {
        product = product.checked_mul(Number::from(factor))?;
    }
    Ok(Value::Number(product))
}

fn whole<'a>(number: u128) -> Result<Value<'a>, Fault> {
    let whole = i64::try_from(number).map_err(|_| Fault::out_of_range("bigint"))?;
    Ok(Value::Int(whole))
}

fn of_whole(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn of_numbers(a: Number, b: Number) -> Result<Number, NumberFault> {
    let (mut a, mut b) = (a, b);
    while !b.is_zero() {
        (a, b) = (b, a.checked_rem(b)?);
    }
    Ok(a.abs())
}
