//! A table of the dictionary: the columns of its rows, and their keys.
//!
//! Caller: `pairs`.

use access::RowAddress;
use ids::ObjectNo;
use relation::{TableDefinition, Truth};
use value::{RowLayout, RowView, Type, Value};

use crate::Kind;
use crate::pairs::{Keyed, RowFault};

/// A table with its definition.
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

    fn push_key(&self, index: usize, at: RowAddress, row: &[u8], out: &mut Vec<u8>) -> bool {
        let index = &self.table.indexes[index];
        // `fault` reports a row that can't be read.
        let row = RowView::new(&self.layout, row);
        row.is_ok_and(|row| index.push_entry_key(at, &row, out).is_ok())
    }

    fn name(&self, index: Option<usize>, _: &str) -> String {
        let table = &self.table.name;
        match index {
            Some(index) => format!("{} of {table}", self.table.indexes[index].name),
            None => table.to_string(),
        }
    }

    fn fault(&self, row: &[u8]) -> Option<RowFault> {
        let of_row = |what: String| RowFault { kind: Kind::Row, what };
        let damaged = |damaged| of_row(format!("is no row of its columns: {damaged}"));
        let (view, mut values) = match RowView::new(&self.layout, row) {
            Ok(view) => (view, Vec::new()),
            Err(what) => return Some(damaged(what)),
        };
        if let Err(what) = view.get_all(&mut values) {
            return Some(damaged(what));
        }
        // The second looks at every byte, for a row has one form (rule value/VA2).
        let misfit = self.misfit(&values).map(of_row).or_else(|| view.check().err().map(damaged));
        misfit.or_else(|| self.broken_check(&values))
    }
}

impl Typed {
    /// The fault of a value that its column can't hold, if there is one.
    fn misfit(&self, values: &[Value<'_>]) -> Option<String> {
        for (column, value) in self.table.columns.iter().zip(values) {
            if value.is_null() && column.not_null {
                return Some(format!("has NULL in column {}, which is NOT NULL", column.name));
            }
            match column.kind.fit(&column.name, *value) {
                Err(misfit) => return Some(format!("has what can't be there: {misfit}")),
                Ok(fitted) if matches!(column.kind, Type::Char(_)) && fitted != *value => {
                    return Some(format!("has blanks at the end of column {}", column.name));
                }
                Ok(_) => {}
            }
        }
        None
    }

    fn broken_check(&self, values: &[Value<'_>]) -> Option<RowFault> {
        let is_broken = |check: &&relation::NamedCondition| {
            let is_there = check.condition.columns().iter().all(|column| *column < values.len());
            is_there && check.condition.evaluate(&|column| values[column]) == Truth::False
        };
        let check = self.table.checks.iter().find(is_broken)?;
        let what = format!("breaks CHECK {}", check.name);
        Some(RowFault { kind: Kind::Check, what })
    }
}
