//! Definitions in SQL: those that meet, and those that are of one piece.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "as an application it has threads of its own")]

mod sql_common;

use std::fmt::Display;
use std::sync::mpsc;

use database::{Connection, Nanos, SqlState};
use sql_common::{Small, refused, rows, run, value};

const STATE: SqlState = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;

/// Waits until this session waits for the lock of a table.
fn until_it_waits(connection: &mut Connection<'_>, sid: impl Display) {
    let asked = format!("select state, event from v$session where sid = {sid}");
    let began = connection.session().now();
    loop {
        let found = rows(connection, &asked);
        if found.iter().any(|line| line.starts_with("WAITING|enq: TM")) {
            return;
        }
        let waited = connection.session().now().since(began);
        assert!(waited < Nanos::from_secs(30), "it waits for no table: {found:?}");
        std::thread::yield_now();
    }
}

/// Has one session alter a table, which waits for the lock of another one. Meanwhile `then` is
/// done. Returns with what the alteration is refused.
fn alter_meanwhile(small: &Small, table: &str, alter: &str, then: &str) -> SqlState {
    let (mut holder, mut other) = (small.connect("holder"), small.connect("other"));
    run(&mut holder, "begin");
    run(&mut holder, &format!("update {table} set id = id"));
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let mut waiter = small.connect("waiter");
            tell.send(waiter.session().number().sid).expect("somebody listens");
            refused(&mut waiter, alter)
        });
        until_it_waits(&mut other, told.recv().expect("it connects"));
        run(&mut other, then);
        run(&mut holder, "commit");
        waiter.join().expect("it is refused")
    })
}

/// SQ66: a view that is made while ALTER TABLE waits for its lock gives what it gave.
#[test]
fn a_view_that_is_made_while_its_table_is_altered_stays() {
    for (name, alter) in [
        ("sql-met-added", "alter table u add column a bigint default 1"),
        ("sql-met-renamed", "alter table u rename column b to a"),
    ] {
        let small = Small::new(name);
        let mut connection = small.connect("app");
        run(&mut connection, "create table t (id bigint, a bigint)");
        run(&mut connection, "create table u (id bigint, b bigint)");
        run(&mut connection, "insert into t values (1, 1), (2, 2)");
        run(&mut connection, "insert into u values (5, 1)");
        let view = "create view v as select id from t where exists (select 1 from u where a = 1)";
        assert_eq!(alter_meanwhile(&small, "u", alter, view), STATE, "{alter}");
        assert_eq!(rows(&mut connection, "select * from v"), ["1"], "{alter}");
    }
}

/// SQ66: two tables that a view joins by columns of one name don't get one each at the same time.
#[test]
fn two_tables_of_a_view_are_not_altered_past_each_other() {
    let small = Small::new("sql-met-natural");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (id bigint, a bigint)");
    run(&mut connection, "create table u (x bigint, b bigint)");
    run(&mut connection, "insert into t values (1, 1), (2, 2)");
    run(&mut connection, "insert into u values (5, 1)");
    run(&mut connection, "create view v as select t.id from t natural join u");
    let (alter, then) = ("alter table t add column c bigint", "alter table u add column c bigint");
    assert_eq!(alter_meanwhile(&small, "t", alter, then), STATE);
    assert_eq!(value(&mut connection, "select sum(id) from v"), "3");
}

/// SQ68: what ALTER TABLE has looked at before it had its lock is looked at again.
#[test]
fn a_table_that_is_altered_meanwhile_is_looked_at_again() {
    let small = Small::new("sql-met-altered");
    let (mut holder, mut other) = (small.connect("holder"), small.connect("other"));
    run(&mut holder, "create table t (id bigint)");
    run(&mut holder, "insert into t values (1)");
    run(&mut holder, "begin");
    run(&mut holder, "update t set id = id");
    let alter = "alter table t add column if not exists a bigint default 7, \
                 add column if not exists b bigint default 8";
    std::thread::scope(|scope| {
        for name in ["first", "second"] {
            let (small, (tell, told)) = (&small, mpsc::channel());
            scope.spawn(move || {
                let mut waiter = small.connect(name);
                tell.send(waiter.session().number().sid).expect("somebody listens");
                run(&mut waiter, alter);
            });
            until_it_waits(&mut other, told.recv().expect("it connects"));
        }
        run(&mut holder, "commit");
    });
    assert_eq!(rows(&mut other, "select * from t"), ["1|7|8"]);
}

/// SQ68: each action is bound by the table as the ones before it leave it.
#[test]
fn what_is_altered_together_is_bound_as_it_will_be() {
    let small = Small::new("sql-altered-together");
    let mut connection = small.connect("app");
    for text in [
        "create table t (id bigint, a text, b text)",
        "create table u (x bigint)",
        "insert into t values (1, '5', 'x')",
        "insert into u values (1)",
        "create view v as select id from t",
        "create view w as select x from u where exists (select 1 from t where id = x)",
    ] {
        run(&mut connection, text);
    }
    let needed = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
    for (text, state) in [
        ("alter table t drop column id, add column id bigint", needed),
        ("alter table t add column c bigint, add column x bigint", STATE),
        ("alter table t add column c bigint, alter column id type integer", needed),
    ] {
        assert_eq!(refused(&mut connection, text), state, "{text}");
        assert_eq!(rows(&mut connection, "select * from t"), ["1|5|x"], "{text}");
    }
    let alter = "alter table t add check (a > b), add column a bigint default 3 check (a < 10), \
                 drop column a, alter column b set default 4, \
                 alter column b type bigint using length(b)";
    run(&mut connection, alter);
    assert_eq!(rows(&mut connection, "select id, a, b from t"), ["1|3|1"]);
    let state = SqlState::CHECK_VIOLATION;
    assert_eq!(refused(&mut connection, "insert into t (id) values (2)"), state);
    assert_eq!(refused(&mut connection, "insert into t (id, a) values (2, 10)"), state);
    assert_eq!(rows(&mut connection, "select * from w"), ["1"]);
    assert_eq!(run(&mut connection, "insert into t (id, a) values (2, 5)"), 1);
}

/// The rows of t that a plan is made for.
fn rows_expected(connection: &mut Connection<'_>, condition: &str) -> u64 {
    let plan = rows(connection, &format!("explain select a from t where {condition}"));
    let behind = plan.iter().find_map(|line| line.split_once("rows=")).expect("an estimate").1;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number of rows")
}

/// ANALYZE of some columns leaves what is known of the others.
#[test]
fn columns_that_are_not_analysed_stay_known() {
    let small = Small::new("sql-analyze-columns");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (a integer, b integer, c integer)");
    run(&mut connection, "create table u (x integer)");
    let fill = "insert into t select g % 10, g % 20, g % 5 from generate_series(1, 10000) g";
    run(&mut connection, fill);
    run(&mut connection, "analyze t");
    assert_eq!(rows_expected(&mut connection, "a = 3"), 1_000);
    assert_eq!(rows_expected(&mut connection, "b = 3"), 500);
    run(&mut connection, "update t set b = a, a = 0");
    run(&mut connection, "analyze t (b), u (x)");
    for (condition, expected) in [("a = 3", 1_000), ("b = 3", 1_000), ("c = 3", 2_000)] {
        assert_eq!(rows_expected(&mut connection, condition), expected, "{condition}");
    }
    run(&mut connection, "analyze t (a)");
    assert_eq!(rows_expected(&mut connection, "a = 0"), 10_000);
    assert_eq!(rows_expected(&mut connection, "c = 3"), 2_000);
    let missing = refused(&mut connection, "analyze t (b, d)");
    assert_eq!(missing, SqlState::UNDEFINED_COLUMN);
}

/// SQ35: sessions that analyse different columns of a table at once leave each other's.
#[test]
fn columns_that_are_analysed_at_once_are_all_known() {
    let small = Small::new("sql-analyze-at-once");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (a integer, b integer)");
    run(&mut connection, "insert into t select g % 10, g % 20 from generate_series(1, 10000) g");
    for round in 0..20 {
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            let small = &small;
            scope.spawn(move || {
                let mut first = small.connect("first");
                tell.send(()).expect("somebody listens");
                run(&mut first, "analyze t (a)");
            });
            let mut second = small.connect("second");
            told.recv().expect("it connects");
            run(&mut second, "analyze t (b)");
        });
        assert_eq!(rows_expected(&mut connection, "a = 3"), 1_000, "{round}");
        assert_eq!(rows_expected(&mut connection, "b = 3"), 500, "{round}");
        run(&mut connection, "analyze table t delete statistics");
        assert_ne!(rows_expected(&mut connection, "a = 3"), 1_000, "{round}: nothing is known");
    }
}

/// DROP INDEX takes the foreign keys along if CASCADE says so.
#[test]
fn an_index_is_dropped_with_what_needs_it() {
    let small = Small::new("sql-drop-index");
    let mut connection = small.connect("app");
    run(&mut connection, "create table parent (id bigint, name text)");
    run(&mut connection, "create unique index parent_id on parent (id)");
    let child = "create table child (id bigint, constraint of_parent foreign key (id) \
                 references parent (id))";
    run(&mut connection, child);
    assert_eq!(refused(&mut connection, "insert into child values (7)").class(), "23");
    assert!(connection.execute("drop index parent_id", &[]).is_err());
    assert!(connection.execute("drop index parent_id restrict", &[]).is_err());
    run(&mut connection, "drop index parent_id cascade");
    assert_eq!(run(&mut connection, "insert into child values (7)"), 1);
}

#[test]
fn a_schema_that_is_not_there_is_passed_over() {
    let small = Small::new("sql-drop-schema");
    let mut connection = small.connect("app");
    let done = connection.execute("drop schema if exists other, another", &[]);
    assert!(done.expect("it is passed over").notice().is_some());
    let missing = refused(&mut connection, "drop schema other");
    assert_eq!(missing, SqlState::INVALID_SCHEMA_NAME);
    for text in ["drop schema public", "drop schema if exists other, public cascade"] {
        assert_eq!(refused(&mut connection, text), SqlState::FEATURE_NOT_SUPPORTED, "{text}");
    }
}

#[test]
fn an_index_is_renamed_by_its_name() {
    let small = Small::new("sql-alter-index");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (a bigint)");
    run(&mut connection, "create index by_a on t (a)");
    run(&mut connection, "alter index by_a rename to by_b");
    let missing = refused(&mut connection, "alter index by_a rename to by_c");
    assert_eq!(missing, SqlState::UNDEFINED_OBJECT);
    let done = connection.execute("alter index if exists by_a rename to by_c", &[]);
    assert!(done.expect("it is passed over").notice().is_some());
    run(&mut connection, "drop index by_b");
}

/// Its table has another name by the time of the lock, and another table has the name: that one is
/// locked, and the first one isn't.
#[test]
fn a_lock_table_that_waits_locks_the_table_that_has_the_name() {
    let small = Small::new("sql-lock-renamed");
    let (mut holder, mut other) = (small.connect("holder"), small.connect("other"));
    run(&mut holder, "create table a (id bigint)");
    run(&mut holder, "insert into a values (1)");
    run(&mut holder, "begin");
    run(&mut holder, "update a set id = id");
    std::thread::scope(|scope| {
        let small = &small;
        let (tell, told) = mpsc::channel();
        let (renames, changes, locks) = (tell.clone(), tell.clone(), tell);
        let (go_on, goes_on) = mpsc::channel::<()>();
        let (end, ends) = mpsc::channel::<()>();
        let renamer = scope.spawn(move || {
            let mut one = small.connect("renamer");
            renames.send(one.session().number().sid).expect("somebody listens");
            run(&mut one, "alter table a rename to b");
            run(&mut one, "create table a (id bigint)");
        });
        until_it_waits(&mut other, told.recv().expect("it connects"));
        // What this one has locked it keeps, whatever its statement comes to.
        scope.spawn(move || {
            let mut one = small.connect("changer");
            run(&mut one, "begin");
            changes.send(one.session().number().sid).expect("somebody listens");
            let _ = one.execute("update a set id = id", &[]);
            goes_on.recv().expect("told to");
            run(&mut one, "rollback");
        });
        until_it_waits(&mut other, told.recv().expect("it connects"));
        let locker = scope.spawn(move || {
            let mut one = small.connect("locker");
            run(&mut one, "begin");
            locks.send(one.session().number().sid).expect("somebody listens");
            run(&mut one, "lock table a in exclusive mode");
            locks.send(0).expect("somebody listens");
            ends.recv().expect("told to");
            run(&mut one, "rollback");
        });
        until_it_waits(&mut other, told.recv().expect("it connects"));
        run(&mut holder, "commit");
        renamer.join().expect("renamed");
        go_on.send(()).expect("it listens");
        assert_eq!(told.recv(), Ok(0), "it has the lock");
        run(&mut other, "begin");
        run(&mut other, "lock table b in exclusive mode nowait");
        let busy = refused(&mut other, "lock table a in exclusive mode nowait");
        assert_eq!(busy, SqlState::LOCK_NOT_AVAILABLE);
        run(&mut other, "rollback");
        end.send(()).expect("it listens");
        locker.join().expect("ended");
    });
}
