//! What is bound, and what is refused, with which SQLSTATE and where.

use expression::Kind;
use stop::{SqlState, Stop};

use crate::bind::Statement;
use crate::logical::Logical;
use crate::testing::World;

fn refused(text: &str) -> Stop {
    match World::new().bind(text) {
        Ok(bound) => panic!("{text} was bound: {bound:?}"),
        Err(stop) => stop,
    }
}

#[test]
fn names_that_are_not_there_are_refused_with_near_ones() {
    for (text, state, hint) in [
        ("select * from empp", SqlState::UNDEFINED_TABLE, "emp"),
        ("select nme from emp", SqlState::UNDEFINED_COLUMN, "name"),
        ("select e.nme from emp e", SqlState::UNDEFINED_COLUMN, "name"),
        ("select x.name from emp e", SqlState::UNDEFINED_TABLE, ""),
        ("select name from emp, dept", SqlState::AMBIGUOUS_COLUMN, "dept.name"),
        ("insert into emp (idd) values (1)", SqlState::UNDEFINED_COLUMN, "id"),
        ("update emp set nam = 'x'", SqlState::UNDEFINED_COLUMN, "name"),
        ("select nextval('tickets')", SqlState::UNDEFINED_TABLE, ""),
        ("select no_such(1)", SqlState::UNDEFINED_FUNCTION, ""),
        ("select * from emp e, dept e", SqlState::DUPLICATE_ALIAS, ""),
    ] {
        let stop = refused(text);
        assert_eq!(stop.state(), state, "{text}: {stop}");
        assert!(stop.to_string().contains(hint), "{text}: {stop}");
    }
}

#[test]
fn a_refusal_says_where_in_the_text_it_arose() {
    let Stop::Refused(refusal) = refused("select name,\n  nme from emp") else { panic!() };
    assert_eq!(refusal.parts().position, Some(16));
}

#[test]
fn groups_and_aggregates_stand_where_they_may() {
    for text in [
        "select dept, name from emp group by dept",
        "select dept from emp where count(*) > 1",
        "select sum(count(*)) from emp",
        "select name from emp having count(*) > 1",
    ] {
        assert_eq!(refused(text).state(), SqlState::GROUPING_ERROR, "{text}");
    }
    // The primary key determines the others.
    World::new().bind("select id, name from emp group by id").expect("sound");
    World::new().bind("select dept + 1, count(*) from emp group by dept + 1").expect("sound");
    World::new().bind("select dept d, count(*) from emp group by d order by 2").expect("sound");
}

#[test]
fn what_is_not_there_yet_is_refused_with_what_to_do() {
    for text in [
        "select row_number() over (order by id) from emp",
        "with recursive r as (select 1 union all select * from r) select * from r",
        "select dept, count(*) from emp group by rollup (dept)",
        "select * from emp for share",
        "select name collate \"de_DE\" from emp",
        "select now() at time zone 'utc'",
    ] {
        let stop = refused(text);
        assert_eq!(stop.state(), SqlState::FEATURE_NOT_SUPPORTED, "{text}: {stop}");
    }
}

/// A series makes rows of the SELECT list, and stands for no value elsewhere.
#[test]
fn a_series_stands_where_it_may_make_rows() {
    for text in [
        "select generate_series(1, 3)",
        "select id, generate_series(1, id) + 1 from emp order by 2",
        "select distinct generate_series(1, 2) g, generate_series(1, 2) from emp where id > 1",
        "insert into dept (id) select generate_series(10, 20)",
    ] {
        World::new().bind(text).unwrap_or_else(|stop| panic!("{text}: {stop}"));
    }
    for text in [
        "select * from emp where generate_series(1, 2) = 1",
        "select count(generate_series(1, 2)) from emp",
        "select generate_series(1, 2), generate_series(1, 3)",
        "select case when id > 1 then generate_series(1, 2) end from emp",
        "select generate_series(1, 2), count(*) from emp",
        "select generate_series(1, 2) from emp for update",
    ] {
        assert_eq!(refused(text).state(), SqlState::FEATURE_NOT_SUPPORTED, "{text}");
    }
}

/// Only `make_interval` knows its arguments by name.
#[test]
fn a_span_may_be_made_of_named_parts() {
    World::new().bind("select make_interval(days => 10, secs => 1.5)").expect("sound");
    World::new().bind("select make_interval(1, 2), make_interval()").expect("sound");
    for text in ["select make_interval(day => 1)", "select make_interval(1, 2, 3, 4, 5, 6, 7, 8)"] {
        assert_eq!(refused(text).state(), SqlState::UNDEFINED_FUNCTION, "{text}");
    }
    let stop = refused("select lower(text => 'a')");
    assert_eq!(stop.state(), SqlState::FEATURE_NOT_SUPPORTED);
}

/// An array that is written out behind ANY or ALL is a list.
#[test]
fn a_value_is_compared_with_each_element() {
    for text in [
        "select * from emp where id = any (array[1, 2, 3])",
        "select * from emp where name = any (array['a', 'b']::text[])",
        "select * from emp where id <> all (array[1, 2]) and id < any (array[7, $1])",
        "select * from emp where name like any (array['a%', 'b%'])",
        "select 1 > all (array[]::bigint[])",
    ] {
        World::new().bind(text).unwrap_or_else(|stop| panic!("{text}: {stop}"));
    }
    assert_eq!(
        refused("select random() < any (array[0.1, 0.2])").state(),
        SqlState::FEATURE_NOT_SUPPORTED
    );
    for text in ["select 'a' like any ('b')", "select 'a' like any (array['b']) escape '!'"] {
        assert_eq!(refused(text).state(), SqlState::FEATURE_NOT_SUPPORTED, "{text}");
    }
}

/// Rows are tested column by column.
#[test]
fn rows_are_tested_as_their_columns_are() {
    for text in [
        "select * from emp where (id, name) is not null or row (dept, pay) is null",
        "select * from emp where (id, name) is distinct from (1, 'a')",
        "select (1, null) is not distinct from (1, $1)",
    ] {
        World::new().bind(text).unwrap_or_else(|stop| panic!("{text}: {stop}"));
    }
    let text = "select (1, 2) is distinct from (1, 2, 3)";
    assert_eq!(refused(text).state(), SqlState::SYNTAX_ERROR);
    assert_eq!(
        refused("select (1, 2) is distinct from 1").state(),
        SqlState::FEATURE_NOT_SUPPORTED
    );
}

/// Values of a sequence number the rows in their order, and don't count rows as they come.
#[test]
fn what_differs_each_time_is_computed_of_sorted_rows() {
    let bound = World::new().bind("select nextval('ticket'), name from emp order by name");
    let Statement::Query(query) = bound.expect("sound").statement else { panic!("a query") };
    let Logical::Project { input, .. } = query.logical else { panic!("{:?}", query.logical) };
    assert!(matches!(*input, Logical::Sort { .. }), "{input:?}");
    let bound = World::new().bind("select random() r, name from emp order by r");
    let Statement::Query(query) = bound.expect("sound").statement else { panic!("a query") };
    assert!(matches!(query.logical, Logical::Sort { .. }), "{:?}", query.logical);
}

/// As PostgreSQL names them.
#[test]
fn columns_without_a_name_get_one() {
    for (text, expected) in [
        ("select 1", "?column?"),
        ("select e.name from emp e", "name"),
        ("select 1::integer", "int4"),
        ("select cast(name as varchar(9)) from emp", "name"),
        ("select '5'::varchar(9)", "varchar"),
        ("select date '2026-11-27'", "date"),
        ("select '2026-11-27'::timestamp(0)", "timestamp"),
        ("select case when true then 1 end", "case"),
        ("select case when true then 1 else id end from emp", "case"),
        ("select (case when true then 1 end)::number", "numeric"),
        ("select trim(leading from name) from emp", "ltrim"),
        ("select (select max(pay) from emp)", "max"),
        ("select coalesce(name, 'x') from emp", "coalesce"),
    ] {
        let bound = World::new().bind(text).unwrap_or_else(|stop| panic!("{text}: {stop}"));
        let Statement::Query(query) = bound.statement else { panic!("{text}") };
        assert_eq!(query.columns[0].name, expected, "{text}");
    }
}

/// Some types can be called, which is a CAST.
#[test]
fn a_type_that_is_called_is_a_cast() {
    for (text, kind) in [
        ("select date(now())", Kind::Date),
        ("select date('2026-11-27')", Kind::Date),
        ("select float8(count(*)) from emp", Kind::Double),
        ("select text(1)", Kind::Text),
    ] {
        let bound = World::new().bind(text).unwrap_or_else(|stop| panic!("{text}: {stop}"));
        let Statement::Query(query) = bound.statement else { panic!("{text}") };
        assert_eq!(query.columns[0].kind, kind, "{text}");
    }
    assert_eq!(refused("select date(true)").state(), SqlState::CANNOT_COERCE);
    assert_eq!(refused("select date(1, 2)").state(), SqlState::UNDEFINED_FUNCTION);
}

/// DISTINCT before a star would count one row, or none: a subquery finds different rows.
#[test]
fn different_rows_are_not_counted_by_an_aggregate() {
    let (missing, wrong) = (SqlState::FEATURE_NOT_SUPPORTED, SqlState::SYNTAX_ERROR);
    for (text, state, message) in [
        ("select count(distinct e.*) from emp e", missing, "count(DISTINCT e.*) isn't supported"),
        ("select count(distinct *) from emp", wrong, "DISTINCT can't stand before *"),
    ] {
        let stop = refused(text);
        assert_eq!(stop.state(), state, "{text}: {stop}");
        let said = stop.to_string();
        assert!(said.starts_with(message) && said.contains("(SELECT DISTINCT t.* "), "{said}");
    }
    World::new().bind("select count(e.*), count(*) from emp e").expect("sound");
    let instead = "select count(*) from (select distinct e.* from emp e) d";
    World::new().bind(instead).expect("sound");
}

#[test]
fn a_statement_has_so_many_joins_and_no_more() {
    let tables: Vec<String> = (0..500).map(|n| format!("dept d{n}")).collect();
    let joins = format!("select 1 from {}", tables.join(", "));
    assert_eq!(refused(&joins).state(), SqlState::STATEMENT_TOO_COMPLEX);
    let unions = vec!["select 1"; 500].join(" union all ");
    assert_eq!(refused(&unions).state(), SqlState::STATEMENT_TOO_COMPLEX);
    let some = vec!["select 1"; 300].join(" union all ");
    World::new().bind(&some).expect("sound");
}

#[test]
fn kinds_that_do_not_go_together_are_refused() {
    for text in [
        "select name + 1 from emp",
        "select * from emp where name = 5",
        "select * from emp where id",
        "select case when true then 1 else name end from emp",
        "select id from emp union select name from emp",
        "insert into emp (id) values (true)",
    ] {
        let state = refused(text).state();
        assert_eq!(state.class(), "42", "{text}: {state}");
    }
}

#[test]
fn parameters_take_the_kinds_of_what_they_meet() {
    let bound = World::new().bind("select * from emp where id = $1 and name like $2 limit $3");
    assert_eq!(bound.expect("sound").binds, [Kind::Whole, Kind::Text, Kind::Whole]);
    let bound = World::new().bind("insert into emp (id, name, hired) values ($1, $2, $3)");
    assert_eq!(bound.expect("sound").binds, [Kind::Whole, Kind::Text, Kind::Date]);
}

#[test]
fn what_a_statement_reads_is_noted() {
    let bound = World::new().bind("select * from rich r join dept d on d.id = r.id");
    assert_eq!(bound.expect("sound").objects.len(), 3);
    let bound = World::new().bind("insert into dept values (nextval('ticket'), 'x')");
    assert_eq!(bound.expect("sound").objects.len(), 2);
}

/// Each row of VALUES takes its value of a sequence when it is evaluated, by the same question.
#[test]
fn a_default_is_bound_once_for_all_rows() {
    let world = World::new();
    for row in ["(default, default, 'a')", "(default, default, default)", "(1, default, 'b')"] {
        let rows = vec![row; 100].join(", ");
        let bound = world.bind(&format!("insert into note values {rows}")).expect("sound");
        let questions = row.matches("default, ").count();
        assert_eq!(bound.frame.calls.len(), questions, "{row}");
        let Statement::Insert(insert) = bound.statement else { panic!("{row}") };
        let Logical::Values { rows, width: 3 } = insert.source else { panic!("{row}") };
        assert!(rows.len() == 100 && rows.iter().all(|one| *one == rows[0]), "{row}");
    }
}

#[test]
fn names_without_quotes_are_folded() {
    World::new().bind("SELECT E.Name FROM Emp E WHERE E.ID = 1").expect("sound");
    assert_eq!(refused("select \"Name\" from emp").state(), SqlState::UNDEFINED_COLUMN);
}

#[test]
fn using_and_natural_merge_columns() {
    let columns = |text: &str| {
        let bound = World::new().bind(text).expect("sound");
        match bound.statement {
            Statement::Query(query) => query.columns.len(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(columns("select * from emp e join dept d using (id)"), 6);
    assert_eq!(columns("select * from emp e natural join dept d"), 5);
    assert_eq!(columns("select e.*, d.* from emp e join dept d using (id)"), 7);
    World::new().bind("select id from emp join dept using (id)").expect("sound");
}

#[test]
fn a_subquery_takes_columns_from_outside() {
    for text in [
        "select (select d.name from dept d where d.id = e.dept) from emp e",
        "select * from emp e where exists (select 1 from dept where dept.id = e.dept)",
        "select * from dept d, lateral (select max(pay) m from emp where emp.dept = d.id) x",
        "select * from dept d where d.id = any (select dept from emp where name = d.name)",
    ] {
        World::new().bind(text).expect(text);
    }
    let text = "select * from dept d, (select max(pay) from emp where emp.dept = d.id) x";
    assert_eq!(refused(text).state(), SqlState::UNDEFINED_TABLE);
}
