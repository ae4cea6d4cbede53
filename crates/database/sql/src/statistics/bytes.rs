//! Statistics as the dictionary keeps them, and back.
//!
//! ```text
//!   catalog::TableStatistics   numbers │ of each column: numbers, least, greatest, and a histogram
//!   the histogram              version 1 │ correlation │ common values │ bounds
//! ```
//!
//! The histogram is ours: a value in it is a tag and its bytes, and numbers are little-endian.
//! Bytes of a version that isn't known, or that aren't whole, say nothing.
//!
//! Callers: `analyze`; `dictionary`, when a table is looked up.

use std::collections::BTreeMap;

use catalog::{
    ColumnStatistics as KeptColumn, IndexStatistics as KeptIndex, TableStatistics as Kept,
};
use ids::{ObjectNo, Scn};
use relation::TableDefinition;
use value::{Date, Number, OwnedValue, Timestamp, Value};

use super::{ColumnStatistics, CommonValue, IndexStatistics, TableStatistics, distinct_grown};

/// The version of a histogram's bytes.
const VERSION: u8 = 1;

/// The most values of a histogram that are believed.
const COUNT_MAX: u32 = 4_096;

/// When and of how many rows statistics were gathered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gathered {
    /// The number of rows that were looked at.
    pub(crate) sampled: u64,
    /// The snapshot.
    pub(crate) scn: Scn,
    /// The moment.
    pub(crate) moment: Timestamp,
}

impl TableStatistics {
    /// The statistics as the dictionary keeps them.
    pub(crate) fn to_kept(
        &self,
        indexes: BTreeMap<ObjectNo, KeptIndex>,
        gathered: Gathered,
    ) -> Kept {
        let mut columns = BTreeMap::new();
        for (place, column) in self.columns.iter().enumerate() {
            let (low, high) = column.ends();
            let kept = KeptColumn {
                distinct: whole(column.distinct),
                nulls: whole(column.nulls * self.rows),
                bytes: whole(column.width),
                low,
                high,
                histogram: column.histogram(),
            };
            columns.insert(place, kept);
        }
        Kept {
            rows: whole(self.rows),
            blocks: whole(self.blocks),
            row_bytes: whole(self.row_bytes()),
            sampled: gathered.sampled,
            scn: gathered.scn,
            analyzed: gathered.moment,
            columns,
            indexes,
        }
    }

    /// What the dictionary keeps of a table.
    pub(crate) fn from_kept(kept: &Kept, table: &TableDefinition) -> TableStatistics {
        let rows = kept.rows as f64;
        let column = |(place, of): (usize, &relation::ColumnDefinition)| {
            let guessed = ColumnStatistics::guessed(of.kind, rows);
            match kept.columns.get(&place) {
                Some(column) => ColumnStatistics::from_kept(column, rows, guessed),
                None => guessed,
            }
        };
        let columns = table.columns.iter().enumerate().map(column).collect();
        TableStatistics { rows, blocks: kept.blocks as f64, columns }
    }

    /// The same with all columns but these as they were kept before, for as many rows as there are
    /// now.
    #[must_use]
    pub(crate) fn with_others(
        self,
        looked_at: &[usize],
        before: Option<&Kept>,
        table: &TableDefinition,
    ) -> TableStatistics {
        let other = |place: usize| {
            let guessed = ColumnStatistics::guessed(table.columns[place].kind, self.rows);
            let Some(before) = before else { return guessed };
            let Some(kept) = before.columns.get(&place) else { return guessed };
            let then = before.rows as f64;
            let column = ColumnStatistics::from_kept(kept, then, guessed);
            let distinct = distinct_grown(column.distinct, then, self.rows / then.max(1.0));
            ColumnStatistics { distinct, ..column }
        };
        let column = |place: usize| match looked_at.contains(&place) {
            true => self.columns[place].clone(),
            false => other(place),
        };
        let columns = (0..table.columns.len()).map(column).collect();
        TableStatistics { columns, ..self }
    }
}

impl IndexStatistics {
    /// What the dictionary keeps of an index.
    pub(crate) fn from_kept(kept: &KeptIndex) -> IndexStatistics {
        IndexStatistics {
            height: (kept.height as f64).max(1.0),
            leaf_blocks: (kept.leaf_blocks as f64).max(1.0),
            distinct: Some(kept.distinct_keys as f64),
            clustering: Some(kept.clustering_factor as f64),
        }
    }
}

fn whole(number: f64) -> u64 {
    number.round().max(0.0) as u64
}

impl ColumnStatistics {
    fn from_kept(kept: &KeptColumn, rows: f64, guessed: ColumnStatistics) -> ColumnStatistics {
        let nulls = if rows > 0.0 { (kept.nulls as f64 / rows).min(1.0) } else { 0.0 };
        let found = ColumnStatistics {
            distinct: (kept.distinct as f64).max(1.0),
            nulls,
            width: kept.bytes as f64,
            ..guessed
        };
        match Histogram::read(&kept.histogram) {
            Some(Histogram { correlation, common, bounds }) => {
                ColumnStatistics { correlation, common, bounds, ..found }
            }
            None => found,
        }
    }

    /// The least and the greatest value that is known; NULLs if none is.
    fn ends(&self) -> (OwnedValue, OwnedValue) {
        let common = self.common.iter().map(|one| one.value.get());
        let known = common.chain(self.bounds.iter().map(OwnedValue::get));
        let mut ends = (Value::Null, Value::Null);
        for value in known {
            let is = |order: Option<std::cmp::Ordering>, wanted| order == Some(wanted);
            if ends.0.is_null() || is(value.compare(ends.0), std::cmp::Ordering::Less) {
                ends.0 = value;
            }
            if ends.1.is_null() || is(value.compare(ends.1), std::cmp::Ordering::Greater) {
                ends.1 = value;
            }
        }
        (ends.0.to_owned(), ends.1.to_owned())
    }

    fn histogram(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.correlation.to_le_bytes());
        put_count(self.common.len(), &mut out);
        for common in &self.common {
            out.extend_from_slice(&common.fraction.to_le_bytes());
            put_value(common.value.get(), &mut out);
        }
        put_count(self.bounds.len(), &mut out);
        for bound in &self.bounds {
            put_value(bound.get(), &mut out);
        }
        out
    }
}

/// What a column's histogram says.
struct Histogram {
    correlation: f64,
    common: Vec<CommonValue>,
    bounds: Vec<OwnedValue>,
}

impl Histogram {
    fn read(bytes: &[u8]) -> Option<Histogram> {
        let mut from = Bytes { rest: bytes };
        if from.byte()? != VERSION {
            return None;
        }
        let correlation = from.f64().filter(|number| (-1.0..=1.0).contains(number))?;
        let mut common = Vec::new();
        for _ in 0..from.count()? {
            let fraction = from.f64().filter(|number| (0.0..=1.0).contains(number))?;
            common.push(CommonValue { value: from.value()?, fraction });
        }
        let mut bounds = Vec::new();
        for _ in 0..from.count()? {
            bounds.push(from.value()?);
        }
        from.rest.is_empty().then_some(Histogram { correlation, common, bounds })
    }
}

fn put_count(count: usize, out: &mut Vec<u8>) {
    let count = u32::try_from(count).expect("a histogram has few parts, and short values");
    out.extend_from_slice(&count.to_le_bytes());
}

fn put_value(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Int(int) => put(1, &int.to_le_bytes(), out),
        Value::Number(number) => {
            put(2, &number.coefficient().to_le_bytes(), out);
            out.extend_from_slice(&number.scale().to_le_bytes());
        }
        Value::Double(double) => put(3, &double.to_le_bytes(), out),
        Value::Text(text) => put_long(4, text.as_bytes(), out),
        Value::Bytes(bytes) => put_long(5, bytes, out),
        Value::Boolean(is) => put(6, &[u8::from(is)], out),
        Value::Date(day) => put(7, &day.days().to_le_bytes(), out),
        Value::Timestamp(moment) => put(8, &moment.us().to_le_bytes(), out),
        // No column holds an interval.
        Value::Null | Value::Interval(_) => out.push(0),
    }
}

fn put(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn put_long(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    put_count(bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// What is left to be read.
struct Bytes<'b> {
    rest: &'b [u8],
}

impl<'b> Bytes<'b> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        let [byte] = self.take()?;
        Some(byte)
    }

    fn f64(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    fn count(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes).filter(|count| *count <= COUNT_MAX)
    }

    fn long(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.count()?).ok()?;
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    fn value(&mut self) -> Option<OwnedValue> {
        let value = match self.byte()? {
            0 => Value::Null,
            1 => Value::Int(self.take().map(i64::from_le_bytes)?),
            2 => {
                let coefficient = self.take().map(i128::from_le_bytes)?;
                let scale = self.take().map(i32::from_le_bytes)?;
                let scale = Some(scale).filter(|scale| (-130..=130).contains(scale))?;
                Value::Number(Number::from_parts(coefficient, scale).ok()?)
            }
            3 => Value::Double(self.f64()?),
            4 => Value::Text(std::str::from_utf8(self.long()?).ok()?),
            5 => Value::Bytes(self.long()?),
            6 => Value::Boolean(self.byte()? != 0),
            7 => Value::Date(Date::from_days(self.take().map(i32::from_le_bytes)?)?),
            8 => Value::Timestamp(Timestamp::from_us(self.take().map(i64::from_le_bytes)?)?),
            _ => return None,
        };
        Some(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use value::Type;

    fn column() -> ColumnStatistics {
        let values = [
            Value::Int(-5),
            Value::Number("12.50".parse().expect("a number")),
            Value::Double(0.25),
            Value::Text("é"),
            Value::Bytes(&[0, 255]),
            Value::Boolean(true),
            Value::Date(Date::parse("2026-11-22").expect("a day")),
            Value::Timestamp(Timestamp::parse("2026-11-22 13:19:28").expect("a moment")),
        ];
        let mut column = ColumnStatistics::guessed(Type::Text, 1e6);
        column.correlation = -0.5;
        column.bounds = values.iter().copied().map(Value::to_owned).collect();
        column.common = vec![CommonValue { value: Value::Text("x").to_owned(), fraction: 0.125 }];
        column
    }

    #[test]
    fn a_column_comes_back_as_it_was_kept() {
        let (column, rows) = (column(), 1e6);
        let statistics = TableStatistics { rows, blocks: 9.0, columns: vec![column.clone()] };
        let gathered = Gathered { sampled: 100, scn: Scn::new(7), moment: Timestamp::MIN };
        let kept = statistics.to_kept(BTreeMap::new(), gathered);
        let mut table = TableDefinition::new(ObjectNo::new(1), "t", ObjectNo::new(1));
        table.columns.push(relation::ColumnDefinition::new("a", Type::Text, false));
        let back = TableStatistics::from_kept(&kept, &table);
        assert_eq!((back.rows, back.blocks), (rows, 9.0));
        assert_eq!(back.columns, [column]);
    }

    #[test]
    fn columns_that_were_not_looked_at_stay_as_they_were() {
        let mut table = TableDefinition::new(ObjectNo::new(1), "t", ObjectNo::new(1));
        for name in ["a", "b", "c"] {
            table.columns.push(relation::ColumnDefinition::new(name, Type::Text, false));
        }
        let with = |distinct: f64, nulls: f64| ColumnStatistics { distinct, nulls, ..column() };
        let columns = vec![with(10.0, 0.25), with(20.0, 0.0)];
        let before = TableStatistics { rows: 1e3, blocks: 9.0, columns };
        let gathered = Gathered { sampled: 100, scn: Scn::new(7), moment: Timestamp::MIN };
        let before = before.to_kept(BTreeMap::new(), gathered);
        let columns = vec![with(1.0, 0.0), with(30.0, 0.5)];
        let now = TableStatistics { rows: 4e3, blocks: 36.0, columns };
        let found = now.with_others(&[1], Some(&before), &table);
        assert_eq!((found.rows, found.columns.len()), (4e3, 3));
        assert_eq!(found.columns[..2], [with(10.0, 0.25), with(30.0, 0.5)]);
        assert_eq!(found.columns[2], ColumnStatistics::guessed(Type::Text, 4e3));
    }

    #[test]
    fn bytes_that_are_not_whole_say_nothing_and_do_no_harm() {
        let bytes = column().histogram();
        for length in 0..bytes.len() {
            assert!(Histogram::read(&bytes[..length]).is_none(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            let _ = Histogram::read(&changed);
        }
    }
}
