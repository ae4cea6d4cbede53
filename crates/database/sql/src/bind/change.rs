//! INSERT, UPDATE, DELETE.
//!
//! Callers: `statement`.

use std::collections::BTreeSet;
use std::sync::Arc;

use expression::{Expression, Typed};
use ids::ObjectNo;
use relation::{Default as ColumnDefault, IndexId, TableDefinition};
use sqlparser::ast::{Expr, Ident, SelectItem, TableWithJoins};
use stop::SqlState;
use syntax::{Given, Overriding};

use super::assign::always_generated;
use super::from::Part;
use super::group::Collector;
use super::joins::JoinAs;
use super::scope::{Border, Scope};
use super::{Binder, ConflictAction, Delete, Insert, OnConflict, Query, Update, typed_columns};
use crate::logical::{Logical, conjuncts};
use crate::names::{Name, fold};
use crate::refuse::{At, Bind, Refused};
use crate::schema::TableInfo;

/// The name by which ON CONFLICT knows the row that was to be inserted.
const EXCLUDED: &str = "excluded";

impl Binder<'_> {
    /// INSERT.
    pub(super) fn insert(&mut self, written: &syntax::Insert) -> Bind<Insert> {
        if let Some(with) = &written.with {
            self.with(with, 1)?;
        }
        let table = self.target(&written.table)?;
        self.note_table(table.object());
        let definition = Arc::clone(&table.definition);
        let live = |place: &usize| !definition.columns[*place].is_dropped();
        let columns = match written.columns.is_empty() {
            true => (0..definition.columns.len()).filter(live).collect(),
            false => Binder::places_of(&definition, &written.columns)?,
        };
        let given = GivenColumns {
            table: &definition,
            columns,
            are_named: !written.columns.is_empty(),
            overriding: written.overriding,
        };
        let source = match &written.source {
            syntax::InsertSource::Defaults => {
                let none_named = GivenColumns { are_named: false, ..given.clone() };
                self.value_rows_of(&none_named, &[Vec::new()])?
            }
            syntax::InsertSource::Values(rows) => self.value_rows_of(&given, rows)?,
            syntax::InsertSource::Query(query) => self.rows_of_query(&given, query)?,
        };
        let name = target_name(&written.table, written.alias.as_ref());
        let on_conflict = match &written.on_conflict {
            Some(conflict) => Some(self.on_conflict(&table, &name, conflict)?),
            None => None,
        };
        let scope = match written.returning.is_empty() {
            true => Scope::default(),
            false => Binder::row_scope(&table, &name, 0),
        };
        let returning = self.returning(&written.returning, scope)?;
        let is_of_query = matches!(written.source, syntax::InsertSource::Query(_));
        let appends = written.appends;
        Ok(Insert { table, source, on_conflict, returning, is_of_query, appends })
    }

    /// Rows that are written out: VALUES, DEFAULT VALUES.
    fn value_rows_of(&mut self, given: &GivenColumns<'_>, rows: &[Vec<Given>]) -> Bind<Logical> {
        let width = given.table.columns.len();
        let mut made = Vec::with_capacity(rows.len());
        let mut defaults: Vec<Option<Expression>> = vec![None; width];
        self.levels.enter(Border::Plan, Scope::default(), 1);
        self.groups.push(Collector::forbidding("VALUES"));
        let of_first = rows.first().map_or(0, Vec::len);
        for row in rows {
            check_count(given, row.len())?;
            if row.len() != of_first {
                let message = "the rows of VALUES have different numbers of columns";
                return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message));
            }
            let mut values = Vec::with_capacity(width);
            for place in 0..width {
                values.push(match given.number_of(place).and_then(|number| row.get(number)) {
                    Some(value) => self.value_of(given, place, value, &mut defaults)?,
                    None => self.default_once(given.table, place, &mut defaults)?,
                });
            }
            made.push(values);
        }
        self.groups.pop();
        self.levels.leave();
        Ok(Logical::Values { rows: made.into(), width })
    }

    fn value_of(
        &mut self,
        given: &GivenColumns<'_>,
        place: usize,
        value: &Given,
        defaults: &mut [Option<Expression>],
    ) -> Bind<Expression> {
        let is_ignored = given.is_identity(place) && given.overriding == Some(Overriding::User);
        match value {
            Given::Expression(expr) if !is_ignored => {
                given.check_generated(place, || At::of(&**expr))?;
                self.given(given.table, place, value)
            }
            _ => self.default_once(given.table, place, defaults),
        }
    }

    /// The rows of a query, with defaults for the columns that it doesn't give.
    fn rows_of_query(
        &mut self,
        given: &GivenColumns<'_>,
        query: &sqlparser::ast::Query,
    ) -> Bind<Logical> {
        let bound = self.query(query, 1)?;
        check_count(given, bound.columns.len())?;
        let Query { logical, columns } = bound;
        let mut typed: Vec<Option<Typed>> = typed_columns(&columns).into_iter().map(Some).collect();
        let width = given.table.columns.len();
        let mut expressions = Vec::with_capacity(width);
        for place in 0..width {
            let number = given.number_of(place).filter(|number| *number < typed.len());
            let is_ignored = given.is_identity(place) && given.overriding == Some(Overriding::User);
            expressions.push(match number.and_then(|number| typed[number].take()) {
                Some(typed) if !is_ignored => {
                    given.check_generated(place, || At::NOWHERE)?;
                    self.taken(given.table, place, typed)?
                }
                _ => self.default_of(given.table, place)?,
            });
        }
        Ok(Logical::Project { input: Box::new(logical), expressions })
    }

    /// ON CONFLICT, over the row that is there and the row that was to be inserted.
    fn on_conflict(
        &mut self,
        table: &Arc<TableInfo>,
        name: &Name,
        written: &syntax::OnConflict,
    ) -> Bind<OnConflict> {
        let definition = &table.definition;
        let index = match &written.target {
            None => None,
            Some(syntax::ConflictTarget::Columns(names)) => {
                // A column that is named twice is one of the key.
                let mut places = BTreeSet::new();
                for name in names {
                    places.insert(Binder::place_of(definition, name)?);
                }
                Some(arbiter(definition, &places)?)
            }
            Some(syntax::ConflictTarget::Constraint(name)) => {
                Some(arbiter_named(definition, name)?)
            }
        };
        let action = match &written.action {
            syntax::ConflictAction::Nothing => ConflictAction::Nothing,
            syntax::ConflictAction::Update { set, filter } => {
                if index.is_none() {
                    let message = "ON CONFLICT DO UPDATE needs the columns of a unique key, or the \
                                   name of a constraint";
                    return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message));
                }
                let width = definition.columns.len();
                let mut scope = Binder::row_scope(table, name, 0);
                let mut excluded = Binder::row_scope(table, &Name::plain(EXCLUDED), width);
                // A name alone means the row that is there.
                excluded.columns.iter_mut().for_each(|column| column.is_plain = false);
                scope.columns.append(&mut excluded.columns);
                scope.tables.append(&mut excluded.tables);
                self.within_scope(scope, "ON CONFLICT", |binder| {
                    let set = binder.assignments(definition, set)?;
                    let filter = match filter {
                        Some(filter) => conjuncts(binder.condition(filter, "WHERE")?),
                        None => Vec::new(),
                    };
                    Ok(ConflictAction::Update { set, filter })
                })?
            }
        };
        Ok(OnConflict { index, action })
    }

    /// UPDATE.
    pub(super) fn update(&mut self, written: &syntax::Update) -> Bind<Update> {
        if let Some(with) = &written.with {
            self.with(with, 1)?;
        }
        let table = self.target(&written.table)?;
        let name = target_name(&written.table, written.alias.as_ref());
        let found = self.found_rows(&table, &name, &written.from, written.filter.as_ref())?;
        let definition = &table.definition;
        let set = self.assignments(definition, &written.set)?;
        let columns: Vec<usize> = set.iter().map(|one| one.column).collect();
        let scope = self.scope_returned(&written.returning);
        let width = found.logical.width();
        let mut expressions = vec![Expression::Column(found.address)];
        expressions.extend(set.into_iter().map(|one| one.value));
        let first = expressions.len();
        let mut returned = scope.joined_behind(first);
        for column in &mut returned.columns {
            // A column that is set is given back as it is set.
            let own = (0..columns.len()).find(|number| {
                let place = columns[*number];
                let at = found.column_of(place).map(|at| Expression::Column(first + at));
                at.is_some_and(|at| at == column.value)
            });
            if let Some(number) = own {
                column.value = Expression::Column(1 + number);
            }
        }
        self.leave_found();
        let returning = self.returning(&written.returning, returned)?;
        if returning.is_some() {
            expressions.extend((0..width).map(Expression::Column));
        }
        let source = Logical::Project { input: Box::new(found.logical), expressions };
        Ok(Update { table, source, columns, returning })
    }

    /// DELETE.
    pub(super) fn delete(&mut self, written: &syntax::Delete) -> Bind<Delete> {
        if let Some(with) = &written.with {
            self.with(with, 1)?;
        }
        let table = self.target(&written.table)?;
        let name = target_name(&written.table, written.alias.as_ref());
        let found = self.found_rows(&table, &name, &written.using, written.filter.as_ref())?;
        let returned = self.scope_returned(&written.returning).joined_behind(1);
        self.leave_found();
        let returning = self.returning(&written.returning, returned)?;
        let mut expressions = vec![Expression::Column(found.address)];
        if returning.is_some() {
            expressions.extend((0..found.logical.width()).map(Expression::Column));
        }
        let source = Logical::Project { input: Box::new(found.logical), expressions };
        Ok(Delete { table, source, returning })
    }

    /// What RETURNING may name of the rows that were found; nothing if it isn't there.
    fn scope_returned(&self, returning: &[SelectItem]) -> Scope {
        match returning.is_empty() {
            true => Scope::default(),
            false => self.levels.scope().clone(),
        }
    }

    /// The rows of a table that a statement is about, joined with those of other tables. The level
    /// that is entered for them is left by `leave_found`.
    pub(super) fn found_rows(
        &mut self,
        table: &Arc<TableInfo>,
        name: &Name,
        others: &[TableWithJoins],
        filter: Option<&Expr>,
    ) -> Bind<FoundRows> {
        self.levels.enter(Border::Plan, Scope::default(), 1);
        self.groups.push(Collector::forbidding("a statement that changes rows"));
        let mut part: Part = self.table(table, name, true);
        let base = part.scope.bases[0].clone();
        for item in others {
            part = self.with_item(part, item)?;
        }
        let Part { mut logical, scope, .. } = part;
        super::from::check_aliases(&scope)?;
        self.set_scope(scope);
        if let Some(filter) = filter {
            let condition = self.condition(filter, "WHERE")?;
            logical = logical.filtered(conjuncts(condition));
        }
        let address = base.address.expect("it was asked for");
        Ok(FoundRows { logical, address, places: base.places })
    }

    /// Leaves the level of `found_rows`.
    pub(super) fn leave_found(&mut self) {
        self.groups.pop();
        self.levels.leave();
    }

    /// Joins what is behind a comma.
    fn with_item(&mut self, left: Part, item: &TableWithJoins) -> Bind<Part> {
        self.set_scope(Scope::default());
        let right = self.joined(item)?;
        self.join(left, right, JoinAs::cross())
    }

    /// Notes that the plan rests on a table.
    pub(super) fn note_table(&mut self, object: ObjectNo) {
        let objects: &mut BTreeSet<catalog::ObjectId> = &mut self.objects;
        objects.insert(catalog::ObjectId::Table(object));
    }
}

/// The rows that a statement changes.
pub(super) struct FoundRows {
    pub(super) logical: Logical,
    /// The column with the addresses.
    pub(super) address: usize,
    /// What the first columns are of the table.
    places: Vec<usize>,
}

impl FoundRows {
    /// The number of a column of the table.
    pub(super) fn column_of(&self, place: usize) -> Option<usize> {
        self.places.iter().position(|one| *one == place)
    }
}

/// The columns to which an INSERT gives values.
#[derive(Clone)]
struct GivenColumns<'t> {
    table: &'t TableDefinition,
    columns: Vec<usize>,
    /// Whether the statement names them.
    are_named: bool,
    overriding: Option<Overriding>,
}

impl GivenColumns<'_> {
    /// The number of a column among those that are given.
    fn number_of(&self, place: usize) -> Option<usize> {
        self.columns.iter().position(|one| *one == place)
    }

    fn is_identity(&self, place: usize) -> bool {
        matches!(self.table.columns[place].default, ColumnDefault::Identity { .. })
    }

    /// Refuses a value for a column that is always generated.
    fn check_generated(&self, place: usize, at: impl FnOnce() -> At) -> Bind<()> {
        let column = &self.table.columns[place];
        let is_always = matches!(column.default, ColumnDefault::Identity { always: true, .. });
        match is_always && self.overriding.is_none() {
            true => Err(always_generated(&column.name, at())),
            false => Ok(()),
        }
    }
}

/// Refuses more values than columns, and fewer than are named. Where none are named, the others get
/// their defaults, as in PostgreSQL.
fn check_count(given: &GivenColumns<'_>, values: usize) -> Bind<()> {
    let columns = given.columns.len();
    if values > columns || (given.are_named && values < columns) {
        let table = &given.table.name;
        let message =
            format!("INSERT into table {table} gives {values} values for {columns} columns");
        return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message));
    }
    Ok(())
}

/// The name by which a statement knows the table that it changes.
pub(super) fn target_name(table: &syntax::Name, alias: Option<&Ident>) -> Name {
    alias.map_or_else(|| Name::written(table), |alias| Name::plain(fold(alias)))
}

/// The unique index with exactly these columns.
fn arbiter(table: &TableDefinition, columns: &BTreeSet<usize>) -> Bind<IndexId> {
    let is_it = |index: &&relation::IndexDefinition| {
        index.unique
            && index.columns.len() == columns.len()
            && index.columns.iter().all(|of| columns.contains(&of.column))
    };
    let found = table.indexes.iter().find(is_it).map(relation::IndexDefinition::id);
    found.ok_or_else(|| {
        let message = format!(
            "table {} has no unique key of exactly these columns, so ON CONFLICT can't be about it",
            table.name
        );
        Refused::new(SqlState::INVALID_COLUMN_REFERENCE, At::NOWHERE, message)
    })
}

fn arbiter_named(table: &TableDefinition, name: &Ident) -> Bind<IndexId> {
    let wanted = fold(name);
    let found = table.indexes.iter().find(|index| index.unique && index.name == wanted);
    found.map(relation::IndexDefinition::id).ok_or_else(|| {
        let message = format!("table {} has no unique constraint {wanted}", table.name);
        Refused::new(SqlState::UNDEFINED_OBJECT, At::begin(name.span), message)
    })
}
