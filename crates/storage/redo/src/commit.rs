//! Group commit: waiting until redo is durable, or making it so for oneself and others.
//!
//! ```text
//!   make_durable ─▶ durable already? ──────────────────────────────────────────▶ done
//!                   under the latch:
//!                     nobody writes, sessions lead ─▶ (gather) take the batch, write it ─▶ done
//!                     else ─▶ sleep until one's batch lands ────────────────────▶ done
//!                                  └─▶ or until chosen to write the next ─▶ look again
//!   commit ─▶ wait, immediate: make_durable
//!             wait, batch: the same, but others are to begin ───────────────────▶ done
//!             nowait: ask the log writer, if at once ───────────────────────────▶ not durable yet
//! ```
//!
//! Invariants
//!   * who writes has its own record in the batch, so it writes once and is done, but for waiting
//!     for writes that were begun before: never trapped
//!   * the baton isn't lost: nobody *has* it. When a batch lands, one waiter for the next is woken;
//!     until it comes, any other session that commits, and the log writer, finds nobody writing
//!     and writes (RD11)
//!   * who is patient writes only where somebody wants that: so of all who sleep for a batch any
//!     one can be woken to write it (RD14)
//!   * in the session's books all of it is the caller's event, whoever writes (RD12)
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
    /// To write this batch, which has the record.
    Write(Flight),
    /// To let those come who were told of the last batch, and look again.
    Gather,
    /// To sleep until this batch has landed, after posting the log writer where that is to write.
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
    /// It leaves the write to others.
    patient: bool,
}

/// Where a waiting session is counted.
#[derive(Clone, Copy)]
struct Counted {
    batch: u64,
    /// Among the urgent waiters of the batch, not the patient ones.
    urgent: bool,
}

impl Redo {
    /// What is left to do of a commit whose record has this SCN. Durable when this returns, but
    /// for `nowait`.
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
    /// is accounted as `event`.
    pub fn make_durable(&self, scn: Scn, session: &Session, event: WaitEvent) -> Result<(), Stop> {
        if event == WaitEvent::LogFileSync {
            session.count(Statistic::RedoSynchWrites, 1);
        }
        self.shared.wait_durable(scn, false, session, event)
    }
}

impl Shared {
    /// Asks the log writer to write this record, if nobody does yet. True if it is to be posted.
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
                // Whoever writes it answers, and nobody gives up.
                _ => waiting,
            };
            match step {
                CommitStep::Durable => break,
                CommitStep::Write(flight) => {
                    assert!(flight.through >= scn, "a leader's own record is in its batch");
                    // It may still have to wait for a write that was begun before.
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

    /// What to do now, and the block of the log buffer that is being filled.
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
            // Without a log writer nobody would ever begin.
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
            // With the batch taken the gathering has ended; else it would go on while its gatherer
            // sleeps (several writes in flight, and the batch has come to begin a log).
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
        // A halt that comes after this look raises the word.
        if !self.halt.is_raised(waiting.session()) {
            self.landings.wait(lane(number), seen, waiting);
        }
    }
}
