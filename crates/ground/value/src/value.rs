//! Values, borrowed and owned, and how they compare.
//!
//! Invariants
//!   * a `Value` is copied, not cloned: it has 24 bytes; texts and bytes borrow from the row
//!   * texts compare by their bytes (a binary collation); doubles have a total order in which -0
//!     equals 0 and NaN equals itself and is the largest, as in PostgreSQL
//!   * an empty text is a text and not NULL, as in the SQL standard and unlike in Oracle
//!   * numbers of different kinds have one order, in which a double is the number that
//!     [`Number::from_f64`] makes of it (rule VA9)
//!
//! Callers: all code that handles columns.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::{Date, Interval, Number, Timestamp};

/// The value of one column of one row.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// NULL, an unknown value.
    Null,
    /// A value of SMALLINT, INTEGER or BIGINT.
    Int(i64),
    /// A value of NUMBER.
    Number(Number),
    /// A value of DOUBLE PRECISION.
    Double(f64),
    /// A value of VARCHAR, CHAR (without its trailing blanks) or TEXT.
    Text(&'a str),
    /// A value of BYTEA.
    Bytes(&'a [u8]),
    /// A value of BOOLEAN.
    Boolean(bool),
    /// A value of DATE.
    Date(Date),
    /// A value of TIMESTAMP.
    Timestamp(Timestamp),
    /// A span of time, which no column holds.
    Interval(Interval),
}

const _: () = assert!(size_of::<Value<'_>>() == 24);

impl Value<'_> {
    /// Whether the value is NULL.
    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self, Value::Null)
    }

    /// Compares two values as SQL does (VA9): numbers of all kinds by their amount; a day with a
    /// moment as its midnight. The result is unknown (none) if either is NULL, or if they can't be
    /// compared. The texts of a CHAR must come without their trailing blanks
    /// ([`crate::Type::as_compared`]).
    pub fn compare(self, other: Value<'_>) -> Option<Ordering> {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(&b)),
            (Value::Int(a), Value::Number(b)) => Some(Number::from(a).cmp(&b)),
            (Value::Number(a), Value::Int(b)) => Some(a.cmp(&b.into())),
            (Value::Int(a), Value::Double(b)) => Some(compare_with_double(a.into(), b)),
            (Value::Double(a), Value::Int(b)) => Some(compare_with_double(b.into(), a).reverse()),
            (Value::Number(a), Value::Double(b)) => Some(compare_with_double(a, b)),
            (Value::Double(a), Value::Number(b)) => Some(compare_with_double(b, a).reverse()),
            (Value::Date(a), Value::Timestamp(b)) => Some(Timestamp::midnight(a).cmp(&b)),
            (Value::Timestamp(a), Value::Date(b)) => Some(a.cmp(&Timestamp::midnight(b))),
            (Value::Number(a), Value::Number(b)) => Some(a.cmp(&b)),
            (Value::Double(a), Value::Double(b)) => Some(sortable(a).cmp(&sortable(b))),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
            (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(&b)),
            (Value::Date(a), Value::Date(b)) => Some(a.cmp(&b)),
            (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(&b)),
            (Value::Interval(a), Value::Interval(b)) => Some(a.cmp(&b)),
            _ => None,
        }
    }

    /// Hashes the value, so that values that compare as equal have one hash (VA20): 1 as a whole
    /// number, a decimal and a double, 0.0 and -0.0, every NaN, a day and its midnight. The texts
    /// of a CHAR must come without their trailing blanks.
    pub fn hash_into(self, state: &mut impl Hasher) {
        match self {
            Value::Null => state.write_u8(Hashed::NULL),
            Value::Int(int) => {
                state.write_u8(Hashed::WHOLE);
                state.write_i64(int);
            }
            Value::Number(number) => hash_number(number, state),
            Value::Double(double) => hash_double(double, state),
            Value::Text(text) => {
                state.write_u8(Hashed::TEXT);
                // The end of a text is marked, so that two columns don't run into each other.
                text.hash(state);
            }
            Value::Bytes(bytes) => {
                state.write_u8(Hashed::BYTES);
                bytes.hash(state);
            }
            Value::Boolean(is) => {
                state.write_u8(Hashed::BOOLEAN);
                state.write_u8(is.into());
            }
            Value::Date(day) => Value::Timestamp(Timestamp::midnight(day)).hash_into(state),
            Value::Timestamp(moment) => {
                state.write_u8(Hashed::MOMENT);
                state.write_i64(moment.us());
            }
            Value::Interval(span) => {
                state.write_u8(Hashed::SPAN);
                span.hash(state);
            }
        }
    }

    /// A copy that borrows nothing.
    pub fn to_owned(self) -> OwnedValue {
        OwnedValue(match self {
            Value::Null => Owned::Plain(Value::Null),
            Value::Int(value) => Owned::Plain(Value::Int(value)),
            Value::Number(value) => Owned::Plain(Value::Number(value)),
            Value::Double(value) => Owned::Plain(Value::Double(value)),
            Value::Text(text) => Owned::Text(text.into()),
            Value::Bytes(bytes) => Owned::Bytes(bytes.into()),
            Value::Boolean(value) => Owned::Plain(Value::Boolean(value)),
            Value::Date(value) => Owned::Plain(Value::Date(value)),
            Value::Timestamp(value) => Owned::Plain(Value::Timestamp(value)),
            Value::Interval(value) => Owned::Plain(Value::Interval(value)),
        })
    }

    /// The kind of the value, for messages.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Value::Null => "NULL",
            Value::Int(_) => "a whole number",
            Value::Number(_) => "a number",
            Value::Double(_) => "a floating-point number",
            Value::Text(_) => "a text",
            Value::Bytes(_) => "a binary value",
            Value::Boolean(_) => "a truth value",
            Value::Date(_) => "a date",
            Value::Timestamp(_) => "a timestamp",
            Value::Interval(_) => "an interval",
        }
    }
}

/// The first byte of what is hashed.
struct Hashed;

impl Hashed {
    const NULL: u8 = 0;
    /// A whole number of 64 bits, whatever its kind.
    const WHOLE: u8 = 1;
    /// Any other decimal.
    const DECIMAL: u8 = 2;
    /// A double that equals no decimal.
    const DOUBLE: u8 = 3;
    const TEXT: u8 = 4;
    const BYTES: u8 = 5;
    const BOOLEAN: u8 = 6;
    const MOMENT: u8 = 7;
    const SPAN: u8 = 8;
}

fn hash_number(number: Number, state: &mut impl Hasher) {
    match number.at_scale(0).map(i64::try_from) {
        Some(Ok(int)) => Value::Int(int).hash_into(state),
        _ => {
            state.write_u8(Hashed::DECIMAL);
            number.hash(state);
        }
    }
}

fn hash_double(double: f64, state: &mut impl Hasher) {
    match Number::from_f64(double) {
        // The comparison of a double with a decimal asks for both.
        Ok(nearest) if sortable(nearest.to_f64()) == sortable(double) => {
            hash_number(nearest, state);
        }
        _ => {
            state.write_u8(Hashed::DOUBLE);
            state.write_u64(sortable(double));
        }
    }
}

/// Compares a decimal with a double. A double has at most 17 digits, or is a whole number. So every
/// double is a decimal, except beyond the largest and below the smallest decimals.
fn compare_with_double(number: Number, double: f64) -> Ordering {
    match Number::from_f64(double) {
        Ok(nearest) => {
            let from_nearest = || sortable(nearest.to_f64()).cmp(&sortable(double));
            number.cmp(&nearest).then_with(from_nearest)
        }
        Err(_) if double < 0.0 => Ordering::Greater,
        // NaN is above all numbers.
        Err(_) => Ordering::Less,
    }
}

/// A whole number that compares as the double does: NaN is the largest, and -0 equals 0.
pub(crate) fn sortable(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    // Adding zero turns -0 into 0 and changes nothing else.
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// Whether the values are identical: NULL equals NULL here, unlike in SQL (see [`Value::compare`]).
impl PartialEq for Value<'_> {
    fn eq(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            _ => self.compare(*other) == Some(Ordering::Equal),
        }
    }
}

impl Eq for Value<'_> {}

/// Writes the value as a literal in SQL.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Number(value) => write!(f, "{value}"),
            Value::Double(value) => write!(f, "{value:?}"),
            Value::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Value::Bytes(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
            Value::Boolean(true) => f.write_str("TRUE"),
            Value::Boolean(false) => f.write_str("FALSE"),
            Value::Date(date) => write!(f, "DATE '{date}'"),
            Value::Timestamp(moment) => write!(f, "TIMESTAMP '{moment}'"),
            Value::Interval(span) => write!(f, "INTERVAL '{span}'"),
        }
    }
}

#[derive(Clone, Debug)]
enum Owned {
    /// A value other than a text or bytes.
    Plain(Value<'static>),
    Text(Box<str>),
    Bytes(Box<[u8]>),
}

/// A value that borrows nothing.
#[derive(Clone, Debug)]
pub struct OwnedValue(Owned);

impl OwnedValue {
    /// NULL.
    pub const NULL: OwnedValue = OwnedValue(Owned::Plain(Value::Null));

    /// The value, borrowed.
    pub fn get(&self) -> Value<'_> {
        match &self.0 {
            Owned::Plain(value) => *value,
            Owned::Text(text) => Value::Text(text),
            Owned::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

impl PartialEq for OwnedValue {
    fn eq(&self, other: &OwnedValue) -> bool {
        self.get() == other.get()
    }
}

impl Eq for OwnedValue {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_have_a_total_order_with_one_zero_and_nan_on_top() {
        let rising = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.0,
            -f64::MIN_POSITIVE,
            -5e-324,
            0.0,
            5e-324,
            1.0,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        for (i, a) in rising.iter().enumerate() {
            for (j, b) in rising.iter().enumerate() {
                let found = Value::Double(*a).compare(Value::Double(*b));
                assert_eq!(found, Some(i.cmp(&j)), "{a} {b}");
            }
        }
        assert_eq!(Value::Double(-0.0), Value::Double(0.0));
        assert_eq!(Value::Double(-f64::NAN), Value::Double(f64::NAN));
    }

    #[test]
    fn null_and_other_kinds_compare_as_unknown() {
        assert_eq!(Value::Null.compare(Value::Null), None);
        assert_eq!(Value::Int(1).compare(Value::Null), None);
        assert_eq!(Value::Int(1).compare(Value::Text("1")), None);
        assert_eq!(Value::Null, Value::Null);
        assert_ne!(Value::Null, Value::Int(0));
    }

    /// For any three values, a <= b and b <= c imply a <= c, also where doubles have gaps and where
    /// decimals end.
    #[test]
    fn numbers_of_all_kinds_have_one_order() {
        let number = |text: &str| Value::Number(text.parse().expect("a number"));
        let mut all = vec![number("0.1"), number("0.10000000000000000555"), number("1e-128")];
        for middle in [0, 1, -1, 1 << 53, -(1 << 53), 1 << 60, i64::MAX - 512, i64::MIN + 512] {
            for int in middle - 2..=middle + 2 {
                let double = Value::Double(int as f64);
                all.extend([Value::Int(int), Value::Number(int.into()), double]);
            }
        }
        for double in [0.1, 0.5, -0.0, 1e22, 1e23, 1e37, 1e38, 1.5e100, 1e121, 1e122, 1e300, 1e-127]
        {
            all.extend([Value::Double(double), Value::Double(-double)]);
        }
        all.extend([1e-200, 5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(Value::Double));
        all.extend(["1e22", "1e23", "1e37", "1e38", "1e121", "-1e121"].map(number));
        let order = |a: Value<'_>, b: Value<'_>| a.compare(b).expect("all are numbers");
        for a in &all {
            assert_eq!(order(*a, *a), Ordering::Equal, "{a}");
            for b in &all {
                assert_eq!(order(*a, *b), order(*b, *a).reverse(), "{a} {b}");
                for c in &all {
                    if order(*a, *b).is_le() && order(*b, *c).is_le() {
                        assert!(order(*a, *c).is_le(), "{a} {b} {c}");
                    }
                }
            }
        }
        assert_eq!(
            order(Value::Int((1 << 53) + 1), Value::Double(9_007_199_254_740_992.0)),
            Ordering::Greater
        );
        assert_eq!(order(number("0.1"), Value::Double(0.1)), Ordering::Equal);
    }

    /// What compares as equal has one hash, whatever the kinds (PROTOCOLS X9).
    #[test]
    fn equal_values_have_one_hash() {
        let hash = |value: Value<'_>| {
            let mut hasher = std::hash::DefaultHasher::new();
            value.hash_into(&mut hasher);
            hasher.finish()
        };
        let day = Date::parse("2026-11-22").expect("a day");
        let mut all = vec![
            Value::Null,
            Value::Text(""),
            Value::Text("1"),
            Value::Bytes(b"1"),
            Value::Boolean(true),
            Value::Date(day),
            Value::Timestamp(Timestamp::midnight(day)),
            Value::Interval(Interval::new(1, 0, 0)),
            Value::Interval(Interval::new(0, 30, 0)),
            Value::Double(f64::NAN),
            Value::Double(-f64::NAN),
            Value::Double(f64::INFINITY),
            Value::Double(5e-324),
            Value::Double(1e300),
        ];
        for text in ["0", "1", "1.00", "-1", "0.1", "1e19", "1e37", "1e100", "9223372036854775807"]
        {
            let decimal: Number = text.parse().expect("a number");
            all.extend([Value::Number(decimal), Value::Double(decimal.to_f64())]);
            all.extend(decimal.at_scale(0).and_then(|int| i64::try_from(int).ok()).map(Value::Int));
        }
        all.push(Value::Double(-0.0));
        let mut equal = 0;
        for a in &all {
            for b in &all {
                if a == b {
                    equal += 1;
                    assert_eq!(hash(*a), hash(*b), "{a} {b}");
                }
            }
        }
        assert!(equal > all.len());
    }

    #[test]
    fn values_are_written_as_literals() {
        let day = Date::parse("2026-11-22").expect("a day");
        let all = [
            (Value::Null, "NULL"),
            (Value::Int(-5), "-5"),
            (Value::Number("1.50".parse().expect("a number")), "1.5"),
            (Value::Double(1.0), "1.0"),
            (Value::Text("it's"), "'it''s'"),
            (Value::Bytes(&[0, 255]), "X'00ff'"),
            (Value::Boolean(true), "TRUE"),
            (Value::Date(day), "DATE '2026-11-22'"),
            (Value::Timestamp(Timestamp::midnight(day)), "TIMESTAMP '2026-11-22 00:00:00'"),
            (Value::Interval(Interval::new(1, 0, 0)), "INTERVAL '1 mon'"),
        ];
        for (value, text) in all {
            assert_eq!(value.to_string(), text);
            assert_eq!(value.to_owned().get(), value);
        }
    }
}
