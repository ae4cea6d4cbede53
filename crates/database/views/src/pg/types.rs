//! Types and collations: `pg_type`, `pg_collation`.

use stop::Stop;
use value::{Type, Value};

use crate::Engine;
use crate::oids;
use crate::view::{Give, View, int, text, truth};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "pg_type",
        "one row for each type",
        &[
            int("oid", "its oid, as in PostgreSQL"),
            text("typname", "its name"),
            int("typnamespace", "its schema"),
            int("typowner", "its owner"),
            int("typlen", "the bytes of a value; -1 if they vary"),
            truth("typbyval", "whether a value is short"),
            text("typtype", "b: a base type; p: a pseudo type"),
            text("typcategory", "N number, S text, D moment, T span, B truth, U other"),
            truth("typispreferred", "whether others of its category become it"),
            truth("typisdefined", "true"),
            text("typdelim", "a comma"),
            int("typrelid", "0: it is no row's"),
            int("typelem", "0: it is no array"),
            int("typarray", "0: there are no arrays of it"),
            text("typalign", "i: by four bytes"),
            text("typstorage", "p plain, x extended"),
            truth("typnotnull", "false"),
            int("typbasetype", "0: it is no domain"),
            int("typtypmod", "-1: none"),
            int("typndims", "0: none"),
            int("typcollation", "the collation of texts; 0 without"),
            text("typdefault", "NULL"),
            text("typacl", "NULL"),
        ],
        types,
    )
    .expecting(20),
    View::new(
        "pg_collation",
        "one row: texts compare by their bytes",
        &[
            int("oid", "its oid, as in PostgreSQL"),
            text("collname", "C"),
            int("collnamespace", "its schema"),
            int("collowner", "its owner"),
            text("collprovider", "c: of the system"),
            truth("collisdeterministic", "true: equal texts have equal bytes"),
            int("collencoding", "-1: any"),
            text("collcollate", "C"),
            text("collctype", "C"),
            text("collversion", "NULL"),
        ],
        collations,
    )
    .expecting(1),
];

/// A type: its oid, name, bytes, category, and whether others of the category become it.
type Listed = (i64, &'static str, i64, &'static str, bool);

/// The types of columns and of expressions, and those that PostgreSQL's clients use in casts.
const TYPES: &[Listed] = &[
    (16, "bool", 1, "B", true),
    (17, "bytea", -1, "U", false),
    (18, "char", 1, "Z", false),
    (19, "name", 64, "S", false),
    (20, "int8", 8, "N", false),
    (21, "int2", 2, "N", false),
    (23, "int4", 4, "N", false),
    (25, "text", -1, "S", true),
    (26, "oid", 4, "N", true),
    (701, "float8", 8, "N", true),
    (705, "unknown", -2, "X", false),
    (1_042, "bpchar", -1, "S", false),
    (1_043, "varchar", -1, "S", false),
    (1_082, "date", 4, "D", false),
    (1_114, "timestamp", 8, "D", false),
    (1_186, "interval", 16, "T", true),
    (1_700, "numeric", -1, "N", false),
    (2_205, "regclass", 4, "N", false),
];

/// The bytes of a type whose values all have as many.
pub(crate) fn fixed_length(kind: Type) -> Option<i64> {
    let oid = oids::of_type(kind);
    let found = TYPES.iter().find(|(of, ..)| *of == oid);
    found.map(|(_, _, bytes, ..)| *bytes).filter(|bytes| *bytes > 0)
}

/// The name of the type with this oid.
pub(crate) fn name_of(oid: i64) -> Option<&'static str> {
    TYPES.iter().find(|(of, ..)| *of == oid).map(|(_, name, ..)| *name)
}

/// The oids of all types.
pub(crate) fn all_oids() -> impl Iterator<Item = i64> {
    TYPES.iter().map(|(oid, ..)| *oid)
}

fn types(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    for (oid, name, bytes, category, is_preferred) in TYPES {
        let zero = Value::Int(0);
        let is_short = *bytes > 0 && *bytes <= 8;
        let is_text = *category == "S" && *name != "name";
        give(&[
            Value::Int(*oid),
            Value::Text(name),
            Value::Int(oids::PG_CATALOG),
            Value::Int(oids::USER),
            Value::Int(*bytes),
            Value::Boolean(is_short),
            Value::Text(if *category == "X" { "p" } else { "b" }),
            Value::Text(category),
            Value::Boolean(*is_preferred),
            Value::Boolean(true),
            Value::Text(","),
            zero,
            zero,
            zero,
            Value::Text("i"),
            Value::Text(if *bytes > 0 { "p" } else { "x" }),
            Value::Boolean(false),
            zero,
            Value::Int(-1),
            zero,
            Value::Int(if is_text { oids::COLLATION_C } else { 0 }),
            Value::Null,
            Value::Null,
        ])?;
    }
    Ok(())
}

fn collations(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    give(&[
        Value::Int(oids::COLLATION_C),
        Value::Text("C"),
        Value::Int(oids::PG_CATALOG),
        Value::Int(oids::USER),
        Value::Text("c"),
        Value::Boolean(true),
        Value::Int(-1),
        Value::Text("C"),
        Value::Text("C"),
        Value::Null,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A type of columns has a row, under the oid that its columns name, and the name that the
    /// standard's views give it.
    #[test]
    fn every_type_of_columns_has_a_row() {
        let declared = |kind: Result<Type, value::Misfit>| kind.expect("may be declared");
        let all = [
            Type::SmallInt,
            Type::Integer,
            Type::BigInt,
            Type::Number(None),
            declared(Type::number(5, 2)),
            Type::Double,
            declared(Type::varchar(5)),
            declared(Type::char(5)),
            Type::Text,
            Type::Bytea,
            Type::Boolean,
            Type::Date,
            Type::Timestamp,
        ];
        for kind in all {
            let name = crate::information_schema::internal_name(kind);
            assert_eq!(name_of(oids::of_type(kind)), Some(name), "{kind}");
        }
        assert_eq!((fixed_length(Type::BigInt), fixed_length(Type::Text)), (Some(8), None));
    }
}
