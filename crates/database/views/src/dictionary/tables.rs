//! `user_tables`, `all_tables`, `dba_tables`.

use catalog::{ObjectId, TableStatistics};
use stop::Stop;
use value::Value;

use crate::Engine;
use crate::cells::{count, length, or_null, text_or_null, yes_no};
use crate::dictionary::{Whose, of_owners};
use crate::names::PUBLIC;
use crate::objects::{Known, Places, columns};
use crate::view::{Give, View, ViewColumn, int, moment, text, without_first};

pub(crate) const VIEWS: &[View] =
    of_owners!("tables", "one row for each table", 50, COLUMNS, 1, rows);

const COLUMNS: &[ViewColumn] = &[
    text("owner", "the schema that it is in"),
    text("table_name", "its name"),
    text("tablespace_name", "the tablespace of its rows"),
    text("status", "VALID"),
    int("column_count", "its columns, dropped ones not counted"),
    int("index_count", "its indexes, those of constraints included"),
    text("partitioned", "NO"),
    text("logging", "YES: changes make redo"),
    text("temporary", "N"),
    text("external", "YES: its rows are lines of files; else NO"),
    int("num_rows", "its rows when ANALYZE looked last; NULL if it never did"),
    int("blocks", "its blocks then"),
    int("avg_row_len", "the bytes of a row then"),
    int("sample_size", "the rows that were looked at"),
    moment("last_analyzed", "when that was"),
    text("comments", "the comment on it"),
];

fn rows(_: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let (known, places) = (Known::of(engine), Places::of(engine));
    let Engine { catalog, session, .. } = engine;
    for external in &known.externals {
        let comment = catalog.comment(ObjectId::External(external.object), None, session);
        give(&[
            Value::Text(PUBLIC),
            Value::Text(&external.name),
            Value::Null,
            Value::Text("VALID"),
            length(external.columns.len()),
            count(0_u64),
            yes_no(false),
            yes_no(false),
            Value::Text("N"),
            yes_no(true),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            text_or_null(comment.as_deref()),
        ])?;
    }
    known.tables.iter().try_for_each(|table| {
        let statistics = catalog.statistics(table.object, session);
        let of = |what: fn(&TableStatistics) -> u64| {
            or_null(statistics.as_deref().map(|statistics| count(what(statistics))))
        };
        let analyzed = statistics.as_deref().map(|of| Value::Timestamp(of.analyzed));
        let comment = catalog.comment(ObjectId::Table(table.object), None, session);
        give(&[
            Value::Text(PUBLIC),
            Value::Text(&table.name),
            text_or_null(places.tablespace(table.segment)),
            Value::Text("VALID"),
            length(columns(table).count()),
            length(table.indexes.len()),
            yes_no(false),
            yes_no(true),
            Value::Text("N"),
            yes_no(false),
            of(|statistics| statistics.rows),
            of(|statistics| statistics.blocks),
            of(|statistics| statistics.row_bytes),
            of(|statistics| statistics.sampled),
            or_null(analyzed),
            text_or_null(comment.as_deref()),
        ])
    })
}
