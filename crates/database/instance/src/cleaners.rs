//! The system monitor and the process monitor, which clean up after the dead (IN9).
//!
//! ```text
//!   fb_smon   rolls back the transactions that were active when the instance stopped, one after
//!             the other, while sessions work; then it ends
//!   fb_pmon   every second: rolls back transactions and drops snapshots of sessions that have
//!             vanished; notes the time, by which the age of undo is known, and how many
//!             transactions are active
//! ```
//!
//! Callers: `open`.

use std::sync::Arc;

use latch::{Condition, Latch, LatchKind, SharedFlag, Signal};
use os::Session;
use stop::Halt;
use txn::Transactions;
use txn::undo::UndoLog;
use waits::{Nanos, WaitEvent};

use crate::undo_history::UndoHistory;

/// The interval at which the process monitor looks around.
const LOOK_AROUND: Nanos = Nanos::from_secs(1);

/// The interval at which a waiting session looks again, should a wake-up ever be lost.
const LOOK_UP: Nanos = Nanos::from_secs(3);

/// The state that both monitors share.
pub(crate) struct Cleaners {
    transactions: Transactions,
    halt: Halt,
    /// The number of dead transactions that aren't rolled back yet.
    left: Latch<usize>,
    rolled_back: Condition,
    /// The number of times that the process monitor has looked around.
    rounds: Latch<u64>,
    looked_around: Condition,
    stop: SharedFlag,
    signal: Signal,
    pub(crate) undo_history: UndoHistory,
}

impl Cleaners {
    pub(crate) fn new(
        transactions: Transactions,
        dead: usize,
        halt: Halt,
        session: &Session,
    ) -> Arc<Self> {
        let os = session.os();
        Arc::new(Cleaners {
            transactions,
            halt,
            left: Latch::new(os, LatchKind::Innermost, dead),
            rolled_back: Condition::new(os),
            rounds: Latch::new(os, LatchKind::Innermost, 0),
            looked_around: Condition::new(os),
            stop: SharedFlag::new(false),
            signal: Signal::new(os),
            undo_history: UndoHistory::new(os, session),
        })
    }

    /// The body of the system monitor.
    pub(crate) fn roll_back(&self, dead: Vec<UndoLog>, session: &Session) {
        for log in dead {
            // Its only error is a halt, which every session sees.
            if self.transactions.roll_back_dead(log, session).is_err() {
                break;
            }
            *self.left.exclusive(session) -= 1;
            self.rolled_back.notify_all(session);
        }
    }

    /// The body of the process monitor.
    pub(crate) fn look_around(&self, session: &Session) {
        while !self.stop.is_raised(session) && !self.halt.is_raised(session) {
            let waiting = session.waiting(WaitEvent::PmonTimer);
            self.signal.wait(waiting.p(LOOK_AROUND.0 / 10_000_000, 0, 0), Some(LOOK_AROUND));
            self.transactions.note_time(session);
            self.undo_history.note(self.transactions.active().count(session), session);
            // Its only error is a halt, which every session sees.
            let _ = self.transactions.clean_up(session);
            *self.rounds.exclusive(session) += 1;
            self.looked_around.notify_all(session);
        }
    }

    /// Returns when every dead transaction has been rolled back, or the instance has halted.
    pub(crate) fn wait_for_dead(&self, session: &Session) {
        let mut left = self.left.exclusive(session);
        while *left > 0 && !self.halt.is_raised(session) {
            let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
            left = self.rolled_back.wait(left, waiting, Some(LOOK_UP)).0;
        }
    }

    /// Returns when the process monitor has rolled back every transaction whose session has
    /// vanished, or the instance has halted. It is asked to look around at once.
    pub(crate) fn wait_for_abandoned(&self, session: &Session) {
        loop {
            let before = *self.rounds.exclusive(session);
            if !self.transactions.has_abandoned(session) || self.halt.is_raised(session) {
                return;
            }
            self.signal.post(session);
            let mut rounds = self.rounds.exclusive(session);
            while *rounds == before && !self.halt.is_raised(session) {
                let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
                rounds = self.looked_around.wait(rounds, waiting, Some(LOOK_UP)).0;
            }
        }
    }

    /// Tells the process monitor to end.
    pub(crate) fn stop(&self, session: &Session) {
        self.stop.raise(session);
        self.signal.post(session);
    }

    /// Wakes the process monitor and all waiting sessions, because the instance halts.
    pub(crate) fn wake_all(&self, session: &Session) {
        self.signal.post(session);
        {
            let _left = self.left.exclusive(session);
            self.rolled_back.notify_all(session);
        }
        let _rounds = self.rounds.exclusive(session);
        self.looked_around.notify_all(session);
    }
}
