//! The first rows of an order, in a heap: the last of them is on top, and goes when one comes that
//! is before it.
//!
//! Invariant: of equal keys the one that came first is before the other, as in a sort.
//!
//! Callers: `order`, for ORDER BY with LIMIT.

use std::collections::BinaryHeap;

/// The bytes of an entry beside its key and its row: itself, and the allocator's.
const BYTES_BESIDE: u64 = size_of::<Entry>() as u64 + 32;

/// A row. Entries compare by their keys, and then by when they came.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: Box<[u8]>,
    number: u64,
    row: Box<[u8]>,
}

impl Entry {
    fn bytes(&self) -> u64 {
        (self.key.len() + self.row.len()) as u64 + BYTES_BESIDE
    }
}

/// The first `most` rows of those that were added.
pub(crate) struct Top {
    most: usize,
    heap: BinaryHeap<Entry>,
    bytes: u64,
    /// How many rows were added.
    added: u64,
    /// The key of the last wanted row, once all entries were taken out and there were enough.
    bound: Option<Box<[u8]>>,
}

impl Top {
    /// Of no rows yet.
    pub(crate) fn new(most: usize) -> Top {
        Top { most, heap: BinaryHeap::new(), bytes: 0, added: 0, bound: None }
    }

    /// Whether no row is wanted at all.
    pub(crate) fn wants_none(&self) -> bool {
        self.most == 0
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Whether a row with this key, which comes next, is one of the first.
    pub(crate) fn wants(&self, key: &[u8]) -> bool {
        match (&self.bound, self.heap.peek()) {
            (Some(bound), _) => *key < **bound,
            (None, Some(last)) if self.heap.len() == self.most => *key < *last.key,
            (None, _) => self.most > 0,
        }
    }

    /// The bytes of the heap with one more row.
    pub(crate) fn bytes_with(&self, key: &[u8], row: &[u8]) -> u64 {
        // The list of entries has up to twice their number, and while it grows three times.
        let grown = 3 * (self.heap.len() as u64 + 1) * size_of::<Entry>() as u64;
        self.bytes + (key.len() + row.len()) as u64 + BYTES_BESIDE + grown
    }

    /// Adds a row that is wanted.
    pub(crate) fn add(&mut self, key: &[u8], row: &[u8]) {
        if self.heap.len() == self.most
            && let Some(last) = self.heap.pop()
        {
            self.bytes -= last.bytes();
        }
        let entry = Entry { key: key.into(), number: self.added, row: row.into() };
        self.added += 1;
        self.bytes += entry.bytes();
        self.heap.push(entry);
    }

    /// Takes all rows out, each with its key, in the order in which they came. From then on only
    /// rows are wanted that are before the last of them, if there were enough.
    pub(crate) fn take_all(&mut self) -> Vec<Wanted> {
        if self.heap.len() == self.most {
            self.bound = self.heap.peek().map(|last| last.key.clone());
        }
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        self.bytes = 0;
        entries.sort_unstable_by_key(|entry| entry.number);
        entries.into_iter().map(|entry| Wanted { key: entry.key, row: entry.row }).collect()
    }

    /// The rows in order.
    pub(crate) fn finish(self) -> First {
        First { entries: self.heap.into_sorted_vec().into_iter() }
    }
}

/// A row that may be one of the first.
pub(crate) struct Wanted {
    pub(crate) key: Box<[u8]>,
    pub(crate) row: Box<[u8]>,
}

/// The first rows in order.
pub(crate) struct First {
    entries: std::vec::IntoIter<Entry>,
}

impl First {
    /// The bytes of the next row.
    pub(crate) fn next(&mut self) -> Option<Box<[u8]>> {
        self.entries.next().map(|entry| entry.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(top: Top) -> Vec<Vec<u8>> {
        let mut first = top.finish();
        std::iter::from_fn(|| first.next()).map(|row| row.into_vec()).collect()
    }

    /// The first rows are those of a stable sort, for any number that is wanted.
    #[test]
    fn the_first_rows_are_those_of_a_stable_sort() {
        let keys: Vec<u8> = (0..200_u32).map(|n| (n * 67 % 23) as u8).collect();
        for most in [0, 1, 5, 199, 200, 300] {
            let mut top = Top::new(most);
            for (number, key) in keys.iter().enumerate() {
                if top.wants(&[*key]) {
                    top.add(&[*key], &[number as u8]);
                }
            }
            let mut expected: Vec<usize> = (0..keys.len()).collect();
            expected.sort_by_key(|number| keys[*number]);
            let expected = expected.into_iter().take(most).map(|number| vec![number as u8]);
            assert!(first(top).into_iter().eq(expected), "{most}");
        }
    }

    /// When the rows are taken out, what was refused stays refused.
    #[test]
    fn the_bound_outlives_the_heap() {
        let mut top = Top::new(2);
        for key in [5, 3, 4] {
            assert!(top.wants(&[key]));
            top.add(&[key], &[key]);
        }
        let taken: Vec<u8> = top.take_all().iter().map(|wanted| wanted.key[0]).collect();
        assert_eq!(taken, [3, 4]);
        assert!(top.wants(&[3]) && !top.wants(&[4]) && !top.wants(&[5]));
        let mut few = Top::new(10);
        few.add(&[1], &[1]);
        few.take_all();
        assert!(few.wants(&[200]));
    }
}
