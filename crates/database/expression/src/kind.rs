//! The kinds of values that expressions have, known before a row is read.
//!
//! Invariants
//!   * a value of an expression is of the expression's kind, or NULL (rule EV1)
//!   * SMALLINT, INTEGER and BIGINT are one kind: whole numbers are computed in 64 bits
//!
//! Callers: `build`, `functions`; SQL, which asks for the kinds of its columns.
//! Sources: PostgreSQL's documentation, "Type Conversion", for what is converted by itself.

use std::fmt;

use stop::SqlState;
use value::{Type, Value};

use crate::Fault;

/// The static type of an expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// NULL, a literal in quotes, or a parameter that hasn't met another kind yet.
    Unknown,
    /// True or false.
    Boolean,
    /// A whole number of 64 bits.
    Whole,
    /// An exact decimal.
    Number,
    /// A binary floating-point number.
    Double,
    /// A text.
    Text,
    /// A text without trailing blanks: what a CHAR holds.
    Char,
    /// Bytes.
    Bytes,
    /// A day.
    Date,
    /// A microsecond of a day.
    Timestamp,
    /// A span of time.
    Interval,
}

/// The cost of a conversion that needs a CAST.
pub(crate) const IMPOSSIBLE: u32 = u32::MAX;

impl Kind {
    /// The kind of a value; NULL has none.
    pub fn of(value: Value<'_>) -> Kind {
        match value {
            Value::Null => Kind::Unknown,
            Value::Int(_) => Kind::Whole,
            Value::Number(_) => Kind::Number,
            Value::Double(_) => Kind::Double,
            Value::Text(_) => Kind::Text,
            Value::Bytes(_) => Kind::Bytes,
            Value::Boolean(_) => Kind::Boolean,
            Value::Date(_) => Kind::Date,
            Value::Timestamp(_) => Kind::Timestamp,
            Value::Interval(_) => Kind::Interval,
        }
    }

    /// The name in messages and of `pg_typeof`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unknown => "unknown",
            Kind::Boolean => "boolean",
            Kind::Whole => "bigint",
            Kind::Number => "number",
            Kind::Double => "double precision",
            Kind::Text => "text",
            Kind::Char => "character",
            Kind::Bytes => "bytea",
            Kind::Date => "date",
            Kind::Timestamp => "timestamp",
            Kind::Interval => "interval",
        }
    }

    /// The type of a column that takes all values of the kind; none for an interval and for what
    /// has no length (CHAR).
    pub fn column_type(self) -> Option<Type> {
        Some(match self {
            Kind::Boolean => Type::Boolean,
            Kind::Whole => Type::BigInt,
            Kind::Number => Type::Number(None),
            Kind::Double => Type::Double,
            Kind::Unknown | Kind::Text | Kind::Char => Type::Text,
            Kind::Bytes => Type::Bytea,
            Kind::Date => Type::Date,
            Kind::Timestamp => Type::Timestamp,
            Kind::Interval => return None,
        })
    }

    /// Whether the values are numbers.
    pub fn is_number(self) -> bool {
        matches!(self, Kind::Whole | Kind::Number | Kind::Double)
    }

    /// Whether the values are texts.
    pub fn is_text(self) -> bool {
        matches!(self, Kind::Text | Kind::Char)
    }

    /// Whether the values are days or moments.
    pub fn is_moment(self) -> bool {
        matches!(self, Kind::Date | Kind::Timestamp)
    }

    /// The kind of a CASE, a COALESCE or a column of UNION or VALUES whose parts have these kinds;
    /// `what` names the construct in the refusal. All unknown: a text, as in PostgreSQL.
    pub fn unify(what: &str, kinds: impl IntoIterator<Item = Kind>) -> Result<Kind, Fault> {
        let mut found = Kind::Unknown;
        for kind in kinds {
            found = found.with(kind).ok_or_else(|| {
                let say = format!("{what} can't have the kinds {found} and {kind} together");
                Fault::new(SqlState::DATATYPE_MISMATCH, say)
                    .with_hint("make one of the other with CAST")
            })?;
        }
        Ok(if found == Kind::Unknown { Kind::Text } else { found })
    }

    /// The kind that both become without a CAST; none if there is none.
    pub fn with(self, other: Kind) -> Option<Kind> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Kind::Unknown, kind) | (kind, Kind::Unknown) => Some(kind),
            (a, b) if a.is_number() && b.is_number() => Some(a.max(b)),
            (a, b) if a.is_text() && b.is_text() => Some(Kind::Text),
            (a, b) if a.is_moment() && b.is_moment() => Some(Kind::Timestamp),
            _ => None,
        }
    }

    /// What it costs to use this kind where `wanted` is asked for, without a CAST. `Unknown` takes
    /// all.
    pub(crate) fn cost_as(self, wanted: Kind) -> u32 {
        match (self, wanted) {
            (a, b) if a == b => 0,
            (_, Kind::Unknown) => 1,
            // A literal in quotes is a text if it may be one, as in PostgreSQL.
            (Kind::Unknown, Kind::Text) => 1,
            (Kind::Unknown, Kind::Double | Kind::Timestamp) => 2,
            (Kind::Unknown, _) => 3,
            (Kind::Whole, Kind::Double) | (Kind::Number, Kind::Double) => 1,
            (Kind::Whole, Kind::Number) => 2,
            (Kind::Char, Kind::Text) | (Kind::Date, Kind::Timestamp) => 1,
            _ => IMPOSSIBLE,
        }
    }
}

impl From<Type> for Kind {
    fn from(of: Type) -> Kind {
        match of {
            Type::SmallInt | Type::Integer | Type::BigInt => Kind::Whole,
            Type::Number(_) => Kind::Number,
            Type::Double => Kind::Double,
            Type::Varchar(_) | Type::Text => Kind::Text,
            Type::Char(_) => Kind::Char,
            Type::Bytea => Kind::Bytes,
            Type::Boolean => Kind::Boolean,
            Type::Date => Kind::Date,
            Type::Timestamp => Kind::Timestamp,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_case_meet_in_one_kind_or_are_refused() {
        let unify = |kinds: &[Kind]| Kind::unify("CASE", kinds.iter().copied()).ok();
        assert_eq!(unify(&[Kind::Whole, Kind::Number]), Some(Kind::Number));
        assert_eq!(unify(&[Kind::Double, Kind::Whole, Kind::Unknown]), Some(Kind::Double));
        assert_eq!(unify(&[Kind::Unknown, Kind::Unknown]), Some(Kind::Text));
        assert_eq!(unify(&[]), Some(Kind::Text));
        assert_eq!(unify(&[Kind::Char, Kind::Char]), Some(Kind::Char));
        assert_eq!(unify(&[Kind::Char, Kind::Text]), Some(Kind::Text));
        assert_eq!(unify(&[Kind::Timestamp, Kind::Date]), Some(Kind::Timestamp));
        assert_eq!(unify(&[Kind::Text, Kind::Whole]), None);
        assert_eq!(unify(&[Kind::Interval, Kind::Date]), None);
    }
}
