//! The replacement list: the order in which frames become victims, with a midpoint.
//!
//! ```text
//!   given away next                 read in here      hit again and again
//!        ▼                               ▼                   ▼
//!      ┌ cold ──────────────────────────┬┬──────────────── hot ┐
//!      └───────────────────────────────▲┘└┬────────────────────┘
//!                                      └──┘ more than half are hot: the oldest of them cools
//! ```
//!
//! A block that is read comes in at the midpoint, and has half of the list's way to show that it is
//! used more than once. Blocks that are read once pass without driving out the hot half. A frame
//! that is warm when it comes to the cold end goes to the hot end.
//!
//! Invariants
//!   * a slot is in one of the two halves; the owner of the slots knows which ([`Half`])
//!   * once [`overflow`](Replacement::overflow) returns `None`, at most half of all slots are hot
//!
//! Caller: `set_state`.
//! Sources: Johnson & Shasha, 2Q (VLDB '94); Oracle's touch counts and `_db_percent_hot_default`
//! of 50.

use crate::list::{Link, List};

/// At most one slot in this many is hot.
const HOT_SHARE: u32 = 2;

/// The half of the list that a slot is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Half {
    Cold,
    Hot,
}

/// The list. Every call gets its links.
#[derive(Debug)]
pub(crate) struct Replacement {
    cold: List,
    hot: List,
}

impl Replacement {
    pub(crate) const EMPTY: Replacement = Replacement { cold: List::EMPTY, hot: List::EMPTY };

    /// The cold slots and the hot ones, for a check.
    pub(crate) fn halves(&self) -> [(Half, &List); 2] {
        [(Half::Cold, &self.cold), (Half::Hot, &self.hot)]
    }

    pub(crate) fn length(&self) -> u32 {
        self.cold.length() + self.hot.length()
    }

    /// The slot at the cold end.
    pub(crate) fn coldest(&self) -> Option<u32> {
        self.cold.first().or(self.hot.first())
    }

    /// The next warmer slot.
    pub(crate) fn warmer(&self, links: &[Link], slot: u32) -> Option<u32> {
        let at_midpoint = || self.hot.first().filter(|_| self.cold.last() == Some(slot));
        List::after(links, slot).or_else(at_midpoint)
    }

    /// Puts a slot at the cold end.
    pub(crate) fn push_cold(&mut self, links: &mut [Link], slot: u32) {
        self.cold.push_first(links, slot);
    }

    /// Puts a slot at the midpoint.
    pub(crate) fn push_midpoint(&mut self, links: &mut [Link], slot: u32) {
        self.cold.push_last(links, slot);
    }

    /// Puts a slot at the hot end.
    pub(crate) fn push_hot(&mut self, links: &mut [Link], slot: u32) {
        self.hot.push_last(links, slot);
    }

    /// If too many slots are hot, moves the oldest of them to the cold half and returns it.
    pub(crate) fn overflow(&mut self, links: &mut [Link]) -> Option<u32> {
        if self.hot.length() <= self.length() / HOT_SHARE {
            return None;
        }
        let cooled = self.hot.first()?;
        self.hot.remove(links, cooled);
        self.cold.push_last(links, cooled);
        Some(cooled)
    }

    pub(crate) fn remove(&mut self, links: &mut [Link], slot: u32, half: Half) {
        match half {
            Half::Cold => self.cold.remove(links, slot),
            Half::Hot => self.hot.remove(links, slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(list: &Replacement, links: &[Link]) -> Vec<u32> {
        let warmer = |slot: &u32| list.warmer(links, *slot);
        std::iter::successors(list.coldest(), warmer).collect()
    }

    /// A block that is read comes behind all cold slots and before all hot ones; the oldest hot
    /// slot cools when more than half are hot.
    #[test]
    fn what_is_read_comes_in_at_the_midpoint() {
        let (mut links, mut list) = ([Link::FREE; 8], Replacement::EMPTY);
        let mut cooled = Vec::new();
        for slot in 0..4 {
            list.push_hot(&mut links, slot);
            cooled.extend(list.overflow(&mut links));
            assert_eq!(list.overflow(&mut links), None);
        }
        assert_eq!((order(&list, &links), cooled), (vec![0, 1, 2, 3], vec![0, 1]));
        list.push_midpoint(&mut links, 4);
        list.push_cold(&mut links, 5);
        assert_eq!(order(&list, &links), [5, 0, 1, 4, 2, 3]);
        list.remove(&mut links, 3, Half::Hot);
        list.remove(&mut links, 5, Half::Cold);
        assert_eq!((order(&list, &links), list.length()), (vec![0, 1, 4, 2], 4));
        for slot in [0, 1, 4] {
            list.remove(&mut links, slot, Half::Cold);
        }
        assert_eq!((order(&list, &links), list.overflow(&mut links)), (vec![2], Some(2)));
    }
}
