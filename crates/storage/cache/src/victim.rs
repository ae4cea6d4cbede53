//! Finding a victim: a frame for a block that isn't in the cache; and waiting for one.
//!
//! ```text
//!   search every set whose latch is free, from the one used last ──▶ then the other sets
//!         │ found: off the lists                                        │ none in any
//!         │ (free frames of all sets first, CB33)                       │
//!         ▼                                                             ▼
//!   no pin, clean? (bucket's latch) ──yes──▶ off the chain: ours    post the writers, wait
//!         └── no: back to the hot end, search again                 (free buffer waits)
//! ```
//!
//! Invariants
//!   * a frame that a search took off the lists is claimed: it belongs to that session until the
//!     session puts it back
//!   * a frame is taken off its chain only unpinned, clean and with no write under way (CB5)
//!
//! Callers: `get`; `pin`, when the last pin of a stripe goes; `shrink`.

use ids::Dba;
use latch::{ExclusiveGuard, Shared32};
use os::{Session, ThreadId};
use stop::{RefusalKind, Stop};
use waits::{Nanos, Statistic, Timestamp, WaitEvent};

use crate::Cache;
use crate::frame::{FAILED, NO_ADDRESS};
use crate::pool::Pool;
use crate::set_state::SetState;

/// Buffers that a session takes from one working set before it goes on with the next (CB37).
pub(crate) const STAY: u32 = 8;
/// The longest wait for a free buffer before the session looks again by itself.
const WAIT_MAX: Nanos = Nanos::from_secs(1);
/// A session that has waited this long for nothing but pins of others is refused (CB36).
const PIN_WAIT_MAX: Nanos = Nanos::from_secs(10);
/// The least time between two such refusals in one pool.
const BETWEEN_REFUSALS: Nanos = Nanos::from_secs(1);

/// How a wait for a free buffer has ended.
pub(crate) enum FreeBufferWait {
    /// The last look found this frame, so there was no wait.
    Found(u32),
    /// The session has waited for writers, and searches again.
    ForWrites,
    /// The session has waited for a pin to go, and searches again.
    ForPins,
}

/// An address that no block has.
pub(crate) const NOWHERE: Dba = Dba::new(0, 0);

impl Cache {
    /// Claims a frame of this pool for the block `wanted`, and takes it off its chain. Waits for a
    /// free buffer if there is none.
    pub(crate) fn claim(&self, wanted: Dba, pool: &Pool, session: &Session) -> Result<u32, Stop> {
        session.count(Statistic::FreeBufferRequested, 1);
        let mut pinned_since = None;
        loop {
            let found = match self.search_all(pool, session) {
                Ok(found) => found,
                Err(set) => match self.await_free(set, wanted, session)? {
                    FreeBufferWait::Found(found) => found,
                    FreeBufferWait::ForWrites => {
                        pinned_since = None;
                        continue;
                    }
                    FreeBufferWait::ForPins => {
                        let since = *pinned_since.get_or_insert(session.now());
                        self.check_pin_wait(pool, since, session)?;
                        continue;
                    }
                },
            };
            if self.unhash(found, session) {
                return Ok(found);
            }
            self.put_back(found, session);
        }
    }

    /// As `claim`, but `None` rather than a wait.
    pub(crate) fn try_claim(&self, pool: &Pool, session: &Session) -> Option<u32> {
        session.count(Statistic::FreeBufferRequested, 1);
        loop {
            let found = self.search_all(pool, session).ok()?;
            if self.unhash(found, session) {
                return Some(found);
            }
            self.put_back(found, session);
        }
    }

    /// Refuses a session that has waited for nothing but pins since this moment, if that is long
    /// ago (CB36). One session of a pool at a time: the pins that it lets go may be enough for all
    /// others.
    fn check_pin_wait(&self, pool: &Pool, since: Timestamp, session: &Session) -> Result<(), Stop> {
        let now = session.now();
        if now.since(since) < PIN_WAIT_MAX {
            return Ok(());
        }
        let last = pool.refused_at.load(session);
        let is_soon = now.since(Timestamp::from_nanos(last)) < BETWEEN_REFUSALS;
        if last != 0 && is_soon
            || pool.refused_at.compare_exchange(last, now.as_nanos(), session).is_err()
        {
            return Ok(());
        }
        let message = format!(
            "there was no free buffer for a block of {} in {} s: all {} are in use by sessions \
             that wait for more; choose a larger db_cache_size, or work with fewer sessions",
            pool.block_size,
            PIN_WAIT_MAX.0 / 1_000_000_000,
            pool.frames.load(session)
        );
        Err(Stop::refuse(RefusalKind::NoBuffer, message))
    }

    /// How far this thread has come in its way over the sets of a pool, in `STAY` steps for each
    /// set.
    fn hint_of(&self, thread: ThreadId) -> &Shared32 {
        &self.steps[thread.0 as usize % self.steps.len()]
    }

    /// The place, among the `sets` of a pool, of the set that a thread searches next.
    pub(crate) fn next_set(&self, thread: ThreadId, sets: u32, session: &Session) -> u32 {
        self.hint_of(thread).load(session) / STAY % sets
    }

    /// Puts back a claimed frame that another session has come to use.
    pub(crate) fn put_back(&self, at: u32, session: &Session) {
        let (set, slot) = self.frames[at as usize].home(session);
        let set = &self.sets[set as usize];
        set.state.exclusive(session).put_hot(slot);
        set.freed.notify_one(session);
    }

    /// Searches all sets of this pool for a victim, from the set in which this session found one
    /// last, or after `STAY` of them from the next (CB37). The error is that first set.
    fn search_all(&self, pool: &Pool, session: &Session) -> Result<u32, u32> {
        let first = self.next_set(session.thread(), pool.sets.load(session), session);
        let found = self.search_from(pool, first, session).ok_or(pool.first_set + first)?;
        let (set, _) = self.frames[found as usize].home(session);
        let hint = self.hint_of(session.thread());
        let taken = hint.load(session) % STAY + 1;
        hint.store((set - pool.first_set) * STAY + taken, session);
        Ok(found)
    }

    /// Searches all sets of this pool for a victim: first for a free frame in any set (CB33).
    fn search_from(&self, pool: &Pool, first: u32, session: &Session) -> Option<u32> {
        let free = |state: &mut SetState| state.search_free();
        if pool.has_free.is_raised(session) {
            let found = self.search_sets(pool, first, free, session);
            if found.is_some() {
                return found;
            }
            // A frame that became free between the look and this is found now.
            pool.has_free.lower(session);
            if let Some(found) = self.search_sets(pool, first, free, session) {
                pool.has_free.raise(session);
                return Some(found);
            }
        }
        self.search_sets(pool, first, |state| state.search(&self.frames, session), session)
    }

    /// Searches every set of the pool, first those whose latch is free: so sessions spread over the
    /// sets rather than queue for one.
    fn search_sets(
        &self,
        pool: &Pool,
        first: u32,
        search: impl Fn(&mut SetState) -> Option<u32>,
        session: &Session,
    ) -> Option<u32> {
        let count = pool.sets.load(session);
        let numbered = |place: u32| pool.first_set + place;
        let mut busy = [false; crate::CacheConfig::WORKING_SETS_MAX as usize];
        for place in (first..count).chain(0..first) {
            match self.sets[numbered(place) as usize].state.try_exclusive(session) {
                Some(state) => match self.search_by(&search, numbered(place), state, session) {
                    Some(frame) => return Some(frame),
                    None => continue,
                },
                None => busy[place as usize] = true,
            }
        }
        (first..count).chain(0..first).filter(|place| busy[*place as usize]).find_map(|place| {
            let state = self.sets[numbered(place) as usize].state.exclusive(session);
            self.search_by(&search, numbered(place), state, session)
        })
    }

    /// Searches one set for a victim.
    pub(crate) fn search_set(
        &self,
        set: u32,
        state: ExclusiveGuard<'_, SetState>,
        session: &Session,
    ) -> Option<u32> {
        self.search_by(|state| state.search(&self.frames, session), set, state, session)
    }

    fn search_by(
        &self,
        search: impl Fn(&mut SetState) -> Option<u32>,
        set: u32,
        mut state: ExclusiveGuard<'_, SetState>,
        session: &Session,
    ) -> Option<u32> {
        let found = search(&mut state).map(|slot| state.frame_of(slot));
        let post = state.take_post();
        drop(state);
        if post {
            session.count(Statistic::DbwrMakeFreeRequests, 1);
            self.post_writer_of(set, session);
        }
        found
    }

    /// Searches one set once more, and waits for a free buffer if it has no victim.
    pub(crate) fn await_free(
        &self,
        set: u32,
        wanted: Dba,
        session: &Session,
    ) -> Result<FreeBufferWait, Stop> {
        let home = &self.sets[set as usize];
        session.count(Statistic::DbwrMakeFreeRequests, 1);
        // Before the look: a session whose pin goes after it sees that one waits.
        self.unpin_wanted.0.fetch_add(1, session);
        let mut state = home.state.exclusive(session);
        let found = state.search(&self.frames, session).map(|slot| state.frame_of(slot));
        let _ = state.take_post();
        if let Some(found) = found {
            drop(state);
            self.unpin_wanted.0.fetch_sub(1, session);
            return Ok(FreeBufferWait::Found(found));
        }
        self.post_writers(session);
        let unpin_helps = state.writer_has_nothing();
        if !unpin_helps {
            self.unpin_wanted.0.fetch_sub(1, session);
        }
        let is_to_leave = self.halt.is_raised(session) || session.call_end().is_some();
        let result = if is_to_leave {
            drop(state);
            self.halt.check_call(session)
        } else {
            let waiting = session.waiting(WaitEvent::FreeBufferWaits);
            let waiting =
                waiting.p(wanted.file.get().into(), wanted.block.get().into(), u64::from(set));
            // A session that is told of a frame, and is to leave, searches once more before.
            let (state, _) = home.freed.wait_in_call(state, waiting, Some(WAIT_MAX));
            drop(state);
            Ok(())
        };
        if unpin_helps {
            self.unpin_wanted.0.fetch_sub(1, session);
        }
        let waited = if unpin_helps { FreeBufferWait::ForPins } else { FreeBufferWait::ForWrites };
        result.map(|()| waited)
    }

    /// Takes a claimed frame off its chain. False if another session has come to use it (CB5).
    pub(crate) fn unhash(&self, at: u32, session: &Session) -> bool {
        let frame = &self.frames[at as usize];
        let Some(address) = Dba::unpack(frame.address.load(session)) else {
            return true;
        };
        let mut chain = self.chains.exclusive(&self.frames, address, session);
        if !frame.vacate(session) {
            return false;
        }
        if frame.flags.load(session) != 0 {
            frame.unvacate(session);
            return false;
        }
        chain.remove(at, session);
        true
    }

    /// Makes a frame free that isn't needed after all, or whose block couldn't be read.
    pub(crate) fn give_back(&self, at: u32, session: &Session) {
        assert_eq!(self.frames[at as usize].address.load(session), NO_ADDRESS);
        let (set, slot) = self.frames[at as usize].home(session);
        let (pool, _) = self.pool_of_set(set);
        let set = &self.sets[set as usize];
        set.state.exclusive(session).put_free(slot);
        pool.has_free.raise(session);
        set.freed.notify_one(session);
    }

    /// Lets a pin of this frame go.
    #[inline]
    pub(crate) fn let_go(&self, at: u32, session: &Session) {
        if self.frames[at as usize].unpin(session) {
            self.after_unpin(at, session);
        }
    }

    /// Looks whether a failed read or a waiting session needs the last pin of a stripe to go.
    #[inline]
    pub(crate) fn after_unpin(&self, at: u32, session: &Session) {
        let failed = self.frames[at as usize].status.load(session) & FAILED != 0;
        if failed || self.unpin_wanted.0.load(session) > 0 {
            self.last_let_go(failed, at, session);
        }
    }

    #[cold]
    fn last_let_go(&self, failed: bool, at: u32, session: &Session) {
        if failed {
            self.recycle_failed(at, session);
        } else {
            self.tell_unpinned(at, session);
        }
    }

    /// Wakes a session that waits for a pin to go. Another stripe may still have a pin: the session
    /// that lets that one go wakes them too.
    fn tell_unpinned(&self, at: u32, session: &Session) {
        // A pin made on a hint may go when the frame has left its set.
        let Some((set, _)) = self.frames[at as usize].home_if_any(session) else { return };
        let set = &self.sets[set as usize];
        // Under the latch, so that a waiting session has either seen the pin gone or sleeps
        // already.
        let _state = set.state.exclusive(session);
        set.freed.notify_one(session);
    }

    /// Makes a frame free whose read has failed, if its last pin has gone.
    fn recycle_failed(&self, at: u32, session: &Session) {
        let mut faults = self.read_shard(at).latch.exclusive(session);
        // CB43: only the first session to find it so does this.
        if self.frames[at as usize].vacate_failed(session) {
            faults.forget(at);
            drop(faults);
            self.give_back(at, session);
        }
    }
}
