//! Credits: room for a record in the log buffer and in the logs, promised before any block latch is
//! taken, so that appending under latches never waits (RD1).
//!
//! ```text
//!   reserve ──(may wait)──▶ Credits ──▶ latches ──▶ append (never waits)
//!                              └──── dropped unused: given back
//! ```
//!
//! Who must wait stands in a queue: only its first is granted anything, and asks for what it waits
//! for: a flush, or a checkpoint. Callers: `change`.

use std::sync::Arc;

use format::RedoRecord;
use ids::Scn;
use latch::ExclusiveGuard;
use os::{Cost, Session};
use stop::{RefusalKind, Stop};
use waits::{Statistic, WaitEvent};

use crate::config::blocks_of;
use crate::record;
use crate::redo::Shared;
use crate::state::{Blocked, Placed, State, Wish};
use crate::writer::Books;
use crate::{RECORD_BYTES_MAX, Redo};

/// Room for one record.
#[must_use = "credits that are dropped are given back"]
#[derive(Debug)]
pub struct Credits<'a> {
    redo: &'a Redo,
    session: &'a Session,
    blocks: u32,
}

impl Credits<'_> {
    /// They go over into a record.
    fn spend(mut self) -> u32 {
        std::mem::take(&mut self.blocks)
    }
}

impl Drop for Credits<'_> {
    fn drop(&mut self) {
        if self.blocks == 0 {
            return;
        }
        let shared = &self.redo.shared;
        let first = {
            let mut state = shared.state.exclusive(self.session);
            state.return_credits(self.blocks);
            state.queue.first_lane()
        };
        shared.wake_first(first, self.session);
    }
}

impl Redo {
    /// Room for one record whose vectors have at most `bytes` bytes. Called before any latch is
    /// taken (RD1); may wait, for log buffer space or for a checkpoint.
    pub fn reserve<'a>(&'a self, bytes: usize, session: &'a Session) -> Result<Credits<'a>, Stop> {
        latch::assert_none_held("a reservation of redo");
        let blocks = blocks_for(bytes)?;
        self.shared.halt.check(session)?;
        let mut state = self.shared.state.exclusive(session);
        let wish = Wish::Blocks(blocks);
        if state.queue.is_empty() && state.check(wish).is_ok() {
            state.grant(wish);
        } else {
            let state = self.shared.stand_in_line(state, wish, session)?;
            drop(state);
        }
        Ok(Credits { redo: self, session, blocks })
    }

    /// The same without waiting, for whoever holds latches: none if there is no room now.
    pub fn try_reserve<'a>(&'a self, bytes: usize, session: &'a Session) -> Option<Credits<'a>> {
        let blocks = blocks_for(bytes).ok()?;
        if self.shared.halt.is_raised(session) {
            return None;
        }
        let mut state = self.shared.state.exclusive(session);
        let wish = Wish::Blocks(blocks);
        if !state.queue.is_empty() || state.check(wish).is_err() {
            return None;
        }
        state.grant(wish);
        Some(Credits { redo: self, session, blocks })
    }

    /// Puts a record into the log buffer: a head whose length and count of vectors are set, and the
    /// vectors. Its SCN is given here. Never fails and never waits but for the latch.
    ///
    /// # Panics
    /// When the record isn't what its head says, or is larger than the credits.
    pub fn append(&self, credits: Credits<'_>, record: &mut [u8], session: &Session) -> Placed {
        self.append_with(credits, record, |_, _| {}, session)
    }

    /// The same for a record that depends on its SCN: `complete` is told it, and completes the
    /// record without changing its length, under the redo allocation latch.
    pub fn append_with(
        &self,
        credits: Credits<'_>,
        record: &mut [u8],
        complete: impl FnOnce(Scn, &mut [u8]),
        session: &Session,
    ) -> Placed {
        if let Err(fault) = record::check(record) {
            panic!("a record that recovery could not read was about to be appended: {fault}");
        }
        assert!(Arc::ptr_eq(&self.shared, &credits.redo.shared), "credits of another database");
        let credits = credits.spend();
        assert!(blocks_of(record.len()) <= credits, "a record is larger than its credits (RD1)");
        let shared = &self.shared;
        let (placed, begins_log, first, post) = {
            let mut state = shared.state.exclusive(session);
            complete(state.next_scn, record);
            session.charge(Cost::CopyKib, record.len().div_ceil(1024) as u64);
            let (placed, begins_log) = state.append(record);
            state.return_credits(credits);
            shared.publish(&state, session);
            (placed, begins_log, state.queue.first_lane(), state.posts_after_append())
        };
        shared.wake_first(first, session);
        if post {
            shared.lgwr.post(session);
        }
        session.count(Statistic::RedoEntries, 1);
        session.count(Statistic::RedoSize, record.len() as u64);
        if begins_log {
            shared.count_switch(session);
        }
        placed
    }

    /// Closes the current log and begins the next, as soon as one is free. A log that has no redo
    /// yet stays. The new log's header is written with the next redo.
    pub fn switch(&self, session: &Session) -> Result<(), Stop> {
        latch::assert_none_held("a log switch");
        let shared = &self.shared;
        shared.halt.check(session)?;
        let state = shared.state.exclusive(session);
        let before = state.position().sequence;
        let state = shared.stand_in_line(state, Wish::Switch, session)?;
        if state.position().sequence > before {
            shared.count_switch(session);
        }
        shared.publish(&state, session);
        Ok(())
    }
}

impl Shared {
    /// Waits until the wish can be granted and all who came before have theirs; grants it.
    fn stand_in_line<'a>(
        &'a self,
        mut state: ExclusiveGuard<'a, State>,
        wish: Wish,
        session: &'a Session,
    ) -> Result<ExclusiveGuard<'a, State>, Stop> {
        let ticket = state.queue.enter();
        let mut asked = None;
        loop {
            let is_first = state.queue.is_first(ticket);
            let blocked = match state.check(wish) {
                Ok(()) if is_first => break,
                Ok(()) => Blocked::Buffer,
                Err(blocked) => blocked,
            };
            let event = event_of(blocked, wish, &state);
            // Looked at under the same hold of the latch under which it goes to sleep: whoever
            // asks, and comes back to what others appended meanwhile, would wait for nobody.
            if is_first && blocked == Blocked::Buffer && state.is_up_to_sessions() {
                let flight = self.take(&mut state, session);
                drop(state);
                self.write(flight, Books::Caller(session.waiting(event)), session)?;
                state = self.state.exclusive(session);
                continue;
            }
            // What was asked for a batch that has been taken since, or for fewer free logs, may
            // have been done already.
            let asks = (blocked, state.number, state.free_groups());
            if is_first && asked != Some(asks) {
                asked = Some(asks);
                drop(state);
                match blocked {
                    Blocked::Buffer => self.lgwr.post(session),
                    Blocked::Logs => (self.checkpoint_wanted)(session),
                }
                state = self.state.exclusive(session);
                continue;
            }
            if self.halt.is_raised(session) {
                drop(state);
                self.halt.check(session)?;
                unreachable!("a halt is for good");
            }
            let room = &self.room[ticket.lane()];
            state = room.wait(state, session.waiting(event), None).0;
            asked = None;
        }
        state.grant(wish);
        state.queue.leave(ticket);
        if let Some(lane) = state.queue.first_lane() {
            self.room[lane].notify_all(session);
        }
        Ok(state)
    }
}

/// What a session is in that waits for room (RD15).
fn event_of(blocked: Blocked, wish: Wish, state: &State) -> WaitEvent {
    match (blocked, wish) {
        (Blocked::Logs, _) => WaitEvent::LogFileSwitchCheckpointIncomplete,
        (Blocked::Buffer, Wish::Switch) => WaitEvent::LogFileSwitchCompletion,
        (Blocked::Buffer, Wish::Blocks(_)) if state.is_switching() => {
            WaitEvent::LogFileSwitchCompletion
        }
        (Blocked::Buffer, Wish::Blocks(_)) => WaitEvent::LogBufferSpace,
    }
}

/// The redo blocks that a record with so many bytes of vectors may need.
fn blocks_for(bytes: usize) -> Result<u32, Stop> {
    let record = bytes.saturating_add(RedoRecord::BYTES);
    if record > RECORD_BYTES_MAX {
        let message = format!(
            "a change needs {record} bytes of redo, and a redo record has at most \
             {RECORD_BYTES_MAX}: make it smaller"
        );
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    Ok(blocks_of(record))
}
