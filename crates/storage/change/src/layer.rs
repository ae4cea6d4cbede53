//! Layers: the owners of kinds of blocks, and how these change.

use std::borrow::Cow;

use cache::{Cache, Pin};
use ids::{Dba, Scn};
use latch::FrameOrder;
use os::Session;
use stop::Stop;

use crate::Changes;

/// A block that is being changed, as an `apply` sees it.
pub struct BlockMut<'a> {
    /// The address of the block.
    pub address: Dba,
    /// The SCN of the change.
    pub scn: Scn,
    /// All bytes of the block. The group stamps the header's version afterwards.
    pub bytes: &'a mut [u8],
}

/// A layer.
pub struct Layer {
    /// The layer's number in change vectors, which is never given to another.
    pub number: u8,
    /// The layer's name in messages.
    pub name: &'static str,
    /// The layer's changes, with the parts of their payloads (CH9).
    pub changes: &'static format::changes::Changes,
    /// The latch order of the layer's blocks, for changes that need no other order.
    pub order: FrameOrder,
    /// Makes one of the layer's changes in a block (CH1).
    ///
    /// # Panics
    /// When opcode, payload and block don't go together. What was logged can always be applied, so
    /// something is broken.
    pub apply: fn(block: BlockMut<'_>, opcode: u8, payload: &[u8]),
    /// Checks a block of this layer as a change leaves it (CH10). The error says what is wrong.
    pub check: fn(block: &[u8]) -> Result<(), String>,
    /// Set if the content of a change may move from block to block: how it is found when the change
    /// is taken back. Otherwise a change is taken back in its own block.
    pub moves: Option<Moves>,
    /// Set if the layer wants to know where room was made.
    pub watch: Option<Watch>,
}

/// How a layer learns in which of its blocks there is room. A session that makes a change and finds
/// a higher level, or takes a change back and finds another level, calls `told`.
pub struct Watch {
    /// The room of a latched block, in a few steps.
    pub level: fn(block: &[u8]) -> u8,
    /// Tells a new level. Called without latches and credits, and with few pins. Its failures are
    /// ignored.
    pub told: fn(changes: &Changes, pin: &Pin<'_>, session: &Session),
}

/// How a change is taken back whose content may have moved to another block, or to several. Each
/// function is given an undo record's opcode and payload, or what is left of the payload.
pub struct Moves {
    /// Finds the block that has the first part of the content, or had it a moment ago. Called
    /// without latches.
    pub locate:
        fn(cache: &Cache, opcode: u8, payload: &[u8], session: &Session) -> Result<Dba, Stop>,
    /// What is to be taken back in a latched block. None if the block doesn't have the first part
    /// of the content.
    pub part: for<'p> fn(block: &[u8], opcode: u8, payload: &'p [u8]) -> Option<BackPart<'p>>,
}

/// The part of a change that is taken back in one block.
#[derive(Debug)]
pub struct BackPart<'p> {
    /// The opcode and payload of the change that takes it back in a rollback. In a copy for a
    /// consistent read the undo record's own opcode does, because there the whole block goes back
    /// in time. None if nothing of it is left in the block.
    pub change: Option<(u8, Cow<'p, [u8]>)>,
    /// The payload of the parts in other blocks; none if this was the last one.
    pub rest: Option<Vec<u8>>,
    /// If the block is empty once this is taken back: the header of the segment that may use the
    /// block for something else.
    pub emptied: Option<Dba>,
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Layer {} ({})", self.number, self.name)
    }
}
