//! The first rows of an order: those that came, until they are twice as many as are wanted; then
//! the first half of them stays.
//!
//! ```text
//!   ┌─────┬─────┬───┬───────┐         ┌─────────────────┬───────────────────┐
//!   │ row │ row │ … │ 2most │ ──▶     │ the first most  │ room for as many  │
//!   └─────┴─────┴───┴───────┘         └─────────────────┴───────────────────┘
//!   in any order              prune   in any order; the last of them is the bound
//! ```
//!
//! A row that isn't before the bound is none of the first. Each pruning takes time for `2 most`
//! rows and comes after `most` others, so a row costs the same however many are wanted. A heap,
//! which always has the bound of that moment, looks at a chain of rows far apart in memory for each
//! row that it takes. Rows are compared by the first bytes of their keys, which lie in the list.
//!
//! Invariants
//!   * of equal keys the one that came first is before the other, as in a sort
//!   * the first `most` of the rows that were added are in the list; all others in it are behind
//!
//! Callers: `order`, for ORDER BY with LIMIT.

use std::cmp::Ordering;

/// The bytes of a row beside its key, itself and its place in the list: the allocator's.
const BYTES_BESIDE: u64 = 16;

/// The rows for which the list has room at first.
const ROOM_MIN: usize = 16;

/// The bytes of a key that lie in the list. A number or a date is whole in them.
const PREFIX_BYTES: usize = size_of::<u128>();

/// While there is no memory for twice as many rows as are wanted, pruning is worth it from one row
/// more for so many that are wanted.
const SPARE_SHARE: usize = 8;

/// A row with its key.
pub(crate) struct Kept {
    /// The first bytes of the key as a number; a shorter key is padded with zeros.
    prefix: u128,
    /// How many rows were added before.
    number: u64,
    key_bytes: u32,
    /// The key, and the row behind it.
    bytes: Box<[u8]>,
}

impl Kept {
    fn new(key: &[u8], row: &[u8], number: u64) -> Kept {
        let mut first = [0; PREFIX_BYTES];
        let short = key.len().min(PREFIX_BYTES);
        first[..short].copy_from_slice(&key[..short]);
        let key_bytes = u32::try_from(key.len()).expect("keys have a limit");
        let prefix = u128::from_le_bytes(first).swap_bytes();
        Kept { prefix, number, key_bytes, bytes: [key, row].concat().into_boxed_slice() }
    }

    /// The bytes of its key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.bytes[..self.key_bytes as usize]
    }

    /// The bytes of the row.
    pub(crate) fn row(&self) -> &[u8] {
        &self.bytes[self.key_bytes as usize..]
    }

    /// The bytes of the key behind its prefix.
    fn key_rest(&self) -> &[u8] {
        self.key().get(PREFIX_BYTES..).unwrap_or_default()
    }

    /// By the bytes of the keys, and then by when they came. Short keys are compared without a look
    /// at their bytes.
    fn order(&self, other: &Kept) -> Ordering {
        let by_rest = || self.key_rest().cmp(other.key_rest());
        let by_length = || self.key_bytes.cmp(&other.key_bytes);
        let by_prefix = self.prefix.cmp(&other.prefix);
        by_prefix
            .then_with(by_rest)
            .then_with(by_length)
            .then_with(|| self.number.cmp(&other.number))
    }

    fn memory_bytes(&self) -> u64 {
        self.bytes.len() as u64 + BYTES_BESIDE
    }
}

/// The first `most` rows of those that were added.
pub(crate) struct Top {
    most: usize,
    kept: Vec<Kept>,
    /// The memory of the rows, without the list.
    bytes: u64,
    /// How many rows were added.
    added: u64,
    /// The key of the last of the first rows, as of the last pruning.
    bound: Option<Box<[u8]>>,
}

impl Top {
    /// Of no rows yet.
    pub(crate) fn new(most: usize) -> Top {
        Top { most, kept: Vec::new(), bytes: 0, added: 0, bound: None }
    }

    /// Whether no row is wanted at all.
    pub(crate) fn wants_none(&self) -> bool {
        self.most == 0
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether a row with this key, which comes next, may be one of the first.
    pub(crate) fn wants(&self, key: &[u8]) -> bool {
        match &self.bound {
            Some(bound) => *key < **bound,
            None => self.most > 0,
        }
    }

    /// The bytes of memory with one more row.
    pub(crate) fn bytes_with(&self, key: &[u8], row: &[u8]) -> u64 {
        let room = self.kept.capacity();
        // While the list grows there are two of it.
        let list = if self.kept.len() < room { room } else { room + self.grown() };
        let row_bytes = (key.len() + row.len()) as u64 + BYTES_BESIDE;
        self.bytes + row_bytes + (list * size_of::<Kept>()) as u64
    }

    /// Adds a row, of which one at least is wanted.
    pub(crate) fn add(&mut self, key: &[u8], row: &[u8]) {
        if self.kept.len() == self.kept.capacity() {
            self.kept.reserve_exact(self.grown() - self.kept.len());
        }
        let kept = Kept::new(key, row, self.added);
        self.added += 1;
        self.bytes += kept.memory_bytes();
        self.kept.push(kept);
        if self.kept.len() == 2 * self.most {
            self.prune();
        }
    }

    /// Gives up rows that aren't wanted, for want of memory. Returns false if they are too few: the
    /// next ones would come so soon that each row would cost a pruning.
    pub(crate) fn make_room(&mut self) -> bool {
        let spare = self.kept.len().saturating_sub(self.most);
        let is_worth_it = spare > self.most / SPARE_SHARE;
        if is_worth_it {
            self.prune();
        }
        is_worth_it
    }

    /// Takes the rows out, in the order in which they came. From then on only rows are wanted that
    /// are before the last of the first, if there were enough.
    pub(crate) fn take_all(&mut self) -> Vec<Kept> {
        if self.kept.len() >= self.most {
            self.prune();
        }
        self.bytes = 0;
        let mut kept = std::mem::take(&mut self.kept);
        kept.sort_unstable_by_key(|kept| kept.number);
        kept
    }

    /// The rows in order.
    pub(crate) fn finish(mut self) -> First {
        if self.kept.len() > self.most {
            self.prune();
        }
        self.kept.sort_unstable_by(Kept::order);
        First { kept: self.kept.into_iter() }
    }

    /// Leaves the first rows, of at least as many as are wanted.
    fn prune(&mut self) {
        let Some(last) = self.most.checked_sub(1) else { return };
        let (_, bound, others) = self.kept.select_nth_unstable_by(last, Kept::order);
        self.bytes -= others.iter().map(Kept::memory_bytes).sum::<u64>();
        self.bound = Some(bound.key().into());
        self.kept.truncate(self.most);
    }

    /// The room of the list once it has grown.
    fn grown(&self) -> usize {
        let most = 2 * self.most;
        (2 * self.kept.capacity()).clamp(ROOM_MIN.min(most), most)
    }
}

/// The first rows in order.
pub(crate) struct First {
    kept: std::vec::IntoIter<Kept>,
}

impl First {
    /// The next row.
    pub(crate) fn next(&mut self) -> Option<Kept> {
        self.kept.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(top: Top) -> Vec<Vec<u8>> {
        let mut first = top.finish();
        std::iter::from_fn(|| first.next()).map(|kept| kept.row().to_vec()).collect()
    }

    /// One of few numbers, in no order.
    fn mixed(n: u8) -> u8 {
        (u32::from(n) * 67 % 23) as u8
    }

    /// Keys in orders that differ in how often the bound moves, with many that are equal.
    fn orders() -> Vec<Vec<Vec<u8>>> {
        let keys = |key: &dyn Fn(u8) -> Vec<u8>| -> Vec<Vec<u8>> { (0..200).map(key).collect() };
        let long = |bytes: usize| keys(&|n| [vec![7; bytes], vec![mixed(n)]].concat());
        vec![
            keys(&|n| vec![mixed(n)]),
            keys(&|n| vec![n]),
            keys(&|n| vec![199 - n]),
            keys(&|_| vec![5]),
            // Each is the beginning of all that are longer.
            keys(&|n| vec![0; usize::from(mixed(n))]),
            long(PREFIX_BYTES - 1),
            long(PREFIX_BYTES),
            long(3 * PREFIX_BYTES),
        ]
    }

    /// The first rows are those of a stable sort, for any number that is wanted, and wherever there
    /// is no memory for more.
    #[test]
    fn the_first_rows_are_those_of_a_stable_sort() {
        for keys in orders() {
            let mut expected: Vec<usize> = (0..keys.len()).collect();
            expected.sort_by_key(|number| &keys[*number]);
            for most in [0, 1, 2, 5, 99, 100, 101, 199, 200, 201, 300] {
                for short_of_memory in [false, true] {
                    let mut top = Top::new(most);
                    for (number, key) in keys.iter().enumerate() {
                        if top.wants(key) {
                            top.add(key, &[number as u8]);
                        }
                        if short_of_memory {
                            top.make_room();
                        }
                    }
                    let expected = expected.iter().take(most).map(|number| vec![*number as u8]);
                    assert!(first(top).into_iter().eq(expected), "{most} of {keys:?}");
                }
            }
        }
    }

    /// There are never twice as many rows as are wanted behind an addition, and what is said of
    /// their memory is what they have.
    #[test]
    fn memory_is_for_twice_the_rows_at_most() {
        for most in [1, 3, 10, 100] {
            let mut top = Top::new(most);
            for number in (0..1_000_u32).rev() {
                let (key, row) = ([(number >> 8) as u8, number as u8], [1_u8; 100]);
                let told = top.bytes_with(&key, &row);
                top.add(&key, &row);
                assert!(top.kept.len() < 2 * most && top.kept.capacity() <= 2 * most);
                let rows: u64 = top.kept.iter().map(Kept::memory_bytes).sum();
                assert_eq!(top.bytes, rows);
                let list = (top.kept.capacity() * size_of::<Kept>()) as u64;
                assert!(told >= rows + list, "{told} of {rows} and {list}");
            }
        }
    }

    /// Rows are given up for want of memory only where that makes room for some time.
    #[test]
    fn a_pruning_makes_room_for_a_part_of_the_rows() {
        let mut top = Top::new(80);
        let mut made = Vec::new();
        for number in 0..100 {
            top.add(&[number], &[number]);
            if top.make_room() {
                made.push(top.added);
            }
        }
        assert_eq!(made, [91]);
        assert_eq!(top.kept.len(), 89);
    }

    /// When the rows are taken out, what was refused stays refused.
    #[test]
    fn the_bound_outlives_the_rows() {
        let mut top = Top::new(2);
        for key in [5, 3, 4] {
            assert!(top.wants(&[key]));
            top.add(&[key], &[key]);
        }
        let taken: Vec<u8> = top.take_all().iter().map(|kept| kept.key()[0]).collect();
        assert_eq!(taken, [3, 4]);
        assert!(top.wants(&[3]) && !top.wants(&[4]) && !top.wants(&[5]));
        let mut few = Top::new(10);
        few.add(&[1], &[1]);
        few.take_all();
        assert!(few.wants(&[200]));
    }
}
