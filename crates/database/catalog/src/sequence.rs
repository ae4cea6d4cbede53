//! Sequences: the next number, out of a range of values that is in memory.
//!
//! ```text
//!   next ── cache has one ──▶ value
//!     └─ cache is empty ─▶ the row says what comes behind the next range; committed without a
//!                          wait ─▶ the range is in the cache ─▶ value
//! ```
//!
//! Why the commit isn't waited for (DC7): its record is in the redo before a value of the range is
//! given. The commit of a transaction that uses the value lies behind it, so a crash that keeps
//! that commit keeps the row's too. A crash loses only values that no transaction has committed.
//!
//! Callers: `catalog`; `statement`, which drops them; `alter_sequence`.

use ids::ObjectNo;
use latch::{Latch, LatchKind, SharedFlag};
use os::Session;
use redo::{CommitLogging, CommitMode, CommitWait};
use relation::Scratch;
use space::Enqueue;
use stop::{Refusal, RefusalKind, SqlState, Stop};
use txn::{Transaction, Transactions};
use waits::WaitEvent;

use crate::SequenceDefinition;
use crate::sequence_definition::CachedRange;
use crate::store::Store;

const NOT_WAITED_FOR: CommitMode =
    CommitMode { wait: CommitWait::Nowait, logging: CommitLogging::Batch };

/// A sequence.
pub struct Sequence {
    definition: SequenceDefinition,
    cache: Latch<CachedRange>,
    /// What the row says. The session that holds this takes the next range (DC28).
    refill: Enqueue<Refill>,
    dropped: SharedFlag,
}

/// What the session needs that takes a range.
struct Refill {
    next: Option<i64>,
    scratch: Scratch,
}

impl Sequence {
    pub(crate) fn new(
        definition: SequenceDefinition,
        next: Option<i64>,
        session: &Session,
    ) -> Sequence {
        let (os, none) = (session.os(), CachedRange { next: 0, left: 0 });
        let refill = Refill { next, scratch: Scratch::default() };
        Sequence {
            definition,
            cache: Latch::new(os, LatchKind::Innermost, none),
            refill: Enqueue::new(os, *b"SQ", WaitEvent::EnqSqContention, refill),
            dropped: SharedFlag::new(false),
        }
    }

    /// The sequence's definition.
    pub fn definition(&self) -> &SequenceDefinition {
        &self.definition
    }

    /// The sequence's number.
    pub fn object(&self) -> ObjectNo {
        self.definition.object
    }

    /// The next value, unless the instance stops before; none if the sequence is at its end.
    pub(crate) fn peek(&self, session: &Session) -> Option<i64> {
        let refill = self.refill.hold(self.object().get().into(), session);
        let range = *self.cache.shared(session);
        if range.left > 0 { Some(range.next) } else { refill.next }
    }

    /// The next value that its row says. It stays, if the sequence is being dropped: no session
    /// takes a range then.
    pub(crate) fn stored(&self, session: &Session) -> Option<i64> {
        self.refill.hold(self.object().get().into(), session).next
    }

    /// Has the sequence give no more values: it is being dropped (DC29).
    pub(crate) fn set_dropped(&self, session: &Session) {
        self.dropped.raise(session);
    }

    /// Has the sequence go on: the drop was given up.
    pub(crate) fn set_kept(&self, session: &Session) {
        self.dropped.lower(session);
    }

    /// Whether the sequence is dropped or being dropped.
    pub(crate) fn is_dropped(&self, session: &Session) -> bool {
        self.dropped.is_raised(session)
    }

    /// The next value; none if the sequence is dropped or being dropped. Refused behind the last
    /// one.
    pub(crate) fn next(
        &self,
        store: &Store,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Option<i64>, Stop> {
        let increment = self.definition.increment;
        loop {
            if self.is_dropped(session) {
                return Ok(None);
            }
            if let Some(value) = self.cache.exclusive(session).give(increment) {
                return Ok(Some(value));
            }
            let mut refill = self.refill.hold_in_call(self.object().get().into(), session)?;
            // Another session may have taken a range, or begun a drop, before this one held the
            // lock.
            if self.cache.shared(session).left > 0 || self.is_dropped(session) {
                continue;
            }
            let Some(first) = refill.next else { return Err(self.at_its_end()) };
            let (range, after) = self.definition.take(first);
            self.write(&mut refill, after, NOT_WAITED_FOR, store, transactions, session)?;
            *self.cache.exclusive(session) = range;
        }
    }

    /// Has the sequence go on at another value. Returns none if it is dropped or being dropped.
    pub(crate) fn set_next(
        &self,
        next: Option<i64>,
        store: &Store,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Option<()>, Stop> {
        let mut refill = self.refill.hold(self.object().get().into(), session);
        if self.is_dropped(session) {
            return Ok(None);
        }
        self.write(&mut refill, next, CommitMode::DURABLE, store, transactions, session)?;
        *self.cache.exclusive(session) = CachedRange { next: 0, left: 0 };
        Ok(Some(()))
    }

    /// Writes what comes next into the row of the sequence, by a transaction of its own.
    fn write(
        &self,
        refill: &mut Refill,
        next: Option<i64>,
        mode: CommitMode,
        store: &Store,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut transaction = Transaction::new();
        let (own, scratch) = (self.object(), &mut refill.scratch);
        let written = store.set_next_value(&mut transaction, own, next, scratch, session);
        match written {
            Ok(true) => transactions.commit(transaction, mode, session)?,
            Ok(false) => {
                transactions.rollback(transaction, session)?;
                return Err(self.gone());
            }
            Err(stop) => {
                transactions.rollback(transaction, session)?;
                return Err(stop);
            }
        };
        refill.next = next;
        Ok(())
    }

    pub(crate) fn gone(&self) -> Stop {
        let message = format!("there is no sequence {} any more", self.definition.name);
        Stop::refuse(RefusalKind::NotFound, message)
    }

    fn at_its_end(&self) -> Stop {
        let SequenceDefinition { name, increment, min, max, .. } = &self.definition;
        let last = if *increment > 0 { max } else { min };
        let message = format!(
            "sequence {name} has no value behind {last}; drop it and create one with a wider \
             range, or one that cycles"
        );
        let refusal = Refusal::new(RefusalKind::NoSpace, message);
        refusal.with_state(SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED).into()
    }
}
