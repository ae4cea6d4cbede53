//! Who is active, and who waits for whom (rules TX1, TX3).
//!
//! Asked for every row that is touched, so the answer costs one load. Waiting is rare and goes
//! through one latch.

use latch::{Condition, Latch, LatchKind, Shared32, Shared64, assert_none_held};
use os::{Os, Session};
use stop::{Halt, RefusalKind, Stop};
use waits::{Nanos, WaitEvent};

use ids::TxnId;

/// "TX" and the exclusive mode, as p1 of the wait shows them.
const TX_EXCLUSIVE: u64 = 0x5458_0006;

/// A session pins at most so many blocks at once while it works for a transaction (rule TX5).
const PINS_MAX: u32 = 3;

/// A sleeper looks up so often, should it ever be forgotten.
const LOOK_UP: Nanos = Nanos::from_secs(3);

/// The slots of all undo segments in memory.
pub struct Active {
    slots_per_segment: u16,
    /// So many may be active at once (rule TX5).
    most: usize,
    /// For each slot the sequence of its active transaction, or 0.
    sequences: Vec<Shared64>,
    /// Transactions that wait for each slot's to end.
    waiters: Vec<Shared32>,
    ended: Vec<Condition>,
    state: Latch<State>,
    halt: Halt,
}

struct State {
    /// Slots that nobody has, taken from the end. Segments take turns.
    free: Vec<u32>,
    /// None begins any more: the instance is being shut.
    closed: bool,
    /// For each slot, the transaction that its own waits for. Of one that sleeps no more this may
    /// have ended, and its slot may have another.
    waits_for: Vec<Option<TxnId>>,
}

impl Active {
    /// Nobody is active. `buffers` is how many the cache has.
    pub fn new(os: &Os, segments: u16, slots: u16, buffers: u32, halt: Halt) -> Active {
        let count = u32::from(segments) * u32::from(slots);
        let mut free: Vec<u32> = (0..count).collect();
        // Neighbours are of different segments: the first to come don't meet in one table's block.
        free.sort_by_key(|number| std::cmp::Reverse((number % u32::from(slots), *number)));
        let state = State { free, closed: false, waits_for: (0..count).map(|_| None).collect() };
        Active {
            slots_per_segment: slots,
            // One more for each: so there is always one that nobody has pinned.
            most: (buffers / (PINS_MAX + 1)) as usize,
            sequences: (0..count).map(|_| Shared64::new(0)).collect(),
            waiters: (0..count).map(|_| Shared32::new(0)).collect(),
            ended: (0..count).map(|_| Condition::new(os)).collect(),
            state: Latch::new(os, LatchKind::Innermost, state),
            halt,
        }
    }

    /// Whether this transaction is active.
    #[inline]
    pub fn is_active(&self, id: TxnId, session: &Session) -> bool {
        self.sequences[self.number(id) as usize].load(session) == u64::from(id.sequence)
    }

    /// Every transaction that is active, in order. One that isn't among them, and has changed
    /// something before this call, has ended: what it changed stays, or was taken back already.
    pub fn all(&self, session: &Session) -> Vec<TxnId> {
        let slots = self.sequences.iter().zip(0_u32..);
        let named = slots.map(|(sequence, number)| (sequence.load(session), number));
        let active = named.filter(|(sequence, _)| *sequence != 0);
        let id = |(sequence, number): (u64, u32)| {
            let slots = u32::from(self.slots_per_segment);
            let (segment, slot) = ((number / slots) as u16, (number % slots) as u16);
            let sequence = u32::try_from(sequence).expect("it was that of a transaction");
            TxnId { segment, slot, sequence }
        };
        active.map(id).collect()
    }

    /// A slot that nobody has: segment and slot.
    pub(crate) fn take_slot(&self, session: &Session) -> Result<(u16, u16), Stop> {
        let mut state = self.state.exclusive(session);
        if state.closed {
            let message = "cannot begin a transaction: the instance is being shut down";
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        let active = self.sequences.len() - state.free.len();
        let what = match state.free.pop() {
            Some(number) if active < self.most => {
                let slots = u32::from(self.slots_per_segment);
                return Ok(((number / slots) as u16, (number % slots) as u16));
            }
            Some(number) => {
                state.free.push(number);
                "the cache has no buffers for more; end transactions, or raise db_cache_size"
            }
            None => {
                "the undo segments have no slots for more; end transactions, or create the \
                 database with more undo segments"
            }
        };
        let message = format!("cannot begin a transaction: {active} are active, and {what}");
        Err(Stop::refuse(RefusalKind::NoSpace, message))
    }

    /// The slot was not used after all.
    pub(crate) fn give_back(&self, segment: u16, slot: u16, session: &Session) {
        let number = u32::from(segment) * u32::from(self.slots_per_segment) + u32::from(slot);
        self.state.exclusive(session).free.push(number);
    }

    /// The transaction has begun.
    pub(crate) fn enter(&self, id: TxnId, session: &Session) {
        self.sequences[self.number(id) as usize].store(u64::from(id.sequence), session);
    }

    /// The transaction has ended: whoever waits for it goes on.
    pub(crate) fn leave(&self, id: TxnId, session: &Session) {
        let number = self.number(id);
        self.sequences[number as usize].store(0, session);
        let mut state = self.state.exclusive(session);
        state.free.push(number);
        if self.waiters[number as usize].load(session) > 0 {
            self.ended[number as usize].notify_all(session);
        }
    }

    /// Waits (`enq: TX - row lock contention`) until `holder` isn't active any more. `waiter` is
    /// who waits, if it has locks itself; refused if `holder` waits for it (TX3).
    pub fn wait_for(
        &self,
        holder: TxnId,
        waiter: Option<TxnId>,
        session: &Session,
    ) -> Result<(), Stop> {
        assert_none_held("a wait for a row lock");
        let number = self.number(holder);
        let mut state = self.state.exclusive(session);
        if let Some(own) = waiter {
            if self.closes_circle(&state, own, holder, session) {
                let message = format!(
                    "cannot lock the row: transaction {holder} has it and waits, directly or \
                     through others, for this one: a deadlock; roll back and try again"
                );
                return Err(Stop::refuse(RefusalKind::Deadlock, message));
            }
            state.waits_for[self.number(own) as usize] = Some(holder);
        }
        self.waiters[number as usize].fetch_add(1, session);
        loop {
            // Here only the flag: the cause is under a latch of the same rank.
            if self.halt.is_raised(session) || !self.is_active(holder, session) {
                break;
            }
            let place = u64::from(holder.segment) << 16 | u64::from(holder.slot);
            let waiting = session.waiting(WaitEvent::EnqTxRowLock);
            let waiting = waiting.p(TX_EXCLUSIVE, place, u64::from(holder.sequence));
            state = self.ended[number as usize].wait(state, waiting, Some(LOOK_UP)).0;
        }
        self.waiters[number as usize].fetch_sub(1, session);
        if let Some(own) = waiter {
            state.waits_for[self.number(own) as usize] = None;
        }
        drop(state);
        self.halt.check(session)
    }

    /// Wakes everybody: the instance halts.
    pub fn wake_all(&self, session: &Session) {
        let _state = self.state.exclusive(session);
        self.ended.iter().for_each(|ended| ended.notify_all(session));
    }

    /// From now on none begins. How many are active.
    pub fn close(&self, session: &Session) -> usize {
        let mut state = self.state.exclusive(session);
        state.closed = true;
        self.sequences.len() - state.free.len()
    }

    /// Whether `from`, by waiting for `to`, would wait for itself. Each waits for one at most, so
    /// this is a walk, and it ends: a circle was never closed before. Who waits for a transaction
    /// that has ended waits no more, even if it hasn't woken yet.
    fn closes_circle(&self, state: &State, from: TxnId, to: TxnId, session: &Session) -> bool {
        let mut at = to;
        while at != from {
            match state.waits_for[self.number(at) as usize] {
                Some(next) if self.is_active(at, session) => at = next,
                _ => return false,
            }
        }
        true
    }

    fn number(&self, id: TxnId) -> u32 {
        u32::from(id.segment) * u32::from(self.slots_per_segment) + u32::from(id.slot)
    }
}
