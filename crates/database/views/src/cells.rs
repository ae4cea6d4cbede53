//! Values of cells, as views show them.
//!
//! Callers: all views.

use ids::TxnId;
use os::ThreadId;
use value::{Timestamp, Value};
use waits::Nanos;

/// A number that isn't negative; the largest one if it is larger.
pub(crate) fn count(number: impl Into<u64>) -> Value<'static> {
    Value::Int(i64::try_from(number.into()).unwrap_or(i64::MAX))
}

/// A number of things in memory.
pub(crate) fn length(number: usize) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A value, or NULL.
pub(crate) fn or_null(value: Option<Value<'_>>) -> Value<'_> {
    value.unwrap_or(Value::Null)
}

/// A text, or NULL.
pub(crate) fn text_or_null(text: Option<&str>) -> Value<'_> {
    or_null(text.map(Value::Text))
}

/// `YES` or `NO`.
pub(crate) fn yes_no(is: bool) -> Value<'static> {
    Value::Text(if is { "YES" } else { "NO" })
}

/// `Y` or `N`.
pub(crate) fn y_n(is: bool) -> Value<'static> {
    Value::Text(if is { "Y" } else { "N" })
}

/// Whole microseconds.
pub(crate) fn micros(length: Nanos) -> Value<'static> {
    count(length.as_micros())
}

/// Whole centiseconds, Oracle's unit of most times.
pub(crate) fn centiseconds(length: Nanos) -> Value<'static> {
    count(length.0 / 10_000_000)
}

/// The mean in centiseconds, to a tenth of a microsecond; NULL of nothing.
pub(crate) fn mean_centiseconds(total: Nanos, number: u64) -> Value<'static> {
    match number {
        0 => Value::Null,
        number => Value::Double((total.0 as f64 / 100.0 / number as f64).round() / 1e5),
    }
}

/// A moment: microseconds since 1970-01-01 00:00 UTC.
pub(crate) fn moment(us: u64) -> Value<'static> {
    let at = i64::try_from(us).ok().and_then(Timestamp::from_us);
    or_null(at.map(Value::Timestamp))
}

/// The address of a session or process, by its thread: the key by which views join them.
pub(crate) fn address_of_thread(thread: ThreadId) -> String {
    format!("{:016X}", thread.0)
}

/// The address of a transaction: the key by which views join it.
pub(crate) fn address_of_transaction(id: TxnId) -> String {
    format!("{:04X}{:04X}{:08X}", id.segment, id.slot, id.sequence)
}

/// The digits of a `sql_id`.
const DIGITS: &[u8; 32] = b"0123456789abcdfghjkmnpqrstuvwxyz";

/// The `sql_id` with these 64 bits.
pub(crate) fn sql_id(number: u64) -> String {
    let digit = |place: u32| char::from(DIGITS[(number >> (5 * place) & 31) as usize]);
    (0..13).rev().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number and the name of a statement of an Oracle database.
    #[test]
    fn a_sql_id_has_thirteen_digits() {
        assert_eq!(sql_id(9_093_421_488_918_569_282), "7wckkp93ya8a2");
        assert_eq!(sql_id(0), "0000000000000");
        assert_eq!(sql_id(u64::MAX), "gzzzzzzzzzzzz");
    }

    #[test]
    fn times_are_in_the_units_of_their_columns() {
        let length = Nanos::from_millis(1_234);
        let shown = (micros(length), centiseconds(length));
        assert_eq!(shown, (Value::Int(1_234_000), Value::Int(123)));
        assert_eq!(mean_centiseconds(length, 0), Value::Null);
        assert_eq!(mean_centiseconds(length, 4), Value::Double(30.85));
        assert_eq!(mean_centiseconds(Nanos(1_000), 3), Value::Double(0.00003));
        let day = Timestamp::parse("2026-01-01").expect("a moment");
        assert_eq!(moment(day.us() as u64), Value::Timestamp(day));
        assert_eq!(moment(u64::MAX), Value::Null);
    }
}
