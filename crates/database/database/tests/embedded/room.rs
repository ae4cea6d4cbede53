//! Rolling back needs no room that isn't there (rule txn/BL4): transactions that delete, insert
//! and change many rows of few blocks, beside each other, with savepoints and crashes.

use std::collections::BTreeMap;
use std::path::Path;

use database::{
    Bounds, ColumnSpec, Connection, Creation, Database, Direction, ErrorKind, IndexSpec, Nanos,
    Options, Parameters, Table, TableSpec, Tx, Type, Value, WaitEvent,
};
use ids::BlockSize;
use os::Session;
use sim::fs::FileSystem;
use sim::{Outside, Perturbation, Simulation, World};
use stop::Halt;
use testbed::{Dice, run_kept};

use crate::common::{Folder, options};
use crate::simulated::{self, join, start};

/// A text of up to so many bytes.
fn text(dice: &mut Dice, longest: u64) -> String {
    let (length, letter) = (dice.below(longest + 1), dice.below(26) as u8);
    String::from(char::from(b'a' + letter)).repeat(length as usize)
}

fn count(connection: &mut Connection<'_>, table: &Table) -> usize {
    let mut rows = 0;
    connection.scan(table, |_| rows += 1).expect("read");
    rows
}

#[test]
fn long_rows_that_were_deleted_come_back_where_many_short_ones_were_inserted() {
    let scratch = Folder::absent("room");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let spec = TableSpec::new("t").column(ColumnSpec::new("body", Type::Text));
    let table = connection.create_table(&spec).expect("made");
    let long = "x".repeat(300);
    let mut tx = connection.begin();
    for _ in 0..22 {
        tx.insert(&table, &[Value::Text(&long)]).expect("inserted");
    }
    tx.commit().expect("committed");
    let mut tx = connection.begin();
    tx.delete_where(&table, database::Selection::All, None).expect("deleted");
    for _ in 0..300 {
        tx.insert(&table, &[Value::Text("y")]).expect("inserted");
    }
    tx.rollback().expect("rolled back");
    assert_eq!(count(&mut connection, &table), 22);
    drop(connection);
    database.shutdown().expect("in good order");
}

fn directory() -> &'static Path {
    Path::new("/db")
}

/// As small as everything still happens.
fn small(size: BlockSize) -> Options {
    let block = size.bytes() as u64;
    let creation = Creation {
        db_block_size: size,
        data_bytes: 1_000 * block,
        undo_bytes: 100 * block,
        undo_bytes_max: 2_000 * block,
        extent_blocks: 4,
        log_file_bytes: 1 << 20,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    };
    let parameters = Parameters {
        db_cache_size: 192 * block,
        db_working_sets: 2,
        db_writer_batch: 4,
        ..Parameters::default()
    };
    Options { creation, parameters, ..Options::default() }
}

/// Rows by their keys: what has an index, and what has none.
type Rows = BTreeMap<i64, (String, String)>;

/// Sessions that share blocks; each has the rows whose keys have its remainder.
const SESSIONS: u64 = 3;
/// A session has so many keys.
const KEYS: u64 = 90;

fn make(size: BlockSize) -> FileSystem {
    let ((), disk) = run_kept(Simulation::new(1), move |world, session| {
        let (disk, options) = (world.disk(), small(size));
        let (creation, parameters) = (&options.creation, &options.parameters);
        instance::Instance::create(&disk, directory(), creation, parameters, session)
            .expect("created");
        let database = Database::open_in(&disk, directory(), &options, session).expect("opened");
        let mut connection = database.connect_with(session);
        let spec = TableSpec::new("t")
            .column(ColumnSpec::new("id", Type::BigInt))
            .column(ColumnSpec::new("tag", Type::Text))
            .column(ColumnSpec::new("body", Type::Text))
            .primary_key(["id"]);
        connection.create_table(&spec).expect("made");
        connection.create_index(&IndexSpec::new("by_tag", "t", ["tag", "id"])).expect("made");
        drop(connection);
        database.shutdown_by(session).expect("in good order");
    });
    disk
}

/// One session's work.
struct Client<'c, 's> {
    connection: &'c mut Connection<'s>,
    table: Table,
    dice: Dice,
    number: u64,
    /// Its rows as they were committed last.
    committed: Rows,
    ended: Ended,
}

/// How transactions ended: without some of each that were taken back, nothing is shown.
#[derive(Default, Clone, Copy, Debug)]
struct Ended {
    committed: u32,
    rolled_back: u32,
    /// Rolled back because something was in the way.
    refused: u32,
    /// Left to the next opening.
    left: u32,
}

impl Ended {
    fn add(&mut self, other: Ended) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.refused += other.refused;
        self.left += other.left;
    }
}

impl Client<'_, '_> {
    /// Some transactions; the last isn't ended if `leaves_one`: the instance is halted before the
    /// connection is dropped.
    fn work(&mut self, transactions: u64, leaves_one: bool) {
        for left in (0..transactions).rev() {
            let Client { connection, table, dice, number, committed, ended } = self;
            let mut rows = committed.clone();
            let mut tx = connection.begin();
            let done = changes((&mut tx, table), (dice, *number), &mut rows);
            match done {
                Err(stop) => {
                    let kind = stop.refusal();
                    let in_the_way = [Some(ErrorKind::Deadlock), Some(ErrorKind::NoSpace)];
                    assert!(in_the_way.contains(&kind), "{stop}");
                    tx.rollback().expect("rolled back");
                    ended.refused += 1;
                }
                Ok(()) if left == 0 && leaves_one => {
                    std::mem::forget(tx);
                    ended.left += 1;
                }
                Ok(()) if dice.below(2) == 0 => {
                    tx.rollback().expect("rolled back");
                    ended.rolled_back += 1;
                }
                Ok(()) => {
                    tx.commit().expect("committed");
                    ended.committed += 1;
                    self.committed = rows;
                }
            }
        }
    }
}

/// The changes of one transaction, with a savepoint here and there.
fn changes(
    (tx, table): (&mut Tx<'_, '_>, &Table),
    (dice, number): (&mut Dice, u64),
    rows: &mut Rows,
) -> Result<(), database::Error> {
    let mut saved = None;
    for _ in 0..1 + dice.below(6) {
        match dice.below(8) {
            0 => saved = Some((tx.savepoint(), rows.clone())),
            1 => {
                if let Some((savepoint, before)) = saved.take() {
                    tx.rollback_to(savepoint)?;
                    *rows = before;
                }
            }
            2 | 3 => {
                let share = 1 + dice.below(3);
                let keys: Vec<i64> = rows.keys().copied().collect();
                for id in keys.into_iter().filter(|_| dice.below(4) < share) {
                    assert!(tx.delete(table, &[Value::Int(id)])?);
                    rows.remove(&id);
                }
            }
            4 | 5 => {
                let longest = [2, 2, 40, 300][dice.below(4) as usize];
                for _ in 0..dice.below(KEYS) {
                    let id = (dice.below(KEYS) * SESSIONS + number) as i64;
                    if rows.contains_key(&id) {
                        continue;
                    }
                    let (tag, body) = (text(dice, longest.min(60)), text(dice, longest));
                    let row = [Value::Int(id), Value::Text(&tag), Value::Text(&body)];
                    tx.insert(table, &row)?;
                    rows.insert(id, (tag, body));
                }
            }
            _ => {
                let longest = [1, 100, 400, 3_000][dice.below(4) as usize];
                let keys: Vec<i64> = rows.keys().copied().collect();
                for id in keys {
                    if dice.below(3) > 0 {
                        continue;
                    }
                    let body = text(dice, longest);
                    let set = |_: &database::Row<'_>, set: &mut database::RowChange<'_>| {
                        set.set(2, Value::Text(&body))
                    };
                    assert!(tx.update(table, &[Value::Int(id)], set)?);
                    rows.get_mut(&id).expect("it was there").1 = body;
                }
            }
        }
    }
    Ok(())
}

/// The table has these rows, and so have its indexes.
fn holds(database: &Database, expected: &Rows, session: &Session) {
    database.instance().wait_for_dead(session);
    let mut connection = database.connect_with(session);
    let table = connection.table("t").expect("there");
    let kept = |row: &database::Row<'_>| {
        let text = |column| row.get_text(column).expect("text").unwrap_or_default().to_string();
        (row.get_i64(0).expect("a key"), (text(1), text(2)))
    };
    let mut found = Rows::new();
    connection.scan(&table, |row| found.extend([kept(&row)])).expect("read");
    assert!(found == *expected, "the table has others");
    for index in ["t_pkey", "by_tag"] {
        let at = table.index(index).or_else(|_| table.primary().ok_or(())).expect("there");
        let mut through = Rows::new();
        let look = |row: database::Row<'_>| {
            through.extend([kept(&row)]);
            std::ops::ControlFlow::Continue(())
        };
        connection
            .range(&table, at, &Bounds::equal(&[]), Direction::Ascending, look)
            .expect("read");
        assert!(through == *expected, "index {index} leads to others");
    }
}

/// Sessions work on rows of the same blocks, then the instance is stopped as if it were killed; a
/// few times.
fn lives(seed: u64, size: BlockSize, mut disk: FileSystem) -> Ended {
    let all_ended = Outside::new(Ended::default());
    let committed = Outside::new(BTreeMap::<u64, Rows>::new());
    for life in 0..3 {
        let (inside, all_ended) = (committed.clone(), all_ended.clone());
        let mut simulation = Simulation::new(seed * 10 + life);
        simulation.disks[0].content = disk;
        simulation.perturbation = Perturbation::RACES;
        let mut report = simulation.run(move |world: &World, session: &Session| {
            let opened = Database::open_in(&world.disk(), directory(), &small(size), session);
            let database = opened.expect("opened");
            let before = inside.with(|committed| committed.clone());
            holds(&database, &before.values().flatten().map(owned).collect(), session);
            let sessions = (0..SESSIONS).map(|number| {
                let (inside, all_ended) = (inside.clone(), all_ended.clone());
                start("client", (&database, session), move |database, session| {
                    let mut connection = database.connect_with(session);
                    let committed = inside.with(|all| all.remove(&number)).unwrap_or_default();
                    let (table, dice) = (
                        connection.table("t").expect("there"),
                        Dice(seed * 1_000 + life * 10 + number),
                    );
                    let connection = &mut connection;
                    let ended = Ended::default();
                    let mut client = Client { connection, table, dice, number, committed, ended };
                    client.work(6, life < 2);
                    all_ended.with(|all| all.add(client.ended));
                    let committed = client.committed;
                    inside.with(|all| all.insert(number, committed));
                    while life < 2 && halt(database).check(session).is_ok() {
                        pause(session);
                    }
                })
            });
            let sessions = sessions.collect();
            if life < 2 {
                while inside.with(|all| all.len() as u64) < SESSIONS {
                    pause(session);
                }
                // The log writer has written what nobody has committed.
                pause(session);
                _ = halt(&database).raise("stopped for a test", session);
            }
            join(sessions, session);
            if life == 2 {
                let after = inside.with(|committed| committed.clone());
                holds(&database, &after.values().flatten().map(owned).collect(), session);
                database.shutdown_by(session).expect("in good order");
            }
        });
        disk = report.disks.remove("disk").expect("the machine has one disk");
        disk.close_all();
        report.result.unwrap_or_else(|failure| panic!("seed {seed}, {size:?}: {failure}"));
    }
    all_ended.take()
}

fn halt(database: &Database) -> &Halt {
    database.instance().transactions().changes().halt()
}

/// Longer than the log writer sleeps.
fn pause(session: &Session) {
    session.pause(Nanos::from_secs(4), session.waiting(WaitEvent::PlSqlLockTimer));
}

fn owned((id, row): (&i64, &(String, String))) -> (i64, (String, String)) {
    (*id, row.clone())
}

#[test]
fn whatever_sessions_do_in_few_blocks_can_be_rolled_back() {
    for (size, seeds) in [(BlockSize::KIB_2, 4), (BlockSize::KIB_4, 3), (BlockSize::KIB_8, 2)] {
        let base = make(size);
        let mut all = Ended::default();
        for seed in 0..seeds {
            all.add(lives(seed, size, base.clone()));
        }
        println!("{size:?}: {all:?}");
        let each = seeds as u32 * 5;
        assert!(
            all.committed > each && all.rolled_back > each && all.left > seeds as u32,
            "{all:?}"
        );
    }
}

/// All its room is kept for the active transactions in its list, and no other block is offered.
/// (The insert used to look at it again and again, until one of them ended: a simulated machine
/// tells of that.)
#[test]
fn an_insert_passes_by_a_block_whose_list_has_no_room() {
    let creation = Creation { db_block_size: BlockSize::KIB_8, ..simulated::options().creation };
    let content = simulated::made_with(creation, |_, _| ());
    // Some of these fill the block to its last bytes.
    let passed_by = simulated::racing(1, content, |database, session| {
        let lengths = (1_290..1_370).step_by(10);
        lengths.map(|longer| passes_by(database, longer, session)).collect::<Vec<_>>()
    });
    assert!(passed_by.contains(&true), "no block is full: {passed_by:?}");
    assert!(passed_by.contains(&false), "where its list has room it is offered: {passed_by:?}");
}

/// Fills a block with rows of which one is so long, has two transactions delete the others, and a
/// third one insert a short row: whether that went into another block.
fn passes_by(database: &Database, longer: usize, session: &Session) -> bool {
    let [mut one, mut two, mut three] = [(); 3].map(|()| database.connect_with(session));
    let spec = TableSpec::new(&format!("t{longer}"))
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("body", Type::Text))
        .primary_key(["id"]);
    let mut filler = database.connect_with(session);
    let table = filler.create_table(&spec).expect("made");
    let mut tx = filler.begin();
    // The first 8 blocks keep more room than the others (rule access/AC33).
    let alone = "x".repeat(7_500);
    for id in 1_000..1_008 {
        tx.insert(&table, &[Value::Int(id), Value::Text(&alone)]).expect("inserted");
    }
    let body = "x".repeat(300);
    let mut insert = |id| {
        let row = [Value::Int(id), Value::Text(&body)];
        tx.insert(&table, &row).expect("inserted").block
    };
    let full = insert(0);
    assert!((1..22).all(|id| insert(id) == full), "they lie in one block");
    let body = "x".repeat(longer);
    tx.update(&table, &[Value::Int(0)], |_, set| set.set(1, Value::Text(&body))).expect("set");
    // It fills the next block from now on.
    let body = "x".repeat(3_000);
    tx.insert(&table, &[Value::Int(-1), Value::Text(&body)]).expect("inserted");
    tx.commit().expect("committed");
    let (mut first, mut second, mut third) = (one.begin(), two.begin(), three.begin());
    for id in 1..22 {
        let tx = if id % 2 == 0 { &mut first } else { &mut second };
        assert!(tx.delete(&table, &[Value::Int(id)]).expect("deleted"));
    }
    let new = third.insert(&table, &[Value::Int(100), Value::Text("new")]).expect("inserted");
    third.commit().expect("committed");
    second.rollback().expect("ended");
    first.rollback().expect("ended");
    new.block != full
}
