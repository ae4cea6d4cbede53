//! Statements that change definitions beside sessions that read and change rows.

use std::collections::BTreeSet;

use access::Direction;
use catalog::{Alteration, ColumnSpec, DefaultSpec};
use ids::ObjectNo;
use instance::Transaction;
use os::Session;
use relation::{Bounds, OnDelete, Scratch, Selection};
use stop::RefusalKind;
use txn::LockWait;
use value::{Type, Value};
use waits::WaitEvent;

use crate::common::{
    Db, WAIT, column, customer, database, fill, index, join, orders, racy, refused, run_kept,
    with_db,
};

#[test]
fn a_statement_waits_for_who_changes_rows_or_is_refused() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let relation = db.relation("customer", session);
        let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
        let mut work = relation::Work {
            transaction: &mut transaction,
            scratch: &mut scratch,
            relations: &*db.catalog,
            session,
        };
        let row = [Value::Int(1), Value::Null, Value::Null];
        relation.insert(&mut work, &row).expect("inserted");
        let before = db.describe(session);
        let drop = db.catalog.drop_table("customer", false, LockWait::NoWait, session);
        refused(drop, RefusalKind::Busy, "");
        let spec = index("by_name", "customer", &["name"], false);
        let made = db.catalog.create_index(&spec, LockWait::NoWait, session);
        refused(made, RefusalKind::Busy, "");
        let waiting = db.start("makes", session, move |db, session| {
            db.catalog.create_index(&spec, WAIT, session).expect("created");
        });
        assert_eq!(db.describe(session), before);
        db.instance.commit(transaction, session).expect("committed");
        join(vec![waiting], session);
        assert_eq!(db.relation("customer", session).definition().indexes.len(), 2);
        assert!(relation.is_stale(session));
    });
}

/// A row that isn't committed yet keeps what it refers to.
#[test]
fn a_truncate_waits_for_who_changes_rows_that_refer_to_the_table() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        fill(db, 0..5, session);
        let orders = db.relation("orders", session);
        let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
        let mut work = relation::Work {
            transaction: &mut transaction,
            scratch: &mut scratch,
            relations: &*db.catalog,
            session,
        };
        orders.insert(&mut work, &[Value::Int(1), Value::Int(3)]).expect("inserted");
        let truncate = |lock_wait| db.catalog.truncate_table("customer", lock_wait, session);
        refused(truncate(LockWait::NoWait), RefusalKind::Busy, "");
        db.instance.commit(transaction, session).expect("committed");
        refused(truncate(WAIT), RefusalKind::ForeignKeyViolation, "orders refers to it");
    });
}

/// A session that deletes a parent's rows looks at their children, and keeps the foreign key as it
/// is. Other DDL on the child doesn't disturb it.
#[test]
fn a_constraint_goes_when_nobody_changes_the_table_that_it_refers_to() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        fill(db, 0..5, session);
        let customer = db.relation("customer", session);
        let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
        let mut work = relation::Work {
            transaction: &mut transaction,
            scratch: &mut scratch,
            relations: &*db.catalog,
            session,
        };
        let row = [Value::Int(9), Value::Null, Value::Null];
        customer.insert(&mut work, &row).expect("inserted");
        let lock_wait = LockWait::NoWait;
        let (name, cascade) = ("orders_customer_fkey".into(), false);
        let drop = Alteration::DropConstraint { name, cascade };
        let dropped = db.catalog.alter_table("orders", &drop, lock_wait, session);
        refused(dropped, RefusalKind::Busy, "");
        let dropped = db.catalog.drop_table("orders", false, lock_wait, session);
        refused(dropped, RefusalKind::Busy, "");
        let dropped = db.catalog.drop_index("orders_customer_fkey_idx", lock_wait, session);
        refused(dropped, RefusalKind::Busy, "");
        let add = Alteration::AddColumn(column("note", Type::Text));
        db.catalog.alter_table("orders", &add, lock_wait, session).expect("altered");
        assert!(!customer.is_stale(session));
        db.instance.commit(transaction, session).expect("committed");
        db.catalog.alter_table("orders", &drop, lock_wait, session).expect("dropped");
        assert!(customer.is_stale(session));
        let now = db.relation("customer", session);
        assert_eq!(now.definition().referenced_by.len(), 0);
    });
}

/// Without CASCADE a table to which another refers is refused at once, whoever works with that one:
/// meanwhile it would be locked itself (DC5).
#[test]
fn what_is_refused_for_want_of_cascade_waits_for_no_other_table() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        let orders = db.relation("orders", session);
        let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
        let mut work = relation::Work {
            transaction: &mut transaction,
            scratch: &mut scratch,
            relations: &*db.catalog,
            session,
        };
        orders.lock_for_changes(&mut work).expect("it is free");
        let lock_wait = LockWait::NoWait;
        let drop = |cascade| db.catalog.drop_table("customer", cascade, lock_wait, session);
        let alter = |cascade| {
            let key = Alteration::DropConstraint { name: "customer_pkey".into(), cascade };
            db.catalog.alter_table("customer", &key, lock_wait, session)
        };
        refused(drop(false), RefusalKind::WrongState, "of table orders refers to it");
        refused(alter(false), RefusalKind::WrongState, "of table orders refers to it");
        refused(drop(true), RefusalKind::Busy, "");
        refused(alter(true), RefusalKind::Busy, "");
        db.instance.commit(transaction, session).expect("committed");
        drop(true).expect("dropped");
    });
}

/// Reads on, row by row, while the table goes and its blocks become others'.
fn reader_meets(end: fn(&Db, &Session), stale_before: bool) {
    database(move |db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..200, session);
        let relation = db.relation("customer", session);
        if stale_before {
            // So this relation isn't the one that is told that it has gone.
            let rename = Alteration::RenameColumn { from: "city".into(), to: "town".into() };
            db.catalog.alter_table("customer", &rename, WAIT, session).expect("renamed");
            db.relation("customer", session);
        }
        let transactions = db.instance.transactions();
        let snapshot = transactions.snapshot(None, session).expect("a snapshot");
        let view = transactions.view_of(&snapshot, None);
        let all = Bounds::equal(&[]);
        let mut rows = relation.range(0, &all, Direction::Ascending, view).expect("a range");
        let read = |rows: &mut relation::Rows<'_>| {
            rows.next(&mut |_, row| row.get(0).map(Value::to_owned).expect("a number"), session)
        };
        for number in 0..50 {
            let row = read(&mut rows).expect("read").expect("a row");
            assert_eq!(row.get(), Value::Int(number));
        }
        let (mut seen, mut keys) = ([0; 2], Vec::new());
        let mut scan = relation.begin_scan(view, session).expect("begun");
        let range = relation.begin_range(0, &all, Direction::Descending, view).expect("begun");
        let mut range = range.at_most(10);
        let mut step = |which: usize| match which {
            0 => relation.scan_next(&mut scan, |_, _| seen[0] += 1, session),
            _ => {
                let mut look = |_, values: &[Value<'_>]| keys.push(values[0].to_owned());
                relation.range_keys_next(&mut range, &mut look, session)
            }
        };
        assert!((0..2).all(|which| step(which).expect("read")));
        end(db, session);
        let ends = [0, 1].map(|which| {
            loop {
                match step(which) {
                    Ok(true) => {}
                    ended => break ended,
                }
            }
        });
        seen[1] = keys.len();
        let mut falling = keys.iter().zip((0..200).rev());
        assert!(falling.all(|(key, number)| key.get() == Value::Int(number)));
        for (ended, seen) in ends.into_iter().zip(seen) {
            // If the blocks haven't become others' yet, a relation that wasn't told may go on.
            match ended {
                Ok(_) => assert!(stale_before && seen == 200, "{seen} of 200 rows"),
                refusal => refused(refusal, RefusalKind::DefinitionChanged, "dropped or truncated"),
            }
        }
        let mut number = 50;
        let stop = loop {
            match read(&mut rows) {
                Ok(row) => {
                    let row = row.expect("it doesn't end as if there were no more rows");
                    assert_eq!(row.get(), Value::Int(number));
                    number += 1;
                }
                Err(stop) => break stop,
            }
        };
        assert_eq!(stop.refusal(), Some(RefusalKind::DefinitionChanged), "{stop}");
        assert!(stop.to_string().contains("dropped or truncated"), "{stop}");
        let scanned = relation.scan(view, |_, _| {}, session);
        refused(scanned, RefusalKind::DefinitionChanged, "dropped or truncated");
    });
}

fn others(db: &Db, session: &Session) {
    let mut spec = customer();
    spec.name = "others".into();
    db.catalog.create_table(&spec, WAIT, session).expect("created");
    let others = db.relation("others", session);
    for number in 1_000..1_200 {
        let row = [Value::Int(number), Value::Text("of another table"), Value::Null];
        db.transact(session, |work| others.insert(work, &row)).expect("inserted");
    }
}

#[test]
fn a_reader_of_a_table_that_is_dropped_is_refused() {
    for stale_before in [false, true] {
        let end = |db: &Db, session: &Session| {
            db.catalog.drop_table("customer", false, WAIT, session).expect("dropped");
            others(db, session);
        };
        reader_meets(end, stale_before);
    }
}

#[test]
fn a_reader_of_a_table_that_is_truncated_is_refused() {
    for stale_before in [false, true] {
        let end = |db: &Db, session: &Session| {
            db.catalog.truncate_table("customer", WAIT, session).expect("truncated");
            others(db, session);
        };
        reader_meets(end, stale_before);
    }
}

#[test]
fn a_snapshot_from_before_is_too_old_for_what_was_made_since() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..20, session);
        let transactions = db.instance.transactions();
        let snapshot = transactions.snapshot(None, session).expect("a snapshot");
        let view = transactions.view_of(&snapshot, None);
        let before = db.relation("customer", session);
        let all = Bounds::equal(&[]);
        let mut scan = before.begin_scan(view, session).expect("begun");
        let begun = before.begin_range(0, &all, Direction::Ascending, view);
        let mut held = begun.expect("begun");
        let spec = index("by_city", "customer", &["city"], false);
        db.catalog.create_index(&spec, WAIT, session).expect("created");
        let relation = db.relation("customer", session);
        // The index has the same number in the new definition.
        relation.range_rows_next(&mut held, &mut |_, _| {}, session).expect("as ever");
        let range = relation.range(1, &all, Direction::Ascending, view);
        refused(range.map(|_| ()), RefusalKind::SnapshotTooOld, "customer");
        relation.range(0, &all, Direction::Ascending, view).map(|_| ()).expect("as ever");
        db.catalog.truncate_table("customer", WAIT, session).expect("truncated");
        let relation = db.relation("customer", session);
        let scanned = relation.scan(view, |_, _| {}, session);
        refused(scanned, RefusalKind::SnapshotTooOld, "truncated");
        let scanned = relation.scan_next(&mut scan, |_, _| {}, session);
        refused(scanned, RefusalKind::SnapshotTooOld, "truncated");
        let ranged = relation.range_keys_next(&mut held, &mut |_, _| {}, session);
        refused(ranged, RefusalKind::SnapshotTooOld, "truncated");
        assert_eq!(db.rows("customer", session).len(), 0);
    });
}

/// Inserts, renames and deletes customers of its own, whatever the definition is just now.
fn changes(db: &Db, user: i64, session: &Session) -> BTreeSet<i64> {
    let mut there = BTreeSet::new();
    for step in 0..12 {
        let number = user * 1_000 + step;
        loop {
            let relation = db.relation("customer", session);
            let columns = relation.definition().columns.len();
            let done = db.transact(session, |work| {
                let name = format!("name {number}");
                let mut row = vec![Value::Int(number), Value::Text(&name), Value::Text("here")];
                row.resize(columns, Value::Int(9));
                relation.insert(work, &row)?;
                let old = [Value::Int(number - 2)];
                if step % 3 == 2 {
                    relation.delete_where(work, Selection::Key(0, &old), None)?;
                }
                let old = [Value::Int(number - 1)];
                relation.update_where(work, Selection::Key(0, &old), None, &mut |_, change| {
                    change.set(2, Value::Text("there"))
                })
            });
            match done {
                Ok(_) => break,
                Err(stop) if stop.refusal() == Some(RefusalKind::DefinitionChanged) => {}
                Err(stop) => panic!("user {user}: {stop}"),
            }
        }
        there.insert(number);
        if step % 3 == 2 {
            there.remove(&(number - 2));
        }
    }
    there
}

fn defines(db: &Db, session: &Session) {
    let by_city = index("by_city", "customer", &["city", "id"], false);
    let by_name = index("by_name", "customer", &["name"], true);
    db.catalog.create_index(&by_city, WAIT, session).expect("created");
    let default = DefaultSpec::Constant(Value::Int(1).to_owned());
    let spec = ColumnSpec { default, ..column("rank", Type::Integer) };
    let add = Alteration::AddColumn(spec);
    db.catalog.alter_table("customer", &add, WAIT, session).expect("added");
    db.catalog.create_index(&by_name, WAIT, session).expect("created");
    db.catalog.drop_index("by_city", WAIT, session).expect("dropped");
    db.catalog.truncate_table("orders", WAIT, session).expect("truncated");
    db.catalog.create_index(&by_city, WAIT, session).expect("created");
    let set = Alteration::SetNotNull("name".into());
    db.catalog.alter_table("customer", &set, WAIT, session).expect("set");
}

#[test]
fn rows_and_definitions_change_at_once() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
    });
    let waits = sim::Outside::new(0);
    for seed in 0..12 {
        let waits = waits.clone();
        with_db(racy(seed, disk.clone()), move |db, session| {
            let wanted = sim::Outside::<BTreeSet<i64>>::default();
            let mut threads = Vec::new();
            for user in 1..4 {
                let wanted = wanted.clone();
                threads.push(db.start("changes", session, move |db, session| {
                    let there = changes(db, user, session);
                    wanted.with(|wanted| wanted.extend(there));
                }));
            }
            threads.push(db.start("defines", session, defines));
            threads.push(db.start("reads", session, |db, session| {
                for _ in 0..10 {
                    db.catalog.relation("customer", session).expect("there");
                    db.describe_all(session);
                }
            }));
            join(threads, session);
            db.check(session);
            let rows = db.rows("customer", session);
            let number = |row: &String| row.split(',').next().expect("a column").parse::<i64>();
            let there: BTreeSet<i64> =
                rows.iter().map(|row| number(row).expect("a number")).collect();
            assert_eq!(there, wanted.take());
            assert_eq!(db.relation("customer", session).definition().indexes.len(), 3);
            let waited = session.os().totals().event(WaitEvent::RowCacheLock).count;
            waits.with(|all| *all += waited);
        });
    }
    assert!(waits.take() > 0, "nobody waited for a definition");
}

/// A statement that has waited for its table's lock goes on with the definition that the statement
/// before it made, and doesn't bring back what that one removed.
#[test]
fn of_two_statements_on_one_table_each_leaves_what_the_other_has_done() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let spec = index("by_name", "customer", &["name"], false);
        db.catalog.create_index(&spec, WAIT, session).expect("created");
        fill(db, 0..5, session);
    });
    for seed in 0..100 {
        with_db(racy(seed, disk.clone()), |db, session| {
            let before = db.relation("customer", session).definition().columns.len();
            let drops = db.start("drops", session, |db, session| {
                db.catalog.drop_index("by_name", WAIT, session).expect("dropped");
            });
            let adds = db.start("adds", session, |db, session| {
                let add = Alteration::AddColumn(column("note", Type::Text));
                db.catalog.alter_table("customer", &add, WAIT, session).expect("altered");
            });
            join(vec![drops, adds], session);
            let now = db.relation("customer", session);
            assert_eq!(now.definition().columns.len(), before + 1);
            assert!(now.definition().indexes.iter().all(|index| index.name != "by_name"));
        });
    }
}

/// Two tables of one name, two indexes of one table: one of each pair wins, or both.
#[test]
fn statements_that_meet_agree_who_was_first() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..30, session);
    });
    for seed in 0..12 {
        with_db(racy(seed, disk.clone()), |db, session| {
            let won = sim::Outside::<Vec<ObjectNo>>::default();
            let mut threads = Vec::new();
            for (number, by) in ["name", "city"].into_iter().enumerate() {
                let won = won.clone();
                threads.push(db.start("makes", session, move |db, session| {
                    let spec = index(&format!("i{number}"), "customer", &[by], false);
                    db.catalog.create_index(&spec, WAIT, session).expect("created");
                    match db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session) {
                        Ok(made) => won.with(|won| won.push(made.object)),
                        Err(stop) => {
                            let kind = stop.refusal();
                            assert_eq!(kind, Some(RefusalKind::AlreadyExists), "{stop}");
                        }
                    }
                }));
            }
            join(threads, session);
            assert_eq!(won.take().len(), 1);
            assert_eq!(db.relation("customer", session).definition().indexes.len(), 3);
        });
    }
}

/// Inserts orders of customers that may just be going, and deletes some. How many were deleted.
fn refers(db: &Db, user: i64, session: &Session) -> u64 {
    let mut deleted = 0;
    for step in 0..15 {
        let row = [Value::Int(user * 100 + step), Value::Int(step % 5)];
        while let Err(stop) = db.insert("orders", &row, session) {
            match stop.refusal() {
                Some(RefusalKind::DefinitionChanged | RefusalKind::Deadlock) => {}
                Some(RefusalKind::ForeignKeyViolation) => break,
                _ => panic!("user {user}: {stop}"),
            }
        }
        if step % 4 == 3 {
            let orders = db.relation("orders", session);
            let key = [Value::Int(user * 100 + step - 1)];
            let selection = Selection::Key(0, &key);
            let done = db.transact(session, |work| orders.delete_where(work, selection, None));
            match done.map_err(|stop| (stop.refusal(), stop)) {
                Ok(count) => deleted += count,
                Err((Some(RefusalKind::DefinitionChanged | RefusalKind::Deadlock), _)) => {}
                Err((_, stop)) => panic!("user {user}: {stop}"),
            }
        }
    }
    deleted
}

/// Takes customers away, and has orders refer to them again.
fn takes_away(db: &Db, session: &Session) -> u32 {
    let mut truncated = 0;
    for round in 0..6 {
        let allowed = |done: Result<(), stop::Stop>| match done.as_ref().map_err(|s| s.refusal()) {
            Ok(()) => true,
            Err(Some(RefusalKind::ForeignKeyViolation | RefusalKind::Deadlock)) => false,
            Err(_) => panic!("round {round}: {done:?}"),
        };
        if round % 2 == 0 {
            allowed(db.catalog.truncate_table("orders", WAIT, session));
        }
        truncated += u32::from(allowed(db.catalog.truncate_table("customer", WAIT, session)));
        let (name, cascade) = ("orders_customer_fkey".into(), false);
        let drop = Alteration::DropConstraint { name, cascade };
        allowed(db.catalog.alter_table("orders", &drop, WAIT, session));
        let customers = db.rows("customer", session).len() as i64;
        if customers < 5 {
            let relation = db.relation("customer", session);
            for number in customers..5 {
                let row = [Value::Int(number), Value::Null, Value::Null];
                let done = db.transact(session, |work| relation.insert(work, &row));
                done.expect("inserted");
            }
        }
        let key = orders(OnDelete::NoAction).constraints.remove(1);
        let add = Alteration::AddConstraint(key);
        while !allowed(db.catalog.alter_table("orders", &add, WAIT, session)) {
            allowed(db.catalog.truncate_table("orders", WAIT, session));
        }
    }
    truncated
}

#[test]
fn what_is_referred_to_is_there_whatever_is_truncated_and_constrained() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        fill(db, 0..5, session);
    });
    let (truncated, deleted) = (sim::Outside::new(0), sim::Outside::new(0));
    for seed in 0..12 {
        let (truncated, deleted) = (truncated.clone(), deleted.clone());
        with_db(racy(seed, disk.clone()), move |db, session| {
            let mut threads = Vec::new();
            for user in 1..4 {
                let deleted = deleted.clone();
                let body = move |db: &Db, session: &Session| {
                    let count = refers(db, user, session);
                    deleted.with(|all| *all += count);
                };
                threads.push(db.start("refers", session, body));
            }
            threads.push(db.start("takes away", session, move |db, session| {
                let count = takes_away(db, session);
                truncated.with(|all| *all += count);
            }));
            join(threads, session);
            db.check(session);
            let column = |row: &String, number: usize| {
                row.split(", ").nth(number).expect("a column").to_string()
            };
            let customers: BTreeSet<String> =
                db.rows("customer", session).iter().map(|row| column(row, 0)).collect();
            for row in db.rows("orders", session) {
                assert!(customers.contains(&column(&row, 1)), "{row} of {customers:?}");
            }
        });
    }
    assert!(truncated.take() > 0, "no truncate was allowed");
    assert!(deleted.take() > 0, "no delete met a row");
}

/// A transaction that was active at a crash has no locks: its rows are taken back before their
/// segment is dropped.
#[test]
fn a_table_is_dropped_after_the_dead_have_been_rolled_back() {
    let base = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..10, session);
    });
    let statements: [fn(&Db, &Session); 2] = [
        |db, session| db.catalog.drop_table("customer", false, WAIT, session).expect("dropped"),
        |db, session| db.catalog.truncate_table("customer", WAIT, session).expect("truncated"),
    ];
    let active = sim::Outside::new(0);
    for seed in 0..8 {
        let ((), disk) = run_kept(racy(seed, base.clone()), |world, session| {
            let db = Db::open(world, session).expect("opened");
            let customer = db.relation("customer", session);
            let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
            let mut work = relation::Work {
                transaction: &mut transaction,
                scratch: &mut scratch,
                relations: &*db.catalog,
                session,
            };
            for number in 100..600 {
                let row = [Value::Int(number), Value::Text("never"), Value::Null];
                customer.insert(&mut work, &row).expect("inserted");
            }
            // So its redo is durable.
            let options = catalog::SequenceOptions::default();
            db.catalog.create_sequence("s", &options, session).expect("created");
            drop((customer, db.catalog));
            db.instance.abort(session);
        });
        let (statement, active) = (statements[seed as usize % 2], active.clone());
        with_db(racy(seed + 100, disk), move |db, session| {
            assert_eq!(db.instance.opened().rolled_back, 1);
            let all = db.instance.transactions().active().all(session);
            active.with(|count| *count += all.len());
            statement(db, session);
            others(db, session);
            db.instance.wait_for_dead(session);
            assert_eq!(db.rows("others", session).len(), 200);
        });
    }
    assert!(active.take() > 0, "the dead were always gone when the statement began");
}

/// An index is found by its own name, so a rename of its table at the same time isn't in its way.
#[test]
fn an_index_is_renamed_while_its_table_is() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let spec = index("by_name", "customer", &["name"], false);
        db.catalog.create_index(&spec, WAIT, session).expect("created");
    });
    for seed in 0..100 {
        with_db(racy(seed, disk.clone()), |db, session| {
            let table = db.start("table", session, |db, session| {
                let rename = Alteration::RenameTable("client".into());
                db.catalog.alter_table("customer", &rename, WAIT, session).expect("renamed");
            });
            let of_it = db.start("index", session, |db, session| {
                db.catalog.rename_index("by_name", "by_other", WAIT, session).expect("renamed");
            });
            join(vec![table, of_it], session);
            let now = db.relation("client", session);
            assert!(now.definition().indexes.iter().any(|index| index.name == "by_other"));
        });
    }
}
