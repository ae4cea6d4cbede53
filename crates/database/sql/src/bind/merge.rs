//! MERGE.
//!
//! ```text
//!   source of the plan:   address or NULL │ is there a source row │ source's row │ table's row
//!
//!   WHEN NOT MATCHED BY TARGET   the source's rows are kept: a left join
//!   WHEN NOT MATCHED BY SOURCE   the table's rows are kept: a full join
//! ```
//!
//! Callers: `statement`.

use expression::Expression;
use relation::{Default as ColumnDefault, TableDefinition};
use sqlparser::ast::{Ident, TableWithJoins};
use stop::SqlState;
use syntax::{Given, Overriding};
use value::Value;

use super::assign::check_not_generated;
use super::change::target_name;
use super::from::Part;
use super::group::Collector;
use super::joins::JoinAs;
use super::scope::{Border, Scope};
use super::{Binder, Merge, MergeAction, MergeBranch, MergeRows};
use crate::logical::{JoinKind, Logical, conjuncts};
use crate::refuse::{At, Bind, Refused};

/// Columns in front of the rows.
const AHEAD: usize = 2;

impl Binder<'_> {
    /// MERGE.
    pub(super) fn merge(&mut self, written: &syntax::Merge) -> Bind<Merge> {
        if let Some(with) = &written.with {
            self.with(with, 1)?;
        }
        let table = self.target(&written.table)?;
        let name = target_name(&written.table, written.alias.as_ref());
        self.levels.enter(Border::Plan, Scope::default(), 1);
        self.groups.push(Collector::forbidding("MERGE"));
        let item = TableWithJoins { relation: written.source.clone(), joins: Vec::new() };
        let source = self.joined(&item)?;
        let source = marked(source);
        let target = self.table(&table, &name, true);
        let base = target.scope.bases[0].clone();
        let address = base.address.expect("it was asked for");
        let widths = (source.logical.width(), target.logical.width());
        let both = source.scope.clone().joined(target.scope.clone(), widths.0);
        super::from::check_aliases(&both)?;
        // Where nothing matches, one side has no row whose columns could be meant.
        let of_source = source.scope.clone().joined_behind(AHEAD);
        let of_target = target.scope.clone().joined_behind(AHEAD + widths.0);
        self.set_scope(both.clone());
        let on = conjuncts(self.condition(&written.on, "ON")?);
        let keeps_target =
            written.clauses.iter().any(|one| one.rows == syntax::MergeRows::NotMatchedBySource);
        let kind = if keeps_target { JoinKind::Full } else { JoinKind::Left };
        let Part { logical, .. } = self.join(source, target, JoinAs { kind, on })?;
        // The columns that say what matched come first.
        let mut expressions =
            vec![Expression::Column(widths.0 + address), Expression::Column(widths.0 - 1)];
        expressions.extend((0..widths.0 + widths.1).map(Expression::Column));
        let behind = both.joined_behind(AHEAD);
        let mut branches = Vec::with_capacity(written.clauses.len());
        for clause in &written.clauses {
            self.set_scope(match clause.rows {
                syntax::MergeRows::Matched => behind.clone(),
                syntax::MergeRows::NotMatchedByTarget => of_source.clone(),
                syntax::MergeRows::NotMatchedBySource => of_target.clone(),
            });
            branches.push(self.merge_branch(&table.definition, clause)?);
        }
        let returning = self.returning(&written.returning, behind)?;
        self.groups.pop();
        self.levels.leave();
        let source = Logical::Project { input: Box::new(logical), expressions };
        let target = (0..table.definition.columns.len())
            .map(|place| base.column_of(place).map(|at| AHEAD + widths.0 + at))
            .collect();
        Ok(Merge { table, source, branches, returning, target })
    }

    fn merge_branch(
        &mut self,
        table: &TableDefinition,
        clause: &syntax::MergeClause,
    ) -> Bind<MergeBranch> {
        let rows = match clause.rows {
            syntax::MergeRows::Matched => MergeRows::Matched,
            syntax::MergeRows::NotMatchedByTarget => MergeRows::NotMatchedByTarget,
            syntax::MergeRows::NotMatchedBySource => MergeRows::NotMatchedBySource,
        };
        let conditions = match &clause.condition {
            Some(condition) => conjuncts(self.condition(condition, "WHEN")?),
            None => Vec::new(),
        };
        let action = match &clause.action {
            syntax::MergeAction::Nothing => MergeAction::Nothing,
            syntax::MergeAction::Delete => MergeAction::Delete,
            syntax::MergeAction::Update(set) => MergeAction::Update(self.assignments(table, set)?),
            syntax::MergeAction::Insert { columns, overriding, values } => {
                MergeAction::Insert(self.merge_row(table, columns, *overriding, values)?)
            }
        };
        Ok(MergeBranch { rows, conditions, action })
    }

    /// The row that a WHEN inserts: what is given, and defaults.
    fn merge_row(
        &mut self,
        table: &TableDefinition,
        columns: &[Ident],
        overriding: Option<Overriding>,
        values: &[Given],
    ) -> Bind<Vec<Expression>> {
        let places = match columns.is_empty() {
            true => {
                let live = |place: &usize| !table.columns[*place].is_dropped();
                (0..table.columns.len()).filter(live).collect()
            }
            false => Binder::places_of(table, columns)?,
        };
        // DEFAULT VALUES has none.
        let is_short = !columns.is_empty() && (1..places.len()).contains(&values.len());
        if values.len() > places.len() || is_short {
            let message =
                format!("MERGE gives {} values for {} columns", values.len(), places.len());
            return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message));
        }
        let mut row = Vec::with_capacity(table.columns.len());
        for (place, column) in table.columns.iter().enumerate() {
            let is_identity = matches!(column.default, ColumnDefault::Identity { .. });
            let is_ignored = is_identity && overriding == Some(Overriding::User);
            let number = places.iter().position(|one| *one == place).filter(|_| !is_ignored);
            row.push(match number.and_then(|number| values.get(number).zip(Some(number))) {
                Some((value, number)) => {
                    if overriding.is_none() {
                        let name = columns.get(number);
                        let at = name.map_or(At::NOWHERE, |name| At::begin(name.span));
                        check_not_generated(table, place, value, at)?;
                    }
                    self.given(table, place, value)?
                }
                None => self.default_of(table, place)?,
            });
        }
        Ok(row)
    }
}

/// A part with a column behind its own that is true for each of its rows, and so NULL where an
/// outer join has none.
fn marked(part: Part) -> Part {
    let width = part.logical.width();
    let mut expressions: Vec<Expression> = (0..width).map(Expression::Column).collect();
    expressions.push(Expression::from(Value::Boolean(true)));
    let logical = Logical::Project { input: Box::new(part.logical), expressions };
    Part { logical, ..part }
}
