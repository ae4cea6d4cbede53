//! A small database on a simulated disk with typed tables, and sessions on it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use access::{Direction, Index, RowAddress};
use ids::{BlockSize, ObjectNo, Scn};
use instance::{Creation, Instance, Parameters, Transaction};
use os::probe::DurableWrite;
use os::{Session, ThreadHandle, ThreadSpec};
use relation::{
    ColumnDefinition, IndexColumn, IndexDefinition, Relation, Relations, Scratch, TableDefinition,
    Work,
};
use sim::fs::FileSystem;
use sim::{Perturbation, Report, Simulation, World};
use space::Holds;
use stop::{Failpoints, RefusalKind, Stop};
use txn::View;
use value::{NullsPlace, OwnedValue, Type, Value, encode_key};
use waits::{Nanos, WaitEvent};

/// A stream of numbers from a seed (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

pub(crate) fn directory() -> &'static Path {
    Path::new("/db")
}

/// Sizes so small that everything happens.
fn creation() -> Creation {
    Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 4_000 * 2048,
        extent_blocks: 4,
        log_file_bytes: 2 * u64::from(redo::LOG_BLOCKS_MIN) * 4096,
        log_groups: 3,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    }
}

pub(crate) fn parameters() -> Parameters {
    Parameters {
        db_cache_size: 96 * 2048,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        redo_consistency: true,
        ..Parameters::default()
    }
}

pub(crate) fn machine(seed: u64, content: FileSystem) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = content;
    simulation
}

/// Runs a test with a schedule that finds races.
pub(crate) fn racy(seed: u64, content: FileSystem) -> Simulation {
    Simulation { perturbation: Perturbation::RACES, ..machine(seed, content) }
}

/// The disk as a simulation left it.
pub(crate) fn left<R>(report: &mut Report<R>) -> FileSystem {
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    disk
}

/// The result of a simulation that came to its end.
pub(crate) fn ended<R>(report: Report<R>, what: impl std::fmt::Display) -> R {
    report.result.unwrap_or_else(|failure| panic!("{what}: {failure}"))
}

/// A disk with a database with these tables, on which `body` has worked.
pub(crate) fn database(
    tables: fn() -> Vec<Table>,
    body: impl FnOnce(&Instance, &Known, &Session) + Send + 'static,
) -> FileSystem {
    let mut report = machine(1, FileSystem::new(1 << 30)).run(move |world, session| {
        let disk = world.disk();
        Instance::create(&disk, directory(), &creation(), &parameters(), session).expect("created");
        let instance = open(world, session);
        body(&instance, &Known::of(&instance, &tables(), session), session);
        shut(instance, session);
    });
    let disk = left(&mut report);
    ended(report, "the database can't be made");
    disk
}

/// An open instance that sessions share.
pub(crate) fn open(world: &World, session: &Session) -> Arc<Instance> {
    open_broken(world, Failpoints::NONE, session)
}

/// An open instance that sessions share, with what a test breaks on purpose.
pub(crate) fn open_broken(
    world: &World,
    failpoints: Failpoints,
    session: &Session,
) -> Arc<Instance> {
    let parameters = Parameters { failpoints, ..parameters() };
    let opened = Instance::open(&world.disk(), directory(), &parameters, session);
    Arc::new(opened.unwrap_or_else(|stop| panic!("it doesn't open: {stop}")))
}

/// Shuts an instance that no other session uses any more.
pub(crate) fn shut(instance: Arc<Instance>, session: &Session) {
    instance.shutdown(session).expect("shut in good order");
}

/// A session in a thread of its own.
pub(crate) fn start(
    name: &str,
    instance: &Arc<Instance>,
    session: &Session,
    body: impl FnOnce(&Instance, &Session) + Send + 'static,
) -> ThreadHandle {
    let instance = Arc::clone(instance);
    let body = move |session: &Session| body(&instance, session);
    session.spawn(ThreadSpec::foreground(name), body).expect("started")
}

/// Lets this many microseconds pass.
pub(crate) fn pause(us: u64, session: &Session) {
    session.pause(Nanos::from_micros(us), session.waiting(WaitEvent::PlSqlLockTimer));
}

pub(crate) fn join(threads: Vec<ThreadHandle>, session: &Session) {
    for thread in threads {
        assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
    }
}

/// A table to be: its name, columns with whether they may be NULL, and indexes.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<(&'static str, Type, bool)>,
    pub(crate) indexes: Vec<(&'static str, Vec<IndexColumn>, bool)>,
    /// Whatever else its definition says, once all tables have their numbers.
    pub(crate) adjust: fn(&mut TableDefinition, &Numbers),
}

/// Numbers of tables and indexes by their names.
pub(crate) type Numbers = BTreeMap<String, ObjectNo>;

pub(crate) fn ascending(column: usize) -> IndexColumn {
    let direction = value::Direction::Ascending;
    IndexColumn { column, direction, nulls: NullsPlace::of(direction) }
}

pub(crate) fn descending(column: usize) -> IndexColumn {
    let direction = value::Direction::Descending;
    IndexColumn { column, direction, nulls: NullsPlace::of(direction) }
}

/// The tables of a database.
pub(crate) struct Known(BTreeMap<ObjectNo, Arc<Relation>>);

impl Relations for Known {
    fn relation(&self, object: ObjectNo, _: &Session) -> Result<Arc<Relation>, Stop> {
        let found = self.0.get(&object).cloned();
        found.ok_or_else(|| Stop::refuse(RefusalKind::NotFound, "no such table"))
    }
}

impl Known {
    /// Opens these tables, and makes those that aren't there.
    pub(crate) fn of(instance: &Instance, tables: &[Table], session: &Session) -> Known {
        let mut numbers = Numbers::new();
        let mut defined: Vec<_> =
            tables.iter().map(|table| define(instance, table, &mut numbers, session)).collect();
        for (definition, table) in defined.iter_mut().zip(tables) {
            (table.adjust)(definition, &numbers);
        }
        let all: Vec<_> = defined.iter().flat_map(|table| table.foreign_keys.clone()).collect();
        let open = |mut definition: TableDefinition| {
            let to = all.iter().filter(|key| key.references == definition.object);
            definition.referenced_by = to.cloned().collect();
            let (space, transactions) = (instance.space(), instance.transactions());
            let object = definition.object;
            let opened = Relation::open(Arc::new(definition), space, transactions, session);
            (object, Arc::new(opened.expect("opened")))
        };
        Known(defined.into_iter().map(open).collect())
    }

    pub(crate) fn named(&self, name: &str) -> Arc<Relation> {
        let found = self.0.values().find(|relation| relation.definition().name == name);
        Arc::clone(found.expect("there is such a table"))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Relation>> {
        self.0.values()
    }
}

fn define(
    instance: &Instance,
    table: &Table,
    numbers: &mut Numbers,
    session: &Session,
) -> TableDefinition {
    let space = instance.space();
    let segment = space.find(table.name, session).expect("read");
    let segment =
        segment.unwrap_or_else(|| space.create(table.name, Holds::Table, session).expect("made"));
    let mut indexes = Vec::new();
    for (name, columns, unique) in &table.indexes {
        let found = space.find(name, session).expect("read");
        let system = space.tablespaces(session)[0].name.clone();
        let object = found.map(|segment| segment.object).unwrap_or_else(|| {
            let transactions = instance.transactions();
            let made = Index::create(&system, name, *unique, space, transactions, session);
            made.expect("made").segment().object
        });
        numbers.insert((*name).into(), object);
        indexes.push(IndexDefinition {
            object,
            name: (*name).into(),
            segment: object,
            columns: columns.clone(),
            unique: *unique,
            primary: indexes.is_empty(),
            since: Scn::ZERO,
        });
    }
    numbers.insert(table.name.into(), segment.object);
    let columns = table.columns.iter();
    let columns =
        columns.map(|(name, kind, nullable)| ColumnDefinition::new(name, *kind, !nullable));
    TableDefinition {
        columns: columns.collect(),
        indexes,
        ..TableDefinition::new(segment.object, table.name, segment.object)
    }
}

/// A session's transaction and buffers.
pub(crate) struct Client<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) known: &'a Known,
    pub(crate) session: &'a Session,
    pub(crate) transaction: Transaction,
    pub(crate) scratch: Scratch,
}

impl<'a> Client<'a> {
    pub(crate) fn new(instance: &'a Instance, known: &'a Known, session: &'a Session) -> Self {
        let (transaction, scratch) = (Transaction::new(), Scratch::default());
        Client { instance, known, session, transaction, scratch }
    }

    pub(crate) fn work(&mut self) -> Work<'_> {
        Work {
            transaction: &mut self.transaction,
            scratch: &mut self.scratch,
            relations: self.known,
            session: self.session,
        }
    }

    pub(crate) fn commit(&mut self) {
        let transaction = std::mem::take(&mut self.transaction);
        self.instance.commit(transaction, self.session).expect("committed");
    }

    pub(crate) fn rollback(&mut self) {
        let transaction = std::mem::take(&mut self.transaction);
        self.instance.rollback(transaction, self.session).expect("rolled back");
    }

    /// The view of a statement that begins now.
    pub(crate) fn view(&self) -> View {
        self.instance.transactions().view(Some(&self.transaction), self.session).expect("no halt")
    }
}

/// A row that can be kept.
pub(crate) type Row = Vec<OwnedValue>;

pub(crate) fn kept(row: &value::RowView<'_>) -> Row {
    let mut values = Vec::new();
    row.get_all(&mut values).expect("it isn't damaged");
    values.into_iter().map(Value::to_owned).collect()
}

/// All rows of a table as of now, and where they are.
pub(crate) fn rows(relation: &Relation, view: View, session: &Session) -> Vec<(RowAddress, Row)> {
    let mut rows = Vec::new();
    let mut visit = |address, row: value::RowView<'_>| rows.push((address, kept(&row)));
    relation.scan(view, &mut visit, session).expect("scanned");
    rows
}

/// Each index has an entry for each row, and for nothing else.
pub(crate) fn check(relation: &Relation, session: &Session) {
    let snapshot = relation.transactions().snapshot(None, session).expect("a snapshot");
    let view = relation.transactions().view_of(&snapshot, None);
    let rows = rows(relation, view, session);
    for (number, of) in relation.definition().indexes.iter().enumerate() {
        let key = |(address, row): &(RowAddress, Row)| {
            let value = |of: &IndexColumn| (row[of.column].get(), of.direction, of.nulls);
            let columns: Vec<_> = of.columns.iter().map(value).collect();
            let mut key = Vec::new();
            encode_key(&columns, &mut key);
            (key, *address, columns.iter().any(|(value, ..)| value.is_null()))
        };
        let mut expected: Vec<_> = rows.iter().map(key).collect();
        expected.sort();
        let index = relation.index(number);
        index.check(&mut |_, _| (), session).expect("the index is in order");
        let everything = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor = index.cursor(everything, Direction::Ascending, view);
        let mut found = Vec::new();
        while let Some((key, row)) = cursor.next(session).expect("read") {
            found.push((key.to_vec(), row));
        }
        assert_eq!(found.len(), expected.len(), "index {}", of.name);
        for ((key, row), (plain, address, has_null)) in found.iter().zip(&expected) {
            let is_it = if of.unique && *has_null { key.starts_with(plain) } else { key == plain };
            assert!(is_it, "index {}", of.name);
            assert!(row == address || (of.unique && *has_null), "index {}: {row}", of.name);
        }
    }
}
