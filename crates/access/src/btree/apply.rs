//! How blocks of indexes change (rule change/CH1).
//!
//! | block  | change          | payload                                              | taken back |
//! |--------|-----------------|------------------------------------------------------|------------|
//! | any    | `WRITE`         | the whole content (see `content`)                    | not        |
//! | any    | `CUT`           | entries that stay, right neighbour, high fence       | not        |
//! | branch | `ADD_CHILD`     | block below, place where it begins                   | not        |
//! | branch | `REMOVE_CHILD`  | place where the block below begins                   | not        |
//! | leaf   | `CHANGE`        | interest (see `txn`), change of an entry (see `ops`) | by `BACK`  |
//! | leaf   | `BACK`          | interest before, what takes it back; in copies only  | not        |
//! | leaf   | `BACK_FOR_GOOD` | the same; not in copies                              | not        |
//!
//! What is taken back for good leaves the list of interested transactions as it is: the chain of
//! undo that it names stays whole (rule undo/UN8).

use cache::{Cache, Get};
use change::{BlockMut, Layer, Moves};
use format::DataSlot;
use format::changes::index::CHANGES;
use ids::Dba;
use latch::FrameOrder;
use os::Session;
use stop::Stop;
use txn::{apply_interest, apply_interest_back, interest_back_bytes};
use undo::CROSSED_OUT;

use super::content::{cut, fence_flags, read_cut, read_position, write};
use super::descent::Tree;
use super::node::{FENCES, Node};
use super::ops::{Back, Op};
use super::position::{BLOCK_BYTES, Probe, block_bytes, block_from};
use crate::outline::Outline;

pub(super) const WRITE: u8 = 1;
pub(super) const CUT: u8 = 2;
pub(super) const ADD_CHILD: u8 = 3;
pub(super) const CHANGE: u8 = 4;
pub(super) const BACK: u8 = 5;
pub(super) const BACK_FOR_GOOD: u8 = 6;
pub(super) const REMOVE_CHILD: u8 = 7;

const BACK_CROSSED_OUT: u8 = BACK | CROSSED_OUT;

/// Indexes.
pub static LAYER: Layer = Layer {
    number: CHANGES.layer,
    name: CHANGES.name,
    changes: &CHANGES,
    order: FrameOrder::Leaf,
    apply,
    moves: Some(Moves { locate, is_it, opcode: BACK_FOR_GOOD }),
    watch: None,
};

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    let bytes = block.bytes;
    match opcode {
        WRITE => write(bytes, block.address, payload),
        CUT => {
            let (count, end) = read_cut(payload);
            cut(bytes, count, end);
        }
        ADD_CHILD => add_child(bytes, payload),
        REMOVE_CHILD => remove_child(bytes, payload),
        CHANGE => {
            let op = apply_interest(bytes, payload);
            Op::read(&payload[op..]).apply(bytes, payload[0] + 1);
        }
        BACK | BACK_CROSSED_OUT => {
            let back = apply_interest_back(bytes, payload);
            let crossed_out = opcode == BACK_CROSSED_OUT;
            Back::read(&payload[back..]).apply_in_copy(bytes, (payload[0] + 1, crossed_out));
        }
        BACK_FOR_GOOD => back_of(payload).apply_for_good(bytes, payload[0] + 1),
        other => panic!("the index layer has no change {other}"),
    }
}

fn add_child(block: &mut [u8], payload: &[u8]) {
    let at = read_position(&payload[BLOCK_BYTES..]);
    let slot = Node(block).lower_bound(at) + FENCES;
    block::insert_slot(block, slot);
    block::set_slot(block, slot, DataSlot { flags: fence_flags(at), ..DataSlot::FREE });
    let (key, row, row_bytes) = at.parts();
    let child = block_bytes(block_from(payload));
    block::place(block, slot, &[&child, key, &row[..row_bytes]]);
}

fn remove_child(block: &mut [u8], payload: &[u8]) {
    let (at, node) = (read_position(payload), Node(block));
    let number = node.lower_bound(at);
    let is_it = number > 0 && number < node.count() && node.place(number) == at;
    assert!(is_it, "a branch loses what it hasn't, or where it begins (BT9)");
    block::release(block, number + FENCES);
    block::remove_slot(block, number + FENCES);
}

fn back_of(payload: &[u8]) -> Back<'_> {
    Back::read(&payload[interest_back_bytes(payload)..])
}

/// The leaf that has the entry of this undo now.
fn locate(cache: &Cache, payload: &[u8], session: &Session) -> Result<Dba, Stop> {
    let back = back_of(payload);
    let tree = Tree {
        cache,
        object: back.object,
        root: back.root,
        get: Get::Current,
        outline: Outline::default(),
    };
    Ok(tree.reach((Probe::At(back.entry()), 0), None, session)?.address)
}

fn is_it(block: &[u8], payload: &[u8]) -> bool {
    let back = back_of(payload);
    let node = Node::of(block, back.object);
    node.is_some_and(|node| node.level() == 0 && node.covers(Probe::At(back.entry())))
}
