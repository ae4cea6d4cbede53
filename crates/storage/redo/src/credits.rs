//! Credits: room for a record in the log buffer and in the logs, taken before any block latch, so
//! that an append under latches never waits (RD1).
//!
//! ```text
//!   reserve ──(may wait)──▶ Credits ──▶ latches ──▶ append (never waits)
//!                              └──── dropped unused: given back
//! ```
//!
//! A session without room waits in the room queue. The first in the queue asks for what all wait
//! for: a write, or a checkpoint. A session that makes room hands it out. Callers: `change`.

use std::sync::Arc;

use format::RedoRecord;
use ids::Scn;
use latch::ExclusiveGuard;
use os::{Cost, Session};
use stop::{RefusalKind, Stop, check_call};
use waits::{Statistic, WaitEvent};

use crate::config::blocks_of;
use crate::queue::{Lanes, Ticket};
use crate::record;
use crate::redo::Shared;
use crate::state::{Blocked, RoomRequest, State};
use crate::writer::WriteAccount;
use crate::{RECORD_BYTES_MAX, RecordPosition, Redo};

/// Room for one record.
#[must_use = "credits that are dropped are given back"]
#[derive(Debug)]
pub struct Credits<'a> {
    redo: &'a Redo,
    session: &'a Session,
    blocks: u32,
}

impl Credits<'_> {
    /// Uses up the credits and returns their blocks.
    fn spend(mut self) -> u32 {
        std::mem::take(&mut self.blocks)
    }
}

impl Drop for Credits<'_> {
    fn drop(&mut self) {
        if self.blocks == 0 {
            return;
        }
        self.redo.shared.make_room(|state| state.return_credits(self.blocks), self.session);
    }
}

impl Redo {
    /// Takes room for one record whose vectors have at most `bytes` bytes. Called before any latch
    /// is taken (RD1). May wait, for log buffer space or for a checkpoint.
    pub fn reserve<'a>(&'a self, bytes: usize, session: &'a Session) -> Result<Credits<'a>, Stop> {
        latch::assert_none_held("a reservation of redo");
        let blocks = blocks_for(bytes)?;
        self.shared.halt.check(session)?;
        let mut state = self.shared.state.exclusive(session);
        let request = RoomRequest::Blocks(blocks);
        if state.queue.is_empty() && state.check(request).is_ok() {
            state.grant(request);
        } else {
            self.shared.wait_in_queue(state, request, session)?;
        }
        Ok(Credits { redo: self, session, blocks })
    }

    /// Puts a record into the log buffer. In its head the length and the number of vectors are set;
    /// its SCN is set here. Never fails, and never waits but for redo allocation.
    ///
    /// # Panics
    /// When the record isn't what its head says, or is larger than the credits.
    pub fn append(
        &self,
        credits: Credits<'_>,
        record: &mut [u8],
        session: &Session,
    ) -> RecordPosition {
        self.append_with(credits, record, |_, _| {}, session)
    }

    /// Appends a record that depends on its SCN. `complete` is given the SCN, and completes the
    /// record without changing its length, under redo allocation.
    pub fn append_with(
        &self,
        credits: Credits<'_>,
        record: &mut [u8],
        complete: impl FnOnce(Scn, &mut [u8]),
        session: &Session,
    ) -> RecordPosition {
        if let Err(fault) = record::check(record) {
            panic!("a record that recovery could not read was about to be appended: {fault}");
        }
        assert!(Arc::ptr_eq(&self.shared, &credits.redo.shared), "credits of another database");
        let credits = credits.spend();
        assert!(blocks_of(record.len()) <= credits, "a record is larger than its credits (RD1)");
        let shared = &self.shared;
        let (placed, lanes, post) = {
            let mut state = shared.state.exclusive(session);
            let before = state.sequence();
            complete(state.next_scn, record);
            session.charge(Cost::CopyKib, record.len().div_ceil(1024) as u64);
            let placed = state.append(record);
            shared.count_switches_since(before, &state, session);
            state.return_credits(credits);
            shared.publish(&state, session);
            let lanes = shared.serve_queue(&mut state, session);
            (placed, lanes, state.posts_after_append())
        };
        shared.wake_queue(lanes, session);
        if post {
            shared.lgwr.post(session);
        }
        session.count(Statistic::RedoEntries, 1);
        session.count(Statistic::RedoSize, record.len() as u64);
        placed
    }

    /// Closes the current log and begins the next, as soon as a group is free. A log without redo
    /// stays. The new log's header is written with the next batch.
    pub fn switch(&self, session: &Session) -> Result<(), Stop> {
        latch::assert_none_held("a log switch");
        let shared = &self.shared;
        shared.halt.check(session)?;
        let mut state = shared.state.exclusive(session);
        if !state.queue.is_empty() || state.check(RoomRequest::Switch).is_err() {
            return shared.wait_in_queue(state, RoomRequest::Switch, session);
        }
        let before = state.sequence();
        state.grant(RoomRequest::Switch);
        shared.count_switches_since(before, &state, session);
        shared.publish(&state, session);
        Ok(())
    }
}

impl Shared {
    /// Waits in the room queue until the request is granted. The caller found sessions in the queue
    /// or no room: otherwise no session would ever grant it.
    fn wait_in_queue<'a>(
        &'a self,
        mut state: ExclusiveGuard<'a, State>,
        request: RoomRequest,
        session: &'a Session,
    ) -> Result<(), Stop> {
        let ticket = state.queue.enter(request);
        let mut asked = None;
        loop {
            if state.queue.is_served(ticket) {
                return Ok(());
            }
            let blocked = state.queue_is_blocked_by().expect("who makes room hands it out");
            let is_first = state.queue.is_first(ticket);
            let event = event_of(blocked, request, &state);
            // Checked under the same hold of the latch under which the session goes to sleep. A
            // session that asked first, and came back to what others have appended meanwhile, would
            // sleep with nobody to wake it.
            if is_first && blocked == Blocked::Buffer && state.is_up_to_sessions() {
                let flight = self.take(&mut state, session);
                drop(state);
                self.write(flight, WriteAccount::Caller(session.waiting(event)), session)?;
                state = self.state.exclusive(session);
                continue;
            }
            // It asks again if a batch was taken or a log was freed since: what it asked for before
            // may have been done already.
            let asks = (blocked, state.number, state.groups.free());
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
                return self.halt.check(session);
            }
            if let Err(stop) = check_call(session) {
                self.leave_queue(state, ticket, session);
                return Err(stop);
            }
            let room = &self.room[ticket.lane()];
            state = room.wait_in_call(state, session.waiting(event), None).0;
            asked = None;
        }
    }

    /// Leaves the room queue without room, and lets those behind have what there is (RD60).
    fn leave_queue(&self, mut state: ExclusiveGuard<'_, State>, ticket: Ticket, session: &Session) {
        state.queue.leave(ticket);
        let lanes = self.serve_queue(&mut state, session);
        drop(state);
        self.wake_queue(lanes, session);
    }

    /// Makes room, hands it out, and wakes the sessions that got it (RD16).
    pub(crate) fn make_room(&self, make: impl FnOnce(&mut State), session: &Session) {
        let lanes = {
            let mut state = self.state.exclusive(session);
            make(&mut state);
            self.serve_queue(&mut state, session)
        };
        self.wake_queue(lanes, session);
    }

    /// Hands out the room that there is along the room queue. The caller wakes the lanes once it
    /// has let go of the latch.
    pub(crate) fn serve_queue(&self, state: &mut State, session: &Session) -> Lanes {
        if state.queue.is_empty() {
            return Lanes::default();
        }
        let before = state.sequence();
        let lanes = state.serve_queue();
        self.count_switches_since(before, state, session);
        self.publish(state, session);
        lanes
    }
}

/// The event of a session that waits for room (RD15).
fn event_of(blocked: Blocked, request: RoomRequest, state: &State) -> WaitEvent {
    match (blocked, request) {
        (Blocked::Logs, _) => WaitEvent::LogFileSwitchCheckpointIncomplete,
        (Blocked::Buffer, RoomRequest::Switch) => WaitEvent::LogFileSwitchCompletion,
        (Blocked::Buffer, RoomRequest::Blocks(_)) if state.is_switching() => {
            WaitEvent::LogFileSwitchCompletion
        }
        (Blocked::Buffer, RoomRequest::Blocks(_)) => WaitEvent::LogBufferSpace,
    }
}

/// The redo blocks that a record may need whose vectors have this many bytes.
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
