//! The table of an ALTER TABLE as its actions so far will leave it. The next one is bound by that.
//!
//! ```text
//!   table, as it is ─▶ action ─▶ alteration ─▶ table, as it will be ─▶ action ─▶ …
//!                                     └─▶ what the catalog does, all of it or nothing
//! ```
//!
//! Only what an action can ask for is foreseen: columns, defaults, and which constraints have gone.
//! The catalog makes the definition (rule catalog/DC46), and refuses it if the table has changed
//! since it was looked at here (rule catalog/DC44).
//!
//! Callers: `alter`.

use std::collections::BTreeMap;

use catalog::{Alteration, ColumnSpec, Convert, TableAlterations, place_of};
use relation::{ColumnDefinition, Default, TableDefinition};

use super::Done;

/// A table that is to be altered.
pub(super) struct Altered<'c> {
    /// The table as it will be.
    pub(super) table: TableDefinition,
    /// Whether each action had something to do.
    pub(super) done: Done,
    to_do: TableAlterations<'c>,
}

impl<'c> Altered<'c> {
    /// A table that was looked at after this generation was read.
    pub(super) fn new(table: &TableDefinition, seen_in: u64) -> Altered<'c> {
        let (all, conversions) = (Vec::new(), BTreeMap::new());
        let to_do = TableAlterations { all, conversions, seen_in: Some(seen_in) };
        Altered { table: table.clone(), done: Done::Yes, to_do }
    }

    pub(super) fn has_column(&self, name: &str) -> bool {
        place_of(&self.table, name).is_ok()
    }

    /// Whether there is a constraint of this name to be dropped.
    pub(super) fn has_constraint(&self, name: &str) -> bool {
        let TableDefinition { checks, expressions, foreign_keys, indexes, .. } = &self.table;
        checks.iter().any(|check| check.name == name)
            || expressions.iter().any(|check| check.name == name)
            || foreign_keys.iter().any(|key| key.name == name)
            || indexes.iter().any(|index| index.unique && index.name == name)
    }

    /// Adds an alteration.
    pub(super) fn push(&mut self, alteration: Alteration) {
        self.foresee(&alteration);
        self.to_do.all.push(alteration);
    }

    /// Has the values of a column converted when it gets another type.
    pub(super) fn convert(&mut self, column: &str, convert: Box<Convert<'c>>) {
        self.to_do.conversions.insert(column.into(), convert);
    }

    /// What is to be done; none if there is nothing.
    pub(super) fn into_alterations(self) -> Option<TableAlterations<'c>> {
        (!self.to_do.all.is_empty()).then_some(self.to_do)
    }

    /// Alters the table that is looked at. What the catalog will refuse may leave it as it is.
    fn foresee(&mut self, alteration: &Alteration) {
        let table = &mut self.table;
        match alteration {
            Alteration::AddColumn(ColumnSpec { name, kind, not_null, .. }) => {
                if place_of(table, name).is_err() {
                    table.columns.push(ColumnDefinition::new(name, *kind, *not_null));
                }
            }
            Alteration::DropColumn(column) => {
                if let Ok(place) = place_of(table, column) {
                    table.columns[place] = table.columns[place].dropped(place);
                }
            }
            Alteration::SetType { column, kind } => {
                if let Ok(place) = place_of(table, column) {
                    table.columns[place].kind = *kind;
                }
            }
            Alteration::SetDefault { column, value } => {
                if let Ok(place) = place_of(table, column) {
                    table.columns[place].default = Default::Constant(value.clone());
                }
            }
            Alteration::SetDefaultExpression { column, text } => {
                if let Ok(place) = place_of(table, column) {
                    table.columns[place].default = Default::Expression(text.clone());
                }
            }
            Alteration::DropConstraint { name, .. } => {
                table.checks.retain(|check| check.name != *name);
                table.expressions.retain(|check| check.name != *name);
                table.foreign_keys.retain(|key| key.name != *name);
                table.indexes.retain(|index| !index.unique || index.name != *name);
            }
            Alteration::RenameTable(_)
            | Alteration::RenameColumn { .. }
            | Alteration::RenameConstraint { .. }
            | Alteration::SetNotNull(_)
            | Alteration::DropNotNull(_)
            | Alteration::AddConstraint(_) => {}
        }
    }
}
