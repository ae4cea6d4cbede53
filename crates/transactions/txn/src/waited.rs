//! How long a statement has waited for rows (TX21).
//!
//! Callers: `transaction`.

use ids::Dba;
use waits::Nanos;

use crate::Transaction;

/// So many rows are remembered. A statement that waits for more, and for one of the first again
/// because it began again, waits for that one as if for the first time.
const ROWS_MAX: usize = 64;

/// The rows that a statement has waited for, the last ones, and how long for each.
#[derive(Debug, Default)]
pub(crate) struct Waited {
    rows: Vec<((Dba, u16), Nanos)>,
}

impl Waited {
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// How long the row in this slot of this block was waited for.
    pub(crate) fn of(&self, row: (Dba, u16)) -> Nanos {
        let found = self.rows.iter().find(|(one, _)| *one == row);
        found.map_or(Nanos::ZERO, |(_, length)| *length)
    }

    /// A row was waited for, so long in all.
    pub(crate) fn set(&mut self, row: (Dba, u16), length: Nanos) {
        if let Some((_, known)) = self.rows.iter_mut().find(|(one, _)| *one == row) {
            *known = length;
            return;
        }
        if self.rows.len() == ROWS_MAX {
            self.rows.remove(0);
        }
        self.rows.push((row, length));
    }
}

impl Transaction {
    /// A statement begins that has waited for nothing; one that begins again may have (TX21).
    pub fn forget_waits(&mut self) {
        self.waited.clear();
    }

    /// How long its present statement has waited for the row in this slot of this block.
    pub fn waited_for(&self, row: (Dba, u16)) -> Nanos {
        self.waited.of(row)
    }

    /// Its present statement has waited for a row so long in all.
    pub fn has_waited_for(&mut self, row: (Dba, u16), length: Nanos) {
        self.waited.set(row, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(slot: usize) -> (Dba, u16) {
        (Dba::new(4, 129), u16::try_from(slot).expect("a few rows"))
    }

    #[test]
    fn the_last_rows_are_remembered_each_with_its_last_length() {
        let mut waited = Waited::default();
        for slot in 0..=ROWS_MAX {
            waited.set(row(slot), Nanos(1));
            waited.set(row(slot), Nanos(2 + slot as u64));
        }
        assert_eq!(waited.of(row(0)), Nanos::ZERO);
        assert!((1..=ROWS_MAX).all(|slot| waited.of(row(slot)) == Nanos(2 + slot as u64)));
        waited.clear();
        assert!((0..=ROWS_MAX).all(|slot| waited.of(row(slot)) == Nanos::ZERO));
    }
}
