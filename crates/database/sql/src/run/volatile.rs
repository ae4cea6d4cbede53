//! Whether a frame may give other rows the next time, with the same slots.
//!
//! Callers: `subquery`, which keeps answers of those that don't.

use crate::logical::is_volatile;
use crate::plan::{FramePlan, Node};

/// Whether something volatile is called anywhere in the frame.
pub(super) fn is_in(frame: &FramePlan) -> bool {
    is_in_node(&frame.root)
        || frame.shared.iter().flatten().any(is_in_node)
        || frame.subqueries.iter().flatten().any(|subquery| is_in(&subquery.frame))
}

fn is_in_node(node: &Node) -> bool {
    let mut is = false;
    node.operation.each_expression(&mut |one| is |= is_volatile(one));
    is || node.inputs().into_iter().any(is_in_node)
}
