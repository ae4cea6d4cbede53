//! Trees before and after: text in, lines out.

use crate::testing::World;

/// The lines of a rewritten query without its scans' columns, and with one blank for each level.
fn shape(text: &str) -> Vec<String> {
    let lines = World::new().rewritten(text);
    let short = |line: &str| line.split(" [").next().unwrap_or(line).replace("  ", " ");
    lines.lines().map(short).collect()
}

fn has(text: &str, wanted: &str) {
    let lines = shape(text);
    assert!(lines.iter().any(|line| line.trim_start().starts_with(wanted)), "{lines:#?}");
}

fn has_not(text: &str, unwanted: &str) {
    let lines = shape(text);
    assert!(!lines.iter().any(|line| line.trim_start().starts_with(unwanted)), "{lines:#?}");
}

#[test]
fn a_condition_goes_down_to_its_table() {
    let lines = shape("select e.name from emp e join dept d on d.id = e.dept where d.name = 'x'");
    let filter = lines.iter().position(|line| line.trim_start().starts_with("Filter"));
    let filter = filter.expect("there is one");
    assert!(lines[filter + 1].trim_start().starts_with("Scan d"), "{lines:#?}");
}

#[test]
fn a_condition_on_equal_columns_goes_down_on_both_sides() {
    let lines = shape("select e.name from emp e join dept d on d.id = e.dept where d.id = 7");
    let filters = lines.iter().filter(|line| line.trim_start().starts_with("Filter"));
    assert_eq!(filters.count(), 2, "{lines:#?}");
}

#[test]
fn an_outer_join_whose_padded_rows_are_rejected_is_an_inner_one() {
    let text = "select e.id from emp e left join dept d on d.id = e.dept where d.name = 'x'";
    has(text, "Join");
    has_not(text, "Left join");
    let kept = "select e.id from emp e left join dept d on d.id = e.dept where d.name is null";
    has(kept, "Left join");
    let one_side = "select e.id from emp e full join dept d on d.id = e.dept where d.id = 3";
    has_not(one_side, "Full join");
}

#[test]
fn a_right_join_is_a_left_one() {
    has("select d.name from emp e right join dept d on d.id = e.dept", "Left join");
}

#[test]
fn an_outer_join_goes_up_through_an_inner_one() {
    let text = "select e.id, d.name, b.kind from emp e left join dept d on d.id = e.dept \
                join big b on b.emp = e.id";
    let lines = shape(text);
    let place = |wanted: &str| {
        lines.iter().position(|line| line.trim_start().starts_with(wanted)).expect("it is there")
    };
    assert!(place("Left join") < place("Join"), "{lines:#?}");
}

#[test]
fn in_and_exists_are_joins() {
    has("select name from dept where id in (select dept from emp)", "Semi join");
    let text = "select name from dept d where exists (select 1 from emp e where e.dept = d.id)";
    has(text, "Semi join");
    let text = "select name from dept d where not exists (select 1 from emp e where e.dept = d.id)";
    has(text, "Anti join");
}

#[test]
fn not_in_minds_nulls_where_there_may_be_some() {
    let text = "select name from dept where id not in (select pay from emp)";
    has(text, "Anti join, null aware");
    let text = "select name from dept where id not in (select dept from emp)";
    has(text, "Anti join");
    has_not(text, "Anti join, null aware");
}

#[test]
fn a_subquery_that_stays_is_asked_for_each_row() {
    let text = "select name from dept d where id = (select max(dept) from emp where pay = d.id)";
    has_not(text, "Semi join");
    has_not("select name from dept where id in (select nextval('ticket'))", "Semi join");
}

#[test]
fn columns_that_nobody_asks_for_are_not_read() {
    let lines = World::new().rewritten("select name from emp");
    assert!(lines.contains("Scan emp [Table(2)]"), "{lines}");
    let lines = World::new().rewritten("select count(*) from (select * from emp) e");
    assert!(lines.contains("Scan e []"), "{lines}");
}

#[test]
fn what_is_known_to_be_false_has_no_rows() {
    has("select name from emp where 1 = 2", "Values 0");
    has_not("select name from emp where 1 = 1", "Filter");
}

#[test]
fn a_query_that_is_read_twice_is_computed_once() {
    let twice = "with q as (select dept from emp) select * from q a join q b on a.dept = b.dept";
    has(twice, "Shared 0");
    has_not("with q as (select dept from emp) select * from q", "Shared");
    let said = "with q as materialized (select dept from emp) select * from q";
    has(said, "Shared 0");
}

/// A projection of a projection is one, but not of so many that no stack is deep enough for it.
#[test]
fn a_chain_of_projections_has_expressions_of_bounded_depth() {
    let chain = |queries: usize, links: usize| {
        let sum = format!("pay{}", " + 1".repeat(links));
        let mut text = "emp".to_string();
        for _ in 0..queries {
            text = format!("(select {sum} as pay from {text} q)");
        }
        format!("select pay from {text} q")
    };
    let projections = |text: &str| {
        let lines = shape(text);
        lines.iter().filter(|line| line.trim_start().starts_with("Project")).count()
    };
    assert_eq!(projections(&chain(9, 100)), 1);
    let kept = projections(&chain(12, 300));
    assert!((4..=6).contains(&kept), "{kept}");
}
