//! Names that a draft has made up, for what the statement gave none.
//!
//! A draft looks for free names before its segments are made. Another statement may choose the same
//! ones meanwhile, or be given one of them. So who publishes looks again, while nobody else does
//! (DC4), and chooses others for those that are taken by then.
//!
//! Callers: `draft`, `create`, `alter`.

use relation::TableDefinition;

use crate::dictionary::Dictionary;
use crate::draft::index_names;
use crate::{SequenceDefinition, names};

/// A name that was made up, and what it begins with.
struct GeneratedName {
    name: String,
    stem: String,
}

/// Names that were made up for one table.
#[derive(Default)]
pub(crate) struct GeneratedNames {
    /// Of constraints and indexes.
    constraints: Vec<GeneratedName>,
    /// Of the sequences of identity columns.
    sequences: Vec<GeneratedName>,
}

impl GeneratedNames {
    /// A constraint or an index has this name, which was made from `stem`.
    pub(crate) fn add_constraint(&mut self, name: &str, stem: String) {
        self.constraints.push(GeneratedName { name: name.into(), stem });
    }

    /// A sequence has.
    pub(crate) fn add_sequence(&mut self, name: &str, stem: String) {
        self.sequences.push(GeneratedName { name: name.into(), stem });
    }

    /// Gives others to what has names that are taken by now.
    pub(crate) fn resolve(
        self,
        table: &mut TableDefinition,
        sequences: &mut [SequenceDefinition],
        dictionary: &Dictionary,
    ) {
        for GeneratedName { name, stem } in self.constraints {
            if !dictionary.has_index_name(&name) {
                continue;
            }
            let is_own = |name: &str| index_names(table).any(|own| own == name);
            let is_taken = |name: &str| dictionary.has_index_name(name) || is_own(name);
            let other = names::free(&stem, is_taken);
            let indexes = table.indexes.iter_mut().map(|index| &mut index.name);
            let checks = table.checks.iter_mut().map(|check| &mut check.name);
            let keys = table.foreign_keys.iter_mut().map(|key| &mut key.name);
            if let Some(own) = indexes.chain(checks).chain(keys).find(|own| **own == name) {
                *own = other;
            }
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
