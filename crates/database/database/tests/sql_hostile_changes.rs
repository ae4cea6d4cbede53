//! What a hostile reader of changes, definitions and sessions tried: statements that gave wrong
//! rows once, or none, and settings that were taken and not minded.
#![forbid(unsafe_code)]

mod sql_common;

use database::{Alteration, ColumnSpec, Connection, ErrorKind, SqlState, Type};
use sql_common::{Small, refused, rows, run, value};

/// SQ30: an INSERT of values has no snapshot after which its plan is looked at. It is planned anew
/// all the same when the sequence of a default is another one.
#[test]
fn an_insert_takes_the_sequence_that_has_the_name_now() {
    let small = Small::new("sql-other-sequence");
    let mut connection = small.connect("app");
    run(&mut connection, "create sequence s");
    run(&mut connection, "create table k (id bigint default nextval('s'), v bigint)");
    let insert = "insert into k (v) values (7)";
    run(&mut connection, insert);
    run(&mut connection, "drop sequence s");
    assert_eq!(refused(&mut connection, insert), SqlState::UNDEFINED_TABLE);
    run(&mut connection, "create sequence s start 100");
    run(&mut connection, insert);
    run(&mut connection, "begin");
    run(&mut connection, insert);
    run(&mut connection, "commit");
    // Its rows have values of their own, though the default is bound once.
    run(&mut connection, "insert into k (v) values (8), (9)");
    let ids = rows(&mut connection, "select id from k order by id");
    assert_eq!(ids, ["1", "100", "101", "102", "103"]);
}

/// MERGE minds GENERATED ALWAYS as INSERT does, whether it names columns or not.
#[test]
fn merge_gives_identities_as_insert_does() {
    let small = Small::new("sql-merge-identity");
    let mut connection = small.connect("app");
    let table = "create table i (id bigint generated always as identity, v bigint)";
    run(&mut connection, table);
    let merge = |insert: &str| {
        format!("merge into i using (values (500)) s(x) on false when not matched then {insert}")
    };
    for insert in ["insert values (s.x, 1)", "insert (v, id) values (1, s.x)"] {
        assert_eq!(refused(&mut connection, &merge(insert)), SqlState::GENERATED_ALWAYS);
    }
    for insert in [
        "insert (id, v) overriding user value values (s.x, 2)",
        "insert overriding user value values (s.x, 3)",
        "insert values (default, 4)",
        "insert (v) values (5)",
        "insert (id, v) overriding system value values (s.x, 6)",
    ] {
        assert_eq!(run(&mut connection, &merge(insert)), 1, "{insert}");
    }
    let found = rows(&mut connection, "select id, v from i order by v");
    assert_eq!(found, ["1|2", "2|3", "3|4", "4|5", "500|6"]);
}

/// A WHEN NOT MATCHED names columns of the side that has a row.
#[test]
fn merge_has_no_columns_of_a_row_that_is_not_there() {
    let small = Small::new("sql-merge-sides");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (id bigint, v bigint)");
    run(&mut connection, "insert into t values (1, 1), (2, 2)");
    let merge = |when: &str| {
        format!("merge into t using (values (1, 5), (3, 7)) s(id, w) on t.id = s.id when {when}")
    };
    for when in [
        "not matched then insert values (s.id, t.v)",
        "not matched and t.v = 1 then insert values (1, 2)",
        "not matched by source then update set v = s.w",
        "not matched by source and s.w is null then delete",
    ] {
        assert_eq!(refused(&mut connection, &merge(when)), SqlState::UNDEFINED_TABLE, "{when}");
    }
    let unclear = "merge into t using t on true when matched then delete";
    assert_eq!(refused(&mut connection, unclear), SqlState::DUPLICATE_ALIAS);
    let all = "not matched by source and id = 2 then update set v = v + id \
               when matched then update set v = t.v + w \
               when not matched and w = 7 then insert values (id, w)";
    assert_eq!(run(&mut connection, &merge(all)), 3);
    assert_eq!(rows(&mut connection, "select * from t order by id"), ["1|6", "2|4", "3|7"]);
}

/// A transaction waits for locks as long as the session says by then, not as long as it said when
/// the transaction began. SET LOCAL would mean nothing else.
#[test]
fn lock_timeout_is_minded_by_the_open_transaction() {
    let small = Small::new("sql-lock-timeout");
    let (mut one, mut other) = (small.connect("one"), small.connect("other"));
    run(&mut one, "create table t (id bigint primary key, v bigint)");
    run(&mut one, "insert into t values (1, 0)");
    run(&mut one, "begin");
    run(&mut one, "update t set v = 1");
    // So that it ends where the lock is waited for without an end.
    run(&mut other, "set statement_timeout = '10s'");
    let update = "update t set v = 2 where id = 1";
    for set in ["set local lock_timeout = '20ms'", "set lock_timeout = '20ms'"] {
        run(&mut other, "begin");
        run(&mut other, set);
        assert_eq!(refused(&mut other, update), SqlState::LOCK_NOT_AVAILABLE, "{set}");
        assert_eq!(refused(&mut other, "lock table t in share mode"), SqlState::LOCK_NOT_AVAILABLE);
        run(&mut other, "rollback");
    }
    run(&mut one, "commit");
    assert_eq!(run(&mut other, update), 1);
}

/// A column keeps a default that it can take.
#[test]
fn a_type_that_the_default_can_not_have_is_refused() {
    let small = Small::new("sql-default-type");
    let mut connection = small.connect("app");
    run(&mut connection, "create sequence s");
    run(&mut connection, "create table t (id bigint, a integer default nextval('s'))");
    run(&mut connection, "insert into t (id) values (1)");
    let alter = "alter table t alter column a type date using null";
    assert_eq!(refused(&mut connection, alter), SqlState::DATATYPE_MISMATCH);
    run(&mut connection, "insert into t (id) values (2)");
    run(&mut connection, "alter table t alter column a type text");
    run(&mut connection, "insert into t (id) values (3)");
    assert_eq!(rows(&mut connection, "select * from t order by id"), ["1|1", "2|2", "3|3"]);
    run(&mut connection, "alter table t alter column a drop default");
    run(&mut connection, alter);
    run(&mut connection, "insert into t (id) values (4)");
    assert_eq!(value(&mut connection, "select count(*) from t where a is null"), "4");
}

/// SQ61: a column that is refused because of one of its constraints takes the others with it.
#[test]
fn a_column_that_is_refused_leaves_no_constraint() {
    let small = Small::new("sql-column-refused");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (id bigint primary key)");
    run(&mut connection, "insert into t values (4)");
    let state = SqlState::CHECK_VIOLATION;
    for constraints in [
        "unique check (e > 10)",
        "check (e > 1) check (e > 10)",
        "references t (id) check (e > 10)",
        "unique references t (e) check (e > 10)",
        "not null primary key check (e > 10)",
    ] {
        let column = if constraints.contains("primary") { "drop primary key, " } else { "" };
        let text = format!("alter table t {column}add column e bigint default 4 {constraints}");
        assert_eq!(refused(&mut connection, &text), state, "{text}");
        assert_eq!(rows(&mut connection, "select * from t"), ["4"], "{text}");
    }
    run(&mut connection, "alter table t add column e bigint default 4 unique check (e > 3)");
    run(&mut connection, "alter table t add column if not exists e bigint check (e > 100)");
    assert_eq!(rows(&mut connection, "select * from t"), ["4|4"]);
    run(&mut connection, "insert into t values (5, 6)");
    let twice = refused(&mut connection, "insert into t values (7, 6)");
    assert_eq!(twice, SqlState::UNIQUE_VIOLATION);
}

/// SQ66: a view gives what it gave, whichever columns its tables get.
#[test]
fn a_view_does_not_take_a_new_column_for_another() {
    let small = Small::new("sql-captured");
    let mut connection = small.connect("app");
    for text in [
        "create table t (id bigint, a bigint)",
        "create table u (x bigint, b bigint)",
        "insert into t values (1, 1), (2, 2), (2, 2)",
        "insert into u values (5, 1)",
        "create view outside as select id from t where exists (select 1 from u where a = 1)",
        "create view unclear as select a, x from t, u",
        "create view every as select distinct * from t",
        "create view same as select count(*) as n from t natural join u",
        "create view plain as select * from t where exists (select * from u where u.b = t.id)",
    ] {
        run(&mut connection, text);
    }
    let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
    for text in [
        "alter table u add column a bigint default 1",
        "alter table u rename column b to a",
        "alter table u rename x to id",
        "alter table t add column c bigint",
    ] {
        assert_eq!(refused(&mut connection, text), state, "{text}");
    }
    assert_eq!(rows(&mut connection, "select * from outside"), ["1"]);
    assert_eq!(rows(&mut connection, "select * from every order by id"), ["1|1", "2|2"]);
    assert_eq!(rows(&mut connection, "select * from unclear order by a"), ["1|5", "2|5", "2|5"]);
    assert_eq!(rows(&mut connection, "select * from plain"), ["1|1"]);
    // A column that nobody could mean is added, and one that is there is the catalog's to refuse.
    run(&mut connection, "alter table u add column c bigint");
    let twice = refused(&mut connection, "alter table u add column c bigint");
    assert_eq!(twice, SqlState::DUPLICATE_COLUMN);
    run(&mut connection, "alter table u add column if not exists c bigint");
    run(&mut connection, "alter table u rename column c to d");
    run(&mut connection, "drop view every");
    run(&mut connection, "alter table t add column e bigint");
    assert_eq!(rows(&mut connection, "select * from plain"), ["1|1"]);
}

/// SQ66: a call that alters a table asks what the statement asks.
#[test]
fn a_view_does_not_take_a_column_that_a_call_adds_or_renames() {
    let small = Small::new("sql-captured-by-call");
    let mut connection = small.connect("app");
    for text in [
        "create table t (id bigint, a bigint)",
        "create table u (x bigint, b bigint)",
        "insert into t values (1, 1), (2, 2)",
        "insert into u values (5, 1)",
        "create view outside as select id from t where exists (select 1 from u where a = 1)",
    ] {
        run(&mut connection, text);
    }
    let add = |name: &str| Alteration::AddColumn(ColumnSpec::new(name, Type::BigInt));
    let rename = |from: &str, to: &str| {
        let (from, to) = (from.into(), to.into());
        Alteration::RenameColumn { from, to }
    };
    for alteration in [add("a"), rename("b", "a")] {
        let refused = connection.alter_table("u", &alteration).expect_err("a view would read it");
        let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
        assert_eq!(refused.state(), state, "{alteration:?}: {refused}");
        assert_eq!(rows(&mut connection, "select * from outside"), ["1"], "{alteration:?}");
    }
    for alteration in [add("c"), rename("c", "d")] {
        connection.alter_table("u", &alteration).expect("no view would read it");
    }
    let twice = connection.alter_table("u", &add("d")).expect_err("it is there");
    assert_eq!(twice.state(), SqlState::DUPLICATE_COLUMN);
    let missing = connection.alter_table("w", &add("d")).expect_err("it isn't there");
    assert_eq!(missing.refusal(), Some(ErrorKind::NotFound));
}

/// TRUNCATE ... CASCADE empties the tables that refer to it too; several are emptied together.
#[test]
fn truncate_cascade_empties_the_tables_that_refer_to_it() {
    let small = Small::new("sql-truncate-cascade");
    let mut connection = small.connect("app");
    for text in [
        "create table a (id bigint primary key)",
        "create table b (id bigint generated by default as identity primary key, \
         a bigint references a, b bigint references b)",
        "create table c (b bigint references b)",
        "create table other (id bigint)",
    ] {
        run(&mut connection, text);
    }
    let fill = |connection: &mut Connection<'_>| {
        run(connection, "insert into a values (1)");
        run(connection, "insert into b (a) values (1)");
        run(connection, "insert into c select id from b");
        run(connection, "insert into other values (1)");
    };
    let counts = "select (select count(*) from a), (select count(*) from b), \
                  (select count(*) from c), (select count(*) from other)";
    fill(&mut connection);
    let state = SqlState::FOREIGN_KEY_VIOLATION;
    for text in ["truncate a", "truncate a, b", "truncate a restrict"] {
        assert_eq!(refused(&mut connection, text), state, "{text}");
    }
    assert_eq!(rows(&mut connection, counts), ["1|1|1|1"]);
    run(&mut connection, "truncate a restart identity cascade");
    assert_eq!(rows(&mut connection, counts), ["0|0|0|1"]);
    fill(&mut connection);
    assert_eq!(value(&mut connection, "select id from b"), "1");
    run(&mut connection, "truncate a, c, b");
    assert_eq!(rows(&mut connection, counts), ["0|0|0|2"]);
}

/// A column that is GENERATED ALWAYS may be given its next number, and nothing else.
#[test]
fn a_generated_column_is_set_to_its_default_alone() {
    let small = Small::new("sql-set-generated");
    let mut connection = small.connect("app");
    let create = "create table i (id bigint generated always as identity primary key, v integer)";
    run(&mut connection, create);
    run(&mut connection, "insert into i (v) values (10), (20), (30)");
    assert_eq!(run(&mut connection, "update i set id = default, v = v + 1 where v = 10"), 1);
    assert_eq!(run(&mut connection, "update i set id = default where v >= 20"), 2);
    let merge = "merge into i using (values (11)) s(v) on i.v = s.v \
                 when matched then update set id = default";
    assert_eq!(run(&mut connection, merge), 1);
    let upsert = "insert into i (id, v) overriding system value values (5, 1) \
                  on conflict (id) do update set id = default";
    assert_eq!(run(&mut connection, upsert), 1);
    assert_eq!(rows(&mut connection, "select v, id from i order by v"), ["11|7", "20|8", "30|6"]);
    for text in [
        "update i set id = 50 where v = 11",
        "update i set id = id where v = 11",
        "update i set (id, v) = (select 50, 1) where v = 11",
    ] {
        assert_eq!(refused(&mut connection, text), SqlState::GENERATED_ALWAYS, "{text}");
    }
}

/// SQ66: CREATE OR REPLACE VIEW leaves views as they are that read the one which is replaced.
#[test]
fn a_view_is_not_replaced_under_those_that_read_it() {
    let small = Small::new("sql-replaced");
    let mut connection = small.connect("app");
    for text in [
        "create table t (id bigint, a integer, s text)",
        "insert into t values (1, 2, 'x')",
        "create view v as select id, a from t",
        "create view above as select a + 1 as b from v",
        "create view captured as select id from t where exists (select 1 from above where a = 2)",
    ] {
        run(&mut connection, text);
    }
    let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
    for text in [
        // Another kind, another name, and a column that a view would take for t's.
        "create or replace view v as select id, s as a from t",
        "create or replace view v as select id, a as c from t",
        "create or replace view above as select a + 1 as b, 5 as a from v",
    ] {
        assert_eq!(refused(&mut connection, text), state, "{text}");
    }
    assert_eq!(rows(&mut connection, "select * from above"), ["3"]);
    assert_eq!(rows(&mut connection, "select * from captured"), ["1"]);
    // What nobody reads may be another thing.
    run(&mut connection, "create or replace view v as select s as id, a + 10 as a, s from t");
    assert_eq!(rows(&mut connection, "select * from above"), ["13"]);
    let circle = "create or replace view v as select 1 as id, a, 2 as c from captured, t";
    assert_eq!(refused(&mut connection, circle), SqlState::INVALID_PARAMETER_VALUE);
}

/// IF EXISTS passes over a name that nothing has, and not over one of something else.
#[test]
fn drop_if_exists_tells_of_another_kind_of_object() {
    let small = Small::new("sql-other-kind");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (id bigint)");
    run(&mut connection, "create view v as select id from t");
    run(&mut connection, "insert into t values (1)");
    for text in [
        "drop view if exists t",
        "drop table if exists v",
        "drop sequence if exists t",
        "drop external table if exists t",
        "alter sequence if exists t increment 2",
        "alter table v drop column if exists id",
        "alter table if exists v drop constraint if exists c",
    ] {
        assert_eq!(refused(&mut connection, text), SqlState::WRONG_OBJECT_TYPE, "{text}");
    }
    let missing = "alter table w drop column if exists id";
    assert_eq!(refused(&mut connection, missing), SqlState::UNDEFINED_TABLE);
    run(&mut connection, "alter table if exists w drop column if exists id");
    assert_eq!(value(&mut connection, "select id from t"), "1");
    for text in ["drop view if exists w", "drop table if exists w", "drop sequence if exists w"] {
        run(&mut connection, text);
    }
    run(&mut connection, "drop view if exists v");
    run(&mut connection, "drop table if exists t");
}
