//! Keys of rows that are there, for whoever builds an index of them or compares it with them.
//!
//! Callers: the catalog; checks.

use access::RowAddress;
use stop::Stop;
use value::{Damaged, RowLayout, RowView};

use crate::keys::{address_bytes, push_key};
use crate::{IndexDefinition, Relation, TableDefinition};

impl TableDefinition {
    /// Where its columns lie in rows.
    pub fn layout(&self) -> RowLayout {
        let mut layout = RowLayout::new(&[]);
        for column in &self.columns {
            layout.add(column.kind, column.missing.clone());
            if column.is_dropped() {
                layout.set_dropped(layout.columns() - 1);
            }
        }
        layout
    }
}

impl IndexDefinition {
    /// Appends the key that the entry of this row of its table has in it (RL4).
    pub fn push_entry_key(
        &self,
        address: RowAddress,
        row: &RowView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Damaged> {
        let has_null = push_key(&self.columns, |column| row.get(column), out)?;
        if has_null && self.unique {
            out.extend(address_bytes(address));
        }
        Ok(())
    }
}

impl Relation {
    /// Appends the key that the entry of this row has in the index of this place in the
    /// definition.
    pub fn push_entry_key(
        &self,
        index: usize,
        address: RowAddress,
        row: &RowView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let pushed = self.index_definition(index).push_entry_key(address, row, out);
        pushed.map_err(|damaged| self.damaged(&damaged))
    }

    /// These columns of a row and their values, for messages.
    pub fn columns_text(&self, columns: impl Iterator<Item = usize>, row: &RowView<'_>) -> String {
        self.key_text(columns, row.bytes())
    }
}
