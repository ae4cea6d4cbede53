//! Indexes and constraints: `pg_index`, `pg_constraint`.

use relation::OnDelete;
use stop::Stop;
use value::{Direction, NullOrdering, Value};

use crate::Engine;
use crate::cells::{length, text_or_null};
use crate::objects::{Constraint, ConstraintKind, Known};
use crate::oids;
use crate::view::{Give, View, int, text, truth};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "pg_index",
        "one row for each index",
        &[
            int("indexrelid", "the index"),
            int("indrelid", "the table"),
            int("indnatts", "its columns"),
            int("indnkeyatts", "its columns"),
            truth("indisunique", "whether no two rows have one key, unless it has a NULL"),
            truth("indnullsnotdistinct", "false: two NULLs aren't equal"),
            truth("indisprimary", "whether it is the primary key's"),
            truth("indisexclusion", "false"),
            truth("indimmediate", "true"),
            truth("indisclustered", "false"),
            truth("indisvalid", "true"),
            truth("indcheckxmin", "false"),
            truth("indisready", "true"),
            truth("indislive", "true"),
            truth("indisreplident", "false"),
            text("indkey", "the numbers of its columns, with blanks between"),
            text("indcollation", "the collations of its columns; 0 without"),
            text("indclass", "zeros: there is one order for each type"),
            text("indoption", "for each column 1 for DESC, and 2 for NULLS FIRST"),
            text("indexprs", "NULL: it has no expressions"),
            text("indpred", "NULL: it has all rows"),
        ],
        indexes,
    )
    .expecting(100),
    View::new(
        "pg_constraint",
        "one row for each constraint with a name",
        &[
            int("oid", "its oid"),
            text("conname", "its name"),
            int("connamespace", "its schema"),
            text("contype", "p primary key, u unique, c check, f foreign key"),
            truth("condeferrable", "false"),
            truth("condeferred", "false"),
            truth("convalidated", "true"),
            int("conrelid", "the table"),
            int("contypid", "0: it is no domain's"),
            int("conindid", "its index; of a foreign key that of the key it refers to"),
            int("conparentid", "0: none"),
            int("confrelid", "the table that a foreign key refers to"),
            text("confupdtype", "of a foreign key: a, no action"),
            text("confdeltype", "of a foreign key: a no action, c cascade, n set null"),
            text("confmatchtype", "of a foreign key: s, simple"),
            truth("conislocal", "true"),
            int("coninhcount", "0: it isn't inherited"),
            truth("connoinherit", "true"),
            text("conkey", "the numbers of its columns, in braces"),
            text("confkey", "the numbers of the columns that it refers to"),
            text("conexclop", "NULL"),
            text("conbin", "the condition of a check"),
        ],
        constraints,
    )
    .expecting(100),
];

/// Numbers with blanks between, as PostgreSQL writes an `int2vector`.
fn vector(numbers: impl Iterator<Item = i64>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}

/// The numbers of columns at these places, as PostgreSQL writes an array.
fn array(places: &[usize]) -> String {
    let numbers: Vec<String> = places.iter().map(|place| (place + 1).to_string()).collect();
    format!("{{{}}}", numbers.join(","))
}

fn number(place: usize) -> i64 {
    i64::try_from(place).expect("a table has a thousand columns") + 1
}

fn indexes(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    for (table, index) in known.indexes() {
        let (yes, no) = (Value::Boolean(true), Value::Boolean(false));
        let keys = vector(index.columns.iter().map(|of| number(of.column)));
        let collation = |place: usize| match table.columns[place].kind.is_text() {
            true => oids::COLLATION_C,
            false => 0,
        };
        let collations = vector(index.columns.iter().map(|of| collation(of.column)));
        let options = vector(index.columns.iter().map(|of| {
            let descending = i64::from(of.direction == Direction::Descending);
            descending + 2 * i64::from(of.nulls == NullOrdering::First)
        }));
        let columns = length(index.columns.len());
        give(&[
            Value::Int(oids::of_object(index.object)),
            Value::Int(oids::of_object(table.object)),
            columns,
            columns,
            Value::Boolean(index.unique),
            no,
            Value::Boolean(index.primary),
            no,
            yes,
            no,
            yes,
            no,
            yes,
            yes,
            no,
            Value::Text(&keys),
            Value::Text(&collations),
            Value::Text(&vector(index.columns.iter().map(|_| 0))),
            Value::Text(&options),
            Value::Null,
            Value::Null,
        ])?;
    }
    Ok(())
}

fn constraints(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let known = Known::of(engine);
    known.constraints().try_for_each(|one| constraint(&one, &known, give))
}

fn constraint(one: &Constraint<'_>, known: &Known, give: &mut Give<'_>) -> Result<(), Stop> {
    let kind = match one.kind {
        ConstraintKind::PrimaryKey => "p",
        ConstraintKind::Unique => "u",
        ConstraintKind::Check => "c",
        ConstraintKind::ForeignKey => "f",
    };
    let referred = one.foreign.and_then(|key| known.referred(key)).map(|(_, index)| index);
    let index = one.index.or(referred).map_or(0, |index| oids::of_object(index.object));
    let of_foreign = |letter| Value::Text(one.foreign.map_or(" ", |_| letter));
    let on_delete = one.foreign.map_or(" ", |key| match key.on_delete {
        OnDelete::NoAction => "a",
        OnDelete::Cascade => "c",
        OnDelete::SetNull => "n",
    });
    let to = one.foreign.map(|key| array(&key.referenced_columns));
    let (yes, no, zero) = (Value::Boolean(true), Value::Boolean(false), Value::Int(0));
    give(&[
        Value::Int(oids::of_constraint(one)),
        Value::Text(one.name),
        Value::Int(oids::PUBLIC),
        Value::Text(kind),
        no,
        no,
        yes,
        Value::Int(oids::of_object(one.table.object)),
        zero,
        Value::Int(index),
        zero,
        Value::Int(one.foreign.map_or(0, |key| oids::of_object(key.references))),
        of_foreign("a"),
        Value::Text(on_delete),
        of_foreign("s"),
        yes,
        zero,
        yes,
        Value::Text(&array(&one.columns)),
        text_or_null(to.as_deref()),
        Value::Null,
        text_or_null(one.condition.as_deref()),
    ])
}
