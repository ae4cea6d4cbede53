//! What the names of a statement stand for: the binder's view of the dictionary.
//!
//! ```text
//!   bind ── name ──▶ Schema ──▶ table │ view │ virtual table │ nothing, with a near name
//! ```
//!
//! Invariants
//!   * a table is named by its number in a plan, and found by it again at each run (rule SQ31)
//!   * what a plan rests on is in its list of objects, each with its version
//!
//! Callers: `bind`, `plan`. `dictionary` implements it over the catalog; tests over a list.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use catalog::ObjectId;
use expression::{Kind, Rows};
use ids::ObjectNo;
use relation::TableDefinition;
use rowsource::BATCH_ROWS_MAX;
use stop::Stop;
use value::{Type, Value};

use crate::files::ClientEnd;
use crate::names::Name;
use crate::statistics::{IndexStatistics, TableStatistics};

/// The dictionary, as the binder asks it.
pub(crate) trait Schema {
    /// What a name in FROM stands for; none if there is no such object.
    fn find(&self, name: &Name) -> Result<Option<Found>, Stop>;

    /// The sequence of this name; none if there is none.
    fn sequence(&self, name: &str) -> Result<Option<ObjectNo>, Stop>;

    /// The names that a misspelt one may have meant.
    fn names(&self) -> Vec<String>;
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// A table of users'.
    Table(Arc<TableInfo>),
    /// A view: a query with a name.
    View(Arc<ViewInfo>),
    /// A table that isn't stored.
    Virtual(Arc<dyn VirtualTable>),
}

/// A table, with what is known of its rows.
#[derive(Debug)]
pub(crate) struct TableInfo {
    /// What it is.
    pub(crate) definition: Arc<TableDefinition>,
    /// What is known of its rows: from ANALYZE, or a guess from its blocks.
    pub(crate) statistics: TableStatistics,
    /// What is known of each index, in the order of the definition.
    pub(crate) indexes: Vec<IndexStatistics>,
}

impl TableInfo {
    /// The table's number.
    pub(crate) fn object(&self) -> ObjectNo {
        self.definition.object
    }
}

/// A view.
#[derive(Clone, Debug)]
pub(crate) struct ViewInfo {
    /// Its number.
    pub(crate) object: ObjectNo,
    /// Its name.
    pub(crate) name: String,
    /// The names of its columns; empty: those of its query.
    pub(crate) columns: Vec<String>,
    /// The text of its query.
    pub(crate) query: String,
}

/// A column of a virtual table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VirtualColumn {
    /// Its name.
    pub name: Cow<'static, str>,
    /// The type of its values.
    pub kind: Type,
}

/// A table that isn't stored: a view into the instance, or of the dictionary. Its rows are made
/// when a statement asks for them.
pub trait VirtualTable: Send + Sync + fmt::Debug {
    /// The schema, such as `pg_catalog`; empty for one that is found without a schema alone.
    fn schema(&self) -> &str;

    /// The name, such as `v$session`.
    fn name(&self) -> &str;

    /// The columns.
    fn columns(&self) -> &[VirtualColumn];

    /// The kind of the values of the column at this place: that of its type, except where no type
    /// has them.
    fn kind_of(&self, column: usize) -> Kind {
        Kind::from(self.columns()[column].kind)
    }

    /// What it is in the dictionary, if it is there: plans rest on that.
    fn object(&self) -> Option<ObjectId> {
        None
    }

    /// About how many rows it has.
    fn rows_expected(&self) -> f64 {
        100.0
    }

    /// Gives each row, with a value for each column, to `give`. What `give` returns is passed on.
    fn rows(
        &self,
        of: &VirtualContext<'_>,
        give: &mut dyn FnMut(&[Value<'_>]) -> Result<(), Stop>,
    ) -> Result<(), Stop>;

    /// A reader of these columns, if the rows can be had bit by bit. Then `rows` isn't asked by
    /// queries.
    fn reader(&self, columns: &[usize]) -> Option<Box<dyn VirtualReader>> {
        let _ = columns;
        None
    }
}

/// Rows of a virtual table that come bit by bit. Between two calls it has a place, and no latch,
/// no pin and no I/O in flight.
pub trait VirtualReader {
    /// Appends rows to `into`, until that has `most` or is large. Returns false if none come after
    /// these.
    fn next(&mut self, of: &VirtualContext<'_>, most: usize, into: &mut Rows)
    -> Result<bool, Stop>;

    /// Gives back what it has, also before its end.
    fn close(&mut self, of: &VirtualContext<'_>);
}

/// Gives all rows of a reader of this many columns to `give`.
pub(crate) fn give_each(
    reader: &mut dyn VirtualReader,
    width: usize,
    of: &VirtualContext<'_>,
    give: &mut dyn FnMut(&[Value<'_>]) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let (mut rows, mut goes_on) = (Rows::new(width), true);
    while goes_on {
        rows.clear();
        goes_on = reader.next(of, BATCH_ROWS_MAX, &mut rows)?;
        for row in rows.iter() {
            let values: Vec<Value<'_>> = (0..width).map(|column| row.get(column)).collect();
            give(&values)?;
        }
    }
    reader.close(of);
    Ok(())
}

/// What a virtual table may look at.
pub struct VirtualContext<'a> {
    /// The instance.
    pub instance: &'a instance::Instance,
    /// The dictionary.
    pub catalog: &'a catalog::Catalog,
    /// SQL's own: plans, statements, cursors.
    pub engine: &'a crate::Engine,
    /// The session that asks.
    pub session: &'a os::Session,
    /// The client's end of a COPY, if the call has one.
    pub client: Option<&'a dyn ClientEnd>,
}

impl<'a> VirtualContext<'a> {
    /// The disk of the server's files.
    pub(crate) fn disk(&self) -> &'a os::Disk {
        self.catalog.key_sort().disk
    }
}
