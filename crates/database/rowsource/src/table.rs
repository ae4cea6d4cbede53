//! The rows of a hash join's build side, in memory, found by the hash of their keys.
//!
//! ```text
//!   heads   │ hash, row 5 │ – │ hash, row 9 │ …       a power of two, from the lowest bits on
//!                 │                 │
//!   next          └──▶ 3 ──▶ –      └──▶ –            one for each row
//!
//!   row 5 = chunk 0, place 5; a chunk is a batch as it came, or several small ones
//! ```
//!
//! Rows with equal keys are a chain. So a row is added without a comparison, however many have its
//! key, and a chain ends where the matches do.
//!
//! Invariants
//!   * a row's number is its chunk's times 1,024, and its place in the chunk
//!   * a row without a hash (a NULL among its keys) is kept and in no chain
//!   * the heads are made when all rows are there
//!
//! Callers: `hash_join`.

use expression::{RowOf, Rows};

use crate::BATCH_ROWS_MAX;

/// In place of a row's number: there is none.
const NONE: u32 = u32::MAX;

const CHUNK_BITS: u32 = BATCH_ROWS_MAX.trailing_zeros();
const _: () = assert!(BATCH_ROWS_MAX.is_power_of_two());

/// The most chunks whose rows have numbers.
const CHUNKS_MAX: usize = (NONE >> CHUNK_BITS) as usize;

/// The bytes of a row beside those of its values: its hash, its successor, its mark, and its share
/// of the heads, which are up to twice as many as rows.
const BYTES_BESIDE: u64 =
    (size_of::<Option<u32>>() + size_of::<u32>() + 1 + 2 * size_of::<Head>()) as u64;

/// The first row of a bucket's chain, and the lowest bits of its hash.
#[derive(Clone, Copy)]
struct Head {
    hash: u32,
    row: u32,
}

/// Rows that came together.
struct Chunk {
    rows: Rows,
    hashes: Vec<Option<u32>>,
    /// The next row in the chain of each.
    next: Vec<u32>,
    /// Whether the row has found a partner.
    marks: Vec<bool>,
}

/// The rows of a build side.
#[derive(Default)]
pub(crate) struct RowTable {
    chunks: Vec<Chunk>,
    heads: Vec<Head>,
    rows: u64,
    /// The bytes of the chunks' rows, as the rows say.
    bytes: u64,
    last_bytes: u64,
}

impl RowTable {
    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The bytes that the table takes, with its heads.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes + self.rows * BYTES_BESIDE
    }

    /// The bytes that it takes at most with these rows too.
    pub(crate) fn bytes_with(&self, more: &Rows) -> u64 {
        self.bytes() + 2 * more.bytes_used() as u64 + more.len() as u64 * BYTES_BESIDE
    }

    /// Whether the rows of one more batch can be numbered.
    pub(crate) fn has_numbers(&self) -> bool {
        self.chunks.len() < CHUNKS_MAX
    }

    /// Takes all rows out of `batch`, each with its hash.
    pub(crate) fn add(&mut self, batch: &mut Rows, hashes: &[Option<u64>]) {
        assert_eq!(batch.len(), hashes.len());
        let hashes = hashes.iter().map(|hash| hash.map(|hash| hash as u32));
        self.rows += batch.len() as u64;
        let fits = |last: &&mut Chunk| last.rows.len() + batch.len() <= BATCH_ROWS_MAX;
        match self.chunks.last_mut().filter(fits) {
            Some(last) => {
                batch.iter().for_each(|row| last.rows.push_row(&row));
                last.hashes.extend(hashes);
                batch.clear();
                self.bytes -= self.last_bytes;
            }
            None => {
                let mut rows = Rows::new(batch.width());
                if batch.bytes() <= 2 * batch.bytes_used() {
                    std::mem::swap(&mut rows, batch);
                } else {
                    batch.iter().for_each(|row| rows.push_row(&row));
                    batch.clear();
                }
                let hashes = hashes.collect();
                self.chunks.push(Chunk { rows, hashes, next: Vec::new(), marks: Vec::new() });
            }
        }
        let last = self.chunks.last().expect("it was just added to");
        self.last_bytes = last.rows.bytes() as u64;
        self.bytes += self.last_bytes;
    }

    /// Puts the rows into chains. No rows are added after that.
    pub(crate) fn index(&mut self) {
        let rows = usize::try_from(self.rows).expect("fewer rows than bytes");
        let buckets = rows.next_power_of_two();
        self.heads = vec![Head { hash: 0, row: NONE }; buckets];
        for (number, chunk) in self.chunks.iter_mut().enumerate() {
            chunk.marks = vec![false; chunk.rows.len()];
            chunk.next = vec![NONE; chunk.rows.len()];
            for (place, hash) in chunk.hashes.iter().enumerate() {
                let Some(hash) = *hash else { continue };
                let row = ((number as u32) << CHUNK_BITS) | place as u32;
                let head = &mut self.heads[hash as usize & (buckets - 1)];
                chunk.next[place] = head.row;
                *head = Head { hash, row };
            }
        }
    }

    /// The first row that may have this hash.
    #[inline]
    pub(crate) fn first(&self, hash: u64) -> Option<u32> {
        let hash = hash as u32;
        let head = self.heads.get(hash as usize & self.heads.len().wrapping_sub(1))?;
        match head.row {
            NONE => None,
            row if head.hash == hash => Some(row),
            row => self.next(row, u64::from(hash)),
        }
    }

    /// The next row behind this one that may have this hash.
    #[inline]
    pub(crate) fn next(&self, row: u32, hash: u64) -> Option<u32> {
        let mut row = row;
        loop {
            let (chunk, place) = self.at(row);
            row = chunk.next[place];
            if row == NONE {
                return None;
            }
            let (chunk, place) = self.at(row);
            if chunk.hashes[place] == Some(hash as u32) {
                return Some(row);
            }
        }
    }

    /// The row with this number.
    #[inline]
    pub(crate) fn row(&self, row: u32) -> RowOf<'_> {
        let (chunk, place) = self.at(row);
        chunk.rows.row(place)
    }

    /// Marks a row as one that has a partner. Returns whether it was marked before.
    #[inline]
    pub(crate) fn mark(&mut self, row: u32) -> bool {
        let chunk = &mut self.chunks[(row >> CHUNK_BITS) as usize];
        std::mem::replace(&mut chunk.marks[row as usize & (BATCH_ROWS_MAX - 1)], true)
    }

    /// The first row from `row` on that isn't marked.
    pub(crate) fn unmarked_from(&self, row: u32) -> Option<u32> {
        let (mut number, mut place) = ((row >> CHUNK_BITS) as usize, row as usize);
        place &= BATCH_ROWS_MAX - 1;
        while let Some(chunk) = self.chunks.get(number) {
            if let Some(found) = chunk.marks[place..].iter().position(|is_marked| !is_marked) {
                return Some(((number as u32) << CHUNK_BITS) | (place + found) as u32);
            }
            (number, place) = (number + 1, 0);
        }
        None
    }

    /// Whether the row is marked.
    #[inline]
    pub(crate) fn is_marked(&self, row: u32) -> bool {
        let (chunk, place) = self.at(row);
        chunk.marks[place]
    }

    /// Whether the row has a hash: no NULL among its keys.
    pub(crate) fn has_hash(&self, row: u32) -> bool {
        let (chunk, place) = self.at(row);
        chunk.hashes[place].is_some()
    }

    /// All rows as they came, chunk by chunk.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &Rows> {
        self.chunks.iter().map(|chunk| &chunk.rows)
    }

    /// Takes all rows out, and gives the memory back.
    pub(crate) fn clear(&mut self) {
        *self = RowTable::default();
    }

    #[inline]
    fn at(&self, row: u32) -> (&Chunk, usize) {
        (&self.chunks[(row >> CHUNK_BITS) as usize], row as usize & (BATCH_ROWS_MAX - 1))
    }
}

#[cfg(test)]
mod tests {
    use value::Value;

    use super::*;

    fn batch(values: impl IntoIterator<Item = i64>) -> (Rows, Vec<Option<u64>>) {
        let mut rows = Rows::new(1);
        let values: Vec<i64> = values.into_iter().collect();
        values.iter().for_each(|value| rows.push([Value::Int(*value)]));
        // Every tenth has no hash; few buckets have many rows.
        let hash = |value: &i64| (value % 10 != 0).then_some((*value as u64 % 7) << 3);
        (rows, values.iter().map(hash).collect())
    }

    fn values(table: &RowTable, hash: u64) -> Vec<i64> {
        let mut found = Vec::new();
        let mut next = table.first(hash);
        while let Some(row) = next {
            let Value::Int(value) = table.row(row).get(0) else { panic!("a whole number") };
            found.push(value);
            next = table.next(row, hash);
        }
        found.sort_unstable();
        found
    }

    /// Each row is found by its hash and by no other, whether it came in a large batch or a small
    /// one; rows without a hash are kept, and found by none.
    #[test]
    fn rows_are_found_by_their_hash() {
        let mut table = RowTable::default();
        assert_eq!(table.first(3), None);
        let mut from = 0;
        for rows in [1_000, 3, 7, 1_024, 66] {
            let (mut rows, hashes) = batch(from..from + rows);
            from += rows.len() as i64;
            assert!(table.bytes_with(&rows) > table.bytes());
            table.add(&mut rows, &hashes);
            assert!(rows.is_empty());
        }
        table.index();
        assert_eq!(table.rows(), 2_100);
        assert_eq!(table.chunks().map(Rows::len).sum::<usize>(), 2_100);
        for hash in 0..60 {
            let is_of = |value: &i64| value % 10 != 0 && (*value as u64 % 7) << 3 == hash;
            let expected: Vec<i64> = (0..2_100).filter(is_of).collect();
            assert_eq!(values(&table, hash), expected, "{hash}");
        }
        let (mut unmarked, mut next) = (0, table.unmarked_from(0));
        while let Some(row) = next {
            assert!(!table.mark(row) && table.mark(row));
            unmarked += 1;
            next = table.unmarked_from(row);
        }
        assert_eq!(unmarked, 2_100);
        table.clear();
        assert_eq!((table.rows(), table.bytes(), table.first(0)), (0, 0, None));
    }
}
