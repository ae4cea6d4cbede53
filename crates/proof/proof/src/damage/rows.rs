//! Rows as no statement leaves them: changed by the crates below the dictionary, with definitions
//! from which what would refuse it was taken. Each is a transaction that is committed.
//!
//! Callers: `damages`.

use std::sync::Arc;

use access::{HeapInserter, RowAddress};
use catalog::DictionaryTable;
use database::{TableDefinition, Truth, Type, Value};
use ids::ObjectNo;
use instance::{Instance, Transaction};
use os::Session;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use relation::{
    Default as ColumnDefault, ForeignKey, Relation, Relations, RowChange, Scratch, Selection, Work,
};
use stop::Stop;
use value::{OwnedValue, RowView};
use verify::Kind;

use super::damages::Done;
use super::made::Inside;
use super::pick;

/// Where a row of `_sequences` says what comes behind the numbers that were taken.
const NEXT_VALUE: usize = 8;

/// An instance without a dictionary, which does what it is told.
pub(super) struct Below<'a> {
    pub(super) instance: &'a Instance,
    pub(super) made: &'a Inside,
    pub(super) session: &'a Session,
}

/// Relations have no foreign keys here: nobody asks.
struct Nobody;

impl Relations for Nobody {
    fn relation(&self, object: ObjectNo, _: &Session) -> Result<Arc<Relation>, Stop> {
        unreachable!("somebody asks for table {object}")
    }
}

/// A row.
#[derive(Clone)]
struct Row {
    at: RowAddress,
    bytes: Vec<u8>,
    values: Vec<OwnedValue>,
}

impl Below<'_> {
    /// A table without constraints; `more` takes more of it away.
    fn open(&self, table: &TableDefinition, more: impl FnOnce(&mut TableDefinition)) -> Relation {
        let mut table = table.clone();
        table.checks.clear();
        table.foreign_keys.clear();
        table.referenced_by.clear();
        more(&mut table);
        let (space, transactions) = (self.instance.space(), self.instance.transactions());
        let opened = Relation::open(Arc::new(table), space, transactions, self.session);
        opened.expect("its segments are there")
    }

    fn rows(&self, relation: &Relation) -> Vec<Row> {
        let transactions = self.instance.transactions();
        let snapshot = transactions.snapshot(None, self.session).expect("nobody is in the way");
        let mut rows = Vec::new();
        let mut visit = |at: RowAddress, view: RowView<'_>| {
            let mut values = Vec::new();
            view.get_all(&mut values).expect("it is a row of its columns");
            let values = values.into_iter().map(Value::to_owned).collect();
            rows.push(Row { at, bytes: view.bytes().to_vec(), values });
        };
        let view = transactions.view_of(&snapshot, None);
        relation.scan(view, &mut visit, self.session).expect("it can be read");
        rows
    }

    /// Does something in a transaction, and commits it.
    fn transact<T>(&self, body: impl FnOnce(&mut Work<'_>) -> Result<T, Stop>) -> T {
        let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
        let (within, scratch) = (&mut transaction, &mut scratch);
        let session = self.session;
        let mut work = Work { transaction: within, scratch, relations: &Nobody, session };
        let done = body(&mut work).expect("nobody is in the way");
        self.instance.commit(transaction, session).expect("nobody is in the way");
        done
    }

    /// Gives a column of a row another value.
    fn set(&self, relation: &Relation, row: &Row, column: usize, value: Value<'_>) -> bool {
        let same = row.bytes.clone();
        let changed = self.transact(|work| {
            let mut is_it = |view: &RowView<'_>| view.bytes() == same;
            let mut change =
                |_: &RowView<'_>, change: &mut RowChange<'_>| change.set(column, value);
            relation.update_where(work, Selection::All, Some(&mut is_it), &mut change)
        });
        assert!(changed > 0, "the row is there");
        true
    }

    /// Tables that have a row, with a row of each.
    fn tables(&self, random: &mut Xoshiro256PlusPlus) -> Vec<(&TableDefinition, Row)> {
        let mut all = Vec::new();
        for table in &self.made.tables {
            let rows = self.rows(&self.open(table, |_| ()));
            all.extend(pick(random, &rows).map(|row| (&**table, row.clone())));
        }
        all
    }
}

/// A row, its table, and a column of it with a value that is to be there.
struct Change<'t> {
    table: &'t TableDefinition,
    row: Row,
    column: usize,
    value: OwnedValue,
}

impl Change<'_> {
    fn done(&self, what: &str, expects: &'static [Kind]) -> Option<Done> {
        let (table, at) = (&self.table.name, self.row.at);
        let column = &self.table.columns[self.column].name;
        let value = self.value.get();
        let what = format!("row {at} of {table} has {value} in column {column}, {what}");
        Some(Done { what, expects })
    }
}

/// Whether the column is one that can be set at all.
fn is_free(table: &TableDefinition, column: usize) -> bool {
    let column = &table.columns[column];
    let is_always = matches!(column.default, ColumnDefault::Identity { always: true, .. });
    !is_always && !relation::is_dropped(&column.name)
}

/// A row without its entries' leaving.
pub(super) fn gone(below: &Below<'_>, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let mut tables = below.tables(random);
    tables.retain(|(table, _)| !table.indexes.is_empty());
    let (table, row) = pick(random, &tables)?;
    let relation = below.open(table, |_| ());
    below.transact(|work| {
        let (heap, transaction) = (relation.heap(), &mut *work.transaction);
        heap.delete(transaction, row.at, None, &mut |_| {}, work.session).map(drop)
    });
    let what = format!("row {} of {} is gone, and its entries aren't", row.at, table.name);
    Some(Done { what, expects: &[Kind::EntryWithoutRow] })
}

/// A copy of a row that no index knows.
pub(super) fn alone(below: &Below<'_>, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let mut tables = below.tables(random);
    tables.retain(|(table, _)| !table.indexes.is_empty());
    let (table, row) = pick(random, &tables)?;
    let relation = below.open(table, |_| ());
    let at = below.transact(|work| {
        let mut inserter = HeapInserter::default();
        relation.heap().insert(work.transaction, &mut inserter, &row.bytes, work.session)
    });
    let what = format!("row {at} of {} is a copy of {}, and has no entries", table.name, row.at);
    Some(Done { what, expects: &[Kind::RowWithoutEntry] })
}

/// Values of which one may break a condition.
fn tries(kind: Type) -> Vec<OwnedValue> {
    let ints = [0, -1, 1, 13, 100, 32_000, -32_000].map(|int| Value::Int(int).to_owned());
    let texts = ["", "a", "zz", "no "].map(|text| Value::Text(text).to_owned());
    match kind {
        Type::SmallInt | Type::Integer | Type::BigInt => ints.into(),
        Type::Varchar(_) | Type::Char(_) | Type::Text => texts.into(),
        _ => Vec::new(),
    }
}

/// A row that breaks a CHECK.
pub(super) fn check(below: &Below<'_>, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let mut changes = Vec::new();
    for (table, row) in below.tables(random) {
        for check in &table.checks {
            for column in check.condition.columns() {
                let kind = table.columns[column].kind;
                let fits = |value: &OwnedValue| kind.fit("", value.get()).is_ok();
                let breaks = |value: &OwnedValue| {
                    let of =
                        |at: usize| if at == column { value.get() } else { row.values[at].get() };
                    check.condition.evaluate(&of) == Truth::False
                };
                let mut tries = tries(kind);
                tries.retain(|value| fits(value) && breaks(value) && is_free(table, column));
                let change = |value| Change { table, row: row.clone(), column, value };
                changes.extend(pick(random, &tries).cloned().map(change));
            }
        }
    }
    let change = pick(random, &changes)?;
    let relation = below.open(change.table, |_| ());
    below.set(&relation, &change.row, change.column, change.value.get());
    change.done("and a CHECK says otherwise", &[Kind::Check])
}

/// Foreign keys, each with a row that refers by it.
fn referring<'t>(
    below: &'t Below<'_>,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<(&'t TableDefinition, &'t ForeignKey, Row)> {
    let mut all = Vec::new();
    for table in below.made.tables.iter().filter(|table| !table.foreign_keys.is_empty()) {
        let rows = below.rows(&below.open(table, |_| ()));
        for key in &table.foreign_keys {
            let refers = |row: &&Row| key.columns.iter().all(|at| !row.values[*at].get().is_null());
            let rows: Vec<&Row> = rows.iter().filter(refers).collect();
            all.extend(pick(random, &rows).map(|row| (&**table, key, (*row).clone())));
        }
    }
    all
}

/// The row that another refers to is deleted.
pub(super) fn orphan(below: &Below<'_>, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let mut referring = referring(below, random);
    // One that refers to itself goes with what it refers to.
    referring.retain(|(table, key, row)| {
        let values = |columns: &[usize]| -> Vec<OwnedValue> {
            columns.iter().map(|at| row.values[*at].clone()).collect()
        };
        table.object != key.references || values(&key.columns) != values(&key.referenced_columns)
    });
    let (table, key, row) = pick(random, &referring)?;
    let parent = below.made.tables.iter().find(|one| one.object == key.references)?;
    let place = parent.indexes.iter().position(|one| one.object == key.referenced_index)?;
    let values: Vec<Value<'_>> = key.columns.iter().map(|at| row.values[*at].get()).collect();
    let relation = below.open(parent, |_| ());
    let deleted =
        below.transact(|work| relation.delete_where(work, Selection::Key(place, &values), None));
    assert_eq!(deleted, 1, "{} refers to a row of {}", row.at, parent.name);
    let what = format!("of row {} of {} what {} refers to is gone", row.at, table.name, key.name);
    Some(Done { what, expects: &[Kind::ForeignKey] })
}

/// A row refers to one that never was.
pub(super) fn astray(below: &Below<'_>, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let mut changes = Vec::new();
    for (table, key, row) in referring(below, random) {
        let column = key.columns[random.random_range(0..key.columns.len())];
        let never = match table.columns[column].kind {
            Type::SmallInt => 31_111,
            Type::Integer | Type::BigInt => 1_234_567,
            _ => continue,
        };
        let value = Value::Int(never).to_owned();
        changes.extend(is_free(table, column).then_some(Change { table, row, column, value }));
    }
    let change = pick(random, &changes)?;
    let relation = below.open(change.table, |_| ());
    below.set(&relation, &change.row, change.column, change.value.get());
    change.done("which refers to nothing", &[Kind::ForeignKey])
}

/// NULL in a column that is NOT NULL.
pub(super) fn null(below: &Below<'_>, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let mut changes = Vec::new();
    for (table, row) in below.tables(random) {
        for (column, of) in table.columns.iter().enumerate().filter(|(_, of)| of.not_null) {
            let value = OwnedValue::NULL;
            let change = || Change { table, row: row.clone(), column, value };
            changes.extend((is_free(table, column) && of.not_null).then(change));
        }
    }
    let change = pick(random, &changes)?;
    let relation = below.open(change.table, |table| table.columns[change.column].not_null = false);
    below.set(&relation, &change.row, change.column, Value::Null);
    change.done("which is NOT NULL", &[Kind::Row])
}

/// A row with a text that its column's type has no place for.
fn misfit(
    below: &Below<'_>,
    random: &mut Xoshiro256PlusPlus,
    make: impl Fn(Type, &str) -> Option<String>,
    what: &str,
) -> Option<Done> {
    let mut changes = Vec::new();
    for (table, row) in below.tables(random) {
        for (column, of) in table.columns.iter().enumerate() {
            let Value::Text(has) = row.values[column].get() else { continue };
            let Some(text) = make(of.kind, has) else { continue };
            let value = Value::Text(&text).to_owned();
            let change = || Change { table, row: row.clone(), column, value };
            changes.extend(is_free(table, column).then(change));
        }
    }
    let change = pick(random, &changes)?;
    let relation = below.open(change.table, |table| table.columns[change.column].kind = Type::Text);
    below.set(&relation, &change.row, change.column, change.value.get());
    change.done(what, &[Kind::Row])
}

pub(super) fn too_long(below: &Below<'_>, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let more = 1 + random.random_range(0..20);
    let longer = |kind: Type, has: &str| match kind {
        Type::Varchar(chars) | Type::Char(chars) => {
            let count = usize::from(chars.get()) + more - has.chars().count();
            Some(format!("{has}{}", "x".repeat(count)))
        }
        _ => None,
    };
    misfit(below, random, longer, "which is longer than that")
}

pub(super) fn blanks(below: &Below<'_>, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let blank = |kind: Type, has: &str| match kind {
        Type::Char(chars) if has.chars().count() < chars.get().into() => Some(format!("{has} ")),
        _ => None,
    };
    misfit(below, random, blank, "with a blank at the end")
}

/// The sequence of an identity column that is GENERATED ALWAYS gives a number next that a row has.
pub(super) fn sequence(below: &Below<'_>, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let mut places = Vec::new();
    for table in &below.made.tables {
        let rows = below.rows(&below.open(table, |_| ()));
        for (place, column) in table.columns.iter().enumerate() {
            let ColumnDefault::Identity { sequence, always: true } = column.default else {
                continue;
            };
            let int = |row: &Row| match row.values[place].get() {
                Value::Int(int) => Some(int),
                _ => None,
            };
            let most = rows.iter().filter_map(int).max();
            places.extend(most.map(|most| (table, sequence, most)));
        }
    }
    let (table, sequence, most) = *pick(random, &places)?;
    let next = random.random_range(1..=most);
    let own = below.dictionary(DictionaryTable::Sequences);
    let key = [Value::Int(sequence.get().into())];
    let changed = below.transact(|work| {
        let mut change =
            |_: &RowView<'_>, row: &mut RowChange<'_>| row.set(NEXT_VALUE, Value::Int(next));
        own.update_where(work, Selection::Key(0, &key), None, &mut change)
    });
    assert_eq!(changed, 1, "{sequence} is a sequence");
    let what = format!("{} has number {most}, and its sequence gives {next} next", table.name);
    Some(Done { what, expects: &[Kind::Sequence] })
}

impl Below<'_> {
    fn dictionary(&self, table: DictionaryTable) -> Relation {
        let find = |name: &str| {
            let found = self.instance.space().find(name, self.session).expect("it can be read");
            found.expect("there is a dictionary").object
        };
        let definition = table.definition(find(table.name()), find(&table.index_name()));
        self.open(&definition, |_| ())
    }
}
