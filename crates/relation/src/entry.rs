//! Keys of rows that are there, for whoever builds an index of them or compares it with them.
//!
//! Callers: the catalog; checks.

use access::RowAddress;
use stop::Stop;
use value::RowView;

use crate::Relation;
use crate::keys::{address_bytes, push_key};

impl Relation {
    /// Appends the key that the entry of this row has in the index of this place in the definition
    /// (RL4).
    pub fn push_entry_key(
        &self,
        index: usize,
        (address, row): (RowAddress, &RowView<'_>),
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let columns = &self.indexes()[index].columns;
        let pushed = push_key(columns, |column| row.get(column), out);
        let has_null = pushed.map_err(|damaged| self.damaged(&damaged))?;
        if has_null && self.index_definition(index).unique {
            out.extend(address_bytes(address));
        }
        Ok(())
    }

    /// These columns of a row and their values, for messages.
    pub fn columns_text(&self, columns: impl Iterator<Item = usize>, row: &RowView<'_>) -> String {
        self.key_text(columns, row.bytes())
    }
}
