//! The value of an expression for one row.
//!
//! Invariants
//!   * parts are evaluated from left to right, and no more of them than decide: AND ends at the
//!     first part that is false, CASE and COALESCE at the first that is taken
//!   * a truth value is known or not (none): NOT of unknown is unknown, AND is false if one part
//!     is, OR is true if one part is, a comparison with NULL is unknown
//!   * only texts and bytes that are made take memory, in the arena
//!
//! Callers: row sources, for each row.

use std::cmp::Ordering;

use stop::SqlState;
use value::{BYTES_MAX, Value};

use crate::evaluation::Asked;
use crate::expression::{Branch, Subquery};
use crate::{Arena, Evaluation, Expression, Fault, Function, Row};
use crate::{arithmetic, cast, like};

/// The arguments of most calls fit here, without memory of the arena.
const FEW_ARGUMENTS: usize = 4;

impl Expression {
    /// The value for a row.
    pub fn evaluate<'a>(
        &'a self,
        row: &'a dyn Row,
        with: &Evaluation<'a>,
    ) -> Result<Value<'a>, Fault> {
        match self {
            Expression::Constant(value) => Ok(value.get()),
            Expression::Column(column) => Ok(row.value(*column)),
            Expression::Slot(slot) => Ok(with.slots[*slot].get()),
            Expression::Arithmetic { operator, left, right } => {
                let left = left.evaluate(row, with)?;
                arithmetic::apply(*operator, left, right.evaluate(row, with)?)
            }
            Expression::Negate(value) => arithmetic::negate(value.evaluate(row, with)?),
            Expression::Cast { to, value } => cast::cast(value.evaluate(row, with)?, *to, with),
            Expression::Call { function, arguments } => call(*function, arguments, row, with),
            Expression::Concat { left, right } => {
                let left = left.evaluate(row, with)?;
                concat(left, right.evaluate(row, with)?, with.arena)
            }
            Expression::Case { operand, branches, otherwise } => {
                let operand = operand.as_deref();
                let taken = match operand {
                    Some(operand) => branch_of(operand.evaluate(row, with)?, branches, row, with)?,
                    None => branch_that_holds(branches, row, with)?,
                };
                match taken.map(|branch| &branch.then).or(otherwise.as_deref()) {
                    Some(result) => result.evaluate(row, with),
                    None => Ok(Value::Null),
                }
            }
            Expression::Coalesce(parts) => {
                for part in parts {
                    let value = part.evaluate(row, with)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Expression::NullIf { left, right } => {
                let left = left.evaluate(row, with)?;
                let order = left.compare(right.evaluate(row, with)?);
                Ok(if order == Some(Ordering::Equal) { Value::Null } else { left })
            }
            Expression::Subquery(subquery) => ask(subquery, row, with),
            Expression::Not(_)
            | Expression::And(_)
            | Expression::Or(_)
            | Expression::Compare { .. }
            | Expression::IsNull { .. }
            | Expression::IsDistinct { .. }
            | Expression::IsTruth { .. }
            | Expression::Like { .. }
            | Expression::InList { .. } => Ok(match self.truth(row, with)? {
                Some(is) => Value::Boolean(is),
                None => Value::Null,
            }),
        }
    }

    /// The truth value for a row; none if it is unknown (NULL).
    pub fn truth<'a>(
        &'a self,
        row: &'a dyn Row,
        with: &Evaluation<'a>,
    ) -> Result<Option<bool>, Fault> {
        match self {
            Expression::Compare { comparison, left, right } => {
                let left = left.evaluate(row, with)?;
                let order = left.compare(right.evaluate(row, with)?);
                Ok(order.map(|order| comparison.holds(order)))
            }
            Expression::And(parts) => joined(parts, false, row, with),
            Expression::Or(parts) => joined(parts, true, row, with),
            Expression::Not(value) => Ok(value.truth(row, with)?.map(|is| !is)),
            Expression::IsNull { value, negated } => {
                Ok(Some(value.evaluate(row, with)?.is_null() != *negated))
            }
            Expression::IsDistinct { left, right, negated } => {
                // The equality of `Value` is that of SQL, but for NULLs (rule value/VA9).
                let left = left.evaluate(row, with)?;
                Ok(Some((left != right.evaluate(row, with)?) != *negated))
            }
            Expression::IsTruth { value, truth, negated } => {
                Ok(Some((value.truth(row, with)? == *truth) != *negated))
            }
            Expression::Like { value, pattern, escape, ignore_case, negated } => {
                let (value, pattern) = (value.evaluate(row, with)?, pattern.evaluate(row, with)?);
                let escape = match escape {
                    Some(escape) => Some(escape.evaluate(row, with)?),
                    None => None,
                };
                let go_on = || with.go_on();
                let is_like = like::is_like(value, pattern, escape, *ignore_case, &go_on)?;
                Ok(is_like.map(|is| is != *negated))
            }
            Expression::InList { value, list, negated, sorted } => {
                let value = value.evaluate(row, with)?;
                let is_in = match sorted {
                    true => is_in_sorted(value, list),
                    false => is_in(value, list, row, with)?,
                };
                Ok(is_in.map(|is| is != *negated))
            }
            _ => truth_of(self.evaluate(row, with)?),
        }
    }
}

/// The truth value that a value is.
fn truth_of(value: Value<'_>) -> Result<Option<bool>, Fault> {
    match value {
        Value::Boolean(is) => Ok(Some(is)),
        Value::Null => Ok(None),
        other => Err(Fault::new(SqlState::DATATYPE_MISMATCH, "a condition isn't a truth value")
            .showing(other)),
    }
}

/// AND (`decides` is false) or OR (true): the first part that decides ends it.
#[inline]
fn joined<'a>(
    parts: &'a [Expression],
    decides: bool,
    row: &'a dyn Row,
    with: &Evaluation<'a>,
) -> Result<Option<bool>, Fault> {
    let mut known = true;
    for part in parts {
        match part.truth(row, with)? {
            Some(is) if is == decides => return Ok(Some(decides)),
            Some(_) => {}
            None => known = false,
        }
    }
    Ok(known.then_some(!decides))
}

/// Whether the value is in the list; unknown if it isn't, and a comparison is unknown.
fn is_in<'a>(
    value: Value<'a>,
    list: &'a [Expression],
    row: &'a dyn Row,
    with: &Evaluation<'a>,
) -> Result<Option<bool>, Fault> {
    let mut known = true;
    for part in list {
        match value.compare(part.evaluate(row, with)?) {
            Some(Ordering::Equal) => return Ok(Some(true)),
            Some(_) => {}
            None => known = false,
        }
    }
    Ok(known.then_some(false))
}

/// Whether the value is in a list of constants in rising order.
fn is_in_sorted(value: Value<'_>, list: &[Expression]) -> Option<bool> {
    if value.is_null() {
        return None;
    }
    let order = |part: &Expression| {
        let constant = part.constant().expect("a sorted list has constants only");
        constant.compare(value).expect("a sorted list has no NULL, and one kind")
    };
    Some(list.binary_search_by(order).is_ok())
}

/// The first branch whose condition holds.
fn branch_that_holds<'a>(
    branches: &'a [Branch],
    row: &'a dyn Row,
    with: &Evaluation<'a>,
) -> Result<Option<&'a Branch>, Fault> {
    for branch in branches {
        if branch.when.truth(row, with)? == Some(true) {
            return Ok(Some(branch));
        }
    }
    Ok(None)
}

/// The first branch whose value is equal to the operand.
fn branch_of<'a>(
    operand: Value<'a>,
    branches: &'a [Branch],
    row: &'a dyn Row,
    with: &Evaluation<'a>,
) -> Result<Option<&'a Branch>, Fault> {
    for branch in branches {
        if operand.compare(branch.when.evaluate(row, with)?) == Some(Ordering::Equal) {
            return Ok(Some(branch));
        }
    }
    Ok(None)
}

/// The value of a call. All arguments are evaluated; most functions of a NULL are NULL.
fn call<'a>(
    function: Function,
    arguments: &'a [Expression],
    row: &'a dyn Row,
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    if arguments.len() <= FEW_ARGUMENTS {
        let mut values = [Value::Null; FEW_ARGUMENTS];
        for (value, argument) in values.iter_mut().zip(arguments) {
            *value = argument.evaluate(row, with)?;
        }
        return function.call(&values[..arguments.len()], with);
    }
    let mut values = with.arena.values(arguments.len());
    for argument in arguments {
        values.push(argument.evaluate(row, with)?);
    }
    function.call(&values, with)
}

/// `||` of two texts, or of two values of bytes.
fn concat<'a>(left: Value<'a>, right: Value<'a>, arena: &'a Arena) -> Result<Value<'a>, Fault> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Text(left), Value::Text(right)) => {
            arena.check(left.len() + right.len())?;
            let mut text = arena.writer_for(left.len() + right.len());
            text.push_str(left);
            text.push_str(right);
            Ok(Value::Text(text.into_bump_str()))
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            arena.check(left.len() + right.len())?;
            Ok(Value::Bytes(arena.joined(left, right)))
        }
        (left, _) => {
            Err(Fault::new(SqlState::UNDEFINED_FUNCTION, "|| joins texts, or bytes").showing(left))
        }
    }
}

/// Refuses a text or bytes that no value could hold.
pub(crate) fn check_length(bytes: usize) -> Result<(), Fault> {
    if bytes <= BYTES_MAX {
        return Ok(());
    }
    let say = format!("a text can't have {bytes} bytes: {BYTES_MAX} is the most");
    Err(Fault::new(SqlState::PROGRAM_LIMIT_EXCEEDED, say))
}

/// The answer of a subquery for this row.
fn ask<'a>(
    subquery: &'a Subquery,
    row: &'a dyn Row,
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let mut tested = with.arena.values(subquery.tested.len());
    for part in &subquery.tested {
        tested.push(part.evaluate(row, with)?);
    }
    let mut arguments = with.arena.values(subquery.arguments.len());
    for part in &subquery.arguments {
        arguments.push(part.evaluate(row, with)?);
    }
    let asked = Asked {
        number: subquery.number,
        question: subquery.question,
        tested: &tested,
        arguments: &arguments,
    };
    let answers = with.subqueries.expect("a statement with subqueries says who answers them");
    answers.answer(&asked, with.arena)
}
