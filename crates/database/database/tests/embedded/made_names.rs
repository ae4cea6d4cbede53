//! Names that the database makes up, for constraints, indexes and sequences that got none: they are
//! free when the statement that needs them is done, whoever else was making tables meanwhile.

use database::{
    Alteration, ColumnSpec, Connection, ConstraintSpec, OnDelete, Rule, TableSpec, Type,
};

use crate::simulated::{join, made, racing, start};

fn table(name: &str, columns: &[&str]) -> TableSpec {
    let column = |name: &&str| ColumnSpec::new(name, Type::BigInt);
    columns.iter().map(column).fold(TableSpec::new(name), TableSpec::column)
}

/// Has two sessions define something at once, in many orders.
fn at_once(
    prepare: fn(&mut Connection<'_>),
    one: fn(&mut Connection<'_>, usize),
    other: fn(&mut Connection<'_>, usize),
) {
    let base = made(move |database, session| prepare(&mut database.connect_with(session)));
    for seed in 0..6 {
        racing(seed, base.clone(), move |database, session| {
            let define = |define: fn(&mut Connection<'_>, usize)| {
                start("defines", (database, session), move |database, session| {
                    let mut connection = database.connect_with(session);
                    (0..4).for_each(|round| define(&mut connection, round));
                })
            };
            join(vec![define(one), define(other)], session);
        });
    }
}

fn make(connection: &mut Connection<'_>, spec: &TableSpec) {
    connection.create_table(spec).expect("nobody gave the names that are taken");
}

#[test]
fn tables_whose_constraints_would_get_the_same_names_are_made_at_once() {
    at_once(
        |_| (),
        |connection, round| {
            make(connection, &table(&format!("a{round}"), &["b", "c"]).unique(["b", "c"]));
        },
        |connection, round| {
            make(connection, &table(&format!("a{round}_b"), &["c"]).unique(["c"]));
        },
    );
}

#[test]
fn tables_whose_foreign_keys_and_their_indexes_would_get_the_same_names_are_made_at_once() {
    at_once(
        |connection| {
            make(connection, &table("pair", &["p", "q"]).primary_key(["p", "q"]));
            make(connection, &table("key", &["p"]).primary_key(["p"]));
        },
        |connection, round| {
            let spec = table(&format!("a{round}"), &["b", "c"]);
            make(connection, &spec.foreign_key(["b", "c"], "pair", OnDelete::NoAction));
        },
        |connection, round| {
            let spec = table(&format!("a{round}_b"), &["c"]);
            make(connection, &spec.foreign_key(["c"], "key", OnDelete::NoAction));
        },
    );
}

#[test]
fn tables_whose_identity_columns_would_get_sequences_of_the_same_names_are_made_at_once() {
    at_once(
        |_| (),
        |connection, round| {
            let column = ColumnSpec::new("b_c", Type::BigInt).identity(false);
            make(connection, &TableSpec::new(&format!("a{round}")).column(column));
        },
        |connection, round| {
            let column = ColumnSpec::new("c", Type::BigInt).identity(false);
            make(connection, &TableSpec::new(&format!("a{round}_b")).column(column));
        },
    );
}

#[test]
fn tables_get_constraints_that_would_get_the_same_names_at_once() {
    fn add(connection: &mut Connection<'_>, table: &str, columns: &[&str]) {
        let columns = columns.iter().map(ToString::to_string).collect();
        let unique = ConstraintSpec { name: None, rule: Rule::Unique(columns) };
        let added = connection.alter_table(table, &Alteration::AddConstraint(unique));
        added.expect("nobody gave the name that is taken");
    }
    at_once(
        |connection| {
            for round in 0..4 {
                make(connection, &table(&format!("a{round}"), &["b", "c"]));
                make(connection, &table(&format!("a{round}_b"), &["c"]));
            }
        },
        |connection, round| add(connection, &format!("a{round}"), &["b", "c"]),
        |connection, round| add(connection, &format!("a{round}_b"), &["c"]),
    );
}

/// Not by another session: by the same statement.
#[test]
fn a_name_that_the_statement_gives_is_not_made_up_for_another_constraint() {
    made(|database, session| {
        let mut connection = database.connect_with(session);
        let spec = table("t", &["a", "b"]).primary_key(["a"]).unique(["b"]).named("t_pkey");
        make(&mut connection, &spec);
        connection.drop_index("t_pkey").expect("it is that of the other one");
    });
}
