//! The modes of table locks: which go together, and what two of them make in one transaction
//! (TX34).
//!
//! ```text
//!             RS  RX  S   SRX X         taken by
//!   RS  (2)   +   +   +   +   -         LOCK TABLE; checks of foreign keys
//!   RX  (3)   +   +   -   -   -         INSERT, UPDATE, DELETE, SELECT FOR UPDATE
//!   S   (4)   +   -   +   -   -         LOCK TABLE, CREATE INDEX, DDL on foreign keys
//!   SRX (5)   +   -   -   -   -         LOCK TABLE
//!   X   (6)   -   -   -   -   -         DDL, LOCK TABLE
//! ```
//!
//! Callers: all of `locks`; `relation` and `catalog`. Sources: Oracle Database Concepts, "Table
//! Locks (TM)"; the numbers are those of `v$lock`.

use std::fmt;

/// The mode of a table lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum TableMode {
    /// Row share: some rows are locked, or will be; keeps exclusive locks of the table out.
    RowShare = 2,
    /// Row exclusive: some rows are changed.
    RowExclusive = 3,
    /// Share: no transaction changes rows.
    Share = 4,
    /// Share row exclusive: one transaction changes rows; others lock some at most.
    ShareRowExclusive = 5,
    /// Exclusive: no other transaction locks the table.
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

    /// Whether two transactions can have the table in these modes at once.
    pub const fn goes_with(self, other: TableMode) -> bool {
        use TableMode::{Exclusive, RowShare, Share};
        match (self, other) {
            (Exclusive, _) | (_, Exclusive) => false,
            (RowShare, _) | (_, RowShare) => true,
            (Share, Share) => true,
            (mode, other) => mode.is_weak() && other.is_weak(),
        }
    }

    /// The weakest mode that keeps out each mode that either of these keeps out.
    #[must_use]
    pub fn and(self, other: TableMode) -> TableMode {
        match (self, other) {
            (TableMode::RowExclusive, TableMode::Share)
            | (TableMode::Share, TableMode::RowExclusive) => TableMode::ShareRowExclusive,
            (mode, other) => mode.max(other),
        }
    }

    /// Whether the mode goes with RX. All such modes go together.
    pub(super) const fn is_weak(self) -> bool {
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

    /// The modes go together as in the picture above.
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

    /// Two modes together keep out exactly the modes that one of them keeps out.
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
