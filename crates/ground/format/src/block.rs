//! Sealing a block just before it is written, and checking it just after it was read.
//!
//! Invariants
//!   * what `seal` accepted for an address, `check` accepts for that address and for no other
//!   * both check the same facts of the header: a block that could not be read back is not written
//!
//! Callers: code that writes (F1) and reads (F2) blocks.

use ids::{BlockSize, Dba};
use zerocopy::little_endian::U32 as U32Le;

use crate::{BlockFault, BlockHeader, checksum};

/// Completes the block for its write to this address (F1).
///
/// # Panics When `check` would refuse the block: wrong length, a header that was never set, another
/// address. Writing such a block would lose it.
pub fn seal(block: &mut [u8], address: Dba) {
    if let Err(fault) = header_of(block, address).and_then(|header| header.inspect(address)) {
        panic!("a block that is not fit to be written was about to be sealed: {fault}");
    }
    let checksum = checksum::of_block(block);
    BlockHeader::of_mut(block).checksum = U32Le::new(checksum);
}

/// Checks bytes that were read from this address. Returns their header if they are the block that
/// was sealed for it (F2).
pub fn check(block: &[u8], address: Dba) -> Result<&BlockHeader, BlockFault> {
    let header = header_of(block, address)?;
    let expected = checksum::of_block(block);
    let found = header.checksum.get();
    if found != expected {
        // This is checked only now, to spare valid blocks the search: zeros never have checksum
        // zero.
        if is_zero(block) {
            return Err(BlockFault::NeverWritten { address });
        }
        return Err(BlockFault::BadChecksum { address, expected, found });
    }
    header.inspect(address)?;
    Ok(header)
}

/// Whether all bytes are zero. It compares eight at a time, because recovery calls it for every
/// block that was never written.
fn is_zero(block: &[u8]) -> bool {
    let (words, rest) = block.as_chunks::<8>();
    words.iter().all(|word| *word == [0; 8]) && rest.iter().all(|byte| *byte == 0)
}

/// The header, if the bytes have the length of a block.
fn header_of(block: &[u8], address: Dba) -> Result<&BlockHeader, BlockFault> {
    match BlockSize::new(block.len()) {
        Some(_) => Ok(BlockHeader::of(block)),
        None => Err(BlockFault::BadLength { address, found: block.len() }),
    }
}

#[cfg(test)]
pub(crate) mod tests;
