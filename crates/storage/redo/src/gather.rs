//! Gathering: before a leader writes, it lets those sessions come that were told of the last batch
//! (RD13).
//!
//! Sessions whose redo has landed run for some microseconds and commit again. A leader that writes
//! at once leaves them behind, and sessions fall into two halves that take turns: each write holds
//! half of the commits, and each commit waits for two writes. So a leader gathers: it lets other
//! sessions run until as many have come as were in the last batch or waited already, or until none
//! has come for a while. Then it writes.
//!
//! With `n` sessions, writes of length `w` and a time `g` for all to come, the halves commit at a
//! rate of `n/2w`, gatherers at `n/(w + g)`: more, and each commit is sooner, while `g < w`. On a
//! device that is faster than sessions come the halves are better, because they overlap. So it is
//! tried: a gathering that takes as long as the last write has failed, and after each further
//! failure in a row no session gathers for twice as long.
//!
//! Invariants
//!   * a session that commits alone never gathers: no other was told
//!   * a session that gathers has its own record in the batch, and runs; a session that comes after
//!     the time is up, or makes the number full, writes in its place (RD38)
//!   * a session that gathers never sleeps: it stops gathering before
//!   * gathering takes no longer than the last write took
//!   * where sessions don't come, or not in time, gathering is hardly ever tried
//!
//! The time of gathering is CPU time and run-queue delay of the session, not a wait: it doesn't
//! block. Plain data, under redo allocation. Callers: `state`, `commit`, `writer`.

use os::Session;
use waits::{Nanos, Timestamp};

/// The time for the first session, which has to be woken first.
const FIRST: Nanos = Nanos::from_micros(80);
/// The time for each further session after the one before.
const NEXT: Nanos = Nanos::from_micros(40);
/// The cost of one turn: a system call to let others run, and the latch.
const TURN: Nanos = Nanos::from_micros(1);
/// After this many failures in a row the pause stays at 64 landings.
const FAILURES_MAX: u32 = 6;

#[derive(Debug)]
pub(crate) struct Gather {
    /// How many commits are hoped for in the active batch.
    hoped: u32,
    /// When gathering ends if no session comes.
    until: Timestamp,
    /// When gathering ends even if sessions come.
    until_at_most: Timestamp,
    /// Whether a session gathers for the active batch.
    busy: bool,
    /// For how many landings no session will gather.
    pause: u32,
    /// How often in a row too few sessions came in time.
    failures: u32,
    /// Whether the sessions that were told of a batch came in time for the last one taken.
    came_back: bool,
}

impl Gather {
    pub(crate) fn new() -> Gather {
        let (until, until_at_most) = (Timestamp::ZERO, Timestamp::ZERO);
        let (pause, failures, came_back) = (0, 0, false);
        Gather { hoped: 0, until, until_at_most, busy: false, pause, failures, came_back }
    }

    /// Notes that `told` sessions are being told of a batch whose write took `took`, and that
    /// `waiting` sessions wait for the next already.
    pub(crate) fn begin(&mut self, told: u32, waiting: u32, now: Timestamp, took: Nanos) {
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        self.hoped = told + waiting;
        self.until = now.after(took.min(FIRST));
        self.until_at_most = now.after(took);
    }

    /// Notes that one more session has come while more are hoped for.
    pub(crate) fn came(&mut self, now: Timestamp) {
        self.until = self.until.max(now.after(NEXT)).min(self.until_at_most);
    }

    /// Whether fewer sessions have come than are hoped for.
    pub(crate) fn is_short(&self, came: u32) -> bool {
        came < self.hoped
    }

    /// Whether there is time left to gather.
    pub(crate) fn is_time(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// Whether sessions come back at once, and so share a write instead of beginning a second one
    /// beside it (RD57).
    pub(crate) fn shares(&self) -> bool {
        self.came_back
    }

    /// Lets the caller gather. Returns false if another session gathers.
    pub(crate) fn enter(&mut self) -> bool {
        !std::mem::replace(&mut self.busy, true)
    }

    /// Ends the gathering of a session that can't write now and goes to sleep. A session that is
    /// woken for the batch must find none gathering, or each would leave the write to the other.
    pub(crate) fn leave(&mut self) {
        self.busy = false;
    }

    /// One turn of gathering, without the latch: lets other threads run, as late in a spin.
    pub(crate) fn turn(session: &Session) {
        session.charge_nanos(TURN);
        session.relax(u32::MAX);
    }

    /// Ends gathering: the batch is taken, with `came` commits.
    pub(crate) fn end(&mut self, came: u32) {
        let paid = came.saturating_mul(8) >= self.hoped.saturating_mul(7);
        self.came_back = paid && self.hoped > 1;
        if std::mem::take(&mut self.busy) {
            self.failures = if paid { 0 } else { (self.failures + 1).min(FAILURES_MAX) };
            self.pause = if paid { 0 } else { 1 << self.failures };
        }
        self.hoped = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    const WRITE: Nanos = Nanos::from_micros(1_000);

    /// A batch of sixteen has landed at this time, and a session gathers.
    fn gathering(now: u64) -> Gather {
        let mut gather = Gather::new();
        gather.begin(16, 0, at(now), WRITE);
        assert!(gather.enter() && !gather.enter(), "one gathers");
        gather
    }

    #[test]
    fn who_is_alone_does_not_wait() {
        let mut gather = Gather::new();
        assert!(!gather.is_short(1), "nothing has landed yet");
        gather.begin(1, 0, at(0), WRITE);
        assert!(!gather.is_short(1));
    }

    #[test]
    fn it_ends_when_all_came_or_nobody_comes_or_a_write_would_have_been_done() {
        let mut gather = gathering(0);
        assert!(gather.is_short(15) && !gather.is_short(16));
        assert!(gather.is_time(at(79)) && !gather.is_time(at(80)));
        gather.came(at(60));
        assert!(gather.is_time(at(99)) && !gather.is_time(at(100)));
        (70..2_000).step_by(30).for_each(|now| gather.came(at(now)));
        assert!(gather.is_time(at(999)) && !gather.is_time(at(1_000)));
    }

    #[test]
    fn after_each_failure_in_a_row_it_is_tried_half_as_often() {
        let mut gather = gathering(0);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            gather.end(13);
            let mut pause = 0;
            while !gather.is_short(1) {
                gather.begin(16, 0, at(0), WRITE);
                pause += 1;
            }
            pauses.push(pause - 1);
            gather.enter();
        }
        assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 64, 64]);
        gather.end(14);
        gather.begin(16, 0, at(0), WRITE);
        assert!(gather.is_short(1), "one success, and it is tried at once");
    }
}
