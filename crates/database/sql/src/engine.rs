//! What SQL has for a whole instance, and what a connection lends it for a call.
//!
//! ```text
//!   Engine (one, shared)    plans by text │ what is known of tables │ tables that aren't stored
//!   State  (one a session)  settings │ open transaction's names │ cursors │ statements
//!   Frame  (one a call)     borrows of both, and of the connection's parts
//! ```
//!
//! Callers: `database`: it makes the engine with the database, a state with each connection, and a
//! frame with each call.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{Catalog, ExternalDefinition, ViewDefinition};
use instance::Instance;
use os::{Os, Session};
use sort::Budget;
use stop::Stop;
use txn::Transaction;
use value::Type;

use crate::bind::{Binder, OutputColumn, Query, Statement};
use crate::cache::{Plans, StatementView};
use crate::dictionary::{Dictionary, Tables};
use crate::files::ClientEnd;
use crate::schema::VirtualTable;
use crate::session::State;
use crate::stack::{MAKING, with_stack};
use crate::system::CatalogFunctions;

/// Gives external tables to SQL. [`FileTables`](crate::FileTables) reads files with delimiters.
pub trait ExternalTables: Send + Sync {
    /// The rows of an external table, as a table that isn't stored.
    fn table(&self, definition: &ExternalDefinition) -> Result<Arc<dyn VirtualTable>, Stop>;
}

/// SQL's own of an instance.
pub struct Engine {
    pub(crate) plans: Plans,
    pub(crate) tables: Tables,
    virtuals: Vec<Arc<dyn VirtualTable>>,
    /// The places of those by their names, of which schemas have their own.
    virtuals_named: BTreeMap<String, Vec<usize>>,
    pub(crate) external: Option<Arc<dyn ExternalTables>>,
    pub(crate) functions: Option<Arc<dyn CatalogFunctions>>,
    /// By it statements that are kept know their instance.
    pub(crate) identity: Arc<()>,
}

impl Engine {
    /// An engine without tables that aren't stored.
    pub fn new(os: &Os) -> Engine {
        Engine {
            plans: Plans::new(os),
            tables: Tables::new(os),
            virtuals: Vec::new(),
            virtuals_named: BTreeMap::new(),
            external: None,
            functions: None,
            identity: Arc::new(()),
        }
    }

    /// The same engine with this table too, which isn't stored.
    #[must_use]
    pub fn with_table(mut self, table: Arc<dyn VirtualTable>) -> Engine {
        let places = self.virtuals_named.entry(table.name().to_string()).or_default();
        places.push(self.virtuals.len());
        self.virtuals.push(table);
        self
    }

    /// The same engine with external tables.
    #[must_use]
    pub fn with_external(self, external: Arc<dyn ExternalTables>) -> Engine {
        Engine { external: Some(external), ..self }
    }

    /// The same engine with functions that ask the catalogue.
    #[must_use]
    pub fn with_functions(self, functions: Arc<dyn CatalogFunctions>) -> Engine {
        Engine { functions: Some(functions), ..self }
    }

    /// The types of a view's columns, in their order. Its query is bound, which waits while what it
    /// reads is being redefined.
    pub fn view_types(
        &self,
        view: &ViewDefinition,
        catalog: &Catalog,
        session: &Session,
    ) -> Result<Vec<Type>, Stop> {
        with_stack(MAKING, || self.view_types_bound(view, catalog, session))
    }

    fn view_types_bound(
        &self,
        view: &ViewDefinition,
        catalog: &Catalog,
        session: &Session,
    ) -> Result<Vec<Type>, Stop> {
        let query = syntax::parse_query(&view.text).map_err(Stop::from)?;
        let dictionary = Dictionary { catalog, engine: self, session };
        let bound = Binder::new(&dictionary, 0).query_alone(&query);
        let bound = bound.map_err(|refused| refused.within(&view.text))?;
        let Statement::Query(Query { columns, .. }) = &bound.statement else {
            unreachable!("a query was bound")
        };
        // An interval has no type of columns: it is shown as a text.
        let own = |column: &OutputColumn| column.declared.or(column.kind.column_type());
        Ok(columns.iter().map(|column| own(column).unwrap_or(Type::Text)).collect())
    }

    /// The tables that aren't stored.
    pub fn virtual_tables(&self) -> &[Arc<dyn VirtualTable>] {
        &self.virtuals
    }

    /// Those of this name, in any schema.
    pub(crate) fn virtual_tables_named(
        &self,
        name: &str,
    ) -> impl Iterator<Item = &Arc<dyn VirtualTable>> {
        let places = self.virtuals_named.get(name).into_iter().flatten();
        places.map(move |place| &self.virtuals[*place])
    }

    /// The statements whose plans are kept, in the order of their texts.
    pub fn statements(&self, session: &Session) -> Vec<StatementView> {
        self.plans.views(session)
    }

    /// Forgets all plans: each statement is planned anew.
    pub fn forget_plans(&self, session: &Session) {
        self.plans.forget(session);
    }
}

/// The parts of a connection, lent for one call.
pub struct Frame<'a> {
    /// The instance.
    pub instance: &'a Instance,
    /// The dictionary.
    pub catalog: &'a Catalog,
    /// SQL's own of the instance.
    pub engine: &'a Engine,
    /// The memory for sorts, hashes and kept rows.
    pub budget: &'a Budget,
    /// The session, within a call that the connection has begun.
    pub session: &'a Session,
    /// SQL's own of the connection.
    pub state: &'a mut State,
    /// The transaction that the connection has open.
    pub transaction: &'a mut Option<Transaction>,
    /// The client's end, if the call is a COPY from it or to it.
    pub client: Option<&'a dyn ClientEnd>,
}
