//! Histories of lists over the engine: sessions that append to rows and read them, at both levels,
//! judged by [`append::check`](crate::append::check) from nothing but what they were told.
//!
//! ```text
//!   lists, empty ──▶ sessions ──▶ power cut, or not ──▶ sessions ──▶ all lists are read ──▶ check
//! ```
//!
//! A list is a row of a heap: its number, and its values, each as wide as the seed says, so that
//! some grow over several blocks. An append is a statement that begins again as it must.
//!
//! Callers: the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use access::{Changed, Heap, HeapInserter, RowAddress};
use instance::{CommitMode, CommitWait, Instance, Sabotage, Transaction};
use os::{Session, ThreadSpec};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{Failure, Outside, Perturbation, World};
use stop::{RefusalKind, Stop};
use txn::Snapshot;
use waits::{Nanos, WaitEvent};

use crate::append::{Level, Summary, check};
use crate::history::{History, Key, Value};
use crate::model_check::{Plan, base, heaps};
use crate::shape::{DIRECTORY, machine};
use crate::sweep::left;
use crate::{Violation, history};

/// Bytes of a list before its values.
const HEAD: usize = 4;

/// A statement that begins again more often than this never ends.
const RESTARTS_MAX: u32 = 2_000;

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
    pub sabotage: Sabotage,
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
pub struct AppendBases(BTreeMap<u64, (FileSystem, Lists)>);

/// Where each list is: its heap, and its row.
type Lists = Arc<Vec<(usize, RowAddress)>>;

impl AppendCheck {
    /// A history of some hundred transactions.
    pub fn of(seed: u64) -> AppendCheck {
        AppendCheck { seed, transactions: 12, sabotage: Sabotage::NONE }
    }

    /// Runs it and judges it.
    pub fn run(&self, bases: &mut AppendBases) -> Result<AppendTally, Violation> {
        self.judged(bases).map_err(|Violation(what)| Violation(format!("{what}\nin {self:?}")))
    }

    fn judged(&self, bases: &mut AppendBases) -> Result<AppendTally, Violation> {
        let mut plan = Plan::of(self.seed % BASES, Sabotage::NONE);
        let (disk, lists) = match bases.0.get(&(self.seed % BASES)) {
            Some(base) => base.clone(),
            None => {
                let made = with_lists(&plan, self.seed % BASES)?;
                bases.0.insert(self.seed % BASES, made.clone());
                made
            }
        };
        plan.parameters.sabotage = self.sabotage;
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
            .map_err(|anomaly| Violation(anomaly.to_string()))?;
        Ok(AppendTally { summary, cuts: u64::from(cut), ..told.tally })
    }
}

/// A disk with heaps, and all lists in them.
fn with_lists(plan: &Plan, seed: u64) -> Result<(FileSystem, Lists), Violation> {
    let made = Outside::<Vec<(usize, RowAddress)>>::default();
    let (into, inside) = (made.clone(), plan.clone());
    let count = plan.rows as usize / 2;
    let machine = machine(seed, base(plan, seed)?, Perturbation::NONE);
    let report = machine.run(move |world, session| {
        let parameters = &inside.parameters;
        let instance = Instance::open(&world.disk(), Path::new(DIRECTORY), parameters, session)?;
        let heaps = heaps(&inside, &instance, session)?;
        let mut transaction = Transaction::new();
        for list in 0..count {
            let number = u32::try_from(list).expect("few").to_le_bytes();
            let (heap, mut inserter) = (list % heaps.len(), HeapInserter::default());
            let heap_of = &heaps[heap];
            let at = heap_of.insert(&mut transaction, &mut inserter, &number, session)?;
            into.with(|made| made.push((heap, at)));
        }
        instance.commit(transaction, session)?;
        drop(heaps);
        instance.shutdown(session)
    });
    match &report.result {
        Ok(Ok(())) => Ok((left(report), Arc::new(made.take()))),
        Ok(Err(stop)) => Err(Violation(format!("lists can't be made: {stop}"))),
        Err(failure) => Err(Violation(format!("lists can't be made: {failure}"))),
    }
}

/// What is kept outside the machine.
#[derive(Default)]
struct Told {
    history: History,
    value: Value,
    tally: AppendTally,
    wrong: Option<String>,
}

#[derive(Clone)]
struct Load {
    check: AppendCheck,
    plan: Plan,
    lists: Lists,
    /// Bytes of a value.
    width: usize,
    nowait: bool,
    told: Outside<Told>,
}

impl Load {
    fn round(
        &self,
        disk: FileSystem,
        round: u64,
        cut: Option<u64>,
    ) -> Result<FileSystem, Violation> {
        let seed = self.check.seed * 2 + round;
        let inside = self.clone();
        let machine = machine(seed, disk, self.plan.perturbation);
        let report = machine.run(move |world, session| inside.inside(seed, cut, world, session));
        if let Some(wrong) = self.told.with(|told| told.wrong.take()) {
            return Err(Violation(wrong));
        }
        match &report.result {
            Ok(Ok(())) => {}
            Err(Failure::PowerLost) if cut.is_some() => {}
            Ok(Err(stop)) => return Err(Violation(format!("it stopped: {stop}"))),
            Err(failure) => return Err(Violation(format!("in the machine: {failure}"))),
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
    ) -> Result<(), Stop> {
        let parameters = &self.plan.parameters;
        let instance = Instance::open(&world.disk(), Path::new(DIRECTORY), parameters, session)?;
        let instance = Arc::new(instance);
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
            let (load, instance) = (self.clone(), Arc::clone(&instance));
            let spec = ThreadSpec::foreground(format!("session{number}"));
            threads.push(session.spawn(spec, move |session| {
                let mut writer = Writer::new(&load, (number, seed), &instance, session);
                for _ in 0..load.check.transactions {
                    writer.transaction();
                }
            })?);
        }
        for thread in threads {
            assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
        }
        if cut.is_some() {
            world.cut_power();
        }
        Writer::new(&self, (self.plan.sessions, seed), &instance, session).read_all();
        let instance = Arc::into_inner(instance).expect("the sessions have ended");
        while !instance.transactions().active().all(session).is_empty() {
            session.pause(Nanos::from_millis(100), session.waiting(WaitEvent::PlSqlLockTimer));
        }
        instance.shutdown(session)
    }
}

/// A session.
struct Writer<'a> {
    load: &'a Load,
    number: u32,
    instance: &'a Instance,
    session: &'a Session,
    heaps: Vec<Heap>,
    inserters: Vec<HeapInserter>,
    random: Xoshiro256PlusPlus,
}

/// What a statement does.
struct Asked {
    appends: Vec<(Key, Value)>,
    reads: Vec<Key>,
}

/// Lists that a statement was told.
type Reads = Vec<(Key, Vec<Value>)>;

impl<'a> Writer<'a> {
    fn new(
        load: &'a Load,
        (number, seed): (u32, u64),
        instance: &'a Instance,
        session: &'a Session,
    ) -> Writer<'a> {
        let heaps = heaps(&load.plan, instance, session);
        let heaps = heaps.expect("nothing halts the instance, and its files can be read");
        Writer {
            load,
            number,
            instance,
            session,
            inserters: heaps.iter().map(|_| HeapInserter::default()).collect(),
            heaps,
            random: Xoshiro256PlusPlus::seed_from_u64(seed * 1_000 + u64::from(number)),
        }
    }

    fn any(&mut self, below: u64) -> u64 {
        self.random.random_range(0..below)
    }

    fn wrong(&self, what: String) {
        self.load.told.with(|told| {
            told.wrong.get_or_insert(what);
        });
    }

    fn begin(&mut self, is_serializable: bool) -> Result<(Transaction, usize), Stop> {
        let number = self.load.told.with(|told| {
            let number = told.history.begin(self.number);
            let level = match is_serializable {
                true => Level::SnapshotIsolation,
                false => Level::ReadCommitted,
            };
            told.history.level(number, level);
            number
        });
        let transaction = match is_serializable {
            true => self.instance.transactions().begin_serializable(self.session)?,
            false => Transaction::new(),
        };
        Ok((transaction, number))
    }

    fn transaction(&mut self) {
        let is_serializable = self.any(2) == 0;
        let Ok((mut transaction, number)) = self.begin(is_serializable) else { return };
        let mut savepoint: Option<(txn::Savepoint, history::Savepoint)> = None;
        for _ in 0..1 + self.any(4) {
            match self.any(8) {
                0 => {
                    let told = &self.load.told;
                    let saved = told.with(|told| told.history.savepoint(number));
                    savepoint = Some((transaction.savepoint(), saved));
                }
                1 => {
                    if let Some((at, saved)) = savepoint {
                        let transactions = self.instance.transactions();
                        let back = transactions.rollback_to(&mut transaction, at, self.session);
                        back.unwrap_or_else(|stop| self.wrong(format!("going back: {stop}")));
                        self.load.told.with(|told| told.history.rolled_back_to(number, saved));
                    }
                }
                _ => {
                    if !self.statement(&mut transaction, number) && self.any(2) == 0 {
                        break;
                    }
                }
            }
        }
        self.end(transaction, number);
    }

    fn end(&mut self, transaction: Transaction, number: usize) {
        let (told, session) = (self.load.told.clone(), self.session);
        if self.any(6) == 0 {
            let rolled_back = self.instance.rollback(transaction, session);
            rolled_back.unwrap_or_else(|stop| self.wrong(format!("rolling back: {stop}")));
            told.with(|told| told.history.aborted(number));
            return;
        }
        let modes = if self.load.nowait { 4 } else { 2 };
        let mode = CommitMode::ALL[self.any(modes) as usize];
        told.with(|told| told.history.commit_called(number));
        match self.instance.commit_with(transaction, mode, session) {
            Ok(_) if mode.wait == CommitWait::Nowait => {}
            Ok(_) => told.with(|told| told.history.acknowledged(number)),
            Err(_) => told.with(|told| told.history.aborted(number)),
        }
    }

    /// One statement; false if it was refused.
    fn statement(&mut self, transaction: &mut Transaction, number: usize) -> bool {
        let told = self.load.told.clone();
        let lists = self.load.lists.len() as u64;
        let keys: BTreeSet<Key> = (0..1 + self.any(3)).map(|_| self.any(lists)).collect();
        let mut asked = Asked { appends: Vec::new(), reads: Vec::new() };
        told.with(|told| told.history.called(number));
        for key in keys {
            if self.any(5) < 2 {
                let value = told.with(|told| {
                    told.value += 1;
                    told.history.append(number, key, told.value);
                    told.value
                });
                asked.appends.push((key, value));
            } else {
                asked.reads.push(key);
            }
        }
        match self.run(transaction, &asked) {
            Ok(reads) => told.with(|told| {
                for (key, list) in reads {
                    told.history.read(number, key, list);
                }
                told.history.returned(number);
                true
            }),
            Err(stop) => {
                let expected = [
                    RefusalKind::Deadlock,
                    RefusalKind::Serialization,
                    RefusalKind::NoSpace,
                    RefusalKind::SnapshotTooOld,
                ];
                if !stop.refusal().is_some_and(|kind| expected.contains(&kind)) {
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

    fn run(&mut self, transaction: &mut Transaction, asked: &Asked) -> Result<Reads, Stop> {
        let transactions = self.instance.transactions();
        for _ in 0..RESTARTS_MAX {
            let savepoint = transaction.savepoint();
            transaction.begin_statement();
            let tried = self.try_run(transaction, asked);
            transaction.end_statement();
            if let Ok(Some(reads)) = tried {
                return Ok(reads);
            }
            transactions.rollback_to(transaction, savepoint, self.session)?;
            tried?;
            if transaction.is_serializable() {
                return Err(Stop::refuse(RefusalKind::Serialization, "it was changed since"));
            }
            self.load.told.with(|told| told.tally.restarts += 1);
        }
        Err(Stop::refuse(RefusalKind::Invalid, "a statement began again for ever"))
    }

    /// None if it has to begin again.
    fn try_run(
        &mut self,
        transaction: &mut Transaction,
        asked: &Asked,
    ) -> Result<Option<Reads>, Stop> {
        let transactions = self.instance.transactions();
        let snapshot = transactions.snapshot(Some(transaction), self.session)?;
        for (key, value) in &asked.appends {
            if !self.append(transaction, &snapshot, (*key, *value))? {
                return Ok(None);
            }
        }
        let mut reads = Reads::new();
        for key in &asked.reads {
            reads.push((*key, self.list(transaction, &snapshot, *key)?));
        }
        Ok(Some(reads))
    }

    fn append(
        &mut self,
        transaction: &mut Transaction,
        snapshot: &Snapshot<'_>,
        (key, value): (Key, Value),
    ) -> Result<bool, Stop> {
        let (heap, address) = self.load.lists[key as usize];
        let view = self.instance.transactions().view_of(snapshot, Some(transaction));
        let width = self.load.width;
        let mut length = 0;
        let mut change = |old: &[u8], new: &mut Vec<u8>| {
            new.extend_from_slice(old);
            new.extend_from_slice(&u32::try_from(value).expect("few").to_le_bytes());
            new.resize(old.len() + width, value as u8);
            length = new.len();
        };
        let (target, inserter) = ((address, Some(view)), &mut self.inserters[heap]);
        let changed =
            self.heaps[heap].update(transaction, inserter, target, &mut change, self.session)?;
        let chained = length > self.load.plan.creation.db_block_size.bytes();
        self.load.told.with(|told| told.tally.chained += u64::from(chained));
        Ok(changed == Changed::Yes)
    }

    fn list(
        &self,
        transaction: &Transaction,
        snapshot: &Snapshot<'_>,
        key: Key,
    ) -> Result<Vec<Value>, Stop> {
        let (heap, address) = self.load.lists[key as usize];
        let view = self.instance.transactions().view_of(snapshot, Some(transaction));
        let mut look = |row: &[u8]| row.to_vec();
        let row = self.heaps[heap].fetch(view, address, &mut look, self.session)?;
        let row = row.unwrap_or_default();
        let whole = row.len() >= HEAD && row[..HEAD] == (key as u32).to_le_bytes();
        if !whole || !(row.len() - HEAD).is_multiple_of(self.load.width) {
            self.wrong(format!("list {key} has {} bytes, and isn't one", row.len()));
            return Ok(Vec::new());
        }
        let values = row[HEAD..].chunks(self.load.width);
        let value = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().expect("four"));
        Ok(values.map(|bytes| value(bytes).into()).collect())
    }

    fn read_all(&mut self) {
        let Ok((mut transaction, number)) = self.begin(false) else { return };
        let told = self.load.told.clone();
        told.with(|told| told.history.called(number));
        let reads = (0..self.load.lists.len() as Key).collect();
        match self.run(&mut transaction, &Asked { appends: Vec::new(), reads }) {
            Ok(reads) => told.with(|told| {
                for (key, list) in reads {
                    told.history.read(number, key, list);
                }
                told.history.returned(number);
            }),
            Err(stop) => self.wrong(format!("reading all: {stop}")),
        }
        drop(transaction);
        told.with(|told| told.history.aborted(number));
    }
}
