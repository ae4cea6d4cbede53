//! One session: rows and their indexes, one statement after the other.

use access::Direction;
use relation::{Bounds, Selection};
use stop::RefusalKind;
use value::{OwnedValue, Type, Value};

use crate::common::{
    Client, Known, Table, ascending, check, database, descending, kept, machine, named, rows,
    with_instance,
};
use std::cell::Cell;
use std::ops::Bound;

pub(crate) fn accounts() -> Vec<Table> {
    let text = Type::varchar(20).expect("may be declared");
    vec![Table {
        name: "accounts",
        columns: vec![
            ("id", Type::BigInt, false),
            ("code", text, true),
            ("amount", Type::Integer, true),
            ("note", Type::Text, true),
        ],
        indexes: vec![
            ("accounts_pk", vec![ascending(0)], true),
            ("accounts_code", vec![ascending(1), ascending(2)], true),
            ("accounts_amount", vec![descending(2), ascending(0)], false),
        ],
        adjust: |_, _| (),
    }]
}

fn row(id: i64) -> Vec<OwnedValue> {
    let code = format!("code {id}");
    let code = if id % 5 == 0 { Value::Null } else { Value::Text(&code) };
    let amount = if id % 7 == 0 { Value::Null } else { Value::Int(id % 10) };
    let note = "n".repeat((id % 90) as usize);
    [Value::Int(id), code, amount, Value::Text(&note)].into_iter().map(Value::to_owned).collect()
}

fn values(row: &[OwnedValue]) -> Vec<Value<'_>> {
    row.iter().map(OwnedValue::get).collect()
}

/// Runs with a table of 300 rows.
fn with_rows(test: fn(&mut Client<'_>, &relation::Relation)) {
    let base = database(accounts, |instance, known, session| {
        let mut client = Client::new(instance, known, session);
        let relation = known.named("accounts");
        for id in 1..=300 {
            relation.insert(&mut client.work(), &values(&row(id))).expect("inserted");
        }
        client.commit();
    });
    with_instance(machine(1, base), move |instance, session| {
        let known = Known::of(instance, &accounts(), session);
        let mut client = Client::new(instance, &known, session);
        let relation = known.named("accounts");
        test(&mut client, &relation);
        client.commit();
        check(&relation, session);
    });
}

#[test]
fn a_row_is_found_by_its_keys_and_by_a_scan() {
    with_rows(|client, relation| {
        let view = client.view();
        let mut look = |_, row: value::RowView<'_>| kept(&row);
        for id in 1..=300 {
            let key = [Value::Int(id)];
            let (scratch, session) = (&mut client.scratch, client.session);
            let found = relation.get(0, &key, view, &mut look, scratch, session);
            assert_eq!(found.expect("read"), Some(row(id)));
        }
        let (scratch, session) = (&mut client.scratch, client.session);
        let key = [Value::Int(301)];
        let found = relation.get(0, &key, view, &mut look, scratch, session);
        assert_eq!(found.expect("read"), None);
        // A value that no row can have.
        let key = [Value::Double(2.5)];
        let found = relation.get(0, &key, view, &mut look, scratch, session);
        assert_eq!(found.expect("read"), None);
        let key = [Value::Double(2.0)];
        let found = relation.get(0, &key, view, &mut look, scratch, session);
        assert_eq!(found.expect("read"), Some(row(2)));
        assert_eq!(rows(relation, view, session).len(), 300);
    });
}

fn ids(
    client: &Client<'_>,
    relation: &relation::Relation,
    index: usize,
    bounds: &Bounds<'_>,
    direction: Direction,
) -> Vec<i64> {
    let mut rows = relation.range(index, bounds, direction, client.view()).expect("a range");
    let mut ids = Vec::new();
    let mut look = |_, row: value::RowView<'_>| row.get_i64(0).expect("not NULL");
    while let Some(id) = rows.next(&mut look, client.session).expect("read") {
        ids.push(id);
    }
    ids
}

#[test]
fn a_range_gives_its_rows_in_order_both_ways_whatever_its_bounds_are() {
    with_rows(|client, relation| {
        let five = [Value::Int(5)];
        let expected: Vec<i64> = (1..=300).filter(|id| id % 10 == 5 && id % 7 != 0).collect();
        let found = ids(client, relation, 2, &Bounds::equal(&five), Direction::Ascending);
        assert_eq!(found, expected);
        let falling: Vec<i64> = expected.iter().rev().copied().collect();
        let found = ids(client, relation, 2, &Bounds::equal(&five), Direction::Descending);
        assert_eq!(found, falling);
        let between = |from, to| Bounds { equal: &[], from, to };
        let amount = |id: &i64| (id % 7 != 0).then_some(id % 10);
        let count =
            |is: &dyn Fn(i64) -> bool| (1..=300).filter(|id| amount(id).is_some_and(is)).count();
        let number = |text: &str| Value::Number(text.parse().expect("a number"));
        let cases: Vec<(Bounds<'_>, usize)> = vec![
            (between(Bound::Excluded(Value::Int(3)), Bound::Unbounded), count(&|a| a > 3)),
            (between(Bound::Included(Value::Int(3)), Bound::Unbounded), count(&|a| a >= 3)),
            (between(Bound::Unbounded, Bound::Excluded(Value::Int(3))), count(&|a| a < 3)),
            (between(Bound::Unbounded, Bound::Included(Value::Int(3))), count(&|a| a <= 3)),
            (between(Bound::Excluded(number("2.5")), Bound::Unbounded), count(&|a| a > 2)),
            (between(Bound::Included(number("2.4")), Bound::Unbounded), count(&|a| a > 2)),
            (between(Bound::Unbounded, Bound::Included(number("2.5"))), count(&|a| a <= 2)),
            (between(Bound::Unbounded, Bound::Excluded(number("2.4"))), count(&|a| a <= 2)),
            (between(Bound::Unbounded, Bound::Included(number("1e30"))), count(&|_| true)),
            (between(Bound::Included(number("1e30")), Bound::Unbounded), 0),
            (between(Bound::Included(Value::Null), Bound::Unbounded), 0),
            (between(Bound::Unbounded, Bound::Unbounded), 300),
            (Bounds::equal(&[Value::Null]), 300 / 7),
        ];
        for (bounds, expected) in cases {
            let found = ids(client, relation, 2, &bounds, Direction::Ascending);
            assert_eq!(found.len(), expected, "{bounds:?}");
        }
    });
}

#[test]
fn what_is_updated_and_deleted_is_so_in_every_index_and_a_rollback_takes_it_back() {
    with_rows(|client, relation| {
        let before = rows(relation, client.view(), client.session);
        for id in 1..=300 {
            let key = [Value::Int(id)];
            let selection = Selection::Key(0, &key);
            let done = match id % 4 {
                0 => relation.delete_where(&mut client.work(), selection, None),
                1 => relation.update_where(
                    &mut client.work(),
                    selection,
                    None,
                    &mut |row, change| {
                        let amount = row.get_i64(2).unwrap_or(0);
                        change.set(2, Value::Int(amount + 1))
                    },
                ),
                2 => {
                    relation.update_where(&mut client.work(), selection, None, &mut |_, change| {
                        change.set(0, Value::Int(id + 1_000))?;
                        change.set(1, Value::Null)
                    })
                }
                _ => {
                    relation.update_where(&mut client.work(), selection, None, &mut |_, change| {
                        change.set(3, Value::Text(&"long".repeat(id as usize * 10)))
                    })
                }
            };
            assert_eq!(done.expect("changed"), 1);
        }
        let seven = [Value::Int(7)];
        let (key, selection) = ([Value::Int(8)], Selection::Range(2, Bounds::equal(&seven)));
        let none = relation.delete_where(&mut client.work(), Selection::Key(0, &key), None);
        assert_eq!(none.expect("nothing to do"), 0);
        let many = relation.update_where(&mut client.work(), selection, None, &mut |_, change| {
            // Into the part of the range that was not read yet.
            change.set(2, Value::Int(6))
        });
        assert!(many.expect("changed") > 10);
        client.rollback();
        check(relation, client.session);
        assert_eq!(rows(relation, client.view(), client.session), before);
    });
}

#[test]
fn a_key_that_another_row_has_is_refused_and_nothing_of_the_statement_is_left() {
    with_rows(|client, relation| {
        let before = rows(relation, client.view(), client.session);
        let mut same = row(301);
        same[0] = Value::Int(17).to_owned();
        let refused = relation.insert(&mut client.work(), &values(&same)).expect_err("a duplicate");
        assert_eq!(refused.refusal(), Some(RefusalKind::UniqueViolation));
        let say = "table accounts has another row with this key, which accounts_pk forbids: id = \
                   17; give another value, or change that row";
        assert_eq!(refused.to_string(), say);
        assert_eq!(named(&refused), ["23505", "accounts", "", "accounts_pk"]);
        let many = [row(301), row(302), row(3)];
        let many: Vec<_> = many.iter().map(|row| values(row)).collect();
        let many = many.iter().map(Vec::as_slice);
        let refused = relation
            .insert_many(&mut client.work(), relation.layout().columns(), many, |_| ())
            .expect_err("the last");
        assert_eq!(refused.refusal(), Some(RefusalKind::UniqueViolation));
        let to_seven = &mut |_: &value::RowView<'_>, change: &mut relation::RowChange<'_>| {
            change.set(0, Value::Int(7))
        };
        let refused = relation.update_where(&mut client.work(), Selection::All, None, to_seven);
        assert_eq!(
            refused.expect_err("two rows with 7").refusal(),
            Some(RefusalKind::UniqueViolation)
        );
        assert_eq!(rows(relation, client.view(), client.session), before);
        // A key with a NULL in it is like no other.
        let mut null = row(5);
        null[0] = Value::Int(500).to_owned();
        relation.insert(&mut client.work(), &values(&null)).expect("two with the code NULL");
        null[0] = Value::Null.to_owned();
        let refused = relation.insert(&mut client.work(), &values(&null)).expect_err("NULL");
        assert_eq!(refused.refusal(), Some(RefusalKind::NotNullViolation));
    });
}

#[test]
fn a_relation_that_is_stale_takes_no_changes_and_one_that_is_gone_no_reads() {
    with_rows(|client, relation| {
        relation.set_stale(client.session);
        let refused = relation.insert(&mut client.work(), &values(&row(400))).expect_err("stale");
        assert_eq!(refused.refusal(), Some(RefusalKind::DefinitionChanged));
        assert_eq!(rows(relation, client.view(), client.session).len(), 300);
    });
}

/// A session keeps its buffers, and of a long row not what that took.
#[test]
fn long_rows_leave_no_memory_to_the_session_that_has_worked_on_them() {
    with_rows(|client, relation| {
        let (long, longer) = ("x".repeat(300 << 10), "y".repeat(400 << 10));
        let row = |id| [Value::Int(id), Value::Null, Value::Null, Value::Text(&long)];
        let left = |client: &Client<'_>, what: &str| {
            let bytes = client.scratch.bytes();
            assert!(bytes < 256 << 10, "{what}: {bytes} bytes");
        };
        relation.insert(&mut client.work(), &row(1_001)).expect("inserted");
        left(client, "insert");
        let mut set = |_: &value::RowView<'_>, change: &mut relation::RowChange<'_>| {
            change.set(3, Value::Text(&longer))
        };
        let (key, mut work) = ([Value::Int(1_001)], client.work());
        let updated = relation.update_where(&mut work, Selection::Key(0, &key), None, &mut set);
        assert_eq!(updated.expect("changed"), 1);
        left(client, "update");
        let deleted = relation.delete_where(&mut client.work(), Selection::Key(0, &key), None);
        assert_eq!(deleted.expect("deleted"), 1);
        left(client, "delete");
        let (one, other) = (row(1_002), row(1_003));
        let rows = [&one[..], &other[..]];
        let inserted = relation
            .insert_many(&mut client.work(), relation.layout().columns(), rows, |_| ())
            .expect("inserted");
        assert_eq!(inserted, 2);
        left(client, "two rows at once");
        relation
            .insert_many(&mut client.work(), relation.layout().columns(), rows, |_| ())
            .expect_err("they are there");
        left(client, "a refused insert");
        let (view, key) = (client.view(), [Value::Text(&long), Value::Null]);
        let (scratch, session) = (&mut client.scratch, client.session);
        assert_eq!(relation.find(1, &key, view, scratch, session).expect("read"), None);
        left(client, "a key that is looked for");
    });
}

/// The insert stops at the first None, as a loop does, also if the iterator would go on behind its
/// end.
#[test]
fn rows_end_with_the_first_none_that_their_iterator_gives() {
    with_rows(|client, relation| {
        let all: Vec<_> = (1_001..1_011).map(row).collect();
        let all: Vec<_> = all.iter().map(|row| values(row)).collect();
        let until = all.iter().map_while(|row| (row[0] != Value::Int(1_004)).then_some(&row[..]));
        let count = relation
            .insert_many(&mut client.work(), relation.layout().columns(), until, |_| ())
            .expect("inserted");
        assert_eq!((count, rows(relation, client.view(), client.session).len()), (3, 303));
    });
}

/// Short rows are put together before the first is inserted, long ones only two or three of them.
#[test]
fn rows_that_are_inserted_together_are_as_few_as_they_are_long() {
    with_rows(|client, relation| {
        let long = "x".repeat(30 << 10);
        let rows: Vec<_> = (1_001..1_011)
            .map(|id| [Value::Int(id), Value::Null, Value::Null, Value::Text(&long)])
            .collect();
        let (taken, inserted, most) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let taking = rows.iter().map(|row| {
            taken.set(taken.get() + 1);
            &row[..]
        });
        let count =
            relation.insert_many(&mut client.work(), relation.layout().columns(), taking, |_| {
                most.set(most.get().max(taken.get() - inserted.get()));
                inserted.set(inserted.get() + 1);
            });
        assert_eq!(count.expect("inserted"), 10);
        assert!(most.get() <= 3, "{} rows of 30 KiB at once", most.get());
    });
}
