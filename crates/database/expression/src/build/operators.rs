//! Operators between typed expressions.
//!
//! Callers: SQL's binder.

use stop::SqlState;

use super::convert::{Pair, comparable, computed};
use super::{Typed, no_operator};
use crate::{CastTo, Comparison, Expression, Fault, Kind, Operator, arithmetic as numbers};

/// `left = right` and so on: 42883 if the kinds can't be compared.
pub fn compare(left: Typed, comparison: Comparison, right: Typed) -> Result<Typed, Fault> {
    let kinds = [left.kind, right.kind];
    let Some(Pair { left, right }) = comparable(left, right)? else {
        return Err(no_operator(kinds[0], comparison.symbol(), kinds[1]));
    };
    let (left, right) = (left.boxed(), right.boxed());
    Ok(Typed::new(Expression::Compare { comparison, left, right }, Kind::Boolean))
}

/// IS [NOT] DISTINCT FROM.
pub fn is_distinct(left: Typed, right: Typed, negated: bool) -> Result<Typed, Fault> {
    let kinds = [left.kind, right.kind];
    let Some(Pair { left, right }) = comparable(left, right)? else {
        return Err(no_operator(kinds[0], "IS DISTINCT FROM", kinds[1]));
    };
    let (left, right) = (left.boxed(), right.boxed());
    Ok(Typed::new(Expression::IsDistinct { left, right, negated }, Kind::Boolean))
}

/// `left + right` and so on: 42883 if the operator isn't defined for the kinds.
pub fn arithmetic(left: Typed, operator: Operator, right: Typed) -> Result<Typed, Fault> {
    let (left, right) = match (left.kind, right.kind) {
        (Kind::Unknown, Kind::Unknown) => {
            let say = format!("operator is not unique: unknown {} unknown", operator.symbol());
            return Err(Fault::new(SqlState::AMBIGUOUS_FUNCTION, say)
                .with_hint("say with CAST what one of the sides is"));
        }
        (Kind::Unknown, kind) => (left.implicit(partner(operator, kind))?, right),
        (kind, Kind::Unknown) => {
            let right = right.implicit(partner(operator, kind))?;
            (left, right)
        }
        _ => (left, right),
    };
    let kind = numbers::result(operator, left.kind, right.kind)
        .ok_or_else(|| no_operator(left.kind, operator.symbol(), right.kind))?;
    let (left, right) = (left.boxed(), right.boxed());
    Ok(Typed::new(Expression::Arithmetic { operator, left, right }, kind))
}

/// The kind that an operand of unknown kind takes beside one of this kind: the same, but for spans
/// beside moments, and factors beside spans.
fn partner(operator: Operator, kind: Kind) -> Kind {
    match (operator, kind) {
        (Operator::Add, Kind::Date | Kind::Timestamp) => Kind::Interval,
        (Operator::Multiply | Operator::Divide, Kind::Interval) => Kind::Double,
        _ => kind,
    }
}

/// The minus in front of a value.
pub fn negate(value: Typed) -> Result<Typed, Fault> {
    let value = match value.kind {
        Kind::Unknown => value.implicit(Kind::Double)?,
        _ => value,
    };
    let kind = value.kind;
    if !kind.is_number() && kind != Kind::Interval {
        return Err(no_operand("-", kind));
    }
    // -5 is a constant from the beginning: it is a literal to whoever reads it.
    let negated = Typed::new(Expression::Negate(value.boxed()), kind);
    Ok(computed(negated))
}

/// `~`: all bits turned.
pub fn complement(value: Typed) -> Result<Typed, Fault> {
    let value = match value.kind {
        Kind::Unknown => value.implicit(Kind::Whole)?,
        _ => value,
    };
    if value.kind != Kind::Whole {
        return Err(no_operand("~", value.kind));
    }
    arithmetic(value, Operator::BitXor, Typed::value(value::Value::Int(-1)))
}

/// No operator of this sign before a value of this kind.
#[cold]
fn no_operand(sign: &str, kind: Kind) -> Fault {
    let say = format!("operator does not exist: {sign} {kind}");
    Fault::new(SqlState::UNDEFINED_FUNCTION, say).with_hint("make it a number with CAST")
}

/// `||`: of texts, or of a text and a value of any kind; or of bytes.
pub fn concat(left: Typed, right: Typed) -> Result<Typed, Fault> {
    let is_bytes = |kind: Kind| kind == Kind::Bytes;
    let joins_bytes = match (left.kind, right.kind) {
        (Kind::Unknown, kind) | (kind, Kind::Unknown) => is_bytes(kind),
        (a, b) => is_bytes(a) && is_bytes(b),
    };
    if joins_bytes {
        let (left, right) = (left.implicit(Kind::Bytes)?, right.implicit(Kind::Bytes)?);
        let (left, right) = (left.boxed(), right.boxed());
        return Ok(Typed::new(Expression::Concat { left, right }, Kind::Bytes));
    }
    let may_be_text = |kind: Kind| kind.is_text() || kind == Kind::Unknown;
    if !may_be_text(left.kind) && !may_be_text(right.kind) {
        return Err(no_operator(left.kind, "||", right.kind));
    }
    let text = CastTo::Kind(Kind::Text);
    let (left, right) = (left.settled().cast(text)?, right.settled().cast(text)?);
    let (left, right) = (left.boxed(), right.boxed());
    Ok(Typed::new(Expression::Concat { left, right }, Kind::Text))
}

/// AND.
pub fn and(parts: Vec<Typed>) -> Result<Typed, Fault> {
    Ok(Typed::new(Expression::And(truths(parts, "AND")?), Kind::Boolean))
}

/// OR.
pub fn or(parts: Vec<Typed>) -> Result<Typed, Fault> {
    Ok(Typed::new(Expression::Or(truths(parts, "OR")?), Kind::Boolean))
}

/// NOT.
pub fn not(value: Typed) -> Result<Typed, Fault> {
    Ok(Typed::new(Expression::Not(value.truth("NOT")?.boxed()), Kind::Boolean))
}

fn truths(parts: Vec<Typed>, of: &str) -> Result<Vec<Expression>, Fault> {
    parts.into_iter().map(|part| part.truth(of).map(|part| part.expression)).collect()
}

/// [NOT] BETWEEN. The value is evaluated twice, so refuse a volatile one or put it into a slot.
pub fn between(value: Typed, low: Typed, high: Typed, negated: bool) -> Result<Typed, Fault> {
    let from = compare(value.clone(), Comparison::GreaterOrEqual, low)?;
    let within = and(vec![from, compare(value, Comparison::LessOrEqual, high)?])?;
    if negated { not(within) } else { Ok(within) }
}

#[cfg(test)]
mod tests {
    use value::Value;

    use super::*;

    fn state(result: Result<Typed, Fault>) -> Result<Kind, SqlState> {
        result.map(|typed| typed.kind).map_err(|fault| fault.state())
    }

    fn column(kind: Kind) -> Typed {
        Typed::column(0, kind)
    }

    #[test]
    fn a_literal_takes_the_kind_of_the_other_side() {
        let compared = compare(column(Kind::Whole), Comparison::Equal, Typed::literal("5"));
        let Expression::Compare { right, .. } = compared.expect("numbers").expression else {
            panic!("a comparison")
        };
        assert_eq!(right.constant(), Some(Value::Int(5)));
        let refused = compare(column(Kind::Whole), Comparison::Equal, Typed::literal("x"));
        assert_eq!(state(refused), Err(SqlState::INVALID_TEXT_REPRESENTATION));
        let later = arithmetic(column(Kind::Timestamp), Operator::Add, Typed::literal("1 day"));
        assert_eq!(state(later), Ok(Kind::Timestamp));
        let since =
            arithmetic(column(Kind::Date), Operator::Subtract, Typed::literal("2026-01-01"));
        assert_eq!(state(since), Ok(Kind::Whole));
        let both = arithmetic(Typed::literal("1"), Operator::Add, Typed::null());
        assert_eq!(state(both), Err(SqlState::AMBIGUOUS_FUNCTION));
    }

    #[test]
    fn numbers_are_compared_as_they_are_and_texts_never_with_numbers() {
        let mixed = compare(column(Kind::Whole), Comparison::Less, column(Kind::Double));
        let Expression::Compare { left, right, .. } = mixed.expect("numbers").expression else {
            panic!("a comparison")
        };
        assert_eq!((*left, *right), (Expression::Column(0), Expression::Column(0)));
        let undefined = Err(SqlState::UNDEFINED_FUNCTION);
        let text = compare(column(Kind::Text), Comparison::Equal, column(Kind::Whole));
        assert_eq!(state(text), undefined);
        let truth = compare(column(Kind::Boolean), Comparison::Equal, column(Kind::Whole));
        assert_eq!(state(truth), undefined);
        let sum = arithmetic(column(Kind::Text), Operator::Add, column(Kind::Whole));
        assert_eq!(state(sum), undefined);
    }

    #[test]
    fn texts_are_joined_with_values_of_any_kind() {
        assert_eq!(state(concat(column(Kind::Text), column(Kind::Whole))), Ok(Kind::Text));
        assert_eq!(state(concat(Typed::literal("a"), Typed::null())), Ok(Kind::Text));
        assert_eq!(state(concat(column(Kind::Bytes), Typed::literal("a"))), Ok(Kind::Bytes));
        let undefined = Err(SqlState::UNDEFINED_FUNCTION);
        assert_eq!(state(concat(column(Kind::Whole), column(Kind::Whole))), undefined);
        assert_eq!(state(negate(column(Kind::Text))), undefined);
        let minus = negate(Typed::value(Value::Int(5))).expect("a number");
        assert_eq!(minus, Typed::value(Value::Int(-5)));
    }
}
