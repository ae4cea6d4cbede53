//! What SQL stands on, as a hostile program uses it: cursors beside transactions, statements that
//! outlive what they were prepared for, panics, time-outs, memory and temporary files.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "as an application it has files and a clock of its own"
)]

mod sql_common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use database::{
    Batch, Connection, CopySource, Database, Error, ErrorKind, OpenCursor, Options, Parameters,
    Session, SqlState, Value,
};
use sql_common::{Folder, Small, refused, rows, run, value};

/// A database whose work areas have this memory together.
fn with_memory(folder: &Folder, pga_aggregate_target: u64) -> Database {
    let db_cache_size = 8 << 20;
    let parameters = Parameters { db_cache_size, pga_aggregate_target, ..Parameters::default() };
    let options = Options { parameters, ..Options::default() };
    Database::create(&folder.0, &options).expect("created")
}

/// The numbers from 1 to 20, in a table.
fn numbers(connection: &mut Connection<'_>) {
    run(connection, "create table t (x bigint primary key)");
    run(connection, "insert into t select g from generate_series(1, 20) g");
}

/// A query of WITH that doesn't fit in memory is computed again for each row that asks, while a
/// reader of the rows that it had before isn't at their end.
#[test]
fn a_query_of_with_begins_again_while_its_rows_are_on_disk() {
    let folder = Folder::absent("sql-with-again");
    let database = with_memory(&folder, 1);
    let mut connection = database.connect("app");
    numbers(&mut connection);
    let exists = "select x, exists (
           with q as materialized
               (select g, repeat('x', 20000 + g) r from generate_series(1, 30) g)
           select 1 from q a, q b where a.g > t.x and (a.g <> b.g or a.r <> b.r))
         from t where x < 4 order by x";
    assert_eq!(rows(&mut connection, exists), ["1|TRUE", "2|TRUE", "3|TRUE"]);
    drop(connection);
    database.shutdown().expect("shut");
}

/// A query of WITH that may differ each time is computed once, or refused: if it reads a row
/// outside it can't be computed once.
#[test]
fn a_query_of_with_that_may_differ_is_not_computed_twice() {
    let small = Small::new("sql-with-volatile");
    let mut connection = small.connect("app");
    numbers(&mut connection);
    let twice = |bound: &str| {
        format!(
            "select x, (with q as (select random() r, g from generate_series(1, 3) g {bound})
                        select count(*) from q a join q b on a.r = b.r where a.g >= t.x)
             from t where x < 4 order by x"
        )
    };
    assert_eq!(rows(&mut connection, &twice("")), ["1|3", "2|2", "3|1"]);
    let outside = twice("where g >= t.x");
    assert_eq!(refused(&mut connection, &outside), SqlState::FEATURE_NOT_SUPPORTED);
    // What it sets itself isn't outside.
    let within = "with q as (select random() r from t, lateral (select t.x + 1 y) z)
                  select count(*) from q a join q b on a.r = b.r";
    assert_eq!(value(&mut connection, within), "20");
}

fn fetched(done: Result<bool, Error>, batch: &Batch) -> Result<Vec<i64>, SqlState> {
    let number = |row: database::CursorRow<'_>| row.get::<i64>(0).expect("a number");
    done.map(|_| batch.iter().map(number).collect()).map_err(|stop| stop.state())
}

/// DB112: a cursor that was opened outside of transactions is read within one and behind it, and
/// ends none.
#[test]
fn a_cursor_from_outside_goes_on_beside_transactions() {
    let small = Small::new("sql-cursor-outside");
    let mut connection = small.connect("app");
    numbers(&mut connection);
    let mut batch = Batch::default();
    let cursor = connection.open("select x from t order by x", &[]).expect("opened");

    let mut tx = connection.begin();
    tx.execute("insert into t values (0)", &[]).expect("inserted");
    let done = tx.fetch(&cursor, 2, &mut batch);
    assert_eq!(fetched(done, &batch), Ok(vec![1, 2]));
    tx.execute("insert into t values (-1)", &[]).expect("the transaction goes on");
    tx.commit().expect("committed");
    assert_eq!(value(&mut connection, "select count(*) from t"), "22");

    let mut tx = connection.begin();
    tx.execute("delete from t", &[]).expect("deleted");
    tx.rollback().expect("rolled back");
    let done = connection.fetch(&cursor, 2, &mut batch);
    assert_eq!(fetched(done, &batch), Ok(vec![3, 4]));

    run(&mut connection, "begin");
    run(&mut connection, "set transaction read only");
    run(&mut connection, "rollback");
    let done = connection.fetch(&cursor, 2, &mut batch);
    assert_eq!(fetched(done, &batch), Ok(vec![5, 6]));
    connection.close_cursor(&cursor).expect("closed");
    let done = connection.fetch(&cursor, 2, &mut batch);
    assert_eq!(fetched(done, &batch), Err(SqlState::INVALID_CURSOR_STATE));
}

/// A cursor of a `Tx` is closed when that has ended, however it has: to read it is refused.
#[test]
fn a_cursor_of_a_tx_ends_with_it() {
    let small = Small::new("sql-cursor-of-tx");
    let mut connection = small.connect("app");
    numbers(&mut connection);
    let mut batch = Batch::default();
    for end in ["commit", "rollback", "drop", "forget"] {
        let mut tx = connection.begin();
        let one = tx.open("select x from t order by x", &[]).expect("opened");
        let other = tx.open("select x from t order by x", &[]).expect("opened");
        let done = tx.fetch(&one, 1, &mut batch);
        assert_eq!(fetched(done, &batch), Ok(vec![1]), "{end}");
        tx.close_cursor(&other).expect("closed");
        match end {
            "commit" => tx.commit().expect("committed"),
            "rollback" => tx.rollback().expect("rolled back"),
            "drop" => drop(tx),
            _ => std::mem::forget(tx),
        }
        let done = connection.fetch(&one, 1, &mut batch);
        assert_eq!(fetched(done, &batch), Err(SqlState::INVALID_CURSOR_STATE), "{end}");
        connection.close_cursor(&one).expect("it is closed");
    }
}

/// The numbers of cursors begin with 1 in each connection, so a cursor knows its own.
#[test]
fn a_cursor_of_another_connection_is_refused() {
    let small = Small::new("sql-cursor-of-another");
    let (mut one, mut other) = (small.connect("one"), small.connect("other"));
    numbers(&mut one);
    let open = |connection: &mut Connection<'_>, text: &str| -> OpenCursor {
        connection.open(text, &[]).expect("opened")
    };
    let of_one = open(&mut one, "select x, x from t order by x");
    let of_other = open(&mut other, "select x from t order by x desc");
    let mut batch = Batch::default();
    let done = other.fetch(&of_one, 1, &mut batch);
    assert_eq!(fetched(done, &batch), Err(SqlState::INVALID_CURSOR_STATE));
    let closed = other.close_cursor(&of_one).expect_err("it is another's");
    assert_eq!(closed.state(), SqlState::INVALID_CURSOR_STATE);
    let done = other.fetch(&of_other, 1, &mut batch);
    assert_eq!(fetched(done, &batch), Ok(vec![20]));
    let done = one.fetch(&of_one, 1, &mut batch);
    assert_eq!(fetched(done, &batch), Ok(vec![1]));
}

/// DB12, DB46: a statement belongs to the opening of the database for which it was prepared, and
/// keeps nothing of it open.
#[test]
fn a_prepared_statement_is_of_one_database_and_keeps_nothing_open() {
    let (first, second) = (Folder::absent("sql-prepared-1"), Folder::absent("sql-prepared-2"));
    let (one, other) = (with_memory(&first, 1 << 20), with_memory(&second, 1 << 20));
    let (mut of_one, mut of_other) = (one.connect("app"), other.connect("app"));
    // The same objects have the same numbers in both.
    numbers(&mut of_one);
    numbers(&mut of_other);
    run(&mut of_other, "delete from t");
    let count = of_one.prepare("select count(*) from t where x > $1").expect("prepared");
    let insert = of_one.prepare("insert into t values (:x)").expect("prepared");
    let set = of_one.prepare("set statement_timeout = 0").expect("prepared");
    let binds = [Value::Int(100)];
    for prepared in [&count, &insert, &set] {
        let binds = &binds[..prepared.binds()];
        let stop = of_other.execute_prepared(prepared, binds).expect_err("it is another's");
        assert_eq!(stop.refusal(), Some(ErrorKind::Invalid), "{prepared:?}: {stop}");
    }
    assert_eq!(value(&mut of_other, "select count(*) from t"), "0");
    let mut again = one.connect("again");
    assert_eq!(again.execute_prepared(&insert, &binds).expect("inserted").rows(), 1);
    drop((of_one, again, of_other));
    other.shutdown().expect("shut");
    one.shutdown().expect("shut");
    assert_eq!((insert.binds(), insert.bind_named("x")), (1, Some(1)));

    let one = Database::open(&first.0, &Options::default()).expect("nothing has it open");
    let mut connection = one.connect("app");
    let done = connection.execute_prepared(&insert, &binds);
    let stop = done.expect_err("it is of the opening before");
    assert_eq!(stop.refusal(), Some(ErrorKind::Invalid), "{stop}");
    assert_eq!(value(&mut connection, "select count(*) from t"), "21");
    drop(connection);
    one.shutdown().expect("shut");
}

/// Gives a line, and then panics.
struct Panics(u32);

impl CopySource for Panics {
    fn read(&mut self, into: &mut Vec<u8>, _: &Session) -> Result<(), String> {
        self.0 += 1;
        assert!(self.0 < 2, "the source panics");
        into.extend_from_slice(b"100\n");
        Ok(())
    }
}

/// DB22: what a caller's code that panics leaves is what a refused statement leaves: no row, no
/// transaction that nobody has begun, and the transaction that somebody has.
#[test]
fn a_panic_of_the_callers_code_leaves_transactions_as_they_were() {
    let small = Small::new("sql-panic");
    let (mut connection, mut other) = (small.connect("app"), small.connect("other"));
    numbers(&mut connection);
    let copy = "copy t from stdin";
    let alone = AssertUnwindSafe(|| connection.copy_in(copy, &mut Panics(0)).map(|_| ()));
    assert!(catch_unwind(alone).is_err(), "it panics");
    assert!(!connection.has_open_transaction());
    let works = "select count(sql_id) from v$session where sid <> sid()";
    assert_eq!(value(&mut other, works), "0", "it works for no statement any more");
    run(&mut connection, "insert into t values (100)");
    assert_eq!(value(&mut other, "select count(*) from t"), "21");

    let mut tx = connection.begin();
    tx.execute("update t set x = 200 where x = 100", &[]).expect("updated");
    let within = AssertUnwindSafe(|| tx.copy_in(copy, &mut Panics(0)).map(|_| ()));
    assert!(catch_unwind(within).is_err(), "it panics");
    tx.execute("insert into t values (300)", &[]).expect("inserted");
    tx.commit().expect("committed");
    let last = "select x from t where x > 50 order by x";
    assert_eq!(rows(&mut other, last), ["200", "300"]);
}

/// DB98: what `execute` does is one statement, also if it reads many rows.
#[test]
fn a_time_out_is_about_the_whole_of_a_statement() {
    let small = Small::new("sql-time-out");
    let mut connection = small.connect("app");
    connection.set_statement_timeout(Some(Duration::from_millis(100)));
    let begun = Instant::now();
    let many = connection.execute("select g from generate_series(1, 20000000) g", &[]);
    assert_eq!(many.expect_err("it takes long").refusal(), Some(ErrorKind::Cancelled));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    connection.set_statement_timeout(None);
    assert_eq!(value(&mut connection, "select 1"), "1");
}

/// DB98: the calls that give a query's rows have the time of one statement together.
#[test]
fn a_time_out_is_about_all_fetches_of_a_query() {
    let small = Small::new("sql-time-out-fetches");
    let mut connection = small.connect("app");
    run(&mut connection, "set statement_timeout = 300");
    // A row takes some milliseconds, and all of them a minute.
    let text = "select (select count(*) from generate_series(1, 20000) a(n) where a.n % g.n = 0)
                from generate_series(1, 20000) g(n)";
    let cursor = connection.open(text, &[]).expect("it begins");
    let (mut batch, mut fetches) = (Batch::default(), 0);
    let refused = loop {
        match connection.fetch(&cursor, 1, &mut batch) {
            Ok(goes_on) => assert!(goes_on, "it was read to its end"),
            Err(stop) => break stop,
        }
        fetches += 1;
        assert!(fetches < 5_000, "each fetch has the time for itself");
    };
    assert_eq!(refused.refusal(), Some(ErrorKind::Cancelled), "{refused}");
    assert!(refused.to_string().contains("time-out of 300"), "{refused}");
    assert_eq!(value(&mut connection, "select 1"), "1");
}

/// Rows whose texts are long, or are searched long, are looked at one by one.
#[test]
fn a_time_out_is_noticed_between_rows_that_take_long() {
    let small = Small::new("sql-long-rows");
    let mut connection = small.connect("app");
    let texts = [
        "select count(*) from generate_series(1, 20000) g
         where repeat('ab' || g, 500000) like '%a%b%a%b%c'",
        "select count(repeat('ab' || g, 500000)) from generate_series(1, 20000) g",
        "select count(*) from generate_series(1, 200000) g
         where repeat('a', 36 + g % 5) ~ 'a*a*a*b'",
    ];
    for text in texts {
        connection.set_statement_timeout(Some(Duration::from_millis(50)));
        let begun = Instant::now();
        let long = connection.execute(text, &[]).expect_err("it takes long");
        assert_eq!(long.refusal(), Some(ErrorKind::Cancelled), "{text}: {long}");
        assert!(begun.elapsed() < Duration::from_secs(1), "{text}: {:?}", begun.elapsed());
    }
}

/// DB111: comments in front make no difference.
#[test]
fn a_tx_is_not_ended_by_a_text_behind_a_comment() {
    let small = Small::new("sql-tx-comment");
    let mut connection = small.connect("app");
    numbers(&mut connection);
    let mut tx = connection.begin();
    tx.execute("delete from t", &[]).expect("deleted");
    for text in ["/* now */ commit", "-- now\ncommit", "/* a /* b */ */ rollback"] {
        let stop = tx.execute(text, &[]).expect_err(text);
        assert_eq!(stop.state(), SqlState::ACTIVE_SQL_TRANSACTION, "{text}: {stop}");
    }
    tx.rollback().expect("rolled back");
    assert_eq!(value(&mut connection, "select count(*) from t"), "20");
}

/// Every byte of the work areas is given back, however a statement ends, and no temporary file is
/// left.
#[test]
fn work_areas_are_given_back_on_each_way_out() {
    let folder = Folder::absent("sql-given-back");
    let database = with_memory(&folder, 1 << 20);
    let mut connection = database.connect("app");
    let watching = database.connect("watch");
    let granted = || database.instance().work_areas().reading(watching.session()).granted_bytes;
    let large = "select g, repeat('x', 1000) r from generate_series(1, 1500) g";
    let texts = [
        format!("select * from ({large}) s order by r, g desc"),
        format!("select a.g from ({large}) a join ({large}) b on a.r || a.g = b.r || b.g"),
        format!("select r || g, count(*) from ({large}) s group by r || g"),
        format!("with q as materialized ({large}) select a.g from q a, q b where a.g = b.g"),
    ];
    for text in &texts {
        let mut cursor = connection.query(text, &[]).expect("it runs");
        cursor.next_row().expect("a row");
        drop(cursor);
        assert_eq!(granted(), 0, "dropped: {text}");

        let cursor = connection.open(text, &[]).expect("it runs");
        connection.fetch(&cursor, 1, &mut Batch::default()).expect("a row");
        connection.close_cursor(&cursor).expect("closed");
        assert_eq!(granted(), 0, "closed: {text}");

        connection.set_statement_timeout(Some(Duration::from_millis(5)));
        // It may be done by then.
        let _ = connection.execute(text, &[]);
        connection.set_statement_timeout(None);
        assert_eq!(granted(), 0, "cancelled: {text}");

        let mut leaves = database.connect("leaves");
        let cursor = leaves.open(text, &[]).expect("it runs");
        leaves.fetch(&cursor, 1, &mut Batch::default()).expect("a row");
        drop(leaves);
        assert_eq!(granted(), 0, "the connection has gone: {text}");
    }
    let fails = format!("select 1 / (1400 - g) from (select * from ({large}) s order by r, g) t");
    assert_eq!(refused(&mut connection, &fails), SqlState::DIVISION_BY_ZERO);
    assert_eq!(granted(), 0, "refused");
    let files = std::fs::read_dir(&folder.0).expect("there");
    let left = files.filter(|file| {
        let name = file.as_ref().expect("listed").file_name();
        name.to_string_lossy().ends_with(".forebay-temp")
    });
    assert_eq!(left.count(), 0);
    drop((connection, watching));
    database.shutdown().expect("shut");
}
