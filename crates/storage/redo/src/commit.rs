//! Group commit: a session waits until its redo is durable, or writes it, and others' with it.
//!
//! ```text
//!   make_durable ─▶ durable already? ──────────────────────────────────────────▶ done
//!                   under redo allocation:
//!                     room for a write, sessions lead ─▶ (gather) take, write ─▶ done
//!                     else ─▶ sleep until one's batch is durable ──────────────▶ done
//!                                  └─▶ or until woken to write the next ─▶ look again
//!   commit ─▶ wait, immediate: make_durable
//!             wait, batch: as make_durable, but others begin the write ────────▶ done
//!             nowait: ask the log writer, if immediate ───────────────────────▶ not durable yet
//! ```
//!
//! Invariants
//!   * a leader has its own record in the batch, so it writes once; it may still wait for writes
//!     that were begun before
//!   * no session owns the right to write, so it can't be lost: when a batch lands, one waiter for
//!     the next is woken, and until that comes any other session that commits, and the log writer,
//!     may write (RD11, RD37)
//!   * a patient session writes only if an urgent one waits for the same batch: so of all sessions
//!     that sleep for a batch any one can be woken to write it (RD14)
//!   * all of it is the caller's wait event, also when the session writes (RD12)
//!
//! Callers: `txn`, the cache's gate.

use ids::Scn;
use os::{Session, Waiting};
use stop::Stop;
use waits::{Statistic, WaitEvent};

use crate::config::{CommitLogging, CommitMode, CommitWait};
use crate::gather::Gather;
use crate::landing::Seen;
use crate::redo::{Redo, Shared};
use crate::state::{Flight, lane};
use crate::writer::WriteAccount;

enum CommitStep {
    Durable,
    /// Write this batch, which has the session's record.
    Write(Flight),
    /// Let those sessions come that were told of the last batch, then look again.
    Gather,
    /// Sleep until this batch has landed, after posting the log writer if that has to write.
    Wait {
        number: u64,
        seen: Seen,
        posts: bool,
    },
}

/// What a session that waits keeps between two looks at the state.
struct CommitWaiter {
    /// The batch among whose waiters it is counted, if it is.
    counted: Option<Counted>,
    gathers: bool,
    /// It leaves the write to others (RD14).
    patient: bool,
}

/// Among which waiters a session is counted.
#[derive(Clone, Copy)]
struct Counted {
    batch: u64,
    /// Whether it is counted among the urgent waiters, not the patient ones.
    urgent: bool,
}

impl Redo {
    /// Does what is left of a commit after its record with this SCN was appended. On return the
    /// record is durable, unless the mode is `nowait`.
    pub fn commit(&self, scn: Scn, mode: CommitMode, session: &Session) -> Result<(), Stop> {
        let patient = mode.logging == CommitLogging::Batch;
        if mode.wait == CommitWait::Wait {
            session.count(Statistic::RedoSynchWrites, 1);
            return self.shared.wait_durable(scn, patient, session, WaitEvent::LogFileSync);
        }
        self.shared.halt.check(session)?;
        if !patient && self.shared.asks_for(scn, session) {
            self.shared.lgwr.post(session);
        }
        Ok(())
    }

    /// Returns when redo is durable through `scn`, the SCN of a record that was appended. The time
    /// goes to `event`.
    pub fn make_durable(&self, scn: Scn, session: &Session, event: WaitEvent) -> Result<(), Stop> {
        if event == WaitEvent::LogFileSync {
            session.count(Statistic::RedoSynchWrites, 1);
        }
        self.shared.wait_durable(scn, false, session, event)
    }
}

impl Shared {
    /// Asks the log writer to write the record with this SCN, if no batch in flight has it. Returns
    /// whether the log writer has to be posted.
    fn asks_for(&self, scn: Scn, session: &Session) -> bool {
        let mut state = self.state.exclusive(session);
        state.number_of(scn) == state.number && state.ask_lgwr()
    }

    fn wait_durable(
        &self,
        scn: Scn,
        patient: bool,
        session: &Session,
        event: WaitEvent,
    ) -> Result<(), Stop> {
        let mut waiter = CommitWaiter { counted: None, gathers: false, patient };
        while Scn::new(self.durable.load(session)) < scn {
            latch::assert_none_held("a wait for redo to be durable");
            self.halt.check(session)?;
            let (step, block) = self.next_step(scn, &mut waiter, session);
            let waiting = session.waiting(event);
            let waiting = match event {
                WaitEvent::LogFileSync => waiting.p(block, scn.get(), 0),
                // Other events have no parameters.
                _ => waiting,
            };
            match step {
                CommitStep::Durable => break,
                CommitStep::Write(flight) => {
                    assert!(flight.through >= scn, "a leader's own record is in its batch");
                    // The session may still have to wait for a write that was begun before.
                    self.write(flight, WriteAccount::Caller(waiting), session)?;
                }
                CommitStep::Gather => Gather::turn(session),
                CommitStep::Wait { number, seen, posts } => {
                    if posts {
                        self.lgwr.post(session);
                    }
                    self.sleep(number, seen, waiting);
                }
            }
        }
        Ok(())
    }

    /// What the session does next, and the number of blocks begun in the active batch.
    fn next_step(
        &self,
        scn: Scn,
        waiter: &mut CommitWaiter,
        session: &Session,
    ) -> (CommitStep, u64) {
        let mut state = self.state.exclusive(session);
        assert!(scn < state.next_scn, "SCN {scn} was never given to a record");
        let block = u64::from(state.active.blocks());
        if Scn::new(self.durable.load(session)) >= scn {
            return (CommitStep::Durable, block);
        }
        let number = state.number_of(scn);
        let comes = waiter.counted.is_none_or(|counted| counted.batch != number);
        if comes {
            // Without a log writer a patient session would wait for a write that never begins.
            let urgent = !waiter.patient || !state.lgwr.runs;
            waiter.counted = Some(Counted { batch: number, urgent });
            *state.waiters[lane(number)].of(urgent) += 1;
        }
        let urgent = waiter.counted.is_some_and(|counted| counted.urgent);
        let waits = CommitStep::Wait {
            number,
            seen: self.landings.see(lane(number)),
            posts: urgent && number == state.number && state.can_take() && !state.sessions_lead(),
        };
        if number != state.number || !state.can_take() || !state.sessions_lead() {
            // If the batch was taken the gathering has ended. If not (with several writes in
            // flight, when the batch has come to begin a log), it must end before its gatherer
            // sleeps.
            if std::mem::take(&mut waiter.gathers) && number == state.number {
                state.gather.leave();
            }
            return (waits, block);
        }
        let came = state.waiting_for_active();
        if !urgent && came == 0 {
            return (waits, block);
        }
        if state.gather.is_short(came) {
            let now = session.now();
            if state.gather.is_time(now) {
                if comes {
                    state.gather.came(now);
                }
                waiter.gathers |= state.gather.enter();
                return (if waiter.gathers { CommitStep::Gather } else { waits }, block);
            }
        }
        *state.waiters[lane(number)].of(urgent) -= 1;
        waiter.counted = None;
        (CommitStep::Write(self.take(&mut state, session)), block)
    }

    fn sleep(&self, number: u64, seen: Seen, waiting: Waiting<'_>) {
        // A halt that comes after this check changes the word.
        if !self.halt.is_raised(waiting.session()) {
            self.landings.wait(lane(number), seen, waiting);
        }
    }
}
