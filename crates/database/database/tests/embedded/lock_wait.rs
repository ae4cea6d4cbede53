//! How long statements wait for locks, and what they say when they don't get them.

use std::time::Duration;

use database::{
    ColumnSpec, Connection, Database, Error, ErrorKind, LockWait, Nanos, Selection, Statistic,
    Table, TableSpec, Tx, Type, Value,
};

use crate::common::{Folder, filled, options};

fn statements(tx: &mut Tx<'_, '_>, account: &Table) -> Vec<(&'static str, Result<(), Error>)> {
    let (five, row) = ([Value::Int(5)], [Value::Int(500), Value::Null, Value::Int(0)]);
    let wait = database::ForUpdate::wait();
    vec![
        ("insert", tx.insert(account, &row).map(drop)),
        ("update", tx.update(account, &five, |_, set| set.set(2, Value::Int(1))).map(drop)),
        (
            "update all",
            tx.update_where(account, Selection::All, None, |_, set| set.set(2, Value::Int(1)))
                .map(drop),
        ),
        ("delete", tx.delete(account, &five).map(drop)),
        ("lock", tx.get_for_update(account, &five, wait, |_| ()).map(drop)),
    ]
}

fn refused_within(
    other: &mut Connection<'_>,
    account: &Table,
    lock_wait: LockWait,
    kind: ErrorKind,
) {
    other.set_lock_wait(lock_wait);
    let mut tx = other.begin();
    for (what, done) in statements(&mut tx, account) {
        let stop = done.expect_err(what);
        assert_eq!(stop.refusal(), Some(kind), "{what}: {stop}");
        assert!(!database::is_worth_repeating(&stop), "{what}: {stop}");
    }
    tx.rollback().expect("ended");
}

/// A transaction that has changed row 5 and inserted row 500.
fn holding<'c, 's>(connection: &'c mut Connection<'s>, account: &Table) -> Tx<'c, 's> {
    let mut holder = connection.begin();
    holder.update(account, &[Value::Int(5)], |_, set| set.set(2, Value::Int(7))).expect("changed");
    let row = [Value::Int(500), Value::Null, Value::Int(0)];
    holder.insert(account, &row).expect("inserted");
    holder
}

/// On one thread the other one can't go on, so nobody else would end the wait.
#[test]
fn two_connections_of_one_thread_do_not_wait_for_each_other_for_ever() {
    let scratch = Folder::absent("one-thread");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    let holder = holding(&mut one, &account);
    let short = LockWait::For(Nanos::from_millis(20));
    refused_within(&mut other, &account, short, ErrorKind::LockTimeout);
    refused_within(&mut other, &account, LockWait::NoWait, ErrorKind::Busy);
    holder.rollback().expect("ended");
    other.set_lock_wait(LockWait::Forever);
    let mut tx = other.begin();
    for (what, done) in statements(&mut tx, &account) {
        done.expect(what);
    }
    tx.rollback().expect("ended");
    drop((one, other));
    database.shutdown().expect("in good order");
}

/// A table of one block, which has no room for a longer list of transactions than that of two.
fn full_block(filler: &mut Connection<'_>) -> Table {
    let spec = TableSpec::new("item")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("size", Type::BigInt))
        .column(ColumnSpec::new("note", Type::Text))
        .primary_key(["id"]);
    let table = filler.create_table(&spec).expect("made");
    let mut tx = filler.begin();
    for id in 0..8 {
        tx.insert(&table, &[Value::Int(id), Value::Int(10), Value::Text("")]).expect("inserted");
    }
    tx.commit().expect("committed");
    // Rows grow in turn until one would leave the block.
    for (length, id) in (0..2_000).step_by(8).flat_map(|length| (0..8).map(move |id| (length, id)))
    {
        let mut tx = filler.begin();
        let (note, key) = ("x".repeat(length), [Value::Int(id)]);
        tx.update(&table, &key, |_, set| set.set(2, Value::Text(&note))).expect("changed");
        // One of two reads may also learn shortcuts of the index.
        let mut gets = || {
            let before = tx.statistics();
            tx.get(&table, &key, |_| ()).expect("read").expect("there");
            tx.statistics().since(&before).statistic(Statistic::ConsistentGets)
        };
        if gets().min(gets()) > 2 {
            tx.rollback().expect("taken back");
            return table;
        }
        tx.commit().expect("committed");
    }
    panic!("a row of a full block leaves it");
}

fn set_size(tx: &mut Tx<'_, '_>, table: &Table, id: i64) -> Result<bool, Error> {
    tx.update(table, &[Value::Int(id)], |_, set| set.set(1, Value::Int(11)))
}

/// Of the two entries of a block's list one becomes free soon, the other one doesn't.
#[test]
fn who_waits_some_time_for_an_entry_of_a_list_gets_any_that_is_free() {
    let scratch = Folder::absent("any-entry");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut filler = database.connect("filler");
    let table = full_block(&mut filler);
    filler.set_lock_wait(LockWait::NoWait);
    for stays_first in [true, false] {
        let (mut long, mut short) = (database.connect("long"), database.connect("short"));
        let (mut stays, mut goes) = (long.begin(), short.begin());
        if stays_first {
            assert!(set_size(&mut stays, &table, 1).expect("changed"));
        }
        assert!(set_size(&mut goes, &table, 2).expect("changed"));
        if !stays_first {
            assert!(set_size(&mut stays, &table, 1).expect("changed"));
        }
        let mut third = filler.begin();
        let refused = set_size(&mut third, &table, 3).expect_err("both entries are taken");
        assert_eq!(refused.refusal(), Some(ErrorKind::Busy), "{refused}");
        third.rollback().expect("ended");
        let done = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut waiter = database.connect("waiter");
                waiter.set_lock_wait(LockWait::For(Nanos::from_secs(10)));
                let mut tx = waiter.begin();
                let done = set_size(&mut tx, &table, 3);
                tx.rollback().expect("ended");
                done
            });
            std::thread::sleep(Duration::from_millis(300));
            goes.rollback().expect("ended");
            waiter.join().expect("it didn't panic")
        });
        stays.rollback().expect("ended");
        assert!(done.unwrap_or_else(|stop| panic!("{stays_first}: {stop}")));
    }
    drop(filler);
    database.shutdown().expect("in good order");
}

/// Who is refused reads the names that he gave, and which row it is about.
#[test]
fn a_lock_that_is_not_had_is_told_by_table_and_key() {
    let scratch = Folder::absent("lock-names");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    let holder = holding(&mut one, &account);
    other.set_lock_wait(LockWait::NoWait);
    let mut tx = other.begin();
    let told = statements(&mut tx, &account).into_iter();
    let told: Vec<(&str, String)> =
        told.map(|(what, done)| (what, done.expect_err(what).to_string())).collect();
    tx.rollback().expect("ended");
    for (what, text) in told {
        let says = match what {
            "insert" => {
                [" a unique key of index account_pkey (", ") of account at", "key is id = 500"]
            }
            _ => ["cannot lock a row of table account (", "the row has id = 5", "session one"],
        };
        assert!(says.iter().all(|part| text.contains(part)), "{what}: {text}");
    }
    other.set_ddl_lock_wait(LockWait::NoWait);
    let busy = other.drop_table("account", false).expect_err("somebody changes it").to_string();
    assert!(busy.starts_with("cannot lock table account ("), "{busy}");
    holder.rollback().expect("ended");
    drop((one, other));
    database.shutdown().expect("in good order");
}

/// The table has other segments then, and the numbers that it had.
#[test]
fn a_lock_that_is_not_had_is_told_by_table_and_key_after_a_truncate_too() {
    let scratch = Folder::absent("lock-names-truncated");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    one.truncate_table("account").expect("emptied");
    let row = |id| [Value::Int(id), Value::Null, Value::Int(0)];
    let mut tx = one.begin();
    tx.insert(&account, &row(5)).expect("inserted");
    tx.commit().expect("committed");
    let mut holder = one.begin();
    holder.update(&account, &[Value::Int(5)], |_, set| set.set(2, Value::Int(7))).expect("changed");
    holder.insert(&account, &row(6)).expect("inserted");
    other.set_lock_wait(LockWait::NoWait);
    let mut tx = other.begin();
    let of_row = tx.delete(&account, &[Value::Int(5)]).expect_err("it is held").to_string();
    let of_key = tx.insert(&account, &row(6)).expect_err("it is held").to_string();
    tx.rollback().expect("ended");
    holder.rollback().expect("ended");
    assert!(of_row.contains("a row of table account (") && of_row.contains("id = 5"), "{of_row}");
    assert!(of_key.contains(" of index account_pkey ("), "{of_key}");
    drop((one, other));
    database.shutdown().expect("in good order");
}

/// Two that wait for each other: the one that is refused is told rows by table and key.
#[test]
fn a_deadlock_is_told_by_table_and_key() {
    let scratch = Folder::absent("deadlock-names");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let change = |tx: &mut Tx<'_, '_>, id| {
        tx.update(&account, &[Value::Int(id)], |_, set| set.set(2, Value::Int(7))).map(drop)
    };
    let mut one = database.connect("one");
    let mut holder = one.begin();
    change(&mut holder, 5).expect("free");
    let (has_seven, waits) = std::sync::mpsc::channel();
    let second = std::thread::scope(|threads| {
        let thread = threads.spawn(|| {
            let mut other = database.connect("other");
            let mut tx = other.begin();
            change(&mut tx, 7).expect("free");
            has_seven.send(()).expect("the test waits");
            let done = change(&mut tx, 5);
            tx.rollback().expect("ended");
            done
        });
        waits.recv().expect("the other has row 7");
        let mine = change(&mut holder, 7);
        // Whoever closes the circle is refused; the other one goes on.
        holder.rollback().expect("ended");
        let refused = mine.err().or(thread.join().expect("no panic").err());
        refused.expect("one of them is refused")
    });
    assert_eq!(second.refusal(), Some(ErrorKind::Deadlock));
    let text = second.to_string();
    for part in ["wants a row of table account (", "with id = 5\n", "with id = 7\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    drop(one);
    database.shutdown().expect("in good order");
}

/// `lock_timeout` and `ddl_lock_timeout` are what new connections begin with.
#[test]
fn new_connections_wait_for_locks_as_the_parameters_say() {
    let scratch = Folder::absent("lock-timeouts");
    let mut chosen = options();
    chosen.parameters.set("lock_timeout", "0").expect("allowed");
    let database = Database::create(&scratch.0, &chosen).expect("created");
    let account = filled(&database);
    let mut one = database.connect("one");
    let mut holder = one.begin();
    holder.update(&account, &[Value::Int(5)], |_, set| set.set(2, Value::Int(7))).expect("changed");
    let change = |other: &mut Connection<'_>| {
        let mut tx = other.begin();
        tx.update(&account, &[Value::Int(5)], |_, set| set.set(2, Value::Int(8))).map(drop)
    };
    let kind = |done: Result<(), Error>| done.expect_err("it is locked").refusal();
    let mut other = database.connect("other");
    assert_eq!(kind(change(&mut other)), Some(ErrorKind::Busy));
    let session = database.connect("dba");
    let set =
        |name: &str, value: &str| database.instance().set_parameter(name, value, session.session());
    set("lock_timeout", "1").expect("at any time");
    set("ddl_lock_timeout", "0").expect("at any time");
    assert_eq!(kind(change(&mut other)), Some(ErrorKind::Busy), "it has what it was made with");
    let mut later = database.connect("later");
    assert_eq!(kind(change(&mut later)), Some(ErrorKind::LockTimeout));
    assert_eq!(kind(later.drop_table("account", false)), Some(ErrorKind::Busy));
    later.set_lock_wait(LockWait::NoWait);
    assert_eq!(kind(change(&mut later)), Some(ErrorKind::Busy), "it says otherwise itself");
    for (name, value) in [("lock_timeout", "1000001"), ("ddl_lock_timeout", "-1")] {
        let said = set(name, value).expect_err("not allowed").to_string();
        assert!(said.contains(&format!("{name} is {value}: choose 0 to 1000000")), "{said}");
    }
    holder.rollback().expect("ended");
    drop((one, other, later, session));
    database.shutdown().expect("in good order");
}
