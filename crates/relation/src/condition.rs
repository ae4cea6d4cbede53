//! Conditions over one row, in SQL's three-valued logic: what a CHECK says.
//!
//! Callers: `definition`; the catalog stores them; SQL's CHECK is turned into them.

use std::cmp::Ordering;

use value::{OwnedValue, Value};

/// A condition.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Two values compared.
    Compare(Operand, Comparison, Operand),
    /// IS NULL.
    IsNull(Operand),
    /// All of these.
    And(Vec<Condition>),
    /// One of these at least.
    Or(Vec<Condition>),
    /// The opposite.
    Not(Box<Condition>),
}

/// What is compared.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A column of the row.
    Column(usize),
    /// A value.
    Constant(OwnedValue),
}

/// How.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// What a condition comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    /// It holds.
    True,
    /// It doesn't.
    False,
    /// A value that it asks for is NULL.
    Unknown,
}

/// How two values compare, those of different kinds of numbers, and of days and moments, made
/// alike; unknown if either is NULL, or they can't be compared.
pub(crate) fn compare(a: Value<'_>, b: Value<'_>) -> Option<Ordering> {
    use Value::{Date, Double, Int, Number, Timestamp};
    match (a, b) {
        (Int(a), Number(_)) => Number(a.into()).compare(b),
        (Number(_), Int(b)) => a.compare(Number(b.into())),
        (Int(a), Double(_)) => Double(a as f64).compare(b),
        (Double(_), Int(b)) => a.compare(Double(b as f64)),
        (Number(a), Double(_)) => Double(a.to_f64()).compare(b),
        (Double(_), Number(b)) => a.compare(Double(b.to_f64())),
        (Date(a), Timestamp(_)) => Timestamp(value::Timestamp::midnight(a)).compare(b),
        (Timestamp(_), Date(b)) => a.compare(Timestamp(value::Timestamp::midnight(b))),
        _ => a.compare(b),
    }
}
