//! The whole content of a block, as a change that writes it: of a new index, of what a split moves,
//! of what is built from the bottom up.
//!
//! `format::changes::index` declares how it is stored.
//!
//! Locks of the list are counted when it is written, for a split leaves some on either side.
//!
//! Callers: `split`, `build`, `index`; `apply`.

use format::changes::index::{
    Content as Stored, ContentHead, ContentSlot, Cut, PlaceHead, StoredBlock,
};
use format::{BlockKind, DataHead, DataSlot, DbaLe, ItlEntry, U16Le, U32Le};
use ids::Dba;
use txn::block;

use super::node::{ENTRY, FENCES, Node, PURGED, UNIQUE, WITH_ROW};
use super::position::{Position, ROW_BYTES, block_bytes};

const HEAD_BYTES: usize = size_of::<ContentHead>();
const SLOT_BYTES: usize = size_of::<ContentSlot>();

/// Bytes of the longest content of a block of so many.
pub(super) fn content_bytes_max(block: usize) -> usize {
    // What a slot takes here is less than in the block.
    const { assert!(SLOT_BYTES <= DataSlot::BYTES && HEAD_BYTES <= DataHead::LIST) };
    block
}

/// Why a payload can be read.
const CHECKED: &str = "the payload was checked (rule change/CH9)";

/// A content that is put together.
pub(super) struct Content(pub(super) Vec<u8>);

/// What a block is.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) object: u32,
    pub(super) is_unique: bool,
    pub(super) level: u8,
    /// See [`Node::was_purged`].
    pub(super) was_purged: bool,
}

impl Shape {
    pub(super) fn of(node: &Node<'_>) -> Shape {
        Shape {
            object: node.object(),
            is_unique: node.is_unique(),
            level: node.level(),
            was_purged: node.was_purged(),
        }
    }

    /// The same, with a list that is empty.
    pub(super) fn anew(self) -> Shape {
        Shape { was_purged: false, ..self }
    }

    fn flags(self) -> u8 {
        let unique = if self.is_unique { UNIQUE } else { 0 };
        unique | if self.was_purged { PURGED } else { 0 }
    }
}

impl Content {
    /// One without entries, with this ITL.
    pub(super) fn new(
        shape: Shape,
        (low, high): (Option<Position<'_>>, Option<Position<'_>>),
        next: Option<Dba>,
        list: &[u8],
    ) -> Content {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + list.len());
        let head = ContentHead {
            object: U32Le::new(shape.object),
            level: shape.level,
            flags: shape.flags(),
            next: next.map_or(StoredBlock::NONE, StoredBlock::new),
            itl_count: (list.len() / ItlEntry::BYTES) as u8,
        };
        bytes.extend_from_slice(head.bytes());
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
        let slot = ContentSlot { flags, lock, length: U16Le::new(length as u16) };
        self.0.extend_from_slice(slot.bytes());
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
    let length = usize::from(block::entries(block)) * ItlEntry::BYTES;
    &block[DataHead::LIST..DataHead::LIST + length]
}

/// Makes a block this content.
pub(super) fn write(block: &mut [u8], address: Dba, content: &[u8]) {
    let Stored { head, list, mut slots } = Stored::read(content).expect(CHECKED);
    let kind = if head.level == 0 { BlockKind::Leaf } else { BlockKind::Branch };
    block::create(block, kind, address, head.object.get(), head.itl_count);
    let stored = DataHead::at_mut(block, DataHead::START);
    (stored.level, stored.own) = (head.level, U16Le::new(head.flags.into()));
    if head.next != StoredBlock::NONE {
        stored.next = DbaLe::new(head.next.get());
    }
    for (number, entry) in (0..).zip(list) {
        *block::entry_mut(block, number) = *entry;
    }
    while !slots.is_empty() {
        let (slot, bytes, rest) = Stored::slot(slots).expect(CHECKED);
        let number = block::add_slot(block);
        let (flags, lock) = (slot.flags, slot.lock);
        block::set_slot(block, number, DataSlot { flags, lock, ..DataSlot::FREE });
        if !bytes.is_empty() {
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

/// Bytes of the payload of a cut, but for its place's.
pub(super) const CUT_HEAD_BYTES: usize = size_of::<Cut>() + size_of::<PlaceHead>();

pub(super) fn cut_payload(count: u16, (high, next): (Position<'_>, Dba)) -> Vec<u8> {
    let mut payload = Vec::with_capacity(CUT_HEAD_BYTES + high.stored_bytes());
    let cut = Cut { count: U16Le::new(count), next: StoredBlock::new(next) };
    payload.extend_from_slice(cut.bytes());
    write_position(&mut payload, high);
    payload
}

pub(super) fn read_cut(payload: &[u8]) -> (u16, (Position<'_>, Dba)) {
    let (cut, place) = Cut::read(payload).expect(CHECKED);
    (cut.count.get(), (read_position(place), cut.next.get()))
}

/// The block below that a branch gets, and where it begins.
pub(super) fn read_child(payload: &[u8]) -> (StoredBlock, Position<'_>) {
    let (child, place) = StoredBlock::read(payload).expect(CHECKED);
    (*child, read_position(place))
}

/// A position at the end of a payload: whether it has a row, and its bytes.
pub(super) fn write_position(payload: &mut Vec<u8>, at: Position<'_>) {
    let (key, row, row_bytes) = at.parts();
    let head = PlaceHead { with_row: u8::from(row_bytes == ROW_BYTES) };
    payload.extend_from_slice(head.bytes());
    payload.extend_from_slice(key);
    payload.extend_from_slice(&row[..row_bytes]);
}

pub(super) fn read_position(payload: &[u8]) -> Position<'_> {
    let (head, bytes) = PlaceHead::read(payload).expect(CHECKED);
    Position::read(bytes, head.with_row != 0)
}
