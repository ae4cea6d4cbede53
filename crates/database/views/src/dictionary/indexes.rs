//! `user_indexes`, `user_ind_columns` and those of `all_` and `dba_`.

use stop::Stop;
use value::{Direction, NullOrdering, Value};

use crate::Engine;
use crate::cells::{count, text_or_null, yes_no};
use crate::dictionary::{Whose, of_owners};
use crate::names::PUBLIC;
use crate::objects::{Known, Places};
use crate::view::{Give, View, ViewColumn, int, text, without_first};

pub(crate) const VIEWS: &[View] = of_owners!(
    "indexes",
    "one row for each index, those of constraints included",
    100,
    COLUMNS,
    1,
    rows
);

pub(crate) const COLUMN_VIEWS: &[View] = of_owners!(
    "ind_columns",
    "one row for each column of each index",
    200,
    COLUMNS_OF_COLUMNS,
    2,
    column_rows
);

const COLUMNS: &[ViewColumn] = &[
    text("owner", "the schema that it is in"),
    text("index_name", "its name"),
    text("index_type", "NORMAL: a B-tree"),
    text("table_owner", "the schema of the table"),
    text("table_name", "the table"),
    text("table_type", "TABLE"),
    text("uniqueness", "UNIQUE: no two rows have one key, unless it has a NULL; else NONUNIQUE"),
    text("tablespace_name", "the tablespace of its entries"),
    text("status", "VALID"),
    text("constraint_index", "YES: it keeps a PRIMARY KEY or UNIQUE; else NO"),
    text("partitioned", "NO"),
    text("visibility", "VISIBLE"),
];

const COLUMNS_OF_COLUMNS: &[ViewColumn] = &[
    text("index_owner", "the schema of the index"),
    text("table_owner", "the schema of the table"),
    text("index_name", "the index"),
    text("table_name", "the table"),
    text("column_name", "the column"),
    int("column_position", "its place in the key, from 1 on"),
    text("descend", "DESC: large values come first; else ASC"),
    text("nulls", "FIRST or LAST: where NULLs come"),
];

fn rows(_: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let (known, places) = (Known::of(engine), Places::of(engine));
    known.indexes().try_for_each(|(table, index)| {
        give(&[
            Value::Text(PUBLIC),
            Value::Text(&index.name),
            Value::Text("NORMAL"),
            Value::Text(PUBLIC),
            Value::Text(&table.name),
            Value::Text("TABLE"),
            Value::Text(if index.unique { "UNIQUE" } else { "NONUNIQUE" }),
            text_or_null(places.tablespace(index.segment)),
            Value::Text("VALID"),
            yes_no(index.unique),
            yes_no(false),
            Value::Text("VISIBLE"),
        ])
    })
}

fn column_rows(_: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    for (table, index) in known.indexes() {
        for (number, of) in (1_u64..).zip(&index.columns) {
            let is_descending = of.direction == Direction::Descending;
            let nulls = match of.nulls {
                NullOrdering::First => "FIRST",
                NullOrdering::Last => "LAST",
            };
            give(&[
                Value::Text(PUBLIC),
                Value::Text(PUBLIC),
                Value::Text(&index.name),
                Value::Text(&table.name),
                Value::Text(&table.columns[of.column].name),
                count(number),
                Value::Text(if is_descending { "DESC" } else { "ASC" }),
                Value::Text(nulls),
            ])?;
        }
    }
    Ok(())
}
