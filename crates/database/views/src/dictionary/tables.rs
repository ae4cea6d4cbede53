//! `user_tables`, `all_tables`, `dba_tables`.

use stop::Stop;
use value::Value;

use crate::Engine;
use crate::cells::{length, text_or_null, yes_no};
use crate::dictionary::{Whose, of_owners};
use crate::names::PUBLIC;
use crate::objects::{Known, Places, columns};
use crate::view::{Give, View, ViewColumn, int, text, without_first};

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
];

fn rows(_: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let (known, places) = (Known::of(engine), Places::of(engine));
    known.tables.iter().try_for_each(|table| {
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
        ])
    })
}
