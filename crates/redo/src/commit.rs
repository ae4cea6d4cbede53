//! Group commit: waiting until redo is durable, or making it so for oneself and others.
//!
//! ```text
//!   make_durable ─▶ durable already? ──────────────────────────────────────────▶ done
//!                   under the latch:
//!                     nobody writes, sessions lead ─▶ (gather) take the batch, write it ─▶ done
//!                     else ─▶ sleep until one's batch lands ────────────────────▶ done
//!                                  └─▶ or until chosen to write the next ─▶ look again
//! ```
//!
//! Invariants
//!   * who writes has its own record in the batch, so it writes once and is done: never trapped
//!   * the baton isn't lost: nobody *has* it. When a batch lands, one waiter for the next is woken;
//!     until it comes, any other session that commits, and the log writer, finds nobody writing
//!     and writes (RD11)
//!   * in the session's books all of it is the caller's event, whoever writes (RD12)
//!
//! Callers: `txn`, the cache's gate.

use ids::Scn;
use os::{Session, Waiting};
use stop::Stop;
use waits::{Statistic, WaitEvent};

use crate::Redo;
use crate::gather::Gather;
use crate::landing::Seen;
use crate::redo::Shared;
use crate::state::{Flight, parity};
use crate::writer::Books;

enum Turn {
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

/// Where a session stands that waits.
#[derive(Default)]
struct Place {
    /// The batch among whose waiters it is counted.
    counted: Option<u64>,
    gathers: bool,
}

impl Redo {
    /// Returns when redo is durable through `scn`, the SCN of a record that was appended. The time
    /// is accounted as `event`: `log file sync` for a commit.
    pub fn make_durable(&self, scn: Scn, session: &Session, event: WaitEvent) -> Result<(), Stop> {
        let shared = &self.shared;
        if event == WaitEvent::LogFileSync {
            session.count(Statistic::RedoSynchWrites, 1);
        }
        let mut place = Place::default();
        while Scn::new(shared.durable.load(session)) < scn {
            latch::assert_none_held("a wait for redo to be durable");
            shared.halt.check(session)?;
            let (turn, block) = shared.take_turn(scn, &mut place, session);
            let waiting = session.waiting(event).p(block, scn.get(), 0);
            match turn {
                Turn::Durable => break,
                Turn::Write(flight) => {
                    assert!(flight.through >= scn, "a leader's own record is in its batch");
                    return shared.write(flight, Books::Caller(waiting), session);
                }
                Turn::Gather => Gather::turn(session),
                Turn::Wait { number, seen, posts } => {
                    if posts {
                        shared.lgwr.post(session);
                    }
                    shared.sleep(number, seen, waiting);
                }
            }
        }
        Ok(())
    }
}

impl Shared {
    /// What to do now, and the block of the log buffer that is being filled.
    fn take_turn(&self, scn: Scn, place: &mut Place, session: &Session) -> (Turn, u64) {
        let mut state = self.state.exclusive(session);
        assert!(scn < state.next_scn, "SCN {scn} was never given to a record");
        let block = u64::from(state.active.blocks());
        if Scn::new(self.durable.load(session)) >= scn {
            return (Turn::Durable, block);
        }
        let number = state.number_of(scn);
        let comes = place.counted != Some(number);
        if comes {
            place.counted = Some(number);
            state.waiters[parity(number)] += 1;
        }
        let waits = Turn::Wait {
            number,
            seen: self.landings.see(parity(number)),
            posts: !state.is_writing() && !state.sessions_lead(),
        };
        if state.is_writing() || !state.sessions_lead() {
            return (waits, block);
        }
        let came = state.waiting_for_active();
        if state.gather.is_short(came) {
            let now = session.now();
            if state.gather.is_time(now) {
                if comes {
                    state.gather.came(now);
                }
                place.gathers |= state.gather.enter();
                return (if place.gathers { Turn::Gather } else { waits }, block);
            }
        }
        state.waiters[parity(number)] -= 1;
        (Turn::Write(self.take(&mut state, session)), block)
    }

    fn sleep(&self, number: u64, seen: Seen, waiting: Waiting<'_>) {
        // A halt that comes after this look raises the word.
        if !self.halt.is_raised(waiting.session()) {
            self.landings.wait(parity(number), seen, waiting);
        }
    }
}
