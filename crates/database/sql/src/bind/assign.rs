//! Values for columns: what is given, DEFAULT, identities; and what a statement gives back of its
//! rows.
//!
//! Callers: `change`, `merge`.

use std::rc::Rc;
use std::sync::Arc;

use expression::{Expression, Kind, Typed};
use relation::{Default as ColumnDefault, TableDefinition};
use sqlparser::ast::{Ident, SelectItem};
use stop::{SqlState, Stop, did_you_mean};
use syntax::{Assignment, Given};

use super::group::Collector;
use super::scope::{Base, Border, ColumnName, Scope, ScopeColumn, ScopeTable};
use super::{Assigned, Binder, OutputColumn, Returning};
use crate::names::{Name, fold};
use crate::refuse::{At, Bind, Placed, Refused};
use crate::schema::TableInfo;

impl Binder<'_> {
    /// The place of a column that a statement gives a value.
    pub(super) fn place_of(table: &TableDefinition, name: &Ident) -> Bind<usize> {
        let wanted = fold(name);
        let is_it =
            |column: &relation::ColumnDefinition| column.name == wanted && !column.is_dropped();
        table.columns.iter().position(is_it).ok_or_else(|| {
            let there = table.columns.iter().filter(|column| !column.is_dropped());
            let meant = did_you_mean(&wanted, there.map(|column| column.name.as_str()));
            let message = format!("table {} has no column {wanted}{meant}", table.name);
            Refused::new(SqlState::UNDEFINED_COLUMN, At::begin(name.span), message)
        })
    }

    /// The places of columns, each of which may be named once.
    pub(crate) fn places_of(table: &TableDefinition, names: &[Ident]) -> Bind<Vec<usize>> {
        let mut places = Vec::with_capacity(names.len());
        for name in names {
            let place = Binder::place_of(table, name)?;
            if places.contains(&place) {
                return Err(twice(name));
            }
            places.push(place);
        }
        Ok(places)
    }

    /// A value as a column of the table takes it.
    pub(super) fn given(
        &mut self,
        table: &TableDefinition,
        place: usize,
        given: &Given,
    ) -> Bind<Expression> {
        match given {
            Given::Default => self.default_of(table, place),
            Given::Expression(expr) => {
                let typed = self.expression(expr)?;
                self.taken(table, place, typed).at(&**expr)
            }
        }
    }

    /// The same for a value that is bound.
    pub(super) fn taken(
        &mut self,
        table: &TableDefinition,
        place: usize,
        typed: Typed,
    ) -> Bind<Expression> {
        let column = &table.columns[place];
        let taken = typed.assigned(column.kind, &column.name)?.expression;
        self.note_kinds(&taken);
        Ok(taken)
    }

    /// What a column has if it is given nothing.
    pub(super) fn default_of(&mut self, table: &TableDefinition, place: usize) -> Bind<Expression> {
        match &table.columns[place].default {
            ColumnDefault::Constant(value) => Ok(Expression::Constant(value.clone())),
            ColumnDefault::Identity { sequence, .. } => {
                Ok(self.sequence_value(*sequence, true).expression)
            }
            ColumnDefault::Expression(text) => {
                let expr = syntax::parse_expression(text).map_err(Stop::from)?;
                // It sees no table, also none of the statement's.
                self.levels.enter(Border::Plan, Scope::default(), 0);
                self.groups.push(Collector::forbidding("a default"));
                let typed = self.expression(&expr).map_err(Refused::elsewhere)?;
                self.groups.pop();
                self.levels.leave();
                self.taken(table, place, typed).map_err(Refused::elsewhere)
            }
        }
    }

    /// The same for one of many rows, where `bound` has what was bound for those before: a text
    /// isn't read for each. Each row evaluates it, and so has a value of a sequence of its own.
    pub(super) fn default_once(
        &mut self,
        table: &TableDefinition,
        place: usize,
        bound: &mut [Option<Expression>],
    ) -> Bind<Expression> {
        if matches!(table.columns[place].default, ColumnDefault::Constant(_)) {
            return self.default_of(table, place);
        }
        if bound[place].is_none() {
            bound[place] = Some(self.default_of(table, place)?);
        }
        Ok(bound[place].clone().expect("it was just bound"))
    }

    /// What SET says: each column once.
    pub(super) fn assignments(
        &mut self,
        table: &TableDefinition,
        written: &[Assignment],
    ) -> Bind<Vec<Assigned>> {
        let mut all: Vec<Assigned> = Vec::with_capacity(written.len());
        let mut add = |name: &Ident, place: usize, value: Expression| match all
            .iter()
            .any(|one| one.column == place)
        {
            true => Err(twice(name)),
            false => {
                all.push(Assigned { column: place, value });
                Ok(())
            }
        };
        for assignment in written {
            match assignment {
                Assignment::Column { column, value } => {
                    let place = Binder::place_of(table, column)?;
                    if matches!(value, Given::Expression(_)) {
                        check_may_be_set(table, place, column)?;
                    }
                    add(column, place, self.given(table, place, value)?)?;
                }
                Assignment::Columns { columns, query } => {
                    for (number, column) in columns.iter().enumerate() {
                        let place = Binder::place_of(table, column)?;
                        check_may_be_set(table, place, column)?;
                        let typed = self.scalar_column(query, number, columns.len())?;
                        add(column, place, self.taken(table, place, typed)?)?;
                    }
                }
            }
        }
        Ok(all)
    }

    /// The scope of a table's rows under this name. Its first column has this number; dropped
    /// columns have numbers too.
    pub(super) fn row_scope(table: &Arc<TableInfo>, name: &Name, first: usize) -> Scope {
        let definition = &table.definition;
        let places: Vec<usize> = (0..definition.columns.len()).collect();
        let live = places.iter().filter(|place| !definition.columns[**place].is_dropped());
        let (table_name, name_of) = (Rc::new(name.clone()), ColumnName::of(definition));
        let column = |place: &usize| {
            let of = &definition.columns[*place];
            ScopeColumn {
                table: Some(Rc::clone(&table_name)),
                name: name_of(*place),
                value: Expression::Column(first + place),
                kind: Kind::from(of.kind),
                declared: Some(of.kind),
                is_plain: true,
            }
        };
        Scope {
            columns: live.map(column).collect(),
            tables: vec![ScopeTable { name: name.clone(), columns: first..first + places.len() }],
            bases: vec![Base {
                name: name.clone(),
                table: Arc::clone(table),
                first,
                places: places.clone(),
                address: None,
            }],
        }
    }

    /// RETURNING, over a row of this scope; none if nothing is given back.
    pub(super) fn returning(
        &mut self,
        items: &[SelectItem],
        scope: Scope,
    ) -> Bind<Option<Returning>> {
        if items.is_empty() {
            return Ok(None);
        }
        let (mut expressions, columns) =
            self.within_scope(scope, "RETURNING", |binder| binder.items(items))?;
        let mut settled: Vec<OutputColumn> = Vec::with_capacity(columns.len());
        for (expression, column) in expressions.iter_mut().zip(columns) {
            let typed = Typed::new(expression.clone(), column.kind).settled();
            *expression = typed.expression;
            settled.push(OutputColumn { kind: typed.kind, ..column });
        }
        Ok(Some(Returning { expressions, columns: settled }))
    }

    /// Does `work` with rows of this scope.
    pub(super) fn within_scope<T>(
        &mut self,
        scope: Scope,
        clause: &'static str,
        work: impl FnOnce(&mut Self) -> Bind<T>,
    ) -> Bind<T> {
        self.levels.enter(Border::Plan, scope, self.levels.depth());
        self.groups.push(Collector::forbidding(clause));
        let done = work(self)?;
        self.groups.pop();
        self.levels.leave();
        Ok(done)
    }
}

/// Refuses SET of a column that is always generated, to anything but DEFAULT.
fn check_may_be_set(table: &TableDefinition, place: usize, name: &Ident) -> Bind<()> {
    let column = &table.columns[place];
    match column.default {
        ColumnDefault::Identity { always: true, .. } => {
            let message = format!("column {} can only be set to DEFAULT", column.name);
            Err(Refused::new(SqlState::GENERATED_ALWAYS, At::begin(name.span), message)
                .hint("it is GENERATED ALWAYS: leave it as it is, or give it DEFAULT"))
        }
        _ => Ok(()),
    }
}

/// Refuses a value for a column that is always generated. DEFAULT is none.
pub(super) fn check_not_generated(
    table: &TableDefinition,
    place: usize,
    given: &Given,
    at: At,
) -> Bind<()> {
    let column = &table.columns[place];
    let is_always = matches!(column.default, ColumnDefault::Identity { always: true, .. });
    match is_always && matches!(given, Given::Expression(_)) {
        true => Err(always_generated(&column.name, at)),
        false => Ok(()),
    }
}

pub(super) fn always_generated(column: &str, at: At) -> Refused {
    let message = format!("column {column} can't be given a value: it is GENERATED ALWAYS");
    Refused::new(SqlState::GENERATED_ALWAYS, at, message)
        .hint("leave the column out, give it DEFAULT, or write OVERRIDING SYSTEM VALUE")
}

fn twice(name: &Ident) -> Refused {
    let message = format!("column {} is given a value twice", fold(name));
    Refused::new(SqlState::DUPLICATE_COLUMN, At::begin(name.span), message)
}
