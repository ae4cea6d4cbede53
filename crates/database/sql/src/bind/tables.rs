//! Names in FROM: tables, views, common table expressions, tables that aren't stored.
//!
//! Callers: `from`, `set`, `change`.

use std::rc::Rc;
use std::sync::Arc;

use catalog::ObjectId;
use expression::{Expression, Kind};
use relation::ColumnDefinition;
use stop::{SqlState, Stop, did_you_mean};
use value::Value;

use super::from::Part;
use super::query::{output_scope, rename};
use super::scope::{Base, ColumnName, Scope, ScopeColumn, ScopeTable};
use super::select::settle;
use super::{Binder, OutputColumn, Query};
use crate::logical::{Logical, Scan, ScanColumn, VirtualScan};
use crate::names::Name;
use crate::refuse::{At, Bind, Refused};
use crate::schema::{Found, TableInfo, ViewInfo, VirtualTable};
use crate::stack::{VIEW, with_stack};

/// Oracle's table of one row.
const DUAL: &str = "dual";

impl Binder<'_> {
    /// The rows of what has this name.
    pub(super) fn named_table(&mut self, name: &Name, at: At) -> Bind<Part> {
        if let Some(part) = self.cte(name)? {
            return Ok(part);
        }
        // It is found before tables, as those that aren't stored are: a table that is made later
        // changes no plan.
        if *name == Name::plain(DUAL) {
            return Ok(dual(name));
        }
        match self.schema.find(name)? {
            Some(Found::Table(table)) => {
                let has_address = self.levels.levels.last().is_some_and(|it| it.has_addresses);
                Ok(self.table(&table, name, has_address))
            }
            Some(Found::View(view)) => self.view(&view, name),
            Some(Found::Virtual(table)) => {
                self.objects.extend(table.object());
                Ok(virtual_table(&table, name))
            }
            None => {
                let names = self.schema.names();
                let meant = did_you_mean(&name.name, names.iter().map(String::as_str));
                let message = format!("there is no table {name}{meant}");
                Err(Refused::new(SqlState::UNDEFINED_TABLE, at, message))
            }
        }
    }

    /// The rows of a table: all of its columns, and the rows' addresses behind them.
    pub(super) fn table(&mut self, table: &Arc<TableInfo>, name: &Name, has_address: bool) -> Part {
        self.objects.insert(ObjectId::Table(table.object()));
        self.sizes.insert(table.object(), table.statistics.blocks);
        let definition = &table.definition;
        let there = |(_, column): &(usize, &ColumnDefinition)| !column.is_dropped();
        let places: Vec<usize> =
            definition.columns.iter().enumerate().filter(there).map(|(place, _)| place).collect();
        let (named, name_of) = (Rc::new(name.clone()), ColumnName::of(definition));
        let column = |(number, place): (usize, &usize)| {
            let of = &definition.columns[*place];
            ScopeColumn {
                table: Some(Rc::clone(&named)),
                name: name_of(*place),
                value: Expression::Column(number),
                kind: Kind::from(of.kind),
                declared: Some(of.kind),
                is_plain: true,
            }
        };
        let scope = Scope {
            columns: places.iter().enumerate().map(column).collect(),
            tables: vec![ScopeTable {
                name: name.clone(),
                columns: 0..places.len() + usize::from(has_address),
            }],
            bases: vec![Base {
                name: name.clone(),
                table: Arc::clone(table),
                first: 0,
                places: places.clone(),
                address: has_address.then_some(places.len()),
            }],
        };
        let address = has_address.then_some(ScanColumn::Address);
        let scan = Scan {
            table: Arc::clone(table),
            alias: Arc::from(name.name.as_str()),
            columns: places.into_iter().map(ScanColumn::Table).chain(address).collect(),
        };
        Part::new(Logical::Scan(scan), scope)
    }

    /// The rows of a common table expression; none if there is none of this name.
    fn cte(&mut self, name: &Name) -> Bind<Option<Part>> {
        if name.schema.is_some() {
            return Ok(None);
        }
        let Some(place) = self.ctes.iter().rposition(|cte| cte.name == name.name) else {
            return Ok(None);
        };
        let cte = self.ctes[place].clone();
        let query = if cte.frame + 1 == self.frames.len() {
            let shared = &mut self.frame().shared[cte.number];
            shared.uses += 1;
            if shared.is_volatile && shared.reads_outside && shared.uses > 1 {
                let instead = "read it once, or don't read the row outside in it";
                let what = "reading a query of WITH twice that may differ each time and reads a \
                            row outside";
                return Err(Refused::unsupported(At::NOWHERE, what, instead));
            }
            if shared.reads_row {
                // It has other rows for each row, so it stands in each place where it is read.
                self.count_operations(cte.operations)?;
            }
            let width = cte.columns.len();
            Query { logical: Logical::Shared { number: cte.number, width }, columns: cte.columns }
        } else {
            if self.frames[cte.frame].shared[cte.number].is_volatile {
                let instead = "read it in FROM, and not in a subquery of an expression";
                let what = "a query of WITH that may differ each time, here";
                return Err(Refused::unsupported(At::NOWHERE, what, instead));
            }
            // A subquery in an expression runs by itself, so it computes the rows by itself.
            self.count_operations(1)?;
            let others = self.ctes.split_off(place);
            let bound = self.query(&cte.query, cte.outer)?;
            self.ctes.extend(others);
            let Query { logical, mut columns } = bound;
            rename(&mut columns, &cte.names, &cte.name)?;
            Query { logical, columns }
        };
        let query = settle(query)?;
        Ok(Some(Part::new(query.logical, named_scope(&query.columns, name))))
    }

    /// The rows of a view: its query is bound as if it stood here alone.
    fn view(&mut self, view: &ViewInfo, name: &Name) -> Bind<Part> {
        if self.views.contains(&view.name) {
            let message = format!("view {} reads itself", view.name);
            return Err(Refused::new(SqlState::INVALID_OBJECT_DEFINITION, At::NOWHERE, message));
        }
        self.count_operations(1)?;
        // A view in a view in a view: each is parsed and bound below those around it.
        with_stack(VIEW, || self.view_within(view, name))
    }

    fn view_within(&mut self, view: &ViewInfo, name: &Name) -> Bind<Part> {
        let query = syntax::parse_query(&view.query).map_err(Stop::from)?;
        let ctes = std::mem::take(&mut self.ctes);
        self.objects.insert(ObjectId::View(view.object));
        self.views.push(view.name.clone());
        let bound = self.query(&query, 0).map_err(|refused| refused.within_view(&view.name))?;
        self.views.pop();
        self.ctes = ctes;
        let Query { logical, mut columns } = settle(bound)?;
        rename(&mut columns, &view.columns, &view.name)?;
        Ok(Part::new(logical, named_scope(&columns, name)))
    }
}

/// The columns of a result under a table's name.
fn named_scope(columns: &[OutputColumn], name: &Name) -> Scope {
    let mut scope = output_scope(columns);
    let named = Rc::new(name.clone());
    scope.columns.iter_mut().for_each(|column| column.table = Some(Rc::clone(&named)));
    scope.tables.push(ScopeTable { name: name.clone(), columns: 0..columns.len() });
    scope
}

fn virtual_table(table: &Arc<dyn VirtualTable>, name: &Name) -> Part {
    let columns = table.columns().iter().enumerate().map(|(place, column)| {
        let kind = table.kind_of(place);
        let declared = (kind == Kind::from(column.kind)).then_some(column.kind);
        OutputColumn { name: column.name.to_string(), kind, declared }
    });
    let columns: Vec<OutputColumn> = columns.collect();
    let scan = VirtualScan { table: Arc::clone(table), columns: (0..columns.len()).collect() };
    Part::new(Logical::Virtual(scan), named_scope(&columns, name))
}

/// One row with the column `dummy`, which is 'X'.
fn dual(name: &Name) -> Part {
    let columns = [OutputColumn { name: "dummy".into(), kind: Kind::Text, declared: None }];
    let rows = Arc::from([vec![Expression::from(Value::Text("X"))]]);
    Part::new(Logical::Values { rows, width: 1 }, named_scope(&columns, name))
}
