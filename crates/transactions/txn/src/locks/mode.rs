//! The modes of table locks: which go together, and what two of them come to in one hand.
//!
//! ```text
//!             RS  RX  S   SRX X         who takes it
//!   RS  (2)   +   +   +   +   -         LOCK TABLE; SELECT FOR UPDATE of old
//!   RX  (3)   +   +   -   -   -         INSERT, UPDATE, DELETE, SELECT FOR UPDATE
//!   S   (4)   +   -   +   -   -         LOCK TABLE, foreign keys without an index
//!   SRX (5)   +   -   -   -   -         LOCK TABLE
//!   X   (6)   -   -   -   -   -         DDL, LOCK TABLE
//! ```
//!
//! Callers: all of `locks`, and whoever locks tables.
//! Sources: Oracle Database Concepts, "Table Locks (TM)"; the numbers are those of `v$lock`.

use std::fmt;

/// How a transaction locks a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum TableMode {
    /// Row share: some rows are locked, or will be; keeps exclusive locks of the table out.
    RowShare = 2,
    /// Row exclusive: some rows are changed.
    RowExclusive = 3,
    /// Share: no rows are changed, by anybody.
    Share = 4,
    /// Share row exclusive: one transaction changes rows, and others lock some at most.
    ShareRowExclusive = 5,
    /// Exclusive: one transaction does what it wants.
    Exclusive = 6,
}

impl TableMode {
    /// Every mode, from the weakest to the strongest.
    pub const ALL: [TableMode; 5] = [
        TableMode::RowShare,
        TableMode::RowExclusive,
        TableMode::Share,
        TableMode::ShareRowExclusive,
        TableMode::Exclusive,
    ];

    /// Whether two transactions can have the table locked so at once.
    pub const fn goes_with(self, other: TableMode) -> bool {
        use TableMode::{Exclusive, RowShare, Share};
        match (self, other) {
            (Exclusive, _) | (_, Exclusive) => false,
            (RowShare, _) | (_, RowShare) => true,
            (Share, Share) => true,
            (mode, other) => mode.is_weak() && other.is_weak(),
        }
    }

    /// What a transaction has that has both: the weakest mode that keeps out whom either does.
    #[must_use]
    pub fn and(self, other: TableMode) -> TableMode {
        match (self, other) {
            (TableMode::RowExclusive, TableMode::Share)
            | (TableMode::Share, TableMode::RowExclusive) => TableMode::ShareRowExclusive,
            (mode, other) => mode.max(other),
        }
    }

    /// Whether it goes with what statements that change rows take. All weak modes go together.
    pub const fn is_weak(self) -> bool {
        matches!(self, TableMode::RowShare | TableMode::RowExclusive)
    }

    /// The number in views and in p1 of waits.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The short name.
    pub const fn name(self) -> &'static str {
        match self {
            TableMode::RowShare => "RS",
            TableMode::RowExclusive => "RX",
            TableMode::Share => "S",
            TableMode::ShareRowExclusive => "SRX",
            TableMode::Exclusive => "X",
        }
    }
}

/// `RX (3)`.
impl fmt::Display for TableMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::TableMode;

    /// The picture above, line by line.
    #[test]
    fn the_modes_go_together_as_drawn() {
        let drawn = ["++++-", "++---", "+-+--", "+----", "-----"];
        for (mode, line) in TableMode::ALL.into_iter().zip(drawn) {
            let found: String = TableMode::ALL
                .iter()
                .map(|other| if mode.goes_with(*other) { '+' } else { '-' })
                .collect();
            assert_eq!(found, line, "{mode}");
        }
    }

    /// Two modes in one hand keep out exactly whom one of them does.
    #[test]
    fn a_mode_and_another_keep_out_whom_either_does() {
        for one in TableMode::ALL {
            for other in TableMode::ALL {
                let both = one.and(other);
                assert_eq!(both, other.and(one));
                for third in TableMode::ALL {
                    let either = one.goes_with(third) && other.goes_with(third);
                    assert_eq!(both.goes_with(third), either, "{one} and {other} with {third}");
                }
            }
        }
    }
}
