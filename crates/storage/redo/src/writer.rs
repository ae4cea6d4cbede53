//! Writing a batch: the session or process that took it seals it, writes it and lands it.
//!
//! Invariants
//!   * a batch is durable when it and all before it are written: so redo is durable without a hole
//!     (RD10)
//!   * the ranges of a batch are made durable in their order, and a log's header before its first
//!     block (RD6): no log that has begun follows one that isn't whole
//!   * a batch that could not be written halts the instance and never lands: nobody is told that it
//!     is durable, and no other is taken (RD7)
//!
//! Callers: `commit`, `lgwr`, `credits`.

use std::sync::Arc;

use os::{Session, Waiting};
use stop::{Halt, Stop};
use waits::{Nanos, Statistic, Timestamp, WaitEvent};

use crate::batch::LogRange;
use crate::flights::WRITES_IN_FLIGHT_MAX;
use crate::members::{self, Changes};
use crate::redo::Shared;
use crate::state::{Flight, NextWriter, State, Waiters, lane};

/// To which account the time of a write goes (RD12).
#[derive(Clone, Copy)]
pub(crate) enum WriteAccount<'s> {
    /// A session writes: all of it is the wait in which the session is.
    Caller(Waiting<'s>),
    /// The log writer writes, with events of its own.
    Lgwr,
}

/// How a batch was written.
struct Written {
    session_wrote: bool,
    ended: Timestamp,
    took: Nanos,
}

impl Shared {
    /// Takes the active batch, to be written by the caller once it has let go of the latch.
    pub(crate) fn take(&self, state: &mut State, session: &Session) -> Flight {
        let before = state.sequence();
        let flight = state.take();
        self.count_switches_since(before, state, session);
        self.publish(state, session);
        flight
    }

    /// Writes a batch durably and lands it.
    pub(crate) fn write(
        &self,
        mut flight: Flight,
        account: WriteAccount<'_>,
        session: &Session,
    ) -> Result<(), Stop> {
        latch::assert_none_held("a redo write");
        let unlanded = Unlanded { halt: &self.halt, session };
        self.wake_queue(flight.lanes, session);
        if self.acknowledges_early {
            self.durable.store(flight.through.get(), session);
            self.landings.wake(lane(flight.number), u32::MAX, session);
        }
        let started = session.now();
        flight.batch.seal(flight.durable, session);
        for (range, bytes) in flight.batch.ranges() {
            if let Err(error) = self.write_range(range, bytes, account, session) {
                unlanded.defuse();
                let cause = format!(
                    "redo can't be made durable through SCN {}, so no commit can be promised any \
                     more: {error}",
                    flight.through
                );
                return Err(self.halt.raise(cause, session));
            }
        }
        let took = session.now().since(started);
        session.count(Statistic::RedoWriteTime, took.0 / 1_000);
        session.count(Statistic::RedoBlocksWritten, flight.batch.blocks().into());
        session.count(Statistic::RedoWastage, flight.batch.wasted());
        let session_wrote = matches!(account, WriteAccount::Caller(_));
        self.land(flight, Written { session_wrote, ended: started.after(took), took }, session);
        unlanded.defuse();
        Ok(())
    }

    fn write_range(
        &self,
        range: &LogRange,
        bytes: &[u8],
        account: WriteAccount<'_>,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut group = Arc::clone(range.group());
        let writing = |event: WaitEvent, p: [u64; 3]| match account {
            WriteAccount::Caller(waiting) => waiting,
            WriteAccount::Lgwr => session.waiting(event).p(p[0], p[1], p[2]),
        };
        if let Some(beginning) = range.beginning {
            let waiting = writing(WaitEvent::LogFileSingleWrite, [group.number.into(), 0, 1]);
            let (medium, keep) = (&self.medium, &self.keep_members);
            let (begun, changes) =
                members::begin(medium, keep, &group, range.sequence, beginning, waiting)?;
            self.take_over(begun.number, &changes, session);
            self.newest_log.store(range.sequence, session);
            group = begun;
        }
        if range.blocks == 0 {
            return Ok(());
        }
        let copies = group.copies();
        let requests = [copies, copies * u64::from(range.blocks), copies];
        let waiting = writing(WaitEvent::LogFileParallelWrite, requests);
        session.count(Statistic::RedoWrites, 1);
        let failed = group.write(&self.medium, range.first_block, bytes, waiting)?;
        if !failed.is_empty() {
            // The control file is told before any session is (RD18).
            let none = Changes::new();
            let (group, changes) =
                members::record_changes(&self.keep_members, &group, failed, none, session)?;
            self.take_over(group.number, &changes, session);
        }
        Ok(())
    }

    /// Makes batches that are taken from now on go to these members.
    fn take_over(&self, group: u16, changes: &Changes, session: &Session) {
        if !changes.is_empty() {
            self.state.exclusive(session).groups.change(group, changes);
        }
    }

    /// Lands a batch that is written. If all before it are, it is durable, and perhaps some after
    /// it. First the next leader is woken, because the device has room now; then all waiters, batch
    /// by batch.
    fn land(&self, mut flight: Flight, written: Written, session: &Session) {
        // Files of members that have gone are closed here, not under the latch.
        flight.batch.clear();
        let mut told = [Waiters::default(); WRITES_IN_FLIGHT_MAX as usize];
        let (landed, active, next, lanes) = {
            let mut state = self.state.exclusive(session);
            let (durable, landed) = state.land(flight.batch, flight.number);
            self.durable.fetch_max(durable.get(), session);
            let mut urgent = u32::from(written.session_wrote);
            for (number, told) in landed.clone().zip(&mut told) {
                *told = state.told(number);
                urgent += told.urgent;
            }
            let waiting = state.waiting_for_active();
            state.gather.begin(urgent, waiting, written.ended, written.took);
            (landed, state.number, state.next_writer(), state.queue.first_lane())
        };
        match next {
            NextWriter::Nobody => {}
            NextWriter::Waiter => self.landings.wake(lane(active), 1, session),
            NextWriter::Lgwr => self.lgwr.post(session),
        }
        self.wake_queue(lanes, session);
        for (number, told) in landed.zip(told) {
            if told.all() > 0 {
                self.landings.wake(lane(number), u32::MAX, session);
            }
        }
    }
}

/// A batch that was taken and has not landed. If its thread panics no batch will ever be written
/// again, so the instance halts.
struct Unlanded<'a> {
    halt: &'a Halt,
    session: &'a Session,
}

impl Unlanded<'_> {
    fn defuse(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unlanded<'_> {
    fn drop(&mut self) {
        self.halt.raise("a write of redo ended in a panic", self.session);
    }
}
