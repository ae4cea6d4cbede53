//! Tables, indexes, sequences and views, and their columns: `pg_class`, `pg_attribute`,
//! `pg_attrdef`.

use catalog::ObjectId;
use relation::{ColumnDefinition, TableDefinition};
use stop::Stop;
use value::{Type, Value};

use crate::Engine;
use crate::cells::{count, length};
use crate::list::all;
use crate::objects::{Identity, Known, Places, default_text};
use crate::oids;
use crate::pg::types::fixed_length;
use crate::view::{Give, View, double, int, text, truth};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "pg_class",
        "one row for each table, index, sequence and view",
        &[
            int("oid", "its oid"),
            text("relname", "its name"),
            int("relnamespace", "its schema"),
            int("reltype", "0: rows have no type"),
            int("reloftype", "0: it has no declared type"),
            int("relowner", "its owner"),
            int("relam", "its access method; 0 for sequences and views"),
            int("relfilenode", "the segment that it has now"),
            int("reltablespace", "its tablespace; 0 for the system tablespace"),
            int("relpages", "its blocks when ANALYZE looked last; 0 if it never did"),
            double("reltuples", "its rows when ANALYZE looked last; -1 if it never did"),
            int("relallvisible", "0: none"),
            int("reltoastrelid", "0: long values are in the table itself"),
            truth("relhasindex", "whether it has an index"),
            truth("relisshared", "false"),
            text("relpersistence", "p: it is permanent"),
            text("relkind", "r table, i index, S sequence, v view, f external table"),
            int("relnatts", "its columns, dropped ones included"),
            int("relchecks", "its checks"),
            truth("relhasrules", "false"),
            truth("relhastriggers", "whether it has foreign keys or is referred to"),
            truth("relhassubclass", "false"),
            truth("relrowsecurity", "false"),
            truth("relforcerowsecurity", "false"),
            truth("relispopulated", "true"),
            text("relreplident", "d: by its primary key"),
            truth("relispartition", "false"),
            text("relacl", "NULL"),
            text("reloptions", "NULL"),
            text("relpartbound", "NULL"),
        ],
        classes,
    )
    .expecting(300),
    View::new(
        "pg_attribute",
        "one row for each column of each table, index and view, dropped ones included",
        &[
            int("attrelid", "the table"),
            text("attname", "its name"),
            int("atttypid", "its type; 0 if it was dropped"),
            int("attstattarget", "-1: the usual statistics"),
            int("attlen", "the bytes of its type; -1 if they vary"),
            int("attnum", "its place, from 1 on, which it keeps"),
            int("attndims", "0: it is no array"),
            int("atttypmod", "the length, or precision and scale; -1 without"),
            truth("attbyval", "whether its type is short"),
            text("attstorage", "p plain, x extended"),
            truth("attnotnull", "whether NULL is refused"),
            truth("atthasdef", "whether it has a DEFAULT"),
            truth("atthasmissing", "whether rows from before it was added have a value"),
            text("attidentity", "a ALWAYS, d BY DEFAULT; empty without"),
            text("attgenerated", "empty: it isn't computed"),
            truth("attisdropped", "whether it was dropped"),
            truth("attislocal", "true"),
            int("attinhcount", "0: it isn't inherited"),
            int("attcollation", "the collation of a text; 0 without"),
            text("attacl", "NULL"),
            text("attoptions", "NULL"),
        ],
        attributes,
    )
    .expecting(3_000),
    View::new(
        "pg_attrdef",
        "one row for each DEFAULT",
        &[
            int("oid", "its oid"),
            int("adrelid", "the table"),
            int("adnum", "the column"),
            text("adbin", "the text of the expression"),
        ],
        defaults,
    )
    .expecting(100),
];

/// A row of `pg_class`.
struct Class<'a> {
    oid: i64,
    name: &'a str,
    schema: i64,
    method: i64,
    segment: u32,
    tablespace: u16,
    has_index: bool,
    kind: &'static str,
    columns: usize,
    checks: usize,
    refers: bool,
    pages: u64,
    rows: f64,
}

impl Class<'_> {
    fn give(&self, give: &mut Give<'_>) -> Result<(), Stop> {
        let (no, zero) = (Value::Boolean(false), Value::Int(0));
        give(&[
            Value::Int(self.oid),
            Value::Text(self.name),
            Value::Int(self.schema),
            zero,
            zero,
            Value::Int(oids::USER),
            Value::Int(self.method),
            count(self.segment),
            Value::Int(oids::of_tablespace_or_default(self.tablespace)),
            count(self.pages),
            Value::Double(self.rows),
            zero,
            zero,
            Value::Boolean(self.has_index),
            no,
            Value::Text("p"),
            Value::Text(self.kind),
            length(self.columns),
            length(self.checks),
            no,
            Value::Boolean(self.refers),
            no,
            no,
            no,
            Value::Boolean(true),
            Value::Text("d"),
            no,
            Value::Null,
            Value::Null,
            Value::Null,
        ])
    }
}

fn classes(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let (known, places) = (Known::of(engine), Places::of(engine));
    let tablespace = |segment| places.tablespace_number(segment).map_or(0, |number| number.0);
    for table in &known.tables {
        let statistics = engine.catalog.statistics(table.object, engine.session);
        let of = Class {
            oid: oids::of_object(table.object),
            name: &table.name,
            schema: oids::PUBLIC,
            method: oids::HEAP,
            segment: table.segment.get(),
            tablespace: tablespace(table.segment),
            has_index: !table.indexes.is_empty(),
            kind: "r",
            columns: table.columns.len(),
            checks: table.checks.len() + table.expressions.len(),
            refers: !table.foreign_keys.is_empty() || !table.referenced_by.is_empty(),
            pages: statistics.as_deref().map_or(0, |of| of.blocks),
            rows: statistics.as_deref().map_or(-1.0, |of| of.rows as f64),
        };
        of.give(give)?;
    }
    for (_, index) in known.indexes() {
        let of = Class {
            oid: oids::of_object(index.object),
            name: &index.name,
            schema: oids::PUBLIC,
            method: oids::BTREE,
            segment: index.segment.get(),
            tablespace: tablespace(index.segment),
            has_index: false,
            kind: "i",
            columns: index.columns.len(),
            checks: 0,
            refers: false,
            pages: 0,
            rows: -1.0,
        };
        of.give(give)?;
    }
    without_segments(&known, give)
}

/// Sequences, users' views and external tables, and the views of this room.
fn without_segments(known: &Known, give: &mut Give<'_>) -> Result<(), Stop> {
    let plain = Class {
        oid: 0,
        name: "",
        schema: oids::PUBLIC,
        method: 0,
        segment: 0,
        tablespace: 0,
        has_index: false,
        kind: "S",
        columns: 0,
        checks: 0,
        refers: false,
        pages: 0,
        rows: -1.0,
    };
    for view in &known.views {
        let (oid, columns) = (oids::of_id(ObjectId::View(view.object)), view.columns.len());
        Class { oid, name: &view.name, kind: "v", columns, ..plain }.give(give)?;
    }
    for external in &known.externals {
        let oid = oids::of_id(ObjectId::External(external.object));
        let (name, columns) = (external.name.as_str(), external.columns.len());
        Class { oid, name, kind: "f", columns, ..plain }.give(give)?;
    }
    for sequence in &known.sequences {
        let oid = oids::of_sequence(sequence.definition.object);
        Class { oid, name: &sequence.definition.name, ..plain }.give(give)?;
    }
    for view in all() {
        let (oid, schema) = (oids::of_view(view), oids::of_schema(view.schema));
        let (name, columns) = (view.name, view.columns.len());
        Class { oid, name, schema, kind: "v", columns, ..plain }.give(give)?;
    }
    Ok(())
}

/// A row of `pg_attribute`.
struct Attribute<'a> {
    of: i64,
    name: &'a str,
    /// None if it was dropped.
    kind: Option<Type>,
    number: usize,
    not_null: bool,
    has_default: bool,
    has_missing: bool,
    identity: Option<Identity>,
}

impl<'a> Attribute<'a> {
    /// A column without anything special.
    fn plain(of: i64, name: &'a str, kind: Type, number: usize) -> Attribute<'a> {
        Attribute {
            of,
            name,
            kind: Some(kind),
            number,
            not_null: false,
            has_default: false,
            has_missing: false,
            identity: None,
        }
    }

    /// The column of a table at this place.
    fn of_table(of: i64, name: &'a str, place: usize, column: &ColumnDefinition) -> Attribute<'a> {
        Attribute {
            kind: (!column.is_dropped()).then_some(column.kind),
            not_null: column.not_null,
            has_default: default_text(column).is_some(),
            has_missing: !column.missing.get().is_null(),
            identity: Identity::of(column),
            ..Attribute::plain(of, name, column.kind, place + 1)
        }
    }

    fn give(&self, give: &mut Give<'_>) -> Result<(), Stop> {
        let bytes = self.kind.and_then(fixed_length);
        let is_short = bytes.is_some();
        let identity = match self.identity {
            Some(Identity::Always) => "a",
            Some(Identity::ByDefault) => "d",
            None => "",
        };
        let is_text = self.kind.is_some_and(Type::is_text);
        give(&[
            Value::Int(self.of),
            Value::Text(self.name),
            Value::Int(self.kind.map_or(0, oids::of_type)),
            Value::Int(-1),
            Value::Int(bytes.unwrap_or(-1)),
            length(self.number),
            Value::Int(0),
            Value::Int(self.kind.map_or(-1, oids::modifier)),
            Value::Boolean(is_short),
            Value::Text(if is_short { "p" } else { "x" }),
            Value::Boolean(self.not_null),
            Value::Boolean(self.has_default),
            Value::Boolean(self.has_missing),
            Value::Text(identity),
            Value::Text(""),
            Value::Boolean(self.kind.is_none()),
            Value::Boolean(true),
            Value::Int(0),
            Value::Int(if is_text { oids::COLLATION_C } else { 0 }),
            Value::Null,
            Value::Null,
        ])
    }
}

/// The columns of a table; a dropped one is called as PostgreSQL calls it.
fn of_table(table: &TableDefinition, give: &mut Give<'_>) -> Result<(), Stop> {
    let of = oids::of_object(table.object);
    for (place, column) in table.columns.iter().enumerate() {
        let dropped = format!("........pg.dropped.{}........", place + 1);
        let name = if column.is_dropped() { &dropped } else { &column.name };
        Attribute::of_table(of, name, place, column).give(give)?;
    }
    Ok(())
}

fn attributes(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    known.tables.iter().try_for_each(|table| of_table(table, give))?;
    for (table, index) in known.indexes() {
        let oid = oids::of_object(index.object);
        for (number, of) in (1..).zip(&index.columns) {
            let column = &table.columns[of.column];
            Attribute::plain(oid, &column.name, column.kind, number).give(give)?;
        }
    }
    for other in known.others(engine) {
        let oid = oids::of_id(other.id);
        for (number, column) in (1..).zip(&other.columns) {
            Attribute::plain(oid, column.name, column.kind, number).give(give)?;
        }
    }
    for view in all() {
        let oid = oids::of_view(view);
        for (number, column) in (1..).zip(view.columns) {
            Attribute::plain(oid, column.name, column.kind, number).give(give)?;
        }
    }
    Ok(())
}

fn defaults(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    for table in &Known::of(engine).tables {
        for (place, column) in table.columns.iter().enumerate() {
            let Some(said) = default_text(column) else { continue };
            give(&[
                Value::Int(oids::of_default(table.object, place)),
                Value::Int(oids::of_object(table.object)),
                length(place + 1),
                Value::Text(&said),
            ])?;
        }
    }
    Ok(())
}
