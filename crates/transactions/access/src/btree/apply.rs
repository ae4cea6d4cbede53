//! Applies the changes of index blocks (rule change/CH1). `format::changes::index` declares the
//! changes and their payloads.
//!
//! A change that is taken back for good leaves the ITL as it is: the chain of undo that the ITL
//! names stays whole (rule txn/UN8).

use std::borrow::Cow;

use cache::{Cache, Get};
use change::{BackPart, BlockMut, Layer, Moves};
use format::DataSlot;
pub(super) use format::changes::index::{
    ADD_CHILD, BACK, BACK_FOR_GOOD, BACK_MANY, BACK_MANY_FOR_GOOD, CHANGE, CUT, INSERT_MANY,
    REMOVE_CHILD, WRITE,
};
use format::changes::index::{BACK_APPLIED, BACK_MANY_APPLIED, CHANGES};
use ids::Dba;
use latch::FrameOrder;
use os::Session;
use stop::Stop;
use txn::block;
use txn::undo::APPLIED;
use txn::{apply_itl_back, apply_itl_change, split_itl_back};

use super::check::{check_index_block, check_unique};
use super::content::{cut, fence_flags, read_child, read_cut, read_position, write};
use super::descent::Tree;
use super::index::header_of;
use super::many;
use super::node::{FENCES, Node};
use super::ops::{Back, Kind, Op};
use super::page_delete::is_last;
use super::position::{Position, Probe};
use crate::outline::Outline;

const _: () = assert!(BACK_APPLIED == BACK | APPLIED);
const _: () = assert!(BACK_MANY_APPLIED == BACK_MANY | APPLIED);

/// The layer of indexes: leaves and branches.
pub static LAYER: Layer = Layer {
    number: CHANGES.layer,
    name: CHANGES.name,
    changes: &CHANGES,
    order: FrameOrder::Leaf,
    apply,
    check,
    moves: Some(Moves { locate, part }),
    watch: None,
};

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    let bytes = block.bytes;
    match opcode {
        WRITE => write(bytes, block.address, payload),
        CUT => {
            let (count, right) = read_cut(payload);
            cut(bytes, count, right);
        }
        ADD_CHILD => add_child(bytes, payload),
        REMOVE_CHILD => remove_child(bytes, payload),
        CHANGE => {
            let (number, op) = apply_itl_change(bytes, payload);
            Op::read(op).apply(bytes, number + 1);
        }
        BACK | BACK_APPLIED => {
            let (number, back) = apply_itl_back(bytes, payload);
            Back::read(back).apply_in_copy(bytes, number + 1, opcode == BACK_APPLIED);
        }
        BACK_FOR_GOOD => {
            let (number, back) = split_itl_back(payload);
            Back::read(back).apply_for_good(bytes, number + 1);
        }
        INSERT_MANY => {
            let (number, entries) = apply_itl_change(bytes, payload);
            many::insert_all(bytes, number + 1, entries);
        }
        BACK_MANY | BACK_MANY_APPLIED => {
            let (number, back) = apply_itl_back(bytes, payload);
            let is_applied = opcode == BACK_MANY_APPLIED;
            many::Back::read(back).apply_in_copy(bytes, number + 1, is_applied);
        }
        BACK_MANY_FOR_GOOD => {
            let (number, back) = split_itl_back(payload);
            many::Back::read(back).apply_for_good(bytes, number + 1);
        }
        other => panic!("the index layer has no change {other}"),
    }
}

fn check(block: &[u8]) -> Result<(), String> {
    check_index_block(block)?;
    check_unique(&Node(block), &mut None)
}

fn add_child(block: &mut [u8], payload: &[u8]) {
    let (child, at) = read_child(payload);
    let slot = Node(block).lower_bound(at) + FENCES;
    block::insert_slot(block, slot);
    block::set_slot(block, slot, DataSlot { flags: fence_flags(at), ..DataSlot::FREE });
    let parts = at.parts();
    block::place(block, slot, &[child.bytes(), parts.key, parts.row()]);
}

fn remove_child(block: &mut [u8], payload: &[u8]) {
    let (at, node) = (read_position(payload), Node(block));
    let number = node.lower_bound(at);
    let is_it = number > 0 && number < node.count() && node.position(number) == at;
    assert!(is_it, "a branch loses an entry that it hasn't, or its first (BT9)");
    block::release(block, number + FENCES);
    block::remove_slot(block, number + FENCES);
}

/// The undo of a change of entries, by its opcode.
enum AnyBack<'a> {
    One(Back<'a>),
    Many(many::Back<'a>),
}

impl<'a> AnyBack<'a> {
    fn of(opcode: u8, payload: &'a [u8]) -> AnyBack<'a> {
        let back = split_itl_back(payload).1;
        match opcode & !APPLIED {
            BACK_MANY => AnyBack::Many(many::Back::read(back)),
            _ => AnyBack::One(Back::read(back)),
        }
    }
}

/// Whether an undo record with this opcode and payload is of an entry that isn't before `at`.
pub(super) fn is_of_entry_from(at: Position<'_>, opcode: u8, payload: &[u8]) -> bool {
    match AnyBack::of(opcode, payload) {
        AnyBack::One(back) => back.entry() >= at,
        AnyBack::Many(back) => back.entries().any(|entry| entry >= at),
    }
}

/// The leaf that has the first entry of this undo now.
fn locate(cache: &Cache, opcode: u8, payload: &[u8], session: &Session) -> Result<Dba, Stop> {
    let (object, root, entry) = match AnyBack::of(opcode, payload) {
        AnyBack::One(back) => (back.object, back.root, back.entry()),
        AnyBack::Many(back) => (back.object, back.root, back.first()),
    };
    let tree = Tree { cache, object, root, get: Get::Current, outline: Outline::default() };
    Ok(tree.reach(Probe::At(entry), 0, None, session)?.address)
}

/// What is taken back of this undo in a latched block. None if it isn't the leaf of the first
/// entry.
fn part<'p>(block: &[u8], opcode: u8, payload: &'p [u8]) -> Option<BackPart<'p>> {
    let leaf_of = |object| Node::of(block, object).filter(|node| node.level() == 0);
    match AnyBack::of(opcode, payload) {
        AnyBack::One(back) => {
            let covers = |node: &Node<'_>| node.covers(Probe::At(back.entry()));
            let node = leaf_of(back.object).filter(covers)?;
            let change = Some((BACK_FOR_GOOD, Cow::Borrowed(payload)));
            Some(BackPart { change, rest: None, emptied: empties(&node, &back) })
        }
        AnyBack::Many(back) => many::part_in(&leaf_of(back.object)?, payload),
    }
}

/// The header of the leaf's segment, if only deleted entries are left in the leaf when this is
/// taken back.
fn empties(node: &Node<'_>, back: &Back<'_>) -> Option<Dba> {
    if back.kind == Kind::Delete {
        return None;
    }
    let number = node.find(back.entry()).ok()?;
    is_last(node, number).then(|| header_of(back.root))
}
