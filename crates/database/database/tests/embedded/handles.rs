//! What is held across calls, while definitions change: tables, indexes and columns keep their
//! meaning, or are refused clearly.

use std::ops::ControlFlow;

use database::{
    Alteration, Bounds, ColumnSpec, Connection, Database, Direction, Error, ErrorKind, IndexId,
    IndexSpec, Selection, Table, TableSpec, Type, Value,
};
use sim::Outside;

use crate::common::{Folder, options};
use crate::simulated::{join, made, racing, start};

fn triple() -> TableSpec {
    TableSpec::new("triple")
        .column(ColumnSpec::new("a", Type::BigInt))
        .column(ColumnSpec::new("b", Type::BigInt))
        .column(ColumnSpec::new("c", Type::BigInt))
        .primary_key(["a"])
}

/// A table with an index for each column, and rows (a, b, c) = (n, n + 10, n % 2).
fn filled(connection: &mut Connection<'_>) -> Table {
    connection.create_table(&triple()).expect("made");
    for column in ["a", "b", "c"] {
        let name = format!("by_{column}");
        let index = IndexSpec::new(&name, "triple", [column]);
        connection.create_index(&index).expect("made");
    }
    let table = connection.table("triple").expect("there");
    let mut tx = connection.begin();
    for n in 0..10 {
        tx.insert(&table, &[Value::Int(n), Value::Int(n + 10), Value::Int(n % 2)])
            .expect("inserted");
    }
    tx.commit().expect("committed");
    table
}

fn firsts(connection: &mut Connection<'_>, table: &Table) -> Vec<i64> {
    let mut found = Vec::new();
    connection.scan(table, |row| found.extend(row.get_i64(0))).expect("read");
    found.sort_unstable();
    found
}

fn count_in(
    connection: &mut Connection<'_>,
    table: &Table,
    (index, key): (IndexId, i64),
) -> Result<usize, Error> {
    let (mut count, key) = (0, [Value::Int(key)]);
    connection.range(table, index, &Bounds::equal(&key), Direction::Ascending, |_| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

/// An index is named by what it is, not by its place among others.
#[test]
fn an_index_that_is_held_means_itself_after_an_earlier_one_was_dropped() {
    let scratch = Folder::absent("held-index");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let table = filled(&mut connection);
    let by_b = table.index("by_b").expect("there");
    connection.drop_index("by_a").expect("dropped");

    assert_eq!(count_in(&mut connection, &table, (by_b, 11)).expect("read"), 1);
    let mut tx = connection.begin();
    let one = tx.get_by(&table, by_b, &[Value::Int(13)], |row| row.get_i64(0));
    assert_eq!(one.expect("read").flatten(), Some(3));
    let eleven = [Value::Int(11)];
    let selection = Selection::Range(by_b, Bounds::equal(&eleven));
    assert_eq!(tx.delete_where(&table, selection, None).expect("deleted"), 1);
    let one = [Value::Int(1)];
    let selection = Selection::Range(by_b, Bounds::equal(&one));
    assert_eq!(tx.delete_where(&table, selection, None).expect("no b is 1"), 0);
    tx.commit().expect("committed");
    assert_eq!(firsts(&mut connection, &table), [0, 2, 3, 4, 5, 6, 7, 8, 9]);
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn an_index_that_was_dropped_is_refused_and_not_another_taken_for_it() {
    let scratch = Folder::absent("dropped-index");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let table = filled(&mut connection);
    let by_b = table.index("by_b").expect("there");
    connection.drop_index("by_b").expect("dropped");
    // Of the same name, and another.
    connection.create_index(&IndexSpec::new("by_b", "triple", ["c", "a"])).expect("made");
    let gone = count_in(&mut connection, &table, (by_b, 1)).expect_err("it was dropped");
    assert_eq!(gone.refusal(), Some(ErrorKind::NotFound), "{gone}");
    assert!(gone.to_string().contains("triple"), "{gone}");
    assert!(!database::is_worth_repeating(&gone), "it stays away");
    let mut tx = connection.begin();
    let key = [Value::Int(1)];
    let refused = tx.delete_where(&table, Selection::Range(by_b, Bounds::equal(&key)), None);
    assert_eq!(refused.expect_err("dropped").refusal(), Some(ErrorKind::NotFound));
    tx.rollback().expect("ended");
    // An index of another table isn't one of this one.
    let other = TableSpec::new("other").column(ColumnSpec::new("x", Type::BigInt));
    let other = connection.create_table(&other).expect("made");
    let by_c = table.index("by_c").expect("there");
    let refused = count_in(&mut connection, &other, (by_c, 1)).expect_err("not its own");
    assert!(refused.to_string().contains("other"), "{refused}");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// A column's number in its table is never another's, so it is what names a column across calls.
#[test]
fn a_column_that_is_held_means_itself_whatever_comes_and_goes_and_is_renamed() {
    let scratch = Folder::absent("held-column");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    connection.create_table(&triple()).expect("made");
    let table = connection.table("triple").expect("there");
    let c = table.column("c").expect("there");
    let mut tx = connection.begin();
    tx.insert(&table, &[Value::Int(1), Value::Int(2), Value::Int(3)]).expect("inserted");
    tx.commit().expect("committed");
    connection.alter_table("triple", &Alteration::DropColumn("b".into())).expect("dropped");
    let rename = Alteration::RenameColumn { from: "c".into(), to: "b".into() };
    connection.alter_table("triple", &rename).expect("renamed");
    let added = ColumnSpec::new("c", Type::BigInt).default_value(Value::Int(9).to_owned());
    connection.alter_table("triple", &Alteration::AddColumn(added)).expect("added");
    let key = [Value::Int(1)];
    let held = connection.get(&table, &key, |row| row.get_i64(c)).expect("read");
    assert_eq!(held.flatten(), Some(3), "the column that was called c");
    let now = connection.table("triple").expect("there");
    assert_eq!(now.column("b").expect("there"), c);
    assert_ne!(now.column("c").expect("there"), c);
    drop(connection);
    database.shutdown().expect("in good order");
}

/// Waits until so many transactions wait for locks.
fn until_waiting(database: &Database, connection: &Connection<'_>, count: usize) {
    let locks = database.instance().transactions().locks();
    while locks.waiting(connection.session()).len() < count {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// A table's row by its key, as numbers.
fn row(connection: &mut Connection<'_>, table: &Table, a: i64) -> Option<Vec<Option<i64>>> {
    let columns = table.definition().columns.len();
    let look = |row: database::Row<'_>| (0..columns).map(|column| row.get_i64(column)).collect();
    connection.get(table, &[Value::Int(a)], look).expect("read")
}

/// What a held table means is unchanged by a column that is added.
#[test]
fn a_statement_that_has_waited_for_ddl_goes_on_with_the_new_definition() {
    let scratch = Folder::absent("waited-for-ddl");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let table = filled(&mut connection);
    let by_b = table.index("by_b").expect("there");
    let mut other = database.connect("watch");
    type Change<'a> = &'a (dyn Fn(&mut database::Tx<'_, '_>) -> Result<u64, Error> + Sync);
    let changes: [(&str, Change<'_>); 4] = [
        ("d", &|tx| {
            let row = [Value::Int(20), Value::Int(30), Value::Int(0)];
            tx.insert_many(&table, [&row[..]])
        }),
        ("e", &|tx| {
            tx.update(&table, &[Value::Int(1)], |_, set| set.set(2, Value::Int(7))).map(u64::from)
        }),
        ("f", &|tx| {
            let key = [Value::Int(12)];
            tx.delete_where(&table, Selection::Range(by_b, Bounds::equal(&key)), None)
        }),
        ("g", &|tx| {
            let key = [Value::Int(3)];
            tx.get_for_update(&table, &key, database::ForUpdate::wait(), |_| ()).map(|_| 1)
        }),
    ];
    for (added, change) in changes {
        let mut holder = connection.begin();
        holder.update(&table, &[Value::Int(9)], |_, set| set.set(2, Value::Int(1))).expect("held");
        let done = std::thread::scope(|scope| {
            scope.spawn(|| {
                let added =
                    ColumnSpec::new(added, Type::BigInt).default_value(Value::Int(5).to_owned());
                let mut ddl = database.connect("ddl");
                ddl.alter_table("triple", &Alteration::AddColumn(added)).expect("altered");
            });
            until_waiting(&database, &other, 1);
            let late = scope.spawn(|| {
                let mut late = database.connect("late");
                let mut tx = late.begin();
                let done = change(&mut tx)?;
                tx.commit().map(|()| done)
            });
            until_waiting(&database, &other, 2);
            holder.commit().expect("committed");
            late.join().expect("it didn't panic")
        });
        assert_eq!(done.expect("it goes on"), 1, "while {added} was added");
    }
    let now = connection.table("triple").expect("there");
    let (other, all) = (&mut other, Some(5));
    assert_eq!(row(other, &now, 20), Some(vec![Some(20), Some(30), Some(0), all, all, all, all]));
    assert_eq!(row(other, &now, 1), Some(vec![Some(1), Some(11), Some(7), all, all, all, all]));
    assert_eq!(row(other, &now, 2), None);
    drop(connection);
    let _ = other;
}

/// What a held table means has gone: that is said.
#[test]
fn a_statement_that_has_waited_for_the_drop_of_its_table_or_index_is_told_so() {
    let scratch = Folder::absent("waited-for-drop");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let table = filled(&mut connection);
    let by_b = table.index("by_b").expect("there");
    let other = database.connect("watch");
    for what in ["index", "table"] {
        let mut holder = connection.begin();
        holder.update(&table, &[Value::Int(9)], |_, set| set.set(2, Value::Int(1))).expect("held");
        let done = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut ddl = database.connect("ddl");
                match what {
                    "index" => ddl.drop_index("by_b").expect("dropped"),
                    _ => ddl.drop_table("triple", false).expect("dropped"),
                }
            });
            until_waiting(&database, &other, 1);
            let late = scope.spawn(|| {
                let mut late = database.connect("late");
                let key = [Value::Int(12)];
                let selection = match what {
                    "index" => Selection::Range(by_b, Bounds::equal(&key)),
                    _ => Selection::All,
                };
                late.begin().delete_where(&table, selection, None)
            });
            until_waiting(&database, &other, 2);
            holder.commit().expect("committed");
            late.join().expect("it didn't panic")
        });
        let gone = done.expect_err("it was dropped");
        assert_eq!(gone.refusal(), Some(ErrorKind::NotFound), "{gone}");
        assert!(gone.to_string().contains("triple"), "{gone}");
    }
}

/// Columns come in every second turn, rows are changed with them, and an index goes and comes,
/// while others read: each read goes by the definition of its snapshot. Where no column comes, a
/// stale definition can be told by the index alone.
#[test]
fn a_read_goes_by_the_definition_that_holds_as_of_its_snapshot() {
    let content = made(|database, session| {
        filled(&mut database.connect_with(session));
    });
    let reads = Outside::<[u32; 3]>::default();
    for seed in 1..=40 {
        let reads = reads.clone();
        racing(seed, content.clone(), move |database, session| {
            let writer = start("writer", (database, session), |database, session| {
                let mut connection = database.connect_with(session);
                for turn in 0..4 {
                    connection.drop_index("by_b").expect("dropped");
                    if turn % 2 == 0 {
                        let added = ColumnSpec::new(&format!("new{turn}"), Type::BigInt);
                        let added =
                            Alteration::AddColumn(added.default_value(Value::Int(1).to_owned()));
                        connection.alter_table("triple", &added).expect("added");
                    }
                    let table = connection.table("triple").expect("there");
                    let mut tx = connection.begin();
                    tx.update_where(&table, Selection::All, None, |row, set| {
                        set.set(1, Value::Int(row.get_i64(1).unwrap_or(0) + 1))
                    })
                    .expect("changed");
                    tx.commit().expect("committed");
                    let by_b = IndexSpec::new("by_b", "triple", ["b"]);
                    connection.create_index(&by_b).expect("made");
                }
            });
            let readers = (0..2).map(|number| {
                let name = format!("reader{number}");
                let reads = reads.clone();
                start(&name, (database, session), move |database, session| {
                    let mut connection = database.connect_with(session);
                    for turn in 0..40 {
                        let came_to = read_consistently(&mut connection, 10 + turn % 14);
                        reads.with(|all| all[came_to as usize] += 1);
                    }
                })
            });
            let mut threads: Vec<_> = readers.collect();
            threads.push(writer);
            join(threads, session);
        });
    }
    let [without, good, refused] = reads.take();
    println!("{without} reads without the index, {good} by it, {refused} were refused");
    assert!(without > 0 && good > 300, "{without} reads without the index, {good} by it");
    assert!(refused > 0, "the index never went while it was read");
}

/// Whether the index wasn't there (0), led to what it has to (1), or went meanwhile (2).
fn read_consistently(connection: &mut Connection<'_>, b: i64) -> u32 {
    let table = connection.table("triple").expect("there");
    let mut count = 0;
    connection.scan(&table, |_| count += 1).expect("a column that was added is no damage");
    assert_eq!(count, 10);
    let Ok(by_b) = table.index("by_b") else { return 0 };
    let (key, mut wrong, mut found) = ([Value::Int(b)], None, 0);
    let read = connection.range(&table, by_b, &Bounds::equal(&key), Direction::Ascending, |row| {
        wrong = row.get_i64(1).filter(|found| *found != b).or(wrong);
        found += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(wrong, None, "a row of another key by {b}");
    match read.map_err(|stop| (stop.refusal(), stop)) {
        Ok(()) => {
            // Ten rows from 10 on, all of them raised by 0 to 4.
            let expected = if (14..20).contains(&b) { 1..=1 } else { 0..=1 };
            assert!(expected.contains(&found), "{found} rows by {b}");
            1
        }
        // The index went while it was read.
        Err((
            Some(ErrorKind::NotFound | ErrorKind::SnapshotTooOld | ErrorKind::DefinitionChanged),
            _,
        )) => 2,
        Err((_, stop)) => panic!("{stop}"),
    }
}

/// What a definition has changed for is repeated, ten times at most.
#[test]
fn a_transaction_whose_definition_changed_is_done_again() {
    let scratch = Folder::absent("done-again");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    filled(&mut connection);
    let changed = |connection: &mut Connection<'_>| {
        let table = connection.table("triple").expect("there");
        let by_b = table.index("by_b").expect("there");
        connection.drop_index("by_b").expect("dropped");
        let spec = IndexSpec::new("by_b", "triple", ["b"]);
        connection.create_index(&spec).expect("made");
        (table, by_b)
    };
    let (table, gone) = changed(&mut connection);
    let (mut tries, key) = (0, [Value::Int(1)]);
    let done = connection.transact(|tx| {
        tries += 1;
        tx.update(&table, &key, |_, set| set.set(1, Value::Int(tries)))?;
        match tries {
            1 => Err(definition_changed()),
            _ => Ok(tries),
        }
    });
    assert_eq!((done.expect("the second try"), tries), (2, 2));
    let mut tries = 0;
    let refused = connection.transact(|_| -> Result<(), Error> {
        tries += 1;
        Err(definition_changed())
    });
    let refused = refused.expect_err("it never came to an end");
    assert_eq!((refused.refusal(), tries), (Some(ErrorKind::DefinitionChanged), 10));
    assert!(database::is_worth_repeating(&refused));
    assert_ne!(connection.table("triple").expect("there").index("by_b").expect("there"), gone);
    drop(connection);
    database.shutdown().expect("in good order");
}

fn definition_changed() -> Error {
    Error::refuse(ErrorKind::DefinitionChanged, "the table was changed by a test")
}

/// Two CREATE INDEX hold a table together; what is refused one after the other is refused then too.
#[test]
fn two_indexes_of_the_same_columns_are_not_made_at_once_either() {
    let scratch = Folder::absent("same-columns");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let table = filled(&mut connection);
    let watch = database.connect("watch");
    let mut holder = connection.begin();
    holder.update(&table, &[Value::Int(9)], |_, set| set.set(2, Value::Int(1))).expect("held");
    let made = std::thread::scope(|scope| {
        let make = |name: &'static str| {
            let database = &database;
            let spec = IndexSpec::new(name, "triple", ["c", "b"]);
            scope.spawn(move || database.connect(name).create_index(&spec).map(drop))
        };
        let both = [make("one"), make("two")];
        until_waiting(&database, &watch, 2);
        holder.commit().expect("committed");
        both.map(|thread| thread.join().expect("it didn't panic"))
    });
    let refused: Vec<_> = made.iter().filter_map(|made| made.as_ref().err()).collect();
    assert_eq!(refused.len(), 1, "{made:?}");
    assert!(refused[0].to_string().contains("has the same columns"), "{}", refused[0]);
    let table = connection.table("triple").expect("there");
    assert_eq!(table.definition().indexes.len(), 5);
}
