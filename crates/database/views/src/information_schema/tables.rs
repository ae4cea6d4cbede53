//! Schemas, tables, columns, sequences and views.

use stop::Stop;
use value::{Type, Value};

use crate::Engine;
use crate::cells::{count, or_null, text_or_null, yes_no};
use crate::list::all;
use crate::names::{DATABASE, PUBLIC, USER};
use crate::objects::{Identity, Known, columns as columns_of, default_text};
use crate::texts::type_name;
use crate::view::{Give, Schema, View, int, text};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "schemata",
        "one row for each schema",
        &[
            text("catalog_name", "the database"),
            text("schema_name", "its name"),
            text("schema_owner", "its owner"),
            text("default_character_set_catalog", "NULL"),
            text("default_character_set_schema", "NULL"),
            text("default_character_set_name", "UTF8"),
            text("sql_path", "NULL"),
        ],
        schemata,
    )
    .of_information_schema(),
    View::new(
        "tables",
        "one row for each table and view",
        &[
            text("table_catalog", "the database"),
            text("table_schema", "the schema that it is in"),
            text("table_name", "its name"),
            text("table_type", "BASE TABLE, VIEW, or FOREIGN: an external table"),
            text("self_referencing_column_name", "NULL"),
            text("reference_generation", "NULL"),
            text("user_defined_type_catalog", "NULL"),
            text("user_defined_type_schema", "NULL"),
            text("user_defined_type_name", "NULL"),
            text("is_insertable_into", "YES: rows can be inserted; else NO"),
            text("is_typed", "NO"),
            text("commit_action", "NULL"),
        ],
        tables,
    )
    .expecting(200)
    .of_information_schema(),
    View::new(
        "columns",
        "one row for each column of each table and view",
        &[
            text("table_catalog", "the database"),
            text("table_schema", "the schema of the table"),
            text("table_name", "the table"),
            text("column_name", "its name"),
            int("ordinal_position", "its place in the table, from 1 on"),
            text("column_default", "its DEFAULT"),
            text("is_nullable", "NO: NULL is refused; else YES"),
            text("data_type", "its type, without length and precision"),
            int("character_maximum_length", "the most characters"),
            int("character_octet_length", "the most bytes of a text"),
            int("numeric_precision", "the digits, or the bits, of a number"),
            int("numeric_precision_radix", "10: digits; 2: bits"),
            int("numeric_scale", "the digits behind the point"),
            int("datetime_precision", "the digits of a fraction of a second"),
            text("udt_catalog", "the database of its type"),
            text("udt_schema", "the schema of its type"),
            text("udt_name", "the name of its type in pg_type"),
            text("is_identity", "YES: it takes numbers of a sequence; else NO"),
            text("identity_generation", "ALWAYS, or BY DEFAULT"),
            text("is_generated", "NEVER"),
            text("generation_expression", "NULL"),
            text("is_updatable", "YES: its values can be changed; else NO"),
        ],
        columns,
    )
    .expecting(2_000)
    .of_information_schema(),
    View::new(
        "sequences",
        "one row for each sequence",
        &[
            text("sequence_catalog", "the database"),
            text("sequence_schema", "the schema that it is in"),
            text("sequence_name", "its name"),
            text("data_type", "bigint"),
            int("numeric_precision", "64 bits"),
            int("numeric_precision_radix", "2"),
            int("numeric_scale", "0"),
            text("start_value", "the first value"),
            text("minimum_value", "the least value"),
            text("maximum_value", "the greatest value"),
            text("increment", "the difference from one value to the next"),
            text("cycle_option", "YES: it begins again behind the last value; else NO"),
        ],
        sequences,
    )
    .of_information_schema(),
    View::new(
        "views",
        "one row for each view; those of the instance have no text",
        &[
            text("table_catalog", "the database"),
            text("table_schema", "the schema that it is in"),
            text("table_name", "its name"),
            text("view_definition", "its query"),
            text("check_option", "NONE"),
            text("is_updatable", "NO"),
            text("is_insertable_into", "NO"),
        ],
        views,
    )
    .expecting(100)
    .of_information_schema(),
];

const CATALOG: Value<'static> = Value::Text(DATABASE);

fn schemata(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let system = [Schema::PgCatalog.name(), Schema::InformationSchema.name()];
    system.into_iter().chain([PUBLIC]).try_for_each(|name| {
        let (owner, set) = (Value::Text(USER), Value::Text("UTF8"));
        give(&[CATALOG, Value::Text(name), owner, Value::Null, Value::Null, set, Value::Null])
    })
}

fn tables(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let mut table = |schema: &str, name: &str, kind: &str| {
        give(&[
            CATALOG,
            Value::Text(schema),
            Value::Text(name),
            Value::Text(kind),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            yes_no(kind == "BASE TABLE"),
            yes_no(false),
            Value::Null,
        ])
    };
    let known = Known::of(engine);
    known.tables.iter().try_for_each(|one| table(PUBLIC, &one.name, "BASE TABLE"))?;
    known.views.iter().try_for_each(|one| table(PUBLIC, &one.name, "VIEW"))?;
    known.externals.iter().try_for_each(|one| table(PUBLIC, &one.name, "FOREIGN"))?;
    all().try_for_each(|view| table(view.schema.name(), view.name, "VIEW"))
}

/// A column of a table or of a view.
struct Column<'a> {
    schema: &'a str,
    table: &'a str,
    name: &'a str,
    number: u64,
    default: Option<String>,
    not_null: bool,
    kind: Type,
    identity: Option<Identity>,
    is_of_table: bool,
}

fn columns(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    for table in &known.tables {
        for (number, _, column) in columns_of(table) {
            let one = Column {
                schema: PUBLIC,
                table: &table.name,
                name: &column.name,
                number,
                default: default_text(column),
                not_null: column.not_null,
                kind: column.kind,
                identity: Identity::of(column),
                is_of_table: true,
            };
            one.give(give)?;
        }
    }
    for other in known.others(engine) {
        for (number, column) in (1..).zip(&other.columns) {
            let (kind, name) = (column.kind, column.name);
            Column { number, ..Column::plain(PUBLIC, other.name, name, kind) }.give(give)?;
        }
    }
    for view in all() {
        for (number, column) in (1..).zip(view.columns) {
            let (kind, name) = (column.kind, column.name);
            let schema = view.schema.name();
            Column { number, ..Column::plain(schema, view.name, name, kind) }.give(give)?;
        }
    }
    Ok(())
}

/// Precision, radix and scale of a number.
fn numeric(kind: Type) -> [Value<'static>; 3] {
    let binary = |bits: i64, scale| [Value::Int(bits), Value::Int(2), scale];
    match kind {
        Type::SmallInt => binary(16, Value::Int(0)),
        Type::Integer => binary(32, Value::Int(0)),
        Type::BigInt => binary(64, Value::Int(0)),
        Type::Double => binary(53, Value::Null),
        Type::Number(Some(digits)) => {
            let (precision, scale) = (digits.precision().into(), digits.scale().into());
            [Value::Int(precision), Value::Int(10), Value::Int(scale)]
        }
        Type::Number(None) => [Value::Null, Value::Int(10), Value::Null],
        _ => [Value::Null; 3],
    }
}

/// The name of a type in `pg_type`.
pub(crate) fn internal_name(kind: Type) -> &'static str {
    match kind {
        Type::SmallInt => "int2",
        Type::Integer => "int4",
        Type::BigInt => "int8",
        Type::Number(_) => "numeric",
        Type::Double => "float8",
        Type::Varchar(_) => "varchar",
        Type::Char(_) => "bpchar",
        Type::Text => "text",
        Type::Bytea => "bytea",
        Type::Boolean => "bool",
        Type::Date => "date",
        Type::Timestamp => "timestamp",
    }
}

impl<'a> Column<'a> {
    /// A column of what isn't a table.
    fn plain(schema: &'a str, table: &'a str, name: &'a str, kind: Type) -> Column<'a> {
        Column {
            schema,
            table,
            name,
            number: 1,
            default: None,
            not_null: false,
            kind,
            identity: None,
            is_of_table: false,
        }
    }

    fn give(&self, give: &mut Give<'_>) -> Result<(), Stop> {
        let (chars, bytes) = match self.kind {
            Type::Varchar(chars) | Type::Char(chars) => {
                let chars = u64::from(chars.get());
                (Some(chars), Some(4 * chars))
            }
            Type::Text => (None, Some(value::BYTES_MAX as u64)),
            _ => (None, None),
        };
        let [precision, radix, scale] = numeric(self.kind);
        let fraction = match self.kind {
            Type::Timestamp => Value::Int(6),
            Type::Date => Value::Int(0),
            _ => Value::Null,
        };
        let generation = self.identity.map(|identity| match identity {
            Identity::Always => "ALWAYS",
            Identity::ByDefault => "BY DEFAULT",
        });
        give(&[
            CATALOG,
            Value::Text(self.schema),
            Value::Text(self.table),
            Value::Text(self.name),
            count(self.number),
            text_or_null(self.default.as_deref()),
            yes_no(!self.not_null),
            Value::Text(&type_name(self.kind)),
            or_null(chars.map(count)),
            or_null(bytes.map(count)),
            precision,
            radix,
            scale,
            fraction,
            CATALOG,
            Value::Text(Schema::PgCatalog.name()),
            Value::Text(internal_name(self.kind)),
            yes_no(self.identity.is_some()),
            text_or_null(generation),
            Value::Text("NEVER"),
            Value::Null,
            yes_no(self.is_of_table),
        ])
    }
}

fn sequences(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    Known::of(engine).sequences.iter().try_for_each(|one| {
        let of = &one.definition;
        let [start, min, max, increment] =
            [of.start, of.min, of.max, of.increment].map(|number| number.to_string());
        give(&[
            CATALOG,
            Value::Text(PUBLIC),
            Value::Text(&of.name),
            Value::Text("bigint"),
            Value::Int(64),
            Value::Int(2),
            Value::Int(0),
            Value::Text(&start),
            Value::Text(&min),
            Value::Text(&max),
            Value::Text(&increment),
            yes_no(of.cycles),
        ])
    })
}

fn views(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    for view in engine.catalog.views(engine.session) {
        let (name, query, no) = (Value::Text(&view.name), Value::Text(&view.text), yes_no(false));
        give(&[CATALOG, Value::Text(PUBLIC), name, query, Value::Text("NONE"), no, no])?;
    }
    all().try_for_each(|view| {
        let (schema, name) = (Value::Text(view.schema.name()), Value::Text(view.name));
        let no = yes_no(false);
        give(&[CATALOG, schema, name, Value::Null, Value::Text("NONE"), no, no])
    })
}
