//! Segments and their extents: `user_`, `all_` and `dba_`.
//!
//! Sizes are in the headers of segments, so these views read a block of each, as any statement
//! reads blocks. A segment that is dropped meanwhile is left out.

use std::collections::BTreeMap;

use ids::ObjectNo;
use space::{Holds, Segment, SegmentExtents};
use stop::{RefusalKind, Stop};
use value::Value;

use crate::Engine;
use crate::cells::{count, length, text_or_null};
use crate::dictionary::{Whose, of_owners};
use crate::names::{PUBLIC, SYS};
use crate::objects::{Known, Places};
use crate::view::{Give, View, ViewColumn, int, text, without_first};

pub(crate) const SEGMENTS: &[View] =
    of_owners!("segments", "one row for each segment", 100, SEGMENT_COLUMNS, 1, segments);

pub(crate) const EXTENTS: &[View] = of_owners!(
    "extents",
    "one row for each extent of each segment",
    1_000,
    EXTENT_COLUMNS,
    1,
    extents
);

const SEGMENT_COLUMNS: &[ViewColumn] = &[
    text("owner", "the schema of what lies there; sys: the instance keeps it for itself"),
    text("segment_name", "the table or index"),
    text("segment_type", "TABLE, INDEX, or TYPE2 UNDO"),
    text("tablespace_name", "its tablespace"),
    int("header_file", "the file of its header"),
    int("header_block", "the block of its header"),
    int("bytes", "the size of its extents"),
    int("blocks", "the blocks of its extents"),
    int("extents", "the number of its extents"),
    int("used_blocks", "of the blocks, those that were handed out"),
    int("data_object_id", "its number, which each of its blocks has"),
];

const EXTENT_COLUMNS: &[ViewColumn] = &[
    text("owner", "the schema of what lies there; sys: the instance keeps it for itself"),
    text("segment_name", "the table or index"),
    text("segment_type", "TABLE, INDEX, or TYPE2 UNDO"),
    text("tablespace_name", "its tablespace"),
    int("extent_id", "its place in the segment, from 0 on"),
    int("file_id", "its file"),
    int("block_id", "its first block"),
    int("bytes", "its size"),
    int("blocks", "its blocks"),
];

/// A segment, with what it is called and its extents.
struct Measured {
    segment: Segment,
    owner: &'static str,
    name: String,
    kind: &'static str,
    tablespace: Option<String>,
    block_bytes: u64,
    size: SegmentExtents,
}

/// Gives each segment to `look`.
fn each(
    whose: Whose,
    engine: &Engine<'_>,
    look: &mut dyn FnMut(&Measured) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let (space, session) = (engine.instance.space(), engine.session);
    let (names, places) = (names_of_segments(&Known::of(engine)), Places::of(engine));
    for segment in space.listed(session) {
        let known = names.get(&segment.object).cloned();
        if whose == Whose::Own && known.is_none() {
            continue;
        }
        let size = match space.extents(segment.header, session) {
            Ok(size) => size,
            Err(stop) if stop.refusal() == Some(RefusalKind::NotFound) => continue,
            Err(stop) => return Err(stop),
        };
        let block = engine.instance.cache().block_size_of(segment.header.file, session);
        look(&Measured {
            owner: if known.is_some() { PUBLIC } else { SYS },
            name: known.unwrap_or_else(|| segment.name.clone()),
            kind: match segment.holds {
                Holds::Table => "TABLE",
                Holds::Index => "INDEX",
                Holds::Undo => "TYPE2 UNDO",
                Holds::Directory => "DIRECTORY",
            },
            tablespace: places.tablespace(segment.object).map(str::to_string),
            block_bytes: block.map_or(0, |size| size.bytes() as u64),
            segment,
            size,
        })?;
    }
    Ok(())
}

/// The names of the tables and indexes that have these segments.
fn names_of_segments(known: &Known) -> BTreeMap<ObjectNo, String> {
    let tables = known.tables.iter().map(|table| (table.segment, table.name.clone()));
    let indexes = known.indexes().map(|(_, index)| (index.segment, index.name.clone()));
    tables.chain(indexes).collect()
}

fn segments(whose: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    each(whose, engine, &mut |one| {
        let blocks: u64 = one.size.extents.iter().map(|extent| u64::from(extent.count)).sum();
        give(&[
            Value::Text(one.owner),
            Value::Text(&one.name),
            Value::Text(one.kind),
            text_or_null(one.tablespace.as_deref()),
            count(one.segment.header.file.get()),
            count(one.segment.header.block.get()),
            count(blocks * one.block_bytes),
            count(blocks),
            length(one.size.extents.len()),
            count(one.size.high_water),
            count(one.segment.object.get()),
        ])
    })
}

fn extents(whose: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    each(whose, engine, &mut |one| {
        for (number, extent) in one.size.extents.iter().enumerate() {
            give(&[
                Value::Text(one.owner),
                Value::Text(&one.name),
                Value::Text(one.kind),
                text_or_null(one.tablespace.as_deref()),
                length(number),
                count(extent.first.file.get()),
                count(extent.first.block.get()),
                count(u64::from(extent.count) * one.block_bytes),
                count(extent.count),
            ])?;
        }
        Ok(())
    })
}
