//! The stage: a simulated machine with a heap of two rows, and transactions that do as they are
//! told.

use std::path::Path;
use std::sync::Arc;

use access::{Changed, Heap, HeapInserter, RowAddress};
use ids::{BlockSize, Dba};
use instance::{Creation, Instance, Parameters, Transaction};
use latch::{Latch, LatchKind};
use os::{Session, ThreadHandle, ThreadSpec};
use sim::fs::FileSystem;
use sim::{Perturbation, Simulation};
use space::Holds;
use stop::{RefusalKind, Stop};
use txn::View;
use waits::{Nanos, WaitEvent};

const NAME: &str = "test";
const DIRECTORY: &str = "/db";

/// So many schedules of each case.
const SEEDS: u64 = 10;

/// So long a step is given to show that it doesn't end.
const LONG: Nanos = Nanos::from_millis(50);

/// What a transaction is promised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    ReadCommitted,
    Serializable,
}

/// A transaction.
pub(crate) struct Actor {
    transaction: Option<Transaction>,
    /// Whether its last change was done, and not refused.
    pub(crate) last: bool,
}

impl Actor {
    /// The transaction itself, for a step in another thread.
    pub(crate) fn take(&mut self) -> Actor {
        Actor { transaction: self.transaction.take(), last: self.last }
    }

    fn own(&self) -> &Transaction {
        self.transaction.as_ref().expect("it isn't in another thread")
    }
}

/// A row: its number and its value.
pub(crate) type Row = (u32, u32);

/// What is on stage.
pub(crate) struct Play<'a> {
    instance: Arc<Instance>,
    session: &'a Session,
    heap: Heap,
}

/// A step that waits.
pub(crate) struct Waiting {
    thread: ThreadHandle,
    result: Arc<Latch<Option<Actor>>>,
}

impl Waiting {
    /// What it came to, now that it can go on.
    pub(crate) fn ended(self, play: &Play<'_>) -> Actor {
        assert!(self.thread.join(play.session).is_ok(), "the step panicked");
        self.result.exclusive(play.session).take().expect("the step has ended")
    }
}

/// Plays a case under many schedules.
pub(crate) fn on_stage(case: impl Fn(&mut Play<'_>) + Clone + Send + 'static) {
    for seed in 0..SEEDS {
        let case = case.clone();
        let mut simulation = Simulation::new(seed);
        simulation.disks[0].content = FileSystem::new(1 << 30);
        simulation.perturbation = Perturbation::RACES;
        let report = simulation.run(move |world, session| {
            let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
            let creation = Creation {
                db_block_size: BlockSize::KIB_2,
                data_bytes: 400 * 2_048,
                log_file_bytes: u64::from(redo::LOG_BLOCKS_MIN) * 4_096,
                ..Creation::default()
            };
            let parameters = Parameters { db_cache_size: 128 * 2_048, ..Parameters::default() };
            Instance::create(&disk, directory, &creation, &parameters, session).expect("created");
            let instance = Instance::open(&disk, directory, &parameters, session).expect("opened");
            let segment = instance.space().create(NAME, Holds::Table, &[], session).expect("made");
            let instance = Arc::new(instance);
            let heap = Heap::new(&segment, instance.space(), instance.transactions(), session);
            let mut play = Play { instance, session, heap };
            let mut first = play.begin(Level::ReadCommitted);
            play.insert(&mut first, 1, 10);
            play.insert(&mut first, 2, 20);
            play.commit(first);
            case(&mut play);
            let Play { instance, heap, .. } = play;
            drop(heap);
            let instance = Arc::into_inner(instance).expect("all steps have ended");
            instance.shutdown(session).expect("nobody is active");
        });
        report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
}

impl Play<'_> {
    pub(crate) fn begin(&self, level: Level) -> Actor {
        let transactions = self.instance.transactions();
        let transaction = match level {
            Level::ReadCommitted => Transaction::new(),
            Level::Serializable => transactions.begin_serializable(self.session).expect("begun"),
        };
        Actor { transaction: Some(transaction), last: true }
    }

    pub(crate) fn commit(&self, actor: Actor) {
        let transaction = actor.transaction.expect("it isn't in another thread");
        self.instance.commit(transaction, self.session).expect("committed");
    }

    pub(crate) fn rollback(&self, actor: Actor) {
        let transaction = actor.transaction.expect("it isn't in another thread");
        self.instance.rollback(transaction, self.session).expect("rolled back");
    }

    pub(crate) fn insert(&self, actor: &mut Actor, number: u32, value: u32) {
        let transaction = actor.transaction.as_mut().expect("it isn't in another thread");
        let mut inserter = HeapInserter::default();
        let row = bytes((number, value));
        self.heap.insert(transaction, &mut inserter, &row, self.session).expect("inserted");
    }

    /// All rows that the transaction sees, by number.
    pub(crate) fn scan(&self, actor: &Actor) -> Vec<Row> {
        self.matching(actor, |_| true)
    }

    /// Those whose value is like this.
    pub(crate) fn matching(&self, actor: &Actor, is_like: impl Fn(u32) -> bool) -> Vec<Row> {
        let transactions = self.instance.transactions();
        let snapshot = transactions.snapshot(Some(actor.own()), self.session).expect("taken");
        let view = transactions.view_of(&snapshot, Some(actor.own()));
        let rows = rows(&self.heap, view, self.session).expect("read");
        let rows = rows.into_iter().map(|(_, row)| row);
        rows.filter(|(_, value)| is_like(*value)).collect()
    }

    pub(crate) fn get(&self, actor: &Actor, number: u32) -> Option<u32> {
        let found = self.scan(actor).into_iter().find(|(found, _)| *found == number);
        found.map(|(_, value)| value)
    }

    /// What a new transaction sees.
    pub(crate) fn all(&self) -> Vec<Row> {
        let reader = self.begin(Level::ReadCommitted);
        let all = self.scan(&reader);
        self.commit(reader);
        all
    }

    /// `update … set value = … where id = …`; false if it was refused.
    pub(crate) fn set(&self, actor: &mut Actor, number: u32, value: u32) -> bool {
        let found = move |row: Row| row.0 == number;
        statement(&self.instance, &self.heap, actor, (&found, Some(value)), self.session)
    }

    /// `delete … where value = …`.
    pub(crate) fn delete(&self, actor: &mut Actor, value: u32) -> bool {
        let found = move |row: Row| row.1 == value;
        statement(&self.instance, &self.heap, actor, (&found, None), self.session)
    }

    /// The same in a thread of its own, where it is seen to wait.
    pub(crate) fn set_waiting(&self, actor: Actor, number: u32, value: u32) -> Waiting {
        self.waiting(actor, move |row| row.0 == number, Some(value))
    }

    pub(crate) fn delete_waiting(&self, actor: Actor, value: u32) -> Waiting {
        self.waiting(actor, move |row| row.1 == value, None)
    }

    fn waiting(
        &self,
        mut actor: Actor,
        found: impl Fn(Row) -> bool + Send + 'static,
        value: Option<u32>,
    ) -> Waiting {
        let result = Arc::new(Latch::new(self.session.os(), LatchKind::Innermost, None));
        let (into, instance) = (Arc::clone(&result), Arc::clone(&self.instance));
        let heap = self.heap.clone();
        let body = move |session: &Session| {
            statement(&instance, &heap, &mut actor, (&found, value), session);
            *into.exclusive(session) = Some(actor);
        };
        let thread = self.session.spawn(ThreadSpec::foreground("waits"), body).expect("started");
        self.session.pause(LONG, self.session.waiting(WaitEvent::PlSqlLockTimer));
        assert!(result.exclusive(self.session).is_none(), "the step has to wait");
        Waiting { thread, result }
    }
}

fn bytes((number, value): Row) -> Vec<u8> {
    [number.to_le_bytes(), value.to_le_bytes()].concat()
}

fn row_of(bytes: &[u8]) -> Row {
    let part = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    (part(0), part(4))
}

fn rows(heap: &Heap, view: View, session: &Session) -> Result<Vec<(RowAddress, Row)>, Stop> {
    let mut rows = Vec::new();
    for run in heap.runs(session)? {
        for number in 0..run.count {
            let block = Dba::new(run.first.file.get(), run.first.block.get() + number);
            let mut visit = |at, row: &[u8]| rows.push((at, row_of(row)));
            heap.visit_block(view, block, &mut visit, session)?;
        }
    }
    rows.sort_by_key(|(_, row)| row.0);
    Ok(rows)
}

/// A statement that changes or deletes the rows that it finds; it begins again when it has to.
/// False if it was refused.
fn statement(
    instance: &Instance,
    heap: &Heap,
    actor: &mut Actor,
    (found, value): (&dyn Fn(Row) -> bool, Option<u32>),
    session: &Session,
) -> bool {
    let transaction = actor.transaction.as_mut().expect("it isn't in another thread");
    let transactions = instance.transactions();
    loop {
        let savepoint = transaction.savepoint();
        transaction.begin_statement();
        let tried = try_statement((instance, heap), transaction, (found, value), session);
        transaction.end_statement();
        match tried {
            Ok(true) => {
                actor.last = true;
                return true;
            }
            Ok(false) if !transaction.is_serializable() => {
                transactions.rollback_to(transaction, savepoint, session).expect("taken back");
            }
            Ok(false) => break,
            Err(stop) => {
                assert_eq!(stop.refusal(), Some(RefusalKind::Deadlock), "{stop}");
                break;
            }
        }
    }
    actor.last = false;
    false
}

/// False if a row was changed since.
fn try_statement(
    (instance, heap): (&Instance, &Heap),
    transaction: &mut Transaction,
    (found, value): (&dyn Fn(Row) -> bool, Option<u32>),
    session: &Session,
) -> Result<bool, Stop> {
    let transactions = instance.transactions();
    let snapshot = transactions.snapshot(Some(transaction), session)?;
    let view = transactions.view_of(&snapshot, Some(transaction));
    for (address, row) in rows(heap, view, session)?.into_iter().filter(|(_, row)| found(*row)) {
        let target = (address, Some(transactions.view_of(&snapshot, Some(transaction))));
        let changed = match value {
            None => heap.delete(transaction, target, session)?,
            Some(value) => {
                let mut change = |_: &[u8], new: &mut Vec<u8>| {
                    new.extend_from_slice(&bytes((row.0, value)));
                };
                let inserter = &mut HeapInserter::default();
                heap.update(transaction, inserter, target, &mut change, session)?
            }
        };
        if changed != Changed::Yes {
            return Ok(false);
        }
    }
    Ok(true)
}
