//! How heap blocks change (rule change/CH1).
//!
//! | change   | payload                                         | taken back by   |
//! |----------|-------------------------------------------------|-----------------|
//! | `FORMAT` | object, entries of its list, place in its map   | not             |
//! | `CHANGE` | interest (see `txn`), steps (see `ops`)         | `BACK`          |
//! | `BACK`   | interest before, steps                          | not             |
//!
//! And maps of free space: `FORMAT_MAP` and `NOTE`, see `free_map`.

use change::{BlockMut, Layer, Watch};
use format::BlockKind;
use format::changes::heap::CHANGES;
use latch::FrameOrder;
use txn::{apply_interest, apply_interest_back};
use undo::CROSSED_OUT;

use crate::free_map::{self, MapPlace};
use crate::ops::apply_all;

pub(crate) const FORMAT: u8 = 1;
pub(crate) const CHANGE: u8 = 2;
pub(crate) const BACK: u8 = 3;
pub(crate) const FORMAT_MAP: u8 = 4;
pub(crate) const NOTE: u8 = 5;

/// Met in copies only, which were made before the change was taken back for good: then it is taken
/// back in the copy as any other (rule undo/UN8).
const BACK_CROSSED_OUT: u8 = BACK | CROSSED_OUT;

/// Bytes of the payload of `FORMAT`.
pub(crate) const FORMAT_BYTES: usize = 5 + MapPlace::BYTES;

/// Tables.
pub static LAYER: Layer = Layer {
    number: CHANGES.layer,
    name: CHANGES.name,
    changes: &CHANGES,
    order: FrameOrder::Heap,
    apply,
    moves: None,
    watch: Some(Watch { level: free_map::level, told: free_map::told }),
};

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    let bytes = block.bytes;
    match opcode {
        FORMAT => {
            let (object, rest) = payload.split_at(4);
            let object = u32::from_le_bytes(object.try_into().expect("an object has four bytes"));
            block::create(bytes, BlockKind::Heap, block.address, object, rest[0]);
            MapPlace::from_bytes(&rest[1..]).write(bytes);
        }
        CHANGE => {
            let steps = apply_interest(bytes, payload);
            apply_all(bytes, &payload[steps..]);
        }
        BACK | BACK_CROSSED_OUT => {
            let steps = apply_interest_back(bytes, payload);
            apply_all(bytes, &payload[steps..]);
        }
        FORMAT_MAP => free_map::format(bytes, block.address, payload),
        NOTE => free_map::apply_note(bytes, payload),
        other => panic!("the heap layer has no change {other}"),
    }
}
