//! How long a statement has waited for each row (TX21).
//!
//! Callers: `transaction`; `access`.

use ids::Dba;
use waits::Nanos;

use crate::Transaction;

/// How many rows are remembered. A statement that waits for more rows and begins again has its
/// whole lock wait for a forgotten row.
const ROWS_MAX: usize = 64;

/// A row that was waited for, and how long in all.
#[derive(Debug)]
struct WaitedRow {
    block: Dba,
    slot: u16,
    length: Nanos,
}

impl WaitedRow {
    fn is(&self, block: Dba, slot: u16) -> bool {
        (self.block, self.slot) == (block, slot)
    }
}

/// The last rows that a statement has waited for.
#[derive(Debug, Default)]
pub(crate) struct Waited {
    rows: Vec<WaitedRow>,
}

impl Waited {
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// How long the row was waited for.
    pub(crate) fn of(&self, block: Dba, slot: u16) -> Nanos {
        let found = self.rows.iter().find(|row| row.is(block, slot));
        found.map_or(Nanos::ZERO, |row| row.length)
    }

    /// Notes how long the row was waited for in all.
    pub(crate) fn set(&mut self, block: Dba, slot: u16, length: Nanos) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.is(block, slot)) {
            row.length = length;
            return;
        }
        if self.rows.len() == ROWS_MAX {
            self.rows.remove(0);
        }
        self.rows.push(WaitedRow { block, slot, length });
    }
}

impl Transaction {
    /// Forgets the waits, when a new statement begins; a statement that begins again keeps them
    /// (TX21).
    pub fn forget_waits(&mut self) {
        self.waited.clear();
    }

    /// How long the present statement has waited for the row in this slot.
    pub fn waited_for(&self, block: Dba, slot: u16) -> Nanos {
        self.waited.of(block, slot)
    }

    /// Notes how long the present statement has waited for the row in all.
    pub fn has_waited_for(&mut self, block: Dba, slot: u16, length: Nanos) {
        self.waited.set(block, slot, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rows_are_remembered_each_with_its_last_length() {
        let (mut waited, block) = (Waited::default(), Dba::new(4, 129));
        let last = ROWS_MAX as u16;
        for slot in 0..=last {
            waited.set(block, slot, Nanos(1));
            waited.set(block, slot, Nanos(2 + u64::from(slot)));
        }
        assert_eq!(waited.of(block, 0), Nanos::ZERO);
        assert!((1..=last).all(|slot| waited.of(block, slot) == Nanos(2 + u64::from(slot))));
        waited.clear();
        assert!((0..=last).all(|slot| waited.of(block, slot) == Nanos::ZERO));
    }
}
