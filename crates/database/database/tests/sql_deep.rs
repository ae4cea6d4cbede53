//! Statements that are nested as deep as can be written, and deeper, on threads with little stack:
//! each is answered or refused, in every build (rule sql/SQ69). An overflow would end the process.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "as an application it has threads of its own, with little stack"
)]

mod sql_common;

use database::{Connection, Prepared, SqlState, Value};
use sql_common::{Small, refused, rows, run, value};

const KIB: usize = 1 << 10;

/// Does `work` with a connection of a thread with so much stack, in a database of this name with a
/// table `t` that has the row 1.
fn on_thread(name: &str, bytes: usize, work: impl FnOnce(Connection<'static>) + Send) {
    let small = Small::new(name);
    let mut first = small.connect("first");
    run(&mut first, "create table t (a integer primary key)");
    run(&mut first, "insert into t values (1)");
    std::thread::scope(|scope| {
        let small = &small;
        let builder = std::thread::Builder::new().stack_size(bytes);
        let started = builder.spawn_scoped(scope, move || work(small.connect("app")));
        started.expect("started").join().expect("ended by itself");
    });
}

/// A statement of each kind of nesting, with so many levels.
fn towers(levels: usize) -> Vec<String> {
    let around = |open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(levels), close.repeat(levels))
    };
    let chain = |first: &str, link: &str| format!("{first}{}", link.repeat(levels));
    let tables = |link: &str| {
        let each = (1..=levels).map(|n| format!(" {link} t t{n} on t{n}.a = t{}.a", n - 1));
        format!("select count(*) from t t0{}", each.collect::<String>())
    };
    let queries = |said: &str| {
        let each = (1..=levels).map(|n| format!(", q{n} as {said} (select a from q{})", n - 1));
        let each = each.collect::<String>();
        format!("with q0 as (select a from t){each} select a from q{levels}")
    };
    vec![
        around("select a from (", "select a from t", ") q"),
        around("select a + 1 as a from (", "select a from t", ") q where a > 0"),
        around("select distinct a from (", "select a from t", ") q order by a limit 5"),
        format!("select {}", around("(select ", "1", ")")),
        format!("select a from t where {}", around("a in (select a from t where ", "true", ")")),
        format!(
            "select a from t where {}",
            around("exists (select 1 from t u where u.a = t.a and ", "true", ")")
        ),
        format!(
            "select {} from t",
            around("(select max(u.a) from t u where u.a = t.a and 1 = ", "1", ")")
        ),
        format!("select {}", around("(", "1", ")")),
        format!("select {}", around("abs(", "1", ")")),
        format!("select {}", around("coalesce(abs(", "1", "), 2)")),
        format!("select {}", around("case when true then ", "1", " end")),
        format!("select {} from t", around("case when a = 1 then ", "a", " end")),
        format!("select {}", around("not ", "true", "")),
        format!("select {}", around("- ", "1", "")),
        chain("select a from t where a = 1", " and a < 5"),
        chain("select a from t where a = 2", " or a = 1"),
        chain("select a from t where a = 1", " and a is distinct from 5"),
        chain("select 1", " + 1"),
        chain("select a from t where a = a", " + 0 * a"),
        chain("select 'a'", " || 'a'"),
        chain("select a", "::bigint") + " from t",
        chain("select 1", " union all select 1"),
        chain("select 1", " except select 2 union select 3"),
        around("(select 1 union ", "select 1", ")"),
        tables("join"),
        tables("left join"),
        queries(""),
        queries("materialized"),
        around("with q as (", "select 1 as a", ") select a from q"),
        format!("insert into t select a from t where a > 5 and {}", around("not ", "true", "")),
        format!("delete from t where a > 1 and {}", around("(", "true", ")")),
        format!("update t set a = a{}", " + 0".repeat(levels)),
        format!("explain select {}", around("(select ", "1", ")")),
        format!("create table made{levels} as select a{} as b from t", " + 0".repeat(levels)),
    ]
}

/// Prepares and runs a statement. None: it is told to be too complex.
fn asked(connection: &mut Connection<'_>, text: &str) -> Option<Prepared> {
    let done = connection.prepare(text).and_then(|prepared| {
        let again = connection.execute_prepared(&prepared, &[]);
        again.map(|_| prepared)
    });
    match done {
        Ok(prepared) => Some(prepared),
        Err(stop) => {
            let begin = text.get(..200).unwrap_or(text);
            assert_eq!(stop.state(), SqlState::STATEMENT_TOO_COMPLEX, "{begin}: {stop}");
            None
        }
    }
}

/// What is kept of statements is dropped when the connection has gone.
fn ask_all(mut connection: Connection<'static>) {
    let mut kept = Vec::new();
    for levels in [3, 10, 20, 55, 90, 390, 990, 3_000] {
        let towers = towers(levels);
        let answered: Vec<Prepared> =
            towers.iter().filter_map(|text| asked(&mut connection, text)).collect();
        match levels {
            3 | 10 => assert_eq!(answered.len(), towers.len(), "{levels} levels are few"),
            3_000 => assert_eq!(answered.len(), 0, "{levels} levels are too many"),
            _ => {}
        }
        kept.extend(answered);
        assert_eq!(value(&mut connection, "select count(*) from t where a = 1"), "1");
    }
    let seen = "select count(*) > 0 from v$sql_plan where depth >= 0";
    assert_eq!(value(&mut connection, seen), "TRUE");
    drop(connection);
    drop(kept);
}

#[test]
fn deep_statements_are_answered_or_refused_with_a_stack_of_512_kib() {
    on_thread("deep-512", 512 * KIB, ask_all);
}

#[test]
fn deep_statements_are_answered_or_refused_with_a_stack_of_1_mib() {
    on_thread("deep-1024", 1_024 * KIB, ask_all);
}

#[test]
fn deep_statements_are_answered_or_refused_with_a_stack_of_2_mib() {
    on_thread("deep-2048", 2_048 * KIB, ask_all);
}

/// Each view adds to a column of the one below, so one expression would have 9,000 levels.
#[test]
fn views_upon_views_are_read_with_little_stack() {
    on_thread("deep-views", 512 * KIB, |mut connection| {
        let sum = " + 1".repeat(300);
        run(&mut connection, "create view v0 as select a from t");
        for view in 1..=30 {
            let below = view - 1;
            let text = format!("create view v{view} as select a{sum} as a from v{below}");
            run(&mut connection, &text);
        }
        assert_eq!(value(&mut connection, "select a from v30"), "9001");
        assert_eq!(rows(&mut connection, "select a from v30 where a > 9000"), ["9001"]);
        let all = vec!["select a from v30"; 20].join(" union all ");
        assert_eq!(refused(&mut connection, &all), SqlState::STATEMENT_TOO_COMPLEX);
        let cursor = connection.open("select a from v30", &[]).expect("it is read");
        drop(connection);
        drop(cursor);
    });
}

/// A CHECK is compiled, asked and dropped by calls that aren't SQL too.
#[test]
fn a_deep_check_is_asked_with_little_stack() {
    on_thread("deep-check", 512 * KIB, |mut connection| {
        let check = format!("a{} > 0", " + 0".repeat(350));
        run(&mut connection, &format!("create table c (a integer, check ({check}))"));
        assert_eq!(run(&mut connection, "insert into c values (1)"), 1);
        let state = refused(&mut connection, "insert into c values (-1)");
        assert_eq!(state, SqlState::CHECK_VIOLATION);
        let table = connection.table("c").expect("it is there");
        let mut tx = connection.begin();
        tx.insert(&table, &[Value::Int(2)]).expect("sound");
        assert!(tx.insert(&table, &[Value::Int(-2)]).is_err());
        tx.commit().expect("committed");
        assert_eq!(value(&mut connection, "select count(*) from c"), "2");
    });
}

/// Without the limit a hundred thousand queries of WITH, each of which reads the one before it,
/// would be as many levels.
#[test]
fn queries_of_with_are_counted() {
    on_thread("deep-with", 1_024 * KIB, |mut connection| {
        let each = (1..20_000).map(|n| format!(", q{n} as (select a from q{})", n - 1));
        let each = each.collect::<String>();
        let text = format!("with q0 as (select a from t){each} select a from q19999");
        assert!(asked(&mut connection, &text).is_none());
    });
}
