//! Whose blocks, and how they change.

use cache::{Cache, Pin};
use ids::{Dba, Scn};
use latch::FrameOrder;
use os::Session;
use stop::Stop;

use crate::Changes;

/// A block about to be changed, as an `apply` sees it.
pub struct BlockMut<'a> {
    /// Where it belongs.
    pub address: Dba,
    /// The SCN of the change.
    pub scn: Scn,
    /// All its bytes. The header's version is stamped afterwards, by the group.
    pub bytes: &'a mut [u8],
}

/// An owner of blocks.
pub struct Layer {
    /// Its number in change vectors: never given to another.
    pub number: u8,
    /// Its name in messages.
    pub name: &'static str,
    /// Every change that it has, with the parts of the payloads (CH9).
    pub changes: &'static format::changes::Changes,
    /// Where its rows' blocks stand among latches: for who changes a block by a logged change only.
    pub order: FrameOrder,
    /// Changes a block by one of its changes (rule CH1).
    ///
    /// # Panics
    /// When opcode, payload and block don't go together: what was logged can always be applied, so
    /// something is broken.
    pub apply: fn(block: BlockMut<'_>, opcode: u8, payload: &[u8]),
    /// What is wrong with a block of this layer, if anything is, as each change leaves it (CH10).
    pub check: fn(block: &[u8]) -> Result<(), String>,
    /// If what it changes moves from block to block: how that is found again when the change is
    /// taken back. Else a change is taken back in its own block.
    pub moves: Option<Moves>,
    /// If it wants to know where room was made.
    pub watch: Option<Watch>,
}

/// What a layer wants to know of its blocks beside their changes: where much room was made. Who
/// changes a block and finds that its level has risen, or takes a change back and finds that it is
/// another, says so.
pub struct Watch {
    /// How much room a latched block has, in a few steps.
    pub level: fn(block: &[u8]) -> u8,
    /// Told of a new level. Called without latches and credits, and with few pins; what fails in
    /// here is nobody's business.
    pub told: fn(changes: &Changes, pin: &Pin<'_>, session: &Session),
}

/// How a change is taken back whose content may have moved.
pub struct Moves {
    /// The block that has the content of a change with this payload now, or had it a moment ago.
    /// Called without latches.
    pub locate: fn(cache: &Cache, payload: &[u8], session: &Session) -> Result<Dba, Stop>,
    /// Whether a latched block is the one.
    pub is_it: fn(block: &[u8], payload: &[u8]) -> bool,
    /// The change that takes it back for good: with the same payload, but unlike in a copy, where
    /// the whole block goes back in time.
    pub opcode: u8,
    /// If nothing is left in a latched block once a change with this payload is taken back for
    /// good: the header of the segment that may use the block for something else then.
    pub empties: fn(block: &[u8], payload: &[u8]) -> Option<Dba>,
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Layer {} ({})", self.number, self.name)
    }
}
