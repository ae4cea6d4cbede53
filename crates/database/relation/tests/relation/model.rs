//! A relation with three indexes against a map: statements, savepoints, rollbacks and commits.

use std::collections::BTreeMap;
use std::ops::Bound;

use access::Direction;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use relation::{Bounds, Relation, RowChange, Selection};
use stop::RefusalKind;
use value::{OwnedValue, RowView, Value};

use crate::basic::accounts;
use crate::common::{Client, Known, check, database, kept, machine, rows, with_instance};

type Row = (Option<String>, Option<i32>, String);
type Model = BTreeMap<i64, Row>;

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<(i64, Row)>),
    Delete(i64),
    SetAmount(i64, Option<i32>),
    SetCode(i64, Option<String>),
    SetId(i64, i64),
    SetNote(i64, String),
    DeleteAmounts(i32, i32),
    AddToAll(i32),
    /// Ids from one on become others, in whole steps.
    MoveIds(i64, i64),
    /// Ids become those that are as far from the other end.
    TurnIds,
    Save,
    Back,
    Commit,
    Rollback,
}

fn id() -> impl Strategy<Value = i64> {
    0..25_i64
}

fn code() -> impl Strategy<Value = Option<String>> {
    proptest::option::weighted(0.7, "[ab]{0,2}")
}

fn amount() -> impl Strategy<Value = Option<i32>> {
    proptest::option::weighted(0.8, -3..3_i32)
}

fn row() -> impl Strategy<Value = (i64, Row)> {
    let note = prop_oneof![4 => "[x-z]{0,8}", 1 => "[x-z]{900,2600}"];
    (id(), (code(), amount(), note))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => proptest::collection::vec(row(), 1..4).prop_map(Step::Insert),
        2 => id().prop_map(Step::Delete),
        2 => (id(), amount()).prop_map(|(id, amount)| Step::SetAmount(id, amount)),
        2 => (id(), code()).prop_map(|(id, code)| Step::SetCode(id, code)),
        1 => (id(), id()).prop_map(|(id, to)| Step::SetId(id, to)),
        1 => (id(), "[x-z]{0,2000}").prop_map(|(id, note)| Step::SetNote(id, note)),
        1 => (-3..3_i32, -3..3_i32).prop_map(|(from, to)| Step::DeleteAmounts(from, to)),
        1 => (-1..2_i32).prop_map(Step::AddToAll),
        1 => (id(), -2..3_i64).prop_map(|(from, by)| Step::MoveIds(from, by)),
        1 => Just(Step::TurnIds),
        1 => Just(Step::Save),
        1 => Just(Step::Back),
        1 => Just(Step::Commit),
        1 => Just(Step::Rollback),
    ]
}

/// Whether no two rows have the same code and amount.
fn is_unique(model: &Model) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    let mut keys = model.values().filter_map(|(code, amount, _)| Some((code.clone()?, (*amount)?)));
    keys.all(|key| seen.insert(key))
}

/// The rows after the step; none if it is refused.
fn expected(model: &Model, step: &Step) -> Option<Model> {
    let mut new = model.clone();
    match step {
        Step::Insert(rows) => {
            for (id, row) in rows {
                if new.insert(*id, row.clone()).is_some() {
                    return None;
                }
            }
        }
        Step::Delete(id) => drop(new.remove(id)),
        Step::SetAmount(id, amount) => {
            new.entry(*id).and_modify(|row| row.1 = *amount);
        }
        Step::SetCode(id, code) => {
            new.entry(*id).and_modify(|row| row.0 = code.clone());
        }
        Step::SetNote(id, note) => {
            new.entry(*id).and_modify(|row| row.2 = note.clone());
        }
        Step::SetId(id, to) => {
            if let Some(row) = new.remove(id)
                && new.insert(*to, row).is_some()
            {
                return None;
            }
        }
        Step::DeleteAmounts(from, to) => {
            new.retain(|_, row| row.1.is_none_or(|amount| amount < *from || amount > *to));
        }
        Step::AddToAll(add) => {
            new.values_mut().for_each(|row| row.1 = row.1.map(|amount| amount + add));
        }
        Step::MoveIds(from, by) => {
            let moved = new.split_off(from);
            for (id, row) in moved {
                if new.insert(id + by, row).is_some() {
                    return None;
                }
            }
        }
        Step::TurnIds => new = new.into_iter().map(|(id, row)| (24 - id, row)).collect(),
        Step::Save | Step::Back | Step::Commit | Step::Rollback => {}
    }
    is_unique(&new).then_some(new)
}

fn values((id, (code, amount, note)): &(i64, Row)) -> [Value<'_>; 4] {
    let code = code.as_deref().map_or(Value::Null, Value::Text);
    let amount = amount.map_or(Value::Null, |amount| Value::Int(amount.into()));
    [Value::Int(*id), code, amount, Value::Text(note)]
}

fn perform(client: &mut Client<'_>, relation: &Relation, step: &Step) -> Result<(), stop::Stop> {
    let mut set = |id: i64, column: usize, value: Value<'_>| {
        let mut change = |_: &RowView<'_>, change: &mut RowChange<'_>| change.set(column, value);
        let selection = Selection::Key(0, &[Value::Int(id)]);
        relation.update_where(&mut client.work(), selection, None, &mut change).map(drop)
    };
    match step {
        Step::Insert(rows) => {
            let rows: Vec<_> = rows.iter().map(values).collect();
            let rows = rows.iter().map(|row| &row[..]);
            relation
                .insert_many(&mut client.work(), relation.layout().columns(), rows, |_| ())
                .map(drop)
        }
        Step::Delete(id) => {
            let selection = Selection::Key(0, &[Value::Int(*id)]);
            relation.delete_where(&mut client.work(), selection, None).map(drop)
        }
        Step::SetAmount(id, amount) => {
            set(*id, 2, amount.map_or(Value::Null, |amount| Value::Int(amount.into())))
        }
        Step::SetCode(id, code) => set(*id, 1, code.as_deref().map_or(Value::Null, Value::Text)),
        Step::SetId(id, to) => set(*id, 0, Value::Int(*to)),
        Step::SetNote(id, note) => set(*id, 3, Value::Text(note)),
        Step::DeleteAmounts(from, to) => {
            let (from, to) = (Value::Int((*from).into()), Value::Int((*to).into()));
            let bounds =
                Bounds { equal: &[], from: Bound::Included(from), to: Bound::Included(to) };
            let selection = Selection::Range(2, bounds);
            relation.delete_where(&mut client.work(), selection, None).map(drop)
        }
        Step::AddToAll(add) => {
            let mut change = |row: &RowView<'_>, change: &mut RowChange<'_>| {
                let Some(amount) = row.get_i64(2) else { return Ok(()) };
                change.set(2, Value::Int(amount + i64::from(*add)))
            };
            relation.update_where(&mut client.work(), Selection::All, None, &mut change).map(drop)
        }
        Step::MoveIds(from, by) => {
            let bounds = Bounds {
                equal: &[],
                from: Bound::Included(Value::Int(*from)),
                to: Bound::Unbounded,
            };
            let mut change = |row: &RowView<'_>, change: &mut RowChange<'_>| {
                change.set(0, Value::Int(row.get_i64(0).expect("a key") + by))
            };
            let selection = Selection::Range(0, bounds);
            relation.update_where(&mut client.work(), selection, None, &mut change).map(drop)
        }
        Step::TurnIds => {
            let mut change = |row: &RowView<'_>, change: &mut RowChange<'_>| {
                change.set(0, Value::Int(24 - row.get_i64(0).expect("a key")))
            };
            relation.update_where(&mut client.work(), Selection::All, None, &mut change).map(drop)
        }
        Step::Save | Step::Back | Step::Commit | Step::Rollback => Ok(()),
    }
}

fn kept_row(row: &[OwnedValue]) -> (i64, Row) {
    let number = |value: Value<'_>| match value {
        Value::Int(int) => Some(int),
        _ => None,
    };
    let text = |value: Value<'_>| match value {
        Value::Text(text) => Some(text.to_string()),
        _ => None,
    };
    let amount = number(row[2].get()).map(|amount| amount as i32);
    let note = text(row[3].get()).expect("a note");
    (number(row[0].get()).expect("a key"), (text(row[1].get()), amount, note))
}

/// The rows, by a scan and in the order of the third index, are those of the model.
fn compare(client: &mut Client<'_>, relation: &Relation, model: &Model) {
    let (view, session) = (client.view(), client.session);
    let scanned: Model =
        rows(relation, view, session).iter().map(|(_, row)| kept_row(row)).collect();
    assert_eq!(&scanned, model);
    for id in 0..25 {
        let mut look = |_, row: RowView<'_>| kept_row(&kept(&row));
        let key = [Value::Int(id)];
        let found = relation.get(0, &key, view, &mut look, &mut client.scratch, session);
        let expected = model.get(&id).map(|row| (id, row.clone()));
        assert_eq!(found.expect("read"), expected);
    }
    let all = Bounds::equal(&[]);
    let mut range = relation.range(2, &all, Direction::Descending, view).expect("a range");
    let mut found = Vec::new();
    let mut look = |_, row: RowView<'_>| kept_row(&kept(&row));
    while let Some((id, row)) = range.next(&mut look, session).expect("read") {
        found.push((row.1, id));
    }
    // By amount descending with NULLs first, and id; backwards.
    let mut expected: Vec<_> = model.iter().map(|(id, row)| (row.1, *id)).collect();
    expected.sort_by_key(|(amount, id)| (amount.is_none(), *amount, std::cmp::Reverse(*id)));
    assert_eq!(found, expected);
}

fn run(steps: &[Step], client: &mut Client<'_>, relation: &Relation) {
    let (mut committed, mut model) = (Model::new(), Model::new());
    let mut saved = None;
    for step in steps {
        match step {
            Step::Save => saved = Some((client.transaction.savepoint(), model.clone())),
            Step::Back => {
                if let Some((savepoint, then)) = saved.take() {
                    let transactions = client.instance.transactions();
                    let own = &mut client.transaction;
                    transactions.rollback_to(own, savepoint, client.session).expect("taken back");
                    model = then;
                }
            }
            Step::Commit => {
                client.commit();
                (committed, saved) = (model.clone(), None);
            }
            Step::Rollback => {
                client.rollback();
                (model, saved) = (committed.clone(), None);
            }
            step => {
                let done = perform(client, relation, step);
                match expected(&model, step) {
                    Some(new) if done.is_ok() => model = new,
                    Some(_) => done.expect("it may be done"),
                    None => {
                        let refused = done.expect_err("two rows would have the same key");
                        assert_eq!(refused.refusal(), Some(RefusalKind::UniqueViolation));
                    }
                }
            }
        }
        compare(client, relation, &model);
    }
}

#[test]
fn a_relation_is_as_a_map_of_its_rows() {
    let base = database(accounts, |_, _, _| ());
    let config = ProptestConfig { failure_persistence: None, cases: 48, ..Default::default() };
    let steps = proptest::collection::vec(step(), 1..60);
    let test = |steps: Vec<Step>| {
        with_instance(machine(1, base.clone()), move |instance, session| {
            let known = Known::of(instance, &accounts(), session);
            let mut client = Client::new(instance, &known, session);
            let relation = known.named("accounts");
            run(&steps, &mut client, &relation);
            client.commit();
            check(&relation, session);
        });
        Ok(())
    };
    let tested = TestRunner::new(config).run(&steps, test);
    tested.unwrap_or_else(|failure| panic!("{failure}"));
}
