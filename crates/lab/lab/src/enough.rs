//! Whether an experiment needs no more rows.
//!
//! Callers: `session`.

use experiment::{Level, Plan, Rule, Run, SlowEffect, decide, is_decided, matters};

/// Whether the experiment has its answer, or can't get one (EX27). That a difference doesn't matter
/// is none where a slow effect could hide it: so it must have been looked for, where settings
/// alternate (LB77).
pub(crate) fn is_enough(rows: &[Run], rule: &Rule, levels: usize) -> bool {
    if !is_decided(rows, rule) {
        return false;
    }
    let is_looked_for = |level| SlowEffect::of(rows, level, rule).is_some();
    rows.iter().any(|run| run.block.is_none())
        || matters(rows, rule)
        || (1..levels).map(Level::of).all(is_looked_for)
}

/// Whether these rows leave it open of some setting if its difference matters.
pub(crate) fn leaves_open(rows: &[Run], rule: &Rule, levels: usize) -> bool {
    let decision = |level| decide(rows, level, rule.measure.figure(), rule);
    let is_open = |level| decision(level).is_none_or(|of| !of.answer.is_decided());
    (1..levels).map(Level::of).any(is_open)
}

/// Whether the rows that are there are all, or have decided at the last look.
pub(crate) fn has_ended(rows: &[Run], plan: &Plan, rule: &Rule, levels: usize) -> bool {
    let is_whole = rows.len() >= plan.run_count() as usize;
    !rows.is_empty() && (is_whole || is_enough(rows, rule, levels))
}
