//! The stored forms of the numbers of crate `ids` (F3).
//!
//! Invariants
//!   * reading is total: any bytes are a number, so only `check` decides which are valid
//!
//! Callers: the layouts.

use ids::{Dba, Scn, TxnId, UndoAddress};
use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le, U64 as U64Le};

use crate::layout::layout;

layout! {
    /// A block address. The eight bytes together are the address's packed form, little-endian.
    pub struct DbaLe: 8 {
        /// Block within the file, counted from 0.
        0 => block: U32Le,
        /// File number.
        4 => file: U16Le,
        /// Zero.
        6 => pub(crate) reserved: [u8; 2],
    }
}

impl DbaLe {
    /// File 0 block 0: no database has a file 0, so it stands for no address.
    pub const NONE: DbaLe = DbaLe { block: U32Le::ZERO, file: U16Le::ZERO, reserved: [0; 2] };

    /// The stored form of an address.
    pub fn new(address: Dba) -> DbaLe {
        DbaLe {
            block: U32Le::new(address.block.get()),
            file: U16Le::new(address.file.get()),
            reserved: [0; 2],
        }
    }

    /// The address.
    pub fn get(self) -> Dba {
        Dba::new(self.file.get(), self.block.get())
    }
}

layout! {
    /// A system change number.
    pub struct ScnLe: 8 {
        /// The SCN.
        0 => number: U64Le,
    }
}

impl ScnLe {
    /// SCN 0, which no change has.
    pub const ZERO: ScnLe = ScnLe { number: U64Le::ZERO };

    /// The stored form of an SCN.
    pub fn new(scn: Scn) -> ScnLe {
        ScnLe { number: U64Le::new(scn.get()) }
    }

    /// The SCN.
    pub fn get(self) -> Scn {
        Scn::new(self.number.get())
    }
}

layout! {
    /// A transaction. All zero is no transaction: sequences start at 1.
    pub struct TxnIdLe: 8 {
        /// Undo segment number.
        0 => segment: U16Le,
        /// Slot in the segment's transaction table.
        2 => slot: U16Le,
        /// Number of times the slot has been used.
        4 => sequence: U32Le,
    }
}

impl TxnIdLe {
    /// No transaction.
    pub const NONE: TxnIdLe =
        TxnIdLe { segment: U16Le::ZERO, slot: U16Le::ZERO, sequence: U32Le::ZERO };

    /// The stored form of a transaction's id.
    pub fn new(id: TxnId) -> TxnIdLe {
        TxnIdLe {
            segment: U16Le::new(id.segment),
            slot: U16Le::new(id.slot),
            sequence: U32Le::new(id.sequence),
        }
    }

    /// The transaction, or none.
    pub fn get(self) -> Option<TxnId> {
        let id = TxnId {
            segment: self.segment.get(),
            slot: self.slot.get(),
            sequence: self.sequence.get(),
        };
        (id.sequence != 0).then_some(id)
    }
}

layout! {
    /// The address of an undo record. All zero is none: no database has a file 0.
    pub struct UndoAddressLe: 8 {
        /// The undo block within its file.
        0 => block: U32Le,
        /// File number.
        4 => file: U16Le,
        /// Which record of the block, from 0.
        6 => record: U16Le,
    }
}

impl UndoAddressLe {
    /// No record.
    pub const NONE: UndoAddressLe =
        UndoAddressLe { block: U32Le::ZERO, file: U16Le::ZERO, record: U16Le::ZERO };

    /// The stored form of an undo address.
    pub fn new(address: UndoAddress) -> UndoAddressLe {
        UndoAddressLe {
            block: U32Le::new(address.block.block.get()),
            file: U16Le::new(address.block.file.get()),
            record: U16Le::new(address.record),
        }
    }

    /// The address, or none.
    pub fn get(self) -> Option<UndoAddress> {
        let block = Dba::new(self.file.get(), self.block.get());
        let address = UndoAddress { block, record: self.record.get() };
        (self != UndoAddressLe::NONE).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    proptest! {
        #![proptest_config(crate::block::tests::config())]

        #[test]
        fn a_stored_address_is_its_packed_form(file in any::<u16>(), block in any::<u32>()) {
            let address = Dba::new(file, block);
            let stored = DbaLe::new(address);
            let packed = U64Le::new(address.pack());
            prop_assert_eq!(stored.as_bytes(), packed.as_bytes());
            prop_assert_eq!(stored.get(), address);
        }

        #[test]
        fn a_stored_scn_comes_back(number in any::<u64>()) {
            prop_assert_eq!(ScnLe::new(Scn::new(number)).get(), Scn::new(number));
        }
    }

    #[test]
    fn the_lowest_byte_of_a_stored_scn_comes_first() {
        let stored = ScnLe::new(Scn::new(0x0102_0304_0506_0708));
        assert_eq!(stored.as_bytes(), [8, 7, 6, 5, 4, 3, 2, 1]);
    }
}
