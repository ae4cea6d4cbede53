//! Where the views into the instance and SQL meet, which don't know each other.
//!
//! ```text
//!   SQL ── a name ──▶ SystemView ─▶ views::View ─ rows ─▶ SQL
//!    │                                │ v$sql
//!    │◀── its plans ── Statements ◀───┘
//!    └── format_type(…) ─▶ Lookups ─▶ views::lookup
//! ```
//!
//! Callers: `database`, which makes SQL's engine with them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use os::{Os, Session};
use sql::{
    CatalogFunctions, CatalogQuestion, MeasuredOperation, OperationView, StatementView,
    VirtualColumn, VirtualContext, VirtualTable,
};
use stop::{Refusal, RefusalKind, SqlState, Stop};
use value::{OwnedValue, Type, Value};
use views::{OperationWork, PlanOperation, SqlCache, SqlStatement, SqlWork, lookup};

/// SQL's engine, with all views and functions.
pub(crate) fn engine(os: &Os) -> sql::Engine {
    let with = |engine: sql::Engine, view: &'static views::View| {
        engine.with_table(Arc::new(SystemView::of(view)))
    };
    let engine = sql::Engine::new(os).with_functions(Arc::new(Lookups));
    views::all().fold(engine, with)
}

/// A view into the instance as a table that isn't stored.
struct SystemView {
    view: &'static views::View,
    columns: Vec<VirtualColumn>,
}

impl SystemView {
    fn of(view: &'static views::View) -> SystemView {
        let column =
            |of: &views::ViewColumn| VirtualColumn { name: Cow::Borrowed(of.name), kind: of.kind };
        SystemView { view, columns: view.columns.iter().map(column).collect() }
    }
}

impl fmt::Debug for SystemView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemView({})", self.view.name)
    }
}

impl VirtualTable for SystemView {
    fn schema(&self) -> &str {
        self.view.schema.name()
    }

    fn name(&self) -> &str {
        self.view.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows_expected(&self) -> f64 {
        f64::from(self.view.expected)
    }

    fn rows(
        &self,
        of: &VirtualContext<'_>,
        give: &mut dyn FnMut(&[Value<'_>]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let statements = Statements(of);
        self.view.read(&looked_at(of, &statements), give)
    }
}

/// What a view looks at.
fn looked_at<'a>(of: &'a VirtualContext<'a>, sql: &'a Statements<'a>) -> views::Engine<'a> {
    let VirtualContext { instance, catalog, session, .. } = of;
    views::Engine { instance, catalog, session, sql: Some(sql) }
}

/// What SQL has in memory, as views ask for it.
struct Statements<'a>(&'a VirtualContext<'a>);

impl Statements<'_> {
    /// How many sessions run each statement now.
    fn running(&self) -> Vec<u64> {
        let session: &Session = self.0.session;
        let all = self.0.instance.connected(session);
        let current = all.iter().filter_map(|one| one.session.account.current_statement());
        current.map(|statement| statement.number).collect()
    }
}

impl SqlCache for Statements<'_> {
    fn statements(
        &self,
        look: &mut dyn FnMut(&SqlStatement<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let running = self.running();
        let all = self.0.engine.statements(self.0.session);
        all.iter().try_for_each(|one| {
            let id = one.id().number();
            let users = running.iter().filter(|number| **number == id).count();
            look(&statement(one, u32::try_from(users).unwrap_or(u32::MAX)))
        })
    }

    fn operations(
        &self,
        look: &mut dyn FnMut(&PlanOperation<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let all = self.0.engine.statements(self.0.session);
        let cache = self.0.instance.cache();
        let block = cache.block_size().bytes() as u64;
        all.iter().try_for_each(|one| operations(one, block, look))
    }

    fn view_types(&self, view: &catalog::ViewDefinition) -> Result<Vec<Type>, Stop> {
        let VirtualContext { engine, catalog, session, .. } = self.0;
        engine.view_types(view, catalog, session)
    }
}

fn statement(of: &StatementView, users_executing: u32) -> SqlStatement<'_> {
    SqlStatement {
        sql_id: of.id().number(),
        child: of.child,
        text: of.text(),
        plan_hash: of.plan_hash.into(),
        command: of.tag,
        parse_calls: of.parse_calls,
        users_executing,
        memory: of.text().len() as u64,
        first_load_us: of.first_load_us,
        last_active_us: of.last_active_us,
        work: SqlWork {
            executions: of.executions,
            fetches: of.executions + of.fetches,
            ended: of.ended,
            rows: of.rows,
            gets: of.gets,
            reads: of.reads,
            elapsed: of.elapsed,
            cpu: of.cpu,
        },
    }
}

/// An operation that has others below it, while they are gone through.
struct Above {
    id: u32,
    depth: u32,
    /// How many of those that feed it have come.
    below: u32,
}

/// Gives the operations of a plan, each with the one that it feeds. A block has this many bytes.
fn operations(
    of: &StatementView,
    block: u64,
    look: &mut dyn FnMut(&PlanOperation<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut above: Vec<Above> = Vec::new();
    for (id, one) in (0..).zip(of.operations()) {
        let OperationView { depth, operation, object, rows, cost, access, filter, .. } = &one;
        above.retain(|other| other.depth < *depth);
        let parent = above.last_mut().map(|parent| {
            parent.below += 1;
            (parent.id, parent.below)
        });
        look(&PlanOperation {
            sql_id: of.id().number(),
            child: of.child,
            plan_hash: of.plan_hash.into(),
            id,
            parent: parent.map(|(parent, _)| parent),
            position: parent.map_or(1, |(_, position)| position),
            depth: *depth,
            operation,
            object: object.as_deref(),
            cardinality: *rows,
            cost: *cost,
            access_predicates: access.as_deref(),
            filter_predicates: filter.as_deref(),
            work: one.measured.map(|measured| work(measured, block)),
        })?;
        above.push(Above { id, depth: *depth, below: 0 });
    }
    Ok(())
}

/// What an operation did, in blocks of this many bytes.
fn work(of: MeasuredOperation, block: u64) -> OperationWork {
    OperationWork {
        executions: of.runs,
        starts: of.starts,
        rows: of.rows,
        consistent_gets: of.consistent_gets,
        current_gets: of.current_gets,
        reads: of.physical_reads,
        writes: of.temp_bytes.div_ceil(block),
        elapsed: of.elapsed,
    }
}

/// Answers functions that ask the catalogue.
struct Lookups;

impl CatalogFunctions for Lookups {
    fn answer(
        &self,
        question: CatalogQuestion,
        arguments: &[Value<'_>],
        of: &VirtualContext<'_>,
    ) -> Result<OwnedValue, Stop> {
        use CatalogQuestion as Q;
        // All are NULL for NULL; a modifier of a type may be.
        let Some(first) = arguments.first().copied().filter(|value| !value.is_null()) else {
            return Ok(OwnedValue::NULL);
        };
        let statements = Statements(of);
        let engine = looked_at(of, &statements);
        let second = match arguments.get(1) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        };
        let found = match (question, first) {
            (Q::FormatType, Value::Int(oid)) => {
                Some(lookup::type_definition(oid, second.unwrap_or(-1)).unwrap_or("???".into()))
            }
            (Q::IndexDefinition, Value::Int(oid)) => match second {
                None | Some(0) => lookup::index_definition(oid, &engine),
                Some(column) => lookup::index_column(oid, column, &engine),
            },
            (Q::ConstraintDefinition, Value::Int(oid)) => {
                lookup::constraint_definition(oid, &engine)
            }
            (Q::ViewDefinition, Value::Int(oid)) => lookup::view_definition(oid, &engine),
            (Q::Description, Value::Int(oid)) => lookup::description(oid, 0, &engine),
            (Q::ColumnDescription, Value::Int(oid)) => {
                let column = second.and_then(|number| usize::try_from(number).ok());
                let column = column.filter(|number| *number > 0);
                column.and_then(|number| lookup::description(oid, number, &engine))
            }
            // An oid without a name is shown as it is, as in PostgreSQL.
            (Q::RelationName, Value::Int(oid)) => {
                Some(lookup::relation_name(oid, &engine).unwrap_or_else(|| oid.to_string()))
            }
            (Q::SchemaName, Value::Int(oid)) => {
                Some(lookup::schema_name(oid).map_or_else(|| oid.to_string(), str::to_string))
            }
            (Q::IsVisible, Value::Int(oid)) => return Ok(visible(oid, &engine)),
            (Q::RelationOid | Q::RelationOidOrNull | Q::TypeOid, Value::Text(name)) => {
                return oid_of(question, name, &engine);
            }
            _ => None,
        };
        Ok(found.map_or(OwnedValue::NULL, |text| Value::Text(&text).to_owned()))
    }
}

fn visible(oid: i64, engine: &views::Engine<'_>) -> OwnedValue {
    let is = lookup::is_visible(oid, engine);
    is.map_or(OwnedValue::NULL, |is| Value::Boolean(is).to_owned())
}

/// The oid of what has this name, or of the number that it is.
fn oid_of(
    question: CatalogQuestion,
    written: &str,
    engine: &views::Engine<'_>,
) -> Result<OwnedValue, Stop> {
    let written = written.trim();
    let found = match (written.parse::<i64>(), question) {
        (Ok(oid), _) => Some(oid),
        (Err(_), CatalogQuestion::TypeOid) => lookup::type_oid(written),
        (Err(_), _) => {
            let (schema, name) = parted(written);
            let (schema, name) = (schema.map(folded), folded(name));
            lookup::relation_oid(schema.as_deref(), &name, engine)
        }
    };
    match (found, question) {
        (Some(oid), _) => Ok(Value::Int(oid).to_owned()),
        (None, CatalogQuestion::RelationOidOrNull) => Ok(OwnedValue::NULL),
        (None, CatalogQuestion::TypeOid) => {
            Err(unknown(SqlState::UNDEFINED_OBJECT, format!("there is no type {written}")))
        }
        (None, _) => {
            let message = format!("there is no table, index, sequence or view {written}");
            Err(unknown(SqlState::UNDEFINED_TABLE, message))
        }
    }
}

#[cold]
fn unknown(state: SqlState, message: String) -> Stop {
    Refusal::new(RefusalKind::NotFound, message).with_state(state).into()
}

/// The schema of a written name, if there is one, and the rest. A dot within quotes is no border.
fn parted(written: &str) -> (Option<&str>, &str) {
    let mut is_quoted = false;
    let is_border = |c: char| {
        is_quoted ^= c == '"';
        c == '.' && !is_quoted
    };
    match written.split_once(is_border) {
        Some((schema, name)) => (Some(schema), name),
        None => (None, written),
    }
}

/// A name as a statement writes it, as the dictionary has it.
fn folded(name: &str) -> String {
    match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => name.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_quotes_is_taken_as_it_is() {
        let names = ["Emp", "\"Emp\"", "\"a\"\"b\""].map(folded);
        assert_eq!(names, ["emp", "Emp", "a\"b"]);
    }

    #[test]
    fn a_dot_in_quotes_is_part_of_a_name() {
        assert_eq!(parted("public.emp"), (Some("public"), "emp"));
        assert_eq!(parted("\"a.b\""), (None, "\"a.b\""));
        assert_eq!(parted("\"s.t\".\"a.\"\"b\""), (Some("\"s.t\""), "\"a.\"\"b\""));
    }
}
