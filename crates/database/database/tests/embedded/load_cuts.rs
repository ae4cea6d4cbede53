//! Loads and updates of whole tables in small caches. Some are refused, some are rolled back, and
//! the power is cut in the middle of others. A model beside the database says what was committed:
//! after each cut all of it is there, and each index leads to each row.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

use database::{
    Bounds, ColumnSpec, Connection, Database, Direction, Error, ErrorKind, IndexSpec, Options,
    Selection, Table, TableSpec, Tx, Type, Value,
};
use os::Session;
use sim::fs::crash::CrashStates;
use sim::{Outside, Perturbation, Simulation, World};
use testbed::Dice;

use crate::simulated;

#[derive(Clone, PartialEq, Debug)]
struct Row {
    code: Option<i64>,
    weight: i64,
    note: usize,
}

type Rows = BTreeMap<i64, Row>;

/// Seeds that are tried; hundreds found nothing else. With seed 5 the power is cut while an update
/// reads a block, and the thread that unwinds out of that wait rolls the statement back.
const SEEDS: [u64; 4] = [0, 2, 4, 5];
/// The number of lives of one database.
const ROUNDS: u64 = 4;
/// Transactions of one life.
const TRANSACTIONS: u64 = 10;

/// What is known of the table's content.
struct Known {
    /// The states that were committed or may be, in order.
    states: Vec<Arc<Rows>>,
    /// The last state whose commit was acknowledged.
    sure: usize,
    /// Whether the session that changes the table has ended.
    ended: bool,
    /// The message of the panic by which that session ended.
    panicked: Option<String>,
}

impl Known {
    fn of(rows: Rows) -> Known {
        Known { states: vec![Arc::new(rows)], sure: 0, ended: false, panicked: None }
    }

    /// Whether the table may have this content, in which state `from` or a later one was committed.
    fn has(&self, from: usize, rows: &Rows) -> bool {
        self.states[from..].iter().any(|state| **state == *rows)
    }
}

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt).not_null())
        .column(ColumnSpec::new("code", Type::BigInt))
        .column(ColumnSpec::new("weight", Type::BigInt).not_null())
        .column(ColumnSpec::new("note", Type::Text))
        .primary_key(["id"])
        .unique(["code"])
}

fn options(seed: u64) -> Options {
    let mut options = simulated::options();
    options.creation.data_bytes = 400 * 2048;
    options.creation.data_growth_bytes = 64 * 2048;
    options.creation.data_bytes_max = 8_000 * 2048;
    options.parameters.db_cache_size = [24, 64, 192, 1_000][(seed % 4) as usize] * 2048;
    options.parameters.db_working_sets = 1 + (seed % 2) as u32;
    options.parameters.db_writer_batch = [4, 16][(seed / 4 % 2) as usize];
    options
}

fn text(length: usize) -> String {
    "n".repeat(length)
}

fn of_row(row: &database::Row<'_>) -> (i64, Row) {
    let id = row.get_i64(0).expect("an id");
    let code = row.get_i64(1);
    let weight = row.get_i64(2).expect("a weight");
    let note = row.get_text(3).expect("whole").expect("a note").len();
    (id, Row { code, weight, note })
}

fn all(connection: &mut Connection<'_>, table: &Table) -> Result<Rows, Error> {
    let mut rows = Rows::new();
    connection.scan(table, |row| {
        let (id, row) = of_row(&row);
        assert!(rows.insert(id, row).is_none(), "twice {id}");
    })?;
    Ok(rows)
}

/// Checks that a scan and each index find these rows.
fn check(connection: &mut Connection<'_>, table: &Table, expected: &Rows, what: &str) {
    let rows = all(connection, table).expect("read");
    assert!(rows == *expected, "{what}: scan {} rows, expected {}", rows.len(), expected.len());
    let names = table.definition().indexes.iter().map(|index| index.name.clone());
    for name in names.collect::<Vec<_>>() {
        let index = table.index(&name).expect("there");
        let mut found = Rows::new();
        let read =
            connection.range(table, index, &Bounds::equal(&[]), Direction::Ascending, |row| {
                let (id, row) = of_row(&row);
                assert!(found.insert(id, row).is_none(), "twice {id}");
                ControlFlow::Continue(())
            });
        read.expect("read");
        assert!(found == *expected, "{what}: index {name}");
    }
}

fn verify(database: &Database, session: &Session) {
    let mut findings = Vec::new();
    let tell = &mut |finding: &verify::Finding| findings.push(finding.to_string());
    let mut task =
        verify::Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut |_| true };
    verify::open(database.instance(), &mut task, session).expect("verified");
    assert_eq!(findings, Vec::<String>::new());
}

/// The keys of the rows of one load: above or below all that the table has, or among them; in
/// order or not; sometimes one of them is there twice.
fn new_ids(rows: &Rows, dice: &mut Dice) -> Vec<i64> {
    let most = [50, 3_000, 6_000][dice.below(3) as usize];
    let count = 1 + dice.below(most) as i64;
    let start = match dice.below(3) {
        0 => rows.keys().next_back().map_or(0, |last| last + 1),
        1 => rows.keys().next().map_or(0, |first| first - count - 10),
        _ => dice.below(50_000) as i64,
    };
    let mut ids: Vec<i64> = (start..start + count).collect();
    match dice.below(6) {
        0 => {
            for at in (1..ids.len()).rev() {
                ids.swap(at, dice.below(at as u64 + 1) as usize);
            }
        }
        1 => {
            let by = dice.below(ids.len() as u64) as usize;
            ids.rotate_left(by);
        }
        2 => {
            let at = dice.below(ids.len() as u64) as usize;
            let again = ids[dice.below(ids.len() as u64) as usize];
            ids.insert(at, again);
        }
        _ => {}
    }
    ids
}

/// Rows with these keys.
fn new_rows(ids: &[i64], dice: &mut Dice) -> Vec<(i64, Row)> {
    let (nulls, codes, notes) = (dice.below(3), dice.below(3), dice.below(4));
    let row = |id: &i64| {
        let code = match (nulls, codes) {
            (0, _) => None,
            (1, _) if id % 3 == 0 => None,
            (_, 0) => Some(*id),
            (_, 1) => Some(-id),
            _ => Some(id * 7_919 % 1_000_003),
        };
        let note = match notes {
            0 if id % 97 == 0 => 2_500,
            1 => (id % 31).unsigned_abs() as usize,
            _ => 5,
        };
        (*id, Row { code, weight: id % 7, note })
    };
    ids.iter().map(row).collect()
}

/// Loads rows into the table and the model. A load that breaks a constraint, or that its caller
/// gives up, leaves nothing of itself. The error is that the tablespace has no room.
fn load(tx: &mut Tx<'_, '_>, table: &Table, rows: &mut Rows, dice: &mut Dice) -> Result<(), Error> {
    let ids = new_ids(rows, dice);
    let new = new_rows(&ids, dice);
    let gives_up = (dice.below(6) == 0).then(|| dice.below(ids.len() as u64) as usize);
    let mut after = rows.clone();
    let mut codes: BTreeSet<i64> = rows.values().filter_map(|row| row.code).collect();
    let mut is_bad = false;
    for (id, row) in &new {
        is_bad |= row.code.is_some_and(|code| !codes.insert(code));
        is_bad |= after.insert(*id, row.clone()).is_some();
    }
    let savepoint = tx.savepoint();
    let loaded = tx.load(table, |load| {
        for (number, (id, row)) in new.iter().enumerate() {
            let note = text(row.note);
            let code = row.code.map_or(Value::Null, Value::Int);
            load.push(&[Value::Int(*id), code, Value::Int(row.weight), Value::Text(&note)])?;
            if gives_up == Some(number) {
                return Err(Error::refuse(ErrorKind::WrongState, "enough".to_string()));
            }
        }
        Ok(())
    });
    match loaded {
        Ok(count) => {
            assert!(!is_bad && gives_up.is_none(), "a bad load is taken");
            assert_eq!(count, new.len() as u64);
            if dice.below(5) == 0 {
                tx.rollback_to(savepoint).expect("taken back");
            } else {
                *rows = after;
            }
        }
        Err(stop) => match stop.refusal() {
            Some(ErrorKind::UniqueViolation) if is_bad => {}
            Some(ErrorKind::WrongState) if gives_up.is_some() => {}
            Some(ErrorKind::NoSpace) => return Err(stop),
            _ => panic!("refused: {stop}"),
        },
    }
    Ok(())
}

/// Adds to the weight of each row, and sometimes makes the notes of some rows longer.
fn update_all(
    tx: &mut Tx<'_, '_>,
    table: &Table,
    rows: &mut Rows,
    dice: &mut Dice,
) -> Result<(), Error> {
    let by = 1 + dice.below(3) as i64;
    let grows = dice.below(3) == 0;
    let count = tx.update_where(table, Selection::All, None, |row, set| {
        let (id, row) = of_row(row);
        set.set(2, Value::Int(row.weight + by))?;
        if grows && id % 5 == 0 {
            set.set(3, Value::Text(&text(row.note + 3)))?;
        }
        Ok(())
    })?;
    assert_eq!(count, rows.len() as u64);
    for (id, row) in rows.iter_mut() {
        row.weight += by;
        row.note += if grows && id % 5 == 0 { 3 } else { 0 };
    }
    Ok(())
}

/// Changes the table and the model in one of several ways. The error is that the tablespace has no
/// room.
fn change(
    tx: &mut Tx<'_, '_>,
    table: &Table,
    rows: &mut Rows,
    dice: &mut Dice,
) -> Result<(), Error> {
    match dice.below(6) {
        0..=2 => load(tx, table, rows, dice)?,
        3 | 4 => update_all(tx, table, rows, dice)?,
        _ if rows.len() > 9_000 => {
            let count = tx.delete_where(table, Selection::All, None)?;
            assert_eq!(count, rows.len() as u64);
            rows.clear();
        }
        _ => {
            for _ in 0..30 {
                let Some(id) =
                    rows.keys().nth(dice.below(rows.len().max(1) as u64) as usize).copied()
                else {
                    return Ok(());
                };
                assert!(tx.delete(table, &[Value::Int(id)])?);
                rows.remove(&id);
            }
        }
    }
    Ok(())
}

/// Does the transactions of one life.
fn work(database: &Database, session: &Session, seed: u64, known: &Outside<Known>) {
    let mut dice = Dice(seed);
    let mut connection = database.connect_with(session);
    let table = connection.table("t").expect("there");
    let mut model: Rows = known.with(|known| (*known.states[known.sure]).clone());
    for _ in 0..TRANSACTIONS {
        let mut after = model.clone();
        let mut tx = connection.begin();
        let mut done = Ok(());
        for _ in 0..1 + dice.below(3) {
            done = done.and_then(|()| change(&mut tx, &table, &mut after, &mut dice));
        }
        if let Err(stop) = &done {
            assert_eq!(stop.refusal(), Some(ErrorKind::NoSpace), "{stop}");
        }
        if done.is_err() || dice.below(5) == 0 {
            tx.rollback().expect("ended");
        } else {
            known.with(|known| known.states.push(Arc::new(after.clone())));
            tx.commit().expect("committed");
            known.with(|known| known.sure = known.states.len() - 1);
            model = after;
        }
        if dice.below(4) == 0 {
            check(&mut connection, &table, &model, "while it lives");
        }
        if dice.below(3) == 0 {
            database.instance().checkpoint(session).expect("written");
        }
    }
    known.with(|known| known.ended = true);
}

/// Scans the table until the session that changes it has ended. Each scan finds a committed state.
fn reads(database: &Database, session: &Session, known: &Outside<Known>) {
    let mut connection = database.connect_with(session);
    let table = connection.table("t").expect("there");
    while !known.with(|known| known.ended) {
        let from = known.with(|known| known.sure);
        let found = match all(&mut connection, &table) {
            Ok(found) => found,
            Err(stop) => {
                assert_eq!(stop.refusal(), Some(ErrorKind::SnapshotTooOld), "{stop}");
                continue;
            }
        };
        let is_one = known.with(|known| known.has(from, &found));
        assert!(is_one, "a scan finds {} rows, which no commit left", found.len());
        if let Some(id) = found.keys().nth(found.len() / 2) {
            let _ = connection.get(&table, &[Value::Int(*id)], |_| ()).expect("read");
        }
        session.pause(
            waits::Nanos::from_millis(20),
            session.waiting(waits::WaitEvent::RdbmsIpcMessage),
        );
    }
}

/// Opens the database, checks it, and changes it beside a session that reads.
fn live(world: &World, options: &Options, number: u64, known: &Outside<Known>, session: &Session) {
    let opened = Database::open_in(&world.disk(), Path::new("/db"), options, session);
    let database = opened.expect("opened");
    let mut connection = database.connect_with(session);
    let table = connection.table("t").expect("there");
    let found = all(&mut connection, &table).expect("read");
    known.with(|known| {
        let is_one = known.has(known.sure, &found);
        assert!(is_one, "the opened table has {} rows, which no commit left", found.len());
        *known = Known::of(found.clone());
    });
    check(&mut connection, &table, &found, "opened");
    drop(connection);
    verify(&database, session);
    let inside = known.clone();
    let reader = simulated::start("reads", (&database, session), move |database, session| {
        reads(database, session, &inside);
    });
    let worked = catch_unwind(AssertUnwindSafe(|| work(&database, session, number, known)));
    if let Err(panic) = worked {
        // The power cut has no message, and isn't to cause another panic.
        let message = panic.downcast_ref::<String>().cloned();
        known.with(|known| known.panicked = message);
        resume_unwind(panic);
    }
    reader.join(session).expect("it reads");
    verify(&database, session);
    database.abort_by(session);
}

/// Lives of one database, most of which the power ends. Returns how many it ended.
fn lives(seed: u64) -> u32 {
    let mut dice = Dice(seed ^ 0x5eed);
    let known = Outside::new(Known::of(Rows::new()));
    let mut disk = simulated::made_with(options(seed).creation, |database, session| {
        let mut connection = database.connect_with(session);
        connection.create_table(&spec()).expect("made");
        connection.create_index(&IndexSpec::new("by_weight", "t", ["weight"])).expect("made");
    });
    let mut cuts = 0;
    for round in 0..ROUNDS {
        let mut machine = Simulation::new(seed * 100 + round);
        if seed.is_multiple_of(3) {
            machine.perturbation = Perturbation::RACES;
        }
        let most = [300, 3_000, 20_000][dice.below(3) as usize];
        disk.lose_power_at(disk.crash_points() + 40 + dice.below(most));
        machine.disks[0].content = disk;
        let (inside, options) = (known.clone(), options(seed));
        let report = machine.run(move |world, session| {
            live(world, &options, seed * 10 + round, &inside, session);
        });
        let life = format!("seed {seed}, round {round}");
        if report.was_cut(&life) {
            cuts += 1;
        } else {
            report.result.as_ref().unwrap_or_else(|failure| panic!("{life}: {failure}"));
        }
        assert_eq!(known.with(|known| known.panicked.take()), None, "{life}");
        disk = CrashStates::of(&report.disks["disk"]).sample(dice.below(u64::MAX));
        disk.close_all();
    }
    cuts
}

/// After a cut the table has what an acknowledged commit left, or what the one under way would have
/// left.
#[test]
fn loads_and_updates_of_whole_tables_outlive_cuts() {
    let cuts: u32 = SEEDS.iter().map(|seed| lives(*seed)).sum();
    assert!(cuts as usize > SEEDS.len(), "{cuts} cuts");
}
