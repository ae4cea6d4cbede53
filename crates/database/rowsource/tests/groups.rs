//! Groups, DISTINCT and set operations give what a naive count gives, with little and with plenty
//! of memory; and leave nothing behind.
#![forbid(unsafe_code)]

mod common;

use common::{
    BUDGETS, Given, Row, TestWorld, WIDTH, all, column, rows, run_clean, sorted, sorted_by_amount,
};
use expression::{Accumulator, Aggregate, Comparison, Expression, Kind};
use os::Session;
use rowsource::{
    AggregateCall, CallKey, CallKeyValue, Distinct, HashAggregate, SetKind, SetOperation,
    SortedAggregate, Source, Unique,
};
use testbed::Dice;
use value::{Direction, NullOrdering, OwnedValue, Value};

/// Whether two rows are equal in these columns, where NULL equals NULL.
fn are_equal(one: &Row, other: &Row, columns: &[usize]) -> bool {
    columns.iter().all(|column| one[*column] == other[*column])
}

/// The rows by their groups, each group in the order of its rows, by comparing each with each.
fn grouped(rows: &[Row], columns: &[usize]) -> Vec<Vec<Row>> {
    let mut groups: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| are_equal(&group[0], row, columns)) {
            Some(group) => group.push(row.clone()),
            None => groups.push(vec![row.clone()]),
        }
    }
    groups
}

fn call(aggregate: Aggregate, arguments: Vec<Expression>) -> AggregateCall {
    AggregateCall {
        aggregate,
        arguments,
        filter: None,
        distinct: false,
        together: false,
        order: vec![],
    }
}

/// Calls of all sorts: plain, filtered, DISTINCT of numbers and of texts, and one that keeps texts.
fn calls() -> Vec<AggregateCall> {
    let less = |than: i64| Expression::Compare {
        comparison: Comparison::Less,
        left: Box::new(column(2)),
        right: Box::new(common::constant(than)),
    };
    let distinct = |aggregate, of: usize| AggregateCall {
        distinct: true,
        ..call(aggregate, vec![column(of)])
    };
    vec![
        call(Aggregate::CountAll, vec![]),
        call(Aggregate::Count, vec![column(1)]),
        call(Aggregate::Sum, vec![column(2)]),
        AggregateCall { filter: Some(less(40)), ..call(Aggregate::Sum, vec![column(2)]) },
        call(Aggregate::Min, vec![column(1)]),
        call(Aggregate::Max, vec![column(2)]),
        distinct(Aggregate::Count, 0),
        distinct(Aggregate::Count, 1),
        AggregateCall { filter: Some(less(40)), ..distinct(Aggregate::Count, 2) },
        distinct(Aggregate::Min, 1),
    ]
}

/// What a call makes of a group's rows.
fn result(call: &AggregateCall, rows: &[Row]) -> OwnedValue {
    let mut accumulator = Accumulator::new(call.aggregate);
    let mut taken: Vec<OwnedValue> = Vec::new();
    for row in rows {
        let is_less = matches!(row[2].get(), Value::Int(place) if place < 40);
        if call.filter.is_some() && !is_less {
            continue;
        }
        let value = match call.arguments.first() {
            Some(Expression::Column(column)) => row[*column].clone(),
            _ => OwnedValue::NULL,
        };
        if call.distinct && taken.contains(&value) {
            continue;
        }
        accumulator.add(value.get(), Value::Null).expect("no overflow");
        taken.push(value);
    }
    accumulator.finish().expect("no overflow")
}

fn model(rows: &[Row], keys: &[usize], calls: &[AggregateCall]) -> Vec<Row> {
    let groups = match (keys, rows) {
        ([], rows) => vec![rows.to_vec()],
        (keys, rows) => grouped(rows, keys),
    };
    let of_group = |group: &Vec<Row>| {
        let keys = keys.iter().map(|key| group[0][*key].clone());
        keys.chain(calls.iter().map(|call| result(call, group))).collect()
    };
    groups.iter().map(of_group).collect()
}

/// Runs a source with this budget, twice, and checks that it gives the same rows, by their amounts:
/// of equal rows any may stand for all.
fn check<S: for<'s> Source<TestWorld<'s>>>(
    source: &mut S,
    expected: &[Row],
    budget: u64,
    what: &str,
    simulated: &sim::World,
    session: &Session,
) {
    let mut world = TestWorld::new(budget, simulated, session);
    let expected = sorted_by_amount(expected);
    for _ in 0..2 {
        let found = sorted_by_amount(&all(source, &mut world).expect("no fault"));
        assert!(found == expected, "{what}, budget {budget}");
        assert_eq!(world.granted(), 0, "{what}, budget {budget}: RS2");
    }
    source.close(&mut world);
    assert_eq!(world.granted(), 0);
}

fn some(seed: u64, count: u64, filling: usize) -> Vec<Row> {
    let mut dice = Dice(seed);
    let different = dice.one_of(&[2, 9, 5_000]);
    rows(&mut dice, count, different, filling)
}

/// Groups by a hash table are those of the naive count, with DISTINCT and FILTER; also where
/// groups, or the values that DISTINCT has taken, don't fit in memory.
#[test]
fn hashed_groups_are_those_of_a_naive_count() {
    let keys: [&[usize]; 4] = [&[0], &[1], &[0, 1], &[2]];
    for (seed, (count, filling)) in
        [(0, 0), (1, 0), (60, 10), (300, 100), (600, 10)].into_iter().enumerate()
    {
        for keys in keys {
            run_clean(seed as u64, move |simulated, session| {
                let rows = some(seed as u64, count, filling);
                let expected = model(&rows, keys, &calls());
                for budget in BUDGETS {
                    let given = Given::new(WIDTH, &rows);
                    let mut source = HashAggregate::new(given, keys.to_vec(), calls());
                    let what = format!("{count} rows by {keys:?}");
                    check(&mut source, &expected, budget, &what, simulated, session);
                }
            });
        }
    }
}

/// Groups without aggregates, and a group's texts that don't fit in memory.
#[test]
fn groups_without_calls_and_with_long_texts() {
    run_clean(7, |simulated, session| {
        let rows = some(7, 500, 100);
        let long = vec![call(Aggregate::StringAgg, vec![column(3), common::constant_text(",")])];
        for budget in BUDGETS {
            let expected = model(&rows, &[0, 1], &[]);
            let mut source = HashAggregate::new(Given::new(WIDTH, &rows), vec![0, 1], vec![]);
            check(&mut source, &expected, budget, "no calls", simulated, session);
            let texts = |group: &Vec<Row>| {
                let text = vec!["x".repeat(100); group.len()].join(",");
                vec![group[0][1].clone(), Value::Text(&text).to_owned()]
            };
            let expected: Vec<Row> = grouped(&rows, &[1]).iter().map(texts).collect();
            let given = Given::new(WIDTH, &rows);
            let mut source = HashAggregate::new(given, vec![1], long.clone());
            check(&mut source, &expected, budget, "long texts", simulated, session);
        }
    });
}

/// Calls with orders of their own: by the row's number, falling, and of different texts.
fn calls_in_order() -> Vec<AggregateCall> {
    let by = |value, kind, direction| {
        vec![CallKey { value, kind, direction, nulls: NullOrdering::Last }]
    };
    let texts = call(Aggregate::StringAgg, vec![column(1), common::constant_text(",")]);
    let place = CallKeyValue::Computed(column(2));
    vec![
        AggregateCall { order: by(place, Kind::Whole, Direction::Descending), ..texts.clone() },
        call(Aggregate::CountAll, vec![]),
        AggregateCall {
            distinct: true,
            order: by(CallKeyValue::Argument(0), Kind::Text, Direction::Descending),
            ..texts
        },
    ]
}

/// What these calls make of a group's rows, which have come by their numbers.
fn results_in_order(group: &[Row]) -> Row {
    let texts = group.iter().rev().filter_map(|row| match row[1].get() {
        Value::Text(text) => Some(text),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    let mut different = texts.clone();
    different.sort_unstable_by(|one, other| other.cmp(one));
    different.dedup();
    let joined = |texts: &[&str]| match texts.is_empty() {
        true => OwnedValue::NULL,
        false => Value::Text(&texts.join(",")).to_owned(),
    };
    vec![joined(&texts), Value::Int(group.len() as i64).to_owned(), joined(&different)]
}

/// Each call takes the rows of a group in its own order, however they come, in one pass or several.
#[test]
fn each_call_has_its_own_order() {
    for (seed, count) in [0, 60, 900].into_iter().enumerate() {
        run_clean(seed as u64, move |simulated, session| {
            let rows = some(seed as u64, count, 10);
            let groups = grouped(&rows, &[0]);
            let of_group = |group: &Vec<Row>| {
                let key = std::iter::once(group[0][0].clone());
                key.chain(results_in_order(group)).collect()
            };
            let expected: Vec<Row> = groups.iter().map(of_group).collect();
            for budget in BUDGETS {
                let (keys, given) = (vec![0], Given::new(WIDTH, &rows));
                let mut source = HashAggregate::new(given, keys.clone(), calls_in_order());
                check(&mut source, &expected, budget, "hashed", simulated, session);
                let given = Given::new(WIDTH, &groups.concat());
                let mut source = SortedAggregate::new(given, keys, calls_in_order());
                check(&mut source, &expected, budget, "sorted", simulated, session);
            }
        });
    }
}

/// Groups of an input that has them together come in its order; without keys one row comes, also
/// without rows.
#[test]
fn sorted_groups_are_those_of_a_naive_count() {
    let keys: [&[usize]; 3] = [&[], &[1], &[0, 1]];
    for (seed, count) in [0, 1, 60, 400].into_iter().enumerate() {
        for keys in keys {
            run_clean(seed as u64, move |simulated, session| {
                let rows = some(seed as u64, count, 100);
                let together: Vec<Row> = grouped(&rows, keys).concat();
                let expected = model(&together, keys, &calls());
                for budget in BUDGETS {
                    let given = Given::new(WIDTH, &together);
                    let mut source = SortedAggregate::new(given, keys.to_vec(), calls());
                    let what = format!("{count} rows by {keys:?}");
                    check(&mut source, &expected, budget, &what, simulated, session);
                    let mut world = TestWorld::new(budget, simulated, session);
                    let found = all(&mut source, &mut world).expect("no fault");
                    let keys_of = |rows: &[Row]| {
                        let keys = |row: &Row| common::shown(&row[..keys.len()].to_vec());
                        rows.iter().map(keys).collect::<Vec<_>>()
                    };
                    assert_eq!(keys_of(&found), keys_of(&expected), "RS10: in order");
                    source.close(&mut world);
                }
            });
        }
    }
}

/// Calls that only add up.
fn sums() -> Vec<AggregateCall> {
    let of = |aggregate, number: usize| call(aggregate, vec![column(number)]);
    vec![
        call(Aggregate::CountAll, vec![]),
        of(Aggregate::Count, 1),
        of(Aggregate::Sum, 2),
        of(Aggregate::Avg, 2),
        of(Aggregate::VarPop, 2),
    ]
}

/// Calls that only add up take batches, or rows, in a short way, and give what others give.
#[test]
fn sums_and_counts_are_those_of_a_naive_count() {
    let keys: [&[usize]; 3] = [&[], &[1], &[0, 1]];
    for (seed, count) in [0, 1, 60, 1_500].into_iter().enumerate() {
        for keys in keys {
            run_clean(seed as u64, move |simulated, session| {
                let rows = some(seed as u64, count, 10);
                let together: Vec<Row> = grouped(&rows, keys).concat();
                let expected = model(&together, keys, &sums());
                for budget in BUDGETS {
                    let what = format!("{count} rows by {keys:?}");
                    let given = Given::new(WIDTH, &together);
                    let mut source = SortedAggregate::new(given, keys.to_vec(), sums());
                    check(&mut source, &expected, budget, &what, simulated, session);
                    if !keys.is_empty() {
                        let given = Given::new(WIDTH, &rows);
                        let mut source = HashAggregate::new(given, keys.to_vec(), sums());
                        check(&mut source, &expected, budget, &what, simulated, session);
                    }
                }
            });
        }
    }
}

/// DISTINCT gives one of each rows that are equal, and `Unique` the first of neighbours.
#[test]
fn each_different_row_comes_once() {
    let columns: [&[usize]; 4] = [&[0], &[1], &[0, 1], &[0, 1, 2, 3]];
    for (seed, (count, filling)) in [(0, 0), (80, 10), (3_000, 100)].into_iter().enumerate() {
        for columns in columns {
            run_clean(seed as u64, move |simulated, session| {
                let rows = some(seed as u64, count, filling);
                let groups = grouped(&rows, &columns[..columns.len().min(2)]);
                let groups = if columns.len() > 2 {
                    rows.iter().map(|row| vec![row.clone()]).collect()
                } else {
                    groups
                };
                let keys = |row: &Row| columns.iter().map(|column| row[*column].clone()).collect();
                let expected: Vec<Row> = groups.iter().map(|group| keys(&group[0])).collect();
                for budget in BUDGETS {
                    let mut world = TestWorld::new(budget, simulated, session);
                    let given = Given::new(WIDTH, &rows);
                    let mut source = Distinct::new(given, columns.to_vec());
                    for _ in 0..2 {
                        let found = all(&mut source, &mut world).expect("no fault");
                        let found: Vec<Row> = found.iter().map(keys).collect();
                        let is_same = sorted_by_amount(&found) == sorted_by_amount(&expected);
                        assert!(is_same, "{count} rows, {columns:?}, budget {budget}");
                        assert_eq!(world.granted(), 0, "RS2");
                    }
                    source.close(&mut world);
                }
                let together = Given::new(WIDTH, &groups.concat());
                let mut world = TestWorld::new(0, simulated, session);
                let mut unique = Unique::new(together, columns.to_vec());
                let found = all(&mut unique, &mut world).expect("no fault");
                let firsts: Vec<Row> = groups.iter().map(|group| group[0].clone()).collect();
                assert_eq!(sorted(&found), sorted(&firsts));
            });
        }
    }
}

/// INTERSECT and EXCEPT, with and without ALL, count as the naive count does.
#[test]
fn set_operations_count_both_sides() {
    let kinds = [SetKind::Intersect, SetKind::IntersectAll, SetKind::Except, SetKind::ExceptAll];
    for (seed, (left, right)) in
        [(0, 0), (0, 30), (30, 0), (60, 60), (500, 300), (900, 900)].into_iter().enumerate()
    {
        run_clean(seed as u64, move |simulated, session| {
            let mut dice = Dice(seed as u64);
            let two = |rows: Vec<Row>| {
                rows.into_iter().map(|row| row[..2].to_vec()).collect::<Vec<Row>>()
            };
            let different = dice.one_of(&[2, 40, 5_000]);
            let left = two(rows(&mut dice, left, different, 0));
            let right = two(rows(&mut dice, right, different, 0));
            for kind in kinds {
                let mut expected = Vec::new();
                for group in grouped(&left, &[0, 1]) {
                    let on_right = right.iter().filter(|row| are_equal(&group[0], row, &[0, 1]));
                    let (left, right) = (group.len(), on_right.count());
                    let times = match kind {
                        SetKind::Intersect => usize::from(right > 0),
                        SetKind::IntersectAll => left.min(right),
                        SetKind::Except => usize::from(right == 0),
                        SetKind::ExceptAll => left.saturating_sub(right),
                    };
                    expected.extend(vec![group[0].clone(); times]);
                }
                for budget in BUDGETS {
                    let (left, right) = (Given::new(2, &left), Given::new(2, &right));
                    let mut source = SetOperation::new(kind, left, right);
                    let what = format!("{kind:?}, seed {seed}");
                    check(&mut source, &expected, budget, &what, simulated, session);
                }
            }
        });
    }
}
