//! Statements that define something, between the transactions of a session, while others work.
//!
//! Each session has names of its own, so that of each thing it is known what it is: a statement
//! that has returned is done, one that was refused isn't, and one that is under way when the power
//! goes is done or not, with all that it defines.
//!
//! Callers: `load`.

use database::{
    Alteration, ColumnSpec, Condition, Connection, ConstraintSpec, Database, IndexSpec, OnDelete,
    Rule, SequenceOptions, TableSpec, Type, Value,
};
use instance::{DataFileSpec, TablespaceSpec};
use os::Session;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use relation::{Comparison, Operand};
use stop::{RefusalKind, Stop};

use crate::Journal;
use crate::found::{
    CHECK, FILES, SEGMENT, TABLESPACE, column_name, constraint_name, defined, index_name,
    index_text, sequence_name, table_name,
};
use crate::journal::{ANOTHER, Outcome};
use crate::tables::{COLUMNS, SCRATCH, TABLES, USERS, VERSION};

/// In a tally.
pub(crate) const DEFINED: &str = "a statement that defines something";
pub(crate) const TRUNCATED: &str = "a table truncated";
pub(crate) const FILE_ADDED: &str = "a data file added";

/// Something that a session has made and may drop.
#[derive(Clone, Debug)]
enum Made {
    Index { table: usize, name: String },
    Column { table: usize, name: String },
    Check { table: usize, name: String },
    Table { name: String },
    Sequence { name: String },
}

/// What a session has defined.
#[derive(Default)]
pub(crate) struct Definer {
    session: u32,
    made: Vec<Made>,
    /// How much it ever made.
    count: u32,
    files: u32,
}

/// Each thing, and what it is then.
type Changes = Vec<(String, Option<String>)>;

impl Definer {
    pub(crate) fn new(session: u32) -> Definer {
        Definer { session, ..Definer::default() }
    }

    /// Makes something, or drops something that it has made.
    pub(crate) fn define(
        &mut self,
        (database, tables): (&Database, usize),
        journal: &Journal,
        random: &mut Xoshiro256PlusPlus,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut connection = database.connect_with(session);
        if self.session == 0 && tables > SCRATCH && random.random_range(0..5) == 0 {
            return truncate(database, &mut connection, journal, session);
        }
        if self.session == 0 && random.random_range(0..8) == 0 {
            return self.add_space(database, journal, session);
        }
        if self.made.len() > 3 || (!self.made.is_empty() && random.random_range(0..5) < 2) {
            let made = self.made.swap_remove(random.random_range(0..self.made.len()));
            return drop_again(&made, &mut connection, journal);
        }
        self.count += 1;
        let table = random.random_range(0..tables);
        let name = format!("made{}_{}", self.session, self.count);
        let made = match random.random_range(0..12) {
            0..=4 => make_index((table, name), &mut connection, journal)?,
            5 | 6 => make_column((table, name), &mut connection, journal)?,
            7 => make_check((table, name), &mut connection, journal)?,
            8..=10 => make_table(name, &mut connection, journal)?,
            _ => make_sequence(name, &mut connection, journal)?,
        };
        self.made.extend(made);
        Ok(())
    }

    /// A data file, or a tablespace.
    fn add_space(
        &mut self,
        database: &Database,
        journal: &Journal,
        session: &Session,
    ) -> Result<(), Stop> {
        self.files += 1;
        let count = database.instance().space().file_blocks(session).len() + 1;
        let tablespaces = database.instance().space().tablespaces(session);
        let users = tablespaces.iter().find(|one| one.name == USERS);
        let block_size = users.expect("it was made with the database").block_size;
        let block = block_size.bytes() as u64;
        let file = DataFileSpec {
            path: format!("added{}.dbf", self.files),
            bytes: 16 * block,
            bytes_max: 60 * block,
            growth_bytes: 4 * block,
        };
        let mut changes = vec![(FILES.to_string(), Some(count.to_string()))];
        if self.files.is_multiple_of(2) {
            let name = format!("space{}", self.files);
            changes.push((format!("{TABLESPACE}{name}"), Some(String::new())));
            let spec = TablespaceSpec { name, block_size, extent_blocks: 4, files: vec![file] };
            let make = || database.instance().create_tablespace(&spec, session);
            return done(changes, journal, make).map(|done| note(done, FILE_ADDED, journal));
        }
        let add = || database.instance().add_data_file(USERS, &file, session);
        done(changes, journal, add).map(|done| note(done, FILE_ADDED, journal))
    }
}

fn note(done: bool, what: &'static str, journal: &Journal) {
    if done {
        journal.note(what);
    }
}

/// Calls a statement that changes this. True if it is done, false if it was refused.
fn done(
    changes: Changes,
    journal: &Journal,
    statement: impl FnOnce() -> Result<(), Stop>,
) -> Result<bool, Stop> {
    use RefusalKind as Kind;
    let number = journal.defines(changes);
    match statement() {
        Ok(()) => {
            journal.outcome(number, Outcome::Acknowledged);
            journal.note(DEFINED);
            Ok(true)
        }
        Err(stop) => match stop.refusal() {
            Some(
                Kind::NoSpace
                | Kind::Deadlock
                | Kind::Busy
                | Kind::LockTimeout
                | Kind::SnapshotTooOld
                | Kind::DefinitionChanged
                | Kind::UniqueViolation
                | Kind::CheckViolation,
            ) => {
                journal.outcome(number, Outcome::RolledBack);
                Ok(false)
            }
            _ => Err(stop),
        },
    }
}

type Name = (usize, String);

fn make_index(
    (table, name): Name,
    connection: &mut Connection<'_>,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let on = TABLES[table].name;
    // Other columns each time, for there may be only one index of the same.
    let mut columns: Vec<&str> = COLUMNS[1..6].to_vec();
    let from = name.bytes().map(usize::from).sum::<usize>();
    columns.rotate_left(from % 5);
    columns.truncate(1 + from % 3);
    columns.push(COLUMNS[0]);
    let is_unique = from % 4 == 1;
    let definition = connection.table(on)?;
    let has = definition.definition().indexes.iter().any(|index| {
        let same = index.columns.iter().map(|of| of.column);
        let wanted = columns.iter().map(|column| definition.column(column).unwrap_or(0));
        same.eq(wanted)
    });
    if has {
        return Ok(None);
    }
    let spec = IndexSpec::new(&name, on, columns.iter().copied());
    let spec = if is_unique { spec.unique() } else { spec };
    let changes = vec![(index_name(on, &name), Some(index_text(is_unique, &columns)))];
    let made = done(changes, journal, || connection.create_index(&spec))?;
    Ok(made.then_some(Made::Index { table, name }))
}

fn make_column(
    (table, name): Name,
    connection: &mut Connection<'_>,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let on = TABLES[table].name;
    let column = ColumnSpec::new(&name, Type::Integer).not_null();
    let column = column.default_value(Value::Int(7).to_owned());
    let changes = vec![(column_name(on, &name), Some(Type::Integer.to_string()))];
    let alteration = Alteration::AddColumn(column);
    let made = done(changes, journal, || connection.alter_table(on, &alteration))?;
    Ok(made.then_some(Made::Column { table, name }))
}

fn make_check(
    (table, name): Name,
    connection: &mut Connection<'_>,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let on = TABLES[table].name;
    let zero = Operand::Constant(Value::Int(0).to_owned());
    let condition = Condition::Compare(Operand::Column(VERSION), Comparison::NotEqual, zero);
    let constraint = ConstraintSpec { name: Some(name.clone()), rule: Rule::Check(condition) };
    let changes = vec![(constraint_name(on, &name), Some(CHECK.to_string()))];
    let alteration = Alteration::AddConstraint(constraint);
    let made = done(changes, journal, || connection.alter_table(on, &alteration))?;
    Ok(made.then_some(Made::Check { table, name }))
}

/// Its columns and constraints, by the names that they get.
fn of_table(name: &str) -> [(String, String); 7] {
    let number = || Type::BigInt.to_string();
    let [key, unique, refers, check] =
        ["pk", "unique", "item", "check"].map(|what| format!("{name}_{what}"));
    [
        (table_name(name), String::new()),
        (column_name(name, "id"), number()),
        (column_name(name, "item"), number()),
        (index_name(name, &key), index_text(true, &["id"])),
        (index_name(name, &unique), index_text(true, &["item"])),
        (constraint_name(name, &refers), format!("refers to {}", TABLES[0].name)),
        (constraint_name(name, &check), CHECK.to_string()),
    ]
}

fn make_table(
    name: String,
    connection: &mut Connection<'_>,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let zero = Operand::Constant(Value::Int(0).to_owned());
    let [key, unique, refers, check] =
        ["pk", "unique", "item", "check"].map(|what| format!("{name}_{what}"));
    let spec = TableSpec::new(&name)
        .in_tablespace(USERS)
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("item", Type::BigInt))
        .primary_key(["id"])
        .named(&key)
        .unique(["item"])
        .named(&unique)
        .foreign_key(["item"], TABLES[0].name, OnDelete::SetNull)
        .named(&refers)
        .check(Condition::Compare(Operand::Column(0), Comparison::Greater, zero))
        .named(&check);
    let changes = of_table(&name).into_iter().map(|(what, is)| (what, Some(is))).collect();
    let made = done(changes, journal, || connection.create_table(&spec).map(drop))?;
    Ok(made.then_some(Made::Table { name }))
}

fn make_sequence(
    name: String,
    connection: &mut Connection<'_>,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let changes = vec![(sequence_name(&name), Some(String::new()))];
    let options = SequenceOptions::default();
    let made = done(changes, journal, || connection.create_sequence(&name, &options))?;
    Ok(made.then_some(Made::Sequence { name }))
}

fn drop_again(made: &Made, connection: &mut Connection<'_>, journal: &Journal) -> Result<(), Stop> {
    let gone = |what: String| vec![(what, None)];
    let dropped = match made {
        Made::Index { table, name } => {
            let changes = gone(index_name(TABLES[*table].name, name));
            done(changes, journal, || connection.drop_index(name))
        }
        Made::Column { table, name } => {
            let on = TABLES[*table].name;
            let drop = Alteration::DropColumn(name.clone());
            done(gone(column_name(on, name)), journal, || connection.alter_table(on, &drop))
        }
        Made::Check { table, name } => {
            let on = TABLES[*table].name;
            let drop = Alteration::DropConstraint { name: name.clone(), cascade: false };
            done(gone(constraint_name(on, name)), journal, || connection.alter_table(on, &drop))
        }
        Made::Table { name } => {
            let changes = of_table(name).into_iter().map(|(what, _)| (what, None)).collect();
            done(changes, journal, || connection.drop_table(name, false))
        }
        Made::Sequence { name } => {
            done(gone(sequence_name(name)), journal, || connection.drop_sequence(name))
        }
    };
    dropped.map(|_| ())
}

/// Takes all rows of a table away that nobody else changes.
fn truncate(
    database: &Database,
    connection: &mut Connection<'_>,
    journal: &Journal,
    session: &Session,
) -> Result<(), Stop> {
    let changes = vec![(SEGMENT.to_string(), Some(ANOTHER.to_string()))];
    let truncated = done(changes, journal, || {
        journal.truncates(SCRATCH);
        connection.truncate_table(TABLES[SCRATCH].name)
    })?;
    if truncated {
        let segment = defined(database, session).remove(SEGMENT);
        journal.became(SEGMENT, segment.expect("the table has one"));
        journal.note(TRUNCATED);
    }
    Ok(())
}
