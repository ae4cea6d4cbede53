//! Sequences: the next number, out of a range that is in hand.
//!
//! ```text
//!   next ── in hand ──▶ value
//!     └─ nothing left ─▶ the row says what comes behind the next range; committed, not waited
//!                        for ─▶ the range is in hand ─▶ value
//! ```
//!
//! Why that needs no wait (rule DC7): the commit of the row is in the redo before a value of the
//! range is given. Whoever commits the value later lies behind it in the redo, so a crash that
//! leaves that commit leaves the row's too. What a crash takes are values that no transaction has
//! committed.
//!
//! Callers: `catalog`; `statement` drops them.

use ids::ObjectNo;
use latch::{Latch, LatchKind, SharedFlag};
use os::Session;
use redo::{CommitLogging, CommitMode, CommitWait};
use relation::Scratch;
use space::Enqueue;
use stop::{RefusalKind, Stop};
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
    /// What the row says: the next value that wasn't taken. One session at a time takes more.
    refill: Enqueue<Refill>,
    dropped: SharedFlag,
}

/// For who takes a range.
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

    /// What it is.
    pub fn definition(&self) -> &SequenceDefinition {
        &self.definition
    }

    /// Its number.
    pub fn object(&self) -> ObjectNo {
        self.definition.object
    }

    /// What the next value will be, unless the instance stops; none if it has no more.
    pub(crate) fn peek(&self, session: &Session) -> Option<i64> {
        let refill = self.refill.hold(self.object().get().into(), session);
        let range = *self.cache.shared(session);
        if range.left > 0 { Some(range.next) } else { refill.next }
    }

    /// What its row says. While it is held nobody takes more, and so the row stays as it is.
    pub(crate) fn stored(&self, session: &Session) -> Option<i64> {
        self.refill.hold(self.object().get().into(), session).next
    }

    /// From now on it gives nothing: it is being dropped.
    pub(crate) fn set_dropped(&self, session: &Session) {
        self.dropped.raise(session);
    }

    /// The drop didn't come about.
    pub(crate) fn set_kept(&self, session: &Session) {
        self.dropped.lower(session);
    }

    /// Whether it is dropped or being dropped.
    pub(crate) fn is_dropped(&self, session: &Session) -> bool {
        self.dropped.is_raised(session)
    }

    /// The next value; none if it is dropped or being dropped. Refused behind the last one.
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
            let mut refill = self.refill.hold(self.object().get().into(), session);
            // Asked again now that nobody else takes more, or drops it.
            if self.cache.shared(session).left > 0 || self.is_dropped(session) {
                continue;
            }
            let Some(first) = refill.next else { return Err(self.at_its_end()) };
            let (range, after) = self.definition.take(first);
            let mut transaction = Transaction::new();
            let (own, scratch) = (self.object(), &mut refill.scratch);
            let written = store.set_next_value(&mut transaction, own, after, scratch, session);
            match written {
                Ok(true) => transactions.commit(transaction, NOT_WAITED_FOR, session)?,
                Ok(false) => {
                    transactions.rollback(transaction, session)?;
                    return Err(self.gone());
                }
                Err(stop) => {
                    transactions.rollback(transaction, session)?;
                    return Err(stop);
                }
            };
            refill.next = after;
            *self.cache.exclusive(session) = range;
        }
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
        Stop::refuse(RefusalKind::NoSpace, message)
    }
}
