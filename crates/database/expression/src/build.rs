//! Makes expressions of typed parts, and puts the CASTs in that SQL leaves out.
//! (Signatures; the bodies follow.)

use value::{Type, Value};

use crate::{CastTo, Comparison, Expression, Fault, Kind, Operator, Question};

/// An expression and the kind of its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Typed {
    /// The expression.
    pub expression: Expression,
    /// The kind.
    pub kind: Kind,
}

/// WHEN ... THEN of a CASE.
#[derive(Clone, Debug)]
pub struct TypedBranch {
    /// The condition, or the value that the operand is compared with.
    pub when: Typed,
    /// The result.
    pub then: Typed,
}

/// How a LIKE looks at texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LikeOptions {
    /// ILIKE.
    pub ignore_case: bool,
    /// NOT LIKE.
    pub negated: bool,
}

impl Typed {
    /// An expression of that kind.
    pub fn new(expression: Expression, kind: Kind) -> Typed { todo!() }
    /// A value whose kind is known: a number, TRUE, DATE '...'.
    pub fn value(value: Value<'_>) -> Typed { todo!() }
    /// A literal in quotes: it takes the kind of what it meets, and is a text if it meets nothing.
    pub fn literal(text: &str) -> Typed { todo!() }
    /// NULL.
    pub fn null() -> Typed { todo!() }
    /// A column of the row.
    pub fn column(column: usize, kind: Kind) -> Typed { todo!() }
    /// A slot. A parameter whose kind isn't known yet is `Unknown`: where it meets a kind, a CAST
    /// to that kind is put around it, which `Expression::walk` finds.
    pub fn slot(slot: usize, kind: Kind) -> Typed { todo!() }
    /// A scalar, EXISTS, ANY or ALL subquery. `column` is the kind of its column (any for EXISTS).
    pub fn subquery(number: usize, question: Question, tested: Vec<Typed>, arguments: Vec<Expression>, column: Kind) -> Result<Typed, Fault> { todo!() }

    /// The expression, converted without a CAST of the user's: 42804 if it needs one.
    pub fn implicit(self, to: Kind) -> Result<Typed, Fault> { todo!() }
    /// CAST(... AS ...): 42846 if there is none.
    pub fn cast(self, to: CastTo) -> Result<Typed, Fault> { todo!() }
    /// The expression as a value for a column of this type, which `Type::fit` takes when it is
    /// stored: 42804 if it needs a CAST.
    pub fn assigned(self, to: Type, column: &str) -> Result<Typed, Fault> { todo!() }
    /// The expression as a condition (WHERE, ON, HAVING, CHECK): 42804 if it isn't a truth value.
    pub fn condition(self, clause: &str) -> Result<Expression, Fault> { todo!() }
    /// The expression as a result: a literal that met nothing is a text now.
    pub fn settled(self) -> Typed { todo!() }
}

/// Brings all to one kind, as UNION, VALUES and CASE do. `what` names the construct in a refusal.
pub fn unify(what: &str, parts: Vec<Typed>) -> Result<Vec<Typed>, Fault> { todo!() }
/// `left = right` and so on: 42883 if the kinds can't be compared.
pub fn compare(left: Typed, comparison: Comparison, right: Typed) -> Result<Typed, Fault> { todo!() }
/// IS [NOT] DISTINCT FROM.
pub fn is_distinct(left: Typed, right: Typed, negated: bool) -> Result<Typed, Fault> { todo!() }
/// `left + right` and so on: 42883 if the operator isn't defined for the kinds.
pub fn arithmetic(left: Typed, operator: Operator, right: Typed) -> Result<Typed, Fault> { todo!() }
/// The minus in front of a value.
pub fn negate(value: Typed) -> Result<Typed, Fault> { todo!() }
/// `~`: all bits turned.
pub fn complement(value: Typed) -> Result<Typed, Fault> { todo!() }
/// `||`.
pub fn concat(left: Typed, right: Typed) -> Result<Typed, Fault> { todo!() }
/// AND.
pub fn and(parts: Vec<Typed>) -> Result<Typed, Fault> { todo!() }
/// OR.
pub fn or(parts: Vec<Typed>) -> Result<Typed, Fault> { todo!() }
/// NOT.
pub fn not(value: Typed) -> Result<Typed, Fault> { todo!() }
/// IS [NOT] NULL.
pub fn is_null(value: Typed, negated: bool) -> Typed { todo!() }
/// IS [NOT] TRUE, FALSE, UNKNOWN (none).
pub fn is_truth(value: Typed, truth: Option<bool>, negated: bool) -> Result<Typed, Fault> { todo!() }
/// [NOT] LIKE, ILIKE. Without `escape` it is the backslash.
pub fn like(value: Typed, pattern: Typed, escape: Option<Typed>, options: LikeOptions) -> Result<Typed, Fault> { todo!() }
/// [NOT] IN (a list).
pub fn in_list(value: Typed, list: Vec<Typed>, negated: bool) -> Result<Typed, Fault> { todo!() }
/// [NOT] BETWEEN. The value is evaluated twice, so refuse a volatile one or put it into a slot.
pub fn between(value: Typed, low: Typed, high: Typed, negated: bool) -> Result<Typed, Fault> { todo!() }
/// CASE.
pub fn case(operand: Option<Typed>, branches: Vec<TypedBranch>, otherwise: Option<Typed>) -> Result<Typed, Fault> { todo!() }
/// A call by name: functions, and what looks like one (coalesce, nullif, nvl, nvl2, decode, greatest, least).
/// 42883 if there is none for these kinds. Aggregates aren't found here: `Aggregate::resolve`.
pub fn call(name: &str, arguments: Vec<Typed>) -> Result<Typed, Fault> { todo!() }
