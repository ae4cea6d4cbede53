//! Names that a draft has made up for things to which the statement gave none.
//!
//! A draft looks for free names before its segments are made. Another statement may take one of
//! them meanwhile. So a statement that publishes looks again under the row cache lock, and makes up
//! others for those that are taken (DC20).
//!
//! Callers: `draft`, `create`, `alter`.

use relation::TableDefinition;

use crate::definition_names::{index_names, rename_index};
use crate::dictionary::Dictionary;
use crate::{SequenceDefinition, names};

/// A name that was made up, and the stem that it begins with.
struct GeneratedName {
    name: String,
    stem: String,
}

/// The names that were made up for one table.
#[derive(Default)]
pub(crate) struct GeneratedNames {
    /// The names of constraints and indexes.
    constraints: Vec<GeneratedName>,
    /// The names of the sequences of identity columns.
    sequences: Vec<GeneratedName>,
}

impl GeneratedNames {
    /// Remembers a name of a constraint or an index that was made from `stem`.
    pub(crate) fn add_constraint(&mut self, name: &str, stem: String) {
        self.constraints.push(GeneratedName { name: name.into(), stem });
    }

    /// Remembers a name of a sequence that was made from `stem`.
    pub(crate) fn add_sequence(&mut self, name: &str, stem: String) {
        self.sequences.push(GeneratedName { name: name.into(), stem });
    }

    /// Replaces the names that are taken by now.
    pub(crate) fn resolve(
        self,
        table: &mut TableDefinition,
        sequences: &mut [SequenceDefinition],
        dictionary: &Dictionary,
    ) {
        let object = table.object;
        for GeneratedName { name, stem } in self.constraints {
            if !dictionary.has_index_name_beside(object, &name) {
                continue;
            }
            let is_own = |name: &str| index_names(table).any(|own| own == name);
            let is_taken =
                |name: &str| dictionary.has_index_name_beside(object, name) || is_own(name);
            let other = names::free(&stem, is_taken);
            rename_index(table, &name, &other);
        }
        for GeneratedName { name, stem } in self.sequences {
            if !dictionary.has_name(&name) {
                continue;
            }
            let is_own = |name: &str| sequences.iter().any(|own| own.name == name);
            let is_taken =
                |other: &str| dictionary.has_name(other) || other == table.name || is_own(other);
            let other = names::free(&stem, is_taken);
            if let Some(own) = sequences.iter_mut().find(|own| own.name == name) {
                own.name = other;
            }
        }
    }
}
