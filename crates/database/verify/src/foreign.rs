//! Foreign keys: the row to which another one refers is there.
//!
//! ```text
//!   rows of the child ──keys that they refer to──▶ a map ◀──taken out── entries of the parent's
//!                                                    └── what is left refers to nothing
//! ```
//!
//! The map has a bound. If a table refers to more keys, they are divided by their hashes, and both
//! tables are read once for each part (VF16).
//!
//! Callers: `closed`, `live`.

use std::collections::BTreeMap;

use access::RowAddress;
use relation::{ForeignKey, IndexDefinition, TableDefinition};
use stop::Stop;
use value::{RowView, Value, key_push};

use crate::Kind;
use crate::dictionary::Dictionary;
use crate::heap::{at_one_moment, rows};
use crate::pairs::{KnownSegments, hash};
use crate::segments::Segment;
use crate::source::Check;

/// The most different keys that are looked for at a time.
const PART_KEYS: usize = 500_000;

/// A foreign key with its child and its parent as of one moment.
struct Reference<'d> {
    key: &'d ForeignKey,
    child: &'d TableDefinition,
    parent: &'d TableDefinition,
    index: &'d IndexDefinition,
}

/// A row that refers to a key, and the number of other rows that do.
struct Referring {
    row: RowAddress,
    more: u64,
}

/// The keys of one part to which rows refer.
struct Sought {
    /// A power of two.
    parts: u64,
    part: u64,
    keys: BTreeMap<Vec<u8>, Referring>,
}

/// Checks every foreign key of the dictionary.
pub(crate) fn check(
    check: &mut Check<'_, '_, '_>,
    ground: KnownSegments<'_>,
    dictionary: &Dictionary,
) -> Result<(), Stop> {
    let all = dictionary.tables.iter();
    for key in all.flat_map(|table| table.foreign_keys.iter()) {
        let found = at_one_moment(check, |check| match Reference::of(key, &dictionary.tables) {
            Some(reference) => reference.orphans(check, ground),
            // The dictionary contradicts itself, which `dictionary` has reported.
            None => Ok(Vec::new()),
        })?;
        // If the definition has changed since it was read, the rows prove nothing.
        if found.as_ref().is_none_or(Vec::is_empty) || has_changed(check, key, dictionary)? {
            continue;
        }
        for (at, what) in found.into_iter().flatten() {
            check.find_in(&key.name, Kind::ForeignKey, at.block, what);
        }
    }
    Ok(())
}

/// Whether one of the tables has changed since the dictionary was read.
fn has_changed(
    check: &mut Check<'_, '_, '_>,
    key: &ForeignKey,
    dictionary: &Dictionary,
) -> Result<bool, Stop> {
    if !check.source.is_live() {
        return Ok(false);
    }
    for object in [key.table, key.references] {
        let then = dictionary.tables.iter().find(|table| table.object == object);
        let now = at_one_moment(check, |check| dictionary.now(check, object))?.flatten();
        if format!("{then:?}") != format!("{:?}", now.as_ref()) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl<'d> Reference<'d> {
    /// None if a table, a column or the index isn't there.
    fn of(key: &'d ForeignKey, tables: &'d [TableDefinition]) -> Option<Reference<'d>> {
        let table = |object| tables.iter().find(|table| table.object == object);
        let (child, parent) = (table(key.table)?, table(key.references)?);
        let index = parent.indexes.iter().find(|index| index.object == key.referenced_index)?;
        let are_there = |table: &TableDefinition, columns: &[usize]| {
            columns.iter().all(|column| *column < table.columns.len())
        };
        let is_whole = are_there(child, &key.columns)
            && are_there(parent, &key.referenced_columns)
            && index.columns.iter().all(|of| key.referenced_columns.contains(&of.column));
        is_whole.then_some(Reference { key, child, parent, index })
    }

    /// Rows whose parent isn't there, one for each key; none if the index is gone.
    fn orphans(
        &self,
        check: &mut Check<'_, '_, '_>,
        ground: KnownSegments<'_>,
    ) -> Result<Vec<(RowAddress, String)>, Stop> {
        let heap = ground.table(self.child.segment);
        let index = ground.index_in_order(self.index.segment);
        let (Some(heap), Some(index)) = (heap, index) else { return Ok(Vec::new()) };
        let (mut orphans, mut part, mut parts) = (Vec::new(), 0, 1);
        while part < parts {
            let mut sought = Sought { parts, part, keys: BTreeMap::new() };
            self.gather(check, heap, &mut sought)?;
            if !check.entries(index, &mut |_, key| _ = sought.keys.remove(key))? {
                return Ok(Vec::new());
            }
            parts = sought.parts;
            orphans.extend(sought.keys.into_values().map(|one| (one.row, self.told(&one))));
            part += 1;
        }
        Ok(orphans)
    }

    fn gather(
        &self,
        check: &mut Check<'_, '_, '_>,
        heap: &Segment,
        sought: &mut Sought,
    ) -> Result<(), Stop> {
        let (layout, mut key) = (self.child.layout(), Vec::new());
        let mut visit = |at: RowAddress, bytes: &[u8]| {
            key.clear();
            // `pairs` has reported a row that can't be read.
            if RowView::new(&layout, bytes).is_ok_and(|row| self.push_key(&row, &mut key)) {
                sought.add(&key, at);
            }
        };
        rows(check, heap, &mut visit).map(|_| ())
    }

    /// Appends the key to which this row refers; false if it refers to none.
    fn push_key(&self, row: &RowView<'_>, out: &mut Vec<u8>) -> bool {
        let mut can_be = true;
        for of in &self.index.columns {
            let at = self.key.referenced_columns.iter().position(|column| *column == of.column);
            let at = at.expect("the index has these columns only");
            let Ok(value) = row.get(self.key.columns[at]) else { return false };
            if value.is_null() {
                return false;
            }
            let column = &self.parent.columns[of.column];
            let fitted = column.kind.fit(&column.name, value).unwrap_or(Value::Null);
            can_be &= fitted.compare(value).is_some_and(std::cmp::Ordering::is_eq);
            key_push(fitted, of.direction, of.nulls, out);
        }
        if !can_be {
            // No key begins with zero (rule value/VA7), so no row has this one.
            out.insert(0, 0);
        }
        true
    }

    fn told(&self, Referring { row, more }: &Referring) -> String {
        let Reference { key, child, parent, .. } = self;
        let others = match more {
            0 => String::new(),
            1 => ", and so does another row".to_string(),
            more => format!(", and so do {more} other rows"),
        };
        format!(
            "slot {}, of {}, refers by {} to a row of {} that isn't there{others}",
            row.slot, child.name, key.name, parent.name
        )
    }
}

impl Sought {
    fn add(&mut self, key: &[u8], row: RowAddress) {
        if self.is_other(key) {
            return;
        }
        if let Some(found) = self.keys.get_mut(key) {
            found.more += 1;
            return;
        }
        self.keys.insert(key.to_vec(), Referring { row, more: 0 });
        while self.keys.len() > PART_KEYS && self.part == 0 {
            self.parts *= 2;
            let parts = self.parts;
            self.keys.retain(|key, _| of_part(key, parts) == 0);
        }
    }

    fn is_other(&self, key: &[u8]) -> bool {
        of_part(key, self.parts) != self.part
    }
}

/// The part to which a key belongs.
fn of_part(key: &[u8], parts: u64) -> u64 {
    hash(key, RowAddress { block: ids::Dba::new(0, 0), slot: 0 }) as u64 % parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_of_one_part_however_many_there_are() {
        let row = RowAddress { block: ids::Dba::new(1, 7), slot: 3 };
        let all: Vec<[u8; 4]> = (0..3 * PART_KEYS as u32).map(u32::to_be_bytes).collect();
        let (mut part, mut parts, mut seen) = (0, 1, 0);
        while part < parts {
            let mut sought = Sought { parts, part, keys: BTreeMap::new() };
            all.iter().for_each(|key| sought.add(key, row));
            (parts, part) = (sought.parts, part + 1);
            seen += sought.keys.len();
            assert!(sought.keys.len() < 2 * PART_KEYS);
        }
        assert_eq!((parts, seen), (4, all.len()));
    }
}
