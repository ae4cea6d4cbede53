//! Tables against their indexes, both ways: each entry has its row, and each row its entry.
//!
//! Both are read once, and the hashes of all pairs of key and row are added up. Equal sums mean
//! equal sets, but for one chance in 2^128. If the sums differ, both are read again, a part of the
//! pairs at a time, to find the differences. So memory has a bound, and a database in order is read
//! once; a heap once for all its indexes (VF15).
//!
//! The dictionary says to which heap an index belongs, and how keys are made ([`Typed`]). For
//! tables that it doesn't know the caller does ([`Pair`]).
//!
//! Callers: `closed`, `live`.

use std::collections::BTreeMap;

use access::RowAddress;
use ids::{Dba, ObjectNo};
use relation::TableDefinition;
use space::{DIRECTORY_FIRST, Holds};
use stop::Stop;

use crate::dictionary::Dictionary;
use crate::heap::{at_one_moment, rows};
use crate::index::{Trees, was_finished};
use crate::segments::Segment;
use crate::source::Check;
use crate::typed::Typed;
use crate::{Kind, Task};

/// The most pairs that are compared one by one at a time.
const PART_PAIRS: u64 = 500_000;

/// The most rows that can't be read; a heap with more isn't compared with its indexes.
const FAULTS_MAX: usize = 1_000;

/// An index and its heap, of a table that the dictionary doesn't know.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The table's segment.
    pub heap: ObjectNo,
    /// The index's segment.
    pub index: ObjectNo,
    /// The key of a row, from its bytes; none for a row that the index leaves out.
    pub key_of: &'a dyn Fn(&[u8]) -> Option<Vec<u8>>,
}

/// A table with the rules by which the keys of its rows are made.
pub(crate) trait Keyed {
    /// The segment of its rows.
    fn heap(&self) -> ObjectNo;
    /// The segments of its indexes.
    fn indexes(&self) -> Vec<ObjectNo>;
    /// Appends the key of a row in the index at this place; false if the index leaves the row out.
    fn push_key(&self, index: usize, at: RowAddress, row: &[u8], out: &mut Vec<u8>) -> bool;
    /// The name, for messages, of the table, or of the index at this place.
    fn name(&self, index: Option<usize>, segment: &str) -> String;
    /// The fault of a row by itself, if it has one.
    fn fault(&self, row: &[u8]) -> Option<RowFault>;
}

/// A fault of a row by itself.
pub(crate) struct RowFault {
    /// [`Kind::Row`] if its columns can't be believed, and so it has no keys.
    pub(crate) kind: Kind,
    pub(crate) what: String,
}

impl Keyed for Pair<'_> {
    fn heap(&self) -> ObjectNo {
        self.heap
    }

    fn indexes(&self) -> Vec<ObjectNo> {
        vec![self.index]
    }

    fn push_key(&self, _: usize, _: RowAddress, row: &[u8], out: &mut Vec<u8>) -> bool {
        let key = (self.key_of)(row);
        out.extend(key.iter().flatten());
        key.is_some()
    }

    fn name(&self, _: Option<usize>, segment: &str) -> String {
        segment.to_string()
    }

    fn fault(&self, _: &[u8]) -> Option<RowFault> {
        None
    }
}

/// A set of pairs: their number, and the sum of their hashes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Sum {
    count: u64,
    hashes: u128,
}

/// Pairs that only one side has: 1 of the rows, -1 of the entries.
type Differences = BTreeMap<(Vec<u8>, RowAddress), i64>;

/// The faults of a table's rows and indexes, at a first look.
#[derive(Default)]
struct TableFaults {
    /// Rows whose bytes don't fit the table's columns.
    faults: BTreeMap<RowAddress, String>,
    /// Rows that break a CHECK.
    broken: BTreeMap<RowAddress, String>,
    /// The places of indexes that differ from the rows, with the number of their pairs.
    differ: Vec<(usize, u64)>,
}

/// The segments and trees in which tables and indexes are looked up.
#[derive(Clone, Copy)]
pub(crate) struct KnownSegments<'g> {
    pub(crate) segments: &'g BTreeMap<u32, &'g Segment>,
    pub(crate) trees: &'g Trees,
}

/// Compares every table with those of its indexes whose trees are in order.
pub(crate) fn check(
    check: &mut Check<'_, '_, '_>,
    ground: KnownSegments<'_>,
    dictionary: &Dictionary,
) -> Result<(), Stop> {
    let Task { pairs, .. } = *check.run.task;
    for pair in pairs {
        for (object, holds) in [(pair.heap, Holds::Table), (pair.index, Holds::Index)] {
            if ground.find(object, holds).is_none() {
                let what = format!(
                    "has no segment {object}, which was to be held against another; or it can't \
                     be read"
                );
                check.find(Kind::Missing, DIRECTORY_FIRST, what);
            }
        }
        at_one_moment(check, |check| {
            let found = ground.look(check, pair)?;
            ground.tell(check, pair, &found)
        })?;
    }
    for table in &dictionary.tables {
        at_one_moment(check, |check| ground.typed(check, table, dictionary))?;
    }
    Ok(())
}

impl<'g> KnownSegments<'g> {
    /// The rows of a table.
    pub(crate) fn table(&self, object: ObjectNo) -> Option<&'g Segment> {
        self.find(object, Holds::Table)
    }

    /// An index whose tree is in order.
    pub(crate) fn index_in_order(&self, object: ObjectNo) -> Option<&'g Segment> {
        let index = self.find(object, Holds::Index);
        index.filter(|index| self.trees.in_order.contains(&index.object))
    }

    fn find(&self, object: ObjectNo, holds: Holds) -> Option<&'g Segment> {
        self.segments.get(&object.get()).copied().filter(|one| one.holds == holds)
    }

    /// The indexes that can be compared, with their places.
    fn indexes(&self, keyed: &dyn Keyed) -> Vec<(usize, &'g Segment)> {
        let of = keyed.indexes().into_iter().enumerate();
        of.filter_map(|(n, object)| Some((n, self.index_in_order(object)?))).collect()
    }

    /// Compares a table of the dictionary with its indexes. In an open database its definition may
    /// have changed since the dictionary was read (VF11).
    fn typed(
        &self,
        check: &mut Check<'_, '_, '_>,
        table: &TableDefinition,
        dictionary: &Dictionary,
    ) -> Result<(), Stop> {
        let mut keyed = Typed::new(table);
        let mut found = self.look(check, &keyed)?;
        if check.source.is_live() && !found.is_empty() {
            let Some(now) = dictionary.now(check, table.object)? else { return Ok(()) };
            if format!("{now:?}") != format!("{table:?}") {
                keyed = Typed::new(&now);
                found = self.look(check, &keyed)?;
            }
        }
        self.tell(check, &keyed, &found)?;
        for index in keyed.indexes() {
            let found = self.find(index, Holds::Index);
            let found = found.filter(|one| self.trees.unfinished.contains(&one.object));
            // In an open database it may have been finished meanwhile, and named then.
            if let Some(index) = found.filter(|index| check.is_there(index))
                && !was_finished(check.source, index)?
            {
                let what = format!("is of index {}, and was never written", index.name);
                check.find_in(&index.name, Kind::Index, index.header, what);
            }
        }
        Ok(())
    }

    /// Reads all rows and entries, and finds which indexes differ.
    fn look(&self, check: &mut Check<'_, '_, '_>, keyed: &dyn Keyed) -> Result<TableFaults, Stop> {
        let mut found = TableFaults::default();
        let Some(heap) = self.table(keyed.heap()) else { return Ok(found) };
        let indexes = self.indexes(keyed);
        let mut of_rows = vec![Sum::default(); indexes.len()];
        let (mut key, faults, broken) = (Vec::new(), &mut found.faults, &mut found.broken);
        let mut visit = |row: RowAddress, bytes: &[u8]| {
            if let Some(RowFault { kind, what }) = keyed.fault(bytes) {
                let has_no_keys = kind == Kind::Row;
                let among = if has_no_keys { &mut *faults } else { &mut *broken };
                if among.len() <= FAULTS_MAX {
                    among.insert(row, what);
                }
                if has_no_keys {
                    return;
                }
            }
            for ((place, _), sum) in indexes.iter().zip(&mut of_rows) {
                key.clear();
                if keyed.push_key(*place, row, bytes, &mut key) {
                    sum.add(hash(&key, row));
                }
            }
        };
        let is_whole = rows(check, heap, &mut visit)?;
        for ((place, index), of_rows) in indexes.into_iter().zip(of_rows) {
            let mut of_entries = Sum::default();
            if !check.entries(index, &mut |row, key| of_entries.add(hash(key, row)))? {
                continue;
            }
            check.run.report.compared += 1;
            // Blocks that can't be read were reported; their rows can't be told from lost ones.
            if of_rows != of_entries && is_whole && found.faults.len() <= FAULTS_MAX {
                found.differ.push((place, of_rows.count.max(of_entries.count)));
            }
        }
        Ok(found)
    }

    /// Reports the faults of the segments that still exist.
    fn tell(
        &self,
        check: &mut Check<'_, '_, '_>,
        keyed: &dyn Keyed,
        found: &TableFaults,
    ) -> Result<(), Stop> {
        let Some(heap) = self.table(keyed.heap()) else { return Ok(()) };
        let table = keyed.name(None, &heap.name);
        for (kind, rows) in [(Kind::Row, &found.faults), (Kind::Check, &found.broken)] {
            if rows.is_empty() || !check.is_there(heap) {
                continue;
            }
            for (row, what) in rows {
                let what = format!("slot {}, of {table}, {what}", row.slot);
                check.find_in(&table, kind, row.block, what);
            }
        }
        for (place, index) in self.indexes(keyed) {
            let Some((_, pairs)) = found.differ.iter().find(|(differs, _)| *differs == place)
            else {
                continue;
            };
            let parts = pairs / PART_PAIRS + 1;
            for part in 0..parts {
                let is_of = |key: &[u8], row| {
                    hash(key, row) as u64 % parts == part && !found.faults.contains_key(&row)
                };
                let differ = differences(check, keyed, heap, place, index, &is_of)?;
                if !check.is_there(heap) || !check.is_there(index) {
                    break;
                }
                let name = keyed.name(Some(place), &index.name);
                tell(check, &table, &name, index.header, &differ);
            }
        }
        Ok(())
    }
}

impl TableFaults {
    fn is_empty(&self) -> bool {
        self.faults.is_empty() && self.broken.is_empty() && self.differ.is_empty()
    }
}

/// The pairs of one part that only one side has; none if the index is gone.
fn differences(
    check: &mut Check<'_, '_, '_>,
    keyed: &dyn Keyed,
    heap: &Segment,
    place: usize,
    index: &Segment,
    is_of: &dyn Fn(&[u8], RowAddress) -> bool,
) -> Result<Differences, Stop> {
    let (mut differ, mut key) = (Differences::new(), Vec::new());
    let mut visit = |row: RowAddress, bytes: &[u8]| {
        key.clear();
        if keyed.push_key(place, row, bytes, &mut key) && is_of(&key, row) {
            count(&mut differ, &key, row, 1);
        }
    };
    rows(check, heap, &mut visit)?;
    let mut visit = |row: RowAddress, key: &[u8]| {
        if is_of(key, row) {
            count(&mut differ, key, row, -1);
        }
    };
    Ok(if check.entries(index, &mut visit)? { differ } else { Differences::new() })
}

fn count(differ: &mut Differences, key: &[u8], row: RowAddress, by: i64) {
    let pair = (key.to_vec(), row);
    let found = differ.entry(pair.clone()).or_default();
    *found += by;
    if *found == 0 {
        differ.remove(&pair);
    }
}

fn tell(
    check: &mut Check<'_, '_, '_>,
    table: &str,
    index: &str,
    header: Dba,
    differ: &Differences,
) {
    for ((key, row), more) in differ {
        let (slot, key) = (row.slot, shown(key));
        if *more > 0 {
            let what = format!("slot {slot}, of {table}, has key {key}, which {index} hasn't");
            check.find_in(index, Kind::RowWithoutEntry, row.block, what);
        } else {
            let what =
                format!("is of {index}: key {key} leads to row {row}, which hasn't that key");
            check.find_in(index, Kind::EntryWithoutRow, header, what);
        }
    }
}

/// A key's first bytes, in hexadecimal.
fn shown(key: &[u8]) -> String {
    const BYTES: usize = 16;
    let first: String = key.iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect();
    if key.len() > BYTES { format!("{first}…") } else { format!("'{first}'") }
}

impl Sum {
    fn add(&mut self, hash: u128) {
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(hash);
    }
}

/// 128 bits of a pair: two rounds of splitmix64 over its words, from different beginnings.
pub(crate) fn hash(key: &[u8], row: RowAddress) -> u128 {
    let half = |seed: u64| {
        let mut state = mixed(seed ^ key.len() as u64);
        for chunk in key.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            state = mixed(state ^ u64::from_le_bytes(word));
        }
        let block = u64::from(row.block.file.get()) << 32 | u64::from(row.block.block.get());
        mixed(mixed(state ^ block) ^ u64::from(row.slot))
    };
    u128::from(half(0x243f_6a88_85a3_08d3)) << 64 | u128::from(half(0x1319_8a2e_0370_7344))
}

fn mixed(word: u64) -> u64 {
    let mut mixed = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_tell_which_row_has_which_key() {
        let row = |slot| RowAddress { block: Dba::new(1, 7), slot };
        let sum = |pairs: &[(&[u8], u16)]| {
            let mut sum = Sum::default();
            pairs.iter().for_each(|(key, slot)| sum.add(hash(key, row(*slot))));
            sum
        };
        let one = sum(&[(b"a", 1), (b"b", 2)]);
        assert_eq!(one, sum(&[(b"b", 2), (b"a", 1)]));
        assert_ne!(one, sum(&[(b"a", 2), (b"b", 1)]));
        assert_ne!(one, sum(&[(b"a", 1), (b"b\0", 2)]));
    }
}
