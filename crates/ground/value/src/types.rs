//! The types of columns, as SQL writes them, and their four bytes in the catalog.
//!
//! ```text
//!   byte 0   1  2        3
//!   tag      first (LE)  second        NUMBER(p,s): p and s;  VARCHAR(n), CHAR(n): n and 0
//! ```
//!
//! Invariants
//!   * a `Type` is always one that may be declared: `Digits` and `Chars` are checked when made
//!   * a tag is never given to another type, and tag 0 is no type
//!
//! Callers: `fit`, `row`; the dictionary stores them.
//! Sources: Oracle Database SQL Language Reference, "Data Types", for NUMBER(p,s) and its limits.

use std::fmt;

use crate::{CHARS_MAX, Misfit, MisfitKind, Value};

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// Whole numbers of 16 bits.
    SmallInt,
    /// Whole numbers of 32 bits.
    Integer,
    /// Whole numbers of 64 bits.
    BigInt,
    /// `NUMBER(p,s)`: decimals with this precision and scale. `NUMBER`: any decimal of up to 38
    /// digits.
    Number(Option<Digits>),
    /// Binary floating point of 64 bits.
    Double,
    /// Text of up to this many characters.
    Varchar(Chars),
    /// Text of exactly this many characters. Shorter texts are padded with blanks, so trailing
    /// blanks don't count.
    Char(Chars),
    /// Text of any length up to [`crate::BYTES_MAX`].
    Text,
    /// Bytes, up to [`crate::BYTES_MAX`].
    Bytea,
    /// True or false.
    Boolean,
    /// A day.
    Date,
    /// A microsecond of a day, in no time zone.
    Timestamp,
}

/// Precision and scale of a `NUMBER(p,s)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Digits {
    precision: u8,
    scale: i8,
}

impl Digits {
    /// The number of digits, 1 to 38.
    pub fn precision(self) -> u8 {
        self.precision
    }

    /// The number of digits behind the point, -84 to 127. If negative, the number of zeros before
    /// the point.
    pub fn scale(self) -> i8 {
        self.scale
    }
}

/// The most characters (Unicode scalar values, not bytes) of a text, 1 to [`CHARS_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Chars(u16);

impl Chars {
    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }

    fn checked(count: u16) -> Option<Chars> {
        (1..=CHARS_MAX).contains(&count).then_some(Chars(count))
    }
}

const SCALES: std::ops::RangeInclusive<i32> = -84..=127;

impl Type {
    /// `NUMBER(p,s)`.
    pub fn number(precision: u32, scale: i32) -> Result<Type, Misfit> {
        if !(1..=38).contains(&precision) || !SCALES.contains(&scale) {
            let say = format!(
                "NUMBER({precision},{scale}) can't be declared: the precision is 1 to 38, the \
                 scale -84 to 127"
            );
            return Err(Misfit::new(MisfitKind::Type, say));
        }
        let precision = u8::try_from(precision).expect("38 at most, checked above");
        let scale = i8::try_from(scale).expect("-84 to 127, checked above");
        Ok(Type::Number(Some(Digits { precision, scale })))
    }

    /// `VARCHAR(n)`, n in characters.
    pub fn varchar(count: u16) -> Result<Type, Misfit> {
        let say = || Misfit::new(MisfitKind::Type, not_chars("VARCHAR", count));
        Chars::checked(count).map(Type::Varchar).ok_or_else(say)
    }

    /// `CHAR(n)`, n in characters.
    pub fn char(count: u16) -> Result<Type, Misfit> {
        let say = || Misfit::new(MisfitKind::Type, not_chars("CHAR", count));
        Chars::checked(count).map(Type::Char).ok_or_else(say)
    }

    /// Whether the values are whole numbers of fixed size.
    pub fn is_integer(self) -> bool {
        matches!(self, Type::SmallInt | Type::Integer | Type::BigInt)
    }

    /// Whether the values are texts.
    pub fn is_text(self) -> bool {
        matches!(self, Type::Varchar(_) | Type::Char(_) | Type::Text)
    }

    /// Whether values of columns of these types may be compared. For other pairs `=` would be false
    /// for all values, or mean different things by the index of one or the other. CHAR with VARCHAR
    /// is refused because a CHAR has no trailing blanks and a VARCHAR has.
    pub fn compares_with(self, other: Type) -> bool {
        self == other
            || (self.is_number() && other.is_number())
            || (self.is_text() && other.is_text() && self.is_char() == other.is_char())
            || (self.is_moment() && other.is_moment())
    }

    /// Whether the types can be compared and equal values of both have equal keys, so that a column
    /// of one may refer to a column of the other.
    pub fn shares_keys_with(self, other: Type) -> bool {
        let decimals = matches!((self, other), (Type::Number(_), Type::Number(_)));
        let integers = self.is_integer() && other.is_integer();
        let texts = self.is_text() && self.compares_with(other);
        self == other || integers || decimals || texts
    }

    /// Whether the key of a value says the value exactly, so that an index needn't look at the row
    /// to show it. The key of a double doesn't tell -0 from 0.
    pub fn key_is_reversible(self) -> bool {
        self != Type::Double
    }

    /// The value as it is compared with values of this type: a text compared with a CHAR loses its
    /// trailing blanks, because they mean nothing there.
    #[inline]
    pub fn as_compared(self, value: Value<'_>) -> Value<'_> {
        match (self, value) {
            (Type::Char(_), Value::Text(text)) => Value::Text(text.trim_end_matches(' ')),
            _ => value,
        }
    }

    /// Whether a value of this kind may be compared with values of this type.
    pub fn compares_with_value(self, value: Value<'_>) -> bool {
        match value {
            Value::Null => true,
            Value::Int(_) | Value::Number(_) | Value::Double(_) => self.is_number(),
            Value::Text(_) => self.is_text(),
            Value::Bytes(_) => self == Type::Bytea,
            Value::Boolean(_) => self == Type::Boolean,
            Value::Date(_) | Value::Timestamp(_) => self.is_moment(),
            Value::Interval(_) => false,
        }
    }

    fn is_number(self) -> bool {
        self.is_integer() || matches!(self, Type::Number(_) | Type::Double)
    }

    fn is_char(self) -> bool {
        matches!(self, Type::Char(_))
    }

    fn is_moment(self) -> bool {
        matches!(self, Type::Date | Type::Timestamp)
    }

    /// The four bytes of the type in the catalog.
    pub fn stored(self) -> [u8; 4] {
        let (tag, first, second) = match self {
            Type::SmallInt => (1, 0, 0),
            Type::Integer => (2, 0, 0),
            Type::BigInt => (3, 0, 0),
            Type::Number(None) => (4, 0, 0),
            Type::Number(Some(digits)) => (5, u16::from(digits.precision), digits.scale),
            Type::Double => (6, 0, 0),
            Type::Varchar(chars) => (7, chars.0, 0),
            Type::Char(chars) => (8, chars.0, 0),
            Type::Text => (9, 0, 0),
            Type::Bytea => (10, 0, 0),
            Type::Boolean => (11, 0, 0),
            Type::Date => (12, 0, 0),
            Type::Timestamp => (13, 0, 0),
        };
        let [low, high] = first.to_le_bytes();
        let [second] = second.to_le_bytes();
        [tag, low, high, second]
    }

    /// The type with these bytes; none if no type has them.
    pub fn from_stored(stored: [u8; 4]) -> Option<Type> {
        let [tag, low, high, second] = stored;
        let first = u16::from_le_bytes([low, high]);
        let second = i8::from_le_bytes([second]);
        let found = match tag {
            1 => Type::SmallInt,
            2 => Type::Integer,
            3 => Type::BigInt,
            4 => Type::Number(None),
            5 => Type::number(first.into(), second.into()).ok()?,
            6 => Type::Double,
            7 => Type::Varchar(Chars::checked(first)?),
            8 => Type::Char(Chars::checked(first)?),
            9 => Type::Text,
            10 => Type::Bytea,
            11 => Type::Boolean,
            12 => Type::Date,
            13 => Type::Timestamp,
            _ => return None,
        };
        (found.stored() == stored).then_some(found)
    }
}

fn not_chars(name: &str, count: u16) -> String {
    format!("{name}({count}) can't be declared: the length is 1 to {CHARS_MAX} characters")
}

/// Writes the type as SQL does.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::SmallInt => f.pad("SMALLINT"),
            Type::Integer => f.pad("INTEGER"),
            Type::BigInt => f.pad("BIGINT"),
            Type::Number(None) => f.pad("NUMBER"),
            Type::Number(Some(Digits { precision, scale: 0 })) => {
                f.pad(&format!("NUMBER({precision})"))
            }
            Type::Number(Some(Digits { precision, scale })) => {
                f.pad(&format!("NUMBER({precision},{scale})"))
            }
            Type::Double => f.pad("DOUBLE PRECISION"),
            Type::Varchar(chars) => f.pad(&format!("VARCHAR({})", chars.0)),
            Type::Char(chars) => f.pad(&format!("CHAR({})", chars.0)),
            Type::Text => f.pad("TEXT"),
            Type::Bytea => f.pad("BYTEA"),
            Type::Boolean => f.pad("BOOLEAN"),
            Type::Date => f.pad("DATE"),
            Type::Timestamp => f.pad("TIMESTAMP"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<(Type, &'static str, [u8; 4])> {
        vec![
            (Type::SmallInt, "SMALLINT", [1, 0, 0, 0]),
            (Type::Integer, "INTEGER", [2, 0, 0, 0]),
            (Type::BigInt, "BIGINT", [3, 0, 0, 0]),
            (Type::Number(None), "NUMBER", [4, 0, 0, 0]),
            (Type::number(10, 2).expect("may be declared"), "NUMBER(10,2)", [5, 10, 0, 2]),
            (Type::number(38, -84).expect("may be declared"), "NUMBER(38,-84)", [5, 38, 0, 172]),
            (Type::number(9, 0).expect("may be declared"), "NUMBER(9)", [5, 9, 0, 0]),
            (Type::Double, "DOUBLE PRECISION", [6, 0, 0, 0]),
            (Type::varchar(4000).expect("may be declared"), "VARCHAR(4000)", [7, 160, 15, 0]),
            (Type::char(3).expect("may be declared"), "CHAR(3)", [8, 3, 0, 0]),
            (Type::Text, "TEXT", [9, 0, 0, 0]),
            (Type::Bytea, "BYTEA", [10, 0, 0, 0]),
            (Type::Boolean, "BOOLEAN", [11, 0, 0, 0]),
            (Type::Date, "DATE", [12, 0, 0, 0]),
            (Type::Timestamp, "TIMESTAMP", [13, 0, 0, 0]),
        ]
    }

    #[test]
    fn each_type_is_stored_in_these_bytes_for_ever_and_written_as_in_sql() {
        for (one, text, stored) in all() {
            assert_eq!((one.stored(), one.to_string().as_str()), (stored, text));
            assert_eq!(Type::from_stored(stored), Some(one));
        }
    }

    #[test]
    fn bytes_that_no_type_is_stored_in_are_no_type() {
        let bad = [[0, 0, 0, 0], [14, 0, 0, 0], [1, 1, 0, 0], [5, 0, 0, 0], [5, 39, 0, 0]];
        let worse = [[5, 38, 0, 128], [5, 10, 1, 2], [7, 0, 0, 0], [7, 161, 15, 0], [8, 3, 0, 1]];
        for stored in bad.into_iter().chain(worse) {
            assert_eq!(Type::from_stored(stored), None, "{stored:?}");
        }
    }

    #[test]
    fn what_may_not_be_declared_is_refused_with_its_limits() {
        let say = |made: Result<Type, Misfit>| made.expect_err("not declarable").to_string();
        assert!(say(Type::number(0, 0)).contains("precision is 1 to 38"));
        assert!(say(Type::number(39, 0)).contains("NUMBER(39,0)"));
        assert!(say(Type::number(1, 128)).contains("-84 to 127"));
        assert!(say(Type::varchar(0)).contains("1 to 4000 characters"));
        assert!(say(Type::char(4001)).contains("CHAR(4001)"));
    }
}
