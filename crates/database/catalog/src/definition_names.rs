//! Names within a definition: of indexes and constraints, and of columns.
//!
//! Callers: `draft`, `alter`, `dictionary`; programs that look for a column.

use relation::{ColumnDefinition, TableDefinition};
use stop::Stop;

use crate::names;

/// The names of a table's indexes and constraints, which are a name space of their own.
pub(crate) fn index_names(table: &TableDefinition) -> impl Iterator<Item = &str> {
    let indexes = table.indexes.iter().map(|index| index.name.as_str());
    let checks = table.checks.iter().map(|check| check.name.as_str());
    let expressions = table.expressions.iter().map(|check| check.name.as_str());
    let keys = table.foreign_keys.iter().map(|key| key.name.as_str());
    indexes.chain(checks).chain(expressions).chain(keys)
}

/// Gives an index or a constraint another name. Returns false if the table has none of that name.
pub(crate) fn rename_index(table: &mut TableDefinition, from: &str, to: &str) -> bool {
    let indexes = table.indexes.iter_mut().map(|index| &mut index.name);
    let checks = table.checks.iter_mut().map(|check| &mut check.name);
    let expressions = table.expressions.iter_mut().map(|check| &mut check.name);
    let keys = table.foreign_keys.iter_mut().map(|key| &mut key.name);
    let mut all = indexes.chain(checks).chain(expressions).chain(keys);
    let found = all.find(|name| *name == from);
    found.map(|name| to.clone_into(name)).is_some()
}

/// The place of a column in a table.
pub fn place_of(table: &TableDefinition, name: &str) -> Result<usize, Stop> {
    let is_it = |column: &ColumnDefinition| column.name == name && !column.is_dropped();
    table.columns.iter().position(is_it).ok_or_else(|| {
        let within = format!(" in table {}", table.name);
        let there = table.columns.iter().filter(|column| !column.is_dropped());
        names::unknown("column", name, &within, there.map(|column| column.name.as_str()))
    })
}
