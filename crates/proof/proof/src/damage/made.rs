//! The database that is damaged: the crash sweep's tables after two of its loads, and a table of
//! their own for what those have not; at the end of each load it was shut.
//!
//! Callers: `mod`.

use std::path::Path;
use std::sync::Arc;

use database::{
    ColumnSpec, Comparison, Condition, Connection, Database, Operand, Options, Selection,
    TableDefinition, TableSpec, Type, Value,
};
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::fs::FileSystem;
use sim::{Outside, Perturbation, World};
use space::{ControlContent, ControlFile};
use stop::Stop;

use super::closed;
use super::image::Image;
use crate::shape::DIRECTORY;
use crate::sweep::left;
use crate::{Bases, By, Journal, Load, Shape, Violation, machine};

/// Of databases that loads begin with, the one of this check.
const BASE: u64 = 9;

/// The table whose numbers are GENERATED ALWAYS, with a CHAR that no index has.
pub(super) const NUMBERED: &str = "numbered";
/// Its columns.
const LABEL_CHARS: u16 = 12;

/// A database at two times, and what its dictionary says at the second.
pub(super) struct Made {
    /// The data files at the earlier time.
    pub(super) then: Image,
    /// And at the later one.
    pub(super) now: Image,
    /// Everything, at the later time.
    pub(super) disk: FileSystem,
    pub(super) options: Options,
    /// All tables, but for those of the dictionary.
    pub(super) tables: Vec<Arc<TableDefinition>>,
}

/// Of that what a simulated machine is told.
#[derive(Clone)]
pub(super) struct Inside {
    pub(super) options: Options,
    pub(super) tables: Vec<Arc<TableDefinition>>,
}

/// What is known when a load was shut.
#[derive(Default)]
struct Known {
    content: Option<ControlContent>,
    tables: Vec<Arc<TableDefinition>>,
    found: Vec<String>,
}

impl Made {
    /// The database of this seed. Nothing is found in it, at either time.
    pub(super) fn by(seed: u64, bases: &mut Bases) -> Result<Made, Violation> {
        let shape = Shape::of(seed);
        let base = bases.of(&shape, BASE);
        let journal = Journal::from(base.record.clone());
        let load = Load {
            seed,
            sessions: 1 + (seed % 3) as u32,
            transactions: 10,
            changes_max: 6,
            tables: 4,
            checkpoint_every: Some(10),
            pauses_every: None,
            alters: false,
            // What it defines the next load would have to know.
            defines: false,
            serializable: true,
            commit_modes: false,
            leaves_open: false,
            // CHECKs that are expressions aren't among what is broken here.
            by: By::Api,
        };
        let options = shape.options();
        let mut disk = base.disk.clone();
        let (then, _) = live(&mut disk, load, &options, &journal)?;
        let load = Load { seed: !seed, defines: seed % 2 == 1, ..load };
        let (now, tables) = live(&mut disk, load, &options, &journal)?;
        Ok(Made { then, now, disk, options, tables })
    }

    pub(super) fn inside(&self) -> Inside {
        Inside { options: self.options.clone(), tables: self.tables.clone() }
    }

    /// The table with this index, and the index's place.
    pub(super) fn table_of_index(&self, segment: u32) -> Option<(&TableDefinition, usize)> {
        self.tables.iter().find_map(|table| {
            let place = table.indexes.iter().position(|one| one.segment.get() == segment);
            place.map(|place| (&**table, place))
        })
    }

    /// The table with these rows.
    pub(super) fn table_of_heap(&self, segment: u32) -> Option<&TableDefinition> {
        self.tables.iter().find(|table| table.segment.get() == segment).map(|table| &**table)
    }
}

/// Runs a load and shuts the database; the data files then, and the tables.
fn live(
    disk: &mut FileSystem,
    load: Load,
    options: &Options,
    journal: &Journal,
) -> Result<(Image, Vec<Arc<TableDefinition>>), Violation> {
    let known = Outside::<Known>::default();
    let races = if load.sessions > 1 { Perturbation::RACES } else { Perturbation::NONE };
    let (options, journal, into) = (options.clone(), journal.clone(), known.clone());
    let report = machine(load.seed, disk.clone(), races).run(move |world, session| {
        let known = life(world, load, &options, &journal, session)?;
        into.with(|into| *into = known);
        Ok(())
    });
    match &report.result {
        Ok(Ok(())) => {}
        Ok(Err::<(), Stop>(stop)) => return Err(Violation(format!("the load stopped: {stop}"))),
        Err(failure) => return Err(Violation(format!("in the load: {failure}"))),
    }
    *disk = left(report);
    let known = known.take();
    if !known.found.is_empty() {
        return Err(Violation(format!("undamaged, it isn't in order: {}", known.found.join("\n"))));
    }
    let content = known.content.expect("it was read");
    Ok((Image::of(disk, &content), known.tables))
}

fn life(
    world: &World,
    load: Load,
    options: &Options,
    journal: &Journal,
    session: &Session,
) -> Result<Known, Stop> {
    let disk = world.disk();
    load.run(Database::open_in(&disk, Path::new(DIRECTORY), options, session)?, journal, session)?;
    let database = Database::open_in(&disk, Path::new(DIRECTORY), options, session)?;
    let mut connection = database.connect_with(session);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(load.seed);
    work(&mut connection, &mut random)?;
    drop(connection);
    let tables = database.catalog().definitions(session);
    database.shutdown_by(session)?;
    let found = closed(&disk, Path::new(DIRECTORY), session)?.lines;
    let copies = ControlFile::look(&disk, Path::new(DIRECTORY), false, session)?;
    let content = copies.into_iter().find_map(|copy| copy.said.ok()).map(|(_, content)| content);
    Ok(Known { content, tables, found })
}

/// Rows of the table of its own, which the first time is made.
fn work(connection: &mut Connection<'_>, random: &mut Xoshiro256PlusPlus) -> Result<(), Stop> {
    let table = match connection.table(NUMBERED) {
        Ok(table) => table,
        Err(_) => connection.create_table(&spec())?,
    };
    let first = random.random_range(0..1_000);
    let many = 6 + random.random_range(0..30);
    let mut tx = connection.begin();
    for number in first..first + many {
        let label = format!("label {}", number % 7);
        let amount = if number % 3 > 0 { Value::Int(number) } else { Value::Null };
        let notes = "n".repeat([10, 200, 3_000, 40][number as usize % 4]);
        let columns =
            [("label", Value::Text(&label)), ("amount", amount), ("notes", Value::Text(&notes))];
        tx.insert_named(&table, &columns)?;
    }
    tx.commit()?;
    // Some rows grow out of their blocks, some go.
    let mut tx = connection.begin();
    let grown = "g".repeat(random.random_range(300..2_500));
    let rest = random.random_range(0..5);
    let mut is_meant = |row: &database::Row<'_>| row.get_i64(0).is_some_and(|id| id % 5 == rest);
    tx.update_where(&table, Selection::All, Some(&mut is_meant), |_, row| {
        row.set(3, Value::Text(&grown))
    })?;
    let mut is_meant =
        |row: &database::Row<'_>| row.get_i64(0).is_some_and(|id| id % 5 == (rest + 1) % 5);
    tx.delete_where(&table, Selection::All, Some(&mut is_meant))?;
    tx.commit()
}

fn spec() -> TableSpec {
    let label = Type::char(LABEL_CHARS).expect("a CHAR may have so many characters");
    let is_positive = Condition::Compare(
        Operand::Column(2),
        Comparison::GreaterOrEqual,
        Operand::Constant(Value::Int(0).to_owned()),
    );
    TableSpec::new(NUMBERED)
        .column(ColumnSpec::new("id", Type::BigInt).identity(true))
        .column(ColumnSpec::new("label", label).not_null())
        .column(ColumnSpec::new("amount", Type::Integer))
        .column(ColumnSpec::new("notes", Type::Text))
        .primary_key(["id"])
        .check(is_positive)
}
