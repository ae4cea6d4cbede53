//! What operations cost: microseconds, as expected on a machine as they are today.
//!
//! ```text
//!   reading   one block        READ_SINGLE     what isn't in the cache, one by one
//!             of many at once  READ_MULTI      of a scan, for each block
//!   a block in the cache       GET
//!   a row, a value, a test     ROW, VALUE, TEST
//! ```
//!
//! The two reads are numbers of their own. How many blocks a scan reads at once while the instance
//! runs (`db_file_multiblock_read_count`) doesn't change them: a plan shouldn't change with a
//! setting of the moment (rule SQ33).
//!
//! Callers: all of `plan`.

/// A read of one block from disk.
pub(super) const READ_SINGLE: f64 = 90.0;
/// A block of a read of many.
pub(super) const READ_MULTI: f64 = 9.0;
/// A get of a block that is in the cache.
pub(super) const GET: f64 = 0.35;
/// To find a row in its block.
pub(super) const ROW: f64 = 0.05;
/// To copy a value.
pub(super) const VALUE: f64 = 0.012;
/// To evaluate one part of an expression.
pub(super) const TEST: f64 = 0.015;
/// To put a row into a table of hashes, and to look one up there.
pub(super) const HASH_PUT: f64 = 0.12;
pub(super) const HASH_LOOK: f64 = 0.07;
/// To compare two rows in a sort or a merge.
pub(super) const COMPARE: f64 = 0.04;
/// To begin a search in an index, beside its gets.
pub(super) const SEARCH: f64 = 0.6;
/// To start a source again.
pub(super) const RESTART: f64 = 0.3;
/// To write a byte to a temporary file, and to read it back.
pub(super) const SPILL_BYTE: f64 = 0.000_9;
/// What a method costs that the session doesn't want: it is taken where there is no other.
pub(super) const UNWANTED: f64 = 1e12;

/// What is expected of a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Estimate {
    /// The number of rows.
    pub(crate) rows: f64,
    /// The cost until the first row comes.
    pub(crate) first: f64,
    /// The cost of all rows.
    pub(crate) all: f64,
}

impl Estimate {
    /// Rows that cost nothing.
    pub(crate) fn of_rows(rows: f64) -> Estimate {
        Estimate { rows, first: 0.0, all: rows * VALUE }
    }

    /// The cost if about this many rows are fetched; none: all.
    pub(crate) fn cost(&self, fetched: Option<f64>) -> f64 {
        match fetched {
            Some(fetched) if fetched < self.rows => {
                self.first + (self.all - self.first) * (fetched / self.rows)
            }
            _ => self.all,
        }
    }

    /// The same with this much more for each row, and other rows.
    pub(crate) fn then(&self, each: f64, rows: f64) -> Estimate {
        let more = self.rows * each;
        Estimate { rows, first: self.first, all: self.all + more }
    }
}

/// The cost of a sort of this many rows of this many bytes, with this much memory. If only the
/// first few are wanted, they are kept in memory alone.
pub(super) fn sort(rows: f64, bytes: f64, memory: f64, first: Option<f64>) -> f64 {
    let rows = rows.max(1.0);
    match first {
        Some(first) if first * bytes <= memory => {
            rows * COMPARE * (1.0 + first.max(2.0).log2() * (first / rows).min(1.0))
        }
        _ => rows * COMPARE * rows.max(2.0).log2() + spill(rows * bytes, memory),
    }
}

/// The cost of what doesn't fit in memory: it is written and read again.
pub(super) fn spill(bytes: f64, memory: f64) -> f64 {
    if bytes <= memory { 0.0 } else { bytes * SPILL_BYTE }
}

/// The number of different blocks, of `blocks`, in which `rows` rows lie that are anywhere
/// (Mackert and Lohman).
pub(super) fn blocks_of(rows: f64, blocks: f64) -> f64 {
    let blocks = blocks.max(1.0);
    let touched = 2.0 * blocks * rows / (2.0 * blocks + rows);
    touched.min(blocks).min(rows).max(0.0)
}

/// The part of the cache that one table or index may have.
const HELD: f64 = 0.5;

/// The part of gets that need a read, of something of this many blocks, with a cache of this many.
pub(super) fn missed(blocks: f64, cache: f64) -> f64 {
    let share = blocks / (cache.max(1.0) * HELD);
    // A small table is in the cache as a rule; one that is larger than half of it mostly isn't.
    share.clamp(0.02, 0.95)
}

/// What one start of something gets block by block.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Gets {
    /// How many blocks it gets.
    pub(super) count: f64,
    /// How many there are, of which these are some.
    pub(super) of: f64,
}

impl Gets {
    /// The cost of the reads of so many starts, one after the other, with a cache of this many
    /// blocks: what the cache holds isn't read again (as Mackert and Lohman have it).
    pub(super) fn reads(self, starts: f64, cache: f64) -> f64 {
        let gets = self.count * starts;
        let held = self.of.min(cache * HELD);
        let again = gets * (1.0 - held / self.of.max(1.0));
        gets.min(self.of).max(again) * missed(self.of, cache) * READ_SINGLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_cost_their_share() {
        let estimate = Estimate { rows: 100.0, first: 10.0, all: 110.0 };
        assert_eq!(estimate.cost(Some(10.0)), 20.0);
        assert_eq!(estimate.cost(Some(1_000.0)), 110.0);
        assert_eq!(estimate.cost(None), 110.0);
    }

    #[test]
    fn rows_anywhere_touch_fewer_blocks_than_rows() {
        assert!(blocks_of(10.0, 1_000.0) <= 10.0);
        assert!(blocks_of(1e6, 1_000.0) <= 1_000.0);
        assert!(blocks_of(1_000.0, 1_000.0) > 500.0);
        assert_eq!(blocks_of(0.0, 1_000.0), 0.0);
    }

    #[test]
    fn a_block_that_the_cache_holds_is_read_once() {
        let one = Gets { count: 3.0, of: 1_000.0 };
        let (few, many) = (one.reads(10.0, 10_000.0), one.reads(1e6, 10_000.0));
        assert!((few - 10.0 * one.reads(1.0, 10_000.0)).abs() < 1e-9);
        assert_eq!(many, Gets { count: 1_000.0, of: 1_000.0 }.reads(1.0, 10_000.0));
        // Of what is larger than the cache, some is read again.
        let large = Gets { count: 1.0, of: 20_000.0 };
        let (once, often) = (large.reads(20_000.0, 10_000.0), large.reads(1e6, 10_000.0));
        assert!(often > 20.0 * once && often < 50.0 * once, "{often} {once}");
        assert_eq!(Gets::default().reads(5.0, 10_000.0), 0.0);
    }

    #[test]
    fn a_few_first_rows_are_sorted_faster_than_all() {
        let all = sort(1e6, 100.0, 1e9, None);
        assert!(sort(1e6, 100.0, 1e9, Some(10.0)) < all / 5.0);
        assert!(sort(1e6, 100.0, 1e6, None) > all);
    }
}
