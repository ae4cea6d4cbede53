//! Reading a heap block as a view sees it.
//!
//! Callers: `rows`; `btree`.

use cache::Get;
use ids::{Dba, ObjectNo};
use latch::FrameOrder;
use os::Session;
use space::{SegmentState, Space};
use stop::{RefusalKind, Stop};
use txn::{CrCopy, Transactions, View};

use crate::inspect::is_heap_block;

/// Gives `look` the block as the view sees it. If the block is current for the view, or isn't the
/// object's, `look` runs under its latch and must only compute; otherwise it gets a copy that was
/// taken back to the view. `look` is likely to read at these offsets.
pub(crate) fn read_block<T>(
    transactions: &Transactions,
    object: u32,
    address: Dba,
    offsets: &[usize],
    view: View,
    look: &mut dyn FnMut(&[u8]) -> T,
    session: &Session,
) -> Result<T, Stop> {
    let cache = transactions.changes().cache();
    let (mut copy, mut gone_before) = (Vec::new(), None);
    loop {
        {
            let (get, order) = (Get::Consistent, FrameOrder::Heap);
            let block = cache.pin_shared_ahead(get, (address, offsets), order, session)?;
            if !is_heap_block(&block, object) || transactions.is_current(&block, view, session) {
                return Ok(look(&block));
            }
            transactions.copy(&block, &mut copy, session);
        }
        match transactions.make_consistent(address, &mut copy, view, session)? {
            CrCopy::Consistent => return Ok(look(&copy)),
            CrCopy::UndoGone(gone) => transactions.try_again(gone, &mut gone_before)?,
        }
    }
}

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
