//! Statistics of tables, columns and indexes, by which SQL estimates, and their bytes.
//!
//! ```text
//!   a row of `_statistics`   format (1) │ numbers of 8 bytes, as listed below │ what has no width
//!     table                  rows, blocks, row bytes, sampled, SCN, moment
//!     column                 distinct, nulls, bytes │ low, high: constants │ histogram: the rest
//!     index                  height, leaf blocks, distinct keys, clustering factor
//! ```
//!
//! Statistics change plans and never answers. So nothing is refused because of them: those of a
//! format that isn't known are as if there were none.
//!
//! Callers: SQL, which gathers and reads them; `rows`, `edit`.

use std::collections::BTreeMap;

use ids::{ObjectNo, Scn};
use value::{OwnedValue, Timestamp, Value};

use crate::bytes::{self, Reader};
use crate::dictionary_table::DictionaryTable::Statistics;
use crate::rows::{Cells, Rows, binary, int, number, put};

/// The format of the bytes.
const FORMAT: u8 = 1;

/// What a row is about: the column `kind` of `_statistics`.
const OF_TABLE: i64 = 1;
const OF_COLUMN: i64 = 2;
const OF_INDEX: i64 = 3;

/// Statistics of a table, and of its columns and indexes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableStatistics {
    /// The number of rows.
    pub rows: u64,
    /// The number of blocks below the high water.
    pub blocks: u64,
    /// The average number of bytes of a row.
    pub row_bytes: u64,
    /// The number of rows that were looked at.
    pub sampled: u64,
    /// The SCN of the snapshot by which they were gathered.
    pub scn: Scn,
    /// When they were gathered.
    pub analyzed: Timestamp,
    /// Statistics of columns, by their places.
    pub columns: BTreeMap<usize, ColumnStatistics>,
    /// Statistics of indexes, by their numbers.
    pub indexes: BTreeMap<ObjectNo, IndexStatistics>,
}

/// Statistics of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnStatistics {
    /// The number of different values, without NULL.
    pub distinct: u64,
    /// The number of rows with NULL.
    pub nulls: u64,
    /// The average number of bytes of a value.
    pub bytes: u64,
    /// The least value; NULL if none is known.
    pub low: OwnedValue,
    /// The greatest value; NULL if none is known.
    pub high: OwnedValue,
    /// A histogram, in the form of whoever gathers it; empty if there is none.
    pub histogram: Vec<u8>,
}

/// Statistics of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexStatistics {
    /// The number of levels, leaves included.
    pub height: u64,
    /// The number of leaves.
    pub leaf_blocks: u64,
    /// The number of different keys.
    pub distinct_keys: u64,
    /// How often the block of a row differs from that of the row before, in the index's order.
    pub clustering_factor: u64,
}

/// What a row of `_statistics` says.
enum Said {
    Table(TableStatistics),
    Column(usize, ColumnStatistics),
    Index(ObjectNo, IndexStatistics),
}

/// Adds the rows of a table's statistics.
pub(crate) fn of_statistics(table: ObjectNo, statistics: &TableStatistics, rows: &mut Rows) {
    let mut add = |kind: i64, of: i64, content: &[u8]| {
        put(rows, Statistics, vec![number(table), int(kind), int(of), binary(content)]);
    };
    let TableStatistics { rows: count, blocks, row_bytes, sampled, scn, analyzed, .. } = statistics;
    let moment = analyzed.us().cast_unsigned();
    add(OF_TABLE, 0, &content(&[*count, *blocks, *row_bytes, *sampled, scn.get(), moment]));
    for (place, column) in &statistics.columns {
        let mut out = content(&[column.distinct, column.nulls, column.bytes]);
        bytes::push_constant(column.low.get(), &mut out);
        bytes::push_constant(column.high.get(), &mut out);
        out.extend(&column.histogram);
        add(OF_COLUMN, i64::try_from(*place).expect("places are small"), &out);
    }
    for (object, index) in &statistics.indexes {
        let IndexStatistics { height, leaf_blocks, distinct_keys, clustering_factor } = *index;
        let numbers = [height, leaf_blocks, distinct_keys, clustering_factor];
        add(OF_INDEX, object.get().into(), &content(&numbers));
    }
}

fn content(numbers: &[u64]) -> Vec<u8> {
    let mut out = vec![FORMAT];
    numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
    out
}

/// Adds what a row of `_statistics` says to the statistics of its table, which come first. What
/// can't be read isn't there.
pub(crate) fn read(cells: Cells<'_>, found: &mut BTreeMap<ObjectNo, TableStatistics>) {
    let Some(table) = cells.object(0) else { return };
    match said(cells) {
        Some(Said::Table(statistics)) => {
            found.insert(table, statistics);
        }
        Some(Said::Column(place, column)) => {
            if let Some(of) = found.get_mut(&table) {
                of.columns.insert(place, column);
            }
        }
        Some(Said::Index(object, index)) => {
            if let Some(of) = found.get_mut(&table) {
                of.indexes.insert(object, index);
            }
        }
        None => {}
    }
}

fn said(cells: Cells<'_>) -> Option<Said> {
    let mut reader = Reader(cells.bytes(3)?);
    let [format] = reader.array()?;
    if format != FORMAT {
        return None;
    }
    match cells.int(1)? {
        OF_TABLE => {
            let mut next = || reader.u64();
            let (rows, blocks, row_bytes, sampled) = (next()?, next()?, next()?, next()?);
            let (scn, moment) = (next()?, next()?.cast_signed());
            reader.end(Said::Table(TableStatistics {
                rows,
                blocks,
                row_bytes,
                sampled,
                scn: Scn::new(scn),
                analyzed: Timestamp::from_us(moment)?,
                columns: BTreeMap::new(),
                indexes: BTreeMap::new(),
            }))
        }
        OF_COLUMN => {
            let (distinct, nulls, bytes) = (reader.u64()?, reader.u64()?, reader.u64()?);
            let (low, high) = (reader.constant()?, reader.constant()?);
            let histogram = reader.0.to_vec();
            let column = ColumnStatistics { distinct, nulls, bytes, low, high, histogram };
            Some(Said::Column(cells.place(2)?, column))
        }
        OF_INDEX => {
            let (height, leaf_blocks) = (reader.u64()?, reader.u64()?);
            let (distinct_keys, clustering_factor) = (reader.u64()?, reader.u64()?);
            let index = IndexStatistics { height, leaf_blocks, distinct_keys, clustering_factor };
            reader.end(Said::Index(cells.object(2)?, index))
        }
        _ => None,
    }
}

/// What a row of `_statistics` is about.
pub(crate) enum About {
    /// The table.
    Table,
    /// The column at this place.
    Column(i64),
    /// The index with this number.
    Index(i64),
}

/// What a row of `_statistics` is about; none if it is about nothing.
pub(crate) fn about(cells: Cells<'_>) -> Option<About> {
    match (cells.int(1)?, cells.int(2)?) {
        (OF_TABLE, 0) => Some(About::Table),
        (OF_COLUMN, place) => Some(About::Column(place)),
        (OF_INDEX, object) => Some(About::Index(object)),
        _ => None,
    }
}

impl TableStatistics {
    /// The statistics without those of columns and indexes for which these say false.
    pub(crate) fn keep(
        &mut self,
        column: impl Fn(usize) -> bool,
        index: impl Fn(ObjectNo) -> bool,
    ) {
        self.columns.retain(|place, _| column(*place));
        self.indexes.retain(|object, _| index(*object));
    }
}

impl Default for ColumnStatistics {
    fn default() -> ColumnStatistics {
        let none = || Value::Null.to_owned();
        let (low, high, histogram) = (none(), none(), Vec::new());
        ColumnStatistics { distinct: 0, nulls: 0, bytes: 0, low, high, histogram }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics() -> TableStatistics {
        let column = ColumnStatistics {
            distinct: 7,
            nulls: 3,
            bytes: 12,
            low: Value::Text("a").to_owned(),
            high: Value::Text("zz").to_owned(),
            histogram: vec![1, 2, 3],
        };
        let index =
            IndexStatistics { height: 3, leaf_blocks: 90, distinct_keys: 7, clustering_factor: 40 };
        TableStatistics {
            rows: 1 << 40,
            blocks: 17,
            row_bytes: 55,
            sampled: 100,
            scn: Scn::new(12),
            analyzed: Timestamp::from_us(-5).expect("a moment"),
            columns: BTreeMap::from([(0, ColumnStatistics::default()), (3, column)]),
            indexes: BTreeMap::from([(ObjectNo::new(60), index)]),
        }
    }

    fn all(rows: &Rows) -> BTreeMap<ObjectNo, TableStatistics> {
        let mut found = BTreeMap::new();
        for ((table, _), row) in rows {
            read(Cells::new(*table, row), &mut found);
        }
        found
    }

    #[test]
    fn statistics_are_read_as_they_were_written() {
        let (table, mut rows) = (ObjectNo::new(50), Rows::new());
        of_statistics(table, &statistics(), &mut rows);
        assert_eq!(all(&rows), BTreeMap::from([(table, statistics())]));
    }

    #[test]
    fn what_cannot_be_read_is_as_if_it_were_not_there() {
        let (table, mut rows) = (ObjectNo::new(50), Rows::new());
        of_statistics(table, &statistics(), &mut rows);
        for key in rows.keys() {
            let row = &rows[key];
            let Value::Bytes(whole) = row[3].get() else { panic!("{row:?}") };
            for length in 0..whole.len() {
                let mut fewer = rows.clone();
                fewer.get_mut(key).expect("there")[3] = binary(&whole[..length]);
                all(&fewer);
            }
            let mut newer = rows.clone();
            newer.get_mut(key).expect("there")[3] = binary(&[2, 0, 0]);
            assert_ne!(all(&newer).get(&table), Some(&statistics()));
        }
    }
}
