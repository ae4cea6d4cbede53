//! A small database on a simulated disk with typed tables, and sessions on it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use access::{Direction, Index, RowAddress};
use ids::{ObjectNo, Scn};
use instance::{Instance, Parameters, Transaction};
use os::Session;
use relation::{
    ColumnDefinition, IndexColumn, IndexDefinition, Relation, Relations, Scratch, TableDefinition,
    Work,
};
use sim::fs::FileSystem;
use sim::{Simulation, World};
use space::Holds;
use stop::{RefusalKind, RefusalParts, Stop};
pub(crate) use testbed::bed::{self, shut, start};
pub(crate) use testbed::{Dice, join, machine, pause, racy, run_kept};
use txn::View;
use value::{NullOrdering, OwnedValue, Type, Value, encode_key};

/// A disk with a database with these tables, on which `body` has worked.
pub(crate) fn database(
    tables: fn() -> Vec<Table>,
    body: impl FnOnce(&Instance, &Known, &Session) + Send + 'static,
) -> FileSystem {
    let work = move |instance: &Arc<Instance>, session: &Session| {
        body(instance, &Known::of(instance, &tables(), session), session);
    };
    bed::create(bed::creation(), parameters(), work).1
}

pub(crate) fn parameters() -> Parameters {
    bed::parameters(96)
}

/// An open instance that sessions share.
pub(crate) fn open(world: &World, session: &Session) -> Arc<Instance> {
    bed::open(&parameters(), world, session)
}

/// Works with the database of a machine, and shuts it.
pub(crate) fn with_instance<R: Send + 'static>(
    simulation: Simulation,
    body: impl FnOnce(&Arc<Instance>, &Session) -> R + Send + 'static,
) -> (R, FileSystem) {
    bed::with_instance(simulation, parameters(), body)
}

/// The SQLSTATE of a refusal, and the table, the column and the constraint that it is about.
pub(crate) fn named(stop: &Stop) -> [String; 4] {
    let Stop::Refused(refusal) = stop else { panic!("it isn't refused: {stop}") };
    let RefusalParts { state, table, column, constraint, .. } = refusal.parts();
    let name = |part: &Option<String>| part.clone().unwrap_or_default();
    [state.to_string(), name(table), name(column), name(constraint)]
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
    IndexColumn { column, direction, nulls: NullOrdering::of(direction) }
}

pub(crate) fn descending(column: usize) -> IndexColumn {
    let direction = value::Direction::Descending;
    IndexColumn { column, direction, nulls: NullOrdering::of(direction) }
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
