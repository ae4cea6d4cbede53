//! Statements that define something, between the transactions of a session, while others work.
//!
//! Each session has names of its own, so that of each thing it is known what it is: a statement
//! that has returned is done, one that was refused isn't, and one that is under way when the power
//! goes is done or not, with all that it defines.
//!
//! Callers: `load`.

use database::Database;
use instance::{DataFileSpec, TablespaceSpec};
use os::Session;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::{RefusalKind, Stop};

use crate::defining::Defining;
use crate::found::{FILES, SEGMENT, TABLESPACE, defined};
use crate::journal::{ANOTHER, Outcome};
use crate::make::{
    alter_again, drop_again, make_check, make_column, make_foreign_key, make_index, make_not_null,
    make_sequence, make_table, make_unique,
};
use crate::tables::{SCRATCH, TABLES, USERS};
use crate::{By, Journal};

/// In a tally.
pub(crate) const DEFINED: &str = "a statement that defines something";
pub(crate) const TRUNCATED: &str = "a table truncated";
pub(crate) const FILE_ADDED: &str = "a data file added";
pub(crate) const RENAMED: &str = "something renamed";
pub(crate) const COLUMN_ALTERED: &str = "a column altered";
pub(crate) const BROKEN_BY_ROWS: &str = "a constraint refused because of the rows";

/// Something that a session has made and may drop.
#[derive(Clone, Debug)]
pub(crate) enum Made {
    /// What it is: its text.
    Index {
        table: usize,
        name: String,
        text: String,
    },
    Column {
        table: usize,
        name: String,
        not_null: bool,
        default: i64,
    },
    /// UNIQUE, by its columns.
    Unique {
        table: usize,
        name: String,
        columns: [&'static str; 2],
    },
    /// CHECK or FOREIGN KEY, and its text.
    Constraint {
        table: usize,
        name: String,
        text: String,
    },
    /// A column of the load's that may not be NULL for a while.
    NotNull {
        table: usize,
    },
    /// Its constraints have names that begin with its first one.
    Table {
        name: String,
        first: String,
    },
    Sequence {
        name: String,
    },
}

/// What a session has defined.
pub(crate) struct Definer {
    session: u32,
    /// How it says so.
    by: By,
    made: Vec<Made>,
    /// How much it ever made.
    count: u32,
    files: u32,
}

/// Each thing, and what it is then.
pub(crate) type Changes = Vec<(String, Option<String>)>;

impl Definer {
    pub(crate) fn new(session: u32, by: By) -> Definer {
        Definer { session, by, made: Vec::new(), count: 0, files: 0 }
    }

    /// Makes something, or drops something that it has made.
    pub(crate) fn define(
        &mut self,
        database: &Database,
        tables: usize,
        journal: &Journal,
        random: &mut Xoshiro256PlusPlus,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut connection = database.connect_with(session);
        let connection = &mut Defining::new(self.by, &mut connection);
        if self.session == 0 && tables > SCRATCH && random.random_range(0..3) == 0 {
            return truncate(database, connection, journal, session);
        }
        if self.session == 0 && random.random_range(0..8) == 0 {
            return self.add_space(database, journal, session);
        }
        if self.made.len() > 3 || (!self.made.is_empty() && random.random_range(0..5) < 2) {
            let made = self.made.swap_remove(random.random_range(0..self.made.len()));
            return drop_again(&made, connection, journal);
        }
        self.count += 1;
        let name = format!("made{}_{}", self.session, self.count);
        if !self.made.is_empty() && random.random_range(0..4) == 0 {
            let at = random.random_range(0..self.made.len());
            return alter_again(&mut self.made[at], name, connection, journal);
        }
        let table = random.random_range(0..tables);
        let session = self.session;
        let made = match random.random_range(0..16) {
            0..=4 => make_index((table, name), connection, session, journal)?,
            5 | 6 => make_column((table, name), connection, journal)?,
            7 => make_check((table, name), connection, journal)?,
            8..=10 => make_table(name, connection, journal, random)?,
            11 | 12 => make_unique((table, name), connection, session, journal)?,
            13 => make_foreign_key((table, name), connection, journal)?,
            14 => make_not_null(table, connection, session, journal)?,
            _ => make_sequence(name, connection, journal)?,
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
pub(crate) fn done(
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
                | Kind::DefinitionChanged,
            ) => {
                journal.outcome(number, Outcome::RolledBack);
                Ok(false)
            }
            Some(
                Kind::UniqueViolation
                | Kind::CheckViolation
                | Kind::ForeignKeyViolation
                | Kind::NotNullViolation,
            ) => {
                journal.outcome(number, Outcome::RolledBack);
                journal.note(BROKEN_BY_ROWS);
                Ok(false)
            }
            // Of two sessions that make such an index at once neither saw the other's.
            Some(Kind::Invalid) if stop.to_string().contains("has the same columns as") => {
                journal.outcome(number, Outcome::RolledBack);
                Ok(false)
            }
            _ => Err(stop),
        },
    }
}

/// Takes all rows of a table away that nobody else changes.
fn truncate(
    database: &Database,
    connection: &mut Defining<'_, '_>,
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
