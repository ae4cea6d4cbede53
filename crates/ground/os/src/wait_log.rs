//! The waits of a session one by one, kept for a while: what a trace is made of.
//!
//! ```text
//!   log_waits ──▶ WaitLog: each wait that ends ──▶ records ── take ──▶ LoggedWaits
//!                    └ dropped: the session has its level again, and no sink
//! ```
//!
//! Invariant: only the session's own thread touches the records while the log lives, so nobody
//! waits for their lock.
//!
//! Callers: experiments that show a trace.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use waits::{Level, WaitRecord, WaitSink};

use crate::Session;

/// As long as this lives, each wait of a session is kept when it ends (O75).
#[derive(Debug)]
#[must_use = "waits are kept until this is dropped"]
pub struct WaitLog<'s> {
    session: &'s Session,
    level_before: Level,
    records: Records,
}

/// Waits of a session in the order of their ends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoggedWaits {
    /// The first of them.
    pub waits: Vec<WaitRecord>,
    /// How many came behind these, and weren't kept.
    pub left_out: u64,
}

#[derive(Clone, Debug)]
struct Records {
    most: usize,
    logged: Arc<Mutex<LoggedWaits>>,
}

impl Records {
    fn logged(&self) -> MutexGuard<'_, LoggedWaits> {
        self.logged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitSink for Records {
    fn wait_ended(&mut self, record: &WaitRecord) {
        let most = self.most;
        let mut logged = self.logged();
        match logged.waits.len() < most {
            true => logged.waits.push(*record),
            false => logged.left_out += 1,
        }
    }
}

impl Session {
    /// Keeps the waits that end from now on until what this returns is dropped, at most the first
    /// `most` of them (O75).
    pub fn log_waits(&self, most: usize) -> WaitLog<'_> {
        let records = Records { most, logged: Arc::default() };
        self.set_wait_sink(Some(Box::new(records.clone())));
        let level_before = self.account().level();
        self.account().set_level(Level::Trace);
        WaitLog { session: self, level_before, records }
    }
}

impl WaitLog<'_> {
    /// Takes what was kept so far.
    pub fn take(&self) -> LoggedWaits {
        std::mem::take(&mut *self.records.logged())
    }
}

impl Drop for WaitLog<'_> {
    fn drop(&mut self) {
        self.session.account().set_level(self.level_before);
        self.session.set_wait_sink(None);
    }
}
