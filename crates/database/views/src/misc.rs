//! `dual`, the version, and the views' own list.

use stop::Stop;
use value::Value;

use crate::Engine;
use crate::cells::{count, length};
use crate::list::all;
use crate::view::{Give, View, int, text};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "dual",
        "one row with one column, for SELECTs that need no table",
        &[text("dummy", "the letter X")],
        |_, give| give(&[Value::Text("X")]),
    )
    .expecting(1),
    View::new(
        "v$version",
        "one row for the program's version",
        &[
            text("banner", "the program's name and version"),
            text("banner_full", "the same, with the build's target"),
            int("con_id", "0: there are no containers"),
        ],
        version,
    )
    .expecting(1),
    View::new(
        "dict",
        "one row for each view into the instance and the dictionary",
        &[
            text("table_name", "the name of the view"),
            text("comments", "what it has a row for"),
            text("table_schema", "the schema that it is in"),
        ],
        dict,
    )
    .expecting(100),
    View::new(
        "dict_columns",
        "one row for each column of each view into the instance and the dictionary",
        &[
            text("table_name", "the name of the view"),
            text("column_name", "the name of the column"),
            text("comments", "what it says"),
            text("data_type", "the type of its values"),
            int("column_id", "its place in the view, from 1 on"),
            text("table_schema", "the schema that the view is in"),
        ],
        dict_columns,
    )
    .expecting(1_000),
];

/// The version of the program.
const VERSION: &str = concat!("Forebay ", env!("CARGO_PKG_VERSION"));

fn version(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let full = format!("{VERSION} on {}-{}", std::env::consts::ARCH, std::env::consts::OS);
    give(&[Value::Text(VERSION), Value::Text(&full), count(0_u32)])
}

fn dict(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    all().try_for_each(|view| {
        give(&[Value::Text(view.name), Value::Text(view.meaning), Value::Text(view.schema.name())])
    })
}

fn dict_columns(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let columns = all().flat_map(|view| {
        (1..).zip(view.columns).map(move |(number, column)| (view, number, column))
    });
    for (view, number, column) in columns {
        give(&[
            Value::Text(view.name),
            Value::Text(column.name),
            Value::Text(column.meaning),
            Value::Text(&column.kind.to_string()),
            length(number),
            Value::Text(view.schema.name()),
        ])?;
    }
    Ok(())
}
