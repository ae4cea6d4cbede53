//! The dictionary's tables on disk: how they are made, read, and written row by row (rules DC1, DC2
//! and DC10).
//!
//! ```text
//!   all segments temporary ─▶ made permanent, the last one last ─▶ there is a dictionary
//! ```
//!
//! Callers: `catalog`, which opens them; `statement` and `sequence`, which write them.

use std::sync::Arc;

use access::Index;
use ids::ObjectNo;
use os::Session;
use relation::{Relation, Relations, Scratch, Selection, Work};
use space::{Holds, NAMED_BY_NUMBER, Space};
use stop::{RefusalKind, Stop};
use txn::{Transaction, Transactions};
use value::{Damaged, OwnedValue, Value};
use waits::WaitEvent;

use crate::dictionary_table::DictionaryTable;
use crate::rows::{Row, Rows, key_of};

/// The dictionary's open tables.
pub(crate) struct Store(Vec<Arc<Relation>>);

/// The relations that foreign keys refer to. The dictionary's tables have none, so it is never
/// asked.
struct NoRelations;

impl Relations for NoRelations {
    fn relation(&self, object: ObjectNo, _: &Session) -> Result<Arc<Relation>, Stop> {
        unreachable!("a table of the dictionary refers to table {object}")
    }
}

impl Store {
    /// Opens the dictionary's tables, and makes them first if there are none. Returns too whether
    /// it made them.
    pub(crate) fn open(
        tablespace: &str,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<(Store, bool), Stop> {
        let last = DictionaryTable::ALL[DictionaryTable::ALL.len() - 1].index_name();
        let is_new = space.find(&last, session)?.is_none();
        if is_new {
            check_nothing_to_lose(space, session)?;
            drop_leftovers(space, session)?;
            make(tablespace, space, transactions, session)?;
        }
        let find = |name: &str| {
            let found = space.find(name, session)?.map(|segment| segment.object);
            let message =
                || format!("the dictionary's segment {name} isn't there; verify the database");
            found.ok_or_else(|| Stop::refuse(RefusalKind::Corrupt, message()))
        };
        let open = |stored: &DictionaryTable| {
            let (table, index) = (find(stored.name())?, find(&stored.index_name())?);
            let definition = Arc::new(stored.definition(table, index));
            Relation::open(definition, space, transactions, session).map(Arc::new)
        };
        let all: Result<Vec<_>, Stop> = DictionaryTable::ALL.iter().map(open).collect();
        Ok((Store(all?), is_new))
    }

    fn relation(&self, table: DictionaryTable) -> &Relation {
        &self.0[table as usize]
    }

    /// Reads all committed rows.
    pub(crate) fn read(&self, session: &Session) -> Result<Rows, Stop> {
        let mut rows = Rows::new();
        for table in DictionaryTable::ALL {
            let relation = self.relation(table);
            let transactions = relation.transactions();
            let snapshot = transactions.snapshot(None, session)?;
            let view = transactions.view_of(&snapshot, None);
            let mut read = Ok(());
            let mut visit = |_, row: value::RowView<'_>| {
                let column = |column| row.get(column).map(Value::to_owned);
                let row: Result<Row, Damaged> = (0..table.columns().len()).map(column).collect();
                match row {
                    Ok(row) => drop(rows.insert((table, key_of(table, &row)), row)),
                    Err(damaged) => read = Err(damaged),
                }
            };
            relation.scan(view, &mut visit, session)?;
            read.map_err(|damaged| corrupt(&format!("{}: {damaged}", table.name())))?;
        }
        Ok(rows)
    }

    /// Replaces the rows `old` by the rows `new`: those that differ are deleted and inserted (DC2).
    pub(crate) fn write(
        &self,
        transaction: &mut Transaction,
        old: &Rows,
        new: &Rows,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut scratch = Scratch::default();
        let scratch = &mut scratch;
        let mut work = Work { transaction, scratch, relations: &NoRelations, session };
        let differ = |one: &Rows, other: &Rows| {
            let rows = one.iter().filter(|(key, row)| other.get(*key) != Some(*row));
            rows.map(|(key, row)| (key.clone(), row.clone())).collect::<Vec<_>>()
        };
        for ((table, key), _) in differ(old, new) {
            let values: Vec<Value<'_>> = key.iter().map(|int| Value::Int(*int)).collect();
            let selection = Selection::Key(0, &values);
            if self.relation(table).delete_where(&mut work, selection, None)? != 1 {
                let what = format!("{} has no row {key:?}, which was read there", table.name());
                return Err(corrupt(&what));
            }
        }
        for ((table, _), row) in differ(new, old) {
            let values: Vec<Value<'_>> = row.iter().map(OwnedValue::get).collect();
            self.relation(table).insert(&mut work, &values)?;
        }
        Ok(())
    }

    /// Sets the next value in the row of a sequence. Returns false if there is no such row.
    pub(crate) fn set_next_value(
        &self,
        transaction: &mut Transaction,
        sequence: ObjectNo,
        next: Option<i64>,
        scratch: &mut Scratch,
        session: &Session,
    ) -> Result<bool, Stop> {
        let mut work = Work { transaction, scratch, relations: &NoRelations, session };
        let key = [Value::Int(sequence.get().into())];
        let next = next.map_or(Value::Null, Value::Int);
        let column = DictionaryTable::Sequences.columns().len() - 1;
        let changed = self.relation(DictionaryTable::Sequences).update_where(
            &mut work,
            Selection::Key(0, &key),
            None,
            &mut |_, change| change.set(column, next),
        )?;
        Ok(changed == 1)
    }
}

pub(crate) fn corrupt(what: &str) -> Stop {
    let message = format!("the dictionary is damaged: {what}; restore the database");
    Stop::refuse(RefusalKind::Corrupt, message)
}

/// Refuses to make a dictionary where users' tables are: they are made when the dictionary is
/// whole, so it is damaged, and a new one would have them dropped (DC11).
fn check_nothing_to_lose(space: &Space, session: &Session) -> Result<(), Stop> {
    let all = space.list(session)?;
    match all.iter().find(|segment| segment.name.starts_with(NAMED_BY_NUMBER)) {
        None => Ok(()),
        Some(one) => {
            let what = format!("segments of it aren't there, and tables are: {} is one", one.name);
            Err(corrupt(&what))
        }
    }
}

/// Drops what an attempt left that was cut off when some of its segments were permanent (DC10).
fn drop_leftovers(space: &Space, session: &Session) -> Result<(), Stop> {
    for stored in DictionaryTable::ALL {
        for name in [stored.name().to_string(), stored.index_name()] {
            if let Some(segment) = space.find(&name, session)? {
                space.drop_segment(segment.object, session)?;
            }
        }
    }
    Ok(())
}

fn make(
    tablespace: &str,
    space: &Space,
    transactions: &Transactions,
    session: &Session,
) -> Result<(), Stop> {
    let mut made = Vec::new();
    let mut make_all = || {
        for stored in DictionaryTable::ALL {
            let table = stored.name();
            made.push(space.create_temporary(tablespace, table, Holds::Table, session)?.object);
            let name = stored.index_name();
            let index =
                Index::create_temporary(tablespace, &name, true, space, transactions, session)?;
            made.push(index.segment().object);
        }
        made.iter().try_for_each(|object| space.keep(*object, session))
    };
    if let Err(stop) = make_all() {
        for object in made {
            // A segment that can't be dropped now is dropped by the next opening.
            let _ = space.drop_segment(object, session);
        }
        return Err(stop);
    }
    let redo = space.changes().redo();
    redo.make_durable(redo.last_scn(session), session, WaitEvent::LogFileSync)
}
