//! Changing and deleting rows.
//!
//! ```text
//!   whole, and stays so:     one group
//!   whole, but grows too     lock it ──▶ put the new bytes elsewhere ──▶ leave the address
//!   much; or in pieces:      lock it ──▶ delete its pieces ──▶ the same
//! ```
//!
//! A statement that has chosen its rows as of a view says so, and is told where a row was changed
//! since by others: then what it knows of the row isn't true any more, and it begins again (AC9).
//! One that meets a row a second time is told so (AC14).
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
use crate::heap::{Awaited, Outcome, Plan, Waiter, Wish, change_block};
use crate::ops::Op;

/// Which slots are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// Rows, by their first pieces.
    Row,
    /// Further pieces.
    Piece,
}

impl Wanted {
    pub(super) fn flag(self) -> u8 {
        match self {
            Wanted::Row => ROW,
            Wanted::Piece => PIECE,
        }
    }
}

/// What changing a row came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    /// It is done.
    Yes,
    /// There is no such row.
    NotThere,
    /// Others have changed it since the view; nothing was done.
    Since,
    /// So many transactions have changed its block since the transaction's one snapshot that the
    /// block's list has no entry for this one; nothing was done.
    TooNew,
    /// The view's own statement has changed it already; nothing was done.
    Already,
    /// Another transaction has it, or holds up its block; who asked doesn't wait. Nothing was done.
    Held,
}

/// What trying to change a slot came to.
enum Tried<T> {
    Done(T),
    /// Nothing was done.
    Not(Changed),
    /// The row may have another version than the view sees: compare.
    Compare,
    /// The same, and it is locked now: so what a comparison says of it stays true.
    Locked,
}

/// What is to be done with a row.
enum Step {
    /// Nothing more.
    Done,
    /// It is locked, and in pieces: its first bytes, and where it goes on.
    InPieces(Vec<u8>, RowAddress),
    /// It is locked, and gets too long: its new bytes.
    Moves(Vec<u8>),
}

/// How a slot of a block changes, once it may.
type Planner<'a, T> = dyn FnMut(&[u8], DataSlot, &OwnItlEntry) -> Wish<T> + 'a;

/// So often a row is compared with what the view sees, and its block changed by others before the
/// row could be; then the row is locked first. Where 32 sessions change rows of one block, each
/// comparison in vain makes all others wait for the block's latch.
const COMPARED_MAX: u32 = 1;

/// A row of a statement.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) address: RowAddress,
    pub(super) wanted: Wanted,
    /// As of when the statement knows it; none if it has it locked, or wants it as it is.
    view: Option<View>,
    /// The statement's snapshot, if it has one.
    snapshot: Option<Scn>,
    /// How long one waits for it; none if it is passed by while others have it.
    lock_wait: Option<LockWait>,
}

impl Target {
    /// A row of a statement that waits as long as it takes.
    pub(super) fn row(address: RowAddress, view: Option<View>) -> Target {
        let snapshot = view.map(|view| view.scn);
        Target { address, wanted: Wanted::Row, view, snapshot, lock_wait: Some(LockWait::Forever) }
    }

    /// The same with less lock wait.
    pub(super) fn within(self, lock_wait: Option<LockWait>) -> Target {
        Target { lock_wait, ..self }
    }

    /// What is at this address of a row that the same statement has locked.
    fn of_locked(self, wanted: Wanted, address: RowAddress) -> Target {
        Target { address, wanted, view: None, ..self }
    }
}

impl Heap {
    /// Changes a row: `change` is given its bytes and makes the new ones; it only computes, and may
    /// be called again. Waits while another transaction has the row. If `view` is given, only a row
    /// that is as the view sees it is changed.
    pub fn update(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        (address, view): (RowAddress, Option<View>),
        change: &mut dyn FnMut(&[u8], &mut Vec<u8>),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let savepoint = transaction.savepoint();
        let target = Target::row(address, view).within(Some(transaction.lock_wait()));
        let updated = self.update_target(transaction, (inserter, target), change, session);
        if !matches!(updated, Ok(Changed::Yes)) {
            self.transactions.rollback_to(transaction, savepoint, session)?;
        }
        updated
    }

    fn update_target(
        &self,
        transaction: &mut Transaction,
        (inserter, target): (&mut HeapInserter, Target),
        change: &mut dyn FnMut(&[u8], &mut Vec<u8>),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let mut new = Vec::new();
        let mut plan = |block: &[u8], slot: DataSlot, itl: &OwnItlEntry| {
            let piece = piece_of(block, slot);
            if let Some(next) = piece.next {
                let locked = lock_plan(target.address.slot, slot, itl);
                return Wish::Change(locked, Step::InPieces(piece.data.to_vec(), next));
            }
            new.clear();
            change(piece.data, &mut new);
            match self.plan_in_place((block, target.address.slot, slot), &new, itl) {
                Some(plan) => Wish::Change(plan, Step::Done),
                None => {
                    let locked = lock_plan(target.address.slot, slot, itl);
                    Wish::Change(locked, Step::Moves(new.clone()))
                }
            }
        };
        let step = match self.change_slot(transaction, target, &mut plan, session)? {
            Ok(step) => step,
            Err(why) => return Ok(why),
        };
        let new = match step {
            Step::Done => return Ok(Changed::Yes),
            Step::Moves(new) => new,
            Step::InPieces(data, next) => {
                let (row, pieces) = self.gather(data, next, session)?;
                let mut new = Vec::new();
                change(&row, &mut new);
                if new == row {
                    return Ok(Changed::Yes);
                }
                if let Err(why) = self.delete_pieces(transaction, target, pieces, session)? {
                    return Ok(why);
                }
                new
            }
        };
        self.put_elsewhere(transaction, (inserter, target), &new, session)?;
        Ok(Changed::Yes)
    }

    /// Deletes a row. Waits while another transaction has it.
    pub fn delete(
        &self,
        transaction: &mut Transaction,
        (address, view): (RowAddress, Option<View>),
        session: &Session,
    ) -> Result<Changed, Stop> {
        self.delete_seen(transaction, (address, view), &mut |_| {}, session)
    }

    /// The same; `look` is given the row that is deleted. It only computes, and may be called
    /// again.
    pub fn delete_seen(
        &self,
        transaction: &mut Transaction,
        (address, view): (RowAddress, Option<View>),
        look: &mut dyn FnMut(&[u8]),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let savepoint = transaction.savepoint();
        let target = Target::row(address, view).within(Some(transaction.lock_wait()));
        let deleted = self.delete_target(transaction, target, look, session);
        if !matches!(deleted, Ok(Changed::Yes)) {
            self.transactions.rollback_to(transaction, savepoint, session)?;
        }
        deleted
    }

    fn delete_target(
        &self,
        transaction: &mut Transaction,
        target: Target,
        look: &mut dyn FnMut(&[u8]),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let mut plan = |block: &[u8], slot: DataSlot, itl: &OwnItlEntry| {
            let piece = piece_of(block, slot);
            let next = piece.next.map(|next| (piece.data.to_vec(), next));
            if next.is_none() {
                look(piece.data);
            }
            let stub = stub_plan((block, target.address.slot, slot), itl);
            Wish::Change(stub, next)
        };
        let next = match self.change_slot(transaction, target, &mut plan, session)? {
            Ok(next) => next,
            Err(why) => return Ok(why),
        };
        if let Some((data, next)) = next {
            let (row, pieces) = self.gather(data, next, session)?;
            look(&row);
            if let Err(why) = self.delete_pieces(transaction, target, pieces, session)? {
                return Ok(why);
            }
        }
        Ok(Changed::Yes)
    }

    /// The whole of a row that the transaction has locked, as it is now, and where its further
    /// pieces are.
    pub(super) fn gather(
        &self,
        mut row: Vec<u8>,
        next: RowAddress,
        session: &Session,
    ) -> Result<(Vec<u8>, Vec<RowAddress>), Stop> {
        let (mut pieces, mut next) = (Vec::new(), Some(next));
        while let Some(at) = next {
            let look = |block: &[u8]| {
                let slot = self.slot_with(block, at.slot, Wanted::Piece)?;
                let Piece { data, next } = piece_of(block, slot);
                row.extend_from_slice(data);
                Some(next)
            };
            let found = self.look_now(at.block, look, session)?;
            pieces.push(at);
            next = found.ok_or_else(|| self.no_piece(at))?;
        }
        Ok((row, pieces))
    }

    /// Puts a row that is locked, and doesn't fit where it was, elsewhere, and leaves the address
    /// in its place.
    fn put_elsewhere(
        &self,
        transaction: &mut Transaction,
        (inserter, target): (&mut HeapInserter, Target),
        new: &[u8],
        session: &Session,
    ) -> Result<(), Stop> {
        let to = (inserter, target.snapshot);
        let first = self.put_in_pieces(transaction, to, (PIECE, new), session)?;
        let to = stored(first);
        let mut plan = |block: &[u8], slot: DataSlot, itl: &OwnItlEntry| {
            let what = (ROW | NEXT, &to[..]);
            Wish::Change(replace_plan((block, target.address.slot, slot), what, itl), ())
        };
        let target = target.of_locked(Wanted::Row, target.address);
        match self.change_slot(transaction, target, &mut plan, session)? {
            Ok(()) => Ok(()),
            _ => unreachable!("the row is locked, and has room for an address"),
        }
    }

    /// Deletes the further pieces of a row that is locked. Not if the list of one's block can't
    /// take the transaction, for others have changed it since.
    fn delete_pieces(
        &self,
        transaction: &mut Transaction,
        target: Target,
        pieces: Vec<RowAddress>,
        session: &Session,
    ) -> Result<Result<(), Changed>, Stop> {
        for address in pieces {
            let mut plan = |block: &[u8], slot: DataSlot, itl: &OwnItlEntry| {
                Wish::Change(stub_plan((block, address.slot, slot), itl), ())
            };
            let target = target.of_locked(Wanted::Piece, address);
            match self.change_slot(transaction, target, &mut plan, session)? {
                Ok(()) => {}
                Err(why @ (Changed::Since | Changed::TooNew)) => return Ok(Err(why)),
                Err(_) => return Err(self.no_piece(address)),
            }
        }
        Ok(Ok(()))
    }

    /// How a row in this slot becomes another where it is; none if that has no room.
    fn plan_in_place(
        &self,
        (block, number, slot): (&[u8], u16, DataSlot),
        new: &[u8],
        itl: &OwnItlEntry,
    ) -> Option<Plan> {
        let old = block::bytes_of(block, slot);
        let (short, bytes) = whole(new);
        let grows = bytes.len().saturating_sub(old.len());
        if bytes.len() > self.piece_max || grows > itl.room(block) {
            return None;
        }
        let (lock, before) = locks(slot, itl);
        let freed = old.len() as isize - bytes.len() as isize;
        let was_short = slot.flags & !ROW;
        if short != was_short {
            return Some(replace_plan((block, number, slot), (ROW | short, &bytes), itl));
        }
        let (forward, back) = splices((number, lock, before), old, &bytes);
        let locks = u16::from(!itl.owns(slot.lock));
        Some(Plan { locks, ..Plan::of(forward, back, freed) })
    }

    /// Changes one slot as `plan` says, once it is as the target's view sees it and nobody else has
    /// it; or why not.
    pub(super) fn change_slot<T>(
        &self,
        transaction: &mut Transaction,
        target: Target,
        plan: &mut Planner<'_, T>,
        session: &Session,
    ) -> Result<Result<T, Changed>, Stop> {
        let (mut compared, mut times) = (None, 0);
        loop {
            let known = (compared, times >= COMPARED_MAX);
            match self.try_slot(transaction, (target, known), plan, session)? {
                Tried::Not(why) => return Ok(Err(why)),
                Tried::Done(made) => return Ok(Ok(made)),
                Tried::Compare | Tried::Locked => {}
            }
            times += 1;
            let view = target.view.expect("only what a view sees is compared");
            let own = before_now(transaction, view);
            let view = View { own: Some(own), ..view };
            compared = Some(self.compare(target, (view, own.id), session)?);
        }
    }

    /// With what a comparison has found, if there was one; what has to be compared is locked first
    /// if it is said.
    fn try_slot<T>(
        &self,
        transaction: &mut Transaction,
        (target, (compared, locks)): (Target, (Option<Compared>, bool)),
        plan: &mut Planner<'_, T>,
        session: &Session,
    ) -> Result<Tried<T>, Stop> {
        let longest = Op::HEAD_BYTES_MAX + self.piece_max;
        let Target { address, view, lock_wait, snapshot, .. } = target;
        let waited = transaction.waited_for(address.block, address.slot);
        let mut waiter = Waiter::new(lock_wait).having_waited(waited);
        let (failpoint, too_new) = if_too_new(transaction, snapshot);
        // Most need little; who needs more is told so.
        let mut undo_bytes = OwnItlEntry::BACK_BYTES_MAX + Op::HEAD_BYTES_MAX;
        loop {
            self.transactions.prepare(transaction, undo_bytes, session)?;
            let own = view.map(|view| View { own: Some(all_of(transaction, view)), ..view });
            let cache = self.transactions.changes().cache();
            let pin = cache.pin_or_unwritten(address.block, session)?;
            let mut wish = |block: &[u8], itl: &OwnItlEntry| {
                let slot = self.slot(block, address.slot).unwrap_or(DataSlot::FREE);
                let (latched, seen) = ((block, slot, itl), (target, own, failpoint));
                if let Some(not) = self.not_now(latched, seen, (compared, locks), session) {
                    return not;
                }
                match plan(block, slot, itl) {
                    Wish::Change(plan, made) => Wish::Change(plan, Tried::Done(made)),
                    _ => unreachable!("what may be changed is"),
                }
            };
            let is_it = |block: &[u8]| self.is_its(block);
            let target = Heap::target(&pin, (longest, snapshot), &is_it);
            let tried = change_block(&self.transactions, transaction, &target, &mut wish, session)?;
            drop(pin);
            let awaited = match tried {
                Outcome::Done(slot) => return Ok(slot),
                Outcome::Foreign => return Ok(Tried::Not(Changed::NotThere)),
                Outcome::Wait(holder) => Awaited::One(holder, RowWait::Row),
                Outcome::WaitForEntry(holders) => Awaited::Any(holders),
                Outcome::NoUndo(bytes) => {
                    undo_bytes = bytes;
                    continue;
                }
                Outcome::TooNew => match too_new {
                    Some(why) => return Ok(Tried::Not(why)),
                    None => Awaited::Visible,
                },
                Outcome::Full => unreachable!("what has no room goes elsewhere"),
            };
            let (whose, place) = ((&self.transactions, &*transaction), (self.object, address));
            if !waiter.wait(&awaited, whose, place, session)? {
                return Ok(Tried::Not(Changed::Held));
            }
            if let Some(length) = waiter.waited(session) {
                transaction.has_waited_for(address.block, address.slot, length);
            }
        }
    }
}

impl Heap {
    /// What is done with a slot of a latched block instead of changing it, if it may not be changed
    /// now. `own` sees what the statement does and all that its transaction has done.
    fn not_now<T>(
        &self,
        (block, slot, itl): (&[u8], DataSlot, &OwnItlEntry),
        (target, own, failpoint): (Target, Option<View>, Failpoint),
        (compared, locks): (Option<Compared>, bool),
        session: &Session,
    ) -> Option<Wish<Tried<T>>> {
        let address = target.address;
        let is_there = self.slot_with(block, address.slot, target.wanted).is_some();
        let is_deleted = slot.flags & DataSlot::DELETED != 0;
        if (is_there || is_deleted)
            && let Some(holder) = itl.holder(block, slot.lock)
        {
            return Some(Wish::Nothing(Outcome::Wait(holder)));
        }
        // What it has locked itself its statement may have changed.
        let is_same =
            |own| !itl.owns(slot.lock) && self.is_row_current(block, (own, address), session);
        let same = own.is_none_or(is_same) || self.transactions.failpoints().has(failpoint);
        let compared = compared.filter(|compared| compared.holds(block));
        Some(match why_not(compared, same, is_there)? {
            Tried::Compare if locks && is_there => {
                Wish::Change(lock_plan(address.slot, slot, itl), Tried::Locked)
            }
            // The view has seen the row.
            Tried::Compare if locks => Wish::Nothing(Outcome::Done(Tried::Not(Changed::Since))),
            not => Wish::Nothing(Outcome::Done(not)),
        })
    }
}

/// What lets a transaction change what is too new for it, and what it is told of that; nothing if
/// it waits until that is visible.
fn if_too_new(transaction: &Transaction, snapshot: Option<Scn>) -> (Failpoint, Option<Changed>) {
    match transaction.is_serializable() {
        true => (Failpoint::IgnoreFirstUpdater, Some(Changed::TooNew)),
        false => (Failpoint::SkipRestart, snapshot.map(|_| Changed::Since)),
    }
}

/// Why a slot isn't changed, if it isn't: `same` says that a view sees it as it is, `compared` what
/// a comparison found otherwise.
fn why_not<T>(compared: Option<Compared>, same: bool, is_there: bool) -> Option<Tried<T>> {
    let why = match compared {
        _ if same => None,
        Some(compared) => compared.why,
        None => return Some(Tried::Compare),
    };
    why.or((!is_there).then_some(Changed::NotThere)).map(Tried::Not)
}

/// The lock of a slot that is changed, and what it is when that is taken back.
fn locks(slot: DataSlot, itl: &OwnItlEntry) -> (u8, u8) {
    (itl.lock(), itl.lock_before(slot.lock))
}

pub(super) fn lock_plan(number: u16, slot: DataSlot, itl: &OwnItlEntry) -> Plan {
    let (lock, before) = locks(slot, itl);
    let to = |lock| Op::Lock { slot: number, lock };
    Plan { locks: u16::from(!itl.owns(slot.lock)), ..Plan::of(to(lock), to(before), 0) }
}

fn stub_plan((block, number, slot): (&[u8], u16, DataSlot), itl: &OwnItlEntry) -> Plan {
    let (lock, before) = locks(slot, itl);
    let bytes = block::bytes_of(block, slot);
    let back = Op::Put { slot: number, flags: slot.flags, lock: before, bytes };
    let plan = Plan::of(Op::Stub { slot: number, lock }, back, bytes.len() as isize);
    Plan { locks: u16::from(!itl.owns(slot.lock)), ..plan }
}

fn replace_plan(
    (block, number, slot): (&[u8], u16, DataSlot),
    (flags, bytes): (u8, &[u8]),
    itl: &OwnItlEntry,
) -> Plan {
    let (lock, before) = locks(slot, itl);
    let old = block::bytes_of(block, slot);
    let forward = Op::Replace { slot: number, flags, lock, bytes };
    let back = Op::Replace { slot: number, flags: slot.flags, lock: before, bytes: old };
    let plan = Plan::of(forward, back, old.len() as isize - bytes.len() as isize);
    Plan { locks: u16::from(!itl.owns(slot.lock)), ..plan }
}

/// All that the transaction has done is seen.
pub(super) fn all_of(transaction: &Transaction, view: View) -> OwnChanges {
    let id = transaction.id().expect("the transaction was prepared");
    // None if it had done nothing.
    let before = view.own.map_or(0, |own| own.before);
    OwnChanges { id, before, all: true }
}

/// What it had done when the view's statement began is seen.
fn before_now(transaction: &Transaction, view: View) -> OwnChanges {
    OwnChanges { all: false, ..all_of(transaction, view) }
}
