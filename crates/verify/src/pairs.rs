//! An index against its heap, both ways: each entry has its row, and each row its entry.
//!
//! Both are gone through once, and of all pairs of key and row a sum of hashes is made. If the two
//! sums are the same, so are the sets, but for one chance in 2^128. Only if they aren't, both are
//! gone through again, a part of the pairs at a time, to find which differ. So memory has a bound,
//! and a database in order is read once, from front to end.
//!
//! Which heap an index is of, and how a row's key is made, is the dictionary's to say: [`Pair`].
//!
//! Callers: `closed`, `live`.

use std::collections::{BTreeMap, BTreeSet};

use access::RowAddress;
use ids::ObjectNo;
use space::Holds;
use stop::Stop;

use crate::heap::{at_one_moment, rows};
use crate::segments::Segment;
use crate::source::Check;
use crate::{Kind, Task};

/// So many pairs are compared one by one at a time.
const PART_PAIRS: u64 = 500_000;

/// An index and its heap.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The table's segment.
    pub heap: ObjectNo,
    /// The index's segment.
    pub index: ObjectNo,
    /// The key of a row, from its bytes; none for a row that the index leaves out.
    pub key_of: &'a dyn Fn(&[u8]) -> Option<Vec<u8>>,
}

/// A set of pairs, as a number of them and a sum.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Sum {
    count: u64,
    hashes: u128,
}

/// What one side has of a pair that the other hasn't.
type Differences = BTreeMap<(Vec<u8>, RowAddress), i64>;

/// Holds every pair against each other, of those whose trees are in order.
pub(crate) fn check(
    check: &mut Check<'_, '_, '_>,
    segments: &[Segment],
    in_order: &BTreeSet<u32>,
) -> Result<(), Stop> {
    let Task { pairs, .. } = *check.run.task;
    for pair in pairs {
        let find = |object: ObjectNo, holds| {
            let found = segments.iter().find(|one| one.object == object.get());
            found.filter(|one| one.holds == holds)
        };
        let both = (find(pair.heap, Holds::Table), find(pair.index, Holds::Index));
        let (Some(heap), Some(index)) = both else { continue };
        if !in_order.contains(&index.object) {
            continue;
        }
        at_one_moment(check, |check| compare(check, pair, (heap, index)))?;
    }
    Ok(())
}

fn compare(
    check: &mut Check<'_, '_, '_>,
    pair: &Pair<'_>,
    (heap, index): (&Segment, &Segment),
) -> Result<(), Stop> {
    let (mut of_rows, mut of_entries) = (Sum::default(), Sum::default());
    let mut visit = |row: RowAddress, bytes: &[u8]| {
        if let Some(key) = (pair.key_of)(bytes) {
            of_rows.add(hash(&key, row));
        }
    };
    let is_whole = rows(check, heap, &mut visit)?;
    check.source.entries(index, &mut |row, key| of_entries.add(hash(key, row)))?;
    // What can't be read was found already; its rows can't be told from those that are lost.
    if of_rows == of_entries || !is_whole {
        return Ok(());
    }
    let parts = of_rows.count.max(of_entries.count) / PART_PAIRS + 1;
    for part in 0..parts {
        let is_of = |key: &[u8], row| hash(key, row) as u64 % parts == part;
        let mut differ = Differences::new();
        let mut visit = |row: RowAddress, bytes: &[u8]| {
            if let Some(key) = (pair.key_of)(bytes).filter(|key| is_of(key, row)) {
                count(&mut differ, (key, row), 1);
            }
        };
        rows(check, heap, &mut visit)?;
        let mut visit = |row: RowAddress, key: &[u8]| {
            if is_of(key, row) {
                count(&mut differ, (key.to_vec(), row), -1);
            }
        };
        check.source.entries(index, &mut visit)?;
        if !check.source.is_there(heap) || !check.source.is_there(index) {
            return Ok(());
        }
        tell(check, (heap, index), &differ);
    }
    Ok(())
}

fn count(differ: &mut Differences, pair: (Vec<u8>, RowAddress), by: i64) {
    let found = differ.entry(pair.clone()).or_default();
    *found += by;
    if *found == 0 {
        differ.remove(&pair);
    }
}

fn tell(check: &mut Check<'_, '_, '_>, (heap, index): (&Segment, &Segment), differ: &Differences) {
    for ((key, row), more) in differ {
        let (slot, key) = (row.slot, shown(key));
        if *more > 0 {
            let what = format!(
                "slot {slot}, of {}, has key {key}, which {} hasn't",
                heap.name, index.name
            );
            check.find(Kind::RowWithoutEntry, row.block, what);
        } else {
            let what = format!(
                "is of {}: key {key} leads to row {row}, which hasn't that key",
                index.name
            );
            check.find(Kind::EntryWithoutRow, index.header, what);
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
fn hash(key: &[u8], row: RowAddress) -> u128 {
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
    use ids::Dba;

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
