//! `width_bucket`: which of so many equal parts of a range a number lies in.
//!
//! ```text
//!   width_bucket(x, 0, 10, 5)      0 │ 1   2   3   4   5 │ 6
//!                                    0                  10
//! ```
//!
//! A part begins with its lower bound. If the range falls, the first part is that of the largest
//! numbers, and a part begins with its upper bound.
//!
//! Callers: the table of functions. Source: PostgreSQL's documentation, "Mathematical Functions and
//! Operators".

use stop::SqlState;
use value::{Number, Value};

use crate::functions::unexpected;
use crate::{Evaluation, Fault};

pub(super) fn of_numbers<'a>(
    arguments: &[Value<'a>],
    _: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Number(of), Value::Number(first), Value::Number(last), Value::Int(count)] =
        *arguments
    else {
        unexpected(arguments)
    };
    check_count(count)?;
    if first == last {
        return Err(refused("the range of width_bucket is empty"));
    }
    // In a range that falls all is turned round.
    let (of, first, last) = if first > last { (-of, -first, -last) } else { (of, first, last) };
    if of < first {
        return Ok(Value::Int(0));
    }
    if of >= last {
        return behind(count);
    }
    let (product, width) =
        (of.checked_sub(first)?.checked_mul(Number::from(count))?, last.checked_sub(first)?);
    let whole = product.checked_sub(product.checked_rem(width)?)?.checked_div(width)?.round(0)?;
    Ok(Value::Int(whole.to_i64().unwrap_or(count).min(count - 1) + 1))
}

pub(super) fn of_doubles<'a>(
    arguments: &[Value<'a>],
    _: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Double(of), Value::Double(first), Value::Double(last), Value::Int(count)] =
        *arguments
    else {
        unexpected(arguments)
    };
    check_count(count)?;
    if of.is_nan() || !first.is_finite() || !last.is_finite() {
        return Err(refused("width_bucket takes numbers, and a range that ends"));
    }
    if first == last {
        return Err(refused("the range of width_bucket is empty"));
    }
    let (of, first, last) = if first > last { (-of, -first, -last) } else { (of, first, last) };
    if of < first {
        return Ok(Value::Int(0));
    }
    if of >= last {
        return behind(count);
    }
    // Halves: the width of a range may be no double.
    let part = (of / 2.0 - first / 2.0) / (last / 2.0 - first / 2.0);
    Ok(Value::Int(((part * count as f64) as i64).min(count - 1) + 1))
}

/// The bucket behind the last one.
fn behind<'a>(count: i64) -> Result<Value<'a>, Fault> {
    let last = count.checked_add(1).ok_or_else(|| Fault::out_of_range("bigint"))?;
    Ok(Value::Int(last))
}

fn check_count(count: i64) -> Result<(), Fault> {
    match count > 0 {
        true => Ok(()),
        false => Err(refused("width_bucket has one bucket or more").showing(Value::Int(count))),
    }
}

#[cold]
fn refused(message: &str) -> Fault {
    Fault::new(SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, message)
}
