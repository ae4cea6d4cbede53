//! How long undo is kept for snapshots: `undo_retention` (TX18).
//!
//! ```text
//!   notes:   (0 s, SCN 100, …)  (1 s, 140, …)  (2 s, 190, …)  (3 s, 230, …)     now 3 s
//!                                   └── with a retention of 2 s, expired through 140
//! ```
//!
//! Invariants
//!   * times and SCNs rise from note to note
//!   * there is at most one expired note, the first
//!
//! Callers: `needed`; `fb_pmon`, once a second.

use std::collections::VecDeque;

use ids::Scn;
use latch::{Latch, LatchKind, Shared64};
use os::{Os, Session};
use waits::{Nanos, Timestamp};

use crate::Transactions;

/// Notes are this part of the retention apart, at least.
const NOTES_MAX: u64 = 256;

/// Which undo isn't kept for snapshots any more.
pub(crate) struct Retention {
    /// In nanoseconds; 0 means as long as a snapshot needs it.
    length: Shared64,
    notes: Latch<Notes>,
}

/// The newest SCN at some moments.
#[derive(Default)]
struct Notes {
    all: VecDeque<Note>,
    /// Undo of transactions that ended by this SCN has expired.
    expired_through: Option<Scn>,
}

struct Note {
    at: Timestamp,
    /// The newest SCN then.
    by: Scn,
}

impl Retention {
    pub(crate) fn new(os: &Os) -> Retention {
        let notes = Latch::new(os, LatchKind::Innermost, Notes::default());
        let notes = notes.checked(os, Notes::assert_consistent);
        Retention { length: Shared64::new(0), notes }
    }

    /// Whether undo of a transaction that ended by this SCN isn't kept for snapshots.
    pub(crate) fn has_expired(&self, by: Scn, session: &Session) -> bool {
        self.notes.shared(session).expired_through.is_some_and(|through| by <= through)
    }
}

impl Notes {
    /// Whether another note is needed.
    fn is_due(&self, length: Nanos, now: Timestamp) -> bool {
        let last = self.all.back();
        last.is_none_or(|last| now.since(last.at).0 >= length.0 / NOTES_MAX)
    }

    fn expire(&mut self, length: Nanos, now: Timestamp) {
        let is_old = |note: &Note| now.since(note.at) >= length;
        while self.all.get(1).is_some_and(is_old) {
            self.all.pop_front();
        }
        self.expired_through = self.all.front().filter(|note| is_old(note)).map(|note| note.by);
    }
}

// For checks.
impl Notes {
    /// Looks at every note. Returns how many there are.
    ///
    /// # Panics
    /// When an invariant doesn't hold.
    fn assert_consistent(&self) -> usize {
        if let Err(what) = self.check() {
            panic!("the notes of undo's retention are broken: {what}");
        }
        self.all.len()
    }

    fn check(&self) -> Result<(), String> {
        for (at, (before, after)) in self.all.iter().zip(self.all.iter().skip(1)).enumerate() {
            if before.at > after.at || before.by > after.by {
                return Err(format!("note {} is before note {at}", at + 1));
            }
        }
        let first = self.all.front().map(|note| note.by);
        match self.expired_through {
            Some(through) if Some(through) != first => {
                Err(format!("what ended by {through} has expired, and the first note is {first:?}"))
            }
            _ => Ok(()),
        }
    }
}

impl Transactions {
    /// Sets the retention: older undo is overwritten before the undo tablespace grows. With zero,
    /// undo is kept as long as a snapshot needs it and there is room.
    pub fn set_undo_retention(&self, length: Nanos, session: &Session) {
        self.shared.retention.length.store(length.0, session);
        if length == Nanos::ZERO {
            *self.shared.retention.notes.exclusive(session) = Notes::default();
        }
    }

    /// Notes the newest SCN. One session calls it about once a second.
    pub fn note_time(&self, session: &Session) {
        let (by, at) = (self.changes().redo().last_scn(session), session.now());
        let mut notes = self.shared.retention.notes.exclusive(session);
        // Read under the latch: a session that sets it to zero clears the notes after that.
        let length = Nanos(self.shared.retention.length.load(session));
        if length == Nanos::ZERO {
            return;
        }
        if notes.is_due(length, at) {
            notes.all.push_back(Note { at, by });
        }
        notes.expire(length, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> Notes {
        let note = |second, by| Note {
            at: Timestamp::ZERO.after(Nanos::from_secs(second)),
            by: Scn::new(by),
        };
        let all = VecDeque::from([note(1, 100), note(2, 200), note(3, 300)]);
        Notes { all, expired_through: None }
    }

    #[test]
    fn of_notes_that_have_expired_the_last_is_kept() {
        let mut notes = notes();
        let now = |second| Timestamp::ZERO.after(Nanos::from_secs(second));
        notes.expire(Nanos::from_secs(5), now(5));
        assert_eq!((notes.all.len(), notes.expired_through), (3, None));
        notes.expire(Nanos::from_secs(3), now(5));
        assert_eq!((notes.all.len(), notes.expired_through), (2, Some(Scn::new(200))));
        notes.expire(Nanos::from_secs(3), now(9));
        assert_eq!((notes.all.len(), notes.expired_through), (1, Some(Scn::new(300))));
        // A longer retention keeps the notes that there are.
        notes.expire(Nanos::from_secs(60), now(10));
        assert_eq!((notes.all.len(), notes.expired_through), (1, None));
    }

    type Break = fn(&mut Notes);

    /// Each invariant is broken in turn, and the check says which.
    #[test]
    fn what_is_broken_in_the_notes_is_named() {
        let cases: [(&str, Break); 3] = [
            ("note 1 is before note 0", |notes| notes.all[0].at = Timestamp::from_nanos(u64::MAX)),
            ("note 1 is before note 0", |notes| notes.all[0].by = Scn::new(1 << 40)),
            ("the first note is", |notes| notes.expired_through = Some(Scn::new(1 << 40))),
        ];
        assert_eq!(notes().check(), Ok(()));
        for (named, break_it) in cases {
            let mut notes = notes();
            break_it(&mut notes);
            let said = notes.check().expect_err(named);
            assert!(said.contains(named), "{named}: {said}");
        }
    }
}
