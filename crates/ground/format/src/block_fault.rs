//! The faults of a block that was read, as sentences for the users who must deal with them.
//!
//! Invariants
//!   * each sentence names the block that was asked for, the value found and the value expected
//!   * the faults are told apart, because the remedies differ: a torn block has a good copy
//!     elsewhere, a newer format needs a newer program, a misdirected block is an error of the disk
//!
//! Callers: `block::check` makes them; code that reads blocks handles or reports them.

use std::fmt;

use ids::{BlockSize, Dba};

use crate::{BlockKind, FORMAT, RESTORE_ALL};

/// The reason why a block was refused. `address` is always the block that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockFault {
    /// These are not the bytes of one block.
    BadLength {
        /// The block that was asked for.
        address: Dba,
        /// The number of bytes.
        found: usize,
    },
    /// All bytes are zero: the block was never used, or its write was lost.
    NeverWritten {
        /// The block that was asked for.
        address: Dba,
    },
    /// The bytes are not those that were sealed: torn, decayed, or never a block.
    BadChecksum {
        /// The block that was asked for.
        address: Dba,
        /// The checksum of the bytes that were read.
        expected: u32,
        /// The checksum that the header holds.
        found: u32,
    },
    /// The block is whole, but its format version is unknown to this program.
    UnknownFormat {
        /// The block that was asked for.
        address: Dba,
        /// The version that the header holds.
        found: u8,
    },
    /// The block is whole, but its kind is unknown to this program.
    UnknownKind {
        /// The block that was asked for.
        address: Dba,
        /// The kind that the header holds.
        found: u8,
    },
    /// The block is whole, but it is another block: the read or an earlier write was misdirected.
    WrongAddress {
        /// The block that was asked for.
        address: Dba,
        /// The block that was found.
        found: Dba,
    },
    /// The block is whole, but a byte that its format reserves isn't zero.
    ReservedNotZero {
        /// The block that was asked for.
        address: Dba,
        /// The offset in the block of the first such byte.
        offset: usize,
        /// That byte.
        found: u8,
    },
}

impl BlockFault {
    /// The block that was asked for.
    pub fn address(&self) -> Dba {
        match *self {
            BlockFault::BadLength { address, .. }
            | BlockFault::NeverWritten { address }
            | BlockFault::BadChecksum { address, .. }
            | BlockFault::UnknownFormat { address, .. }
            | BlockFault::UnknownKind { address, .. }
            | BlockFault::WrongAddress { address, .. }
            | BlockFault::ReservedNotZero { address, .. } => address,
        }
    }
}

impl std::error::Error for BlockFault {}

impl fmt::Display for BlockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dba { file, block } = self.address();
        write!(f, "file {file} block {block} ")?;
        match *self {
            BlockFault::BadLength { found, .. } => {
                let sizes = BlockSize::ALL.map(|size| size.bytes().to_string()).join(", ");
                write!(f, "came as {found} bytes, and blocks have one of {sizes}")
            }
            BlockFault::NeverWritten { .. } => {
                write!(f, "was never written: a sealed block was expected, all bytes are zero")
            }
            BlockFault::BadChecksum { expected, found, .. } => write!(
                f,
                "is damaged: checksum 0x{expected:08x} was expected for its bytes, \
                 its header has 0x{found:08x}; {RESTORE_ALL}"
            ),
            BlockFault::UnknownFormat { found: found @ 0..=FORMAT, .. } => write!(
                f,
                "has format {found}, which never existed: 1 to {FORMAT} was expected; \
                 some other program wrote it"
            ),
            BlockFault::UnknownFormat { found, .. } => write!(
                f,
                "has format {found}, newer than {FORMAT}, the newest that this program reads; \
                 open the file with the program that wrote it, or a later one"
            ),
            BlockFault::UnknownKind { found, .. } => {
                let known = BlockKind::ALL.len();
                write!(
                    f,
                    "has kind {found}, and this program knows kinds 1 to {known}; \
                     open the file with the program that wrote it"
                )
            }
            BlockFault::WrongAddress { found, .. } => write!(
                f,
                "was expected, but the block found there says that it is file {} block {}: \
                 the disk read or wrote the wrong place",
                found.file, found.block
            ),
            BlockFault::ReservedNotZero { offset, found, .. } => write!(
                f,
                "has 0x{found:02x} at byte {offset}, which is reserved and expected to be zero; \
                 some other program wrote it"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_a_sentence_with_what_was_expected_and_what_was_found() {
        let address = Dba::new(3, 17);
        let sentences = [
            (
                BlockFault::BadLength { address, found: 100 },
                "file 3 block 17 came as 100 bytes, and blocks have one of \
                 2048, 4096, 8192, 16384, 32768",
            ),
            (
                BlockFault::NeverWritten { address },
                "file 3 block 17 was never written: a sealed block was expected, \
                 all bytes are zero",
            ),
            (
                BlockFault::BadChecksum { address, expected: 0xab, found: 0xcd },
                "file 3 block 17 is damaged: checksum 0x000000ab was expected for its bytes, \
                 its header has 0x000000cd; restore the whole database from one copy: control \
                 files, data files and redo logs",
            ),
            (
                BlockFault::UnknownFormat { address, found: 0 },
                "file 3 block 17 has format 0, which never existed: 1 to 5 was expected; \
                 some other program wrote it",
            ),
            (
                BlockFault::UnknownFormat { address, found: 7 },
                "file 3 block 17 has format 7, newer than 5, the newest that this program reads; \
                 open the file with the program that wrote it, or a later one",
            ),
            (
                BlockFault::UnknownKind { address, found: 99 },
                "file 3 block 17 has kind 99, and this program knows kinds 1 to 16; \
                 open the file with the program that wrote it",
            ),
            (
                BlockFault::WrongAddress { address, found: Dba::new(4, 18) },
                "file 3 block 17 was expected, but the block found there says that it is \
                 file 4 block 18: the disk read or wrote the wrong place",
            ),
            (
                BlockFault::ReservedNotZero { address, offset: 6, found: 0x20 },
                "file 3 block 17 has 0x20 at byte 6, which is reserved and expected to be zero; \
                 some other program wrote it",
            ),
        ];
        for (fault, sentence) in sentences {
            assert_eq!(fault.to_string(), sentence);
            assert_eq!(fault.address(), address);
        }
    }
}
