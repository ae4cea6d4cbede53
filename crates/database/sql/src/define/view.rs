//! CREATE VIEW: its text, its columns, and what it reads.
//!
//! ```text
//!   bound as it is ─▶ is it sound, and what are its columns?
//!   bound with each other view as a table ─▶ which columns of which objects does it read itself?
//! ```
//!
//! A `*` of its own stands for the columns of now: the kept text names them. So a column that is
//! added to a table later isn't one of the view's.
//!
//! Callers: `define`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::{Dependency, ObjectId, ViewSpec};
use expression::{Expression, Kind, Question};
use ids::ObjectNo;
use sqlparser::ast::{Query as SqlQuery, SelectItem, SetExpr};
use stop::{RefusalKind, SqlState, Stop};
use syntax::{CreateView, quote_ident};
use value::{Type, Value};

use super::{Done, unless_redefined};
use crate::bind::{Binder, Bound, OutputColumn, Query, Statement};
use crate::engine::Frame;
use crate::logical::{FrameParts, Logical, Subplan};
use crate::names::{Name, fold};
use crate::refuse::refuse;
use crate::rewrite::pruned;
use crate::schema::{Found, Schema, VirtualColumn, VirtualContext, VirtualTable};

impl Frame<'_> {
    /// CREATE VIEW.
    pub(super) fn create_view(&mut self, create: &CreateView, text: &str) -> Result<Done, Stop> {
        let name = Name::of_users(&create.name)?;
        if create.if_not_exists && self.object_named(&name).is_some() {
            return Ok(Done::Skipped);
        }
        unless_redefined(&format!("view {name}"), || self.create_view_once(&name, create, text))
    }

    fn create_view_once(&self, name: &str, create: &CreateView, text: &str) -> Result<Done, Stop> {
        let bound_in = self.catalog.generation(self.session);
        let dictionary = self.ground().dictionary();
        let query = &create.query.tree;
        let bound = Binder::new(&dictionary, 0).query_alone(query);
        let bound = bound.map_err(|refused| refused.within(text))?;
        let Statement::Query(Query { columns: given, .. }) = &bound.statement else {
            unreachable!("a query was bound")
        };
        let columns = names_of(name, given, create)?;
        let text = match has_star(&query.body) {
            false => create.query.text.clone(),
            true => expanded(&create.query.text, given)?,
        };
        let depends_on = dependencies(&dictionary, query)?;
        let (name, replace, retyped) = (name.to_string(), create.or_replace, Vec::new());
        let mut spec = ViewSpec { name, text, columns, depends_on, bound_in, replace, retyped };
        if replace {
            spec.retyped = self.check_replaced(&spec, given, &bound.objects)?;
        }
        let made = self.catalog.create_view(&spec, self.session).map(|_| ());
        Done::unless(create.if_not_exists, RefusalKind::AlreadyExists, made)
    }
}

/// The names of a view's columns, each of which is there once.
fn names_of(view: &str, given: &[OutputColumn], create: &CreateView) -> Result<Vec<String>, Stop> {
    if create.columns.len() > given.len() {
        let message = format!(
            "view {view} names {} columns, and its query gives {}",
            create.columns.len(),
            given.len()
        );
        return Err(refuse(SqlState::SYNTAX_ERROR, message));
    }
    let mut names: Vec<String> = Vec::with_capacity(given.len());
    for (number, column) in given.iter().enumerate() {
        let name = create.columns.get(number).map_or_else(|| column.name.clone(), fold);
        if names.contains(&name) {
            let message = format!("view {view} has two columns {name}: name them apart");
            return Err(refuse(SqlState::DUPLICATE_COLUMN, message));
        }
        names.push(name);
    }
    Ok(names)
}

/// Whether a query's own columns are given by a `*`.
fn has_star(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => select.projection.iter().any(|item| {
            matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
        }),
        SetExpr::Query(query) => has_star(&query.body),
        SetExpr::SetOperation { left, right, .. } => has_star(left) || has_star(right),
        SetExpr::Table(_) => true,
        _ => false,
    }
}

/// The text of a query of a query, which names the columns that there are now.
fn expanded(text: &str, columns: &[OutputColumn]) -> Result<String, Stop> {
    let mut seen = BTreeSet::new();
    for column in columns {
        if !seen.insert(column.name.as_str()) {
            let message = format!(
                "the * of the view's query gives two columns {}: name the columns",
                column.name
            );
            return Err(refuse(SqlState::DUPLICATE_COLUMN, message));
        }
    }
    let names: Vec<String> = columns.iter().map(|column| quote_ident(&column.name)).collect();
    Ok(format!("SELECT {} FROM ({text}) AS q", names.join(", ")))
}

/// A dictionary in which views are tables, so that it can be seen what is read of them.
struct Recorder<'a> {
    schema: &'a dyn Schema,
    views: RefCell<BTreeMap<String, SeenView>>,
}

/// A view that is read, and its columns.
struct SeenView {
    object: ObjectNo,
    columns: Vec<String>,
}

/// A view as a table.
#[derive(Debug)]
struct ViewTable {
    name: String,
    columns: Vec<VirtualColumn>,
    /// The kinds of the columns. A view may have spans of time, which no table has.
    kinds: Vec<Kind>,
}

impl VirtualTable for ViewTable {
    fn schema(&self) -> &str {
        ""
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn kind_of(&self, column: usize) -> Kind {
        self.kinds[column]
    }

    fn rows(
        &self,
        _: &VirtualContext<'_>,
        _: &mut dyn FnMut(&[Value<'_>]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        unreachable!("it is bound, and never run")
    }
}

impl Schema for Recorder<'_> {
    fn find(&self, name: &Name) -> Result<Option<Found>, Stop> {
        let view = match self.schema.find(name)? {
            Some(Found::View(view)) => view,
            other => return Ok(other),
        };
        let query = syntax::parse_query(&view.query).map_err(Stop::from)?;
        let columns = columns_of(self.schema, &query)?;
        let column = |(number, column): (usize, &OutputColumn)| VirtualColumn {
            name: Cow::Owned(view.columns.get(number).unwrap_or(&column.name).clone()),
            kind: column.declared.or_else(|| column.kind.column_type()).unwrap_or(Type::Text),
        };
        let table = ViewTable {
            name: view.name.clone(),
            columns: columns.iter().enumerate().map(column).collect(),
            kinds: columns.iter().map(|column| column.kind).collect(),
        };
        let names = table.columns.iter().map(|column| column.name.to_string()).collect();
        let seen = SeenView { object: view.object, columns: names };
        self.views.borrow_mut().insert(view.name.clone(), seen);
        Ok(Some(Found::Virtual(Arc::new(table))))
    }

    fn sequence(&self, name: &str) -> Result<Option<ObjectNo>, Stop> {
        self.schema.sequence(name)
    }

    fn names(&self) -> Vec<String> {
        self.schema.names()
    }
}

/// The columns that a query gives.
pub(super) fn columns_of(schema: &dyn Schema, query: &SqlQuery) -> Result<Vec<OutputColumn>, Stop> {
    let bound = Binder::new(schema, 0).query_alone(query);
    let bound = bound.map_err(|refused| refused.elsewhere().within(""))?;
    let Statement::Query(Query { columns, .. }) = bound.statement else {
        unreachable!("a query was bound")
    };
    Ok(columns)
}

/// What a query reads itself, and not by way of a view.
pub(super) fn dependencies(schema: &dyn Schema, query: &SqlQuery) -> Result<Vec<Dependency>, Stop> {
    let recorder = Recorder { schema, views: RefCell::default() };
    let bound = Binder::new(&recorder, 0).query_alone(query);
    let mut read: BTreeMap<ObjectId, BTreeSet<usize>> = BTreeMap::new();
    let Ok(Bound { statement: Statement::Query(query), mut frame, objects, .. }) = bound else {
        // Bound with views as tables it has other kinds, which may not do: then it reads all of
        // each view, and what it reads beside them isn't known apart.
        return of_all(schema, query);
    };
    without_columns_of_exists(&query.logical, &mut frame);
    for object in objects {
        read.entry(object).or_default();
    }
    let (logical, views) = (pruned(query.logical, &mut frame), recorder.views.into_inner());
    add_read(&logical, &views, &mut read);
    add_of_frame(&frame, &views, &mut read);
    Ok(listed(read))
}

fn listed(read: BTreeMap<ObjectId, BTreeSet<usize>>) -> Vec<Dependency> {
    let dependency = |(object, columns): (ObjectId, BTreeSet<usize>)| Dependency {
        object,
        columns: columns.into_iter().collect(),
    };
    read.into_iter().map(dependency).collect()
}

/// All that a query reads, with the columns that it reads of tables.
pub(super) fn of_all(schema: &dyn Schema, query: &SqlQuery) -> Result<Vec<Dependency>, Stop> {
    let bound = Binder::new(schema, 0).query_alone(query);
    let bound = bound.map_err(|refused| refused.elsewhere().within(""))?;
    let Bound { statement: Statement::Query(query), mut frame, objects, .. } = bound else {
        unreachable!("a query was bound")
    };
    without_columns_of_exists(&query.logical, &mut frame);
    let mut read: BTreeMap<ObjectId, BTreeSet<usize>> = BTreeMap::new();
    for object in objects {
        read.entry(object).or_default();
    }
    let (logical, none) = (pruned(query.logical, &mut frame), BTreeMap::new());
    add_read(&logical, &none, &mut read);
    add_of_frame(&frame, &none, &mut read);
    Ok(listed(read))
}

/// EXISTS asks for no column of its query, whatever that gives: `SELECT *` reads none.
fn without_columns_of_exists(logical: &Logical, frame: &mut FrameParts) {
    let mut of_exists = BTreeSet::new();
    add_exists(logical, &mut of_exists);
    frame.shared.iter().for_each(|shared| add_exists(&shared.logical, &mut of_exists));
    for (number, subplan) in frame.subqueries.iter_mut().enumerate() {
        if of_exists.contains(&number) {
            let rows = std::mem::replace(&mut subplan.logical, Logical::no_rows(0));
            subplan.logical = rows.projected(vec![Expression::from(Value::Boolean(true))]);
        }
        let Subplan { logical, frame, .. } = subplan;
        without_columns_of_exists(logical, frame);
    }
}

/// Adds the numbers of the subqueries of which a tree asks only whether they have rows.
fn add_exists(logical: &Logical, numbers: &mut BTreeSet<usize>) {
    logical.each_expression(&mut |one| {
        one.walk(&mut |part| {
            if let Expression::Subquery(subquery) = part
                && subquery.question == Question::Exists
            {
                numbers.insert(subquery.number);
            }
        });
    });
    logical.inputs().for_each(|input| add_exists(input, numbers));
}

/// Adds what a frame's subqueries and shared queries read.
fn add_of_frame(
    frame: &FrameParts,
    views: &BTreeMap<String, SeenView>,
    read: &mut BTreeMap<ObjectId, BTreeSet<usize>>,
) {
    for shared in &frame.shared {
        add_read(&shared.logical, views, read);
    }
    for subplan in &frame.subqueries {
        add_read(&subplan.logical, views, read);
        add_of_frame(&subplan.frame, views, read);
    }
}

/// Adds the columns that a tree reads.
fn add_read(
    logical: &Logical,
    views: &BTreeMap<String, SeenView>,
    read: &mut BTreeMap<ObjectId, BTreeSet<usize>>,
) {
    match logical {
        Logical::Scan(scan) => {
            let columns = read.entry(ObjectId::Table(scan.table.object())).or_default();
            columns.extend(scan.columns.iter().filter_map(|column| column.place()));
        }
        Logical::Virtual(scan) => {
            if let Some(view) = views.get(scan.table.name()) {
                let columns = read.entry(ObjectId::View(view.object)).or_default();
                columns.extend(scan.columns.iter().filter(|place| **place < view.columns.len()));
            }
        }
        _ => {}
    }
    for input in logical.inputs() {
        add_read(input, views, read);
    }
}
