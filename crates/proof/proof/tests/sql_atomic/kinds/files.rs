//! Statements about files and clients: COPY, and external tables.
//!
//! The file `/db/src.csv` has the rows of `src`, and `e` reads it. `k` is what refuses a statement:
//! a line that a client sends, or the row of this number of `t`, from 1 to 60, or of the file, from
//! 31 to 90.

use database::SqlState;

use super::{Class, Kind, Statement};

const ZERO: SqlState = SqlState::DIVISION_BY_ZERO;
const CHECK: SqlState = SqlState::CHECK_VIOLATION;
const UNIQUE: SqlState = SqlState::UNIQUE_VIOLATION;
const FOREIGN: SqlState = SqlState::FOREIGN_KEY_VIOLATION;

/// Lines that a client sends.
const LINES: i64 = 20;

fn of(text: impl Into<String>) -> Statement {
    Statement::of(text)
}

pub(super) fn kinds() -> Vec<Kind> {
    let mut all = vec![copy_from_client(), copy_from_file(), copy_to_file()];
    all.extend([insert_external(), select_external(), create_external(), drop_external()]);
    all
}

/// The lines of a client, of which the `k`-th is another one.
fn copied(k: i64, broken: &str) -> Statement {
    let line = |number: i64| match number == k {
        true => format!("{broken}\n"),
        false => format!("{},new {number},{number},1\n", 100 + number),
    };
    let bytes: String = (1..=LINES).map(line).collect();
    Statement { text: "copy t (id, code, v, up) from stdin csv".to_string(), bytes: Some(bytes) }
}

fn copy_from_client() -> Kind {
    let no_number = SqlState::INVALID_TEXT_REPRESENTATION;
    Kind::of("copy from", Class::Rows, || copied(0, ""))
        .breaking("no number", no_number, 1..=LINES, |k| copied(k, "x,x,1,1"))
        .breaking("a short line", SqlState::BAD_COPY_FILE_FORMAT, 1..=LINES, |k| copied(k, "150,x"))
        .breaking("a check", CHECK, 1..=LINES, |k| copied(k, "150,x,-1,1"))
        .breaking("a unique key", UNIQUE, 1..=LINES, |k| copied(k, "150,code 1,1,1"))
        .breaking("a foreign key", FOREIGN, 1..=LINES, |k| copied(k, "150,x,1,99"))
}

/// Of the lines of the file those whose keys are free.
fn copy_from_file() -> Kind {
    Kind::of("copy from a file", Class::Rows, || {
        of("copy t (id, code, v) from '/db/src.csv' csv where id > 60")
    })
    .breaking("a division", ZERO, 61..=90, |k| {
        of(format!(
            "copy t (id, code, v) from '/db/src.csv' csv \
             where id > 60 and 100 / (id - {k}) is not null"
        ))
    })
    .breaking("a primary key", UNIQUE, 31..=60, |k| {
        of(format!("copy t (id, code, v) from '/db/src.csv' csv where id > 60 or id = {k}"))
    })
}

/// Where it is refused there is no file (rule sql/SQ82).
fn copy_to_file() -> Kind {
    Kind::of("copy to a file", Class::Definition, || {
        of("copy (select id, code, pad from t order by pad, id) to '/db/out.csv' csv")
    })
    .breaking("a division", ZERO, 1..=60, |k| {
        of(format!("copy (select id, pad, 10 / (id - {k}) as x from t) to '/db/out.csv' csv"))
    })
    .refused("a file of this name", |_| of("copy t (id) to '/db/src.csv' csv"))
}

fn insert_external() -> Kind {
    Kind::of("insert select of an external table", Class::Rows, || {
        of("insert into t (id, code, v, up) select id + 1000, code, v, 1 from e")
    })
    .breaking("a division", ZERO, 31..=90, |k| {
        of(format!(
            "insert into t (id, code, v, up) \
             select id + 1000, code, v + 0 * (100 / (id - {k})), 1 from e"
        ))
    })
}

fn select_external() -> Kind {
    Kind::of("select of an external table", Class::Query, || {
        of("select b.id, a.code from e a join t b on b.v < a.v + 40 \
            order by b.pad, a.code, b.id")
    })
    .breaking("a division", ZERO, 31..=90, |k| {
        of(format!(
            "select b.id, a.code, 10 / (a.id - {k}) as x from e a join t b on b.v < a.v + 40 \
             order by b.pad, a.code, b.id"
        ))
    })
}

fn create_external() -> Kind {
    Kind::of("create external table", Class::Definition, || {
        of("create external table n (id bigint, code varchar(40)) \
            location 'n.csv' directory '/db' format csv")
    })
    .refused("a table of this name", |_| {
        of("create external table t (id bigint) location 'n.csv' directory '/db' format csv")
    })
}

fn drop_external() -> Kind {
    Kind::of("drop external table", Class::Definition, || of("drop external table e"))
        .refused("a table that is stored", |_| of("drop external table t"))
}
