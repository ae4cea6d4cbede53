//! Views into the instance and of the dictionary, as SQL and the clients of PostgreSQL ask them.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "as an application it has threads of its own")]

mod sql_common;

use std::sync::mpsc;

use database::{Connection, Nanos, SqlState, Value};
use sql_common::{Small, refused, rows, rows_with, run, value};

/// Two tables with keys, a check, a default, an index; a view; a comment.
fn with_tables(small: &Small) -> Connection<'static> {
    let mut connection = small.connect("app");
    run(&mut connection, "create table dept (id bigint primary key, name varchar(20) not null)");
    let emp = "create table emp (id bigint primary key, name text not null, \
               pay number(8,2) default 100, dept bigint references dept, \
               constraint emp_pay check (pay > 0))";
    run(&mut connection, emp);
    run(&mut connection, "create index emp_dept on emp (dept, name desc)");
    run(&mut connection, "create view rich as select name, pay from emp where pay > 1000");
    run(&mut connection, "comment on table emp is 'who works here'");
    run(&mut connection, "comment on column emp.pay is 'a month'");
    run(&mut connection, "insert into dept values (1, 'sales')");
    run(&mut connection, "insert into emp values (1, 'Ann', 2000, 1), (2, 'Bob', 500, 1)");
    connection
}

/// DB115: every view is a table of SQL's, by its name and with its schema, and has the columns that
/// it is declared with.
#[test]
fn each_view_can_be_selected() {
    let small = Small::new("sql-views-all");
    let mut connection = with_tables(&small);
    let mut seen = 0;
    for view in views::all() {
        let (schema, name) = (view.schema.name(), view.name);
        let text = format!("select * from {schema}.{name}");
        let found = rows(&mut connection, &text);
        let count = value(&mut connection, &format!("select count(*) from {schema}.{name} as v"));
        assert!(count.parse::<u64>().is_ok(), "{name}: {count}");
        if schema == "pg_catalog" {
            connection.execute(&format!("select * from {name}"), &[]).expect(name);
        }
        seen += usize::from(!found.is_empty());
    }
    assert!(seen > 50, "{seen} views have rows");
    assert_eq!(refused(&mut connection, "select * from schemata"), SqlState::UNDEFINED_TABLE);
}

/// A view is joined with others, and with tables of users'.
#[test]
fn views_are_joined_with_tables() {
    let small = Small::new("sql-views-joins");
    let mut connection = with_tables(&small);
    let text = "select t.table_name, count(*) from user_tables t \
                join user_tab_columns c on c.table_name = t.table_name \
                group by t.table_name order by 1";
    assert_eq!(rows(&mut connection, text), ["dept|2", "emp|4"]);
    let text = "select e.name, v.owner from emp e cross join dba_tables v \
                where v.table_name = 'emp' and e.pay > 1000";
    assert_eq!(rows(&mut connection, text), ["Ann|public"]);
    let text = "select name from dept where name in \
                (select lower('SALES') from v$version) and exists (select 1 from dual)";
    assert_eq!(rows(&mut connection, text), ["sales"]);
}

/// DB115: the number of a session is one everywhere.
#[test]
fn a_session_has_one_number() {
    let small = Small::new("sql-views-number");
    let mut one = small.connect("one");
    let mut other = small.connect("other");
    let sid = i64::from(one.session().number().sid);
    assert_eq!(value(&mut one, "select pg_backend_pid()"), sid.to_string());
    assert_eq!(value(&mut one, "select distinct sid from v$mystat"), sid.to_string());
    let text = "select program from v$session where sid = pg_backend_pid()";
    assert_eq!((value(&mut one, text), value(&mut other, text)), ("one".into(), "other".into()));
}

/// SQ63: a session that runs a statement is shown with its name, and what it waits for, and whom.
#[test]
fn a_waiting_session_is_shown_with_its_statement() {
    let small = Small::new("sql-views-waits");
    let mut holder = with_tables(&small);
    run(&mut holder, "begin");
    run(&mut holder, "update emp set pay = 1 where id = 1");
    let text = "update emp set pay = 2 where id = 1";
    let (tell, told) = mpsc::channel();
    let small = &small;
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let mut waiter = small.connect("waiter");
            tell.send(waiter.session().number().sid).expect("somebody listens");
            run(&mut waiter, text)
        });
        let sid = told.recv().expect("it connects");
        let asked = format!(
            "select s.status, s.state, s.event, q.sql_text, s.blocking_session = pg_backend_pid() \
             from v$session s left join v$sql q on q.sql_id = s.sql_id where s.sid = {sid}"
        );
        let began = holder.session().now();
        let line = loop {
            let line = value(&mut holder, &asked);
            if line.contains("WAITING") && line.contains("enq: TX") {
                break line;
            }
            let waited = holder.session().now().since(began);
            assert!(waited < Nanos::from_secs(30), "it waits for nothing: {line}");
            std::thread::yield_now();
        };
        assert!(line.starts_with("ACTIVE|WAITING|enq: TX"), "{line}");
        assert!(line.contains(text), "{line}");
        assert!(line.ends_with("|TRUE"), "{line}");
        let own = "select count(*) from v$session where sid = pg_backend_pid() and sql_id is null";
        assert_eq!(value(&mut holder, own), "0", "the asking session runs a statement");
        run(&mut holder, "commit");
        assert_eq!(waiter.join().expect("no panic"), 1);
    });
    // Nothing runs any more but what asks, and the time was filed.
    let others = "select count(*) from v$session \
                  where sql_id is not null and sid <> pg_backend_pid()";
    assert_eq!(value(&mut holder, others), "0");
    let time = "select value > 0 from v$sys_time_model where stat_name = 'DB time'";
    assert_eq!(value(&mut holder, time), "TRUE");
}

/// SQ63: a statement's runs, rows and time are counted at once, those of its fetches too.
#[test]
fn a_statement_is_counted() {
    let small = Small::new("sql-views-sql");
    let mut connection = with_tables(&small);
    let insert = "insert into dept values ($1, $2)";
    for id in 10..15 {
        let values = [Value::Int(id), Value::Text("more")];
        connection.execute(insert, &values).expect(insert);
    }
    let query = "select n from generate_series(1, 5000) as s(n)";
    assert_eq!(rows(&mut connection, query).len(), 5_000);
    let counted = "select executions, rows_processed, command, elapsed_time > 0, \
                   cpu_time <= elapsed_time, fetches >= executions, sql_id \
                   from v$sql where sql_text = $1";
    let of = |connection: &mut Connection<'_>, text: &str| {
        let found = rows_with(connection, counted, &[Value::Text(text)]);
        assert_eq!(found.len(), 1, "{text}");
        found[0].rsplit_once('|').map(|(all, id)| (all.to_string(), id.to_string())).expect("two")
    };
    let (inserted, _) = of(&mut connection, insert);
    assert_eq!(inserted, "5|5|INSERT|TRUE|TRUE|TRUE");
    let (queried, id) = of(&mut connection, query);
    assert_eq!(queried, "1|5000|SELECT|TRUE|TRUE|TRUE");
    let plan = "select p.operation, p.plan_hash_value = s.plan_hash_value from v$sql_plan p \
                join v$sql s on s.sql_id = p.sql_id and s.child_number = p.child_number \
                where p.sql_id = $1 order by p.id";
    let lines = rows_with(&mut connection, plan, &[Value::Text(&id)]);
    assert!(lines.iter().any(|line| line == "Series|TRUE"), "{lines:?}");
    // More runs than are counted one by one, and the lag is bounded.
    for id in 100..300 {
        let values = [Value::Int(id), Value::Text("more")];
        connection.execute(insert, &values).expect(insert);
    }
    let (inserted, _) = of(&mut connection, insert);
    let runs: i64 =
        inserted.split('|').next().and_then(|runs| runs.parse().ok()).expect("a number");
    assert!((205 - 64..=205).contains(&runs), "{runs}");
}

/// Columns of a table and of a user's view, with their types.
#[test]
fn the_standards_columns_are_those_of_tables_and_views() {
    let small = Small::new("sql-views-columns");
    let mut connection = with_tables(&small);
    let text = "select column_name, ordinal_position, data_type, is_nullable, numeric_precision, \
                numeric_scale, character_maximum_length, column_default \
                from information_schema.columns where table_name = $1 order by 2";
    let of = |connection: &mut Connection<'_>, table: &str| {
        rows_with(connection, text, &[Value::Text(table)])
    };
    let emp = [
        "id|1|bigint|NO|64|0|NULL|NULL",
        "name|2|text|NO|NULL|NULL|NULL|NULL",
        "pay|3|numeric|YES|8|2|NULL|100",
        "dept|4|bigint|YES|64|0|NULL|NULL",
    ];
    assert_eq!(of(&mut connection, "emp"), emp);
    let rich = ["name|1|text|YES|NULL|NULL|NULL|NULL", "pay|2|numeric|YES|8|2|NULL|NULL"];
    assert_eq!(of(&mut connection, "rich"), rich);
    let text = "select table_name, table_type from information_schema.tables \
                where table_schema = 'public' order by 1";
    let tables = ["dept|BASE TABLE", "emp|BASE TABLE", "rich|VIEW"];
    assert_eq!(rows(&mut connection, text), tables);
    let text = "select view_name, text from user_views";
    let found = rows(&mut connection, text);
    assert!(found.len() == 1 && found[0].starts_with("rich|select name, pay"), "{found:?}");
}

/// What ANALYZE found is shown.
#[test]
fn statistics_are_shown() {
    let small = Small::new("sql-views-statistics");
    let mut connection = with_tables(&small);
    let text = "select num_rows, last_analyzed is null from user_tables where table_name = 'emp'";
    assert_eq!(value(&mut connection, text), "NULL|TRUE");
    run(&mut connection, "analyze emp");
    assert_eq!(value(&mut connection, text), "2|FALSE");
    let text = "select reltuples from pg_class where relname = 'emp'";
    assert_eq!(value(&mut connection, text).trim_end_matches(".0"), "2");
}

/// SQ64: functions and casts ask the catalogue.
#[test]
fn functions_ask_the_catalogue() {
    let small = Small::new("sql-views-functions");
    let mut connection = with_tables(&small);
    let cases = [
        ("select format_type(1043, 24)", "character varying(20)"),
        ("select format_type(23, null)", "integer"),
        ("select 'emp'::regclass::regclass", "emp"),
        ("select to_regclass('nothing') is null", "TRUE"),
        ("select obj_description('emp'::regclass, 'pg_class')", "who works here"),
        ("select col_description('public.emp'::regclass, 3)", "a month"),
        ("select pg_table_is_visible('emp'::regclass)", "TRUE"),
        ("select pg_table_is_visible('information_schema.tables'::regclass)", "FALSE"),
        ("select has_table_privilege('emp', 'select')", "TRUE"),
        ("select current_schema()", "public"),
        ("select pg_get_userbyid(10)", "forebay"),
        ("select 'int4'::regtype", "23"),
        ("select 2200::regnamespace", "public"),
        ("select 'emp' ~ '^(emp|dept)$'", "TRUE"),
        ("select 'EMP' !~* 'm'", "FALSE"),
        ("select 2 = any ('{1,2}')", "TRUE"),
    ];
    for (text, expected) in cases {
        assert_eq!(value(&mut connection, text), expected, "{text}");
    }
    let text = "select count(*) from pg_class where oid = 'emp'::regclass and relkind = 'r'";
    assert_eq!(value(&mut connection, text), "1");
    let text = "select pg_get_viewdef('rich'::regclass)";
    assert!(value(&mut connection, text).starts_with("select name, pay"));
    let missing = refused(&mut connection, "select 'nothing'::regclass");
    assert_eq!(missing, SqlState::UNDEFINED_TABLE);
}

/// The statements of psql 15 for `\d emp`, as `psql -E` shows them, with the oid put in.
const PSQL_FIND: &str = r"SELECT c.oid,
  n.nspname,
  c.relname
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname OPERATOR(pg_catalog.~) '^(emp)$' COLLATE pg_catalog.default
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 2, 3;";

const PSQL_TABLE: &str = r"SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules,
  c.relhastriggers, c.relrowsecurity,
  c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace,
  CASE WHEN c.reloftype = 0 THEN ''
    ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END,
  c.relpersistence, c.relreplident, am.amname
FROM pg_catalog.pg_class c
 LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid)
WHERE c.oid = '{oid}';";

const PSQL_COLUMNS: &str = r"SELECT a.attname,
  pg_catalog.format_type(a.atttypid, a.atttypmod),
  (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true)
   FROM pg_catalog.pg_attrdef d
   WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef),
  a.attnotnull,
  (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t
   WHERE c.oid = a.attcollation AND t.oid = a.atttypid
     AND a.attcollation <> t.typcollation) AS attcollation,
  a.attidentity,
  a.attgenerated
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = '{oid}' AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum;";

const PSQL_INDEXES: &str = r"SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered,
  i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true),
  pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred,
  i.indisreplident, c2.reltablespace
FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i
  LEFT JOIN pg_catalog.pg_constraint con ON (conrelid = i.indrelid
    AND conindid = i.indexrelid AND contype IN ('p','u','x'))
WHERE c.oid = '{oid}' AND c.oid = i.indrelid AND i.indexrelid = c2.oid
ORDER BY i.indisprimary DESC, c2.relname;";

const PSQL_CHECKS: &str = r"SELECT r.conname, pg_catalog.pg_get_constraintdef(r.oid, true)
FROM pg_catalog.pg_constraint r
WHERE r.conrelid = '{oid}' AND r.contype = 'c'
ORDER BY 1;";

const PSQL_FOREIGN_KEYS: &str = r"SELECT true as sametable, conname,
  pg_catalog.pg_get_constraintdef(r.oid, true) as condef,
  conrelid::pg_catalog.regclass AS ontable
FROM pg_catalog.pg_constraint r
WHERE r.conrelid = '{oid}' AND r.contype = 'f'
     AND conparentid = 0
ORDER BY conname";

const PSQL_REFERRED: &str = r"SELECT conname, conrelid::pg_catalog.regclass AS ontable,
       pg_catalog.pg_get_constraintdef(oid, true) AS condef
  FROM pg_catalog.pg_constraint c
 WHERE confrelid IN (SELECT pg_catalog.pg_partition_ancestors('{oid}')
                     UNION ALL VALUES ('{oid}'::pg_catalog.regclass))
       AND contype = 'f' AND conparentid = 0
ORDER BY conname;";

/// Those that find nothing here.
const PSQL_OTHERS: [&str; 5] = [
    r"SELECT pol.polname, pol.polpermissive,
  CASE WHEN pol.polroles = '{0}' THEN NULL ELSE pg_catalog.array_to_string(array(
    select rolname from pg_catalog.pg_roles where oid = any (pol.polroles) order by 1),',') END,
  pg_catalog.pg_get_expr(pol.polqual, pol.polrelid),
  pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid),
  CASE pol.polcmd
    WHEN 'r' THEN 'SELECT'
    WHEN 'a' THEN 'INSERT'
    WHEN 'w' THEN 'UPDATE'
    WHEN 'd' THEN 'DELETE'
    END AS cmd
FROM pg_catalog.pg_policy pol
WHERE pol.polrelid = '{oid}' ORDER BY 1;",
    r"SELECT oid, stxrelid::pg_catalog.regclass,
  stxnamespace::pg_catalog.regnamespace::pg_catalog.text AS nsp, stxname,
pg_catalog.pg_get_statisticsobjdef_columns(oid) AS columns,
  'd' = any(stxkind) AS ndist_enabled,
  'f' = any(stxkind) AS deps_enabled,
  'm' = any(stxkind) AS mcv_enabled,
stxstattarget
FROM pg_catalog.pg_statistic_ext
WHERE stxrelid = '{oid}'
ORDER BY nsp, stxname;",
    r"SELECT pubname
     , NULL
     , NULL
FROM pg_catalog.pg_publication p
     JOIN pg_catalog.pg_publication_namespace pn ON p.oid = pn.pnpubid
     JOIN pg_catalog.pg_class pc ON pc.relnamespace = pn.pnnspid
WHERE pc.oid ='{oid}' and pg_catalog.pg_relation_is_publishable('{oid}')
UNION
SELECT pubname
     , pg_get_expr(pr.prqual, c.oid)
     , (CASE WHEN pr.prattrs IS NOT NULL THEN
         (SELECT string_agg(attname, ', ')
           FROM pg_catalog.generate_series(0,
             pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s,
                pg_catalog.pg_attribute
          WHERE attrelid = pr.prrelid AND attnum = prattrs[s])
        ELSE NULL END) FROM pg_catalog.pg_publication p
     JOIN pg_catalog.pg_publication_rel pr ON p.oid = pr.prpubid
     JOIN pg_catalog.pg_class c ON c.oid = pr.prrelid
WHERE pr.prrelid = '{oid}'
UNION
SELECT pubname
     , NULL
     , NULL
FROM pg_catalog.pg_publication p
WHERE p.puballtables AND pg_catalog.pg_relation_is_publishable('{oid}')
ORDER BY 1;",
    r"SELECT c.oid::pg_catalog.regclass
FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i
WHERE c.oid = i.inhparent AND i.inhrelid = '{oid}'
  AND c.relkind != 'p' AND c.relkind != 'I'
ORDER BY inhseqno;",
    r"SELECT c.oid::pg_catalog.regclass, c.relkind, inhdetachpending,
  pg_catalog.pg_get_expr(c.relpartbound, c.oid)
FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i
WHERE c.oid = i.inhrelid AND i.inhparent = '{oid}'
ORDER BY pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT',
  c.oid::pg_catalog.regclass::pg_catalog.text;",
];

/// `\d emp` of psql 15: each of its statements is answered, and with what PostgreSQL answers.
#[test]
fn psql_describes_a_table() {
    let small = Small::new("sql-views-psql");
    let mut connection = with_tables(&small);
    let found = value(&mut connection, PSQL_FIND);
    let (oid, named) = found.split_once('|').expect("three columns");
    assert_eq!(named, "public|emp");
    let ask = |connection: &mut Connection<'_>, text: &str, oid: &str| {
        rows(connection, &text.replace("{oid}", oid))
    };
    let table = ask(&mut connection, PSQL_TABLE, oid);
    assert_eq!(table, ["1|r|TRUE|FALSE|TRUE|FALSE|FALSE|FALSE|FALSE||0||p|d|heap"]);
    let columns = [
        "id|bigint|NULL|TRUE|NULL||",
        "name|text|NULL|TRUE|NULL||",
        "pay|numeric(8,2)|100|FALSE|NULL||",
        "dept|bigint|NULL|FALSE|NULL||",
    ];
    assert_eq!(ask(&mut connection, PSQL_COLUMNS, oid), columns);
    let indexes = ask(&mut connection, PSQL_INDEXES, oid);
    assert_eq!(indexes.len(), 3, "the key's, the user's, the foreign key's: {indexes:?}");
    assert!(indexes[0].contains("|PRIMARY KEY (id)|p|FALSE|FALSE|"), "{indexes:?}");
    let definition = "|CREATE INDEX emp_dept ON public.emp USING btree (dept, name DESC)|NULL|";
    assert!(indexes[1].contains(definition), "{indexes:?}");
    let checks = ask(&mut connection, PSQL_CHECKS, oid);
    assert!(checks.len() == 1 && checks[0].starts_with("emp_pay|CHECK ("), "{checks:?}");
    let keys = ask(&mut connection, PSQL_FOREIGN_KEYS, oid);
    assert_eq!(keys.len(), 1);
    assert!(keys[0].ends_with("|FOREIGN KEY (dept) REFERENCES dept(id)|emp"), "{keys:?}");
    let dept = value(&mut connection, "select 'dept'::regclass");
    let referring = ask(&mut connection, PSQL_REFERRED, &dept);
    assert_eq!(referring.len(), 1);
    assert!(referring[0].ends_with("|emp|FOREIGN KEY (dept) REFERENCES dept(id)"), "{referring:?}");
    for text in PSQL_OTHERS {
        assert!(ask(&mut connection, text, oid).is_empty(), "{text}");
    }
}
