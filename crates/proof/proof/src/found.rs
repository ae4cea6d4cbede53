//! What is in a database that was opened, if it agrees with itself: every table is read by a scan
//! and by each of its indexes, constraints are held against rows, and whatever is defined is told.
//!
//! Callers: `sweep`, for each crash state; `shape`, for the database that a load begins with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use database::{
    ColumnDefault, Condition, Connection, Database, ForUpdate, IndexDirection, NullOrdering,
    OnDelete, OwnedValue, Row, Selection, Type,
};
use os::Session;
use relation::TableDefinition;
use stop::Stop;

use crate::held::Held;
use crate::journal::{Content, Numbers, RowId};
use crate::tables::{ID, MARK, SCRATCH, TABLES, derived_key, read};
use crate::text::quoted;
use crate::{Violation, constraints};

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

/// How closely a database is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// All rows by all indexes, forwards; all constraints.
    Usual,
    /// Backwards too, and each row by its own key in each index.
    Close,
}

/// What is in an opened database, if it agrees with itself.
pub fn inspect(database: &Database, look: Look, session: &Session) -> Result<Found, Violation> {
    let instance = database.instance();
    instance.wait_for_dead(session);
    let active = instance.transactions().active().all(session);
    if !active.is_empty() {
        return Err(Violation(format!("transactions {active:?} are still active")));
    }
    let mut connection = database.connect_with(session);
    let mut found = Found { defined: defined(database, session), ..Found::default() };
    let mut tables = Vec::new();
    for (number, shape) in TABLES.iter().enumerate() {
        let held = Held::read(&mut connection, shape.name, |row| read(number, row))?;
        let rows = held.rows.iter();
        found.rows.extend(rows.map(|(id, content)| ((number, *id), *content)));
        tables.push(looked_at(held, look, &mut connection)?);
    }
    let mark = |row: &Row<'_>| Ok((row.get_i64(ID).unwrap_or(-1), row.get_i64(1)));
    let marks = Held::read(&mut connection, MARK, mark)?;
    found.marks = marks.rows.iter().map(|(number, ticket)| (*number as usize, *ticket)).collect();
    tables.push(looked_at(marks, look, &mut connection)?);
    for table in database.catalog().definitions(session) {
        let is_known = table.name == MARK || TABLES.iter().any(|shape| shape.name == table.name);
        if !is_known {
            let any = |row: &Row<'_>| Ok((row.get_i64(ID).unwrap_or(-1), ()));
            let held = Held::read(&mut connection, &table.name, any)?;
            tables.push(looked_at(held, look, &mut connection)?);
        }
    }
    for (table, _) in &tables {
        expressions(table.definition(), &mut connection)?;
    }
    drop(connection);
    constraints::hold(&tables)?;
    keys(&found.rows)?;
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

/// A table as closely as that.
fn looked_at<T: Copy + PartialEq + Debug>(
    held: Held<T>,
    look: Look,
    connection: &mut Connection<'_>,
) -> Result<constraints::Rows, Violation> {
    if look == Look::Close {
        held.look_closer(connection)?;
    }
    Ok((held.table, held.cells.into_values().collect()))
}

/// CHECKs that are expressions, which SQL evaluates: no row breaks one.
fn expressions(of: &TableDefinition, connection: &mut Connection<'_>) -> Result<(), Violation> {
    for check in &of.expressions {
        let table = quoted(&of.name);
        let text = format!("select count(*) from {table} where not ({})", check.text);
        let counted = connection.query(&text, &[]).and_then(|mut cursor| {
            let row = cursor.next_row()?.expect("a count is one row");
            row.get::<i64>(0)
        });
        match counted {
            Ok(0) => {}
            Ok(count) => {
                let what = format!("{count} rows of {} break CHECK {}", of.name, check.name);
                return Err(Violation(what));
            }
            Err(stop) => return Err(Violation(format!("{text}: {stop}"))),
        }
    }
    Ok(())
}

/// Foreign keys and unique keys of the tables of a load, as the load means them: whatever the
/// dictionary says now.
fn keys(rows: &BTreeMap<RowId, Content>) -> Result<(), Violation> {
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

/// Everything that is defined, by kind and name, with all that the dictionary says of it.
pub(crate) fn defined(database: &Database, session: &Session) -> BTreeMap<String, String> {
    let (catalog, space) = (database.catalog(), database.instance().space());
    let all = catalog.definitions(session);
    let mut defined = BTreeMap::new();
    for table in &all {
        of_table(table, &mut defined);
        for key in &table.foreign_keys {
            let parent = all.iter().find(|one| one.object == key.references);
            let text = parent.map_or("refers to nothing".to_string(), |parent| {
                let named = |of: &TableDefinition, columns: &[usize]| {
                    let names = columns.iter().map(|at| of.columns[*at].name.as_str());
                    names.collect::<Vec<_>>().join(", ")
                };
                let columns = named(table, &key.columns);
                let referenced = named(parent, &key.referenced_columns);
                foreign_text(&columns, &parent.name, &referenced, key.on_delete)
            });
            defined.insert(constraint_name(&table.name, &key.name), text);
        }
    }
    for view in catalog.sequences(session) {
        let of = &view.definition;
        let text = sequence_text(of.start, of.increment, of.min, of.max, of.cycles, of.cache);
        defined.insert(sequence_name(&of.name), text);
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
        let default = match &column.default {
            ColumnDefault::Constant(value) => format!("{value:?}"),
            ColumnDefault::Identity { always, .. } => format!("identity, always: {always}"),
            ColumnDefault::Expression(text) => format!("expression: {text}"),
        };
        let text = column_text(column.kind, column.not_null, &default, &column.missing);
        defined.insert(column_name(name, &column.name), text);
    }
    for index in &table.indexes {
        let columns = index.columns.iter().map(|of| {
            let column = &table.columns[of.column].name;
            let order = (of.direction != IndexDirection::Ascending).then_some(" descending");
            let nulls = of.nulls != NullOrdering::of(of.direction);
            let nulls = nulls.then(|| format!(" nulls {:?}", of.nulls));
            format!("{column}{}{}", order.unwrap_or_default(), nulls.unwrap_or_default())
        });
        let columns: Vec<String> = columns.collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let kind = match (index.primary, index.unique) {
            (true, _) => PRIMARY,
            (false, true) => UNIQUE,
            (false, false) => PLAIN,
        };
        defined.insert(index_name(name, &index.name), index_text(kind, &columns));
    }
    for check in &table.checks {
        defined.insert(constraint_name(name, &check.name), check_text(&check.condition));
    }
    for check in &table.expressions {
        defined.insert(constraint_name(name, &check.name), expression_text(&check.text));
    }
}

/// How many data files there are.
pub(crate) const FILES: &str = "data files";
/// What the definition of a tablespace begins with; its name follows.
pub(crate) const TABLESPACE: &str = "tablespace ";
/// Where the rows are of the table that is truncated.
pub(crate) const SEGMENT: &str = "the segment of scratch";
/// What the text of an index begins with.
pub(crate) const PRIMARY: &str = "primary key of ";
pub(crate) const UNIQUE: &str = "unique, of ";
pub(crate) const PLAIN: &str = "of ";

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

pub(crate) fn index_text(kind: &str, columns: &[&str]) -> String {
    format!("{kind}{}", columns.join(", "))
}

pub(crate) fn column_text(
    kind: Type,
    not_null: bool,
    default: &str,
    missing: &OwnedValue,
) -> String {
    let null = if not_null { "not null" } else { "may be null" };
    format!("{kind}, {null}, default {default}, in older rows {missing:?}")
}

pub(crate) fn check_text(condition: &Condition) -> String {
    format!("check {condition:?}")
}

/// The same of one that is an expression.
pub(crate) fn expression_text(text: &str) -> String {
    format!("check of the expression {text}")
}

pub(crate) fn foreign_text(
    columns: &str,
    parent: &str,
    referenced: &str,
    on_delete: OnDelete,
) -> String {
    format!("({columns}) refers to {parent} ({referenced}), on delete {on_delete:?}")
}

pub(crate) fn sequence_text(
    start: i64,
    increment: i64,
    min: i64,
    max: i64,
    cycles: bool,
    cache: u32,
) -> String {
    format!("from {start} by {increment} in {min}..={max}, cycles: {cycles}, cache {cache}")
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
        let locked = tx.lock_where(table, Selection::All, None, ForUpdate::nowait(), |_| ());
        count += locked.map_err(say)?;
    }
    tx.rollback().map_err(say)?;
    match count == found.rows.len() as u64 {
        true => Ok(()),
        false => Err(Violation(format!("{count} of {} rows can be locked", found.rows.len()))),
    }
}
