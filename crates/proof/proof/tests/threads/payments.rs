//! Payments between few accounts by threads of the real machine, while somebody defines: a thread
//! may be put off anywhere, also where a simulated machine never stops one.
//!
//! ```text
//!   payers: get, update, delete and insert again, savepoints, both levels ─┐
//!   definer: adds and drops columns and indexes                            ├─▶ accounts
//!   readers: by key, all, by an index that comes and goes                  ─┘
//!      └─▶ what is there together, and how many rows: always the same
//! ```
//!
//! A database has one or two places in its table of transactions, so that each is used again at
//! once. What ran can't be repeated: a finding says what was seen, and is then looked for in the
//! simulator.
//!
//! Callers: the test `threads`, in a short form; the example `threads`, for as long as one likes.

use std::fmt;
use std::ops::{AddAssign, ControlFlow};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use database::{
    Alteration, Bounds, ColumnSpec, CommitLogging, CommitMode, CommitWait, Connection, Creation,
    Database, Direction, Error, ErrorKind, ForUpdate, IndexSpec, LockWait, Nanos, Options,
    Parameters, Table, TableSpec, Tx, Type, Value, is_worth_repeating,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const ACCOUNTS: i64 = 40;
const EACH: i64 = 100;
const PAYERS: u64 = 3;
const READERS: u64 = 4;
/// Columns that a table gets before the next table's turn.
const COLUMNS: usize = 24;
const LONGEST: usize = 150;
const INDEX: &str = "by_balance";

/// How often things happened.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    rounds: u64,
    commits: u64,
    rollbacks: u64,
    repeats: u64,
    reads: u64,
    index_reads: u64,
    without_index: u64,
    definitions: u64,
}

impl Tally {
    /// What never happened.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let asked = [
            ("a commit", self.commits),
            ("a rollback", self.rollbacks),
            ("a transaction that began again", self.repeats),
            ("a read", self.reads),
            ("a read by the index", self.index_reads),
            ("a read for which the index was gone", self.without_index),
            ("a definition", self.definitions),
        ];
        asked.into_iter().filter(|(_, count)| *count == 0).map(|(what, _)| what).collect()
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.rounds += other.rounds;
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.repeats += other.repeats;
        self.reads += other.reads;
        self.index_reads += other.index_reads;
        self.without_index += other.without_index;
        self.definitions += other.definitions;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} tables, {} commits, {} rollbacks, {} repeats, {} reads, {} by the index, \
             {} without it, {} definitions",
            self.rounds,
            self.commits,
            self.rollbacks,
            self.repeats,
            self.reads,
            self.index_reads,
            self.without_index,
            self.definitions
        )
    }
}

/// What a thread needs of the round that it is in.
struct Round<'d> {
    database: &'d Database,
    table: String,
    /// All have looked the table up, as it was made.
    ready: Barrier,
    over: AtomicBool,
    /// The first thing that was wrong.
    wrong: Mutex<Option<String>>,
}

impl Round<'_> {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Ends the round with what was wrong.
    fn blame(&self, what: String) {
        self.over.store(true, Ordering::Relaxed);
        self.wrong.lock().expect("nobody panics with it").get_or_insert(what);
    }

    fn connect(&self, name: &str) -> (Connection<'static>, Table) {
        let mut connection = self.database.connect(name);
        connection.set_lock_wait(LockWait::For(Nanos::from_secs(60)));
        let table = connection.table(&self.table).expect("it was made before");
        self.ready.wait();
        (connection, table)
    }
}

/// Runs rounds for so long, with a table each.
pub(crate) fn run(directory: &Path, (seconds, seed): (u64, u64)) -> Result<Tally, String> {
    let until = Instant::now() + Duration::from_secs(seconds);
    let creation =
        Creation { undo_segments: 2, undo_slots: 1 + (seed % 2) as u16, ..Creation::default() };
    let parameters = Parameters { db_cache_size: 8 << 20, ..Parameters::default() };
    let options = Options { creation, parameters, ..Options::default() };
    let database = Database::create(directory, &options).map_err(|stop| stop.to_string())?;
    let mut tally = Tally::default();
    while Instant::now() < until {
        tally += round(&database, seed + tally.rounds)?;
    }
    database.shutdown().map_err(|stop| stop.to_string())?;
    Ok(tally)
}

fn round(database: &Database, seed: u64) -> Result<Tally, String> {
    let table = format!("account{seed}");
    make(&mut database.connect("maker"), &table).map_err(|stop| stop.to_string())?;
    let ready = Barrier::new((PAYERS + READERS + 1) as usize);
    let (over, wrong) = (AtomicBool::new(false), Mutex::new(None));
    let round = Round { database, table, ready, over, wrong };
    let mut tally = Tally { rounds: 1, ..Tally::default() };
    thread::scope(|scope| {
        let round = &round;
        let draws = |number| Xoshiro256PlusPlus::seed_from_u64(seed << 8 | number);
        let payers =
            (0..PAYERS).map(|number| scope.spawn(move || pay_until_over(round, draws(number))));
        let mut threads: Vec<_> = payers.collect();
        let numbers = PAYERS..PAYERS + READERS;
        threads.extend(
            numbers.map(|number| scope.spawn(move || read_until_over(round, draws(number)))),
        );
        match define(round, &mut draws(255)) {
            Ok(definitions) => tally.definitions = definitions,
            Err(stop) => round.blame(format!("a definition: {stop}")),
        }
        round.over.store(true, Ordering::Relaxed);
        for thread in threads {
            match thread.join() {
                Ok(done) => tally += done,
                Err(_) => round.blame("a thread panicked".to_owned()),
            }
        }
    });
    let wrong = round.wrong.into_inner().expect("nobody panics with it");
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    let dropped = database.connect("maker").drop_table(&round.table, false);
    dropped.map_err(|stop| stop.to_string())?;
    Ok(tally)
}

fn make(connection: &mut Connection<'_>, name: &str) -> Result<(), Error> {
    let spec = TableSpec::new(name)
        .column(ColumnSpec::new("id", Type::BigInt).not_null())
        .column(ColumnSpec::new("balance", Type::BigInt).not_null())
        .column(ColumnSpec::new("note", Type::Text))
        .primary_key(["id"]);
    let table = connection.create_table(&spec)?;
    let mut tx = connection.begin();
    for id in 0..ACCOUNTS {
        tx.insert(&table, &[Value::Int(id), Value::Int(EACH), Value::Text("first")])?;
    }
    tx.commit()
}

/// Columns and indexes come and go. How many definitions there were.
fn define(round: &Round<'_>, draws: &mut Xoshiro256PlusPlus) -> Result<u64, Error> {
    let (mut connection, _) = round.connect("definer");
    let (table, mut definitions, mut columns) = (&round.table, 0, Vec::new());
    let index = IndexSpec::new(INDEX, table, ["balance"]);
    for number in 0..COLUMNS {
        if round.is_over() {
            break;
        }
        connection.create_index(&index)?;
        let column = format!("added{number}");
        let spec = ColumnSpec::new(&column, Type::Integer)
            .default_value(Value::Int(number as i64).to_owned());
        connection.alter_table(table, &Alteration::AddColumn(spec))?;
        columns.push(column);
        thread::sleep(Duration::from_millis(draws.random_range(0..8)));
        connection.drop_index(INDEX)?;
        if draws.random_range(0..3) == 0 {
            let column = columns.swap_remove(draws.random_range(0..columns.len()));
            connection.alter_table(table, &Alteration::DropColumn(column))?;
            definitions += 1;
        }
        definitions += 3;
    }
    Ok(definitions)
}

/// What became of a payment.
enum Paid {
    Committed,
    RolledBack,
}

fn pay_until_over(round: &Round<'_>, mut draws: Xoshiro256PlusPlus) -> Tally {
    let (mut connection, table) = round.connect("payer");
    let mut tally = Tally::default();
    while !round.is_over() {
        match pay(&mut connection, &table, &mut draws) {
            Ok(Paid::Committed) => tally.commits += 1,
            Ok(Paid::RolledBack) => tally.rollbacks += 1,
            Err(stop) if is_worth_repeating(&stop) => tally.repeats += 1,
            Err(stop) => round.blame(format!("a payment: {stop}")),
        }
    }
    tally
}

/// From one account to another, in the order of their numbers, so that nobody waits in a circle.
fn pay(
    connection: &mut Connection<'_>,
    table: &Table,
    draws: &mut Xoshiro256PlusPlus,
) -> Result<Paid, Error> {
    let one = draws.random_range(0..ACCOUNTS - 1);
    let other = draws.random_range(one + 1..ACCOUNTS);
    let amount = draws.random_range(-9..10);
    let mut tx = if draws.random_range(0..3) == 0 {
        connection.begin_serializable()?
    } else {
        connection.begin()
    };
    let savepoint = tx.savepoint();
    if draws.random_range(0..8) == 0 {
        add(&mut tx, table, (one, amount), draws)?;
        tx.rollback_to(savepoint)?;
    }
    add(&mut tx, table, (one, amount), draws)?;
    add(&mut tx, table, (other, -amount), draws)?;
    if draws.random_range(0..10) == 0 {
        tx.rollback()?;
        return Ok(Paid::RolledBack);
    }
    let mode = CommitMode::ALL[draws.random_range(0..CommitMode::ALL.len())];
    // Who waits for a batch may wait for seconds, with all who wait for its rows.
    let waits_for_batch = mode.logging == CommitLogging::Batch && mode.wait == CommitWait::Wait;
    tx.commit_with(if waits_for_batch { CommitMode::DURABLE } else { mode })?;
    Ok(Paid::Committed)
}

fn add(
    tx: &mut Tx<'_, '_>,
    table: &Table,
    (id, amount): (i64, i64),
    draws: &mut Xoshiro256PlusPlus,
) -> Result<(), Error> {
    let note = "x".repeat(draws.random_range(0..LONGEST));
    let key = [Value::Int(id)];
    if draws.random_range(0..6) > 0 {
        let changed = tx.update(table, &key, |row, set| {
            set.set(1, Value::Int(row.get_i64(1).unwrap_or(0) + amount))?;
            set.set(2, Value::Text(&note))
        })?;
        assert!(changed, "account {id} is always there");
        return Ok(());
    }
    let locked = tx.get_for_update(table, &key, ForUpdate::wait(), |row| row.get_i64(1))?;
    let balance = locked.flatten().expect("it is always there");
    assert!(tx.delete(table, &key)?, "account {id} was locked");
    tx.insert(table, &[Value::Int(id), Value::Int(balance + amount), Value::Text(&note)])?;
    Ok(())
}

fn read_until_over(round: &Round<'_>, mut draws: Xoshiro256PlusPlus) -> Tally {
    let (mut connection, table) = round.connect("reader");
    let mut tally = Tally::default();
    while !round.is_over() {
        let read = match draws.random_range(0..24) {
            0 => sum_by_index(&mut connection, &round.table, &mut tally),
            1 => sum_twice(&mut connection, &table),
            2..5 => sum_of_all(&mut connection, &table),
            _ => one_of(&mut connection, &table, draws.random_range(0..ACCOUNTS)),
        };
        match read {
            Ok(()) => tally.reads += 1,
            Err(what) => round.blame(what),
        }
    }
    tally
}

fn one_of(connection: &mut Connection<'_>, table: &Table, id: i64) -> Result<(), String> {
    match connection.get(table, &[Value::Int(id)], |row| row.get_i64(1)) {
        Ok(Some(Some(_))) => Ok(()),
        Ok(found) => Err(format!("account {id} is not there: {found:?}")),
        Err(stop) => Err(format!("account {id}: {stop}")),
    }
}

/// Rows, and what they come to.
type Sum = (i64, i64);

fn judge(how: &str, sum: Sum) -> Result<(), String> {
    if sum == (ACCOUNTS, ACCOUNTS * EACH) {
        return Ok(());
    }
    Err(format!("{how}: {} accounts have {}, not {ACCOUNTS} {}", sum.0, sum.1, ACCOUNTS * EACH))
}

fn add_row(sum: &mut Sum, balance: Option<i64>) {
    *sum = (sum.0 + 1, sum.1 + balance.unwrap_or(0));
}

fn sum_of_all(connection: &mut Connection<'_>, table: &Table) -> Result<(), String> {
    let mut sum = (0, 0);
    let read = connection.scan(table, |row| add_row(&mut sum, row.get_i64(1)));
    read.map_err(|stop| format!("a scan: {stop}"))?;
    judge("a scan", sum)
}

/// By two ways at one snapshot.
fn sum_twice(connection: &mut Connection<'_>, table: &Table) -> Result<(), String> {
    let tell = |stop: Error| format!("a serializable read: {stop}");
    let mut tx = connection.begin_serializable().map_err(tell)?;
    let mut sums = [(0, 0); 2];
    tx.scan(table, |row| add_row(&mut sums[0], row.get_i64(1))).map_err(tell)?;
    tx.range(
        table,
        table.primary().expect("it has"),
        &Bounds::equal(&[]),
        Direction::Descending,
        |row| {
            add_row(&mut sums[1], row.get_i64(1));
            ControlFlow::Continue(())
        },
    )
    .map_err(tell)?;
    judge("a scan at a snapshot", sums[0])?;
    judge("a range at the same snapshot", sums[1])
}

fn sum_by_index(
    connection: &mut Connection<'_>,
    name: &str,
    tally: &mut Tally,
) -> Result<(), String> {
    let tell = |stop: Error| format!("a range of the index: {stop}");
    let table = connection.table(name).map_err(tell)?;
    let Ok(index) = table.index(INDEX) else {
        tally.without_index += 1;
        return Ok(());
    };
    // Once more than the index may last.
    for _ in 0..20 {
        let mut sum = (0, 0);
        let read =
            connection.range(&table, index, &Bounds::equal(&[]), Direction::Ascending, |row| {
                add_row(&mut sum, row.get_i64(1));
                ControlFlow::Continue(())
            });
        match read {
            Ok(()) => tally.index_reads += 1,
            // The index went before the statement began, or since.
            Err(stop)
                if matches!(
                    stop.refusal(),
                    Some(ErrorKind::NotFound | ErrorKind::DefinitionChanged)
                ) =>
            {
                tally.without_index += 1;
                return Ok(());
            }
            Err(stop) => return Err(tell(stop)),
        }
        judge("a range of the index", sum)?;
    }
    Ok(())
}
