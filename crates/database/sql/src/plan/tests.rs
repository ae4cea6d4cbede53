//! Plans: text in, shapes out.

use super::{Action, Methods, Operation, fingerprint};
use crate::testing::{World, shape};

fn plan(text: &str) -> String {
    World::new().shape(text)
}

#[test]
fn a_row_is_found_by_its_key() {
    assert_eq!(plan("select name from emp where id = 5"), "Project(Index lookup emp by emp_pkey)");
    assert_eq!(plan("select name from emp where id = $1"), "Project(Index lookup emp by emp_pkey)");
}

#[test]
fn an_order_that_an_index_has_is_not_sorted() {
    let found = plan("select id from emp where id > 100 order by id limit 10");
    assert_eq!(found, "Limit(Index range scan, index alone emp by emp_pkey)");
    let found = plan("select id from emp where id > 100 order by id desc limit 10");
    assert_eq!(found, "Limit(Index range scan, index alone emp by emp_pkey)");
    let found = plan("select name from emp order by name limit 10");
    assert_eq!(found, "Sort, first rows(Table scan emp)");
}

#[test]
fn most_rows_are_found_by_a_scan_and_few_by_an_index() {
    assert_eq!(plan("select name from emp"), "Table scan emp");
    let few = plan("select kind from big where emp = 7");
    assert_eq!(few, "Project(Index range scan big by big_emp)");
    let some = plan("select kind from big where emp in (7, 9)");
    assert_eq!(some, "Project(Index range scans big by big_emp)");
}

#[test]
fn what_an_index_says_does_not_stay_in_the_filter() {
    let world = World::new();
    let plan = world.plan("select name from emp where id = 5 and pay > 3");
    let Operation::Project { input, .. } = &plan.frame.root.operation else { panic!() };
    let Operation::Index(index) = &input.operation else { panic!() };
    let filter = index.scan.filter.as_ref().expect("pay is tested");
    let mut columns = std::collections::BTreeSet::new();
    filter.columns(&mut columns);
    assert_eq!(columns.len(), 1);
    assert!(index.is_unique);
}

#[test]
fn a_few_rows_are_joined_by_an_index() {
    let text = "select b.kind from emp e join big b on b.emp = e.id where e.name = 'x'";
    let found = plan(text);
    assert!(
        found.contains("Nested loop join(Table scan e, Index range scan b by big_emp)"),
        "{found}"
    );
}

/// Without statistics too: an index was made to look for a few rows.
#[test]
fn an_index_is_used_before_its_table_is_analysed() {
    for (condition, index) in [
        ("owner = 7", "raw_owner"),
        ("owner = $1 and state = 'new'", "raw_owner"),
        ("at between $1 and $2", "raw_at"),
    ] {
        let found = plan(&format!("select state from raw where {condition}"));
        assert!(found.contains(&format!("Index range scan raw by {index}")), "{found}");
    }
    // Not the way along the whole key in the hope of twenty such rows.
    let found = plan("select state from raw where owner = $1 order by id limit 20");
    assert!(found.contains("Index range scan raw by raw_owner"), "{found}");
}

#[test]
fn few_rows_are_joined_by_an_index_and_many_by_a_hash_before_anything_is_analysed() {
    let few = plan("select r.state from emp e join raw r on r.owner = e.id where e.name = 'x'");
    assert!(
        few.contains("Nested loop join(Table scan e, Index range scan r by raw_owner"),
        "{few}"
    );
    let many = plan("select r.state from emp e join raw r on r.owner = e.id");
    assert!(many.contains("Hash join"), "{many}");
}

#[test]
fn a_key_has_as_many_values_as_rows_before_its_table_is_analysed() {
    let plan = World::new().plan("select b.kind from raw r join big b on b.emp = r.id");
    let rows = plan.frame.root.estimate.rows;
    assert!((5e5..2e6).contains(&rows), "{rows}");
}

#[test]
fn columns_of_an_index_may_have_to_do_with_one_another() {
    let plan = World::new().plan("select note from visit where town = 1 and land = 2");
    let rows = plan.frame.root.estimate.rows;
    assert!((rows - 1_000.0).abs() < 1.0, "{rows}");
}

#[test]
fn where_one_match_is_enough_the_others_cost_nothing() {
    let found = plan(
        "select name from emp where dept = 3 and exists \
         (select 1 from big b where b.emp = emp.id and b.kind = 'x')",
    );
    assert!(found.contains("Nested loop semi join"), "{found}");
}

#[test]
fn each_method_can_be_asked_for() {
    let text = "select e.name, d.name from emp e join dept d on d.id = e.dept";
    let none =
        Methods { nested_loop: false, hash_join: false, merge_join: false, ..Methods::default() };
    for (methods, wanted) in [
        (Methods { hash_join: true, ..none }, "Hash join"),
        (Methods { merge_join: true, ..none }, "Merge join"),
        (Methods { nested_loop: true, ..none }, "Nested loop join"),
    ] {
        let plan = World::new().plan_with(text, methods);
        let found = shape(&plan.frame.root);
        assert!(found.contains(wanted), "{found}");
    }
}

#[test]
fn joins_that_need_a_method_get_it_whatever_is_wanted() {
    let none =
        Methods { nested_loop: false, hash_join: false, merge_join: false, ..Methods::default() };
    for (text, wanted) in [
        ("select 1 from emp e full join dept d on d.id < e.dept", "Hash full join"),
        ("select 1 from emp e join dept d on d.id < e.dept", "Nested loop join"),
        ("select 1 from dept where id not in (select pay from emp)", "Hash anti join (NOT IN)"),
    ] {
        let plan = World::new().plan_with(text, none);
        let found = shape(&plan.frame.root);
        assert!(found.contains(wanted), "{text}: {found}");
    }
}

#[test]
fn many_tables_are_joined_in_some_order() {
    let tables: Vec<String> = (0..12).map(|n| format!("dept d{n}")).collect();
    let on: Vec<String> = (1..12).map(|n| format!("d{n}.id = d{}.id", n - 1)).collect();
    let text = format!("select 1 from {} where {}", tables.join(", "), on.join(" and "));
    let found = plan(&text);
    assert_eq!(found.matches("join(").count(), 11, "{found}");
}

#[test]
fn the_least_value_is_the_first_of_an_index() {
    let found = plan("select min(emp) from big");
    assert!(found.contains("Limit(Index range scan, index alone big by big_emp)"), "{found}");
}

#[test]
fn groups_by_an_index_need_no_memory() {
    let methods = Methods { hash_aggregate: false, ..Methods::default() };
    let plan = World::new().plan_with("select dept, count(*) from emp group by dept", methods);
    let found = shape(&plan.frame.root);
    assert!(found.starts_with("Groups by order(Full index scan, index alone emp"), "{found}");
}

#[test]
fn plans_are_the_same_each_time() {
    let text = "select d.name, count(*) from dept d join emp e on e.dept = d.id \
                join big b on b.emp = e.id where e.pay between 10 and 20 group by d.name";
    let first = fingerprint(&World::new().plan(text).frame);
    for _ in 0..5 {
        assert_eq!(fingerprint(&World::new().plan(text).frame), first);
    }
}

#[test]
fn a_change_of_one_table_meets_each_row_once() {
    let plan = World::new().plan("update emp set pay = pay + 1 where dept = 3");
    let Action::Update(update) = &plan.action else { panic!() };
    assert!(update.each_once);
    let text = "update emp set pay = 1 from dept where dept.id = emp.dept";
    let plan = World::new().plan(text);
    let Action::Update(update) = &plan.action else { panic!() };
    assert!(!update.each_once);
}

#[test]
fn a_subquery_that_only_returning_asks_has_a_plan() {
    let text = "insert into dept values (1, 'x') returning (select count(*) from emp)";
    let plan = World::new().plan(text);
    assert!(plan.frame.subqueries.iter().all(Option::is_some));
    assert_eq!(plan.frame.subqueries.len(), 1);
}
