//! The transaction id: where in the undo the transaction keeps its state.
//!
//!   segment  ─▶ which undo segment (Oracle: usn)
//!   slot     ─▶ which slot of that segment's transaction table
//!   sequence ─▶ how often the slot has been used (Oracle: wrap, sqn)
//!
//! Invariants
//!   * an id names one transaction for ever: a slot that is used again gets a higher sequence
//!   * the order is only for keeping ids in ordered maps; it says nothing about time
//!
//! Sources: Oracle's XID, `xidusn.xidslot.xidsqn` of `v$transaction`; the notation is that of
//! `dbms_transaction.local_transaction_id`, in decimal.

use std::fmt;

/// A transaction.
///
/// Units and ranges: see the fields. Source: assigned at a transaction's first change, when it
/// takes a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TxnId {
    /// Undo segment number. Range: all of `u16`.
    pub segment: u16,
    /// Slot in the segment's transaction table, from 0. Range: below the table's slot count.
    pub slot: u16,
    /// Number of times the slot has been used. Range: all of `u32`.
    pub sequence: u32,
}

impl TxnId {
    /// Orders the transactions of one segment by their beginnings, because slots are used in turn.
    pub const fn order(self) -> (u32, u16) {
        (self.sequence, self.slot)
    }
}

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.segment, self.slot, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_id_is_written_segment_slot_sequence() {
        let id = TxnId { segment: 4, slot: 22, sequence: 1841 };
        assert_eq!(id.to_string(), "4.22.1841");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// The ranges are small, so that ids which share two of three parts are common.
        #[test]
        fn two_ids_are_written_alike_only_if_they_are_the_same(
            a in (0..30u16, 0..30u16, 0..30u32),
            b in (0..30u16, 0..30u16, 0..30u32),
        ) {
            let id = |(segment, slot, sequence)| TxnId { segment, slot, sequence };
            prop_assert_eq!(id(a).to_string() == id(b).to_string(), a == b);
            prop_assert_eq!(id(a) == id(b), a == b);
        }
    }
}
