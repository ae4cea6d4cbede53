//! Pools: each block size has its own frames and working sets.
//!
//! ```text
//!   pool of 2 KiB        4 KiB       8 KiB      …        a pool is in use when it has frames
//!   ┌───────────────┬───────────┬───────────────┬───┐
//!   │ sets 0 … W-1  │ W … 2W-1  │ 2W … 3W-1     │   │    each set has frames of one size
//!   └───────────────┴───────────┴───────────────┴───┘
//!        ▲ memory, a set
//!   stock: frames without memory                         (frames_max limits all pools together)
//! ```
//!
//! The frames and the hash chains belong to the whole cache, so a hit needn't know the block size
//! (CB18). A frame gets memory of a pool's block size when it comes into a set of that pool. Only a
//! session that needs a frame asks which pool the block belongs to.
//!
//! Invariants
//!   * all frames of a working set have the block size of the set's pool
//!   * a frame is in the stock or in one set, and then has its set and slot
//!   * a pool uses one set for each `FRAMES_PER_SET_MIN` frames, at most `working_sets`. They are
//!     the first of its sets, and each has a frame
//!
//! Callers: `cache` (opening, adding files), `victim` and `writer` (which sets).

use ids::BlockSize;
use latch::{Latch, LatchKind, Shared32, Shared64, SharedFlag};
use os::{IO_ALIGNMENT, IoBuf, IoPool, Os, Session};
use stop::{RefusalKind, Stop};

use crate::get::name_of;
use crate::victim::NOWHERE;
use crate::{Cache, CacheConfig};

/// The number of block sizes.
pub(crate) const SIZES: usize = BlockSize::ALL.len();

/// The frames for blocks of one size.
pub(crate) struct Pool {
    pub(crate) block_size: BlockSize,
    /// The number of its first set.
    pub(crate) first_set: u32,
    /// The number of its sets that have frames.
    pub(crate) sets: Shared32,
    pub(crate) frames: Shared32,
    /// Whether its sets may have free frames. A hint: it may be raised in vain.
    pub(crate) has_free: SharedFlag,
    /// When a session was refused a buffer last (CB36), in nanoseconds; 0 for never.
    pub(crate) refused_at: Shared64,
}

/// Frames without memory.
pub(crate) struct Stock {
    pub(crate) free: Latch<Vec<u32>>,
}

impl Pool {
    /// The pool of the `place`th block size, with `sets` sets and no frames.
    pub(crate) fn new(place: usize, sets: u32) -> Pool {
        Pool {
            block_size: BlockSize::ALL[place],
            first_set: place as u32 * sets,
            sets: Shared32::new(0),
            frames: Shared32::new(0),
            has_free: SharedFlag::new(false),
            refused_at: Shared64::new(0),
        }
    }
}

impl Stock {
    /// The stock with all frames of the cache.
    pub(crate) fn new(os: &Os, frames: u32) -> Stock {
        let free = (0..frames).rev().collect();
        Stock { free: Latch::new(os, LatchKind::Innermost, free) }
    }

    /// Takes `count` frames. If the stock has fewer it gives none, and the error is how many it
    /// has.
    fn take(&self, count: u32, session: &Session) -> Result<Vec<u32>, u32> {
        let mut free = self.free.exclusive(session);
        let have = free.len();
        match have.checked_sub(count as usize) {
            Some(rest) => Ok(free.split_off(rest).into_iter().rev().collect()),
            None => Err(have as u32),
        }
    }
}

impl Cache {
    /// The pool of this block size.
    pub(crate) fn pool(&self, block_size: BlockSize) -> &Pool {
        &self.pools[place_of(block_size)]
    }

    /// The pool of a set, and the set's place there.
    pub(crate) fn pool_of_set(&self, set: u32) -> (&Pool, u32) {
        let sets = self.config.working_sets;
        (&self.pools[(set / sets) as usize], set % sets)
    }

    /// The number of buffers for blocks of this size.
    pub fn buffers(&self, block_size: BlockSize, session: &Session) -> u32 {
        self.pool(block_size).frames.load(session)
    }

    /// Gives the pool of this block size `frames` more buffers; it may have none yet. Refused if
    /// the cache would have more than `frames_max` of all sizes together. One session at a time
    /// calls this.
    pub fn grow_pool(
        &self,
        block_size: BlockSize,
        frames: u32,
        session: &Session,
    ) -> Result<(), Stop> {
        self.check_region(block_size)?;
        let taken = self.stock.take(frames, session).map_err(|have| {
            Stop::refuse(
                RefusalKind::Invalid,
                format!(
                    "cannot add {frames} buffers of {block_size} to the cache: it has room for \
                     {have} more; give it more room when it is opened, or add fewer"
                ),
            )
        })?;
        let buffers = match new_buffers(frames, block_size.bytes()) {
            Ok(buffers) => buffers,
            Err(stop) => {
                self.stock.free.exclusive(session).extend(taken.into_iter().rev());
                return Err(stop);
            }
        };
        let pool = self.pool(block_size);
        let total = pool.frames.load(session) + frames;
        let sets = sets_for(total, self.config.working_sets).max(pool.sets.load(session));
        // Neighbours in memory go to one set, so that a cache that fills first touches its memory
        // bit by bit: the kernel zeroes a whole huge page at the first touch.
        let run = (frames / sets).max(1);
        for (nth, (frame, buffer)) in taken.into_iter().zip(buffers).enumerate() {
            // New sets first.
            let set = (pool.sets.load(session) + nth as u32 / run) % sets;
            self.settle(frame, buffer, pool.first_set + set, session);
        }
        // Now each of these sets has a frame. `sets` is stored before `frames`, so a session that
        // sees that the pool has frames finds its sets.
        pool.sets.store(sets, session);
        pool.frames.store(total, session);
        Ok(())
    }

    /// The longest part of a block that can be left in the doublewrite file behind a batch's
    /// copies: with one block size whole blocks are left, and this is 0 (CB17).
    pub(crate) fn left_over_max(&self, session: &Session) -> usize {
        let sizes = self.pools.iter().filter(|pool| pool.frames.load(session) > 0);
        let mut sizes = sizes.map(|pool| pool.block_size.bytes());
        let smallest = sizes.next().unwrap_or(0);
        sizes.next_back().map_or(0, |largest| largest - smallest)
    }

    /// Gives a frame memory and puts it into a set, free.
    fn settle(&self, frame: u32, buffer: IoBuf, set: u32, session: &Session) {
        let at = &self.frames[frame as usize];
        self.ahead.note(frame, &buffer);
        at.latch.exclusive(name_of(NOWHERE), session).buffer = Some(buffer);
        let set_of = &self.sets[set as usize];
        let mut state = set_of.state.exclusive(session);
        let slot = state.add(frame);
        at.settle(set, slot, session);
        state.put_free(slot);
        self.pool_of_set(set).0.has_free.raise(session);
        set_of.freed.notify_one(session);
    }

    /// Refuses a block size of which a batch has no room for two blocks: writes for one reason
    /// could starve those for the other.
    pub(crate) fn check_region(&self, block_size: BlockSize) -> Result<(), Stop> {
        let CacheConfig { batch_blocks, block_size: own, .. } = &self.config;
        let has = self.config.region_bytes();
        if block_size == *own || has >= 2 * block_size.bytes() {
            return Ok(());
        }
        Err(Stop::refuse(
            RefusalKind::Invalid,
            format!(
                "cannot have buffers of {block_size}: a batch of {batch_blocks} blocks of {own} \
                 hasn't room for two of them; choose larger batches"
            ),
        ))
    }
}

/// The place of a block size among all sizes.
pub(crate) fn place_of(block_size: BlockSize) -> usize {
    let place = block_size.bytes().trailing_zeros() - BlockSize::KIB_2.bytes().trailing_zeros();
    place as usize
}

/// The number of sets that a pool with this many frames uses.
fn sets_for(frames: u32, most: u32) -> u32 {
    (frames / CacheConfig::FRAMES_PER_SET_MIN).clamp(1, most)
}

/// Buffers of equal size, in one piece of memory if blocks are long enough for direct I/O.
fn new_buffers(count: u32, bytes: usize) -> Result<Vec<IoBuf>, Stop> {
    if count == 0 || !bytes.is_multiple_of(IO_ALIGNMENT) {
        return Ok((0..count).map(|_| IoBuf::zeroed(bytes)).collect());
    }
    let pool = IoPool::new(count, bytes)?;
    Ok((0..count).map(|_| pool.take().expect("the pool has so many")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_its_place() {
        for (place, size) in BlockSize::ALL.into_iter().enumerate() {
            assert_eq!(place_of(size), place);
        }
    }

    #[test]
    fn a_set_has_four_frames_unless_there_is_but_one() {
        let sets = [1, 4, 7, 8, 31, 32, 1_000].map(|frames| sets_for(frames, 8));
        assert_eq!(sets, [1, 1, 1, 2, 7, 8, 8]);
    }
}
