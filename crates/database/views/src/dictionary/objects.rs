//! Sequences, views and all objects: `user_`, `all_` and `dba_`.

use catalog::ObjectId;
use stop::Stop;
use value::Value;

use crate::Engine;
use crate::cells::{count, length, or_null, text_or_null, y_n};
use crate::dictionary::{Whose, of_owners};
use crate::list::all;
use crate::names::PUBLIC;
use crate::objects::Known;
use crate::oids;
use crate::view::{Give, View, ViewColumn, int, text, without_first};

pub(crate) const SEQUENCES: &[View] = of_owners!(
    "sequences",
    "one row for each sequence, those of identity columns included",
    20,
    SEQUENCE_COLUMNS,
    1,
    sequences
);

pub(crate) const VIEWS: &[View] = of_owners!(
    "views",
    "one row for each view; those of the instance have no text",
    100,
    VIEW_COLUMNS,
    1,
    views
);

pub(crate) const OBJECTS: &[View] =
    of_owners!("objects", "one row for each object of any kind", 200, OBJECT_COLUMNS, 1, objects);

const SEQUENCE_COLUMNS: &[ViewColumn] = &[
    text("sequence_owner", "the schema that it is in"),
    text("sequence_name", "its name"),
    int("min_value", "the least value"),
    int("max_value", "the greatest value"),
    int("increment_by", "the difference from one value to the next"),
    text("cycle_flag", "Y: it begins again behind the last value; else N"),
    text("order_flag", "Y: values are given in the order in which they are asked for"),
    int("cache_size", "the values that are taken at once; those left when it stops are lost"),
    int("last_number", "the next value, unless the instance stops before; NULL: it is at its end"),
    int("start_value", "the first value"),
];

const VIEW_COLUMNS: &[ViewColumn] = &[
    text("owner", "the schema that it is in"),
    text("view_name", "its name"),
    int("text_length", "the characters of its query"),
    text("text", "its query"),
    text("comments", "what it has a row for"),
];

const OBJECT_COLUMNS: &[ViewColumn] = &[
    text("owner", "the schema that it is in"),
    text("object_name", "its name"),
    int("object_id", "its oid in pg_class"),
    int("data_object_id", "the segment that it has now, which a truncate changes"),
    text("object_type", "TABLE, INDEX, SEQUENCE or VIEW"),
    text("status", "VALID"),
    text("temporary", "N"),
];

fn sequences(_: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    Known::of(engine).sequences.iter().try_for_each(|one| {
        let of = &one.definition;
        give(&[
            Value::Text(PUBLIC),
            Value::Text(&of.name),
            Value::Int(of.min),
            Value::Int(of.max),
            Value::Int(of.increment),
            y_n(of.cycles),
            y_n(true),
            count(of.cache),
            or_null(one.next.map(Value::Int)),
            Value::Int(of.start),
        ])
    })
}

fn views(whose: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let Engine { catalog, session, .. } = engine;
    for view in catalog.views(session) {
        let comment = catalog.comment(ObjectId::View(view.object), None, session);
        give(&[
            Value::Text(PUBLIC),
            Value::Text(&view.name),
            length(view.text.chars().count()),
            Value::Text(&view.text),
            text_or_null(comment.as_deref()),
        ])?;
    }
    // Those that the instance has itself are no user's.
    let mut listed = all().filter(|_| whose == Whose::All);
    listed.try_for_each(|view| {
        let owner = Value::Text(view.schema.name());
        let (name, meaning) = (Value::Text(view.name), Value::Text(view.meaning));
        give(&[owner, name, Value::Null, Value::Null, meaning])
    })
}

/// An object of any kind.
struct Object<'a> {
    owner: &'a str,
    name: &'a str,
    oid: i64,
    segment: Option<u32>,
    kind: &'static str,
}

impl Object<'_> {
    fn give(&self, give: &mut Give<'_>) -> Result<(), Stop> {
        give(&[
            Value::Text(self.owner),
            Value::Text(self.name),
            Value::Int(self.oid),
            or_null(self.segment.map(count)),
            Value::Text(self.kind),
            Value::Text("VALID"),
            Value::Text("N"),
        ])
    }
}

fn objects(whose: Whose, engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    for table in &known.tables {
        let (oid, segment) = (oids::of_object(table.object), Some(table.segment.get()));
        Object { owner: PUBLIC, name: &table.name, oid, segment, kind: "TABLE" }.give(give)?;
    }
    for (_, index) in known.indexes() {
        let (oid, segment) = (oids::of_object(index.object), Some(index.segment.get()));
        Object { owner: PUBLIC, name: &index.name, oid, segment, kind: "INDEX" }.give(give)?;
    }
    for sequence in &known.sequences {
        let of = &sequence.definition;
        let (oid, name) = (oids::of_sequence(of.object), of.name.as_str());
        Object { owner: PUBLIC, name, oid, segment: None, kind: "SEQUENCE" }.give(give)?;
    }
    for view in &known.views {
        let (oid, name) = (oids::of_id(ObjectId::View(view.object)), view.name.as_str());
        Object { owner: PUBLIC, name, oid, segment: None, kind: "VIEW" }.give(give)?;
    }
    for external in &known.externals {
        let oid = oids::of_id(ObjectId::External(external.object));
        let name = external.name.as_str();
        Object { owner: PUBLIC, name, oid, segment: None, kind: "TABLE" }.give(give)?;
    }
    for view in all().filter(|_| whose == Whose::All) {
        let (owner, name, oid) = (view.schema.name(), view.name, oids::of_view(view));
        Object { owner, name, oid, segment: None, kind: "VIEW" }.give(give)?;
    }
    Ok(())
}
