//! Constraints and the columns that they are about.

use stop::Stop;
use value::Value;

use crate::Engine;
use crate::cells::{length, or_null, yes_no};
use crate::names::{DATABASE, PUBLIC};
use crate::objects::{Constraint, ConstraintKind, Known, delete_rule};
use crate::view::{Give, View, ViewColumn, int, text};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "table_constraints",
        "one row for each constraint with a name",
        &[
            OF_CATALOG,
            OF_SCHEMA,
            OF_NAME,
            text("table_catalog", "the database of the table"),
            text("table_schema", "the schema of the table"),
            text("table_name", "the table"),
            text("constraint_type", "PRIMARY KEY, UNIQUE, CHECK or FOREIGN KEY"),
            text("is_deferrable", "NO"),
            text("initially_deferred", "NO"),
            text("enforced", "YES"),
        ],
        constraints,
    )
    .expecting(100)
    .of_information_schema(),
    View::new(
        "key_column_usage",
        "one row for each column of each primary key, unique and foreign key",
        &[
            OF_CATALOG,
            OF_SCHEMA,
            OF_NAME,
            text("table_catalog", "the database of the table"),
            text("table_schema", "the schema of the table"),
            text("table_name", "the table"),
            text("column_name", "the column"),
            int("ordinal_position", "its place in the key, from 1 on"),
            int("position_in_unique_constraint", "its place in the key that it refers to"),
        ],
        keys,
    )
    .expecting(150)
    .of_information_schema(),
    View::new(
        "referential_constraints",
        "one row for each foreign key",
        &[
            OF_CATALOG,
            OF_SCHEMA,
            OF_NAME,
            text("unique_constraint_catalog", "the database of the key that it refers to"),
            text("unique_constraint_schema", "the schema of the key that it refers to"),
            text("unique_constraint_name", "the key that it refers to"),
            text("match_option", "NONE: a NULL in it refers to nothing"),
            text("update_rule", "NO ACTION"),
            text("delete_rule", "what a delete of a row does to rows that refer to it"),
        ],
        references,
    )
    .expecting(50)
    .of_information_schema(),
    View::new(
        "check_constraints",
        "one row for each check",
        &[
            OF_CATALOG,
            OF_SCHEMA,
            OF_NAME,
            text("check_clause", "the condition, which is false for no row"),
        ],
        checks,
    )
    .expecting(50)
    .of_information_schema(),
    View::new(
        "constraint_column_usage",
        "one row for each column that a constraint is about; of a foreign key, those it refers to",
        &[
            text("table_catalog", "the database of the table"),
            text("table_schema", "the schema of the table"),
            text("table_name", "the table"),
            text("column_name", "the column"),
            OF_CATALOG,
            OF_SCHEMA,
            OF_NAME,
        ],
        column_usage,
    )
    .expecting(150)
    .of_information_schema(),
];

const OF_CATALOG: ViewColumn = text("constraint_catalog", "the database");
const OF_SCHEMA: ViewColumn = text("constraint_schema", "the schema of the constraint");
const OF_NAME: ViewColumn = text("constraint_name", "the name of the constraint");

const CATALOG: Value<'static> = Value::Text(DATABASE);
const SCHEMA: Value<'static> = Value::Text(PUBLIC);

fn constraints(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    Known::of(engine).constraints().try_for_each(|one| {
        let kind = match one.kind {
            ConstraintKind::PrimaryKey => "PRIMARY KEY",
            ConstraintKind::Unique => "UNIQUE",
            ConstraintKind::Check => "CHECK",
            ConstraintKind::ForeignKey => "FOREIGN KEY",
        };
        give(&[
            CATALOG,
            SCHEMA,
            Value::Text(one.name),
            CATALOG,
            SCHEMA,
            Value::Text(&one.table.name),
            Value::Text(kind),
            yes_no(false),
            yes_no(false),
            yes_no(true),
        ])
    })
}

fn keys(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    for one in known.constraints().filter(|one| one.kind != ConstraintKind::Check) {
        for (number, place) in (1..).zip(&one.columns) {
            give(&[
                CATALOG,
                SCHEMA,
                Value::Text(one.name),
                CATALOG,
                SCHEMA,
                Value::Text(&one.table.name),
                Value::Text(&one.table.columns[*place].name),
                length(number),
                or_null(place_in_referred(&known, &one, number)),
            ])?;
        }
    }
    Ok(())
}

/// The place, in the key that a foreign key refers to, of the column to which the `number`th column
/// of the foreign key refers.
fn place_in_referred(known: &Known, one: &Constraint<'_>, number: usize) -> Option<Value<'static>> {
    let key = one.foreign?;
    let (_, index) = known.referred(key)?;
    let column = key.referenced_columns.get(number - 1)?;
    let place = index.columns.iter().position(|of| of.column == *column)?;
    Some(length(place + 1))
}

fn references(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    for one in known.constraints() {
        let Some(key) = one.foreign else { continue };
        let referred = known.referred(key).map(|(_, index)| Value::Text(&index.name));
        give(&[
            CATALOG,
            SCHEMA,
            Value::Text(one.name),
            CATALOG,
            SCHEMA,
            or_null(referred),
            Value::Text("NONE"),
            Value::Text("NO ACTION"),
            Value::Text(delete_rule(key.on_delete)),
        ])?;
    }
    Ok(())
}

fn checks(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    Known::of(engine).constraints().try_for_each(|one| match &one.condition {
        Some(condition) => give(&[CATALOG, SCHEMA, Value::Text(one.name), Value::Text(condition)]),
        None => Ok(()),
    })
}

fn column_usage(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    for one in known.constraints() {
        let (table, columns) = match one.foreign {
            None => (one.table, &one.columns),
            Some(key) => match known.table(key.references) {
                Some(parent) => (parent, &key.referenced_columns),
                None => continue,
            },
        };
        for place in columns {
            give(&[
                CATALOG,
                SCHEMA,
                Value::Text(&table.name),
                Value::Text(&table.columns[*place].name),
                CATALOG,
                SCHEMA,
                Value::Text(one.name),
            ])?;
        }
    }
    Ok(())
}
