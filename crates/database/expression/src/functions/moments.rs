//! Functions of days, moments and spans.
//!
//! There are no time zones: moments are in UTC, and now() is too.
//!
//! Callers: the table of functions.
//! Sources: PostgreSQL's documentation, "Date/Time Functions and Operators"; Oracle's for
//! `add_months`, `last_day`, `months_between` and `sysdate`.

use stop::SqlState;
use value::{Date, Interval, Number, Part, Timestamp, Value};

use super::{Entry, entry, unexpected};
use crate::arithmetic::{moment_of, span_too_long};
use crate::{Evaluation, Fault, Kind};

const TEXT: Kind = Kind::Text;
const WHOLE: Kind = Kind::Whole;
const NUMBER: Kind = Kind::Number;
const DOUBLE: Kind = Kind::Double;
const DATE: Kind = Kind::Date;
const TIMESTAMP: Kind = Kind::Timestamp;
const INTERVAL: Kind = Kind::Interval;

/// The microseconds of a day, and of an hour.
const DAY_US: i64 = 24 * HOUR_US;
const HOUR_US: i64 = 3_600_000_000;

pub(super) const TABLE: &[Entry] = &[
    entry("now", &[], TIMESTAMP, now).stable(),
    entry("current_timestamp", &[], TIMESTAMP, now).stable(),
    entry("current_timestamp", &[WHOLE], TIMESTAMP, now_to).stable(),
    entry("localtimestamp", &[], TIMESTAMP, now).stable(),
    entry("localtimestamp", &[WHOLE], TIMESTAMP, now_to).stable(),
    entry("timestamp", &[TIMESTAMP, WHOLE], TIMESTAMP, to_digits),
    entry("transaction_timestamp", &[], TIMESTAMP, now).stable(),
    entry("statement_timestamp", &[], TIMESTAMP, now).stable(),
    entry("systimestamp", &[], TIMESTAMP, now).stable(),
    entry("sysdate", &[], TIMESTAMP, sysdate).stable(),
    entry("current_date", &[], DATE, current_date).stable(),
    entry("date_trunc", &[TEXT, TIMESTAMP], TIMESTAMP, date_trunc),
    entry("date_trunc", &[TEXT, INTERVAL], INTERVAL, date_trunc),
    entry("extract", &[TEXT, TIMESTAMP], NUMBER, extract),
    entry("extract", &[TEXT, DATE], NUMBER, extract),
    entry("extract", &[TEXT, INTERVAL], NUMBER, extract),
    entry("date_part", &[TEXT, TIMESTAMP], DOUBLE, date_part),
    entry("date_part", &[TEXT, DATE], DOUBLE, date_part),
    entry("date_part", &[TEXT, INTERVAL], DOUBLE, date_part),
    entry("age", &[TIMESTAMP, TIMESTAMP], INTERVAL, age),
    entry("age", &[TIMESTAMP], INTERVAL, age_today).stable(),
    entry("add_months", &[DATE, WHOLE], DATE, add_months),
    entry("add_months", &[TIMESTAMP, WHOLE], TIMESTAMP, add_months),
    entry("last_day", &[DATE], DATE, last_day),
    entry("last_day", &[TIMESTAMP], TIMESTAMP, last_day),
    entry("months_between", &[TIMESTAMP, TIMESTAMP], NUMBER, months_between),
    entry("make_date", &[WHOLE, WHOLE, WHOLE], DATE, make_date),
    entry(
        "make_timestamp",
        &[WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, DOUBLE],
        TIMESTAMP,
        make_timestamp,
    ),
    entry("date_bin", &[INTERVAL, TIMESTAMP, TIMESTAMP], TIMESTAMP, date_bin),
    entry("isfinite", &[DATE], Kind::Boolean, is_finite),
    entry("isfinite", &[TIMESTAMP], Kind::Boolean, is_finite),
    entry("isfinite", &[INTERVAL], Kind::Boolean, is_finite),
    entry(
        "make_interval",
        &[WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, DOUBLE],
        INTERVAL,
        make_interval,
    ),
    entry("justify_hours", &[INTERVAL], INTERVAL, justify_hours),
    entry("justify_days", &[INTERVAL], INTERVAL, justify_days),
    entry("justify_interval", &[INTERVAL], INTERVAL, justify_interval),
];

fn now<'a>(_: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Timestamp(with.moment))
}

/// The moment, with so many digits of a second.
fn now_to<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Int(digits)] = *arguments else { unexpected(arguments) };
    rounded(with.moment, digits).map(Value::Timestamp)
}

/// `timestamp(moment, digits)`, which is a CAST to TIMESTAMP(digits).
fn to_digits<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Timestamp(moment), Value::Int(digits)] = *arguments else { unexpected(arguments) };
    rounded(moment, digits).map(Value::Timestamp)
}

/// A moment that is rounded to so many digits of a second; it has six at most.
fn rounded(moment: Timestamp, digits: i64) -> Result<Timestamp, Fault> {
    if digits < 0 {
        let say = "a moment has no digits fewer than none";
        return Err(Fault::parameter(say).showing(Value::Int(digits)));
    }
    let unit = (digits..6).fold(1, |unit: i64, _| unit * 10);
    let us = (moment.us() + unit / 2).div_euclid(unit) * unit;
    Timestamp::from_us(us).ok_or_else(|| Fault::outside_calendar("timestamp"))
}

/// The moment, to the second.
fn sysdate<'a>(_: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let second = with.moment.truncate(Part::Second);
    Ok(Value::Timestamp(second.expect("a moment has a second in which it lies")))
}

fn current_date<'a>(_: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Date(with.moment.date()))
}

/// The part of that name.
fn part_of(name: &str) -> Result<Part, Fault> {
    Part::parse(name).ok_or_else(|| {
        Fault::parameter("unit not recognized")
            .showing(Value::Text(name))
            .with_hint("units are year, month, day, hour, minute, second, week, quarter, epoch ...")
    })
}

/// A part that values of the kind don't have.
#[cold]
fn no_part(part: Part, of: Value<'_>) -> Fault {
    let say = format!("unit {part} not supported for type {}", Kind::of(of));
    Fault::new(SqlState::FEATURE_NOT_SUPPORTED, say)
}

fn date_trunc<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(name), of] = *arguments else { unexpected(arguments) };
    let part = part_of(name)?;
    match of {
        Value::Timestamp(moment) => {
            let is_unit = !matches!(
                part,
                Part::Dow | Part::Isodow | Part::Doy | Part::Isoyear | Part::Epoch | Part::Julian
            );
            if !is_unit {
                return Err(no_part(part, of));
            }
            let first = moment.truncate(part);
            first.map(Value::Timestamp).ok_or_else(|| Fault::outside_calendar("timestamp"))
        }
        Value::Interval(span) => {
            span.without_below(part).map(Value::Interval).ok_or_else(|| no_part(part, of))
        }
        _ => unexpected(arguments),
    }
}

/// The value of a part of a day, a moment or a span.
fn part_in(arguments: &[Value<'_>]) -> Result<Number, Fault> {
    let [Value::Text(name), of] = *arguments else { unexpected(arguments) };
    let part = part_of(name)?;
    match of {
        Value::Timestamp(moment) => Ok(moment.part(part)),
        Value::Date(day) if part.is_of_days() => Ok(day.part(part)),
        Value::Date(_) => Err(no_part(part, of)),
        Value::Interval(span) => span.part(part).ok_or_else(|| no_part(part, of)),
        _ => unexpected(arguments),
    }
}

fn extract<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    part_in(arguments).map(Value::Number)
}

fn date_part<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Double(part_in(arguments)?.to_f64()))
}

fn age<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Timestamp(of), Value::Timestamp(from)] = *arguments else { unexpected(arguments) };
    Ok(Value::Interval(of.age(from)))
}

fn age_today<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Timestamp(from)] = *arguments else { unexpected(arguments) };
    let today = Timestamp::midnight(with.moment.date());
    Ok(Value::Interval(today.age(from)))
}

fn add_months<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [of, Value::Int(months)] = *arguments else { unexpected(arguments) };
    let Some(moment) = moment_of(of) else { unexpected(arguments) };
    let later = moment.checked_add_months_keeping_last(months);
    let later = later.ok_or_else(|| Fault::outside_calendar("date"))?;
    Ok(match of {
        Value::Date(_) => Value::Date(later.date()),
        _ => Value::Timestamp(later),
    })
}

fn last_day<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Date(day)] => Ok(Value::Date(day.last_of_month())),
        [Value::Timestamp(moment)] => {
            // The time of day stays.
            let by = moment.date().last_of_month().days() - moment.date().days();
            let last = moment.checked_add(Interval::new(0, by, 0));
            last.map(Value::Timestamp).ok_or_else(|| Fault::outside_calendar("timestamp"))
        }
        _ => unexpected(arguments),
    }
}

fn months_between<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Timestamp(of), Value::Timestamp(from)] = *arguments else { unexpected(arguments) };
    Ok(Value::Number(of.months_since(from)))
}

/// The day of these numbers.
fn day_of(year: i64, month: i64, day: i64) -> Result<Date, Fault> {
    let small = |number: i64| u32::try_from(number).ok();
    let found = i32::try_from(year).ok().zip(small(month)).zip(small(day));
    let found = found.and_then(|((year, month), day)| Date::from_calendar(year, month, day));
    found.ok_or_else(|| {
        Fault::outside_calendar("date field value")
            .with_detail(format!("the day is {year}-{month}-{day}"))
    })
}

fn make_date<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Int(year), Value::Int(month), Value::Int(day)] = *arguments else {
        unexpected(arguments)
    };
    day_of(year, month, day).map(Value::Date)
}

fn make_timestamp<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [
        Value::Int(year),
        Value::Int(month),
        Value::Int(day),
        Value::Int(hour),
        Value::Int(minute),
        Value::Double(second),
    ] = *arguments
    else {
        unexpected(arguments)
    };
    let midnight = Timestamp::midnight(day_of(year, month, day)?);
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute);
    if !is_time || !(0.0..60.0).contains(&second) {
        return Err(Fault::new(SqlState::DATETIME_FIELD_OVERFLOW, "time field value out of range"));
    }
    let us = (hour * 3600 + minute * 60) * 1_000_000 + (second * 1e6).round_ties_even() as i64;
    let moment = Timestamp::from_us(midnight.us() + us);
    moment.map(Value::Timestamp).ok_or_else(|| Fault::outside_calendar("timestamp"))
}

/// The first moment of the span in which a moment lies, if spans follow one another from an origin.
fn date_bin<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Interval(span), Value::Timestamp(of), Value::Timestamp(origin)] = *arguments else {
        unexpected(arguments)
    };
    if span.months() != 0 {
        let say = "date_bin takes no months or years, which aren't equally long";
        return Err(Fault::new(SqlState::FEATURE_NOT_SUPPORTED, say));
    }
    let width = i128::from(span.days()) * i128::from(DAY_US) + i128::from(span.us());
    if width <= 0 {
        let say = "date_bin takes spans longer than nothing";
        return Err(Fault::new(SqlState::DATETIME_FIELD_OVERFLOW, say));
    }
    let (of, origin) = (i128::from(of.us()), i128::from(origin.us()));
    let first = origin + (of - origin).div_euclid(width) * width;
    let moment = i64::try_from(first).ok().and_then(Timestamp::from_us);
    moment.map(Value::Timestamp).ok_or_else(|| Fault::outside_calendar("timestamp"))
}

/// All days, moments and spans are.
fn is_finite<'a>(_: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Boolean(true))
}

/// `make_interval(years, months, weeks, days, hours, mins, secs)`.
fn make_interval<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [
        Value::Int(years),
        Value::Int(months),
        Value::Int(weeks),
        Value::Int(days),
        Value::Int(hours),
        Value::Int(minutes),
        Value::Double(seconds),
    ] = *arguments
    else {
        unexpected(arguments)
    };
    let sum = |many: i64, unit: i64, others: i64| many.checked_mul(unit)?.checked_add(others);
    let small = |number: i64| i32::try_from(number).ok();
    let us = (seconds * 1e6).round_ties_even();
    // Far less than 2^63.
    let us = (us.abs() < 1e18).then_some(us as i64);
    let made = || {
        let us = sum(hours, HOUR_US, sum(minutes, HOUR_US / 60, us?)?)?;
        let (months, days) = (sum(years, 12, months)?, sum(weeks, 7, days)?);
        Some(Interval::new(small(months)?, small(days)?, us))
    };
    made().map(Value::Interval).ok_or_else(span_too_long)
}

fn justify_hours<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Interval(span)] = *arguments else { unexpected(arguments) };
    span.justify_hours().map(Value::Interval).ok_or_else(span_too_long)
}

fn justify_days<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Interval(span)] = *arguments else { unexpected(arguments) };
    span.justify_days().map(Value::Interval).ok_or_else(span_too_long)
}

fn justify_interval<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Interval(span)] = *arguments else { unexpected(arguments) };
    span.justify().map(Value::Interval).ok_or_else(span_too_long)
}
