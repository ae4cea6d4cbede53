//! Changing and deleting rows.
//!
//! ```text
//!   a row in one slot that fits:  one group
//!   one that grows too much:      lock it ──▶ put the new bytes elsewhere ──▶ leave the address
//!   one in pieces:                lock it ──▶ delete its pieces ──▶ as above
//! ```
//!
//! A statement that chose its rows by a view passes the view. If another transaction has changed
//! the row since, the statement's knowledge of the row is out of date: nothing is done, and the
//! statement begins again (AC9). A statement that meets a row a second time is told so (AC14).
//!
//! Callers: tables.

use format::DataSlot;
use ids::Scn;
use os::Session;
use stop::{Failpoint, Stop};
use txn::block;
use txn::{LockWait, OwnChanges, OwnItlEntry, RowWait, Transaction, View};

use super::difference::splices;
use super::piece::{NEXT, PIECE, Piece, ROW, piece_of, stored, whole};
use super::version::Compared;
use super::{Heap, HeapInserter};
use crate::RowAddress;
use crate::block_change::{Awaited, ChangeResult, Decision, Plan, Waiter, change_block};
use crate::ops::Op;

/// What a slot is expected to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SlotKind {
    /// A row, or its first piece.
    Row,
    /// A further piece of a row.
    Piece,
}

impl SlotKind {
    #[inline]
    pub(super) fn flag(self) -> u8 {
        match self {
            SlotKind::Row => ROW,
            SlotKind::Piece => PIECE,
        }
    }

    /// Whether the slot has that, and it isn't deleted.
    #[inline]
    pub(super) fn is_in(self, slot: &DataSlot) -> bool {
        slot.flags & (self.flag() | DataSlot::DELETED) == self.flag()
    }
}

/// How a change of a row ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    /// The row is changed.
    Yes,
    /// There is no such row, and the view sees none either.
    NotThere,
    /// Other transactions have changed the row since the view; nothing was done.
    Since,
    /// The block's ITL has no entry for the transaction, because too many transactions have changed
    /// the block since the transaction's one snapshot; nothing was done.
    TooNew,
    /// The view's own statement has changed the row already; nothing was done.
    Already,
    /// Another transaction holds the row or the block's ITL, and the caller doesn't wait; nothing
    /// was done.
    Held,
}

/// The result of one attempt to change a slot.
enum SlotAttempt {
    Ended(Changed),
    /// The row may have another version than the view sees: the two have to be compared.
    Compare,
    /// As `Compare`, and the row is locked now: so what the comparison says of it stays true.
    CompareLocked,
}

/// What remains of an update once the row's first slot is changed.
enum Remainder {
    /// Nothing.
    None,
    /// The row is locked, and in pieces: its first bytes, and the address of its next piece.
    Pieces(Vec<u8>, RowAddress),
    /// The row is locked, and its new bytes don't fit where it is.
    Move(Vec<u8>),
}

/// A slot of a latched block, and the entry of the transaction that changes it.
#[derive(Clone, Copy)]
pub(super) struct LatchedSlot<'a> {
    pub(super) block: &'a [u8],
    pub(super) number: u16,
    pub(super) slot: DataSlot,
    pub(super) itl: &'a OwnItlEntry,
}

impl<'a> LatchedSlot<'a> {
    fn bytes(&self) -> &'a [u8] {
        block::bytes_of(self.block, self.slot)
    }

    /// The slot's lock once the change is taken back.
    fn lock_before(&self) -> u8 {
        self.itl.lock_before(self.slot.lock)
    }

    fn plan(&self, forward: Op<'_>, back: Op<'_>, freed: isize) -> Plan<'static> {
        Plan { locks: u16::from(!self.itl.owns(self.slot.lock)), ..Plan::of(forward, back, freed) }
    }

    /// Locks the row.
    pub(super) fn lock(&self) -> Plan<'static> {
        let to = |lock| Op::Lock { slot: self.number, lock };
        self.plan(to(self.itl.lock()), to(self.lock_before()), 0)
    }

    /// Locks the row, as a change that leaves it as it is: a statement that meets it again sees it.
    fn keep(&self) -> Plan<'static> {
        let (lock, before, bytes) = (self.itl.lock(), self.lock_before(), self.bytes());
        let (forward, back) = splices(self.number, lock, before, bytes, bytes);
        self.plan(forward, back, 0)
    }

    /// Deletes the row or piece.
    fn delete(&self) -> Plan<'static> {
        let (number, bytes) = (self.number, self.bytes());
        let (flags, lock) = (self.slot.flags, self.lock_before());
        let back = Op::Put { slot: number, flags, lock, bytes };
        let forward = Op::Stub { slot: number, lock: self.itl.lock() };
        self.plan(forward, back, bytes.len() as isize)
    }

    /// Replaces the slot's flags and bytes.
    fn replace(&self, flags: u8, bytes: &[u8]) -> Plan<'static> {
        let old = self.bytes();
        let to = |flags, lock, bytes| Op::Replace { slot: self.number, flags, lock, bytes };
        let back = to(self.slot.flags, self.lock_before(), old);
        let freed = old.len() as isize - bytes.len() as isize;
        self.plan(to(flags, self.itl.lock(), bytes), back, freed)
    }

    /// Makes the row another one where it is; none if that has no room.
    fn update(&self, new: &[u8], piece_max: usize) -> Option<Plan<'static>> {
        let old = self.bytes();
        let (short, bytes) = whole(new);
        let grows = bytes.len().saturating_sub(old.len());
        if bytes.len() > piece_max || grows > self.itl.room(self.block) {
            return None;
        }
        if short != self.slot.flags & !ROW {
            return Some(self.replace(ROW | short, &bytes));
        }
        let (lock, before) = (self.itl.lock(), self.lock_before());
        let (forward, back) = splices(self.number, lock, before, old, &bytes);
        Some(self.plan(forward, back, old.len() as isize - bytes.len() as isize))
    }
}

/// Makes the plan by which a slot changes, once it may be changed. It only computes, and may be
/// called again.
type Planner<'a> = dyn FnMut(LatchedSlot<'_>) -> Plan<'static> + 'a;

/// A row or piece to be changed, and how the statement came to it.
#[derive(Clone, Copy)]
pub(super) struct RowTarget {
    pub(super) address: RowAddress,
    pub(super) kind: SlotKind,
    /// The view by which the statement chose the row; none if the row is locked already, or is to
    /// be changed as it is now.
    view: Option<View>,
    /// The statement's snapshot, if it has one.
    snapshot: Option<Scn>,
    /// How long to wait for the row; none if a row that others hold is passed by.
    lock_wait: Option<LockWait>,
}

impl RowTarget {
    pub(super) fn new(
        address: RowAddress,
        view: Option<View>,
        lock_wait: Option<LockWait>,
    ) -> RowTarget {
        let snapshot = view.map(|view| view.scn);
        RowTarget { address, kind: SlotKind::Row, view, snapshot, lock_wait }
    }

    /// A slot of a row that the same statement has locked.
    fn of_locked(self, kind: SlotKind, address: RowAddress) -> RowTarget {
        RowTarget { address, kind, view: None, ..self }
    }
}

impl Heap {
    /// Changes a row: `change` gets its bytes and makes the new ones; it only computes, and may be
    /// called again. Waits while another transaction holds the row. If a view is given, only a row
    /// that is as the view sees it is changed.
    pub fn update(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        address: RowAddress,
        view: Option<View>,
        change: &mut dyn FnMut(&[u8], &mut Vec<u8>),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let savepoint = transaction.savepoint();
        let target = RowTarget::new(address, view, Some(transaction.lock_wait()));
        let updated = self.update_target(transaction, inserter, target, change, session);
        if !matches!(updated, Ok(Changed::Yes)) {
            self.transactions.rollback_to(transaction, savepoint, session)?;
        }
        updated
    }

    fn update_target(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        target: RowTarget,
        change: &mut dyn FnMut(&[u8], &mut Vec<u8>),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let (mut new, mut remainder) = (Vec::new(), Remainder::None);
        let mut plan = |latched: LatchedSlot<'_>| {
            let piece = piece_of(latched.block, latched.slot);
            if let Some(next) = piece.next {
                remainder = Remainder::Pieces(piece.data.to_vec(), next);
                return latched.keep();
            }
            new.clear();
            change(piece.data, &mut new);
            let updated = latched.update(&new, self.piece_max);
            remainder = match updated {
                Some(_) => Remainder::None,
                None => Remainder::Move(new.clone()),
            };
            updated.unwrap_or_else(|| latched.lock())
        };
        let changed = self.change_slot(transaction, target, &mut plan, session)?;
        if changed != Changed::Yes {
            return Ok(changed);
        }
        let new = match remainder {
            Remainder::None => return Ok(Changed::Yes),
            Remainder::Move(new) => new,
            Remainder::Pieces(mut row, next) => {
                let pieces = self.gather(&mut row, next, session)?;
                let mut new = Vec::new();
                change(&row, &mut new);
                if new == row {
                    return Ok(Changed::Yes);
                }
                let deleted = self.delete_pieces(transaction, target, pieces, session)?;
                if deleted != Changed::Yes {
                    return Ok(deleted);
                }
                new
            }
        };
        self.put_elsewhere(transaction, inserter, target, &new, session)?;
        Ok(Changed::Yes)
    }

    /// Deletes a row. `look` gets the row that is deleted; it only computes, and may be called
    /// again. Waits while another transaction holds the row. If a view is given, only a row that is
    /// as the view sees it is deleted.
    pub fn delete(
        &self,
        transaction: &mut Transaction,
        address: RowAddress,
        view: Option<View>,
        look: &mut dyn FnMut(&[u8]),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let savepoint = transaction.savepoint();
        let target = RowTarget::new(address, view, Some(transaction.lock_wait()));
        let deleted = self.delete_target(transaction, target, look, session);
        if !matches!(deleted, Ok(Changed::Yes)) {
            self.transactions.rollback_to(transaction, savepoint, session)?;
        }
        deleted
    }

    fn delete_target(
        &self,
        transaction: &mut Transaction,
        target: RowTarget,
        look: &mut dyn FnMut(&[u8]),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let mut rest = None;
        let mut plan = |latched: LatchedSlot<'_>| {
            let piece = piece_of(latched.block, latched.slot);
            rest = piece.next.map(|next| (piece.data.to_vec(), next));
            if rest.is_none() {
                look(piece.data);
            }
            latched.delete()
        };
        let changed = self.change_slot(transaction, target, &mut plan, session)?;
        match rest {
            Some((mut row, next)) if changed == Changed::Yes => {
                let pieces = self.gather(&mut row, next, session)?;
                look(&row);
                self.delete_pieces(transaction, target, pieces, session)
            }
            _ => Ok(changed),
        }
    }

    /// Appends the further pieces of a row that the transaction has locked, as they are now, to its
    /// first bytes. Returns the addresses of the pieces.
    fn gather(
        &self,
        row: &mut Vec<u8>,
        next: RowAddress,
        session: &Session,
    ) -> Result<Vec<RowAddress>, Stop> {
        let (mut pieces, mut next) = (Vec::new(), Some(next));
        while let Some(at) = next {
            let look = |block: &[u8]| {
                let slot = self.slot_with(block, at.slot, SlotKind::Piece)?;
                let Piece { data, next } = piece_of(block, slot);
                row.extend_from_slice(data);
                Some(next)
            };
            let found = self.look_now(at.block, look, session)?;
            pieces.push(at);
            next = found.ok_or_else(|| self.no_piece(at))?;
        }
        Ok(pieces)
    }

    /// Puts the new bytes of a locked row elsewhere, and leaves their address in its place.
    fn put_elsewhere(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        target: RowTarget,
        new: &[u8],
        session: &Session,
    ) -> Result<(), Stop> {
        let snapshot = target.snapshot;
        let first = self.put_in_pieces(transaction, inserter, snapshot, PIECE, new, session)?;
        let to = stored(first);
        let mut plan = |latched: LatchedSlot<'_>| latched.replace(ROW | NEXT, &to[..]);
        let target = target.of_locked(SlotKind::Row, target.address);
        match self.change_slot(transaction, target, &mut plan, session)? {
            Changed::Yes => Ok(()),
            _ => unreachable!("the row is locked, and has room for an address"),
        }
    }

    /// Deletes the further pieces of a locked row. `Since` or `TooNew` if the ITL of a piece's
    /// block has no entry for the transaction, because others have changed the block since.
    fn delete_pieces(
        &self,
        transaction: &mut Transaction,
        target: RowTarget,
        pieces: Vec<RowAddress>,
        session: &Session,
    ) -> Result<Changed, Stop> {
        for address in pieces {
            let mut plan = |latched: LatchedSlot<'_>| latched.delete();
            let target = target.of_locked(SlotKind::Piece, address);
            match self.change_slot(transaction, target, &mut plan, session)? {
                Changed::Yes => {}
                changed @ (Changed::Since | Changed::TooNew) => return Ok(changed),
                _ => return Err(self.no_piece(address)),
            }
        }
        Ok(Changed::Yes)
    }

    /// Changes one slot as `plan` says, once it is as the target's view sees it and no other
    /// transaction holds it.
    pub(super) fn change_slot(
        &self,
        transaction: &mut Transaction,
        target: RowTarget,
        plan: &mut Planner<'_>,
        session: &Session,
    ) -> Result<Changed, Stop> {
        let mut compared = None;
        loop {
            match self.try_slot(transaction, target, compared, plan, session)? {
                SlotAttempt::Ended(changed) => return Ok(changed),
                SlotAttempt::Compare | SlotAttempt::CompareLocked => {}
            }
            let view = target.view.expect("only a row that a view has chosen is compared");
            let own = before_now(transaction, view);
            let view = View { own: Some(own), ..view };
            compared = Some(self.compare(target, view, own.id, session)?);
        }
    }

    /// Tries to change the slot. `compared` is what the last comparison has found. If another one
    /// is needed then, because the block was changed meanwhile, the row is locked first: where 32
    /// sessions change rows of one block, each comparison in vain makes all others wait for the
    /// block's latch.
    fn try_slot(
        &self,
        transaction: &mut Transaction,
        target: RowTarget,
        compared: Option<Compared>,
        plan: &mut Planner<'_>,
        session: &Session,
    ) -> Result<SlotAttempt, Stop> {
        let longest = Op::HEAD_BYTES_MAX + self.piece_max;
        let RowTarget { address, view, lock_wait, snapshot, .. } = target;
        let waited = transaction.waited_for(address.block, address.slot);
        let mut waiter = Waiter::new(lock_wait).having_waited(waited);
        let (failpoint, too_new) = if_too_new(transaction, snapshot);
        let ignores_newer = self.transactions.failpoints().has(failpoint);
        // Most changes need little undo; a change that needs more says so.
        let mut undo_bytes = OwnItlEntry::BACK_BYTES_MAX + Op::HEAD_BYTES_MAX;
        loop {
            self.transactions.prepare(transaction, undo_bytes, session)?;
            let own = view.map(|view| View { own: Some(all_of(transaction, view)), ..view });
            let own = own.filter(|_| !ignores_newer);
            let cache = self.transactions.changes().cache();
            let pin = cache.pin_or_unwritten(address.block, session)?;
            let mut decide = |block: &[u8], itl: &OwnItlEntry| {
                let slot = self.slot(block, address.slot).unwrap_or(DataSlot::FREE);
                let latched = LatchedSlot { block, number: address.slot, slot, itl };
                self.not_now(latched, target, own, compared, session).unwrap_or_else(|| {
                    Decision::Change(plan(latched), SlotAttempt::Ended(Changed::Yes))
                })
            };
            let is_it = |block: &[u8]| self.is_its(block);
            let block = Heap::target(&pin, longest, snapshot, &is_it);
            let tried =
                change_block(&self.transactions, transaction, &block, &mut decide, session)?;
            drop(pin);
            let awaited = match tried {
                ChangeResult::Done(attempt) => return Ok(attempt),
                ChangeResult::Foreign => return Ok(SlotAttempt::Ended(Changed::NotThere)),
                ChangeResult::RowLocked(holder) => Awaited::One(holder, RowWait::Row),
                ChangeResult::ItlFull(holders) => Awaited::Any(holders),
                ChangeResult::NoUndoRoom(bytes) => {
                    undo_bytes = bytes;
                    continue;
                }
                ChangeResult::TooNew => match too_new {
                    Some(why) => return Ok(SlotAttempt::Ended(why)),
                    None => Awaited::Visible,
                },
                ChangeResult::Full => unreachable!("a row without room goes elsewhere"),
            };
            let transactions = &self.transactions;
            if !waiter.wait(&awaited, transactions, transaction, self.object, address, session)? {
                return Ok(SlotAttempt::Ended(Changed::Held));
            }
            if let Some(length) = waiter.waited(session) {
                transaction.has_waited_for(address.block, address.slot, length);
            }
        }
    }

    /// The decision on a slot that may not be changed now; none if it may. `own` sees what the
    /// statement sees, and all that its transaction has done; without it the slot may have any
    /// version.
    fn not_now(
        &self,
        latched: LatchedSlot<'_>,
        target: RowTarget,
        own: Option<View>,
        compared: Option<Compared>,
        session: &Session,
    ) -> Option<Decision<'static, SlotAttempt>> {
        let LatchedSlot { block, slot, itl, .. } = latched;
        let is_there = self.slot_with(block, target.address.slot, target.kind).is_some();
        let is_deleted = slot.flags & DataSlot::DELETED != 0;
        if (is_there || is_deleted)
            && let Some(holder) = itl.holder(block, slot.lock)
        {
            return Some(Decision::Nothing(ChangeResult::RowLocked(holder)));
        }
        // A row that the transaction has locked its own statement may have changed.
        let is_current = own.is_none_or(|own| {
            !itl.owns(slot.lock) && self.is_row_current(block, own, target.address, session)
        });
        let found = compared.filter(|compared| compared.holds(block));
        let why_not = match found {
            _ if is_current => None,
            Some(found) => found.why,
            None => {
                return Some(match compared {
                    None => Decision::Nothing(ChangeResult::Done(SlotAttempt::Compare)),
                    Some(_) if is_there => {
                        Decision::Change(latched.lock(), SlotAttempt::CompareLocked)
                    }
                    // The view has seen the row.
                    Some(_) => ended(Changed::Since),
                });
            }
        };
        why_not.or((!is_there).then_some(Changed::NotThere)).map(ended)
    }
}

/// The decision that ends an attempt without a change.
fn ended(why: Changed) -> Decision<'static, SlotAttempt> {
    Decision::Nothing(ChangeResult::Done(SlotAttempt::Ended(why)))
}

/// The failpoint that lets a transaction change a row that is too new for it, and what the
/// statement is told of such a row; none if it waits until the change is visible.
fn if_too_new(transaction: &Transaction, snapshot: Option<Scn>) -> (Failpoint, Option<Changed>) {
    match transaction.is_serializable() {
        true => (Failpoint::IgnoreFirstUpdater, Some(Changed::TooNew)),
        false => (Failpoint::SkipRestart, snapshot.map(|_| Changed::Since)),
    }
}

/// The own changes of a view that sees all that the transaction has done.
pub(super) fn all_of(transaction: &Transaction, view: View) -> OwnChanges {
    let id = transaction.id().expect("the transaction was prepared");
    // 0 if the transaction had done nothing.
    let before = view.own.map_or(0, |own| own.before);
    OwnChanges { id, before, all: true }
}

/// The own changes of a view that sees what the transaction had done before the view's statement.
fn before_now(transaction: &Transaction, view: View) -> OwnChanges {
    OwnChanges { all: false, ..all_of(transaction, view) }
}
