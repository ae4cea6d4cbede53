//! Statements that are cancelled, or have had their time: at every moment that there is, and by
//! whoever has the handle (DB97, DB98).

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use database::{
    ColumnSpec, Connection, Database, Error, ErrorKind, ForUpdate, IndexSpec, Nanos, OnDelete,
    Selection, SqlState, Table, TableSpec, Tx, Type, Value,
};
use latch::{Latch, LatchKind, SharedFlag};
use os::Session;
use sim::Perturbation;
use sim::fs::FileSystem;
use testbed::pause;

use crate::common::{Folder, account, filled, options};
use crate::simulated::{made, racing, racing_as, start};

/// Accounts, and as many marks, each of which refers to one.
const ROWS: i64 = 400;
/// Each statement is given so many shares of the time that it takes, from none on.
const PARTS: u64 = 20;

struct Tables {
    account: Table,
    mark: Table,
}

impl Tables {
    fn of(connection: &Connection<'_>) -> Tables {
        let table = |name| connection.table(name).expect("it is there");
        Tables { account: table("account"), mark: table("mark") }
    }
}

fn base() -> FileSystem {
    made(|database, session| {
        let mut connection = database.connect_with(session);
        connection.create_table(&account()).expect("made");
        let spec = TableSpec::new("mark")
            .column(ColumnSpec::new("id", Type::BigInt).not_null())
            .column(ColumnSpec::new("account", Type::BigInt))
            .primary_key(["id"])
            .foreign_key(["account"], "account", OnDelete::Cascade);
        connection.create_table(&spec).expect("made");
        let tables = Tables::of(&connection);
        let mut tx = connection.begin();
        for id in 0..ROWS {
            let row = [Value::Int(id), Value::Text("somebody"), Value::Int(100)];
            tx.insert(&tables.account, &row).expect("inserted");
            tx.insert(&tables.mark, &[Value::Int(id), Value::Int(id)]).expect("inserted");
        }
        tx.commit().expect("committed");
    })
}

/// Of each row: a number that stands for its table, its key and its value.
fn rows(tx: &mut Tx<'_, '_>, tables: &Tables) -> Vec<[Option<i64>; 3]> {
    let mut found = Vec::new();
    for (number, table, value) in [(0, &tables.account, 2), (1, &tables.mark, 1)] {
        let mut see = |row: database::Row<'_>| {
            found.push([Some(number), row.get_i64(0), row.get_i64(value)]);
        };
        tx.scan(table, &mut see).expect("read");
    }
    found.sort_unstable();
    found
}

/// Sets an account's balance. False if there is no such account.
fn set(tx: &mut Tx<'_, '_>, account: &Table, id: i64, balance: i64) -> Result<bool, Error> {
    tx.update(account, &[Value::Int(id)], |_, set| set.set(2, Value::Int(balance)))
}

type Statement = fn(&mut Tx<'_, '_>, &Tables) -> Result<u64, Error>;

fn statements() -> [(&'static str, Statement); 7] {
    fn new_rows() -> Vec<[Value<'static>; 3]> {
        let ids = 1_000..1_000 + ROWS;
        ids.map(|id| [Value::Int(id), Value::Text("new"), Value::Int(1)]).collect()
    }
    [
        ("insert", |tx, tables| {
            let new = new_rows();
            tx.insert_many(&tables.account, new.iter().map(|row| &row[..]))
        }),
        ("load", |tx, tables| {
            let new = new_rows();
            tx.load(&tables.account, |load| new.iter().try_for_each(|row| load.push(row)))
        }),
        ("update", |tx, tables| {
            let change = |_: &database::Row<'_>, set: &mut database::RowChange<'_>| {
                set.set(2, Value::Int(7))
            };
            tx.update_where(&tables.account, Selection::All, None, change)
        }),
        ("update of keys", |tx, tables| {
            let change = |row: &database::Row<'_>, set: &mut database::RowChange<'_>| {
                set.set(0, Value::Int(row.get_i64(0).unwrap_or_default() + 10_000))
            };
            tx.update_where(&tables.mark, Selection::All, None, change)
        }),
        ("delete with cascades", |tx, tables| {
            tx.delete_where(&tables.account, Selection::All, None)
        }),
        ("lock", |tx, tables| {
            tx.lock_where(&tables.account, Selection::All, None, ForUpdate::wait(), |_| ())
        }),
        ("scan", |tx, tables| {
            let mut count = 0;
            tx.scan(&tables.mark, |_| count += 1)?;
            Ok(count)
        }),
    ]
}

/// How long the statement took in a transaction that does something before and after it, and
/// whether it was refused.
fn tried(
    statement: Statement,
    limit: Option<Nanos>,
    database: &Database,
    session: &Session,
) -> (Nanos, bool) {
    let mut connection = database.connect_with(session);
    let tables = Tables::of(&connection);
    let mut tx = connection.begin();
    set(&mut tx, &tables.account, 1, 1).expect("changed");
    let before = rows(&mut tx, &tables);
    let began = session.now();
    let call = session.begin_call(limit);
    let done = statement(&mut tx, &tables);
    drop(call);
    let took = session.now().since(began);
    if let Err(stop) = &done {
        assert_eq!(stop.refusal(), Some(ErrorKind::Cancelled), "{stop}");
        assert_eq!(rows(&mut tx, &tables), before);
        statement(&mut tx, &tables).expect("nothing is in its way");
    }
    let after = rows(&mut tx, &tables);
    tx.commit().expect("committed");
    let mut tx = connection.begin();
    assert_eq!(rows(&mut tx, &tables), after);
    tx.rollback().expect("ended");
    (took, done.is_err())
}

/// Whatever the moment at which a statement has had its time: it leaves nothing, its transaction
/// keeps what it had done before and goes on, and the statement can be done again.
#[test]
fn a_statement_that_is_ended_at_any_moment_leaves_nothing() {
    let disk = base();
    for (name, statement) in statements() {
        let run = |limit| {
            racing_as(Perturbation::NONE, 1, disk.clone(), move |database, session| {
                tried(statement, limit, database, session)
            })
        };
        let (whole, _) = run(None);
        let limits = (0..=PARTS).map(|part| Nanos(whole.0 * part / PARTS));
        let refused = limits.filter(|limit| run(Some(*limit)).1).count() as u64;
        assert!(refused >= PARTS / 4, "{name}: {refused} of {PARTS} parts of {whole}");
    }
}

/// DDL that is ended leaves the table as it was; what it has made is gone, and can be made anew.
#[test]
fn ddl_that_is_ended_at_any_moment_leaves_nothing() {
    let disk = base();
    let run = |limit: Option<Nanos>| {
        racing_as(Perturbation::NONE, 1, disk.clone(), move |database, session| {
            let mut connection = database.connect_with(session);
            connection.set_statement_timeout(limit.map(|limit| Duration::from_nanos(limit.0)));
            let spec = IndexSpec::new("by_balance", "account", ["balance", "owner"]);
            let began = session.now();
            let made = connection.create_index(&spec);
            let took = session.now().since(began);
            connection.set_statement_timeout(None);
            let tables = Tables::of(&connection);
            assert_eq!(tables.account.index("by_balance").is_ok(), made.is_ok());
            if let Err(stop) = &made {
                assert_eq!(stop.refusal(), Some(ErrorKind::Cancelled), "{stop}");
                connection.create_index(&spec).expect("nothing is in its way");
            }
            let mut tx = connection.begin();
            assert_eq!(rows(&mut tx, &tables).len() as i64, 2 * ROWS);
            tx.rollback().expect("ended");
            let instance = database.instance();
            assert!(instance.space().check(session).is_ok(), "segments and extents agree");
            (took, made.is_err())
        })
    };
    let (whole, _) = run(None);
    let limits = (0..=PARTS).map(|part| Nanos(whole.0 * part / PARTS));
    let refused = limits.filter(|limit| run(Some(*limit)).1).count() as u64;
    // Most of the time may be that of the commit, which nothing ends.
    assert!(refused >= 2, "{refused} of {PARTS} parts of {whole}");
}

/// A session that waits for a row is woken at once; the statement has left nothing, and a cancel
/// that comes late does nothing to the next one.
#[test]
fn a_cancel_wakes_who_waits_for_a_row_and_a_late_one_does_nothing() {
    let disk = base();
    for seed in 0..40 {
        let took = racing(seed, disk.clone(), move |database, session| {
            let mut holder = database.connect_with(session);
            let tables = Tables::of(&holder);
            let mut tx = holder.begin();
            set(&mut tx, &tables.account, 5, 1).expect("free");
            let handle = Arc::new(Latch::new(session.os(), LatchKind::Innermost, None));
            let woken = Arc::new(Latch::new(session.os(), LatchKind::Innermost, None));
            let (inside, noted) = (Arc::clone(&handle), Arc::clone(&woken));
            let waiter = start("waiter", (database, session), move |database, session| {
                let mut connection = database.connect_with(session);
                let account = connection.table("account").expect("it is there");
                *inside.exclusive(session) = Some(connection.cancel_handle());
                let mut tx = connection.begin();
                set(&mut tx, &account, 6, 2).expect("free");
                let refused = set(&mut tx, &account, 5, 2).expect_err("it is held");
                *noted.exclusive(session) = Some(session.now());
                assert_eq!(refused.refusal(), Some(ErrorKind::Cancelled), "{refused}");
                // By now a cancel of that statement comes late.
                pause(Nanos::from_millis(5), session);
                set(&mut tx, &account, 7, 2).expect("free");
                tx.commit().expect("committed");
            });
            pause(Nanos::from_millis(200), session);
            let handle = handle.exclusive(session).clone().expect("the waiter has begun");
            let call = handle.running().expect("it waits");
            let asked = session.now();
            assert!(handle.cancel(call));
            while woken.exclusive(session).is_none() {
                pause(Nanos::from_micros(20), session);
            }
            assert!(!handle.cancel(call), "that statement has ended");
            waiter.join(session).expect("no panic");
            tx.rollback().expect("ended");
            let mut balances = Vec::new();
            for id in 5..8 {
                let found = holder.get(&tables.account, &[Value::Int(id)], |row| row.get_i64(2));
                balances.extend(found.expect("read").flatten());
            }
            assert_eq!(balances, [100, 2, 2]);
            let woken = woken.exclusive(session).expect("it was noted");
            woken.since(asked)
        });
        assert!(took < Nanos::from_millis(50), "seed {seed}: {took}");
    }
}

/// A statement that waits for a row has its time and no more; its transaction goes on.
#[test]
fn a_time_out_ends_the_wait_for_a_row() {
    let disk = base();
    racing_as(Perturbation::NONE, 1, disk, |database, session| {
        let mut holder = database.connect_with(session);
        let tables = Tables::of(&holder);
        let mut tx = holder.begin();
        set(&mut tx, &tables.account, 5, 1).expect("free");
        let waiter = start("waiter", (database, session), move |database, session| {
            let mut connection = database.connect_with(session);
            let account = connection.table("account").expect("it is there");
            let limit = Nanos::from_millis(300);
            connection.set_statement_timeout(Some(Duration::from_nanos(limit.0)));
            let mut tx = connection.begin();
            let began = session.now();
            let refused = set(&mut tx, &account, 5, 2).expect_err("it is held");
            let took = session.now().since(began);
            assert_eq!(refused.state(), SqlState::QUERY_CANCELED);
            assert!(refused.to_string().contains("time-out"), "{refused}");
            assert!(took >= limit && took < Nanos::from_millis(350), "{took}");
            // Each statement has its own time.
            set(&mut tx, &account, 6, 2).expect("free");
            tx.commit().expect("committed");
        });
        waiter.join(session).expect("no panic");
        tx.rollback().expect("ended");
    });
}

/// Whatever is cancelled meanwhile, a commit commits and a rollback takes everything back.
#[test]
fn commits_and_rollbacks_are_not_ended() {
    let disk = base();
    for seed in 0..40 {
        racing(seed, disk.clone(), move |database, session| {
            let mut connection = database.connect_with(session);
            let tables = Tables::of(&connection);
            let (handle, is_over) = (connection.cancel_handle(), Arc::new(SharedFlag::new(false)));
            let over = Arc::clone(&is_over);
            let canceller = start("canceller", (database, session), move |_, session| {
                while !over.is_raised(session) {
                    handle.cancel_running();
                    pause(Nanos::from_micros(5), session);
                }
            });
            let mut sum = 0;
            for turn in 0..20 {
                let mut tx = connection.begin();
                let mut added = 0;
                for id in 0..8 {
                    let key = [Value::Int(id)];
                    let add = |row: &database::Row<'_>, set: &mut database::RowChange<'_>| {
                        set.set(2, Value::Int(row.get_i64(2).unwrap_or_default() + 1))
                    };
                    match tx.update(&tables.account, &key, add) {
                        Ok(_) => added += 1,
                        Err(stop) => assert!(stop.is_cancelled(), "{stop}"),
                    }
                }
                match turn % 2 {
                    0 => {
                        tx.commit().expect("nothing ends a commit");
                        sum += added;
                    }
                    _ => tx.rollback().expect("nothing ends a rollback"),
                }
            }
            is_over.raise(session);
            canceller.join(session).expect("no panic");
            let mut found = 0;
            connection
                .scan(&tables.account, |row| found += row.get_i64(2).unwrap_or_default() - 100)
                .expect("read");
            assert_eq!(found, sum);
        });
    }
}

/// On the real machine: a thread that waits for a row is woken by another one.
#[test]
fn a_cancel_comes_from_any_thread() {
    let scratch = Folder::absent("cancelled");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let mut one = database.connect("one");
    let mut holder = one.begin();
    set(&mut holder, &account, 5, 1).expect("free");
    let (tell, told) = mpsc::channel();
    let (refused, took) = std::thread::scope(|threads| {
        let waiter = threads.spawn(|| {
            let mut other = database.connect("other");
            tell.send(other.cancel_handle()).expect("the test listens");
            let mut tx = other.begin();
            let refused = set(&mut tx, &account, 5, 2).expect_err("it is held");
            tx.rollback().expect("ended");
            refused
        });
        let handle = told.recv().expect("it tells");
        while !handle.cancel_running() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let asked = Instant::now();
        (waiter.join().expect("no panic"), asked.elapsed())
    });
    assert_eq!(refused.state(), SqlState::QUERY_CANCELED);
    assert!(took < Duration::from_secs(1), "{took:?}");
    holder.rollback().expect("ended");
    drop(one);
    database.shutdown().expect("in good order");
}
