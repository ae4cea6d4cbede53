//! The tables that loads change, what their rows hold, and how a row is written and read.
//!
//! ```text
//!   item ◀── SET NULL ── item      wide ◀── NO ACTION ── other (identity, other blocks)
//!     ▲                    scratch (is truncated)     mark: each transaction's number, a ticket
//!     └──── CASCADE ────── wide
//! ```
//!
//! A row has a version, the number of the transaction that wrote it, the row that it refers to, and
//! columns that follow from these; so a row that is half one thing and half another is seen. Each
//! table has a primary key, a unique key of two columns of which one may be NULL, and other
//! indexes; keys change with most updates. Rows grow and shrink, and some are longer than a block.

use database::{
    ColumnSpec, Condition, Connection, IndexSpec, OnDelete, Row, SequenceOptions, TableSpec, Type,
    Value,
};
use relation::{Comparison, Operand};
use stop::Stop;

use crate::Content;
use crate::journal::Numbers;

/// A table that loads change.
pub(crate) struct TableShape {
    pub(crate) name: &'static str,
    pub(crate) tablespace: &'static str,
    /// Bytes of a row's notes, in the middle.
    pub(crate) notes: usize,
    /// The table that it refers to, and what happens when a row there goes.
    pub(crate) refers: Option<(usize, OnParent)>,
    /// Its keys are given by an identity column.
    pub(crate) is_identity: bool,
}

/// What becomes of a row when the row that it refers to is deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnParent {
    /// CASCADE.
    Goes,
    /// SET NULL.
    Forgets,
    /// NO ACTION: the delete is refused.
    Keeps,
}

impl OnParent {
    /// In a tally.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            OnParent::Goes => CASCADED,
            OnParent::Forgets => SET_NULL,
            OnParent::Keeps => "a row left behind",
        }
    }

    const fn on_delete(self) -> OnDelete {
        match self {
            OnParent::Goes => OnDelete::Cascade,
            OnParent::Forgets => OnDelete::SetNull,
            OnParent::Keeps => OnDelete::NoAction,
        }
    }
}

pub(crate) const CASCADED: &str = "a row deleted by a cascade";
pub(crate) const SET_NULL: &str = "a reference set to NULL";

/// The tablespace that each database has.
pub(crate) const SYSTEM: &str = "system";
/// The one of another block size.
pub(crate) const USERS: &str = "users";

pub(crate) const ITEM: usize = 0;
pub(crate) const WIDE: usize = 1;
pub(crate) const SCRATCH: usize = 3;

/// The tables. Rows of the second are so long that a transaction's undo doesn't fit into one block;
/// the third lies in blocks of another size, in two files; the fourth is truncated.
pub(crate) const TABLES: [TableShape; 4] = [
    TableShape {
        name: "item",
        tablespace: SYSTEM,
        notes: 60,
        refers: Some((ITEM, OnParent::Forgets)),
        is_identity: false,
    },
    TableShape {
        name: "wide",
        tablespace: SYSTEM,
        notes: 400,
        refers: Some((ITEM, OnParent::Goes)),
        is_identity: false,
    },
    TableShape {
        name: "other",
        tablespace: USERS,
        notes: 160,
        refers: Some((WIDE, OnParent::Keeps)),
        is_identity: true,
    },
    TableShape { name: "scratch", tablespace: USERS, notes: 40, refers: None, is_identity: false },
];

/// The table of transactions.
pub(crate) const MARK: &str = "mark";

/// Tables that refer to this one, and what becomes of their rows.
pub(crate) fn children(table: usize) -> impl Iterator<Item = (usize, OnParent)> {
    let refers = move |(number, shape): (usize, &TableShape)| match shape.refers {
        Some((parent, on_parent)) if parent == table => Some((number, on_parent)),
        _ => None,
    };
    TABLES.iter().enumerate().filter_map(refers)
}

pub(crate) const ID: usize = 0;
pub(crate) const VERSION: usize = 1;
pub(crate) const WRITER: usize = 2;
pub(crate) const PARENT: usize = 3;
pub(crate) const KIND: usize = 4;
pub(crate) const CODE: usize = 5;
pub(crate) const NOTES: usize = 6;

/// The columns that each table has from the beginning.
pub(crate) const COLUMNS: [&str; 7] =
    ["id", "version", "writer", "parent", "kind", "code", "notes"];

/// Kinds and codes come again with versions that differ by this.
pub(crate) const SAME_KEYS: i64 = KINDS * CODES;
const KINDS: i64 = 11;
const CODES: i64 = 7;

/// The columns of a row that follow from its content.
pub(crate) struct Derived {
    kind: Option<i64>,
    code: String,
    notes: String,
}

impl Derived {
    pub(crate) fn of(table: usize, content: Content) -> Derived {
        let Content { version, writer, .. } = content;
        let kind = version.rem_euclid(KINDS);
        let middle = TABLES[table].notes;
        let length = match version.rem_euclid(13) {
            5 => 12 * middle,
            1 | 9 => 3 * middle,
            2 | 7 | 10 => middle / 4,
            _ => middle,
        };
        let letter = b'a' + (writer as i64 * 31 + version * 7).rem_euclid(26) as u8;
        Derived {
            kind: (kind != 0).then_some(kind),
            code: code_of(version),
            notes: String::from(letter as char).repeat(length),
        }
    }

    /// Values of the columns, in order.
    pub(crate) fn values(&self, id: i64, content: Content) -> [Value<'_>; 7] {
        let number = |number: Option<i64>| number.map_or(Value::Null, Value::Int);
        [
            Value::Int(id),
            Value::Int(content.version),
            Value::Int(content.writer as i64),
            number(content.parent),
            number(self.kind),
            Value::Text(&self.code),
            Value::Text(&self.notes),
        ]
    }
}

/// The unique key of a row of this version; none if a column of it is NULL.
pub(crate) fn derived_key(version: i64) -> Option<(i64, i64)> {
    let key = (version.rem_euclid(KINDS), version.rem_euclid(CODES));
    (key.0 != 0).then_some(key)
}

pub(crate) fn code_of(version: i64) -> String {
    let code = version.rem_euclid(CODES);
    format!("{code}{}", "-code".repeat(1 + code as usize))
}

/// A row's key and content, if its columns are those that follow from it.
pub(crate) fn read(table: usize, row: &Row<'_>) -> Result<(i64, Content), String> {
    let mut values = [Value::Null; COLUMNS.len()];
    for (column, value) in values.iter_mut().enumerate() {
        *value = row.get(column).map_err(|damaged| damaged.to_string())?;
    }
    of_values(table, &values)
}

/// The key and content of a row with these values, likewise.
pub(crate) fn of_values(
    table: usize,
    values: &[Value<'_>; COLUMNS.len()],
) -> Result<(i64, Content), String> {
    let number = |column: usize| match values[column] {
        Value::Int(number) => Some(number),
        _ => None,
    };
    let needed = |column| number(column).ok_or_else(|| format!("column {column} is NULL"));
    let (id, version, writer) = (needed(ID)?, needed(VERSION)?, needed(WRITER)?);
    let content = Content { version, writer: writer as usize, parent: number(PARENT) };
    let derived = Derived::of(table, content);
    let is_text =
        |column: usize, text: &str| matches!(values[column], Value::Text(is) if is == text);
    let is_whole = number(KIND) == derived.kind
        && is_text(CODE, &derived.code)
        && is_text(NOTES, &derived.notes);
    match is_whole {
        true => Ok((id, content)),
        false => Err(format!("row {id}: version {version} of transaction {writer} is torn")),
    }
}

/// What each table is made by.
fn spec(shape: &TableShape) -> TableSpec {
    let id = ColumnSpec::new(COLUMNS[ID], Type::BigInt);
    let id = if shape.is_identity { id.identity(false) } else { id };
    let code = Type::varchar(60).expect("so many characters a VARCHAR can have");
    let is_positive = Condition::Compare(
        Operand::Column(VERSION),
        Comparison::Greater,
        Operand::Constant(Value::Int(0).to_owned()),
    );
    let spec = TableSpec::new(shape.name)
        .in_tablespace(shape.tablespace)
        .column(id)
        .column(ColumnSpec::new(COLUMNS[VERSION], Type::BigInt).not_null())
        .column(ColumnSpec::new(COLUMNS[WRITER], Type::BigInt).not_null())
        .column(ColumnSpec::new(COLUMNS[PARENT], Type::BigInt))
        .column(ColumnSpec::new(COLUMNS[KIND], Type::Integer))
        .column(ColumnSpec::new(COLUMNS[CODE], code).not_null())
        .column(ColumnSpec::new(COLUMNS[NOTES], Type::Text))
        .primary_key([COLUMNS[ID]])
        .unique([COLUMNS[KIND], COLUMNS[CODE]])
        .check(is_positive);
    match shape.refers {
        None => spec,
        Some((parent, on_parent)) => {
            spec.foreign_key([COLUMNS[PARENT]], TABLES[parent].name, on_parent.on_delete())
        }
    }
}

/// The index by which ranges of a table are changed.
pub(crate) fn by_code(table: usize) -> String {
    format!("{}_by_code", TABLES[table].name)
}

/// Makes the tables, their indexes and the sequence.
pub(crate) fn make(connection: &mut Connection<'_>) -> Result<(), Stop> {
    for (number, shape) in TABLES.iter().enumerate() {
        connection.create_table(&spec(shape))?;
        let columns = [COLUMNS[CODE], COLUMNS[VERSION]];
        let index = IndexSpec::new(&by_code(number), shape.name, columns).descending(1);
        connection.create_index(&index)?;
    }
    let mark = TableSpec::new(MARK)
        .column(ColumnSpec::new("number", Type::BigInt).not_null())
        .column(ColumnSpec::new("ticket", Type::BigInt))
        .primary_key(["number"])
        .unique(["ticket"]);
    connection.create_table(&mark)?;
    let by_fives = SequenceOptions { cache: Some(5), ..SequenceOptions::default() };
    connection.create_sequence(Numbers::Ticket.name(), &by_fives)
}
