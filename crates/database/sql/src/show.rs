//! Expressions as text: for EXPLAIN, for names in tests, and for the hash of a plan.
//!
//! A column is `#` and its number from 1, unless names are given; a slot is `$` and its number. Of
//! a long text its beginning is written, and of a long list of values its first ones.
//!
//! Callers: `logical`, `plan`, `explain`.

use std::fmt;

use expression::{CastTo, Expression, Question, Subquery};

/// The most values of a list that are written.
const VALUES_MAX: usize = 20;

/// An expression, to be written.
pub(crate) struct Shown<'e>(pub(crate) &'e Expression);

/// An expression, to be written with names of columns.
pub(crate) struct Named<'e> {
    /// The expression.
    pub(crate) expression: &'e Expression,
    /// The name of each column; of one that isn't there its number is written.
    pub(crate) names: &'e [String],
}

/// Expressions, to be written with commas between them.
pub(crate) struct Listed<'e>(pub(crate) &'e [Expression]);

/// Values of a list, with commas between them: the first ones if there are many.
pub(crate) fn values_text(values: &[Expression], names: &[String]) -> String {
    let shown = values.iter().take(VALUES_MAX);
    let mut all: Vec<String> =
        shown.map(|expression| Named { expression, names }.to_string()).collect();
    if let Some(more) = values.len().checked_sub(VALUES_MAX).filter(|more| *more > 0) {
        all.push(format!("... and {more} more"));
    }
    all.join(", ")
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self.0, &[], f)
    }
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self.expression, self.names, f)
    }
}

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(self.0, ", ", &[], f)
    }
}

fn write(expression: &Expression, names: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let with = |one: &Expression, f: &mut fmt::Formatter<'_>| write(one, names, f);
    match expression {
        Expression::Constant(constant) => f.write_str(&value::shown(constant.get())),
        Expression::Column(column) => match names.get(*column) {
            Some(name) => f.write_str(name),
            None => write!(f, "#{}", column + 1),
        },
        Expression::Slot(slot) => write!(f, "${}", slot + 1),
        Expression::Not(value) => {
            f.write_str("not ")?;
            inner(value, names, f)
        }
        Expression::Negate(value) => {
            f.write_str("-")?;
            inner(value, names, f)
        }
        Expression::And(parts) => list(parts, " and ", names, f),
        Expression::Or(parts) => list(parts, " or ", names, f),
        Expression::Compare { comparison, left, right } => {
            pair(left, comparison.symbol(), right, names, f)
        }
        Expression::Arithmetic { operator, left, right } => {
            pair(left, operator.symbol(), right, names, f)
        }
        Expression::Concat { left, right } => pair(left, "||", right, names, f),
        Expression::IsDistinct { left, right, negated } => {
            let operator = if *negated { "is not distinct from" } else { "is distinct from" };
            pair(left, operator, right, names, f)
        }
        Expression::IsNull { value, negated } => {
            inner(value, names, f)?;
            f.write_str(if *negated { " is not null" } else { " is null" })
        }
        Expression::IsTruth { value, truth, negated } => {
            inner(value, names, f)?;
            let not = if *negated { " not" } else { "" };
            let truth = truth.map_or("unknown", |is| if is { "true" } else { "false" });
            write!(f, " is{not} {truth}")
        }
        Expression::Cast { to, value } => {
            f.write_str("cast(")?;
            with(value, f)?;
            match to {
                CastTo::Kind(kind) => write!(f, " as {kind})"),
                CastTo::Type(of) => write!(f, " as {})", of.to_string().to_lowercase()),
            }
        }
        Expression::Coalesce(parts) => call("coalesce", parts, names, f),
        Expression::Call { function, arguments } => call(function.name(), arguments, names, f),
        Expression::Subquery(subquery) => write_subquery(subquery, names, f),
        Expression::Case { .. }
        | Expression::Like { .. }
        | Expression::InList { .. }
        | Expression::NullIf { .. } => write_long(expression, names, f),
    }
}

/// Writes what has several clauses.
fn write_long(
    expression: &Expression,
    names: &[String],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match expression {
        Expression::Case { operand, branches, otherwise } => {
            f.write_str("case")?;
            if let Some(operand) = operand {
                f.write_str(" ")?;
                write(operand, names, f)?;
            }
            for branch in branches {
                f.write_str(" when ")?;
                write(&branch.when, names, f)?;
                f.write_str(" then ")?;
                write(&branch.then, names, f)?;
            }
            if let Some(otherwise) = otherwise {
                f.write_str(" else ")?;
                write(otherwise, names, f)?;
            }
            f.write_str(" end")
        }
        Expression::Like { value, pattern, ignore_case, negated, .. } => {
            let not = if *negated { "not " } else { "" };
            let like = if *ignore_case { "ilike" } else { "like" };
            pair(value, &format!("{not}{like}"), pattern, names, f)
        }
        Expression::InList { value, list: values, negated, .. } => {
            inner(value, names, f)?;
            f.write_str(if *negated { " not in (" } else { " in (" })?;
            write!(f, "{})", values_text(values, names))
        }
        Expression::NullIf { left, right } => {
            f.write_str("nullif(")?;
            write(left, names, f)?;
            f.write_str(", ")?;
            write(right, names, f)?;
            f.write_str(")")
        }
        other => write!(f, "{other:?}"),
    }
}

fn write_subquery(
    subquery: &Subquery,
    names: &[String],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let number = subquery.number + 1;
    match subquery.question {
        Question::Scalar => write!(f, "(subquery {number})"),
        Question::Exists => write!(f, "exists (subquery {number})"),
        Question::Any(comparison) => {
            list(&subquery.tested, ", ", names, f)?;
            write!(f, " {comparison} any (subquery {number})")
        }
        Question::All(comparison) => {
            list(&subquery.tested, ", ", names, f)?;
            write!(f, " {comparison} all (subquery {number})")
        }
    }
}

fn call(
    name: &str,
    arguments: &[Expression],
    names: &[String],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(f, "{name}(")?;
    list(arguments, ", ", names, f)?;
    f.write_str(")")
}

fn pair(
    left: &Expression,
    operator: &str,
    right: &Expression,
    names: &[String],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    inner(left, names, f)?;
    write!(f, " {operator} ")?;
    inner(right, names, f)
}

fn list(
    parts: &[Expression],
    between: &str,
    names: &[String],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            f.write_str(between)?;
        }
        match between {
            ", " => write(part, names, f)?,
            _ => inner(part, names, f)?,
        }
    }
    Ok(())
}

/// An operand: in brackets if it is made of several.
fn inner(part: &Expression, names: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let is_simple = matches!(
        part,
        Expression::Constant(_)
            | Expression::Column(_)
            | Expression::Slot(_)
            | Expression::Cast { .. }
            | Expression::Call { .. }
            | Expression::Coalesce(_)
            | Expression::NullIf { .. }
            | Expression::Subquery(_)
    );
    if is_simple {
        return write(part, names, f);
    }
    f.write_str("(")?;
    write(part, names, f)?;
    f.write_str(")")
}
