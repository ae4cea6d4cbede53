//! The list of latches that the calling thread holds, to catch a broken order at the get rather
//! than in a deadlock (rules L1, L2).
//!
//! The list exists in debug builds and under feature `verify`; elsewhere all of this is empty. A
//! thread holds only a few latches, so a list searched from its end is fast enough.

use std::cell::RefCell;

use crate::LatchRank;

/// Whether this build keeps the list.
pub(crate) const CHECKED: bool = cfg!(any(debug_assertions, feature = "verify"));

#[derive(Clone, Copy)]
struct Held {
    rank: LatchRank,
    id: u64,
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// `None` while the thread's last destructors run and the list is gone: then nothing is checked.
fn with_list<T>(work: impl FnOnce(&mut Vec<Held>) -> T) -> Option<T> {
    HELD.try_with(|held| work(&mut held.borrow_mut())).ok()
}

/// Called before a get that may wait.
#[inline]
pub(crate) fn check_order(rank: LatchRank, id: u64) {
    if !CHECKED {
        return;
    }
    let highest = with_list(|held| held.iter().copied().max_by_key(|held| held.rank)).flatten();
    if let Some(highest) = highest.filter(|highest| highest.rank >= rank) {
        panic!(
            "latch {id} ({rank}) is asked for while latch {} ({}) is held: latches are taken in \
             ascending order of rank (rule L1)",
            highest.id, highest.rank
        );
    }
}

/// Called after a latch was got.
#[inline]
pub(crate) fn enter(rank: LatchRank, id: u64) {
    if CHECKED {
        with_list(|held| held.push(Held { rank, id }));
    }
}

/// Called when a latch is released.
#[inline]
pub(crate) fn leave(id: u64) {
    if CHECKED {
        with_list(|held| {
            let place = held.iter().rposition(|held| held.id == id);
            held.remove(place.expect("a latch is let go by the thread that got it (rule L4)"));
        });
    }
}

/// Panics, in debug builds and under feature `verify`, if the calling thread holds a latch. The
/// caller is about to do `what`: block I/O, or a wait that isn't for a latch (rule L2).
#[inline]
#[track_caller]
pub fn assert_none_held(what: &str) {
    if !CHECKED {
        return;
    }
    if let Some(held) = with_list(|held| held.last().copied()).flatten() {
        panic!("latch {} ({}) is held across {what} (rule L2)", held.id, held.rank);
    }
}

#[cfg(all(test, any(debug_assertions, feature = "verify")))]
mod tests {
    use super::*;
    use crate::{FrameOrder, LatchKind};

    fn hold(rank: LatchRank, id: u64) {
        check_order(rank, id);
        enter(rank, id);
    }

    /// Ascending order is accepted, and released latches no longer count.
    #[test]
    fn ascending_order_is_accepted_and_letting_go_forgets() {
        hold(FrameOrder::Branch.rank(), 1);
        hold(FrameOrder::Leaf.rank(), 2);
        hold(LatchKind::RedoAllocation.rank(), 3);
        leave(3);
        hold(LatchKind::RedoCopy.rank(), 4);
        [2, 4, 1].into_iter().for_each(leave);
        assert_none_held("a test");
    }

    /// Two threads could take two latches of one rank in opposite orders.
    #[test]
    #[should_panic(
        expected = "latch 2 (cache buffers chains, rank 20) is asked for while latch 1 \
                               (cache buffers chains, rank 20) is held"
    )]
    fn an_equal_rank_is_refused() {
        hold(LatchKind::Bucket.rank(), 1);
        hold(LatchKind::Bucket.rank(), 2);
    }

    /// The highest held rank counts, whichever latch was got last: no-wait gets come in any order.
    #[test]
    #[should_panic(expected = "latch 3 (cache buffers lru chain, rank 30) is asked for while \
                               latch 1 (redo copy, rank 40) is held")]
    fn the_highest_held_counts_also_after_a_lower_no_wait_get() {
        enter(LatchKind::RedoCopy.rank(), 1);
        enter(LatchKind::Bucket.rank(), 2);
        hold(LatchKind::WorkingSet.rank(), 3);
    }

    /// No latch is held across work that may take long.
    #[test]
    #[should_panic(expected = "latch 7 (buffer frame (heap), rank 10.3) is held across a read")]
    fn a_latch_held_across_io_is_named() {
        hold(FrameOrder::Heap.rank(), 7);
        assert_none_held("a read");
    }
}
