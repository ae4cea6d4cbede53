//! Statements whose rows are found elsewhere, by the body of the statement (RL56 to RL58).

use std::cell::Cell;

use access::RowAddress;
use relation::{
    Done, Flow, IfHeld, Locked, Relation, RowChange, Statement, StatementKind, StatementWork,
};
use sim::fs::FileSystem;
use stop::{RefusalKind, Stop};
use txn::{LockWait, View};
use value::{RowView, Value};

use crate::common::{Client, Known, Row, Table, check, database, machine, rows, with_instance};
use crate::late_keys::{base, numbers};
use crate::shop::{self, check_all, int};
use crate::whole;

/// Runs with the table of numbers, and another session's transaction.
fn with_two(test: fn(&mut Client<'_>, &mut Client<'_>)) {
    with_instance(machine(1, base()), move |instance, session| {
        let known = Known::of(instance, &numbers(), session);
        let mut client = Client::new(instance, &known, session);
        let mut other = Client::new(instance, &known, session);
        other.transaction.set_lock_wait(LockWait::NoWait);
        test(&mut client, &mut other);
        client.commit();
        other.commit();
        check(&known.named("numbers"), session);
    });
}

/// Where the row of this id is, as a view sees it.
fn find(statement: &mut StatementWork<'_, '_>, relation: &Relation, id: i64) -> RowAddress {
    let (view, session) = (statement.view(), statement.session());
    let found = relation.find(0, &[int(id)], view, statement.scratch(), session);
    found.expect("read").expect("there")
}

/// The value of `m` of a row, as a view sees it.
fn m_at(relation: &Relation, row: RowAddress, view: View, session: &os::Session) -> i64 {
    let found = relation.fetch(view, row, &mut |row| row.get_i64(2), session);
    found.expect("read").flatten().expect("there")
}

fn set_m(client: &mut Client<'_>, id: i64, to: i64) -> Result<u64, Stop> {
    shop::set(client, ("numbers", id), (2, int(to)))
}

fn m_of(client: &mut Client<'_>, id: i64) -> Option<i64> {
    let (relation, view) = (client.known.named("numbers"), client.view());
    let (scratch, session) = (&mut client.scratch, client.session);
    let mut look = |_, row: RowView<'_>| row.get_i64(2);
    relation.get(0, &[int(id)], view, &mut look, scratch, session).expect("read").flatten()
}

/// Adds to `m`.
fn plus(by: i64) -> impl FnMut(&RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop> {
    move |row, change| change.set(2, int(row.get_i64(2).expect("not NULL") + by))
}

fn is_begun_again(stop: &Stop) -> bool {
    stop.refusal() == Some(RefusalKind::Serialization)
}

#[test]
fn a_body_sees_nothing_of_what_its_statement_does() {
    with_two(|client, _| {
        let relation = client.known.named("numbers");
        set_m(client, 1, 77).expect("before the statement");
        let before = rows(&relation, client.view(), client.session).len();
        let session = client.session;
        let inserted = relation.statement(StatementKind::Insert, &mut client.work(), &mut |work| {
            let mut count = 0;
            let view = work.view();
            for (address, row) in rows(&relation, view, session) {
                let Value::Int(id) = row[0].get() else { panic!("an id is a number") };
                let m = if id == 1 { 77 } else { id % 5 };
                assert_eq!(m_at(&relation, address, view, session), m);
                work.insert(0, &[int(id + 10_000), Value::Null, int(m)])?;
                let new = work.new_row(0)?;
                assert_eq!((new.get_i64(0), new.get_i64(1)), (Some(id + 10_000), None));
                // The row that was just inserted isn't there for the statement.
                let found = relation.find(0, &[int(id + 10_000)], view, work.scratch(), session);
                assert_eq!(found.expect("read"), None);
                count += 1;
            }
            Ok(Flow::Done(count))
        });
        assert_eq!(inserted.expect("inserted"), before);
        assert_eq!(rows(&relation, client.view(), session).len(), before * 2);
        assert_eq!(m_of(client, 10_001), Some(77));
    });
}

#[test]
fn a_row_that_is_met_twice_stays_as_it_was_left() {
    with_two(|client, _| {
        let relation = client.known.named("numbers");
        set_m(client, 3, 100).expect("the transaction has changed it before");
        let done = relation.statement(StatementKind::Merge, &mut client.work(), &mut |work| {
            let (one, two) = (find(work, &relation, 3), find(work, &relation, 4));
            assert_eq!(work.update(0, one, &mut plus(1))?, Done::Changed);
            let (old, new) = (work.old_row(0)?.get_i64(2), work.new_row(0)?.get_i64(2));
            assert_eq!((old, new), (Some(100), Some(101)));
            assert_eq!(work.update(0, one, &mut plus(1))?, Done::Already);
            assert_eq!(work.delete(0, one)?, Done::Already);
            assert_eq!(work.delete(0, two)?, Done::Changed);
            assert_eq!(work.old_row(0)?.get_i64(0), Some(4));
            assert_eq!(work.delete(0, two)?, Done::Already);
            assert_eq!(work.update(0, two, &mut plus(1))?, Done::Already);
            let new = work.insert(0, &[int(900), int(900), int(0)])?;
            assert_eq!(work.update(0, new, &mut plus(1))?, Done::Already);
            Ok(Flow::Done(()))
        });
        done.expect("done");
        assert_eq!(
            (m_of(client, 3), m_of(client, 4), m_of(client, 900)),
            (Some(101), None, Some(0))
        );
    });
}

/// MERGE: rows go, come and change, and their keys are looked at when all is done.
#[test]
fn keys_pass_between_rows_that_come_and_go_in_one_statement() {
    with_two(|client, _| {
        let relation = client.known.named("numbers");
        let set = |k: i64| {
            move |_: &RowView<'_>, change: &mut RowChange<'_>| {
                change.set(0, int(k))?;
                change.set(1, int(k))
            }
        };
        let merged = relation.statement(StatementKind::Merge, &mut client.work(), &mut |work| {
            let found = [10, 11, 12, 13].map(|id| find(work, &relation, id));
            // A new row has the key of one that goes later; two others exchange theirs.
            work.insert(0, &[int(10), int(10), int(60)])?;
            work.update(0, found[1], &mut set(12))?;
            work.update(0, found[2], &mut set(11))?;
            work.delete(0, found[0])?;
            // The last one gets a key that is nobody's, and another new one gets what it had.
            work.update(0, found[3], &mut set(1_300))?;
            let rows = [[int(13), int(13), int(61)], [int(1_400), Value::Null, int(62)]];
            let mut addresses = Vec::new();
            let each = rows.iter().map(|row| &row[..]);
            assert_eq!(work.insert_many(0, each, &mut |row| addresses.push(row))?, 2);
            assert_eq!(addresses.len(), 2);
            Ok(Flow::Done(()))
        });
        merged.expect("at the end all keys differ");
        let found = [10, 11, 12, 13, 1_300, 1_400].map(|id| m_of(client, id));
        assert_eq!(found, [Some(60), Some(2), Some(1), Some(61), Some(3), Some(62)]);
        check(&relation, client.session);
        // A key that stays is refused at the end, and nothing is left.
        let refused = relation.statement(StatementKind::Merge, &mut client.work(), &mut |work| {
            let gone = find(work, &relation, 20);
            work.delete(0, gone)?;
            work.insert(0, &[int(20), int(21), int(0)])?;
            Ok(Flow::Done(()))
        });
        let refused = refused.expect_err("another row has 21");
        assert_eq!(refused.refusal(), Some(RefusalKind::UniqueViolation));
        assert!(refused.to_string().contains("numbers_k forbids: k = 21"), "{refused}");
        assert_eq!(m_of(client, 20), Some(0));
        check(&relation, client.session);
    });
}

#[test]
fn a_refused_step_refuses_the_statement_whatever_its_body_says() {
    with_two(|client, _| {
        let relation = client.known.named("numbers");
        let done = relation.statement(StatementKind::Update, &mut client.work(), &mut |work| {
            let (one, two) = (find(work, &relation, 3), find(work, &relation, 4));
            work.update(0, one, &mut plus(1_000))?;
            let own = Stop::refuse(RefusalKind::Invalid, "the closure's own");
            let refused = work.update(0, two, &mut |_, _| Err(own.clone()));
            assert_eq!(refused.expect_err("refused").to_string(), "the closure's own");
            // No further step is taken.
            let again = work.update(0, one, &mut plus(1)).expect_err("it has ended");
            assert_eq!(again.to_string(), "the closure's own");
            Ok(Flow::Done(()))
        });
        assert_eq!(done.expect_err("refused").to_string(), "the closure's own");
        assert_eq!((m_of(client, 3), m_of(client, 4)), (Some(3), Some(4)));
    });
}

/// The body is called again with a view that sees what had changed, also if it says that it is
/// done. Nothing is left of what it did before.
#[test]
fn a_statement_that_meets_a_changed_row_begins_again() {
    for hands_on in [true, false] {
        with_instance(machine(1, base()), move |instance, session| {
            let known = Known::of(instance, &numbers(), session);
            let mut client = Client::new(instance, &known, session);
            let mut other = Client::new(instance, &known, session);
            let (relation, mut calls) = (known.named("numbers"), 0);
            let done = relation.statement(StatementKind::Update, &mut client.work(), &mut |work| {
                calls += 1;
                let (one, two) = (find(work, &relation, 3), find(work, &relation, 4));
                let seen = m_at(&relation, two, work.view(), session);
                if calls == 1 {
                    set_m(&mut other, 4, 50).expect("nobody has it");
                    other.commit();
                }
                let mut up = |_: &RowView<'_>, change: &mut RowChange<'_>| change.set(1, int(700));
                work.update(0, one, &mut up)?;
                match work.update(0, two, &mut plus(1)) {
                    Err(stop) if hands_on => return Err(stop),
                    Err(stop) => assert!(is_begun_again(&stop), "{stop}"),
                    Ok(done) => assert_eq!(done, Done::Changed),
                }
                Ok(Flow::Done(seen))
            });
            assert_eq!((done.expect("done"), calls), (50, 2));
            assert_eq!(m_of(&mut client, 4), Some(51));
            client.commit();
            // In a serializable transaction it is refused.
            client.transaction =
                instance.transactions().begin_serializable(session).expect("begun");
            set_m(&mut other, 4, 60).expect("nobody has it");
            other.commit();
            let done = relation.statement(StatementKind::Update, &mut client.work(), &mut |work| {
                let two = find(work, &relation, 4);
                match work.update(0, two, &mut plus(1)) {
                    Err(stop) if hands_on => Err(stop),
                    _ => Ok(Flow::Done(())),
                }
            });
            assert!(is_begun_again(&done.expect_err("changed since")));
            client.rollback();
            check(&relation, session);
        });
    }
}

#[test]
fn a_body_may_ask_to_begin_again_and_a_refusal_of_its_own_comes_first() {
    with_two(|client, other| {
        let relation = client.known.named("numbers");
        let calls = Cell::new(0);
        let done = relation.statement(StatementKind::Update, &mut client.work(), &mut |work| {
            calls.set(calls.get() + 1);
            let one = find(work, &relation, 3);
            work.update(0, one, &mut plus(1))?;
            Ok(if calls.get() < 6 { Flow::Again } else { Flow::Done(calls.get()) })
        });
        assert_eq!(done.expect("done"), 6);
        assert_eq!(m_of(client, 3), Some(4));
        let done = relation.statement(StatementKind::Update, &mut client.work(), &mut |work| {
            let two = find(work, &relation, 4);
            set_m(other, 4, 50).expect("nobody has it");
            other.commit();
            work.update(0, two, &mut plus(1)).expect_err("changed since");
            Err::<Flow<()>, _>(Stop::refuse(RefusalKind::WrongState, "cancelled"))
        });
        assert_eq!(done.expect_err("refused").to_string(), "cancelled");
    });
}

/// Each row gets its own value, in whichever way it is changed: together with others or alone.
#[test]
fn rows_that_are_updated_together_get_the_values_of_their_places() {
    type Tables = fn() -> Vec<Table>;
    let tables: [(Tables, FileSystem, usize); 3] =
        [(numbers, base(), 1), (numbers, base(), 2), (whole::counters, whole::base(), 1)];
    for (tables, base, column) in tables {
        with_instance(machine(1, base), move |instance, session| {
            let known = Known::of(instance, &tables(), session);
            let mut client = Client::new(instance, &known, session);
            let relation = known.named(tables()[0].name);
            let id = |row: &Row| match row[0].get() {
                Value::Int(id) => id,
                other => panic!("an id is {other}"),
            };
            let all = relation.statement(StatementKind::Update, &mut client.work(), &mut |work| {
                let found = rows(&relation, work.view(), session);
                let addresses: Vec<_> = found.iter().map(|(address, _)| *address).collect();
                let mut change = |place: usize, _: &RowView<'_>, change: &mut RowChange<'_>| {
                    change.set(column, int(5_000 - id(&found[place].1)))
                };
                work.update_many(0, &addresses, &mut change).map(Flow::Done)
            });
            let found = rows(&relation, client.view(), session);
            assert_eq!(all.expect("changed"), found.len() as u64);
            for (_, row) in found {
                assert_eq!(row[column].get(), int(5_000 - id(&row)));
            }
            client.commit();
            check(&relation, session);
        });
    }
}

/// Rows of orders with those of their customers, as a join finds them.
fn pairs(
    statement: &StatementWork<'_, '_>,
    [orders, customers]: [&Relation; 2],
) -> Vec<[RowAddress; 2]> {
    let (view, session) = (statement.view(), statement.session());
    let customers = rows(customers, view, session);
    let with_customer = |(order, row): (RowAddress, Row)| {
        let of = |(_, customer): &&(RowAddress, Row)| customer[0] == row[1];
        customers.iter().find(of).map(|(customer, _)| [order, *customer])
    };
    rows(orders, view, session).into_iter().filter_map(with_customer).collect()
}

fn with_join(test: fn(&mut Client<'_>, &mut Client<'_>, [&Relation; 2])) {
    let base = database(shop::tables, |instance, known, session| {
        let mut client = Client::new(instance, known, session);
        for id in 1..=3 {
            shop::insert(&mut client, "customers", &[int(id), Value::Null]).expect("new");
            shop::insert(&mut client, "orders", &[int(id * 10), int(id), int(1)]).expect("new");
        }
        client.commit();
    });
    with_instance(machine(1, base), move |instance, session| {
        let known = Known::of(instance, &shop::tables(), session);
        let mut client = Client::new(instance, &known, session);
        let mut other = Client::new(instance, &known, session);
        other.transaction.set_lock_wait(LockWait::NoWait);
        let (orders, customers) = (known.named("orders"), known.named("customers"));
        test(&mut client, &mut other, [&*orders, &*customers]);
        client.commit();
        other.commit();
        check_all(&known, session);
    });
}

/// Locks the rows of a join, and returns how many pairs are locked as a whole.
fn lock_pairs(
    client: &mut Client<'_>,
    tables: [&Relation; 2],
    if_held: IfHeld,
    mut between: impl FnMut(),
) -> Result<u64, Stop> {
    let statement = Statement::over(&tables, StatementKind::Lock).waiting(if_held);
    statement.run(&mut client.work(), &mut |work| {
        let found = pairs(work, tables);
        between();
        let mut whole = 0;
        for [order, customer] in found {
            let order = work.lock(0, order, if_held)?;
            let customer = work.lock(1, customer, if_held)?;
            whole += u64::from(order == Locked::Yes && customer == Locked::Yes);
        }
        if whole == 0 && work.has_passed_newer() {
            return Ok(Flow::Again);
        }
        Ok(Flow::Done(whole))
    })
}

/// Whether the transaction gets the row of this order, or has it.
fn gets_order(client: &mut Client<'_>, id: i64) -> bool {
    let savepoint = client.transaction.savepoint();
    let got = shop::set(client, ("orders", id), (2, int(1)));
    let transactions = client.instance.transactions();
    transactions.rollback_to(&mut client.transaction, savepoint, client.session).expect("back");
    match got {
        Ok(count) => count == 1,
        Err(stop) => {
            assert_eq!(stop.refusal(), Some(RefusalKind::Busy), "{stop}");
            false
        }
    }
}

#[test]
fn a_join_is_locked_without_the_rows_that_others_have() {
    with_join(|client, other, tables| {
        shop::set(other, ("customers", 2), (1, Value::Text("held"))).expect("free");
        assert_eq!(lock_pairs(client, tables, IfHeld::Skip, || ()).expect("locked"), 2);
        assert!(!gets_order(other, 10) && !gets_order(other, 30));
        client.rollback();
        // NOWAIT is refused, and then none of the rows is locked.
        let nowait = IfHeld::Wait(LockWait::NoWait);
        let refused = lock_pairs(client, tables, nowait, || ()).expect_err("one is held");
        assert_eq!(refused.refusal(), Some(RefusalKind::Busy), "{refused}");
        assert!(gets_order(other, 10) && gets_order(other, 20) && gets_order(other, 30));
        other.commit();
        assert_eq!(lock_pairs(client, tables, nowait, || ()).expect("locked"), 3);
    });
}

/// A row of the second table that was changed since frees those of the first one too.
#[test]
fn a_join_with_a_changed_row_is_locked_anew() {
    with_join(|client, other, tables| {
        let mut calls = 0;
        let locked = lock_pairs(client, tables, IfHeld::Wait(LockWait::Forever), || {
            calls += 1;
            if calls == 1 {
                shop::set(other, ("customers", 3), (1, Value::Text("new"))).expect("free");
                other.commit();
                other.transaction.set_lock_wait(LockWait::NoWait);
            }
            // Nothing that the first try has locked is held.
            assert!(gets_order(other, 10) && gets_order(other, 20));
        });
        assert_eq!((locked.expect("locked"), calls), (3, 2));
        client.rollback();
        // With SKIP LOCKED such a row is passed by, but not if it is all that there is.
        let mut calls = 0;
        let mut touch = || {
            calls += 1;
            if calls == 1 {
                for id in 1..=3 {
                    shop::set(other, ("customers", id), (1, Value::Text("newer"))).expect("free");
                }
                other.commit();
            }
        };
        let locked = lock_pairs(client, tables, IfHeld::Skip, &mut touch).expect("locked");
        assert_eq!((locked, calls), (3, 2));
    });
}
