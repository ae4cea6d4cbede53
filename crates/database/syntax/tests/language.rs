//! The language as people write it: what is read, how it is read, and what a message says.

#![forbid(unsafe_code)]

use syntax::tree::{BinaryOperator, Expr, SelectItem, SetExpr, TableFactor, Value};
use syntax::{Binds, SqlId, Statement, bind_number, parse, parse_query, split, start_of};

fn statement(text: &str) -> Statement {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).statement
}

fn refused(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

/// The expression of `SELECT expression`.
fn expression(text: &str) -> Expr {
    let query = parse_query(&format!("select {text}")).unwrap_or_else(|e| panic!("{text}: {e}"));
    let SetExpr::Select(select) = *query.body else { panic!("{text}") };
    match select.projection.into_iter().next() {
        Some(SelectItem::UnnamedExpr(expression)) => expression,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn queries_of_all_kinds_are_read() {
    for text in [
        "select 1",
        "SELECT * FROM dual;",
        "select from t",
        "values (1, 'a'), (2, 'b') order by 1",
        "table t",
        "(select 1) union all (select 2) order by 1 limit 1",
        "select 1 intersect select 2 except all select 3 minus select 4",
        "select distinct on (a) a, b from t",
        "select all count(distinct a), sum(b) filter (where c) from t",
        "select string_agg(d, ',' order by e) from t",
        "select t.*, s.t.c, \"Q\".\"r\" from s.t, \"Q\"",
        "select a as \"A b\", b c, d \"e\" from t as x (a, b) where x.a = 1",
        "select * from a join b on a.i = b.i left outer join c using (i)",
        "select * from a cross join d natural join e",
        "select * from a right join b on true full join c on a.i = c.i, lateral (select a.i) l",
        "select * from (a join b on true) join (c join d on true) on true",
        "select * from ((a cross join b) cross join c)",
        "select * from (t) where (a, b) in ((1, 2), (3, 4))",
        "select * from (select 1) as x, (values (1), (2)) as y (n)",
        "select * from generate_series(1, 10) as g (n)",
        "select * from t where a in (select b from u where u.c = t.c) and not exists (select 1)",
        "select * from t where a = any (select 1) or b > all (select 2) or c <> some (select 3)",
        "select a from t group by a, b having count(*) > 1 order by 2 desc, a nulls first",
        "select a from t order by a offset 5 rows fetch next 10 rows only",
        "select a from t limit all offset 2",
        "select a from t fetch first row only",
        "with a as (select 1), b (x) as materialized (select * from a) select * from b",
        "with recursive r as (select 1 union all select 2) select * from r",
        "select row_number() over (partition by a order by b rows unbounded preceding) from t",
        "select rank() over w from t window w as (order by a)",
        "select a from t group by grouping sets ((a), ()), rollup (b), cube (c)",
        "select sysdate, user, current_user, current_date, current_timestamp(3), localtimestamp",
        "select v$session.sid, serial# from v$session where p1 = 3",
        "select value, name, level, date, text, type, key, number, count, position from t",
        "select case a when 1 then 'x' else null end, case when a then b end, nullif(a, b)",
        "select coalesce(a, b), greatest(1, 2), nvl(a, 0), decode(a, 1, 'x'), round(1.5, 1)",
        "select substring(a from 2 for 3), substring(a, 2), substr(a, 2, 3)",
        "select overlay(a placing b from 1), overlay(a placing b from 1 for 2)",
        "select trim(a), trim(both 'x' from a), trim(leading 'x' from a), ltrim(a)",
        "select position('a' in b), position(a, b)",
        "select extract(year from a), extract(epoch from b - c), ceil(a), floor(b), mod(a, 2)",
        "select date '2026-01-31', timestamp '2026-01-31 10:00:00'",
        "select interval '1 day', interval '1' hour, interval ? day",
        "select cast(a as number(9, 2)), a::varchar2(9 char), c::text::int",
        "select cast(b as double precision)",
        "select a like 'x%', a not like 'y' escape '\\', a ilike 'z', a similar to 'q'",
        "select a ~ 'r', a !~* 's'",
        "select a between 1 and 2 and b, a not between 1 and 2, c is distinct from d",
        "select a is null, b is not null, c isnull, d notnull, e is true, f is not unknown",
        "select a collate \"C\", b at time zone 'UTC', -a, +b, not c, a || b || c, a % 2, 2 ^ 3",
        "select a & b, a | b, ~a, a # b, a << 1, a >> 2",
        "select array[1, 2], row(1, 2), (1, 2), (select 1)",
        "select /* c /* nested */ */ 1 -- to the end\n, 2",
        "select 'it''s', E'a\\nb', $$x'y$$, $q$z$q$, U&'\\0041', X'1F', N'n'",
        "select $1::int + $2",
        "select ?::int",
    ] {
        statement(text);
    }
}

/// As in PostgreSQL: a minus binds closer than `^`, a tilde looser than `+`, and IS DISTINCT FROM
/// closer than AND.
#[test]
fn signs_and_distinct_from_take_what_is_theirs() {
    let operator = |text: &str| match expression(text) {
        Expr::BinaryOp { op, .. } => Some(op),
        _ => None,
    };
    assert_eq!(operator("-2 ^ 2"), Some(BinaryOperator::PGExp));
    assert_eq!(operator("-a * b"), Some(BinaryOperator::Multiply));
    assert_eq!(operator("~a & b"), Some(BinaryOperator::BitwiseAnd));
    for text in ["~a + b", "-a::int", "~a * b", "- - a"] {
        assert!(matches!(expression(text), Expr::UnaryOp { .. }), "{text}");
    }
    for text in ["a is distinct from b and c", "a is not distinct from b + 1 and c"] {
        assert_eq!(operator(text), Some(BinaryOperator::And), "{text}");
    }
    let Expr::IsDistinctFrom(_, right) = expression("a is distinct from b = c") else {
        panic!("a test")
    };
    assert!(matches!(*right, Expr::BinaryOp { op: BinaryOperator::Eq, .. }));
    assert!(parse("select a is distinct from b is distinct from c").is_err());
    expression("(a is distinct from b) is distinct from c");
}

#[test]
fn sqllogictests_queries_are_read() {
    for text in [
        "SELECT CASE WHEN c>(SELECT avg(c) FROM t1) THEN a*2 ELSE b*10 END FROM t1 ORDER BY 1",
        "SELECT a+b*2+c*3+d*4+e*5, (a+b+c+d+e)/5 FROM t1 WHERE d NOT BETWEEN 110 AND 150 OR e>c",
        "SELECT DISTINCT - col2 AS col1 FROM tab0 AS cor0 WHERE NOT ( 80 ) IS NULL",
        "SELECT ALL + 66 * - + col0 FROM tab2 cor0 WHERE ( NULL ) IS NULL",
        "SELECT * FROM ( tab0 AS cor0 CROSS JOIN tab1 AS cor1 )",
        "SELECT CAST ( - + 75 AS SIGNED ) FROM tab0",
        "SELECT COALESCE ( 32, - 43, - COUNT ( * ) * NULLIF ( + 53, - 21 ) )",
        "SELECT x FROM t1 WHERE col0 IN ( 1, ( + 2 ), - 3 ) AND (col1 IN (SELECT col2 FROM t2))",
        "SELECT pk FROM tab0 WHERE ((((col3 > 1) OR (col0 < 2)))) AND col4 >= 2.53 ORDER BY 1 DESC",
        "SELECT 1 FROM t1 WHERE 1 IN (VALUES (1), (2))",
        "INSERT INTO t1(e,c,b,d,a) VALUES(103,102,100,101,104)",
        "CREATE TABLE t1(a INTEGER, b INTEGER, c VARCHAR(30), PRIMARY KEY(a))",
        "CREATE TABLE tab0(pk INTEGER PRIMARY KEY, col0 INTEGER, col1 FLOAT, col2 TEXT)",
        "CREATE INDEX idx_tab1_0 on tab1 (col0)",
        "CREATE UNIQUE INDEX idx ON tab1 (col4 DESC, col3)",
        "CREATE VIEW view_1 AS SELECT pk, col0 FROM tab0 WHERE col0 = 49",
        "DELETE FROM t1 WHERE x > 5",
        "UPDATE t1 SET x=3 WHERE x=1",
        "DROP TABLE IF EXISTS t1",
        "DROP VIEW view_1",
    ] {
        // CAST AS SIGNED is read here; the binder refuses the type.
        statement(text);
    }
}

#[test]
fn names_without_quotes_are_folded_and_literals_are_not() {
    let Statement::Query(found) = statement("SELECT A.Bc, \"De\", 'Fg' AS Hi FROM S.TT AS A")
    else {
        panic!()
    };
    assert_eq!(found.query.to_string(), "SELECT a.bc, \"De\", 'Fg' AS hi FROM s.tt AS a");
}

#[test]
fn operators_bind_as_in_postgresql() {
    let shape = |text: &str| match expression(text) {
        Expr::BinaryOp { left, op, right } => format!("({left}) {op} ({right})"),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(shape("1 + 2 * 3"), "(1) + (2 * 3)");
    assert_eq!(shape("1 - 2 - 3"), "(1 - 2) - (3)");
    assert_eq!(shape("a or b and c"), "(a) OR (b AND c)");
    assert_eq!(shape("a || b + 1"), "(a) || (b + 1)");
    assert_eq!(shape("a = 1 and b = 2"), "(a = 1) AND (b = 2)");
    assert_eq!(shape("-a * b"), "(-a) * (b)");
    assert_eq!(shape("a::int + 1"), "(a::INT) + (1)");
    assert!(matches!(expression("not a = b"), Expr::UnaryOp { .. }));
    assert!(matches!(expression("a = b is null"), Expr::IsNull(_)));
    assert!(matches!(expression("a isnull"), Expr::IsNull(_)));
    assert!(matches!(expression("a notnull"), Expr::IsNotNull(_)));
    assert!(matches!(expression("isnull(a, b)"), Expr::Function(_)));
    let Expr::BinaryOp { op, .. } = expression("2 ^ 3") else { panic!() };
    assert_eq!(op, BinaryOperator::PGExp);
}

#[test]
fn binds_are_numbered_in_the_tree() {
    for (text, count) in [
        ("select ?, a + ? from t where b = ?", 3),
        ("select :x, :y, :X", 2),
        ("select $3, $1", 3),
        ("insert into t values (?, ?)", 2),
        ("select * from t limit ? offset ?", 2),
    ] {
        assert_eq!(parse(text).expect(text).binds.count(), count, "{text}");
    }
    let Expr::Value(value) = expression("?") else { panic!() };
    let Value::Placeholder(bind) = value.value else { panic!() };
    assert_eq!(bind_number(&bind), Some(1));
    assert_eq!(parse("select 1").expect("no binds").binds, Binds::default());
}

#[test]
fn a_span_in_a_tree_is_a_byte_of_the_text() {
    let text = "select 'ü', x\n  from t";
    let query = parse_query(text).expect("sound");
    let SetExpr::Select(select) = *query.body else { panic!() };
    let SelectItem::UnnamedExpr(Expr::Identifier(column)) = &select.projection[1] else { panic!() };
    assert_eq!(start_of(column.span), text.find('x'));
    let TableFactor::Table { name, .. } = &select.from[0].relation else { panic!() };
    let name = syntax::Name::of(name).expect("one part");
    assert_eq!(name.position(), text.rfind('t'));
}

#[test]
fn messages_say_where_and_what_was_expected() {
    for (text, said) in [
        ("selec 1", "near \"selec\", line 1 column 1; expected a statement; did you mean select?"),
        ("", "the text has no statement"),
        ("  -- nothing", "the text has no statement"),
        ("select a, from t", "near \"from\", line 1 column 11; expected an expression"),
        ("select *\nfrom t\nwhere", "at the end of the text; expected an expression"),
        ("select * from t where a ==1", "near \"=\", line 1 column 26; expected an expression"),
        ("select (1", "at the end of the text; expected )"),
        ("select 1)", "near \")\", line 1 column 9; expected the end of the statement"),
        ("select * form t", "near \"form\", line 1 column 10"),
        ("select 1; select 2", "near \"select\", line 1 column 11; give one statement at a time"),
        ("select * from", "at the end of the text; expected a name"),
        ("create tabel t (a int)", "near \"tabel\", line 1 column 8; expected OR REPLACE, VIEW"),
        ("insert t values (1", "at the end of the text; expected , or )"),
        ("select 'abc", "has no end; end it with '"),
        ("grant select on t to u", "GRANT isn't supported, line 1 column 1"),
        ("select a from t where a = $0", "there can't be a bind \"$0\""),
        ("select cast(1 as)", "near \")\""),
        ("drop tabl t", "expected TABLE"),
        ("select case 1 when 1 then 2", "at the end of the text; expected END"),
        ("select not", "at the end of the text; expected an expression"),
    ] {
        let found = refused(text);
        assert!(found.contains(said), "{text}\n  says {found}\n  not  {said}");
    }
}

#[test]
fn a_place_is_a_byte_and_a_character() {
    let error = parse("select 'ü' fro t x").expect_err("wrong");
    assert_eq!((error.position(), error.character()), (Some(16), Some(16)));
}

#[test]
fn statements_of_a_script_have_their_places_and_names() {
    let script = "-- tables\ncreate table t (a int);\n\ninsert into t values (';');\nselect 1";
    let parts: Vec<_> = split(script).collect();
    assert_eq!(parts.len(), 3);
    assert!(parts.iter().all(|part| parse(part.text).is_ok()));
    assert_eq!(parts[1].text, "insert into t values (';')");
    assert_eq!(SqlId::of(parts[2].text).to_string(), "0y30pf6xwqt3x");
}

#[test]
fn a_statement_says_its_tag_and_whether_it_takes_binds() {
    for (text, tag, takes) in [
        ("select 1", "SELECT", true),
        ("drop index i", "DROP INDEX", false),
        ("explain delete from t", "EXPLAIN", true),
        ("alter session set a = 1", "ALTER SESSION", false),
        ("rollback to a", "ROLLBACK", false),
        ("execute p", "EXECUTE", true),
    ] {
        let found = statement(text);
        assert_eq!((found.tag(), found.takes_binds()), (tag, takes), "{text}");
    }
    assert!(refused("create table t (a int default ?)").contains("no place for binds"));
}
