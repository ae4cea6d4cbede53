//! The dictionary's tables on disk: how they are made, read, and written row by row (rules DC1,
//! DC2, DC10, DC32 and DC33).
//!
//! ```text
//!   all segments temporary ─▶ made permanent, the last one last ─▶ there is a dictionary
//!   tables of a later version: temporary ─▶ permanent ─▶ its row is committed ─▶ they count
//! ```
//!
//! Callers: `catalog`, which opens them; `statement` and `sequence`, which write them.

use std::sync::Arc;

use access::Index;
use ids::ObjectNo;
use latch::{Latch, LatchKind};
use os::Session;
use redo::CommitMode;
use relation::{Relation, Relations, Scratch, Selection, Work};
use space::{Holds, NAMED_BY_NUMBER, Space};
use stop::{RefusalKind, Stop};
use txn::{Transaction, Transactions};
use value::{Damaged, OwnedValue, Value};
use waits::WaitEvent;

use crate::dictionary_table::DictionaryTable;
use crate::dictionary_version::{
    self as version, DICTIONARY_VERSION, DICTIONARY_VERSION_FIRST as FIRST,
};
use crate::rows::{Row, Rows, key_of};

/// The dictionary's open tables.
pub(crate) struct Store {
    /// Those of the first version.
    first: Vec<Arc<Relation>>,
    /// The version that the dictionary has, and the tables that came after the first.
    later: Latch<LaterTables>,
}

struct LaterTables {
    version: u32,
    tables: Vec<Arc<Relation>>,
}

/// What opening finds.
pub(crate) struct StoreOpened {
    pub(crate) store: Store,
    /// All rows, without that of the version.
    pub(crate) rows: Rows,
    /// Whether there was no dictionary, and it was made.
    pub(crate) is_new: bool,
    /// The tables of later versions. What there is of them is what a crash has left.
    pub(crate) absent: &'static [DictionaryTable],
}

/// Where the dictionary's tables are made and opened, and by whom.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) tablespace: &'a str,
    pub(crate) space: &'a Space,
    pub(crate) transactions: &'a Transactions,
    pub(crate) session: &'a Session,
}

/// The relations that foreign keys refer to. The dictionary's tables have none, so it is never
/// asked.
struct NoRelations;

impl Relations for NoRelations {
    fn relation(&self, object: ObjectNo, _: &Session) -> Result<Arc<Relation>, Stop> {
        unreachable!("a table of the dictionary refers to table {object}")
    }
}

impl Store {
    /// Opens the dictionary's tables, and makes those of the first version if there are none.
    /// Refused if the dictionary has a version that this program doesn't know.
    pub(crate) fn open(ground: Ground<'_>) -> Result<StoreOpened, Stop> {
        let Ground { space, session, .. } = ground;
        let of_first = DictionaryTable::of(FIRST);
        let last = of_first[of_first.len() - 1].index_name();
        let is_new = space.find(&last, session)?.is_none();
        if is_new {
            check_nothing_to_lose(space, session)?;
            drop_leftovers(&DictionaryTable::ALL, space, session)?;
            make(of_first, ground)?;
            let redo = space.changes().redo();
            redo.make_durable(redo.last_scn(session), session, WaitEvent::LogFileSync)?;
        }
        let mut rows = Rows::new();
        let first = open_tables(of_first, ground)?;
        read(of_first, &first, session, &mut rows)?;
        let version = version::take(&mut rows).map_err(|what| corrupt(&what))?;
        version::check_known(version)?;
        let of_later = &DictionaryTable::of(version)[of_first.len()..];
        let tables = open_tables(of_later, ground)?;
        read(of_later, &tables, session, &mut rows)?;
        let absent = DictionaryTable::after(version);
        let later = LaterTables { version, tables };
        let later = Latch::new(session.os(), LatchKind::Innermost, later);
        Ok(StoreOpened { store: Store { first, later }, rows, is_new, absent })
    }

    /// The version that the dictionary has.
    pub(crate) fn version(&self, session: &Session) -> u32 {
        self.later.shared(session).version
    }

    /// Brings the dictionary to the newest version, by a transaction of its own. Called by the
    /// holder of the row cache lock. If it is refused, the dictionary has the version that it had.
    pub(crate) fn upgrade(&self, ground: Ground<'_>) -> Result<(), Stop> {
        let Ground { space, transactions, session, .. } = ground;
        let before = self.version(session);
        let new = DictionaryTable::after(before);
        // A failed attempt may have left some.
        drop_leftovers(new, space, session)?;
        let made = make(new, ground).map_err(|stop| match stop.refusal() {
            Some(RefusalKind::NoSpace) => stop.saying(
                "the first view, comment, expression or statistics of a database need tables of \
                 the dictionary: make room for them",
            ),
            _ => stop,
        })?;
        // They are opened before the commit: nothing that can fail comes behind it.
        let switched = open_tables(new, ground).and_then(|tables| {
            let (old, new) = (version::rows_of(before), version::rows_of(DICTIONARY_VERSION));
            let mut transaction = Transaction::new();
            if let Err(stop) = self.write(&mut transaction, &old, &new, session) {
                transactions.rollback(transaction, session)?;
                return Err(stop);
            }
            transactions.commit(transaction, CommitMode::DURABLE, session)?;
            Ok(tables)
        });
        match switched {
            Ok(tables) => {
                let mut later = self.later.exclusive(session);
                later.version = DICTIONARY_VERSION;
                later.tables.extend(tables);
                Ok(())
            }
            Err(stop) => {
                drop_made(&made, space, session);
                Err(stop)
            }
        }
    }

    fn relation(&self, table: DictionaryTable, session: &Session) -> Result<Arc<Relation>, Stop> {
        let place = table as usize;
        let found = match place.checked_sub(self.first.len()) {
            None => self.first.get(place).cloned(),
            Some(place) => self.later.shared(session).tables.get(place).cloned(),
        };
        found.ok_or_else(|| corrupt(&format!("its version has no table {}", table.name())))
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
            let relation = self.relation(table, session)?;
            if relation.delete_where(&mut work, selection, None)? != 1 {
                let what = format!("{} has no row {key:?}, which was read there", table.name());
                return Err(corrupt(&what));
            }
        }
        for ((table, _), row) in differ(new, old) {
            let values: Vec<Value<'_>> = row.iter().map(OwnedValue::get).collect();
            self.relation(table, session)?.insert(&mut work, &values)?;
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
        let changed = self.relation(DictionaryTable::Sequences, session)?.update_where(
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

/// Opens these tables of the dictionary, which are there.
fn open_tables(tables: &[DictionaryTable], ground: Ground<'_>) -> Result<Vec<Arc<Relation>>, Stop> {
    let Ground { space, transactions, session, .. } = ground;
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
    tables.iter().map(open).collect()
}

/// Adds all committed rows of these tables.
fn read(
    tables: &[DictionaryTable],
    relations: &[Arc<Relation>],
    session: &Session,
    rows: &mut Rows,
) -> Result<(), Stop> {
    for (table, relation) in tables.iter().zip(relations) {
        let transactions = relation.transactions();
        let snapshot = transactions.snapshot(None, session)?;
        let view = transactions.view_of(&snapshot, None);
        let mut read = Ok(());
        let mut visit = |_, row: value::RowView<'_>| {
            let column = |column| row.get(column).map(Value::to_owned);
            let row: Result<Row, Damaged> = (0..table.columns().len()).map(column).collect();
            match row {
                Ok(row) => drop(rows.insert((*table, key_of(*table, &row)), row)),
                Err(damaged) => read = Err(damaged),
            }
        };
        relation.scan(view, &mut visit, session)?;
        read.map_err(|damaged| corrupt(&format!("{}: {damaged}", table.name())))?;
    }
    Ok(())
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

/// Drops what an attempt left that was cut off when some of the segments of these tables were
/// permanent (DC10, DC32).
fn drop_leftovers(
    tables: &[DictionaryTable],
    space: &Space,
    session: &Session,
) -> Result<(), Stop> {
    for stored in tables {
        for name in [stored.name().to_string(), stored.index_name()] {
            if let Some(segment) = space.find(&name, session)? {
                space.drop_segment(segment.object, session)?;
            }
        }
    }
    Ok(())
}

/// Makes these tables, and keeps them, the last one's index last. Returns their segments.
fn make(tables: &[DictionaryTable], ground: Ground<'_>) -> Result<Vec<ObjectNo>, Stop> {
    let Ground { tablespace, space, transactions, session } = ground;
    let mut made = Vec::new();
    let mut make_all = || {
        for stored in tables {
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
        drop_made(&made, space, session);
        return Err(stop);
    }
    Ok(made)
}

/// Drops segments of an attempt that has failed. One that can't be dropped now is dropped by the
/// next opening.
fn drop_made(made: &[ObjectNo], space: &Space, session: &Session) {
    for object in made {
        let _ = space.drop_segment(*object, session);
    }
}
