//! Short ways: plans that need no row sources. Of such a plan one row at most comes, by a whole
//! unique key or as it is written.
//!
//! ```text
//!   SELECT a, b FROM t WHERE id = $1       key ─▶ row ─ under its latch: a, b ─▶ rows
//!   UPDATE t SET a = a + 1 WHERE id = $1   key ─▶ row ─▶ columns ─▶ filter, new values
//!   INSERT INTO t VALUES ($1, $2)          values
//! ```
//!
//! Invariants
//!   * a short way gives what the sources of the same plan give (rule SQ44)
//!   * no expression runs under a latch: columns are copied out first (rule SQ42)
//!
//! Callers: `opened` finds them; `cursor`, for queries; `change`.

use std::sync::Arc;

use expression::{Arena, Evaluation, Expression, NoRow, Rows};
use relation::Relation;
use stop::Stop;
use txn::Transaction;
use value::{OwnedValue, RowView, Timestamp, Value};

use super::copy::Copier;
use super::host::Host;
use super::host_calls::HostAnswers;
use super::machine::Env;
use super::opened::{Opened, Ran};
use crate::logical::ScanColumn;
use crate::plan::{Action, IndexScan, KeyPart, Node, Operation, Plan};

/// The most columns of a key.
const KEY_COLUMNS_MAX: usize = 8;

/// How the one row of a plan is made.
pub(crate) enum Short {
    /// The row with a key, if there is one.
    Row(KeyRow),
    /// The row of these expressions.
    Values(Vec<Expression>),
}

/// A row that is found by a whole key of a unique index.
pub(crate) struct KeyRow {
    /// The table's place among those of the plan.
    table: usize,
    /// The index's place in its relation.
    index: usize,
    key: Vec<Expression>,
    /// What is copied of the row.
    columns: Vec<ScanColumn>,
    /// What is made of that.
    made: Made,
}

/// What is made of the columns of a row.
enum Made {
    /// They are the row.
    Nothing,
    /// The row of these expressions, if the filter is true.
    Row { filter: Option<Expression>, expressions: Option<Vec<Expression>> },
}

impl Short {
    /// The short way of a plan, if it has one.
    pub(super) fn of(plan: &Plan, relations: &[Arc<Relation>]) -> Option<Short> {
        let frame = &plan.frame;
        let has_frames = frame.subqueries.iter().any(Option::is_some)
            || frame.shared.iter().any(Option::is_some);
        if has_frames || matches!(plan.action, Action::Lock(_) | Action::Merge(_)) {
            return None;
        }
        match &frame.root.operation {
            Operation::Values { rows, .. } => match &rows[..] {
                [row] => Some(Short::Values(row.clone())),
                _ => None,
            },
            Operation::Index(scan) => KeyRow::of(scan, None, relations).map(Short::Row),
            Operation::Project { input, expressions } => match &**input {
                Node { operation: Operation::Index(scan), .. } => {
                    KeyRow::of(scan, Some(expressions), relations).map(Short::Row)
                }
                // A SELECT without FROM.
                Node { operation: Operation::Values { rows, width: 0 }, .. } if rows.len() == 1 => {
                    Some(Short::Values(expressions.clone()))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Appends the plan's row to `into`, if there is one. `with` has the statement's parameters.
    pub(crate) fn row(
        &self,
        env: &Env<'_>,
        with: &Evaluation<'_>,
        into: &mut Rows,
    ) -> Result<(), Stop> {
        match self {
            Short::Row(row) => row.find(env, with, into),
            Short::Values(values) => Ok(push_row(values, &NoRow, with, into)?),
        }
    }
}

impl KeyRow {
    /// The row that a scan finds, unless that finds several; `expressions` are what is made of it.
    fn of(
        scan: &IndexScan,
        expressions: Option<&Vec<Expression>>,
        relations: &[Arc<Relation>],
    ) -> Option<KeyRow> {
        let equal = |part: &KeyPart| match part {
            KeyPart::Equal(value) => Some(value.clone()),
            KeyPart::Null | KeyPart::AnyOf(_) => None,
        };
        let key: Vec<Expression> = scan.search.equal.iter().map(equal).collect::<Option<_>>()?;
        let relation = &relations[scan.scan.table];
        let index = relation.place_of(scan.index).ok()?;
        let definition = &relation.definition().indexes[index];
        let is_whole = definition.unique && key.len() == definition.columns.len();
        if !is_whole || key.len() > KEY_COLUMNS_MAX || scan.only.is_some() {
            return None;
        }
        let filter = scan.scan.filter.clone();
        let plain = match expressions {
            _ if filter.is_some() => None,
            None => Some(scan.scan.columns.clone()),
            Some(expressions) => plain_columns(expressions, &scan.scan.columns),
        };
        let (columns, made) = match plain {
            Some(columns) => (columns, Made::Nothing),
            None => {
                let expressions = expressions.cloned();
                (scan.scan.columns.clone(), Made::Row { filter, expressions })
            }
        };
        Some(KeyRow { table: scan.scan.table, index, key, columns, made })
    }

    fn find(&self, env: &Env<'_>, with: &Evaluation<'_>, into: &mut Rows) -> Result<(), Stop> {
        let mut key = [Value::Null; KEY_COLUMNS_MAX];
        for (value, expression) in key.iter_mut().zip(&self.key) {
            *value = expression.evaluate(&NoRow, with)?;
            // A comparison with NULL is true for no row.
            if value.is_null() {
                return Ok(());
            }
        }
        let key = &key[..self.key.len()];
        let Made::Row { filter, expressions } = &self.made else {
            return self.copy(key, env, into);
        };
        let mut found = Rows::new(self.columns.len());
        self.copy(key, env, &mut found)?;
        let Some(row) = found.iter().next() else { return Ok(()) };
        if let Some(filter) = filter
            && filter.truth(&row, with)? != Some(true)
        {
            return Ok(());
        }
        match expressions {
            Some(expressions) => push_row(expressions, &row, with, into)?,
            None => into.push_row(&row),
        }
        Ok(())
    }

    /// Copies the columns of the row with this key, if there is one.
    fn copy(&self, key: &[Value<'_>], env: &Env<'_>, into: &mut Rows) -> Result<(), Stop> {
        let relation = &env.relations[self.table];
        let mut copier = Copier::new(&self.columns, into);
        let mut scratch = env.host.scratch.borrow_mut();
        let mut look = |address, row: RowView<'_>| copier.copy(address, &row);
        let session = env.host.session;
        relation.get(self.index, key, env.view, &mut look, &mut scratch, session)?;
        copier.end(&relation.definition().name)
    }
}

/// The columns that expressions are, if each is a column and nothing else.
fn plain_columns(expressions: &[Expression], columns: &[ScanColumn]) -> Option<Vec<ScanColumn>> {
    let column = |expression: &Expression| match expression {
        Expression::Column(number) => Some(columns[*number]),
        _ => None,
    };
    expressions.iter().map(column).collect()
}

/// Appends the row of these expressions. A refused one leaves no part of itself.
fn push_row(
    expressions: &[Expression],
    row: &dyn expression::Row,
    with: &Evaluation<'_>,
    into: &mut Rows,
) -> Result<(), expression::Fault> {
    into.begin_row();
    for expression in expressions {
        match expression.evaluate(row, with) {
            Ok(value) => into.push_value(value),
            Err(fault) => {
                into.drop_row();
                return Err(fault);
            }
        }
    }
    Ok(())
}

/// Runs a query by its short way: appends its row to `into`, if there is one.
pub(super) fn query(
    short: &Short,
    opened: &Opened,
    binds: &[OwnedValue],
    host: &Host<'_>,
    transaction: Option<&Transaction>,
    into: &mut Rows,
) -> Result<Ran<()>, Stop> {
    host.check()?;
    let transactions = host.instance.transactions();
    let snapshot = transactions.snapshot(transaction, host.session)?;
    if !opened.is_current(host) {
        return Ok(Ran::Stale);
    }
    let env = Env {
        host,
        relations: opened.relations(),
        view: transactions.view_of(&snapshot, transaction),
        call: 0,
        moment: host.moment(),
    };
    let (mut arena, answers) = (Arena::new(), HostAnswers::of(host, &opened.plan().frame));
    arena.set_limit(host.text_bytes());
    let with = evaluation(binds, env.moment, &arena, &answers);
    short.row(&env, &with, into)?;
    Ok(Ran::Done(()))
}

/// What expressions of a plan without subqueries are evaluated with.
pub(crate) fn evaluation<'a>(
    binds: &'a [OwnedValue],
    moment: Timestamp,
    arena: &'a Arena,
    answers: &'a HostAnswers<'a>,
) -> Evaluation<'a> {
    Evaluation {
        slots: binds,
        arena,
        moment,
        user: answers.host.connected.user(),
        dice: answers.host.dice,
        subqueries: Some(answers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_select_list_of_columns_alone_is_copied_as_it_is() {
        let columns = [ScanColumn::Table(4), ScanColumn::Table(2), ScanColumn::Address];
        let plain = [Expression::Column(1), Expression::Column(1), Expression::Column(2)];
        let expected = vec![ScanColumn::Table(2), ScanColumn::Table(2), ScanColumn::Address];
        assert_eq!(plain_columns(&plain, &columns), Some(expected));
        let made = [Expression::Column(0), Expression::from(Value::Int(1))];
        assert_eq!(plain_columns(&made, &columns), None);
    }
}
