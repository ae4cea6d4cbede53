//! The whole content of a block, as the payload of the change that writes it: for a new index, for
//! the right half of a split, for a block that is built from the bottom up.
//! `format::changes::index` declares how it is stored.
//!
//! The locks of each ITL entry are counted when the block is written, because a split leaves some
//! on either side.
//!
//! Callers: `split`, `page_delete`, `build`, `index`; `apply`.

use format::changes::index::{
    Content as Stored, ContentHead, ContentSlot, Cut, EntryPositionHead, StoredBlock,
};
use format::{BlockKind, DataHead, DataSlot, DbaLe, ItlEntry, U16Le, U32Le};
use ids::Dba;
use txn::block;

use super::node::{ENTRY, FENCES, Node, PURGED, RightNeighbour, UNIQUE, WITH_ROW};
use super::position::{Position, block_bytes};

const HEAD_BYTES: usize = size_of::<ContentHead>();
const SLOT_BYTES: usize = size_of::<ContentSlot>();

/// How many bytes the longest content of a block with `block` bytes has.
pub(super) fn content_bytes_max(block: usize) -> usize {
    // A slot takes no more here than in the block.
    const { assert!(SLOT_BYTES <= DataSlot::BYTES && HEAD_BYTES <= DataHead::LIST) };
    block
}

/// Why a payload can be read.
const CHECKED: &str = "the payload was checked (rule change/CH9)";

/// The content of a block, as it is put together.
pub(super) struct Content(pub(super) Vec<u8>);

/// What the head of a block says.
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

    /// The shape of the block with an empty ITL.
    pub(super) fn with_new_itl(self) -> Shape {
        Shape { was_purged: false, ..self }
    }

    fn flags(self) -> u8 {
        let unique = if self.is_unique { UNIQUE } else { 0 };
        unique | if self.was_purged { PURGED } else { 0 }
    }
}

impl Content {
    /// A content without entries, with this ITL.
    pub(super) fn new(
        shape: Shape,
        low: Option<Position<'_>>,
        right: Option<RightNeighbour<'_>>,
        itl: &[u8],
    ) -> Content {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + itl.len());
        let head = ContentHead {
            object: U32Le::new(shape.object),
            level: shape.level,
            flags: shape.flags(),
            next: right.map_or(StoredBlock::NONE, |right| StoredBlock::new(right.block)),
            itl_count: (itl.len() / ItlEntry::BYTES) as u8,
        };
        bytes.extend_from_slice(head.bytes());
        bytes.extend_from_slice(itl);
        let mut content = Content(bytes);
        for fence in [low, right.map(|right| right.low)] {
            match fence {
                None => content.add(0, 0, &[]),
                Some(at) => {
                    let parts = at.parts();
                    content.add(fence_flags(at), 0, &[parts.key, parts.row()]);
                }
            }
        }
        content
    }

    /// Adds a slot with these flags and this lock.
    pub(super) fn add(&mut self, flags: u8, lock: u8, bytes: &[&[u8]]) {
        let length: usize = bytes.iter().map(|part| part.len()).sum();
        let slot = ContentSlot { flags, lock, length: U16Le::new(length as u16) };
        self.0.extend_from_slice(slot.bytes());
        bytes.iter().for_each(|part| self.0.extend_from_slice(part));
    }

    /// Adds entries of another block as they are.
    pub(super) fn add_entries(&mut self, node: &Node<'_>, numbers: std::ops::Range<u16>) {
        for number in numbers {
            let slot = node.slot(number);
            self.add(slot.flags, slot.lock, &[node.bytes(slot)]);
        }
    }

    /// Adds an entry of a branch.
    pub(super) fn add_child(&mut self, at: Position<'_>, child: Dba) {
        let parts = at.parts();
        self.add(fence_flags(at), 0, &[&block_bytes(child), parts.key, parts.row()]);
    }
}

/// The flags of a fence or a separator.
pub(super) fn fence_flags(at: Position<'_>) -> u8 {
    if at.row.is_some() { ENTRY | WITH_ROW } else { ENTRY }
}

/// The bytes of a block's ITL.
pub(super) fn itl_of(block: &[u8]) -> &[u8] {
    let length = usize::from(block::entries(block)) * ItlEntry::BYTES;
    &block[DataHead::LIST..DataHead::LIST + length]
}

/// Writes this content into a block.
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

/// Cuts a block: it keeps its first `count` entries, and gets this right neighbour.
pub(super) fn cut(block: &mut [u8], count: u16, right: RightNeighbour<'_>) {
    let high = right.low;
    for number in (count + FENCES..block::slots(block)).rev() {
        block::release(block, number);
        block::remove_slot(block, number);
    }
    block::release(block, 1);
    block::set_slot(block, 1, DataSlot { flags: fence_flags(high), ..DataSlot::FREE });
    if high.stored_bytes() > 0 {
        let parts = high.parts();
        block::place(block, 1, &[parts.key, parts.row()]);
    }
    DataHead::at_mut(block, DataHead::START).next = DbaLe::new(right.block);
    count_locks(block);
}

/// Counts the slots that each ITL entry has locked, and writes that into the ITL.
fn count_locks(block: &mut [u8]) {
    let mut counts = [0_u16; u8::MAX as usize + 1];
    for number in 0..block::slots(block) {
        counts[usize::from(block::slot(block, number).lock)] += 1;
    }
    for number in 0..block::entries(block) {
        block::entry_mut(block, number).locks = U16Le::new(counts[usize::from(number) + 1]);
    }
}

/// How many bytes the payload of a cut has without its position.
pub(super) const CUT_HEAD_BYTES: usize = size_of::<Cut>() + size_of::<EntryPositionHead>();

pub(super) fn cut_payload(count: u16, right: RightNeighbour<'_>) -> Vec<u8> {
    let mut payload = Vec::with_capacity(CUT_HEAD_BYTES + right.low.stored_bytes());
    let cut = Cut { count: U16Le::new(count), next: StoredBlock::new(right.block) };
    payload.extend_from_slice(cut.bytes());
    write_position(&mut payload, right.low);
    payload
}

/// Reads the payload of a cut: how many entries stay, and the right neighbour.
pub(super) fn read_cut(payload: &[u8]) -> (u16, RightNeighbour<'_>) {
    let (cut, place) = Cut::read(payload).expect(CHECKED);
    (cut.count.get(), RightNeighbour { low: read_position(place), block: cut.next.get() })
}

/// Reads the block below that a branch gets, and where it begins.
pub(super) fn read_child(payload: &[u8]) -> (StoredBlock, Position<'_>) {
    let (child, place) = StoredBlock::read(payload).expect(CHECKED);
    (*child, read_position(place))
}

/// Appends a position to a payload: whether it has a row, and its bytes.
pub(super) fn write_position(payload: &mut Vec<u8>, at: Position<'_>) {
    let parts = at.parts();
    payload.extend_from_slice(EntryPositionHead { with_row: at.row.is_some().into() }.bytes());
    payload.extend_from_slice(parts.key);
    payload.extend_from_slice(parts.row());
}

pub(super) fn read_position(payload: &[u8]) -> Position<'_> {
    let (head, bytes) = EntryPositionHead::read(payload).expect(CHECKED);
    Position::read(bytes, head.with_row != 0)
}
