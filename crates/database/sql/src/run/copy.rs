//! Columns of rows, copied out of blocks.
//!
//! Invariant: what runs under a block's latch copies values, and does nothing else (rule SQ42).
//!
//! Callers: `scan`, `index`, `short`.

use access::RowAddress;
use expression::Rows;
use stop::Stop;
use value::{Damaged, RowView, Value};

use super::address::value_of;
use crate::logical::ScanColumn;

/// Copies columns of rows, one row after the other. The first row that can't be read ends it.
pub(super) struct Copier<'c> {
    columns: &'c [ScanColumn],
    into: &'c mut Rows,
    damaged: Option<Damaged>,
}

impl<'c> Copier<'c> {
    /// Copies these columns behind the rows of `into`.
    pub(super) fn new(columns: &'c [ScanColumn], into: &'c mut Rows) -> Copier<'c> {
        Copier { columns, into, damaged: None }
    }

    /// Whether there are fewer rows than these, and no row that couldn't be read.
    pub(super) fn wants(&self, rows: usize) -> bool {
        self.damaged.is_none() && self.into.len() < rows
    }

    /// Copies a row.
    #[inline]
    pub(super) fn copy(&mut self, address: RowAddress, row: &RowView<'_>) {
        if self.damaged.is_some() {
            return;
        }
        self.into.begin_row();
        for column in self.columns {
            let value = match column {
                ScanColumn::Table(place) => row.get(*place),
                ScanColumn::Address => Ok(value_of(address)),
            };
            match value {
                Ok(value) => self.into.push_value(value),
                Err(damaged) => {
                    self.into.drop_row();
                    self.damaged = Some(damaged);
                    return;
                }
            }
        }
    }

    /// Ends the copying: refused if a row couldn't be read. `table` is the name of the rows' table.
    pub(super) fn end(self, table: &str) -> Result<(), Stop> {
        match self.damaged {
            None => Ok(()),
            Some(damaged) => Err(unreadable(damaged, table)),
        }
    }
}

/// Copies columns out of the keys of an index.
pub(super) struct KeyCopier<'c> {
    /// For each column its place in the index; none for the address.
    places: &'c [Option<usize>],
    into: &'c mut Rows,
}

impl<'c> KeyCopier<'c> {
    /// Copies these columns behind the rows of `into`.
    pub(super) fn new(places: &'c [Option<usize>], into: &'c mut Rows) -> KeyCopier<'c> {
        KeyCopier { places, into }
    }

    /// Copies an entry.
    #[inline]
    pub(super) fn copy(&mut self, address: RowAddress, key: &[Value<'_>]) {
        self.into.begin_row();
        for place in self.places {
            self.into.push_value(place.map_or_else(|| value_of(address), |place| key[place]));
        }
    }
}

#[cold]
fn unreadable(damaged: Damaged, table: &str) -> Stop {
    let lead = format!("cannot read a row of table {table}: ");
    Stop::from(damaged).map_refusal(|refusal| refusal.led_by(&lead))
}

#[cfg(test)]
mod tests {
    use ids::Dba;
    use value::{RowLayout, Type};

    use super::*;

    const ROW: RowAddress = RowAddress { block: Dba::new(1, 2), slot: 3 };

    fn bytes_of(layout: &RowLayout, values: &[Value<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        layout.encode(values, &mut bytes).expect("the values fit");
        bytes
    }

    #[test]
    fn the_columns_that_are_asked_for_are_copied_in_their_order() {
        let layout = RowLayout::new(&[Type::BigInt, Type::Text, Type::Boolean]);
        let values = [Value::Int(7), Value::Text("añb"), Value::Null];
        let bytes = bytes_of(&layout, &values);
        let row = RowView::new(&layout, &bytes).expect("a row");
        let columns = [ScanColumn::Table(1), ScanColumn::Table(2), ScanColumn::Address];
        let mut rows = Rows::new(3);
        let mut copier = Copier::new(&columns, &mut rows);
        copier.copy(ROW, &row);
        assert!(copier.wants(2));
        copier.copy(ROW, &row);
        assert!(!copier.wants(2) && copier.wants(3));
        copier.end("t").expect("both can be read");
        for number in 0..2 {
            let copied = [0, 1, 2].map(|column| rows.get(number, column));
            assert_eq!(copied, [Value::Text("añb"), Value::Null, value_of(ROW)]);
        }
    }

    /// A row whose bytes are wrong ends the copying, and leaves no part of itself.
    #[test]
    fn a_damaged_row_is_refused_and_not_shown() {
        let layout = RowLayout::new(&[Type::BigInt, Type::Text]);
        let mut bytes = bytes_of(&layout, &[Value::Int(7), Value::Text("abc")]);
        let last = bytes.len() - 1;
        bytes[last] = 0xff;
        let row = RowView::new(&layout, &bytes).expect("its head is right");
        let mut rows = Rows::new(2);
        let columns = [ScanColumn::Table(0), ScanColumn::Table(1)];
        let mut copier = Copier::new(&columns, &mut rows);
        copier.copy(ROW, &row);
        assert!(!copier.wants(1), "nothing more is read");
        let refused = copier.end("account").expect_err("a text is UTF-8").to_string();
        assert!(refused.starts_with("cannot read a row of table account"), "{refused}");
        assert!(rows.is_empty());
    }

    #[test]
    fn keys_are_copied_by_their_places_in_the_index() {
        let mut rows = Rows::new(2);
        KeyCopier::new(&[Some(1), None], &mut rows).copy(ROW, &[Value::Int(1), Value::Text("b")]);
        assert_eq!((rows.get(0, 0), rows.get(0, 1)), (Value::Text("b"), value_of(ROW)));
    }
}
