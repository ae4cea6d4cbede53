//! What takes the rows of a scan: the whole rows of a block at once. So a call that isn't known
//! when compiling is made for each block, and not for each row.
//!
//! Callers: `read`, `scan`; tables, which take each row by a function.

use format::DataSlot;
use ids::Dba;
use txn::block;

use super::change::SlotKind;
use super::piece::piece_of;
use crate::RowAddress;

/// Takes the rows of a scan. It only computes (AC36).
pub trait RowVisit {
    /// Takes all whole rows of a block, under its latch if possible.
    fn block(&mut self, rows: &mut BlockRows<'_>);

    /// Takes a row that lies in pieces.
    fn row(&mut self, address: RowAddress, bytes: &[u8]);
}

/// Takes each row by a function.
pub struct EachRow<F>(F);

impl<F: FnMut(RowAddress, &[u8])> EachRow<F> {
    /// By this function.
    pub fn new(visit: F) -> EachRow<F> {
        EachRow(visit)
    }
}

impl<F: FnMut(RowAddress, &[u8])> RowVisit for EachRow<F> {
    #[inline]
    fn block(&mut self, rows: &mut BlockRows<'_>) {
        for BlockRow { address, bytes } in rows {
            (self.0)(address, bytes);
        }
    }

    fn row(&mut self, address: RowAddress, bytes: &[u8]) {
        (self.0)(address, bytes);
    }
}

/// A whole row of a block.
pub struct BlockRow<'b> {
    /// Where it lies.
    pub address: RowAddress,
    /// The row.
    pub bytes: &'b [u8],
}

/// The whole rows of a block, in the order of their slots. Those in pieces are noted.
pub struct BlockRows<'b> {
    address: Dba,
    block: &'b [u8],
    slots: &'b [DataSlot],
    /// The number of the next slot.
    next: u16,
    parts: Vec<RowAddress>,
}

impl<'b> BlockRows<'b> {
    /// The rows of this block, which is a heap's.
    pub(super) fn of(address: Dba, block: &'b [u8]) -> BlockRows<'b> {
        let slots = block::directory(block);
        BlockRows { address, block, slots, next: 0, parts: Vec::new() }
    }

    /// The rows in pieces, once all were passed.
    pub(super) fn into_parts(self) -> Vec<RowAddress> {
        self.parts
    }
}

impl<'b> Iterator for BlockRows<'b> {
    type Item = BlockRow<'b>;

    #[inline]
    fn next(&mut self) -> Option<BlockRow<'b>> {
        loop {
            let slot = self.slots.get(usize::from(self.next))?;
            let address = RowAddress { block: self.address, slot: self.next };
            self.next += 1;
            if SlotKind::Row.is_in(slot) {
                let piece = piece_of(self.block, *slot);
                match piece.next {
                    None => return Some(BlockRow { address, bytes: piece.data }),
                    Some(_) => self.parts.push(address),
                }
            }
        }
    }
}
