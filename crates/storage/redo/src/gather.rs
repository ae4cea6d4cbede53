//! Waiting a moment, before a batch is written, for those who were told of the last one (RD13).
//!
//! Sessions whose redo has landed run for some microseconds and commit again. Who writes at once
//! leaves them behind, and they fall into two halves that take turns: each write holds half of the
//! commits, and each commit waits for two writes. So who is to write gathers: it lets others run
//! until as many have come as were in the last batch or wait already, or until nobody has come for
//! a while; then it writes.
//!
//! With `n` sessions, writes of length `w` and a time `g` for all to come, the halves commit at a
//! rate of `n/2w`, gatherers at `n/(w + g)`: more, and each commit is sooner, while `g < w`. On
//! a device that is faster than sessions come, the halves are better, for they overlap. So it is
//! tried: gathering that takes as long as the last write has failed, and after each failure in a
//! row nobody gathers for twice as long.
//!
//! Invariants
//!   * who is alone never waits: nobody else was told
//!   * a session that gathers has its own record in the batch, and runs; who comes after the time
//!     is up, or makes the number full, writes in its place: the baton isn't lost (RD11)
//!   * who gathers doesn't sleep: it leaves off before
//!   * who gathers never sleeps: before that it leaves off
//!   * gathering takes no longer than the last write took
//!   * where those hoped for don't come, or not in time, it is hardly ever tried
//!
//! What a session spends on gathering is its CPU and its run queue, not a wait: it doesn't block.
//! Plain data, under the redo allocation latch. Callers: `state`, `commit`, `writer`.

use os::Session;
use waits::{Nanos, Timestamp};

/// The first is given so long, for it must be woken first.
const FIRST: Nanos = Nanos::from_micros(80);
/// Each other so long after the one before.
const NEXT: Nanos = Nanos::from_micros(40);
/// What a turn costs: a system call to let others run, and the latch.
const TURN: Nanos = Nanos::from_micros(1);
/// After so many failures in a row the pauses grow no more: 64 landings.
const FAILURES_MAX: u32 = 6;

#[derive(Debug)]
pub(crate) struct Gather {
    /// So many commits are hoped for in the active batch.
    hoped: u32,
    /// Until then, unless somebody comes.
    until: Timestamp,
    /// Until then, whoever comes.
    until_at_most: Timestamp,
    /// Somebody gathers for the active batch.
    busy: bool,
    /// For so many landings nobody gathers.
    pause: u32,
    /// How often in a row too few came in time.
    failures: u32,
}

impl Gather {
    pub(crate) fn new() -> Gather {
        let (until, until_at_most) = (Timestamp::ZERO, Timestamp::ZERO);
        Gather { hoped: 0, until, until_at_most, busy: false, pause: 0, failures: 0 }
    }

    /// So many sessions are told that a batch has landed, whose write took so long; so many wait
    /// for the next already.
    pub(crate) fn begin(&mut self, told: u32, waiting: u32, now: Timestamp, took: Nanos) {
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        self.hoped = told + waiting;
        self.until = now.after(took.min(FIRST));
        self.until_at_most = now.after(took);
    }

    /// One more has come, and more are hoped for.
    pub(crate) fn came(&mut self, now: Timestamp) {
        self.until = self.until.max(now.after(NEXT)).min(self.until_at_most);
    }

    /// Whether more are hoped for than have come.
    pub(crate) fn is_short(&self, came: u32) -> bool {
        came < self.hoped
    }

    /// Whether it is still time to wait for them.
    pub(crate) fn is_time(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// The caller wants to gather; false if another one does.
    pub(crate) fn enter(&mut self) -> bool {
        !std::mem::replace(&mut self.busy, true)
    }

    /// Who gathers can't write now, and goes to sleep like the others: whoever is woken for the
    /// batch must find nobody gathering, or each would leave it to the other.
    pub(crate) fn leave(&mut self) {
        self.busy = false;
    }

    /// One turn of gathering, without the latch: others run first, as late in a spin.
    pub(crate) fn turn(session: &Session) {
        session.charge_nanos(TURN);
        session.relax(u32::MAX);
    }

    /// The batch is taken, with so many commits.
    pub(crate) fn end(&mut self, came: u32) {
        if std::mem::take(&mut self.busy) {
            let paid = came.saturating_mul(8) >= self.hoped.saturating_mul(7);
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

    /// A batch of sixteen has landed at this time, and somebody gathers.
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
