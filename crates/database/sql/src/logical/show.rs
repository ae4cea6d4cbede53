//! The tree as text, for tests and for EXPLAIN of what was asked.
//!
//! Callers: tests of `bind` and `rewrite`.

use std::fmt;

use expression::Expression;

use super::{Join, JoinKind, Logical, SetKind, SetOperation};
use crate::show::{Listed, Shown};

impl Logical {
    /// The tree as lines, each two blanks further in than the node above it.
    #[cfg(test)]
    pub(crate) fn lines(&self) -> String {
        let mut lines = String::new();
        self.push_lines(0, &mut lines);
        lines
    }

    #[cfg(test)]
    fn push_lines(&self, depth: usize, lines: &mut String) {
        lines.push_str(&"  ".repeat(depth));
        lines.push_str(&self.to_string());
        lines.push('\n');
        for input in self.inputs() {
            input.push_lines(depth + 1, lines);
        }
    }
}

/// Writes a node, without its inputs.
impl fmt::Display for Logical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Logical::Scan(scan) => write!(f, "Scan {} {:?}", scan.alias, scan.columns),
            Logical::Virtual(scan) => write!(f, "Virtual {}", scan.table.name()),
            Logical::Nothing { width } => write!(f, "Values 0 x {width}"),
            Logical::Values { rows, width } => write!(f, "Values {} x {width}", rows.len()),
            Logical::Series { arguments } => write!(f, "Series {}", Listed(arguments)),
            Logical::Shared { number, .. } => write!(f, "Shared {number}"),
            Logical::Filter { conditions, .. } => write!(f, "Filter {}", all_of(conditions)),
            Logical::Project { expressions, .. } => write!(f, "Project {}", Listed(expressions)),
            Logical::Join(Join { kind, on, .. }) => write!(f, "{kind} {}", all_of(on)),
            Logical::Apply { is_outer, slots, on, .. } => {
                let kind = if *is_outer { "Left apply" } else { "Apply" };
                write!(f, "{kind} {} slots {}", slots.len(), all_of(on))
            }
            Logical::Aggregate { groups, aggregates, .. } => {
                write!(f, "Aggregate {} by {}", aggregates.len(), Listed(groups))
            }
            Logical::Distinct { .. } => f.write_str("Distinct"),
            Logical::DistinctOn { columns, .. } => write!(f, "Distinct on {columns}"),
            Logical::Set(SetOperation { kind, all, .. }) => {
                write!(f, "{kind}{}", if *all { " all" } else { "" })
            }
            Logical::Sort { keys, .. } => write!(f, "Sort {}", keys.len()),
            Logical::Limit { .. } => f.write_str("Limit"),
            Logical::Ties(ties) => write!(f, "First with ties {}", ties.keys.len()),
        }
    }
}

/// Conditions that all have to hold.
fn all_of(conditions: &[Expression]) -> String {
    let each: Vec<String> = conditions.iter().map(|one| Shown(one).to_string()).collect();
    each.join(" and ")
}

impl fmt::Display for JoinKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            JoinKind::Inner => "Join",
            JoinKind::Left => "Left join",
            JoinKind::Right => "Right join",
            JoinKind::Full => "Full join",
            JoinKind::Semi => "Semi join",
            JoinKind::Anti => "Anti join",
            JoinKind::AntiNullAware => "Anti join, null aware",
        })
    }
}

impl fmt::Display for SetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SetKind::Union => "Union",
            SetKind::Intersect => "Intersect",
            SetKind::Except => "Except",
        })
    }
}
