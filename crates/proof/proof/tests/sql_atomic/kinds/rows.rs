//! Statements that change, lock or read rows.
//!
//! Each text is about the tables of `bed`. `k` is the row that refuses it: a number of `t` from 1
//! to 60, or of `src` from 31 to 90, of which those from 31 to 60 are in `t` too.

use database::SqlState;

use super::{Class, Kind, Statement};

const ZERO: SqlState = SqlState::DIVISION_BY_ZERO;
const CHECK: SqlState = SqlState::CHECK_VIOLATION;
const UNIQUE: SqlState = SqlState::UNIQUE_VIOLATION;
const FOREIGN: SqlState = SqlState::FOREIGN_KEY_VIOLATION;
const NULL: SqlState = SqlState::NOT_NULL_VIOLATION;
const LONG: SqlState = SqlState::STRING_DATA_RIGHT_TRUNCATION;
const TWICE: SqlState = SqlState::CARDINALITY_VIOLATION;

/// Rows that an INSERT with VALUES has.
const NEW: i64 = 20;

fn of(text: impl Into<String>) -> Statement {
    Statement::of(text)
}

pub(super) fn kinds() -> Vec<Kind> {
    let mut all = vec![
        insert_values(),
        insert_select(),
        insert_append(),
        insert_or_nothing(),
        insert_or_update(),
        insert_returning(),
        update(),
        update_keys(),
        update_from(),
        update_returning(),
    ];
    all.extend([delete(), delete_using(), delete_returning(), merge(), merge_returning()]);
    all.extend([update_subquery(), for_update(), lock_table(), explained()]);
    all.extend([joined(), with_ties(), grouped(), without()]);
    all
}

/// Rows from 101 on; the `k`-th is another one.
fn values(k: i64, broken: &str) -> Statement {
    let row = |number: i64| match number == k {
        true => broken.to_string(),
        false => format!("({}, 'new {number}', {number}, 1)", 100 + number),
    };
    let rows: Vec<String> = (1..=NEW).map(row).collect();
    of(format!("insert into t (id, code, v, up) values {}", rows.join(", ")))
}

fn insert_values() -> Kind {
    Kind::of("insert values", Class::Rows, || values(0, ""))
        .breaking("a check", CHECK, 1..=NEW, |k| values(k, "(150, 'x', -1, 1)"))
        .breaking("a unique key", UNIQUE, 1..=NEW, |k| values(k, "(150, 'code 1', 1, 1)"))
        .breaking("a primary key", UNIQUE, 1..=NEW, |k| values(k, "(1, 'x', 1, 1)"))
        .breaking("not null", NULL, 1..=NEW, |k| values(k, "(150, 'x', null, 1)"))
        .breaking("a foreign key", FOREIGN, 1..=NEW, |k| values(k, "(150, 'x', 1, 99)"))
        .breaking("a long text", LONG, 1..=NEW, |k| {
            values(k, &format!("(150, '{}', 1, 1)", "x".repeat(41)))
        })
}

fn insert_select() -> Kind {
    Kind::of("insert select", Class::Rows, || {
        of("insert into t (id, code, v, up) select id + 1000, code, v, 1 from src")
    })
    .breaking("a division", ZERO, 31..=90, |k| {
        of(format!(
            "insert into t (id, code, v, up) \
             select id + 1000, code, v + 0 * (100 / (id - {k})), 1 from src"
        ))
    })
    .breaking("a check", CHECK, 31..=90, |k| {
        of(format!(
            "insert into t (id, code, v, up) \
             select id + 1000, code, case when id = {k} then -1 else v end, 1 from src"
        ))
    })
    .breaking("a unique key", UNIQUE, 31..=90, |k| {
        of(format!(
            "insert into t (id, code, v, up) \
             select id + 1000, case when id = {k} then 'code 1' else code end, v, 1 from src"
        ))
    })
    .breaking("a foreign key", FOREIGN, 31..=90, |k| {
        of(format!(
            "insert into t (id, code, v, up) \
             select id + 1000, code, v, case when id = {k} then 99 else 1 end from src"
        ))
    })
    .breaking("not null", NULL, 31..=90, |k| {
        of(format!(
            "insert into t (id, code, v, up) \
             select id + 1000, code, case when id <> {k} then v end, 1 from src"
        ))
    })
}

/// By the direct path.
fn insert_append() -> Kind {
    Kind::of("insert append", Class::Rows, || {
        of("insert /*+ append */ into t (id, code, v, up) \
            select id + 1000, code, v, 1 from src")
    })
    .breaking("a check", CHECK, 31..=90, |k| {
        of(format!(
            "insert /*+ append */ into t (id, code, v, up) \
             select id + 1000, code, case when id = {k} then -1 else v end, 1 from src"
        ))
    })
    .breaking("a unique key", UNIQUE, 31..=90, |k| {
        of(format!(
            "insert /*+ append */ into t (id, code, v, up) \
             select id + 1000, case when id = {k} then 'code 1' else code end, v, 1 from src"
        ))
    })
    .breaking("a foreign key", FOREIGN, 31..=90, |k| {
        of(format!(
            "insert /*+ append */ into t (id, code, v, up) \
             select id + 1000, code, v, case when id = {k} then 99 else 1 end from src"
        ))
    })
}

fn insert_or_nothing() -> Kind {
    Kind::of("insert on conflict do nothing", Class::Rows, || {
        of("insert into t (id, code, v, up) select id, code, v, 1 from src \
            on conflict (id) do nothing")
    })
    .breaking("a check", CHECK, 61..=90, |k| {
        of(format!(
            "insert into t (id, code, v, up) \
             select id, code, case when id = {k} then -1 else v end, 1 from src \
             on conflict (id) do nothing"
        ))
    })
    .breaking("another unique key", UNIQUE, 61..=90, |k| {
        of(format!(
            "insert into t (id, code, v, up) \
             select id, case when id = {k} then 'code 1' else code end, v, 1 from src \
             on conflict (id) do nothing"
        ))
    })
}

fn insert_or_update() -> Kind {
    Kind::of("insert on conflict do update", Class::Rows, || {
        of("insert into t as a (id, code, v, up) select id, code, v, 1 from src \
            on conflict (id) do update set v = a.v + excluded.v, code = excluded.code")
    })
    .breaking("a division", ZERO, 31..=60, |k| {
        of(format!(
            "insert into t as a (id, code, v, up) select id, code, v, 1 from src \
             on conflict (id) do update set v = a.v + 0 * (100 / (excluded.id - {k}))"
        ))
    })
    .breaking("a check", CHECK, 31..=60, |k| {
        of(format!(
            "insert into t as a (id, code, v, up) select id, code, v, 1 from src \
             on conflict (id) do update \
             set v = case when excluded.id = {k} then -1 else a.v + excluded.v end"
        ))
    })
    .breaking("another unique key", UNIQUE, 31..=60, |k| {
        of(format!(
            "insert into t as a (id, code, v, up) select id, code, v, 1 from src \
             on conflict (id) do update \
             set code = case when excluded.id = {k} then 'code 1' else excluded.code end"
        ))
    })
}

fn insert_returning() -> Kind {
    Kind::of("insert returning", Class::Rows, || {
        of("insert into t (id, code, v, up, pad) \
            select id + 1000, code, v, 1, rpad('x', 400, 'q') from src returning id, pad")
    })
    .breaking("a division in what is returned", ZERO, 31..=90, |k| {
        of(format!(
            "insert into t (id, code, v, up) select id + 1000, code, v, 1 from src \
             returning id, 10 / (id - 1000 - {k})"
        ))
    })
}

fn update() -> Kind {
    Kind::of("update", Class::Rows, || of("update t set v = v + 1, pad = pad || 'z'"))
        .breaking("a division", ZERO, 1..=60, |k| {
            of(format!("update t set v = v + 0 * (100 / (id - {k}))"))
        })
        .breaking("a check", CHECK, 1..=60, |k| {
            of(format!("update t set v = case when id = {k} then -1 else v + 1 end, pad = 'short'"))
        })
        .breaking("a unique key", UNIQUE, 1..=60, |k| {
            let other = k % 60 + 1;
            of(format!(
                "update t set code = case when id = {k} then 'code {other}' else code end, v = 0"
            ))
        })
        .breaking("a foreign key", FOREIGN, 1..=60, |k| {
            of(format!("update t set up = case when id = {k} then 99 else 1 end"))
        })
        .breaking("not null", NULL, 1..=60, |k| {
            of(format!("update t set v = case when id <> {k} then v + 1 end"))
        })
        .breaking("a long text", LONG, 1..=60, |k| {
            of(format!(
                "update t set code = case when id = {k} then rpad('x', 41, 'y') else code end"
            ))
        })
}

/// Keys that move over one another, and are referred to.
fn update_keys() -> Kind {
    Kind::of("update of keys", Class::Rows, || of("update t set id = id + 1"))
        .breaking("a primary key", UNIQUE, 1..=59, |k| {
            of(format!("update t set id = id + case when id = {k} then 2 else 1 end"))
        })
        .breaking("a foreign key", FOREIGN, 2..=31, |k| {
            of(format!("update t set id = id + 1000 where id >= {k}"))
        })
}

fn update_from() -> Kind {
    Kind::of("update from", Class::Rows, || {
        of("update t set v = t.v + s.v, code = s.code from src s where s.id = t.id")
    })
    .breaking("a check", CHECK, 31..=60, |k| {
        of(format!(
            "update t set v = case when s.id = {k} then -1 else s.v end \
             from src s where s.id = t.id"
        ))
    })
    .breaking("a unique key", UNIQUE, 31..=60, |k| {
        of(format!(
            "update t set code = case when s.id = {k} then 'code 1' else s.code end \
             from src s where s.id = t.id"
        ))
    })
    .breaking("a foreign key", FOREIGN, 31..=60, |k| {
        of(format!(
            "update t set up = case when s.id = {k} then 99 else 1 end \
             from src s where s.id = t.id"
        ))
    })
}

fn update_returning() -> Kind {
    Kind::of("update returning", Class::Rows, || {
        of("update t set v = v + 1, code = code || '.' returning id, code, pad, pad || code")
    })
    .breaking("a division in what is returned", ZERO, 1..=60, |k| {
        of(format!("update t set v = v + 1 returning id, 10 / (id - {k})"))
    })
}

fn keep(k: i64) -> String {
    format!("insert into k values (1, {k})")
}

fn keep_no_more(_: i64) -> String {
    "delete from k".to_string()
}

/// A row that refers to the `k`-th, or refers to what refers to it, goes with it; one of `k` keeps
/// it.
fn delete() -> Kind {
    Kind::of("delete", Class::Rows, || of("delete from t"))
        .breaking("a foreign key", FOREIGN, 1..=60, |_| of("delete from t"))
        .arranged(keep, keep_no_more)
        .breaking("a division", ZERO, 1..=60, |k| {
            of(format!("delete from t where 100 / (id - {k}) is not null"))
        })
}

fn delete_using() -> Kind {
    Kind::of("delete using", Class::Rows, || of("delete from t using src s where s.id = t.id"))
        .breaking("a foreign key", FOREIGN, 31..=60, |_| {
            of("delete from t using src s where s.id = t.id")
        })
        .arranged(keep, keep_no_more)
}

fn delete_returning() -> Kind {
    Kind::of("delete returning", Class::Rows, || of("delete from t returning id, pad, code"))
        .breaking("a division in what is returned", ZERO, 1..=60, |k| {
            of(format!("delete from t returning id, 10 / (id - {k})"))
        })
}

const MERGE: &str = "merge into t a using src s on s.id = a.id \
                     when matched and s.id > 55 then delete ";

fn merge() -> Kind {
    Kind::of("merge", Class::Rows, || {
        of(format!(
            "{MERGE} when matched then update set v = a.v + s.v, code = s.code \
             when not matched then insert (id, code, v, up) values (s.id, s.code, s.v, 1)"
        ))
    })
    .breaking("a division in an update", ZERO, 31..=55, |k| {
        of(format!(
            "{MERGE} when matched then update set v = a.v + 0 * (100 / (s.id - {k})) \
             when not matched then insert (id, code, v, up) values (s.id, s.code, s.v, 1)"
        ))
    })
    .breaking("a check of an insert", CHECK, 61..=90, |k| {
        of(format!(
            "{MERGE} when matched then update set v = 0 when not matched then \
             insert (id, code, v, up) \
             values (s.id, s.code, case when s.id = {k} then -1 else s.v end, 1)"
        ))
    })
    .breaking("a unique key of an insert", UNIQUE, 61..=90, |k| {
        of(format!(
            "{MERGE} when matched then update set v = 0 when not matched then \
             insert (id, code, v, up) \
             values (s.id, case when s.id = {k} then 'code 1' else s.code end, s.v, 1)"
        ))
    })
    .breaking("a row twice", TWICE, 31..=55, |k| {
        of(format!(
            "merge into t a using (select id, code, v from src union all \
             select {k}, 'twice', 0) s on s.id = a.id \
             when matched then update set v = a.v + s.v \
             when not matched then insert (id, code, v, up) values (s.id, s.code, s.v, 1)"
        ))
    })
}

fn merge_returning() -> Kind {
    Kind::of("merge returning", Class::Rows, || {
        of(format!(
            "{MERGE} when matched then update set v = a.v + s.v \
             when not matched then insert (id, code, v, up) values (s.id, s.code, s.v, 1) \
             returning a.id, a.pad, s.code"
        ))
    })
    .breaking("a division in what is returned", ZERO, 31..=90, |k| {
        of(format!(
            "{MERGE} when matched then update set v = a.v + s.v \
             when not matched then insert (id, code, v, up) values (s.id, s.code, s.v, 1) \
             returning 10 / (s.id - {k})"
        ))
    })
}

fn for_update() -> Kind {
    Kind::of("select for update", Class::Rows, || {
        of("select id, pad, pad || code from t order by id for update")
    })
    .breaking("a division", ZERO, 1..=60, |k| {
        of(format!("select id, 10 / (id - {k}) from t order by id for update"))
    })
}

/// The subquery has one row, or none.
fn update_subquery() -> Kind {
    Kind::of("update with a subquery", Class::Rows, || {
        of("update t set v = coalesce((select s.v + 1 from src s where s.id = t.id), 0)")
    })
    .breaking("two rows for one value", TWICE, 1..=60, |k| {
        of(format!(
            "update t set v = coalesce((select s.v from src s \
             where s.id = t.id or (t.id = {k} and s.id in (89, 90))), 0)"
        ))
    })
}

/// Others go on to read.
fn lock_table() -> Kind {
    Kind::of("lock table", Class::Lock, || of("lock table t, o in exclusive mode"))
        .refused("a table that isn't there", |_| of("lock table t, nothing in exclusive mode"))
}

/// It is done, and measured.
fn explained() -> Kind {
    Kind::of("explain analyze", Class::Rows, || of("explain analyze update t set v = v + 1"))
        .breaking("a check", CHECK, 1..=60, |k| {
            of(format!("explain analyze update t set v = case when id = {k} then -1 else v end"))
        })
}

/// A query that sorts more than fits into its memory.
fn joined() -> Kind {
    Kind::of("select with a join and a sort", Class::Query, || {
        of("select a.id, b.code from t a join src b on b.v < a.v + 40 \
            order by a.pad, b.code, a.id")
    })
    .breaking("a division", ZERO, 1..=60, |k| {
        of(format!(
            "select a.id, b.code, 10 / (a.id - {k}) as x from t a join src b on b.v < a.v + 40 \
             order by a.pad, b.code, a.id"
        ))
    })
}

/// The first rows, and those that are equal to the last of them.
fn with_ties() -> Kind {
    Kind::of("select with ties", Class::Query, || {
        of("select a.id, b.id as other from t a, src b order by a.v / 10 \
            fetch first 5 rows with ties")
    })
    .breaking("a division", ZERO, 1..=60, |k| {
        of(format!(
            "select a.id, b.id as other from t a, src b \
             order by a.v / 10 + 0 * (10 / (a.id - {k})) fetch first 5 rows with ties"
        ))
    })
}

/// One whose rows must not be among others.
fn without() -> Kind {
    Kind::of("select with except", Class::Query, || {
        of("select a.code || a.pad as x, b.code from t a, src b where b.id > 70 \
            except select pad, code from t union all select code, code from src")
    })
    .breaking("a division", ZERO, 1..=60, |k| {
        of(format!(
            "select a.code || a.pad as x, 10 / (a.id - {k}) as y from t a, src b \
             where b.id > 70 except select pad, v from t"
        ))
    })
}

/// And one that groups more than that.
fn grouped() -> Kind {
    Kind::of("select with groups", Class::Query, || {
        of("select a.code || a.pad as x, b.code, count(*), min(a.pad) from t a, src b \
            group by a.code || a.pad, b.code")
    })
    .breaking("a division", ZERO, 1..=60, |k| {
        of(format!(
            "select a.code || a.pad as x, b.code, sum(10 / (a.id - {k})) from t a, src b \
             group by a.code || a.pad, b.code"
        ))
    })
}
