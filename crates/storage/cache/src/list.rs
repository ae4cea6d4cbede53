//! A doubly linked list of slots of one working set, by index. It allocates nothing, and a slot can
//! leave from any place.
//!
//! ```text
//!   first ◀──▶ slot ◀──▶ slot ◀──▶ last        NONE at both ends
//! ```
//!
//! Invariants
//!   * a slot's links belong to one list at a time; the owner of the links knows which
//!   * the length is the number of slots on the way in either direction
//!
//! Callers: `set_state` and `replacement`. The lists of frames share one array of links, since a
//! slot is in one of them at most; the checkpoint queue and the frames in flight have their own.

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// A slot's neighbours in its list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    before: u32,
    after: u32,
}

impl Link {
    /// The link of a slot that is in no list.
    pub(crate) const FREE: Link = Link { before: NONE, after: NONE };
}

/// One list. Every call gets its links.
#[derive(Debug)]
pub(crate) struct List {
    first: u32,
    last: u32,
    length: u32,
}

impl List {
    pub(crate) const EMPTY: List = List { first: NONE, last: NONE, length: 0 };

    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(crate) fn first(&self) -> Option<u32> {
        some(self.first)
    }

    pub(crate) fn last(&self) -> Option<u32> {
        some(self.last)
    }

    /// The slot behind this one.
    pub(crate) fn after(links: &[Link], slot: u32) -> Option<u32> {
        some(links[slot as usize].after)
    }

    pub(crate) fn push_first(&mut self, links: &mut [Link], slot: u32) {
        links[slot as usize] = Link { before: NONE, after: self.first };
        match some(self.first) {
            Some(first) => links[first as usize].before = slot,
            None => self.last = slot,
        }
        self.first = slot;
        self.length += 1;
    }

    pub(crate) fn push_last(&mut self, links: &mut [Link], slot: u32) {
        links[slot as usize] = Link { before: self.last, after: NONE };
        match some(self.last) {
            Some(last) => links[last as usize].after = slot,
            None => self.first = slot,
        }
        self.last = slot;
        self.length += 1;
    }

    /// Removes a slot that is in this list.
    pub(crate) fn remove(&mut self, links: &mut [Link], slot: u32) {
        let Link { before, after } = links[slot as usize];
        match some(before) {
            Some(before) => links[before as usize].after = after,
            None => {
                assert_eq!(self.first, slot, "a slot leaves a list that it isn't in");
                self.first = after;
            }
        }
        match some(after) {
            Some(after) => links[after as usize].before = before,
            None => self.last = before,
        }
        links[slot as usize] = Link::FREE;
        self.length -= 1;
    }
}

impl List {
    /// The slots in order if the invariants of this file hold, or else the fault.
    pub(crate) fn check(&self, links: &[Link]) -> Result<Vec<u32>, String> {
        let (mut slots, mut before) = (Vec::new(), NONE);
        let mut at = self.first;
        while at != NONE {
            let Some(link) = links.get(at as usize) else {
                return Err(format!("slot {at} of {} is in a list", links.len()));
            };
            if link.before != before {
                return Err(format!("slot {at} doesn't link back to the one before it"));
            }
            slots.push(at);
            if slots.len() > self.length as usize {
                return Err(format!("a list of {} slots goes on behind them", self.length));
            }
            (before, at) = (at, link.after);
        }
        if self.last != before || slots.len() != self.length as usize {
            return Err(format!("a list of {} slots ends after {}", self.length, slots.len()));
        }
        Ok(slots)
    }
}

fn some(slot: u32) -> Option<u32> {
    (slot != NONE).then_some(slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(list: &List, links: &[Link]) -> Vec<u32> {
        std::iter::successors(list.first(), |slot| List::after(links, *slot)).collect()
    }

    /// After random insertions and removals the list has the same slots as a plain vector.
    #[test]
    fn a_list_holds_what_a_vector_would() {
        let mut links = [Link::FREE; 8];
        let (mut list, mut plain) = (List::EMPTY, Vec::new());
        let mut dice = 7_u64;
        for _ in 0..2_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (slot, at_end) = ((dice >> 33) as u32 % 8, dice >> 40 & 1 == 1);
            match plain.iter().position(|have| *have == slot) {
                Some(at) => {
                    plain.remove(at);
                    list.remove(&mut links, slot);
                }
                None if at_end => {
                    plain.push(slot);
                    list.push_last(&mut links, slot);
                }
                None => {
                    plain.insert(0, slot);
                    list.push_first(&mut links, slot);
                }
            }
            assert_eq!(slots(&list, &links), plain);
            assert_eq!(list.last(), plain.last().copied());
            assert_eq!(list.length() as usize, plain.len());
            assert_eq!(list.is_empty(), plain.is_empty());
        }
    }
}
