//! What there is one of, or a few: schemas, databases, users, access methods, tablespaces; and
//! comments.

use stop::Stop;
use value::Value;

use crate::Engine;
use crate::cells::length;
use crate::list::all;
use crate::names::{DATABASE, PUBLIC, USER};
use crate::objects::Known;
use crate::oids;
use crate::view::{Give, Schema, View, int, moment, text, truth};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "pg_namespace",
        "one row for each schema",
        &[
            int("oid", "its oid"),
            text("nspname", "its name"),
            int("nspowner", "its owner"),
            text("nspacl", "NULL"),
        ],
        schemas,
    )
    .expecting(3),
    View::new(
        "pg_database",
        "one row for the database",
        &[
            int("oid", "its oid"),
            text("datname", "its name"),
            int("datdba", "its owner"),
            int("encoding", "6: UTF8"),
            text("datlocprovider", "c: of the system"),
            truth("datistemplate", "false"),
            truth("datallowconn", "true"),
            int("datconnlimit", "-1: no limit"),
            int("dattablespace", "its tablespace for tables that name none"),
            text("datcollate", "C: texts compare by their bytes"),
            text("datctype", "C"),
            text("daticulocale", "NULL"),
            text("datcollversion", "NULL"),
            text("datacl", "NULL"),
        ],
        databases,
    )
    .expecting(1),
    View::new(
        "pg_roles",
        "one row for the user",
        &[
            text("rolname", "the name"),
            truth("rolsuper", "true: everything is allowed"),
            truth("rolinherit", "true"),
            truth("rolcreaterole", "true"),
            truth("rolcreatedb", "true"),
            truth("rolcanlogin", "true"),
            truth("rolreplication", "false"),
            int("rolconnlimit", "-1: no limit"),
            text("rolpassword", "stars"),
            moment("rolvaliduntil", "NULL"),
            truth("rolbypassrls", "true"),
            text("rolconfig", "NULL"),
            int("oid", "the oid"),
        ],
        roles,
    )
    .expecting(1),
    View::new(
        "pg_am",
        "one row for each way to keep rows or keys",
        &[
            int("oid", "its oid, as in PostgreSQL"),
            text("amname", "its name"),
            text("amhandler", "NULL"),
            text("amtype", "t of tables, i of indexes"),
        ],
        methods,
    )
    .expecting(2),
    View::new(
        "pg_tablespace",
        "one row for each tablespace",
        &[
            int("oid", "its oid"),
            text("spcname", "its name"),
            int("spcowner", "its owner"),
            text("spcacl", "NULL"),
            text("spcoptions", "NULL"),
        ],
        tablespaces,
    )
    .expecting(3),
    View::new(
        "pg_description",
        "one row for each comment on a table, view, sequence or column",
        &[
            int("objoid", "the object"),
            int("classoid", "pg_class: the object is a table or view"),
            int("objsubid", "the column; 0 for the object itself"),
            text("description", "the comment"),
        ],
        descriptions,
    )
    .expecting(1_000),
];

const OWNER: Value<'static> = Value::Int(oids::USER);

fn schemas(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let system = [Schema::PgCatalog, Schema::InformationSchema];
    let system = system.map(|schema| (oids::of_schema(schema), schema.name()));
    system
        .into_iter()
        .chain([(oids::PUBLIC, PUBLIC)])
        .try_for_each(|(oid, name)| give(&[Value::Int(oid), Value::Text(name), OWNER, Value::Null]))
}

fn databases(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    give(&[
        Value::Int(oids::DATABASE),
        Value::Text(DATABASE),
        OWNER,
        Value::Int(6),
        Value::Text("c"),
        Value::Boolean(false),
        Value::Boolean(true),
        Value::Int(-1),
        Value::Int(oids::of_tablespace(1)),
        Value::Text("C"),
        Value::Text("C"),
        Value::Null,
        Value::Null,
        Value::Null,
    ])
}

fn roles(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let yes = Value::Boolean(true);
    give(&[
        Value::Text(USER),
        yes,
        yes,
        yes,
        yes,
        yes,
        Value::Boolean(false),
        Value::Int(-1),
        Value::Text("********"),
        Value::Null,
        yes,
        Value::Null,
        Value::Int(oids::USER),
    ])
}

fn methods(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    for (oid, name, kind) in [(oids::HEAP, "heap", "t"), (oids::BTREE, "btree", "i")] {
        give(&[Value::Int(oid), Value::Text(name), Value::Null, Value::Text(kind)])?;
    }
    Ok(())
}

fn tablespaces(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    engine.instance.space().tablespaces(engine.session).iter().try_for_each(|one| {
        let oid = Value::Int(oids::of_tablespace(one.number.0));
        give(&[oid, Value::Text(&one.name), OWNER, Value::Null, Value::Null])
    })
}

fn descriptions(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let Engine { catalog, session, .. } = engine;
    for commented in Known::of(engine).commented() {
        let oid = Value::Int(oids::of_id(commented.id));
        let places = (1..).zip(commented.places.into_iter().map(Some));
        for (number, place) in std::iter::once((0, None)).chain(places) {
            let Some(comment) = catalog.comment(commented.id, place, session) else { continue };
            give(&[oid, Value::Int(oids::PG_CLASS), length(number), Value::Text(&comment)])?;
        }
    }
    for view in all() {
        let (oid, class) = (Value::Int(oids::of_view(view)), Value::Int(oids::PG_CLASS));
        give(&[oid, class, Value::Int(0), Value::Text(view.meaning)])?;
        for (number, column) in (1..).zip(view.columns) {
            give(&[oid, class, length(number), Value::Text(column.meaning)])?;
        }
    }
    Ok(())
}
