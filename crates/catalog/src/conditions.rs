//! What conditions ask for.
//!
//! Callers: `draft`, `alter`.

use relation::{Condition, Operand};

/// The places of the columns that a condition asks for.
pub(crate) fn columns_of(condition: &Condition) -> Vec<usize> {
    let mut found = Vec::new();
    let mut left = vec![condition];
    while let Some(condition) = left.pop() {
        let mut operand = |operand: &Operand| {
            if let Operand::Column(column) = operand {
                found.push(*column);
            }
        };
        match condition {
            Condition::Compare(one, _, other) => [one, other].into_iter().for_each(operand),
            Condition::IsNull(one) => operand(one),
            Condition::And(parts) | Condition::Or(parts) => left.extend(parts),
            Condition::Not(part) => left.push(part),
        }
    }
    found
}
