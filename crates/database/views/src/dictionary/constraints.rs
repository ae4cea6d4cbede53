//! `user_constraints`, `user_cons_columns` and those of `all_` and `dba_`.
//!
//! NOT NULL is said of a column (`nullable` of `user_tab_columns`), and is no constraint with a
//! name.

use stop::Stop;
use value::Value;

use crate::Engine;
use crate::cells::{count, or_null, text_or_null};
use crate::dictionary::{Whose, of_owners};
use crate::names::PUBLIC;
use crate::objects::{ConstraintKind, Known, delete_rule};
use crate::view::{Give, View, ViewColumn, int, text, without_first};

pub(crate) const VIEWS: &[View] =
    of_owners!("constraints", "one row for each constraint with a name", 100, COLUMNS, 0, rows);

pub(crate) const COLUMN_VIEWS: &[View] = of_owners!(
    "cons_columns",
    "one row for each column of each constraint with a name",
    150,
    COLUMNS_OF_COLUMNS,
    0,
    column_rows
);

const COLUMNS: &[ViewColumn] = &[
    text("owner", "the schema of its table"),
    text("constraint_name", "its name"),
    text("constraint_type", "P primary key, U unique, C check, R foreign key"),
    text("table_name", "its table"),
    text("search_condition", "the condition of a check"),
    text("r_owner", "the schema of the table that a foreign key refers to"),
    text("r_constraint_name", "the primary key or unique that a foreign key refers to"),
    text("delete_rule", "what a delete of a row does to rows that refer to it"),
    text("status", "ENABLED"),
    text("deferrable", "NOT DEFERRABLE"),
    text("deferred", "IMMEDIATE: it is checked by the end of each statement"),
    text("validated", "VALIDATED: all rows keep it"),
    text("index_name", "the index of a primary key or unique"),
];

const COLUMNS_OF_COLUMNS: &[ViewColumn] = &[
    text("owner", "the schema of the table"),
    text("constraint_name", "the constraint"),
    text("table_name", "the table"),
    text("column_name", "the column"),
    int("position", "its place in a key, from 1 on; NULL for a check"),
];

fn rows(_: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    known.constraints().try_for_each(|one| {
        let letter = match one.kind {
            ConstraintKind::PrimaryKey => "P",
            ConstraintKind::Unique => "U",
            ConstraintKind::Check => "C",
            ConstraintKind::ForeignKey => "R",
        };
        let referred = one.foreign.and_then(|key| known.referred(key));
        let referred = referred.map(|(_, index)| index.name.as_str());
        give(&[
            Value::Text(PUBLIC),
            Value::Text(one.name),
            Value::Text(letter),
            Value::Text(&one.table.name),
            text_or_null(one.condition.as_deref()),
            text_or_null(one.foreign.map(|_| PUBLIC)),
            text_or_null(referred),
            text_or_null(one.foreign.map(|key| delete_rule(key.on_delete))),
            Value::Text("ENABLED"),
            Value::Text("NOT DEFERRABLE"),
            Value::Text("IMMEDIATE"),
            Value::Text("VALIDATED"),
            text_or_null(one.index.map(|index| index.name.as_str())),
        ])
    })
}

fn column_rows(_: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    for one in known.constraints() {
        let has_order = one.kind != ConstraintKind::Check;
        for (number, place) in (1_u64..).zip(&one.columns) {
            give(&[
                Value::Text(PUBLIC),
                Value::Text(one.name),
                Value::Text(&one.table.name),
                Value::Text(&one.table.columns[*place].name),
                or_null(has_order.then(|| count(number))),
            ])?;
        }
    }
    Ok(())
}
