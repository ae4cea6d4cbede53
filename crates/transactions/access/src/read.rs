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

use crate::heap::is_of;

/// Looks at a block by `look`, which is likely to read these places, as the view sees it: under the
/// block's latch if it is so now, or isn't the object's, so that `look` only computes; else in a
/// copy.
pub(crate) fn read_block<T>(
    (transactions, object): (&Transactions, u32),
    ((address, places), view): ((Dba, &[usize]), View),
    look: &mut dyn FnMut(&[u8]) -> T,
    session: &Session,
) -> Result<T, Stop> {
    let cache = transactions.changes().cache();
    let (mut copy, mut gone_before) = (Vec::new(), None);
    loop {
        {
            let (get, order) = (Get::Consistent, FrameOrder::Heap);
            let block = cache.pin_shared_ahead(get, (address, places), order, session)?;
            if !is_of(&block, object) || transactions.is_current(&block, view, session) {
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

/// AC15: for who has met a block that isn't the object's. Refused if the segment was dropped: its
/// state says so before the first of its blocks can be another's.
pub(crate) fn check_there((space, object): (&Space, u32), session: &Session) -> Result<(), Stop> {
    match space.state(ObjectNo::new(object), session) {
        Some(SegmentState::Permanent | SegmentState::Temporary) => Ok(()),
        Some(SegmentState::Dropping) | None => Err(dropped(object)),
    }
}

/// What a reader is told whose table or index has gone.
pub(crate) fn dropped(object: u32) -> Stop {
    let message = format!(
        "cannot go on reading segment {object}: its table or index was dropped or truncated since \
         the statement began; begin the statement again"
    );
    Stop::refuse(RefusalKind::DefinitionChanged, message)
}

/// AC10: what is said of a block that was formatted and isn't the object's any more. `doing` is
/// what can't be done, up to the block.
#[cold]
pub(crate) fn lost(doing: &str, (block, object): (Dba, u32)) -> Stop {
    let message = format!(
        "cannot {doing} block {block} of object {object}: it was formatted, and isn't the object's \
         any more, so its rows are lost; verify the database"
    );
    Stop::refuse(RefusalKind::Corrupt, message)
}
