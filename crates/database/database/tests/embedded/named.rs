//! Rows that name some of their columns; numbers.

use database::{
    Alteration, ColumnSpec, Database, ErrorKind, SequenceOptions, TableSpec, Type, Value,
};

use crate::common::{Folder, options};

fn task() -> TableSpec {
    TableSpec::new("task")
        .column(ColumnSpec::new("id", Type::BigInt).identity(true))
        .column(ColumnSpec::new("what", Type::Text).not_null())
        .column(ColumnSpec::new("state", Type::Text).default_value(Value::Text("new").to_owned()))
        .primary_key(["id"])
}

#[test]
fn columns_that_are_not_named_get_their_defaults_and_numbers() {
    let scratch = Folder::absent("named");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let task = connection.create_table(&task()).expect("made");
    let mut tx = connection.begin();
    let sweep = ("what", Value::Text("sweep"));
    let first = tx.insert_named(&task, &[sweep]).expect("inserted");
    let second =
        tx.insert_named(&task, &[("state", Value::Null), sweep]).expect("in whatever order");
    assert_eq!((first.identity, second.identity), (Some(1), Some(2)));
    tx.rollback().expect("taken back");

    let mut tx = connection.begin();
    let third = tx.insert_named(&task, &[sweep]).expect("inserted");
    assert_eq!(third.identity, Some(3), "a number that was given doesn't come again");
    let state = tx.get(&task, &[Value::Int(3)], |row| row.get_text(2).map(str_of));
    assert_eq!(state.expect("read").expect("there").expect("a text"), "new");
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
}

fn str_of(text: Option<&str>) -> String {
    text.unwrap_or("NULL").to_owned()
}

#[test]
fn what_is_named_wrongly_is_refused_and_takes_no_number() {
    let scratch = Folder::absent("misnamed");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let task = connection.create_table(&task()).expect("made");
    let mut tx = connection.begin();
    let what = ("what", Value::Text("sweep"));
    let refused = [
        (vec![("id", Value::Int(9)), what], ErrorKind::Invalid, "GENERATED ALWAYS"),
        (vec![what, what], ErrorKind::Invalid, "column what twice"),
        (vec![("waht", Value::Null)], ErrorKind::NotFound, "did you mean what?"),
    ];
    for (given, kind, says) in refused {
        let stop = tx.insert_named(&task, &given).expect_err("refused");
        assert_eq!(stop.refusal(), Some(kind), "{stop}");
        assert!(stop.to_string().contains(says), "{stop}");
    }
    assert_eq!(tx.insert_named(&task, &[what]).expect("inserted").identity, Some(1));
    let null = tx.insert_named(&task, &[]).expect_err("what may not be NULL");
    assert_eq!(null.refusal(), Some(ErrorKind::NotNullViolation), "{null}");
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn names_and_defaults_are_those_of_now() {
    let scratch = Folder::absent("names-now");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let task = connection.create_table(&task()).expect("made");
    let rename = Alteration::RenameColumn { from: "what".into(), to: "title".into() };
    connection.alter_table("task", &rename).expect("renamed");
    let urgency = ColumnSpec::new("urgency", Type::Integer).default_value(Value::Int(5).to_owned());
    connection.alter_table("task", &Alteration::AddColumn(urgency)).expect("added");
    let mut tx = connection.begin();
    let old = tx.insert_named(&task, &[("what", Value::Text("sweep"))]).expect_err("renamed");
    assert_eq!(old.refusal(), Some(ErrorKind::NotFound), "{old}");
    tx.insert_named(&task, &[("title", Value::Text("sweep"))]).expect("inserted");
    let urgency = tx.get(&task, &[Value::Int(1)], |row| row.get_i64(3)).expect("read");
    assert_eq!(urgency.flatten(), Some(5));
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn the_next_value_of_a_sequence_is_nobody_elses() {
    let scratch = Folder::absent("next-value");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    one.create_sequence("ticket", &SequenceOptions::default()).expect("made");
    let mut tx = one.begin();
    assert_eq!(tx.next_value("ticket").expect("a value"), 1);
    assert_eq!(other.next_value("ticket").expect("a value"), 2);
    tx.rollback().expect("ended");
    assert_eq!(one.next_value("ticket").expect("a value"), 3);
    let missing = one.next_value("tickets").expect_err("there is none");
    assert_eq!(missing.refusal(), Some(ErrorKind::NotFound), "{missing}");
    drop((one, other));
    database.shutdown().expect("in good order");
}

#[test]
fn an_identity_that_is_always_generated_is_set_to_no_other_value() {
    let scratch = Folder::absent("always");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let task = connection.create_table(&task()).expect("made");
    let mut tx = connection.begin();
    tx.insert_named(&task, &[("what", Value::Text("sweep"))]).expect("inserted");
    let mut set_to = |id| tx.update(&task, &[Value::Int(1)], |_, set| set.set(0, id));
    let refused = set_to(Value::Int(2)).expect_err("a number that it may give later");
    assert_eq!(refused.refusal(), Some(ErrorKind::Invalid), "{refused}");
    for part in ["id", "task", "GENERATED ALWAYS"] {
        assert!(refused.to_string().contains(part), "{part}: {refused}");
    }
    assert!(set_to(Value::Int(1)).expect("it stays as it is"));
    tx.insert_named(&task, &[("what", Value::Text("wash"))]).expect("2 is free");
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
}
