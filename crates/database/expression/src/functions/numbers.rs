//! Functions of numbers.
//!
//! Functions of whole numbers that would lose digits in a double (round, ceil) have results of
//! NUMBER; roots, powers, exponentials and angles of whole numbers are doubles, as in PostgreSQL.
//!
//! Callers: the table of functions.
//! Sources: PostgreSQL's documentation, "Mathematical Functions and Operators".

mod buckets;
mod divisors;

use stop::SqlState;
use value::{Number, Value};

use super::{Entry, entry, unexpected};
use crate::arithmetic::{self, finite, not_underflown};
use crate::number_math::{self, no_logarithm, no_root};
use crate::{Evaluation, Fault, Kind, Operator};

const WHOLE: Kind = Kind::Whole;
const NUMBER: Kind = Kind::Number;
const DOUBLE: Kind = Kind::Double;

pub(super) const TABLE: &[Entry] = &[
    entry("abs", &[WHOLE], WHOLE, abs),
    entry("abs", &[NUMBER], NUMBER, abs),
    entry("abs", &[DOUBLE], DOUBLE, abs),
    entry("sign", &[WHOLE], NUMBER, sign),
    entry("sign", &[NUMBER], NUMBER, sign),
    entry("sign", &[DOUBLE], DOUBLE, sign),
    entry("ceil", &[WHOLE], NUMBER, whole_as_number),
    entry("ceil", &[NUMBER], NUMBER, ceil),
    entry("ceil", &[DOUBLE], DOUBLE, ceil),
    entry("ceiling", &[WHOLE], NUMBER, whole_as_number),
    entry("ceiling", &[NUMBER], NUMBER, ceil),
    entry("ceiling", &[DOUBLE], DOUBLE, ceil),
    entry("floor", &[WHOLE], NUMBER, whole_as_number),
    entry("floor", &[NUMBER], NUMBER, floor),
    entry("floor", &[DOUBLE], DOUBLE, floor),
    entry("round", &[WHOLE], NUMBER, whole_as_number),
    entry("round", &[NUMBER], NUMBER, round),
    entry("round", &[DOUBLE], DOUBLE, round),
    entry("round", &[NUMBER, WHOLE], NUMBER, round),
    entry("trunc", &[WHOLE], NUMBER, whole_as_number),
    entry("trunc", &[NUMBER], NUMBER, trunc),
    entry("trunc", &[DOUBLE], DOUBLE, trunc),
    entry("trunc", &[NUMBER, WHOLE], NUMBER, trunc),
    entry("mod", &[WHOLE, WHOLE], WHOLE, modulo),
    entry("mod", &[NUMBER, NUMBER], NUMBER, modulo),
    entry("div", &[NUMBER, NUMBER], NUMBER, div),
    entry("gcd", &[WHOLE, WHOLE], WHOLE, divisors::gcd),
    entry("gcd", &[NUMBER, NUMBER], NUMBER, divisors::gcd),
    entry("lcm", &[WHOLE, WHOLE], WHOLE, divisors::lcm),
    entry("lcm", &[NUMBER, NUMBER], NUMBER, divisors::lcm),
    entry("factorial", &[WHOLE], NUMBER, divisors::factorial),
    entry("width_bucket", &[NUMBER, NUMBER, NUMBER, WHOLE], WHOLE, buckets::of_numbers),
    entry("width_bucket", &[DOUBLE, DOUBLE, DOUBLE, WHOLE], WHOLE, buckets::of_doubles),
    entry("scale", &[NUMBER], WHOLE, scale),
    entry("min_scale", &[NUMBER], WHOLE, scale),
    entry("trim_scale", &[NUMBER], NUMBER, trim_scale),
    entry("power", &[DOUBLE, DOUBLE], DOUBLE, power),
    entry("power", &[NUMBER, NUMBER], NUMBER, power),
    entry("pow", &[DOUBLE, DOUBLE], DOUBLE, power),
    entry("pow", &[NUMBER, NUMBER], NUMBER, power),
    entry("sqrt", &[DOUBLE], DOUBLE, sqrt),
    entry("sqrt", &[NUMBER], NUMBER, sqrt),
    entry("cbrt", &[DOUBLE], DOUBLE, cbrt),
    entry("exp", &[DOUBLE], DOUBLE, exp),
    entry("exp", &[NUMBER], NUMBER, exp),
    entry("ln", &[DOUBLE], DOUBLE, ln),
    entry("ln", &[NUMBER], NUMBER, ln),
    entry("log", &[DOUBLE], DOUBLE, log10),
    entry("log", &[NUMBER], NUMBER, log10),
    entry("log10", &[DOUBLE], DOUBLE, log10),
    entry("log10", &[NUMBER], NUMBER, log10),
    entry("log", &[NUMBER, NUMBER], NUMBER, log),
    entry("sin", &[DOUBLE], DOUBLE, sin),
    entry("cos", &[DOUBLE], DOUBLE, cos),
    entry("tan", &[DOUBLE], DOUBLE, tan),
    entry("cot", &[DOUBLE], DOUBLE, cot),
    entry("asin", &[DOUBLE], DOUBLE, asin),
    entry("acos", &[DOUBLE], DOUBLE, acos),
    entry("atan", &[DOUBLE], DOUBLE, atan),
    entry("atan2", &[DOUBLE, DOUBLE], DOUBLE, atan2),
    entry("sinh", &[DOUBLE], DOUBLE, sinh),
    entry("cosh", &[DOUBLE], DOUBLE, cosh),
    entry("tanh", &[DOUBLE], DOUBLE, tanh),
    entry("asinh", &[DOUBLE], DOUBLE, asinh),
    entry("acosh", &[DOUBLE], DOUBLE, acosh),
    entry("atanh", &[DOUBLE], DOUBLE, atanh),
    entry("pi", &[], DOUBLE, pi),
    entry("degrees", &[DOUBLE], DOUBLE, degrees),
    entry("radians", &[DOUBLE], DOUBLE, radians),
    entry("bitand", &[WHOLE, WHOLE], WHOLE, bitand),
    entry("random", &[], DOUBLE, random).volatile(),
];

fn abs<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(match *arguments {
        [Value::Int(int)] => {
            Value::Int(int.checked_abs().ok_or_else(|| Fault::out_of_range("bigint"))?)
        }
        [Value::Number(number)] => Value::Number(number.abs()),
        [Value::Double(double)] => Value::Double(double.abs()),
        _ => unexpected(arguments),
    })
}

fn sign<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(match *arguments {
        [Value::Int(int)] => Value::Number(Number::from(int.signum())),
        [Value::Number(number)] => {
            let sign = i64::from(!number.is_zero()) - 2 * i64::from(number.is_negative());
            Value::Number(Number::from(sign))
        }
        [Value::Double(0.0)] => Value::Double(0.0),
        [Value::Double(double)] => Value::Double(double.signum()),
        _ => unexpected(arguments),
    })
}

/// What leaves a whole number as it is: as a NUMBER, so that a division of it has a fraction.
fn whole_as_number<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Int(int)] = *arguments else { unexpected(arguments) };
    Ok(Value::Number(Number::from(int)))
}

fn ceil<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(match *arguments {
        [Value::Number(number)] => Value::Number(number.ceil()?),
        [Value::Double(double)] => Value::Double(double.ceil()),
        _ => unexpected(arguments),
    })
}

fn floor<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(match *arguments {
        [Value::Number(number)] => Value::Number(number.floor()?),
        [Value::Double(double)] => Value::Double(double.floor()),
        _ => unexpected(arguments),
    })
}

/// A number of places; beyond what a NUMBER can have, more doesn't count.
fn places(of: i64) -> i32 {
    let of = of.clamp(-1000, 1000);
    i32::try_from(of).expect("clamped")
}

/// NUMBERs round half away from zero, doubles half to even.
fn round<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(match *arguments {
        [Value::Number(number)] => Value::Number(number.round(0)?),
        [Value::Number(number), Value::Int(to)] => Value::Number(number.round(places(to))?),
        [Value::Double(double)] => Value::Double(double.round_ties_even()),
        _ => unexpected(arguments),
    })
}

fn trunc<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(match *arguments {
        [Value::Number(number)] => Value::Number(number.truncate(0)),
        [Value::Number(number), Value::Int(to)] => Value::Number(number.truncate(places(to))),
        [Value::Double(double)] => Value::Double(double.trunc()),
        _ => unexpected(arguments),
    })
}

fn modulo<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [left, right] = *arguments else { unexpected(arguments) };
    arithmetic::apply(Operator::Modulo, left, right)
}

fn div<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Number(a), Value::Number(b)] = *arguments else { unexpected(arguments) };
    // The rest is taken off first, so that the quotient is whole before it is rounded.
    let whole = a.checked_sub(a.checked_rem(b)?)?.checked_div(b)?;
    Ok(Value::Number(whole.round(0)?))
}

/// The places behind the point: a NUMBER keeps no zeros at its end.
fn scale<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Number(number)] = *arguments else { unexpected(arguments) };
    Ok(Value::Int(number.canonical().scale().max(0).into()))
}

fn trim_scale<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Number(number)] = *arguments else { unexpected(arguments) };
    Ok(Value::Number(number))
}

fn power<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [left, right] = *arguments else { unexpected(arguments) };
    arithmetic::apply(Operator::Power, left, right)
}

fn bitand<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [left, right] = *arguments else { unexpected(arguments) };
    arithmetic::apply(Operator::BitAnd, left, right)
}

fn sqrt<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Number(number)] => number_math::sqrt(number).map(Value::Number),
        [Value::Double(double)] if double < 0.0 => Err(no_root()),
        [Value::Double(double)] => Ok(Value::Double(double.sqrt())),
        _ => unexpected(arguments),
    }
}

fn exp<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Number(number)] => number_math::exp(number).map(Value::Number),
        [Value::Double(double)] => {
            let result = finite(double.exp(), double.is_finite())?;
            not_underflown(result, double.is_finite()).map(Value::Double)
        }
        _ => unexpected(arguments),
    }
}

/// Refuses the logarithm of a double that isn't above zero.
fn above_zero(double: f64) -> Result<f64, Fault> {
    if double <= 0.0 { Err(no_logarithm(double == 0.0)) } else { Ok(double) }
}

fn ln<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Number(number)] => number_math::ln(number).map(Value::Number),
        [Value::Double(double)] => Ok(Value::Double(above_zero(double)?.ln())),
        _ => unexpected(arguments),
    }
}

fn log10<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Number(number)] => number_math::log10(number).map(Value::Number),
        [Value::Double(double)] => Ok(Value::Double(above_zero(double)?.log10())),
        _ => unexpected(arguments),
    }
}

fn log<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Number(base), Value::Number(number)] = *arguments else { unexpected(arguments) };
    number_math::log(base, number).map(Value::Number)
}

/// A function of one double.
fn of_double<'a>(arguments: &[Value<'a>], compute: fn(f64) -> f64) -> Result<Value<'a>, Fault> {
    let [Value::Double(double)] = *arguments else { unexpected(arguments) };
    finite(compute(double), double.is_finite()).map(Value::Double)
}

/// A function of an angle, which has to be finite.
fn of_angle<'a>(arguments: &[Value<'a>], compute: fn(f64) -> f64) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Double(double)] if double.is_infinite() => {
            Err(Fault::out_of_range("double precision"))
        }
        [Value::Double(double)] => Ok(Value::Double(compute(double))),
        _ => unexpected(arguments),
    }
}

/// The angle whose sine or cosine is given, which lies between -1 and 1.
fn of_ratio<'a>(arguments: &[Value<'a>], compute: fn(f64) -> f64) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Double(double)] if double.abs() > 1.0 => {
            let say = "a sine or cosine lies between -1 and 1";
            Err(Fault::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, say))
        }
        [Value::Double(double)] => Ok(Value::Double(compute(double))),
        _ => unexpected(arguments),
    }
}

fn cbrt<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_double(arguments, f64::cbrt)
}

fn sin<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_angle(arguments, f64::sin)
}

fn cos<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_angle(arguments, f64::cos)
}

fn tan<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_angle(arguments, f64::tan)
}

fn cot<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_angle(arguments, |angle| 1.0 / angle.tan())
}

fn asin<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_ratio(arguments, f64::asin)
}

fn acos<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_ratio(arguments, f64::acos)
}

fn atan<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_double(arguments, f64::atan)
}

fn atan2<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Double(y), Value::Double(x)] = *arguments else { unexpected(arguments) };
    Ok(Value::Double(y.atan2(x)))
}

/// A function of any double, which may be infinite where the double isn't, as in PostgreSQL.
fn of_any<'a>(arguments: &[Value<'a>], compute: fn(f64) -> f64) -> Result<Value<'a>, Fault> {
    let [Value::Double(double)] = *arguments else { unexpected(arguments) };
    Ok(Value::Double(compute(double)))
}

fn sinh<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_any(arguments, f64::sinh)
}

fn cosh<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_any(arguments, f64::cosh)
}

fn tanh<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_any(arguments, f64::tanh)
}

fn asinh<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_any(arguments, f64::asinh)
}

fn acosh<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Double(double)] if double < 1.0 => {
            let say = "a hyperbolic cosine is 1 or more";
            Err(Fault::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, say))
        }
        _ => of_any(arguments, f64::acosh),
    }
}

fn atanh<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Double(double)] if double.abs() > 1.0 => {
            let say = "a hyperbolic tangent lies between -1 and 1";
            Err(Fault::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, say))
        }
        _ => of_any(arguments, f64::atanh),
    }
}

fn pi<'a>(_: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Double(std::f64::consts::PI))
}

fn degrees<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_double(arguments, |angle| angle / (std::f64::consts::PI / 180.0))
}

fn radians<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    of_double(arguments, |angle| angle * (std::f64::consts::PI / 180.0))
}

/// A number from 0 to below 1, of 53 random bits.
fn random<'a>(_: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let bits = next_random(with) >> 11;
    Ok(Value::Double(bits as f64 / (1_u64 << 53) as f64))
}

/// The next number of the evaluation's dice. Source: Steele, Lea and Flood, splitmix64.
fn next_random(with: &Evaluation<'_>) -> u64 {
    let state = with.dice.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    with.dice.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
