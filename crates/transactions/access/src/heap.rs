//! Changing one block of a table, or a leaf of an index: the pins, the latches and the group of a
//! change (AC1).
//!
//!   1. the transaction gets a name and room for undo; the block and its undo block are pinned;
//!      credits
//!   2. latch the block; have an entry in its ITL
//!   3. the caller looks at the block, and says by which steps it changes
//!   4. latch the undo block; commit both
//!
//! What stands in the way at 2 or 3 is an outcome: the caller lets go of everything, which it has
//! by then, waits if it must, and begins again.
//!
//! Callers: `rows`; `btree`.

use cache::{Pin, is_unwritten};
use change::{Layer, credits_for};
use format::{BlockHeader, BlockKind, DataHead};
use ids::{Scn, TxnId};
use os::Session;
use stop::Stop;
use txn::{
    ItlAllocation, LockWait, OwnItlEntry, RowRequest, RowWait, RowWanted, Transaction,
    Transactions,
    undo::{TransactionEnd, UndoPointer},
};
use waits::{Nanos, Timestamp, WaitEvent};

use crate::RowAddress;
use crate::ops::Op;

/// So many ended transactions are noted with a change at first; more are if there are more.
const CLEANOUTS: u8 = 16;

/// Which block is to be changed, and how such changes are called.
pub(crate) struct Target<'a> {
    /// It, pinned.
    pub(crate) pin: &'a Pin<'a>,
    /// Whose block it is.
    pub(crate) layer: &'static Layer,
    /// The layer's changes: forward, and back.
    pub(crate) opcodes: (u8, u8),
    /// Steps have at most so many bytes, forward and back.
    pub(crate) longest: usize,
    /// The snapshot of the statement that changes it, if that has one.
    pub(crate) snapshot: Option<Scn>,
    /// Whether it is the block still, now that it is latched.
    pub(crate) is_it: &'a dyn Fn(&[u8]) -> bool,
}

/// How a block changes.
#[derive(Default)]
pub(crate) struct Plan {
    /// Steps.
    pub(crate) forward: Vec<u8>,
    /// Steps that take these back.
    pub(crate) back: Vec<u8>,
    /// Slots that the transaction locks and hadn't locked.
    pub(crate) locks: u16,
    /// Bytes of rows that become free; negative if they are taken (rule txn/BL4).
    pub(crate) freed: isize,
}

impl Plan {
    /// One step, and the one that takes it back; what it locks is to be filled in.
    pub(crate) fn of(forward: Op<'_>, back: Op<'_>, freed: isize) -> Plan {
        let mut plan = Plan { freed, ..Plan::default() };
        forward.write(&mut plan.forward);
        back.write(&mut plan.back);
        plan
    }
}

/// What trying a change came to.
pub(crate) enum Outcome<T> {
    /// It is done, or there was nothing to do.
    Done(T),
    /// Another transaction has the row, and has to end first.
    Wait(TxnId),
    /// The block's list is full of active transactions, these: one of them has to end first.
    WaitForEntry(Vec<TxnId>),
    /// The block was changed since the snapshot (rule txn/TX9).
    TooNew,
    /// There is no room in the block.
    Full,
    /// Its undo has so many bytes, and the transaction's undo block no room for these.
    NoUndo(usize),
    /// It isn't a block of the object, or not the right one any more.
    Foreign,
}

/// What the caller makes of the block.
pub(crate) enum Wish<T> {
    /// Change it so.
    Change(Plan, T),
    /// Don't.
    Nothing(Outcome<T>),
    /// Don't, unless the block's list needn't grow for it.
    NotIfGrows(Outcome<T>),
}

/// What came of a try to change a block.
enum Try<T> {
    Ended(Outcome<T>),
    /// The transaction has no entry in the block's list, but might have that of one of these.
    NoEntry(Outcome<T>, Vec<UndoPointer>),
}

/// Changes the block as `wish` says.
pub(crate) fn change_block<T>(
    transactions: &Transactions,
    transaction: &mut Transaction,
    target: &Target<'_>,
    wish: &mut dyn FnMut(&[u8], &OwnItlEntry) -> Wish<T>,
    session: &Session,
) -> Result<Outcome<T>, Stop> {
    let inexact_ends =
        match try_change_block(transactions, transaction, (target, &[]), wish, session)? {
            Try::Ended(outcome) => return Ok(outcome),
            Try::NoEntry(outcome, ends) if ends.is_empty() => return Ok(outcome),
            Try::NoEntry(_, ends) => ends,
        };
    let known = transactions.exact_ends(&inexact_ends, session)?;
    match try_change_block(transactions, transaction, (target, &known), wish, session)? {
        Try::Ended(outcome) | Try::NoEntry(outcome, _) => Ok(outcome),
    }
}

/// The same, where these transactions are known to have ended by then.
fn try_change_block<T>(
    transactions: &Transactions,
    transaction: &mut Transaction,
    (target, known): (&Target<'_>, &[TransactionEnd]),
    wish: &mut dyn FnMut(&[u8], &OwnItlEntry) -> Wish<T>,
    session: &Session,
) -> Result<Try<T>, Stop> {
    let changes = transactions.changes();
    let id = transaction.id().expect("the transaction was prepared");
    let undo_pins = transactions.undo().pins(transaction.undo(), session)?;
    let (Target { pin, layer, longest, .. }, (change, opcode_back)) = (target, target.opcodes);
    let mut cleanouts = CLEANOUTS;
    loop {
        let takes_over_by = transactions.takes_over_by(transaction, target.snapshot, session);
        let longest_back = OwnItlEntry::BACK_BYTES_MAX + longest;
        let credits = credits_for(&[OwnItlEntry::forward_bytes_max(cleanouts) + longest])
            + transaction.undo().credits(longest_back);
        let mut group = changes.begin(credits, session)?;
        let block = pin.exclusive(layer.order, session);
        if !(target.is_it)(&block) {
            return Ok(Try::Ended(Outcome::Foreign));
        }
        let asked = transactions.allocate_itl_entry(&block, id, takes_over_by, known, session);
        let itl = match asked {
            ItlAllocation::Entry(itl) => itl,
            ItlAllocation::NoRoom(why) if why.is_worth_waiting(transaction.is_serializable()) => {
                return Ok(Try::Ended(Outcome::WaitForEntry(why.holders)));
            }
            ItlAllocation::NoRoom(why) => {
                return Ok(Try::NoEntry(Outcome::TooNew, why.inexact_ends));
            }
        };
        if itl.cleanouts() > cleanouts {
            cleanouts = u8::MAX;
            continue;
        }
        let (plan, done) = match wish(&block, &itl) {
            Wish::Change(plan, done) => (plan, done),
            Wish::Nothing(outcome) => return Ok(Try::Ended(outcome)),
            Wish::NotIfGrows(outcome) => {
                return Ok(Try::NoEntry(outcome, itl.inexact_ends().to_vec()));
            }
        };
        let log = transaction.undo();
        let back = itl.back();
        let undo_bytes = back.len() + plan.back.len();
        if undo_bytes > log.room(changes.cache().block_size().bytes()) {
            return Ok(Try::Ended(Outcome::NoUndo(undo_bytes)));
        }
        let forward = itl.forward(log.next_address(), plan.locks, plan.freed);
        #[cfg(debug_assertions)]
        assert_taken_back(&block, target, [&forward, &plan.forward], [&back, &plan.back]);
        let address = block.address();
        let watch = layer.watch.as_ref().filter(|_| plan.freed > 0);
        let level = watch.map(|watch| (watch, (watch.level)(&block)));
        group.change(block, layer, change, &[&forward, &plan.forward]);
        let undo_payload: [&[u8]; 2] = [&back, &plan.back];
        log.push(&mut group, &undo_pins, address, layer.number, opcode_back, &undo_payload);
        group.commit(session);
        drop(undo_pins);
        if let Some((watch, before)) = level
            && (watch.level)(&pin.shared(layer.order, session)) > before
        {
            (watch.told)(changes, pin, session);
        }
        return Ok(Try::Ended(Outcome::Done(done)));
    }
}

/// Tries a change and what takes it back in a copy of the block: after each of them the block is in
/// order, with what rollbacks need free (rule txn/BL4), and in the end it has its bytes again.
#[cfg(debug_assertions)]
fn assert_taken_back(block: &[u8], target: &Target<'_>, forward: [&[u8]; 2], back: [&[u8]; 2]) {
    let (layer, (opcode, opcode_back)) = (target.layer, target.opcodes);
    let opcode_back = layer.moves.as_ref().map_or(opcode_back, |moves| moves.opcode);
    let mut copy = block.to_vec();
    let mut apply = |opcode, payload: [&[u8]; 2]| {
        let (address, scn) = (target.pin.address(), Scn::ZERO);
        let bytes = &mut copy[..];
        (layer.apply)(change::BlockMut { address, scn, bytes }, opcode, &payload.concat());
        if let Err(what) = txn::block::check(&copy) {
            panic!("change {opcode} of layer {} breaks the block: {what}", layer.name);
        }
        txn::block::used(&copy)
    };
    apply(opcode, forward);
    let (used, was) = (apply(opcode_back, back), txn::block::used(block));
    // A purge of an index's leaf isn't taken back (BT4).
    let purges = layer.moves.is_some() && used < was;
    assert!(used == was || purges, "{used} bytes are used after a rollback, and {was} before");
}

/// Whose end is waited for.
pub(crate) enum Awaited {
    /// Of who has the row, or the key.
    One(TxnId, RowWait),
    /// Of any that has an entry of the block's list.
    Any(Vec<TxnId>),
    /// Of nobody: whoever is in the list has ended, but no snapshot sees it yet.
    Visible,
}

impl Awaited {
    /// Some lock wait, if nobody else is waited for.
    fn needs_nobody(&self) -> Option<LockWait> {
        matches!(self, Awaited::Visible).then_some(LockWait::Forever)
    }
}

/// How a statement waits for rows of a block, and for entries of its list.
pub(crate) struct Waiter {
    /// None: it doesn't wait for others, and is refused nothing.
    lock_wait: Option<LockWait>,
    /// How long the statement had waited for the same before.
    before: Nanos,
    /// Since when it waits, for whichever transactions (rule txn/TX21): so long ago that `before`
    /// is in it.
    began: Option<Timestamp>,
}

impl Waiter {
    pub(crate) fn new(lock_wait: Option<LockWait>) -> Waiter {
        Waiter { lock_wait, before: Nanos::ZERO, began: None }
    }

    /// The same for a statement that has waited so long for the row before.
    pub(crate) fn having_waited(self, before: Nanos) -> Waiter {
        Waiter { before, ..self }
    }

    /// How long it has waited in all, if it has.
    pub(crate) fn waited(&self, session: &Session) -> Option<Nanos> {
        self.began.map(|began| session.now().since(began))
    }

    fn began(&mut self, session: &Session) -> Timestamp {
        let before = self.before.0;
        let began = || session.now().as_nanos().saturating_sub(before);
        *self.began.get_or_insert_with(|| Timestamp::from_nanos(began()))
    }

    /// Waits until a row, or an entry of its block's list, may be had; then the caller looks again.
    /// False if it doesn't wait for others.
    pub(crate) fn wait(
        &mut self,
        awaited: &Awaited,
        (transactions, transaction): (&Transactions, &Transaction),
        (object, RowAddress { block, slot }): (u32, RowAddress),
        session: &Session,
    ) -> Result<bool, Stop> {
        let Some(lock_wait) = self.lock_wait.or(awaited.needs_nobody()) else { return Ok(false) };
        let waiter = transaction.id().expect("who waits for a row has begun");
        let waited = match awaited {
            Awaited::One(holder, what) => {
                let wanted = RowWanted { what: *what, object, block, slot };
                let began = self.began(session);
                let request = RowRequest { waiter, wanted, lock_wait, began };
                transactions.wait_for(&[*holder], &request, session)
            }
            Awaited::Any(holders) => {
                let wanted = RowWanted { what: RowWait::ItlEntry, object, block, slot: 0 };
                let began = self.began(session);
                let request = RowRequest { waiter, wanted, lock_wait, began };
                transactions.wait_for(holders, &request, session)
            }
            Awaited::Visible => wait_for_visible(transactions, session),
        };
        waited.map(|()| true)
    }
}

/// Waits until every end there has been is visible: a block's list has but transactions whose ends
/// the snapshot doesn't see, and that of a rollback may not be durable yet.
pub(crate) fn wait_for_visible(transactions: &Transactions, session: &Session) -> Result<(), Stop> {
    let redo = transactions.changes().redo();
    redo.make_durable(redo.last_scn(session), session, WaitEvent::LogFileSync)
}

/// Whether this is a heap block of the object.
pub(crate) fn is_of(block: &[u8], object: u32) -> bool {
    !is_unwritten(block)
        && BlockHeader::at(block, 0).kind() == BlockKind::Heap
        && DataHead::at(block, DataHead::START).object.get() == object
}
