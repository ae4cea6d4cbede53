//! What is found when the disk is sound again, against what was told.

use std::collections::BTreeMap;
use std::path::Path;

use database::Database;
use os::{FileOptions, Session};
use sim::World;
use sim::fs::FileSystem;

use crate::life::{ROWS, TICKET, column, create, length_of, open};
use crate::machine;
use crate::told::{Came, Told};

/// What is in a database that opens without faults, against what was told; and verified, if asked
/// for, when it was shut. Only one whose creation didn't end well may refuse to open.
pub(crate) fn holds(told: Told, disk: FileSystem, is_verified: bool) -> Result<(), String> {
    let report = machine(1, disk).run(move |world, session| {
        let database = match open(world, session) {
            Ok(database) => database,
            Err(stop) if !told.is_there() && !stop.to_string().contains('\n') => return Ok(()),
            Err(stop) => return Err(format!("it doesn't open: {stop}")),
        };
        let found = compare(&told, &database, session);
        let shut = database.shutdown_by(session);
        shut.map_err(|stop| format!("it doesn't shut: {stop}"))?;
        found?;
        if is_verified { verified(world, session) } else { Ok(()) }
    });
    report.result.map_err(|failure| failure.to_string())?
}

/// A creation that failed once has left nothing: the same place can be used again.
pub(crate) fn is_as_before(disk: FileSystem) -> Result<(), String> {
    let report = machine(1, disk).run(|world, session| {
        let database = create(world, session).map_err(|stop| stop.to_string())?;
        database.shutdown_by(session).map_err(|stop| stop.to_string())
    });
    report.result.map_err(|failure| failure.to_string())?
}

fn verified(world: &World, session: &Session) -> Result<(), String> {
    let mut findings = Vec::new();
    let tell = &mut |finding: &verify::Finding| findings.push(finding.to_string());
    let mut task =
        verify::Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut |_| true };
    let options = FileOptions { direct: false, write_through: false };
    let report = verify::closed(&world.disk(), Path::new("/db"), options, &mut task, session);
    let report = report.map_err(|stop| format!("it can't be verified: {stop}"))?;
    if report.is_clean() { Ok(()) } else { Err(format!("{findings:?}\n{report}")) }
}

fn compare(told: &Told, database: &Database, session: &Session) -> Result<(), String> {
    let instance = database.instance();
    instance.wait_for_dead(session);
    instance.space().check(session)?;
    instance.transactions().undo().check(session)?;
    let spaces = instance.space().tablespaces(session);
    let files = instance.space().file_blocks(session).len();
    let definitions = database.catalog().definitions(session);
    let sequences = database.catalog().sequences(session);
    for view in sequences.iter().filter(|view| view.definition.name == TICKET) {
        let (next, last) = (view.next, told.numbers.get(TICKET));
        if next.is_none() || next.as_ref() <= last {
            return Err(format!(
                "{last:?} of the sequence is committed, and it would give {next:?} next"
            ));
        }
    }
    let mut connection = database.connect_with(session);
    let mut rows: BTreeMap<(&str, i64), Vec<i64>> = BTreeMap::new();
    for (name, came) in &told.made {
        let there = match *name {
            "users" => spaces.iter().any(|space| space.name == "users"),
            "users02.dbf" => files == 4,
            TICKET => sequences.iter().any(|view| view.definition.name == TICKET),
            "t_by_code" => {
                let of_t = definitions.iter().filter(|table| table.name == "t");
                of_t.flat_map(|table| &table.indexes).any(|index| index.name == *name)
            }
            table => definitions.iter().any(|one| one.name == table),
        };
        let expected = match came {
            Came::There => true,
            Came::Not => false,
            Came::InDoubt => there,
        };
        if there != expected {
            return Err(format!("{name} is {came:?}, and there is {there}"));
        }
        if there && matches!(*name, "t" | "u") {
            let look = |row: &database::Row<'_>| {
                let number = |column| row.get_i64(column).ok_or("a number is missing".to_string());
                let notes = row.get_text(column::NOTES).map_err(|damaged| damaged.to_string())?;
                let (id, number) = (number(column::ID)?, number(column::NUMBER)?);
                let length = length_of(number, id - number * 100);
                let is_long = notes.is_some_and(|notes| notes.len() == length);
                Ok((id, (number, row.get_i64(column::PARENT), is_long)))
            };
            let found = proof::held(&mut connection, name, look).map_err(|wrong| wrong.0)?;
            for (id, (number, parent, is_long)) in &found {
                rows.entry((*name, *number)).or_default().push(*id - number * 100);
                if parent.is_some_and(|parent| !found.contains_key(&parent)) || !is_long {
                    return Err(format!("row {id} of {name} isn't whole"));
                }
            }
        }
    }
    for (number, (table, came)) in told.transactions.iter().enumerate() {
        let found = rows.remove(&(*table, number as i64)).unwrap_or_default();
        let whole = found.iter().copied().eq(0..ROWS);
        let right = match came.expect("every transaction came somewhere") {
            Came::There => whole,
            Came::Not => found.is_empty(),
            Came::InDoubt => found.is_empty() || whole,
        };
        if !right {
            return Err(format!("transaction {number} in {table}: {came:?}, rows {found:?}"));
        }
    }
    if rows.is_empty() { Ok(()) } else { Err(format!("rows of nobody: {rows:?}")) }
}
