//! Conditions over one row, in SQL's three-valued logic: what a CHECK says.
//!
//! Callers: `definition`; the catalog stores them; SQL's CHECK is turned into them.

use value::OwnedValue;

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
