//! How heap blocks change (rule change/CH1).
//!
//! | change   | payload                               | taken back by            |
//! |----------|---------------------------------------|--------------------------|
//! | `FORMAT` | body of the block                     | not: an empty block      |
//! | `INSERT` | slot, transaction, columns            | `REMOVE`                 |
//! | `WRITE`  | slot, transaction, offset, bytes      | `WRITE` of what was there|
//! | `REMOVE` | slot                                  | not: it takes back       |

use change::{BlockMut, Layer};
use format::{BlockHeader, BlockKind, HeapBlock, Row, TxnIdLe, U16Le};
use latch::FrameOrder;

pub(crate) const FORMAT: u8 = 1;
pub(crate) const INSERT: u8 = 2;
pub(crate) const WRITE: u8 = 3;
pub(crate) const REMOVE: u8 = 4;

pub(crate) const EMPTY: u8 = 0;
pub(crate) const USED: u8 = 1;

/// Tables.
pub static LAYER: Layer = Layer { number: 3, name: "heap", order: FrameOrder::Heap, apply };

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    if opcode == FORMAT {
        block.bytes.fill(0);
        *BlockHeader::of_mut(block.bytes) = BlockHeader::new(BlockKind::Heap, block.address);
        block.bytes[HeapBlock::START..HeapBlock::START + payload.len()].copy_from_slice(payload);
        return;
    }
    let slot = U16Le::from_bytes([payload[0], payload[1]]).get();
    let at = row_at(block.bytes, slot);
    match opcode {
        INSERT => {
            let head = HeapBlock::at_mut(block.bytes, HeapBlock::START);
            assert!(head.rows.get() == slot && slot < head.capacity.get(), "a slot out of turn");
            head.rows = U16Le::new(slot + 1);
            let row = Row { transaction: *TxnIdLe::at(payload, 2), state: USED, reserved: [0; 3] };
            *Row::at_mut(block.bytes, at) = row;
            let columns = &payload[10..];
            block.bytes[at + Row::BYTES..at + Row::BYTES + columns.len()].copy_from_slice(columns);
        }
        WRITE => {
            let row = Row::at_mut(block.bytes, at);
            assert!(row.state == USED, "an empty row is written");
            row.transaction = *TxnIdLe::at(payload, 2);
            let offset = usize::from(U16Le::from_bytes([payload[10], payload[11]]).get());
            let (start, bytes) = (at + Row::BYTES + offset, &payload[12..]);
            block.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        }
        REMOVE => {
            let row_bytes = usize::from(HeapBlock::at(block.bytes, HeapBlock::START).row_bytes);
            let row = Row::at_mut(block.bytes, at);
            assert!(row.state == USED, "an empty row is removed");
            row.state = EMPTY;
            row.transaction = TxnIdLe::NONE;
            block.bytes[at + Row::BYTES..at + Row::BYTES + row_bytes].fill(0);
        }
        other => panic!("the heap layer has no change {other}"),
    }
}

/// Where a row lies in its block.
pub(crate) fn row_at(block: &[u8], slot: u16) -> usize {
    let row_bytes = usize::from(HeapBlock::at(block, HeapBlock::START).row_bytes);
    HeapBlock::ROWS + usize::from(slot) * (Row::BYTES + row_bytes)
}
