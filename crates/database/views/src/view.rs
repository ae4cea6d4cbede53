//! What a view is: a name, columns with their meanings, and a function that makes the rows.
//!
//! ```text
//!   name ──▶ view, view_in ──▶ View ── read(engine, give) ──▶ give(row) for each row
//! ```
//!
//! Invariants
//!   * a row has a value for each column, and it is NULL or of the column's type (VW2)
//!   * the declarations are the only list of views and columns: `dict`, the system views of
//!     `pg_class` and `docs/VIEWS.md` are made of them (VW3)
//!
//! Callers: SQL; tools.

use stop::Stop;
use value::{Type, Value};

use crate::Engine;

/// A column of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ViewColumn {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Type,
    /// What it says, in a few words.
    pub meaning: &'static str,
}

/// The schema that a view is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Schema {
    /// `pg_catalog`, whose names are found without it too. Oracle's views are here as well.
    PgCatalog,
    /// `information_schema`, whose names are found with it only.
    InformationSchema,
}

impl Schema {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Schema::PgCatalog => "pg_catalog",
            Schema::InformationSchema => "information_schema",
        }
    }
}

/// Takes a row. An error ends the reading, and is returned by it.
pub type Give<'g> = dyn FnMut(&[Value<'_>]) -> Result<(), Stop> + 'g;

/// Makes the rows of a view, and gives each to `give`.
pub type Rows = fn(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop>;

/// A view: a table that isn't stored.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The schema that it is in.
    pub schema: Schema,
    /// Its name, in small letters.
    pub name: &'static str,
    /// What it has a row for, in one sentence.
    pub meaning: &'static str,
    /// Its columns.
    pub columns: &'static [ViewColumn],
    /// About how many rows it has, for a planner.
    pub expected: u32,
    /// What makes its rows. Callers use [`View::read`].
    pub(crate) rows: Rows,
}

impl View {
    /// A view of `pg_catalog`.
    pub(crate) const fn new(
        name: &'static str,
        meaning: &'static str,
        columns: &'static [ViewColumn],
        rows: Rows,
    ) -> View {
        View { schema: Schema::PgCatalog, name, meaning, columns, expected: 10, rows }
    }

    /// The same, with about this many rows.
    pub(crate) const fn expecting(self, expected: u32) -> View {
        View { expected, ..self }
    }

    /// The same in `information_schema`.
    pub(crate) const fn of_information_schema(self) -> View {
        View { schema: Schema::InformationSchema, ..self }
    }

    /// Gives each row, with a value for each column, to `give`. No session waits for this but for a
    /// latch, and the reader for nothing but latches and, where the view's meaning is the size of
    /// something on disk, reads of blocks (VW1).
    ///
    /// # Panics
    /// When a row hasn't a value for each column.
    pub fn read(&self, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
        (self.rows)(engine, &mut |row| {
            assert_eq!(row.len(), self.columns.len(), "a row of {} (VW2)", self.name);
            give(row)
        })
    }

    /// The place of the column of this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// A column of whole numbers.
pub(crate) const fn int(name: &'static str, meaning: &'static str) -> ViewColumn {
    ViewColumn { name, kind: Type::BigInt, meaning }
}

/// A column of texts.
pub(crate) const fn text(name: &'static str, meaning: &'static str) -> ViewColumn {
    ViewColumn { name, kind: Type::Text, meaning }
}

/// A column of truth values.
pub(crate) const fn truth(name: &'static str, meaning: &'static str) -> ViewColumn {
    ViewColumn { name, kind: Type::Boolean, meaning }
}

/// A column of moments.
pub(crate) const fn moment(name: &'static str, meaning: &'static str) -> ViewColumn {
    ViewColumn { name, kind: Type::Timestamp, meaning }
}

/// A column of fractions.
pub(crate) const fn double(name: &'static str, meaning: &'static str) -> ViewColumn {
    ViewColumn { name, kind: Type::Double, meaning }
}

/// The columns without the first ones.
pub(crate) const fn without_first(
    columns: &'static [ViewColumn],
    count: usize,
) -> &'static [ViewColumn] {
    columns.split_at(count).1
}

/// The rows of a view that has none.
pub(crate) fn none(_: &Engine<'_>, _: &mut Give<'_>) -> Result<(), Stop> {
    Ok(())
}
