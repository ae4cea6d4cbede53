//! Building an index from the bottom up, from entries in order (BT26).
//!
//! ```text
//!   entries ──▶ the leaf that is filled ──full: written──▶ its low fence and address
//!                                                               │
//!               the branch that is filled ◀─────────────────────┘     … up to the root
//! ```
//!
//! Each block is written once, when its right neighbour has an address; the root is written last.
//! Until then every reader sees an empty index, and a crash leaves a segment with blocks that no
//! search finds: the caller drops it.
//!
//! Callers: DDL that makes an index of a table with rows.

use change::credits_for;
use format::{DataHead, DataSlot, ItlEntry};
use ids::Dba;
use latch::FrameOrder;
use os::Session;
use stop::{RefusalKind, Stop, check_call};

use super::Index;
use super::apply::{LAYER, WRITE};
use super::content::{Content, fence_flags};
use super::index::{ITL_ENTRIES, NEW_ITL};
use super::node::{ENTRY, RightNeighbour};
use super::position::{OwnPosition, Position, ROW_BYTES, block_bytes, row_bytes};
use crate::RowAddress;

/// How many hundredths of a block are filled.
const FILL_PERCENT: usize = 90;

/// Builds an index from entries in order. The index has no entries, and no other session uses it.
pub struct IndexBuilder<'a> {
    index: &'a Index,
    session: &'a Session,
    /// The block that is filled on each level, from the leaf up.
    levels: Vec<OpenBlock>,
    /// The last entry.
    last: Option<OwnPosition>,
    count: u64,
}

/// A block that is being filled.
struct OpenBlock {
    /// The block's address. The first block of a level has none until it is full: it may be the
    /// root.
    address: Option<Dba>,
    /// The block's low fence; none at the beginning of the index.
    low: Option<OwnPosition>,
    /// The flags and bytes of its entries.
    slots: Vec<(u8, Vec<u8>)>,
    bytes: usize,
}

impl OpenBlock {
    fn new(address: Option<Dba>, low: Option<OwnPosition>) -> OpenBlock {
        OpenBlock { address, low, slots: Vec::new(), bytes: 0 }
    }
}

impl<'a> IndexBuilder<'a> {
    /// A builder of this index.
    pub fn new(index: &'a Index, session: &'a Session) -> IndexBuilder<'a> {
        let levels = vec![OpenBlock::new(None, None)];
        IndexBuilder { index, session, levels, last: None, count: 0 }
    }

    /// Adds the next entry. Refuses a key that is too long, or that a unique index has already.
    ///
    /// # Panics
    /// When the entries are not in order.
    pub fn add(&mut self, key: &[u8], row: RowAddress) -> Result<(), Stop> {
        self.index.check_key(key)?;
        let entry = Position { key, row: Some(row) };
        let last = self.last.as_ref().map(OwnPosition::get);
        assert!(last.is_none_or(|last| last < entry), "entries come in order");
        if self.index.is_unique() && last.is_some_and(|last| last.key == key) {
            let message = format!(
                "cannot make the unique index {}: the rows {} and {row} have the same key; remove \
                 one, or make an index that isn't unique",
                self.index.name(),
                last.and_then(|last| last.row).expect("an entry has a row")
            );
            return Err(Stop::refuse(RefusalKind::AlreadyExists, message));
        }
        let low = last.map_or(Position::FIRST, |last| Position::between(last, entry)).to_own();
        self.put(0, ENTRY, [key, &row_bytes(row)].concat(), low.get())?;
        match &mut self.last {
            Some(last) => {
                last.key.clear();
                last.key.extend_from_slice(key);
                last.row = Some(row);
            }
            None => self.last = Some(entry.to_own()),
        }
        self.count += 1;
        Ok(())
    }

    /// Writes the blocks that aren't written yet, the root last. Returns how many entries there
    /// are.
    pub fn finish(mut self) -> Result<u64, Stop> {
        let mut level = 0;
        loop {
            let filled = std::mem::replace(&mut self.levels[level], OpenBlock::new(None, None));
            let Some(address) = filled.address else {
                self.write(level, &filled, self.index.root(), None)?;
                return Ok(self.count);
            };
            self.write(level, &filled, address, None)?;
            self.add_block(level, address, filled.low)?;
            level += 1;
        }
    }

    /// Puts an entry into the block that is filled on this level; if that is full, into the next
    /// one, which then begins at `low`.
    fn put(
        &mut self,
        level: usize,
        flags: u8,
        bytes: Vec<u8>,
        low: Position<'_>,
    ) -> Result<(), Stop> {
        let takes = DataSlot::BYTES + bytes.len();
        let open = &self.levels[level];
        // Both fences may be as long as the longest key.
        let fences = 2 * (self.index.key_max() + ROW_BYTES + DataSlot::BYTES);
        let itl = if level == 0 { ITL_ENTRIES * ItlEntry::BYTES } else { 0 };
        let room = self.index.block_bytes - DataHead::LIST - itl;
        let fits = open.bytes + takes <= room - fences;
        let is_full = open.bytes + takes > room * FILL_PERCENT / 100;
        if !open.slots.is_empty() && (!fits || is_full) {
            self.begin_next(level, low)?;
        }
        let open = &mut self.levels[level];
        open.slots.push((flags, bytes));
        open.bytes += takes;
        Ok(())
    }

    /// Writes the block that is full, and begins the next one of the level at `low`.
    fn begin_next(&mut self, level: usize, low: Position<'_>) -> Result<(), Stop> {
        check_call(self.session)?;
        let block = self.new_block()?;
        let next = OpenBlock::new(Some(block), Some(low.to_own()));
        let filled = std::mem::replace(&mut self.levels[level], next);
        let address = match filled.address {
            Some(address) => address,
            None => self.new_block()?,
        };
        self.write(level, &filled, address, Some(RightNeighbour { low, block }))?;
        self.add_block(level, address, filled.low)
    }

    /// Adds a block to the level above.
    fn add_block(
        &mut self,
        level: usize,
        address: Dba,
        low: Option<OwnPosition>,
    ) -> Result<(), Stop> {
        if self.levels.len() == level + 1 {
            self.levels.push(OpenBlock::new(None, None));
        }
        let low = low.as_ref().map_or(Position::FIRST, OwnPosition::get);
        let parts = low.parts();
        let bytes = [&block_bytes(address), parts.key, parts.row()].concat();
        self.put(level + 1, fence_flags(low), bytes, low)
    }

    fn new_block(&self) -> Result<Dba, Stop> {
        let header = self.index.segment().header;
        Ok(self.index.space.hand_out(header, 1, self.session)?.first)
    }

    fn write(
        &self,
        level: usize,
        filled: &OpenBlock,
        address: Dba,
        right: Option<RightNeighbour<'_>>,
    ) -> Result<(), Stop> {
        let itl = if level == 0 { &NEW_ITL[..] } else { &[] };
        let low = filled.low.as_ref().map(OwnPosition::get);
        let mut content = Content::new(self.index.shape(level as u8), low, right, itl);
        filled.slots.iter().for_each(|(flags, bytes)| content.add(*flags, 0, &[bytes]));
        let pin = self.index.changes().cache().pin_new(address, self.session)?;
        let mut group =
            self.index.changes().begin(credits_for(&[content.0.len()]), self.session)?;
        let order = if level == 0 { FrameOrder::Leaf } else { FrameOrder::Branch };
        let block = pin.exclusive(order, self.session);
        group.format(block, &LAYER, WRITE, &[&content.0]);
        group.commit(self.session);
        Ok(())
    }
}
