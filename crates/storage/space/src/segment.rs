//! Segment headers as values: pure functions on their bytes.
//!
//! Callers: `space`, and layers that hand out a block in a group of their own.

use cache::{Blocks, is_unwritten};
use format::{BlockHeader, BlockKind, Extent, SegmentHeader};
use ids::{Dba, ObjectNo};
use stop::{RefusalKind, Stop};

/// What a segment holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Rows of a table.
    Table,
    /// A transaction table and undo.
    Undo,
    /// Entries of an index.
    Index,
    /// Blocks of the segment directory except the first.
    Directory,
}

impl Holds {
    pub(crate) fn number(self) -> u8 {
        match self {
            Holds::Table => 1,
            Holds::Undo => 2,
            Holds::Index => 3,
            Holds::Directory => 4,
        }
    }

    pub(crate) fn from_number(number: u8) -> Holds {
        Holds::read(number).unwrap_or_else(|| panic!("a segment is said to hold {number}"))
    }

    /// `None` if the number is none of these.
    pub(crate) fn read(number: u8) -> Option<Holds> {
        let all = [Holds::Table, Holds::Undo, Holds::Index, Holds::Directory];
        all.into_iter().find(|holds| holds.number() == number)
    }
}

/// The state of a segment.
///
/// ```text
///   create_temporary ──▶ Temporary ── keep ──▶ Permanent ◀── create
///                            └───── drop ─────────┴──▶ Dropping ──▶ (gone)
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentState {
    /// The segment stays until it is dropped.
    Permanent,
    /// The segment is being built: the next opening drops it.
    Temporary,
    /// The segment is giving its extents back: the next opening goes on with that.
    Dropping,
}

impl SegmentState {
    pub(crate) fn number(self) -> u8 {
        match self {
            SegmentState::Permanent => 1,
            SegmentState::Temporary => 2,
            SegmentState::Dropping => 3,
        }
    }

    pub(crate) fn from_number(number: u8) -> SegmentState {
        let found = SegmentState::read(number);
        found.unwrap_or_else(|| panic!("an entry of the segment directory has state {number}"))
    }

    /// `None` if no state has that number.
    pub(crate) fn read(number: u8) -> Option<SegmentState> {
        let all = [SegmentState::Permanent, SegmentState::Temporary, SegmentState::Dropping];
        all.into_iter().find(|state| state.number() == number)
    }
}

/// A segment as the directory describes it. These values never change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its name.
    pub name: String,
    /// Its object number, which no other segment ever has and all its blocks have.
    pub object: ObjectNo,
    /// Its header.
    pub header: Dba,
    /// What it holds.
    pub holds: Holds,
}

/// Whether these bytes are the header of a segment that isn't being dropped (SP15).
pub(crate) fn is_live(header: &[u8]) -> bool {
    is_header(header) && SegmentHeader::at(header, SegmentHeader::START).dropping == 0
}

/// Whether these bytes are the header of a segment, whatever its state.
pub(crate) fn is_header(block: &[u8]) -> bool {
    !is_unwritten(block) && BlockHeader::at(block, 0).kind() == BlockKind::SegmentHeader
}

/// Refuses a segment that was dropped or is being dropped.
pub(crate) fn check_live(header: &[u8], address: Dba) -> Result<(), Stop> {
    if is_live(header) {
        return Ok(());
    }
    let message = format!("the segment whose header was block {address} has been dropped");
    Err(Stop::refuse(RefusalKind::NotFound, message))
}

/// The object number in a segment header; `None` if it has none.
pub(crate) fn object_of(header: &[u8]) -> Option<ObjectNo> {
    let number = SegmentHeader::at(header, SegmentHeader::START).object.get();
    (number > 0).then(|| ObjectNo::new(number))
}

/// The extents in a segment header.
pub(crate) fn extents(header: &[u8]) -> impl Iterator<Item = Blocks> {
    let count = usize::from(SegmentHeader::at(header, SegmentHeader::START).extents.get());
    (0..count).map(|number| {
        let extent = Extent::at(header, SegmentHeader::EXTENTS + number * Extent::BYTES);
        let first = Dba::new(extent.file.get(), extent.first.get());
        Blocks { first, count: extent.blocks.get() }
    })
}

/// The number of extents for which a segment header of this many bytes has room.
pub(crate) fn extents_max(block_bytes: usize) -> usize {
    (block_bytes - SegmentHeader::EXTENTS) / Extent::BYTES
}

/// The next blocks to be handed out: up to `wanted` neighbours. `None` if the segment needs another
/// extent first.
pub(crate) fn next_blocks(header: &[u8], wanted: u32) -> Option<Blocks> {
    let mut passed = SegmentHeader::at(header, SegmentHeader::START).high_water.get();
    for Blocks { first, count } in extents(header) {
        if passed < count {
            let first = Dba::new(first.file.get(), first.block.get() + passed);
            return Some(Blocks { first, count: wanted.min(count - passed) });
        }
        passed -= count;
    }
    None
}

/// A name as it is stored. Messages call the named thing `what`.
pub(crate) fn stored_name(what: &str, name: &str) -> Result<[u8; 32], Stop> {
    let mut stored = [0; 32];
    if name.is_empty() || name.len() > stored.len() || name.contains('\0') {
        let message = format!("a {what}'s name has 1 to {} bytes, '{name}' has not", stored.len());
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    stored[..name.len()].copy_from_slice(name.as_bytes());
    Ok(stored)
}
