//! A full undo tablespace: what nobody needs any more is overwritten, and nobody is refused for it.

use std::ops::ControlFlow;
use std::path::Path;

use database::{
    Bounds, ColumnSpec, Creation, Database, Direction, ErrorKind, Options, Parameters, Row,
    Selection, Table, TableSpec, Tx, Type, Value,
};
use os::Session;
use sim::fs::FileSystem;
use testbed::{machine, run};

/// As small as everything still happens; the undo tablespace doesn't grow.
fn options() -> Options {
    let undo_bytes = 40 * 2_048;
    let creation = Creation {
        db_block_size: database::BlockSize::KIB_2,
        data_bytes: 1_000 * 2_048,
        undo_bytes,
        undo_bytes_max: undo_bytes,
        extent_blocks: 4,
        log_file_bytes: 1 << 20,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    };
    let parameters = Parameters {
        db_cache_size: 192 * 2_048,
        db_working_sets: 2,
        db_writer_batch: 4,
        ..Parameters::default()
    };
    Options { creation, parameters, ..Options::default() }
}

/// Does this with a new database on a simulated machine, and shuts it.
fn with_database(body: impl FnOnce(&Database, &Session) + Send + 'static) {
    run(machine(1, FileSystem::new(1 << 30)), move |world, session| {
        let (disk, options) = (world.disk(), options());
        let made = Database::create_in(&disk, Path::new("/db"), &options, session);
        let database = made.expect("created");
        body(&database, session);
        database.shutdown_by(session).expect("in good order");
    });
}

const LEAVES: i64 = 20;
const ROWS: i64 = 20;

/// A rollback leaves undo of index entries, and nobody waits for its redo to be durable: no
/// snapshot sees its end until the log is written.
#[test]
fn a_full_undo_tablespace_of_rolled_back_transactions_refuses_no_reader() {
    with_database(|database, session| {
        let mut writer = database.connect_with(session);
        let mut reader = database.connect_with(session);
        let spec = TableSpec::new("t")
            .column(ColumnSpec::new("id", Type::BigInt))
            .column(ColumnSpec::new("body", Type::Text))
            .primary_key(["id"]);
        let table = writer.create_table(&spec).expect("made");
        let mut tx = writer.begin();
        // Each thousand of keys has leaves of its own.
        for id in (0..LEAVES).flat_map(|leaf| (0..ROWS).map(move |row| leaf * 1_000 + row)) {
            tx.insert(&table, &[Value::Int(id), Value::Text("x")]).expect("inserted");
        }
        tx.commit().expect("committed");
        let by_id = table.primary().expect("it has one");
        for round in 0..400 {
            let mut tx = writer.begin();
            for id in (100..140).map(|id| round % LEAVES * 1_000 + id) {
                tx.insert(&table, &[Value::Int(id), Value::Text("y")]).expect("room for undo");
            }
            tx.rollback().expect("rolled back");
            let mut found = 0;
            let all = Bounds::equal(&[]);
            let read = reader.range(&table, by_id, &all, Direction::Ascending, |_| {
                found += 1;
                ControlFlow::Continue(())
            });
            read.unwrap_or_else(|stop| panic!("round {round}: {stop}"));
            assert_eq!(found, LEAVES * ROWS, "round {round}");
        }
    });
}

/// One transaction takes all undo there is and is rolled back. All of it is in the ring of one
/// segment then; the other one has no block.
#[test]
fn a_lone_transaction_has_undo_after_another_was_refused_it() {
    with_database(move |database, session| {
        let (mut one, mut two) = (database.connect_with(session), database.connect_with(session));
        let spec = TableSpec::new("t")
            .column(ColumnSpec::new("id", Type::BigInt))
            .column(ColumnSpec::new("body", Type::Text))
            .primary_key(["id"]);
        let table = one.create_table(&spec).expect("made");
        let row = |id| [Value::Int(id), Value::Text("x")];
        let mut tx = one.begin();
        let refused = (0..5_000).find_map(|id| tx.insert(&table, &row(id)).err());
        let refused = refused.expect("the undo tablespace is full sometime");
        assert_eq!(refused.refusal(), Some(ErrorKind::NoSpace), "{refused}");
        let said = refused.to_string();
        assert!(said.contains("undo_bytes_max") && !said.contains("delete rows"), "{said}");
        tx.rollback().expect("rolled back");
        let (mut first, mut second) = (one.begin(), two.begin());
        first.insert(&table, &row(1)).expect("room for undo");
        let refused = second.insert(&table, &row(2)).expect_err("undo of another ring isn't had");
        assert_eq!(refused.refusal(), Some(ErrorKind::NoSpace), "{refused}");
        first.commit().expect("committed");
        second.rollback().expect("rolled back");
        for id in 3..6 {
            let mut tx = one.begin();
            tx.insert(&table, &row(id)).expect("nobody else is there, and all undo is expired");
            tx.commit().expect("committed");
        }
    });
}

/// Undo goes in the order in which it came. What a snapshot sees of a transaction isn't in doubt
/// because the transaction's slot was used again since.
#[test]
fn a_snapshot_is_too_old_only_for_rows_whose_undo_was_taken_from_it() {
    with_database(move |database, session| {
        let mut writer = database.connect_with(session);
        let mut reader = database.connect_with(session);
        let spec = |name| {
            TableSpec::new(name)
                .column(ColumnSpec::new("id", Type::BigInt))
                .column(ColumnSpec::new("body", Type::Text))
                .primary_key(["id"])
        };
        let quiet = writer.create_table(&spec("quiet")).expect("made");
        let busy = writer.create_table(&spec("busy")).expect("made");
        let (old_body, new_body) = ("x".repeat(100), "y".repeat(100));
        let mut tx = writer.begin();
        for id in 0..120 {
            tx.insert(&quiet, &[Value::Int(id), Value::Text(&old_body)]).expect("inserted");
        }
        tx.insert(&busy, &[Value::Int(1), Value::Text(&"0".repeat(400))]).expect("inserted");
        tx.commit().expect("committed");
        let mut tx = writer.begin();
        let changed = tx.update_where(&quiet, Selection::All, None, |_, set| {
            set.set(1, Value::Text(&new_body))
        });
        assert_eq!(changed.expect("changed"), 120);
        tx.commit().expect("committed");
        let mut old = reader.begin_serializable().expect("begun");
        let mut rounds = 0..400;
        let gone = rounds.find(|round| {
            let body = (round % 10).to_string().repeat(400);
            let mut tx = writer.begin();
            let set = tx.update(&busy, &[Value::Int(1)], |_, set| set.set(1, Value::Text(&body)));
            assert!(set.expect("room for undo"));
            tx.commit().expect("committed");
            if let Err(stop) = old.scan(&busy, |_| ()) {
                assert_eq!(stop.refusal(), Some(ErrorKind::SnapshotTooOld), "{stop}");
                return true;
            }
            let mut seen = 0;
            old.scan(&quiet, |row| seen += u32::from(row.get_text(1) == Ok(Some(&new_body))))
                .unwrap_or_else(|stop| panic!("round {round}: {stop}"));
            assert_eq!(seen, 120, "round {round}");
            false
        });
        assert!(gone.is_some(), "undo that the snapshot needs is taken sometime");
        old.rollback().expect("ended");
    });
}

/// A block without room for another entry of its list, all of whose transactions ended by the
/// snapshot: that isn't in doubt because their slots were used again since.
#[test]
fn a_serializable_change_of_a_full_block_is_refused_only_for_what_changed_it_since() {
    // Once while the undo of the others is there, and once when it is gone.
    for first_change in [20, 38] {
        change_a_full_block_after(first_change);
    }
}

/// The first change of the block comes after so many transactions of others.
fn change_a_full_block_after(first_change: i64) {
    with_database(move |database, session| {
        let [mut one, mut two, mut three, mut reader] =
            [(); 4].map(|()| database.connect_with(session));
        let mut make = |name| {
            let spec = TableSpec::new(name)
                .column(ColumnSpec::new("id", Type::BigInt))
                .column(ColumnSpec::new("body", Type::Text));
            one.create_table(&spec).expect("made")
        };
        let [quiet, busy_one, busy_two, own] = ["quiet", "one", "two", "own"].map(&mut make);
        let set = |tx: &mut Tx<'_, '_>,
                   table: &Table,
                   rest: Option<i64>,
                   body: &dyn Fn(i64) -> String| {
            let id = |row: &Row<'_>| row.get_i64(0).expect("a number");
            let mut filter = |row: &Row<'_>| rest.is_none_or(|rest| id(row) % 2 == rest);
            tx.update_where(table, Selection::All, Some(&mut filter), |row, set| {
                set.set(1, Value::Text(&body(id(row))))
            })
        };
        let text = |length: i64, last: &str| "x".repeat(length as usize) + last;
        let mut tx = one.begin();
        // Two rows in each block.
        for id in 0..80 {
            let length = if id % 2 == 0 { 1_200 } else { 300 };
            tx.insert(&quiet, &[Value::Int(id), Value::Text(&text(length, "0"))])
                .expect("inserted");
        }
        for table in [&busy_one, &busy_two, &own] {
            tx.insert(table, &[Value::Int(1), Value::Text("0")]).expect("inserted");
        }
        tx.commit().expect("committed");
        // Some blocks are full to the last bytes then. All have two entries, of these; the undo
        // segment that was left last is the one that the serializable transaction has.
        let (mut first, mut second, mut third) = (one.begin(), two.begin(), three.begin());
        assert_eq!(set(&mut third, &own, None, &|_| text(1, "1")).expect("changed"), 1);
        assert_eq!(
            set(&mut first, &quiet, Some(1), &|id| text(300 + id * 6, "1")).expect("changed"),
            40
        );
        assert_eq!(set(&mut second, &quiet, Some(0), &|_| text(1_200, "1")).expect("changed"), 40);
        first.commit().expect("committed");
        second.commit().expect("committed");
        third.commit().expect("committed");

        let mut old = reader.begin_serializable().expect("begun");
        assert_eq!(set(&mut old, &own, None, &|_| text(1, "2")).expect("changed"), 1);
        let mut rounds = 0..400;
        let gone = rounds.find(|round| {
            let body = |_| (round % 10).to_string().repeat(400);
            let (mut first, mut second) = (one.begin(), two.begin());
            assert_eq!(set(&mut first, &busy_one, None, &body).expect("changed"), 1);
            assert_eq!(set(&mut second, &busy_two, None, &body).expect("changed"), 1);
            first.commit().expect("committed");
            second.commit().expect("committed");
            for table in [&busy_one, &busy_two] {
                if let Err(stop) = old.scan(table, |_| ()) {
                    assert_eq!(stop.refusal(), Some(ErrorKind::SnapshotTooOld), "{stop}");
                    return true;
                }
            }
            if *round < first_change {
                return false;
            }
            let savepoint = old.savepoint();
            let changed = set(&mut old, &quiet, Some(0), &|_| text(1_200, "2"));
            assert_eq!(changed.unwrap_or_else(|stop| panic!("round {round}: {stop}")), 40);
            old.rollback_to(savepoint).expect("taken back");
            false
        });
        assert!(
            gone > Some(first_change),
            "{gone:?}: undo that the snapshot needs is taken sometime"
        );
        old.rollback().expect("ended");
    });
}

/// What is taken back leaves its transaction in a leaf's list, and nobody waits for the redo of a
/// rollback: it is no later change than the snapshot of who begins after it.
#[test]
fn a_serializable_change_is_not_refused_for_what_was_rolled_back_before_it_began() {
    with_database(|database, session| {
        let mut one = database.connect_with(session);
        let spec =
            TableSpec::new("t").column(ColumnSpec::new("id", Type::BigInt)).primary_key(["id"]);
        let table = one.create_table(&spec).expect("made");
        for round in 0..20 {
            let mut tx = one.begin_serializable().expect("begun");
            let done = tx.insert(&table, &[Value::Int(1)]);
            done.unwrap_or_else(|stop| panic!("round {round}, nobody else is there: {stop}"));
            tx.rollback().expect("taken back");
        }
    });
}

/// Its last changes are of a small transaction, whose undo was rightly overwritten before that of
/// a later one that the snapshot does need elsewhere.
#[test]
fn a_table_that_was_quiet_since_the_snapshot_is_read_after_later_undo_was_taken() {
    with_database(|database, session| {
        let (mut writer, mut reader) =
            (database.connect_with(session), database.connect_with(session));
        let mut make = |name: &str| {
            let spec = TableSpec::new(name)
                .column(ColumnSpec::new("id", Type::BigInt))
                .column(ColumnSpec::new("body", Type::Text));
            writer.create_table(&spec).expect("made")
        };
        let (quiet, busy) = (["a", "b", "c", "d", "e", "f"].map(&mut make), make("busy"));
        let set = |writer: &mut database::Connection<'_>, body: &str| {
            let mut tx = writer.begin();
            let changed = tx
                .update_where(&busy, Selection::All, None, |_, set| set.set(1, Value::Text(body)));
            changed.expect("room");
            tx.commit().expect("committed");
        };
        let mut tx = writer.begin();
        tx.insert(&busy, &[Value::Int(1), Value::Text(&"0".repeat(400))]).expect("inserted");
        tx.commit().expect("committed");
        for (n, table) in quiet.iter().enumerate() {
            let mut tx = writer.begin();
            tx.insert(table, &[Value::Int(1), Value::Text("x")]).expect("inserted");
            tx.commit().expect("committed");
            // A newer record behind it in its undo block.
            set(&mut writer, &format!("{n:0400}"));
        }
        let mut old = reader.begin_serializable().expect("begun");
        let gone = (0..400).any(|round: i64| {
            set(&mut writer, &(round % 10).to_string().repeat(400));
            old.scan(&busy, |_| ()).is_err()
        });
        assert!(gone, "undo that the snapshot needs is taken sometime");
        for table in &quiet {
            let mut rows = 0;
            let read = old.scan(table, |_| rows += 1);
            read.unwrap_or_else(|stop| panic!("{}: {stop}", table.name()));
            assert_eq!(rows, 1);
        }
        old.rollback().expect("ended");
    });
}
