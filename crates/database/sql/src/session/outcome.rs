//! What came of a statement.
//!
//! Callers: all of `session`; whoever runs statements.

use std::sync::Arc;

use expression::Kind;

use crate::bind::OutputColumn;
use crate::plan::Plan;
use crate::run::CursorNo;

/// What came of a statement.
#[derive(Debug)]
pub struct Outcome {
    /// The word for what was done, such as `SELECT`, `INSERT`, `CREATE TABLE`.
    pub tag: &'static str,
    /// How many rows were changed or locked, or were given by this call.
    pub rows: u64,
    /// The columns of the rows that it gives; none if it gives none.
    pub columns: Columns,
    /// Where the next rows come from, if there may be some.
    pub cursor: Option<CursorNo>,
    /// What a user should know, though the statement was done.
    pub notice: Option<&'static str>,
}

impl Outcome {
    /// A statement was done that has no rows.
    pub(crate) fn done(tag: &'static str) -> Outcome {
        Outcome { tag, rows: 0, columns: Columns(Of::Nothing), cursor: None, notice: None }
    }

    /// The same with something that a user should know.
    pub(crate) fn with_notice(self, notice: &'static str) -> Outcome {
        Outcome { notice: Some(notice), ..self }
    }
}

/// The columns of a result.
#[derive(Clone, Debug)]
pub struct Columns(Of);

#[derive(Clone)]
enum Of {
    Nothing,
    Plan(Arc<Plan>),
    Own(Arc<[OutputColumn]>),
}

impl std::fmt::Debug for Of {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.columns().unwrap_or_default()).finish()
    }
}

impl Of {
    fn columns(&self) -> Option<&[OutputColumn]> {
        match self {
            Of::Nothing => None,
            Of::Plan(plan) if plan.columns.is_empty() && !plan.is_query() => None,
            Of::Plan(plan) => Some(&plan.columns),
            Of::Own(columns) => Some(columns),
        }
    }
}

impl Columns {
    /// The columns of what a plan gives.
    pub(crate) fn of_plan(plan: &Arc<Plan>) -> Columns {
        Columns(Of::Plan(Arc::clone(plan)))
    }

    /// Columns of texts and numbers that no plan gives.
    pub(crate) fn own(columns: &[(&str, Kind)]) -> Columns {
        let column = |(name, kind): &(&str, Kind)| OutputColumn {
            name: (*name).to_string(),
            kind: *kind,
            declared: None,
        };
        Columns(Of::Own(columns.iter().map(column).collect()))
    }

    /// The columns; none if no rows are given.
    pub fn get(&self) -> Option<&[OutputColumn]> {
        self.0.columns()
    }

    /// How many there are.
    pub fn width(&self) -> usize {
        self.get().map_or(0, <[OutputColumn]>::len)
    }
}
