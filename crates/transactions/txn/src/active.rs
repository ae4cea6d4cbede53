//! Who is active, and when the last transactions ended (rules TX1, TX6).
//!
//! Asked for every row that is touched, so the answer costs a load or two. What is asked of a
//! segment is in one word:
//!
//! ```text
//!   newest:   sequence │ slot │ state       the segment's newest transaction
//!
//!      idle ──begin──▶ active ──▶ committing ──record has its SCN──▶ committed ──durable──▶ idle
//!                        └────────────────── rolled back ───────────────────────────────▶ idle
//! ```
//!
//! Invariants
//!   * `committing` is there before the commit's record gets its SCN: so who finds `active` has a
//!     snapshot below that SCN (TX6)
//!   * a slot's SCN is there before the word says that its transaction has ended; before a slot is
//!     used again its SCN is in `older`
//!
//! Callers: `transaction`, `consistent`, `itl`; `locks`, through `transaction`.

use std::ops::RangeInclusive;
use std::sync::{Arc, Weak};

use ids::{Dba, Scn, TxnId};
use latch::{Latch, LatchKind, Shared64};
use os::{Os, Session};
use stop::{RefusalKind, Stop};

use crate::undo::Tail;

/// A session pins at most so many blocks at once while it works for a transaction (rule TX5).
const PINS_MAX: u32 = 4;

/// No instance has more undo segments.
const SEGMENTS_MAX: u32 = 4_096;

/// What became of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransactionStatus {
    /// It has not ended.
    Active,
    /// It is being committed, and its SCN isn't known here yet.
    Committing,
    /// It ended at this SCN.
    Ended(Scn),
    /// It ended at this SCN or before it.
    EndedBy(Scn),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle = 0,
    Active = 1,
    Committing = 2,
    Committed = 3,
}

/// An undo segment in memory.
struct Segment {
    /// Its newest transaction and that one's state, packed.
    newest: Shared64,
    /// For each slot, when its transaction ended.
    ended: Vec<Shared64>,
    /// Transactions whose slots were used again had ended by this SCN.
    older: Shared64,
    /// When the last one that left undo ended: it committed, or undo of index entries was left.
    last_commit: Shared64,
    /// Its transaction table, packed.
    table: Shared64,
}

/// The undo segments in memory.
pub struct Active {
    slots: u16,
    segments: Vec<Segment>,
    state: Latch<Shared>,
}

struct Shared {
    /// Segments in which nobody is active. The one that was left last is taken first: its blocks
    /// are in the cache (but see rule UN11).
    idle: Vec<Tail>,
    /// Of those, the ones that are taken where no other is to be had (UN12).
    stuck: Vec<Tail>,
    /// How many segments there are.
    made: u16,
    /// The table of the last of them.
    last: Option<Dba>,
    /// None begins any more: the instance is being shut.
    closed: bool,
    /// How many are active.
    active: usize,
    /// The segments of those that are dead, and not rolled back yet: `fb_smon` rolls back one at a
    /// time, so they need no buffers of their own.
    dead: Vec<u16>,
    /// No more are active at once, beside the dead (TX5).
    limit: usize,
    /// For each segment, whether its transaction still has a session: the session has the other
    /// end.
    sessions: Vec<Weak<()>>,
}

/// Where a transaction may begin.
pub(crate) enum SegmentChoice {
    /// In this segment.
    Existing(Tail),
    /// In a new segment, which has to be made first.
    NeedsNew {
        /// Its number.
        number: u16,
        /// The transaction table of the segment before it.
        last: Option<Dba>,
    },
}

impl Active {
    /// Nobody is active, and there is no segment. Tables have so many slots, `buffers` is how many
    /// the cache has and how many it can come to; there were `found` segments.
    pub(crate) fn new(os: &Os, slots: u16, buffers: RangeInclusive<u32>, found: usize) -> Active {
        let most = limit_with(*buffers.end());
        let segment = || Segment {
            newest: Shared64::new(0),
            ended: (0..slots).map(|_| Shared64::new(0)).collect(),
            older: Shared64::new(0),
            last_commit: Shared64::new(0),
            table: Shared64::new(0),
        };
        let segments: Vec<Segment> = (0..most.max(found)).map(|_| segment()).collect();
        let shared = Shared {
            idle: Vec::new(),
            stuck: Vec::new(),
            made: 0,
            last: None,
            closed: false,
            active: 0,
            dead: Vec::new(),
            limit: limit_with(*buffers.start()),
            sessions: segments.iter().map(|_| Weak::new()).collect(),
        };
        Active { slots, segments, state: Latch::new(os, LatchKind::Innermost, shared) }
    }

    /// A segment is there, with nobody active in it; whoever was ended by `by`.
    pub(crate) fn add(&self, tail: Tail, by: Scn, session: &Session) {
        self.note(&tail, by, session);
        self.state.exclusive(session).put_back(tail);
    }

    /// A segment is there, with a transaction active in it; whoever was before ended by `by`.
    pub(crate) fn add_dead(&self, id: TxnId, tail: Tail, by: Scn, session: &Session) {
        self.note(&tail, by, session);
        self.segment(id).newest.store(packed(id, State::Active), session);
        let mut state = self.state.exclusive(session);
        state.active += 1;
        state.dead.push(id.segment);
    }

    fn note(&self, tail: &Tail, by: Scn, session: &Session) {
        let segment = &self.segments[usize::from(tail.segment)];
        segment.table.store(tail.table.pack(), session);
        let ends = [&segment.older, &segment.last_commit];
        for scn in segment.ended.iter().chain(ends) {
            scn.store(by.get(), session);
        }
        if let Some(last) = tail.last() {
            segment.newest.store(packed(last, State::Idle), session);
        }
        let mut state = self.state.exclusive(session);
        state.made = state.made.max(tail.segment + 1);
        state.last = Some(tail.table);
    }

    /// Whether this transaction has locks: it is active, or its commit isn't durable yet.
    #[inline]
    pub fn is_active(&self, id: TxnId, session: &Session) -> bool {
        let (newest, state) = self.newest(id, session);
        newest == key(id) && state != State::Idle
    }

    /// What became of a transaction.
    #[inline]
    pub(crate) fn status(&self, id: TxnId, session: &Session) -> TransactionStatus {
        let (newest, state) = self.newest(id, session);
        let segment = self.segment(id);
        if newest == key(id) {
            match state {
                State::Active => return TransactionStatus::Active,
                State::Committing => return TransactionStatus::Committing,
                State::Committed | State::Idle => {}
            }
        }
        let ended = Scn::new(segment.ended[usize::from(id.slot)].load(session));
        // The slot may have been used again, now or before.
        match self.is_overwritten(id, session) {
            false => TransactionStatus::Ended(ended),
            true => TransactionStatus::EndedBy(Scn::new(segment.older.load(session))),
        }
    }

    /// When the last transaction of this one's segment that left undo ended.
    pub(crate) fn last_commit(&self, id: TxnId, session: &Session) -> Scn {
        Scn::new(self.segment(id).last_commit.load(session))
    }

    /// The transaction table of this one's segment.
    pub(crate) fn table_of(&self, id: TxnId, session: &Session) -> Dba {
        let packed = self.segment(id).table.load(session);
        Dba::unpack(packed).expect("it was packed when the segment was added")
    }

    /// Every transaction that has locks, in order.
    pub fn all(&self, session: &Session) -> Vec<TxnId> {
        let made = usize::from(self.state.shared(session).made);
        let words = self.segments[..made].iter().map(|segment| segment.newest.load(session));
        (0..).zip(words).filter_map(|(number, word)| unpacked(number, word)).collect()
    }

    /// Transactions whose sessions have vanished without ending them. Dead ones are none of these:
    /// they never had a session.
    pub(crate) fn abandoned(&self, session: &Session) -> Vec<TxnId> {
        let vanished: Vec<u16> = {
            let state = self.state.exclusive(session);
            let gone = |at: &Weak<()>| at.strong_count() == 0 && !at.ptr_eq(&Weak::new());
            let numbered = (0..).zip(&state.sessions);
            numbered.filter(|(_, at)| gone(at)).map(|(number, _)| number).collect()
        };
        let newest = |number: &u16| {
            let word = self.segments[usize::from(*number)].newest.load(session);
            unpacked(*number, word)
        };
        vanished.iter().filter_map(newest).collect()
    }

    /// A segment in which nobody is active, for a transaction whose session has the other end of
    /// `alive`; or what a new one needs. One whose ring can't be gone on in only if none can be
    /// made, or the caller says so.
    pub(crate) fn take(
        &self,
        alive: &Arc<()>,
        stuck_too: bool,
        session: &Session,
    ) -> Result<SegmentChoice, Stop> {
        let mut state = self.state.exclusive(session);
        if state.closed {
            let message = "cannot begin a transaction: the instance is being shut down";
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        let active = state.active;
        if active - state.dead.len() >= state.limit || active >= self.segments.len() {
            let message = format!(
                "cannot begin a transaction: {active} are active, and the cache has no buffers \
                 for more; end transactions, or raise db_cache_size"
            );
            return Err(Stop::refuse(RefusalKind::NoSpace, message));
        }
        let all_made = usize::from(state.made) >= self.segments.len();
        let mut tail = take_idle(&mut state.idle);
        if tail.is_none() && (all_made || stuck_too) {
            tail = take_idle(&mut state.stuck);
        }
        match tail {
            Some(tail) => {
                state.active += 1;
                state.sessions[usize::from(tail.segment)] = Arc::downgrade(alive);
                Ok(SegmentChoice::Existing(tail))
            }
            None if all_made => {
                let message = "cannot begin a transaction: the names of transactions of all undo \
                               segments are used up; raise db_cache_size, which allows more \
                               segments";
                Err(Stop::refuse(RefusalKind::NoSpace, message))
            }
            None => Ok(SegmentChoice::NeedsNew { number: state.made, last: state.last }),
        }
    }

    /// The transaction has begun.
    pub(crate) fn enter(&self, id: TxnId, session: &Session) {
        let segment = self.segment(id);
        // The slot's last transaction ends being known exactly.
        let ended = segment.ended[usize::from(id.slot)].load(session);
        segment.older.fetch_max(ended, session);
        segment.newest.store(packed(id, State::Active), session);
    }

    /// The transaction's commit record is about to be made; or was not made after all.
    pub(crate) fn set_committing(&self, id: TxnId, committing: bool, session: &Session) {
        let state = if committing { State::Committing } else { State::Active };
        self.segment(id).newest.store(packed(id, state), session);
    }

    /// The transaction ended at this SCN, but has its locks still; and whether it has left undo.
    pub(crate) fn set_ended(&self, id: TxnId, at: Scn, left_undo: bool, session: &Session) {
        let segment = self.segment(id);
        if left_undo {
            segment.last_commit.store(at.get(), session);
        }
        segment.ended[usize::from(id.slot)].store(at.get(), session);
        segment.newest.store(packed(id, State::Committed), session);
    }

    /// The transaction has no locks any more.
    pub(crate) fn set_idle(&self, id: TxnId, session: &Session) {
        self.segment(id).newest.store(packed(id, State::Idle), session);
    }

    /// Another transaction may begin in the segment of this one, whose locks are let go. One that
    /// never began leaves its name to the next.
    pub(crate) fn give_back(&self, id: TxnId, tail: Tail, session: &Session) {
        let mut state = self.state.exclusive(session);
        state.active -= 1;
        state.dead.retain(|segment| *segment != id.segment);
        state.sessions[usize::from(id.segment)] = Weak::new();
        state.put_back(tail);
    }

    /// The cache has so many buffers from now on; refused if more are active than these are enough
    /// for.
    pub(crate) fn set_buffers(&self, buffers: u32, session: &Session) -> Result<(), Stop> {
        let limit = limit_with(buffers);
        let mut state = self.state.exclusive(session);
        let active = state.active - state.dead.len();
        if active > limit {
            let message = format!(
                "{active} transactions are active, and {buffers} buffers are enough for \
                 {limit}; end transactions first, or choose a larger cache"
            );
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        state.limit = limit;
        Ok(())
    }

    /// How many segments there can be.
    pub(crate) fn segments_max(&self) -> u16 {
        self.segments.len() as u16
    }

    /// From now on no transaction begins, unless some are active: then this returns how many, as an
    /// error, and changes nothing.
    pub fn close(&self, session: &Session) -> Result<(), usize> {
        let mut state = self.state.exclusive(session);
        state.closed = state.active == 0;
        if state.closed { Ok(()) } else { Err(state.active) }
    }

    fn newest(&self, id: TxnId, session: &Session) -> (u64, State) {
        let word = self.segment(id).newest.load(session);
        (word >> STATE_BITS, state_of(word))
    }

    /// Whether the slot of a transaction that isn't its segment's newest was used again.
    fn is_overwritten(&self, id: TxnId, session: &Session) -> bool {
        let (newest, _) = self.newest(id, session);
        let number = |key: u64| (key >> SLOT_BITS) * u64::from(self.slots) + (key & SLOT_MASK);
        number(newest) >= number(key(id)) + u64::from(self.slots)
    }

    fn segment(&self, id: TxnId) -> &Segment {
        &self.segments[usize::from(id.segment)]
    }
}

impl Shared {
    /// Nobody is active in this segment any more.
    fn put_back(&mut self, tail: Tail) {
        match tail.is_stuck {
            true => self.stuck.push(tail),
            false => self.idle.push(tail),
        }
    }
}

/// The segment that was left last. But if its last transaction was refused room for its undo, that
/// with the largest ring: in a ring of a few blocks the next transaction would be refused as well,
/// though all undo there is may be expired (rule UN11).
fn take_idle(idle: &mut Vec<Tail>) -> Option<Tail> {
    // A segment that is used up stays out of the list from then on.
    while idle.last().is_some_and(Tail::is_used_up) {
        idle.pop();
    }
    if !idle.last()?.is_short {
        return idle.pop();
    }
    let usable = (0..idle.len()).filter(|at| !idle[*at].is_used_up());
    usable.max_by_key(|at| idle[*at].blocks).map(|at| idle.remove(at))
}

/// So many transactions a cache of so many buffers is enough for: there is always a buffer that
/// nobody has pinned (TX5).
fn limit_with(buffers: u32) -> usize {
    (buffers / (PINS_MAX + 1)).clamp(1, SEGMENTS_MAX) as usize
}

const STATE_BITS: u32 = 2;
const SLOT_BITS: u32 = 16;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;

fn key(id: TxnId) -> u64 {
    u64::from(id.sequence) << SLOT_BITS | u64::from(id.slot)
}

fn packed(id: TxnId, state: State) -> u64 {
    key(id) << STATE_BITS | state as u64
}

fn state_of(word: u64) -> State {
    match word & ((1 << STATE_BITS) - 1) {
        0 => State::Idle,
        1 => State::Active,
        2 => State::Committing,
        _ => State::Committed,
    }
}

/// The transaction of a word, if it has locks.
fn unpacked(segment: u16, word: u64) -> Option<TxnId> {
    let key = word >> STATE_BITS;
    let (slot, sequence) = ((key & SLOT_MASK) as u16, (key >> SLOT_BITS) as u32);
    (state_of(word) != State::Idle).then_some(TxnId { segment, slot, sequence })
}
