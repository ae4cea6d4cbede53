//! What PostgreSQL's functions over its catalogue answer: definitions and names by oid.
//!
//! | function | here |
//! |---|---|
//! | `pg_get_indexdef(oid)` | [`index_definition`] |
//! | `pg_get_constraintdef(oid)` | [`constraint_definition`] |
//! | `format_type(oid, modifier)` | [`type_definition`] |
//! | `obj_description(oid, 'pg_class')`, `col_description(oid, n)` | [`description`] |
//! | a cast of an oid to `regclass`, and back | [`relation_name`], [`relation_oid`] |
//!
//! Callers: SQL's front door, which plugs them into SQL's functions.

use crate::Engine;
use crate::list::{all, view};
use crate::names::PUBLIC;
use crate::objects::Known;
use crate::oids;
use crate::pg;
use crate::texts::{constraint_text, index_text, quoted};
use crate::view::View;

/// The statement that makes the index with this oid; none if there is none.
pub fn index_definition(oid: i64, engine: &Engine<'_>) -> Option<String> {
    let known = Known::of(engine);
    let mut indexes = known.indexes();
    let found = indexes.find(|(_, index)| oids::of_object(index.object) == oid);
    found.map(|(table, index)| index_text(table, index))
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
pub fn description(oid: i64, column: usize) -> Option<String> {
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
/// quotes. What users have made comes before views of the instance.
pub fn relation_oid(schema: Option<&str>, name: &str, engine: &Engine<'_>) -> Option<i64> {
    let of_user = || {
        let mut made = made(engine).into_iter();
        made.find(|(_, other)| other == name).map(|(oid, _)| oid)
    };
    match schema {
        None => of_user().or_else(|| view(name).map(oids::of_view)),
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
    tables.chain(indexes).chain(sequences).collect()
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
        assert_eq!(description(oid, 0).as_deref(), Some(session.meaning));
        assert_eq!(description(oid, 1).as_deref(), Some(session.columns[0].meaning));
        assert_eq!(description(oid, 1_000), None);
        assert_eq!(description(1, 0), None);
    }
}
