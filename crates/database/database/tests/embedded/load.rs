//! Direct-path loads: what they show to whom, what refuses them, what they leave behind.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use database::{
    BlockSize, Bounds, ColumnSpec, Comparison, Condition, Connection, Creation, Database,
    Direction, Error, ErrorKind, IndexSpec, LockWait, OnDelete, Operand, Options, Parameters,
    Table, TableSpec, Tx, Type, Value,
};
use waits::Statistic;

use crate::common::{Folder, options};

/// A table with a unique key that may be NULL, a CHECK, a reference to itself and an index that
/// isn't unique.
fn made(connection: &mut Connection<'_>) -> Table {
    let spec = TableSpec::new("part")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("code", Type::BigInt))
        .column(ColumnSpec::new("weight", Type::BigInt).not_null())
        .column(ColumnSpec::new("of", Type::BigInt))
        .column(ColumnSpec::new("note", Type::Text))
        .primary_key(["id"])
        .unique(["code"])
        .check(Condition::Compare(
            Operand::Column(2),
            Comparison::Greater,
            Operand::Constant(Value::Int(0).to_owned()),
        ))
        .foreign_key(["of"], "part", OnDelete::NoAction);
    connection.create_table(&spec).expect("made");
    connection.create_index(&IndexSpec::new("by_weight", "part", ["weight"])).expect("made");
    connection.table("part").expect("there")
}

fn opened(name: &str) -> (Folder, Database, Table) {
    let scratch = Folder::absent(name);
    let database = Database::create(&scratch.0, &options()).expect("created");
    let table = made(&mut database.connect("definer"));
    (scratch, database, table)
}

fn row(id: i64, note: &str) -> [Value<'_>; 5] {
    let code = if id % 3 == 0 { Value::Null } else { Value::Int(-id) };
    let of = if id % 10 == 0 { Value::Null } else { Value::Int(id - id % 10) };
    [Value::Int(id), code, Value::Int(id % 7 + 1), of, Value::Text(note)]
}

fn load(
    tx: &mut Tx<'_, '_>,
    table: &Table,
    ids: impl IntoIterator<Item = i64>,
) -> Result<u64, Error> {
    tx.load(table, |load| ids.into_iter().try_for_each(|id| load.push(&row(id, "a note"))))
}

/// The ids of all rows, by a scan and by each index, which have to agree.
fn ids(connection: &mut Connection<'_>, table: &Table) -> Vec<i64> {
    let mut found = Vec::new();
    connection.scan(table, |row| found.extend(row.get_i64(0))).expect("read");
    found.sort_unstable();
    let by_weight = table.index("by_weight").expect("there");
    for index in [table.primary().expect("it has one"), by_weight] {
        let mut through = Vec::new();
        let (all, upwards) = (Bounds::equal(&[]), Direction::Ascending);
        let read = connection.range(table, index, &all, upwards, |row| {
            through.extend(row.get_i64(0));
            std::ops::ControlFlow::Continue(())
        });
        read.expect("read");
        through.sort_unstable();
        assert_eq!(through, found, "index {index:?} leads to other rows");
    }
    found
}

/// `verify` finds nothing in the database.
fn check(database: &Database) {
    let session = os::linux::start().adopt("verify", waits::SessionKind::Foreground);
    let mut findings = Vec::new();
    let tell = &mut |finding: &verify::Finding| findings.push(finding.to_string());
    let mut task =
        verify::Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut |_| true };
    verify::open(database.instance(), &mut task, &session).expect("verified");
    assert_eq!(findings, Vec::<String>::new());
}

#[test]
fn a_load_is_seen_by_its_transaction_at_once_and_by_others_when_it_commits() {
    const ROWS: i64 = 20_000;
    let (_scratch, database, table) = opened("load-seen");
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    let mut tx = one.begin();
    assert_eq!(load(&mut tx, &table, 0..10).expect("loaded"), 10);
    tx.commit().expect("committed");
    let mut before = database.connect("before");
    let mut snapshot = before.begin_serializable().expect("begun");
    let mut tx = one.begin();
    assert_eq!(load(&mut tx, &table, (10..ROWS).rev()).expect("loaded"), ROWS as u64 - 10);
    let mut seen = 0;
    tx.scan(&table, |_| seen += 1).expect("read");
    assert_eq!(seen, ROWS);
    let found = tx.get(&table, &[Value::Int(ROWS - 1)], |row| row.get_i64(0)).expect("read");
    assert_eq!(found.flatten(), Some(ROWS - 1));
    assert_eq!(ids(&mut other, &table), (0..10).collect::<Vec<_>>());
    let missed = other.get(&table, &[Value::Int(17)], |_| ()).expect("read");
    assert_eq!(missed, None);
    tx.commit().expect("committed");
    assert_eq!(ids(&mut other, &table), (0..ROWS).collect::<Vec<_>>());
    let mut seen = 0;
    snapshot.scan(&table, |_| seen += 1).expect("read");
    assert_eq!(seen, 10, "a snapshot from before the load sees nothing of it");
    assert_eq!(snapshot.get(&table, &[Value::Int(17)], |_| ()).expect("read"), None);
    snapshot.commit().expect("ended");
    check(&database);
}

#[test]
fn loaded_rows_are_changed_and_deleted_like_any() {
    let (_scratch, database, table) = opened("load-changed");
    let mut connection = database.connect("one");
    let mut tx = connection.begin();
    load(&mut tx, &table, 0..1_000).expect("loaded");
    assert!(tx.delete(&table, &[Value::Int(999)]).expect("deleted"));
    let changed = tx.update(&table, &[Value::Int(998)], |_, set| {
        set.set(2, Value::Int(70))?;
        set.set(4, Value::Text(&"longer ".repeat(2_000)))
    });
    assert!(changed.expect("changed"));
    let savepoint = tx.savepoint();
    load(&mut tx, &table, 1_000..2_000).expect("loaded");
    tx.delete(&table, &[Value::Int(1_001)]).expect("deleted");
    tx.rollback_to(savepoint).expect("taken back");
    load(&mut tx, &table, 1_000..1_010).expect("loaded");
    tx.insert(&table, &row(999, "again")).expect("inserted");
    tx.commit().expect("committed");
    assert_eq!(ids(&mut connection, &table), (0..1_010).collect::<Vec<_>>());
    check(&database);
}

#[test]
fn a_load_that_is_taken_back_leaves_its_blocks_to_inserts() {
    let (_scratch, database, table) = opened("load-back");
    let mut connection = database.connect("one");
    let mut tx = connection.begin();
    load(&mut tx, &table, 0..3_000).expect("loaded");
    tx.rollback().expect("taken back");
    assert_eq!(ids(&mut connection, &table), []);
    check(&database);
    let mut tx = connection.begin();
    for id in 0..3_000 {
        tx.insert(&table, &row(id, "a note")).expect("inserted");
    }
    load(&mut tx, &table, 3_000..3_010).expect("loaded");
    drop(tx);
    assert_eq!(ids(&mut connection, &table), []);
    check(&database);
}

fn is_refused(refused: Result<u64, Error>, kind: ErrorKind, says: &[&str]) {
    let stop = refused.expect_err("refused");
    assert_eq!(stop.refusal(), Some(kind), "{stop}");
    for part in says {
        assert!(stop.to_string().contains(part), "{stop}: {part}");
    }
}

#[test]
fn a_constraint_refuses_a_load_as_it_refuses_an_array() {
    let (_scratch, database, table) = opened("load-refused");
    let mut connection = database.connect("one");
    let mut tx = connection.begin();
    load(&mut tx, &table, 0..100).expect("loaded");
    tx.commit().expect("committed");
    // In each load the bad row is the last of 500, or among them.
    let bad: [(&str, [Value<'_>; 5], ErrorKind); 6] = [
        (
            "NOT NULL",
            [Value::Int(700), Value::Null, Value::Null, Value::Null, Value::Null],
            ErrorKind::NotNullViolation,
        ),
        (
            "CHECK",
            [Value::Int(700), Value::Null, Value::Int(0), Value::Null, Value::Null],
            ErrorKind::CheckViolation,
        ),
        (
            "key there",
            [Value::Int(17), Value::Null, Value::Int(1), Value::Null, Value::Null],
            ErrorKind::UniqueViolation,
        ),
        (
            "key twice",
            [Value::Int(217), Value::Null, Value::Int(1), Value::Null, Value::Null],
            ErrorKind::UniqueViolation,
        ),
        (
            "code twice",
            [Value::Int(700), Value::Int(-220), Value::Int(1), Value::Null, Value::Null],
            ErrorKind::UniqueViolation,
        ),
        (
            "no parent",
            [Value::Int(700), Value::Null, Value::Int(1), Value::Int(9_999), Value::Null],
            ErrorKind::ForeignKeyViolation,
        ),
    ];
    let mut tx = connection.begin();
    tx.insert(&table, &row(600, "it stays")).expect("inserted");
    for (what, bad, kind) in bad {
        for at in [120, 599] {
            let all: Vec<[Value<'_>; 5]> = (100..600)
                .flat_map(|id| {
                    let bad = (id == at).then_some(bad);
                    std::iter::once(row(id, "a note")).chain(bad)
                })
                .collect();
            let array = tx.insert_many(&table, all.iter().map(|row| &row[..]));
            let array = array.expect_err(what).to_string();
            let loaded = tx.load(&table, |load| all.iter().try_for_each(|row| load.push(row)));
            let stop = loaded.expect_err(what);
            assert_eq!((stop.refusal(), stop.to_string()), (Some(kind), array), "{what} at {at}");
        }
    }
    tx.commit().expect("committed");
    let left: Vec<i64> = (0..100).chain([600]).collect();
    assert_eq!(ids(&mut connection, &table), left);
    check(&database);
}

#[test]
fn a_load_that_goes_on_after_a_refusal_or_panics_leaves_nothing() {
    let (_scratch, database, table) = opened("load-misuse");
    let mut connection = database.connect("one");
    let mut tx = connection.begin();
    let refused = tx.load(&table, |load| {
        for id in 0..300 {
            let values = row(id, "a note");
            let width = if id == 200 { 3 } else { 5 };
            assert_eq!(load.push(&values[..width]).is_ok(), id < 200);
        }
        Ok(())
    });
    is_refused(refused, ErrorKind::Invalid, &["3 values", "5 columns"]);
    let own = Error::refuse(ErrorKind::WrongState, "enough".to_string());
    let refused = tx.load(&table, |load| {
        (0..300).try_for_each(|id| load.push(&row(id, "a note")))?;
        Err(own)
    });
    is_refused(refused, ErrorKind::WrongState, &["enough"]);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        tx.load(&table, |load| {
            (0..300).try_for_each(|id| load.push(&row(id, "a note")))?;
            panic!("of the caller's own");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(tx.load(&table, |_| Ok(())).expect("nothing to load"), 0);
    let none: [Value<'_>; 5] =
        [Value::Int(5), Value::Null, Value::Int(1), Value::Null, Value::Null];
    assert_eq!(tx.load(&table, |load| load.push(&none)).expect("loaded"), 1);
    tx.commit().expect("committed");
    assert_eq!(ids(&mut connection, &table), [5]);
    check(&database);
}

/// Entries of keys that come in order are inserted while rows come: of a load that fails after that
/// none is left, and no other session meets one before the commit.
#[test]
fn keys_in_order_are_entered_while_rows_come() {
    const ROWS: i64 = 12_000;
    let (_scratch, database, table) = opened("load-in-order");
    let mut connection = database.connect("one");
    // On a thread of its own, since a statement isn't begun within the closure of another one.
    let seen_by_others = || {
        let see = || {
            let mut other = database.connect("other");
            let missed = other.get(&table, &[Value::Int(6_000)], |_| ()).expect("read");
            assert_eq!(missed, None, "it isn't committed");
            ids(&mut other, &table)
        };
        thread::scope(|scope| scope.spawn(see).join()).expect("it can read")
    };
    let mut tx = connection.begin();
    load(&mut tx, &table, [5_000]).expect("loaded");
    tx.commit().expect("committed");
    let mut tx = connection.begin();
    let (mut taken, keys) = (0, &mut (0..ROWS));
    let refused = tx.load(&table, |load| {
        keys.try_for_each(|id| load.push(&row(id, "a note")).inspect(|()| taken += 1))
    });
    is_refused(refused, ErrorKind::UniqueViolation, &["id = 5000"]);
    assert!((5_000..ROWS).contains(&taken), "{taken} rows were taken before it was noticed");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        tx.load(&table, |load| {
            (6_000..ROWS).try_for_each(|id| load.push(&row(id, "a note")))?;
            panic!("of the caller's own");
        })
    }));
    assert!(panicked.is_err());
    // Behind the first entries a key comes again that has one.
    let again = (6_000..ROWS).chain([6_017]);
    is_refused(load(&mut tx, &table, again), ErrorKind::UniqueViolation, &["id = 6017"]);
    let jumping = (6_000..9_000).chain(20_000..23_000).chain(9_000..ROWS);
    let loaded = tx.load(&table, |load| {
        jumping.clone().try_for_each(|id| load.push(&row(id, "a note")))?;
        assert_eq!(seen_by_others(), [5_000]);
        Ok(())
    });
    assert_eq!(loaded.expect("loaded"), 9_000);
    assert_eq!(seen_by_others(), [5_000]);
    tx.commit().expect("committed");
    let all = std::iter::once(5_000).chain(6_000..ROWS).chain(20_000..23_000);
    assert_eq!(ids(&mut connection, &table), all.collect::<Vec<_>>());
    check(&database);
}

#[test]
fn a_writer_waits_until_a_load_has_ended_and_a_reader_does_not() {
    let (_scratch, database, table) = opened("load-locks");
    let (mut one, mut other) = (database.connect("one"), database.connect("other"));
    let mut tx = one.begin();
    load(&mut tx, &table, 0..1_000).expect("loaded");
    other.set_lock_wait(LockWait::NoWait);
    let mut others = other.begin();
    let stop = others.insert(&table, &row(5_000, "a note")).expect_err("locked");
    assert_eq!(stop.refusal(), Some(ErrorKind::Busy), "{stop}");
    let stop = load(&mut others, &table, 5_000..5_010).expect_err("locked");
    assert_eq!(stop.refusal(), Some(ErrorKind::Busy), "{stop}");
    others.rollback().expect("ended");
    assert_eq!(ids(&mut other, &table), []);
    other.set_lock_wait(LockWait::Forever);
    thread::scope(|scope| {
        let (database, table) = (database.clone(), table.clone());
        let waiting = scope.spawn(move || {
            let mut connection = database.connect("waiting");
            let mut tx = connection.begin();
            tx.insert(&table, &row(10, "it is there by then")).map(drop).expect_err("there")
        });
        thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished(), "it waits for the load's transaction");
        tx.commit().expect("committed");
        let stop = waiting.join().expect("ended");
        assert_eq!(stop.refusal(), Some(ErrorKind::UniqueViolation), "{stop}");
    });
    // And a load waits for a transaction that has changed a row.
    let mut others = other.begin();
    others.insert(&table, &row(5_000, "a note")).expect("inserted");
    one.set_lock_wait(LockWait::NoWait);
    let mut tx = one.begin();
    let stop = load(&mut tx, &table, 6_000..6_010).expect_err("locked");
    assert_eq!(stop.refusal(), Some(ErrorKind::Busy), "{stop}");
    others.commit().expect("committed");
    load(&mut tx, &table, 6_000..6_010).expect("loaded");
    tx.commit().expect("committed");
    check(&database);
}

#[test]
fn rows_of_any_length_are_loaded() {
    let (_scratch, database, table) = opened("load-long");
    let mut connection = database.connect("one");
    let note = |id: i64| match id % 50 {
        0 => "l".repeat(30_000),
        1 => "m".repeat(7_900),
        of => "s".repeat(of as usize * 3),
    };
    let mut tx = connection.begin();
    tx.load(&table, |load| (0..500).try_for_each(|id| load.push(&row(id, &note(id)))))
        .expect("loaded");
    tx.commit().expect("committed");
    assert_eq!(ids(&mut connection, &table), (0..500).collect::<Vec<_>>());
    let mut found = 0;
    let read = connection.scan(&table, |row| {
        let id = row.get_i64(0).expect("it has one");
        found += usize::from(row.get_text(4).expect("a text") == Some(&note(id)));
    });
    read.expect("read");
    assert_eq!(found, 500);
    check(&database);
}

#[test]
fn a_load_sorts_more_keys_than_memory_has_room_for() {
    const ROWS: i64 = 60_000;
    let scratch = Folder::absent("load-sort");
    let mut options = options();
    options.parameters.sort_area_size = 512 << 10;
    let database = Database::create(&scratch.0, &options).expect("created");
    let mut connection = database.connect("one");
    let table = made(&mut connection);
    let mut tx = connection.begin();
    load(&mut tx, &table, (0..ROWS).step_by(2)).expect("loaded");
    tx.commit().expect("committed");
    let mut tx = connection.begin();
    load(&mut tx, &table, (0..ROWS / 2).map(|id| (id * 7_919 % (ROWS / 2)) * 2 + 1))
        .expect("loaded");
    tx.commit().expect("committed");
    assert!(connection.statistics().statistic(Statistic::SortsDisk) >= 2);
    assert_eq!(ids(&mut connection, &table), (0..ROWS).collect::<Vec<_>>());
    check(&database);
}

#[test]
fn a_load_that_finds_no_space_is_refused_and_leaves_room() {
    let scratch = Folder::absent("load-full");
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 1_000 * 2_048,
        data_bytes_max: 0,
        undo_bytes: 8 << 20,
        extent_blocks: 4,
        log_file_bytes: 1 << 20,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    };
    let parameters =
        Parameters { db_cache_size: 1 << 20, db_writer_batch: 4, ..Parameters::default() };
    let options = Options { creation, parameters, ..Options::default() };
    let database = Database::create(&scratch.0, &options).expect("created");
    let mut connection = database.connect("one");
    let table = made(&mut connection);
    for _ in 0..3 {
        let mut tx = connection.begin();
        is_refused(load(&mut tx, &table, 0..100_000), ErrorKind::NoSpace, &[]);
        tx.commit().expect("committed");
        assert_eq!(ids(&mut connection, &table), []);
    }
    check(&database);
    // The blocks of the loads are the table's, and have room: also for a load, which finds no new
    // block. The indexes have few.
    let mut tx = connection.begin();
    load(&mut tx, &table, 0..60).expect("loaded");
    tx.commit().expect("committed");
    assert_eq!(ids(&mut connection, &table), (0..60).collect::<Vec<_>>());
    check(&database);
}

/// A parent that is deleted while a load has entries to insert isn't missed at its end. (References
/// used to be checked after each 4,096 rows, when nobody could find them yet.)
#[test]
fn a_parent_that_goes_during_a_load_refuses_it() {
    let scratch = Folder::absent("load-parent");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut loads = database.connect("loads");
    let parent =
        TableSpec::new("parent").column(ColumnSpec::new("id", Type::BigInt)).primary_key(["id"]);
    let parent = loads.create_table(&parent).expect("made");
    let child = TableSpec::new("child")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("of", Type::BigInt))
        .primary_key(["id"])
        .foreign_key(["of"], "parent", OnDelete::NoAction);
    let child = loads.create_table(&child).expect("made");
    let mut tx = loads.begin();
    tx.insert(&parent, &[Value::Int(1)]).expect("inserted");
    tx.commit().expect("committed");
    let mut tx = loads.begin();
    let refused = tx.load(&child, |load| {
        (0..5_000).try_for_each(|id| load.push(&[Value::Int(id), Value::Int(1)]))?;
        thread::scope(|scope| {
            let deletes = scope.spawn(|| {
                let mut deletes = database.connect("deletes");
                let mut tx = deletes.begin();
                assert!(tx.delete(&parent, &[Value::Int(1)]).expect("deleted"), "it is there");
                tx.commit().expect("committed");
            });
            deletes.join().expect("no panic");
        });
        Ok(())
    });
    is_refused(refused, ErrorKind::ForeignKeyViolation, &["parent"]);
    tx.commit().expect("committed");
    let mut left = 0;
    loads.scan(&child, |_| left += 1).expect("read");
    assert_eq!(left, 0, "rows of a refused load");
    drop(loads);
    check(&database);
    database.shutdown().expect("in good order");
}
