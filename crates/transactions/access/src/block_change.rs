//! Changing one block of a table, or one leaf of an index: the pins, the latches and the group of
//! the change (AC1, AC29).
//!
//!   1. the transaction gets a name and room for undo; the block and its undo block are pinned;
//!      redo credits are taken
//!   2. the block is latched, and the transaction gets an entry in its ITL
//!   3. the caller looks at the block and decides by which steps it changes
//!   4. the undo block is latched; both changes commit as one group
//!
//! An obstacle at step 2 or 3 is returned as a [`ChangeResult`]. By then every latch, pin and
//! credit is released: the caller waits if it has to, and begins again.
//!
//! Callers: `rows`; `btree`.

use std::borrow::Cow;

use cache::Pin;
use change::{Layer, credits_for};
use format::FewBytes;
use ids::{Scn, TxnId};
use os::Session;
use stop::Stop;
use txn::undo::{TransactionEnd, UndoPointer};
use txn::{
    ItlAllocation, LockWait, OwnItlEntry, RowRequest, RowWait, RowWanted, Transaction, Transactions,
};
use waits::{Nanos, Timestamp, WaitEvent};

use crate::RowAddress;
use crate::ops::Op;

/// How many ended transactions a change notes in the ITL at first. A second try has no limit.
const CLEANOUTS: u8 = 16;

/// The block to be changed, and the opcodes and size of its changes.
pub(crate) struct BlockTarget<'a> {
    /// The block, pinned.
    pub(crate) pin: &'a Pin<'a>,
    /// The layer that owns the block.
    pub(crate) layer: &'static Layer,
    /// The layer's opcodes: of a change, and of the undo that takes it back.
    pub(crate) opcodes: (u8, u8),
    /// The most bytes of steps, forward and back.
    pub(crate) longest: usize,
    /// The snapshot of the statement, if it has one.
    pub(crate) snapshot: Option<Scn>,
    /// Whether the latched block is still the one that was looked for.
    pub(crate) is_it: &'a dyn Fn(&[u8]) -> bool,
}

/// How many bytes of steps are kept in place: those of a step of a short row, or of an index's undo
/// with a short key.
const FEW: usize = 48;

/// The bytes of steps: a few in place, and those behind them, which may be borrowed.
pub(crate) struct StepBytes<'p> {
    few: FewBytes<FEW>,
    more: Cow<'p, [u8]>,
}

impl<'p> StepBytes<'p> {
    pub(crate) const NONE: StepBytes<'static> =
        StepBytes { few: FewBytes::NONE, more: Cow::Borrowed(&[]) };

    /// Copies bytes behind those that are there.
    #[inline]
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        match self.more.is_empty() && bytes.len() <= self.few.room() {
            true => self.few.append(bytes),
            false => self.more.to_mut().extend_from_slice(bytes),
        }
    }

    /// Copies a step behind those that are there.
    #[inline]
    pub(crate) fn push(&mut self, step: Op<'_>) {
        let (head, bytes) = step.parts();
        self.append(&head);
        self.append(bytes);
    }

    /// These bytes, which are few, and then others, which are borrowed.
    #[inline]
    pub(crate) fn of(few: &[u8], more: &'p [u8]) -> StepBytes<'p> {
        let mut steps = StepBytes { more: Cow::Borrowed(more), ..StepBytes::NONE };
        steps.few.append(few);
        steps
    }

    /// The steps, with the bytes of this last one borrowed.
    #[inline]
    pub(crate) fn with_last(mut self, step: Op<'p>) -> StepBytes<'p> {
        let (head, bytes) = step.parts();
        self.append(&head);
        match self.more.is_empty() {
            true => self.more = Cow::Borrowed(bytes),
            false => self.append(bytes),
        }
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.few.len() + self.more.len()
    }

    /// The bytes, in two parts.
    #[inline]
    pub(crate) fn parts(&self) -> [&[u8]; 2] {
        [&self.few, &self.more]
    }
}

impl From<Vec<u8>> for StepBytes<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        StepBytes { more: Cow::Owned(bytes), ..StepBytes::NONE }
    }
}

/// How a block changes.
pub(crate) struct Plan<'p> {
    /// The steps of the change.
    pub(crate) forward: StepBytes<'p>,
    /// The steps that take it back.
    pub(crate) back: StepBytes<'p>,
    /// How many slots the change locks that the transaction hadn't locked before.
    pub(crate) locks: u16,
    /// Bytes of rows that become free; negative if bytes are taken (rule txn/BL4).
    pub(crate) freed: isize,
}

impl Plan<'_> {
    /// No change.
    pub(crate) const NONE: Plan<'static> =
        Plan { forward: StepBytes::NONE, back: StepBytes::NONE, locks: 0, freed: 0 };

    /// One step, and the one that takes it back, copied. The caller fills in `locks`.
    pub(crate) fn of(forward: Op<'_>, back: Op<'_>, freed: isize) -> Plan<'static> {
        let mut plan = Plan { freed, ..Plan::NONE };
        plan.forward.push(forward);
        plan.back.push(back);
        plan
    }
}

/// How an attempt to change a block ended.
pub(crate) enum ChangeResult<T> {
    /// The block is changed, or there was nothing to do.
    Done(T),
    /// This active transaction holds the row: it has to end first.
    RowLocked(TxnId),
    /// The block's ITL is full of these active transactions: one of them has to end first.
    ItlFull(Vec<TxnId>),
    /// The block was changed since the snapshot (rule txn/TX9).
    TooNew,
    /// The block has no room.
    Full,
    /// The undo of the change has this many bytes, and the transaction's undo block has no room
    /// for them.
    NoUndoRoom(usize),
    /// The block isn't the object's, or not the one that was looked for any more.
    Foreign,
}

/// What the caller decides when it sees the latched block.
pub(crate) enum Decision<'p, T> {
    /// Change the block by this plan.
    Change(Plan<'p>, T),
    /// Change nothing.
    Nothing(ChangeResult<T>),
    /// Change nothing, unless the transaction gets an entry without growing the ITL.
    NothingIfItlGrows(ChangeResult<T>),
}

/// The result of one attempt to change a block.
enum Attempt<T> {
    Ended(ChangeResult<T>),
    /// The transaction has no ITL entry. The undo that these point to says when transactions in the
    /// ITL ended: one may have ended early enough for its entry to be taken over.
    NoItlEntry(ChangeResult<T>, Vec<UndoPointer>),
}

/// Changes the block as `decide` says.
pub(crate) fn change_block<'p, T>(
    transactions: &Transactions,
    transaction: &mut Transaction,
    target: &BlockTarget<'_>,
    decide: &mut dyn FnMut(&[u8], &OwnItlEntry) -> Decision<'p, T>,
    session: &Session,
) -> Result<ChangeResult<T>, Stop> {
    let ends = match try_change_block(transactions, transaction, target, &[], decide, session)? {
        Attempt::Ended(result) => return Ok(result),
        Attempt::NoItlEntry(result, ends) if ends.is_empty() => return Ok(result),
        Attempt::NoItlEntry(_, ends) => ends,
    };
    let known = transactions.exact_ends(&ends, session)?;
    match try_change_block(transactions, transaction, target, &known, decide, session)? {
        Attempt::Ended(result) | Attempt::NoItlEntry(result, _) => Ok(result),
    }
}

/// Tries to change the block. `known` has the ends of transactions that undo has told.
fn try_change_block<'p, T>(
    transactions: &Transactions,
    transaction: &mut Transaction,
    target: &BlockTarget<'_>,
    known: &[TransactionEnd],
    decide: &mut dyn FnMut(&[u8], &OwnItlEntry) -> Decision<'p, T>,
    session: &Session,
) -> Result<Attempt<T>, Stop> {
    let changes = transactions.changes();
    let id = transaction.id().expect("the transaction was prepared");
    let undo_pins = transactions.undo().pins(transaction.undo(), session)?;
    let (BlockTarget { pin, layer, longest, .. }, (change, opcode_back)) = (target, target.opcodes);
    let mut cleanouts = CLEANOUTS;
    loop {
        let takes_over_by = transactions.takes_over_by(transaction, target.snapshot, session);
        let longest_back = OwnItlEntry::BACK_BYTES_MAX + longest;
        let credits = credits_for(&[OwnItlEntry::forward_bytes_max(cleanouts) + longest])
            + transaction.undo().credits(longest_back);
        let mut group = changes.begin(credits, session)?;
        let block = pin.exclusive(layer.order, session);
        if !(target.is_it)(&block) {
            return Ok(Attempt::Ended(ChangeResult::Foreign));
        }
        let found = transactions.allocate_itl_entry(&block, id, takes_over_by, known, session);
        // What is found is large, and isn't moved: neither is the decision.
        let itl = match &found {
            ItlAllocation::Entry(itl) => itl,
            ItlAllocation::NoRoom(why) if why.is_worth_waiting(transaction.is_serializable()) => {
                return Ok(Attempt::Ended(ChangeResult::ItlFull(why.holders.clone())));
            }
            ItlAllocation::NoRoom(why) => {
                return Ok(Attempt::NoItlEntry(ChangeResult::TooNew, why.inexact_ends.clone()));
            }
        };
        if itl.cleanouts() > cleanouts {
            cleanouts = u8::MAX;
            continue;
        }
        let decision = decide(&block, itl);
        let Decision::Change(plan, _) = &decision else {
            return Ok(decision.into_attempt(itl));
        };
        let log = transaction.undo();
        let back = itl.back();
        let undo_bytes = back.len() + plan.back.len();
        if undo_bytes > log.room(changes.cache().block_size().bytes()) {
            return Ok(Attempt::Ended(ChangeResult::NoUndoRoom(undo_bytes)));
        }
        let head = itl.forward(log.next_address(), plan.locks, plan.freed);
        let [few, more] = plan.forward.parts();
        let forward: [&[u8]; 4] = [head.bytes(), itl.cleanout_bytes(), few, more];
        let [few, more] = plan.back.parts();
        let undo: [&[u8]; 3] = [&back, few, more];
        #[cfg(debug_assertions)]
        assert_taken_back(&block, target, &forward.concat(), &undo.concat());
        let address = block.address();
        let watch = layer.watch.as_ref().filter(|_| plan.freed > 0);
        let level = watch.map(|watch| (watch, (watch.level)(&block)));
        group.change(block, layer, change, &forward);
        log.push(&mut group, &undo_pins, address, layer.number, opcode_back, &undo);
        group.commit(session);
        drop(undo_pins);
        if let Some((watch, before)) = level
            && (watch.level)(&pin.shared(layer.order, session)) > before
        {
            (watch.told)(changes, pin, session);
        }
        return Ok(decision.into_attempt(itl));
    }
}

impl<T> Decision<'_, T> {
    /// How the attempt ends whose decision this is, once a change is made.
    fn into_attempt(self, itl: &OwnItlEntry) -> Attempt<T> {
        match self {
            Decision::Change(_, done) => Attempt::Ended(ChangeResult::Done(done)),
            Decision::Nothing(result) => Attempt::Ended(result),
            Decision::NothingIfItlGrows(result) => {
                Attempt::NoItlEntry(result, itl.inexact_ends().to_vec())
            }
        }
    }
}

/// Applies a change, and the undo that takes it back, to a copy of the block. After each of them
/// the block is in order and has free what rollbacks need (rule txn/BL4). In the end as many bytes
/// are in use as before (AC17).
#[cfg(debug_assertions)]
fn assert_taken_back(block: &[u8], target: &BlockTarget<'_>, forward: &[u8], back: &[u8]) {
    let (layer, (opcode, opcode_back)) = (target.layer, target.opcodes);
    let mut copy = block.to_vec();
    let apply = |copy: &mut Vec<u8>, opcode, payload: &[u8]| {
        let (address, scn) = (target.pin.address(), Scn::ZERO);
        let bytes = &mut copy[..];
        (layer.apply)(change::BlockMut { address, scn, bytes }, opcode, payload);
        if let Err(what) = txn::block::check(copy) {
            panic!("change {opcode} of layer {} breaks the block: {what}", layer.name);
        }
    };
    apply(&mut copy, opcode, forward);
    let (opcode_back, back) = match &layer.moves {
        None => (opcode_back, back.into()),
        Some(moves) => {
            let part = (moves.part)(&copy, opcode_back, back).expect("the block has what changed");
            assert!(part.rest.is_none(), "all of a change is in its block at first");
            part.change
                .map(|(opcode, payload)| (opcode, payload.into_owned().into()))
                .expect("it is there")
        }
    };
    let back: Cow<'_, [u8]> = back;
    apply(&mut copy, opcode_back, &back);
    let (used, was) = (txn::block::used(&copy), txn::block::used(block));
    // A purge of an index's leaf isn't taken back (BT17).
    let purges = layer.moves.is_some() && used < was;
    assert!(used == was || purges, "{used} bytes are used after a rollback, and {was} before");
}

/// What a statement waits for before it looks at a block again.
pub(crate) enum Awaited {
    /// The end of the transaction that holds the row or the key.
    One(TxnId, RowWait),
    /// The end of any of these transactions, which have entries in the block's ITL.
    Any(Vec<TxnId>),
    /// Visibility: all transactions in the ITL have ended, but no snapshot sees their ends yet.
    Visible,
}

/// How a statement waits for rows of a block, and for entries of its ITL.
pub(crate) struct Waiter {
    /// None: the statement waits for no other transaction, and isn't refused for that.
    lock_wait: Option<LockWait>,
    /// How long the statement had waited for the same row before.
    before: Nanos,
    /// When the wait began, for whichever transactions (rule txn/TX21). `before` is included: the
    /// moment is earlier by that much.
    began: Option<Timestamp>,
}

impl Waiter {
    pub(crate) fn new(lock_wait: Option<LockWait>) -> Waiter {
        Waiter { lock_wait, before: Nanos::ZERO, began: None }
    }

    /// The waiter of a statement that has waited for the row before, for this long.
    pub(crate) fn having_waited(self, before: Nanos) -> Waiter {
        Waiter { before, ..self }
    }

    /// How long the statement has waited in all; none if it hasn't.
    pub(crate) fn waited(&self, session: &Session) -> Option<Nanos> {
        self.began.map(|began| session.now().since(began))
    }

    fn began(&mut self, session: &Session) -> Timestamp {
        let before = self.before.0;
        let began = || session.now().as_nanos().saturating_sub(before);
        *self.began.get_or_insert_with(|| Timestamp::from_nanos(began()))
    }

    /// Waits until the row, or an entry in the ITL of its block, may be free; then the caller looks
    /// again. False if this waiter doesn't wait for other transactions.
    pub(crate) fn wait(
        &mut self,
        awaited: &Awaited,
        transactions: &Transactions,
        transaction: &Transaction,
        object: u32,
        row: RowAddress,
        session: &Session,
    ) -> Result<bool, Stop> {
        let (holders, what, slot) = match awaited {
            Awaited::One(holder, what) => (std::slice::from_ref(holder), *what, row.slot),
            Awaited::Any(holders) => (&holders[..], RowWait::ItlEntry, 0),
            Awaited::Visible => return wait_for_visible(transactions, session).map(|()| true),
        };
        let Some(lock_wait) = self.lock_wait else { return Ok(false) };
        let waiter = transaction.id().expect("a transaction that waits for a row has begun");
        let wanted = RowWanted { what, object, block: row.block, slot };
        let request = RowRequest { waiter, wanted, lock_wait, began: self.began(session) };
        transactions.wait_for(holders, &request, session).map(|()| true)
    }
}

/// Waits until every end so far is visible. The ITL has only transactions whose ends no snapshot
/// sees: that of a rollback may not be durable yet.
pub(crate) fn wait_for_visible(transactions: &Transactions, session: &Session) -> Result<(), Stop> {
    let redo = transactions.changes().redo();
    redo.make_durable(redo.last_scn(session), session, WaitEvent::LogFileSync)
}
