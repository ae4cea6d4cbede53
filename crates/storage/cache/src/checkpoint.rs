//! The checkpoint position, and requests to move it on.
//!
//! Invariants
//!   * a checkpoint position stays right for ever, and a later one isn't lower (CB11)
//!
//! Callers: CKPT, a log switch, a shutdown, recovery.

use ids::Rba;
use os::{Session, Waiting};
use stop::{Stop, check_call};
use waits::{Nanos, Statistic, WaitEvent};

use crate::Cache;

/// The longest wait for a writer before the session looks again by itself.
const WAIT_MAX: Nanos = Nanos::from_secs(1);

impl Cache {
    /// The checkpoint position: every change with a redo address below it is durable at home
    /// (CB11).
    pub fn checkpoint_position(&self, session: &Session) -> Rba {
        // CB11: before the look at the queues, or a change could come between the two.
        let ahead = self.gate.position(session);
        let lows = self.sets.iter().filter_map(|set| set.state.shared(session).low());
        lows.fold(ahead, Rba::min)
    }

    /// The number of dirty blocks. A block that is being written counts only if it was changed
    /// again.
    pub fn dirty(&self, session: &Session) -> u64 {
        self.sets.iter().map(|set| u64::from(set.state.shared(session).queue_length())).sum()
    }

    /// Requests an incremental checkpoint: the writers write every block that became dirty below
    /// `target`. Doesn't wait.
    pub fn request_checkpoint(&self, target: Rba, session: &Session) {
        let packed = packed_above(target);
        if self.requested.fetch_max(packed, session) < packed {
            session.count(Statistic::DbwrCheckpoints, 1);
            self.post_writers(session);
        }
    }

    /// Requests a checkpoint, and waits until its position has come to `target`, which isn't above
    /// the gate's position.
    pub fn checkpoint(&self, target: Rba, session: &Session) -> Result<(), Stop> {
        latch::assert_none_held("a checkpoint");
        assert!(target <= self.gate.position(session), "a checkpoint ahead of the redo");
        self.request_checkpoint(target, session);
        let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
        self.await_progress(|| self.checkpoint_position(session) >= target, waiting)
    }

    /// Waits for writers until `is_enough` returns true, the instance halts, or the session's call
    /// is to end.
    pub(crate) fn await_progress(
        &self,
        mut is_enough: impl FnMut() -> bool,
        waiting: Waiting<'_>,
    ) -> Result<(), Stop> {
        let session = waiting.session();
        loop {
            let seen = *self.progress.shared(session);
            if is_enough() {
                return Ok(());
            }
            let progress = self.progress.exclusive(session);
            if self.halt.is_raised(session) {
                drop(progress);
                return self.halt.check(session);
            }
            check_call(session)?;
            if *progress == seen {
                let _ = self.progressed.wait_in_call(progress, waiting, Some(WAIT_MAX));
            }
        }
    }

    /// The requested checkpoint.
    pub(crate) fn requested(&self, session: &Session) -> Rba {
        Rba::unpack_block(self.requested.load(session))
    }

    /// Counts a step of a writer, and wakes the sessions that wait for progress.
    pub(crate) fn note_progress(&self, session: &Session) {
        *self.progress.exclusive(session) += 1;
        self.progressed.notify_all(session);
    }
}

/// The lowest redo block that begins at `target` or above, packed.
fn packed_above(target: Rba) -> u64 {
    target.pack_block() + u64::from(target.offset > 0)
}
