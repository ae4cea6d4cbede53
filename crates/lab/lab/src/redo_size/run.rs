//! From the request to the curve: a database in a scratch folder, or on a modelled machine.

use database::{Database, Options};
use std::path::Path;

use os::{Disk, Session};
use stop::Stop;

use super::audit::audit;
use super::measure::{Measured, Sizes, creation, load, measure, parameters};
use super::report::Report;
use crate::RunOn;
use crate::checks;
use crate::crash::crash;
use crate::linux::{Chosen, this_machine};
use crate::model::Machine;
use crate::scratch::Scratch;

/// The request for the experiment.
pub struct Curve {
    /// Which sizes.
    pub sizes: Sizes,
    /// Where the runs are made.
    pub run_on: RunOn,
    /// Orders the runs.
    pub seed: u64,
    /// The commit that the program was built from.
    pub commit: String,
    /// The command line that asks for it again.
    pub command: String,
}

/// Measures the curve. None if it was told to stop; nothing is left behind then.
pub fn run(
    curve: &Curve,
    told_to_stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&str),
    session: &Session,
) -> Result<Option<Report>, Stop> {
    checks::rounds(curve.sizes.rounds)?;
    let (measured, machine) = match &curve.run_on {
        RunOn::ThisMachine(parent) => {
            let machine = this_machine(parent);
            (here(parent, curve, told_to_stop, tell, session)?, machine)
        }
        RunOn::Model { machine, disk } => {
            let model = Machine::named(machine, disk)?;
            tell("measuring on the model");
            (Some(modelled(&model, curve)?), model.describe(machine, disk))
        }
    };
    Ok(measured.map(|measured| Report::of(measured, curve, machine)))
}

fn here(
    parent: &Path,
    curve: &Curve,
    told_to_stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&str),
    session: &Session,
) -> Result<Option<Measured>, Stop> {
    let disk = os::linux::disk();
    let direct = parameters().filesystemio_options.file_options().direct;
    let scratch = Scratch::make(&disk, parent, direct, session)?;
    let directory = scratch.base();
    in_a_database(&disk, &directory, curve.sizes, curve.seed, tell, told_to_stop, session)
}

fn modelled(model: &Machine, curve: &Curve) -> Result<Measured, Stop> {
    let (sizes, seed) = (curve.sizes, curve.seed);
    let (measured, _) = model.run(seed, None, move |world, session| {
        let (disk, directory) = (world.disk(), Path::new("/db"));
        in_a_database(&disk, directory, sizes, seed, &mut |_| {}, &|| false, session)
    })?;
    Ok(measured.expect("nobody tells a model to stop"))
}

fn in_a_database(
    disk: &Disk,
    directory: &Path,
    sizes: Sizes,
    seed: u64,
    tell: &mut dyn FnMut(&str),
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<Measured>, Stop> {
    let mut options =
        Options { creation: creation(), parameters: parameters(), ..Options::default() };
    let database = Database::create_in(disk, directory, &options, session)?;
    let loaded = load(&mut database.connect_with(session));
    match loaded {
        Ok(()) => database.shutdown_by(session)?,
        Err(stop) => return crash(database, session).and(Err(stop)),
    }
    // What this opening chooses, by its own probe or that of the creation, holds for all rounds.
    let database = Database::open_in(disk, directory, &options, session)?;
    let chosen = Chosen::of(&database);
    chosen.fix(&mut options.parameters);
    let measured = measure(&database, sizes, seed, tell, told_to_stop, session);
    let halted = crash(database, session);
    let measured = measured?;
    halted?;
    let Some((curve, acknowledged)) = measured else { return Ok(None) };
    let commits = audit(disk, directory, &options, &acknowledged, session)?;
    Ok(Some(Measured { curve, commits, chosen }))
}
