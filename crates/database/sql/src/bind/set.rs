//! UNION, INTERSECT, EXCEPT; VALUES; TABLE.
//!
//! Callers: `query`.

use expression::{Kind, Typed, build};
use sqlparser::ast::{SetExpr, SetOperator, SetQuantifier, Table, Values};
use stop::SqlState;

use super::group::Collector;
use super::order::RowOrder;
use super::scope::{Border, Scope};
use super::{Binder, OutputColumn, Query, check_width, typed_columns};
use crate::logical::{Logical, SetKind, SetOperation};
use crate::names::Name;
use crate::refuse::{At, Bind, Placed, Refused};

/// An operation of a chain, with its right side.
struct Link<'e> {
    kind: SetKind,
    all: bool,
    right: &'e SetExpr,
}

impl Binder<'_> {
    /// A set operation. A chain of them, nested to the left, is bound from its innermost side on.
    pub(super) fn set_operation(&mut self, body: &SetExpr, outer: usize) -> Bind<Query> {
        let (mut links, mut first) = (Vec::new(), body);
        while let SetExpr::SetOperation { left, op, set_quantifier, right } = first {
            links.push(Link { kind: kind_of(*op), all: is_all(*set_quantifier)?, right });
            first = left;
        }
        let mut done = self.body(first, RowOrder::any(), outer)?;
        for Link { kind, all, right } in links.into_iter().rev() {
            self.count_operations(1)?;
            let right = self.deeper(|binder| binder.body(right, RowOrder::any(), outer))?;
            done = combined(kind, all, done, right)?;
        }
        Ok(done)
    }

    /// VALUES: rows of expressions without columns of their own.
    pub(super) fn values(&mut self, values: &Values, outer: usize) -> Bind<Query> {
        self.levels.enter(Border::Plan, Scope::default(), outer);
        self.groups.push(Collector::forbidding("VALUES"));
        let bound = self.value_rows(values);
        self.groups.pop();
        self.levels.leave();
        bound
    }

    fn value_rows(&mut self, values: &Values) -> Bind<Query> {
        let width = values.rows.first().map_or(0, |row| row.content.len());
        check_width(width, At::NOWHERE)?;
        let mut columns: Vec<Vec<Typed>> = vec![Vec::with_capacity(values.rows.len()); width];
        for row in &values.rows {
            if row.content.len() != width {
                let message = "the rows of VALUES have different numbers of columns";
                let at = row.content.first().map_or(At::NOWHERE, At::of);
                return Err(Refused::new(SqlState::SYNTAX_ERROR, at, message));
            }
            for (column, expr) in columns.iter_mut().zip(&row.content) {
                column.push(self.expression(expr)?);
            }
        }
        let mut rows = vec![Vec::with_capacity(width); values.rows.len()];
        let mut outputs = Vec::with_capacity(width);
        for (place, column) in columns.into_iter().enumerate() {
            let unified = build::unify("VALUES", column)?;
            let kind = unified.first().map_or(Kind::Text, |one| one.kind);
            outputs.push(OutputColumn {
                name: format!("column{}", place + 1),
                kind,
                declared: None,
            });
            for (row, typed) in rows.iter_mut().zip(unified) {
                self.note_kinds(&typed.expression);
                row.push(typed.expression);
            }
        }
        Ok(Query { logical: Logical::Values { rows: rows.into(), width }, columns: outputs })
    }

    /// `TABLE name`: all of its columns.
    pub(super) fn table_command(&mut self, table: &Table) -> Bind<Query> {
        let Some(written) = &table.table_name else {
            return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, "TABLE needs a name"));
        };
        let name = Name { schema: table.schema_name.clone(), name: written.clone() };
        let part = self.named_table(&name, At::NOWHERE)?;
        let columns = part.scope.columns.iter().map(|column| OutputColumn {
            name: column.name.to_string(),
            kind: column.kind,
            declared: column.declared,
        });
        let columns = columns.collect();
        let values = part.scope.columns.into_iter().map(|column| column.value).collect();
        Ok(Query { logical: part.logical.projected(values), columns })
    }
}

fn kind_of(op: SetOperator) -> SetKind {
    match op {
        SetOperator::Union => SetKind::Union,
        SetOperator::Intersect => SetKind::Intersect,
        SetOperator::Except | SetOperator::Minus => SetKind::Except,
    }
}

fn is_all(quantifier: SetQuantifier) -> Bind<bool> {
    match quantifier {
        SetQuantifier::All => Ok(true),
        SetQuantifier::Distinct | SetQuantifier::None => Ok(false),
        SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName => {
            let instead = "list the columns in the same order";
            Err(Refused::unsupported(At::NOWHERE, "BY NAME", instead))
        }
    }
}

/// Two queries as one; the columns of both become of one kind, and have the names of the left ones.
fn combined(kind: SetKind, all: bool, left: Query, right: Query) -> Bind<Query> {
    let name = match kind {
        SetKind::Union => "UNION",
        SetKind::Intersect => "INTERSECT",
        SetKind::Except => "EXCEPT",
    };
    if left.columns.len() != right.columns.len() {
        let message = format!(
            "both sides of {name} need as many columns: they have {} and {}",
            left.columns.len(),
            right.columns.len()
        );
        return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message));
    }
    let pairs = typed_columns(&left.columns).into_iter().zip(typed_columns(&right.columns));
    let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
    let mut columns = Vec::with_capacity(left.columns.len());
    for (place, (a, b)) in pairs.enumerate() {
        let unified = build::unify(name, vec![a, b]).placed_at(At::NOWHERE)?;
        let (mut names, other) = (left.columns[place].clone(), &right.columns[place]);
        names.kind = unified[0].kind;
        names.declared = names.declared.filter(|own| other.declared == Some(*own));
        columns.push(names);
        let mut unified = unified.into_iter();
        of_left.extend(unified.next().map(|typed| typed.expression));
        of_right.extend(unified.next().map(|typed| typed.expression));
    }
    let (left, right) = (left.logical.projected(of_left), right.logical.projected(of_right));
    let set = SetOperation { kind, all, left: Box::new(left), right: Box::new(right) };
    Ok(Query { logical: Logical::Set(set), columns })
}
