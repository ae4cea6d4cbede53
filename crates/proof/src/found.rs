//! What is in a database that was opened, if it agrees with itself: every table is read by a scan
//! and by each of its indexes, constraints are held against rows, and whatever is defined is told.
//!
//! Callers: `sweep`, for each crash state; `shape`, for the database that a load begins with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug};
use std::ops::ControlFlow;

use database::{Bounds, Connection, Database, Direction, ForUpdate, Row, Which};
use os::Session;
use relation::TableDefinition;
use stop::Stop;

use crate::journal::{Content, Numbers, RowId};
use crate::tables::{ID, MARK, SCRATCH, TABLES, derived_key, read};

/// What doesn't hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Each row.
    pub rows: BTreeMap<RowId, Content>,
    /// Each transaction that has left its mark, with its ticket.
    pub marks: BTreeMap<usize, Option<i64>>,
    /// Everything that is defined: tables, columns, indexes, constraints, sequences, files.
    pub defined: BTreeMap<String, String>,
    /// What each sequence would give next.
    pub next: BTreeMap<Numbers, i64>,
}

/// What is in an opened database, if it agrees with itself.
pub fn inspect(database: &Database, session: &Session) -> Result<Found, Violation> {
    let instance = database.instance();
    instance.wait_for_dead(session);
    let active = instance.transactions().active().all(session);
    if !active.is_empty() {
        return Err(Violation(format!("transactions {active:?} are still active")));
    }
    let mut connection = database.connect_with(session);
    let mut found = Found { defined: defined(database, session), ..Found::default() };
    for (number, shape) in TABLES.iter().enumerate() {
        let rows = held(&mut connection, shape.name, |row| read(number, row))?;
        found.rows.extend(rows.into_iter().map(|(id, content)| ((number, id), content)));
    }
    let mark = |row: &Row<'_>| Ok((row.get_i64(ID).unwrap_or(-1), row.get_i64(1)));
    let marks = held(&mut connection, MARK, mark)?;
    found.marks = marks.into_iter().map(|(number, ticket)| (number as usize, ticket)).collect();
    for table in database.catalog().definitions(session) {
        let is_known = table.name == MARK || TABLES.iter().any(|shape| shape.name == table.name);
        if !is_known {
            held(&mut connection, &table.name, |row| Ok((row.get_i64(ID).unwrap_or(-1), ())))?;
        }
    }
    drop(connection);
    constraints(&found.rows)?;
    for view in database.catalog().sequences(session) {
        let known = Numbers::ALL.iter().find(|numbers| numbers.name() == view.definition.name);
        if let (Some(numbers), Some(next)) = (known, view.next) {
            found.next.insert(*numbers, next);
        }
    }
    instance.space().check(session).map_err(Violation)?;
    instance.transactions().undo().check(session).map_err(Violation)?;
    Ok(found)
}

/// The rows of a table by a scan, if each of its indexes gives the same: of each its primary key,
/// and what `look` makes of it.
pub fn held<T: Copy + PartialEq + Debug>(
    connection: &mut Connection<'_>,
    name: &str,
    look: impl Fn(&Row<'_>) -> Result<(i64, T), String>,
) -> Result<BTreeMap<i64, T>, Violation> {
    let say = |stop: Stop| Violation(format!("table {name} can't be read: {stop}"));
    let table = connection.table(name).map_err(say)?;
    let mut rows = BTreeMap::new();
    let (mut count, mut torn) = (0, None);
    let mut take = |row: &Row<'_>, rows: &mut BTreeMap<i64, T>| {
        count += 1;
        match look(row) {
            Ok((id, content)) => _ = rows.insert(id, content),
            Err(what) => torn = Some(what),
        }
    };
    connection.scan(&table, |row| take(&row, &mut rows)).map_err(say)?;
    if count != rows.len() {
        return Err(Violation(format!("table {name} has a primary key twice: {rows:?}")));
    }
    for index in &table.definition().indexes {
        let (mut by_index, mut entries) = (BTreeMap::new(), 0);
        let id = index.id();
        let everything = (id, &Bounds::equal(&[]), Direction::Ascending);
        let look = |row: Row<'_>| {
            entries += 1;
            match look(&row) {
                Ok((id, content)) => _ = by_index.insert(id, content),
                Err(what) => torn = Some(what),
            }
            ControlFlow::Continue(())
        };
        connection.range(&table, everything, look).map_err(say)?;
        if by_index != rows || entries != rows.len() {
            return Err(Violation(format!(
                "table {name} has {rows:?}, and by its index {} {entries} rows, {by_index:?}",
                index.name
            )));
        }
    }
    torn.map_or(Ok(rows), |what| Err(Violation(format!("table {name}: {what}"))))
}

/// Foreign keys have their rows, unique keys come once.
fn constraints(rows: &BTreeMap<RowId, Content>) -> Result<(), Violation> {
    let mut keys = BTreeSet::new();
    for ((table, id), content) in rows {
        let shape = &TABLES[*table];
        if let (Some((parent, _)), Some(refers)) = (shape.refers, content.parent)
            && !rows.contains_key(&(parent, refers))
        {
            let name = TABLES[parent].name;
            return Err(Violation(format!(
                "row {id} of {} refers to row {refers} of {name}, which isn't there",
                shape.name
            )));
        }
        if let Some(key) = derived_key(content.version)
            && !keys.insert((table, key))
        {
            return Err(Violation(format!("a unique key of {} is there twice", shape.name)));
        }
    }
    Ok(())
}

/// Everything that is defined, by kind and name.
pub(crate) fn defined(database: &Database, session: &Session) -> BTreeMap<String, String> {
    let (catalog, space) = (database.catalog(), database.instance().space());
    let all = catalog.definitions(session);
    let mut defined = BTreeMap::new();
    for table in &all {
        of_table(table, &mut defined);
        for key in &table.foreign_keys {
            let parent = all.iter().find(|one| one.object == key.references);
            let parent = parent.map_or("nothing", |parent| &parent.name);
            defined.insert(constraint_name(&table.name, &key.name), format!("refers to {parent}"));
        }
    }
    for view in catalog.sequences(session) {
        defined.insert(sequence_name(&view.definition.name), String::new());
    }
    for tablespace in space.tablespaces(session) {
        defined.insert(format!("{TABLESPACE}{}", tablespace.name), String::new());
    }
    defined.insert(FILES.to_string(), space.file_blocks(session).len().to_string());
    defined
}

fn of_table(table: &TableDefinition, defined: &mut BTreeMap<String, String>) {
    let name = &table.name;
    defined.insert(table_name(name), String::new());
    if *name == TABLES[SCRATCH].name {
        defined.insert(SEGMENT.to_string(), table.segment.get().to_string());
    }
    for column in table.columns.iter().filter(|column| !column.is_dropped()) {
        defined.insert(column_name(name, &column.name), column.kind.to_string());
    }
    for index in &table.indexes {
        let columns = index.columns.iter().map(|of| table.columns[of.column].name.as_str());
        let columns: Vec<&str> = columns.collect();
        defined.insert(index_name(name, &index.name), index_text(index.unique, &columns));
    }
    for check in &table.checks {
        defined.insert(constraint_name(name, &check.name), CHECK.to_string());
    }
}

/// How many data files there are.
pub(crate) const FILES: &str = "data files";
/// What the definition of a tablespace begins with; its name follows.
pub(crate) const TABLESPACE: &str = "tablespace ";
/// Where the rows are of the table that is truncated.
pub(crate) const SEGMENT: &str = "the segment of scratch";
pub(crate) const CHECK: &str = "check";

pub(crate) fn table_name(table: &str) -> String {
    format!("table {table}")
}

pub(crate) fn sequence_name(sequence: &str) -> String {
    format!("sequence {sequence}")
}

pub(crate) fn column_name(table: &str, column: &str) -> String {
    format!("column {table}.{column}")
}

pub(crate) fn index_name(table: &str, index: &str) -> String {
    format!("index {table}.{index}")
}

pub(crate) fn constraint_name(table: &str, constraint: &str) -> String {
    format!("constraint {table}.{constraint}")
}

pub(crate) fn index_text(unique: bool, columns: &[&str]) -> String {
    format!("{}{}", if unique { "unique " } else { "" }, columns.join(", "))
}

/// Whether every row can be locked at once: nobody has left a lock.
pub(crate) fn locks(
    database: &Database,
    found: &Found,
    session: &Session,
) -> Result<(), Violation> {
    let mut connection = database.connect_with(session);
    let say = |stop: Stop| Violation(format!("rows can't be locked: {stop}"));
    let names = TABLES.iter().map(|shape| shape.name);
    let tables = names.map(|name| connection.table(name)).collect::<Result<Vec<_>, _>>();
    let tables = tables.map_err(say)?;
    let mut tx = connection.begin();
    let mut count = 0;
    for table in &tables {
        let locked = tx.lock_where(table, Which::All, None, ForUpdate::nowait(), |_| ());
        count += locked.map_err(say)?;
    }
    tx.rollback().map_err(say)?;
    match count == found.rows.len() as u64 {
        true => Ok(()),
        false => Err(Violation(format!("{count} of {} rows can be locked", found.rows.len()))),
    }
}
