//! A sample of a table's rows: of the rows of some of its blocks, each has the same chance to be
//! kept.
//!
//! Invariants
//!   * the dice are seeded by the table's number: the same rows give the same sample
//!   * a text or a binary value is kept up to [`BYTES_MAX`] bytes, its length as it is
//!
//! Callers: ANALYZE, which offers each row.
//! Source: Vitter's algorithm R.

use access::{RowAddress, Sampled};
use ids::ObjectNo;
use value::{Damaged, OwnedValue, RowView, Value};

use super::{TableStatistics, summary};

/// The most rows of a sample: 300 for each part of a histogram, as in PostgreSQL.
const ROWS_MAX: usize = 30_000;

/// The fewest rows of a sample, of a table with many columns.
const ROWS_MIN: usize = 3_000;

/// The most values of a sample.
const VALUES_MAX: usize = 480_000;

/// The most bytes that are kept of a value.
pub(super) const BYTES_MAX: usize = 128;

/// Bytes that a value of a sample takes, texts apart.
const VALUE_BYTES: usize = size_of::<OwnedValue>() + size_of::<u32>();

/// A sample under way.
pub(crate) struct Sample {
    /// The columns that are sampled, by their places in the table.
    columns: Vec<usize>,
    rows: Vec<SampledRow>,
    rows_max: usize,
    /// The number of rows that were offered.
    offered: u64,
    dice: u64,
}

/// A row of the sample.
pub(super) struct SampledRow {
    pub(super) address: RowAddress,
    pub(super) values: Vec<SampledValue>,
}

/// A value of the sample.
pub(super) struct SampledValue {
    pub(super) value: OwnedValue,
    /// Its length in bytes, also of what wasn't kept.
    pub(super) bytes: u32,
}

impl Sample {
    /// An empty sample of these columns, which takes about this many bytes at most.
    pub(crate) fn new(table: ObjectNo, columns: Vec<usize>, bytes_max: u64) -> Sample {
        let count = columns.len().max(1);
        let wanted = (VALUES_MAX / count).clamp(ROWS_MIN, ROWS_MAX);
        let each = (count * (VALUE_BYTES + BYTES_MAX / 4)) as u64;
        let room = usize::try_from(bytes_max / each).unwrap_or(usize::MAX);
        let dice = u64::from(table.get()).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Sample { columns, rows: Vec::new(), rows_max: wanted.min(room).max(100), offered: 0, dice }
    }

    /// Bytes that a sample of this many columns takes at most.
    pub(crate) fn bytes_wanted(columns: usize) -> u64 {
        let rows = (VALUES_MAX / columns.max(1)).clamp(ROWS_MIN, ROWS_MAX);
        (rows * columns * (VALUE_BYTES + BYTES_MAX / 4)) as u64
    }

    /// Offers a row. It only computes, and so may be called under a block's latch.
    pub(crate) fn offer(&mut self, address: RowAddress, row: &RowView<'_>) -> Result<(), Damaged> {
        self.offered += 1;
        let place = match self.rows.len() < self.rows_max {
            true => self.rows.len(),
            false => match usize::try_from(self.throw() % self.offered) {
                Ok(place) if place < self.rows_max => place,
                _ => return Ok(()),
            },
        };
        let mut values = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            values.push(sampled(row.get(*column)?));
        }
        let taken = SampledRow { address, values };
        match self.rows.get_mut(place) {
            Some(row) => *row = taken,
            None => self.rows.push(taken),
        }
        Ok(())
    }

    /// The number of rows that were offered.
    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    /// What the sample says of the table: its columns are these of the sample, by their places; of
    /// any other nothing is known. The rows were those of some of the table's blocks.
    pub(crate) fn summarise(mut self, sampled: Sampled) -> TableStatistics {
        self.rows.sort_by_key(|row| row.address);
        let last = self.columns.last().map_or(0, |last| last + 1);
        let times = sampled.of as f64 / (sampled.blocks as f64).max(1.0);
        let all = (self.offered as f64 * times).round();
        let mut columns = Vec::with_capacity(last);
        for column in 0..last {
            columns.push(match self.columns.iter().position(|one| *one == column) {
                Some(place) => summary::of_column(&self.rows, place, all),
                None => summary::unknown(),
            });
        }
        TableStatistics { rows: all, blocks: sampled.of as f64, columns }
    }

    /// The next throw of the dice (splitmix64).
    fn throw(&mut self) -> u64 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.dice;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn sampled(value: Value<'_>) -> SampledValue {
    let (kept, bytes) = match value {
        Value::Text(text) => {
            let end = (0..=BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            (Value::Text(&text[..end.unwrap_or(0)]), text.len())
        }
        Value::Bytes(bytes) => (Value::Bytes(&bytes[..bytes.len().min(BYTES_MAX)]), bytes.len()),
        Value::Null => (value, 0),
        Value::Boolean(_) => (value, 1),
        Value::Date(_) => (value, 4),
        _ => (value, 8),
    };
    SampledValue { value: kept.to_owned(), bytes: u32::try_from(bytes).unwrap_or(u32::MAX) }
}
