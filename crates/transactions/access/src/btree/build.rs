//! Building an index from the bottom up, of entries that come in order.
//!
//! ```text
//!   entries ──▶ the leaf that is filled ──full: written──▶ its place and address
//!                                                               │
//!               the branch that is filled ◀─────────────────────┘     … up to the root
//! ```
//!
//! Each block is written once, when the one to its right has an address; the root comes last. Until
//! then the index is empty for everybody, and a crash leaves a segment with blocks that no search
//! finds: the caller drops it.
//!
//! Callers: whoever makes an index of a table that has rows.

use change::credits_for;
use format::{DataHead, DataSlot, ItlEntry};
use ids::Dba;
use latch::FrameOrder;
use os::Session;
use stop::{RefusalKind, Stop};

use super::Index;
use super::apply::{LAYER, WRITE};
use super::content::{Content, fence_flags};
use super::index::{LIST_ENTRIES, NEW_LIST};
use super::node::ENTRY;
use super::position::{OwnPosition, Position, ROW_BYTES, block_bytes, row_bytes};
use crate::RowAddress;

/// Of a hundred bytes of a block so many are filled.
const FILL_PERCENT: usize = 90;

/// Builds an index that has no entries, and is used by nobody else, from entries in order.
pub struct IndexBuilder<'a> {
    index: &'a Index,
    session: &'a Session,
    /// The blocks that are filled, from the leaf up.
    levels: Vec<Filling>,
    /// The last entry.
    last: Option<OwnPosition>,
    count: u64,
}

/// A block that is filled.
struct Filling {
    /// Where it will be; the first of a level has no place until it is full: it may be the root.
    address: Option<Dba>,
    /// Where it begins; none is where the index does.
    low: Option<OwnPosition>,
    /// Flags and bytes of its entries.
    slots: Vec<(u8, Vec<u8>)>,
    bytes: usize,
}

impl Filling {
    fn new(address: Option<Dba>, low: Option<OwnPosition>) -> Filling {
        Filling { address, low, slots: Vec::new(), bytes: 0 }
    }
}

impl<'a> IndexBuilder<'a> {
    /// For this index.
    pub fn new(index: &'a Index, session: &'a Session) -> IndexBuilder<'a> {
        let levels = vec![Filling::new(None, None)];
        IndexBuilder { index, session, levels, last: None, count: 0 }
    }

    /// Adds the next entry. Refused if it is one that a unique index can't have.
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
        let begins = last.map_or(Position::FIRST, |last| Position::between(last, entry));
        let begins = begins.to_own();
        self.put(0, (ENTRY, [key, &row_bytes(row)].concat()), begins.get())?;
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

    /// Writes what is left, and the root. How many entries there are.
    pub fn finish(mut self) -> Result<u64, Stop> {
        let mut level = 0;
        loop {
            let filled = std::mem::replace(&mut self.levels[level], Filling::new(None, None));
            let Some(address) = filled.address else {
                self.write(level, (&filled, self.index.root()), None)?;
                return Ok(self.count);
            };
            self.write(level, (&filled, address), None)?;
            self.add_block(level, address, filled.low)?;
            level += 1;
        }
    }

    /// Puts an entry into the block that is filled on this level; if it is full, into the next one,
    /// which then begins at `begins`.
    fn put(
        &mut self,
        level: usize,
        (flags, bytes): (u8, Vec<u8>),
        begins: Position<'_>,
    ) -> Result<(), Stop> {
        let takes = DataSlot::BYTES + bytes.len();
        let filling = &mut self.levels[level];
        // Both fences may be as long as the longest key.
        let fences = 2 * (self.index.key_max() + ROW_BYTES + DataSlot::BYTES);
        let list = if level == 0 { LIST_ENTRIES * ItlEntry::BYTES } else { 0 };
        let room = self.index.block_bytes() - DataHead::LIST - list;
        let fits = filling.bytes + takes <= room - fences;
        let is_full = filling.bytes + takes > room * FILL_PERCENT / 100;
        if !filling.slots.is_empty() && (!fits || is_full) {
            self.go_on(level, begins)?;
        }
        let filling = &mut self.levels[level];
        filling.slots.push((flags, bytes));
        filling.bytes += takes;
        Ok(())
    }

    /// Writes the block that is full, and begins the next one of the level.
    fn go_on(&mut self, level: usize, begins: Position<'_>) -> Result<(), Stop> {
        let next = self.new_block()?;
        let filling = Filling::new(Some(next), Some(begins.to_own()));
        let filled = std::mem::replace(&mut self.levels[level], filling);
        let address = match filled.address {
            Some(address) => address,
            None => self.new_block()?,
        };
        self.write(level, (&filled, address), Some((begins, next)))?;
        self.add_block(level, address, filled.low)
    }

    /// Has the level above know of a block.
    fn add_block(
        &mut self,
        level: usize,
        address: Dba,
        low: Option<OwnPosition>,
    ) -> Result<(), Stop> {
        if self.levels.len() == level + 1 {
            self.levels.push(Filling::new(None, None));
        }
        let low = low.as_ref().map_or(Position::FIRST, OwnPosition::get);
        let (key, row, row_len) = low.parts();
        let bytes = [&block_bytes(address), key, &row[..row_len]].concat();
        self.put(level + 1, (fence_flags(low), bytes), low)
    }

    fn new_block(&self) -> Result<Dba, Stop> {
        let header = self.index.segment().header;
        Ok(self.index.space().hand_out(header, 1, self.session)?.first)
    }

    fn write(
        &self,
        level: usize,
        (filled, address): (&Filling, Dba),
        end: Option<(Position<'_>, Dba)>,
    ) -> Result<(), Stop> {
        let list = match level {
            0 => &NEW_LIST[..],
            _ => &[],
        };
        let low = filled.low.as_ref().map(OwnPosition::get);
        let fences = (low, end.map(|(high, _)| high));
        let shape = self.index.shape(level as u8);
        let mut content = Content::new(shape, fences, end.map(|(_, next)| next), list);
        filled.slots.iter().for_each(|(flags, bytes)| content.add((*flags, 0), &[bytes]));
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
