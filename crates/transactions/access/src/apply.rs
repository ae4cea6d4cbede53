//! Applies the changes of heap blocks and of maps of free space (rule change/CH1).
//! `format::changes::heap` declares the changes and their payloads.

use change::{BlockMut, Layer, Watch};
pub(crate) use format::changes::heap::{BACK, CHANGE, FORMAT, FORMAT_MAP, LOAD, NOTE};
use format::changes::heap::{BACK_APPLIED, CHANGES, HeapFormat, LoadedRows, Loader};
use format::{BlockHeader, BlockKind, ItlEntry, U16Le};
use ids::Dba;
use latch::FrameOrder;
use txn::block;
use txn::undo::APPLIED;
use txn::{apply_itl_back, apply_itl_change};

use crate::free_map::{self, MapEntry};
use crate::inspect::{check_free_map, check_heap_block};
use crate::ops::apply_all;

/// An opcode with the bit is met only in copies that were made before the change was taken back for
/// good: there it is taken back like any other (rule txn/UN8).
const _: () = assert!(BACK_APPLIED == BACK | APPLIED);

/// The layer of tables: heap blocks, and maps of free space.
pub static LAYER: Layer = Layer {
    number: CHANGES.layer,
    name: CHANGES.name,
    changes: &CHANGES,
    order: FrameOrder::Heap,
    apply,
    check,
    moves: None,
    watch: Some(Watch { level: free_map::level, told: free_map::told }),
};

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    let bytes = block.bytes;
    match opcode {
        FORMAT => format(bytes, block.address, HeapFormat::whole(payload)),
        LOAD => {
            let (head, rest) = HeapFormat::read(payload).expect(CHECKED);
            let (loader, rows) = Loader::read(rest).expect(CHECKED);
            format(bytes, block.address, head);
            load(bytes, loader, LoadedRows(rows));
        }
        CHANGE => {
            let (_, steps) = apply_itl_change(bytes, payload);
            apply_all(bytes, steps);
            assert_kept(bytes);
        }
        BACK | BACK_APPLIED => {
            let (_, steps) = apply_itl_back(bytes, payload);
            apply_all(bytes, steps);
            assert_kept(bytes);
        }
        FORMAT_MAP => free_map::format(bytes, block.address, payload),
        NOTE => free_map::apply_note(bytes, payload),
        other => panic!("the heap layer has no change {other}"),
    }
}

/// Why a payload can be read.
const CHECKED: &str = "the payload was checked (rule change/CH9)";

/// Makes an empty block of rows.
fn format(block: &mut [u8], address: Dba, head: &HeapFormat) {
    let HeapFormat { object, itl_count, map, entry } = *head;
    block::create(block, BlockKind::Heap, address, object.get(), itl_count);
    MapEntry { map, number: entry.get() }.write(block);
}

/// Puts rows into an empty block, locked by the transaction that loads them.
fn load(block: &mut [u8], loader: &Loader, rows: LoadedRows<'_>) {
    let parts =
        |row: Result<(u8, _), _>| row.map(|(flags, bytes)| (flags, [bytes])).expect(CHECKED);
    let count = block::append(block, 1, rows.map(parts));
    let Loader { transaction, undo } = *loader;
    let locks = U16Le::new(count);
    *block::entry_mut(block, 0) = ItlEntry { transaction, undo, locks, ..ItlEntry::NONE };
}

fn check(block: &[u8]) -> Result<(), String> {
    match BlockHeader::at(block, 0).kind() {
        BlockKind::FreeMap => check_free_map(block),
        _ => check_heap_block(block),
    }
}

/// Asserts that the block has room for the rollbacks of all active transactions (rule txn/BL4).
#[inline]
fn assert_kept(block: &[u8]) {
    let (kept, free) = (block::kept(block), block::room_of(block));
    assert!(kept <= free, "rollbacks need {kept} bytes of a block, and {free} are free");
}
