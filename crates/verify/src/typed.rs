//! A table of the dictionary: its rows' bytes as columns, and the keys that they have.
//!
//! Caller: `pairs`.

use access::RowAddress;
use ids::ObjectNo;
use relation::TableDefinition;
use value::{RowLayout, RowView};

use crate::pairs::Keyed;

/// A table by its definition.
pub(crate) struct Typed {
    table: TableDefinition,
    layout: RowLayout,
}

impl Typed {
    pub(crate) fn new(table: &TableDefinition) -> Typed {
        Typed { layout: table.layout(), table: table.clone() }
    }
}

impl Keyed for Typed {
    fn heap(&self) -> ObjectNo {
        self.table.segment
    }

    fn indexes(&self) -> Vec<ObjectNo> {
        self.table.indexes.iter().map(|index| index.segment).collect()
    }

    fn push_key(&self, index: usize, (at, row): (RowAddress, &[u8]), out: &mut Vec<u8>) -> bool {
        let index = &self.table.indexes[index];
        // One that can't be read is told by `fault`.
        let row = RowView::new(&self.layout, row);
        row.is_ok_and(|row| index.push_entry_key((at, &row), out).is_ok())
    }

    fn name(&self, index: Option<usize>, segment: &str) -> String {
        let table = &self.table.name;
        match index {
            Some(index) => format!("{} of {table} ({segment})", self.table.indexes[index].name),
            None => format!("{table} ({segment})"),
        }
    }

    fn fault(&self, row: &[u8]) -> Option<String> {
        let row = match RowView::new(&self.layout, row) {
            Ok(row) => row,
            Err(damaged) => return Some(format!("is no row of its columns: {damaged}")),
        };
        for (place, column) in self.table.columns.iter().enumerate() {
            match row.get(place) {
                Err(damaged) => return Some(format!("is no row of its columns: {damaged}")),
                Ok(value) if value.is_null() && column.not_null => {
                    return Some(format!("has NULL in column {}, which is NOT NULL", column.name));
                }
                Ok(_) => {}
            }
        }
        None
    }
}
