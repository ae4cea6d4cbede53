//! Keys of existing rows, for callers that build an index or compare it with its rows.
//!
//! Callers: the catalog; `verify`; proofs.

use access::RowAddress;
use stop::Stop;
use value::{Damaged, RowLayout, RowView};

use crate::keys::{address_bytes, push_key};
use crate::{IndexDefinition, Relation, TableDefinition};

impl TableDefinition {
    /// The places of the columns in the bytes of rows.
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
    /// Appends the key of this row's entry in the index (RL4).
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
    /// Appends the key of this row's entry in the index at this place in the definition.
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

    /// The names and values of these columns of a row, for messages.
    pub fn columns_text(&self, columns: impl Iterator<Item = usize>, row: &RowView<'_>) -> String {
        self.key_text(columns, row.bytes())
    }
}
