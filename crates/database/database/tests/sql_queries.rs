//! Queries, as an application runs them: keys, ranges, subqueries, WITH, cursors.
#![forbid(unsafe_code)]

mod sql_common;

use database::{SqlState, Value};
use sql_common::{Small, refused, refused_with, rows, rows_with, run, run_with, value};

/// Employees 1 to 40: department `id % 4`, NULL for those that 10 divides; pay `id * 10`.
fn employees(small: &Small) -> database::Connection<'static> {
    let mut connection = small.connect("app");
    run(
        &mut connection,
        "create table emp (id bigint primary key, dept integer, name text not null, \
         pay number(10,2), hired date)",
    );
    run(&mut connection, "create index emp_dept on emp (dept, pay)");
    let text = "insert into emp select g, case when g % 10 = 0 then null else g % 4 end, \
                'name ' || g, g * 10, date '2020-01-01' + g::integer from generate_series(1, 40) g";
    assert_eq!(run(&mut connection, text), 40);
    connection
}

/// A row that is found by its key comes the same way whether the short way or a row source finds it
/// (SQ44).
#[test]
fn one_row_is_found_by_its_key() {
    let small = Small::new("sql-by-key");
    let mut connection = employees(&small);
    let by_key = "select name, pay from emp where id = $1";
    assert_eq!(rows_with(&mut connection, by_key, &[Value::Int(7)]), ["name 7|70"]);
    assert!(rows_with(&mut connection, by_key, &[Value::Int(99)]).is_empty());
    assert!(rows_with(&mut connection, by_key, &[Value::Null]).is_empty());
    let made = "select upper(name), pay + 1 from emp where id = $1 and pay > 50";
    assert_eq!(rows_with(&mut connection, made, &[Value::Int(7)]), ["NAME 7|71"]);
    assert!(rows_with(&mut connection, made, &[Value::Int(5)]).is_empty());
    let sorted = "select name, pay from emp where id = $1 order by pay limit 5";
    assert_eq!(rows_with(&mut connection, sorted, &[Value::Int(7)]), ["name 7|70"]);
    // No lossy comparison: a number that no BIGINT is finds nothing.
    let between = Value::Number("7.5".parse().expect("a number"));
    assert!(rows_with(&mut connection, by_key, &[between]).is_empty());
    let seven = Value::Number("7.0".parse().expect("a number"));
    assert_eq!(rows_with(&mut connection, by_key, &[seven]), ["name 7|70"]);
}

#[test]
fn ranges_lists_and_nulls_are_found_by_an_index_as_by_a_scan() {
    let small = Small::new("sql-ranges");
    let mut connection = employees(&small);
    let conditions = [
        "dept = 1 and pay > 200",
        "dept = 1 and pay between 90 and 210",
        "dept in (3, 1, 3, null)",
        "dept in (2, 3) and pay < 100",
        "dept is null",
        "dept is not null and pay < 60",
        "dept >= 2",
        "dept < 1",
        "dept = null",
        "dept not in (1, 2)",
        "dept not in (1, null)",
        "id in (5, 7, 5, 99)",
        "id > 35 and id <= 38",
        "hired = date '2020-01-08'",
        "name like 'name 1%'",
    ];
    for condition in conditions {
        let query = format!("select id, dept from emp where {condition} order by id");
        let by_index = rows(&mut connection, &query);
        // A computed column has no index.
        let all = format!(
            "select id, dept from (select id + 0 as id, dept + 0 as dept, pay + 0 as pay, \
             name || '' as name, hired from emp) e where {condition} order by id"
        );
        assert_eq!(rows(&mut connection, &all), by_index, "{condition}");
    }
    let only = "select dept, pay from emp where dept = 2 order by pay desc limit 2";
    assert_eq!(rows(&mut connection, only), ["2|380", "2|340"]);
}

/// Three-valued logic in subqueries, with NULL among the rows, without rows, and by each way of
/// asking.
#[test]
fn subqueries_answer_in_three_valued_logic() {
    let small = Small::new("sql-subqueries");
    let mut connection = employees(&small);
    let counts = [
        ("id in (select dept from emp)", "3"),
        ("id not in (select dept from emp)", "0"),
        ("id not in (select dept from emp where dept is not null)", "37"),
        ("id in (select dept from emp where false)", "0"),
        ("id not in (select dept from emp where false)", "40"),
        ("dept not in (select dept from emp where false)", "40"),
        ("id > all (select dept from emp where dept is not null)", "37"),
        ("id > all (select dept from emp)", "0"),
        ("id < any (select dept from emp)", "2"),
        ("pay > (select avg(pay) from emp)", "20"),
        ("pay = (select max(pay) from emp e where e.dept = emp.dept)", "4"),
        ("exists (select 1 from emp e where e.dept = emp.dept and e.pay > emp.pay)", "32"),
        ("not exists (select 1 from emp e where e.dept = emp.dept and e.pay > emp.pay)", "8"),
        ("id = 1 or id in (select dept from emp)", "3"),
        ("(dept, pay) in (select dept, max(pay) from emp group by dept)", "4"),
        ("(select count(*) from emp e where e.dept = emp.dept) = 0", "4"),
    ];
    for (condition, expected) in counts {
        let query = format!("select count(*) from emp where {condition}");
        assert_eq!(value(&mut connection, &query), expected, "{condition}");
    }
    let several = "select (select id from emp)";
    assert_eq!(refused(&mut connection, several), SqlState::CARDINALITY_VIOLATION);
    assert_eq!(value(&mut connection, "select (select id from emp where id = 99)"), "NULL");
}

#[test]
fn a_query_of_with_is_computed_once_and_read_often() {
    let small = Small::new("sql-with");
    let mut connection = employees(&small);
    run(&mut connection, "create sequence s");
    let twice = "with n as materialized (select nextval('s') v from generate_series(1, 3)) \
                 select a.v, b.v from n a join n b on a.v = b.v order by 1";
    assert_eq!(rows(&mut connection, twice), ["1|1", "2|2", "3|3"]);
    assert_eq!(value(&mut connection, "select nextval('s')"), "4");
    assert_eq!(value(&mut connection, "select currval('s')"), "4");
    let pairs = "with d as (select dept, sum(pay) total from emp group by dept) \
                 select count(*) from d a, d b where a.total <= b.total";
    // Two departments pay the same: 15 pairs, and one more.
    assert_eq!(value(&mut connection, pairs), "16");
}

#[test]
fn series_go_up_and_down_and_end() {
    let small = Small::new("sql-series");
    let mut connection = small.connect("app");
    let series = |connection: &mut database::Connection<'_>, arguments: &str| {
        rows(connection, &format!("select * from generate_series({arguments})"))
    };
    assert_eq!(series(&mut connection, "1, 3"), ["1", "2", "3"]);
    assert_eq!(series(&mut connection, "3, 1, -1"), ["3", "2", "1"]);
    assert_eq!(series(&mut connection, "0, 1, 0.5"), ["0", "0.5", "1"]);
    assert!(series(&mut connection, "3, 1").is_empty());
    assert!(series(&mut connection, "1, null").is_empty());
    let near_the_end = "9223372036854775806, 9223372036854775807";
    assert_eq!(series(&mut connection, near_the_end).len(), 2);
    let no_step = "select * from generate_series(1, 3, 0)";
    assert_eq!(refused(&mut connection, no_step), SqlState::INVALID_PARAMETER_VALUE);
}

#[test]
fn parameters_are_given_by_place_or_by_name() {
    let small = Small::new("sql-binds");
    let mut connection = employees(&small);
    let named = "select name from emp where id between :low and :high and id <> :low order by id";
    let binds = [("low", Value::Int(3)), (":HIGH", Value::Int(5))];
    let mut cursor = connection.query_named(named, &binds).expect("found");
    let mut names = Vec::new();
    while let Some(row) = cursor.next_row().expect("read") {
        names.push(row.get::<String>("name").expect("a text"));
    }
    drop(cursor);
    assert_eq!(names, ["name 4", "name 5"]);
    let marks = "select count(*) from emp where id > ? and id < ?";
    let binds = [Value::Int(10), Value::Int(13)];
    assert_eq!(rows_with(&mut connection, marks, &binds), ["2"]);
    // Too few, too many, and a name that isn't there.
    let three = [1, 2, 3].map(Value::Int);
    for binds in [&three[..0], &three[..1], &three] {
        assert_eq!(refused_with(&mut connection, marks, binds), SqlState::PROTOCOL_VIOLATION);
    }
    let wrong = connection.query_named(named, &[("lo", Value::Int(3))]).map(drop);
    assert_eq!(wrong.expect_err("no such name").state(), SqlState::UNDEFINED_PARAMETER);
    let prepared = connection.prepare("select $1 + id from emp where id = 2").expect("prepared");
    for add in [1, 2] {
        let mut cursor = connection.query_prepared(&prepared, &[Value::Int(add)]).expect("run");
        let row = cursor.next_row().expect("read").expect("a row");
        assert_eq!(row.get::<i64>(0).expect("a number"), 2 + add);
    }
}

/// A cursor shows one moment, whatever is changed while it is read, also by its own
/// transaction.
#[test]
fn a_cursor_shows_the_moment_of_its_beginning() {
    let small = Small::new("sql-cursors");
    let mut connection = small.connect("app");
    run(&mut connection, "create table n (id bigint primary key, v bigint)");
    let fill = "insert into n select g, 0 from generate_series(1, 5000) g";
    run(&mut connection, fill);
    for query in [
        "select id, v from n",
        "select id, v from n order by id",
        "select id, v from n where id > 0",
    ] {
        let mut other = small.connect("other");
        run(&mut connection, "begin");
        let cursor = connection.open(query, &[]).expect("opened");
        let mut first = database::Batch::default();
        assert!(connection.fetch(&cursor, 10, &mut first).expect("fetched"));
        assert_eq!(first.len(), 10);
        run(&mut connection, "update n set v = v + 1 where id % 2 = 0");
        run(&mut other, "update n set v = v + 1 where id % 2 = 1");
        run(&mut other, "insert into n values (6000, 9)");
        let (mut seen, mut batch, mut goes_on) = (first.len(), database::Batch::default(), true);
        while goes_on {
            goes_on = connection.fetch(&cursor, 700, &mut batch).expect("fetched");
            assert!(batch.iter().all(|row| row.get::<i64>("v").expect("a number") == 0), "{query}");
            seen += batch.len();
        }
        assert_eq!(seen, 5_000, "{query}");
        run(&mut connection, "rollback");
        run(&mut other, "delete from n where id = 6000");
        run(&mut other, "update n set v = 0");
    }
}

#[test]
fn a_commit_closes_cursors_and_a_rollback_to_a_savepoint_those_that_saw_too_much() {
    let small = Small::new("sql-cursor-ends");
    let mut connection = employees(&small);
    let open = |connection: &mut database::Connection<'_>| {
        let cursor = connection.open("select id from emp order by id", &[]).expect("opened");
        let mut batch = database::Batch::default();
        assert!(connection.fetch(&cursor, 5, &mut batch).expect("fetched"));
        cursor
    };
    let state = |connection: &mut database::Connection<'_>, cursor: &database::OpenCursor| {
        let fetched = connection.fetch(cursor, 5, &mut database::Batch::default());
        fetched.map(|_| ()).map_err(|stop| stop.state())
    };
    run(&mut connection, "begin");
    let before = open(&mut connection);
    run(&mut connection, "savepoint a");
    run(&mut connection, "update emp set pay = 0 where id = 1");
    let after = open(&mut connection);
    run(&mut connection, "rollback to a");
    assert_eq!(state(&mut connection, &before), Ok(()));
    assert_eq!(state(&mut connection, &after), Err(SqlState::INVALID_CURSOR_STATE));
    run(&mut connection, "commit");
    assert_eq!(state(&mut connection, &before), Err(SqlState::INVALID_CURSOR_STATE));
}

/// A refusal on the way through a query ends it, and leaves the connection as it was.
#[test]
fn an_expression_that_fails_refuses_the_query_and_nothing_else() {
    let small = Small::new("sql-faults");
    let mut connection = employees(&small);
    let zero = "select 100 / (id - 30) from emp order by id";
    assert_eq!(refused(&mut connection, zero), SqlState::DIVISION_BY_ZERO);
    let by_key = "select 1 / (id - 7) from emp where id = $1";
    let binds = [Value::Int(7)];
    assert_eq!(refused_with(&mut connection, by_key, &binds), SqlState::DIVISION_BY_ZERO);
    assert_eq!(rows_with(&mut connection, by_key, &[Value::Int(8)]), ["1"]);
    assert_eq!(value(&mut connection, "select count(*) from emp"), "40");
}

/// X8, Q7: a plan is made again when a definition changes, also by another session.
#[test]
fn a_prepared_statement_follows_definitions() {
    let small = Small::new("sql-definitions");
    let (mut connection, mut other) = (employees(&small), small.connect("other"));
    let all = connection.prepare("select * from emp where id = 3").expect("prepared");
    let width = |connection: &mut database::Connection<'_>| {
        let cursor = connection.query_prepared(&all, &[]).expect("run");
        cursor.columns().len()
    };
    assert_eq!(width(&mut connection), 5);
    run(&mut other, "alter table emp add column more text default 'x'");
    assert_eq!(width(&mut connection), 6);
    run(&mut other, "drop index emp_dept");
    let by_dept = "select count(*) from emp where dept = 1";
    assert_eq!(value(&mut connection, by_dept), "10");
    run(&mut other, "drop table emp");
    let gone = connection.query_prepared(&all, &[]).map(drop).expect_err("it was dropped");
    assert_eq!(gone.state(), SqlState::UNDEFINED_TABLE);
    run(&mut other, "create table emp (id bigint, only_one text)");
    run_with(&mut other, "insert into emp values ($1, 'y')", &[Value::Int(3)]);
    assert_eq!(width(&mut connection), 2);
}

/// DB114: a text of any kind says whether it gives rows, and gives each of them once.
#[test]
fn a_text_of_any_kind_is_answered() {
    let small = Small::new("sql-answer");
    let mut connection = small.connect("app");
    let mut answer = |text: &str| {
        let mut answer =
            connection.answer(text, &[]).unwrap_or_else(|stop| panic!("{text}: {stop}"));
        let mut found = answer.first.len();
        if let Some(cursor) = &answer.cursor {
            let mut goes_on = true;
            while goes_on {
                goes_on = connection.fetch(cursor, 100, &mut answer.first).expect("rows");
                found += answer.first.len();
            }
        }
        (answer.done.tag(), answer.done.rows(), answer.gives_rows().then_some(found))
    };
    assert_eq!(answer("create table n (a bigint)"), ("CREATE TABLE", 0, None));
    assert_eq!(answer("select a from n").2, Some(0));
    assert_eq!(answer("begin"), ("BEGIN", 0, None));
    for (rows, all) in [(20, 20), (1_000, 1_020)] {
        let insert = format!("insert into n select g from generate_series(1, {rows}) g");
        assert_eq!(answer(&insert), ("INSERT", rows, None));
        assert_eq!(answer("select a from n").2, Some(all));
    }
    assert_eq!(answer("show transaction_isolation").2, Some(1));
    assert_eq!(answer("delete from n where a = 1 returning a"), ("DELETE", 2, Some(2)));
    assert!(connection.has_open_transaction());
    connection.execute("commit", &[]).expect("done");
    assert!(!connection.has_open_transaction());
}

/// A column in which all is NULL says nothing of its kind: another part of a UNION does.
#[test]
fn a_union_is_sorted_by_a_column_that_is_all_null_in_one_part() {
    let small = Small::new("sql-union-null");
    let mut connection = small.connect("app");
    for first in [
        "select 1 as a, min(d) from (select 2.5::double precision as d) q where false group by 1",
        "select 1 as a, max(cast(null as double precision)) from generate_series(1, 3)",
        "select 1 as a, sum(null::double precision)",
    ] {
        let text = format!("{first} union all select 2, 3.5::double precision order by 2, 1");
        let found = rows(&mut connection, &text);
        assert_eq!(found.first().map(String::as_str), Some("2|3.5"), "{first}: {found:?}");
    }
}

/// count(t.*) counts the rows of a table, and not the NULLs that an outer join has in their place.
#[test]
fn the_rows_of_a_table_are_counted() {
    let small = Small::new("sql-count-rows");
    let mut connection = small.connect("app");
    for text in [
        "create table a (id bigint)",
        "create table b (id bigint, x bigint)",
        "create view v as select id from b",
        "insert into a values (1), (2), (3)",
        "insert into b values (1, null), (1, 2), (null, null)",
    ] {
        run(&mut connection, text);
    }
    for (text, expected) in [
        ("count(a.*), count(*) from a", "3|3"),
        ("count(b.*), count(b.id) from b", "3|2"),
        ("count(a.*), count(b.*), count(b.x) from a left join b on b.id = a.id", "4|2|1"),
        ("count(a.*), count(b.*) from a right join b on b.id = a.id", "2|3"),
        ("count(b.*), count(a.*) from a full join b on b.id = a.id", "3|4"),
        ("count(b.*) from a left join b using (id)", "2"),
        ("count(b.*) from a left join b on b.id = a.id where a.id > 1", "0"),
        ("count(b.*) filter (where x = 2) from a left join b on b.id = a.id", "1"),
        (
            "count(s.*), count(c.*), count(a.*), count(c.id) \
             from a left join (b s left join a c on c.id = s.x) on s.id = a.id",
            "2|1|4|1",
        ),
        ("count(s.*) from a left join (select 1 from b where id = 1) s on a.id = 2", "2"),
        ("count(s.*) from a left join lateral (select x from b where id = a.id) s on true", "2"),
        ("count(v.*) from a left join v on v.id = a.id", "2"),
        ("count(j.*), count(*) from (b right join a using (id)) j", "4|4"),
        ("count(g.*) from a left join generate_series(2, 9) g on g = a.id", "2"),
        ("count(a.*), count(b.*) from a, b where a.id = b.x", "1|1"),
        ("count(a.*), count(*) from a right join (select from b) s on false", "0|3"),
        ("count(s.*), count(*) from (select from b) s right join a on a.id = 2", "3|5"),
    ] {
        assert_eq!(value(&mut connection, &format!("select {text}")), expected, "{text}");
    }
    let groups = "select a.id, count(b.*) from a left join b on b.id = a.id \
                  group by a.id having count(b.*) < 5 order by count(b.*) desc, a.id";
    assert_eq!(rows(&mut connection, groups), ["1|2", "2|0", "3|0"]);
    let missing = refused(&mut connection, "select count(c.*) from a");
    assert_eq!(missing, SqlState::UNDEFINED_TABLE);
    let sum = refused(&mut connection, "select sum(a.*) from a");
    assert_eq!(sum, SqlState::FEATURE_NOT_SUPPORTED);
}

/// WITH TIES gives what is equal to the last row in the order, whether that is shown or not.
#[test]
fn rows_that_tie_with_the_last_one_come_too() {
    let small = Small::new("sql-ties");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (id bigint primary key, a integer, b text)");
    run(&mut connection, "create index t_a on t (a)");
    let all = "insert into t values (1, 10, 'x'), (2, 10, 'y'), (3, 20, 'x'), (4, 20, 'z'), \
               (5, null, 'x'), (6, null, 'y')";
    run(&mut connection, all);
    let six = ["1", "2", "3", "4", "5", "6"];
    for (text, expected) in [
        ("id from t order by a fetch first 1 row with ties", &["1", "2"][..]),
        ("id from t order by a desc fetch first row with ties", &["5", "6"]),
        ("id from t order by a offset 1 fetch next 2 rows with ties", &["2", "3", "4"]),
        ("id from t order by a, id fetch first 3 rows with ties", &["1", "2", "3"]),
        ("id from t order by a fetch first 0 rows with ties", &[]),
        ("id from t order by length(b) fetch first 2 rows with ties", &six),
        ("id from t order by 'x' || 'y' fetch first 1 row with ties", &six),
        ("b from t group by b order by count(*) desc fetch first 2 rows with ties", &["x", "y"]),
        ("distinct a from t order by a fetch first 1 row with ties", &["10"]),
        ("distinct on (b) b from t order by b, a fetch first 1 row with ties", &["x"]),
        (
            "a from t union all select a from t order by a fetch first 1 row with ties",
            &["10", "10", "10", "10"],
        ),
        (
            "id from (select id from t order by a fetch first 3 rows with ties) s where id <> 1",
            &["2", "3", "4"],
        ),
    ] {
        let mut found = rows(&mut connection, &format!("select {text}"));
        found.sort();
        assert_eq!(found, expected, "{text}");
    }
    let locked = "select id from t order by a fetch first 1 row with ties for update";
    assert_eq!(refused(&mut connection, locked), SqlState::FEATURE_NOT_SUPPORTED);
}
