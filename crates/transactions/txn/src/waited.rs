//! How long a statement has waited for rows (TX21).
//!
//! Callers: `transaction`.

use ids::Dba;
use waits::Nanos;

use crate::Transaction;

/// So many rows are remembered. A statement that waits for more, and for one of the first again
/// because it began again, waits for that one as if for the first time.
const ROWS_MAX: usize = 64;

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

/// The rows that a statement has waited for, the last ones, and how long for each.
#[derive(Debug, Default)]
pub(crate) struct Waited {
    rows: Vec<WaitedRow>,
}

impl Waited {
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// How long the row in this slot of this block was waited for.
    pub(crate) fn of(&self, block: Dba, slot: u16) -> Nanos {
        let found = self.rows.iter().find(|row| row.is(block, slot));
        found.map_or(Nanos::ZERO, |row| row.length)
    }

    /// A row was waited for, so long in all.
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
    /// A statement begins that has waited for nothing; one that begins again may have (TX21).
    pub fn forget_waits(&mut self) {
        self.waited.clear();
    }

    /// How long its present statement has waited for the row in this slot of this block.
    pub fn waited_for(&self, block: Dba, slot: u16) -> Nanos {
        self.waited.of(block, slot)
    }

    /// Its present statement has waited for a row so long in all.
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
