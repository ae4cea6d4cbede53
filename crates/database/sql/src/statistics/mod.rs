//! Statistics of tables: what ANALYZE gathers, how it is kept, and what it says of a predicate.
//!
//! ```text
//!   ANALYZE ── blocks ──▶ sample ──▶ summary ──▶ TableStatistics ── bytes ──▶ the dictionary
//!                                                   │
//!   plan ◀── fraction of the rows ── histogram ◀────┘
//! ```
//!
//! Invariants
//!   * statistics change plans and never answers (rule SQ35)
//!   * the same rows give the same statistics: the sample's dice are seeded by the table's number
//!   * a table without statistics has guesses from the number of its blocks and from its indexes;
//!     so has one whose statistics are those of a handful of rows that it had once
//!
//! Callers: `plan`, for estimates; `define`, for ANALYZE.
//! Sources: PostgreSQL's `analyze.c` and `selfuncs.c`, for samples, most common values, histograms
//! and correlation; Haas and Stokes (1998), for the number of distinct values.

mod bytes;
mod histogram;
mod sample;
mod scalar;
mod summary;

pub(crate) use bytes::Gathered;
pub(crate) use histogram::{BETWEEN_DEFAULT, RANGE_DEFAULT};
pub(crate) use sample::Sample;

use catalog::TableStatistics as Kept;
use relation::TableDefinition;
use value::{OwnedValue, Type, Value};

/// The most values that are kept of those that are most common, and the most parts of a histogram.
pub(crate) const PARTS_MAX: usize = 100;

/// What is known of a table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TableStatistics {
    /// The number of rows.
    pub(crate) rows: f64,
    /// The number of blocks for rows.
    pub(crate) blocks: f64,
    /// What is known of each column, in the table's order. It may be shorter than the table, which
    /// may have got columns since.
    pub(crate) columns: Vec<ColumnStatistics>,
}

/// What is known of a column.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ColumnStatistics {
    /// The number of different values, NULL apart.
    pub(crate) distinct: f64,
    /// The fraction of rows in which it is NULL.
    pub(crate) nulls: f64,
    /// The mean length of its values, in bytes.
    pub(crate) width: f64,
    /// How far the order of its values is that of the rows' places: 1 if it is, -1 if it is the
    /// reverse, 0 if neither has to do with the other.
    pub(crate) correlation: f64,
    /// The most common values with their fractions of all rows, the most common one first.
    pub(crate) common: Vec<CommonValue>,
    /// The other values, cut into parts of equally many rows: the bounds of the parts, ascending.
    pub(crate) bounds: Vec<OwnedValue>,
    /// The fraction of rows that came since all this was found out.
    pub(crate) newer: f64,
}

/// What is known of an index.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct IndexStatistics {
    /// The number of levels, leaves included.
    pub(crate) height: f64,
    /// The number of leaves.
    pub(crate) leaf_blocks: f64,
    /// The number of different keys; none if it isn't known.
    pub(crate) distinct: Option<f64>,
    /// How often the block of a row differs from that of the row before, in the index's order;
    /// none if it isn't known.
    pub(crate) clustering: Option<f64>,
}

impl IndexStatistics {
    /// What is taken to be true of an index that was never analysed: of a table of this many rows,
    /// with keys of this many bytes, in blocks of this size.
    pub(crate) fn guessed(rows: f64, key_bytes: f64, block_bytes: u32) -> IndexStatistics {
        let entries = (f64::from(block_bytes) * 0.7 / (key_bytes + 16.0)).max(4.0);
        let leaf_blocks = (rows / entries).ceil().max(1.0);
        let height = 1.0 + (leaf_blocks.ln() / (entries * 0.9).ln()).ceil().max(0.0);
        IndexStatistics { height, leaf_blocks, distinct: None, clustering: None }
    }

    /// The same statistics for an index of a table that had `rows` rows then, and now has `times`
    /// as many.
    pub(crate) fn grown(self, rows: f64, times: f64) -> IndexStatistics {
        IndexStatistics {
            height: self.height,
            leaf_blocks: (self.leaf_blocks * times).max(1.0),
            distinct: self.distinct.map(|distinct| distinct_grown(distinct, rows, times)),
            clustering: self.clustering.map(|changes| changes * times),
        }
    }
}

/// A common value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CommonValue {
    /// The value.
    pub(crate) value: OwnedValue,
    /// The fraction of all rows that have it.
    pub(crate) fraction: f64,
}

/// The number of distinct values that a column is taken to have of which nothing is known.
const DISTINCT_DEFAULT: f64 = 200.0;

/// The fraction of a block that rows are taken to fill, where nothing is known.
const FILLED_DEFAULT: f64 = 0.8;

/// Bytes of a row beside its values: its slot, its head and its NULL bits.
const ROW_BYTES_BESIDE: f64 = 10.0;

/// The fewest blocks that a table without statistics is taken to have, so that a plan which was
/// made when it was empty isn't a catastrophe when it has grown (as in PostgreSQL).
const BLOCKS_MIN: f64 = 10.0;

/// A table that has grown to this many times its blocks is another one than it was.
const TIMES_MAX: f64 = 10.0;

/// About how many rows a value of the first column of an index has, where nothing is known: an
/// index is made by someone who looks for a few rows by it (decision 0017).
const ROWS_OF_KEY: f64 = 30.0;

/// The fraction of rows in which a column is NULL, where nothing is known.
const NULLS_DEFAULT: f64 = 0.005;

/// A column with more different values than this part of the rows gets new ones with new rows (as
/// in PostgreSQL).
const MANY_VALUES: f64 = 0.1;

/// Whether statistics that are kept say anything of a table that has this many blocks now. Those
/// of a handful of blocks say nothing of a table that has outgrown them.
pub(crate) fn are_of_use(kept: &Kept, blocks: u32) -> bool {
    let (then, now) = (kept.blocks as f64, f64::from(blocks));
    kept.rows > 0 && (then >= BLOCKS_MIN || !has_outgrown(then, now))
}

/// Whether a table that had `then` blocks has outgrown by now what was known, or planned, of it.
pub(crate) fn has_outgrown(then: f64, now: f64) -> bool {
    now >= then.max(1.0) * TIMES_MAX
}

/// How many different values there are, if there were `distinct` in `rows` rows, and now are
/// `times` as many rows.
fn distinct_grown(distinct: f64, rows: f64, times: f64) -> f64 {
    if distinct > rows * MANY_VALUES { (distinct * times).max(1.0) } else { distinct }
}

impl TableStatistics {
    /// What is taken to be true of a table that was never analysed: its columns have these types,
    /// and its rows fill this many blocks of this size.
    pub(crate) fn guessed(types: &[Type], blocks: u32, block_bytes: u32) -> TableStatistics {
        let blocks = f64::from(blocks).max(BLOCKS_MIN);
        let widths: f64 = types.iter().map(|kind| width_of(*kind)).sum();
        let rows_per_block = f64::from(block_bytes) * FILLED_DEFAULT / (widths + ROW_BYTES_BESIDE);
        let rows = (blocks * rows_per_block.max(1.0)).round();
        let columns = types.iter().map(|kind| ColumnStatistics::guessed(*kind, rows)).collect();
        TableStatistics { rows, blocks, columns }
    }

    /// The same with what the definition says of the columns that are guesses: which of them begin
    /// an index, and which have no NULLs. `is_known` says of the other ones that they are none.
    #[must_use]
    pub(crate) fn with_keys_of(
        mut self,
        table: &TableDefinition,
        is_known: &dyn Fn(usize) -> bool,
    ) -> TableStatistics {
        for index in &table.indexes {
            let Some(first) = index.columns.first().map(|of| of.column) else { continue };
            if table.columns[first].kind == Type::Boolean || is_known(first) {
                continue;
            }
            let is_key = index.unique && index.columns.len() == 1;
            let each = if is_key { 1.0 } else { ROWS_OF_KEY };
            let column = &mut self.columns[first];
            column.distinct = column.distinct.max(self.rows / each);
        }
        let columns = self.columns.iter_mut().zip(&table.columns).enumerate();
        for (_, (column, of)) in columns.filter(|(place, _)| !is_known(*place)) {
            // NULL is no more frequent than another value.
            let nulls = NULLS_DEFAULT.min(1.0 / column.distinct.max(1.0));
            column.nulls = if of.not_null { 0.0 } else { nulls };
        }
        self
    }

    /// The mean length of a row, in bytes.
    pub(crate) fn row_bytes(&self) -> f64 {
        self.columns.iter().map(|column| column.width).sum::<f64>() + ROW_BYTES_BESIDE
    }

    /// The same statistics for a table whose rows now fill this many blocks: the number of rows
    /// grows with them.
    pub(crate) fn grown_to(&self, blocks: u32) -> TableStatistics {
        let (now, then) = (f64::from(blocks).max(1.0), self.blocks.max(1.0));
        let times = now / then;
        let columns = self.columns.iter().map(|column| column.grown(self.rows, times)).collect();
        TableStatistics { rows: (self.rows * times).round(), blocks: now, columns }
    }
}

impl ColumnStatistics {
    /// What is taken to be true of a column of this type, in a table of this many rows.
    pub(crate) fn guessed(kind: Type, rows: f64) -> ColumnStatistics {
        let distinct = match kind {
            Type::Boolean => 2.0,
            _ => DISTINCT_DEFAULT,
        };
        ColumnStatistics {
            distinct: distinct.min(rows.max(1.0)),
            nulls: 0.0,
            width: width_of(kind),
            correlation: 0.0,
            common: Vec::new(),
            bounds: Vec::new(),
            newer: 0.0,
        }
    }

    /// The same for a table that had `rows` rows then, and now has `times` as many.
    fn grown(&self, rows: f64, times: f64) -> ColumnStatistics {
        let distinct = distinct_grown(self.distinct, rows, times);
        let newer = (1.0 - 1.0 / times).max(0.0);
        ColumnStatistics { distinct, newer, ..self.clone() }
    }

    /// The fraction of all rows whose value is equal to one that isn't known yet.
    pub(crate) fn fraction_of_any(&self) -> f64 {
        (1.0 - self.nulls) / self.distinct.max(1.0)
    }

    /// The fraction of all rows with this value.
    pub(crate) fn fraction_equal(&self, value: Value<'_>) -> f64 {
        if value.is_null() {
            return 0.0;
        }
        let is_it = |common: &&CommonValue| common.value.get() == value;
        if let Some(found) = self.common.iter().find(is_it) {
            return found.fraction;
        }
        let common: f64 = self.common.iter().map(|one| one.fraction).sum();
        let others = (self.distinct - self.common.len() as f64).max(1.0);
        let fraction = ((1.0 - self.nulls - common) / others).max(0.0);
        // A value that isn't among the most common ones isn't more common than the last of these.
        self.common.last().map_or(fraction, |last| fraction.min(last.fraction))
    }
}

/// The mean length of values of a type of which nothing is known, in bytes.
fn width_of(kind: Type) -> f64 {
    match kind {
        Type::SmallInt => 2.0,
        Type::Integer | Type::Date => 4.0,
        Type::BigInt | Type::Double | Type::Timestamp => 8.0,
        Type::Number(_) => 8.0,
        Type::Boolean => 1.0,
        Type::Varchar(chars) | Type::Char(chars) => (f64::from(chars.get()) / 2.0).min(32.0),
        Type::Text | Type::Bytea => 32.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{ObjectNo, Scn};
    use relation::{ColumnDefinition, IndexColumn, IndexDefinition};

    fn common(value: i64, fraction: f64) -> CommonValue {
        CommonValue { value: Value::Int(value).to_owned(), fraction }
    }

    #[test]
    fn a_common_value_has_its_own_fraction_and_the_others_share_the_rest() {
        let column = ColumnStatistics {
            distinct: 12.0,
            nulls: 0.1,
            common: vec![common(7, 0.4), common(3, 0.2)],
            ..ColumnStatistics::guessed(Type::BigInt, 1e6)
        };
        assert_eq!(column.fraction_equal(Value::Int(7)), 0.4);
        assert!((column.fraction_equal(Value::Int(5)) - 0.03).abs() < 1e-9);
        assert_eq!(column.fraction_equal(Value::Null), 0.0);
        assert!((column.fraction_of_any() - 0.9 / 12.0).abs() < 1e-9);
    }

    #[test]
    fn a_table_that_grew_has_more_rows_and_a_few_values_stay_as_they_are() {
        let mut small = TableStatistics::guessed(&[Type::BigInt, Type::BigInt], 20, 8192);
        small.columns[1].distinct = small.rows;
        let grown = small.grown_to(200);
        assert!((grown.rows / small.rows - 10.0).abs() < 0.01);
        assert_eq!(grown.columns[0].distinct, small.columns[0].distinct);
        assert!((grown.columns[1].distinct / small.rows - 10.0).abs() < 0.01);
        assert!((grown.columns[0].newer - 0.9).abs() < 1e-9);
        assert_eq!(small.grown_to(20), small);
    }

    #[test]
    fn an_index_grows_with_its_table() {
        let found = IndexStatistics {
            height: 2.0,
            leaf_blocks: 10.0,
            distinct: Some(900.0),
            clustering: Some(50.0),
        };
        let grown = found.grown(1_000.0, 4.0);
        assert_eq!(grown.leaf_blocks, 40.0);
        assert_eq!((grown.distinct, grown.clustering), (Some(3_600.0), Some(200.0)));
        let few = IndexStatistics { distinct: Some(7.0), ..found };
        assert_eq!(few.grown(1_000.0, 4.0).distinct, Some(7.0));
    }

    /// A table of three numbers: a key, one that begins an index, and another.
    fn keyed() -> TableDefinition {
        let number = ObjectNo::new(1);
        let mut table = TableDefinition::new(number, "t", number);
        for name in ["id", "owner", "note"] {
            table.columns.push(ColumnDefinition::new(name, Type::BigInt, name == "id"));
        }
        for column in 0..2 {
            table.indexes.push(IndexDefinition {
                object: number,
                name: "i".into(),
                segment: number,
                columns: vec![IndexColumn::ascending(column)],
                unique: column == 0,
                primary: column == 0,
                since: Scn::ZERO,
            });
        }
        table
    }

    #[test]
    fn a_column_that_begins_an_index_is_guessed_to_have_many_values() {
        let guess = TableStatistics::guessed(&[Type::BigInt; 3], 10_000, 8192);
        let guess = guess.with_keys_of(&keyed(), &|_| false);
        let distinct: Vec<f64> = guess.columns.iter().map(|column| column.distinct).collect();
        assert_eq!(distinct, [guess.rows, guess.rows / ROWS_OF_KEY, DISTINCT_DEFAULT]);
        let nulls: Vec<f64> = guess.columns.iter().map(|column| column.nulls).collect();
        assert_eq!(nulls, [0.0, 1.0 / (guess.rows / ROWS_OF_KEY), NULLS_DEFAULT]);
    }
}
