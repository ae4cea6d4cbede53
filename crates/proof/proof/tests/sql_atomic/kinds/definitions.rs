//! Statements that define something.
//!
//! `k` is the row, from 1 to 60, that refuses one: of `t`, or of `o`.

use database::SqlState;

use super::{Class, Halfway, Kind, Statement};

const ZERO: SqlState = SqlState::DIVISION_BY_ZERO;
const CHECK: SqlState = SqlState::CHECK_VIOLATION;
const UNIQUE: SqlState = SqlState::UNIQUE_VIOLATION;

fn of(text: impl Into<String>) -> Statement {
    Statement::of(text)
}

fn definition(name: &'static str, whole: fn() -> Statement) -> Kind {
    Kind::of(name, Class::Definition, whole)
}

pub(super) fn kinds() -> Vec<Kind> {
    let mut all = vec![create_table(), create_table_as(), create_index(), create_unique_index()];
    all.extend(altered());
    all.extend(altered_columns());
    all.extend(altered_otherwise());
    all.extend(altered_at_once());
    all.extend(simple());
    all.extend(seldom());
    all
}

fn create_table() -> Kind {
    definition("create table", || {
        of("create table n (id bigint generated always as identity primary key, \
            a varchar(10) default 'x' unique, b bigint references t, \
            constraint n_b check (b > 0 and length(a) < 9))")
    })
    .refused("a table of this name", |_| of("create table t (id bigint primary key)"))
    .refused("a table that isn't there", |_| {
        of("create table n (id bigint primary key, b bigint references nothing)")
    })
}

fn create_table_as() -> Kind {
    let kind = definition("create table as", || {
        of("create table n as select t.id * 100 + s.id as id, t.code, t.pad from t, src s \
            where s.id > 84")
    })
    .breaking("a division", ZERO, 1..=60, |k| {
        of(format!(
            "create table n as select t.id * 100 + s.id as id, t.pad, 10 / (t.id - {k}) as x \
             from t, src s where s.id > 84"
        ))
    });
    Kind { halfway: Some(Halfway::Empty("n")), ..kind }
}

fn create_index() -> Kind {
    definition("create index", || of("create index n on t (v, code desc)"))
        .refused("an index of this name", |_| of("create index t_by_v on t (code, v)"))
}

/// Two rows get one value.
fn alike(k: i64) -> String {
    format!("update t set v = {} where id = {k}", k % 60 + 1)
}

fn alike_no_more(_: i64) -> String {
    "update t set v = id".to_string()
}

fn create_unique_index() -> Kind {
    definition("create unique index", || of("create unique index n on t (v)"))
        .breaking("two alike", UNIQUE, 1..=60, |_| of("create unique index n on t (v)"))
        .arranged(alike, alike_no_more)
}

fn lonely(k: i64) -> String {
    format!("update o set t = 1000 where id = {k}")
}

fn nothing(k: i64) -> String {
    format!("update o set t = null where id = {k}")
}

fn large(k: i64) -> String {
    format!("update o set t = 100000 where id = {k}")
}

fn as_before(_: i64) -> String {
    "update o set t = id".to_string()
}

fn altered() -> [Kind; 5] {
    [
        definition("alter table add check", || {
            of("alter table t add constraint n check (v < 1000)")
        })
        .breaking("a row", CHECK, 1..=60, |k| {
            of(format!("alter table t add constraint n check (id <> {k})"))
        }),
        definition("alter table add unique", || of("alter table t add constraint n unique (v)"))
            .breaking("two alike", UNIQUE, 1..=60, |_| {
                of("alter table t add constraint n unique (v)")
            })
            .arranged(alike, alike_no_more),
        definition("alter table add foreign key", || {
            of("alter table o add constraint n foreign key (t) references t")
        })
        .breaking("a row", SqlState::FOREIGN_KEY_VIOLATION, 1..=60, |_| {
            of("alter table o add constraint n foreign key (t) references t")
        })
        .arranged(lonely, as_before),
        definition("alter table drop constraint", || of("alter table t drop constraint t_code")),
        definition("alter table rename", || of("alter table o rename to n"))
            .refused("a table of this name", |_| of("alter table o rename to t")),
    ]
}

fn altered_columns() -> [Kind; 8] {
    [
        definition("alter table add column", || {
            of("alter table t add column n integer not null default 7")
        })
        .refused("its own check", |_| {
            of("alter table t add column n integer default 7 check (n < 5)")
        }),
        definition("alter table add column with a check", || {
            of("alter table t add column n integer default 7 check (n < 50)")
        }),
        definition("alter table drop column", || of("alter table o drop column extra"))
            .refused("a key", |_| of("alter table o drop column id")),
        definition("alter table set not null", || of("alter table o alter column t set not null"))
            .breaking("a row", SqlState::NOT_NULL_VIOLATION, 1..=60, |_| {
                of("alter table o alter column t set not null")
            })
            .arranged(nothing, as_before),
        definition("alter table set type", || of("alter table o alter column t type smallint"))
            .breaking("a row", SqlState::NUMERIC_VALUE_OUT_OF_RANGE, 1..=60, |_| {
                of("alter table o alter column t type smallint")
            })
            .arranged(large, as_before),
        definition("alter table set type using", || {
            of("alter table o alter column t type number(20,2) using t * 2.5")
        })
        .breaking("a division", ZERO, 1..=60, |k| {
            of(format!("alter table o alter column t type number(20,2) using 100 / (t - {k})"))
        }),
        definition("alter table set default", || {
            of("alter table o alter column extra set default 9")
        }),
        definition("alter table rename column", || of("alter table o rename column extra to n"))
            .refused("a column of this name", |_| of("alter table o rename column extra to id")),
    ]
}

/// Alterations that no row has to do with.
fn altered_otherwise() -> [Kind; 6] {
    [
        definition("alter table rename constraint", || {
            of("alter table t rename constraint t_v to n")
        })
        .refused("a constraint of this name", |_| {
            of("alter table t rename constraint t_v to t_code")
        }),
        definition("alter table drop primary key", || of("alter table o drop primary key")),
        definition("alter table drop constraint cascade", || {
            of("alter table t drop constraint t_pkey cascade")
        })
        .refused("foreign keys", |_| of("alter table t drop constraint t_pkey")),
        definition("alter table drop not null", || {
            of("alter table t alter column v drop not null")
        })
        .refused("a primary key", |_| of("alter table t alter column id drop not null")),
        definition("alter table drop default", || {
            of("alter table o alter column extra drop default")
        }),
        definition("alter table set default to an expression", || {
            of("alter table o alter column extra set default nextval('s')")
        })
        .refused("a sequence that isn't there", |_| {
            of("alter table o alter column extra set default nextval('nothing')")
        }),
    ]
}

fn twins(k: i64) -> String {
    format!("update o set t = {} where id = {k}", k % 60 + 1)
}

/// Several actions, which are done together.
fn altered_at_once() -> [Kind; 3] {
    [
        definition("alter table, several columns", || {
            of("alter table o add column n integer default 1, alter column extra drop default, \
                add column m integer not null default 2, alter column id set default 3, \
                add constraint o_n check (n < m)")
        })
        .breaking("a row", CHECK, 1..=60, |k| {
            of(format!(
                "alter table o add column n integer, alter column extra set default 3, \
                 add constraint x check (id <> {k})"
            ))
        }),
        definition("alter table, a rewrite and a key", || {
            of("alter table o alter column t type smallint, drop column extra, \
                add column extra text default 'x', add constraint o_t unique (t)")
        })
        .breaking("a division", ZERO, 1..=60, |k| {
            of(format!(
                "alter table o alter column t type number(20,2) using 100 / (t - {k}), \
                 add column n integer, alter column extra drop default"
            ))
        })
        .breaking("two alike", UNIQUE, 1..=60, |_| {
            of("alter table o alter column t type integer, add constraint o_t unique (t)")
        })
        .arranged(twins, as_before),
        definition("alter table, another key", || {
            of("alter table o drop primary key, add constraint o_pk primary key (id, t), \
                alter column t set not null")
        })
        .refused("foreign keys", |_| {
            of("alter table t add column n integer, drop constraint t_pkey, add primary key (id)")
        }),
    ]
}

/// Those that no row has to do with.
fn simple() -> [Kind; 13] {
    [
        definition("truncate", || of("truncate table o"))
            .refused("rows that refer to it", |_| of("truncate table t")),
        definition("drop table", || of("drop table o"))
            .refused("a table that refers to it", |_| of("drop table t")),
        definition("drop table cascade", || of("drop table t cascade")),
        definition("drop index", || of("drop index t_by_v"))
            .refused("a primary key", |_| of("drop index t_pkey")),
        definition("alter index", || of("alter index t_by_v rename to n")),
        definition("create sequence", || of("create sequence n start with 5 cache 3"))
            .refused("a sequence of this name", |_| of("create sequence s")),
        definition("alter sequence", || of("alter sequence s increment by 5")),
        definition("drop sequence", || of("drop sequence s")),
        definition("create view", || of("create view n as select id, v + 1 as more from t"))
            .refused("a column that isn't there", |_| of("create view n as select nothing from t")),
        definition("create or replace view", || {
            of("create or replace view w as select id, v from t where v > 20")
        }),
        definition("drop view", || of("drop view w")),
        definition("comment", || of("comment on column t.v is 'a number'")),
        definition("analyze", || of("analyze t")),
    ]
}

/// Forms of these that are seldom written.
fn seldom() -> [Kind; 11] {
    [
        definition("truncate restart identity cascade", || {
            of("truncate table p restart identity cascade")
        })
        .refused("rows that refer to it", |_| of("truncate table p restart identity")),
        definition("truncate of several", || of("truncate table o, i restart identity"))
            .refused("rows that refer to the last", |_| of("truncate table o, i, p")),
        definition("alter sequence restart", || {
            of("alter sequence s restart with 50 cache 7 maxvalue 1000 cycle")
        })
        .refused("a value beyond its end", |_| of("alter sequence s maxvalue 5 restart with 50")),
        definition("create or replace view that is read", || {
            of("create or replace view y as select id, v from src")
        })
        .refused("a column that another view reads", |_| {
            of("create or replace view y as select v from src")
        }),
        definition("drop view cascade", || of("drop view y cascade"))
            .refused("a view that reads it", |_| of("drop view y")),
        definition("comment that is taken away", || of("comment on table t is null")),
        definition("analyze of columns", || of("analyze o (t, extra)"))
            .refused("a column that isn't there", |_| of("analyze o (t, nothing)")),
        definition("analyze delete statistics", || of("analyze table o delete statistics")),
        definition("drop table of several", || {
            of("drop table if exists i, nothing, k, t, c, p cascade")
        })
        .refused("a table that refers to the last", |_| of("drop table o, i, k, p"))
        .refused("a table that isn't there", |_| of("drop table o, nothing")),
        definition("drop view of several", || of("drop view y, w, z"))
            .refused("a view that reads the last", |_| of("drop view w, y")),
        definition("drop index of several", || of("drop index t_by_v, o_by_t"))
            .refused("a primary key", |_| of("drop index o_by_t, t_pkey")),
    ]
}
