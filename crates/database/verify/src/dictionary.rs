//! The data dictionary: it says which index belongs to which table, and how keys are made. The
//! check finds contradictions in it, and segments that it names and that are missing.
//!
//! Its tables are heaps and are read as such: nothing is opened or recovered (VF2, VF7). The
//! catalog interprets the rows (`catalog::DictionaryCheck`), and believes none of them.
//!
//! ```text
//!   segments `_tables`, … ──rows──▶ catalog ──▶ contradictions ──▶ findings
//!                                           └──▶ definitions: segments there? ──▶ `pairs`
//! ```
//!
//! Callers: `closed`, `live`; `pairs`, which asks again for a definition that has changed.

use std::collections::{BTreeMap, BTreeSet};

use access::RowAddress;
use catalog::{
    DICTIONARY_VERSION, DICTIONARY_VERSION_FIRST, DictionaryCheck, DictionaryContents,
    DictionaryFault, DictionaryTable, SequenceDefinition,
};
use ids::{Dba, ObjectNo};
use relation::TableDefinition;
use space::{DIRECTORY_FIRST, Holds, NAMED_BY_NUMBER, SegmentState};
use stop::Stop;

use crate::Kind;
use crate::heap::{at_one_moment, rows};
use crate::segments::Segment;
use crate::source::Check;

/// The definitions in the dictionary.
#[derive(Default)]
pub(crate) struct Dictionary {
    /// Its own tables and all others, without those that make no sense.
    pub(crate) tables: Vec<TableDefinition>,
    /// The sequences, each with its next value.
    pub(crate) sequences: Vec<SequenceSeen>,
    own: Vec<Own>,
}

/// A sequence with its next value that wasn't taken; none at its end.
pub(crate) type SequenceSeen = (SequenceDefinition, Option<i64>);

/// The definitions as of one moment.
struct Seen {
    version: u32,
    tables: Vec<TableDefinition>,
    sequences: Vec<SequenceSeen>,
    faults: Vec<DictionaryFault>,
    is_whole: bool,
}

/// One of the dictionary's own tables, with its segment.
struct Own {
    table: DictionaryTable,
    rows: Segment,
    definition: TableDefinition,
}

/// Reads the dictionary, if there is one, and reports its faults.
pub(crate) fn check(
    check: &mut Check<'_, '_, '_>,
    segments: &[Segment],
) -> Result<Dictionary, Stop> {
    let Some(own) = find_own(check, segments) else { return Ok(Dictionary::default()) };
    let Some(seen) = at_one_moment(check, |check| read(check, &own))? else {
        return Ok(Dictionary::default());
    };
    if !seen.is_whole {
        let what = "is of the dictionary, which can't be read whole: indexes weren't held against \
                    their tables";
        check.find(Kind::Dictionary, own[0].rows.header, what);
        return Ok(Dictionary::default());
    }
    if !has_tables_of(seen.version, &own) {
        tell_incomplete(check, &own, seen.version)?;
        return Ok(Dictionary::default());
    }
    let header_of = |table: DictionaryTable| {
        let of = own.iter().find(|own| own.table == table);
        of.map_or(DIRECTORY_FIRST, |own| own.rows.header)
    };
    for DictionaryFault { table, row, what } in &seen.faults {
        let (at, slot) = match row {
            Some(RowAddress { block, slot }) => (*block, format!("slot {slot}, ")),
            None => (header_of(*table), String::new()),
        };
        check.find(Kind::Dictionary, at, format!("{slot}of {}, {what}", table.name()));
    }
    missing(check, segments, &own, &seen)?;
    if seen.faults.is_empty() && !check.source.is_live() {
        orphans(check, segments, &seen.tables);
    }
    let Seen { tables, sequences, .. } = seen;
    Ok(Dictionary { tables: with_own(&own, tables), sequences, own })
}

/// Reports that tables of this version aren't among these. In an open database the dictionary may
/// have got them since the segments were looked at (rule catalog/DC33): then it isn't judged.
fn tell_incomplete(check: &mut Check<'_, '_, '_>, own: &[Own], version: u32) -> Result<(), Stop> {
    let mut are_there = check.source.is_live();
    for table in DictionaryTable::of(version) {
        for name in [table.name().to_string(), table.index_name()] {
            are_there = are_there && check.source.has_segment(&name)?;
        }
    }
    if are_there {
        check.run.report.unsettled += 1;
        return Ok(());
    }
    let what = format!(
        "is of the dictionary of version {version}, and a segment of a table that came with it \
         isn't there, or can't be read: indexes weren't held against their tables"
    );
    check.find(Kind::Dictionary, own[0].rows.header, what);
    Ok(())
}

/// Whether all tables of this version are among these; true for a version that isn't known, of
/// which a fault says so.
fn has_tables_of(version: u32, own: &[Own]) -> bool {
    let has = |table: &DictionaryTable| own.iter().any(|own| own.table == *table);
    version > DICTIONARY_VERSION || DictionaryTable::of(version).iter().all(has)
}

/// The segments of the dictionary; none if there is no whole dictionary. Those of later versions
/// may be there or not: which version there is, only rows say.
fn find_own(check: &mut Check<'_, '_, '_>, segments: &[Segment]) -> Option<Vec<Own>> {
    let is_kept = |one: &&Segment| one.state == SegmentState::Permanent;
    let named: BTreeMap<&str, &Segment> =
        segments.iter().filter(is_kept).map(|one| (one.name.as_str(), one)).collect();
    let has_users = named.keys().any(|name| name.starts_with(NAMED_BY_NUMBER));
    let first = DictionaryTable::of(DICTIONARY_VERSION_FIRST);
    let last = first[first.len() - 1].index_name();
    if !named.contains_key(last.as_str()) && !has_users {
        // It was never made, or not to its end (rule catalog/DC1).
        return None;
    }
    let mut own = Vec::new();
    for table in DictionaryTable::ALL {
        let mut find = |name: &str, holds| {
            let found = named.get(name).filter(|one| one.holds == holds);
            if found.is_none() && first.contains(&table) {
                let what = format!(
                    "has no segment {name} of the dictionary, or it can't be read: indexes weren't \
                     held against their tables"
                );
                check.find(Kind::Dictionary, DIRECTORY_FIRST, what);
            }
            found.copied()
        };
        let (rows, key) =
            (find(table.name(), Holds::Table), find(&table.index_name(), Holds::Index));
        if let (Some(rows), Some(key)) = (rows, key) {
            let definition =
                table.definition(ObjectNo::new(rows.object), ObjectNo::new(key.object));
            let rows = rows.clone();
            own.push(Own { table, rows, definition });
        }
    }
    has_tables_of(DICTIONARY_VERSION_FIRST, &own).then_some(own)
}

/// Reads the dictionary as of the source's moment.
fn read(check: &mut Check<'_, '_, '_>, own: &[Own]) -> Result<Seen, Stop> {
    let (mut dictionary, mut is_whole) = (DictionaryCheck::default(), true);
    for Own { table, rows: heap, definition } in own {
        let layout = definition.layout();
        let mut visit = |at: RowAddress, bytes: &[u8]| dictionary.add(*table, &layout, at, bytes);
        is_whole &= rows(check, heap, &mut visit)?;
    }
    let DictionaryContents { version, tables, sequences, faults } = dictionary.finish();
    Ok(Seen { version, tables, sequences, faults, is_whole })
}

fn with_own(own: &[Own], tables: Vec<TableDefinition>) -> Vec<TableDefinition> {
    own.iter().map(|own| own.definition.clone()).chain(tables).collect()
}

impl Dictionary {
    /// Gives a segment that is named by a number the name of its table or index.
    pub(crate) fn name(&self, segment: &mut Segment) {
        if !segment.name.starts_with(NAMED_BY_NUMBER) {
            return;
        }
        let object = ObjectNo::new(segment.object);
        for table in &self.tables {
            if table.segment == object {
                segment.name = table.name.to_string();
            }
            if let Some(index) = table.indexes.iter().find(|index| index.segment == object) {
                segment.name = format!("{} of {}", index.name, table.name);
            }
        }
    }

    /// The definition of a table at the source's moment; none if it isn't there then.
    pub(crate) fn now(
        &self,
        check: &mut Check<'_, '_, '_>,
        object: ObjectNo,
    ) -> Result<Option<TableDefinition>, Stop> {
        let seen = read(check, &self.own)?;
        let mut tables = with_own(&self.own, seen.tables).into_iter();
        Ok(tables.find(|table| table.object == object))
    }

    /// The sequences at the source's moment.
    pub(crate) fn sequences_now(
        &self,
        check: &mut Check<'_, '_, '_>,
    ) -> Result<Vec<SequenceSeen>, Stop> {
        read(check, &self.own).map(|seen| seen.sequences)
    }
}

/// A segment that a definition names: its number, what it holds, and of what it is.
type Named = (ObjectNo, Holds, String);

fn named(tables: &[TableDefinition]) -> Vec<Named> {
    let of_table = |table: &TableDefinition| {
        let rows = (table.segment, Holds::Table, format!("the rows of table {}", table.name));
        let indexes = table.indexes.iter().map(|index| {
            let what = format!("index {} of table {}", index.name, table.name);
            (index.segment, Holds::Index, what)
        });
        std::iter::once(rows).chain(indexes).collect::<Vec<_>>()
    };
    tables.iter().flat_map(of_table).collect()
}

/// Checks that the segments of each definition are there. In an open database a segment is missing
/// if two reads of the dictionary name it and it isn't there between them: a segment exists from
/// before rows name it until after none does (rule catalog/DC3).
fn missing(
    check: &mut Check<'_, '_, '_>,
    segments: &[Segment],
    own: &[Own],
    seen: &Seen,
) -> Result<(), Stop> {
    let is_there = |check: &Check<'_, '_, '_>, (object, holds, _): &Named| {
        let found = segments.iter().find(|one| one.object == object.get());
        match (found, check.source.is_live()) {
            (Some(one), false) => one.holds == *holds && one.state == SegmentState::Permanent,
            (Some(one), true) => one.holds == *holds && check.source.is_there(*object),
            (None, is_live) => is_live && check.source.is_there(*object),
        }
    };
    let mut gone = named(&seen.tables);
    gone.retain(|one| !is_there(check, one));
    if gone.is_empty() {
        return Ok(());
    }
    if check.source.is_live() {
        let Some(again) = at_one_moment(check, |check| read(check, own))? else { return Ok(()) };
        let again = named(&again.tables);
        gone.retain(|one| again.contains(one));
    }
    let tables = own[0].rows.header;
    for (object, _, of) in gone {
        let what = format!("is of the dictionary, and segment {object}, of {of}, isn't there");
        check.find(Kind::Missing, tables, what);
    }
    Ok(())
}

/// Finds segments of tables and indexes that no definition names (rule catalog/DC3).
fn orphans(check: &mut Check<'_, '_, '_>, segments: &[Segment], tables: &[TableDefinition]) {
    let named: BTreeSet<u32> = named(tables).iter().map(|(object, ..)| object.get()).collect();
    let is_orphan = |one: &&Segment| {
        let is_kept = one.state == SegmentState::Permanent;
        is_kept && one.name.starts_with(NAMED_BY_NUMBER) && !named.contains(&one.object)
    };
    let found: Vec<(Dba, String)> = segments
        .iter()
        .filter(is_orphan)
        .map(|one| (one.header, format!("is the header of {}, which no table has", one.name)))
        .collect();
    found.into_iter().for_each(|(at, what)| check.find(Kind::Orphan, at, what));
}
