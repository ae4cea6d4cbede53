//! Constants are computed; conditions that are known to hold, or not to, go.
//!
//! What a computation refuses stays as it is: it is refused when it is run, if it is run at all.
//!
//! Callers: `rewrite`.

use expression::Expression;
use value::Value;

use crate::logical::{Logical, conjuncts, is_volatile};

/// Computes what is constant in a tree.
pub(super) fn fold(logical: &mut Logical) {
    logical.each_expression_mut(&mut |expression| expression.fold());
    for input in logical.inputs_mut() {
        fold(input);
    }
    if let Logical::Filter { input, conditions } = logical {
        let known = reduced(std::mem::take(conditions));
        let input = std::mem::replace(&mut **input, Logical::no_rows(0));
        *logical = match known {
            Some(conditions) => input.filtered(conditions),
            None => Logical::no_rows(input.width()),
        };
    }
}

/// The conditions that aren't known to hold; none if one is known not to.
pub(super) fn reduced(conditions: Vec<Expression>) -> Option<Vec<Expression>> {
    let mut left = Vec::with_capacity(conditions.len());
    for condition in conditions.into_iter().flat_map(conjuncts) {
        match condition.constant() {
            Some(Value::Boolean(true)) => {}
            Some(Value::Boolean(false) | Value::Null) => return None,
            _ => {
                if is_volatile(&condition) || !left.contains(&condition) {
                    left.push(condition);
                }
            }
        }
    }
    Some(left)
}
