//! Histories of lists over the engine: sessions that append to rows and read them through several
//! indexes, at both levels, judged by [`append::check`](crate::append::check) from nothing but what
//! they were told.
//!
//! ```text
//!   lists, empty ──▶ sessions ──▶ power cut, or not ──▶ sessions ──▶ all lists are read ──▶ check
//! ```
//!
//! A list is a row of a typed table: its number, which is the primary key; a name, which is unique;
//! a kind, which others have as well; and its values, each as wide as the seed says, so that some
//! rows grow over several blocks. A statement finds lists by any of the three, or reads all. So a
//! read is told through an index what was appended through another.
//!
//! Callers: the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use database::{
    Bounds, ColumnSpec, CommitMode, Connection, Database, Direction, Error, ErrorKind, IndexId,
    IndexSpec, Options, Row, RowChange, Savepoint, Selection, Table, TableSpec, Tx, Type,
    Value as Cell,
};
use instance::{CommitWait, Instance};
use os::{Session, ThreadSpec};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{Failure, Outside, Perturbation, World};
use stop::Failpoints;
use waits::{Nanos, WaitEvent};

use crate::append::{Level, Summary, check};
use crate::history::{History, Key, Value};
use crate::model_check::Plan;
use crate::shape::{DIRECTORY, machine, machine_for};
use crate::sweep::left;
use crate::{Breach, Check, Violation, history};

/// The table of lists, and its columns.
const LIST: &str = "list";
const NAME: usize = 1;
const KIND: usize = 2;
const ITEMS: usize = 3;

/// Lists have so many kinds.
const KINDS: u64 = 3;

/// A round takes seconds of virtual time; but a batched commit that waits takes LGWR's three, and
/// who waits for its lock as long: a minute and more in one seed of some thousands. One that takes
/// longer than this never ends.
const TIME_LIMIT_NS: u64 = 300_000_000_000;

/// Databases of so many kinds.
const BASES: u64 = 24;

/// One history.
#[derive(Clone, Copy, Debug)]
pub struct AppendCheck {
    /// Decides everything else.
    pub seed: u64,
    /// Transactions of a session in a round.
    pub transactions: u32,
    /// Whether the engine is broken on purpose.
    pub failpoints: Failpoints,
}

/// What came up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AppendTally {
    /// What was in the histories.
    pub summary: Summary,
    /// Statements that began again.
    pub restarts: u64,
    /// Statements that were refused.
    pub refusals: u64,
    /// Lists written that are longer than a block.
    pub chained: u64,
    /// Power cuts.
    pub cuts: u64,
}

impl std::ops::AddAssign for AppendTally {
    fn add_assign(&mut self, other: AppendTally) {
        self.summary += other.summary;
        self.restarts += other.restarts;
        self.refusals += other.refusals;
        self.chained += other.chained;
        self.cuts += other.cuts;
    }
}

/// Databases with empty lists, made once.
#[derive(Default)]
pub struct AppendBases(BTreeMap<u64, FileSystem>);

impl AppendCheck {
    /// A history of some hundred transactions.
    pub fn of(seed: u64) -> AppendCheck {
        AppendCheck { seed, transactions: 12, failpoints: Failpoints::NONE }
    }

    /// Runs it and judges it.
    pub fn run(&self, bases: &mut AppendBases) -> Result<AppendTally, Breach> {
        self.judged(bases).map_err(|breach| breach.with(format!("in {self:?}")))
    }

    fn judged(&self, bases: &mut AppendBases) -> Result<AppendTally, Breach> {
        let number = self.seed % BASES;
        let mut plan = Plan::of(number, Failpoints::NONE);
        let lists = 3 + number % 10;
        let disk = match bases.0.get(&number) {
            Some(base) => base.clone(),
            None => {
                let made = with_lists(&plan, lists, number)?;
                bases.0.insert(number, made.clone());
                made
            }
        };
        plan.parameters.failpoints = self.failpoints;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let cut = random.random_range(0..3) > 0;
        let at = random.random_range(0..200_000 * u64::from(self.transactions * plan.sessions));
        let told = Outside::<Told>::default();
        told.with(|told| told.value = 1);
        let load = Load {
            check: *self,
            width: [4, 4, 40, 300][random.random_range(0..4)],
            // What is read of such a commit is lost with it in a crash.
            nowait: !cut && random.random_range(0..2) == 0,
            plan,
            lists,
            told: told.clone(),
        };
        let disk = load.round(disk, 0, cut.then_some(at))?;
        load.round(disk, 1, None)?;
        let told = told.take();
        let summary = check(&told.history, Level::SnapshotIsolation)
            .map_err(|anomaly| Violation(anomaly.to_string()).by(Check::History))?;
        Ok(AppendTally { summary, cuts: u64::from(cut), ..told.tally })
    }
}

fn options(plan: &Plan) -> Options {
    Options {
        creation: plan.creation.clone(),
        parameters: plan.parameters.clone(),
        ..Options::default()
    }
}

/// Somebody panicked, or was stopped.
fn halts(what: String) -> Breach {
    Violation(what).by(Check::Runs)
}

fn name_of(list: u64) -> String {
    format!("list {list}")
}

/// A disk with all lists, empty.
fn with_lists(plan: &Plan, lists: u64, seed: u64) -> Result<FileSystem, Breach> {
    let options = options(plan);
    let machine = machine(seed, FileSystem::new(1 << 30), Perturbation::NONE);
    let report = machine.run(move |world, session| {
        let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
        Instance::create(&disk, directory, &options.creation, &options.parameters, session)?;
        let database = Database::open_in(&disk, directory, &options, session)?;
        let mut connection = database.connect_with(session);
        make(&mut connection, lists)?;
        drop(connection);
        database.shutdown_by(session)
    });
    match &report.result {
        Ok(Ok(())) => Ok(left(report)),
        Ok(Err(stop)) => Err(halts(format!("lists can't be made: {stop}"))),
        Err(failure) => Err(halts(format!("lists can't be made: {failure}"))),
    }
}

fn make(connection: &mut Connection<'_>, lists: u64) -> Result<(), Error> {
    let spec = TableSpec::new(LIST)
        .column(ColumnSpec::new("number", Type::BigInt))
        .column(ColumnSpec::new("name", Type::varchar(20)?))
        .column(ColumnSpec::new("kind", Type::Integer))
        .column(ColumnSpec::new("items", Type::Bytea))
        .primary_key(["number"])
        .unique(["name"]);
    let table = connection.create_table(&spec)?;
    connection.create_index(&IndexSpec::new("by_kind", LIST, ["kind"]).descending(0))?;
    let mut tx = connection.begin();
    for list in 0..lists {
        let (name, kind) = (name_of(list), (list % KINDS) as i64);
        let row = [Cell::Int(list as i64), Cell::Text(&name), Cell::Int(kind), Cell::Bytes(&[])];
        tx.insert(&table, &row)?;
    }
    tx.commit()
}

/// What is kept outside the machine.
#[derive(Default)]
struct Told {
    history: History,
    value: Value,
    tally: AppendTally,
    wrong: Option<Breach>,
}

#[derive(Clone)]
struct Load {
    check: AppendCheck,
    plan: Plan,
    lists: u64,
    /// Bytes of a value.
    width: usize,
    nowait: bool,
    told: Outside<Told>,
}

impl Load {
    fn round(&self, disk: FileSystem, round: u64, cut: Option<u64>) -> Result<FileSystem, Breach> {
        let seed = self.check.seed * 2 + round;
        let inside = self.clone();
        let failpoints = self.check.failpoints;
        let mut machine = machine_for(failpoints, seed, disk, self.plan.perturbation);
        machine.time_limit_ns = TIME_LIMIT_NS;
        let report = machine.run(move |world, session| inside.inside(seed, cut, world, session));
        if let Some(wrong) = self.told.with(|told| told.wrong.take()) {
            return Err(wrong);
        }
        match &report.result {
            Ok(Ok(())) => {}
            Err(Failure::PowerLost) if cut.is_some() => {}
            Ok(Err(stop)) => return Err(halts(format!("it stopped: {stop}"))),
            Err(failure) => return Err(halts(format!("in the machine: {failure}"))),
        }
        let disk = left(report);
        Ok(if cut.is_some() { CrashStates::of(&disk).sample(seed) } else { disk })
    }

    fn inside(
        self,
        seed: u64,
        cut: Option<u64>,
        world: &World,
        session: &Session,
    ) -> Result<(), Error> {
        let database =
            Database::open_in(&world.disk(), Path::new(DIRECTORY), &options(&self.plan), session)?;
        if let Some(after) = cut {
            let world = world.clone();
            let ends = move |session: &Session| {
                session.pause(Nanos(after), session.waiting(WaitEvent::PlSqlLockTimer));
                world.cut_power();
            };
            session.spawn(ThreadSpec::foreground("ending"), ends)?;
        }
        let mut threads = Vec::new();
        for number in 0..self.plan.sessions {
            let (load, database) = (self.clone(), database.clone());
            let spec = ThreadSpec::foreground(format!("session{number}"));
            threads.push(session.spawn(spec, move |session| {
                let mut connection = database.connect_with(session);
                let mut writer = Writer::new(&load, number, seed, &connection);
                for _ in 0..load.check.transactions {
                    writer.transaction(&mut connection);
                }
            })?);
        }
        for thread in threads {
            assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
        }
        if cut.is_some() {
            world.cut_power();
        }
        let mut connection = database.connect_with(session);
        Writer::new(&self, self.plan.sessions, seed, &connection).read_all(&mut connection);
        drop(connection);
        database.instance().wait_for_dead(session);
        database.shutdown_by(session)
    }
}

/// A session.
struct Writer<'a> {
    load: &'a Load,
    number: u32,
    table: Table,
    random: Xoshiro256PlusPlus,
}

/// How a statement finds lists.
#[derive(Clone, Copy)]
enum By {
    Number(Key),
    Name(Key),
    /// All of a kind.
    Kind(u64),
    All,
}

/// Lists that a statement was told.
type Reads = Vec<(Key, Vec<Value>)>;

impl<'a> Writer<'a> {
    fn new(load: &'a Load, number: u32, seed: u64, connection: &Connection<'_>) -> Writer<'a> {
        let table = connection.table(LIST);
        let table = table.expect("nothing halts the instance, and its files can be read");
        let random = Xoshiro256PlusPlus::seed_from_u64(seed * 1_000 + u64::from(number));
        Writer { load, number, table, random }
    }

    fn any(&mut self, below: u64) -> u64 {
        self.random.random_range(0..below)
    }

    /// A session was refused what nothing speaks against.
    fn wrong(&self, what: String) {
        self.finds(halts(what));
    }

    fn finds(&self, breach: Breach) {
        self.load.told.with(|told| {
            told.wrong.get_or_insert(breach);
        });
    }

    fn begin(&self, is_serializable: bool) -> usize {
        self.load.told.with(|told| {
            let number = told.history.begin(self.number);
            let level = match is_serializable {
                true => Level::SnapshotIsolation,
                false => Level::ReadCommitted,
            };
            told.history.level(number, level);
            number
        })
    }

    fn transaction(&mut self, connection: &mut Connection<'_>) {
        let is_serializable = self.any(2) == 0;
        let number = self.begin(is_serializable);
        let mut tx = match is_serializable {
            true => match connection.begin_serializable() {
                Ok(tx) => tx,
                Err(stop) => return self.wrong(format!("beginning: {stop}")),
            },
            false => connection.begin(),
        };
        let mut savepoint: Option<(Savepoint, history::Savepoint)> = None;
        for _ in 0..1 + self.any(4) {
            match self.any(8) {
                0 => {
                    let told = &self.load.told;
                    let saved = told.with(|told| told.history.savepoint(number));
                    savepoint = Some((tx.savepoint(), saved));
                }
                1 => {
                    if let Some((at, saved)) = savepoint {
                        let back = tx.rollback_to(at);
                        back.unwrap_or_else(|stop| self.wrong(format!("going back: {stop}")));
                        self.load.told.with(|told| told.history.rolled_back_to(number, saved));
                    }
                }
                _ => {
                    if !self.statement(&mut tx, number) && self.any(2) == 0 {
                        break;
                    }
                }
            }
        }
        self.end(tx, number);
    }

    fn end(&mut self, tx: Tx<'_, '_>, number: usize) {
        let told = self.load.told.clone();
        if self.any(6) == 0 {
            let rolled_back = tx.rollback();
            rolled_back.unwrap_or_else(|stop| self.wrong(format!("rolling back: {stop}")));
            told.with(|told| told.history.aborted(number));
            return;
        }
        let modes = if self.load.nowait { 4 } else { 2 };
        let mode = CommitMode::ALL[self.any(modes) as usize];
        told.with(|told| told.history.commit_called(number));
        match tx.commit_with(mode) {
            Ok(_) if mode.wait == CommitWait::Nowait => {}
            Ok(_) => told.with(|told| told.history.acknowledged(number)),
            Err(_) => told.with(|told| told.history.aborted(number)),
        }
    }

    /// One statement; false if it was refused.
    fn statement(&mut self, tx: &mut Tx<'_, '_>, number: usize) -> bool {
        let told = self.load.told.clone();
        let list = self.any(self.load.lists);
        let by = match self.any(6) {
            0 => By::Number(list),
            1 | 2 => By::Name(list),
            3 | 4 => By::Kind(list % KINDS),
            _ => By::All,
        };
        told.with(|told| told.history.called(number));
        let done = match self.any(5) < 2 {
            true => self.append(tx, number, by).map(|()| Reads::new()),
            false => self.read(tx, by),
        };
        match done {
            Ok(reads) => told.with(|told| {
                for (key, list) in reads {
                    told.history.read(number, key, list);
                }
                told.history.returned(number);
                true
            }),
            Err(stop) => {
                let tight = [ErrorKind::NoSpace, ErrorKind::SnapshotTooOld];
                let expected = [ErrorKind::Deadlock, ErrorKind::Serialization];
                let is_expected = |kind| {
                    expected.contains(&kind) || self.load.plan.tight && tight.contains(&kind)
                };
                if !stop.refusal().is_some_and(is_expected) {
                    self.wrong(format!("it was refused: {stop}"));
                }
                told.with(|told| {
                    told.tally.refusals += 1;
                    told.history.refused(number);
                });
                false
            }
        }
    }

    fn lists(&self, by: By) -> BTreeSet<Key> {
        match by {
            By::Number(list) | By::Name(list) => BTreeSet::from([list]),
            By::Kind(kind) => (0..self.load.lists).filter(|list| list % KINDS == kind).collect(),
            By::All => (0..self.load.lists).collect(),
        }
    }

    /// The index of a column.
    fn index(&self, column: usize) -> IndexId {
        let mut indexes = self.table.definition().indexes.iter();
        let found = indexes.find(|index| index.columns[0].column == column);
        found.expect("the table was made with it").id()
    }

    /// Appends a new value to each list.
    fn append(&mut self, tx: &mut Tx<'_, '_>, number: usize, by: By) -> Result<(), Error> {
        let values: BTreeMap<Key, Value> = self.load.told.with(|told| {
            let new = |list| {
                told.value += 1;
                told.history.append(number, list, told.value);
                (list, told.value)
            };
            self.lists(by).into_iter().map(new).collect()
        });
        let (mut calls, mut longest, width) = (0, 0, self.load.width);
        let change = |row: &Row<'_>, new: &mut RowChange<'_>| {
            let mut items = bytes(row).to_vec();
            let list = row.get_i64(0).expect("a primary key isn't NULL") as Key;
            let value = values[&list];
            let end = items.len() + width;
            items.extend_from_slice(&u32::try_from(value).expect("few").to_le_bytes());
            items.resize(end, value as u8);
            calls += 1;
            longest = longest.max(end);
            new.set(ITEMS, Cell::Bytes(&items))
        };
        let (name, key, kind);
        let selection = match by {
            By::Number(list) => {
                key = [Cell::Int(list as i64)];
                Selection::Key(self.index(0), &key)
            }
            By::Name(list) => {
                name = name_of(list);
                key = [Cell::Text(&name)];
                Selection::Key(self.index(NAME), &key)
            }
            By::Kind(of) => {
                kind = [Cell::Int(of as i64)];
                Selection::Range(self.index(KIND), Bounds::equal(&kind))
            }
            By::All => Selection::All,
        };
        let count = tx.update_where(&self.table, selection, None, change)?;
        if count != values.len() as u64 {
            let what = format!("{count} lists were appended to, of {}", values.len());
            self.finds(Violation(what).by(Check::Statements));
        }
        let block = self.load.plan.creation.db_block_size.bytes();
        self.load.told.with(|told| {
            told.tally.restarts += u64::from(calls > count);
            told.tally.chained += u64::from(longest > block);
        });
        Ok(())
    }

    fn read(&mut self, tx: &mut Tx<'_, '_>, by: By) -> Result<Reads, Error> {
        let (mut reads, width) = (Reads::new(), self.load.width);
        let mut look = |row: Row<'_>| {
            let list = row.get_i64(0).expect("a primary key isn't NULL") as Key;
            reads.push((list, values(bytes(&row), width)));
        };
        match by {
            By::Number(list) => {
                tx.get(&self.table, &[Cell::Int(list as i64)], look)?;
            }
            By::Name(list) => {
                let name = name_of(list);
                tx.get_by(&self.table, self.index(NAME), &[Cell::Text(&name)], look)?;
            }
            By::Kind(kind) => {
                let (kind, by_kind) = ([Cell::Int(kind as i64)], self.index(KIND));
                let direction = [Direction::Ascending, Direction::Descending];
                let direction = direction[self.random.random_range(0..2)];
                tx.range(&self.table, by_kind, &Bounds::equal(&kind), direction, |row| {
                    look(row);
                    ControlFlow::Continue(())
                })?;
            }
            By::All => tx.scan(&self.table, look)?,
        }
        let found: BTreeSet<Key> = reads.iter().map(|(list, _)| *list).collect();
        if found.len() != reads.len() || found != self.lists(by) {
            let what = format!("lists {:?} were sought, and {reads:?} found", self.lists(by));
            self.finds(Violation(what).by(Check::Statements));
        }
        Ok(reads)
    }

    fn read_all(&mut self, connection: &mut Connection<'_>) {
        let number = self.begin(false);
        let told = self.load.told.clone();
        told.with(|told| told.history.called(number));
        let mut tx = connection.begin();
        match self.read(&mut tx, By::All) {
            Ok(reads) => told.with(|told| {
                for (key, list) in reads {
                    told.history.read(number, key, list);
                }
                told.history.returned(number);
            }),
            Err(stop) => self.wrong(format!("reading all: {stop}")),
        }
        drop(tx);
        told.with(|told| told.history.aborted(number));
    }
}

fn bytes<'v>(row: &Row<'v>) -> &'v [u8] {
    match row.get(ITEMS) {
        Ok(Cell::Bytes(items)) => items,
        other => panic!("a list has {other:?} for its values"),
    }
}

fn values(items: &[u8], width: usize) -> Vec<Value> {
    assert!(items.len().is_multiple_of(width), "a list of {} bytes isn't one", items.len());
    let value = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().expect("four"));
    items.chunks(width).map(|bytes| value(bytes).into()).collect()
}
