//! The refusals of a reader whose blocks are gone (AC15, AC24).
//!
//! Callers: `rows`; `inserter`; `btree`.

use ids::{Dba, ObjectNo};
use os::Session;
use space::{SegmentState, Space};
use stop::{RefusalKind, Stop};

/// Refuses if the segment was dropped: its state says so before the first of its blocks can become
/// another segment's (AC15). Called by a reader that has met a block that isn't the object's.
pub(crate) fn check_there(space: &Space, object: u32, session: &Session) -> Result<(), Stop> {
    match space.state(ObjectNo::new(object), session) {
        Some(SegmentState::Permanent | SegmentState::Temporary) => Ok(()),
        Some(SegmentState::Dropping) | None => Err(dropped(object)),
    }
}

/// The refusal of a reader whose table or index was dropped.
pub(crate) fn dropped(object: u32) -> Stop {
    let message = format!(
        "cannot go on reading segment {object}: its table or index was dropped or truncated since \
         the statement began; begin the statement again"
    );
    Stop::refuse(RefusalKind::DefinitionChanged, message)
}

/// The refusal for a block that was formatted and isn't the object's any more (AC24). `doing` says
/// what can't be done, up to the block.
#[cold]
pub(crate) fn lost(doing: &str, block: Dba, object: u32) -> Stop {
    let message = format!(
        "cannot {doing} block {block} of object {object}: it was formatted, and isn't the object's \
         any more, so its rows are lost; verify the database"
    );
    Stop::refuse(RefusalKind::Corrupt, message)
}
