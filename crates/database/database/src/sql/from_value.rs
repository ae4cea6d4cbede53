//! Values of rows as types of Rust.
//!
//! ```text
//!   row.get::<i64>("balance")          a column by its name
//!   row.get::<Option<&str>>(1)         by its place, from 0; NULL is none
//! ```
//!
//! Invariants
//!   * a conversion loses nothing: a number that a type can't hold exactly is refused
//!   * NULL is refused unless an `Option` is asked for
//!
//! Callers: `cursor`; applications, by their types.

use stop::{Refusal, RefusalKind, SqlState, Stop};
use value::{Date, Interval, Number, OwnedValue, Timestamp, Value};

/// A type that a value of a row can be asked for as.
pub trait FromValue<'v>: Sized {
    /// What the type is called in a refusal.
    const WANTED: &'static str;

    /// The value; none if it is of another kind, or can't be held exactly.
    fn from_value(value: Value<'v>) -> Option<Self>;

    /// What NULL is; none: NULL is refused.
    fn from_null() -> Option<Self> {
        None
    }
}

/// A column of a row: its place, from 0, or its name.
pub trait ColumnIndex: Copy {
    /// The place among columns of these names; an error if there is none, or if several columns
    /// have the name.
    fn place(self, names: &mut dyn ExactSizeIterator<Item = &str>) -> Result<usize, Stop>;
}

impl ColumnIndex for usize {
    fn place(self, names: &mut dyn ExactSizeIterator<Item = &str>) -> Result<usize, Stop> {
        match self < names.len() {
            true => Ok(self),
            false => {
                let message = format!(
                    "there is no column {self}: the row has {}, counted from 0",
                    names.len()
                );
                Err(refuse(SqlState::UNDEFINED_COLUMN, message))
            }
        }
    }
}

impl ColumnIndex for &str {
    fn place(self, names: &mut dyn ExactSizeIterator<Item = &str>) -> Result<usize, Stop> {
        let mut found = names.enumerate().filter(|(_, name)| *name == self);
        match (found.next(), found.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => {
                let message = format!("several columns are called {self}: name them apart by AS");
                Err(refuse(SqlState::AMBIGUOUS_COLUMN, message))
            }
            (None, _) => {
                let message = format!(
                    "the rows have no column {self}; a name without quotes is in lower case"
                );
                Err(refuse(SqlState::UNDEFINED_COLUMN, message))
            }
        }
    }
}

/// The value of a column as this type.
pub(super) fn converted<'v, T: FromValue<'v>>(value: Value<'v>, column: &str) -> Result<T, Stop> {
    if value.is_null() {
        return T::from_null().ok_or_else(|| {
            let message = format!("column {column} is NULL: ask for an Option");
            refuse(SqlState::NULL_VALUE_NOT_ALLOWED, message)
        });
    }
    T::from_value(value).ok_or_else(|| {
        let message = format!("column {column} can't be had as {}", T::WANTED);
        let refusal = Refusal::new(RefusalKind::Invalid, message);
        let refusal = refusal.with_state(SqlState::DATATYPE_MISMATCH);
        Stop::from(refusal.detail(format!("the value is {value}")))
    })
}

#[cold]
fn refuse(state: SqlState, message: String) -> Stop {
    Refusal::new(RefusalKind::Invalid, message).with_state(state).into()
}

/// The whole number that a value is.
fn whole(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(int) => Some(int),
        Value::Number(number) => {
            let whole = number.at_scale(0)?;
            i64::try_from(whole).ok()
        }
        _ => None,
    }
}

macro_rules! whole_numbers {
    ($($name:ty)+) => {
        $(
            impl<'v> FromValue<'v> for $name {
                const WANTED: &'static str = concat!("a whole number (", stringify!($name), ")");

                fn from_value(value: Value<'v>) -> Option<$name> {
                    whole(value).and_then(|int| <$name>::try_from(int).ok())
                }
            }
        )+
    };
}

whole_numbers! { i16 i32 i64 u16 u32 u64 usize }

impl<'v> FromValue<'v> for f64 {
    const WANTED: &'static str = "a floating-point number";

    fn from_value(value: Value<'v>) -> Option<f64> {
        match value {
            Value::Double(double) => Some(double),
            // A double holds whole numbers up to this exactly.
            Value::Int(int) if int.unsigned_abs() <= 1 << 53 => Some(int as f64),
            Value::Number(number) => {
                let double = number.to_f64();
                (Value::Double(double) == value).then_some(double)
            }
            _ => None,
        }
    }
}

impl<'v> FromValue<'v> for Number {
    const WANTED: &'static str = "a decimal";

    fn from_value(value: Value<'v>) -> Option<Number> {
        match value {
            Value::Number(number) => Some(number),
            Value::Int(int) => Some(Number::from(int)),
            _ => None,
        }
    }
}

impl<'v> FromValue<'v> for bool {
    const WANTED: &'static str = "a truth value";

    fn from_value(value: Value<'v>) -> Option<bool> {
        match value {
            Value::Boolean(is) => Some(is),
            _ => None,
        }
    }
}

impl<'v> FromValue<'v> for &'v str {
    const WANTED: &'static str = "a text";

    fn from_value(value: Value<'v>) -> Option<&'v str> {
        match value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'v> FromValue<'v> for String {
    const WANTED: &'static str = "a text";

    fn from_value(value: Value<'v>) -> Option<String> {
        <&str>::from_value(value).map(str::to_string)
    }
}

impl<'v> FromValue<'v> for &'v [u8] {
    const WANTED: &'static str = "bytes";

    fn from_value(value: Value<'v>) -> Option<&'v [u8]> {
        match value {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl<'v> FromValue<'v> for Vec<u8> {
    const WANTED: &'static str = "bytes";

    fn from_value(value: Value<'v>) -> Option<Vec<u8>> {
        <&[u8]>::from_value(value).map(<[u8]>::to_vec)
    }
}

impl<'v> FromValue<'v> for Date {
    const WANTED: &'static str = "a date";

    fn from_value(value: Value<'v>) -> Option<Date> {
        match value {
            Value::Date(day) => Some(day),
            _ => None,
        }
    }
}

impl<'v> FromValue<'v> for Timestamp {
    const WANTED: &'static str = "a timestamp";

    fn from_value(value: Value<'v>) -> Option<Timestamp> {
        match value {
            Value::Timestamp(moment) => Some(moment),
            Value::Date(day) => Some(Timestamp::midnight(day)),
            _ => None,
        }
    }
}

impl<'v> FromValue<'v> for Interval {
    const WANTED: &'static str = "a span of time";

    fn from_value(value: Value<'v>) -> Option<Interval> {
        match value {
            Value::Interval(span) => Some(span),
            _ => None,
        }
    }
}

impl<'v> FromValue<'v> for Value<'v> {
    const WANTED: &'static str = "a value";

    fn from_value(value: Value<'v>) -> Option<Value<'v>> {
        Some(value)
    }

    fn from_null() -> Option<Value<'v>> {
        Some(Value::Null)
    }
}

impl<'v> FromValue<'v> for OwnedValue {
    const WANTED: &'static str = "a value";

    fn from_value(value: Value<'v>) -> Option<OwnedValue> {
        Some(value.to_owned())
    }

    fn from_null() -> Option<OwnedValue> {
        Some(OwnedValue::NULL)
    }
}

impl<'v, T: FromValue<'v>> FromValue<'v> for Option<T> {
    const WANTED: &'static str = T::WANTED;

    fn from_value(value: Value<'v>) -> Option<Option<T>> {
        T::from_value(value).map(Some)
    }

    fn from_null() -> Option<Option<T>> {
        Some(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Value<'static> {
        Value::Number(text.parse().expect("a number"))
    }

    fn state<'v, T: FromValue<'v> + std::fmt::Debug>(value: Value<'v>) -> SqlState {
        converted::<T>(value, "c").expect_err("it is refused").state()
    }

    #[test]
    fn numbers_are_converted_if_nothing_is_lost() {
        assert_eq!(converted::<i64>(number("12.00"), "c").expect("whole"), 12);
        assert_eq!(converted::<i16>(Value::Int(7), "c").expect("small"), 7);
        assert_eq!(converted::<f64>(Value::Int(3), "c").expect("exact"), 3.0);
        assert_eq!(converted::<f64>(number("0.5"), "c").expect("exact"), 0.5);
        assert_eq!(state::<i64>(number("0.5")), SqlState::DATATYPE_MISMATCH);
        assert_eq!(state::<u32>(Value::Int(-1)), SqlState::DATATYPE_MISMATCH);
        assert_eq!(state::<f64>(Value::Int((1 << 53) + 1)), SqlState::DATATYPE_MISMATCH);
        assert_eq!(state::<i64>(Value::Text("1")), SqlState::DATATYPE_MISMATCH);
    }

    #[test]
    fn null_is_asked_for_as_an_option() {
        assert_eq!(converted::<Option<i64>>(Value::Null, "c").expect("none"), None);
        assert_eq!(converted::<Option<&str>>(Value::Text("a"), "c").expect("some"), Some("a"));
        assert_eq!(state::<i64>(Value::Null), SqlState::NULL_VALUE_NOT_ALLOWED);
    }

    #[test]
    fn a_column_is_named_or_numbered() {
        let names = ["id", "a", "a"];
        let place = |index: &str| index.place(&mut names.into_iter());
        assert_eq!(place("id").expect("there"), 0);
        assert_eq!(place("a").expect_err("two").state(), SqlState::AMBIGUOUS_COLUMN);
        assert_eq!(place("x").expect_err("none").state(), SqlState::UNDEFINED_COLUMN);
        assert_eq!(2_usize.place(&mut names.into_iter()).expect("there"), 2);
        assert!(3_usize.place(&mut names.into_iter()).is_err());
    }
}
