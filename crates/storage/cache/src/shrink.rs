//! Shrinking a pool while it is in use.
//!
//! ```text
//!   the largest set ──────────search──▶ claimed ──off its chain──▶ memory away, out of its set
//!         ▲        │ none                                               │
//!         │        ▼                                                    ▼
//!         └── free buffer waits                                       stock
//! ```
//!
//! Invariants
//!   * a set keeps at least one frame, so a session that waits in it is woken some day
//!   * a frame leaves as a victim does (CB5), so a change that isn't on disk is never lost
//!
//! Caller: `instance`, when `db_cache_size` and the like are lowered.

use ids::BlockSize;
use os::Session;
use stop::{RefusalKind, Stop};

use crate::Cache;
use crate::get::name_of;
use crate::victim::{FreeBufferWait, NOWHERE};

impl Cache {
    /// Takes `frames` buffers away from the pool of this block size, the coldest first, and gives
    /// their memory back. Waits until that many are clean and unpinned. Refused if a working set
    /// would have none left. One session at a time calls this. If the instance halts meanwhile,
    /// some buffers may have gone.
    pub fn shrink_pool(
        &self,
        block_size: BlockSize,
        frames: u32,
        session: &Session,
    ) -> Result<(), Stop> {
        latch::assert_none_held("making a cache smaller");
        let pool = self.pool(block_size);
        let (has, sets) = (pool.frames.load(session), pool.sets.load(session));
        if has < frames.saturating_add(sets.max(1)) {
            return Err(Stop::refuse(
                RefusalKind::Invalid,
                format!(
                    "the cache for blocks of {block_size} would have {} buffers left, and needs \
                     one for each of its {} working sets while it is open",
                    has.saturating_sub(frames),
                    sets.max(1)
                ),
            ));
        }
        let all = pool.first_set..pool.first_set + sets;
        let mut sizes: Vec<(u32, u32)> =
            all.map(|set| (self.sets[set as usize].state.shared(session).slots(), set)).collect();
        for _ in 0..frames {
            let largest = sizes.iter_mut().max_by_key(|(slots, _)| *slots);
            let (slots, set) = largest.expect("a pool with buffers has a set");
            let frame = self.claim_of(*set, session)?;
            self.dismiss(frame, session);
            *slots -= 1;
            pool.frames.fetch_sub(1, session);
        }
        Ok(())
    }

    /// Claims a frame of this set and takes it off its chain.
    fn claim_of(&self, set: u32, session: &Session) -> Result<u32, Stop> {
        loop {
            let state = self.sets[set as usize].state.exclusive(session);
            let found = match self.search_set(set, state, session) {
                Some(found) => Some(found),
                None => match self.await_free(set, NOWHERE, session)? {
                    FreeBufferWait::Found(found) => Some(found),
                    FreeBufferWait::ForWrites | FreeBufferWait::ForPins => None,
                },
            };
            let Some(found) = found else { continue };
            if self.unhash(found, session) {
                return Ok(found);
            }
            self.put_back(found, session);
        }
    }

    /// Gives the memory of a claimed frame back, and the frame to the stock.
    fn dismiss(&self, at: u32, session: &Session) {
        let frame = &self.frames[at as usize];
        let mut content = frame.latch.exclusive(name_of(NOWHERE), session);
        let buffer = content.buffer.take();
        let (set, slot) = frame.home(session);
        self.sets[set as usize].state.exclusive(session).remove(slot);
        frame.unsettle(session);
        drop(content);
        self.stock.free.exclusive(session).push(at);
        buffer.expect("a free frame has its buffer").discard();
    }
}
