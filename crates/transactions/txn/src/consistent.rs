//! Consistent reads: a block as a snapshot sees it (TX16).
//!
//! ```text
//!   all that changed it ended by the snapshot?  ──yes──▶ read it as it is, under its latch
//!        │ no
//!        ▼
//!   copy ──▶ newest entry that isn't seen ──▶ its newest undo record here ──▶ take back ──┐
//!                        ▲                                                              │
//!                        └───────────────── until all are seen ◀────────────────────────┘
//! ```
//!
//! ITL entries are taken back one after the other: active ones first, then those that ended last. A
//! transaction that has changed what another had changed did so after that one had ended. So no
//! change is taken back before those on top of it.
//!
//! Callers: layers with rows or entries. Sources: Oracle's consistent read clones; Bridge et al.,
//! "The Oracle Universal Server Buffer Manager" (VLDB '97).

use change::BlockMut;
use format::{ItlEntry, PayloadFault, RESTORE_ALL, ScnLe};
use ids::{Dba, Scn, TxnId, UndoAddress};
use os::Session;
use stop::{Failpoint, RefusalKind, Stop, check_call};
use waits::Statistic;

use crate::Transactions;
use crate::active::TransactionStatus;
use crate::block;
use crate::itl::entry_before;
use crate::undo::{RecordView, TableStatus, UndoPointer};

/// How many more bytes a copy has for each byte of its block: versions of different times together
/// may need more room than any one of them.
const SLACK: usize = 1;
/// The value of `inexact` in a copy where the transaction may not have ended when the block was
/// copied.
const NOT_ENDED: u8 = 2;

/// The length of a copy, at most: offsets in a block have 16 bits.
const COPY_BYTES_MAX: usize = 65_535;

/// What a read sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// The snapshot: commits up to this SCN are seen.
    pub scn: Scn,
    /// Which changes of the reader's own transaction are seen; none if it has changed nothing.
    pub own: Option<OwnChanges>,
}

impl View {
    /// The view with all of the reader's own changes.
    pub fn with_all_own(self) -> View {
        let own = self.own.map(|own| OwnChanges { all: true, ..own });
        View { own, ..self }
    }

    /// The view for a read that goes on in later calls, while the reader's transaction may change
    /// more: of its changes it shows those with fewer undo records before them than
    /// [`OwnChanges::before`], whatever came since (TX51). That of a
    /// [`KeptSnapshot`](crate::KeptSnapshot) stays the same; that of a transaction without a
    /// statement under way has no such bound, and shows all that is there when it is read.
    pub fn for_later(self) -> View {
        let own = self.own.map(|own| OwnChanges { all: false, ..own });
        View { own, ..self }
    }
}

/// Which of its own transaction's changes a reader sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnChanges {
    /// The transaction.
    pub id: TxnId,
    /// Changes with fewer undo records before them are seen.
    pub before: u32,
    /// Whether the transaction has no other changes.
    pub all: bool,
}

/// Whether a view sees what an ITL entry's transaction did.
enum Visibility {
    Visible,
    /// It doesn't. Of such entries, the one with the highest SCN is taken back first.
    Hidden(Scn),
    /// Undo would tell, and isn't there any more.
    UndoGone,
}

/// An ITL entry whose undo isn't there any more. Its transaction may have been rolled back
/// meanwhile; then a new copy of the block doesn't name it (TX43).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndoGone(ItlEntry);

/// What became of a copy that was to be made consistent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a copy isn't consistent if its undo was gone"]
pub enum CrCopy {
    /// The copy is as the view sees the block.
    Consistent,
    /// Undo that was needed isn't there any more.
    UndoGone(UndoGone),
}

impl Transactions {
    /// Whether the view sees a latched block as it is. Doesn't wait.
    #[inline]
    pub fn is_current(&self, block: &[u8], view: View, session: &Session) -> bool {
        let seen = |number| {
            let entry = block::entry(block, number);
            if entry.ended == ScnLe::ZERO
                && let Some(own) = view.own.filter(|own| Some(own.id) == entry.transaction.get())
            {
                return own.all;
            }
            match self.entry_status(entry, session) {
                TransactionStatus::Active => self.failpoints().has(Failpoint::SeeActive),
                TransactionStatus::Committing => self.failpoints().has(Failpoint::SeeCommitting),
                TransactionStatus::Ended(scn) | TransactionStatus::EndedBy(scn) => scn <= view.scn,
            }
        };
        (0..block::entries(block)).all(seen)
    }

    /// Whether `concerns` is false for each undo record of a latched block that the view may not
    /// see; it is given the record's opcode and payload. Reads at most `records_max` records, and
    /// only those in the cache; also returns false where that isn't enough to tell.
    pub fn nothing_unseen(
        &self,
        block: &[u8],
        view: View,
        records_max: u32,
        concerns: &mut dyn FnMut(u8, &[u8]) -> bool,
        session: &Session,
    ) -> bool {
        let mut left = records_max;
        for number in 0..block::entries(block) {
            let mut entry = *block::entry(block, number);
            let is_seen = |entry: &ItlEntry| {
                self.ended_by_entry(entry, session).is_some_and(|ended| ended <= view.scn)
            };
            while !is_seen(&entry) {
                let Some(undo) = UndoPointer::of_entry(&entry) else { return false };
                if left == 0 {
                    return false;
                }
                left -= 1;
                let before = |record: RecordView<'_>| {
                    let (layer, opcode) = (record.head.layer, record.head.opcode);
                    self.layer(layer).changes.check(opcode, record.payload).ok()?;
                    (!concerns(opcode, record.payload)).then(|| entry_before(entry, record.payload))
                };
                match self.undo().with_cached_record(undo, before, session).flatten() {
                    Some(before) => entry = before,
                    None => return false,
                }
            }
        }
        true
    }

    /// What is known of the transaction of an ITL entry without reading undo. An entry that names
    /// no transaction ended at SCN 0.
    #[inline]
    fn entry_status(&self, entry: &ItlEntry, session: &Session) -> TransactionStatus {
        match (entry.ended.get(), entry.transaction.get()) {
            (Scn::ZERO, Some(id)) => self.active().status(id, session),
            (ended, Some(_)) if entry.inexact != 0 => TransactionStatus::EndedBy(ended),
            (ended, _) => TransactionStatus::Ended(ended),
        }
    }

    /// The SCN by which the transaction of an ITL entry had ended, as far as that is known without
    /// reading undo; none if it hasn't ended.
    fn ended_by_entry(&self, entry: &ItlEntry, session: &Session) -> Option<Scn> {
        match self.entry_status(entry, session) {
            TransactionStatus::Active | TransactionStatus::Committing => None,
            TransactionStatus::Ended(scn) | TransactionStatus::EndedBy(scn) => Some(scn),
        }
    }

    /// The SCN from which on every snapshot sees a latched block as it is; none if a transaction in
    /// its ITL hasn't ended. Asked later, the answer may be a higher SCN.
    pub fn is_current_from(&self, block: &[u8], session: &Session) -> Option<Scn> {
        let ended = |number| self.ended_by_entry(block::entry(block, number), session);
        let all = (0..block::entries(block)).map(ended);
        all.reduce(|one, other| Some(one?.max(other?))).unwrap_or(Some(Scn::ZERO))
    }

    /// Copies a latched block, to be made consistent after its latch is released.
    pub fn copy(&self, block: &[u8], copy: &mut Vec<u8>, session: &Session) {
        self.copy_if(block, copy, |id| self.active().is_active(id, session));
    }

    /// Copies a block that was read from disk a while ago.
    pub fn copy_of_old(&self, block: &[u8], copy: &mut Vec<u8>) {
        self.copy_if(block, copy, |_| true);
    }

    /// Notes in the copy which transactions may be rolled back from now on. Undo of other
    /// transactions, which have ended, goes only when no snapshot needs it (TX43).
    fn copy_if(&self, block: &[u8], copy: &mut Vec<u8>, may_go_on: impl Fn(TxnId) -> bool) {
        let length = (block.len() * (1 + SLACK)).min(COPY_BYTES_MAX);
        copy.clear();
        copy.extend_from_slice(block);
        copy.resize(length, 0);
        let more = (length - block.len()) as u16;
        let head = format::DataHead::at_mut(copy, format::DataHead::START);
        head.free = format::U16Le::new(head.free.get() + more);
        for number in 0..block::entries(copy) {
            let entry = block::entry_mut(copy, number);
            let open = entry.transaction.get().filter(|_| entry.ended == ScnLe::ZERO);
            if open.is_some_and(&may_go_on) {
                entry.inexact = NOT_ENDED;
            }
        }
    }

    /// Takes back in a copy of the block with this address what the view doesn't see.
    pub fn make_consistent(
        &self,
        address: Dba,
        copy: &mut [u8],
        view: View,
        session: &Session,
    ) -> Result<CrCopy, Stop> {
        self.make_consistent_watched(address, copy, view, &mut |_, _| (), session)
    }

    /// As [`make_consistent`](Self::make_consistent); `watch` is given the transaction and the
    /// payload of each undo record that is taken back.
    pub fn make_consistent_watched(
        &self,
        address: Dba,
        copy: &mut [u8],
        view: View,
        watch: &mut dyn FnMut(TxnId, &[u8]),
        session: &Session,
    ) -> Result<CrCopy, Stop> {
        session.count(Statistic::CrBlocksCreated, 1);
        loop {
            check_call(session)?;
            let mut newest: Option<(Scn, u8)> = None;
            for number in 0..block::entries(copy) {
                let entry = *block::entry(copy, number);
                match self.seen(&entry, view, session)? {
                    Visibility::UndoGone => return Ok(CrCopy::UndoGone(UndoGone(entry))),
                    Visibility::Hidden(order) if newest.is_none_or(|(most, _)| order > most) => {
                        newest = Some((order, number));
                    }
                    Visibility::Hidden(_) | Visibility::Visible => {}
                }
            }
            let Some((_, number)) = newest else { return Ok(CrCopy::Consistent) };
            let entry = *block::entry(copy, number);
            if !self.take_back_one(address, copy, &entry, watch, session)? {
                return Ok(CrCopy::UndoGone(UndoGone(entry)));
            }
            if self.failpoints().has(Failpoint::SkipUndoRecord) {
                return Ok(CrCopy::Consistent);
            }
        }
    }

    /// Lets the caller copy the block again when undo was gone. Refused (snapshot too old) if the
    /// same undo was gone `before`.
    pub fn try_again(&self, gone: UndoGone, before: &mut Option<UndoGone>) -> Result<(), Stop> {
        if before.replace(gone) != Some(gone) {
            return Ok(());
        }
        let id = gone.0.transaction.get().map_or_else(String::new, |id| format!(" {id}"));
        let message = format!(
            "cannot read as of the snapshot: snapshot too old: the undo of transaction{id} was \
             overwritten, for it was older than undo_retention, or the undo tablespace is full; \
             read again, raise undo_retention or set it to 0, or give the tablespace more room"
        );
        Err(Stop::refuse(RefusalKind::SnapshotTooOld, message))
    }

    /// Takes back the newest change of an ITL entry. Returns false if the undo record isn't there.
    fn take_back_one(
        &self,
        address: Dba,
        copy: &mut [u8],
        entry: &ItlEntry,
        watch: &mut dyn FnMut(TxnId, &[u8]),
        session: &Session,
    ) -> Result<bool, Stop> {
        let Some(undo) = UndoPointer::of_entry(entry) else { return Ok(false) };
        let take_back = |record: RecordView<'_>| {
            let (layer, opcode) = (record.head.layer, record.head.opcode);
            let layer = self.layer(layer);
            layer.changes.check(opcode, record.payload)?;
            watch(undo.transaction, record.payload);
            let bytes = &mut *copy;
            (layer.apply)(BlockMut { address, scn: Scn::ZERO, bytes }, opcode, record.payload);
            Ok(())
        };
        let done = self.undo().with_record(undo, take_back, session)?;
        session.count(Statistic::CrUndoRecordsApplied, 1);
        done.transpose().map(|done| done.is_some()).map_err(|fault| unreadable(undo.address, fault))
    }

    fn seen(&self, entry: &ItlEntry, view: View, session: &Session) -> Result<Visibility, Stop> {
        let by =
            |scn: Scn| if scn <= view.scn { Visibility::Visible } else { Visibility::Hidden(scn) };
        let Some(id) = entry.transaction.get() else { return Ok(Visibility::Visible) };
        if let Some(own) = view.own.filter(|own| own.id == id) {
            return self.seen_own(entry, own, session);
        }
        loop {
            return Ok(match self.entry_status(entry, session) {
                TransactionStatus::Active if self.failpoints().has(Failpoint::SeeActive) => {
                    Visibility::Visible
                }
                TransactionStatus::Active => Visibility::Hidden(Scn::new(u64::MAX)),
                TransactionStatus::Committing
                    if self.failpoints().has(Failpoint::SeeCommitting) =>
                {
                    Visibility::Visible
                }
                TransactionStatus::Ended(scn) => by(scn),
                TransactionStatus::EndedBy(scn) if scn <= view.scn => Visibility::Visible,
                TransactionStatus::EndedBy(scn) => {
                    self.ended_before(entry, id, scn, view.scn, session)?
                }
                TransactionStatus::Committing => {
                    let table = self.active().table_of(id, session);
                    match self.undo().ended_by_table(id, table, session)? {
                        TableStatus::Ended(scn) => by(scn),
                        // If its record comes, the record's SCN is above the snapshot's.
                        TableStatus::Active => Visibility::Hidden(Scn::new(u64::MAX)),
                        // It has ended since memory was asked, so memory knows when.
                        TableStatus::SlotReused => continue,
                    }
                }
            });
        }
    }

    fn seen_own(
        &self,
        entry: &ItlEntry,
        own: OwnChanges,
        session: &Session,
    ) -> Result<Visibility, Stop> {
        if own.all {
            return Ok(Visibility::Visible);
        }
        let Some(undo) = UndoPointer::of_entry(entry) else { return Ok(Visibility::Visible) };
        let ordinal = |record: RecordView<'_>| record.head.ordinal.get();
        let newest = self.undo().with_record(undo, ordinal, session)?;
        Ok(match newest {
            Some(ordinal) if ordinal < own.before => Visibility::Visible,
            _ => Visibility::Hidden(Scn::new(u64::MAX)),
        })
    }

    /// Whether a view with this snapshot sees a transaction that ended by `by`, which is after the
    /// snapshot. Undo may tell an earlier end.
    fn ended_before(
        &self,
        entry: &ItlEntry,
        id: TxnId,
        by: Scn,
        snapshot: Scn,
        session: &Session,
    ) -> Result<Visibility, Stop> {
        let found = match UndoPointer::of_entry(entry) {
            Some(undo) => self.exact_end(undo, session)?,
            None => None,
        };
        let exact = match found {
            Some(scn) => scn,
            // It may have been rolled back; then a new copy of the block doesn't name it.
            None if entry.inexact == NOT_ENDED => return Ok(Visibility::UndoGone),
            // Asked after the undo was.
            None => by.min(self.shared.overwritten.ended_by(id, session)),
        };
        Ok(if exact <= snapshot { Visibility::Visible } else { Visibility::Hidden(exact) })
    }
}

/// The refusal for an undo record with a payload that its layer can't read (rule change/CH9).
pub(crate) fn unreadable(at: UndoAddress, fault: PayloadFault) -> Stop {
    let UndoAddress { block, record } = at;
    let message = format!(
        "cannot take back a change: undo record {record} of block {block} can't be read: {fault}; \
         {RESTORE_ALL}"
    );
    Stop::refuse(RefusalKind::Corrupt, message)
}
