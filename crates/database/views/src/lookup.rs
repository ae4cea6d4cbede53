//! What PostgreSQL's functions over its catalogue answer: definitions and names by oid.
//!
//! | function | here |
//! |---|---|
//! | `pg_get_indexdef(oid)` | [`index_definition`] |
//! | `pg_get_constraintdef(oid)` | [`constraint_definition`] |
//! | `format_type(oid, modifier)` | [`type_definition`] |
//! | `pg_get_indexdef(oid, n)` | [`index_column`] |
//! | `pg_get_viewdef(oid)` | [`view_definition`] |
//! | `obj_description(oid, 'pg_class')`, `col_description(oid, n)` | [`description`] |
//! | `pg_table_is_visible(oid)` | [`is_visible`] |
//! | a cast of a name to `regtype`, of an oid to `regnamespace` | [`type_oid`], [`schema_name`] |
//! | a cast of an oid to `regclass`, and back | [`relation_name`], [`relation_oid`] |
//!
//! Callers: SQL's front door, which plugs them into SQL's functions.

use std::sync::Arc;

use catalog::{ObjectId, ViewDefinition};

use crate::Engine;
use crate::list::{all, view};
use crate::names::PUBLIC;
use crate::objects::Known;
use crate::oids;
use crate::pg;
use crate::texts::{constraint_text, index_column_text, index_text, quoted};
use crate::view::{Schema, View};

/// The statement that makes the index with this oid; none if there is none.
pub fn index_definition(oid: i64, engine: &Engine<'_>) -> Option<String> {
    let known = Known::of(engine);
    let mut indexes = known.indexes();
    let found = indexes.find(|(_, index)| oids::of_object(index.object) == oid);
    found.map(|(table, index)| index_text(table, index))
}

/// The column of an index at this place, from 1 on, with its order; none if there is none.
pub fn index_column(oid: i64, column: i64, engine: &Engine<'_>) -> Option<String> {
    let known = Known::of(engine);
    let mut indexes = known.indexes();
    let (table, index) = indexes.find(|(_, index)| oids::of_object(index.object) == oid)?;
    let place = usize::try_from(column).ok()?.checked_sub(1)?;
    index.columns.get(place).map(|of| index_column_text(table, of))
}

/// The query of the user's view with this oid; none if there is none.
pub fn view_definition(oid: i64, engine: &Engine<'_>) -> Option<String> {
    let views = engine.catalog.views(engine.session);
    let is_it = |view: &&Arc<ViewDefinition>| oids::of_id(ObjectId::View(view.object)) == oid;
    views.iter().find(is_it).map(|view| view.text.clone())
}

/// Whether the name of the relation with this oid is found without its schema; none if there is no
/// such relation.
pub fn is_visible(oid: i64, engine: &Engine<'_>) -> Option<bool> {
    let of_view = all().find(|view| oids::of_view(view) == oid);
    match of_view {
        Some(of_view) => Some(of_view.schema == Schema::PgCatalog),
        None => made(engine).into_iter().find(|(of, _)| *of == oid).map(|(_, name)| {
            // A view of the instance is found before it.
            view(&name).is_none()
        }),
    }
}

/// The name of the schema with this oid.
pub fn schema_name(oid: i64) -> Option<&'static str> {
    let of = |schema: Schema| (oids::of_schema(schema), schema.name());
    let all = [of(Schema::PgCatalog), of(Schema::InformationSchema), (oids::PUBLIC, PUBLIC)];
    all.into_iter().find(|(of, _)| *of == oid).map(|(_, name)| name)
}

/// The oid of the type of this name: one of `pg_type`, or one that [`type_definition`] gives.
pub fn type_oid(name: &str) -> Option<i64> {
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    let is_it = |oid: &i64| {
        pg::type_name(*oid) == Some(name) || type_definition(*oid, -1).as_deref() == Some(name)
    };
    pg::type_oids().find(is_it)
}

/// What a table's definition says of the constraint with this oid; none if there is none.
pub fn constraint_definition(oid: i64, engine: &Engine<'_>) -> Option<String> {
    let known = Known::of(engine);
    let found = known.constraints().find(|one| oids::of_constraint(one) == oid);
    found.map(|one| constraint_text(&one, &known))
}

/// The type with this oid, with the length or the precision that the modifier packs (-1: none), as
/// PostgreSQL writes it; none if there is no such type.
pub fn type_definition(oid: i64, modifier: i64) -> Option<String> {
    /// The bytes before a value of varying length, which PostgreSQL counts.
    const HEAD: i64 = 4;
    let name = match pg::type_name(oid)? {
        "int2" => "smallint",
        "int4" => "integer",
        "int8" => "bigint",
        "float8" => "double precision",
        "bool" => "boolean",
        "varchar" => "character varying",
        "bpchar" => "character",
        "timestamp" => "timestamp without time zone",
        "char" => "\"char\"",
        other => other,
    };
    let packed = modifier - HEAD;
    Some(match (name, packed) {
        (_, ..0) => name.to_string(),
        ("character varying" | "character", length) => format!("{name}({length})"),
        ("numeric", packed) => {
            // The scale has eleven bits, the highest of which is its sign.
            let scale = ((packed & 0x7ff) ^ 0x400) - 0x400;
            format!("numeric({},{scale})", packed >> 16 & 0xffff)
        }
        _ => name.to_string(),
    })
}

/// The comment on the object with this oid, or on a column of it, from 1 on; 0 is the object.
pub fn description(oid: i64, column: usize, engine: &Engine<'_>) -> Option<String> {
    of_system(oid, column).or_else(|| {
        let of = Known::of(engine).commented().into_iter().find(|of| oids::of_id(of.id) == oid)?;
        engine.catalog.comment(of.id, column.checked_sub(1), engine.session)
    })
}

/// The same of a view of this room.
fn of_system(oid: i64, column: usize) -> Option<String> {
    let view = all().find(|view| oids::of_view(view) == oid)?;
    match column {
        0 => Some(view.meaning.to_string()),
        number => view.columns.get(number - 1).map(|column| column.meaning.to_string()),
    }
}

/// The name of the table, index, sequence or view with this oid, in quotes if it needs them.
pub fn relation_name(oid: i64, engine: &Engine<'_>) -> Option<String> {
    relations(engine).into_iter().find(|(of, _)| *of == oid).map(|(_, name)| quoted(&name))
}

/// The oid of the table, index, sequence or view of this name, as a catalogue has it: without
/// quotes. Views of the instance come before what users have made, as in FROM.
pub fn relation_oid(schema: Option<&str>, name: &str, engine: &Engine<'_>) -> Option<i64> {
    let of_user = || {
        let mut made = made(engine).into_iter();
        made.find(|(_, other)| other == name).map(|(oid, _)| oid)
    };
    match schema {
        None => view(name).map(oids::of_view).or_else(of_user),
        Some(PUBLIC) => of_user(),
        Some(schema) => crate::view_in(schema, name).map(oids::of_view),
    }
}

/// The oids and names of what users have made.
fn made(engine: &Engine<'_>) -> Vec<(i64, String)> {
    let known = Known::of(engine);
    let tables = known.tables.iter();
    let tables = tables.map(|table| (oids::of_object(table.object), table.name.clone()));
    let indexes = known.indexes();
    let indexes = indexes.map(|(_, index)| (oids::of_object(index.object), index.name.clone()));
    let sequences = known.sequences.iter().map(|one| &one.definition);
    let sequences = sequences.map(|of| (oids::of_sequence(of.object), of.name.clone()));
    let views = known.views.iter().map(|view| (ObjectId::View(view.object), &view.name));
    let externals = known.externals.iter().map(|one| (ObjectId::External(one.object), &one.name));
    let others = views.chain(externals).map(|(id, name)| (oids::of_id(id), name.clone()));
    tables.chain(indexes).chain(sequences).chain(others).collect()
}

/// The oids and names of all.
fn relations(engine: &Engine<'_>) -> Vec<(i64, String)> {
    let views = all().map(|view: &View| (oids::of_view(view), view.name.to_string()));
    made(engine).into_iter().chain(views).collect()
}

#[cfg(test)]
mod tests {
    use value::Type;

    use super::*;
    use crate::texts::type_text;

    /// A type is written the same whether by itself or by its oid and modifier.
    #[test]
    fn a_type_is_written_by_its_oid_as_by_itself() {
        let declared = |kind: Result<Type, value::Misfit>| kind.expect("may be declared");
        let all = [
            Type::SmallInt,
            Type::BigInt,
            Type::Number(None),
            declared(Type::number(10, 2)),
            declared(Type::number(38, -84)),
            declared(Type::number(38, 127)),
            Type::Double,
            declared(Type::varchar(4_000)),
            declared(Type::char(3)),
            Type::Text,
            Type::Boolean,
            Type::Date,
            Type::Timestamp,
        ];
        for kind in all {
            let found = type_definition(oids::of_type(kind), oids::modifier(kind));
            assert_eq!(found, Some(type_text(kind)), "{kind}");
        }
        assert_eq!(type_definition(9_999_999, -1), None);
        assert_eq!(type_definition(1_043, -1).as_deref(), Some("character varying"));
    }

    #[test]
    fn views_have_comments() {
        let session = view("v$session").expect("there");
        let oid = oids::of_view(session);
        assert_eq!(of_system(oid, 0).as_deref(), Some(session.meaning));
        assert_eq!(of_system(oid, 1).as_deref(), Some(session.columns[0].meaning));
        assert_eq!(of_system(oid, 1_000), None);
        assert_eq!(of_system(1, 0), None);
    }

    #[test]
    fn a_type_is_found_by_each_of_its_names() {
        for name in ["int4", "integer", "pg_catalog.int4"] {
            assert_eq!(type_oid(name), Some(23), "{name}");
        }
        assert_eq!(type_oid("mood"), None);
        assert_eq!(schema_name(oids::PUBLIC), Some("public"));
        assert_eq!(schema_name(1), None);
    }
}
