//! Which transactions are active, and when the last transactions of each segment ended (TX1, TX22).
//!
//! A session asks for each row that it touches, so the answer costs a load or two. The state of a
//! segment's newest transaction is in one word:
//!
//! ```text
//!   newest:   sequence │ slot │ state
//!
//!      idle ──begin──▶ active ──▶ committing ──record has its SCN──▶ committed ──durable──▶ idle
//!                        └────────────────── rolled back ───────────────────────────────▶ idle
//! ```
//!
//! Invariants
//!   * the state is `committing` before the commit record gets its SCN: so a reader that finds
//!     `active` has a snapshot below that SCN (TX41)
//!   * a slot's SCN is stored before the word says that the slot's transaction has ended; before a
//!     slot is used again, its SCN is in `older`
//!
//! Callers: `transaction`, `consistent`, `itl`; `locks`, through `transaction`.

use std::ops::RangeInclusive;
use std::sync::{Arc, Weak};

use ids::{Dba, Scn, TxnId};
use latch::{Latch, LatchKind, Shared64};
use os::{Os, Session, SessionNo};
use stop::{RefusalKind, Stop};
use waits::Timestamp;

use crate::undo::Tail;

/// The number of blocks that a session pins at once while it works for a transaction, at most
/// (TX5).
const PINS_MAX: u32 = 4;

/// The number of undo segments of an instance, at most.
const SEGMENTS_MAX: u32 = 4_096;

/// The status of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransactionStatus {
    /// It has not ended.
    Active,
    /// It is being committed, and memory doesn't have its SCN yet.
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
    /// The newest transaction and its state, packed.
    newest: Shared64,
    /// For each slot, the SCN at which its last transaction ended.
    ended: Vec<Shared64>,
    /// The SCN by which all transactions ended whose slots were used again.
    older: Shared64,
    /// The SCN at which the last transaction ended that left undo: it committed, or applied undo of
    /// index entries stayed (UN16).
    last_commit: Shared64,
    /// The transaction table's address, packed.
    table: Shared64,
}

/// The undo segments in memory.
pub struct Active {
    slots: u16,
    segments: Vec<Segment>,
    state: Latch<Shared>,
}

struct Shared {
    /// Segments without an active transaction. The one that was put back last is taken first,
    /// because its blocks are in the cache (but see UN11).
    idle: Vec<Tail>,
    /// Stuck segments without an active transaction, which are taken only if there is no other
    /// (UN12).
    stuck: Vec<Tail>,
    /// How many segments there are.
    made: u16,
    /// The transaction table of the last segment.
    last: Option<Dba>,
    /// Whether no transaction may begin any more, because the instance is being shut down.
    closed: bool,
    /// How many transactions are active.
    active: usize,
    /// The segments of dead transactions that aren't rolled back yet. `fb_smon` rolls back one at a
    /// time, so they need no buffers of their own.
    dead: Vec<u16>,
    /// How many transactions may be active at once, beside the dead (TX5).
    limit: usize,
    /// For each segment, the owner of its transaction.
    owners: Vec<Owner>,
}

/// The owner of a segment's transaction; nobody while there is none, and of a dead transaction.
#[derive(Clone, Default)]
struct Owner {
    /// A reference to the transaction, of which its session holds the strong end (TX17).
    alive: Weak<()>,
    /// The session, and when the transaction began.
    began: Option<(SessionNo, Timestamp)>,
}

/// A transaction that has locks, with its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owned {
    pub(crate) id: TxnId,
    pub(crate) is_committing: bool,
    pub(crate) is_dead: bool,
    pub(crate) began: Option<(SessionNo, Timestamp)>,
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
    /// Without segments. Each table has `slots`; `buffers` is how many buffers the cache has now
    /// and can have at most; opening found `found` segments.
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
            owners: segments.iter().map(|_| Owner::default()).collect(),
        };
        Active { slots, segments, state: Latch::new(os, LatchKind::Innermost, shared) }
    }

    /// Adds a segment without an active transaction. Its earlier transactions had ended by `by`.
    pub(crate) fn add(&self, tail: Tail, by: Scn, session: &Session) {
        self.note(&tail, by, session);
        self.state.exclusive(session).put_back(tail);
    }

    /// Adds a segment with a dead transaction. Its earlier transactions had ended by `by`.
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

    /// Whether the transaction has locks: it is active, or its commit isn't durable yet.
    #[inline]
    pub fn is_active(&self, id: TxnId, session: &Session) -> bool {
        let (newest, state) = self.newest(id, session);
        newest == key(id) && state != State::Idle
    }

    /// The status of a transaction.
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
        // The slot may have been used again, during this call or before it.
        match self.is_overwritten(id, session) {
            false => TransactionStatus::Ended(ended),
            true => TransactionStatus::EndedBy(Scn::new(segment.older.load(session))),
        }
    }

    /// The SCN at which the last transaction of this one's segment ended that left undo.
    pub(crate) fn last_commit(&self, id: TxnId, session: &Session) -> Scn {
        Scn::new(self.segment(id).last_commit.load(session))
    }

    /// The transaction table of this transaction's segment.
    pub(crate) fn table_of(&self, id: TxnId, session: &Session) -> Dba {
        let packed = self.segment(id).table.load(session);
        Dba::unpack(packed).expect("it was packed when the segment was added")
    }

    /// Every transaction that has locks, in order of segments.
    pub fn all(&self, session: &Session) -> Vec<TxnId> {
        let made = usize::from(self.state.shared(session).made);
        let words = self.segments[..made].iter().map(|segment| segment.newest.load(session));
        (0..).zip(words).filter_map(|(number, word)| unpacked(number, word)).collect()
    }

    /// The number of active transactions, the dead ones included.
    pub fn count(&self, session: &Session) -> usize {
        self.state.shared(session).active
    }

    /// Every transaction that has locks, with its owner, in order of segments. Each is of one
    /// moment: an owner is noted before its transaction is active, and forgotten after.
    pub(crate) fn owned(&self, session: &Session) -> Vec<Owned> {
        let state = self.state.shared(session);
        let of = |number: u16| {
            let word = self.segments[usize::from(number)].newest.load(session);
            let is_committing = matches!(state_of(word), State::Committing | State::Committed);
            let (is_dead, owner) =
                (state.dead.contains(&number), &state.owners[usize::from(number)]);
            let id = unpacked(number, word)?;
            Some(Owned { id, is_committing, is_dead, began: owner.began })
        };
        (0..state.made).filter_map(of).collect()
    }

    /// Transactions whose sessions have vanished. Dead transactions aren't among them, because they
    /// never had a session.
    pub(crate) fn abandoned(&self, session: &Session) -> Vec<TxnId> {
        let vanished: Vec<u16> = {
            let state = self.state.exclusive(session);
            let gone = |at: &Weak<()>| at.strong_count() == 0 && !at.ptr_eq(&Weak::new());
            let numbered = (0..).zip(&state.owners);
            numbered.filter(|(_, owner)| gone(&owner.alive)).map(|(number, _)| number).collect()
        };
        let newest = |number: &u16| {
            let word = self.segments[usize::from(*number)].newest.load(session);
            unpacked(*number, word)
        };
        vanished.iter().filter_map(newest).collect()
    }

    /// Takes a segment for a transaction whose session holds the strong end of `alive`, or says
    /// which segment has to be made. A stuck segment is taken only if no segment can be made, or if
    /// `stuck_too`.
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
                let began = Some((session.number(), session.now()));
                let owner = Owner { alive: Arc::downgrade(alive), began };
                state.owners[usize::from(tail.segment)] = owner;
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

    /// Notes that the transaction has begun.
    pub(crate) fn enter(&self, id: TxnId, session: &Session) {
        let segment = self.segment(id);
        // From now on the exact end of the slot's last transaction isn't known here any more.
        let ended = segment.ended[usize::from(id.slot)].load(session);
        segment.older.fetch_max(ended, session);
        segment.newest.store(packed(id, State::Active), session);
    }

    /// Notes that the transaction's commit record is about to be made, or that it was refused.
    pub(crate) fn set_committing(&self, id: TxnId, committing: bool, session: &Session) {
        let state = if committing { State::Committing } else { State::Active };
        self.segment(id).newest.store(packed(id, state), session);
    }

    /// Notes that the transaction ended at this SCN. It keeps its locks until
    /// [`set_idle`](Self::set_idle).
    pub(crate) fn set_ended(&self, id: TxnId, at: Scn, left_undo: bool, session: &Session) {
        let segment = self.segment(id);
        if left_undo {
            segment.last_commit.store(at.get(), session);
        }
        segment.ended[usize::from(id.slot)].store(at.get(), session);
        segment.newest.store(packed(id, State::Committed), session);
    }

    /// Releases all row locks of the transaction.
    pub(crate) fn set_idle(&self, id: TxnId, session: &Session) {
        self.segment(id).newest.store(packed(id, State::Idle), session);
    }

    /// Puts the transaction's segment back, after its locks are released. A transaction that pushed
    /// no undo leaves its name to the next.
    pub(crate) fn give_back(&self, id: TxnId, tail: Tail, session: &Session) {
        let mut state = self.state.exclusive(session);
        state.active -= 1;
        state.dead.retain(|segment| *segment != id.segment);
        state.owners[usize::from(id.segment)] = Owner::default();
        state.put_back(tail);
    }

    /// Notes the cache's new number of buffers. Refused if more transactions are active than these
    /// buffers are enough for.
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

    /// Lets no transaction begin any more. If some are active, changes nothing and returns their
    /// number as an error.
    pub fn close(&self, session: &Session) -> Result<(), usize> {
        let mut state = self.state.exclusive(session);
        state.closed = state.active == 0;
        if state.closed { Ok(()) } else { Err(state.active) }
    }

    fn newest(&self, id: TxnId, session: &Session) -> (u64, State) {
        let word = self.segment(id).newest.load(session);
        (word >> STATE_BITS, state_of(word))
    }

    /// Whether the slot of a transaction was used again since.
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
    /// Adds a segment to those without an active transaction.
    fn put_back(&mut self, tail: Tail) {
        match tail.is_stuck {
            true => self.stuck.push(tail),
            false => self.idle.push(tail),
        }
    }
}

/// Takes the segment that was put back last. If its transaction was refused room for undo, takes
/// the one with the largest ring: in a ring of a few blocks the next transaction would be refused
/// as well, though the undo in another ring may be expired (UN11).
fn take_idle(idle: &mut Vec<Tail>) -> Option<Tail> {
    // A segment that is used up leaves the list for good.
    while idle.last().is_some_and(Tail::is_used_up) {
        idle.pop();
    }
    if !idle.last()?.is_short {
        return idle.pop();
    }
    let usable = (0..idle.len()).filter(|at| !idle[*at].is_used_up());
    usable.max_by_key(|at| idle[*at].blocks).map(|at| idle.remove(at))
}

/// How many transactions this number of buffers is enough for: there is always a buffer that no
/// session has pinned (TX5).
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

/// The transaction of a state word, if it has locks.
fn unpacked(segment: u16, word: u64) -> Option<TxnId> {
    let key = word >> STATE_BITS;
    let (slot, sequence) = ((key & SLOT_MASK) as u16, (key >> SLOT_BITS) as u32);
    (state_of(word) != State::Idle).then_some(TxnId { segment, slot, sequence })
}
