//! Conditions, and what chooses among values: CASE and its like, LIKE, IN.
//!
//! Callers: SQL's binder; `build::call`, for what looks like a function.

use stop::SqlState;

use super::convert::{Pair, are_comparable, comparable};
use super::{LikeOptions, Typed, TypedBranch, no_operator, unify};
use crate::functions;
use crate::{Branch, Expression, Fault, Kind};

/// IS [NOT] NULL.
pub fn is_null(value: Typed, negated: bool) -> Typed {
    Typed::new(Expression::IsNull { value: value.boxed(), negated }, Kind::Boolean)
}

/// IS [NOT] TRUE, FALSE, UNKNOWN (none).
pub fn is_truth(value: Typed, truth: Option<bool>, negated: bool) -> Result<Typed, Fault> {
    let value = value.truth("IS")?.boxed();
    Ok(Typed::new(Expression::IsTruth { value, truth, negated }, Kind::Boolean))
}

/// [NOT] LIKE, ILIKE. Without `escape` it is the backslash.
pub fn like(
    value: Typed,
    pattern: Typed,
    escape: Option<Typed>,
    options: LikeOptions,
) -> Result<Typed, Fault> {
    let sign = if options.ignore_case { "ILIKE" } else { "LIKE" };
    let is_text = |kind: Kind| kind.is_text() || kind == Kind::Unknown;
    if !is_text(value.kind) || !is_text(pattern.kind) {
        return Err(no_operator(value.kind, sign, pattern.kind));
    }
    let escape = escape.map(|escape| escape.implicit(Kind::Text).map(Typed::boxed)).transpose()?;
    let made = Expression::Like {
        value: value.implicit(Kind::Text)?.boxed(),
        pattern: pattern.implicit(Kind::Text)?.boxed(),
        escape,
        ignore_case: options.ignore_case,
        negated: options.negated,
    };
    Ok(Typed::new(made, Kind::Boolean))
}

/// [NOT] IN (a list).
pub fn in_list(value: Typed, list: Vec<Typed>, negated: bool) -> Result<Typed, Fault> {
    let (value, list) = all_comparable("IN", value, list)?;
    let list = list.into_iter().map(|part| part.expression).collect();
    let made = Expression::InList { value: value.boxed(), list, negated, sorted: false };
    Ok(Typed::new(made, Kind::Boolean))
}

/// A value and others that it can be compared with: what is of unknown kind has taken a kind.
fn all_comparable(
    what: &str,
    value: Typed,
    others: Vec<Typed>,
) -> Result<(Typed, Vec<Typed>), Fault> {
    let value = match value.kind {
        Kind::Unknown => {
            let kind = Kind::unify(what, others.iter().map(|other| other.kind))?;
            value.implicit(kind)?
        }
        _ => value,
    };
    let mut converted = Vec::with_capacity(others.len());
    for other in others {
        let other = match other.kind {
            Kind::Unknown => other.implicit(value.kind)?,
            kind if are_comparable(value.kind, kind) => other,
            kind => return Err(no_operator(value.kind, "=", kind)),
        };
        converted.push(other);
    }
    Ok((value, converted))
}

/// CASE.
pub fn case(
    operand: Option<Typed>,
    branches: Vec<TypedBranch>,
    otherwise: Option<Typed>,
) -> Result<Typed, Fault> {
    let (mut whens, mut results) = (Vec::new(), Vec::new());
    for TypedBranch { when, then } in branches {
        whens.push(when);
        results.push(then);
    }
    let (operand, whens) = match operand {
        Some(operand) => {
            let (operand, whens) = all_comparable("CASE", operand, whens)?;
            (Some(operand.boxed()), whens)
        }
        None => {
            let whens: Result<Vec<Typed>, Fault> =
                whens.into_iter().map(|when| when.truth("CASE/WHEN")).collect();
            (None, whens?)
        }
    };
    let has_otherwise = otherwise.is_some();
    results.extend(otherwise);
    let mut results = unify("CASE", results)?;
    let kind = results.first().map_or(Kind::Text, |result| result.kind);
    let otherwise = if has_otherwise { results.pop().map(Typed::boxed) } else { None };
    let branches = whens
        .into_iter()
        .zip(results)
        .map(|(when, then)| Branch { when: when.expression, then: then.expression });
    let made = Expression::Case { operand, branches: branches.collect(), otherwise };
    Ok(Typed::new(made, kind))
}

/// What looks like a function and evaluates only what it needs, or has one kind for all arguments;
/// none if the name is none of these.
pub(super) fn form(name: &str, arguments: &[Typed]) -> Result<Option<Typed>, Fault> {
    Ok(Some(match (name, arguments) {
        ("coalesce", [_, ..]) | ("nvl" | "ifnull", [_, _]) => coalesce(arguments.to_vec())?,
        ("nullif", [left, right]) => null_if(left.clone(), right.clone())?,
        ("nvl2", [value, some, none]) => {
            let when = is_null(value.clone(), true);
            let branch = TypedBranch { when, then: some.clone() };
            case(None, vec![branch], Some(none.clone()))?
        }
        ("decode", [value, _, _, ..]) => decode(value, &arguments[1..])?,
        ("greatest" | "least", [_, ..]) => {
            let parts = unify(name, arguments.to_vec())?;
            let kind = parts[0].kind;
            let function = functions::resolve(name, &[kind])?.function;
            let arguments = parts.into_iter().map(|part| part.expression).collect();
            Typed::new(Expression::Call { function, arguments }, kind)
        }
        // The kind is known, whatever the value is.
        ("pg_typeof", [value]) => {
            let name = value.kind.name();
            Typed::value(value::Value::Text(name))
        }
        _ => return Ok(None),
    }))
}

fn coalesce(parts: Vec<Typed>) -> Result<Typed, Fault> {
    let parts = unify("COALESCE", parts)?;
    let kind = parts[0].kind;
    let parts = parts.into_iter().map(|part| part.expression).collect();
    Ok(Typed::new(Expression::Coalesce(parts), kind))
}

fn null_if(left: Typed, right: Typed) -> Result<Typed, Fault> {
    let kinds = [left.kind, right.kind];
    let Some(Pair { left, right }) = comparable(left, right)? else {
        return Err(no_operator(kinds[0], "=", kinds[1]));
    };
    let kind = left.kind;
    let (left, right) = (left.boxed(), right.boxed());
    Ok(Typed::new(Expression::NullIf { left, right }, kind))
}

/// `decode(value, search, result, ..., otherwise)`, where NULL finds NULL.
fn decode(value: &Typed, rest: &[Typed]) -> Result<Typed, Fault> {
    if value.expression.is_volatile() {
        let say = "decode evaluates its first argument several times, and it is volatile";
        return Err(Fault::new(SqlState::FEATURE_NOT_SUPPORTED, say)
            .with_hint("use CASE, or a subquery for the value"));
    }
    let (pairs, otherwise) = rest.as_chunks::<2>();
    let mut branches = Vec::with_capacity(pairs.len());
    for [search, result] in pairs {
        let when = super::is_distinct(value.clone(), search.clone(), true)?;
        branches.push(TypedBranch { when, then: result.clone() });
    }
    case(None, branches, otherwise.first().cloned())
}

#[cfg(test)]
mod tests {
    use value::Value;

    use super::*;
    use crate::build::call;

    fn int(value: i64) -> Typed {
        Typed::value(Value::Int(value))
    }

    fn number(text: &str) -> Typed {
        Typed::value(Value::Number(text.parse().expect("a number")))
    }

    #[test]
    fn results_of_a_case_have_one_kind() {
        let when = || Typed::column(0, Kind::Boolean);
        let branches = vec![TypedBranch { when: when(), then: int(1) }];
        let made = case(None, branches, Some(number("1.5"))).expect("numbers");
        assert_eq!(made.kind, Kind::Number);
        let Expression::Case { branches, .. } = &made.expression else { panic!("a CASE") };
        assert!(matches!(branches[0].then, Expression::Cast { .. }));
        let branches = vec![TypedBranch { when: when(), then: int(1) }];
        let refused = case(None, branches, Some(Typed::column(1, Kind::Text)));
        assert_eq!(refused.map_err(|fault| fault.state()), Err(SqlState::DATATYPE_MISMATCH));
        let branches = vec![TypedBranch { when: Typed::literal("5"), then: Typed::null() }];
        let made = case(Some(Typed::column(0, Kind::Whole)), branches, None).expect("a CASE");
        assert_eq!(made.kind, Kind::Text);
    }

    #[test]
    fn what_looks_like_a_function_is_found_by_its_name() {
        let kind = |name: &str, arguments: Vec<Typed>| {
            call(name, arguments).map(|typed| typed.kind).map_err(|fault| fault.state())
        };
        assert_eq!(kind("COALESCE", vec![Typed::null(), int(1)]), Ok(Kind::Whole));
        assert_eq!(kind("nvl", vec![int(1), number("1.5")]), Ok(Kind::Number));
        assert_eq!(kind("nullif", vec![int(1), Typed::literal("2")]), Ok(Kind::Whole));
        assert_eq!(kind("greatest", vec![int(1), Typed::literal("2")]), Ok(Kind::Whole));
        let decoded = vec![int(1), int(1), Typed::literal("one"), Typed::literal("other")];
        assert_eq!(kind("decode", decoded), Ok(Kind::Text));
        assert_eq!(kind("nvl2", vec![int(1), int(2), int(3)]), Ok(Kind::Whole));
        assert_eq!(kind("nullif", vec![int(1)]), Err(SqlState::UNDEFINED_FUNCTION));
        let volatile = call("random", Vec::new()).expect("a function");
        let decoded = vec![volatile, int(1), int(2)];
        assert_eq!(kind("decode", decoded), Err(SqlState::FEATURE_NOT_SUPPORTED));
        assert_eq!(call("pg_typeof", vec![int(1)]).map(|typed| typed.expression).ok(), {
            Some(Expression::from(Value::Text("bigint")))
        });
    }
}
