//! What a hostile reader of binder, planner and row sources tried: statements whose answers were
//! wrong once, and statements that took a session or the instance with them.
#![forbid(unsafe_code)]

mod sql_common;

use database::{Connection, SqlState, Value};
use sql_common::{Small, refused, rows, rows_with, run, value};

/// A table `t` with rows of `a`: 1 to 30, out of order, and `b`: `a % 3`, NULL for those that 10
/// divides.
fn thirty(small: &Small) -> Connection<'static> {
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (a integer primary key, b integer)");
    let text = "insert into t select g * 7 % 31, case when g * 7 % 31 % 10 = 0 then null \
                else g * 7 % 31 % 3 end from generate_series(1, 30) g";
    assert_eq!(run(&mut connection, text), 30);
    connection
}

/// The first rows of an order are cut, also where the sort keeps more of them than are wanted.
#[test]
fn a_sorted_page_has_no_rows_before_it_and_none_behind() {
    let small = Small::new("hostile-pages");
    let mut connection = thirty(&small);
    let page = "select a from t order by a % 5, a limit 3 offset 4";
    assert_eq!(rows(&mut connection, page), ["25", "30", "1"]);
    let none = "select a from t order by b, a limit 0 offset 4";
    assert!(rows(&mut connection, none).is_empty());
    let all = "select count(*) from (select a from t order by -a limit 5000000 offset 28) s";
    assert_eq!(value(&mut connection, all), "2");
}

/// A column whose first value is NULL, and a parameter, are sorted by the kind that they have.
#[test]
fn what_begins_with_null_is_sorted() {
    let small = Small::new("hostile-null-first");
    let mut connection = small.connect("app");
    let sorted = "select * from (values (null), (2), (1)) v(a) order by a";
    assert_eq!(rows(&mut connection, sorted), ["1", "2", "NULL"]);
    let greatest = "select b, max(a) from (values (null, 1), (5, 1), (3, 2)) v(a, b) \
                    group by b order by 2";
    assert_eq!(rows(&mut connection, greatest), ["2|3", "1|5"]);
    let given = "select $1 as a order by a";
    assert_eq!(rows_with(&mut connection, given, &[Value::Int(7)]), ["7"]);
}

/// A join behind a comma is made before the pairs of the comma, also with a function in it.
#[test]
fn a_right_join_behind_a_comma_keeps_its_rows_for_each_row_before_it() {
    let small = Small::new("hostile-comma");
    let mut connection = small.connect("app");
    let text = "select x.v, y.v, g.n from (values (1), (2)) x(v), \
                (values (7)) y(v) right join generate_series(1, 2) g(n) on y.v = g.n order by 1, 3";
    assert_eq!(rows(&mut connection, text), ["1|NULL|1", "1|NULL|2", "2|NULL|1", "2|NULL|2"]);
    let text = "select count(*) from (values (1)) x(n), \
                (values (2)) y(n) join generate_series(1, 2) g(n) using (n)";
    assert_eq!(value(&mut connection, text), "1");
    let text = "select x.v, g.n from (values (1), (2)) x(v), generate_series(1, x.v) g(n) \
                order by 1, 2";
    assert_eq!(rows(&mut connection, text), ["1|1", "2|1", "2|2"]);
}

/// A column that is named gets a value, and rows of VALUES are of one length.
#[test]
fn a_value_that_is_missing_is_no_default() {
    let small = Small::new("hostile-counts");
    let mut connection = thirty(&small);
    for text in [
        "insert into t (a, b) values (31)",
        "insert into t values (31, 1), (32)",
        "insert into t (a, b) select 31",
        "merge into t using (values (31)) s(v) on t.a = s.v \
         when not matched then insert (a, b) values (31)",
    ] {
        assert_eq!(refused(&mut connection, text), SqlState::SYNTAX_ERROR, "{text}");
    }
    assert_eq!(run(&mut connection, "insert into t values (31), (32)"), 2);
    assert_eq!(value(&mut connection, "select count(*) from t where a > 30 and b is null"), "2");
}

/// ORDER BY within an aggregate holds for that one, also with DISTINCT and with little memory.
#[test]
fn an_aggregate_takes_its_rows_in_its_own_order() {
    let small = Small::new("hostile-agg-order");
    let mut connection = thirty(&small);
    let two = "select string_agg(a::text, ',' order by a), \
               string_agg(a::text, ',' order by a desc) from t where a < 4";
    assert_eq!(value(&mut connection, two), "1,2,3|3,2,1");
    let one = "select string_agg(a::text, ',' order by b, a desc), \
               string_agg(a::text, '' order by b) from t where a < 5";
    assert_eq!(value(&mut connection, one).split('|').next(), Some("3,4,1,2"));
    let distinct = "select string_agg(distinct b::text, ',' order by b::text desc) from t";
    assert_eq!(value(&mut connection, distinct), "2,1,0");
    let other = "select string_agg(distinct b::text, ',' order by a) from t";
    assert_eq!(refused(&mut connection, other), SqlState::INVALID_COLUMN_REFERENCE);
    run(&mut connection, "alter system set pga_aggregate_target = 1048576");
    let text = "create table v as select (g % 5000)::text || repeat('x', 40) as v \
                from generate_series(1, 20000) g";
    run(&mut connection, text);
    let many = "select md5(string_agg(distinct v, ',' order by v)) = \
                (select md5(string_agg(v, ',' order by v)) from (select distinct v from v) d) \
                from v";
    assert_eq!(value(&mut connection, many), "TRUE");
}

/// The methods of joining, each of which can be the only one that is wanted.
const METHODS: [&str; 3] = ["enable_hashjoin", "enable_mergejoin", "enable_nestloop"];

/// Runs `check` with each of the methods of joining alone, and with all.
fn by_each_method(connection: &mut Connection<'_>, check: &mut dyn FnMut(&mut Connection<'_>)) {
    for wanted in METHODS {
        for method in METHODS {
            let is_on = if method == wanted { "on" } else { "off" };
            run(connection, &format!("set {method} = {is_on}"));
        }
        check(connection);
    }
    for method in METHODS {
        run(connection, &format!("set {method} = on"));
    }
    check(connection);
}

/// A CHAR is compared with a text as a text, by an index and by each method of joining.
#[test]
fn blanks_at_the_end_of_a_text_are_minded_by_each_method() {
    let small = Small::new("hostile-blanks");
    let mut connection = small.connect("app");
    run(&mut connection, "create table c (k char(4) primary key)");
    run(&mut connection, "insert into c values ('ab'), ('abc')");
    run(&mut connection, "create table w (w varchar(6))");
    run(&mut connection, "insert into w values ('ab'), ('ab  '), ('abc ')");
    for (condition, count) in [
        ("k = concat('ab', ' ')", "0"),
        ("k = 'ab  '", "1"),
        ("k < concat('ab', ' ')", "1"),
        ("k <= concat('ab', ' ')", "1"),
        ("k > concat('ab', ' ')", "1"),
        ("k in (concat('ab', ' '), concat('abc', ' '))", "0"),
    ] {
        let text = format!("select count(*) from c where {condition}");
        assert_eq!(value(&mut connection, &text), count, "{condition}");
    }
    by_each_method(&mut connection, &mut |connection| {
        let pairs = "select w.w from w join c on c.k = w.w";
        assert_eq!(rows(connection, pairs), ["ab"]);
        let kept = "select count(*) from w left join c on c.k = w.w where c.k is null";
        assert_eq!(value(connection, kept), "2");
    });
}

/// Rows that are compared with those of a subquery compare as rows do: the first columns that
/// differ decide.
#[test]
fn rows_compare_with_those_of_a_subquery_column_after_column() {
    let small = Small::new("hostile-rows-any");
    let mut connection = small.connect("app");
    for (condition, others, answer) in [
        ("(2, 1) < any", "(1, 5)", "FALSE"),
        ("(1, 9) < any", "(2, 0)", "TRUE"),
        ("(1, 5) <= all", "(1, 5), (1, 6)", "TRUE"),
        ("(1, 5) > all", "(1, 4), (1, 5)", "FALSE"),
        ("(1, null) > any", "(0, 7)", "TRUE"),
        ("(1, null) > any", "(1, 7)", "NULL"),
        ("(1, 2) not in", "(1, 3), (2, null)", "TRUE"),
        ("(1, 2) not in", "(1, null), (9, 9)", "NULL"),
    ] {
        let text = format!("select {condition} (select * from (values {others}) v(x, y))");
        assert_eq!(value(&mut connection, &text), answer, "{text}");
    }
}

/// What may differ each time is evaluated once for each row that it stands for, and no more.
#[test]
fn a_query_of_with_that_may_differ_is_computed_once() {
    let small = Small::new("hostile-volatile");
    let mut connection = small.connect("app");
    run(&mut connection, "create sequence s");
    let lateral = "with q as (select nextval('s') as n) select g, l.n \
                   from generate_series(1, 3) g, lateral (select n from q) l order by g";
    assert_eq!(rows(&mut connection, lateral), ["1|1", "2|1", "3|1"]);
    let nested = "with q as (select (select nextval('s')) as n) select g, l.n \
                  from generate_series(1, 2) g, lateral (select n from q) l order by g";
    assert_eq!(rows(&mut connection, nested), ["1|2", "2|2"]);
    let twice = "with q as (select nextval('s') as n) select (select n from q), (select n from q)";
    assert_eq!(refused(&mut connection, twice), SqlState::FEATURE_NOT_SUPPORTED);
    let few = "select count(*) between 2000 and 3000 from generate_series(1, 10000) \
               where random() < 0.5 and random() < 0.5";
    assert_eq!(value(&mut connection, few), "TRUE");
}

/// Queries of WITH within subqueries within queries of WITH.
#[test]
fn a_shared_query_may_have_a_subquery_with_shared_queries() {
    let small = Small::new("hostile-shared");
    let mut connection = small.connect("app");
    let within = "with q as materialized (select x from generate_series(1, 3) x where x in \
                  (with r as materialized (select g from generate_series(2, 5) g) \
                  select a.g from r a join r b on a.g = b.g)) select * from q order by 1";
    assert_eq!(rows(&mut connection, within), ["2", "3"]);
    let lateral = "select g from generate_series(1, 5) g where exists \
                   (select 1 from generate_series(1, 3) l, lateral \
                   (with q as materialized (select l + 1 as n) \
                   select a.n from q a join q b on a.n = b.n) m where m.n = g) order by g";
    assert_eq!(rows(&mut connection, lateral), ["2", "3", "4"]);
}

/// Each level of nesting is more work, and not twice as much.
#[test]
fn deep_nesting_is_planned_in_no_time() {
    let small = Small::new("hostile-nested");
    let mut connection = thirty(&small);
    let mut text = "select 1".to_string();
    for _ in 0..24 {
        text = format!("select a from t where a in ({text})");
    }
    assert_eq!(rows(&mut connection, &text), ["1"]);
    let mut text = "select 1".to_string();
    for _ in 0..24 {
        text = format!("select 1 where exists ({text})");
    }
    assert_eq!(rows(&mut connection, &text), ["1"]);
    let mut text = "select a from t".to_string();
    for _ in 0..24 {
        text = format!(
            "select x.a from ({text}) x left join t y on y.a = x.a left join t z on z.a = x.a \
             group by x.a"
        );
    }
    assert_eq!(value(&mut connection, &format!("select count(*) from ({text}) q")), "30");
}

/// What is written once and needed several times is bounded, also within itself.
#[test]
fn copies_of_copies_are_refused_before_they_fill_the_memory() {
    let small = Small::new("hostile-copies");
    let mut connection = thirty(&small);
    let mut within = "a between 1 and 2".to_string();
    for _ in 0..40 {
        within = format!("({within}) between false and true");
    }
    let text = format!("select count(*) from t where {within}");
    assert_eq!(refused(&mut connection, &text), SqlState::STATEMENT_TOO_COMPLEX);
    let mut text = "a".to_string();
    for _ in 0..40 {
        text = format!("decode({text}, 1, 1, 2, 2, 3)");
    }
    let text = format!("select {text} from t");
    assert_eq!(refused(&mut connection, &text), SqlState::STATEMENT_TOO_COMPLEX);
    run(&mut connection, "create sequence s");
    for text in [
        "select decode(nextval('s'), 1, 'one', 2, 'two', 'many')",
        "select (nextval('s'), 1) < (1, 2)",
        "select nextval('s') between 1 and 2",
        "update t set (a, b) = (select nextval('s'), 1) where a = 1",
    ] {
        assert_eq!(refused(&mut connection, text), SqlState::FEATURE_NOT_SUPPORTED, "{text}");
    }
    assert_eq!(value(&mut connection, "select nextval('s')"), "1");
}

/// What reads another thing twice, which reads another thing twice, and so on.
#[test]
fn queries_that_double_at_each_step_are_kept_small_or_refused() {
    let small = Small::new("hostile-double");
    let mut connection = thirty(&small);
    let chain = |said: &str, step: &dyn Fn(usize) -> String| {
        let first = "q0 as (select 1 as n)".to_string();
        let more = (1..30).map(|n| format!("q{n} as {said} ({})", step(n - 1)));
        std::iter::once(first).chain(more).collect::<Vec<_>>().join(", ")
    };
    let joined = |n: usize| format!("select a.n from q{n} a join q{n} b on a.n = b.n");
    for said in ["", "materialized", "not materialized"] {
        let text = format!("with {} select n from q29", chain(said, &joined));
        assert_eq!(value(&mut connection, &text), "1", "{said}");
    }
    let asked = |n: usize| format!("select (select n from q{n}) + (select n from q{n}) as n");
    let text = format!("with {} select n from q29", chain("", &asked));
    assert_eq!(refused(&mut connection, &text), SqlState::STATEMENT_TOO_COMPLEX);
    let lateral = format!("with {} select n from q29", chain("", &joined));
    let lateral = lateral.replace("select 1 as n", "select g as n");
    let text = format!("select l.n from generate_series(1, 2) g, lateral ({lateral}) l");
    assert_eq!(refused(&mut connection, &text), SqlState::STATEMENT_TOO_COMPLEX);
    let mut text = "select a from t".to_string();
    for _ in 0..24 {
        text = format!("select a + a as a from ({text}) q");
    }
    let text = format!("select count(*) from ({text}) q where a > 0");
    assert_eq!(value(&mut connection, &text), "30");
}

/// Patterns that are long, or have many ways to match.
#[test]
fn a_pattern_neither_fills_the_stack_nor_goes_on_for_ever() {
    let small = Small::new("hostile-patterns");
    let mut connection = small.connect("app");
    for (text, answer) in [
        ("select repeat('a', 10000) ~ repeat('a', 10000)", "TRUE"),
        ("select 'aaa' ~ ('^' || repeat('a?', 200) || '$')", "TRUE"),
        ("select translate('abcabc', 'aab', 'xyz')", "xzcxzc"),
        ("select btrim('ZZabcZZ', 'ZYXWVUTSRQPONMLKJIHGFEDCBA0123456789')", "abc"),
        ("select instr('aaaa', 'aa', 1, 3)", "3"),
        ("select lpad('é', 3, 'ß') || rpad('abc', 2, 'x') || rpad('a', 3, '')", "ßßéaba"),
    ] {
        assert_eq!(value(&mut connection, text), answer, "{text}");
    }
    for text in [
        "select repeat('a', 100000) ~ repeat('a', 100000)",
        "select 'aaa' ~ repeat('a*', 5000)",
        "select repeat('a', 200000) like '%' || repeat('a', 100000) || 'b'",
        "select to_char(1, repeat('9', 100000))",
        "select lpad('x', 2000000000)",
    ] {
        assert_eq!(refused(&mut connection, text), SqlState::PROGRAM_LIMIT_EXCEEDED, "{text}");
    }
}

/// Rows that are far larger than those that they are made of.
#[test]
fn a_batch_of_large_rows_is_cut() {
    let small = Small::new("hostile-large");
    let mut connection = small.connect("app");
    let text = "select count(*), sum(length(v)), max(g) from \
                (select repeat('x', 100000 + g) as v, g from generate_series(1, 50) g \
                 union all select 'y', 51) q where length(v || v) > 1";
    assert_eq!(rows(&mut connection, text), ["51|5001276|51"]);
}

/// What a name or a number in GROUP BY, ORDER BY and DISTINCT ON means.
#[test]
fn a_clause_means_a_column_of_the_result_as_it_is() {
    let small = Small::new("hostile-names");
    let mut connection = thirty(&small);
    let ordered = "select *, a from t where a < 3 order by a desc";
    assert_eq!(rows(&mut connection, ordered).len(), 2);
    let twice = "select random() as r, random() as r from t order by r";
    assert_eq!(refused(&mut connection, twice), SqlState::AMBIGUOUS_COLUMN);
    let starred = "select * from (select b from t where b >= 0) q group by 1 order by 1";
    assert_eq!(rows(&mut connection, starred), ["0", "1", "2"]);
    let asked = "select (select max(x.a) from t x where x.b = t.b) as m, count(*) from t \
                 where b >= 0 group by m order by m";
    assert_eq!(rows(&mut connection, asked), ["27|9", "28|9", "29|9"]);
    let counted = "select count(*) as n from t group by n";
    assert_eq!(refused(&mut connection, counted), SqlState::GROUPING_ERROR);
    let first = "select distinct on (m) b as m, a from t where b >= 0 order by m, a";
    assert_eq!(rows(&mut connection, first), ["0|3", "1|1", "2|2"]);
    let on = "select distinct on (a, b) a, b from t order by a, a, b + 1, b";
    assert_eq!(refused(&mut connection, on), SqlState::INVALID_COLUMN_REFERENCE);
}

/// An aggregate that would be of a query outside.
#[test]
fn an_aggregate_of_columns_outside_alone_is_refused() {
    let small = Small::new("hostile-outside");
    let mut connection = thirty(&small);
    let outside = "select (select sum(t.a) from (select 1) q) from t";
    assert_eq!(refused(&mut connection, outside), SqlState::FEATURE_NOT_SUPPORTED);
    let own = "select (select sum(x.a + t.a) from t x where x.a < 3) from t where a = 1";
    assert_eq!(value(&mut connection, own), "5");
    let counted = "select (select count(*) from t x where x.a < t.a) from t where a = 4";
    assert_eq!(value(&mut connection, counted), "3");
}

/// LIMIT and OFFSET round what is no whole number, as a column does.
#[test]
fn a_limit_that_is_no_whole_number_is_rounded() {
    let small = Small::new("hostile-limit");
    let mut connection = small.connect("app");
    let first = |count: &str| format!("select n from generate_series(1, 5) as g(n) limit {count}");
    for (count, last) in [
        ("1.5", 2),
        ("1.4", 1),
        ("(select 2.5)", 3),
        ("2.4e0::double precision", 2),
        ("-0.4", 0),
        ("null", 5),
    ] {
        let found = rows(&mut connection, &first(count));
        let expected: Vec<String> = (1..=last).map(|n: i32| n.to_string()).collect();
        assert_eq!(found, expected, "{count}");
    }
    let offset = "select n from generate_series(1, 5) as g(n) offset 3.5";
    assert_eq!(rows(&mut connection, offset), ["5"]);
    let bound = Value::Number("1.5".parse().expect("a number"));
    let two = rows_with(&mut connection, &first("$1"), &[bound]);
    assert_eq!(two, ["1", "2"]);
    let state = SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE;
    assert_eq!(refused(&mut connection, &first("-1.5")), state);
    assert_eq!(refused(&mut connection, &first("true")), SqlState::DATATYPE_MISMATCH);
}

/// ONLY, ROW and BETWEEN SYMMETRIC mean what they mean in PostgreSQL; what isn't there says so.
#[test]
fn words_of_postgresql_are_understood_or_refused() {
    let small = Small::new("hostile-words");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (a integer, b integer)");
    run(&mut connection, "insert into t values (1, 2), (null, 3), (3, 4), (3, 5)");
    for (condition, found) in [
        ("row(a, b) = row(1, 2)", &["2"][..]),
        ("(a, b) in (row(3, 4), (3, 5))", &["4", "5"]),
        ("row(a, b) > (3, 4)", &["5"]),
        ("a between symmetric 3 and 2", &["4", "5"]),
        ("b between symmetric 2 and 3 and a = 1", &["2"]),
        ("a not between symmetric 3 and 2", &["2"]),
        ("a between asymmetric 3 and 2", &[]),
        ("a between symmetric null and 2", &[]),
        ("b not between symmetric null and 4", &[]),
    ] {
        let text = format!("select b from only t where {condition} order by b");
        assert_eq!(rows(&mut connection, &text), found, "{condition}");
    }
    let several = "select count(*) from only t, only (t) u, (only t v join only t w on v.b = w.b)";
    assert_eq!(rows(&mut connection, several), ["64"]);
    let using = "delete from only t using only t u where t.b = u.b and u.b = 7";
    assert_eq!(run(&mut connection, using), 0);
    assert_eq!(run(&mut connection, "update only t set b = b where a = 1"), 1);
    assert_eq!(run(&mut connection, "delete from only (public.t) where a = 1"), 1);
    run(&mut connection, "alter table only t add column c integer");
    run(&mut connection, "create table row (only_one integer)");
    let unsupported = SqlState::FEATURE_NOT_SUPPORTED;
    for text in [
        "select count(distinct t.*) from t",
        "select row(a, b) from t",
        "select b from t order by b fetch first 1 percent rows only",
        "select b from t where random() between symmetric 0 and 1",
    ] {
        assert_eq!(refused(&mut connection, text), unsupported, "{text}");
    }
    for text in ["select symmetric 1", "select b from t fetch first 1 row with ties"] {
        assert_eq!(refused(&mut connection, text), SqlState::SYNTAX_ERROR, "{text}");
    }
}
