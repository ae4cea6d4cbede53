//! What the definitions of tables say of their rows holds: NOT NULL, CHECK, unique keys, foreign
//! keys; those that were there from the beginning, and those that a load has defined.
//!
//! Callers: `found`.

use database::{ForeignKey, IndexDefinition, Table, TableDefinition, Truth, Value};

use crate::Violation;
use crate::held::Cells;

/// A table and its rows.
pub(crate) type Rows = (Table, Vec<Cells>);

/// Every constraint of these tables, which are all that there are.
pub(crate) fn hold(tables: &[Rows]) -> Result<(), Violation> {
    for (table, rows) in tables {
        let definition = table.definition();
        let breaks = |row: &Cells, what: &str| {
            Violation(format!("row {row:?} of {} breaks {what}", definition.name))
        };
        for row in rows {
            if let Some(what) = broken(definition, row) {
                return Err(breaks(row, &what));
            }
        }
        for index in definition.indexes.iter().filter(|index| index.unique) {
            if let Some(row) = twice(index, rows) {
                return Err(breaks(row, &format!("{}: its key is there twice", index.name)));
            }
        }
        for key in &definition.foreign_keys {
            let parent = tables.iter().find(|(one, _)| one.definition().object == key.references);
            let parents = parent.map_or(&[][..], |(_, rows)| rows);
            if let Some(row) = orphan(key, rows, parents) {
                return Err(breaks(row, &format!("{}: it refers to no row", key.name)));
            }
        }
    }
    Ok(())
}

/// What a row breaks that says something of one row.
fn broken(definition: &TableDefinition, row: &Cells) -> Option<String> {
    let is_null = |at: usize| row[at].get().is_null();
    let columns = definition.columns.iter().enumerate();
    let mut null = columns.filter(|(at, column)| column.not_null && is_null(*at));
    let is_false = |truth| truth == Truth::False;
    let mut checks = definition.checks.iter();
    let check = checks.find(|check| is_false(check.condition.evaluate(&|at| row[at].get())));
    let null = null.next().map(|(_, column)| format!("NOT NULL of {}", column.name));
    null.or_else(|| check.map(|check| check.name.clone()))
}

/// The values of these columns, if none is NULL.
fn key(row: &Cells, columns: impl Iterator<Item = usize>) -> Option<Vec<Value<'_>>> {
    columns.map(|at| Some(row[at].get()).filter(|value| !value.is_null())).collect()
}

/// A row whose key another has as well.
fn twice<'r>(index: &IndexDefinition, rows: &'r [Cells]) -> Option<&'r Cells> {
    let of = |row: &'r Cells| key(row, index.columns.iter().map(|of| of.column));
    let keys: Vec<_> = rows.iter().map(of).collect();
    let is_before = |at: usize| keys[at].is_some() && keys[..at].contains(&keys[at]);
    (0..rows.len()).find(|at| is_before(*at)).map(|at| &rows[at])
}

/// A row that refers to another which isn't there.
fn orphan<'r>(foreign: &ForeignKey, rows: &'r [Cells], parents: &[Cells]) -> Option<&'r Cells> {
    let columns = |row: &'r Cells| key(row, foreign.columns.iter().copied());
    let is_there = |refers: Vec<Value<'_>>| {
        let of = |parent| key(parent, foreign.referenced_columns.iter().copied());
        parents.iter().any(|parent| of(parent).is_some_and(|has| has == refers))
    };
    rows.iter().find(|row| columns(row).is_some_and(|refers| !is_there(refers)))
}
