//! Sessions, as an application runs them: transactions, settings, prepared statements, definitions.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "as a user it does nothing for a while")]

mod sql_common;

use std::time::Duration;

use database::{Connection, Error, Prepared, SqlState, Value};
use sql_common::{Small, refused, refused_with, rows, rows_with, run, run_with, value};

fn with_notes(small: &Small) -> Connection<'static> {
    let mut connection = small.connect("app");
    run(&mut connection, "create table note (id bigint primary key, text varchar(10) not null)");
    connection
}

fn count(connection: &mut Connection<'_>) -> String {
    value(connection, "select count(*) from note")
}

/// SQ60: what isn't within BEGIN is committed by itself.
#[test]
fn a_statement_alone_is_a_transaction() {
    let small = Small::new("sql-alone");
    let mut one = with_notes(&small);
    run(&mut one, "insert into note values (1, 'a')");
    let mut other = small.connect("other");
    assert_eq!(count(&mut other), "1");
    run(&mut one, "begin");
    run(&mut one, "insert into note values (2, 'b')");
    assert_eq!(count(&mut other), "1");
    run(&mut one, "commit");
    assert_eq!(count(&mut other), "2");
    run(&mut one, "begin");
    run(&mut one, "delete from note");
    run(&mut one, "rollback");
    assert_eq!(count(&mut one), "2");
}

/// SQ61: a refused statement leaves nothing, and the transaction goes on.
#[test]
fn a_transaction_goes_on_behind_a_refused_statement() {
    let small = Small::new("sql-refused");
    let mut connection = with_notes(&small);
    run(&mut connection, "begin");
    run(&mut connection, "insert into note values (1, 'a')");
    let twice = "insert into note values (2, 'b'), (1, 'c')";
    assert_eq!(refused(&mut connection, twice), SqlState::UNIQUE_VIOLATION);
    assert_eq!(refused(&mut connection, "select * from nothing"), SqlState::UNDEFINED_TABLE);
    assert_eq!(count(&mut connection), "1");
    run(&mut connection, "insert into note values (3, 'd')");
    run(&mut connection, "commit");
    assert_eq!(rows(&mut connection, "select id from note order by id"), ["1", "3"]);
}

/// SQ61: of a LOCK TABLE that is refused at a later table nothing is left, and what its transaction
/// had before stays.
#[test]
fn a_lock_table_that_is_refused_gives_back_what_it_took() {
    let small = Small::new("sql-lock-refused");
    let (mut one, mut other) = (small.connect("one"), small.connect("other"));
    for table in ["free", "shared", "changed", "busy"] {
        run(&mut one, &format!("create table {table} (id bigint primary key)"));
    }
    run(&mut one, "insert into changed values (1)");
    run(&mut other, "begin");
    run(&mut other, "lock table busy in share mode");
    run(&mut one, "begin");
    run(&mut one, "lock table shared in share mode");
    run(&mut one, "update changed set id = 2");
    let busy = "lock table free, shared, changed, free, busy in exclusive mode nowait";
    assert_eq!(refused(&mut one, busy), SqlState::LOCK_NOT_AVAILABLE);
    let unknown = "lock table changed, free, shared, nothing in exclusive mode nowait";
    assert_eq!(refused(&mut one, unknown), SqlState::UNDEFINED_TABLE);
    run(&mut other, "lock table free in exclusive mode nowait");
    for (table, stays, is_refused) in
        [("shared", "share", "row exclusive"), ("changed", "row exclusive", "share")]
    {
        let lock = |mode: &str| format!("lock table {table} in {mode} mode nowait");
        assert_eq!(refused(&mut other, &lock(is_refused)), SqlState::LOCK_NOT_AVAILABLE);
        run(&mut other, &lock(stays));
    }
    // The transaction goes on, and locks anew what it changes.
    assert_eq!(refused(&mut one, busy), SqlState::LOCK_NOT_AVAILABLE);
    run(&mut other, "commit");
    run(&mut one, "update changed set id = 3");
    run(&mut one, "lock table free, shared, changed, busy in exclusive mode nowait");
    run(&mut one, "commit");
    assert_eq!(value(&mut one, "select id from changed"), "3");
}

#[test]
fn savepoints_are_found_by_their_names() {
    let small = Small::new("sql-savepoints");
    let mut connection = with_notes(&small);
    assert_eq!(refused(&mut connection, "savepoint a"), SqlState::NO_ACTIVE_SQL_TRANSACTION);
    run(&mut connection, "begin");
    run(&mut connection, "insert into note values (1, 'a')");
    run(&mut connection, "savepoint a");
    run(&mut connection, "insert into note values (2, 'b')");
    run(&mut connection, "savepoint b");
    run(&mut connection, "insert into note values (3, 'c')");
    run(&mut connection, "rollback to b");
    assert_eq!(count(&mut connection), "2");
    run(&mut connection, "rollback to savepoint a");
    assert_eq!(count(&mut connection), "1");
    let gone = refused(&mut connection, "rollback to b");
    assert_eq!(gone, SqlState::INVALID_SAVEPOINT_SPECIFICATION);
    run(&mut connection, "release a");
    assert_eq!(refused(&mut connection, "release a"), SqlState::INVALID_SAVEPOINT_SPECIFICATION);
    run(&mut connection, "commit");
    assert_eq!(count(&mut connection), "1");
}

#[test]
fn a_transaction_has_the_isolation_that_it_asks_for() {
    let small = Small::new("sql-isolation");
    let (mut one, mut other) = (with_notes(&small), small.connect("other"));
    run(&mut one, "insert into note values (1, 'a')");
    run(&mut one, "begin isolation level serializable");
    assert_eq!(value(&mut one, "show transaction_isolation"), "serializable");
    assert_eq!(count(&mut one), "1");
    run(&mut other, "insert into note values (2, 'b')");
    run(&mut other, "update note set text = 'x' where id = 1");
    assert_eq!(count(&mut one), "1");
    let late = "update note set text = 'y' where id = 1";
    assert_eq!(refused(&mut one, late), SqlState::SERIALIZATION_FAILURE);
    run(&mut one, "rollback");
    run(&mut one, "begin read only");
    let change = "insert into note values (9, 'z')";
    assert_eq!(refused(&mut one, change), SqlState::READ_ONLY_SQL_TRANSACTION);
    run(&mut one, "commit");
    run(&mut one, "set default_transaction_read_only = on");
    assert_eq!(refused(&mut one, change), SqlState::READ_ONLY_SQL_TRANSACTION);
    run(&mut one, "reset all");
    run(&mut one, change);
}

/// The place of what is wrong is one of the text that the user has written.
#[test]
fn a_refusal_of_execute_points_into_no_other_text() {
    let small = Small::new("sql-execute-place");
    let mut connection = with_notes(&small);
    let place = |connection: &mut Connection<'_>, text: &str| {
        let stop = connection.execute(text, &[]).map(|_| ()).expect_err(text);
        match stop {
            Error::Refused(refusal) => refusal.parts().position,
            halted @ Error::Halted(_) => panic!("{text}: {halted}"),
        }
    };
    run(&mut connection, "prepare find as select id from note where text = 'a'");
    assert_eq!(place(&mut connection, "prepare wrong as select ids from note"), Some(25));
    run(&mut connection, "prepare two as select id from note where id = $1 and text = $2");
    assert_eq!(place(&mut connection, "execute two (1, nothing)"), Some(17));
    assert_eq!(place(&mut connection, "execute find (1, nothing)"), None);
    run(&mut connection, "alter table note rename column text to body");
    assert_eq!(place(&mut connection, "execute find"), None);
    assert_eq!(place(&mut connection, "explain execute find"), None);
    assert_eq!(place(&mut connection, "explain analyze execute find"), None);
    let written = "select id from note where text = 'a'";
    assert_eq!(place(&mut connection, written), Some(27));
}

/// SHOW PARAMETER lists what has the word in its name, as SQL*Plus does.
#[test]
fn show_parameter_lists_what_matches() {
    let small = Small::new("sql-show-parameter");
    let mut connection = small.connect("app");
    let all = |connection: &mut Connection<'_>, text: &str| {
        let mut answer = connection.answer(text, &[]).expect("shown");
        let mut names: Vec<String> = Vec::new();
        loop {
            names.extend(answer.first.iter().map(|row| row.value(0).to_string()));
            let Some(cursor) = &answer.cursor else { return names };
            if !connection.fetch(cursor, 1_000, &mut answer.first).expect("read") {
                return names;
            }
        }
    };
    let cache = all(&mut connection, "show parameter cache");
    assert!(cache.iter().any(|name| name.contains("db_cache_size")), "{cache:?}");
    assert!(cache.iter().all(|name| name.contains("cache")), "{cache:?}");
    let timeouts = all(&mut connection, "show parameter _timeout");
    assert!(timeouts.iter().any(|name| name.contains("lock_timeout")), "{timeouts:?}");
    assert_eq!(refused(&mut connection, "show parameter nonesuch"), SqlState::UNDEFINED_OBJECT);
}

/// A value of a sequence is a change, which no rollback takes back.
#[test]
fn a_transaction_that_only_reads_takes_no_value_of_a_sequence() {
    let small = Small::new("sql-read-only-sequence");
    let mut connection = small.connect("app");
    run(&mut connection, "create sequence s");
    assert_eq!(value(&mut connection, "select nextval('s')"), "1");
    let (next, state) = ("select nextval('s')", SqlState::READ_ONLY_SQL_TRANSACTION);
    run(&mut connection, "begin read only");
    assert_eq!(refused(&mut connection, next), state);
    assert_eq!(value(&mut connection, "select currval('s')"), "1");
    run(&mut connection, "commit");
    run(&mut connection, "set default_transaction_read_only = on");
    assert_eq!(refused(&mut connection, next), state);
    run(&mut connection, "begin read write");
    assert_eq!(value(&mut connection, next), "2");
    run(&mut connection, "commit");
    run(&mut connection, "reset all");
    assert_eq!(value(&mut connection, next), "3");
}

/// SQ62: a definition is a transaction of its own.
#[test]
fn a_definition_is_refused_in_a_transaction_with_changes() {
    let small = Small::new("sql-ddl");
    let mut connection = with_notes(&small);
    run(&mut connection, "begin");
    run(&mut connection, "create table other (n integer)");
    run(&mut connection, "insert into note values (1, 'a')");
    let define = "create table third (n integer)";
    assert_eq!(refused(&mut connection, define), SqlState::ACTIVE_SQL_TRANSACTION);
    run(&mut connection, "rollback");
    run(&mut connection, define);
    assert_eq!(count(&mut connection), "0");
    assert_eq!(value(&mut connection, "select count(*) from other"), "0");
}

#[test]
fn settings_are_shown_and_end_with_their_transaction() {
    let small = Small::new("sql-settings");
    let mut connection = small.connect("app");
    run(&mut connection, "set application_name = 'loader'");
    assert_eq!(value(&mut connection, "show application_name"), "loader");
    run(&mut connection, "begin");
    run(&mut connection, "set local application_name = 'other'");
    assert_eq!(value(&mut connection, "select current_setting('application_name')"), "other");
    run(&mut connection, "commit");
    assert_eq!(value(&mut connection, "show application_name"), "loader");
    assert_eq!(refused(&mut connection, "set no_such = 1"), SqlState::UNDEFINED_OBJECT);
    let zone = refused(&mut connection, "set timezone = 'Europe/Zurich'");
    assert_eq!(zone, SqlState::INVALID_PARAMETER_VALUE);
    assert!(!value(&mut connection, "show db_cache_size").is_empty());
}

#[test]
fn a_named_statement_is_executed_with_values() {
    let small = Small::new("sql-named");
    let mut connection = with_notes(&small);
    run(&mut connection, "prepare add (bigint, text) as insert into note values ($1, $2)");
    assert_eq!(run(&mut connection, "execute add (1 + 1, 'a' || 'b')"), 1);
    run(&mut connection, "prepare find as select text from note where id = $1");
    assert_eq!(rows(&mut connection, "execute find (2)"), ["ab"]);
    let again = "prepare find as select 1";
    assert_eq!(refused(&mut connection, again), SqlState::DUPLICATE_PREPARED_STATEMENT);
    run(&mut connection, "deallocate find");
    let gone = refused(&mut connection, "execute find (2)");
    assert_eq!(gone, SqlState::INVALID_SQL_STATEMENT_NAME);
}

/// SQ13: a parameter is compared as it is given.
#[test]
fn parameters_are_taken_as_they_are_compared() {
    let small = Small::new("sql-parameters");
    let mut connection = with_notes(&small);
    run(&mut connection, "insert into note values (7, 'a'), (8, 'b')");
    let by_key = "select text from note where id = $1";
    let number = |text: &str| Value::Number(text.parse().expect("a number"));
    assert!(rows_with(&mut connection, by_key, &[number("7.5")]).is_empty());
    assert_eq!(rows_with(&mut connection, by_key, &[Value::Text("7")]), ["a"]);
    let above = "select text from note where id > $1";
    assert_eq!(rows_with(&mut connection, above, &[number("7.5")]), ["b"]);
    let wrong = refused_with(&mut connection, by_key, &[Value::Text("seven")]);
    assert_eq!(wrong, SqlState::INVALID_TEXT_REPRESENTATION);
    let truth = refused_with(&mut connection, by_key, &[Value::Boolean(true)]);
    assert_eq!(truth, SqlState::DATATYPE_MISMATCH);
    let few = refused_with(&mut connection, by_key, &[]);
    assert_eq!(few, SqlState::PROTOCOL_VIOLATION);
}

#[test]
fn tables_have_what_their_definitions_say() {
    let small = Small::new("sql-tables");
    let mut connection = small.connect("app");
    run(
        &mut connection,
        "create table part (id bigint generated always as identity primary key, \
         name text default 'none', price number(8,2) check (price > 0 or price is null), \
         made date default current_date, half number default 1 / 2.0, \
         constraint cheap check (price < 1000 and length(name) < 20))",
    );
    run(&mut connection, "insert into part (price) values (3.456)");
    assert_eq!(
        rows(&mut connection, "select id, name, price, half from part"),
        ["1|none|3.46|0.5"]
    );
    let negative = "insert into part (price) values (-1)";
    assert_eq!(refused(&mut connection, negative), SqlState::CHECK_VIOLATION);
    let given = "insert into part (id) values (7)";
    assert_eq!(refused(&mut connection, given), SqlState::GENERATED_ALWAYS);
    run(&mut connection, "alter table part add column weight integer not null default 5");
    run(&mut connection, "alter table part rename column name to title");
    run(&mut connection, "alter table part alter column weight type number(6,1)");
    assert_eq!(rows(&mut connection, "select title, weight from part"), ["none|5"]);
    run(&mut connection, "create table sub (part bigint references part on delete cascade)");
    run(&mut connection, "insert into sub values (1)");
    run(&mut connection, "delete from part");
    assert_eq!(value(&mut connection, "select count(*) from sub"), "0");
    run(&mut connection, "drop table if exists nothing");
    run(&mut connection, "drop table sub, part");
    assert_eq!(refused(&mut connection, "select * from part"), SqlState::UNDEFINED_TABLE);
}

/// A CHECK is about the same columns when they, or the table, have other names.
#[test]
fn a_check_says_the_new_names() {
    let small = Small::new("sql-renamed");
    let mut connection = small.connect("app");
    let create = "create table odd (length int, date text, constraint fits check \
                  (length(date) > length and date <> 'length' and odd.\"length\" < 9))";
    run(&mut connection, create);
    run(&mut connection, "alter table odd rename column length to \"Size\"");
    run(&mut connection, "alter table odd rename to even");
    run(&mut connection, "alter table even rename column date to \"size\"");
    run(&mut connection, "insert into even values (1, 'ab')");
    for wrong in ["(2, 'ab')", "(1, 'length')", "(9, 'abcdefghijkl')"] {
        let insert = format!("insert into even values {wrong}");
        assert_eq!(refused(&mut connection, &insert), SqlState::CHECK_VIOLATION, "{wrong}");
    }
    let checks = "select search_condition from user_constraints where constraint_name = 'fits'";
    assert_eq!(
        value(&mut connection, checks),
        "length(size) > \"Size\" and size <> 'length' and even.\"Size\" < 9"
    );
}

#[test]
fn a_view_shows_what_its_query_says() {
    let small = Small::new("sql-views");
    let mut connection = with_notes(&small);
    run(&mut connection, "insert into note values (1, 'a'), (2, 'b')");
    run(&mut connection, "create view all_notes as select * from note");
    run(
        &mut connection,
        "create view upper_notes (id, big) as select id, upper(text) from all_notes",
    );
    run(&mut connection, "alter table note add column more integer");
    assert_eq!(rows(&mut connection, "select * from all_notes order by id"), ["1|a", "2|b"]);
    assert_eq!(rows(&mut connection, "select big from upper_notes where id = 2"), ["B"]);
    let change = "update upper_notes set big = 'x'";
    assert_eq!(refused(&mut connection, change), SqlState::WRONG_OBJECT_TYPE);
    run(&mut connection, "drop view all_notes cascade");
    assert_eq!(refused(&mut connection, "select * from upper_notes"), SqlState::UNDEFINED_TABLE);
}

#[test]
fn a_table_is_made_of_a_query() {
    let small = Small::new("sql-ctas");
    let mut connection = with_notes(&small);
    let filled = "create table many as select g as n, 'row ' || g as label \
                  from generate_series(1, 5000) g";
    assert_eq!(run(&mut connection, filled), 5_000);
    assert_eq!(rows(&mut connection, "select sum(n), max(label) from many"), ["12502500|row 999"]);
    let failing = "create table broken as select 1 / (3 - g) as n from generate_series(1, 5) g";
    assert_eq!(refused(&mut connection, failing), SqlState::DIVISION_BY_ZERO);
    assert_eq!(refused(&mut connection, "select * from broken"), SqlState::UNDEFINED_TABLE);
    run(&mut connection, "create table empty as select * from many with no data");
    assert_eq!(value(&mut connection, "select count(*) from empty"), "0");
}

#[test]
fn statistics_change_plans_and_not_answers() {
    let small = Small::new("sql-analyze");
    let mut connection = with_notes(&small);
    let fill = "insert into note select g, 'n' || g from generate_series(1, 3000) g";
    run(&mut connection, fill);
    let query = "select count(*) from note a join note b on b.id = a.id where a.id between 5 and 9";
    let before = value(&mut connection, query);
    run(&mut connection, "analyze");
    run(&mut connection, "analyze note sample 50 percent");
    assert_eq!(value(&mut connection, query), before);
    let plan = rows(&mut connection, "explain select text from note where id = 5").join("\n");
    assert!(plan.contains("Index lookup of note by note_pkey"), "{plan}");
    assert!(plan.contains("Plan hash value"), "{plan}");
    run(&mut connection, "analyze table note delete statistics");
    assert_eq!(value(&mut connection, query), before);
}

/// What ANALYZE found when the table was empty says nothing of it now (rule sql/SQ36); what it
/// finds later makes plans anew.
#[test]
fn plans_follow_statistics_of_a_table_that_was_empty_once() {
    let small = Small::new("sql-was-empty");
    let mut connection = small.connect("app");
    run(&mut connection, "create table task (id bigint primary key, state bigint, text text)");
    run(&mut connection, "create index task_state on task (state)");
    run(&mut connection, "analyze task");
    run(&mut connection, "insert into task select g, 1, 'n' from generate_series(1, 3000) g");
    let text = "explain select text from task where state = 1";
    let before = rows(&mut connection, text).join("\n");
    assert!(before.contains("Index range scan of task by task_state"), "{before}");
    assert!(!before.contains(" rows=1)"), "{before}");
    run(&mut connection, "analyze task");
    let after = rows(&mut connection, text).join("\n");
    assert!(after.contains(" rows=3000)"), "{after}");
}

/// The operations and the hash of the plan that a text has.
fn plan_of(connection: &mut Connection<'_>, text: &str) -> (String, String) {
    let plan = "select p.operation from v$sql_plan p join v$sql s \
                on s.sql_id = p.sql_id and s.child_number = p.child_number \
                where s.sql_text = $1 order by p.id";
    let operations = rows_with(connection, plan, &[Value::Text(text)]).join(" < ");
    let hash = "select plan_hash_value from v$sql where sql_text = $1";
    (operations, rows_with(connection, hash, &[Value::Text(text)]).join(" and "))
}

/// How often a text was run with the plan that it has.
fn runs_of(connection: &mut Connection<'_>, text: &str) -> String {
    let runs = "select executions from v$sql where sql_text = $1";
    rows_with(connection, runs, &[Value::Text(text)]).join(" and ")
}

/// How many rows a statement that is kept gives of the one state that there is.
fn given(connection: &mut Connection<'_>, kept: &Prepared) -> usize {
    let mut rows = 0;
    for row in connection.query_prepared(kept, &[Value::Int(1)]).expect("run") {
        row.expect("read");
        rows += 1;
    }
    rows
}

/// Rule sql/SQ36: what is planned sees how large a table is now, and plans that are kept are made
/// anew, in all sessions, when it is ten times as large. If it has hardly grown nothing is made.
#[test]
fn a_plan_follows_a_table_that_grows() {
    let small = Small::new("sql-grows");
    let (mut one, mut other) = (small.connect("one"), small.connect("other"));
    run(&mut one, "create table task (id bigint primary key, state bigint, text text)");
    run(&mut one, "create index task_state on task (state)");
    let fill = "insert into task select g, 1, repeat('n', 100) from generate_series";
    run(&mut one, &format!("{fill}(1, 100) g"));
    run(&mut one, "analyze task");
    let explain = "explain select text from task where state = 1";
    let found = rows(&mut one, explain).join("\n");
    assert!(found.contains("Table scan of task"), "{found}");
    let text = "select text from task where state = $1";
    let (of_one, of_other) =
        (one.prepare(text).expect("prepared"), other.prepare(text).expect("prepared"));
    assert_eq!(given(&mut one, &of_one), 100);
    assert_eq!(given(&mut other, &of_other), 100);
    let (before, hash) = plan_of(&mut one, text);
    assert!(before.contains("Table scan"), "{before}");

    // Longer than sizes hold.
    let a_while = Duration::from_millis(1_100);
    run(&mut one, &format!("{fill}(101, 120) g"));
    std::thread::sleep(a_while);
    assert_eq!(given(&mut one, &of_one), 120);
    assert_eq!(given(&mut other, &of_other), 120);
    assert_eq!(plan_of(&mut one, text), (before, hash.clone()));
    assert_eq!(runs_of(&mut one, text), "4", "nothing was made anew");

    run(&mut one, &format!("{fill}(121, 20000) g"));
    let found = rows(&mut one, explain).join("\n");
    assert!(found.contains("Index range scan of task by task_state"), "{found}");
    std::thread::sleep(a_while);
    assert_eq!(given(&mut one, &of_one), 20_000);
    let (after, new_hash) = plan_of(&mut one, text);
    assert!(after.contains("Index range scan"), "{after}");
    assert_ne!(new_hash, hash);
    assert_eq!(runs_of(&mut one, text), "1", "a new plan");
    // The other session gets that one, and doesn't make one of its own.
    assert_eq!(given(&mut other, &of_other), 20_000);
    std::thread::sleep(a_while);
    assert_eq!(given(&mut other, &of_other), 20_000);
    assert_eq!(runs_of(&mut one, text), "3");
}

#[test]
fn a_prepared_text_follows_its_tables() {
    let small = Small::new("sql-follows");
    let mut connection = with_notes(&small);
    run_with(
        &mut connection,
        "insert into note values ($1, $2)",
        &[Value::Int(1), Value::Text("a")],
    );
    let all = "select * from note";
    assert_eq!(rows(&mut connection, all), ["1|a"]);
    run(&mut connection, "alter table note add column n integer default 3");
    assert_eq!(rows(&mut connection, all), ["1|a|3"]);
    run(&mut connection, "drop table note");
    assert_eq!(refused(&mut connection, all), SqlState::UNDEFINED_TABLE);
    run(&mut connection, "create table note (single integer)");
    assert!(rows(&mut connection, all).is_empty());
}
