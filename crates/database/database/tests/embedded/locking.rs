//! SELECT … FOR UPDATE: who waits, who doesn't, and what one gets.

use std::collections::BTreeSet;

use database::{
    Bounds, ColumnSpec, Connection, Database, ErrorKind, ForUpdate, IndexSpec, Nanos, Selection,
    Table, TableSpec, Type, Value,
};
use os::Session;
use sim::Outside;
use waits::WaitEvent;

use crate::common::{Folder, filled, options};
use crate::simulated::{join, made, racing, start};

fn ids(
    tx: &mut database::Tx<'_, '_>,
    (table, selection): (&Table, Selection<'_>),
    how: ForUpdate,
) -> Result<Vec<i64>, database::Error> {
    let mut found = Vec::new();
    tx.lock_where(table, selection, None, how, |row| found.extend(row.get_i64(0)))?;
    Ok(found)
}

#[test]
fn rows_that_others_have_are_refused_waited_for_or_passed_by() {
    let scratch = Folder::absent("for-update");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let by_id = account.primary().expect("it has one");
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    let mut holder = one.begin();
    let key = [Value::Int(5)];
    let owner = holder.get_for_update(&account, &key, ForUpdate::wait(), |row| row.get_i64(2));
    assert_eq!(owner.expect("locked").flatten(), Some(100));

    let mut tx = other.begin();
    let few = Bounds { to: std::ops::Bound::Included(Value::Int(6)), ..from(3) };
    let few = (&account, Selection::Range(by_id, few));
    let busy = ids(&mut tx, few, ForUpdate::nowait()).expect_err("5 is locked");
    assert_eq!(busy.refusal(), Some(ErrorKind::Busy), "{busy}");
    let short = ForUpdate::wait_for(Nanos::from_millis(20));
    let late = ids(&mut tx, few, short).expect_err("5 is locked still");
    assert_eq!(late.refusal(), Some(ErrorKind::LockTimeout), "{late}");
    // What was refused has left no lock: nobody is in the holder's way.
    let all = ids(&mut holder, few, ForUpdate::nowait()).expect("3 and 4 are free");
    assert_eq!(all, [3, 4, 5, 6]);
    holder.rollback().expect("ended");

    let mut holder = one.begin();
    holder.update(&account, &key, |_, set| set.set(2, Value::Int(7))).expect("changed");
    let free = ids(&mut tx, few, ForUpdate::skip_locked()).expect("passed by");
    assert_eq!(free, [3, 4, 6]);
    let none = tx.get_for_update(&account, &key, ForUpdate::skip_locked(), |_| ());
    assert!(none.expect("passed by").is_none());
    tx.rollback().expect("ended");
    holder.commit().expect("committed");
    drop((one, other));
    database.shutdown().expect("in good order");
}

/// From this number on.
fn from(first: i64) -> Bounds<'static> {
    Bounds { from: std::ops::Bound::Included(Value::Int(first)), ..Bounds::equal(&[]) }
}

#[test]
fn the_first_rows_are_locked_in_order_and_filters_leave_out_others() {
    let scratch = Folder::absent("for-update-limit");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let by_id = account.primary().expect("it has one");
    let mut connection = database.connect("app");
    let mut tx = connection.begin();
    let range = (&account, Selection::Range(by_id, from(90)));
    let last = ids(&mut tx, range, ForUpdate::nowait().descending().limit(3)).expect("locked");
    assert_eq!(last, [99, 98, 97]);
    let mut is_odd = |row: &database::Row<'_>| row.get_i64(0).is_some_and(|id| id % 2 == 1);
    let mut found = Vec::new();
    let count = tx
        .lock_where(
            &account,
            Selection::All,
            Some(&mut is_odd),
            ForUpdate::wait().limit(4),
            |row| {
                found.extend(row.get_i64(0));
            },
        )
        .expect("locked");
    assert_eq!((count, &found[..]), (4, &[1, 3, 5, 7][..]));
    assert_eq!(ids(&mut tx, range, ForUpdate::wait().limit(0)).expect("nothing"), []);
    tx.rollback().expect("ended");
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn with_one_snapshot_a_row_that_was_changed_since_is_refused() {
    let scratch = Folder::absent("for-update-snapshot");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    for (how, balance) in [(ForUpdate::wait(), 1), (ForUpdate::skip_locked(), 2)] {
        let mut tx = one.begin_serializable().expect("begun");
        let mut second = other.begin();
        let set =
            second.update(&account, &[Value::Int(9)], |_, set| set.set(2, Value::Int(balance)));
        assert!(set.expect("changed"));
        second.commit().expect("committed");
        let late = ids(&mut tx, (&account, Selection::All), how).expect_err("9 was changed");
        assert_eq!(late.refusal(), Some(ErrorKind::Serialization), "{late}");
        tx.rollback().expect("ended");
    }
    drop((one, other));
    database.shutdown().expect("in good order");
}

/// `job (id, state, taken)`, with an index on its state; 24 of state 0.
fn queue(database: &Database, session: &Session) {
    let mut connection = database.connect_with(session);
    let spec = TableSpec::new("job")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("state", Type::Integer).not_null())
        .column(ColumnSpec::new("taken", Type::Integer).not_null())
        .primary_key(["id"]);
    let job = connection.create_table(&spec).expect("made");
    connection.create_index(&IndexSpec::new("by_state", "job", ["state", "id"])).expect("made");
    let mut tx = connection.begin();
    for id in 0..24 {
        tx.insert(&job, &[Value::Int(id), Value::Int(0), Value::Int(0)]).expect("inserted");
    }
    tx.commit().expect("committed");
}

/// Takes jobs until there are none, and does them: some rows go, some get another state; some
/// transactions are taken back. Which it has done.
fn consume(connection: &mut Connection<'_>, number: u64) -> Vec<i64> {
    let job = connection.table("job").expect("there");
    let by_state = job.index("by_state").expect("there");
    let (mut done, mut turn) = (Vec::new(), number);
    loop {
        turn += 1;
        let mut tx = connection.begin();
        let new = (&job, Selection::Range(by_state, Bounds::equal(&[Value::Int(0)])));
        let how = ForUpdate::skip_locked().limit(1 + turn % 3);
        let taken = ids(&mut tx, new, how).expect("nothing stands in the way");
        for id in &taken {
            let key = [Value::Int(*id)];
            let changed = match id % 2 {
                0 => tx.delete(&job, &key),
                _ => tx.update(&job, &key, |row, set| {
                    set.set(1, Value::Int(1))?;
                    set.set(2, Value::Int(row.get_i64(2).unwrap_or(0) + 1))
                }),
            };
            assert!(changed.expect("it is locked"), "job {id} is gone");
        }
        match (taken.is_empty(), turn % 4) {
            (true, _) => return done,
            (false, 0) => tx.rollback().expect("taken back"),
            (false, _) => {
                tx.commit().expect("committed");
                done.extend(taken);
            }
        }
    }
}

#[test]
fn consumers_of_a_queue_take_no_job_twice_and_wait_for_nobody() {
    let base = made(queue);
    let mut shared = 0;
    for seed in 0..40 {
        let done = Outside::<Vec<(u64, i64)>>::default();
        let inside = done.clone();
        racing(seed, base.clone(), move |database, session| {
            let consumers = (0..4).map(|number| {
                let done = inside.clone();
                start("consumer", (database, session), move |database, session| {
                    let mut connection = database.connect_with(session);
                    let mine = consume(&mut connection, number);
                    done.with(|done| done.extend(mine.iter().map(|id| (number, *id))));
                })
            });
            join(consumers.collect(), session);
            // Who was passed by when its taker took it back is there for the next.
            let mut connection = database.connect_with(session);
            let rest = consume(&mut connection, 9);
            inside.with(|done| done.extend(rest.iter().map(|id| (9, *id))));
            let job = connection.table("job").expect("there");
            let mut left = Vec::new();
            let row = |row: database::Row<'_>| (row.get_i64(0), row.get_i64(1), row.get_i64(2));
            connection.scan(&job, |one| left.push(row(one))).expect("read");
            let expected: Vec<_> =
                (1..24).step_by(2).map(|id| (Some(id), Some(1), Some(1))).collect();
            assert_eq!(left, expected, "each was done once");
            drop(connection);
            let totals = session.os().totals();
            assert_eq!(totals.event(WaitEvent::EnqTxRowLock).count, 0, "somebody waited");
        });
        let done = done.take();
        let jobs: BTreeSet<i64> = done.iter().map(|(_, id)| *id).collect();
        assert_eq!((jobs.len(), done.len()), (24, 24), "seed {seed}: {done:?}");
        let takers: BTreeSet<u64> = done.iter().map(|(taker, _)| *taker).collect();
        shared += u32::from(takers.len() > 2);
    }
    assert!(shared > 10, "the queue was shared in {shared} runs of 40");
}

/// Of two that take all jobs of a state one waits for the other; it gets what that has left, and
/// each row once, however often it had to look.
#[test]
fn who_has_waited_gets_what_is_left_and_each_row_once() {
    let base = made(queue);
    let waits = Outside::new(0);
    for seed in 0..30 {
        let all_waits = waits.clone();
        let done = Outside::<Vec<i64>>::default();
        let inside = done.clone();
        racing(seed, base.clone(), move |database, session| {
            let takers = (0..2).map(|_| {
                let done = inside.clone();
                start("taker", (database, session), move |database, session| {
                    let mut connection = database.connect_with(session);
                    let job = connection.table("job").expect("there");
                    let by_state = job.index("by_state").expect("there");
                    let mut tx = connection.begin();
                    let new = (&job, Selection::Range(by_state, Bounds::equal(&[Value::Int(0)])));
                    let taken = ids(&mut tx, new, ForUpdate::wait().limit(16)).expect("locked");
                    for id in &taken {
                        let key = [Value::Int(*id)];
                        let set = tx.update(&job, &key, |_, set| set.set(1, Value::Int(1)));
                        assert!(set.expect("it is locked"));
                    }
                    tx.commit().expect("committed");
                    done.with(|done| done.extend(taken));
                })
            });
            join(takers.collect(), session);
            let waited = session.os().totals().event(WaitEvent::EnqTxRowLock).count;
            all_waits.with(|all| *all += waited);
        });
        let mut done = done.take();
        done.sort_unstable();
        assert_eq!(done, (0..24).collect::<Vec<_>>(), "seed {seed}");
    }
    assert!(waits.take() > 5, "nobody waited");
}
