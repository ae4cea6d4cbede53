//! How many levels a plan has: what it takes of the stack to run it, and to drop it.
//!
//! ```text
//!   node ─ node ─ node          each evaluates its expressions while those above it wait
//!     │      └ expression ─ subquery: a frame with nodes of its own
//!     └ expression
//! ```
//!
//! Callers: `statement`.

use expression::Expression;

use super::node::{FramePlan, Node};
use super::physical::Action;

/// The most levels that are in work at once while a plan runs: those of its frame, of its action's
/// own LIMIT, and of other expressions beside that. May say more.
pub(super) fn levels_of(frame: &FramePlan, action: &Action, beside: &[Expression]) -> usize {
    let cut = match action {
        Action::Lock(lock) => Some(&lock.cut),
        _ => None,
    };
    let cut = cut.into_iter().flat_map(|cut| cut.offset.iter().chain(&cut.count));
    let beside = beside.iter().chain(cut).map(Expression::depth).max().unwrap_or(0);
    beside + of_frame(frame)
}

fn of_frame(frame: &FramePlan) -> usize {
    // A query of WITH is computed while a node reads it, which may be of another such query.
    let trees = frame.shared.iter().flatten().chain([&frame.root]);
    let own: usize = trees.map(of_node).sum();
    let subqueries = frame.subqueries.iter().flatten();
    own + subqueries.map(|one| of_frame(&one.frame)).max().unwrap_or(0)
}

fn of_node(node: &Node) -> usize {
    let mut expressions = 0;
    node.operation.each_expression(&mut |one| expressions = expressions.max(one.depth()));
    let below = node.inputs().into_iter().map(of_node).max().unwrap_or(0);
    1 + expressions + below
}

#[cfg(test)]
mod tests {
    use crate::testing::World;

    fn levels(text: &str) -> usize {
        World::new().plan(text).levels
    }

    #[test]
    fn a_plan_has_the_levels_of_its_nodes_expressions_and_subqueries() {
        let plain = levels("select name from emp where id = 5");
        assert!((2..10).contains(&plain), "{plain}");
        let sum = format!("select id{} from emp where id = 5", " + pay".repeat(200));
        assert!((200..300).contains(&levels(&sum)));
        let unions = vec!["select id from emp"; 100].join(" except select 1 union all ");
        assert!(levels(&unions) >= 99, "{}", levels(&unions));
        let mut within = "select 1".to_string();
        for _ in 0..20 {
            within = format!("select max(e.id) from emp e where e.pay = ({within}) + e.id % 7");
        }
        assert!(levels(&within) >= 60, "{}", levels(&within));
        let returned = format!("delete from emp where id = 5 returning id{}", " + pay".repeat(200));
        assert!(levels(&returned) >= 200);
    }
}
