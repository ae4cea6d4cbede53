//! `user_tab_columns`, `all_tab_columns`, `dba_tab_columns`.

use stop::Stop;
use value::{Digits, Type, Value};

use crate::Engine;
use crate::cells::{count, or_null, text_or_null, y_n, yes_no};
use crate::dictionary::{Whose, of_owners};
use crate::names::PUBLIC;
use crate::objects::{Identity, Known, OtherColumn, columns, default_text};
use crate::view::{Give, View, ViewColumn, int, text, without_first};

pub(crate) const VIEWS: &[View] = of_owners!(
    "tab_columns",
    "one row for each column of each table and view of users'",
    500,
    COLUMNS,
    1,
    rows
);

const COLUMNS: &[ViewColumn] = &[
    text("owner", "the schema of the table"),
    text("table_name", "the table"),
    text("column_name", "its name"),
    text("data_type", "its type, without length and precision"),
    int("data_length", "the most bytes of a value; NULL if it has no fixed bound"),
    int("data_precision", "the digits of a NUMBER(p,s)"),
    int("data_scale", "the digits behind the point of a NUMBER(p,s)"),
    text("nullable", "N: NULL is refused; else Y"),
    int("column_id", "its place in the table, from 1 on"),
    text("data_default", "its DEFAULT"),
    int("char_length", "the most characters of a VARCHAR or CHAR"),
    text("identity_column", "YES: it takes numbers of a sequence; else NO"),
];

/// The most bytes of a character.
const CHAR_BYTES: u64 = 4;

fn rows(_: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    for other in known.others(engine) {
        for (number, column) in (1_u64..).zip(&other.columns) {
            other_row(other.name, number, column, give)?;
        }
    }
    for table in &known.tables {
        for (number, _, column) in columns(table) {
            let kind = column.kind.to_string();
            let (digits, chars) = sizes(column.kind);
            give(&[
                Value::Text(PUBLIC),
                Value::Text(&table.name),
                Value::Text(&column.name),
                Value::Text(kind.split('(').next().unwrap_or_default()),
                or_null(bytes_max(column.kind).map(count)),
                or_null(digits.map(|digits| count(digits.precision()))),
                or_null(digits.map(|digits| Value::Int(digits.scale().into()))),
                y_n(!column.not_null),
                count(number),
                text_or_null(default_text(column).as_deref()),
                or_null(chars.map(count)),
                yes_no(Identity::of(column).is_some()),
            ])?;
        }
    }
    Ok(())
}

/// A column of a view or of an external table.
fn other_row(
    table: &str,
    number: u64,
    column: &OtherColumn<'_>,
    give: &mut Give<'_>,
) -> Result<(), Stop> {
    let kind = column.kind.to_string();
    let (digits, chars) = sizes(column.kind);
    give(&[
        Value::Text(PUBLIC),
        Value::Text(table),
        Value::Text(column.name),
        Value::Text(kind.split('(').next().unwrap_or_default()),
        or_null(bytes_max(column.kind).map(count)),
        or_null(digits.map(|digits| count(digits.precision()))),
        or_null(digits.map(|digits| Value::Int(digits.scale().into()))),
        y_n(true),
        count(number),
        Value::Null,
        or_null(chars.map(count)),
        yes_no(false),
    ])
}

/// The digits of a NUMBER, and the characters of a text of bounded length.
fn sizes(kind: Type) -> (Option<Digits>, Option<u64>) {
    match kind {
        Type::Number(digits) => (digits, None),
        Type::Varchar(chars) | Type::Char(chars) => (None, Some(u64::from(chars.get()))),
        _ => (None, None),
    }
}

/// The most bytes of a value of this type.
fn bytes_max(kind: Type) -> Option<u64> {
    Some(match kind {
        Type::SmallInt => 2,
        Type::Integer => 4,
        Type::BigInt | Type::Double | Type::Timestamp => 8,
        Type::Date => 4,
        Type::Boolean => 1,
        Type::Varchar(chars) | Type::Char(chars) => CHAR_BYTES * u64::from(chars.get()),
        // As in Oracle: 38 digits, two in a byte, with sign and exponent.
        Type::Number(_) => 22,
        Type::Text | Type::Bytea => return None,
    })
}
