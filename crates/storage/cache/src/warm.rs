//! Touching the memory of free frames before it is needed.
//!
//! The kernel zeroes memory at its first use, a huge page at once. That takes milliseconds in which
//! a session that reads blocks into it submits no other reads. A thread with nothing to do can
//! touch the memory before.
//!
//! Caller: recovery, between batches.

use os::{HUGE_PAGE, Session, ThreadId};

use crate::Cache;
use crate::frame::NO_ADDRESS;
use crate::get::name_of;
use crate::victim::NOWHERE;

impl Cache {
    /// Free frames for blocks of the database's own size: one for each huge page, in the order in
    /// which this thread is going to take them if no other session takes any.
    pub fn untouched(&self, thread: ThreadId, session: &Session) -> Vec<u32> {
        let pool = self.pool(self.block_size());
        let sets = pool.sets.load(session);
        let first = self.next_set(thread, sets, session);
        let step = HUGE_PAGE.div_ceil(self.block_size().bytes());
        let of_set = |place: u32| {
            let set = &self.sets[(pool.first_set + place) as usize];
            set.state.shared(session).free_frames(step)
        };
        // A session takes a few of each set in turn (CB37).
        let lists: Vec<Vec<u32>> = (first..sets).chain(0..first).map(of_set).collect();
        let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
        (0..longest)
            .flat_map(|nth| lists.iter().filter_map(move |list| list.get(nth)))
            .copied()
            .collect()
    }

    /// Touches the memory of this frame, unless a block lives there.
    pub fn touch(&self, frame: u32, session: &Session) {
        let frame = &self.frames[frame as usize];
        let mut content = frame.latch.exclusive(name_of(NOWHERE), session);
        // A session that enters a block sets the address before it takes the buffer, under this
        // latch.
        if frame.address.load(session) == NO_ADDRESS
            && let Some(buffer) = &mut content.buffer
        {
            buffer[0] = 0;
        }
    }
}
