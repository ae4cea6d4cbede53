//! The whole content of a block, as a change that writes it: of a new index, of what a split moves,
//! of what is built from the bottom up.
//!
//! ```text
//!   object (4) │ level │ own │ next block (6) │ list's length │ list
//!   for each slot, the fences first:  flags │ lock │ length (2) │ bytes
//! ```
//!
//! Locks of the list are counted when it is written, for a split leaves some on either side.
//!
//! Callers: `split`, `build`, `index`; `apply`.

use format::{BlockKind, DataHead, DataSlot, DbaLe, InterestedTransaction, U16Le};
use ids::Dba;

use super::node::{ENTRY, FENCES, Node, UNIQUE, WITH_ROW};
use super::position::{BLOCK_BYTES, Position, ROW_BYTES, block_bytes, block_from};

const HEAD_BYTES: usize = 4 + 2 + BLOCK_BYTES + 1;
const SLOT_BYTES: usize = 4;

/// Bytes of the longest content of a block of so many.
pub(super) fn content_bytes_max(block: usize) -> usize {
    // What a slot takes here is less than in the block.
    const { assert!(SLOT_BYTES <= DataSlot::BYTES && HEAD_BYTES <= DataHead::LIST) };
    block
}

/// A content that is put together.
pub(super) struct Content(pub(super) Vec<u8>);

/// What a block is.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) object: u32,
    pub(super) is_unique: bool,
    pub(super) level: u8,
}

impl Shape {
    pub(super) fn of(node: &Node<'_>) -> Shape {
        Shape { object: node.object(), is_unique: node.is_unique(), level: node.level() }
    }
}

impl Content {
    /// One without entries, with this list of interested transactions.
    pub(super) fn new(
        shape: Shape,
        (low, high): (Option<Position<'_>>, Option<Position<'_>>),
        next: Option<Dba>,
        list: &[u8],
    ) -> Content {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + list.len());
        bytes.extend_from_slice(&shape.object.to_le_bytes());
        bytes.extend_from_slice(&[shape.level, if shape.is_unique { UNIQUE } else { 0 }]);
        bytes.extend_from_slice(&next.map_or([0; BLOCK_BYTES], block_bytes));
        bytes.push((list.len() / InterestedTransaction::BYTES) as u8);
        bytes.extend_from_slice(list);
        let mut content = Content(bytes);
        for fence in [low, high] {
            match fence {
                None => content.add((0, 0), &[]),
                Some(at) => {
                    let (key, row, row_bytes) = at.parts();
                    content.add((fence_flags(at), 0), &[key, &row[..row_bytes]]);
                }
            }
        }
        content
    }

    /// Adds a slot with these flags and this lock.
    pub(super) fn add(&mut self, (flags, lock): (u8, u8), bytes: &[&[u8]]) {
        let length: usize = bytes.iter().map(|part| part.len()).sum();
        self.0.extend_from_slice(&[flags, lock]);
        self.0.extend_from_slice(&(length as u16).to_le_bytes());
        bytes.iter().for_each(|part| self.0.extend_from_slice(part));
    }

    /// Adds entries of another block as they are.
    pub(super) fn add_entries(&mut self, node: &Node<'_>, numbers: std::ops::Range<u16>) {
        for number in numbers {
            let slot = node.slot(number);
            self.add((slot.flags, slot.lock), &[node.bytes(slot)]);
        }
    }

    /// Adds a branch's entry.
    pub(super) fn add_child(&mut self, at: Position<'_>, child: Dba) {
        let (key, row, row_bytes) = at.parts();
        self.add((fence_flags(at), 0), &[&block_bytes(child), key, &row[..row_bytes]]);
    }
}

/// Flags of a fence or a separator.
pub(super) fn fence_flags(at: Position<'_>) -> u8 {
    if at.row.is_some() { ENTRY | WITH_ROW } else { ENTRY }
}

/// The list of a block, as bytes.
pub(super) fn list_of(block: &[u8]) -> &[u8] {
    let length = usize::from(block::entries(block)) * InterestedTransaction::BYTES;
    &block[DataHead::LIST..DataHead::LIST + length]
}

/// Makes a block this content.
pub(super) fn write(block: &mut [u8], address: Dba, content: &[u8]) {
    let (head, rest) = content.split_at(HEAD_BYTES);
    let object = u32::from_le_bytes(head[..4].try_into().expect("an object has four bytes"));
    let (level, list) = (head[4], head[HEAD_BYTES - 1]);
    let kind = if level == 0 { BlockKind::Leaf } else { BlockKind::Branch };
    block::create(block, kind, address, object, list);
    let next = &head[6..6 + BLOCK_BYTES];
    let stored = DataHead::at_mut(block, DataHead::START);
    (stored.level, stored.own[0]) = (level, head[5]);
    if next != [0; BLOCK_BYTES] {
        stored.next = DbaLe::new(block_from(next));
    }
    let (list, mut slots) = rest.split_at(usize::from(list) * InterestedTransaction::BYTES);
    block[DataHead::LIST..DataHead::LIST + list.len()].copy_from_slice(list);
    while !slots.is_empty() {
        let length = usize::from(u16::from_le_bytes([slots[2], slots[3]]));
        let (bytes, rest) = slots[SLOT_BYTES..].split_at(length);
        let number = block::add_slot(block);
        block::set_slot(
            block,
            number,
            DataSlot { flags: slots[0], lock: slots[1], ..DataSlot::FREE },
        );
        if length > 0 {
            block::place(block, number, &[bytes]);
        }
        slots = rest;
    }
    count_locks(block);
}

/// Ends a block at a place, from entry `count` on what it had went to `next`.
pub(super) fn cut(block: &mut [u8], count: u16, (high, next): (Position<'_>, Dba)) {
    for number in (count + FENCES..block::slots(block)).rev() {
        block::release(block, number);
        block::remove_slot(block, number);
    }
    block::release(block, 1);
    block::set_slot(block, 1, DataSlot { flags: fence_flags(high), ..DataSlot::FREE });
    let (key, row, row_bytes) = high.parts();
    if key.len() + row_bytes > 0 {
        block::place(block, 1, &[key, &row[..row_bytes]]);
    }
    DataHead::at_mut(block, DataHead::START).next = DbaLe::new(next);
    count_locks(block);
}

/// Has the list say how many slots each has locked.
fn count_locks(block: &mut [u8]) {
    let mut counts = [0_u16; u8::MAX as usize + 1];
    for number in 0..block::slots(block) {
        counts[usize::from(block::slot(block, number).lock)] += 1;
    }
    for number in 0..block::entries(block) {
        block::entry_mut(block, number).locks = U16Le::new(counts[usize::from(number) + 1]);
    }
}

/// Bytes of the payload of a cut, and how it is stored.
pub(super) const CUT_HEAD_BYTES: usize = 2 + BLOCK_BYTES + 1;

pub(super) fn cut_payload(count: u16, (high, next): (Position<'_>, Dba)) -> Vec<u8> {
    let mut payload = Vec::with_capacity(CUT_HEAD_BYTES + high.stored_bytes());
    payload.extend_from_slice(&count.to_le_bytes());
    payload.extend_from_slice(&block_bytes(next));
    write_position(&mut payload, high);
    payload
}

pub(super) fn read_cut(payload: &[u8]) -> (u16, (Position<'_>, Dba)) {
    let count = u16::from_le_bytes([payload[0], payload[1]]);
    (count, (read_position(&payload[2 + BLOCK_BYTES..]), block_from(&payload[2..])))
}

/// A position at the end of a payload: whether it has a row, and its bytes.
pub(super) fn write_position(payload: &mut Vec<u8>, at: Position<'_>) {
    let (key, row, row_bytes) = at.parts();
    payload.push(u8::from(row_bytes == ROW_BYTES));
    payload.extend_from_slice(key);
    payload.extend_from_slice(&row[..row_bytes]);
}

pub(super) fn read_position(payload: &[u8]) -> Position<'_> {
    Position::read(&payload[1..], payload[0] != 0)
}
