//! Whether a row has another version than a view sees (AC9, AC22, AC23).
//!
//! Versions are compared, not bytes: a row that was changed and changed back has a new version. The
//! versions of a slot are in the undo of its block, so a copy of the block is taken back to the
//! view. Each undo record that is applied to the copy and changes the row of the slot stands for a
//! version that the view doesn't see. A lock alone makes no version.
//!
//! Every change of a row in pieces locks or changes the slot of its first piece (AC7), so only that
//! slot is compared.
//!
//! Callers: `change`.

use format::BlockHeader;
use ids::{Scn, TxnId};
use latch::FrameOrder;
use os::Session;
use stop::Stop;
use txn::block;
use txn::{CrCopy, View, split_itl_back};

use super::Heap;
use super::change::{Changed, RowTarget};
use crate::RowAddress;
use crate::ops::changes_row;

/// How many undo records are read while a block's latch is held: a few µs.
const LOOKED_AT_MAX: u32 = 24;

/// The result of comparing a row with what a view sees, and the version of the block it is true of.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    /// Why the row may not be changed; none if it is as the view sees it.
    pub(super) why: Option<Changed>,
    /// The SCN and sequence of the block's last change.
    block: (Scn, u32),
    /// Whether the transaction that asks has locked the row.
    is_locked: bool,
}

impl Compared {
    /// Whether it is true of the row in this latched block too: the row hasn't changed since.
    pub(super) fn holds(&self, block: &[u8]) -> bool {
        let is_unseen = self.why == Some(Changed::NotThere);
        is_unseen || self.is_locked || self.block == version_of(block)
    }
}

impl Heap {
    /// Compares a row with what the view of its statement sees. `id` is the transaction that asks;
    /// the view sees what that had done before the statement.
    pub(super) fn compare(
        &self,
        target: RowTarget,
        view: View,
        id: TxnId,
        session: &Session,
    ) -> Result<Compared, Stop> {
        let address = target.address;
        let cache = self.transactions.changes().cache();
        let (mut copy, mut gone_before) = (Vec::new(), None);
        loop {
            let mut compared = {
                let block = cache.pin_shared(address.block, FrameOrder::Heap, session)?;
                if !self.is_its(&block) {
                    let (why, block) = (Some(Changed::NotThere), version_of(&block));
                    return Ok(Compared { why, block, is_locked: false });
                }
                self.transactions.copy(&block, &mut copy, session);
                let is_locked = self.has_locked(&block, address.slot, id);
                Compared { why: None, block: version_of(&block), is_locked }
            };
            let mut watch = |by, payload: &[u8]| {
                let (_, steps) = split_itl_back(payload);
                if compared.why != Some(Changed::Since) && changes_row(steps, address.slot) {
                    let is_own = by == id;
                    compared.why = Some(if is_own { Changed::Already } else { Changed::Since });
                }
            };
            let (block, transactions) = (address.block, &self.transactions);
            match transactions
                .make_consistent_watched(block, &mut copy, view, &mut watch, session)?
            {
                CrCopy::Consistent => {
                    if self.slot_with(&copy, address.slot, target.kind).is_none() {
                        compared.why = Some(Changed::NotThere);
                    }
                    return Ok(compared);
                }
                CrCopy::UndoGone(gone) => self.transactions.try_again(gone, &mut gone_before)?,
            }
        }
    }

    /// Whether the view sees the row as it is in this latched block. The transaction that asks
    /// hasn't locked the row. False also if that can't be told at once.
    pub(super) fn is_row_current(
        &self,
        block: &[u8],
        view: View,
        row: RowAddress,
        session: &Session,
    ) -> bool {
        let mut changes = |_, payload: &[u8]| changes_row(split_itl_back(payload).1, row.slot);
        let transactions = &self.transactions;
        transactions.is_current(block, view, session)
            || transactions.nothing_unseen(block, view, LOOKED_AT_MAX, &mut changes, session)
    }

    /// Whether the transaction, which is active, has locked a slot.
    fn has_locked(&self, block: &[u8], number: u16, id: TxnId) -> bool {
        let lock = self.slot(block, number).map_or(0, |slot| slot.lock);
        let entry = lock.checked_sub(1).map(|entry| block::entry(block, entry));
        entry.is_some_and(|entry| entry.transaction.get() == Some(id))
    }
}

fn version_of(block: &[u8]) -> (Scn, u32) {
    let header = BlockHeader::at(block, 0);
    (header.changed(), header.sequence())
}
