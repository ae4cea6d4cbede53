//! The ITL of a block: how a transaction gets an entry in it, and how the entry is written and
//! taken back (TX8, TX9).
//!
//! The payload of a change of a data block begins with its *ITL change*: the number of the
//! transaction's entry, the entry's new content, and cleanouts of entries whose transactions have
//! ended. The payload of the undo record begins with the entry's former content.
//! `format::changes::itl` declares how both are stored.
//!
//! Callers: layers with rows or entries, under the block's exclusive latch.

use format::changes::itl::{self as stored, Before, BeforeEntry, Cleanout, ItlChangeHead, ItlOwn};
use format::{FewBytes, ItlEntry, ScnLe, TxnIdLe, U16Le, UndoAddressLe};
use ids::{Scn, TxnId, UndoAddress};
use os::Session;
use stop::{Failpoint, Stop};

use crate::active::TransactionStatus;
use crate::block;
use crate::undo::{TransactionEnd, UndoPointer};
use crate::{Active, Transactions};

/// The number of entries of a list, at most.
const ENTRIES_MAX: u8 = 250;

/// The ITL entry that a transaction has in a block, or takes with its change.
#[derive(Clone, Debug)]
pub struct OwnItlEntry {
    /// The entry's number in the list. The lock byte of a slot is one more.
    number: u8,
    transaction: TxnId,
    /// The entry's content before the change, with its end noted.
    before: ItlEntry,
    /// Whether the list grows by the entry.
    grows: bool,
    cleanouts: Vec<Cleanout>,
    /// Free bytes of the block that the rollbacks of other transactions may need (BL4).
    kept_for_others: usize,
    /// See [`inexact_ends`](OwnItlEntry::inexact_ends).
    inexact_ends: Vec<UndoPointer>,
    /// Set by a test: rows that others have locked count as unlocked.
    ignores_locks: bool,
}

/// Whether a transaction has an ITL entry for a change.
#[derive(Debug)]
pub enum ItlAllocation {
    /// It has this one.
    Entry(OwnItlEntry),
    /// It has none, and the list can't grow.
    NoRoom(NoRoom),
}

/// Why a transaction gets no entry in a list that can't grow.
#[derive(Debug)]
pub struct NoRoom {
    /// Active transactions with an entry, each of which leaves it to others when it ends.
    pub holders: Vec<TxnId>,
    /// Whether a transaction in the list ended after the statement's snapshot: with a newer
    /// snapshot its entry could be taken over (TX9).
    pub is_too_new: bool,
    /// Transactions of which only an upper bound of the end is known; the end may be by the
    /// snapshot.
    pub inexact_ends: Vec<UndoPointer>,
}

impl NoRoom {
    /// Whether the statement is to wait for a holder rather than to begin again or be refused
    /// (TX38). With a snapshot of the whole transaction waiting wouldn't help: the entry would
    /// still be too new. With one of the statement it lets as many sessions on as the list has room
    /// for.
    pub fn is_worth_waiting(&self, is_serializable: bool) -> bool {
        !(self.holders.is_empty() || is_serializable && self.is_too_new)
    }
}

impl OwnItlEntry {
    /// Bytes of the longest ITL change with this number of cleanouts.
    pub fn forward_bytes_max(entries: u8) -> usize {
        size_of::<ItlChangeHead>() + usize::from(entries) * size_of::<Cleanout>()
    }

    /// Bytes of the longest entry content in an undo record.
    pub const BACK_BYTES_MAX: usize = Before::BYTES_MAX;

    /// If the list grows by the entry: transactions of which only an upper bound of the end is
    /// known, and whose entries might be taken over instead.
    pub fn inexact_ends(&self) -> &[UndoPointer] {
        &self.inexact_ends
    }

    /// How many entries of ended transactions are cleaned out with the change.
    pub fn cleanouts(&self) -> u8 {
        self.cleanouts.len() as u8
    }

    /// The lock byte of a slot that the transaction locks.
    pub fn lock(&self) -> u8 {
        self.number + 1
    }

    /// The transaction that has a slot with this lock byte locked, if it is another one and hasn't
    /// ended.
    pub fn holder(&self, block: &[u8], lock: u8) -> Option<TxnId> {
        let number = lock.checked_sub(1)?;
        if self.ignores_locks
            || number == self.number
            || self.cleanouts.iter().any(|c| c.number == number)
        {
            return None;
        }
        let entry = block::entry(block, number);
        (entry.ended == ScnLe::ZERO).then(|| entry.transaction.get()).flatten()
    }

    /// Whether the change cleans out the entry of this lock byte, so that the slot isn't locked any
    /// more.
    pub fn cleans(&self, lock: u8) -> bool {
        self.cleanouts.iter().any(|cleanout| cleanout.number + 1 == lock)
    }

    /// Whether the transaction itself has a slot with this lock byte locked.
    pub fn owns(&self, lock: u8) -> bool {
        lock == self.lock() && self.before.transaction == TxnIdLe::new(self.transaction)
    }

    /// The lock byte that a slot with this lock byte gets when the change is taken back.
    pub fn lock_before(&self, lock: u8) -> u8 {
        if self.owns(lock) { lock } else { 0 }
    }

    /// Free bytes of the block that this transaction may use for rows.
    pub fn room(&self, block: &[u8]) -> usize {
        let grown = if self.grows { ItlEntry::BYTES } else { 0 };
        block::room_of(block).saturating_sub(grown + self.kept_for_others)
    }

    /// Free bytes of the block that this transaction may use for the directory. Those that its own
    /// rollback needs aren't among them, because a rollback doesn't free bytes of the directory
    /// (BL5).
    pub fn directory_room(&self, block: &[u8]) -> usize {
        self.room(block).saturating_sub(self.held_before().1.into())
    }

    /// How many slots the transaction had locked before the change, and how many free bytes its
    /// rollback needs.
    fn held_before(&self) -> (u16, u16) {
        match self.before.transaction == TxnIdLe::new(self.transaction) {
            true => (self.before.locks.get(), self.before.freed.get()),
            false => (0, 0),
        }
    }

    /// The head of the ITL change: the undo record is at `undo`; the change locks `locks` more
    /// slots and frees `freed` bytes of rows, or takes them if that is negative. The cleanouts
    /// follow.
    pub fn forward(&self, undo: UndoAddress, locks: u16, freed: isize) -> ItlChangeHead {
        let (held, kept) = self.held_before();
        let kept = (kept as isize + freed).clamp(0, u16::MAX as isize) as u16;
        ItlChangeHead {
            number: self.number,
            cleanouts: self.cleanouts.len() as u8,
            transaction: TxnIdLe::new(self.transaction),
            undo: UndoAddressLe::new(undo),
            freed: U16Le::new(kept),
            locks: U16Le::new(held + locks),
        }
    }

    /// The cleanouts of the ITL change, as they are stored behind its head.
    pub fn cleanout_bytes(&self) -> &[u8] {
        Cleanout::bytes_of_many(&self.cleanouts)
    }

    /// The entry's former content, with which the undo record begins.
    pub fn back(&self) -> FewBytes<{ OwnItlEntry::BACK_BYTES_MAX }> {
        let before = &self.before;
        let own = ItlOwn { undo: before.undo, freed: before.freed, locks: before.locks };
        let entry = match before.transaction == TxnIdLe::new(self.transaction) {
            true => BeforeEntry::Own(&own),
            false => BeforeEntry::Whole(before),
        };
        Before { number: self.number, entry }.bytes()
    }
}

/// Writes the ITL change at the start of a payload into its block. Returns the entry's number and
/// the rest of the payload.
pub fn apply_itl_change<'p>(block: &mut [u8], payload: &'p [u8]) -> (u8, &'p [u8]) {
    let (stored, rest) = stored::ItlChange::read(payload).expect(CHECKED);
    for cleanout in stored.cleanouts {
        block::unlock(block, cleanout.number);
        let entry = block::entry_mut(block, cleanout.number);
        (entry.ended, entry.inexact) = (cleanout.ended, cleanout.inexact);
        entry.freed = U16Le::ZERO;
    }
    let ItlChangeHead { number, transaction, undo, freed, locks, .. } = *stored.head;
    if number == block::entries(block) {
        block::grow_list(block);
    }
    let entry = block::entry_mut(block, number);
    let is_free = entry.ended != ScnLe::ZERO || entry.transaction == TxnIdLe::NONE;
    assert!(entry.transaction == transaction || is_free, "an entry is taken from its owner (TX8)");
    *entry = ItlEntry { transaction, undo, freed, locks, ..ItlEntry::NONE };
    (number, rest)
}

/// Writes the entry's former content, at the start of an undo record's payload, into its block.
/// Returns the entry's number and the rest of the payload.
pub fn apply_itl_back<'p>(block: &mut [u8], payload: &'p [u8]) -> (u8, &'p [u8]) {
    let (before, rest) = Before::read(payload).expect(CHECKED);
    let entry = block::entry_mut(block, before.number);
    *entry = as_it_was(*entry, before.entry);
    (before.number, rest)
}

/// The content of an entry before the change of its newest undo record, which has this payload.
pub(crate) fn entry_before(entry: ItlEntry, payload: &[u8]) -> ItlEntry {
    let (before, _) = Before::read(payload).expect(CHECKED);
    as_it_was(entry, before.entry)
}

fn as_it_was(entry: ItlEntry, before: BeforeEntry<'_>) -> ItlEntry {
    match before {
        BeforeEntry::Whole(whole) => *whole,
        BeforeEntry::Own(own) => {
            let ItlOwn { undo, freed, locks } = *own;
            ItlEntry { undo, freed, locks, ..entry }
        }
    }
}

/// The entry's number in the payload of an undo record, and the payload after the entry's former
/// content.
pub fn split_itl_back(payload: &[u8]) -> (u8, &[u8]) {
    let (before, rest) = Before::read(payload).expect(CHECKED);
    (before.number, rest)
}

/// Why reading a payload can't fail.
const CHECKED: &str = "the payload was checked (rule change/CH9)";

impl Transactions {
    /// Finds the ITL entry of the transaction in a block that it is about to change, by a statement
    /// with a snapshot of this SCN. The block is latched exclusively. `known` are ends that the
    /// caller has found out.
    pub fn allocate_itl_entry(
        &self,
        block: &[u8],
        transaction: TxnId,
        snapshot: Scn,
        known: &[TransactionEnd],
        session: &Session,
    ) -> ItlAllocation {
        let entries = block::entries(block);
        let (mut cleanouts, mut kept_for_others) = (Vec::new(), 0);
        let (mut holders, mut is_too_new, mut inexact_ends) = (Vec::new(), false, Vec::new());
        // Of the entries that may be taken over, the one whose transaction ended first.
        let mut free: Option<(Scn, u8, ItlEntry)> = None;
        let mut own = None;
        for number in 0..entries {
            let stored = block::entry(block, number);
            let Some(other) = stored.transaction.get() else {
                free = Some((Scn::ZERO, number, *stored));
                continue;
            };
            if other == transaction {
                own = Some(number);
                continue;
            }
            let mut entry = *stored;
            let is_noted = entry.ended != ScnLe::ZERO;
            if !is_noted {
                let Some((ended, inexact)) = ended(self.active(), other, session) else {
                    kept_for_others += usize::from(entry.freed.get());
                    holders.push(other);
                    continue;
                };
                (entry.ended, entry.inexact) = (ScnLe::new(ended), u8::from(inexact));
                (entry.freed, entry.locks) = (U16Le::ZERO, U16Le::ZERO);
            }
            correct(&mut entry, known);
            let ItlEntry { ended, inexact, .. } = entry;
            if !is_noted {
                cleanouts.push(Cleanout { number, inexact, ended });
            }
            let ended = ended.get();
            if ended > snapshot {
                is_too_new = true;
                inexact_ends.extend(UndoPointer::of_entry(&entry).filter(|_| inexact != 0));
            } else if free.is_none_or(|(least, ..)| ended < least) {
                free = Some((ended, number, entry));
            }
        }
        let (number, before, grows) = match (own, free) {
            (Some(number), _) => (number, *block::entry(block, number), false),
            (None, Some((_, number, entry))) => (number, entry, false),
            (None, None) => (entries, ItlEntry::NONE, true),
        };
        let room = block::room_of(block).saturating_sub(kept_for_others);
        if grows && (room < ItlEntry::BYTES || entries >= ENTRIES_MAX) {
            return ItlAllocation::NoRoom(NoRoom { holders, is_too_new, inexact_ends });
        }
        ItlAllocation::Entry(OwnItlEntry {
            number,
            transaction,
            before,
            grows,
            cleanouts,
            kept_for_others,
            inexact_ends: if grows { inexact_ends } else { Vec::new() },
            ignores_locks: self.failpoints().has(Failpoint::IgnoreRowLock),
        })
    }
}

/// Lowers the upper bound of an entry's end if the caller knows better.
fn correct(entry: &mut ItlEntry, known: &[TransactionEnd]) {
    let id = entry.transaction.get();
    if entry.inexact != 0
        && let Some(known) = known.iter().find(|known| Some(known.transaction) == id)
    {
        entry.ended = ScnLe::new(entry.ended.get().min(known.ended));
    }
}

impl Transactions {
    /// The ends of these transactions, as far as undo says more than memory. Waits; called without
    /// latches.
    pub fn exact_ends(
        &self,
        inexact_ends: &[UndoPointer],
        session: &Session,
    ) -> Result<Vec<TransactionEnd>, Stop> {
        let mut known = Vec::with_capacity(inexact_ends.len());
        for undo in inexact_ends {
            let transaction = undo.transaction;
            let exact = self.exact_end(*undo, session)?;
            // Asked after the undo was.
            let ended =
                exact.unwrap_or_else(|| self.shared.overwritten.ended_by(transaction, session));
            known.push(TransactionEnd { transaction, ended });
        }
        Ok(known)
    }
}

/// When a transaction ended, and whether that is only an upper bound; none if it has locks.
fn ended(active: &Active, id: TxnId, session: &Session) -> Option<(Scn, bool)> {
    if active.is_active(id, session) {
        return None;
    }
    match active.status(id, session) {
        TransactionStatus::Ended(scn) => Some((scn, false)),
        TransactionStatus::EndedBy(scn) => Some((scn, true)),
        // Another transaction of the slot began between the two questions.
        TransactionStatus::Active | TransactionStatus::Committing => None,
    }
}
