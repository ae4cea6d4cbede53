//! The 32 bytes that every block of every file starts with.
//!
//! ```text
//!   0        4    5      6        8               16              24       28       32
//!  ┌────────┬────┬──────┬────────┬───────────────┬───────────────┬────────┬────────┐
//!  │checksum│kind│format│  zero  │    address    │    changed    │sequence│  zero  │
//!  └────────┴────┴──────┴────────┴───────────────┴───────────────┴────────┴────────┘
//! ```
//!
//! Invariants
//!   * a header made by `new` passes `inspect` for its address, and stamping keeps it so
//!   * the meaning of bytes 0 to 5 is the same in every version (F7)
//!
//! Callers: `block` seals and checks it; code that changes a block stamps it.
//! Sources: TigerBeetle's superblock and PostgreSQL's page header, for the facts that a block
//! should state about itself; Oracle's block header, for SCN and sequence as a block's version.

use std::mem::offset_of;

use ids::{Dba, Scn};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32 as U32Le;

use crate::block_fault::BlockFault;
use crate::layout::layout;
use crate::number::{DbaLe, ScnLe};
use crate::{BlockKind, FORMAT, version};

layout! {
    /// Header of every block in every file. Completed just before the write, checked just after the
    /// read.
    pub struct BlockHeader: 32 {
        /// CRC32C (Castagnoli, as in iSCSI) over the whole block, with this field as zero.
        0 => pub(crate) checksum: U32Le,
        /// Kind of the block. 0 is never valid, so an unwritten block is not a block.
        4 => kind: u8,
        /// Format version in which the block was written.
        5 => format: u8,
        /// Zero.
        6 => reserved: [u8; 2],
        /// Address to which the block belongs: it detects misdirected reads and writes.
        8 => address: DbaLe,
        /// SCN of the block's last change.
        16 => changed: ScnLe,
        /// Tells changes at one SCN apart: with the SCN, the version of the block.
        24 => sequence: U32Le,
        /// Zero.
        28 => reserved2: [u8; 4],
    }
}

impl BlockHeader {
    /// The number of bytes in the header; the body of a block is the rest.
    pub const BYTES: usize = size_of::<BlockHeader>();

    /// The header of a new block, in the newest format and without a change.
    pub fn new(kind: BlockKind, address: Dba) -> BlockHeader {
        BlockHeader {
            checksum: U32Le::ZERO,
            kind: kind.number(),
            format: FORMAT,
            reserved: [0; 2],
            address: DbaLe::new(address),
            changed: ScnLe::new(Scn::ZERO),
            sequence: U32Le::ZERO,
            reserved2: [0; 4],
        }
    }

    /// The header of this block, to be set or stamped.
    ///
    /// # Panics
    /// When the block is shorter than a header.
    pub fn of_mut(block: &mut [u8]) -> &mut BlockHeader {
        let (header, _) =
            BlockHeader::mut_from_prefix(block).expect("a block is longer than its header");
        header
    }

    /// The header of this block, not checked yet.
    pub(crate) fn of(block: &[u8]) -> &BlockHeader {
        let (header, _) =
            BlockHeader::ref_from_prefix(block).expect("a block is longer than its header");
        header
    }

    /// Records a change of the block at this SCN; `sequence` tells apart its changes at one SCN.
    pub fn stamp(&mut self, changed: Scn, sequence: u32) {
        self.changed = ScnLe::new(changed);
        self.sequence = U32Le::new(sequence);
    }

    /// The kind of the block.
    ///
    /// # Panics When the header came neither from `new` nor from `check` (F2) and its kind is
    /// unknown.
    pub fn kind(&self) -> BlockKind {
        BlockKind::new(self.kind).expect("F2: a header is used only after its block was checked")
    }

    /// The format version in which the block was written.
    pub fn format(&self) -> u8 {
        self.format
    }

    /// The address to which the block belongs.
    pub fn address(&self) -> Dba {
        self.address.get()
    }

    /// The SCN of the block's last change.
    pub fn changed(&self) -> Scn {
        self.changed.get()
    }

    /// The number of the block's last change at that SCN.
    pub fn sequence(&self) -> u32 {
        self.sequence.get()
    }

    /// Checks everything but the checksum. The format is checked first: a newer format may have
    /// kinds and use reserved bytes that are unknown to this program.
    pub(crate) fn inspect(&self, address: Dba) -> Result<(), BlockFault> {
        if !version::is_known(self.format) {
            return Err(BlockFault::UnknownFormat { address, found: self.format });
        }
        if BlockKind::new(self.kind).is_none() {
            return Err(BlockFault::UnknownKind { address, found: self.kind });
        }
        if self.address() != address {
            return Err(BlockFault::WrongAddress { address, found: self.address() });
        }
        match self.reserved_bytes().find(|(_, byte)| *byte != 0) {
            Some((offset, found)) => Err(BlockFault::ReservedNotZero { address, offset, found }),
            None => Ok(()),
        }
    }

    /// Every reserved byte, with its offset in the block (F4).
    fn reserved_bytes(&self) -> impl Iterator<Item = (usize, u8)> {
        const IN_ADDRESS: usize = offset_of!(BlockHeader, address) + offset_of!(DbaLe, reserved);
        let first = (offset_of!(BlockHeader, reserved)..).zip(self.reserved);
        let in_address = (IN_ADDRESS..).zip(self.address.reserved);
        let last = (offset_of!(BlockHeader, reserved2)..).zip(self.reserved2);
        first.chain(in_address).chain(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Dba = Dba::new(3, 17);

    #[test]
    fn a_new_header_says_what_it_was_told_and_no_change_yet() {
        let header = BlockHeader::new(BlockKind::Scratch, HOME);
        assert_eq!(header.inspect(HOME), Ok(()));
        assert_eq!(header.kind(), BlockKind::Scratch);
        assert_eq!(header.format(), FORMAT);
        assert_eq!(header.address(), HOME);
        assert_eq!(header.changed(), Scn::ZERO);
        assert_eq!(header.sequence(), 0);
    }

    #[test]
    fn a_stamp_changes_the_version_of_the_block_and_nothing_else() {
        let fresh = BlockHeader::new(BlockKind::Scratch, HOME);
        let mut header = fresh;
        header.stamp(Scn::new(1841), 2);
        assert_eq!(header.changed(), Scn::new(1841));
        assert_eq!(header.sequence(), 2);
        header.stamp(Scn::ZERO, 0);
        assert_eq!(header, fresh);
    }

    #[test]
    #[should_panic(expected = "F2")]
    fn a_kind_that_was_not_checked_is_not_read() {
        BlockHeader::of(&[0; 2_048]).kind();
    }
}
