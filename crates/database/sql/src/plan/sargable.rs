//! Conditions that say which values of a column are wanted, so that an index can look for them.
//!
//! | condition | form |
//! |---|---|
//! | `c = e` | one value |
//! | `c IN (e, f)` | several |
//! | `c IS NULL` | NULL |
//! | `c < e` and the like | a bound |
//! | `c LIKE 'abc'` | one value |
//! | `c LIKE 'abc%'` | two bounds; the condition stays |
//! | `c = e`, a CHAR and a text | one value; the condition stays |
//!
//! `e` reads no row: it is a constant, a parameter, a column of another table that was read before,
//! or made of these.
//!
//! Callers: `access`.

use std::ops::Bound;

use expression::{Comparison, Expression, Kind};
use value::Value;

use super::node::KeyPart;
use super::selectivity::{Compared, compared};
use crate::logical::is_volatile;
use crate::rewrite::reads_no_row;

/// The most values of an IN that become ranges of an index.
const VALUES_MAX: usize = 200;

/// What a condition says of a column.
#[derive(Clone, Debug)]
pub(super) struct Sarg {
    /// The column of the scan.
    pub(super) column: usize,
    /// The place of the condition among those of the scan.
    pub(super) condition: usize,
    pub(super) form: Form,
    /// Whether the form says all that the condition does.
    pub(super) is_exact: bool,
}

/// Which values are wanted.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// These, one by one.
    Key(KeyPart),
    /// Those within a range.
    Range(Bound<Expression>, Bound<Expression>),
    /// Those other than NULL.
    NotNull,
}

/// What conditions say of columns.
pub(super) fn sargs(conditions: &[Expression], kind: &dyn Fn(usize) -> Kind) -> Vec<Sarg> {
    let mut found = Vec::new();
    for (number, condition) in conditions.iter().enumerate() {
        if is_volatile(condition) {
            continue;
        }
        let mut add = |column: usize, form: Form, is_exact: bool| {
            found.push(Sarg { column, condition: number, form, is_exact });
        };
        if let Some(Compared { column, comparison, value }) = compared(condition) {
            let value = value.clone();
            let is_exact = kind(column) != Kind::Char || is_without_blanks(&value);
            match comparison {
                Comparison::Equal => add(column, Form::Key(KeyPart::Equal(value)), is_exact),
                Comparison::NotEqual => {}
                _ if !is_exact => {}
                Comparison::Less => {
                    add(column, Form::Range(Bound::Unbounded, Bound::Excluded(value)), true);
                }
                Comparison::LessOrEqual => {
                    add(column, Form::Range(Bound::Unbounded, Bound::Included(value)), true);
                }
                Comparison::Greater => {
                    add(column, Form::Range(Bound::Excluded(value), Bound::Unbounded), true);
                }
                Comparison::GreaterOrEqual => {
                    add(column, Form::Range(Bound::Included(value), Bound::Unbounded), true);
                }
            }
            continue;
        }
        match condition {
            Expression::IsNull { value, negated } => {
                if let Expression::Column(column) = **value {
                    match negated {
                        false => add(column, Form::Key(KeyPart::Null), true),
                        true => add(column, Form::NotNull, true),
                    }
                }
            }
            Expression::InList { value, list, negated: false, .. } => {
                if let Expression::Column(column) = **value
                    && list.len() <= VALUES_MAX
                    && list.iter().all(reads_no_row)
                    && (kind(column) != Kind::Char || list.iter().all(is_without_blanks))
                {
                    add(column, Form::Key(KeyPart::AnyOf(list.clone())), true);
                }
            }
            Expression::Like {
                value,
                pattern,
                escape: None,
                ignore_case: false,
                negated: false,
            } => {
                if let Expression::Column(column) = **value
                    && kind(column) == Kind::Text
                    && let Some(Value::Text(pattern)) = pattern.constant()
                    && let Some(form) = of_pattern(pattern)
                {
                    let is_exact = matches!(form, Form::Key(_));
                    add(column, form, is_exact);
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a value is one that a CHAR can have. An index of a CHAR takes the blanks at the end off
/// what it is searched by, where a comparison minds them (rule expression/EV5): so another text
/// finds more than is equal to it, and is no bound.
fn is_without_blanks(value: &Expression) -> bool {
    match value {
        Expression::Constant(value) => match value.get() {
            Value::Text(text) => !text.ends_with(' '),
            _ => true,
        },
        Expression::Cast { to, .. } => to.kind() == Kind::Char,
        _ => false,
    }
}

/// The one text that is like a pattern without signs, or the range of those that begin as the
/// pattern does; none if it begins with a sign.
fn of_pattern(pattern: &str) -> Option<Form> {
    let Some(end) = pattern.find(['%', '_', '\\']) else {
        return Some(Form::Key(KeyPart::Equal(Expression::from(Value::Text(pattern)))));
    };
    let prefix = &pattern[..end];
    if prefix.is_empty() {
        return None;
    }
    let from = Bound::Included(Expression::from(Value::Text(prefix)));
    let to = match successor(prefix) {
        Some(next) => Bound::Excluded(Expression::from(Value::Text(&next))),
        None => Bound::Unbounded,
    };
    Some(Form::Range(from, to))
}

/// The least text above all that begin with this one; none if there is none.
pub(super) fn successor(prefix: &str) -> Option<String> {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(last) = letters.pop() {
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column_and_five(comparison: Comparison, is_left: bool) -> Expression {
        let sides = (Expression::Column(3), Expression::from(Value::Int(5)));
        let (left, right) = if is_left { sides } else { (sides.1, sides.0) };
        Expression::Compare { comparison, left: Box::new(left), right: Box::new(right) }
    }

    fn one(condition: Expression) -> Sarg {
        let mut found = sargs(&[condition], &|_| Kind::Text);
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    #[test]
    fn a_comparison_is_a_bound_whichever_side_the_column_stands_on() {
        for (comparison, is_left) in [(Comparison::Less, true), (Comparison::Greater, false)] {
            let found = one(column_and_five(comparison, is_left));
            assert_eq!(found.column, 3);
            assert!(matches!(found.form, Form::Range(Bound::Unbounded, Bound::Excluded(_))));
        }
    }

    #[test]
    fn what_reads_another_column_or_negates_is_none() {
        let both = Expression::Compare {
            comparison: Comparison::Equal,
            left: Box::new(Expression::Column(0)),
            right: Box::new(Expression::Column(1)),
        };
        let unequal = column_and_five(Comparison::NotEqual, true);
        assert!(sargs(&[both, unequal], &|_| Kind::Whole).is_empty());
    }

    #[test]
    fn a_pattern_is_a_range_up_to_its_first_sign() {
        let like = |pattern: &str| Expression::Like {
            value: Box::new(Expression::Column(0)),
            pattern: Box::new(Expression::from(Value::Text(pattern))),
            escape: None,
            ignore_case: false,
            negated: false,
        };
        let found = one(like("ab%c"));
        assert!(!found.is_exact);
        let Form::Range(Bound::Included(from), Bound::Excluded(to)) = found.form else { panic!() };
        assert_eq!(from.constant(), Some(Value::Text("ab")));
        assert_eq!(to.constant(), Some(Value::Text("ac")));
        assert!(sargs(&[like("%a")], &|_| Kind::Text).is_empty());
        for whole in ["", "ab"] {
            let found = one(like(whole));
            assert!(found.is_exact);
            let Form::Key(KeyPart::Equal(text)) = found.form else { panic!("{whole} is a text") };
            assert_eq!(text.constant(), Some(Value::Text(whole)));
        }
        assert_eq!(successor("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
        assert_eq!(successor("\u{10ffff}"), None);
    }
}
