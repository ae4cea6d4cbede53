//! A source that fails anywhere, in its input, at a cancel or on disk, gives back its memory and
//! its files when it is closed, and can be started again.
#![forbid(unsafe_code)]

mod common;

use common::{
    Given, Row, TestWorld, WIDTH, all, assert_nothing_is_left, column, constant, machine, rows,
    sorted_by_amount,
};
use expression::{Aggregate, Comparison, Expression, Kind};
use rowsource::{
    AggregateCall, Append, Cut, Distinct, Filter, HashAggregate, HashJoin, JoinKey, JoinKind,
    JoinPlan, KeyOrder, Limit, LoopPlan, Materialise, Measured, MergeJoin, NestedLoop, Project,
    SetKind, SetOperation, Side, SlotFrom, Sort, SortKey, SortedAggregate, Source, Unique, Values,
};
use sim::fs::faults::{Fault, FaultPlan, Scope};
use stop::RefusalKind;
use testbed::Dice;
use value::{Direction, NullOrdering};

type Boxed = Box<dyn for<'s> Source<TestWorld<'s>>>;

const KEY: JoinKey = JoinKey { left: 2, right: 2, as_char: false };

fn boxed<S: for<'s> Source<TestWorld<'s>> + 'static>(source: S) -> Boxed {
    Box::new(source)
}

fn is_low() -> Expression {
    Expression::Compare {
        comparison: Comparison::Less,
        left: Box::new(column(2)),
        right: Box::new(constant(1_000)),
    }
}

fn hash_join(left: &Given, right: &Given, kind: JoinKind, build: Side) -> Boxed {
    let plan = JoinPlan { kind, keys: vec![KEY], condition: None };
    boxed(HashJoin::new(left.clone(), right.clone(), plan, build))
}

/// Each kind of source above these inputs, with its name.
fn sources(left: &Given, right: &Given) -> Vec<(&'static str, Boxed)> {
    let (direction, nulls) = (Direction::Ascending, NullOrdering::Last);
    let by = vec![SortKey { column: 2, kind: Kind::Whole, direction, nulls }];
    let cut = Cut { offset: Some(constant(7)), count: Some(constant(600)) };
    let sum = |distinct| AggregateCall {
        aggregate: Aggregate::Sum,
        arguments: vec![column(2)],
        filter: None,
        distinct,
        together: false,
        order: vec![],
    };
    let merge = JoinPlan { kind: JoinKind::Full, keys: vec![KEY], condition: None };
    let slots = vec![SlotFrom { column: 2, slot: 1 }];
    let each = LoopPlan { kind: JoinKind::Inner, slots, condition: None };
    let none = LoopPlan { kind: JoinKind::Left, slots: vec![], condition: Some(is_low()) };
    let few = |count| Limit::new(left.clone(), Cut { offset: None, count: Some(constant(count)) });
    let merged = {
        let order = KeyOrder { direction, nulls };
        MergeJoin::new(left.clone(), right.clone(), merge, vec![order])
    };
    let kept = Materialise::new(right.clone(), vec![]);
    let both = SetOperation::new(SetKind::IntersectAll, left.clone(), right.clone());
    vec![
        ("filter", boxed(Filter::new(left.clone(), is_low()))),
        ("project", boxed(Project::new(left.clone(), vec![column(2)]))),
        ("limit", boxed(Limit::new(left.clone(), cut.clone()))),
        ("append", boxed(Append::new(vec![left.clone(), right.clone()]))),
        ("measured", boxed(Measured::new(Filter::new(left.clone(), is_low()), 2))),
        ("values", boxed(Values::new(1, vec![vec![constant(1)]; 20].into()))),
        ("sort", boxed(Sort::new(left.clone(), by.clone()))),
        ("top", boxed(Sort::top(left.clone(), by, cut))),
        ("distinct", boxed(Distinct::new(left.clone(), vec![2]))),
        ("unique", boxed(Unique::new(left.clone(), vec![2]))),
        ("hashed groups", boxed(HashAggregate::new(left.clone(), vec![2], vec![sum(true)]))),
        ("sorted groups", boxed(SortedAggregate::new(left.clone(), vec![2], vec![sum(false)]))),
        ("total", boxed(SortedAggregate::new(left.clone(), vec![], vec![sum(true)]))),
        ("hash join", hash_join(left, right, JoinKind::Full, Side::Right)),
        ("hash join, left", hash_join(left, right, JoinKind::Anti, Side::Left)),
        ("merge join", boxed(merged)),
        ("loop", boxed(NestedLoop::new(few(3), right.clone(), each))),
        ("loop, kept", boxed(NestedLoop::new(few(2), kept, none))),
        ("intersect", boxed(both)),
        ("kept", boxed(Materialise::new(left.clone(), vec![]))),
    ]
}

fn inputs() -> (Given, Given) {
    let given = |seed| {
        let rows: Vec<Row> = rows(&mut Dice(seed), 1_200, 50, 60);
        Given::new(WIDTH, &rows)
    };
    (given(1), given(2))
}

/// Each source whose input fails at some row is refused with that, and leaves nothing.
#[test]
fn an_input_that_fails_leaves_nothing() {
    let (left, right) = inputs();
    for number in 0..sources(&left, &right).len() {
        let rows = [(0, true), (700, true), (1_199, true), (0, false), (700, false)];
        for (fails_at, of_left) in rows {
            let (mut left, mut right) = inputs();
            let failing = if of_left { &mut left } else { &mut right };
            failing.fails_at = Some(fails_at);
            let ((), mut fs) = testbed::run_kept(machine(1), move |simulated, session| {
                let mut world = TestWorld::new(0, simulated, session);
                let (name, mut source) = sources(&left, &right).swap_remove(number);
                let failed = all(&mut source, &mut world).is_err();
                // Some sources end before that row, or have one input or none.
                let ends = ["values", "limit", "loop", "loop, kept"].contains(&name);
                assert!(failed || ends || !of_left, "{name} at {fails_at}");
                source.close(&mut world);
                source.close(&mut world);
                assert_eq!(world.granted(), 0, "{name}");
            });
            assert_nothing_is_left(&mut fs);
        }
    }
}

/// A statement that is cancelled at any look leaves nothing, and the source gives all rows when it
/// is started again.
#[test]
fn a_cancel_leaves_nothing_and_a_new_start_gives_all() {
    let (left, right) = inputs();
    for number in 0..sources(&left, &right).len() {
        let (left, right) = inputs();
        let ((), mut fs) = testbed::run_kept(machine(1), move |simulated, session| {
            let mut world = TestWorld::new(0, simulated, session);
            let (name, mut source) = sources(&left, &right).swap_remove(number);
            let expected = sorted_by_amount(&all(&mut source, &mut world).expect("no fault"));
            source.close(&mut world);
            let looks = world.checks.get();
            assert!(looks > 0, "{name}: RS6");
            let step = (looks / 25).max(1);
            for at in (1..=looks).step_by(step as usize) {
                world.checks.set(0);
                world.cancelled_at = Some(at);
                let stopped = all(&mut source, &mut world).expect_err("cancelled");
                assert_eq!(stopped.refusal(), Some(RefusalKind::Busy), "{name} at {at}");
                source.close(&mut world);
                assert_eq!(world.granted(), 0, "{name} at {at}");
            }
            world.cancelled_at = None;
            let found = sorted_by_amount(&all(&mut source, &mut world).expect("no fault"));
            assert!(found == expected, "{name}");
            source.close(&mut world);
        });
        assert_nothing_is_left(&mut fs);
    }
}

/// Each operation on disk in turn fails, or a write is lost: the rows are right or the statement is
/// refused, and nothing is left.
#[test]
fn a_disk_that_fails_gives_no_wrong_rows() {
    let (left, right) = inputs();
    for number in 0..sources(&left, &right).len() {
        let (left, right) = (left.clone(), right.clone());
        let expected = testbed::run(machine(1), {
            let (left, right) = (left.clone(), right.clone());
            move |simulated, session| {
                let mut world = TestWorld::new(0, simulated, session);
                let (_, mut source) = sources(&left, &right).swap_remove(number);
                let found = all(&mut source, &mut world).expect("no fault");
                source.close(&mut world);
                sorted_by_amount(&found)
            }
        });
        for fault in [Fault::Eio, Fault::LostWrite, Fault::Enospc] {
            let mut nth = 0;
            loop {
                // The first operations one by one, and then some of them.
                nth += 1 + nth / 2;
                let mut simulation = machine(1);
                let plan = FaultPlan::new(nth).nth(nth, fault, Scope::all());
                simulation.disks[0].content.plan_faults(plan);
                let (left, right) = (left.clone(), right.clone());
                let expected = expected.clone();
                let (name, mut fs) = testbed::run_kept(simulation, move |simulated, session| {
                    let mut world = TestWorld::new(0, simulated, session);
                    let (name, mut source) = sources(&left, &right).swap_remove(number);
                    if let Ok(found) = all(&mut source, &mut world) {
                        assert!(sorted_by_amount(&found) == expected, "{name}: {fault:?} {nth}");
                    }
                    source.close(&mut world);
                    assert_eq!(world.granted(), 0, "{name}: {fault:?} {nth}");
                    name
                });
                let Some(injected) = fs.injected().first().cloned() else { break };
                let may_leave = injected.operation == sim::fs::Operation::Remove;
                fs.close_all();
                let left = fs.list(common::DIRECTORY).unwrap_or_default();
                assert!(left.is_empty() || may_leave, "{name}: {fault:?} {nth}: {left:?}");
                assert_eq!(fs.space().0, 0, "{name}: {fault:?} {nth}");
            }
        }
    }
}

/// A source that is dropped half-way, and not closed, leaves nothing either.
#[test]
fn what_is_dropped_leaves_nothing() {
    let (left, right) = inputs();
    for number in 0..sources(&left, &right).len() {
        let (left, right) = (left.clone(), right.clone());
        let ((), mut fs) = testbed::run_kept(machine(1), move |simulated, session| {
            let mut world = TestWorld::new(0, simulated, session);
            let (_, mut source) = sources(&left, &right).swap_remove(number);
            source.open(&mut world).expect("no fault");
            let width = Source::<TestWorld<'static>>::width(&source);
            source.fetch(&mut world, &mut expression::Rows::new(width)).expect("no fault");
            drop(source);
            assert_eq!(world.granted(), 0);
        });
        assert_nothing_is_left(&mut fs);
    }
}
